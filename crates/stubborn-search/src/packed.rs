//! Parts of a queue at rest, in less space.
//!
//! States found one after the other are alike: in a tree store their handles have a half in
//! common, or halves that were made one after the other. So an entry is stored as its
//! differences from the one before, half by half: a byte that says how many bytes each of two
//! differences takes, and these bytes. A handle takes four or five bytes instead of eight.

use std::sync::Arc;

use stubborn_store::OutOfMemory;

use crate::memory::Ledger;

/// A part of a queue that nobody is writing to or reading from.
#[derive(Debug)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    /// Words of the part when it is unpacked.
    words: usize,
    ledger: Arc<Ledger>,
}

/// Bytes of a packed word at most: how long its differences are, and these. So many are written
/// and read at once.
const MOST: usize = 1 + 8;

impl Packed {
    /// Packs entries of `entry_words` words each; `scratch` is for their bytes.
    pub(crate) fn new(
        words: &[u64],
        entry_words: usize,
        ledger: &Arc<Ledger>,
        scratch: &mut Vec<u8>,
    ) -> Result<Self, OutOfMemory> {
        scratch.resize(words.len() * MOST, 0);
        let (mut at, mut before) = (0, 0);
        for (number, word) in words.iter().enumerate() {
            if entry_words != 1 {
                before = number.checked_sub(entry_words).map_or(0, |n| words[n]);
            }
            let low = zigzag((*word as u32).wrapping_sub(before as u32));
            let high = zigzag(((word >> 32) as u32).wrapping_sub((before >> 32) as u32));
            let (low_bytes, high_bytes) = (bytes_of(low), bytes_of(high));
            let both = u64::from(low) | u64::from(high) << (8 * low_bytes);
            let out = &mut scratch[at..at + MOST];
            out[0] = (low_bytes << 4 | high_bytes) as u8;
            out[1..].copy_from_slice(&both.to_le_bytes());
            at += 1 + (low_bytes + high_bytes) as usize;
            before = *word;
        }
        // The last word can be read as all others are.
        let len = match words.is_empty() {
            true => 0,
            false => at + MOST - 1,
        };
        scratch.resize(len, 0);
        ledger.take(len)?;
        Ok(Self {
            bytes: scratch[..len].into(),
            words: words.len(),
            ledger: Arc::clone(ledger),
        })
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.words
    }

    /// Puts all words into `out`, in place of what is there.
    pub(crate) fn unpack(&self, entry_words: usize, out: &mut Vec<u64>) {
        out.clear();
        out.resize(self.words, 0);
        let (mut at, mut before) = (0, 0);
        for number in 0..out.len() {
            if entry_words != 1 {
                before = number.checked_sub(entry_words).map_or(0, |n| out[n]);
            }
            let part = &self.bytes[at..at + MOST];
            let lengths = u32::from(part[0]);
            let mut both = [0; 8];
            both.copy_from_slice(&part[1..]);
            let both = u64::from_le_bytes(both);
            let (low_bytes, high_bytes) = (lengths >> 4, lengths & 15);
            let low = both & !(u64::MAX << (8 * low_bytes));
            let high = both >> (8 * low_bytes) & !(u64::MAX << (8 * high_bytes));
            at += 1 + (low_bytes + high_bytes) as usize;
            let low = (before as u32).wrapping_add(unzigzag(low as u32));
            let high = ((before >> 32) as u32).wrapping_add(unzigzag(high as u32));
            before = u64::from(low) | u64::from(high) << 32;
            out[number] = before;
        }
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        self.ledger.give_back(self.bytes.len());
    }
}

/// Small for small differences in either direction.
#[inline]
fn zigzag(difference: u32) -> u32 {
    difference << 1 ^ (difference as i32 >> 31) as u32
}

#[inline]
fn unzigzag(number: u32) -> u32 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// How many bytes a number needs; none for zero.
#[inline]
fn bytes_of(number: u32) -> u32 {
    (39 - number.leading_zeros()) / 8
}

#[cfg(test)]
mod tests {
    use stubborn_store::MemoryBudget;

    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let budget = MemoryBudget::new(1 << 20);
        let ledger = Ledger::new(Arc::clone(&budget));
        let mut scratch = Vec::new();
        let corners = [0, 1, 127, 128, 255, 256, 1 << 15, 1 << 16, 1 << 23, 1 << 24];
        let ends = [1 << 31, u32::MAX - 1, u32::MAX];
        let halves: Vec<u32> = corners.into_iter().chain(ends).collect();
        let mut words: Vec<u64> = Vec::new();
        for left in &halves {
            words.extend(
                halves
                    .iter()
                    .map(|right| u64::from(*left) << 32 | u64::from(*right)),
            );
        }
        for entry_words in [1, 2, 3, 13] {
            for count in [0, 1, 2, 26, words.len()] {
                let part = Packed::new(&words[..count], entry_words, &ledger, &mut scratch);
                let part = part.expect("there is room");
                assert_eq!(part.len(), count);
                let mut out = vec![7];
                part.unpack(entry_words, &mut out);
                assert_eq!(out, words[..count]);
            }
        }
        // Neighbours take little.
        let neighbours: Vec<u64> = (0..128).map(|n| 5 << 40 | (1000 + 3 * n)).collect();
        let part = Packed::new(&neighbours, 1, &ledger, &mut scratch).expect("there is room");
        assert!(part.bytes.len() < 128 * 3, "{}", part.bytes.len());
        drop(part);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_refusal_takes_nothing() {
        let budget = MemoryBudget::new(100);
        let ledger = Ledger::new(Arc::clone(&budget));
        let words: Vec<u64> = (0..128).map(|n| ((n * n) << 32) | n).collect();
        assert!(Packed::new(&words, 1, &ledger, &mut Vec::new()).is_err());
        assert_eq!(budget.used(), 0);
    }
}
