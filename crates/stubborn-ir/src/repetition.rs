//! Noticing that something deterministic never ends.
//!
//! A sequence in which each state follows from the one before goes on forever exactly if some
//! state comes again. Keeping one state is enough to notice that: the one after 1, 2, 4, 8, …
//! steps (R. P. Brent, *An improved Monte Carlo factorization algorithm*, 1980). That costs a
//! comparison a step, and takes at most about three times as many steps as there are different
//! states.

/// Shorter sequences are not looked at.
const FIRST_MARK: u64 = 64;

/// Looks for a state that comes again in a deterministic sequence.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    steps: u64,
    mark: Vec<u32>,
}

impl Repetition {
    /// A new sequence starts.
    #[inline]
    pub fn restart(&mut self) {
        self.steps = 0;
    }

    /// Takes the next state of the sequence, in two parts that have the same lengths each time;
    /// true if it was there before. A repetition is not noticed at the first state that comes
    /// again, but always some time after it.
    #[inline]
    pub fn is_back(&mut self, state: &[u32], rest: &[u32]) -> bool {
        self.steps += 1;
        self.steps >= FIRST_MARK && self.compare(state, rest)
    }

    fn compare(&mut self, state: &[u32], rest: &[u32]) -> bool {
        if self.steps.is_power_of_two() {
            self.mark.clear();
            self.mark.extend_from_slice(state);
            self.mark.extend_from_slice(rest);
            return false;
        }
        let (marked, others) = self.mark.split_at(state.len());
        marked == state && others == rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any number of states before the cycle, and any length of it.
    #[test]
    fn cycles_are_noticed_and_nothing_else() {
        for before in [0, 1, 5, 63, 64, 100, 1_000] {
            for length in [1, 2, 3, 7, 64, 500] {
                let state = |at: u32| match at < before {
                    true => at,
                    false => before + (at - before) % length,
                };
                let mut repetition = Repetition::default();
                repetition.is_back(&[state(0)], &[7]);
                repetition.restart();
                let found = (0..).position(|at| repetition.is_back(&[state(at)], &[7]));
                let found = found.expect("it repeats") as u32;
                assert!(found >= before + length, "{before} {length}");
                assert!(found <= 3 * (before + length).max(64) + 64);
            }
        }
    }

    #[test]
    fn both_parts_count() {
        let mut repetition = Repetition::default();
        assert!(!(0..10_000).any(|at| repetition.is_back(&[1, 2], &[at])));
    }
}
