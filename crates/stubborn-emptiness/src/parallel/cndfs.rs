//! Nested depth-first searches that help each other: CNDFS.
//!
//! After Evangelista, Laarman, Petrucci, van de Pol, *Improved multi-core nested depth-first
//! search* (2012). Each worker runs a nested search with a path of its own. Nodes that one has
//! left are not entered by others; what a second pass visited without success is harmless for
//! all. A second pass first waits until others are done with the accepting nodes it passed,
//! because only together their passes prove that there is no accepting cycle.
//!
//! Acceptance is on edges here. The published search looks at nodes, and what is done is what it
//! would do if every node with accepting edges had one more successor, an accepting one, that
//! leads to the targets of these edges and is visited last.
//!
//! With a reduction, the proviso is that of Laarman and Wijs, *Partial-order reduction for
//! multi-core LTL model checking* (2014): a node is expanded if one of its edges leads back
//! to the worker's own path; what the first worker to leave the node did is what all do. On a
//! cycle without expanded node every node would have been decided after its successor. A
//! second pass that comes to a node that is not decided yet expands it.

use rapidhash::{RapidHashMap, RapidHashSet};
use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use super::{FoundLasso, Hand, Outcome, Shared, flags};
use crate::space::{Edge, Node, Space};

/// A node of the path.
struct Frame {
    node: Node,
    first_edge: usize,
    next_edge: usize,
    /// The reduction left something out, and nobody decided whether to put it back.
    undecided: bool,
    has_accepting_edge: bool,
}

/// One worker.
pub struct NestedWorker<'s, S: Space> {
    hand: Hand<'s, S>,
    path: RapidHashSet<Node>,
    frames: Vec<Frame>,
    edges: Vec<Edge>,
}

impl<'s, S: Space> NestedWorker<'s, S> {
    /// A worker that looks for a cycle with an edge that has all these marks.
    pub fn new(space: &'s mut S, shared: &'s Shared, worker: usize, all: Marks) -> Self {
        Self {
            hand: Hand::new(space, shared, worker, all),
            path: RapidHashSet::default(),
            frames: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Searches until everything was seen or somebody ends the search.
    pub fn run(&mut self) {
        if let Err(limit) = self.search() {
            self.hand.shared.end(Outcome::Stopped(limit));
        }
        // First the count, then the path: what another worker leaves meanwhile is missed, and
        // nothing is counted twice.
        let counted = self.hand.shared.counted();
        let space = &mut *self.hand.space;
        let open = self.frames.iter();
        let open = open.filter(|frame| space.flags(frame.node) & flags::LEFT == 0);
        self.hand.shared.leave(counted + open.count() as u64);
    }

    fn search(&mut self) -> Result<(), Limit> {
        let mut initial = Vec::new();
        self.hand.space.initial(&mut initial)?;
        for node in initial {
            let is_over = self.hand.shared.is_over();
            if !is_over && self.hand.space.flags(node) & flags::LEFT == 0 {
                self.push(node)?;
                self.walk()?;
            }
        }
        Ok(())
    }

    fn walk(&mut self) -> Result<(), Limit> {
        while !self.hand.shared.is_over() {
            let Some(top) = self.frames.last_mut() else {
                return Ok(());
            };
            if let Some(edge) = self.edges.get(top.next_edge).copied() {
                top.next_edge += 1;
                self.follow(edge)?;
            } else if top.undecided {
                self.settle(false)?;
            } else if top.has_accepting_edge && self.second_pass()? {
                return Ok(());
            } else {
                self.pop();
            }
        }
        Ok(())
    }

    fn push(&mut self, node: Node) -> Result<(), Limit> {
        let bytes = self.bytes();
        let depth = self.frames.len();
        self.hand.go_on(bytes, depth as u64, depth)?;
        self.path.insert(node);
        let first_edge = self.edges.len();
        let left_out = self.hand.space.kept(node, &mut self.edges)?;
        let known = self.hand.space.flags(node);
        let decided = known & flags::DECIDED != 0;
        if left_out && decided && known & flags::EXPANDED != 0 {
            self.hand.space.rest(node, &mut self.edges)?;
        }
        self.hand.shuffle(node, &mut self.edges[first_edge..]);
        self.frames.push(Frame {
            node,
            first_edge,
            next_edge: first_edge,
            undecided: left_out && !decided,
            has_accepting_edge: false,
        });
        Ok(())
    }

    /// What the first pass takes, roughly.
    fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>()
            + self.edges.capacity() * size_of::<Edge>()
            + self.path.capacity() * (size_of::<Node>() + 1)
    }

    /// Decides about the last node.
    fn settle(&mut self, expand: bool) -> Result<(), Limit> {
        let Some(top) = self.frames.last_mut() else {
            return Ok(());
        };
        top.undecided = false;
        let node = top.node;
        let shared = self.hand.shared;
        if shared.decide(self.hand.space, node, |_| expand) {
            self.hand.space.rest(node, &mut self.edges)?;
        }
        Ok(())
    }

    fn follow(&mut self, edge: Edge) -> Result<(), Limit> {
        let is_accepting = self.hand.is_accepting(&edge);
        let Some(top) = self.frames.last_mut() else {
            return Ok(());
        };
        top.has_accepting_edge |= is_accepting;
        let undecided = top.undecided;
        if self.path.contains(&edge.to) {
            if is_accepting {
                self.found(edge.to, Vec::new());
            } else if undecided {
                self.settle(true)?;
            }
            return Ok(());
        }
        match self.hand.space.flags(edge.to) & flags::LEFT {
            0 => self.push(edge.to),
            _ => Ok(()),
        }
    }

    fn pop(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let edges = self.edges.len() - frame.first_edge;
        self.edges.truncate(frame.first_edge);
        if self.hand.space.set_flags(frame.node, flags::LEFT) & flags::LEFT == 0 {
            self.hand.shared.count_node(edges);
        }
        self.path.remove(&frame.node);
    }

    /// Looks for a way back to the path from the accepting edges of the last node, all of
    /// whose edges were taken. True if the search is over.
    fn second_pass(&mut self) -> Result<bool, Limit> {
        let Some(top) = self.frames.last() else {
            return Ok(false);
        };
        let mut todo: Vec<(Node, Option<Node>)> = self.edges[top.first_edge..]
            .iter()
            .filter(|edge| self.hand.is_accepting(edge))
            .map(|edge| (edge.to, None))
            .collect();
        let mut parents: RapidHashMap<Node, Option<Node>> = RapidHashMap::default();
        let mut waiting_for: Vec<Node> = Vec::new();
        let mut edges = Vec::new();
        while let Some((node, parent)) = todo.pop() {
            if self.path.contains(&node) {
                self.found(node, way_back(&parents, parent));
                return Ok(true);
            }
            if parents.contains_key(&node) || self.hand.space.flags(node) & flags::HARMLESS != 0 {
                continue;
            }
            if self.hand.shared.is_over() {
                return Ok(true);
            }
            let bytes = self.bytes() + 2 * parents.capacity() * size_of::<(Node, Option<Node>)>();
            self.hand.go_on(bytes, 0, self.frames.len())?;
            parents.insert(node, parent);
            edges.clear();
            self.hand.decided_edges(node, &mut edges, |_| true)?;
            if edges.iter().any(|edge| self.hand.is_accepting(edge)) {
                waiting_for.push(node);
            }
            todo.extend(edges.iter().map(|edge| (edge.to, Some(node))));
        }
        // A node is left when its own second pass is over.
        for node in waiting_for {
            while self.hand.space.flags(node) & flags::LEFT == 0 {
                if self.hand.shared.is_over() {
                    return Ok(true);
                }
                std::thread::yield_now();
            }
        }
        for node in parents.keys() {
            self.hand.space.set_flags(*node, flags::HARMLESS);
        }
        Ok(false)
    }

    /// An accepting edge of the last node leads over these nodes back to a node of the path.
    fn found(&mut self, back_to: Node, over: Vec<Node>) {
        let nodes = self.frames.iter().map(|frame| frame.node);
        let mut stem: Vec<Node> = nodes.collect();
        let at = stem.iter().position(|node| *node == back_to).unwrap_or(0);
        let mut cycle = stem.split_off(at);
        cycle.extend(over);
        self.hand
            .shared
            .end(Outcome::Accepting(FoundLasso { stem, cycle }));
    }
}

/// The nodes of a second pass up to and with `last`.
fn way_back(parents: &RapidHashMap<Node, Option<Node>>, last: Option<Node>) -> Vec<Node> {
    let mut way = Vec::new();
    let mut at = last;
    while let Some(node) = at {
        way.push(node);
        at = parents.get(&node).copied().flatten();
    }
    way.reverse();
    way
}
