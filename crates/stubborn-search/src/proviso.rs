//! Provisos: where a search must not leave out steps for ever.
//!
//! A reduction may postpone a transition in every state of a cycle and so never explore
//! it. A proviso watches what the store says of the kept successors and makes the search
//! take the rest in some states. It never touches the reduced set itself, so sets stay a
//! function of the state.
//!
//! The hooks are those of a depth-first search with a second phase on backtracking, in
//! which all published cycle provisos can be written (Evangelista and Pajault, *Solving
//! the ignoring problem for partial order reduction*, 2010; Duret-Lutz, Kordon, Poitrenaud,
//! Renault, *Heuristics for checking liveness properties with partial order reductions*,
//! 2016); breadth-first and parallel searches call the first two only. Every proviso is a
//! file of its own and declares what it [needs](Needs); a search that cannot give it is
//! refused.
//!
//! For safety (deadlocks need none) there are three:
//! - [`ClosedSet`]: any order, any number of threads;
//! - [`OnStack`]: sequential depth-first;
//! - [`TerminalComponents`]: breadth-first, any number of threads; it expands least.

mod closed_set;
mod on_stack;
mod terminal;

pub use closed_set::ClosedSet;
pub use on_stack::OnStack;
pub use terminal::TerminalComponents;

use stubborn_store::{StateHandle, Worker};

use crate::flags;
use crate::stack::StackView;

/// A proviso, shared by all threads.
pub trait Proviso: Send + Sync {
    /// As the user calls it.
    fn name(&self) -> String;

    /// What the search must offer.
    fn needs(&self) -> Needs;

    /// A worker for one thread.
    fn worker(&self) -> Box<dyn ProvisoWorker + '_>;
}

/// What a [`Proviso`] needs of a search. All of them need a store that is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Strict depth-first order, hence one thread, and [`Known::OnStack`].
    pub depth_first: bool,
    /// Breadth-first order, which comes back to what was [put off](ProvisoWorker::put_off).
    pub breadth_first: bool,
    /// Every single edge to a state seen before
    /// ([`on_known_successor`](ProvisoWorker::on_known_successor)), not only a look at all
    /// kept successors when a state is entered. Depth-first only.
    pub edges: bool,
    /// The order in which the edges of a state are taken, if `edges`.
    pub edge_order: EdgeOrder,
}

/// In which order a depth-first search takes the edges of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EdgeOrder {
    /// That of the successors.
    #[default]
    AsGiven,
    /// First those to states already entered.
    KnownFirst,
    /// First those to states not yet entered; what meanwhile became known comes after
    /// them. (A self-loop is always known and is taken in its turn.)
    UnknownFirst,
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

/// A kept successor and what the search knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where to.
    pub to: StateHandle,
    /// What is known of it.
    pub known: Known,
}

/// The state that a hook is about.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    /// Which state.
    pub state: StateHandle,
    /// Whether all its successors are explored: because the reduction kept all, or by
    /// the proviso.
    pub expanded: bool,
    /// The depth-first stack, on which the state is the last; empty in other orders.
    pub stack: StackView<'a>,
}

/// The per-thread worker of a [`Proviso`].
///
/// "Expand" below means that the search takes all successors of the state, now. Hooks that
/// ask for it are not called for states that are expanded already, except
/// [`on_known_successor`](Self::on_known_successor), whose answer is then ignored.
pub trait ProvisoWorker: Send {
    /// A state was entered: it is marked as such, and none of its successors is stored
    /// by this visit yet. Depth-first, it is the new top of the stack.
    fn on_enter(&mut self, visit: Visit<'_>, marks: &mut Marks<'_, '_>) {
        let _ = (visit, marks);
    }

    /// All kept successors of an unexpanded state were stored. Returns true to expand it.
    ///
    /// On several threads: the state was marked before the successors' marks were read,
    /// with sequential consistency, so that of two states that are each other's
    /// successors at least one sees the other as [`Known::Closed`].
    fn on_successors(
        &mut self,
        visit: Visit<'_>,
        kept: &[Edge],
        marks: &mut Marks<'_, '_>,
    ) -> bool {
        let _ = (visit, kept, marks);
        false
    }

    /// An edge to a state entered before. Returns true to expand `visit.state`.
    fn on_known_successor(
        &mut self,
        visit: Visit<'_>,
        edge: Edge,
        marks: &mut Marks<'_, '_>,
    ) -> bool {
        let _ = (visit, edge, marks);
        false
    }

    /// All edges of an unexpanded state were taken; it is about to leave the stack. Returns
    /// true to expand it.
    fn on_exhausted(&mut self, visit: Visit<'_>, marks: &mut Marks<'_, '_>) -> bool {
        let _ = (visit, marks);
        false
    }

    /// A state leaves the stack; it is the last one for the last time.
    fn on_leave(&mut self, visit: Visit<'_>, marks: &mut Marks<'_, '_>) {
        let _ = (visit, marks);
    }

    /// States to look at again when nothing else is left. Breadth-first, the search then expands
    /// one state of each terminal component that can be reached from them, if it has none that
    /// is expanded, and goes on.
    fn put_off(&mut self) -> Vec<StateHandle> {
        Vec::new()
    }

    /// One of these was chosen, and is expanded now.
    fn on_expanded(&mut self, state: StateHandle) {
        let _ = state;
    }

    /// A child has left the stack, and its parent is the last one again.
    fn on_child_done(&mut self, parent: Visit<'_>, child: StateHandle, marks: &mut Marks<'_, '_>) {
        let _ = (parent, child, marks);
    }
}

/// Marks on states that belong to the proviso: [`Marks::COUNT`] bits a state, kept in the
/// store. Whatever needs more than that belongs into tables of the worker, keyed by handle.
pub struct Marks<'w, 's>(pub(crate) &'w mut Worker<'s>);

impl Marks<'_, '_> {
    /// Number of bits.
    pub const COUNT: u32 = 2;

    /// The marks of a state, in the lowest bits.
    pub fn get(&mut self, state: StateHandle) -> u8 {
        (self.0.flags(state) & flags::MARKS) >> flags::MARKS.trailing_zeros()
    }

    /// Sets marks; returns those before.
    pub fn set(&mut self, state: StateHandle, marks: u8) -> u8 {
        let bits = marks << flags::MARKS.trailing_zeros() & flags::MARKS;
        (self.0.set_flags(state, bits) & flags::MARKS) >> flags::MARKS.trailing_zeros()
    }

    /// Clears marks; returns those before.
    pub fn clear(&mut self, state: StateHandle, marks: u8) -> u8 {
        let bits = marks << flags::MARKS.trailing_zeros() & flags::MARKS;
        (self.0.clear_flags(state, bits) & flags::MARKS) >> flags::MARKS.trailing_zeros()
    }

    /// Whether all successors of a state entered before are (or will be) explored.
    pub fn is_expanded(&mut self, state: StateHandle) -> bool {
        self.0.flags(state) & flags::EXPANDED != 0
    }
}

/// No proviso at all: nothing is watched, and all of it is compiled away.
pub(crate) struct NoProviso;

impl ProvisoWorker for NoProviso {}

/// How a search holds its proviso: either [`NoProviso`] or one chosen at run time.
pub(crate) trait Watch: Send {
    /// Whether there is a proviso.
    const WATCHES: bool;
    /// The proviso.
    type Hooks: ProvisoWorker + ?Sized;
    fn hooks(&mut self) -> &mut Self::Hooks;
    fn needs(&self) -> Needs;
}

impl Watch for NoProviso {
    const WATCHES: bool = false;
    type Hooks = Self;

    #[inline(always)]
    fn hooks(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// A proviso chosen at run time.
pub(crate) struct Chosen<'a> {
    needs: Needs,
    worker: Box<dyn ProvisoWorker + 'a>,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(proviso: &'a dyn Proviso) -> Self {
        Self {
            needs: proviso.needs(),
            worker: proviso.worker(),
        }
    }
}

impl<'a> Watch for Chosen<'a> {
    const WATCHES: bool = true;
    type Hooks = dyn ProvisoWorker + 'a;

    fn hooks(&mut self) -> &mut Self::Hooks {
        &mut *self.worker
    }

    fn needs(&self) -> Needs {
        self.needs
    }
}
