//! The flat buffer that executors fill and searches read.

use crate::{FailureSite, Structure, TransitionId};

/// How a step ended: the first assertion that was violated on the way, and the failure that the
/// way ended in. There may be either, both (an index that is wrong, after an assertion that was)
/// or none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Outcome(u64);

impl Outcome {
    /// An ordinary step.
    pub const FINE: Outcome = Outcome(0);
    /// How far the number of the violated assertion is shifted.
    const VIOLATED: u32 = 32;

    /// The step ends in the failure at `structure.failures[site]`.
    pub const fn failure(site: usize) -> Self {
        Outcome(site as u32 as u64 + 1)
    }

    /// The assertion at `structure.failures[site]` is violated, and the step goes on.
    pub const fn violation(site: usize) -> Self {
        Outcome(Self::failure(site).0 << Self::VIOLATED)
    }

    /// What becomes of a way if this happens first and `later` after it.
    #[must_use]
    #[inline]
    pub const fn then(self, later: Self) -> Self {
        match self.0 >> Self::VIOLATED {
            0 => later,
            first => Outcome(first << Self::VIOLATED | later.0 as u32 as u64),
        }
    }

    /// Number of the failure that the step ended in.
    pub fn failed(self) -> Option<usize> {
        (self.0 as u32).checked_sub(1).map(|site| site as usize)
    }

    /// Number of the first assertion that was violated.
    pub fn violated(self) -> Option<usize> {
        Outcome(self.0 >> Self::VIOLATED).failed()
    }

    /// What went wrong, in this order.
    pub fn sites(self, structure: &Structure) -> impl Iterator<Item = &FailureSite> {
        let numbers = self.violated().into_iter().chain(self.failed());
        numbers.map(|site| &structure.failures[site])
    }

    /// As generated code handles it.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The outcome with these bits, in a system with so many places of failure.
    pub fn from_bits(bits: u64, failures: usize) -> Option<Self> {
        let outcome = Outcome(bits);
        let mut sites = outcome.violated().into_iter().chain(outcome.failed());
        sites.all(|site| site < failures).then_some(outcome)
    }
}

/// One successor in a [`Successors`] buffer.
#[derive(Clone, Copy, Debug)]
pub struct Successor<'a> {
    /// By which transition.
    pub transition: TransitionId,
    /// The state reached.
    pub state: &'a [u32],
    /// Bit `i` is set if word `i` may differ from the source state.
    pub changed: &'a [u64],
    /// Whether something went wrong on the way.
    pub outcome: Outcome,
}

/// Successors of one state, in flat arrays that are reused from state to state.
#[derive(Debug)]
pub struct Successors {
    words: usize,
    mask_words: usize,
    states: Vec<u32>,
    masks: Vec<u64>,
    transitions: Vec<TransitionId>,
    outcomes: Vec<Outcome>,
    /// All arrays have capacity for at least so many successors.
    capacity: usize,
}

impl Clone for Successors {
    fn clone(&self) -> Self {
        Self {
            words: self.words,
            mask_words: self.mask_words,
            states: self.states.clone(),
            masks: self.masks.clone(),
            transitions: self.transitions.clone(),
            outcomes: self.outcomes.clone(),
            // Copies of arrays have no more than they need.
            capacity: 0,
        }
    }
}

impl Successors {
    /// An empty buffer for states of `words` words.
    pub fn new(words: usize) -> Self {
        Self {
            words,
            mask_words: words.div_ceil(64),
            states: Vec::new(),
            masks: Vec::new(),
            transitions: Vec::new(),
            outcomes: Vec::new(),
            capacity: 0,
        }
    }

    /// Forgets all successors, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.states.clear();
        self.masks.clear();
        self.transitions.clear();
        self.outcomes.clear();
    }

    /// How many successors there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.transitions.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.transitions.is_empty()
    }

    /// The transition of each successor.
    #[inline]
    pub fn transitions(&self) -> &[TransitionId] {
        &self.transitions
    }

    /// One successor.
    #[inline]
    pub fn get(&self, index: usize) -> Successor<'_> {
        Successor {
            transition: self.transitions[index],
            state: self.state(index),
            changed: &self.masks[index * self.mask_words..][..self.mask_words],
            outcome: self.outcomes[index],
        }
    }

    /// The state of one successor.
    #[inline]
    pub fn state(&self, index: usize) -> &[u32] {
        &self.states[index * self.words..][..self.words]
    }

    /// The words and the mask of one successor, to be changed in place.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> (&mut [u32], &mut [u64]) {
        (
            &mut self.states[index * self.words..][..self.words],
            &mut self.masks[index * self.mask_words..][..self.mask_words],
        )
    }

    /// The outcome of one successor.
    #[inline]
    pub fn outcome(&self, index: usize) -> Outcome {
        self.outcomes[index]
    }

    /// Whether no step had a bad outcome.
    #[inline]
    pub fn all_fine(&self) -> bool {
        self.outcomes.iter().fold(0, |all, one| all | one.0) == 0
    }

    /// The words of all successors in order, and their masks.
    #[inline]
    pub fn states(&self) -> (&[u32], &[u64]) {
        (&self.states, &self.masks)
    }

    /// All successors in order.
    pub fn iter(&self) -> impl Iterator<Item = Successor<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends a successor that starts as a copy of `source` with an all-zero mask, and
    /// returns its words and mask to be changed in place.
    #[inline]
    pub fn push_copy(
        &mut self,
        transition: TransitionId,
        source: &[u32],
    ) -> (&mut [u32], &mut [u64]) {
        assert_eq!(source.len(), self.words, "a state of another size");
        let (at, mask_at) = (self.states.len(), self.masks.len());
        let room = self.spare_room(1);
        // SAFETY: there is room for one entry, all parts of which are written, the words from as
        // many.
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), room.states, self.words);
            room.masks.write_bytes(0, self.mask_words);
            room.transitions.write(transition);
            room.outcomes.write(Outcome::FINE);
            self.claim(1);
        }
        (&mut self.states[at..], &mut self.masks[mask_at..])
    }

    /// Appends so many successors that start as copies of `source` with all-zero masks and by a
    /// transition that is to be set: their words, masks and transitions, one successor behind the other.
    #[inline]
    pub fn push_copies(
        &mut self,
        source: &[u32],
        count: usize,
    ) -> (&mut [u32], &mut [u64], &mut [TransitionId]) {
        assert_eq!(source.len(), self.words, "a state of another size");
        let (first, at, mask_at) = (self.len(), self.states.len(), self.masks.len());
        let room = self.spare_room(count);
        // SAFETY: there is room for so many entries, all parts of which are written, the words of the
        // first from as many, and those of the others from the ones before.
        unsafe {
            let mut written = count.min(1);
            std::ptr::copy_nonoverlapping(source.as_ptr(), room.states, written * self.words);
            while written < count {
                let more = written.min(count - written);
                let to = room.states.add(written * self.words);
                std::ptr::copy_nonoverlapping(room.states, to, more * self.words);
                written += more;
            }
            for row in 0..count {
                room.transitions.add(row).write(TransitionId::new(0));
            }
            for row in 0..count {
                room.outcomes.add(row).write(Outcome::FINE);
            }
            room.masks.write_bytes(0, count * self.mask_words);
            self.claim(count);
        }
        (
            &mut self.states[at..],
            &mut self.masks[mask_at..],
            &mut self.transitions[first..],
        )
    }

    /// Appends a finished successor; the mask is computed by comparison with `source`.
    pub fn push(
        &mut self,
        transition: TransitionId,
        source: &[u32],
        state: &[u32],
        outcome: Outcome,
    ) {
        let (words, mask) = self.push_copy(transition, source);
        for (i, (word, new)) in words.iter_mut().zip(state).enumerate() {
            if word != new {
                *word = *new;
                mask[i / 64] |= 1 << (i % 64);
            }
        }
        self.set_last_outcome(outcome);
    }

    /// Appends a successor of another buffer, for states of the same size.
    #[inline]
    pub fn append(&mut self, successor: Successor<'_>) {
        assert_eq!(successor.state.len(), self.words, "a state of another size");
        self.states.extend_from_slice(successor.state);
        self.masks.extend_from_slice(successor.changed);
        self.transitions.push(successor.transition);
        self.outcomes.push(successor.outcome);
    }

    /// Forgets all successors from number `len` on.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.states.truncate(len * self.words);
        self.masks.truncate(len * self.mask_words);
        self.transitions.truncate(len);
        self.outcomes.truncate(len);
    }

    /// Says how a step ended.
    #[inline]
    pub fn set_outcome(&mut self, index: usize, outcome: Outcome) {
        self.outcomes[index] = outcome;
    }

    /// Says how the last pushed step ended.
    #[inline]
    pub fn set_last_outcome(&mut self, outcome: Outcome) {
        if let Some(last) = self.outcomes.last_mut() {
            *last = outcome;
        }
    }

    /// Room behind the last successor for `count` more, to be written by generated code
    /// and then claimed with [`claim`](Self::claim). The pointers are valid until the next
    /// call of any other method.
    #[inline]
    pub fn spare_room(&mut self, count: usize) -> SpareRoom {
        if self.len() + count > self.capacity {
            self.make_room(count);
        }
        SpareRoom {
            states: self.states.spare_capacity_mut().as_mut_ptr().cast(),
            masks: self.masks.spare_capacity_mut().as_mut_ptr().cast(),
            transitions: self.transitions.spare_capacity_mut().as_mut_ptr().cast(),
            outcomes: self.outcomes.spare_capacity_mut().as_mut_ptr().cast(),
        }
    }

    #[cold]
    fn make_room(&mut self, count: usize) {
        self.states.reserve(count * self.words);
        self.masks.reserve(count * self.mask_words);
        self.transitions.reserve(count);
        self.outcomes.reserve(count);
        self.capacity = self.len() + count;
    }

    /// Makes the first `count` entries of the spare room successors.
    ///
    /// # Safety
    /// `count` is at most what the last [`spare_room`](Self::spare_room) was asked for,
    /// nothing was called in between, and all parts of these entries were written: the
    /// words, the mask, the transition and the outcome of each.
    #[inline]
    pub unsafe fn claim(&mut self, count: usize) {
        debug_assert!(self.outcomes.len() + count <= self.outcomes.capacity());
        // SAFETY: the caller promises that the entries lie within the reserved capacity and
        // were initialised.
        unsafe {
            self.states.set_len(self.states.len() + count * self.words);
            self.masks
                .set_len(self.masks.len() + count * self.mask_words);
            self.transitions.set_len(self.transitions.len() + count);
            self.outcomes.set_len(self.outcomes.len() + count);
        }
    }

    /// Number of words of a state.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Takes the last successor back: its transition turned out not to be enabled.
    #[inline]
    pub fn pop(&mut self) {
        if self.transitions.pop().is_some() {
            self.outcomes.pop();
            self.states.truncate(self.states.len() - self.words);
            self.masks.truncate(self.masks.len() - self.mask_words);
        }
    }
}

/// Unused room of a [`Successors`] buffer, see [`Successors::spare_room`]: entry `i` has
/// the words from `states + i * words`, the mask from `masks + i * mask_words`, and its
/// transition and outcome at `transitions + i` and `outcomes + i`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SpareRoom {
    /// Words of states.
    pub states: *mut u32,
    /// Masks of changed words.
    pub masks: *mut u64,
    /// Indices of transitions.
    pub transitions: *mut TransitionId,
    /// How the steps ended.
    pub outcomes: *mut Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_follow_from_comparison() {
        let mut buffer = Successors::new(70);
        let source = vec![0; 70];
        let mut state = source.clone();
        state[3] = 1;
        state[69] = 2;
        buffer.push(TransitionId::new(4), &source, &state, Outcome::FINE);
        assert_eq!(buffer.get(0).changed, &[1 << 3, 1 << 5]);
        assert_eq!(buffer.state(0), state);
        buffer.pop();
        assert!(buffer.is_empty());
    }

    #[test]
    fn copies_are_changed_in_place() {
        let mut buffer = Successors::new(65);
        let source = vec![7; 65];
        buffer.push(TransitionId::new(4), &source, &[8; 65], Outcome::failure(1));
        let (words, masks, transitions) = buffer.push_copies(&source, 2);
        assert_eq!(
            (words.len(), masks, transitions.len()),
            (130, &mut [0; 4][..], 2)
        );
        (words[65], transitions[1]) = (9, TransitionId::new(5));
        assert_eq!(buffer.len(), 3);
        assert_eq!(
            (buffer.state(1), buffer.outcome(1)),
            (&source[..], Outcome::FINE)
        );
        assert_eq!(
            (buffer.state(2)[0], buffer.get(2).transition),
            (9, TransitionId::new(5))
        );
        assert!(buffer.push_copies(&source, 0).0.is_empty());
    }

    #[test]
    fn outcomes_keep_the_first_violation_and_the_failure() {
        let (a, b, f) = (
            Outcome::violation(0),
            Outcome::violation(7),
            Outcome::failure(3),
        );
        assert_eq!(Outcome::FINE.then(f), f);
        assert_eq!(a.then(Outcome::FINE), a);
        assert_eq!(a.then(b), a);
        let both = b.then(a).then(a.then(f));
        assert_eq!((both.violated(), both.failed()), (Some(7), Some(3)));
        assert_eq!((f.violated(), a.failed()), (None, None));
    }

    #[test]
    fn spare_room_becomes_successors() {
        let mut buffer = Successors::new(2);
        buffer.push_copy(TransitionId::new(1), &[7, 7]);
        let room = buffer.spare_room(3);
        // SAFETY: all parts of one of the three reserved entries are written before the claim.
        unsafe {
            room.states.write(8);
            room.states.add(1).write(9);
            room.masks.write(3);
            room.transitions.write(TransitionId::new(5));
            room.outcomes.write(Outcome::FINE);
            buffer.claim(1);
        }
        assert_eq!(buffer.len(), 2);
        assert_eq!(buffer.get(1).state, &[8, 9]);
        assert_eq!(buffer.get(1).changed, &[3]);
        assert_eq!(buffer.get(1).transition, TransitionId::new(5));
    }
}
