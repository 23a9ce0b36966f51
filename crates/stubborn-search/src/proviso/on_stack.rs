//! The stack proviso for safety: expand a state if every kept successor is on the stack.
//!
//! By induction over the order in which states leave the stack, an expanded state or one
//! without successors can be reached from each of them: a kept successor that was not on
//! the stack either had left it before, or is entered below this state and leaves before
//! it. (Holzmann, Godefroid, Pirottin, *Coverage preserving reduction strategies for
//! reachability analysis*, 1992.)

use super::{Known, Ruling, SafetyProviso, Selected};
use crate::config::Order;

/// Expands a state if every kept successor is on the depth-first stack: enough for
/// invariants, expands less than [`ClosedSet`](super::ClosedSet), but only depth-first on
/// one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnStack;

impl SafetyProviso for OnStack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn order(&self) -> Option<Order> {
        Some(Order::DepthFirst)
    }

    fn ruling(&self, selected: &Selected<'_>) -> Ruling {
        match selected.iter().all(|known| known == Known::OnStack) {
            true => Ruling::Expanded,
            false => Ruling::Reduced,
        }
    }
}
