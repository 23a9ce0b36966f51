//! A proviso that is known before the search: sticky transitions.
//!
//! After Kurshan, Levin, Minea, Peled, Yenigün, *Static partial order reduction* (1998): some
//! transitions are chosen such that every cycle of the state graph has one of them, and a state
//! whose reduced set keeps one is expanded. No order of search is asked for, and what is
//! explored from a state is a function of that state alone.
//!
//! They chose transitions that cut the cycles of the control flow of every process. Here it
//! is done without processes. If a transition on a cycle disables itself, another one on the
//! cycle makes one of its guards true again. So all transitions that may stay enabled after
//! themselves are sticky, and of the others enough to hit every cycle of "may make a guard
//! true of".

use stubborn_graph::components;
use stubborn_system::{
    BitSet, Expansion, Reducer, Reduction, Relations, SetMember, Structure, TransitionId,
};

/// Transitions such that every cycle of the state graph has one of them.
pub fn sticky_transitions(structure: &Structure, relations: &Relations) -> BitSet {
    let count = structure.transitions.len();
    let mut sticky = BitSet::new(count);
    for (id, transition) in structure.transition_ids().zip(&structure.transitions) {
        // A transition of low priority may become enabled without any guard changing.
        let disables_itself = transition.priority == 0 && relations.must_disable.0.contains(id, id);
        sticky.assign(id.index(), !disables_itself);
    }
    let mut helped_by: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (at, transition) in structure.transitions.iter().enumerate() {
        for guard in &transition.guards {
            helped_by[at].extend(relations.may_enable.0.row_indices(*guard));
        }
        helped_by[at].sort_unstable();
        helped_by[at].dedup();
    }
    let mut helps = vec![0_usize; count];
    for helper in helped_by.iter().flatten() {
        helps[*helper as usize] += 1;
    }
    loop {
        let plain = |at: &u32| !sticky.contains(*at as usize);
        let roots: Vec<u32> = (0..count as u32).filter(plain).collect();
        let (component, components) = components(count, roots.iter().copied(), |node, at| {
            let mut helpers = helped_by[node as usize].iter().copied();
            helpers.by_ref().filter(plain).nth(at)
        });
        // Of each component with a cycle the transition that helps most.
        let mut chosen: Vec<Option<u32>> = vec![None; components as usize];
        for at in roots {
            let own = component[at as usize];
            let mut helpers = helped_by[at as usize].iter().copied().filter(plain);
            if helpers.any(|helper| component[helper as usize] == own) {
                let best = &mut chosen[own as usize];
                if best.is_none_or(|best| helps[at as usize] > helps[best as usize]) {
                    *best = Some(at);
                }
            }
        }
        let chosen: Vec<u32> = chosen.into_iter().flatten().collect();
        if chosen.is_empty() {
            return sticky;
        }
        for at in chosen {
            sticky.insert(at as usize);
        }
    }
}

/// A reduction that keeps everything where it would keep a sticky transition: every cycle of
/// what it leaves has a state where nothing was left out.
pub struct StickyReduction<'r> {
    inner: &'r dyn Reduction,
    sticky: BitSet,
}

impl<'r> StickyReduction<'r> {
    /// Over another reduction.
    pub fn new(inner: &'r dyn Reduction, structure: &Structure, relations: &Relations) -> Self {
        Self {
            inner,
            sticky: sticky_transitions(structure, relations),
        }
    }
}

impl Reduction for StickyReduction<'_> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(StickyReducer {
            inner: self.inner.reducer(),
            sticky: &self.sticky,
        })
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn is_function_of_state(&self) -> bool {
        self.inner.is_function_of_state()
    }
}

/// The same for one thread.
pub(crate) struct StickyReducer<'r> {
    pub(crate) inner: Box<dyn Reducer + 'r>,
    pub(crate) sticky: &'r BitSet,
}

impl Reducer for StickyReducer<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        if !self.inner.reduce(expansion, kept) {
            return false;
        }
        if !kept.intersects(self.sticky) {
            return true;
        }
        let enabled: Vec<TransitionId> = expansion.enabled().collect();
        for transition in enabled {
            kept.insert(transition.index());
        }
        false
    }

    fn last_set(&self) -> Vec<SetMember> {
        self.inner.last_set()
    }
}
