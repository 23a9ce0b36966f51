//! Finding the way to states that a breadth-first search has reached.
//!
//! The search keeps no parents: a second, sequential run to the known depth logs the states
//! of each level (8 bytes a state); then, from the last level back, the first state is
//! looked for that has the wanted one as a successor. That is a shortest way, and the same
//! one however many threads the search had, because levels are sets and are logged in the
//! order of a sequential search.
//!
//! The second run uses the first one's store, with a flag for what it has seen, and expands
//! exactly the states that a proviso had expanded. Where a reduction depends on more than the
//! state, so that its choices cannot be repeated, the second run is not reduced. With a lossy
//! store it uses an empty one, and may get lost.

use stubborn_store::{Cursor, Worker};
use stubborn_system::Spent;

use crate::context::Context;
use crate::expand::{Choice, Expander};
use crate::flags;
use crate::memory::Words;
use crate::result::TraceMissing;
use crate::violation::{Finding, Preference};

/// A path, as the words of its states one after the other.
pub(crate) type Path = Vec<u32>;

/// The ways to the states of findings, in their order.
pub(crate) fn find_ways(
    context: &Context<'_>,
    findings: &[&Finding],
) -> Result<Vec<Path>, TraceMissing> {
    let budget = context.search.system.budget();
    let ways = ways(context, findings);
    // Who gives up finds nothing, which says nothing.
    ways.map_err(|why| match (why, budget.spent()) {
        (TraceMissing::LossyStore, Some(spent)) => spent.into(),
        _ => why,
    })
}

fn ways(context: &Context<'_>, findings: &[&Finding]) -> Result<Vec<Path>, TraceMissing> {
    let mut rerun = Rerun::new(context);
    let log = rerun.log_levels(findings)?;
    ways_back(findings, &log.wanted_depths, |depth, wanted| {
        rerun.predecessors(log.level(depth), wanted)
    })
}

/// Ways to the states of findings at these depths: from the last level back, each by a state of the
/// level before that has the wanted one as a successor, for which somebody is asked.
pub(crate) fn ways_back(
    findings: &[&Finding],
    depths: &[usize],
    mut predecessors: impl FnMut(usize, &[Wanted]) -> Result<Vec<Box<[u32]>>, TraceMissing>,
) -> Result<Vec<Path>, TraceMissing> {
    let deepest = depths.iter().copied().max().unwrap_or(0);
    // The ways, last state first; each grows by one state a level.
    let mut found: Vec<Vec<Box<[u32]>>> = vec![Vec::new(); findings.len()];
    for depth in (0..deepest).rev() {
        let wanted: Vec<Wanted> = (0..findings.len())
            .filter(|at| depths[*at] > depth)
            .map(|at| (at, found[at].last().unwrap_or(&findings[at].state).clone()))
            .collect();
        let predecessors = predecessors(depth, &wanted)?;
        for ((at, _), state) in wanted.iter().zip(predecessors) {
            found[*at].push(state);
        }
    }
    let whole = |(finding, back): (&&Finding, Vec<Box<[u32]>>)| {
        let states = back.iter().rev().flat_map(|s| s.iter());
        states.chain(&finding.state).copied().collect()
    };
    Ok(findings.iter().zip(found).map(whole).collect())
}

/// The number of a finding, and the state that is looked for.
pub(crate) type Wanted = (usize, Box<[u32]>);

/// The entries of all states, level after level.
struct Log {
    entries: Words,
    /// Where each level starts.
    starts: Words,
    /// Entries of the states that are looked for, and where they were found.
    wanted: Vec<Vec<u64>>,
    wanted_depths: Vec<usize>,
    missing: usize,
}

/// The depth of what was not found.
const NOWHERE: usize = usize::MAX;

impl Log {
    fn push(&mut self, entry: &[u64], depth: usize) -> Result<(), TraceMissing> {
        for (wanted, found) in self.wanted.iter().zip(&mut self.wanted_depths) {
            if wanted == entry && *found == NOWHERE {
                *found = depth;
                self.missing -= 1;
            }
        }
        self.entries.extend(entry).map_err(|_| TraceMissing::Memory)
    }

    /// The entries of a level; of the last one, those so far.
    fn level(&self, depth: usize) -> &[u64] {
        let starts = self.starts.as_slice();
        let start = starts
            .get(depth)
            .map_or(self.entries.len(), |s| *s as usize);
        let end = starts
            .get(depth + 1)
            .map_or(self.entries.len(), |s| *s as usize);
        &self.entries.as_slice()[start..end]
    }
}

struct Rerun<'a> {
    context: &'a Context<'a>,
    expander: Expander<'a>,
    worker: Worker<'a>,
    cursor: Cursor,
    scratch: Vec<u32>,
}

impl<'a> Rerun<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            expander: match context.search.reduction {
                Some(reduction) if !reduction.is_function_of_state() => {
                    context.expander(Preference::First).without_reduction()
                }
                _ => context.expander(Preference::First),
            },
            worker: context.store.worker(),
            cursor: context.store.cursor(),
            scratch: Vec::new(),
        }
    }

    fn check_time(&self) -> Result<(), TraceMissing> {
        let budget = self.context.search.system.budget();
        let stopped = budget.spent() == Some(Spent::Interrupted);
        if stopped || self.context.control.was_interrupted() {
            return Err(TraceMissing::Interrupted);
        }
        match budget.is_overdrawn() {
            true => Err(budget.poll().map_or(TraceMissing::Time, Into::into)),
            false => Ok(()),
        }
    }

    /// The entry of a state that is stored, or may as well be.
    fn entry_of(&mut self, state: &[u32]) -> Result<Vec<u64>, TraceMissing> {
        let mut entry = Vec::new();
        if self.context.shape.is_handle {
            let nowhere = self.context.store.cursor();
            let inserted = self.worker.insert(&nowhere, state, None);
            let handle = inserted.map_err(|_| TraceMissing::Memory)?.handle;
            entry.push(handle.to_bits());
        } else {
            self.context.shape.write_words(state, &mut entry);
        }
        Ok(entry)
    }

    /// The states of all levels in sequential order, until the wanted ones were seen.
    fn log_levels(&mut self, findings: &[&Finding]) -> Result<Log, TraceMissing> {
        let (context, shape) = (self.context, self.context.shape);
        let wanted = findings.iter().map(|f| self.entry_of(&f.state));
        let mut log = Log {
            entries: Words::new(context.ledger),
            starts: Words::new(context.ledger),
            wanted: wanted.collect::<Result<_, _>>()?,
            wanted_depths: vec![NOWHERE; findings.len()],
            missing: findings.len(),
        };
        let mut batch = context.store.batch();
        let mut whole = Vec::new();
        let mut entry = Vec::new();
        let system = context.search.system;
        for state in system
            .initial_states()
            .chunks_exact(system.layout().words())
        {
            batch.push(&self.cursor, state, None);
            if !shape.is_handle {
                shape.write_words(state, &mut whole);
            }
        }
        self.log_batch(&mut batch, &mut whole, &mut log, 0)?;
        let mut start = 0;
        let mut depth = 0;
        while log.missing > 0 {
            let end = log.entries.len();
            if start == end {
                // Everything was seen again, but not what was wanted.
                return Err(TraceMissing::LossyStore);
            }
            let push = log.starts.push(start as u64);
            push.map_err(|_| TraceMissing::Memory)?;
            depth += 1;
            for (number, at) in (start..end).step_by(shape.entry_words).enumerate() {
                if number % 64 == 0 {
                    self.check_time()?;
                }
                entry.clear();
                entry.extend_from_slice(&log.entries.as_slice()[at..][..shape.entry_words]);
                self.expand(&entry);
                for successor in self.expander.explored() {
                    batch.push(&self.cursor, successor.state, Some(successor.changed));
                    if !shape.is_handle {
                        shape.write_words(successor.state, &mut whole);
                    }
                }
                if batch.is_full() {
                    self.log_batch(&mut batch, &mut whole, &mut log, depth)?;
                }
            }
            self.log_batch(&mut batch, &mut whole, &mut log, depth)?;
            start = end;
        }
        log.starts
            .push(start as u64)
            .map_err(|_| TraceMissing::Memory)?;
        Ok(log)
    }

    /// Loads a state and computes the successors that the first run explored.
    fn expand(&mut self, entry: &[u64]) {
        let shape = self.context.shape;
        shape.load(entry, &mut self.worker, &mut self.cursor, &mut self.scratch);
        let choice = self.expander.expand_again(self.cursor.words());
        if choice == Choice::Some
            && self.context.search.proviso.is_some()
            && self.worker.flags(shape.handle(entry)) & flags::EXPANDED != 0
        {
            self.expander.keep_all();
        }
    }

    fn log_batch(
        &mut self,
        batch: &mut stubborn_store::Batch,
        whole: &mut Vec<u64>,
        log: &mut Log,
        depth: usize,
    ) -> Result<(), TraceMissing> {
        self.worker
            .insert_batch(batch)
            .map_err(|_| TraceMissing::Memory)?;
        let shape = self.context.shape;
        for (number, inserted) in batch.inserted().iter().enumerate() {
            if shape.is_handle {
                let before = self.worker.set_flags(inserted.handle, flags::SEEN_AGAIN);
                if before & flags::SEEN_AGAIN == 0 {
                    log.push(&[inserted.handle.to_bits()], depth)?;
                }
            } else if inserted.is_new {
                let entry = &whole[number * shape.entry_words..][..shape.entry_words];
                log.push(entry, depth)?;
            }
        }
        batch.clear();
        whole.clear();
        Ok(())
    }

    /// For each wanted state, the first state of a level that has it as a successor.
    fn predecessors(
        &mut self,
        level: &[u64],
        wanted: &[Wanted],
    ) -> Result<Vec<Box<[u32]>>, TraceMissing> {
        let mut found: Vec<Option<Box<[u32]>>> = vec![None; wanted.len()];
        let mut missing = wanted.len();
        let entry_words = self.context.shape.entry_words;
        for (number, entry) in level.chunks_exact(entry_words).enumerate() {
            if missing == 0 {
                break;
            }
            if number % 64 == 0 {
                self.check_time()?;
            }
            self.expand(entry);
            for successor in self.expander.explored() {
                for ((_, state), found) in wanted.iter().zip(&mut found) {
                    if found.is_none() && successor.state == &**state {
                        *found = Some(self.cursor.words().into());
                        missing -= 1;
                    }
                }
            }
        }
        found
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(TraceMissing::LossyStore)
    }
}
