//! Hash functions: an invertible one for keys that a table stores by their
//! place, and one for whole vectors and tree nodes.

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD6E8_FEB8_6659_FD93;
const THIRD: u64 = 0xA076_1D64_78BD_642F;

/// A permutation of the numbers of `bits` bits that scatters them.
///
/// Being invertible it loses nothing: two keys are equal if their hashes are,
/// so that a table may keep a part of the hash and let the position of the
/// entry stand for the rest (quotienting: Cleary, "Compact hash tables using
/// bidirectional linear probing", 1984; Knuth 6.4, exercise 13).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    bits: u32,
    /// What the first and the second half of a key are multiplied by, so that the key in the high bits is
    /// multiplied by `FIRST`.
    by_half: [u64; 2],
    inverse_first: u64,
    inverse_second: u64,
}

impl Permutation {
    /// A permutation of `0 .. 2^bits`; `bits` is even, from 2 to 64.
    pub(crate) fn new(bits: u32) -> Self {
        debug_assert!(bits.is_multiple_of(2) && (2..=64).contains(&bits));
        Self {
            bits,
            by_half: [FIRST << (64 - bits / 2), FIRST << (64 - bits)],
            inverse_first: inverse(FIRST),
            inverse_second: inverse(SECOND),
        }
    }

    /// The width of keys and hashes.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Keeps the low `bits` bits.
    #[inline(always)]
    fn cut(&self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.bits))
    }

    /// The hash of `key`. Its high bits depend on all bits of the key.
    #[inline(always)]
    pub(crate) fn apply(&self, key: u64) -> u64 {
        self.apply_high(key << (64 - self.bits)) >> (64 - self.bits)
    }

    /// The same for a key in the high bits, with zeros below; the hash is there, too.
    #[inline(always)]
    fn apply_high(&self, key: u64) -> u64 {
        self.apply_second(key.wrapping_mul(FIRST))
    }

    /// The hash, in the high bits, of the key whose first half is the low 32 bits of `pair`, and whose second
    /// one the others.
    #[inline(always)]
    pub(crate) fn apply_to_pair(&self, pair: u64) -> u64 {
        let [first, second] = self.by_half;
        let once = u64::from(pair as u32).wrapping_mul(first);
        self.apply_second(once.wrapping_add((pair >> 32).wrapping_mul(second)))
    }

    #[inline(always)]
    fn apply_second(&self, once: u64) -> u64 {
        let folded = once ^ (once >> (self.bits / 2) & u64::MAX << (64 - self.bits));
        folded.wrapping_mul(SECOND)
    }

    /// The key whose hash is `hash`.
    pub(crate) fn invert(&self, hash: u64) -> u64 {
        let folded = self.cut(hash.wrapping_mul(self.inverse_second));
        // `x ^ (x >> half)` is its own inverse: the upper half is untouched.
        let once = folded ^ (folded >> (self.bits / 2));
        self.cut(once.wrapping_mul(self.inverse_first))
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    let mut estimate = odd;
    for _ in 0..6 {
        estimate = estimate.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(estimate)));
    }
    estimate
}

/// The two halves of a 128-bit product, folded.
#[inline(always)]
fn fold_product(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of one 64-bit value, such as a tree node.
#[inline(always)]
pub(crate) fn hash_pair(value: u64) -> u64 {
    fold_product(value ^ FIRST, THIRD).wrapping_mul(SECOND)
}

/// The hash of a vector.
#[inline]
pub(crate) fn hash_words(words: &[u32]) -> u64 {
    hash_each(words, |word| *word)
}

/// The hash of the vector of what `value` says of each element.
#[inline]
pub(crate) fn hash_each<T>(elements: &[T], value: impl Fn(&T) -> u32) -> u64 {
    let value = |element| u64::from(value(element));
    let mut state = FIRST ^ elements.len() as u64;
    let mut blocks = elements.chunks_exact(4);
    for block in &mut blocks {
        let low = value(&block[0]) | value(&block[1]) << 32;
        let high = value(&block[2]) | value(&block[3]) << 32;
        state = fold_product(low ^ SECOND, high ^ state);
    }
    for element in blocks.remainder() {
        state = fold_product(value(element) ^ SECOND, state ^ THIRD);
    }
    fold_product(state ^ SECOND, THIRD)
}

/// Maps a hash to one of `buckets` places, monotonically: a larger hash never
/// lies before a smaller one, whatever the number of buckets.
#[inline(always)]
pub(crate) fn place(hash: u64, buckets: u64) -> usize {
    ((u128::from(hash) * u128::from(buckets)) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn permutations_invert() {
        for bits in [2, 8, 16, 48, 56, 64] {
            let permutation = Permutation::new(bits);
            let mut key = 1u64;
            for _ in 0..10_000 {
                key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let cut = permutation.cut(key);
                let hash = permutation.apply(cut);
                assert!(bits == 64 || hash >> bits == 0);
                let half = bits / 2;
                let pair = cut >> half | (cut & ((1 << half) - 1)) << 32;
                assert_eq!(permutation.apply_to_pair(pair) >> (64 - bits), hash);
                assert_eq!(permutation.invert(hash), cut);
            }
        }
    }

    #[test]
    fn a_small_permutation_is_one() {
        let permutation = Permutation::new(12);
        let images: HashSet<u64> = (0..4096).map(|key| permutation.apply(key)).collect();
        assert_eq!(images.len(), 4096);
    }

    #[test]
    fn every_word_matters() {
        for width in 1..40 {
            let base = vec![0u32; width];
            let mut seen = HashSet::from([hash_words(&base)]);
            for position in 0..width {
                for value in 1..20 {
                    let mut words = base.clone();
                    words[position] = value;
                    assert!(seen.insert(hash_words(&words)));
                }
            }
        }
    }

    #[test]
    fn pairs_of_small_numbers_spread_evenly() {
        // Node ids are small and dense: the fullest of the buckets must not
        // hold much more than its share.
        let permutation = Permutation::new(48);
        for hash in [
            (|_, key| hash_pair(key)) as fn(&Permutation, u64) -> u64,
            |permutation, key| permutation.apply((key >> 32) << 24 | (key & 0xFF_FFFF)) << 16,
        ] {
            let mut load = vec![0u32; 1000];
            for left in 0..500u64 {
                for right in 0..200u64 {
                    load[place(hash(&permutation, left << 32 | right), 1000)] += 1;
                }
            }
            let fullest = load.iter().max().unwrap();
            assert!(*fullest < 160, "{fullest} of 100 expected");
        }
    }
}
