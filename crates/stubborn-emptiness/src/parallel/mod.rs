//! Emptiness checks by several threads that share one store.
//!
//! - [`cndfs`]: nested depth-first searches that help each other;
//! - [`components`]: components in a shared union-find structure.
//!
//! A worker has a [`Space`] of its own, and all spaces are views of one graph: nodes and flags
//! are shared, and flags are sequentially consistent. What a classic reduction left out of a
//! node is put back or not by one decision for all workers, made once; steered
//! nodes need none.
//!
//! The parts that threads share are model-checked by loom, with
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p stubborn-emptiness --lib loom --target-dir target/loom
//! ```

use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use crate::space::{Counts, Edge, Node, Space};

pub mod cndfs;
pub mod components;
mod sync;
pub(crate) mod union_find;

use sync::{AtomicBool, AtomicU64, Mutex, Ordering, fence, lock};

/// What searches on several threads remember of a node for good.
pub mod flags {
    /// Some worker has left the node (nested search), or it is a component of its own, complete
    /// and forgotten (components).
    pub const LEFT: u8 = 1;
    /// No accepting cycle is behind the node (nested search), or its decision was begun
    /// (components).
    pub const HARMLESS: u8 = 1 << 1;
    /// Whether to put back what the reduction left out is decided …
    pub const DECIDED: u8 = 1 << 2;
    /// … and the answer is yes.
    pub const EXPANDED: u8 = 1 << 3;
}

/// Locks for decisions; a node always uses the same one.
const STRIPES: usize = if cfg!(loom) { 2 } else { 256 };

/// How many nodes a worker enters before it reports.
const REPORT_EVERY: u64 = 64;

/// A lasso as a worker saw it: nodes to the cycle, then the cycle, each node once. A worker
/// that looks at components knows some node of the component only, and has no stem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLasso {
    /// The way to the first node of the cycle, without it.
    pub stem: Vec<Node>,
    /// The cycle, without its first node at the end.
    pub cycle: Vec<Node>,
}

/// How a search by several threads ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was seen, and no accepting cycle.
    Empty,
    /// There is an accepting cycle.
    Accepting(FoundLasso),
    /// A limit was reached.
    Stopped(Limit),
}

/// What the workers of one search share.
pub struct Shared {
    over: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
    decisions: Vec<Mutex<()>>,
    states: AtomicU64,
    /// At the end: there are no fewer, with those that were not counted yet.
    at_least: AtomicU64,
    transitions: AtomicU64,
    expanded: AtomicU64,
    depth: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            over: AtomicBool::new(false),
            outcome: Mutex::new(None),
            decisions: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            states: AtomicU64::new(0),
            at_least: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            expanded: AtomicU64::new(0),
            depth: AtomicU64::new(0),
        }
    }
}

impl Shared {
    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        lock(&self.outcome).clone().unwrap_or(Outcome::Empty)
    }

    /// What was done so far: nodes once, however many workers entered them.
    pub fn counts(&self) -> Counts {
        Counts {
            states: self.counted().max(self.at_least.load(Ordering::Relaxed)),
            transitions: self.transitions.load(Ordering::Relaxed),
            expanded_by_proviso: self.expanded.load(Ordering::Relaxed),
            depth: self.depth.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn counted(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends the search for everybody. A violation counts more than a limit.
    pub(crate) fn end(&self, outcome: Outcome) {
        let mut known = lock(&self.outcome);
        if known.is_none() || matches!(outcome, Outcome::Accepting(_)) {
            *known = Some(outcome);
        }
        drop(known);
        self.over.store(true, Ordering::SeqCst);
    }

    /// Decides for all workers whether to put back what the reduction left out of a node:
    /// as `wish` says, unless it is decided already. The wish is asked for under the lock.
    /// Returns true to put it back.
    pub(crate) fn decide<S: Space>(
        &self,
        space: &mut S,
        node: Node,
        wish: impl FnOnce(&mut S) -> bool,
    ) -> bool {
        let known = space.flags(node);
        if known & flags::DECIDED != 0 {
            return known & flags::EXPANDED != 0;
        }
        let stripe = (node.0 ^ node.0 >> 17) as usize % self.decisions.len();
        let guard = lock(&self.decisions[stripe]);
        let known = space.flags(node);
        if known & flags::DECIDED != 0 {
            return known & flags::EXPANDED != 0;
        }
        let expand = wish(space);
        let news = match expand {
            true => flags::DECIDED | flags::EXPANDED,
            false => flags::DECIDED,
        };
        space.set_flags(node, news);
        drop(guard);
        if expand {
            self.expanded.fetch_add(1, Ordering::Relaxed);
        }
        expand
    }
}

/// The wish of a proviso for any order, to be decided with [`Shared::decide`]: first publish
/// that the decision about `node` was begun, then look whether that of a kept successor was.
/// Of all nodes on a cycle, the one that published last sees its successor. That takes more
/// than acquire and release: two workers must not both overlook each other.
pub(crate) fn wish_in_any_order<S: Space>(space: &mut S, node: Node, kept: &[Edge]) -> bool {
    space.set_flags(node, flags::HARMLESS);
    fence(Ordering::SeqCst);
    kept.iter()
        .any(|edge| space.flags(edge.to) & flags::HARMLESS != 0)
}

/// What both searches of a worker keep.
pub(crate) struct Hand<'s, S: Space> {
    pub(crate) space: &'s mut S,
    pub(crate) shared: &'s Shared,
    pub(crate) worker: usize,
    all: Marks,
    entered: u64,
}

impl<'s, S: Space> Hand<'s, S> {
    pub(crate) fn new(space: &'s mut S, shared: &'s Shared, worker: usize, all: Marks) -> Self {
        Self {
            space,
            shared,
            worker,
            all,
            entered: 0,
        }
    }

    pub(crate) fn is_accepting(&self, edge: &Edge) -> bool {
        edge.marks.contains(self.all)
    }

    pub(crate) fn wanted_marks(&self) -> Marks {
        self.all
    }

    /// Whether [`go_on`](Self::go_on) will look at limits the next time.
    pub(crate) fn is_to_report(&self) -> bool {
        self.entered.is_multiple_of(REPORT_EVERY)
    }

    /// Called for every node entered, with the bytes that the search takes, how many nodes
    /// are known to be entered and not counted yet, and the depth.
    pub(crate) fn go_on(&mut self, bytes: usize, open: u64, depth: usize) -> Result<(), Limit> {
        self.entered += 1;
        if self.entered % REPORT_EVERY == 1 {
            self.shared.depth.fetch_max(depth as u64, Ordering::Relaxed);
            let mut counts = self.shared.counts();
            // Spaces look at limits in the first of every few nodes.
            counts.states = (counts.states + open) / REPORT_EVERY * REPORT_EVERY + 1;
            self.space.go_on(bytes, &counts)?;
        }
        Ok(())
    }

    /// The edges of a node under the decision that was made; without one, it is made by
    /// `wish`.
    pub(crate) fn decided_edges(
        &mut self,
        node: Node,
        out: &mut Vec<Edge>,
        wish: impl FnOnce(&mut S) -> bool,
    ) -> Result<(), Limit> {
        if self.space.kept(node, out)? && self.shared.decide(self.space, node, wish) {
            self.space.rest(node, out)?;
        }
        Ok(())
    }

    /// Puts edges into an order of this worker's own, so that workers part.
    pub(crate) fn shuffle(&self, node: Node, edges: &mut [Edge]) {
        if self.worker > 0 && edges.len() > 1 {
            let mix = (node.0 ^ (self.worker as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            edges.rotate_left((mix >> 33) as usize % edges.len());
            if mix >> 32 & 1 == 1 {
                edges.reverse();
            }
        }
    }
}

impl Shared {
    /// Counts a node that no worker had entered (or left) before, and its edges.
    pub(crate) fn count_node(&self, edges: usize) {
        self.states.fetch_add(1, Ordering::Relaxed);
        self.transitions.fetch_add(edges as u64, Ordering::Relaxed);
    }

    /// A worker ends, and knows of so many nodes that are counted or will never be.
    pub(crate) fn leave(&self, nodes: u64) {
        self.at_least.fetch_max(nodes, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU8, Ordering};
    use loom::thread;

    use super::*;

    /// A ring whose nodes keep the edge to the next one and leave another out.
    struct Ring(Arc<Vec<AtomicU8>>);

    impl Space for Ring {
        fn initial(&mut self, _: &mut Vec<Node>) -> Result<(), Limit> {
            Ok(())
        }

        fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
            let next = Node((node.0 + 1) % self.0.len() as u64);
            out.push(Edge::new(next, Marks::NONE));
            Ok(true)
        }

        fn rest(&mut self, _: Node, _: &mut Vec<Edge>) -> Result<(), Limit> {
            Ok(())
        }

        fn flags(&mut self, node: Node) -> u8 {
            self.0[node.0 as usize].load(Ordering::SeqCst)
        }

        fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
            self.0[node.0 as usize].fetch_or(flags, Ordering::SeqCst)
        }

        fn go_on(&mut self, _: usize, _: &Counts) -> Result<(), Limit> {
            Ok(())
        }
    }

    fn decide(shared: &Shared, ring: &mut Ring, node: u64) -> bool {
        let node = Node(node);
        let mut kept = Vec::new();
        let _ = ring.kept(node, &mut kept);
        shared.decide(ring, node, |space| wish_in_any_order(space, node, &kept))
    }

    /// Each worker decides about one node of a ring: one of them sees that the other began.
    #[test]
    fn one_node_of_a_cycle_is_expanded() {
        loom::model(|| {
            let ring = Arc::new(vec![AtomicU8::new(0), AtomicU8::new(0)]);
            let shared = Arc::new(Shared::default());
            let (other_ring, other_shared) = (Arc::clone(&ring), Arc::clone(&shared));
            let other = thread::spawn(move || decide(&other_shared, &mut Ring(other_ring), 1));
            let own = decide(&shared, &mut Ring(Arc::clone(&ring)), 0);
            assert!(other.join().unwrap_or(false) || own);
        });
    }

    /// Two workers come to the same node with different wishes: both do the same.
    #[test]
    fn a_decision_is_made_once() {
        loom::model(|| {
            let ring = Arc::new(vec![AtomicU8::new(0), AtomicU8::new(0)]);
            let shared = Arc::new(Shared::default());
            let (other_ring, other_shared) = (Arc::clone(&ring), Arc::clone(&shared));
            let other = thread::spawn(move || {
                other_shared.decide(&mut Ring(other_ring), Node(0), |_| true)
            });
            let own = shared.decide(&mut Ring(Arc::clone(&ring)), Node(0), |_| false);
            assert_eq!(other.join().ok(), Some(own));
        });
    }
}
