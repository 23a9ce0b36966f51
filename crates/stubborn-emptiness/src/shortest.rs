//! Lassos that are as short as can be afforded.
//!
//! The run that an emptiness check stumbles upon is rarely the one to look at. So the product is
//! searched again, breadth first, with all its edges, and kept as a graph: every lasso of `n` steps
//! lies within distance `n - 1` of the start, so that a graph that is complete up to there has the
//! shortest one. In an accepting component of the graph, the shortest closed walk through a node
//! that collects all marks is found by a breadth-first search over nodes with the marks collected
//! so far; nodes near the start come first, and none is tried that is too far away to be
//! part of a better lasso than the best one known (in the manner of Hansen, Kervinen, *Minimal counterexamples in
//! O(n log n) memory and O(n²) time*, 2006, and Gastin, Moro, *Minimal counterexample generation for
//! SPIN*, 2007).
//!
//! The graph grows in steps, and the search ends with the first lasso that cannot be beaten, or when
//! a number of nodes and edges was looked at (not a time: the same model has the same
//! counterexample on every machine). What is measured are steps of the system: where it stands
//! still for ever, moves of the automaton cost nothing. (The shortest lasso of the product is not
//! always that of the system: an automaton may need a step to enter its own cycle. Automata without
//! such delays would be exponentially larger: Schuppan, Biere, *Shortest counterexamples for symbolic
//! model checking of LTL with past*, 2005.)

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rapidhash::RapidHashMap;
use stubborn_graph::{NOWHERE, components};
use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use crate::lasso::NodeLasso;
use crate::product::Product;
use crate::space::{Counts, Edge, Node, Space};

/// Nodes of the first graph.
const FIRST_GRAPH: usize = 1 << 10;
/// The next one has so many times more.
const GROWTH: usize = 8;
/// Edges that may be followed in search of closed walks, for each edge of a graph...
const WALKED_PER_EDGE: usize = 64;
/// ... and at most.
const MOST_WALKED: usize = 8 << 20;

/// How long a lasso is; less is better. (Of two that are as long, a short cycle is easier to
/// understand.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    /// Steps of the system up to where the cycle closes.
    pub(crate) steps: usize,
    /// Of these, steps on the cycle.
    pub(crate) cycle: usize,
}

impl Length {
    /// Longer than any lasso.
    pub(crate) const UNKNOWN: Self = Self {
        steps: usize::MAX,
        cycle: usize::MAX,
    };
}

/// Which nodes are looked at, by what is [known](crate::space::known) of them.
pub(crate) type Admits<'a> = &'a dyn Fn(Node, u32) -> bool;

/// A lasso that collects all marks and is shorter than `known`, if there is one among the first
/// `nodes` nodes that are admitted; the shortest of these as far as there is time to look.
pub(crate) fn shorter(
    product: &mut Product<'_>,
    all: Marks,
    known: Length,
    nodes: usize,
    admits: Admits<'_>,
) -> Option<NodeLasso> {
    let mut graph = Graph::default();
    let mut starts = Vec::new();
    product.initial(&mut starts).ok()?;
    for start in starts {
        if admits(start, product.flags(start).into()) {
            graph.reach(start, 0, NOWHERE, false);
        }
    }
    let (mut best, mut lasso) = (known, None);
    let mut size = FIRST_GRAPH;
    loop {
        let radius = graph.grow(product, size.min(nodes), best.steps, admits);
        let Ok(radius) = radius else { return lasso };
        let Ok(found) = graph.lasso_below(product, all, best) else {
            return lasso;
        };
        if let Some((length, found)) = found {
            (best, lasso) = (length, Some(found));
        }
        if best.steps <= radius + 1 || size >= nodes {
            return lasso;
        }
        size *= GROWTH;
    }
}

/// A part of the product around its start.
#[derive(Default)]
struct Graph {
    number: RapidHashMap<Node, u32>,
    nodes: Vec<Vertex>,
    edges: Vec<(u32, Marks)>,
    /// Nodes without their edges yet, by distance.
    queue: VecDeque<u32>,
    counts: Counts,
}

struct Vertex {
    node: Node,
    /// From the start, in steps of the system.
    distance: u32,
    /// The node before, on a shortest way.
    parent: u32,
    /// The system has no step here: edges are those of the automaton alone.
    is_still: bool,
    /// Where its edges begin and end, if they are known.
    edges: Option<(u32, u32)>,
}

impl Graph {
    /// Notes a way to a node. Returns its number.
    fn reach(&mut self, node: Node, distance: u32, parent: u32, stands_still: bool) -> u32 {
        let number = match self.number.entry(node) {
            Entry::Vacant(place) => {
                let number = *place.insert(self.nodes.len() as u32);
                self.nodes.push(Vertex {
                    node,
                    distance,
                    parent,
                    is_still: false,
                    edges: None,
                });
                number
            }
            Entry::Occupied(known) => {
                let number = *known.get();
                let vertex = &mut self.nodes[number as usize];
                if vertex.edges.is_some() || vertex.distance <= distance {
                    return number;
                }
                (vertex.distance, vertex.parent) = (distance, parent);
                number
            }
        };
        match stands_still {
            true => self.queue.push_front(number),
            false => self.queue.push_back(number),
        }
        number
    }

    /// Computes edges until `size` nodes have theirs, or all that lassos of up to `steps` steps
    /// can visit. Returns a distance below which all nodes have.
    fn grow(
        &mut self,
        product: &mut Product<'_>,
        size: usize,
        steps: usize,
        admits: Admits<'_>,
    ) -> Result<usize, Limit> {
        let mut found: Vec<Edge> = Vec::new();
        while let Some(number) = self.queue.front().copied() {
            let vertex = &self.nodes[number as usize];
            let (node, distance) = (vertex.node, vertex.distance);
            if vertex.edges.is_some() {
                self.queue.pop_front();
                continue;
            }
            if self.counts.states >= size as u64 || distance as usize >= steps {
                return Ok(distance as usize);
            }
            self.queue.pop_front();
            self.counts.states += 1;
            product.go_on(self.bytes(), &self.counts)?;
            found.clear();
            product.all_edges(node, &mut found)?;
            let is_still = product.stands_still();
            let first = self.edges.len() as u32;
            self.nodes[number as usize].is_still = is_still;
            // Before its edges are followed: one may lead back to it.
            self.nodes[number as usize].edges = Some((first, first));
            for edge in found.iter().filter(|edge| admits(edge.to, edge.known())) {
                let to = self.reach(edge.to, distance + u32::from(!is_still), number, is_still);
                self.edges.push((to, edge.marks));
            }
            self.nodes[number as usize].edges = Some((first, self.edges.len() as u32));
        }
        Ok(usize::MAX - 1)
    }

    fn bytes(&self) -> usize {
        let map = self.number.capacity() * (size_of::<(Node, u32)>() + 1);
        map + self.nodes.capacity() * size_of::<Vertex>()
            + self.edges.capacity() * size_of::<(u32, Marks)>()
    }

    fn edges_of(&self, number: u32) -> &[(u32, Marks)] {
        let (first, last) = self.nodes[number as usize].edges.unwrap_or_default();
        &self.edges[first as usize..last as usize]
    }

    /// The shortest lasso with all marks that is shorter than `best`, as far as it pays to look.
    fn lasso_below(
        &self,
        product: &mut Product<'_>,
        all: Marks,
        mut best: Length,
    ) -> Result<Option<(Length, NodeLasso)>, Limit> {
        let count = self.nodes.len();
        let target = |node: u32, edge: usize| self.edges_of(node).get(edge).map(|e| e.0);
        let (component, components) = components(count, 0..count as u32, target);
        let mut has_cycle = vec![false; components as usize];
        let mut marks = vec![Marks::NONE; components as usize];
        for number in 0..count as u32 {
            let own = component[number as usize] as usize;
            for (to, on_edge) in self.edges_of(number) {
                if component[*to as usize] as usize == own {
                    has_cycle[own] = true;
                    marks[own] = marks[own].union(*on_edge);
                }
            }
        }
        let is_accepting = |number: &u32| {
            let own = component[*number as usize] as usize;
            has_cycle[own] && marks[own].contains(all)
        };
        let mut candidates: Vec<u32> = (0..count as u32).filter(is_accepting).collect();
        candidates.sort_by_key(|number| self.nodes[*number as usize].distance);
        let mut found = None;
        let mut left = (self.edges.len() * WALKED_PER_EDGE).min(MOST_WALKED);
        for first in candidates {
            let vertex = &self.nodes[first as usize];
            let distance = vertex.distance as usize;
            if distance + usize::from(!vertex.is_still) > best.steps || left == 0 {
                break;
            }
            product.check_time()?;
            let inside = |number: u32| component[number as usize] == component[first as usize];
            let walk = self.closed_walk(first, all, best.steps - distance, inside, &mut left);
            let Some(walk) = walk else {
                continue;
            };
            let cycle = if vertex.is_still { 0 } else { walk.len() };
            let length = Length {
                steps: distance + cycle,
                cycle,
            };
            if length < best {
                best = length;
                found = Some((length, self.way_to(first), walk));
            }
        }
        Ok(found.map(|(length, stem, cycle)| {
            let nodes = |numbers: Vec<u32>| {
                let nodes = numbers.into_iter().map(|n| self.nodes[n as usize].node);
                nodes.collect()
            };
            (length, NodeLasso::new(nodes(stem), nodes(cycle)))
        }))
    }

    /// The nodes of a shortest closed walk from `first` with all marks, not longer than `longest`
    /// steps of the system, without `first` at its end.
    fn closed_walk(
        &self,
        first: u32,
        all: Marks,
        longest: usize,
        inside: impl Fn(u32) -> bool,
        left: &mut usize,
    ) -> Option<Vec<u32>> {
        // Node, marks so far, number of the entry before, length.
        let mut entries = vec![(first, Marks::NONE, usize::MAX, 0_usize)];
        let mut seen: RapidHashMap<(u32, u32), ()> = RapidHashMap::default();
        let mut at = 0;
        while let Some((node, marks, _, length)) = entries.get(at).copied() {
            if length >= longest && !self.nodes[node as usize].is_still {
                return None;
            }
            for (to, on_edge) in self.edges_of(node) {
                *left = left.checked_sub(1)?;
                if !inside(*to) {
                    continue;
                }
                let collected = Marks(marks.union(*on_edge).0 & all.0);
                if *to == first && collected == all {
                    let mut walk = vec![node];
                    let mut entry = entries[at].2;
                    while let Some((node, _, before, _)) = entries.get(entry) {
                        walk.push(*node);
                        entry = *before;
                    }
                    walk.reverse();
                    return Some(walk);
                }
                if seen.insert((*to, collected.0), ()).is_none() {
                    entries.push((*to, collected, at, length + 1));
                }
            }
            at += 1;
        }
        None
    }

    /// The nodes of a shortest way to a node, without it.
    fn way_to(&self, number: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut parent = self.nodes[number as usize].parent;
        while parent != NOWHERE {
            way.push(parent);
            parent = self.nodes[parent as usize].parent;
        }
        way.reverse();
        way
    }
}
