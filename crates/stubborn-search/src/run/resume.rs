//! Writing down a search that waits, and taking it up again.
//!
//! What is left to do is what an exploration keeps between two goes anyway; so a search that is
//! taken up again ends with the counts, the verdict and the way of one that was never stopped.
//! Only what time and memory it took is not known any more.

use std::io;
use std::sync::PoisonError;

use stubborn_store::saved::{Kind, Sink, Source, damaged};
use stubborn_store::{Store, StoreKind};
use stubborn_system::BitSet;

use super::Exploration;
use crate::config::Search;
use crate::context::Sum;
use crate::engine::Found;
use crate::entry::EntryShape;
use crate::expand::Counts;
use crate::result::{End, Limit, MemoryUse, SearchResult, TimeUse, TraceMissing, Violation};
use crate::saved::{MANY, Reading, ResumeError, step, words};
use crate::violation::Tally;
use crate::{bfs, dfs};

/// What the bytes mean.
const VERSION: u64 = Kind::Search.number();

impl Search<'_> {
    /// Takes up a search that was [saved](Exploration::save). Limits, threads and the observer may
    /// be others than they were.
    ///
    /// # Errors
    /// If the parts do not fit together, if another search was saved, if what was is damaged, or
    /// if it does not fit into memory.
    pub fn resume(&self, source: &mut Source<'_>) -> Result<Exploration<'_>, ResumeError> {
        let version = source.number()?;
        self.resume_version(version, source)
    }

    /// The same after the version was read.
    pub(super) fn resume_version(
        &self,
        version: u64,
        source: &mut Source<'_>,
    ) -> Result<Exploration<'_>, ResumeError> {
        self.check()?;
        if version != VERSION {
            return Err(ResumeError::Foreign(format!(
                "searches are saved in version {VERSION}, this one in version {version}"
            )));
        }
        let saved = source.text()?;
        let own = self.description();
        if saved != own {
            return Err(ResumeError::Foreign(format!(
                "another search was saved ({saved}) than the one to go on with ({own})"
            )));
        }
        let budget = self.limits.memory_budget(self.system);
        let words = self.system.layout().words();
        let store = Store::restore(words, &self.store, &budget, source)?;
        let mut exploration = self.begin_with(Ok(store), budget);
        let Exploration {
            parts,
            store,
            frontier,
            waiting,
            ..
        } = &mut exploration;
        if let Ok(store) = store {
            let shape = parts.context(store).shape;
            let mut reading = Reading::new(source, &parts.ledger, shape, store.worker());
            let sum = Sum::restore(&mut reading, self)?;
            for (target, tally) in sum.tallies.iter().enumerate() {
                if tally.best.is_some() {
                    parts.control.note_hit(target);
                }
            }
            *parts.sum.lock().unwrap_or_else(PoisonError::into_inner) = sum;
            *frontier = bfs::Frontier::restore(&mut reading)?;
            *waiting = dfs::Waiting::restore(&mut reading)?;
        }
        exploration.parts.control.wait();
        Ok(exploration)
    }

    /// What must be the same for a search to go on.
    pub(super) fn description(&self) -> String {
        let structure = self.system.structure();
        format!(
            "{}, {:?} store, targets {:?}, stop {:?}, seed {:?}, reduction {:?}, proviso {:?}, \
             {} words, {} transitions, {} labels, {} places of failure",
            self.order.name(),
            self.store.kind,
            self.targets,
            self.stop,
            self.seed,
            self.reduction.map(|reduction| reduction.name()),
            self.proviso.map(|proviso| proviso.name()),
            self.system.layout().words(),
            structure.transitions.len(),
            structure.labels.len(),
            structure.failures.len(),
        )
    }
}

/// Ends, and why there is no trace, by their numbers.
const ENDS: [End; 11] = [
    End::Complete,
    End::Lossy,
    End::Violation,
    End::Limit(Limit::States),
    End::Limit(Limit::Memory),
    End::Limit(Limit::StoreFull),
    End::Limit(Limit::Time),
    End::Limit(Limit::Interrupted),
    End::Limit(Limit::Outgrown),
    End::Limit(Limit::Depth),
    End::Limit(Limit::LeftOut),
];
const MISSING: [TraceMissing; 5] = [
    TraceMissing::Memory,
    TraceMissing::Time,
    TraceMissing::Interrupted,
    TraceMissing::LossyStore,
    TraceMissing::Long,
];

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|known| known == one).unwrap_or(0) as u64
}

/// A number that may not be there: one more, or 0.
fn optional(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number + 1)
}

impl Search<'_> {
    /// Writes down what this search has learnt, without time and memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_result(&self, result: &SearchResult, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.text(&self.description())?;
        sink.numbers([
            result.states,
            result.transitions,
            result.deadlocks,
            optional(result.invalid_ends),
            result.depth,
            optional(result.bfs_levels),
            result.expanded_by_proviso,
            number_of(&ENDS, &result.end),
            number_of(&StoreKind::ALL, &result.store),
            result.level_sizes.len() as u64,
        ])?;
        sink.numbers(result.level_sizes.iter().copied())?;
        sink.numbers(result.fired.words().iter().copied())?;
        sink.numbers(result.failed.words().iter().copied())?;
        sink.number(result.violations.len() as u64)?;
        for one in &result.violations {
            let step = one
                .step
                .map(|(t, outcome)| [1, t.index() as u64, outcome.to_bits()]);
            sink.numbers([number_of(&self.targets, &one.target), one.count, one.length])?;
            sink.numbers(step.unwrap_or_default())?;
            sink.numbers(one.state.iter().map(|word| u64::from(*word)))?;
            let missing = one.trace_missing.as_ref();
            sink.number(optional(missing.map(|why| number_of(&MISSING, why))))?;
            let way = one.trace.as_ref().map(|trace| {
                // The replay adds the state after a bad step.
                let states = trace.len() + 1 - usize::from(one.step.is_some());
                (0..states)
                    .flat_map(|at| trace.state(at))
                    .map(|word| u64::from(*word))
            });
            let way: Vec<u64> = way.into_iter().flatten().collect();
            sink.number(way.len() as u64)?;
            sink.numbers(way)?;
        }
        Ok(())
    }

    /// What this search had learnt when it was [written down](Self::save_result). Ways to violations
    /// are replayed once more.
    ///
    /// # Errors
    /// If it was another search, if it is damaged, or if a way cannot be repeated.
    pub fn recall(&self, source: &mut Source<'_>) -> Result<SearchResult, ResumeError> {
        let saved = source.text()?;
        if saved != self.description() {
            return Err(ResumeError::Foreign(format!(
                "another search was saved ({saved})"
            )));
        }
        let empty = Sum::new(self);
        let mut counts = [0; 7];
        for count in &mut counts {
            *count = source.at_most(MANY, "a number is too large")?;
        }
        let [
            states,
            transitions,
            deadlocks,
            invalid_ends,
            depth,
            levels,
            expanded,
        ] = counts;
        let end = *one_of(&ENDS, source)?;
        let store = *one_of(&StoreKind::ALL, source)?;
        let sizes = source.at_most(SearchResult::LEVEL_SIZES as u64, "too many levels")?;
        let level_sizes = numbers(source, sizes as usize)?;
        let fired = bits(source, empty.fired)?;
        let failed = bits(source, empty.failed)?;
        let mut violations = Vec::new();
        for _ in 0..source.at_most(self.targets.len() as u64, "too many violations")? {
            violations.extend(self.recall_violation(source)?);
        }
        Ok(SearchResult {
            states,
            transitions,
            deadlocks,
            invalid_ends: invalid_ends.checked_sub(1),
            depth,
            bfs_levels: levels.checked_sub(1),
            level_sizes,
            expanded_by_proviso: expanded,
            end,
            violations,
            fired,
            failed,
            store,
            memory: MemoryUse::default(),
            time: TimeUse::default(),
        })
    }

    fn recall_violation(&self, source: &mut Source<'_>) -> Result<Vec<Violation>, ResumeError> {
        let target = *one_of(&self.targets, source)?;
        let count = source.at_most(MANY, "a number is too large")?;
        let length = source.at_most(MANY, "a number is too large")?;
        let step = step(source, self.system)?;
        let width = self.system.layout().words();
        let state = words(source, width)?;
        let missing = source.at_most(MISSING.len() as u64, "no known reason")?;
        let missing = missing.checked_sub(1).map(|at| MISSING[at as usize]);
        let way = source.count(size_of::<u64>())?;
        let way = words(source, way)?;
        let is_way = !way.is_empty() && way.len().is_multiple_of(width);
        let ways = match missing {
            Some(why) => Err(why),
            None if is_way => Ok(vec![way]),
            None => return Err(damaged("a way is none").into()),
        };
        let found = Found {
            target,
            count,
            length,
            state,
            step,
        };
        Ok(self.confirm(vec![found], ways)?)
    }
}

/// One of several things, by its number.
fn one_of<'t, T>(all: &'t [T], source: &mut Source<'_>) -> io::Result<&'t T> {
    let at = usize::try_from(source.number()?).ok();
    let one = at.and_then(|at| all.get(at));
    one.ok_or_else(|| damaged("a number stands for nothing"))
}

pub(super) fn numbers(source: &mut Source<'_>, count: usize) -> io::Result<Vec<u64>> {
    let mut all = Vec::new();
    source.numbers(count, |number| {
        all.push(number);
        Ok(())
    })?;
    Ok(all)
}

impl Exploration<'_> {
    /// Writes down a search that waits or is paused.
    ///
    /// # Errors
    /// If it cannot be written; [`io::ErrorKind::Unsupported`] if there is nothing to write that
    /// could go on: it runs, it has ended, somebody looks at every state, or it is
    /// spoilt (`System::is_spoilt`).
    pub fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let search = self.parts.search;
        let can_go_on = self.is_waiting() || self.is_paused();
        let is_spoilt = search.system.is_spoilt();
        let (Ok(store), true, false, None) = (&self.store, can_go_on, is_spoilt, search.visitor)
        else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        sink.number(VERSION)?;
        sink.text(&search.description())?;
        store.save(sink)?;
        let sum = self.parts.sum.lock();
        sum.unwrap_or_else(PoisonError::into_inner).save(sink)?;
        let entry_words = EntryShape::new(store).entry_words;
        self.frontier.save(entry_words, sink)?;
        self.waiting.save(sink)
    }
}

impl Sum {
    pub(super) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let counts = &self.counts;
        sink.numbers([
            counts.transitions,
            counts.deadlocks,
            counts.invalid_ends,
            counts.expanded_by_proviso,
            self.depth,
        ])?;
        sink.numbers(self.fired.words().iter().copied())?;
        sink.numbers(self.failed.words().iter().copied())?;
        self.tallies.iter().try_for_each(|tally| tally.save(sink))
    }

    pub(super) fn restore(
        reading: &mut Reading<'_, '_, '_>,
        search: &Search<'_>,
    ) -> io::Result<Self> {
        let empty = Self::new(search);
        Ok(Self {
            counts: Counts {
                transitions: reading.at_most_many()?,
                deadlocks: reading.at_most_many()?,
                invalid_ends: reading.at_most_many()?,
                expanded_by_proviso: reading.at_most_many()?,
            },
            depth: reading.at_most_many()?,
            fired: bits(reading.source, empty.fired)?,
            failed: bits(reading.source, empty.failed)?,
            tallies: (0..search.targets.len())
                .map(|_| Tally::restore(reading, search.system))
                .collect::<io::Result<_>>()?,
        })
    }
}

fn bits(source: &mut Source<'_>, mut set: BitSet) -> io::Result<BitSet> {
    let words = numbers(source, set.words().len())?;
    let used = set.len() % u64::BITS as usize;
    if used > 0 && words.last().is_some_and(|last| last >> used != 0) {
        return Err(damaged("a set has too many members"));
    }
    set.words_mut().copy_from_slice(&words);
    Ok(set)
}
