//! Safety provisos: where a search for states must not leave out steps for ever.
//!
//! A reduction may postpone a transition in every state of a cycle and so never explore
//! it. A safety proviso sees what the store says of the kept successors of a state, and makes
//! the search take the rest in some states, so that from everywhere a state is reached in which
//! nothing was left out. It never touches the reduced set itself, so sets stay a function of
//! the state. (Infinite runs need more, *cycle* provisos: those belong to the emptiness checks.)
//!
//! There are three, each in a file of its own; deadlocks need none:
//! - [`ClosedSet`]: any order, any number of threads;
//! - [`OnStack`]: sequential depth-first;
//! - [`TerminalComponents`]: breadth-first, any number of threads; it expands least.

mod closed_set;
mod on_stack;
mod terminal;

pub use closed_set::ClosedSet;
pub use on_stack::OnStack;
pub use terminal::TerminalComponents;

use crate::config::Order;

/// A safety proviso. It needs a store that is exact, and sets that are a function of the
/// state; a search that cannot give that is refused.
pub trait SafetyProviso: Send + Sync {
    /// As the user calls it.
    fn name(&self) -> &'static str;

    /// The order that it needs, if it needs one. Depth-first order is that of one thread.
    fn order(&self) -> Option<Order>;

    /// What becomes of a state whose kept successors, all stored by now, are like this.
    ///
    /// On several threads: the state was marked as closed before the successors' marks were
    /// read, with sequential consistency, so that of two states that are each other's
    /// successors at least one sees the other as [`Known::Closed`].
    fn ruling(&self, kept: &[Known]) -> Ruling;
}

/// What becomes of a state out of which a reduction has left something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It stays reduced.
    Reduced,
    /// All of its successors are explored.
    Expanded,
    /// It is looked at again when nothing else is left: then one state of each terminal component
    /// that can be reached from such states is expanded, if the component has none. In
    /// breadth-first order only.
    PutOff,
}

/// What the search knows of a successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Stored by this very edge.
    New,
    /// Stored before, not expanded yet: it waits in a queue or stack.
    Open,
    /// On the depth-first stack. Reported only if the proviso needs that order.
    OnStack,
    /// Its expansion has begun (and, depth-first, it has left the stack).
    Closed,
}
