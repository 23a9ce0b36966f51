//! Provisos that explore the reduced graph in an order of their own, before the walk.
//!
//! They decide which nodes to expand, and the walk that looks for accepting cycles afterwards
//! does as they say. All keep the edges in memory; they are for comparison.
//!
//! - `bfs-source`: breadth-first; a node with an edge to a node that was taken from the queue
//!   before is expanded (Bošnački, Holzmann, *Improving Spin's partial-order reduction for
//!   breadth-first search*, 2005).
//! - `bfs-dest`: the target of such an edge is put into the queue again, to be expanded, unless
//!   one of both is expanded (Evangelista, *Experimenting with stubborn sets on Petri nets*,
//!   2023, algorithm 3).
//! - `topological`: the reduced graph is built and taken apart from both ends; what remains is on
//!   or between cycles and is expanded; and so on (after Barnat, Brim, Ročkai, *Parallel partial
//!   order reduction with topological sort proviso*, 2010).
//! - `opt-wcp`: only nodes that are on a cycle of unexpanded nodes are expanded, one of each
//!   component of such nodes at a time (Evangelista, ibid., section 4.2, with components
//!   instead of "all successors or all predecessors are safe", which also takes what lies
//!   between two cycles).
//! - `opt-scp`: the same for the strong cycle proviso, which is what Clarke, Grumberg and Peled
//!   call C3: no transition is possible in a state of a cycle and taken in none of them. For each
//!   transition, nodes are looked for that ignore it and lie on a cycle of nodes none of which
//!   takes it; one of them is expanded (Evangelista, ibid., who counts a node as safe where the
//!   transition is disabled; that is right for strong sets only, and so is this).

use std::collections::VecDeque;

use rapidhash::RapidHashMap;
use stubborn_graph::components;
use stubborn_search::Limit;

use crate::proviso::Rule;
use crate::space::{Counts, Edge, Node, Space, flags};

/// A number of a node.
type Number = u32;

/// What was explored.
struct Graph<'s, S: Space> {
    space: &'s mut S,
    numbers: RapidHashMap<Node, Number>,
    nodes: Vec<Node>,
    targets: Vec<Vec<Number>>,
    /// All edges are there.
    full: Vec<bool>,
    /// Nodes that may be on a cycle of unexpanded nodes, for the optimal weak proviso.
    suspects: Vec<Number>,
    edges: Vec<Edge>,
    /// What is possible in each node, and whether it is taken; only if it matters.
    actions: Option<Vec<Vec<(u32, bool)>>>,
    bytes: usize,
}

/// Decides which nodes to expand, and flags them.
pub(crate) fn settle<S: Space>(space: &mut S, rule: Rule) -> Result<(), Limit> {
    let mut graph = Graph {
        space,
        numbers: RapidHashMap::default(),
        nodes: Vec::new(),
        targets: Vec::new(),
        full: Vec::new(),
        suspects: Vec::new(),
        edges: Vec::new(),
        actions: (rule == Rule::OptimalStrong).then(Vec::new),
        bytes: 0,
    };
    let mut initial = Vec::new();
    graph.space.initial(&mut initial)?;
    let mut starts: Vec<Number> = initial.iter().map(|node| graph.number(*node).0).collect();
    starts.dedup();
    match rule {
        Rule::BreadthSource => graph.breadth_source(starts),
        Rule::BreadthDestination => graph.breadth_destination(starts),
        _ => graph.in_rounds(starts, rule),
    }
}

impl<S: Space> Graph<'_, S> {
    /// The number of a node, and whether it is new.
    fn number(&mut self, node: Node) -> (Number, bool) {
        let next = self.nodes.len() as Number;
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
            self.targets.push(Vec::new());
            self.full.push(false);
            return (number, true);
        }
        (number, false)
    }

    /// Adds edges of a node: those that the reduction keeps, or those that it left out.
    /// Returns where the added ones begin in its list, and new nodes.
    fn add_edges(&mut self, number: Number, kept: bool) -> Result<(usize, Vec<Number>), Limit> {
        let at = number as usize;
        let node = self.nodes[at];
        self.edges.clear();
        let mut edges = std::mem::take(&mut self.edges);
        if kept {
            let count = self.nodes.len() as u64;
            let counts = Counts {
                // Spaces look at limits in the first of every few nodes.
                states: count / 64 * 64 + 1,
                ..Counts::default()
            };
            self.space.go_on(self.bytes, &counts)?;
            self.full[at] = !self.space.kept(node, &mut edges)?;
            if let (Some(actions), false) = (&mut self.actions, self.full[at]) {
                actions.resize_with(actions.len().max(at + 1), Vec::new);
                self.space.actions(node, &mut actions[at])?;
                self.bytes += actions[at].len() * size_of::<(u32, bool)>();
            }
        } else {
            self.space.rest(node, &mut edges)?;
            self.space.set_flags(node, flags::EXPANDED);
            self.full[at] = true;
        }
        self.bytes += edges.len() * size_of::<Number>() + 64;
        let first = self.targets[at].len();
        let mut new = Vec::new();
        for edge in edges.drain(..) {
            let (target, is_new) = self.number(edge.to);
            self.targets[at].push(target);
            if is_new {
                new.push(target);
            }
        }
        self.edges = edges;
        Ok((first, new))
    }

    fn breadth_source(&mut self, starts: Vec<Number>) -> Result<(), Limit> {
        let mut queue = VecDeque::from(starts);
        let mut closed: Vec<bool> = Vec::new();
        while let Some(number) = queue.pop_front() {
            closed.resize(self.nodes.len(), false);
            closed[number as usize] = true;
            queue.extend(self.add_edges(number, true)?.1);
            let mut targets = self.targets[number as usize].iter();
            let is_closed = |target: &Number| closed.get(*target as usize) == Some(&true);
            if !self.full[number as usize] && targets.any(is_closed) {
                queue.extend(self.add_edges(number, false)?.1);
            }
        }
        Ok(())
    }

    fn breadth_destination(&mut self, starts: Vec<Number>) -> Result<(), Limit> {
        let mut queue = VecDeque::from(starts);
        // New nodes are in the queue.
        let mut queued: Vec<bool> = Vec::new();
        let mut entered: Vec<bool> = Vec::new();
        while let Some(number) = queue.pop_front() {
            let at = number as usize;
            queued.resize(self.nodes.len(), true);
            entered.resize(self.nodes.len(), false);
            queued[at] = false;
            // A node that was taken before is in the queue to be expanded.
            let is_first = !std::mem::replace(&mut entered[at], true);
            if !is_first && self.full[at] {
                continue;
            }
            let (first, new) = self.add_edges(number, is_first)?;
            queue.extend(new);
            queued.resize(self.nodes.len(), true);
            for edge in first..self.targets[at].len() {
                let target = self.targets[at][edge] as usize;
                if !(self.full[at] || self.full[target] || queued[target]) {
                    queued[target] = true;
                    queue.push_back(target as Number);
                }
            }
        }
        Ok(())
    }

    fn in_rounds(&mut self, mut todo: Vec<Number>, rule: Rule) -> Result<(), Limit> {
        // Nodes that were there in the round before.
        let mut known = 0;
        loop {
            while let Some(number) = todo.pop() {
                todo.extend(self.add_edges(number, true)?.1);
            }
            let chosen = match rule {
                Rule::Topological => self.left_after_sorting(),
                Rule::OptimalStrong => self.one_that_ignores_in_each_component(),
                _ => self.one_of_each_component(known),
            };
            // A round may find nothing new, and there may be many.
            let counts = Counts {
                states: 1,
                ..Counts::default()
            };
            self.space.go_on(self.bytes, &counts)?;
            known = self.nodes.len();
            if chosen.is_empty() {
                return Ok(());
            }
            for number in chosen {
                todo.extend(self.add_edges(number, false)?.1);
            }
        }
    }

    /// The unexpanded targets of an unexpanded node.
    fn plain_targets(&self, number: Number) -> impl Iterator<Item = Number> + '_ {
        let targets = self.targets[number as usize].iter().copied();
        targets.filter(|target| !self.full[*target as usize])
    }

    /// One node of each component with a cycle of unexpanded nodes.
    ///
    /// Nodes that were there before have no new edges, unless they are expanded now. So a cycle
    /// of unexpanded nodes is one of new nodes only, or was part of a component with a cycle
    /// before: no other nodes need be looked at.
    fn one_of_each_component(&mut self, known: usize) -> Vec<Number> {
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.extend(known as Number..self.nodes.len() as Number);
        suspects.retain(|number| !self.full[*number as usize]);
        let mut is_suspect = vec![false; self.nodes.len()];
        for number in &suspects {
            is_suspect[*number as usize] = true;
        }
        let targets = |number: Number| {
            let targets = self.targets[number as usize].iter().copied();
            targets.filter(|target| is_suspect[*target as usize])
        };
        let roots = suspects.iter().copied();
        let (component, count) =
            components(self.nodes.len(), roots, |node, at| targets(node).nth(at));
        // Many cycles go through the node with most edges to it from the component, so that
        // few more have to be expanded.
        let mut incoming = vec![0_u32; self.nodes.len()];
        for number in &suspects {
            let own = component[*number as usize];
            for target in targets(*number) {
                incoming[target as usize] += u32::from(component[target as usize] == own);
            }
        }
        let mut chosen: Vec<Option<Number>> = vec![None; count as usize];
        suspects.retain(|number| incoming[*number as usize] > 0);
        for number in &suspects {
            let best = &mut chosen[component[*number as usize] as usize];
            if best.is_none_or(|best| incoming[*number as usize] > incoming[best as usize]) {
                *best = Some(*number);
            }
        }
        self.suspects = suspects;
        chosen.into_iter().flatten().collect()
    }

    /// Of each component of unexpanded nodes with a cycle that ignores a transition, one node
    /// of such a cycle that could take it.
    fn one_that_ignores_in_each_component(&self) -> Vec<Number> {
        let Some(actions) = &self.actions else {
            return Vec::new();
        };
        let plain = || (0..self.nodes.len() as Number).filter(|n| !self.full[*n as usize]);
        let (component, count) = components(self.nodes.len(), plain(), |node, at| {
            self.plain_targets(node).nth(at)
        });
        let mut members: Vec<Vec<Number>> = vec![Vec::new(); count as usize];
        for number in plain() {
            members[component[number as usize] as usize].push(number);
        }
        let mut places: Vec<Option<Number>> = vec![None; self.nodes.len()];
        let mut chosen = Vec::new();
        for members in members {
            let possible = members.iter().flat_map(|n| &actions[*n as usize]);
            let mut ignored: Vec<u32> = possible.filter(|a| !a.1).map(|a| a.0).collect();
            ignored.sort_unstable();
            ignored.dedup();
            let found = ignored.into_iter().find_map(|action| {
                let takes = |number: &Number| actions[*number as usize].contains(&(action, true));
                let left: Vec<Number> = members.iter().copied().filter(|n| !takes(n)).collect();
                for (place, number) in left.iter().enumerate() {
                    places[*number as usize] = Some(place as Number);
                }
                let found = self.on_a_cycle(&left, &places, |number| {
                    actions[number as usize].contains(&(action, false))
                });
                for number in &left {
                    places[*number as usize] = None;
                }
                found
            });
            chosen.extend(found);
        }
        chosen
    }

    /// A node with some property that is on a cycle of these nodes; `places` says where each of
    /// them is in the list.
    fn on_a_cycle(
        &self,
        nodes: &[Number],
        places: &[Option<Number>],
        is_wanted: impl Fn(Number) -> bool,
    ) -> Option<Number> {
        let targets = |place: Number| {
            let targets = self.targets[nodes[place as usize] as usize].iter();
            targets.filter_map(|target| places[*target as usize])
        };
        let all = 0..nodes.len() as Number;
        let (component, _) = components(nodes.len(), all.clone(), |node, at| targets(node).nth(at));
        let is_on_cycle = |place: &Number| {
            let own = component[*place as usize];
            targets(*place).any(|target| component[target as usize] == own)
        };
        let mut wanted = all.filter(|place| is_wanted(nodes[*place as usize]));
        wanted.find(is_on_cycle).map(|place| nodes[place as usize])
    }

    /// Unexpanded nodes that are left when nodes without predecessors or without successors
    /// are taken away again and again.
    fn left_after_sorting(&self) -> Vec<Number> {
        let count = self.nodes.len();
        let mut left: Vec<bool> = self.full.iter().map(|full| !full).collect();
        let mut sources: Vec<Vec<Number>> = vec![Vec::new(); count];
        let mut outgoing = vec![0_u32; count];
        let mut incoming = vec![0_u32; count];
        for number in (0..count as Number).filter(|n| !self.full[*n as usize]) {
            for target in self.plain_targets(number) {
                sources[target as usize].push(number);
                outgoing[number as usize] += 1;
                incoming[target as usize] += 1;
            }
        }
        let is_end =
            |at: usize, incoming: &[u32], outgoing: &[u32]| incoming[at] == 0 || outgoing[at] == 0;
        let mut todo: Vec<Number> = (0..count)
            .filter(|at| left[*at] && is_end(*at, &incoming, &outgoing))
            .map(|at| at as Number)
            .collect();
        while let Some(number) = todo.pop() {
            if !std::mem::replace(&mut left[number as usize], false) {
                continue;
            }
            for target in self.plain_targets(number) {
                incoming[target as usize] -= 1;
                if left[target as usize] && is_end(target as usize, &incoming, &outgoing) {
                    todo.push(target);
                }
            }
            for source in &sources[number as usize] {
                outgoing[*source as usize] -= 1;
                if left[*source as usize] && is_end(*source as usize, &incoming, &outgoing) {
                    todo.push(*source);
                }
            }
        }
        let all = (0..count as Number).filter(|n| left[*n as usize]);
        all.collect()
    }
}
