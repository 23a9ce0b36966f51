//! Parts of a queue at rest, in less space.
//!
//! States found one after the other are alike: in a tree store their handles have a half in
//! common, or halves that were made one after the other. So of each half of the words of a part,
//! only the difference from the least one is stored, in as many bits as the largest difference
//! takes. A handle takes four or five bytes instead of eight, and some dozens of instructions, which
//! is worth it where queues are long.

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

/// What is known of all words at one place of the entries of a part.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The least low and the least high half.
    least: [u32; 2],
    /// Bits of the differences from these.
    bits: [u32; 2],
}

impl Column {
    /// Bytes of a column that is stored.
    const BYTES: usize = 10;
    /// Bits of a packed word at most, if they do not begin with a byte: so many can be written and
    /// read at once.
    const MOST_BITS: u32 = 57;
    /// Of words that are stored as they are.
    const PLAIN: Self = Self {
        least: [0; 2],
        bits: [32; 2],
    };

    /// Of the words at a place of the entries.
    fn new(words: impl Iterator<Item = u64>) -> Self {
        let (mut least, mut most) = ([u32::MAX; 2], [0; 2]);
        for word in words {
            for (half, value) in [word as u32, (word >> 32) as u32].into_iter().enumerate() {
                least[half] = value.min(least[half]);
                most[half] = value.max(most[half]);
            }
        }
        let bits = [0, 1].map(|half| 32 - most[half].saturating_sub(least[half]).leading_zeros());
        match bits[0] + bits[1] > Self::MOST_BITS {
            true => Self::PLAIN,
            false => Self { least, bits },
        }
    }

    #[inline(always)]
    fn pack(&self, word: u64) -> u64 {
        let low = (word as u32).wrapping_sub(self.least[0]);
        let high = ((word >> 32) as u32).wrapping_sub(self.least[1]);
        u64::from(low) | u64::from(high) << self.bits[0]
    }

    #[inline(always)]
    fn unpack(&self, packed: u64) -> u64 {
        let low = packed & !(u64::MAX << self.bits[0]);
        let high = packed >> self.bits[0] & !(u64::MAX << self.bits[1]);
        let low = (low as u32).wrapping_add(self.least[0]);
        let high = (high as u32).wrapping_add(self.least[1]);
        u64::from(low) | u64::from(high) << 32
    }

    fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.least[0].to_le_bytes());
        bytes[4..8].copy_from_slice(&self.least[1].to_le_bytes());
        bytes[8..].copy_from_slice(&self.bits.map(|bits| bits as u8));
        bytes
    }

    fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let least = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        Self {
            least: [least(0), least(4)],
            bits: [bytes[8], bytes[9]].map(u32::from),
        }
    }
}

/// Queues that take less than so many bytes together are not worth packing.
const LITTLE: usize = 4 << 20;

/// Bytes behind the last word, so that it can be written and read as all others are.
const MARGIN: usize = 8;

impl Packed {
    /// Packs entries of `entry_words` words each; `scratch` is for their bytes.
    pub(crate) fn new(
        words: &[u64],
        entry_words: usize,
        ledger: &Arc<Ledger>,
        scratch: &mut Vec<u8>,
    ) -> Result<Self, OutOfMemory> {
        scratch.clear();
        if !words.is_empty() {
            let header = entry_words * Column::BYTES;
            scratch.resize(header + words.len() * 8 + MARGIN, 0);
            let mut writer = BitWriter::new(header);
            let column = |place: usize| {
                let column = words.iter().skip(place).step_by(entry_words);
                Column::new(column.copied())
            };
            if entry_words == 1 && ledger.used() < LITTLE {
                scratch[..header].copy_from_slice(&Column::PLAIN.write());
                let (bytes, _) = scratch[header..].as_chunks_mut();
                for (bytes, word) in bytes.iter_mut().zip(words) {
                    *bytes = word.to_le_bytes();
                }
                writer.at += words.len() * 8;
            } else if entry_words == 1 {
                let column = Column::new(words.iter().copied());
                scratch[..header].copy_from_slice(&column.write());
                let bits = column.bits[0] + column.bits[1];
                for word in words {
                    writer.put(column.pack(*word), bits, scratch);
                }
            } else {
                let columns: Vec<Column> = (0..entry_words).map(column).collect();
                for (bytes, column) in scratch.chunks_mut(Column::BYTES).zip(&columns) {
                    bytes.copy_from_slice(&column.write());
                }
                for entry in words.chunks(entry_words) {
                    for (word, column) in entry.iter().zip(&columns) {
                        // Words of many bits are cut into their halves.
                        let packed = column.pack(*word);
                        let halves = [
                            packed & !(u64::MAX << column.bits[0]),
                            packed >> column.bits[0],
                        ];
                        for (half, bits) in halves.into_iter().zip(column.bits) {
                            writer.put(half, bits, scratch);
                        }
                    }
                }
            }
            scratch.resize(writer.end() + MARGIN, 0);
        }
        let len = scratch.len();
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
        let (columns, _) = self.bytes.as_chunks::<{ Column::BYTES }>();
        let mut at = 8 * entry_words * Column::BYTES;
        if let ([column, ..], 1) = (columns, entry_words) {
            let column = Column::read(column);
            if column.bits == Column::PLAIN.bits {
                let (bytes, _) = self.bytes[at / 8..].as_chunks();
                for (word, bytes) in out.iter_mut().zip(bytes) {
                    *word = u64::from_le_bytes(*bytes);
                }
                return;
            }
            for word in out {
                *word = column.unpack(self.bits_at(at));
                at += (column.bits[0] + column.bits[1]) as usize;
            }
            return;
        }
        for entry in out.chunks_mut(entry_words) {
            for (word, column) in entry.iter_mut().zip(columns) {
                let column = Column::read(column);
                let [low, high] = column.bits.map(|bits| {
                    let half = self.bits_at(at) & !(u64::MAX << bits);
                    at += bits as usize;
                    half
                });
                *word = column.unpack(low | high << column.bits[0]);
            }
        }
    }

    /// At least [`Column::MOST_BITS`] bits from a place on, all 64 if it is the start of a byte.
    #[inline(always)]
    fn bits_at(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at / 8..at / 8 + 8]);
        u64::from_le_bytes(bytes) >> (at % 8)
    }
}

/// Appends numbers of so many bits to bytes.
struct BitWriter {
    /// The first byte that is not full, what is in it, and how many bits that are.
    at: usize,
    bits: u64,
    filled: u32,
}

impl BitWriter {
    fn new(at: usize) -> Self {
        Self {
            at,
            bits: 0,
            filled: 0,
        }
    }

    /// At most [`Column::MOST_BITS`] bits, or 64 after others of 64.
    #[inline(always)]
    fn put(&mut self, number: u64, bits: u32, out: &mut [u8]) {
        self.bits |= number << self.filled;
        self.filled += bits;
        out[self.at..self.at + 8].copy_from_slice(&self.bits.to_le_bytes());
        let full = self.filled / 8;
        self.at += full as usize;
        self.bits = self.bits.checked_shr(8 * full).unwrap_or(0);
        self.filled %= 8;
    }

    /// Bytes that were begun.
    fn end(&self) -> usize {
        self.at + usize::from(self.filled > 0)
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        self.ledger.give_back(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use stubborn_store::MemoryBudget;

    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let budget = MemoryBudget::new(16 << 20);
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
        let ways = [1, 2, 3, 13].map(|entry_words| [(entry_words, 0), (entry_words, LITTLE)]);
        for (entry_words, others) in ways.into_iter().flatten() {
            ledger.take(others).expect("there is room");
            for count in [0, 1, 2, 26, words.len()] {
                let part = Packed::new(&words[..count], entry_words, &ledger, &mut scratch);
                let part = part.expect("there is room");
                assert_eq!(part.len(), count);
                let mut out = vec![7];
                part.unpack(entry_words, &mut out);
                assert_eq!(out, words[..count]);
            }
            ledger.give_back(others);
        }
        // Neighbours take little.
        ledger.take(LITTLE).expect("there is room");
        let neighbours: Vec<u64> = (0..128).map(|n| 5 << 40 | (1000 + 3 * n)).collect();
        let part = Packed::new(&neighbours, 1, &ledger, &mut scratch).expect("there is room");
        assert!(part.bytes.len() < 128 * 3, "{}", part.bytes.len());
        drop(part);
        ledger.give_back(LITTLE);
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
