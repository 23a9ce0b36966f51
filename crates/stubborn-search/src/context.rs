//! What the threads of one search have in common.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use stubborn_store::Store;
use stubborn_system::BitSet;

use crate::config::Search;
use crate::control::{Control, Halt};
use crate::entry::EntryShape;
use crate::expand::{Checks, Counts, Expander};
use crate::memory::Ledger;
use crate::result::Limit;
use crate::violation::{FindingKeeper, Preference, Tally, ValueOrder, merge};

pub(crate) struct Context<'a> {
    pub(crate) search: &'a Search<'a>,
    pub(crate) store: &'a Store,
    pub(crate) shape: EntryShape,
    pub(crate) ledger: &'a Arc<Ledger>,
    pub(crate) control: &'a Control<'a>,
    pub(crate) checks: &'a Checks,
    pub(crate) order: &'a ValueOrder<'a>,
    pub(crate) sum: &'a Mutex<Sum>,
    /// The first panic of a thread, to be raised again when all have stopped.
    pub(crate) panic: &'a Mutex<Option<Box<dyn Any + Send>>>,
}

/// What threads have counted and found, added up.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) counts: Counts,
    pub(crate) fired: BitSet,
    pub(crate) failed: BitSet,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) depth: u64,
}

impl Sum {
    pub(crate) fn new(search: &Search<'_>) -> Self {
        let structure = search.system.structure();
        Self {
            fired: BitSet::new(structure.transitions.len()),
            failed: BitSet::new(structure.failures.len()),
            tallies: vec![Tally::default(); search.targets.len()],
            ..Self::default()
        }
    }

    /// Adds what others have counted and found.
    pub(crate) fn add(&mut self, other: Self, order: &ValueOrder<'_>) {
        self.counts.transitions += other.counts.transitions;
        self.counts.deadlocks += other.counts.deadlocks;
        self.counts.invalid_ends += other.counts.invalid_ends;
        self.counts.expanded_by_proviso += other.counts.expanded_by_proviso;
        self.fired.union_with(&other.fired);
        self.failed.union_with(&other.failed);
        self.depth = self.depth.max(other.depth);
        merge(order, &mut self.tallies, other.tallies);
    }
}

impl<'a> Context<'a> {
    pub(crate) fn expander(&self, preference: Preference) -> Expander<'a> {
        let targets = self.search.targets.len();
        let mut keeper = FindingKeeper::new(self.control, self.order, preference, targets);
        let sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.goes_on_from(&sum.tallies);
        Expander::new(self.search, self.checks, keeper)
    }

    /// Adds what a thread has counted and found, and how deep it was.
    pub(crate) fn add(&self, expander: Expander<'_>, depth: u64) {
        let own = Sum {
            counts: expander.counts,
            fired: expander.fired(),
            failed: expander.failed,
            tallies: expander.keeper.into_tallies(),
            depth,
        };
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.add(own, self.order);
    }

    /// Runs a part of a thread's work. A panic (a bug in an executor or a reduction) must not
    /// leave the other threads waiting for ever: it stops them, and is raised again later.
    pub(crate) fn guarded(&self, work: impl FnOnce() -> Result<(), Halt>) -> Result<(), Halt> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(panic);
            self.control.stop_at(Limit::Interrupted);
            Err(Halt)
        })
    }
}
