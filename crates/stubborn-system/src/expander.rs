//! One state: its successors, and which of them a reduction keeps. Everybody who walks through a
//! system asks for them here. (Those who check the others have plain loops of their own.)

use crate::{
    BitSet, Budget, Executor, Expansion, Reducer, Reduction, SetMember, Spent, Successor,
    Successors, System, TransitionId,
};

/// A thread's tools to expand states.
pub struct Expander<'a> {
    executor: Box<dyn Executor + 'a>,
    reducer: Option<Box<dyn Reducer + 'a>>,
    budget: &'a Budget,
    successors: Successors,
    /// Of the last choice, if it left something out.
    kept: BitSet,
    leaves_out: bool,
}

impl<'a> Expander<'a> {
    /// For a system, with or without a reduction.
    pub fn new(system: &'a dyn System, reduction: Option<&'a dyn Reduction>) -> Self {
        Self {
            executor: system.executor(),
            reducer: reduction.map(|reduction| reduction.reducer()),
            budget: system.budget(),
            successors: Successors::new(system.layout().words()),
            kept: BitSet::new(system.structure().transitions.len()),
            leaves_out: false,
        }
    }

    /// Never leaves anything out from now on.
    pub fn forget_reduction(&mut self) {
        self.reducer = None;
    }

    /// Computes all successors of a state; nothing is left out of them.
    ///
    /// # Errors
    /// If the budget is spent. There may be more successors than these then: that there are none
    /// means nothing.
    #[inline]
    pub fn compute(&mut self, state: &[u32]) -> Result<(), Spent> {
        self.leaves_out = false;
        self.successors.clear();
        self.executor.successors(state, &mut self.successors);
        debug_assert!(
            self.successors.transitions().is_sorted(),
            "successors out of order"
        );
        self.budget.spent().map_or(Ok(()), Err)
    }

    /// Lets the reduction choose among the successors that were computed; true if it leaves some
    /// out.
    #[inline]
    pub fn choose(&mut self, state: &[u32]) -> bool {
        self.choose_with(state, None)
    }

    /// The same for a reduction that wants to know which successors were seen before.
    #[inline]
    pub fn choose_knowing(
        &mut self,
        state: &[u32],
        is_known: &mut dyn FnMut(Successor<'_>) -> bool,
    ) -> bool {
        self.choose_with(state, Some(is_known))
    }

    #[inline]
    fn choose_with(
        &mut self,
        state: &[u32],
        is_known: Option<&mut dyn FnMut(Successor<'_>) -> bool>,
    ) -> bool {
        let (Some(reducer), false) = (&mut self.reducer, self.successors.is_empty()) else {
            return false;
        };
        let successors = &self.successors;
        let mut by_number;
        let is_known: Option<&mut dyn FnMut(usize) -> bool> = match is_known {
            None => None,
            Some(is_known) => {
                by_number = |number: usize| is_known(successors.get(number));
                Some(&mut by_number)
            }
        };
        let mut expansion = Expansion {
            state,
            executor: &mut *self.executor,
            successors,
            is_known,
        };
        self.leaves_out = reducer.reduce(&mut expansion, &mut self.kept);
        self.leaves_out
    }

    /// Takes a choice that was made before instead of asking the reduction.
    pub fn recall(&mut self, choose: impl FnOnce(&mut BitSet) -> Option<bool>) -> Option<bool> {
        let leaves_out = choose(&mut self.kept)?;
        self.leaves_out = leaves_out;
        Some(leaves_out)
    }

    /// All successors of the last state.
    #[inline]
    pub fn successors(&self) -> &Successors {
        &self.successors
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.successors.clear();
    }

    /// Whether the steps of an enabled transition are kept.
    #[inline]
    pub fn keeps(&self, transition: TransitionId) -> bool {
        !self.leaves_out || self.kept.contains(transition.index())
    }

    /// The last choice, where it left something out.
    #[inline]
    pub fn kept(&self) -> &BitSet {
        &self.kept
    }

    /// Evaluates labels.
    #[inline]
    pub fn executor(&mut self) -> &mut dyn Executor {
        &mut *self.executor
    }

    /// Whether there is a reduction.
    pub fn is_reduced(&self) -> bool {
        self.reducer.is_some()
    }

    /// The whole set behind the last choice; see [`Reducer::last_set`].
    pub fn last_set(&self) -> Vec<SetMember> {
        self.reducer
            .as_ref()
            .map_or_else(Vec::new, |r| r.last_set())
    }
}
