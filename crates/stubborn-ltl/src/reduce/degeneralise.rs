//! One acceptance set instead of several, and acceptance on states.
//!
//! The usual counter: a copy of the state for each set that is waited for. A level is
//! advanced over all sets an edge satisfies at once, only components with accepting
//! cycles get levels, and each waits only for the sets it needs (Babiak, Badie,
//! Duret-Lutz, Křetínský, Strejček 2013). Simulation then merges what it can.

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::components::Components;

impl Automaton {
    /// An automaton of the same language with one acceptance set at most.
    pub fn degeneralise(&self) -> Automaton {
        let mut draft = self.draft();
        draft.trim();
        draft.drop_redundant_sets();
        draft.number_marks_by_component();
        if draft.acceptance_sets > 1 {
            draft = with_levels(&draft);
            draft.reduce();
        }
        draft.finish()
    }

    /// An automaton of the same language with one acceptance set at most, where the
    /// edges of a state are all marked or all not: a state-based Büchi automaton.
    pub fn state_based(&self) -> Automaton {
        let simple = self.degeneralise();
        if simple.acceptance_sets() == 0 {
            return simple;
        }
        // Which way is smaller depends on the automaton.
        let attempts = [true, false].map(|by_source| {
            let mut draft = with_accepting_states(&simple.draft(), by_source);
            draft.trim();
            // Backwards it would merge states with different acceptance.
            draft.quotient_by_simulation();
            draft.trim();
            draft
        });
        let [first, second] = attempts;
        if second.edges.len() < first.edges.len() {
            second
        } else {
            first
        }
        .finish()
    }

    /// Whether the edges of each state are all marked alike.
    pub fn is_state_based(&self) -> bool {
        self.states().all(|s| {
            self.edges(s)
                .windows(2)
                .all(|pair| pair[0].marks == pair[1].marks)
        })
    }
}

/// The states of a new automaton, each a state of the old one with something added.
struct Copies<T> {
    numbers: RapidHashMap<(StateId, T), StateId>,
    todo: Vec<(StateId, T)>,
}

impl<T: Copy + Eq + std::hash::Hash> Copies<T> {
    fn new(state: StateId, extra: T) -> Self {
        let mut numbers = RapidHashMap::default();
        numbers.insert((state, extra), StateId(0));
        Self {
            numbers,
            todo: vec![(state, extra)],
        }
    }

    fn number(&mut self, state: StateId, extra: T, draft: &mut Draft) -> StateId {
        *self.numbers.entry((state, extra)).or_insert_with(|| {
            self.todo.push((state, extra));
            draft.add_state()
        })
    }
}

fn with_levels(original: &Draft) -> Draft {
    let components = Components::of_draft(original);
    let sets = original.acceptance_sets;
    let mut draft = Draft::new(original.propositions.clone(), 1);
    draft.guards = original.guards.clone();
    let mut copies: Copies<u32> = Copies::new(original.initial, 0);
    let mut at = 0;
    while at < copies.todo.len() {
        let (state, level) = copies.todo[at];
        for edge in &original.edges[state.index()] {
            let accepting = components
                .get(edge.target)
                .is_some_and(|c| components.is_accepting(c));
            let (mut next, mut marks) = (0, Marks::NONE);
            if accepting && components.is_inner(state, edge.target) {
                next = level;
                while next < sets && edge.marks.has(next) {
                    next += 1;
                }
                if next == sets {
                    marks = Marks(1);
                    next = 0;
                    // An edge with all marks would count round and round.
                    while next + 1 < sets && edge.marks.has(next) {
                        next += 1;
                    }
                }
            }
            let target = copies.number(edge.target, next, &mut draft);
            draft.edges[at].push(Edge {
                guard: edge.guard,
                target,
                marks,
            });
        }
        at += 1;
    }
    draft
}

/// A state is accepting if it was entered over a marked edge. With `by_source`, a state
/// whose inner edges agree needs no copy: it is accepting or not by itself.
fn with_accepting_states(original: &Draft, by_source: bool) -> Draft {
    let components = Components::of_draft(original);
    let by_itself: Vec<Option<bool>> = original
        .states()
        .map(|state| {
            let mut inner = original.edges[state.index()]
                .iter()
                .filter(|edge| components.is_inner(state, edge.target))
                .map(|edge| edge.marks.has(0));
            match inner.next() {
                None => Some(false),
                Some(first) => (by_source && inner.all(|other| other == first)).then_some(first),
            }
        })
        .collect();
    let flag = |state: StateId, arrived_by_mark: bool| match by_itself[state.index()] {
        Some(own) => own || arrived_by_mark,
        None => arrived_by_mark,
    };
    // How a run enters a component does not matter: it takes the copy that is there anyway.
    let mut marked_inside = vec![false; original.edges.len()];
    for state in original
        .states()
        .filter(|state| by_itself[state.index()].is_none())
    {
        for edge in &original.edges[state.index()] {
            marked_inside[edge.target.index()] |=
                components.is_inner(state, edge.target) && edge.marks.has(0);
        }
    }
    let entered = |state: StateId| flag(state, marked_inside[state.index()]);
    let mut draft = Draft::new(original.propositions.clone(), 1);
    draft.guards = original.guards.clone();
    let start = original.initial;
    let mut copies: Copies<bool> = Copies::new(start, entered(start));
    let mut at = 0;
    while at < copies.todo.len() {
        let (state, accepting) = copies.todo[at];
        for edge in &original.edges[state.index()] {
            let extra = if components.is_inner(state, edge.target) {
                let by_mark = by_itself[state.index()].is_none() && edge.marks.has(0);
                flag(edge.target, by_mark)
            } else {
                entered(edge.target)
            };
            let target = copies.number(edge.target, extra, &mut draft);
            let marks = Marks(u32::from(accepting));
            draft.edges[at].push(Edge {
                guard: edge.guard,
                target,
                marks,
            });
        }
        at += 1;
    }
    draft
}
