//! Minimal weak deterministic automata for obligation properties.
//!
//! Dax, Eisinger, Klaedtke, "Mechanizing the powerset construction for restricted
//! classes of ω-automata" (2007): for a language that some weak deterministic automaton
//! accepts, the powerset automaton can be made one by deciding for each component
//! whether its cycles are accepted. Löding, "Efficient minimization of deterministic
//! weak ω-automata" (2001), then minimises it like a finite automaton. Whether the
//! language is such a language is not decided beforehand: the candidate is compared
//! with the original and its complement, and thrown away if it differs.

use std::collections::BTreeMap;

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::components::Components;
use crate::guard::Guard;
use crate::lasso::Lasso;

/// The smallest weak deterministic automaton, if the language has one of at most
/// `limit` sets of states before minimisation; `complement` must accept exactly the
/// words that `automaton` does not.
pub fn minimal_weak_deterministic(
    automaton: &Automaton,
    complement: &Automaton,
    limit: usize,
) -> Option<Automaton> {
    let candidate = candidate(automaton, limit)?;
    let accepted = candidate.clone().finish();
    let rejected = inverted(candidate).finish();
    let same = accepted.is_disjoint(complement) && rejected.is_disjoint(automaton);
    same.then(|| {
        let mut draft = accepted.draft();
        draft.trim();
        draft.drop_redundant_sets();
        draft.finish()
    })
}

/// Complement of a complete weak deterministic automaton with marks by source state.
fn inverted(mut draft: Draft) -> Draft {
    for edge in draft.edges.iter_mut().flatten() {
        edge.marks = Marks(edge.marks.0 ^ 1);
    }
    draft
}

/// The minimal automaton if the language is a weak deterministic one, else anything.
/// Complete, one acceptance set, the edges of a state all marked or all not.
fn candidate(automaton: &Automaton, limit: usize) -> Option<Draft> {
    let (mut draft, sets) = powerset(automaton, limit)?;
    let components = Components::of_draft(&draft);
    let mut members: Vec<Vec<StateId>> = vec![Vec::new(); components.len()];
    for state in draft.states() {
        members[components.get(state)?].push(state);
    }
    // Löding's colours: as large as possible, non-increasing along edges, even where
    // cycles are accepted; components without cycles take what comes.
    let top = 2 * components.len() + 2;
    let mut colours = vec![top; components.len()];
    for component in 0..components.len() {
        let below = members[component]
            .iter()
            .flat_map(|state| &draft.edges[state.index()])
            .filter_map(|edge| components.get(edge.target))
            .filter(|target| *target != component)
            .map(|target| colours[target])
            .min()
            .unwrap_or(top);
        let fits = match cycle_through(&draft, &components, members[component][0]) {
            None => true,
            Some(cycle) => {
                let word = Lasso {
                    stem: Vec::new(),
                    cycle,
                };
                let start = &sets[members[component][0].index()];
                automaton.accepts_from(start, &word) == below.is_multiple_of(2)
            }
        };
        colours[component] = if fits { below } else { below - 1 };
    }
    let accepting: Vec<bool> = draft
        .states()
        .map(|state| {
            components
                .get(state)
                .is_some_and(|c| colours[c].is_multiple_of(2))
        })
        .collect();
    minimise(&mut draft, &accepting);
    Some(draft)
}

/// The deterministic and complete automaton of sets of states (marks are lost), and the sets.
fn powerset(automaton: &Automaton, limit: usize) -> Option<(Draft, Vec<Vec<StateId>>)> {
    let mut draft = Draft::new(automaton.propositions().to_vec(), 1);
    draft.guards = automaton.guards().clone();
    let mut sets = vec![vec![automaton.initial()]];
    let mut numbers: RapidHashMap<Vec<StateId>, StateId> = RapidHashMap::default();
    numbers.insert(sets[0].clone(), StateId(0));
    let mut at = 0;
    while at < sets.len() {
        let mut by_target: BTreeMap<StateId, Guard> = BTreeMap::new();
        for edge in sets[at].iter().flat_map(|state| automaton.edges(*state)) {
            let guard = by_target.entry(edge.target).or_insert(Guard::FALSE);
            *guard = draft.guards.or(*guard, edge.guard);
        }
        let mut blocks: BTreeMap<Vec<StateId>, Guard> = BTreeMap::from([(Vec::new(), Guard::TRUE)]);
        for (target, guard) in by_target {
            let mut split = BTreeMap::new();
            for (set, letters) in blocks {
                let without = draft.guards.minus(letters, guard);
                let with = draft.guards.and(letters, guard);
                if !with.is_false() {
                    let mut larger = set.clone();
                    larger.push(target);
                    split.insert(larger, with);
                }
                if !without.is_false() {
                    split.insert(set, without);
                }
            }
            blocks = split;
            if blocks.len() > limit {
                return None;
            }
        }
        for (set, guard) in blocks {
            let target = match numbers.get(&set) {
                Some(known) => *known,
                None => {
                    let fresh = draft.add_state();
                    numbers.insert(set.clone(), fresh);
                    sets.push(set);
                    fresh
                }
            };
            draft.edges[at].push(Edge {
                guard,
                target,
                marks: Marks::NONE,
            });
        }
        at += 1;
        if sets.len() > limit || draft.guards.overflowed() {
            return None;
        }
    }
    Some((draft, sets))
}

/// The letters of a shortest cycle through the state, if there is one.
fn cycle_through(
    draft: &Draft,
    components: &Components,
    state: StateId,
) -> Option<Vec<crate::lasso::Letter>> {
    let mut parent: RapidHashMap<StateId, (StateId, Guard)> = RapidHashMap::default();
    let mut queue = std::collections::VecDeque::from([state]);
    while let Some(source) = queue.pop_front() {
        for edge in &draft.edges[source.index()] {
            if !components.is_inner(source, edge.target) || parent.contains_key(&edge.target) {
                continue;
            }
            parent.insert(edge.target, (source, edge.guard));
            queue.push_back(edge.target);
            if edge.target != state {
                continue;
            }
            let mut letters = Vec::new();
            let mut at = state;
            loop {
                let (before, guard) = parent[&at];
                letters.push(crate::emptiness::some_letter(
                    &draft.guards,
                    guard,
                    draft.propositions.len(),
                ));
                at = before;
                if at == state {
                    letters.reverse();
                    return Some(letters);
                }
            }
        }
    }
    None
}

/// Merges the states that no word tells apart, `accepting` being seen as final states.
fn minimise(draft: &mut Draft, accepting: &[bool]) {
    for (state, edges) in draft.edges.iter_mut().enumerate() {
        for edge in edges {
            edge.marks = Marks(u32::from(accepting[state]));
        }
    }
    draft.acceptance_sets = 1;
    // Complete automata have an edge at every state, so marks tell final states apart.
    draft.quotient_by_bisimulation();
}
