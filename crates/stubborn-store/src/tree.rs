//! Tree compression: a state is a binary tree of pairs, equal sub-trees are
//! stored once, and a state is the pair at its root.
//!
//! After Laarman, van de Pol, Weber, "Parallel recursive state compression for
//! free" (2011), with the roots in a quotient table as in Laarman, "Optimal
//! compression of combinatorial state vectors" (2019).
//!
//! The tree has the shape of a binary heap: position 1 is the root, the children
//! of `p` are `2p` and `2p + 1`, and with `n` leaves the positions `n .. 2n` are
//! leaves of two words each (an odd last word is paired with zero; vectors of up to
//! six words have leaves of their own, see [`Shape`]). All nodes but
//! the root live in one [`NodeTable`] under ids that never change; the root is
//! the pair of the ids at positions 2 and 3. That pair is the state's handle: it
//! says where the state's words are without a look at the root table, and it
//! survives the growth of every table.
//!
//! Insertion is incremental. A [`Cursor`](crate::Cursor) knows the ids at all
//! positions of the state it was loaded with; a successor that changes a few
//! words needs the changed leaves and the positions above them (see
//! [`TreePlan`]). So an insertion costs as
//! many lookups as there are nodes on the paths from changed words, whatever the
//! width. Loading is incremental as well: sub-trees with the ids that the cursor
//! already has are skipped.
//!
//! Batches advance all their insertions by one step a round: hash and prefetch
//! for all, then look up for all.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::nodes::{NodeId, NodeTable, SpareIds};
use crate::plan::TreePlan;
use crate::quotient::{NoRoom, QuotientTable};
use crate::saved::{Ids, Sink, Source, damaged, read_entries, refused, write_entries};
use crate::shape::{Shape, Spot};
use crate::store::{Inserted, StateHandle, StoreError};
use std::sync::Arc;

/// Node ids start with this many bits in the root table; it is made wider when
/// they outgrow it. (The width sets the least size of the root table: 256 KiB at
/// 24 bits, four times as much for each further bit, always far less than the
/// nodes that need it. And it sets from when on entries are small ones: from 600
/// thousand states on at 22 bits, sixteen times as many at 24.)
#[cfg(not(any(test, loom)))]
const ID_BITS: [u32; 9] = [22, 24, 26, 27, 28, 29, 30, 31, 32];
// Unit tests have few nodes, and shall see tables become wider.
#[cfg(any(test, loom))]
const ID_BITS: [u32; 4] = [4, 8, 14, 20];

/// Roots that there is room for from the start, in 256 KiB: less would be copied again and again.
const FEWEST_ROOTS: u64 = if cfg!(any(test, loom)) { 1 } else { 33_000 };

/// What must grow before an insertion can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The node table.
    Nodes,
    /// The root table.
    Roots,
    /// The width of keys in the root table.
    Keys,
}

/// The tables of a tree store.
pub(crate) struct Tree {
    shape: Shape,
    nodes: NodeTable,
    roots: QuotientTable,
}

impl Tree {
    /// Tables for about `capacity` states.
    pub(crate) fn new(
        budget: &Arc<MemoryBudget>,
        shape: Shape,
        capacity: u64,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            nodes: NodeTable::new(budget, capacity as usize / 8 + 4 * shape.positions())?,
            shape,
            roots: QuotientTable::new(budget, 2 * ID_BITS[0], capacity.max(FEWEST_ROOTS))?,
        })
    }

    /// The tree of all vectors.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.roots.bytes()
    }

    /// Nodes below the roots, with some that will be made.
    pub(crate) fn parts(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// The number of states from which on the root table should grow.
    pub(crate) fn limit(&self) -> u64 {
        self.roots.limit()
    }

    /// The key of a root in the root table.
    #[inline(always)]
    fn key([left, right]: [u32; 2], bits: u32) -> Result<u64, Shortage> {
        let half = bits / 2;
        if half < 32 && (left | right) >> half != 0 {
            return Err(Shortage::Keys);
        }
        Ok(u64::from(left) << half | u64::from(right))
    }

    #[inline(always)]
    fn handle([left, right]: [u32; 2]) -> StateHandle {
        StateHandle::from_bits(u64::from(left) << 32 | u64::from(right))
    }

    #[inline(always)]
    fn root(handle: StateHandle) -> [u32; 2] {
        [(handle.to_bits() >> 32) as u32, handle.to_bits() as u32]
    }

    /// The hash of a stored state's root.
    #[inline]
    fn root_hash(&self, handle: StateHandle) -> Option<u64> {
        Some(
            self.roots
                .hash(Self::key(Self::root(handle), self.roots.bits()).ok()?),
        )
    }

    /// Does all insertions of a batch that are not `done` yet, in order; `tell` hears what becomes of
    /// them. When it stops with a shortage it can be called again and goes on from there.
    #[inline(always)]
    pub(crate) fn insert(
        &self,
        plan: &mut TreePlan,
        spare: &mut SpareIds,
        done: &mut usize,
        mut tell: impl FnMut(Inserted),
    ) -> Result<(), Shortage> {
        self.climb(plan, spare).map_err(|NoRoom| Shortage::Nodes)?;
        let roots = &plan.roots[*done..];
        let half = self.roots.bits() / 2;
        let all = roots.iter().fold(0, |all, root| all | root | root >> 32);
        if half < 32 && all as u32 >> half != 0 {
            return Err(Shortage::Keys);
        }
        // The left half comes first in keys and handles.
        *done += self.roots.insert_pairs(roots, |root, flags, is_new| {
            let handle = StateHandle::from_bits(root.rotate_left(32));
            tell(Inserted {
                handle,
                is_new,
                flags,
            });
        });
        match *done == plan.roots.len() {
            true => Ok(()),
            false => Err(Shortage::Roots),
        }
    }

    /// Finds the ids of all states of a batch, which are not stored by that.
    pub(crate) fn name(&self, plan: &mut TreePlan, spare: &mut SpareIds) -> Result<(), Shortage> {
        self.climb(plan, spare).map_err(|NoRoom| Shortage::Nodes)?;
        plan.end_climbs();
        Ok(())
    }

    /// Brings all insertions of a batch to their roots.
    fn climb(&self, plan: &mut TreePlan, spare: &mut SpareIds) -> Result<(), NoRoom> {
        plan.pending.clear();
        for number in 0..plan.climbs() {
            if let Some(hash) = self.climb_by_memory(plan, number) {
                plan.pending.push((number, hash));
            }
        }
        while !plan.pending.is_empty() {
            let mut kept = 0;
            for at in 0..plan.pending.len() {
                if let Some((_, soon)) = plan.pending.get(at + Self::SOON) {
                    self.nodes.prefetch_candidate(*soon);
                }
                let (number, hash) = plan.pending[at];
                let id = self.nodes.insert(plan.unknown(number), hash, spare)?;
                plan.found(number, id);
                if let Some(hash) = self.climb_by_memory(plan, number) {
                    plan.pending[kept] = (number, hash);
                    kept += 1;
                }
            }
            plan.pending.truncate(kept);
        }
        Ok(())
    }

    /// So many lookups before its turn, the node that may be it is fetched.
    const SOON: usize = 4;

    /// Goes up as far as the memory knows the nodes. Returns the hash of the
    /// first unknown one, whose place is being fetched, or `None` at the root.
    #[inline(always)]
    fn climb_by_memory(&self, plan: &mut TreePlan, number: usize) -> Option<u64> {
        plan.climb(number).map(|pair| {
            let hash = NodeTable::hash(pair);
            self.nodes.prefetch(hash);
            hash
        })
    }

    /// Whether the one state of a plan is stored; adds nothing.
    pub(crate) fn contains(&self, plan: &mut TreePlan) -> bool {
        while let Some(pair) = (plan.climbs() > 0).then(|| plan.climb(0)).flatten() {
            match self.nodes.find(pair, NodeTable::hash(pair)) {
                Some(id) => plan.found(0, id),
                None => return false,
            }
        }
        let handle = StateHandle::from_bits(plan.roots[0].rotate_left(32));
        let key = Self::key(Self::root(handle), self.roots.bits());
        key.is_ok_and(|key| self.roots.flags(self.roots.hash(key)).is_some())
    }

    /// Fills `words` with a state; `known` says which ids are there already, and
    /// is updated. The handle must be one that this tree gave out.
    #[inline]
    pub(crate) fn load(&self, handle: StateHandle, known: &mut [NodeId], words: &mut [u32]) {
        let (pairs, _) = known.as_chunks_mut::<2>();
        let (nodes, targets) = (self.nodes.all(), self.shape.targets());
        // Positions whose ids are other ones than before. Only the first ones have bits here;
        // below them a stack does it.
        let mut others = Self::replace(pairs, 1, Self::root(handle));
        while others != 0 {
            let position = others.trailing_zeros() as usize;
            others &= others - 1;
            let id = pairs.as_flattened()[position];
            let node = NodeTable::halves(&nodes[id.0 as usize]);
            if Shape::fill(targets, position, node, words) {
                continue;
            }
            if 2 * position + 1 < Self::FLAT_POSITIONS {
                others |= Self::replace(pairs, position, node);
            } else {
                self.load_below(position, node, pairs, words);
            }
        }
    }

    /// Positions of a heap that have bits.
    const FLAT_POSITIONS: usize = if cfg!(test) { 16 } else { 64 };

    /// Puts the ids of two children in their place. Returns the bits of those that are others
    /// than before, of positions that have bits.
    #[inline(always)]
    fn replace(pairs: &mut [[NodeId; 2]], parent: usize, ids: [u32; 2]) -> u64 {
        let before = std::mem::replace(&mut pairs[parent], [NodeId(ids[0]), NodeId(ids[1])]);
        let left = u64::from(before[0].0 != ids[0]);
        let right = u64::from(before[1].0 != ids[1]);
        (left | right << 1) << (2 * parent % 64)
    }

    /// The same for everything below one node, which is no leaf and has these children.
    #[inline(never)]
    fn load_below(
        &self,
        position: usize,
        children: [u32; 2],
        pairs: &mut [[NodeId; 2]],
        words: &mut [u32],
    ) {
        // The stack of a depth-first walk of a heap: one sibling per level.
        let mut stack = [(0, NodeId::NONE); 34];
        let [left, right] = children.map(NodeId);
        (stack[0], stack[1]) = ((2 * position + 1, right), (2 * position, left));
        let mut height = 2;
        while height > 0 {
            height -= 1;
            let (position, id) = stack[height];
            let before = &mut pairs[position / 2][position % 2];
            if std::mem::replace(before, id) == id {
                continue;
            }
            let node = self.nodes.get(id);
            if !Shape::fill(self.shape.targets(), position, node, words) {
                let [left, right] = node.map(NodeId);
                stack[height] = (2 * position + 1, right);
                stack[height + 1] = (2 * position, left);
                height += 2;
            }
        }
    }

    /// Starts to fetch what [`load`](Self::load) needs first.
    pub(crate) fn prefetch(&self, handle: StateHandle) {
        for id in Self::root(handle) {
            self.nodes.prefetch_node(NodeId(id));
        }
    }

    /// The flags of a state.
    #[inline]
    pub(crate) fn flags(&self, handle: StateHandle) -> Option<u8> {
        self.roots.flags(self.root_hash(handle)?)
    }

    /// Sets flags, and returns those before.
    #[inline]
    pub(crate) fn set_flags(&self, handle: StateHandle, flags: u8) -> Option<u8> {
        self.roots.set_flags(self.root_hash(handle)?, flags)
    }

    /// Clears flags, and returns those before.
    #[inline]
    pub(crate) fn clear_flags(&self, handle: StateHandle, flags: u8) -> Option<u8> {
        self.roots.clear_flags(self.root_hash(handle)?, flags)
    }

    /// Whether there is a state with this handle.
    pub(crate) fn holds(&self, handle: StateHandle) -> bool {
        self.flags(handle).is_some()
    }

    /// Writes its shape, all nodes in the order of their ids, then all roots with their flags.
    pub(crate) fn save(&self, len: u64, sink: &mut Sink<'_>) -> std::io::Result<()> {
        // Ids that threads have in reserve look as if they were `[0, 0]`, too.
        let zero = self.nodes.find(0, NodeTable::hash(0));
        self.shape.save(sink)?;
        sink.number(self.nodes.len() as u64)?;
        sink.number(zero.unwrap_or(NodeId::NONE).0.into())?;
        sink.numbers(self.nodes.pairs())?;
        sink.number(len)?;
        write_entries(sink, &self.roots, |hash| self.handle_of(hash).to_bits())
    }

    /// The state with this hash in the table of roots.
    fn handle_of(&self, hash: u64) -> StateHandle {
        let half = self.roots.bits() / 2;
        let low = u64::MAX >> (64 - half);
        let key = self.roots.key(hash);
        Self::handle([(key >> half) as u32, (key & low) as u32])
    }

    /// Shows all states with their flags.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(StateHandle, u8) -> bool) {
        self.roots
            .for_each(|hash, flags| visit(self.handle_of(hash), flags));
    }

    /// The tables that [`save`](Self::save) wrote, and how many states they have.
    pub(crate) fn restore(
        budget: &Arc<MemoryBudget>,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::io::Result<(Self, u64)> {
        let shape = Shape::restore(width, source)?;
        let count = source.count(8)?;
        let zero = source.number()?;
        // At least one id is left for what comes.
        if count >= u32::MAX as usize || zero >= count as u64 && zero != u64::from(u32::MAX) {
            return Err(damaged("more nodes than there are numbers"));
        }
        let mut nodes = NodeTable::with_ids(budget, count).map_err(refused)?;
        let mut used = Ids::new(count);
        let mut id = 0;
        source.numbers(count, |pair| {
            if pair != 0 || zero == u64::from(id) {
                used.insert(id);
                if !nodes.give(NodeId(id), pair) {
                    return Err(damaged("a node is there twice"));
                }
            }
            id += 1;
            Ok(())
        })?;
        let states = source.count(9)?;
        let bits = ID_BITS.into_iter().find(|bits| count >> bits == 0);
        let bits = 2 * bits.ok_or_else(|| damaged("too many nodes"))?;
        let capacity = FEWEST_ROOTS.max(states as u64);
        let mut roots = QuotientTable::new(budget, bits, capacity).map_err(refused)?;
        let mut halves = [Ids::new(count), Ids::new(count)];
        read_entries(source, states, |handle, flags| {
            let root = Self::root(StateHandle::from_bits(handle));
            for (half, id) in halves.iter_mut().zip(root) {
                if !half.insert(id) {
                    return Err(damaged("a state has parts that are not there"));
                }
            }
            let key = Self::key(root, bits).map_err(|_| damaged("a root is too wide"))?;
            match roots.add(roots.hash(key), flags).map_err(refused)? {
                true => Ok(()),
                false => Err(damaged("a state is there twice")),
            }
        })?;
        let tree = Self {
            shape,
            nodes,
            roots,
        };
        for (position, ids) in [2, 3].into_iter().zip(halves) {
            tree.verify(position, &ids, &used)?;
        }
        Ok((tree, states as u64))
    }

    /// Whether the nodes that states have at a position of the heap, and all below them, are
    /// there.
    fn verify(&self, position: usize, ids: &Ids, used: &Ids) -> std::io::Result<()> {
        let missing = || damaged("a state has parts that are not there");
        if !ids.is_subset_of(used) {
            return Err(missing());
        }
        if let Spot::Leaf(_) = self.shape.spot(position) {
            return Ok(());
        }
        let mut below = [Ids::new(self.nodes.len()), Ids::new(self.nodes.len())];
        for id in ids.iter() {
            for (half, id) in below.iter_mut().zip(self.nodes.get(NodeId(id))) {
                half.insert(id).then_some(()).ok_or_else(missing)?;
            }
        }
        let [left, right] = below;
        self.verify(2 * position, &left, used)?;
        drop(left);
        self.verify(2 * position + 1, &right, used)
    }

    /// Makes room.
    pub(crate) fn grow(
        &mut self,
        shortage: Shortage,
        factor: f64,
        helpers: Helpers<'_>,
    ) -> Result<(), StoreError> {
        match shortage {
            Shortage::Nodes if self.nodes.is_exhausted() => return Err(StoreError::Full),
            Shortage::Nodes => self.nodes.grow(factor, helpers)?,
            Shortage::Roots => self.roots.grow(factor, helpers)?,
            Shortage::Keys => {
                let old = self.roots.bits() / 2;
                let new = ID_BITS
                    .into_iter()
                    .find(|bits| *bits > old)
                    .ok_or(StoreError::Full)?;
                let low = (1u64 << old) - 1;
                let wider = |key| (key >> old) << new | key & low;
                self.roots.widen(2 * new, helpers, wider)?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn handles_and_flags_survive_wider_keys() {
        use crate::{Store, StoreOptions};
        let store = Store::new(6, &StoreOptions::default(), &MemoryBudget::unlimited()).unwrap();
        let mut worker = store.worker();
        let blank = store.cursor();
        let state = |number: u32| [number, number % 3, number * number, 1, number / 5, 2];
        let mut handles = Vec::new();
        // Enough nodes for all the widths in `ID_BITS`.
        for number in 0..40_000u32 {
            let inserted = worker.insert(&blank, &state(number), None).unwrap();
            assert!(inserted.is_new);
            worker.set_flags(inserted.handle, number as u8 & 63);
            handles.push(inserted.handle);
        }
        let mut cursor = store.cursor();
        for (number, handle) in (0..).zip(handles) {
            worker.load(handle, &mut cursor).unwrap();
            assert_eq!(cursor.words(), state(number));
            assert_eq!(worker.flags(handle), number as u8 & 63);
        }
    }
}
