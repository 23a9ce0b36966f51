//! Finding the way to states that a breadth-first search has reached.
//!
//! The search keeps no parents: a second, sequential run to the known depth logs the states
//! of each level (8 bytes a state); then, from the last level back, the first state is
//! looked for that has the wanted one as a successor. That is a shortest way, and the same
//! one however many threads the search had, because levels are sets and are logged in the
//! order of a sequential search.
//!
//! The second run uses the first one's store, with a flag for what it has seen, and expands
//! exactly the states that a proviso had expanded. With a lossy store it uses an empty one,
//! and may get lost.

use stubborn_store::{Cursor, Worker};

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
    let mut rerun = Rerun::new(context);
    let depths: Vec<usize> = findings.iter().map(|f| state_depth(f)).collect();
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let levels = rerun.log_levels(deepest)?;
    if levels.len() <= deepest {
        return Err(TraceMissing::LossyStore);
    }
    // The ways, last state first; each grows by one state a level.
    let mut found: Vec<Vec<Box<[u32]>>> = vec![Vec::new(); findings.len()];
    for depth in (0..deepest).rev() {
        let wanted: Vec<(usize, Box<[u32]>)> = (0..findings.len())
            .filter(|at| depths[*at] > depth)
            .map(|at| (at, found[at].last().unwrap_or(&findings[at].state).clone()))
            .collect();
        let predecessors = rerun.predecessors(&levels[depth], &wanted)?;
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

/// Steps to the state of a finding (which may be one more step from the violation).
fn state_depth(finding: &Finding) -> usize {
    (finding.length - u64::from(finding.step.is_some())) as usize
}

struct Rerun<'a> {
    context: &'a Context<'a>,
    expander: Expander<'a>,
    worker: Worker<'a>,
    cursor: Cursor,
}

impl<'a> Rerun<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            expander: context.expander(Preference::First),
            worker: context.store.worker(),
            cursor: context.store.cursor(),
        }
    }

    fn check_interrupt(&self) -> Result<(), TraceMissing> {
        match self.context.control.was_interrupted() {
            true => Err(TraceMissing::Interrupted),
            false => Ok(()),
        }
    }

    /// The states of the first `last + 1` levels, in sequential order.
    fn log_levels(&mut self, last: usize) -> Result<Vec<Words>, TraceMissing> {
        let (context, shape) = (self.context, self.context.shape);
        let mut batch = context.store.batch();
        let mut whole = Vec::new();
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
        let mut next = Words::new(context.ledger);
        self.log_batch(&mut batch, &mut whole, &mut next)?;
        let mut levels = vec![next];
        while levels.len() <= last {
            let mut next = Words::new(context.ledger);
            let level = &levels[levels.len() - 1];
            for (number, entry) in level.as_slice().chunks_exact(shape.entry_words).enumerate() {
                if number % 64 == 0 {
                    self.check_interrupt()?;
                }
                self.expand(entry);
                for successor in self.expander.explored() {
                    batch.push(&self.cursor, successor.state, Some(successor.changed));
                    if !shape.is_handle {
                        shape.write_words(successor.state, &mut whole);
                    }
                }
                if batch.is_full() {
                    self.log_batch(&mut batch, &mut whole, &mut next)?;
                }
            }
            self.log_batch(&mut batch, &mut whole, &mut next)?;
            if next.is_empty() {
                break;
            }
            levels.push(next);
        }
        Ok(levels)
    }

    /// Loads a state and computes the successors that the first run explored.
    fn expand(&mut self, entry: &[u64]) {
        let shape = self.context.shape;
        shape.load(entry, &mut self.worker, &mut self.cursor);
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
        next: &mut Words,
    ) -> Result<(), TraceMissing> {
        let memory = |_| TraceMissing::Memory;
        self.worker
            .insert_batch(batch)
            .map_err(|_| TraceMissing::Memory)?;
        let shape = self.context.shape;
        for (number, inserted) in batch.inserted().iter().enumerate() {
            if shape.is_handle {
                let before = self.worker.set_flags(inserted.handle, flags::SEEN_AGAIN);
                if before & flags::SEEN_AGAIN == 0 {
                    next.push(inserted.handle.to_bits()).map_err(memory)?;
                }
            } else if inserted.is_new {
                let entry = &whole[number * shape.entry_words..][..shape.entry_words];
                next.extend(entry).map_err(memory)?;
            }
        }
        batch.clear();
        whole.clear();
        Ok(())
    }

    /// For each wanted state, the first state of a level that has it as a successor.
    fn predecessors(
        &mut self,
        level: &Words,
        wanted: &[(usize, Box<[u32]>)],
    ) -> Result<Vec<Box<[u32]>>, TraceMissing> {
        let mut found: Vec<Option<Box<[u32]>>> = vec![None; wanted.len()];
        let mut missing = wanted.len();
        let entry_words = self.context.shape.entry_words;
        for (number, entry) in level.as_slice().chunks_exact(entry_words).enumerate() {
            if missing == 0 {
                break;
            }
            if number % 64 == 0 {
                self.check_interrupt()?;
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
