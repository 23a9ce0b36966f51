//! Quotients by bisimulation and by direct simulation, forwards and backwards.
//!
//! State `q` is simulated by `r` if every edge of `q` is matched, letter by letter, by
//! an edge of `r` with at least the same marks to a state that simulates the target.
//! States that simulate each other are merged, and an edge that another edge of the
//! same state matches is removed. Backwards the same is done with incoming edges.
//! (Etessami and Holzmann 2000; Somenzi and Bloem 2000; in this form Babiak, Badie,
//! Duret-Lutz, Křetínský, Strejček, "Compositional approach to suspension and other
//! improvements to LTL translation", 2013.)
//!
//! The relation is computed by refinement of *signatures*. A signature is a guard over
//! the propositions and helper variables: an edge becomes the conjunction of its guard,
//! one variable per missing mark, and one variable per class that simulates its target.
//! More variables make a smaller function, so "is simulated by" is implication.

use rapidhash::RapidHashMap;

use crate::automaton::{Draft, Edge, Marks, StateId};
use crate::guard::{Guard, Variable};

/// Above this many states only bisimulation is tried: the relation is quadratic.
const MAX_SIMULATED: usize = 600;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// A class of states that simulate each other.
type Class = usize;

struct Relation {
    class: Vec<Class>,
    /// `above[c][d]`: class `d` simulates class `c`.
    above: Vec<Vec<bool>>,
}

impl Draft {
    /// Merges states with the same edges to merged states.
    pub fn quotient_by_bisimulation(&mut self) {
        let mut class: Vec<Class> = vec![0; self.edges.len()];
        let mut count = 1;
        loop {
            let mut numbers: RapidHashMap<Vec<(Class, Marks, Guard)>, Class> =
                RapidHashMap::default();
            let mut refined = Vec::with_capacity(class.len());
            for edges in &self.edges {
                let mut signature: Vec<(Class, Marks, Guard)> = edges
                    .iter()
                    .map(|e| (class[e.target.index()], e.marks, e.guard))
                    .collect();
                signature.sort_unstable();
                let mut merged: Vec<(Class, Marks, Guard)> = Vec::new();
                for (target, marks, guard) in signature {
                    match merged.last_mut() {
                        Some(last) if (last.0, last.1) == (target, marks) => {
                            last.2 = self.guards.or(last.2, guard);
                        }
                        _ => merged.push((target, marks, guard)),
                    }
                }
                let fresh = numbers.len();
                refined.push(*numbers.entry(merged).or_insert(fresh));
            }
            if self.guards.overflowed() {
                return;
            }
            class = refined;
            if numbers.len() == count {
                break;
            }
            count = numbers.len();
        }
        if count == self.edges.len() {
            return;
        }
        let mut edges: Vec<Option<Vec<Edge>>> = vec![None; count];
        for (state, own) in self.edges.iter().enumerate() {
            edges[class[state]].get_or_insert_with(|| {
                own.iter()
                    .map(|e| Edge {
                        target: StateId(class[e.target.index()] as u32),
                        ..*e
                    })
                    .collect()
            });
        }
        self.edges = edges.into_iter().flatten().collect();
        self.initial = StateId(class[self.initial.index()] as u32);
        self.merge_edges();
    }

    /// Merges states that simulate each other and drops edges that others match.
    pub fn quotient_by_simulation(&mut self) {
        if self.edges.len() > MAX_SIMULATED {
            return;
        }
        let relation = self.relation(Direction::Forwards);
        let mut edges: Vec<Option<Vec<Edge>>> = vec![None; relation.above.len()];
        for state in self.states() {
            let own = &mut edges[relation.class[state.index()]];
            if own.is_none() {
                let list = self.edges[state.index()].clone();
                *own = Some(self.without_matched(list, &relation, |edge| edge.target.index()));
            }
        }
        let class_of = |state: StateId| StateId(relation.class[state.index()] as u32);
        self.edges = edges.into_iter().flatten().collect();
        for edge in self.edges.iter_mut().flatten() {
            edge.target = class_of(edge.target);
        }
        self.initial = class_of(self.initial);
        self.merge_edges();
        self.compact();
    }

    /// The same with incoming edges: states that can be reached in the same ways are merged.
    pub fn quotient_by_reverse_simulation(&mut self) {
        if self.edges.len() > MAX_SIMULATED {
            return;
        }
        let relation = self.relation(Direction::Backwards);
        let incoming = self.incoming();
        let mut seen = vec![false; relation.above.len()];
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); relation.above.len()];
        for state in self.states() {
            let class = relation.class[state.index()];
            if std::mem::replace(&mut seen[class], true) {
                continue;
            }
            let list = incoming[state.index()].clone();
            for edge in self.without_matched(list, &relation, |edge| edge.target.index()) {
                let source = relation.class[edge.target.index()];
                edges[source].push(Edge {
                    target: StateId(class as u32),
                    ..edge
                });
            }
        }
        self.initial = StateId(relation.class[self.initial.index()] as u32);
        self.edges = edges;
        self.merge_edges();
        self.compact();
    }

    /// The edges turned round: `incoming()[q]` has the sources of edges to `q` as targets.
    fn incoming(&self) -> Vec<Vec<Edge>> {
        let mut incoming: Vec<Vec<Edge>> = vec![Vec::new(); self.edges.len()];
        for (source, edges) in self.edges.iter().enumerate() {
            for edge in edges {
                let turned = Edge {
                    target: StateId(source as u32),
                    ..*edge
                };
                incoming[edge.target.index()].push(turned);
            }
        }
        incoming
    }

    /// Takes from each edge the letters on which another one has at least its marks and
    /// leads at least as high.
    fn without_matched(
        &mut self,
        mut edges: Vec<Edge>,
        relation: &Relation,
        end: impl Fn(&Edge) -> usize,
    ) -> Vec<Edge> {
        let class: Vec<Class> = edges.iter().map(|edge| relation.class[end(edge)]).collect();
        for i in 0..edges.len() {
            for j in 0..edges.len() {
                let same = class[i] == class[j] && edges[i].marks == edges[j].marks;
                if same || edges[i].guard.is_false() || edges[j].guard.is_false() {
                    continue;
                }
                if edges[j].marks.contains(edges[i].marks) && relation.above[class[i]][class[j]] {
                    let rest = self.guards.minus(edges[i].guard, edges[j].guard);
                    if !self.guards.overflowed() {
                        edges[i].guard = rest;
                    }
                }
            }
        }
        edges.retain(|edge| !edge.guard.is_false());
        edges
    }

    /// The greatest direct simulation.
    fn relation(&mut self, direction: Direction) -> Relation {
        let edges = match direction {
            Direction::Forwards => self.edges.clone(),
            Direction::Backwards => self.incoming(),
        };
        let count = edges.len();
        let first_mark = self.propositions.len() as Variable;
        let initial_variable = first_mark + Marks::MAX_SETS;
        let first_class = initial_variable + 1;
        // Guard and missing marks of every edge, once and for all.
        let mut fixed: Vec<Vec<(Guard, usize)>> = Vec::with_capacity(count);
        for own in &edges {
            let mut list = Vec::with_capacity(own.len());
            for edge in own {
                let mut guard = edge.guard;
                for set in (0..self.acceptance_sets).filter(|set| !edge.marks.has(*set)) {
                    let missing = self.guards.variable(first_mark + set);
                    guard = self.guards.and(guard, missing);
                }
                list.push((guard, edge.target.index()));
            }
            fixed.push(list);
        }
        let mut relation = Relation {
            class: vec![0; count],
            above: vec![vec![true]],
        };
        let mut pairs = 1;
        loop {
            let ends: Vec<Guard> = (0..relation.above.len())
                .map(|class| self.class_guard(&relation.above[class], first_class))
                .collect();
            let mut numbers: RapidHashMap<Guard, Class> = RapidHashMap::default();
            let mut signatures: Vec<Guard> = Vec::new();
            let mut previous: Vec<Class> = Vec::new();
            let mut class = Vec::with_capacity(count);
            for (state, own) in fixed.iter().enumerate() {
                let mut signature = Guard::FALSE;
                if direction == Direction::Backwards && state == self.initial.index() {
                    signature = self.guards.variable(initial_variable);
                }
                for (guard, end) in own {
                    let term = self.guards.and(*guard, ends[relation.class[*end]]);
                    signature = self.guards.or(signature, term);
                }
                let fresh = numbers.len();
                let number = *numbers.entry(signature).or_insert(fresh);
                if number == fresh {
                    signatures.push(signature);
                    previous.push(relation.class[state]);
                }
                class.push(number);
            }
            let classes = signatures.len();
            let mut above = vec![vec![false; classes]; classes];
            let mut related = 0;
            for low in 0..classes {
                for high in 0..classes {
                    above[low][high] = relation.above[previous[low]][previous[high]]
                        && self.guards.implies(signatures[low], signatures[high]);
                    related += usize::from(above[low][high]);
                }
            }
            let stable = classes == relation.above.len() && related == pairs;
            relation = Relation { class, above };
            pairs = related;
            if stable || self.guards.overflowed() {
                break;
            }
        }
        if self.guards.overflowed() {
            // No room for the computation: relate every state to itself only.
            let above = (0..count)
                .map(|i| (0..count).map(|j| i == j).collect())
                .collect();
            self.compact();
            return Relation {
                class: (0..count).collect(),
                above,
            };
        }
        relation
    }

    fn class_guard(&mut self, above: &[bool], first_class: Variable) -> Guard {
        let mut guard = Guard::TRUE;
        for class in (0..above.len()).rev().filter(|class| above[*class]) {
            let variable = self.guards.variable(first_class + class as Variable);
            guard = self.guards.and(variable, guard);
        }
        guard
    }
}
