//! Which states must be expanded so that no transition is ignored for ever, decided when nothing
//! else is left to explore; see [`TerminalComponents`](crate::proviso::TerminalComponents).
//!
//! Tarjan's algorithm (*Depth-first search and linear graph algorithms*, 1972) on the part of the
//! reduced graph that can be reached from the states that were put off. Expanded states and
//! deadlocks need nothing, and the search for components does not go beyond them. A state that
//! was settled stays so: the graph only grows.

use std::collections::HashMap;

use stubborn_store::{Batch, Cursor, StateHandle, Worker};

use crate::context::Context;
use crate::control::Halt;
use crate::expand::{Choice, Expander};
use crate::flags;

/// States between two looks at the clock.
const GROUP: u64 = 32;

/// Memory of a state whose component is not complete: in the table, twice in lists, and the frame
/// with some successors.
const STATE_BYTES: usize = 80;
/// Memory is asked for so many states at once.
const CLAIM: usize = 4_096;

/// The search for components.
pub(crate) struct Settling<'a, 'w> {
    context: &'a Context<'a>,
    expander: &'w mut Expander<'a>,
    worker: &'w mut Worker<'a>,
    cursor: &'w mut Cursor,
    batch: Batch,
    /// Numbers of the states whose component is not complete, in the order of their visits.
    numbers: HashMap<StateHandle, u32>,
    /// These states, in the same order.
    component: Vec<StateHandle>,
    path: Vec<Frame>,
    /// Successors of the states on the path, one state's after the other's.
    successors: Vec<StateHandle>,
    /// What must be expanded.
    found: Vec<StateHandle>,
    visited: u64,
    /// For how many states there is memory.
    claimed: usize,
    /// Of the search, for progress.
    depth: u64,
}

/// A state on the depth-first path.
struct Frame {
    number: u32,
    low: u32,
    /// Where its successors begin.
    start: usize,
    /// Something settled can be reached.
    leads_out: bool,
}

impl<'a, 'w> Settling<'a, 'w> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        expander: &'w mut Expander<'a>,
        worker: &'w mut Worker<'a>,
        cursor: &'w mut Cursor,
        depth: u64,
    ) -> Self {
        Self {
            context,
            expander,
            worker,
            cursor,
            batch: context.store.batch(),
            numbers: HashMap::new(),
            component: Vec::new(),
            path: Vec::new(),
            successors: Vec::new(),
            found: Vec::new(),
            visited: 0,
            claimed: 0,
            depth,
        }
    }

    /// The states to expand, at least one in each terminal component that has none.
    pub(crate) fn run(mut self, put_off: &[StateHandle]) -> Result<Vec<StateHandle>, Halt> {
        for state in put_off {
            if self.is_settled(*state) || self.enter(*state)? {
                continue;
            }
            while !self.path.is_empty() {
                self.step()?;
            }
        }
        Ok(std::mem::take(&mut self.found))
    }

    fn is_settled(&mut self, state: StateHandle) -> bool {
        self.worker.flags(state) & (flags::SETTLED | flags::EXPANDED) != 0
    }

    /// Visits a state for the first time; true if it needs nothing.
    fn enter(&mut self, state: StateHandle) -> Result<bool, Halt> {
        self.visited += 1;
        if self.visited.is_multiple_of(GROUP) {
            let transitions = self.expander.counts.transitions;
            let waiting = self.path.len() as u64;
            let (control, store) = (self.context.control, self.context.store);
            control.tick_without_waiting(store, transitions, waiting, self.depth)?;
        }
        let control = self.context.control;
        let loaded = self.worker.load(state, self.cursor);
        debug_assert!(loaded.is_ok(), "a state of the store");
        if self.expander.expand_again(self.cursor.words()) == Choice::All {
            self.worker.set_flags(state, flags::SETTLED);
            return Ok(true);
        }
        if self.component.len() == self.claimed {
            let taken = self.context.ledger.take(CLAIM * STATE_BYTES);
            taken.map_err(|e| control.out_of_memory(e))?;
            self.claimed += CLAIM;
        }
        let number = self.component.len() as u32;
        self.numbers.insert(state, number);
        self.component.push(state);
        self.path.push(Frame {
            number,
            low: number,
            start: self.successors.len(),
            leads_out: false,
        });
        for successor in self.expander.explored() {
            self.batch
                .push(self.cursor, successor.state, Some(successor.changed));
        }
        let stored = self.worker.insert_batch(&mut self.batch).map(|_| ());
        let inserted = self.batch.inserted().iter();
        self.successors.extend(inserted.map(|one| one.handle));
        self.batch.clear();
        stored.map_err(|e| control.store_failed(e))?;
        Ok(false)
    }

    /// One edge of the last state on the path, or the end of its visit.
    fn step(&mut self) -> Result<(), Halt> {
        let Some(frame) = self.path.last() else {
            return Ok(());
        };
        if self.successors.len() > frame.start {
            let Some(next) = self.successors.pop() else {
                return Ok(());
            };
            if let Some(number) = self.numbers.get(&next).copied() {
                self.see(|frame| frame.low = frame.low.min(number));
            } else if self.is_settled(next) || self.enter(next)? {
                self.see(|frame| frame.leads_out = true);
            }
            return Ok(());
        }
        let Some(frame) = self.path.pop() else {
            return Ok(());
        };
        if frame.low == frame.number {
            self.finish(&frame);
            self.see(|parent| parent.leads_out = true);
        } else {
            self.see(|parent| {
                parent.low = parent.low.min(frame.low);
                parent.leads_out |= frame.leads_out;
            });
        }
        Ok(())
    }

    fn see(&mut self, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.path.last_mut() {
            change(frame);
        }
    }

    /// A component is complete. If nothing leads out of it, one of its states must be expanded.
    fn finish(&mut self, root: &Frame) {
        let members = self.component.split_off(root.number as usize);
        if !root.leads_out {
            self.found.extend(members.first());
        }
        for state in members {
            self.numbers.remove(&state);
            self.worker.set_flags(state, flags::SETTLED);
        }
    }
}

impl Drop for Settling<'_, '_> {
    fn drop(&mut self) {
        self.context.ledger.give_back(self.claimed * STATE_BYTES);
    }
}
