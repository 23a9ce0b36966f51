//! Programs for tests and benchmarks: random ones that use every feature of the language, and
//! a few well-known protocols of any size.
//!
//! Only with the cargo feature `testing`.

mod protocols;
mod random;

pub use protocols::{dining_philosophers, peterson, ring_election};
pub use random::{random_program, random_state};

/// A small random number generator (SplitMix64, by Steele, Lea and Flood, 2014): the same
/// numbers for the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
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

    /// One of some things.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}
