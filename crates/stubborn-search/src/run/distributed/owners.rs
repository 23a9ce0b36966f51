//! To whom states belong.

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
        // Another function than that of tables, in which the states of one process would
        // otherwise lie side by side.
        let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
        for word in &self.words {
            hash = (hash ^ u64::from(state[*word])).wrapping_mul(0xd6e8_feb8_6659_fd93);
            hash ^= hash >> 32;
        }
        (((hash >> 32) * self.size) >> 32) as usize
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
