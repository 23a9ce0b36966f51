//! States of the system that are expanded wherever they occur in the product.
//!
//! If what is explored from a node depends on its system state alone, the reduced product is
//! the product with a reduced system, and then any automaton will do. A proviso expands
//! nodes, not states. So the states of expanded nodes are remembered here: nodes entered
//! later with one of them are expanded from the start. Nodes that were entered before are
//! not, and if there may be any when the walk is over, it starts again with what is
//! remembered, until nothing new comes up. (A violation found on the way is one in any
//! case.)
//!
//! Is it enough that cycles of the *product* have expanded states, where the theorem speaks
//! of cycles of the reduced system? Yes: the theorem fails for an accepted run only if the
//! run it constructs goes round a cycle without expanded states and without visible steps,
//! postponing the next step of the accepted run for ever. The automaton accepts the word of
//! that run with its present letter repeated as often as one likes, because the property is
//! stutter-invariant. So it has runs along the cycle of any length, and, having finitely
//! many states, the product has a cycle there, too.

use stubborn_search::Limit;
use stubborn_store::{Cursor, Store, Worker};

use crate::pulse::limit_of;

/// One walk's access to the states that are expanded everywhere.
pub(crate) struct SharedExpansions<'s> {
    worker: Worker<'s>,
    /// Stays empty.
    nowhere: Cursor,
    grown: bool,
}

impl<'s> SharedExpansions<'s> {
    /// For one walk; `store` keeps what is known from walk to walk, and `grown` says whether this
    /// one has added something before it was taken up again.
    pub(crate) fn new(store: &'s Store, grown: bool) -> Self {
        Self {
            worker: store.worker(),
            nowhere: store.cursor(),
            grown,
        }
    }

    pub(crate) fn contains(&mut self, state: &[u32]) -> bool {
        self.worker.contains(&self.nowhere, state, None)
    }

    pub(crate) fn insert(&mut self, state: &[u32]) -> Result<(), Limit> {
        let inserted = self.worker.insert(&self.nowhere, state, None);
        let inserted = inserted.map_err(limit_of)?;
        self.grown |= inserted.is_new;
        Ok(())
    }

    /// Whether this walk added states.
    pub(crate) fn has_grown(&self) -> bool {
        self.grown
    }
}
