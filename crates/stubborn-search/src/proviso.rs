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

    /// What becomes of a state whose selected successors, all stored by now, are like this.
    ///
    /// On several threads: the state was marked as closed before the successors' marks were
    /// read, with sequential consistency, so that of two states that are each other's
    /// successors at least one sees the other as [`Known::Closed`].
    fn ruling(&self, selected: &Selected<'_>) -> Ruling;

    /// Whether searches level by level may use it that know of a successor only whether it is closed, and
    /// ask for no ruling. They expand every reduced state all of whose selected successors are closed, and
    /// no other. Engines of that kind refuse provisos that do not allow it.
    fn allows_levels(&self) -> bool {
        false
    }
}

/// What the search knows of **all** selected successors of a state. Only a search that has stored each of
/// them can make one: a proviso need not ask whether some are missing, or invented.
#[derive(Debug)]
pub struct Selected<'k>(&'k [Known]);

impl<'k> Selected<'k> {
    /// Of so many selected successors.
    ///
    /// # Panics
    /// If these are not as many.
    pub(crate) fn new(known: &'k [Known], selected: usize) -> Self {
        assert_eq!(
            known.len(),
            selected,
            "something is known of each selected successor"
        );
        Self(known)
    }

    /// Of each of them, in the order in which they were stored.
    pub fn iter(&self) -> impl Iterator<Item = Known> + '_ {
        self.0.iter().copied()
    }
}

/// Why an engine that searches level by level refuses a search.
pub(crate) fn refused_by_levels(proviso: Option<&dyn SafetyProviso>) -> Option<String> {
    let refused = proviso.filter(|proviso| !proviso.allows_levels())?;
    Some(format!(
        "the proviso {} looks at each selected successor, of which not enough is known",
        refused.name()
    ))
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
