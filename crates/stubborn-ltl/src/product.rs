//! The product of two automata: the words that both accept.

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::guard::Variable;

/// The propositions of both automata, those of `left` first, and where each of those of
/// `right` went.
pub(crate) fn joint_propositions(
    left: &Automaton,
    right: &Automaton,
) -> (Vec<String>, Vec<Variable>) {
    let mut names = left.propositions().to_vec();
    let mut known: RapidHashMap<String, Variable> = names
        .iter()
        .cloned()
        .enumerate()
        .map(|(i, name)| (name, i as Variable))
        .collect();
    let rename = right
        .propositions()
        .iter()
        .map(|name| {
            *known.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() as Variable - 1
            })
        })
        .collect();
    (names, rename)
}

impl Automaton {
    /// An automaton of the words that both accept, propositions matched by name; `None`
    /// if it has more than `limit` states or too many acceptance sets.
    pub fn intersection(&self, other: &Automaton, limit: usize) -> Option<Automaton> {
        let sets = self.acceptance_sets() + other.acceptance_sets();
        if sets > Marks::MAX_SETS {
            return None;
        }
        let (names, rename) = joint_propositions(self, other);
        let mut draft = Draft::new(names, sets);
        let mut memo = [RapidHashMap::default(), RapidHashMap::default()];
        let mut numbers: RapidHashMap<(StateId, StateId), StateId> = RapidHashMap::default();
        let mut todo = vec![(self.initial(), other.initial())];
        numbers.insert(todo[0], StateId(0));
        let mut at = 0;
        while at < todo.len() {
            let (left, right) = todo[at];
            for a in self.edges(left) {
                let a_guard = draft
                    .guards
                    .import_with(self.guards(), a.guard, &[], &mut memo[0]);
                for b in other.edges(right) {
                    let b_guard =
                        draft
                            .guards
                            .import_with(other.guards(), b.guard, &rename, &mut memo[1]);
                    let guard = draft.guards.and(a_guard, b_guard);
                    if guard.is_false() {
                        continue;
                    }
                    let pair = (a.target, b.target);
                    let target = *numbers.entry(pair).or_insert_with(|| {
                        todo.push(pair);
                        draft.add_state()
                    });
                    let marks = Marks(a.marks.0 | shifted(b.marks, self.acceptance_sets()));
                    draft.edges[at].push(Edge {
                        guard,
                        target,
                        marks,
                    });
                }
            }
            at += 1;
            if todo.len() > limit || draft.guards.overflowed() {
                return None;
            }
        }
        Some(draft.finish())
    }
}

/// The marks, numbered behind `by` others; all 32 of those leave no room and no marks.
fn shifted(marks: Marks, by: u32) -> u32 {
    marks.0.checked_shl(by).unwrap_or(0)
}
