//! The closed-set proviso for safety: expand a state if every kept successor is closed.
//!
//! A state is closed before its successors are made. From a state that was not expanded,
//! some kept successor was not closed, so its own expansion began later; following such
//! successors, the time of expansion grows strictly, and after finitely many steps a
//! state is reached that was expanded or has no successors. So nothing enabled is ignored
//! for ever. It holds in any order, and on several threads as long as marking oneself and
//! reading the marks of others are sequentially consistent, which the search guarantees.
//!
//! In breadth-first order this is the rule of Bošnački and Holzmann (*Improving SPIN's
//! partial-order reduction for breadth-first search*, 2005).

use super::{Edge, Known, Marks, Needs, Proviso, ProvisoWorker, Visit};

/// Expands a state if every kept successor is closed: enough for invariants, in any order
/// and on any number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosedSet;

impl Proviso for ClosedSet {
    fn name(&self) -> String {
        "closed-set".into()
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn worker(&self) -> Box<dyn ProvisoWorker + '_> {
        Box::new(*self)
    }
}

impl ProvisoWorker for ClosedSet {
    fn on_successors(&mut self, _: Visit<'_>, kept: &[Edge], _: &mut Marks<'_, '_>) -> bool {
        kept.iter()
            .all(|edge| matches!(edge.known, Known::Closed | Known::OnStack))
    }
}
