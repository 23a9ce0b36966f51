//! To whom states belong.
//!
//! Steps change little of a state. What belongs to whom is decided by some bits that few steps change and
//! that are different all the same in states of one level, so that most successors stay with the owner of
//! the state, and nobody has much more than others. Which bits these are, the leader finds out from a
//! [sample](sample), and everybody hears it. If there are none, all words decide.

mod sample;

use stubborn_cluster::{hash_of, owner_of};

use self::sample::Sample;
use crate::config::Search;

/// To whom a state belongs: a function of some of its bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    size: u64,
    /// Words, each once, and which bits of them count.
    parts: Vec<Part>,
}

/// Bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    word: usize,
    mask: u32,
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
        Self {
            size: size as u64,
            parts: merged,
        }
    }

    /// Who owns a state.
    #[inline]
    pub(super) fn owner(&self, state: &[u32]) -> usize {
        let parts = self.parts.iter();
        let hash = hash_of(parts.map(|part| state[part.word] & part.mask));
        owner_of(hash, self.size)
    }

    /// Whether two states surely have the same owner.
    #[inline]
    pub(super) fn is_same(&self, one: &[u32], other: &[u32]) -> bool {
        let differs = |part: &Part| (one[part.word] ^ other[part.word]) & part.mask;
        self.parts.iter().fold(0, |all, part| all | differs(part)) == 0
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
        assert!(owners.is_same(&[0, 0, 0], &[0xf, 7, 4]), "other bits");
        assert!(!owners.is_same(&[0, 0, 0], &[0x1f, 0, 0]));
        assert!(!owners.is_same(&[0, 0, 1], &[0, 0, 2]));
    }
}
