//! What was handed on lately, to be left out when it comes again.
//!
//! Most successors are found several times, one soon after the other. Where a state is sent to
//! another process, or written to disk, a small table keeps most of them from travelling twice.

/// States that were handed on lately.
pub(crate) struct Recent {
    width: usize,
    /// Where nothing was handed on yet, a state that belongs elsewhere.
    words: Vec<u32>,
    /// Of a place.
    mask: usize,
}

impl Recent {
    /// For states of so many words, which take at most so many bytes together.
    pub(crate) fn new(width: usize, bytes: usize) -> Self {
        let states = bytes / size_of::<u32>() / width.max(1);
        let places: usize = 1 << states.max(2).ilog2();
        let mask = places - 1;
        let mut words = vec![0; places * width];
        let place = Self::hash(&words[..width]) & mask;
        let other = &mut words[place * width..][..width];
        while let Some(last) = other.last_mut() {
            *last += 1;
            if Self::hash(other) & mask != place {
                break;
            }
        }
        Self { width, words, mask }
    }

    /// Two words at a time.
    #[inline(always)]
    fn hash(state: &[u32]) -> usize {
        let (pairs, last) = state.as_chunks();
        let mut hash = u64::from(last.first().copied().unwrap_or(0));
        for [low, high] in pairs {
            let pair = u64::from(*low) | u64::from(*high) << 32;
            hash = (hash ^ pair).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        (hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as usize
    }

    /// Starts to fetch what is looked at for a state.
    #[inline]
    pub(crate) fn prefetch(&self, state: &[u32]) {
        let at = Self::hash(state) & self.mask;
        stubborn_store::prefetch(&self.words[at * self.width]);
    }

    /// Whether a state is remembered; it is from now on.
    #[inline]
    pub(crate) fn contains_or_insert(&mut self, state: &[u32]) -> bool {
        let at = Self::hash(state) & self.mask;
        let place = &mut self.words[at * self.width..][..self.width];
        // In one pass, without a call: states are a few words.
        let mut differs = 0;
        for (known, word) in place.iter_mut().zip(state) {
            differs |= std::mem::replace(known, *word) ^ word;
        }
        differs == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state is remembered until another one takes its place, and never taken for another one.
    #[test]
    fn what_was_handed_on_is_remembered() {
        for (width, bytes) in [
            (1, 1 << 10),
            (2, 16),
            (3, 1 << 10),
            (5, 1),
            (1 << 20, 1 << 10),
        ] {
            let mut recent = Recent::new(width, bytes);
            let mut last: Option<Vec<u32>> = None;
            let mut handed_on = std::collections::HashSet::new();
            for number in 0..20 {
                let mut state = vec![0; width];
                state[width / 2] = number % 10;
                let is_known = recent.contains_or_insert(&state);
                assert!(!is_known || handed_on.contains(&state), "{state:?}");
                assert!(recent.contains_or_insert(&state), "it was the last one");
                handed_on.insert(state.clone());
                last = Some(state);
            }
            assert!(last.is_some_and(|last| recent.contains_or_insert(&last)));
        }
    }
}
