//! What was handed on lately, to be left out when it comes again.
//!
//! Most successors are found several times, one soon after the other. Where a state is sent to
//! another process, or written to disk, a small table keeps most of them from travelling twice.

/// States that were handed on lately.
pub(crate) struct Recent {
    width: usize,
    words: Vec<u32>,
    /// Of the hash of each, never 0 where there is one: most others need not be looked at.
    tags: Vec<u32>,
}

impl Recent {
    /// For states of so many words, which take at most so many bytes together.
    pub(crate) fn new(width: usize, bytes: usize) -> Self {
        let states = bytes / size_of::<u32>() / width.max(1);
        let places = 1 << states.max(1).ilog2();
        Self {
            width,
            words: vec![0; places * width],
            tags: vec![0; places],
        }
    }

    /// Whether a state is remembered; it is from now on.
    #[inline]
    pub(crate) fn contains_or_insert(&mut self, hash: u64, state: &[u32]) -> bool {
        let at = hash as u32 as usize & (self.tags.len() - 1);
        let tag = (hash >> 20) as u32 | 1;
        let place = &mut self.words[at * self.width..][..self.width];
        if self.tags[at] == tag && *place == *state {
            return true;
        }
        self.tags[at] = tag;
        place.copy_from_slice(state);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state is remembered until another one takes its place, and never taken for another one.
    #[test]
    fn what_was_handed_on_is_remembered() {
        let mut recent = Recent::new(2, 1 << 10);
        assert!(
            !recent.contains_or_insert(7, &[0, 0]),
            "nothing was handed on yet"
        );
        assert!(recent.contains_or_insert(7, &[0, 0]));
        assert!(!recent.contains_or_insert(7, &[0, 1]), "the same hash");
        assert!(!recent.contains_or_insert(7, &[0, 0]), "it was replaced");
        assert!(!recent.contains_or_insert(u64::MAX, &[0, 0]));
        assert!(!Recent::new(1 << 20, 1 << 10).contains_or_insert(9, &vec![0; 1 << 20]));
    }
}
