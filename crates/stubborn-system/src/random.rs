//! Pseudo-random numbers that are the same for the same seed on every machine: what a seed
//! gave once it gives for ever, also in the next version.

/// The generator SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number
/// generators*, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of what is still to come.
    pub fn seed(&self) -> u64 {
        self.0
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// A number in `min..=max`.
    pub fn range(&mut self, min: i64, max: i64) -> i64 {
        min + self.below((max - min) as usize + 1) as i64
    }

    /// True with probability 1 / `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// True in so many percent of calls.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some things.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Puts things into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first number of a seed's sequence; every bit of the seed reaches every bit of it.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(STEP);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the authors' generator gives for seed 1234567.
    #[test]
    fn it_is_splitmix64() {
        let mut random = Random::new(1_234_567);
        let first: [u64; 3] = std::array::from_fn(|_| random.bits());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_sequence_goes_on_from_its_seed() {
        let mut random = Random::new(3);
        random.bits();
        let mut rest = Random::new(random.seed());
        assert_eq!(random.bits(), rest.bits());
    }

    #[test]
    fn shuffles_keep_everything() {
        let mut numbers: Vec<u32> = (0..100).collect();
        Random::new(7).shuffle(&mut numbers);
        assert_ne!(numbers, (0..100).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    }
}
