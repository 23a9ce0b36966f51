//! Keeping what a check has done, so that it can be taken up again.
//!
//! A check is a list of searches, and the list is a function of the system and the options. So it
//! is enough to keep what the searches learnt that are done, and where the current one is; whoever
//! takes the check up again plans anew, recalls the results, and goes on in the middle of the
//! search that was not done. What `auto` has decided is recalled as well, with what it was decided
//! from.

use std::io::{self, Read, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stubborn_search::{
    Engine, Explore, ResumeError, Search, SearchError, SearchResult, Sink, Source,
};
use stubborn_system::Spent;

use crate::auto::Decision;
use crate::{CheckError, Planner};

/// Who keeps checkpoints.
pub trait Keeper: Sync {
    /// A flag that is set when there should be one.
    fn pause(&self) -> &AtomicBool;

    /// Whether a search is going on now that looks at the flag.
    fn is_exploring(&self, now: bool);

    /// The search has paused: clears the flag, and keeps what `write` writes. An error of
    /// [kind `Unsupported`](io::ErrorKind::Unsupported) means that there is nothing to keep.
    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Next;

    /// What was kept before, to go on with, and how many bytes that are at most; told once.
    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)>;
}

/// What happens after a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The search goes on.
    GoOn,
    /// It ends, for this reason.
    End(Spent),
}

impl From<ResumeError> for CheckError {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Search(error) => Self::Search(error),
            ResumeError::Foreign(what) => Self::Resume(what),
            ResumeError::Read(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                let message = format!("the memory limit is too small to go on: {error}");
                Self::Search(SearchError::NoAnswer(message))
            }
            ResumeError::Read(error) => {
                Self::Resume(format!("the checkpoint cannot be read: {error}"))
            }
        }
    }
}

/// What is kept of a check.
pub(crate) struct Keeping<'m> {
    pub(crate) keeper: &'m dyn Keeper,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Searches begun or recalled.
    searches: usize,
    /// Of those that are done: what they learnt, as written.
    done: Vec<Vec<u8>>,
    /// See [`System::defeats_reduction`](stubborn_system::System::defeats_reduction).
    was_defeated: bool,
    /// Of the one that was not done.
    left: Option<Left>,
    /// Why nothing can be taken up.
    problem: Option<CheckError>,
}

struct Left {
    decision: Decision,
    input: Box<dyn Read + Send>,
    bytes: u64,
}

/// A search where it was, and what was decided about it.
pub(crate) type Resumed<'s> = (Box<dyn Explore + 's>, Decision);

impl<'m> Keeping<'m> {
    pub(crate) fn new(keeper: &'m dyn Keeper) -> Self {
        let state = match keeper.take_up() {
            None => State::default(),
            Some((input, bytes)) => State::read(input, bytes).unwrap_or_else(|error| State {
                problem: Some(ResumeError::Read(error).into()),
                ..State::default()
            }),
        };
        Self {
            keeper,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a search that is not run any more has met what defeats reductions.
    pub(crate) fn was_defeated(&self) -> bool {
        self.state().was_defeated
    }

    /// The next search: what it learnt, if it is done.
    pub(crate) fn recall(
        &self,
        search: &Search<'_>,
    ) -> Result<Option<(SearchResult, Decision)>, CheckError> {
        let mut state = self.state();
        if let Some(problem) = state.problem.clone() {
            return Err(problem);
        }
        let number = state.searches;
        state.searches += 1;
        let Some(done) = state.done.get(number) else {
            return Ok(None);
        };
        let (mut input, bytes) = (done.as_slice(), done.len() as u64);
        let source = &mut Source::new(&mut input, bytes);
        let decision = Decision::read(source).map_err(ResumeError::Read)?;
        Ok(Some((search.recall(source)?, decision)))
    }

    /// The search where it was, if it is the one that was not done.
    pub(crate) fn resume<'s>(
        &self,
        engine: &'s dyn Engine,
        search: &'s Search<'s>,
    ) -> Result<Option<Resumed<'s>>, CheckError> {
        let Some(mut left) = self.state().left.take() else {
            return Ok(None);
        };
        let source = &mut Source::new(&mut *left.input, left.bytes);
        Ok(Some((engine.resume(search, source)?, left.decision)))
    }

    /// Keeps a search that waits or is paused, and what was done before it.
    pub(crate) fn keep(
        &self,
        planner: &Planner<'_>,
        exploration: &dyn Explore,
        decision: &Decision,
    ) -> Next {
        let is_defeated = planner.is_defeated();
        self.keeper.keep(&mut |output| {
            let sink = &mut Sink::new(output);
            self.state().write(is_defeated, decision, sink)?;
            exploration.save(sink)
        })
    }

    /// A search is done.
    pub(crate) fn done(&self, search: &Search<'_>, result: &SearchResult, decision: &Decision) {
        let mut bytes = Vec::new();
        let sink = &mut Sink::new(&mut bytes);
        let written = decision.write(sink);
        let written = written.and_then(|()| search.save_result(result, sink));
        debug_assert!(written.is_ok(), "memory takes everything");
        self.state().done.push(bytes);
    }
}

/// Takes from what was kept all but the search that was not done: for other processes, which take
/// the same check up and have no part of that search yet.
///
/// # Errors
/// If it cannot be read.
pub fn kept_before(input: &mut (dyn Read + Send), bytes: u64) -> io::Result<Vec<u8>> {
    let source = &mut Source::new(input, bytes);
    let (state, decision) = State::read_from(source)?;
    let mut head = Vec::new();
    state.write(state.was_defeated, &decision, &mut Sink::new(&mut head))?;
    Ok(head)
}

impl State {
    fn write(&self, is_defeated: bool, decision: &Decision, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.number(self.done.len() as u64)?;
        for one in &self.done {
            sink.number(one.len() as u64)?;
            sink.bytes(one)?;
        }
        sink.number(is_defeated.into())?;
        decision.write(sink)
    }

    fn read(mut input: Box<dyn Read + Send>, bytes: u64) -> io::Result<Self> {
        let (state, decision) = Self::read_from(&mut Source::new(&mut *input, bytes))?;
        Ok(Self {
            left: Some(Left {
                decision,
                input,
                bytes,
            }),
            ..state
        })
    }

    /// All but the search that was not done.
    fn read_from(source: &mut Source<'_>) -> io::Result<(Self, Decision)> {
        let mut done = Vec::new();
        for _ in 0..source.count(size_of::<u64>())? {
            let mut one = vec![0; source.count(1)?];
            source.bytes(&mut one)?;
            done.push(one);
        }
        let was_defeated = source.at_most(1, "neither yes nor no")? == 1;
        let decision = Decision::read(source)?;
        let state = Self {
            done,
            was_defeated,
            ..Self::default()
        };
        Ok((state, decision))
    }
}
