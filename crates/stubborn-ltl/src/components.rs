//! Strongly connected components and what kind of runs stay in them.
//!
//! Components are numbered so that edges lead to smaller or equal numbers: component 0 has no way
//! out. The kinds follow Renault,
//! Duret-Lutz, Kordon, Poitrenaud, "Strength-based decomposition of the property Büchi
//! automaton for faster model checking" (2013): weaker components allow cheaper
//! emptiness checks.

use crate::automaton::{Automaton, Draft, Marks, StateId};
use crate::guard::{Guard, Guards};

/// What the runs that stay in a component are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// No cycle at all: a single state without self-loop.
    Transient,
    /// Cycles, none of them accepting.
    Rejecting,
    /// Every run that stays is accepting, and from each state every word can stay.
    Terminal,
    /// Every run that stays is accepting.
    Weak,
    /// Some runs that stay are accepting and some are not.
    Strong,
}

/// The components of an automaton.
#[derive(Clone, Debug)]
pub struct Components {
    component: Vec<u32>,
    marks: Vec<Option<Marks>>,
    all: Marks,
}

impl Components {
    /// The components of the part that can be reached.
    pub fn of_draft(draft: &Draft) -> Self {
        let target = |node: u32, i: usize| draft.edges[node as usize].get(i).map(|e| e.target.0);
        let (component, count) =
            stubborn_graph::components(draft.edges.len(), [draft.initial.0], target);
        let mut marks: Vec<Option<Marks>> = vec![None; count as usize];
        for (source, edges) in draft.edges.iter().enumerate() {
            for edge in edges {
                let home = component[source];
                if home != u32::MAX && home == component[edge.target.index()] {
                    let known = &mut marks[home as usize];
                    *known = Some(known.unwrap_or_default().union(edge.marks));
                }
            }
        }
        Self {
            component,
            marks,
            all: draft.all_marks(),
        }
    }

    /// The components of the part of an automaton that can be reached.
    pub fn of(automaton: &Automaton) -> Self {
        Self::of_draft(&automaton.draft())
    }

    /// Number of components.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are no components (never: the initial state is in one).
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The component of a state; `None` if the state cannot be reached.
    pub fn get(&self, state: StateId) -> Option<usize> {
        let component = self.component[state.index()];
        (component != u32::MAX).then_some(component as usize)
    }

    /// Whether an edge between these states stays inside a component.
    pub fn is_inner(&self, source: StateId, target: StateId) -> bool {
        self.component[source.index()] == self.component[target.index()]
            && self.component[source.index()] != u32::MAX
    }

    /// The marks on edges inside the component; `None` if it has no such edge.
    pub fn marks(&self, component: usize) -> Option<Marks> {
        self.marks[component]
    }

    /// Whether some run that stays in the component is accepting.
    pub fn is_accepting(&self, component: usize) -> bool {
        self.marks[component].is_some_and(|marks| marks.contains(self.all))
    }

    /// How strong each component is.
    pub fn strengths(&self, automaton: &Automaton) -> Vec<Strength> {
        let draft = automaton.draft();
        let mut guards = automaton.guards().clone();
        (0..self.len())
            .map(|component| {
                if self.marks(component).is_none() {
                    Strength::Transient
                } else if !self.is_accepting(component) {
                    Strength::Rejecting
                } else if self.has_rejecting_cycle(&draft, component) {
                    Strength::Strong
                } else if self.can_always_stay(&draft, component, &mut guards) {
                    Strength::Terminal
                } else {
                    Strength::Weak
                }
            })
            .collect()
    }

    /// Whether some cycle inside the component misses some mark.
    pub(crate) fn has_rejecting_cycle(&self, draft: &Draft, component: usize) -> bool {
        let inside = |state: StateId| self.component[state.index()] == component as u32;
        (0..draft.acceptance_sets).any(|set| {
            let target = |node: u32, i: usize| {
                let node = StateId(node);
                let mut kept = draft.edges[node.index()]
                    .iter()
                    .filter(|e| inside(node) && inside(e.target) && !e.marks.has(set));
                kept.nth(i).map(|e| e.target.0)
            };
            let members = draft.states().filter(|s| inside(*s)).map(|s| s.0);
            let (parts, count) = stubborn_graph::components(draft.edges.len(), members, target);
            let mut sizes = vec![0; count as usize];
            parts
                .iter()
                .filter(|p| **p != u32::MAX)
                .for_each(|p| sizes[*p as usize] += 1);
            let self_loop = draft.states().filter(|s| inside(*s)).any(|state| {
                draft.edges[state.index()]
                    .iter()
                    .any(|e| e.target == state && !e.marks.has(set))
            });
            self_loop || sizes.iter().any(|size| *size > 1)
        })
    }

    fn can_always_stay(&self, draft: &Draft, component: usize, guards: &mut Guards) -> bool {
        let inside = |state: StateId| self.component[state.index()] == component as u32;
        draft.states().filter(|state| inside(*state)).all(|state| {
            let mut covered = Guard::FALSE;
            for edge in draft.edges[state.index()]
                .iter()
                .filter(|e| inside(e.target))
            {
                covered = guards.or(covered, edge.guard);
            }
            covered.is_true()
        })
    }
}
