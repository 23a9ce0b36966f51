//! Random numbers: the same ones on every machine.

/// A generator of random numbers (SplitMix64: Steele, Lea, Flood, *Fast splittable
/// pseudorandom number generators*, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// A number of `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.number() % (high - low + 1) as u64) as i64
    }

    /// True in `part` of `whole` cases.
    pub fn chance(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) < part
    }

    /// One of the items, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// An index, more often where the weight is greater; some weight is not 0.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        unreachable!("the sum of all weights is above every number below it")
    }
}

/// The seed of one case: of round `number` of the arena `kind` in a campaign with `seed`.
pub fn derive(seed: u64, kind: &str, number: u64) -> u64 {
    let kind = kind
        .bytes()
        .fold(seed, |hash, byte| mix(hash ^ u64::from(byte)));
    mix(kind.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_a_function_of_the_seed() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            [random.number(), random.number(), random.number()]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        assert_eq!(Random::new(0).number(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn cases_have_seeds_of_their_own() {
        let mut seeds: Vec<u64> = ["dve", "nets", "automata"]
            .into_iter()
            .flat_map(|kind| (0..100).map(move |number| derive(1, kind, number)))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 300);
    }

    #[test]
    fn weights_of_nothing_are_never_taken() {
        let mut random = Random::new(3);
        for _ in 0..100 {
            assert_eq!(random.weighted(&[0, 5, 0]), 1);
        }
    }
}
