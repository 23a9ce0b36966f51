//! Making automata smaller without changing their language, one technique per file.

pub mod acceptance;
pub mod complement;
pub mod degeneralise;
pub mod obligation;
pub mod simulation;

use crate::automaton::{Draft, StateId};
use crate::components::Components;

impl Draft {
    /// Removes states that cannot be reached and states from which nothing is accepted.
    pub fn trim(&mut self) {
        let components = Components::of_draft(self);
        // Edges lead to smaller or equal component numbers, so one pass upwards suffices.
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); components.len()];
        for state in self.states() {
            if let Some(component) = components.get(state) {
                members[component].push(state.index());
            }
        }
        let mut live = vec![false; components.len()];
        for component in 0..components.len() {
            live[component] = components.is_accepting(component)
                || members[component]
                    .iter()
                    .flat_map(|state| &self.edges[*state])
                    .any(|edge| {
                        components
                            .get(edge.target)
                            .is_some_and(|target| live[target])
                    });
        }
        let is_live = |state: StateId| {
            components
                .get(state)
                .is_some_and(|component| live[component])
        };
        let nothing_accepted = !is_live(self.initial);
        self.retain_states(is_live);
        if nothing_accepted {
            self.edges = vec![Vec::new()];
        }
    }

    /// All reductions that keep the automaton a generalised Büchi automaton, until none
    /// of them helps any more.
    pub fn reduce(&mut self) {
        self.trim();
        self.merge_edges();
        self.quotient_by_bisimulation();
        self.drop_redundant_sets();
        self.simulate_until_stable();
        self.number_marks_by_component();
        self.simulate_until_stable();
        self.drop_redundant_sets();
    }

    fn simulate_until_stable(&mut self) {
        loop {
            let size = (
                self.edges.len(),
                self.edges.iter().map(Vec::len).sum::<usize>(),
            );
            self.quotient_by_simulation();
            self.trim();
            self.quotient_by_reverse_simulation();
            self.trim();
            if (
                self.edges.len(),
                self.edges.iter().map(Vec::len).sum::<usize>(),
            ) == size
            {
                return;
            }
        }
    }
}
