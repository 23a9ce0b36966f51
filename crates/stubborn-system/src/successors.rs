//! The flat buffer that executors fill and searches read.

use crate::{FailureSite, Structure, TransitionId};

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Outcome(pub u32);

impl Outcome {
    /// An ordinary step.
    pub const FINE: Outcome = Outcome(0);

    /// The failure at `structure.failures[site]`.
    pub const fn failure(site: usize) -> Self {
        Outcome(site as u32 + 1)
    }

    /// What went wrong, if anything.
    pub fn site(self, structure: &Structure) -> Option<&FailureSite> {
        self.0
            .checked_sub(1)
            .map(|at| &structure.failures[at as usize])
    }
}

/// One successor in a [`Successors`] buffer.
#[derive(Clone, Copy, Debug)]
pub struct Successor<'a> {
    /// By which transition.
    pub transition: TransitionId,
    /// The state reached.
    pub state: &'a [u32],
    /// Bit `i` is set if word `i` may differ from the source state.
    pub changed: &'a [u64],
    /// Whether something went wrong on the way.
    pub outcome: Outcome,
}

/// Successors of one state, in flat arrays that are reused from state to state.
#[derive(Clone, Debug)]
pub struct Successors {
    words: usize,
    mask_words: usize,
    states: Vec<u32>,
    masks: Vec<u64>,
    transitions: Vec<TransitionId>,
    outcomes: Vec<Outcome>,
}

impl Successors {
    /// An empty buffer for states of `words` words.
    pub fn new(words: usize) -> Self {
        Self {
            words,
            mask_words: words.div_ceil(64),
            states: Vec::new(),
            masks: Vec::new(),
            transitions: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// Forgets all successors, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.states.clear();
        self.masks.clear();
        self.transitions.clear();
        self.outcomes.clear();
    }

    /// How many successors there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.transitions.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.transitions.is_empty()
    }

    /// The transition of each successor.
    #[inline]
    pub fn transitions(&self) -> &[TransitionId] {
        &self.transitions
    }

    /// One successor.
    #[inline]
    pub fn get(&self, index: usize) -> Successor<'_> {
        Successor {
            transition: self.transitions[index],
            state: self.state(index),
            changed: &self.masks[index * self.mask_words..][..self.mask_words],
            outcome: self.outcomes[index],
        }
    }

    /// The state of one successor.
    #[inline]
    pub fn state(&self, index: usize) -> &[u32] {
        &self.states[index * self.words..][..self.words]
    }

    /// The outcome of one successor.
    #[inline]
    pub fn outcome(&self, index: usize) -> Outcome {
        self.outcomes[index]
    }

    /// All successors in order.
    pub fn iter(&self) -> impl Iterator<Item = Successor<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends a successor that starts as a copy of `source` with an all-zero mask, and
    /// returns its words and mask to be changed in place.
    #[inline]
    pub fn push_copy(
        &mut self,
        transition: TransitionId,
        source: &[u32],
    ) -> (&mut [u32], &mut [u64]) {
        let (at, mask_at) = (self.states.len(), self.masks.len());
        self.states.extend_from_slice(source);
        self.masks.resize(mask_at + self.mask_words, 0);
        self.transitions.push(transition);
        self.outcomes.push(Outcome::FINE);
        (&mut self.states[at..], &mut self.masks[mask_at..])
    }

    /// Appends a finished successor; the mask is computed by comparison with `source`.
    pub fn push(
        &mut self,
        transition: TransitionId,
        source: &[u32],
        state: &[u32],
        outcome: Outcome,
    ) {
        let (words, mask) = self.push_copy(transition, source);
        for (i, (word, new)) in words.iter_mut().zip(state).enumerate() {
            if word != new {
                *word = *new;
                mask[i / 64] |= 1 << (i % 64);
            }
        }
        self.set_last_outcome(outcome);
    }

    /// Says how the last pushed step ended.
    #[inline]
    pub fn set_last_outcome(&mut self, outcome: Outcome) {
        if let Some(last) = self.outcomes.last_mut() {
            *last = outcome;
        }
    }

    /// Takes the last successor back: its transition turned out not to be enabled.
    #[inline]
    pub fn pop(&mut self) {
        if self.transitions.pop().is_some() {
            self.outcomes.pop();
            self.states.truncate(self.states.len() - self.words);
            self.masks.truncate(self.masks.len() - self.mask_words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_follow_from_comparison() {
        let mut buffer = Successors::new(70);
        let source = vec![0; 70];
        let mut state = source.clone();
        state[3] = 1;
        state[69] = 2;
        buffer.push(TransitionId::new(4), &source, &state, Outcome::FINE);
        assert_eq!(buffer.get(0).changed, &[1 << 3, 1 << 5]);
        assert_eq!(buffer.state(0), state);
        buffer.pop();
        assert!(buffer.is_empty());
    }
}
