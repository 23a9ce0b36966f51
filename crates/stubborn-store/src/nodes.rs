//! The shared table of inner tree nodes: pairs of 32-bit values under stable
//! 32-bit ids.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::hash::hash_pair;
use crate::index::Index;
use crate::quotient::NoRoom;
use crate::region::{Region, prefetch};
use crate::sync::{AtomicU64, Ordering, OwnLine};
use std::sync::Arc;

/// The id of a pair in a [`NodeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    /// An id that no node has.
    pub(crate) const NONE: NodeId = NodeId(u32::MAX);
    /// Two ids as the contents of the node above them.
    #[inline(always)]
    pub(crate) fn pair([left, right]: [NodeId; 2]) -> u64 {
        u64::from(left.0) | u64::from(right.0) << 32
    }

    /// The number of ids.
    const COUNT: usize = u32::MAX as usize;
}

/// Ids that a thread has reserved and not used yet. Threads take them by the
/// dozen, so that they seldom meet at the counter, and do not write to the same
/// cache lines at the same time.
#[derive(Debug, Default)]
pub(crate) struct SpareIds(std::ops::Range<u32>);

impl SpareIds {
    /// How many a thread takes at once: four cache lines of nodes.
    const AT_ONCE: u64 = if cfg!(loom) { 2 } else { 32 };
}

/// A concurrent, growing set of pairs that gives each an id for ever.
///
/// One table serves all inner nodes of all tree positions: a pair of words at
/// the bottom and a pair of ids further up may share an entry, since the
/// position in the tree says how to read it.
pub(crate) struct NodeTable {
    index: Index,
    nodes: Region<AtomicU64>,
    /// The first id that no thread has reserved; it may run past the capacity
    /// when several threads find the table full at once.
    next: OwnLine<AtomicU64>,
    budget: Arc<MemoryBudget>,
}

impl NodeTable {
    /// A table with room for `capacity` nodes.
    pub(crate) fn new(budget: &Arc<MemoryBudget>, capacity: usize) -> Result<Self, OutOfMemory> {
        let capacity = capacity.clamp(1, NodeId::COUNT);
        Ok(Self {
            index: Index::new(budget, capacity)?,
            nodes: Region::new(budget, capacity)?,
            next: OwnLine(AtomicU64::new(0)),
            budget: Arc::clone(budget),
        })
    }

    /// The number of nodes, with the ids that threads have in reserve.
    pub(crate) fn len(&self) -> usize {
        (self.next.load(Ordering::Relaxed) as usize).min(self.nodes.len())
    }

    /// Whether no ids are left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.len() >= NodeId::COUNT
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.index.bytes() + self.nodes.bytes()
    }

    /// Starts to fetch the place of a pair with this hash.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Starts to fetch the contents of the node with this hash, if its place was fetched.
    #[inline(always)]
    pub(crate) fn prefetch_candidate(&self, hash: u64) {
        self.prefetch_node(NodeId(self.index.candidate(hash)));
    }

    /// Starts to fetch the contents of a node.
    #[inline(always)]
    pub(crate) fn prefetch_node(&self, id: NodeId) {
        if let Some(node) = self.nodes.get(id.0 as usize) {
            prefetch(node);
        }
    }

    /// The pair with this id. The id must come from [`insert`](Self::insert).
    #[inline(always)]
    pub(crate) fn get(&self, id: NodeId) -> [u32; 2] {
        Self::halves(&self.nodes[id.0 as usize])
    }

    /// All nodes by id, for who wants several.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[AtomicU64] {
        &self.nodes
    }

    /// The pair in a node.
    #[inline(always)]
    pub(crate) fn halves(node: &AtomicU64) -> [u32; 2] {
        let pair = node.load(Ordering::Relaxed);
        [pair as u32, (pair >> 32) as u32]
    }

    /// The hash of a pair: the left half in the low bits.
    #[inline(always)]
    pub(crate) fn hash(pair: u64) -> u64 {
        hash_pair(pair)
    }

    /// The id of `pair`, which hashes to `hash`.
    #[inline]
    pub(crate) fn insert(
        &self,
        pair: u64,
        hash: u64,
        spare: &mut SpareIds,
    ) -> Result<NodeId, NoRoom> {
        let is_it = |number: u32| self.nodes[number as usize].load(Ordering::Relaxed) == pair;
        let create = || {
            let number = match spare.0.next() {
                Some(number) => number,
                None => self.reserve(spare)?,
            };
            self.nodes[number as usize].store(pair, Ordering::Relaxed);
            Ok(number)
        };
        self.index
            .find_or_add(hash, is_it, create)
            .map(|(number, _)| NodeId(number))
    }

    /// Takes more ids into reserve, and gives out the first.
    #[cold]
    fn reserve(&self, spare: &mut SpareIds) -> Result<u32, NoRoom> {
        let capacity = self.nodes.len() as u64;
        let first = self.next.fetch_add(SpareIds::AT_ONCE, Ordering::Relaxed);
        let end = (first + SpareIds::AT_ONCE).min(capacity);
        spare.0 = first.min(capacity) as u32..end as u32;
        spare.0.next().ok_or(NoRoom)
    }

    /// The id of `pair`, which hashes to `hash`, if it has one.
    pub(crate) fn find(&self, pair: u64, hash: u64) -> Option<NodeId> {
        let is_it = |number: u32| self.nodes[number as usize].load(Ordering::Relaxed) == pair;
        let found = self.index.find_or_add(hash, is_it, || Err(NoRoom));
        found.ok().map(|(number, _)| NodeId(number))
    }

    /// All pairs in the order of their ids. An id that no pair has shows as `[0, 0]`.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = u64> {
        let nodes = self.nodes[..self.len()].iter();
        nodes.map(|node| node.load(Ordering::Relaxed))
    }

    /// A table whose first `count` ids are taken, each for the pair that it is
    /// [given](Self::give).
    pub(crate) fn with_ids(budget: &Arc<MemoryBudget>, count: usize) -> Result<Self, OutOfMemory> {
        let mut table = Self::new(budget, count.saturating_add(count / 8 + 64))?;
        table.next = OwnLine(AtomicU64::new(count as u64));
        Ok(table)
    }

    /// Gives an id to a pair, with nobody else around; false if the pair has one.
    pub(crate) fn give(&mut self, id: NodeId, pair: u64) -> bool {
        self.nodes[id.0 as usize].store(pair, Ordering::Relaxed);
        let is_it = |number: u32| self.nodes[number as usize].load(Ordering::Relaxed) == pair;
        let added = self.index.find_or_add(hash_pair(pair), is_it, || Ok(id.0));
        added == Ok((id.0, true))
    }

    /// Takes more memory for nodes, little by little: that is cheap. Only where the index is full it grows
    /// by `factor`, but no further than there are ids, with the help of others.
    pub(crate) fn grow(&mut self, factor: f64, helpers: Helpers<'_>) -> Result<(), OutOfMemory> {
        let (count, capacity) = (self.len(), self.nodes.len());
        if self.index.capacity() <= capacity + capacity / 64 {
            let larger = ((capacity as f64 * factor) as usize).max(capacity + 1);
            let larger = larger.min(NodeId::COUNT);
            let hash_of =
                |number: u32| hash_pair(self.nodes[number as usize].load(Ordering::Relaxed));
            self.index = self.index.resized(&self.budget, larger, helpers, hash_of)?;
        }
        let more = capacity + capacity / Self::PARTS + 1;
        self.nodes
            .extend(more.min(self.index.capacity()).min(NodeId::COUNT))?;
        self.next = OwnLine(AtomicU64::new(count as u64));
        Ok(())
    }

    /// The memory for nodes grows by the inverse of this.
    const PARTS: usize = 16;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn ids_are_stable_while_the_table_grows() {
        let budget = MemoryBudget::unlimited();
        let mut table = NodeTable::new(&budget, 10).unwrap();
        let mut model = HashMap::new();
        let mut spare = SpareIds::default();
        for step in 0..30_000u32 {
            let halves = [step % 173, step.wrapping_mul(step) % 301];
            let pair = NodeId::pair(halves.map(NodeId));
            let id = loop {
                match table.insert(pair, NodeTable::hash(pair), &mut spare) {
                    Ok(id) => break id,
                    Err(NoRoom) => table.grow(1.2, Helpers::none_of(2)).unwrap(),
                }
            };
            assert_eq!(*model.entry(pair).or_insert(id), id);
            assert_eq!(table.get(id), halves);
        }
        assert_eq!(table.len() - spare.0.len(), model.len());
        let pair_of = |id| NodeId::pair(table.get(id).map(NodeId));
        assert!(model.iter().all(|(pair, id)| pair_of(*id) == *pair));
    }

    #[test]
    fn a_refused_growth_keeps_everything() {
        let budget = MemoryBudget::new(30_000);
        let mut table = NodeTable::new(&budget, 1000).unwrap();
        let mut spare = SpareIds::default();
        for value in 1..=1000 {
            table
                .insert(value, NodeTable::hash(value), &mut spare)
                .unwrap();
        }
        assert_eq!(table.insert(0, NodeTable::hash(0), &mut spare), Err(NoRoom));
        assert!(table.grow(4.0, Helpers::none_of(1)).is_err());
        assert_eq!(table.len(), 1000);
        for value in 1..=1000 {
            assert_eq!(
                table.insert(value, NodeTable::hash(value), &mut spare),
                Ok(NodeId(value as u32 - 1))
            );
        }
        assert_eq!(table.insert(0, NodeTable::hash(0), &mut spare), Err(NoRoom));
    }
}
