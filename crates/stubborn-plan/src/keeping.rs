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

use stubborn_emptiness::{CheckKeeper, CheckResult, CheckVerdict};
use stubborn_search::{
    End, Engine, Explore, Limit, ResumeError, Search, SearchError, SearchResult, Sink, Source,
};
use stubborn_system::Spent;

use crate::auto::Decision;
use crate::temporal::{TemporalQuestion, TemporalRun};
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

/// What is kept of a check: of all its searches, whoever [plans](Planner) them.
pub struct Keeping<'m> {
    pub(crate) keeper: &'m dyn Keeper,
    state: Mutex<State>,
}

impl std::fmt::Debug for Keeping<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeping").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    /// Searches begun or recalled.
    searches: usize,
    /// Of those that are done: what they learnt, as written.
    done: Vec<Vec<u8>>,
    /// See [`System::defeats_reduction`](stubborn_system::System::defeats_reduction).
    was_defeated: bool,
    /// Something is left undone at a limit: what is kept of it is what to go on from, not what comes
    /// after it.
    is_cut: bool,
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
    /// For one check: goes on with what the keeper has [kept](Keeper::take_up).
    pub fn new(keeper: &'m dyn Keeper) -> Self {
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
        self.recall_next(|source, decision| Ok((search.recall(source)?, decision)))
    }

    /// What the next search or check learnt, if it is done.
    fn recall_next<T>(
        &self,
        recall: impl FnOnce(&mut Source<'_>, Decision) -> Result<T, CheckError>,
    ) -> Result<Option<T>, CheckError> {
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
        recall(source, decision).map(Some)
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
        // Whoever is lost is noticed when the search goes on.
        let is_defeated = planner.is_defeated().unwrap_or(false);
        self.keeper.keep(&mut |output| {
            let sink = &mut Sink::new(output);
            self.state().write(is_defeated, decision, sink)?;
            exploration.save(sink)
        })
    }

    /// A search is done.
    pub(crate) fn done(&self, search: &Search<'_>, result: &SearchResult, decision: &Decision) {
        let is_cut = matches!(result.end, End::Limit(_));
        self.done_with(decision, is_cut, |sink| search.save_result(result, sink));
    }

    fn done_with(
        &self,
        decision: &Decision,
        is_cut: bool,
        write: impl FnOnce(&mut Sink<'_>) -> io::Result<()>,
    ) {
        let mut bytes = Vec::new();
        let sink = &mut Sink::new(&mut bytes);
        let written = decision.write(sink);
        let written = written.and_then(|()| write(sink));
        debug_assert!(written.is_ok(), "memory takes everything");
        let mut state = self.state();
        state.done.push(bytes);
        state.is_cut |= is_cut;
    }

    /// The next check of a temporal property: what it found, if it is done, and otherwise who keeps it.
    pub(crate) fn check<'k>(
        &'k self,
        planner: &'k Planner<'k>,
        question: TemporalQuestion<'_>,
    ) -> Result<Result<TemporalRun, CheckKeeping<'k>>, CheckError> {
        let fairness = planner.options.temporal.weak_fairness;
        let system = planner.replay.unwrap_or(planner.system);
        let recalled = self.recall_next(|source, decision| {
            let result = CheckResult::recall(source, system, question.property, fairness)?;
            Ok(TemporalRun {
                result,
                unpaid: decision.reduces(),
            })
        })?;
        Ok(recalled.ok_or_else(|| {
            let left = self.state().left.take();
            let decision = left.as_ref().map(|left| left.decision.clone());
            CheckKeeping {
                keeping: self,
                planner,
                is_begun: left.is_some(),
                decision: Mutex::new(decision.unwrap_or_else(Decision::nobodys)),
                left: Mutex::new(left),
            }
        }))
    }
}

/// Keeps one check of a temporal property.
pub(crate) struct CheckKeeping<'k> {
    keeping: &'k Keeping<'k>,
    planner: &'k Planner<'k>,
    /// It is the one that was not done.
    pub(crate) is_begun: bool,
    /// Of what is being done now: the states at which it is asked, if that is to come, and
    /// whether it is reduced.
    decision: Mutex<Decision>,
    left: Mutex<Option<Left>>,
}

impl CheckKeeping<'_> {
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was decided so far.
    pub(crate) fn decision(&self) -> Decision {
        Self::lock(&self.decision).clone()
    }

    pub(crate) fn decide(&self, decision: Decision) {
        *Self::lock(&self.decision) = decision;
    }

    /// The check is done.
    pub(crate) fn done(&self, run: &TemporalRun) {
        let decision = Decision::of_check(u64::MAX, run.unpaid);
        let is_cut = matches!(run.result.verdict, CheckVerdict::Unknown(_));
        let write = |sink: &mut Sink<'_>| run.result.save(sink);
        self.keeping.done_with(&decision, is_cut, write);
    }
}

impl CheckKeeper for CheckKeeping<'_> {
    fn pause(&self) -> &AtomicBool {
        self.keeping.keeper.pause()
    }

    fn is_exploring(&self, now: bool) {
        self.keeping.keeper.is_exploring(now);
    }

    fn keep(
        &self,
        limit: Option<Limit>,
        write: &mut dyn FnMut(&mut Sink<'_>) -> io::Result<()>,
    ) -> bool {
        let decision = self.decision();
        // Another run may go beyond the user's limit of states. Who is asked there decides himself.
        let is_full = limit == Some(Limit::States) && !decision.is_asked();
        if limit.is_some() && !is_full {
            return false;
        }
        // Whoever is lost is noticed when the walk goes on.
        let was_defeated = self.planner.is_defeated().unwrap_or(false);
        let next = self.keeping.keeper.keep(&mut |output| {
            let sink = &mut Sink::new(output);
            self.keeping.state().write(was_defeated, &decision, sink)?;
            write(sink)
        });
        match next {
            Next::GoOn => limit.is_none(),
            Next::End(why) => {
                self.planner.system.budget().end(why);
                false
            }
        }
    }

    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)> {
        let left = Self::lock(&self.left).take()?;
        Some((left.input, left.bytes))
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
        if self.is_cut {
            return Err(io::ErrorKind::Unsupported.into());
        }
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
