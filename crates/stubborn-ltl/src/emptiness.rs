//! Emptiness of explicit automata and of products of two, with witnesses.
//!
//! By strongly connected components; no degeneralisation. This is for automata that
//! are already in memory: tests, comparison of languages, stutter invariance. Products
//! with systems are another matter.

use std::collections::VecDeque;

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::guard::{Guard, Guards};
use crate::lasso::{Lasso, Letter};
use crate::product::joint_propositions;
use stubborn_graph::components;

struct GraphEdge {
    guard: Guard,
    target: u32,
    marks: u64,
}

/// Products larger than this are not searched.
const MAX_NODES: usize = 2_000_000;
const MAX_EDGES: usize = 16_000_000;

/// A graph with marks of one or two automata, all of it reachable from node 0.
struct Graph {
    edges: Vec<Vec<GraphEdge>>,
    all: u64,
}

impl Graph {
    fn of_product(
        left: &Automaton,
        right: &Automaton,
        guards: &mut Guards,
        rename: &[u32],
    ) -> Option<Self> {
        let mut memo = [RapidHashMap::default(), RapidHashMap::default()];
        let mut numbers: RapidHashMap<(StateId, StateId), u32> = RapidHashMap::default();
        let mut todo = vec![(left.initial(), right.initial())];
        numbers.insert(todo[0], 0);
        let mut edges: Vec<Vec<GraphEdge>> = Vec::new();
        let (mut at, mut edge_count) = (0, 0);
        while at < todo.len() {
            let (l, r) = todo[at];
            at += 1;
            let mut own = Vec::new();
            for a in left.edges(l) {
                let a_guard = guards.import_with(left.guards(), a.guard, &[], &mut memo[0]);
                for b in right.edges(r) {
                    let b_guard = guards.import_with(right.guards(), b.guard, rename, &mut memo[1]);
                    let guard = guards.and(a_guard, b_guard);
                    if guard.is_false() {
                        continue;
                    }
                    let pair = (a.target, b.target);
                    let target = *numbers.entry(pair).or_insert_with(|| {
                        todo.push(pair);
                        todo.len() as u32 - 1
                    });
                    let marks =
                        u64::from(a.marks.0) | u64::from(b.marks.0) << left.acceptance_sets();
                    own.push(GraphEdge {
                        guard,
                        target,
                        marks,
                    });
                }
            }
            edge_count += own.len();
            edges.push(own);
            if todo.len() > MAX_NODES || edge_count > MAX_EDGES || guards.overflowed() {
                return None;
            }
        }
        let all = u64::from(left.all_marks().0)
            | u64::from(right.all_marks().0) << left.acceptance_sets();
        Some(Self { edges, all })
    }

    /// A node of an accepting component, with the component of every node.
    fn accepting_node(&self) -> Option<(u32, Vec<u32>)> {
        let target = |node: u32, i: usize| self.edges[node as usize].get(i).map(|e| e.target);
        let (component, count) = components(self.edges.len(), [0], target);
        let mut marks: Vec<Option<u64>> = vec![None; count as usize];
        for (source, edges) in self.edges.iter().enumerate() {
            for edge in edges
                .iter()
                .filter(|e| component[e.target as usize] == component[source])
            {
                let known = &mut marks[component[source] as usize];
                *known = Some(known.unwrap_or(0) | edge.marks);
            }
        }
        let node = (0..self.edges.len()).find(|node| {
            marks[component[*node] as usize].is_some_and(|m| m & self.all == self.all)
        })?;
        Some((node as u32, component))
    }

    /// A shortest non-empty path from `from` along edges that `allowed` accepts, whose
    /// last edge satisfies `last`; the guards on it and where it ends.
    fn path(
        &self,
        from: u32,
        allowed: impl Fn(u32, &GraphEdge) -> bool,
        last: impl Fn(&GraphEdge) -> bool,
    ) -> Option<(Vec<Guard>, u32, u64)> {
        let mut parent: RapidHashMap<u32, (u32, usize)> = RapidHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for (i, edge) in self.edges[node as usize].iter().enumerate() {
                if !allowed(node, edge) {
                    continue;
                }
                if last(edge) {
                    let mut guards = vec![edge.guard];
                    let mut marks = edge.marks;
                    let mut at = node;
                    while at != from {
                        let (before, index) = parent[&at];
                        let step = &self.edges[before as usize][index];
                        guards.push(step.guard);
                        marks |= step.marks;
                        at = before;
                    }
                    guards.reverse();
                    return Some((guards, edge.target, marks));
                }
                if edge.target != from && !parent.contains_key(&edge.target) {
                    parent.insert(edge.target, (node, i));
                    queue.push_back(edge.target);
                }
            }
        }
        None
    }

    fn lasso(&self, guards: &Guards, propositions: usize) -> Option<Lasso> {
        let (goal, component) = self.accepting_node()?;
        let home = component[goal as usize];
        let stem = if goal == 0 {
            Vec::new()
        } else {
            self.path(0, |_, _| true, |edge| edge.target == goal)?.0
        };
        let inside = |node: u32, edge: &GraphEdge| {
            component[node as usize] == home && component[edge.target as usize] == home
        };
        let mut cycle = Vec::new();
        let (mut at, mut missing) = (goal, self.all);
        while missing != 0 {
            let (guards, end, marks) = self.path(at, inside, |e| e.marks & missing != 0)?;
            cycle.extend(guards);
            at = end;
            missing &= !marks;
        }
        if at != goal || cycle.is_empty() {
            cycle.extend(self.path(at, inside, |edge| edge.target == goal)?.0);
        }
        let letters = |path: Vec<Guard>| {
            path.into_iter()
                .map(|guard| some_letter(guards, guard, propositions))
                .collect()
        };
        Some(Lasso {
            stem: letters(stem),
            cycle: letters(cycle),
        })
    }
}

/// A letter on which the guard holds; propositions it does not ask for are false.
pub(crate) fn some_letter(guards: &Guards, guard: Guard, propositions: usize) -> Letter {
    let mut letter = vec![0u64; propositions.div_ceil(64)];
    for (variable, value) in guards.some_cube(guard).unwrap_or_default() {
        if value {
            letter[variable as usize / 64] |= 1 << (variable % 64);
        }
    }
    letter
}

/// An automaton over no propositions that accepts everything.
fn everything() -> Automaton {
    let mut draft = Draft::new(Vec::new(), 0);
    draft.edges[0].push(Edge {
        guard: Guard::TRUE,
        target: StateId(0),
        marks: Marks::NONE,
    });
    draft.finish()
}

impl Automaton {
    /// A word that the automaton accepts, if there is any.
    pub fn accepted_lasso(&self) -> Option<Lasso> {
        self.common_lasso(&everything()).map(|(lasso, _)| lasso)
    }

    /// Whether no word is accepted; the remark at [`Automaton::is_disjoint`] applies.
    pub fn is_empty_language(&self) -> bool {
        self.is_disjoint(&everything())
    }

    /// A word that both accept, if one is found, and the names of its propositions: those of `self`, then
    /// those only `other` has. Propositions are matched by name.
    pub fn common_lasso(&self, other: &Automaton) -> Option<(Lasso, Vec<String>)> {
        let (names, rename) = joint_propositions(self, other);
        let mut guards = Guards::new();
        let graph = Graph::of_product(self, other, &mut guards, &rename)?;
        Some((graph.lasso(&guards, names.len())?, names))
    }

    /// Whether no word is accepted by both. Propositions are matched by name. True is
    /// certain; false can also mean that the product is too large to search.
    pub fn is_disjoint(&self, other: &Automaton) -> bool {
        let (_, rename) = joint_propositions(self, other);
        let mut guards = Guards::new();
        Graph::of_product(self, other, &mut guards, &rename)
            .is_some_and(|graph| graph.accepting_node().is_none())
    }

    /// Whether the automaton accepts the word; bit `i` of a letter is the `i`-th
    /// proposition of the automaton.
    pub fn accepts(&self, word: &Lasso) -> bool {
        self.accepts_from(&[self.initial()], word)
    }

    /// Whether the automaton accepts the word from one of these states.
    pub(crate) fn accepts_from(&self, starts: &[StateId], word: &Lasso) -> bool {
        if word.is_empty() {
            return false;
        }
        let length = word.len();
        let number = |state: StateId, position: usize| (state.index() * length + position) as u32;
        let count = self.state_count() * length;
        let mut edges: Vec<Vec<(u32, u64)>> = vec![Vec::new(); count];
        for state in self.states() {
            for position in 0..length {
                let next = word.next(position);
                edges[number(state, position) as usize] = self
                    .successors(state, word.letter(position))
                    .map(|e| (number(e.target, next), u64::from(e.marks.0)))
                    .collect();
            }
        }
        let roots = starts.iter().map(|state| number(*state, 0));
        let (component, components) = components(count, roots, |node, i| {
            edges[node as usize].get(i).map(|e| e.0)
        });
        let mut marks: Vec<Option<u64>> = vec![None; components as usize];
        for (source, own) in edges.iter().enumerate() {
            let home = component[source];
            if home == u32::MAX {
                continue;
            }
            for (_, seen) in own.iter().filter(|e| component[e.0 as usize] == home) {
                let known = &mut marks[home as usize];
                *known = Some(known.unwrap_or(0) | seen);
            }
        }
        let all = u64::from(self.all_marks().0);
        marks.iter().any(|m| m.is_some_and(|m| m & all == all))
    }
}
