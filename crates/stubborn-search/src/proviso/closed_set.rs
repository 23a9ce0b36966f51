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

use super::{Known, Ruling, SafetyProviso, Selected};
use crate::config::Order;

/// Expands a state if every kept successor is closed: enough for invariants, in any order
/// and on any number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosedSet;

impl SafetyProviso for ClosedSet {
    fn name(&self) -> &'static str {
        "closed-set"
    }

    fn order(&self) -> Option<Order> {
        None
    }

    fn ruling(&self, selected: &Selected<'_>) -> Ruling {
        match selected.iter().all(|known| known == Known::Closed) {
            true => Ruling::Expanded,
            false => Ruling::Reduced,
        }
    }

    fn allows_levels(&self) -> bool {
        true
    }
}
