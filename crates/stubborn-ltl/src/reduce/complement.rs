//! Complements.
//!
//! Deterministic automata: guess which mark stops coming, and when. Others: the slice
//! construction (Vardi and Wilke, "Automata: from logics to algorithms", 2008; Kähler
//! and Wilke, "Complementation, disambiguation, and determinization of Büchi automata
//! unified", 2008). A word is rejected if in the tree of its runs, where successors over
//! marked edges go left and duplicates are cut, no branch goes left infinitely often.
//! So: follow the levels of the tree, guess a moment after which no infinite branch
//! goes left any more, and check that whatever goes left afterwards dies out.

use std::collections::BTreeMap;

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::guard::Guard;

/// An automaton of the words that `automaton` does not accept, or `None` if it would
/// need more than `limit` states before reduction.
pub fn complement(automaton: &Automaton, limit: usize) -> Option<Automaton> {
    let mut draft = if automaton.is_deterministic() {
        complement_deterministic(automaton)
    } else {
        Slices::new(&automaton.degeneralise(), limit).build()?
    };
    if draft.guards.overflowed() {
        return None;
    }
    draft.reduce();
    Some(draft.finish())
}

/// Adds a state that nothing accepts from, for the letters that have no edge, and at
/// least one acceptance set.
fn complete(automaton: &Automaton) -> Draft {
    let mut draft = automaton.draft();
    if draft.acceptance_sets == 0 {
        draft.acceptance_sets = 1;
        draft
            .edges
            .iter_mut()
            .flatten()
            .for_each(|edge| edge.marks = Marks(1));
    }
    let sink = draft.add_state();
    for state in draft.states() {
        let mut covered = Guard::FALSE;
        for edge in &draft.edges[state.index()] {
            covered = draft.guards.or(covered, edge.guard);
        }
        let guard = draft.guards.not(covered);
        if !guard.is_false() {
            draft.edges[state.index()].push(Edge {
                guard,
                target: sink,
                marks: Marks::NONE,
            });
        }
    }
    draft
}

fn complement_deterministic(automaton: &Automaton) -> Draft {
    let original = complete(automaton);
    let size = original.edges.len();
    let copy_of = |state: StateId, copy: usize| StateId((copy * size) as u32 + state.0);
    let mut draft = original.clone();
    draft.acceptance_sets = 1;
    draft
        .edges
        .iter_mut()
        .flatten()
        .for_each(|edge| edge.marks = Marks::NONE);
    for set in 0..original.acceptance_sets {
        let copy = set as usize + 1;
        for state in original.states() {
            let avoiding: Vec<Edge> = original.edges[state.index()]
                .iter()
                .filter(|edge| !edge.marks.has(set))
                .map(|edge| Edge {
                    target: copy_of(edge.target, copy),
                    marks: Marks(1),
                    ..*edge
                })
                .collect();
            draft.edges[state.index()].extend_from_slice(&avoiding);
            draft.edges.push(avoiding);
        }
    }
    draft
}

/// What is known of a slice after the guess.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fate {
    /// May live on, to the right.
    Lives,
    /// Must die out before the next mark.
    Dies,
    /// Went left since the last mark: must die out after it.
    WillDie,
}

/// A level of the tree, from left to right; fates only after the guess.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Level {
    slices: Vec<(Vec<StateId>, Fate)>,
    guessed: bool,
}

struct Slices<'a> {
    automaton: &'a Automaton,
    draft: Draft,
    limit: usize,
    numbers: RapidHashMap<Level, StateId>,
    levels: Vec<Level>,
}

impl<'a> Slices<'a> {
    /// `automaton` has one acceptance set at most.
    fn new(automaton: &'a Automaton, limit: usize) -> Self {
        let mut draft = Draft::new(automaton.propositions().to_vec(), 1);
        draft.guards = automaton.guards().clone();
        let first = Level {
            slices: vec![(vec![automaton.initial()], Fate::Lives)],
            guessed: false,
        };
        let mut numbers = RapidHashMap::default();
        numbers.insert(first.clone(), StateId(0));
        Self {
            automaton,
            draft,
            limit,
            numbers,
            levels: vec![first],
        }
    }

    fn number(&mut self, level: Level) -> StateId {
        if let Some(known) = self.numbers.get(&level) {
            return *known;
        }
        let fresh = self.draft.add_state();
        self.numbers.insert(level.clone(), fresh);
        self.levels.push(level);
        fresh
    }

    fn build(mut self) -> Option<Draft> {
        let mut at = 0;
        while at < self.levels.len() {
            let level = self.levels[at].clone();
            for letters in self.letter_classes(&level)? {
                let (next, mark) = self.step(&level, letters);
                if !level.guessed {
                    let guess = Level {
                        guessed: true,
                        ..next.clone()
                    };
                    self.connect(at, letters, guess, Marks::NONE);
                }
                self.connect(at, letters, next, mark);
            }
            at += 1;
            if self.levels.len() > self.limit || self.draft.guards.overflowed() {
                return None;
            }
        }
        Some(self.draft)
    }

    fn connect(&mut self, source: usize, guard: Guard, level: Level, marks: Marks) {
        let target = self.number(level);
        self.draft.edges[source].push(Edge {
            guard,
            target,
            marks,
        });
    }

    /// A partition of all letters such that no edge of the level's states splits a part.
    fn letter_classes(&mut self, level: &Level) -> Option<Vec<Guard>> {
        let guards: BTreeMap<Guard, ()> = level
            .slices
            .iter()
            .flat_map(|(states, _)| states)
            .flat_map(|state| self.automaton.edges(*state))
            .map(|edge| (edge.guard, ()))
            .collect();
        let mut classes = vec![Guard::TRUE];
        for guard in guards.into_keys() {
            let mut split = Vec::with_capacity(classes.len());
            for class in classes {
                let inside = self.draft.guards.and(class, guard);
                let outside = self.draft.guards.minus(class, guard);
                split.extend(
                    [inside, outside]
                        .into_iter()
                        .filter(|part| !part.is_false()),
                );
            }
            classes = split;
            if classes.len() > self.limit {
                return None;
            }
        }
        Some(classes)
    }

    fn step(&mut self, level: &Level, letters: Guard) -> (Level, Marks) {
        let every_edge_is_marked = self.automaton.acceptance_sets() == 0;
        let mut seen = vec![false; self.automaton.state_count()];
        let mut slices: Vec<(Vec<StateId>, Fate)> = Vec::new();
        for (states, fate) in &level.slices {
            for left in [true, false] {
                let mut targets: Vec<StateId> = Vec::new();
                for edge in states.iter().flat_map(|state| self.automaton.edges(*state)) {
                    let marked = every_edge_is_marked || edge.marks.has(0);
                    if marked == left
                        && !seen[edge.target.index()]
                        && self.draft.guards.implies(letters, edge.guard)
                    {
                        seen[edge.target.index()] = true;
                        targets.push(edge.target);
                    }
                }
                let fate = match (level.guessed, left, fate) {
                    (true, true, Fate::Lives) => Fate::WillDie,
                    _ => *fate,
                };
                if !targets.is_empty() {
                    targets.sort_unstable();
                    slices.push((targets, fate));
                }
            }
        }
        if !level.guessed {
            return (
                Level {
                    slices,
                    guessed: false,
                },
                Marks::NONE,
            );
        }
        let mark = slices.iter().all(|(_, fate)| *fate != Fate::Dies);
        if mark {
            for (_, fate) in slices.iter_mut().filter(|(_, fate)| *fate == Fate::WillDie) {
                *fate = Fate::Dies;
            }
        }
        // Among neighbours that must all die the order does not matter.
        let mut joined: Vec<(Vec<StateId>, Fate)> = Vec::with_capacity(slices.len());
        for (states, fate) in slices {
            match joined.last_mut() {
                Some((others, same)) if *same == fate && fate != Fate::Lives => {
                    others.extend(states);
                    others.sort_unstable();
                }
                _ => joined.push((states, fate)),
            }
        }
        (
            Level {
                slices: joined,
                guessed: true,
            },
            Marks(u32::from(mark)),
        )
    }
}
