//! Fewer acceptance sets.
//!
//! Only cycles matter for acceptance, so marks are compared component by component:
//! within a component set `i` is redundant if every edge with some mark `j` also has
//! mark `i`. Sets that are redundant everywhere disappear; and as no run accepts in two
//! components, the remaining ones are numbered anew in each.

use crate::automaton::{Draft, Marks};
use crate::components::Components;

impl Draft {
    /// Removes acceptance sets that are redundant in every accepting component, and all
    /// marks where nothing is accepted anyway.
    pub fn drop_redundant_sets(&mut self) {
        let components = Components::of_draft(self);
        let needed = self.needed_sets(&components);
        let mut kept = Marks::NONE;
        for sets in needed.iter().flatten() {
            kept = kept.union(*sets);
        }
        if kept == Marks::NONE {
            // Components are accepting or rejecting as a whole.
            self.number_marks_by_component();
            return;
        }
        // A set kept for one component may stay redundant in another: harmless.
        self.rename_marks(&components, |_, marks| compress(marks, kept));
        self.acceptance_sets = kept.0.count_ones();
        self.clear_useless_marks(&components);
        self.merge_edges();
    }

    /// Numbers the needed sets of each accepting component from 0, so that as many sets
    /// remain as the component with most of them needs.
    pub fn number_marks_by_component(&mut self) {
        let components = Components::of_draft(self);
        let needed = self.needed_sets(&components);
        let most = needed
            .iter()
            .flatten()
            .map(|sets| sets.0.count_ones())
            .max()
            .unwrap_or(0);
        // A cycle that must not accept needs a set whose mark it lacks.
        let rejecting = (0..components.len())
            .any(|c| components.marks(c).is_some() && !components.is_accepting(c));
        let sets = most.max(u32::from(rejecting));
        let all = Marks::all(sets);
        self.rename_marks(&components, |component, marks| match needed[component] {
            // What the component does not need is there on every edge.
            Some(own) => {
                let padding = all.0 & !Marks::all(own.0.count_ones()).0;
                Marks(compress(marks, own).0 | padding)
            }
            None => Marks::NONE,
        });
        self.acceptance_sets = sets;
        self.merge_edges();
    }

    /// The sets that must be tracked in each accepting component; `None` for the others.
    fn needed_sets(&self, components: &Components) -> Vec<Option<Marks>> {
        let mut distinct: Vec<Vec<Marks>> = vec![Vec::new(); components.len()];
        for state in self.states() {
            let Some(home) = components.get(state) else {
                continue;
            };
            for edge in &self.edges[state.index()] {
                if components.is_inner(state, edge.target) && !distinct[home].contains(&edge.marks)
                {
                    distinct[home].push(edge.marks);
                }
            }
        }
        (0..components.len())
            .map(|component| {
                if !components.is_accepting(component) {
                    return None;
                }
                let mut kept = self.all_marks();
                // A set on all edges is redundant by itself, others because of a kept one.
                for set in (0..self.acceptance_sets).rev() {
                    let on_all = distinct[component].iter().all(|marks| marks.has(set));
                    let implied = (0..self.acceptance_sets)
                        .filter(|other| *other != set && kept.has(*other))
                        .any(|other| {
                            distinct[component]
                                .iter()
                                .all(|m| !m.has(other) || m.has(set))
                        });
                    if on_all || implied {
                        kept.0 &= !(1 << set);
                    }
                }
                Some(kept)
            })
            .collect()
    }

    /// Changes the marks of every edge according to the component it leads to.
    fn rename_marks(&mut self, components: &Components, rename: impl Fn(usize, Marks) -> Marks) {
        for edge in self.edges.iter_mut().flatten() {
            if let Some(component) = components.get(edge.target) {
                edge.marks = rename(component, edge.marks);
            }
        }
    }

    /// Marks inside and into components without accepting cycle mean nothing; without
    /// them more states look alike. Single states on the way keep theirs, which tends to
    /// make them look like the states behind them.
    fn clear_useless_marks(&mut self, components: &Components) {
        for edge in self.edges.iter_mut().flatten() {
            let Some(component) = components.get(edge.target) else {
                continue;
            };
            if components.marks(component).is_some() && !components.is_accepting(component) {
                edge.marks = Marks::NONE;
            }
        }
    }
}

/// The marks in `kept`, renumbered without gaps.
fn compress(marks: Marks, kept: Marks) -> Marks {
    let kept_sets = (0..Marks::MAX_SETS).filter(|set| kept.has(*set));
    Marks(
        kept_sets
            .enumerate()
            .fold(0, |all, (new, old)| all | u32::from(marks.has(old)) << new),
    )
}
