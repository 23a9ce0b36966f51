//! Optimal and source-set dynamic partial-order reduction, for anything made of threads.
//!
//! Abdulla, Aronis, Jonsson, Sagonas, *Optimal dynamic partial order reduction* (2014) and *Source
//! sets: a foundation for optimal dynamic partial order reduction* (2017). Executions that differ
//! only in the order of independent steps are one *trace*. The optimal algorithm visits every
//! maximal trace exactly once; the one with source sets alone is simpler, and may begin
//! executions that it has to give up.
//!
//! A [`Program`] says what its threads can do, and which objects each step touches. The papers'
//! threads are deterministic and never disabled. Here a thread may have several choices, because
//! a process may take any of its messages. A step of one thread may give another one more
//! choices. With that, a new kind of race is between a step and another choice of the same
//! thread, which may need steps of other threads first: with everything that does not depend on
//! the step out of the way, all choices that could have been made in its place are open at once.
//! (The proof of the papers goes through: where it takes a step that a race delays, take the choice
//! that it replaces. If the delayed choice depends on what was put before it, those two race, as
//! usual.)
//!
//! A step may also take a choice away from another thread, as whoever gets a lock does, if the two
//! depend on each other. Then the other step may come much later (after the lock is given back), or
//! never (in a deadlock), and the race is not between neighbours. So at the end of an execution
//! every step is also put behind whatever it took away: with everything that does not depend on
//! it out of the way, those choices are open. A step that takes away what does not depend on it is
//! an [error](ExploreError::Disables), because executions would be missed.
//!
//! [`check`] runs ordinary multi-threaded Rust code under this search: see [`thread`] and [`sync`]. It
//! explores sequentially consistent executions, and lists the places that ask for weaker orderings.
//!
//! | module | holds |
//! | --- | --- |
//! | `order` | what depends on what on a path, and in a sequence to be tried |
//! | `wakeup` | wakeup trees: sequences to be tried, none of them in vain |
//! | `explore` | the search |
//! | `code` | ordinary Rust code as a program: [`thread`], [`sync`], [`check`]; the feature `threads`, which is on |
//! | [`traces`] | all traces by brute force, to test against |

#![deny(unsafe_code)]

#[cfg(feature = "threads")]
mod code;
mod explore;
mod order;
pub mod traces;
mod wakeup;

use std::rc::Rc;

#[cfg(feature = "threads")]
pub use code::{Check, Executions, Failure, FailureKind, check, sync, thread};
pub use explore::{Counts, ExploreError, Seen, explore};

/// A thread of a [`Program`], from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u16);

impl ThreadId {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a thread can choose to do next. The number means the same for this thread as long as it
/// takes no step, whatever others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice(pub u32);

/// A step of a program: who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// The thread.
    pub thread: ThreadId,
    /// Its choice.
    pub choice: Choice,
}

/// Something that steps of several threads may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// A step touches an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What is touched.
    pub object: ObjectId,
    /// Two steps that touch the same object depend on each other unless both only read it.
    pub writes: bool,
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Taken<S> {
    /// The state afterwards.
    pub state: S,
    /// What it touched.
    pub accesses: Vec<Access>,
    /// Threads that may have got more choices by it, other than the one that took it.
    pub feeds: Vec<ThreadId>,
}

/// A system of threads.
///
/// Laws, for steps of different threads that touch no object in common, or only read it: in
/// either order they lead to the same state, touch the same objects, and neither takes a choice
/// away from the other's thread.
pub trait Program {
    /// A global state.
    type State: Clone;

    /// How many threads there are.
    fn threads(&self) -> usize;

    /// Where it begins.
    fn initial(&self) -> Self::State;

    /// What a thread can do, in an order that depends on the state alone; nothing if it is done.
    fn choices(&mut self, state: &Self::State, thread: ThreadId) -> Rc<[Choice]>;

    /// Takes a step that is possible in this state.
    fn take(&mut self, state: &Self::State, step: Step) -> Taken<Self::State>;

    /// What tells states apart.
    fn words<'s>(&self, state: &'s Self::State) -> &'s [u32];

    /// Whether a step may take choices away from other threads. A program that says no pays less.
    fn may_disable(&self) -> bool {
        true
    }

    /// Threads such that every execution from this state has an equivalent one that begins with
    /// one of them; all if `None`. For reductions that find that out in advance: the search
    /// starts with these, and turns to them where it has a choice.
    fn preferred(&mut self, state: &Self::State) -> Option<Vec<ThreadId>> {
        let _ = state;
        None
    }
}

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Source sets and sleep sets.
    Source,
    /// Source sets and wakeup trees.
    #[default]
    Optimal,
}
