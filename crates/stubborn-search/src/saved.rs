//! What searches have in common when they are written down and read again.
//!
//! Nothing that is read is believed: states must be those of the store, numbers must be small
//! enough to count on. What comes back is a search that cannot break, whatever the bytes were.
//! Whether they are the right ones is for checksums to tell.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

use stubborn_store::saved::{Sink, Source, damaged};
use stubborn_store::{OutOfMemory, StateHandle, StoreError, Worker};
use stubborn_system::{Outcome, System, TransitionId};

use crate::config::SearchError;
use crate::entry::{EntryShape, chunk_words};
use crate::memory::{Ledger, Words};
use crate::packed::Packed;

/// Why a search cannot be taken up again.
#[derive(Debug)]
pub enum ResumeError {
    /// It could not be run either.
    Search(SearchError),
    /// It was another search; in words.
    Foreign(String),
    /// It cannot be read: damage is [`io::ErrorKind::InvalidData`], and a limit of memory that is
    /// too small [`io::ErrorKind::OutOfMemory`].
    Read(io::Error),
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search(error) => error.fmt(f),
            Self::Foreign(what) => f.write_str(what),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ResumeError {}

impl From<SearchError> for ResumeError {
    fn from(error: SearchError) -> Self {
        Self::Search(error)
    }
}

impl From<io::Error> for ResumeError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// More than anybody counts: sums of such numbers do not overflow.
pub(crate) const MANY: u64 = 1 << 56;

/// So many words of a state.
pub(crate) fn words(source: &mut Source<'_>, count: usize) -> io::Result<Vec<u32>> {
    let mut words = Vec::new();
    source.numbers(count, |word| {
        words.push(u32::try_from(word).map_err(|_| damaged("a word is too large"))?);
        Ok(())
    })?;
    Ok(words)
}

/// A bad step, if there is one: whether, by which transition, and how it ends.
pub(crate) fn step(
    source: &mut Source<'_>,
    system: &dyn System,
) -> io::Result<Option<(TransitionId, Outcome)>> {
    let has_step = source.at_most(1, "neither yes nor no")? == 1;
    let (transition, outcome) = (source.number()?, source.number()?);
    let structure = system.structure();
    let outcome = Outcome::from_bits(outcome, structure.failures.len());
    let is_transition = transition < structure.transitions.len() as u64;
    match outcome.filter(|_| is_transition) {
        _ if !has_step => Ok(None),
        None => Err(damaged("there is no such step")),
        Some(outcome) => Ok(Some((TransitionId::new(transition as usize), outcome))),
    }
}

/// Writes entries, with the number of words: first what was begun, then whole chunks.
pub(crate) fn save_chunks<'c>(
    sink: &mut Sink<'_>,
    begun: impl Iterator<Item = &'c [u64]> + Clone,
    chunks: impl Iterator<Item = &'c Packed> + Clone,
    entry_words: usize,
) -> io::Result<()> {
    let words = begun.clone().map(<[u64]>::len);
    let words = words.chain(chunks.clone().map(Packed::len));
    sink.number(words.map(|len| len as u64).sum())?;
    sink.numbers(begun.flatten().copied())?;
    let mut unpacked = Vec::new();
    for chunk in chunks {
        chunk.unpack(entry_words, &mut unpacked);
        sink.numbers(unpacked.iter().copied())?;
    }
    Ok(())
}

/// Reads entries of states.
pub(crate) struct Reading<'a, 's, 'r> {
    pub(crate) source: &'s mut Source<'r>,
    pub(crate) ledger: &'a Arc<Ledger>,
    shape: EntryShape,
    worker: Worker<'a>,
}

fn no_room(error: OutOfMemory) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, StoreError::from(error))
}

impl<'a, 's, 'r> Reading<'a, 's, 'r> {
    pub(crate) fn new(
        source: &'s mut Source<'r>,
        ledger: &'a Arc<Ledger>,
        shape: EntryShape,
        worker: Worker<'a>,
    ) -> Self {
        Self {
            source,
            ledger,
            shape,
            worker,
        }
    }

    pub(crate) fn entry_words(&self) -> usize {
        self.shape.entry_words
    }

    /// A number that sums can be made of.
    pub(crate) fn at_most_many(&mut self) -> io::Result<u64> {
        self.source.at_most(MANY, "a number is too large")
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self) -> io::Result<bool> {
        Ok(self.source.at_most(1, "neither yes nor no")? == 1)
    }

    /// So many words, of which each has still to come.
    pub(crate) fn words(&mut self, count: usize) -> io::Result<Words> {
        let mut words = Words::with_capacity(self.ledger, count).map_err(no_room)?;
        self.source
            .numbers(count, |word| words.push(word).map_err(no_room))?;
        Ok(words)
    }

    /// Whether an entry is one of a state that there is.
    pub(crate) fn check(&mut self, entry: &[u64]) -> io::Result<()> {
        let is_state = |bits: &u64| self.worker.holds(StateHandle::from_bits(*bits));
        match !self.shape.is_handle || entry.iter().all(is_state) {
            true => Ok(()),
            false => Err(damaged("a state is not there")),
        }
    }

    /// The number of words of entries that follow.
    fn entry_count(&mut self) -> io::Result<usize> {
        let words = self.source.count(size_of::<u64>())?;
        match words.is_multiple_of(self.shape.entry_words) {
            true => Ok(words),
            false => Err(damaged("half a state")),
        }
    }

    /// Entries of states.
    pub(crate) fn entries(&mut self) -> io::Result<Words> {
        let count = self.entry_count()?;
        let words = self.words(count)?;
        self.check(words.as_slice())?;
        Ok(words)
    }

    /// Entries of states, in chunks.
    pub(crate) fn chunks(&mut self) -> io::Result<VecDeque<Packed>> {
        let mut left = self.entry_count()?;
        let mut chunks = VecDeque::new();
        let (entry_words, mut scratch) = (self.shape.entry_words, Vec::new());
        while left > 0 {
            let now = left.min(chunk_words(entry_words));
            let chunk = self.words(now)?;
            self.check(chunk.as_slice())?;
            let packed = Packed::new(chunk.as_slice(), entry_words, self.ledger, &mut scratch);
            chunks.push_back(packed.map_err(no_room)?);
            left -= now;
        }
        Ok(chunks)
    }

    /// States that a proviso wants to come back to.
    pub(crate) fn handles(&mut self) -> io::Result<Vec<StateHandle>> {
        let count = self.source.count(size_of::<u64>())?;
        let words = self.words(count)?;
        if count > 0 && !self.shape.is_handle {
            return Err(damaged("states have no handles"));
        }
        self.check(words.as_slice())?;
        let handles = words.as_slice().iter();
        Ok(handles.map(|bits| StateHandle::from_bits(*bits)).collect())
    }
}
