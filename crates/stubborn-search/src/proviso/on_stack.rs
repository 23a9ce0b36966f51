//! The stack proviso for safety: expand a state if every kept successor is on the stack.
//!
//! By induction over the order in which states leave the stack, an expanded state or one
//! without successors can be reached from each of them: a kept successor that was not on
//! the stack either had left it before, or is entered below this state and leaves before
//! it. (Holzmann, Godefroid, Pirottin, *Coverage preserving reduction strategies for
//! reachability analysis*, 1992.)

use super::{Edge, Known, Marks, Needs, Proviso, ProvisoWorker, Visit};

/// Expands a state if every kept successor is on the depth-first stack: enough for
/// invariants, expands less than [`ClosedSet`](super::ClosedSet), but only depth-first on
/// one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnStack;

impl Proviso for OnStack {
    fn name(&self) -> String {
        "stack".into()
    }

    fn needs(&self) -> Needs {
        Needs {
            depth_first: true,
            ..Needs::default()
        }
    }

    fn worker(&self) -> Box<dyn ProvisoWorker + '_> {
        Box::new(*self)
    }
}

impl ProvisoWorker for OnStack {
    fn on_successors(&mut self, _: Visit<'_>, kept: &[Edge], _: &mut Marks<'_, '_>) -> bool {
        kept.iter().all(|edge| edge.known == Known::OnStack)
    }
}
