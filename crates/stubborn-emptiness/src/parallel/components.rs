//! Components by several threads, with a shared union-find structure.
//!
//! After Bloemen, Laarman, van de Pol, *Multi-core on-the-fly SCC decomposition* (2016), and
//! Bloemen, van de Pol, *Multi-core SCC-based LTL model checking* (2016). Each worker walks
//! depth-first and keeps the nodes by which it entered sets. An edge to a set that it has
//! entered before closes a cycle: all sets between are one. A worker explores any busy node of
//! its last set, so that several share the work of one component. Marks on edges inside a set
//! are collected at its root, and a set with all marks holds an accepting cycle. Nodes that
//! nobody has begun to explore are picked first, and edges into sets that only others are in
//! are followed last, so that workers seldom do the same work, and none does its own twice: a worker leaves a set for its last frame in the same set, whose
//! node it has begun. Most components are single nodes; when one of these is complete, a flag
//! of the node says so, and the table from nodes to sets forgets it.
//!
//! There is no common path here, so what a classic reduction left out is put back by a proviso
//! for any order: a node is expanded if one of its kept edges leads to a node whose own
//! decision was begun before (or to itself). On a cycle without expanded node the one whose
//! decision was begun last would have seen its successor; flags are sequentially consistent, and
//! each decision is made once.

use rapidhash::RapidHashMap;
use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use super::sync::{AtomicU32, Mutex, MutexGuard, Ordering, lock};
use super::union_find::{Claim, Item, Pick, UnionFind};
use super::{FoundLasso, Hand, Outcome, Shared, flags, wish_in_any_order};
use crate::space::{Edge, Node, Space};

/// Parts of the table from nodes to items, each with a lock of its own.
const PARTS: usize = 64;

/// The sets that all workers share.
pub struct Sets {
    union_find: UnionFind,
    parts: Vec<Mutex<RapidHashMap<Node, Item>>>,
    next: AtomicU32,
    /// The entries of each worker that has ended.
    left: Mutex<Vec<Vec<(Item, Marks)>>>,
}

impl Default for Sets {
    fn default() -> Self {
        Self {
            union_find: UnionFind::new(),
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            next: AtomicU32::new(0),
            left: Mutex::default(),
        }
    }
}

impl Sets {
    fn part(&self, node: Node) -> MutexGuard<'_, RapidHashMap<Node, Item>> {
        let part = (node.0 ^ node.0 >> 13 ^ node.0 >> 29) as usize % PARTS;
        lock(&self.parts[part])
    }

    /// The item of a node; `None` if it is complete and forgotten, as its flags say.
    fn item<S: Space>(&self, node: Node, space: &mut S) -> Result<Option<Item>, Limit> {
        let mut is_forgotten = || space.flags(node) & flags::LEFT != 0;
        if is_forgotten() {
            return Ok(None);
        }
        let mut part = self.part(node);
        if let Some(item) = part.get(&node) {
            return Ok(Some(*item));
        }
        // It may have been forgotten since; the flag is set before.
        if is_forgotten() {
            return Ok(None);
        }
        let item = Item(self.next.fetch_add(1, Ordering::Relaxed));
        if item.0 == u32::MAX {
            return Err(Limit::StoreFull);
        }
        self.union_find.begin(item, node);
        part.insert(node, item);
        Ok(Some(item))
    }

    /// Nodes that were ever in here.
    fn entered(&self) -> u64 {
        u64::from(self.next.load(Ordering::Relaxed))
    }

    /// Forgets a node that nobody will ask for: it is a component of its own, and complete.
    fn forget<S: Space>(&self, item: Item, space: &mut S) {
        let node = self.union_find.node(item);
        space.set_flags(node, flags::LEFT);
        self.part(node).remove(&node);
    }

    /// The item of a node that was seen.
    fn known_item(&self, node: Node) -> Option<Item> {
        self.part(node).get(&node).copied()
    }

    /// Whether a node was seen, and not forgotten.
    pub fn contains(&self, node: Node) -> bool {
        self.known_item(node).is_some()
    }

    /// Whether two nodes are known to be in one component.
    pub fn are_together(&self, first: Node, second: Node) -> bool {
        match (self.known_item(first), self.known_item(second)) {
            (Some(first), Some(second)) => self.union_find.same_set(first, second),
            _ => false,
        }
    }

    /// To be called when all workers have ended, before nodes are looked for: makes one set of everything
    /// between two entries of a worker that are in one set. Where workers find cycles that have nodes in common,
    /// each may find its ends in one set because of what the other one has done so far, and leave the rest for
    /// later. If the search ends before that, nodes by which a set is connected are missing in it; a
    /// cycle is looked for among its nodes.
    pub fn close_cycles(&self) {
        for entries in lock(&self.left).drain(..) {
            let sets = entries.iter().map(|(item, _)| self.union_find.find(*item));
            let sets: Vec<Item> = sets.collect();
            let last: RapidHashMap<Item, usize> = sets.iter().copied().zip(0..).collect();
            let mut reach = 0;
            for (at, pair) in entries.windows(2).enumerate() {
                reach = reach.max(last.get(&sets[at]).copied().unwrap_or(at));
                if at < reach {
                    self.union_find.unite(pair[0].0, pair[1].0);
                }
            }
        }
    }

    /// What all this takes, roughly: the parts of the table are about equally large.
    fn bytes(&self) -> usize {
        let table = PARTS * lock(&self.parts[0]).capacity() * (size_of::<(Node, Item)>() + 1);
        table + self.next.load(Ordering::Relaxed) as usize * UnionFind::bytes_per_item()
    }
}

/// A set that the worker is in.
struct Frame {
    /// The node by which it entered the set.
    item: Item,
    /// The node that it came from, and the marks of the edge; `None` at the beginning.
    incoming: Option<(Item, Marks)>,
    /// The node of the set that is being explored.
    picked: Option<Item>,
    first_edge: usize,
    next_edge: usize,
    /// Behind its edges; what follows are those again that were put off.
    end_of_edges: usize,
}

/// One worker.
pub struct ComponentWorker<'s, S: Space> {
    hand: Hand<'s, S>,
    sets: &'s Sets,
    frames: Vec<Frame>,
    /// Entry nodes whose sets this worker did not find to be one yet, with the marks of the
    /// edges by which it came.
    entries: Vec<(Item, Marks)>,
    edges: Vec<Edge>,
}

impl<'s, S: Space> ComponentWorker<'s, S> {
    /// A worker that looks for a cycle with all these marks.
    pub fn new(
        space: &'s mut S,
        shared: &'s Shared,
        sets: &'s Sets,
        worker: usize,
        all: Marks,
    ) -> Self {
        Self {
            hand: Hand::new(space, shared, worker, all),
            sets,
            frames: Vec::new(),
            entries: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Searches until everything was seen or somebody ends the search.
    pub fn run(&mut self) {
        if let Err(limit) = self.search() {
            self.hand.shared.end(Outcome::Stopped(limit));
        }
        lock(&self.sets.left).push(std::mem::take(&mut self.entries));
        self.hand.shared.leave(self.sets.entered());
    }

    fn search(&mut self) -> Result<(), Limit> {
        let mut initial = Vec::new();
        self.hand.space.initial(&mut initial)?;
        for node in initial {
            let Some(item) = self.sets.item(node, self.hand.space)? else {
                continue;
            };
            if self.sets.union_find.claim(item, self.hand.worker) == Claim::New {
                self.enter(item, None)?;
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
            if let Some(picked) = top.picked {
                // If another worker was faster, its edges lead into this set or to dead ones.
                let rest = match self.sets.union_find.is_done(picked) {
                    true => None,
                    false => self.edges.get(top.next_edge).copied(),
                };
                if let Some(edge) = rest {
                    let was_put_off = top.next_edge >= top.end_of_edges;
                    top.next_edge += 1;
                    self.follow(picked, edge, was_put_off)?;
                } else {
                    let explored = top.end_of_edges - top.first_edge;
                    self.edges.truncate(top.first_edge);
                    top.picked = None;
                    if self.sets.union_find.finish(picked) {
                        self.hand.shared.count_node(explored);
                    }
                }
                continue;
            }
            let item = top.item;
            let below = self.frames.len().checked_sub(2);
            let below = below.map(|at| self.frames[at].item);
            let was_here = below.is_some_and(|it| self.sets.union_find.same_set(it, item));
            let wanted = self.hand.wanted_marks();
            match self.sets.union_find.pick(item, was_here, wanted) {
                Pick::Node(picked) => self.explore(picked)?,
                Pick::Below => self.leave(),
                Pick::Dead(only) => {
                    if let Some(only) = only {
                        self.sets.forget(only, self.hand.space);
                    }
                    self.leave();
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, item: Item, incoming: Option<(Item, Marks)>) -> Result<(), Limit> {
        let mut bytes =
            self.frames.capacity() * size_of::<Frame>() + self.edges.capacity() * size_of::<Edge>();
        let mut open = 0;
        if self.hand.is_to_report() {
            if self.hand.worker == 0 {
                bytes += self.sets.bytes();
            }
            open = self
                .sets
                .entered()
                .saturating_sub(self.hand.shared.counted());
        }
        self.hand.go_on(bytes, open, self.frames.len())?;
        let marks = incoming.map_or(Marks::NONE, |(_, marks)| marks);
        self.entries.push((item, marks));
        self.frames.push(Frame {
            item,
            incoming,
            picked: None,
            first_edge: self.edges.len(),
            next_edge: self.edges.len(),
            end_of_edges: self.edges.len(),
        });
        Ok(())
    }

    /// Fetches the edges of a node of the last set.
    fn explore(&mut self, picked: Item) -> Result<(), Limit> {
        let node = self.sets.union_find.node(picked);
        let first = self.edges.len();
        if self.hand.space.kept(node, &mut self.edges)? {
            let kept = &self.edges[first..];
            let shared = self.hand.shared;
            let wish = |space: &mut S| wish_in_any_order(space, node, kept);
            let expand = shared.decide(self.hand.space, node, wish);
            if expand {
                self.hand.space.rest(node, &mut self.edges)?;
            }
        }
        self.hand.shuffle(node, &mut self.edges[first..]);
        if let Some(top) = self.frames.last_mut() {
            top.picked = Some(picked);
            top.first_edge = first;
            top.next_edge = first;
            top.end_of_edges = self.edges.len();
        }
        Ok(())
    }

    fn follow(&mut self, from: Item, edge: Edge, was_put_off: bool) -> Result<(), Limit> {
        let Some(to) = self.sets.item(edge.to, self.hand.space)? else {
            return Ok(());
        };
        // Others may be done there by the time that everything else is.
        if !was_put_off && self.sets.union_find.is_with_others(to, self.hand.worker) {
            self.edges.push(edge);
            return Ok(());
        }
        match self.sets.union_find.claim(to, self.hand.worker) {
            Claim::Dead => {}
            Claim::New => self.enter(to, Some((from, edge.marks)))?,
            Claim::Known => {
                // The edge closes a cycle over all sets entered since.
                while !self.sets.union_find.same_set(to, from) {
                    let Some((entry, marks)) = self.entries.pop() else {
                        break;
                    };
                    let Some((below, _)) = self.entries.last() else {
                        self.entries.push((entry, marks));
                        break;
                    };
                    self.sets.union_find.unite(entry, *below);
                    self.collect(entry, marks);
                }
                self.collect(from, edge.marks);
            }
        }
        Ok(())
    }

    /// Adds marks of an edge inside a set, and ends the search if it has all.
    fn collect(&mut self, item: Item, marks: Marks) {
        let known = self.sets.union_find.add_marks(item, marks);
        if known.contains(self.hand.wanted_marks()) {
            self.hand.shared.end(Outcome::Accepting(FoundLasso {
                stem: Vec::new(),
                cycle: vec![self.sets.union_find.node(item)],
            }));
        }
    }

    /// The last set is dead, or the worker goes on in it where it was before.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        if self
            .entries
            .last()
            .is_some_and(|(item, _)| *item == frame.item)
        {
            self.entries.pop();
        }
        // Another worker may have found that the edge by which this one came is inside.
        if let Some((from, marks)) = frame.incoming
            && self.sets.union_find.same_set(from, frame.item)
        {
            self.collect(frame.item, marks);
        }
    }
}
