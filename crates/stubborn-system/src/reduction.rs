//! What a search asks of a reduction: which of the enabled transitions to explore.
//!
//! The search computes all successors of a state, hands them to a [`Reducer`], and inserts
//! only those by the transitions it keeps; a cycle proviso may make the search take the
//! rest as well. (Computing a successor costs far less than storing it, and the set of
//! enabled transitions falls out for free.)

use crate::{BitSet, Executor, Successors, TransitionId};

/// A reduction, set up for one system and one kind of property; shared by all threads.
pub trait Reduction: Send + Sync {
    /// A worker for one thread. All workers choose the same set in the same state.
    fn reducer(&self) -> Box<dyn Reducer + '_>;

    /// As the user calls it.
    fn name(&self) -> String;

    /// False if sets depend on what the search already knows (the `*_f` strategies): such
    /// a reduction may be used for deadlocks and goals only, or where the first choice in each
    /// state is remembered.
    fn is_function_of_state(&self) -> bool {
        true
    }

    /// What all its workers have done so far to find sets, in some unit of about a nanosecond; the same
    /// on every machine.
    fn work(&self) -> u64 {
        0
    }

    /// What its sets are closed under, for engines that compute sets by themselves, where the reduction
    /// is of that kind. Any set that is closed so keeps what this reduction keeps.
    fn closure(&self) -> Option<ClosureRows> {
        None
    }
}

/// What makes a set of transitions strongly stubborn in a state in which no step fails: it has an enabled
/// member, and is closed under these rows. (Laarman, Pater, van de Pol, Hansen, *Guard-based
/// partial-order reduction*, 2014, lemma 1.)
#[derive(Clone, Debug)]
pub struct ClosureRows {
    /// By transition: what an enabled member needs.
    pub enabled: Vec<BitSet>,
    /// By label: what a disabled member needs of which this is a guard that does not hold. One guard is
    /// enough. (A disabled member whose guards all hold needs all transitions.)
    pub disabled: Vec<BitSet>,
}

/// Everything a reducer may look at in one state.
pub struct Expansion<'a> {
    /// The state being expanded.
    pub state: &'a [u32],
    /// Evaluates labels in this state (and fires transitions, for reductions that need it).
    pub executor: &'a mut dyn Executor,
    /// All successors of the state, by increasing transition.
    pub successors: &'a Successors,
    /// Whether the successor at an index was seen before; `None` if the search cannot tell.
    pub is_known: Option<&'a mut dyn FnMut(usize) -> bool>,
}

impl Expansion<'_> {
    /// The enabled transitions, each once, in increasing order.
    pub fn enabled(&self) -> impl Iterator<Item = TransitionId> + '_ {
        let all = self.successors.transitions();
        all.iter()
            .enumerate()
            .filter(|(i, t)| *i == 0 || all[i - 1] != **t)
            .map(|(_, t)| *t)
    }
}

/// The per-thread worker of a [`Reduction`]. Keeps its buffers from state to state.
pub trait Reducer: Send {
    /// Chooses the enabled transitions to explore: clears `kept` (one bit a transition of the
    /// system) and sets the bits of those. Returns true if an enabled transition was left out.
    ///
    /// Outside goal-driven reductions, at least one transition is kept where one is enabled.
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool;

    /// The whole set behind the last choice, disabled transitions included, with the reason
    /// why each is in it; for explanations and for the validating checker.
    fn last_set(&self) -> Vec<SetMember>;
}

/// A transition of a stubborn set and why it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMember {
    /// Which.
    pub transition: TransitionId,
    /// Why.
    pub reason: Reason,
}

/// Why a transition is in a stubborn set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The computation started from it.
    Start,
    /// It does not accord with this enabled member, or need not meet it again where that matters.
    DoesNotAccord(TransitionId),
    /// It may make a false guard of this disabled member true (or make a guard false that
    /// excludes it).
    MayEnable(TransitionId, crate::LabelId),
    /// The goal needs it: it may make this label true.
    NeededByGoal(crate::LabelId),
    /// A condition on visible transitions asked for it.
    Visibility,
    /// Nothing allowed to leave it out (for example, everything was kept).
    NotExcluded,
}
