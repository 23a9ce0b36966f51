//! To whom states belong.

use stubborn_cluster::{hash_of, owner_of};

use crate::config::Search;

/// To whom a state belongs: a function of some of its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    size: u64,
    words: Vec<usize>,
}

impl Owners {
    /// For a search by so many processes.
    pub(super) fn of(search: &Search<'_>, size: usize) -> Self {
        Self {
            size: size as u64,
            words: (0..search.system.layout().words()).collect(),
        }
    }

    /// Who owns a state.
    #[inline]
    pub(super) fn owner(&self, state: &[u32]) -> usize {
        owner_of(self.hash(state), self.size)
    }

    /// The same, and what [`Recent`](crate::recent::Recent) wants to know.
    #[inline]
    pub(super) fn owner_and_hash(&self, state: &[u32]) -> (usize, u64) {
        let hash = self.hash(state);
        (owner_of(hash, self.size), hash)
    }

    #[inline]
    fn hash(&self, state: &[u32]) -> u64 {
        hash_of(self.words.iter().map(|word| state[*word]))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        super::bytes_of(self.words.iter().map(|word| *word as u64))
    }

    pub(super) fn from_bytes(size: usize, bytes: &[u8]) -> Self {
        let words = super::numbers_of(bytes);
        Self {
            size: size as u64,
            words: words.into_iter().map(|word| word as usize).collect(),
        }
    }
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
            let owners = Owners {
                size: parts,
                words: if is_packed { vec![0] } else { (0..5).collect() },
            };
            let mut counts = vec![0_u32; parts as usize];
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
}
