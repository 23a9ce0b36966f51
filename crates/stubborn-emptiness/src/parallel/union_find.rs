//! Sets of nodes that threads find out about together: components as far as they are known.
//!
//! After Bloemen, Laarman, van de Pol, *Multi-core on-the-fly SCC decomposition* (2016). A set
//! knows which workers have claimed one of its nodes, which of its nodes still have edges to
//! explore (*busy* ones), the acceptance marks seen inside, and whether it is *dead*: all
//! its nodes are explored, and its component is complete. Looking is lock-free; whoever
//! changes a set holds the lock of its root, and two roots are locked in the order of their
//! numbers. A root that loses its place gives its lists away before it unlocks.

use std::sync::OnceLock;

use stubborn_ltl::automaton::Marks;

use crate::space::Node;

use super::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, lock};

/// A node of the union-find structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item(pub(crate) u32);

/// Most workers: they are bits of a word.
pub(crate) const MOST_WORKERS: usize = 64;

/// Records of the first chunk; each further chunk is as large as all before it.
const FIRST_CHUNK: usize = if cfg!(loom) { 4 } else { 1 << 10 };

struct Record {
    /// What the node stands for.
    node: AtomicU64,
    /// Workers that claimed a node of the set; of roots.
    workers: AtomicU64,
    /// Itself, for a root.
    parent: AtomicU32,
    /// The next node of the ring that this one is in; under the lock of the root.
    next: AtomicU32,
    /// Marks on edges inside the set; of roots.
    marks: AtomicU32,
    /// The set is complete; of roots.
    dead: AtomicBool,
    /// All edges of the node were explored.
    done: AtomicBool,
    /// Nodes of the set that may have edges to explore; of roots. Also the root's lock.
    busy: Mutex<Busy>,
}

/// No node.
const NOBODY: Item = Item(u32::MAX);

/// Nodes of a set that may have edges to explore, in rings: each node knows the next one, and
/// the set the last one, so that two rings are joined by two writes and nothing is allocated.
#[derive(Debug)]
struct Busy {
    /// Nobody has picked them.
    fresh: Item,
    /// Somebody explores them, or has.
    begun: Item,
    /// The set has more than one node.
    is_united: bool,
}

/// What a worker does next in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// It explores this node.
    Node(Item),
    /// It goes on where it was in the same set before; all nodes are begun.
    Below,
    /// Nothing: the set is dead. If it has one node only and not all `wanted` marks, nobody
    /// will ask for it again, and this is it.
    Dead(Option<Item>),
}

impl Record {
    fn new(item: u32) -> Self {
        Self {
            node: AtomicU64::new(0),
            workers: AtomicU64::new(0),
            parent: AtomicU32::new(item),
            next: AtomicU32::new(item),
            marks: AtomicU32::new(0),
            dead: AtomicBool::new(false),
            done: AtomicBool::new(false),
            busy: Mutex::new(Busy {
                fresh: Item(item),
                begun: NOBODY,
                is_united: false,
            }),
        }
    }
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The worker had no node of the set before.
    New,
    /// It had.
    Known,
    /// The set is dead.
    Dead,
}

/// See the [module](self).
pub(crate) struct UnionFind {
    chunks: Box<[OnceLock<Box<[Record]>>]>,
}

impl UnionFind {
    pub(crate) fn new() -> Self {
        let this = Self {
            chunks: (0..32).map(|_| OnceLock::new()).collect(),
        };
        this.record(Item(0));
        this
    }

    /// Bytes of a node.
    pub(crate) const fn bytes_per_item() -> usize {
        size_of::<Record>()
    }

    fn next(&self, item: Item) -> Item {
        Item(self.record(item).next.load(Ordering::Relaxed))
    }

    fn set_next(&self, item: Item, next: Item) {
        self.record(item).next.store(next.0, Ordering::Relaxed);
    }

    /// Adds a node at the end of a ring.
    fn push(&self, ring: &mut Item, item: Item) {
        self.set_next(item, item);
        self.join(ring, item);
    }

    /// Adds another ring at the end of a ring.
    fn join(&self, ring: &mut Item, other: Item) {
        if other == NOBODY {
            return;
        }
        if *ring != NOBODY {
            let first = self.next(*ring);
            self.set_next(*ring, self.next(other));
            self.set_next(other, first);
        }
        *ring = other;
    }

    /// Takes the first node out of a ring.
    fn pop(&self, ring: &mut Item) -> Option<Item> {
        if *ring == NOBODY {
            return None;
        }
        let first = self.next(*ring);
        match first == *ring {
            true => *ring = NOBODY,
            false => self.set_next(*ring, self.next(first)),
        }
        Some(first)
    }

    fn record(&self, item: Item) -> &Record {
        let at = item.0 as usize;
        // Chunk 0 has FIRST_CHUNK records, chunk c > 0 has FIRST_CHUNK << (c - 1).
        let (chunk, first, size) = match at / FIRST_CHUNK {
            0 => (0, 0, FIRST_CHUNK),
            ratio => {
                let chunk = ratio.ilog2() as usize + 1;
                let size = FIRST_CHUNK << (chunk - 1);
                (chunk, size, size)
            }
        };
        let records = self.chunks[chunk].get_or_init(|| {
            (first..first + size)
                .map(|number| Record::new(number as u32))
                .collect()
        });
        &records[at - first]
    }

    /// The root of the set of a node. It may be none any more when this returns.
    pub(crate) fn find(&self, mut item: Item) -> Item {
        loop {
            let record = self.record(item);
            let parent = Item(record.parent.load(Ordering::SeqCst));
            if parent == item {
                return item;
            }
            let above = self.record(parent).parent.load(Ordering::SeqCst);
            if above != parent.0 {
                // Halves the path; if somebody else did meanwhile, so much the better.
                let _ = record.parent.compare_exchange(
                    parent.0,
                    above,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
            }
            item = parent;
        }
    }

    fn is_root(&self, item: Item) -> bool {
        self.record(item).parent.load(Ordering::SeqCst) == item.0
    }

    fn lock_root(&self, item: Item) -> (Item, MutexGuard<'_, Busy>) {
        loop {
            let root = self.find(item);
            let guard = lock(&self.record(root).busy);
            if self.is_root(root) {
                return (root, guard);
            }
        }
    }

    /// Whether two nodes are in one set. Sets never part, so a yes stays true.
    pub(crate) fn same_set(&self, first: Item, second: Item) -> bool {
        loop {
            let (a, b) = (self.find(first), self.find(second));
            if a == b {
                return true;
            }
            if self.is_root(a) {
                return false;
            }
        }
    }

    /// Adds a node, which is busy then. Nobody else knows of it yet; whoever makes it known
    /// publishes this too.
    pub(crate) fn begin(&self, item: Item, node: Node) {
        self.record(item).node.store(node.0, Ordering::Relaxed);
    }

    /// What an item stands for.
    pub(crate) fn node(&self, item: Item) -> Node {
        Node(self.record(item).node.load(Ordering::Relaxed))
    }

    /// Claims the set of a node for a worker.
    pub(crate) fn claim(&self, item: Item, worker: usize) -> Claim {
        let bit = 1 << worker;
        let root = self.record(self.find(item));
        if root.dead.load(Ordering::SeqCst) {
            return Claim::Dead;
        }
        if root.workers.load(Ordering::SeqCst) & bit != 0 {
            return Claim::Known;
        }
        let (root, guard) = self.lock_root(item);
        let root = self.record(root);
        let claim = if root.dead.load(Ordering::SeqCst) {
            Claim::Dead
        } else if root.workers.fetch_or(bit, Ordering::SeqCst) & bit != 0 {
            Claim::Known
        } else {
            Claim::New
        };
        drop(guard);
        claim
    }

    /// Whether other workers have claimed the set of a node, this one has not, and it is alive.
    /// That may have changed when this returns.
    pub(crate) fn is_with_others(&self, item: Item, worker: usize) -> bool {
        let root = self.record(self.find(item));
        let workers = root.workers.load(Ordering::Relaxed);
        workers != 0 && workers & (1 << worker) == 0 && !root.dead.load(Ordering::Relaxed)
    }

    /// Makes one set of two.
    pub(crate) fn unite(&self, first: Item, second: Item) {
        loop {
            let (a, b) = (self.find(first), self.find(second));
            if a == b {
                return;
            }
            let (low, high) = (a.min(b), a.max(b));
            let low_record = self.record(low);
            let high_record = self.record(high);
            let mut low_busy = lock(&low_record.busy);
            let high_busy = lock(&high_record.busy);
            if !self.is_root(low) || !self.is_root(high) {
                continue;
            }
            // First the link, then the workers: `claim` looks without a lock, and whoever reads
            // there that it was in this set before must find its own node in it, too. (The older
            // root is mostly that of the larger set.)
            high_record.parent.store(low.0, Ordering::SeqCst);
            let workers = high_record.workers.load(Ordering::SeqCst);
            low_record.workers.fetch_or(workers, Ordering::SeqCst);
            let marks = high_record.marks.load(Ordering::SeqCst);
            low_record.marks.fetch_or(marks, Ordering::SeqCst);
            self.join(&mut low_busy.fresh, high_busy.fresh);
            self.join(&mut low_busy.begun, high_busy.begun);
            low_busy.is_united = true;
            return;
        }
    }

    /// Adds the marks of an edge inside a set; returns all of its marks.
    pub(crate) fn add_marks(&self, item: Item, marks: Marks) -> Marks {
        let root = self.record(self.find(item));
        let known = Marks(root.marks.load(Ordering::SeqCst));
        // What was merged away meanwhile, the one who merged looks at.
        if known.contains(marks) {
            return known;
        }
        let (root, guard) = self.lock_root(item);
        let before = self.record(root).marks.fetch_or(marks.0, Ordering::SeqCst);
        drop(guard);
        Marks(before).union(marks)
    }

    /// What to explore next in a set: a node that nobody has begun. If there is none, a worker
    /// that was in the set before (`was_here`) first goes on there: it has begun nodes itself.
    /// Otherwise it helps with one that others have begun, each worker with another one; if
    /// all are done, the set is dead.
    pub(crate) fn pick(&self, item: Item, was_here: bool, wanted: Marks) -> Pick {
        let (root, mut busy) = self.lock_root(item);
        while let Some(picked) = self.pop(&mut busy.fresh) {
            if !self.is_done(picked) {
                self.push(&mut busy.begun, picked);
                return Pick::Node(picked);
            }
        }
        if was_here {
            return Pick::Below;
        }
        while let Some(picked) = self.pop(&mut busy.begun) {
            if !self.is_done(picked) {
                self.push(&mut busy.begun, picked);
                return Pick::Node(picked);
            }
        }
        let record = self.record(root);
        record.dead.store(true, Ordering::SeqCst);
        // Who finished the only node has seen all edges from it to itself.
        let marks = Marks(record.marks.load(Ordering::SeqCst));
        let is_forgotten = !busy.is_united && !marks.contains(wanted);
        Pick::Dead(is_forgotten.then_some(root))
    }

    /// Whether all edges of a node were explored.
    pub(crate) fn is_done(&self, item: Item) -> bool {
        self.record(item).done.load(Ordering::SeqCst)
    }

    /// All edges of a node were explored. True if this is news.
    pub(crate) fn finish(&self, item: Item) -> bool {
        !self.record(item).done.swap(true, Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sets_grow_and_die() {
        let sets = UnionFind::new();
        for item in 0..5_000 {
            sets.begin(Item(item), Node(u64::from(item)));
            assert_eq!(sets.claim(Item(item), 3), Claim::New);
            assert_eq!(sets.claim(Item(item), 3), Claim::Known);
        }
        sets.add_marks(Item(1), Marks(2));
        sets.add_marks(Item(2), Marks(1));
        for item in 0..4_999 {
            assert!(!sets.same_set(Item(item), Item(item + 1)));
            sets.unite(Item(item), Item(item + 1));
        }
        assert!(sets.same_set(Item(0), Item(4_999)));
        assert_eq!(sets.add_marks(Item(77), Marks::NONE), Marks(3));
        assert_eq!(sets.claim(Item(7), 3), Claim::Known);
        assert!(sets.is_with_others(Item(7), 4) && !sets.is_with_others(Item(7), 3));
        assert_eq!(sets.claim(Item(7), 4), Claim::New);
        let mut left = 5_000;
        while let Pick::Node(item) = sets.pick(Item(9), false, Marks(3)) {
            assert!(!sets.is_done(item));
            assert!(sets.finish(item));
            assert!(!sets.finish(item));
            left -= 1;
        }
        assert_eq!(left, 0);
        assert_eq!(sets.pick(Item(9), true, Marks(3)), Pick::Below);
        assert_eq!(sets.claim(Item(8), 5), Claim::Dead);
    }

    /// Only a set of one node without all marks is named when it dies.
    #[test]
    fn what_nobody_asks_for_again() {
        let sets = UnionFind::new();
        for (item, marks) in [(0, Marks(1)), (1, Marks(3)), (2, Marks::NONE)] {
            sets.begin(Item(item), Node(7));
            sets.add_marks(Item(item), marks);
        }
        sets.begin(Item(3), Node(8));
        sets.unite(Item(2), Item(3));
        for item in 0..4 {
            sets.finish(Item(item));
        }
        let dead = |item: u32| sets.pick(Item(item), false, Marks(3));
        assert_eq!(dead(0), Pick::Dead(Some(Item(0))));
        assert_eq!(dead(1), Pick::Dead(None));
        assert_eq!(dead(2), Pick::Dead(None));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Two workers unite the same three nodes in different orders, while they claim them:
    /// no claim, mark or busy node is lost.
    #[test]
    fn nothing_is_lost_when_sets_are_united() {
        loom::model(|| {
            let sets = Arc::new(UnionFind::new());
            for item in 0..3 {
                sets.begin(Item(item), Node(u64::from(item)));
            }
            let other = Arc::clone(&sets);
            let thread = thread::spawn(move || {
                assert_eq!(other.claim(Item(0), 1), Claim::New);
                other.unite(Item(0), Item(1));
                other.add_marks(Item(0), Marks(1));
                assert_eq!(other.claim(Item(1), 1), Claim::Known);
            });
            assert_eq!(sets.claim(Item(2), 0), Claim::New);
            sets.unite(Item(2), Item(1));
            sets.add_marks(Item(2), Marks(2));
            assert_eq!(sets.claim(Item(1), 0), Claim::Known);
            assert!(thread.join().is_ok());
            assert!(sets.same_set(Item(0), Item(2)));
            assert_eq!(sets.add_marks(Item(1), Marks::NONE), Marks(3));
            let mut left = 0;
            while let Pick::Node(item) = sets.pick(Item(0), false, Marks(3)) {
                assert!(sets.finish(item));
                left += 1;
            }
            assert_eq!(left, 3);
        });
    }

    /// A worker that has been in a set finds its own node there: otherwise it would take edges
    /// for cycles, and unite what is not together.
    #[test]
    fn a_known_set_holds_a_node_of_the_worker() {
        loom::model(|| {
            let sets = Arc::new(UnionFind::new());
            for item in 0..2 {
                sets.begin(Item(item), Node(u64::from(item)));
                sets.claim(Item(item), item as usize);
            }
            let other = Arc::clone(&sets);
            let thread = thread::spawn(move || other.unite(Item(0), Item(1)));
            for (item, own) in [(0, 1), (1, 0)] {
                if sets.claim(Item(item), own) == Claim::Known {
                    assert!(sets.same_set(Item(0), Item(1)));
                }
            }
            assert!(thread.join().is_ok());
        });
    }

    /// A set is not declared dead while a node that was merged into it is busy.
    #[test]
    fn a_set_with_busy_nodes_is_alive() {
        loom::model(|| {
            let sets = Arc::new(UnionFind::new());
            sets.begin(Item(0), Node(0));
            sets.begin(Item(1), Node(1));
            sets.claim(Item(0), 0);
            sets.claim(Item(1), 1);
            let other = Arc::clone(&sets);
            let thread = thread::spawn(move || {
                other.unite(Item(0), Item(1));
                other.finish(Item(0));
            });
            let picked = sets.pick(Item(1), false, Marks(1));
            assert!(matches!(picked, Pick::Node(_)), "{picked:?}");
            assert!(thread.join().is_ok());
            assert_eq!(sets.pick(Item(0), false, Marks(1)), Pick::Node(Item(1)));
        });
    }
}
