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

use super::{Known, Ruling, SafetyProviso, Selected};
use crate::config::Order;

/// Expands one state of each terminal component: enough for invariants, breadth-first, on any
/// number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalComponents;

impl SafetyProviso for TerminalComponents {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn order(&self) -> Option<Order> {
        Some(Order::BreadthFirst)
    }

    fn ruling(&self, selected: &Selected<'_>) -> Ruling {
        match selected.iter().all(|known| known == Known::Closed) {
            true => Ruling::PutOff,
            false => Ruling::Reduced,
        }
    }

    fn allows_levels(&self) -> bool {
        true
    }
}
