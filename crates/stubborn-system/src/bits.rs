//! A fixed-size set of small numbers, with the operations that inner loops need.

/// A set of numbers below a fixed length, as bits in 64-bit words.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// The empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    /// How many numbers the set may hold (not how many it holds).
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the set may hold nothing at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits, lowest first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bits, for bulk updates. Bits at or above [`len`](Self::len) must stay zero.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Whether `index` is in the set.
    #[inline]
    pub fn contains(&self, index: usize) -> bool {
        debug_assert!(index < self.len);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Adds `index`; true if it was not there.
    #[inline]
    pub fn insert(&mut self, index: usize) -> bool {
        debug_assert!(index < self.len);
        let word = &mut self.words[index / 64];
        let bit = 1 << (index % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Takes `index` out.
    #[inline]
    pub fn remove(&mut self, index: usize) {
        debug_assert!(index < self.len);
        self.words[index / 64] &= !(1 << (index % 64));
    }

    /// Puts `index` in or takes it out.
    #[inline]
    pub fn assign(&mut self, index: usize, present: bool) {
        if present {
            self.insert(index);
        } else {
            self.remove(index);
        }
    }

    /// Takes everything out.
    #[inline]
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Puts every number below [`len`](Self::len) in.
    pub fn fill(&mut self) {
        self.words.fill(!0);
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last = (1 << (self.len % 64)) - 1;
        }
    }

    /// How many numbers are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// True if nothing is in the set.
    pub fn none(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// Adds everything in `other`, a set of the same length.
    pub fn union_with(&mut self, other: &BitSet) {
        debug_assert_eq!(self.len, other.len);
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// Keeps only what is also in `other`, a set of the same length.
    pub fn intersect_with(&mut self, other: &BitSet) {
        debug_assert_eq!(self.len, other.len);
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a &= b;
        }
    }

    /// Whether the two sets share a number.
    pub fn intersects(&self, other: &BitSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether every number in this set is in `other`.
    pub fn is_subset(&self, other: &BitSet) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .all(|(a, b)| a & !b == 0)
    }

    /// The numbers in the set, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(at, word)| ones(*word).map(move |b| at * 64 + b))
    }
}

/// Positions of the ones of a word, lowest first.
#[inline]
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_leaves_no_bit_beyond_the_length() {
        for len in [0, 1, 63, 64, 65, 130] {
            let mut set = BitSet::new(len);
            set.fill();
            assert_eq!(set.count(), len);
            assert_eq!(set.iter().count(), len);
        }
    }

    #[test]
    fn insert_says_whether_it_was_new() {
        let mut set = BitSet::new(100);
        assert!(set.insert(70));
        assert!(!set.insert(70));
        set.remove(70);
        assert!(set.none());
    }
}
