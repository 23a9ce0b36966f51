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

/// Bytes that may be written or read beyond the end of what is meant.
const SLACK: usize = 4;
/// Bytes of a packed word at most.
const MOST: usize = 1 + 2 * 4;

impl Packed {
    /// Packs entries of `entry_words` words each; `scratch` is for their bytes.
    pub(crate) fn new(
        words: &[u64],
        entry_words: usize,
        ledger: &Arc<Ledger>,
        scratch: &mut Vec<u8>,
    ) -> Result<Self, OutOfMemory> {
        scratch.resize(words.len() * MOST + SLACK, 0);
        let mut at = 0;
        for (number, word) in words.iter().enumerate() {
            let before = number.checked_sub(entry_words).map_or(0, |n| words[n]);
            let [left, right] = [0, 32].map(|shift| {
                zigzag(((word >> shift) as u32).wrapping_sub((before >> shift) as u32))
            });
            let lengths = [left, right].map(bytes_of);
            scratch[at] = (lengths[0] << 4 | lengths[1]) as u8;
            at += 1;
            for (difference, length) in [left, right].into_iter().zip(lengths) {
                scratch[at..at + SLACK].copy_from_slice(&difference.to_le_bytes());
                at += length;
            }
        }
        let len = at + SLACK;
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
        let mut at = 0;
        for number in 0..self.words {
            let before = number.checked_sub(entry_words).map_or(0, |n| out[n]);
            let lengths = self.bytes[at];
            at += 1;
            let mut word = 0;
            for (shift, length) in [(0, lengths >> 4), (32, lengths & 15)] {
                let mut four = [0; SLACK];
                four.copy_from_slice(&self.bytes[at..at + SLACK]);
                let kept = !(u64::MAX << (8 * length)) as u32;
                let difference = unzigzag(u32::from_le_bytes(four) & kept);
                at += usize::from(length);
                word |= u64::from(((before >> shift) as u32).wrapping_add(difference)) << shift;
            }
            out.push(word);
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
fn bytes_of(number: u32) -> usize {
    (39 - number.leading_zeros() as usize) / 8
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
        let words: Vec<u64> = (0..128).map(|n| n * n << 32 | n).collect();
        assert!(Packed::new(&words, 1, &ledger, &mut Vec::new()).is_err());
        assert_eq!(budget.used(), 0);
    }
}
