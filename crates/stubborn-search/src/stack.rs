//! The depth-first stack: small frames, and the successors that wait.
//!
//! A frame is the state's entry and where its waiting successors start: 16 bytes with
//! handles. The waiting successors of all frames lie in one
//! second stack, a handle each. They cost less than they look: with a few successors a
//! state this takes about as much memory as a wider frame, and nothing has to be computed
//! twice on the way back, which would double the number of states expanded.

use std::io;
use std::sync::Arc;

use stubborn_store::OutOfMemory;
use stubborn_store::saved::{Sink, damaged};

use crate::memory::{Ledger, Words};
use crate::saved::Reading;

pub(crate) struct Stack {
    entry_words: usize,
    /// Frames of `entry_words + 1` words: entry, start of waiting successors.
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

    /// Writes all frames and all that waits.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.number(self.len() as u64)?;
        for frame in 0..self.len() {
            sink.numbers(self.entry(frame).iter().copied())?;
            sink.number(self.start(frame) as u64)?;
        }
        sink.number(self.waiting.len() as u64)?;
        sink.numbers(self.waiting.as_slice().iter().copied())
    }

    pub(crate) fn restore(reading: &mut Reading<'_, '_, '_>) -> io::Result<Self> {
        let mut stack = Self::new(reading.ledger, reading.entry_words());
        let frame_words = stack.frame_words();
        let frames = reading.source.count(frame_words * size_of::<u64>())?;
        stack.frames = reading.words(frames * frame_words)?;
        stack.waiting = reading.entries()?;
        let mut before = 0;
        for frame in 0..frames {
            reading.check(stack.entry(frame))?;
            let start = stack.start(frame);
            let is_entry = start.is_multiple_of(stack.entry_words);
            if !is_entry || start < before || start > stack.waiting.len() {
                return Err(damaged("a stack is in disorder"));
            }
            before = start;
        }
        Ok(stack)
    }

    #[inline]
    fn frame_words(&self) -> usize {
        self.entry_words + 1
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
        self.frames.push(self.waiting.len() as u64)
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

    /// Takes the next waiting successor of the last frame into `entry`; false if none waits.
    #[inline]
    pub(crate) fn take(&mut self, entry: &mut Vec<u64>) -> bool {
        let end = self.waiting.len();
        if end == self.last_start() {
            return false;
        }
        let at = end - self.entry_words;
        entry.clear();
        entry.extend_from_slice(&self.waiting.as_slice()[at..]);
        self.waiting.truncate(at);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_store::MemoryBudget;

    #[test]
    fn the_successors_of_the_last_frame_are_taken_first() {
        let ledger = Ledger::new(MemoryBudget::unlimited());
        let mut stack = Stack::new(&ledger, 1);
        let mut entry = Vec::new();
        stack.push(&[100]).unwrap();
        for successor in [1, 2, 3] {
            stack.wait(&[successor]).unwrap();
        }
        assert!(stack.take(&mut entry));
        assert_eq!(entry, [3]);
        stack.push(&[101]).unwrap();
        stack.wait(&[9]).unwrap();
        assert_eq!((stack.waiting(0), stack.waiting(1)), (2, 1));
        assert_eq!(stack.waiting_entries(0), [1, 2]);
        assert!(stack.take(&mut entry));
        assert!(
            !stack.take(&mut entry),
            "what waits below belongs to the frame below"
        );
        stack.pop();
        assert!(stack.take(&mut entry));
        assert_eq!(entry, [2]);
    }
}
