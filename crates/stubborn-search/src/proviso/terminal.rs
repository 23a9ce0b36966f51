//! The terminal-component proviso for safety: expand one state of each component that the reduced
//! graph does not leave, if none of its states was expanded.
//!
//! From every state of a finite graph some component is reached that is never left. So, if
//! each of these has an expanded state or is a deadlock, nothing enabled is ignored for
//! ever (Valmari, *A stubborn attack on state explosion*, 1992).
//!
//! The search need not look at the whole graph for this. A state with a kept successor that is
//! not closed leads on to one whose expansion began later; so everything leads to an expanded
//! state, to a deadlock, or to a state all of whose kept successors were closed. Only those are
//! noted, and when nothing else is left to do, the components that can be reached from them are
//! formed ([`settle`](crate::settle)). What is expanded then is searched, and so on.

use super::{Edge, Known, Marks, Needs, Proviso, ProvisoWorker, Visit};
use stubborn_store::StateHandle;

/// Expands one state of each terminal component: enough for invariants, breadth-first, on any
/// number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalComponents;

impl Proviso for TerminalComponents {
    fn name(&self) -> String {
        "terminal".into()
    }

    fn needs(&self) -> Needs {
        Needs {
            breadth_first: true,
            ..Needs::default()
        }
    }

    fn worker(&self) -> Box<dyn ProvisoWorker + '_> {
        Box::new(Noted::default())
    }
}

/// States all of whose kept successors were closed.
#[derive(Debug, Default)]
struct Noted(Vec<StateHandle>);

impl ProvisoWorker for Noted {
    fn on_successors(&mut self, visit: Visit<'_>, kept: &[Edge], _: &mut Marks<'_, '_>) -> bool {
        if kept.iter().all(|edge| edge.known == Known::Closed) {
            self.0.push(visit.state);
        }
        false
    }

    fn put_off(&mut self) -> Vec<StateHandle> {
        std::mem::take(&mut self.0)
    }
}
