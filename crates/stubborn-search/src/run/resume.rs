//! Writing down a search that waits, and taking it up again.
//!
//! What is left to do is what an exploration keeps between two goes anyway; so a search that is
//! taken up again ends with the counts, the verdict and the way of one that was never stopped.
//! Only what time and memory it took is not known any more.

use std::io;
use std::sync::PoisonError;

use stubborn_store::Store;
use stubborn_store::saved::{Sink, Source, damaged};
use stubborn_system::BitSet;

use super::Exploration;
use crate::config::Search;
use crate::context::Sum;
use crate::expand::Counts;
use crate::saved::{Reading, ResumeError};
use crate::violation::Tally;
use crate::{bfs, dfs};

/// What the bytes mean.
const VERSION: u64 = 1;

impl Search<'_> {
    /// Takes up a search that was [saved](Exploration::save). Limits, threads and the observer may
    /// be others than they were.
    ///
    /// # Errors
    /// If the parts do not fit together, if another search was saved, if what was is damaged, or
    /// if it does not fit into memory.
    pub fn resume(&self, source: &mut Source<'_>) -> Result<Exploration<'_>, ResumeError> {
        self.check()?;
        let version = source.number()?;
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
    fn description(&self) -> String {
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

impl Exploration<'_> {
    /// Writes down a search that waits or is paused.
    ///
    /// # Errors
    /// If it cannot be written; [`io::ErrorKind::Unsupported`] if there is nothing to write that
    /// could go on: it runs, it has ended, somebody looks at every state, or the budget is spent.
    pub fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let search = self.parts.search;
        let can_go_on = self.is_waiting() || self.is_paused();
        // Who gave up may have delivered anything.
        let budget = search.system.budget();
        let is_spoilt = budget.spent().is_some() || budget.is_outgrown();
        let (Ok(store), true, false, None) = (&self.store, can_go_on, is_spoilt, search.visitor)
        else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        sink.number(VERSION)?;
        sink.text(&search.description())?;
        store.save(sink)?;
        let sum = self.parts.sum.lock();
        sum.unwrap_or_else(PoisonError::into_inner).save(sink)?;
        self.frontier.save(sink)?;
        self.waiting.save(sink)
    }
}

impl Sum {
    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
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

    fn restore(reading: &mut Reading<'_, '_, '_>, search: &Search<'_>) -> io::Result<Self> {
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
    let mut words = Vec::new();
    source.numbers(set.words().len(), |word| {
        words.push(word);
        Ok(())
    })?;
    let used = set.len() % u64::BITS as usize;
    if used > 0 && words.last().is_some_and(|last| last >> used != 0) {
        return Err(damaged("a set has too many members"));
    }
    set.words_mut().copy_from_slice(&words);
    Ok(set)
}
