//! To whom states belong.
//!
//! Steps change little of a state. What belongs to whom is decided by some bits that few steps change and
//! that are different all the same in states of one level, so that most successors stay with the owner of
//! the state, and nobody has much more than others. Which bits these are, the leader finds out from a
//! [sample](sample), and everybody hears it. If there are none, all words decide.

mod sample;

use stubborn_cluster::owner_of;

use self::sample::Sample;
use crate::config::Search;

/// To whom a state belongs: a function of some of its bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    size: u64,
    /// Words, each once, and which bits of them count.
    parts: Vec<Part>,
    /// The same: a bit for each word, and for each word its bits and a factor.
    words: Vec<u64>,
    weights: Vec<(u32, u64)>,
}

/// Bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    word: usize,
    mask: u32,
}

/// Any bit decides about all.
#[inline]
fn spread(word: u64) -> u64 {
    let word = (word ^ word >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ word >> 32
}

impl Owners {
    /// For a search by so many processes.
    pub(super) fn of(search: &Search<'_>, size: usize) -> Self {
        let width = search.system.layout().words();
        let few = match size {
            1 => Some(Vec::new()),
            _ => Sample::new(search).and_then(|sample| sample.parts_for(size)),
        };
        Self::new(size, few.unwrap_or_else(|| whole(width)))
    }

    fn new(size: usize, parts: Vec<Part>) -> Self {
        let mut merged: Vec<Part> = Vec::new();
        for part in parts {
            match merged.iter_mut().find(|other| other.word == part.word) {
                Some(other) => other.mask |= part.mask,
                None => merged.push(part),
            }
        }
        let width = merged.iter().map(|part| part.word + 1).max().unwrap_or(0);
        let (mut words, mut weights) = (vec![0; width.div_ceil(64)], vec![(0, 0); width]);
        for part in &merged {
            words[part.word / 64] |= 1 << (part.word % 64);
            weights[part.word] = (part.mask, spread(part.word as u64 + 1) | 1);
        }
        Self {
            size: size as u64,
            parts: merged,
            words,
            weights,
        }
    }

    /// Who owns a state.
    pub(super) fn owner(&self, state: &[u32]) -> usize {
        self.owner_by(self.hash(state))
    }

    /// What decides about a state: a sum over its words, each with its own factor, so that a word can
    /// be exchanged (as in A. L. Zobrist, *A new hashing method with application for game playing*, 1970).
    #[inline]
    fn hash(&self, state: &[u32]) -> u64 {
        let words = state.iter().zip(&self.weights);
        words.fold(0, |hash, (word, (mask, factor))| {
            hash.wrapping_add(u64::from(word & mask).wrapping_mul(*factor))
        })
    }

    #[inline]
    fn owner_by(&self, hash: u64) -> usize {
        // Sums of lattices are regular; what is made of them is not.
        owner_of(spread(hash), self.size)
    }

    /// Who owns a successor, of which only the words of a mask may have changed; `None` if nothing
    /// has that decides. What is known of the state's own sum is kept in `hash`.
    #[inline]
    pub(super) fn other(
        &self,
        state: &[u32],
        hash: &mut Option<u64>,
        successor: &[u32],
        changed: &[u64],
    ) -> Option<usize> {
        let mut difference = 0_u64;
        for (at, (mask, bits)) in changed.iter().zip(&self.words).enumerate() {
            let mut left = mask & bits;
            while left != 0 {
                let word = 64 * at + left.trailing_zeros() as usize;
                left &= left - 1;
                let (mask, factor) = self.weights[word];
                let (before, after) = (state[word] & mask, successor[word] & mask);
                let more = u64::from(after).wrapping_sub(u64::from(before));
                let more = more.wrapping_mul(factor);
                difference = difference.wrapping_add(more);
            }
        }
        // The same sum, the same owner.
        if difference == 0 {
            return None;
        }
        let hash = *hash.get_or_insert_with(|| self.hash(state));
        Some(self.owner_by(hash.wrapping_add(difference)))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let parts = self.parts.iter();
        super::bytes_of(parts.flat_map(|part| [part.word as u64, part.mask.into()]))
    }

    pub(super) fn from_bytes(size: usize, bytes: &[u8]) -> Self {
        let numbers = super::numbers_of(bytes);
        let (pairs, _) = numbers.as_chunks();
        let part = |[word, mask]: &[u64; 2]| Part {
            word: *word as usize,
            mask: *mask as u32,
        };
        Self::new(size, pairs.iter().map(part).collect())
    }
}

/// All bits of all words.
fn whole(width: usize) -> Vec<Part> {
    let mask = u32::MAX;
    (0..width).map(|word| Part { word, mask }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest of many parts is as large as that of a fair draw, although states are as
    /// regular as they can be: a lattice of small numbers, in words or packed into one.
    #[test]
    fn parts_are_as_even_as_by_chance() {
        const SIDE: u32 = 12;
        for (parts, is_packed) in [(10, false), (100, false), (1000, false), (1000, true)] {
            let owners = Owners::new(parts, whole(if is_packed { 1 } else { 5 }));
            let mut counts = vec![0_u32; parts];
            for number in 0..SIDE.pow(5) {
                let digit = |at: u32| number / SIDE.pow(at) % SIDE;
                let state = match is_packed {
                    true => vec![(0..5).map(|at| digit(at) << (4 * at)).sum()],
                    false => (0..5).map(digit).collect::<Vec<u32>>(),
                };
                counts[owners.owner(&state)] += 1;
            }
            let mean = f64::from(SIDE.pow(5)) / parts as f64;
            let distance = |count: &u32| (f64::from(*count) - mean).abs() / mean.sqrt();
            let farthest = counts.iter().map(distance).fold(0.0, f64::max);
            // Of a thousand draws, the farthest is 3.3 deviations off on average.
            assert!(farthest < 5.0, "{parts} parts: {farthest}");
            let square = counts
                .iter()
                .map(|count| distance(count).powi(2))
                .sum::<f64>();
            let square = square / (parts - 1) as f64;
            let tolerance = 5.0 * (2.0 / (parts - 1) as f64).sqrt();
            assert!((square - 1.0).abs() < tolerance, "{parts} parts: {square}");
        }
    }

    #[test]
    fn owners_survive_the_way_to_others() {
        let parts = [(0, 0xf0), (2, 1), (2, 2)].map(|(word, mask)| Part { word, mask });
        let owners = Owners::new(3, parts.to_vec());
        assert_eq!(Owners::from_bytes(3, &owners.to_bytes()), owners);
        let state = [0, 0, 0];
        let other = |successor: &[u32]| owners.other(&state, &mut None, successor, &[0b111]);
        assert_eq!(other(&[0xf, 7, 4]), None, "other bits");
        for successor in [[0x1f, 0, 0], [0, 0, 2], [0xf5, 1, 7]] {
            assert_eq!(other(&successor), Some(owners.owner(&successor)));
        }
        assert_eq!(owners.owner(&state), owners.owner(&[0xf, 7, 4]));
    }
}
