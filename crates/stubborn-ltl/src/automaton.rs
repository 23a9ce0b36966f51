//! Transition-based generalised Büchi automata.
//!
//! States are numbered densely, edges lie in one array sorted by source, and every
//! edge has a guard over the propositions, a target and a set of acceptance marks. A
//! run is accepting if it sees every mark infinitely often; with no acceptance sets
//! every infinite run is accepting. There is always an initial state; an automaton of
//! the empty language is one state without edges.
//!
//! An [`Automaton`] never changes. Algorithms work on a [`Draft`], which has lists of
//! edges that grow and an arena of guards that can be computed with, and
//! [`Draft::finish`] it.

use rapidhash::RapidHashMap;

use crate::guard::{Guard, Guards};

/// A state of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u32);

impl StateId {
    /// The state as an index into arrays by state.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of acceptance marks: bit `i` stands for acceptance set `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Marks(pub u32);

impl Marks {
    /// No mark.
    pub const NONE: Marks = Marks(0);

    /// Most acceptance sets an automaton can have.
    pub const MAX_SETS: u32 = 32;

    /// The marks of all sets below `sets`.
    pub fn all(sets: u32) -> Self {
        Marks(
            u32::MAX
                .checked_shr(Self::MAX_SETS - sets.min(Self::MAX_SETS))
                .unwrap_or(0),
        )
    }

    /// Whether the mark of set `set` is in here.
    pub fn has(self, set: u32) -> bool {
        self.0 >> set & 1 == 1
    }

    /// Whether all of `other` is in here.
    pub fn contains(self, other: Marks) -> bool {
        other.0 & !self.0 == 0
    }

    /// The marks of both.
    #[must_use]
    pub fn union(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}

/// An edge; its source is known from where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The letters on which the edge can be taken.
    pub guard: Guard,
    /// Where it leads.
    pub target: StateId,
    /// The acceptance sets it belongs to.
    pub marks: Marks,
}

/// A finished automaton.
#[derive(Clone, Debug)]
pub struct Automaton {
    propositions: Vec<String>,
    guards: Guards,
    first_edge: Vec<u32>,
    edges: Vec<Edge>,
    initial: StateId,
    acceptance_sets: u32,
}

impl Automaton {
    /// Number of states.
    pub fn state_count(&self) -> usize {
        self.first_edge.len() - 1
    }

    /// All states.
    pub fn states(&self) -> impl ExactSizeIterator<Item = StateId> + use<> {
        (0..self.state_count() as u32).map(StateId)
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The initial state.
    pub fn initial(&self) -> StateId {
        self.initial
    }

    /// Number of acceptance sets.
    pub fn acceptance_sets(&self) -> u32 {
        self.acceptance_sets
    }

    /// The marks an accepting cycle must collect.
    pub fn all_marks(&self) -> Marks {
        Marks::all(self.acceptance_sets)
    }

    /// The names of the propositions; variable `i` of a guard is the `i`-th.
    pub fn propositions(&self) -> &[String] {
        &self.propositions
    }

    /// The arena of the guards.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The edges of a state, sorted by target and marks.
    #[inline]
    pub fn edges(&self, state: StateId) -> &[Edge] {
        let from = self.first_edge[state.index()] as usize;
        let to = self.first_edge[state.index() + 1] as usize;
        &self.edges[from..to]
    }

    /// The edges of a state that can be taken under a valuation (see [`Guards::holds`]).
    #[inline]
    pub fn successors<'a>(
        &'a self,
        state: StateId,
        valuation: &'a [u64],
    ) -> impl Iterator<Item = &'a Edge> {
        self.edges(state)
            .iter()
            .filter(|edge| self.guards.holds(edge.guard, valuation))
    }

    /// Whether no letter enables two edges of one state. (False also where the guards are
    /// too complex to tell.)
    pub fn is_deterministic(&self) -> bool {
        let mut guards = self.guards.clone();
        let disjoint = self.states().all(|state| {
            let mut seen = Guard::FALSE;
            self.edges(state).iter().all(|edge| {
                let fresh = !guards.intersect(seen, edge.guard);
                seen = guards.or(seen, edge.guard);
                fresh
            })
        });
        disjoint && !guards.overflowed()
    }

    /// Whether every letter enables an edge of every state.
    pub fn is_complete(&self) -> bool {
        let mut guards = self.guards.clone();
        self.states().all(|state| {
            let mut seen = Guard::FALSE;
            for edge in self.edges(state) {
                seen = guards.or(seen, edge.guard);
            }
            seen.is_true()
        })
    }

    /// A copy that can be changed.
    pub fn draft(&self) -> Draft {
        Draft {
            propositions: self.propositions.clone(),
            guards: self.guards.clone(),
            edges: self
                .states()
                .map(|state| self.edges(state).to_vec())
                .collect(),
            initial: self.initial,
            acceptance_sets: self.acceptance_sets,
        }
    }
}

/// An automaton under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The names of the propositions.
    pub propositions: Vec<String>,
    /// The arena of the guards.
    pub guards: Guards,
    /// The edges by source.
    pub edges: Vec<Vec<Edge>>,
    /// The initial state.
    pub initial: StateId,
    /// Number of acceptance sets.
    pub acceptance_sets: u32,
}

impl Draft {
    /// One state, no edges: the empty language.
    pub fn new(propositions: Vec<String>, acceptance_sets: u32) -> Self {
        let edges = vec![Vec::new()];
        let guards = Guards::new();
        Self {
            propositions,
            guards,
            edges,
            initial: StateId(0),
            acceptance_sets,
        }
    }

    /// Adds a state without edges.
    pub fn add_state(&mut self) -> StateId {
        self.edges.push(Vec::new());
        StateId(self.edges.len() as u32 - 1)
    }

    /// All states.
    pub fn states(&self) -> impl ExactSizeIterator<Item = StateId> + use<> {
        (0..self.edges.len() as u32).map(StateId)
    }

    /// The marks an accepting cycle must collect.
    pub fn all_marks(&self) -> Marks {
        Marks::all(self.acceptance_sets)
    }

    /// Joins edges with equal target and marks, drops impossible ones and sorts. Where a
    /// joint guard is too complex, edges stay apart.
    pub fn merge_edges(&mut self) {
        for edges in &mut self.edges {
            edges.sort_by_key(|edge| (edge.target, edge.marks));
            let mut merged: Vec<Edge> = Vec::with_capacity(edges.len());
            for edge in edges.iter().filter(|edge| !edge.guard.is_false()) {
                match merged.last_mut() {
                    Some(last) if (last.target, last.marks) == (edge.target, edge.marks) => {
                        let joint = self.guards.or(last.guard, edge.guard);
                        if self.guards.overflowed() {
                            merged.push(*edge);
                        } else {
                            last.guard = joint;
                        }
                    }
                    _ => merged.push(*edge),
                }
            }
            *edges = merged;
        }
    }

    /// Keeps the states that `keep` accepts (the initial one always), renumbered in
    /// order, and the edges between them.
    pub fn retain_states(&mut self, keep: impl Fn(StateId) -> bool) {
        let mut renamed: Vec<Option<StateId>> = vec![None; self.edges.len()];
        let mut edges = Vec::new();
        for state in self.states() {
            if keep(state) || state == self.initial {
                renamed[state.index()] = Some(StateId(edges.len() as u32));
                edges.push(std::mem::take(&mut self.edges[state.index()]));
            }
        }
        for edge_list in &mut edges {
            edge_list.retain_mut(|edge| match renamed[edge.target.index()] {
                Some(target) => {
                    edge.target = target;
                    true
                }
                None => false,
            });
        }
        self.edges = edges;
        self.initial = renamed[self.initial.index()].expect("the initial state is kept");
    }

    /// Forgets the guards that no edge uses.
    pub fn compact(&mut self) {
        let mut guards = Guards::new();
        let mut memo = RapidHashMap::default();
        for edge in self.edges.iter_mut().flatten() {
            edge.guard = guards.import_with(&self.guards, edge.guard, &[], &mut memo);
        }
        // The memory of past operations is of no use to a finished automaton.
        guards.forget_operations();
        self.guards = guards;
    }

    /// Freezes the automaton.
    pub fn finish(mut self) -> Automaton {
        self.merge_edges();
        self.compact();
        let mut first_edge = vec![0];
        let mut edges = Vec::new();
        for edge_list in &self.edges {
            edges.extend_from_slice(edge_list);
            first_edge.push(edges.len() as u32);
        }
        Automaton {
            propositions: self.propositions,
            guards: self.guards,
            first_edge,
            edges,
            initial: self.initial,
            acceptance_sets: self.acceptance_sets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_all_sets() {
        assert_eq!(Marks::all(0), Marks(0));
        assert_eq!(Marks::all(3), Marks(7));
        assert_eq!(Marks::all(32), Marks(u32::MAX));
    }

    #[test]
    fn successors_follow_the_valuation() {
        let mut draft = Draft::new(vec!["p".into()], 0);
        let other = draft.add_state();
        let p = draft.guards.variable(0);
        let not_p = draft.guards.not(p);
        let start = draft.initial;
        let edge = |guard, target| Edge {
            guard,
            target,
            marks: Marks::NONE,
        };
        draft.edges[start.index()] = vec![edge(p, other), edge(not_p, start)];
        let automaton = draft.finish();
        let targets = |valuation: u64| -> Vec<StateId> {
            automaton
                .successors(start, &[valuation])
                .map(|edge| edge.target)
                .collect()
        };
        assert_eq!(targets(1), [other]);
        assert_eq!(targets(0), [start]);
        assert!(automaton.is_deterministic());
        assert!(!automaton.is_complete());
    }
}
