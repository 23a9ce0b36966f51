//! The depth-first stack: small frames, and the successors that wait.
//!
//! A frame is the state's entry, where its waiting successors start, and how many of them
//! were put off: 24 bytes with handles. The waiting successors of all frames lie in one
//! second stack, a handle each. They cost less than they look: with a few successors a
//! state this takes about as much memory as a wider frame, and nothing has to be computed
//! twice on the way back, which would double the number of states expanded.

use std::sync::Arc;

use stubborn_store::{OutOfMemory, StateHandle};

use crate::memory::{Ledger, Words};

/// Bits of a frame's last word: number of successors put off, then flags.
const PUT_OFF_BITS: u32 = 32;
const EXPANDED: u64 = 1 << PUT_OFF_BITS;

pub(crate) struct Stack {
    entry_words: usize,
    /// Frames of `entry_words + 2` words: entry, start of waiting successors, bits.
    frames: Words,
    waiting: Words,
}

impl Stack {
    pub(crate) fn new(ledger: &Arc<Ledger>, entry_words: usize) -> Self {
        Self {
            entry_words,
            frames: Words::new(ledger),
            waiting: Words::new(ledger),
        }
    }

    #[inline]
    fn frame_words(&self) -> usize {
        self.entry_words + 2
    }

    /// Number of frames.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.frames.len() / self.frame_words()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The entry of a frame.
    #[inline]
    pub(crate) fn entry(&self, frame: usize) -> &[u64] {
        &self.frames.as_slice()[frame * self.frame_words()..][..self.entry_words]
    }

    #[inline]
    fn start(&self, frame: usize) -> usize {
        self.frames.as_slice()[frame * self.frame_words() + self.entry_words] as usize
    }

    #[inline]
    fn bits(&self, frame: usize) -> u64 {
        self.frames.as_slice()[frame * self.frame_words() + self.entry_words + 1]
    }

    #[inline]
    fn bits_mut(&mut self, frame: usize) -> &mut u64 {
        let at = frame * self.frame_words() + self.entry_words + 1;
        &mut self.frames.as_mut_slice()[at]
    }

    /// Whether all successors of the frame's state are explored.
    #[inline]
    pub(crate) fn is_expanded(&self, frame: usize) -> bool {
        self.bits(frame) & EXPANDED != 0
    }

    pub(crate) fn set_expanded(&mut self, frame: usize) {
        *self.bits_mut(frame) |= EXPANDED;
    }

    /// Where the waiting successors of the last frame start; those without a frame start
    /// at 0.
    #[inline]
    fn last_start(&self) -> usize {
        match self.len() {
            0 => 0,
            len => self.start(len - 1),
        }
    }

    /// Number of successors of a frame that wait.
    pub(crate) fn waiting(&self, frame: usize) -> usize {
        let end = match frame + 1 {
            next if next < self.len() => self.start(next),
            _ => self.waiting.len(),
        };
        (end - self.start(frame)) / self.entry_words
    }

    /// The waiting successors of a frame.
    pub(crate) fn waiting_entries(&self, frame: usize) -> &[u64] {
        let start = self.start(frame);
        &self.waiting.as_slice()[start..][..self.waiting(frame) * self.entry_words]
    }

    /// Number of all waiting successors.
    pub(crate) fn all_waiting(&self) -> usize {
        self.waiting.len() / self.entry_words
    }

    /// Adds a frame.
    #[inline]
    pub(crate) fn push(&mut self, entry: &[u64]) -> Result<(), OutOfMemory> {
        self.frames.extend(entry)?;
        self.frames.push(self.waiting.len() as u64)?;
        self.frames.push(0)
    }

    /// Takes the last frame away. No successor may wait.
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert_eq!(self.waiting.len(), self.last_start());
        let len = self.frames.len() - self.frame_words();
        self.frames.truncate(len);
    }

    /// Lets a successor of the last frame wait; it will be the next one taken.
    #[inline]
    pub(crate) fn wait(&mut self, entry: &[u64]) -> Result<(), OutOfMemory> {
        self.waiting.extend(entry)
    }

    /// Lets a successor of the last frame wait until all others were taken.
    pub(crate) fn put_off(&mut self, entry: &[u64]) -> Result<(), OutOfMemory> {
        let Some(frame) = self.len().checked_sub(1) else {
            return self.wait(entry);
        };
        // Behind those put off before, which are at the bottom.
        let put_off = (self.bits(frame) & (EXPANDED - 1)) as usize;
        let at = self.start(frame) + put_off * self.entry_words;
        self.waiting.extend(entry)?;
        self.waiting.as_mut_slice()[at..].rotate_right(self.entry_words);
        *self.bits_mut(frame) += 1;
        Ok(())
    }

    /// Takes the next waiting successor of the last frame into `entry`, and says whether it
    /// had been put off. Gives `None` if none waits.
    #[inline]
    pub(crate) fn take(&mut self, entry: &mut Vec<u64>) -> Option<bool> {
        let start = self.last_start();
        let end = self.waiting.len();
        if end == start {
            return None;
        }
        let at = end - self.entry_words;
        entry.clear();
        entry.extend_from_slice(&self.waiting.as_slice()[at..]);
        self.waiting.truncate(at);
        let Some(frame) = self.len().checked_sub(1) else {
            return Some(false);
        };
        let put_off = (self.bits(frame) & (EXPANDED - 1)) as usize;
        let was_put_off = start + put_off * self.entry_words == end;
        if was_put_off {
            *self.bits_mut(frame) -= 1;
        }
        Some(was_put_off)
    }
}

/// What a proviso sees of the depth-first stack.
#[derive(Clone, Copy)]
pub struct StackView<'a>(pub(crate) Option<&'a Stack>);

impl StackView<'_> {
    /// Number of states on the stack.
    pub fn len(&self) -> usize {
        self.0.map_or(0, Stack::len)
    }

    /// True if the search has no stack.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state at a depth, from 0 on.
    ///
    /// # Panics
    /// If the stack is not that high.
    pub fn state(&self, depth: usize) -> StateHandle {
        let stack = self.0.filter(|stack| depth < stack.len());
        let entry = stack.map(|stack| stack.entry(depth)[0]);
        StateHandle::from_bits(entry.expect("the stack is not that high"))
    }

    /// Whether all successors of the state at a depth are explored.
    pub fn is_expanded(&self, depth: usize) -> bool {
        self.0.is_some_and(|stack| stack.is_expanded(depth))
    }

    /// How many edges of the state at a depth wait to be taken.
    pub fn waiting(&self, depth: usize) -> usize {
        self.0.map_or(0, |stack| stack.waiting(depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_store::MemoryBudget;

    #[test]
    fn what_was_put_off_comes_last() {
        let ledger = Ledger::new(MemoryBudget::unlimited());
        let mut stack = Stack::new(&ledger, 1);
        let mut entry = Vec::new();
        stack.push(&[100]).unwrap();
        for successor in [1, 2, 3] {
            stack.wait(&[successor]).unwrap();
        }
        assert_eq!(stack.take(&mut entry), Some(false));
        assert_eq!(entry, [3]);
        stack.put_off(&[3]).unwrap();
        stack.push(&[101]).unwrap();
        stack.wait(&[9]).unwrap();
        assert_eq!((stack.waiting(0), stack.waiting(1)), (3, 1));
        assert_eq!(stack.waiting_entries(0), [3, 1, 2]);
        stack.take(&mut entry);
        assert_eq!(stack.take(&mut entry), None);
        stack.pop();
        let mut order = Vec::new();
        while let Some(put_off) = stack.take(&mut entry) {
            order.push((entry[0], put_off));
            if entry[0] == 2 {
                stack.put_off(&[2]).unwrap();
            }
            assert!(order.len() < 9);
            if put_off && entry[0] == 2 {
                break;
            }
        }
        assert_eq!(order, [(2, false), (1, false), (2, true)]);
    }
}
