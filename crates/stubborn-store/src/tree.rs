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
//! words is a short list of [`Step`]s: the changed leaves, then the positions
//! above them, each a pair of which some halves are known (from the cursor) and
//! the others will be when an earlier step is done. So an insertion costs as
//! many lookups as there are nodes on the paths from changed words, whatever the
//! width. Loading is incremental as well: sub-trees with the ids that the cursor
//! already has are skipped.
//!
//! Batches advance all their insertions by one step a round: hash and prefetch
//! for all, then look up for all.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::nodes::{NodeId, NodeTable, SpareIds};
use crate::quotient::{NoRoom, QuotientTable};
use crate::saved::{Ids, Sink, Source, damaged, read_entries, refused, write_entries};
use crate::store::{Inserted, StateHandle, StoreError};
use std::sync::Arc;

/// Node ids start with this many bits in the root table; it is made wider when
/// they outgrow it. (The width sets the least size of the root table: 256 KiB at
/// 24 bits, four times as much for each further bit, always far less than the
/// nodes that need it.)
#[cfg(not(any(test, loom)))]
const ID_BITS: [u32; 8] = [24, 26, 27, 28, 29, 30, 31, 32];
// Unit tests have few nodes, and shall see tables become wider.
#[cfg(any(test, loom))]
const ID_BITS: [u32; 4] = [4, 8, 14, 20];

/// One node to look up on the way from changed words to the root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Position in the heap.
    position: u32,
    /// Which half of which step the id of this node goes to: twice the number of
    /// the step, plus one for the right half.
    receiver: u32,
    /// Words of a leaf, or ids of the children.
    halves: [u32; 2],
}

/// Where the words of a state are in its tree.
///
/// Wide vectors have neighbours in one leaf: they belong to one process and change
/// together. A narrow vector has few nodes below its root, and what counts is that
/// neither half has nearly as many values as there are states. Shared variables come
/// first in a vector and processes after them, so every other word goes to the other
/// half: each gets a share of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    width: usize,
    leaves: usize,
    narrow: Option<&'static [LeafWords]>,
}

/// The words of a leaf.
type LeafWords = [usize; 2];

/// In place of a word where a leaf has only one.
const NO_WORD: usize = usize::MAX;

/// The leaves of vectors of two words and more. The first half of the root has the
/// leaves under position 2: with three leaves the last two, else the first ones.
const NARROW: [&[LeafWords]; 5] = [
    &[[0, NO_WORD], [1, NO_WORD]],
    &[[0, 2], [1, NO_WORD]],
    &[[0, 2], [1, 3]],
    &[[1, 3], [0, 2], [4, NO_WORD]],
    &[[0, 2], [4, NO_WORD], [1, 3], [5, NO_WORD]],
];

impl Shape {
    /// The tree of vectors of `width` words, at least two.
    pub(crate) fn new(width: usize) -> Self {
        debug_assert!(width >= 2, "single words are stored plainly");
        let narrow = NARROW.get(width.wrapping_sub(2)).copied();
        Self {
            width,
            leaves: narrow.map_or(width.div_ceil(2), <[_]>::len),
            narrow,
        }
    }

    /// The words of a leaf; the second may be none of the vector's.
    #[inline(always)]
    fn words_of(&self, leaf: usize) -> LeafWords {
        match self.narrow {
            Some(leaves) => leaves[leaf],
            None => [2 * leaf, 2 * leaf + 1],
        }
    }

    /// Positions of the heap; position 0 is not used.
    pub(crate) fn positions(&self) -> usize {
        2 * self.leaves
    }

    fn leaf_step(&self, words: &[u32], leaf: usize) -> Step {
        let [left, right] = self.words_of(leaf);
        Step {
            position: (self.leaves + leaf) as u32,
            receiver: 0,
            halves: [words[left], words.get(right).copied().unwrap_or(0)],
        }
    }

    /// Appends the steps for a state that differs from the cursor's state (its
    /// node ids are `known`) at most in the leaves that `changed` yields, which
    /// come in descending order without repetition. The root comes last.
    #[inline(always)]
    pub(crate) fn plan(
        &self,
        known: &[NodeId],
        words: &[u32],
        changed: impl Iterator<Item = usize>,
        steps: &mut Vec<Step>,
    ) {
        let first = steps.len();
        for leaf in changed {
            steps.push(self.leaf_step(words, leaf));
        }
        self.plan_upwards(known, first, steps);
    }

    /// Appends the steps above the changed leaves.
    fn plan_upwards(&self, known: &[NodeId], first: usize, steps: &mut Vec<Step>) {
        let Some(last) = steps[first..].last() else {
            // Nothing changed: the successor is the state itself.
            steps.push(Step {
                position: 1,
                receiver: 0,
                halves: [known[2].0, known[3].0],
            });
            return;
        };
        // The list is its own work list. Positions descend in it, so those of
        // the parents do, and siblings are neighbours.
        let mut newest = last.position;
        let mut at = first;
        while steps[at].position != 1 {
            let position = steps[at].position;
            let parent = position / 2;
            if newest != parent {
                newest = parent;
                let child = 2 * parent as usize;
                let halves = [known[child].0, known[child + 1].0];
                steps.push(Step {
                    position: parent,
                    receiver: 0,
                    halves,
                });
            }
            steps[at].receiver = 2 * (steps.len() - 1) as u32 + position % 2;
            at += 1;
        }
    }

    /// All leaves, in descending order.
    pub(crate) fn all_leaves(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.leaves).rev()
    }

    /// The leaves with a word whose bit is set in `mask`, in descending order.
    #[inline(always)]
    pub(crate) fn leaves_in_mask<'a>(
        &self,
        mask: &'a [u64],
    ) -> impl Iterator<Item = usize> + use<'a> {
        let width = self.width;
        // Bit `2l` stands for leaf `l`.
        let (mut block, mut pairs) = (mask.len(), 0u64);
        if let Some(leaves) = self.narrow {
            let bits = mask.first().copied().unwrap_or(0);
            for (leaf, words) in leaves.iter().enumerate() {
                let in_mask = |word: usize| word < width && bits >> word & 1 == 1;
                pairs |= u64::from(words.iter().any(|word| in_mask(*word))) << (2 * leaf);
            }
            block = 0;
        }
        std::iter::from_fn(move || {
            while pairs == 0 {
                block = block.checked_sub(1)?;
                let excess = ((block + 1) * 64).saturating_sub(width).min(64) as u32;
                let bits = mask[block] & u64::MAX.checked_shr(excess).unwrap_or(0);
                // One bit for each pair of words.
                pairs = (bits | bits >> 1) & 0x5555_5555_5555_5555;
            }
            let highest = pairs.ilog2();
            pairs ^= 1 << highest;
            Some(block * 32 + highest as usize / 2)
        })
    }

    /// The leaves in which two vectors differ, in descending order.
    pub(crate) fn differing_leaves<'a>(
        &self,
        before: &'a [u32],
        after: &'a [u32],
    ) -> impl Iterator<Item = usize> + use<'a> {
        let shape = *self;
        let differs = move |word: usize| before.get(word) != after.get(word);
        self.all_leaves()
            .filter(move |leaf| shape.words_of(*leaf).into_iter().any(differs))
    }
}

/// The steps of one insertion: `next` is the one to do, `last` the root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climb {
    pub(crate) next: u32,
    pub(crate) last: u32,
}

/// Scratch space for the hashes of a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    pending: Vec<(u32, u64)>,
}

/// What a thread keeps from one insertion to the next: ids for new nodes, and a
/// memory of nodes that it looked up lately, a small direct-mapped cache. Ids
/// never change, so nothing in it becomes wrong.
///
/// Most changed leaves and many nodes above them recur soon, and this spares two
/// lines of shared memory each.
pub(crate) struct Memo {
    entries: Box<[Remembered]>,
    spare: SpareIds,
}

/// One line of the memory.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Remembered {
    pair: u64,
    id: NodeId,
}

impl Memo {
    /// Entries: 256 KiB. Of the sizes from 16 KiB on this was the fastest, by up
    /// to a fifth, on a processor with 1 MiB of second-level cache.
    const SIZE_BITS: u32 = if cfg!(loom) { 3 } else { 14 };

    /// An empty memory.
    pub(crate) fn new() -> Self {
        let nothing = Remembered {
            pair: 0,
            id: NodeId::NONE,
        };
        Self {
            entries: vec![nothing; 1 << Self::SIZE_BITS].into(),
            spare: SpareIds::default(),
        }
    }

    #[inline(always)]
    fn slot([left, right]: [u32; 2]) -> (u64, usize) {
        let pair = u64::from(left) | u64::from(right) << 32;
        let spread = (pair ^ pair >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (pair, (spread >> (64 - Self::SIZE_BITS)) as usize)
    }

    #[inline(always)]
    fn get(&self, pair: [u32; 2]) -> Option<NodeId> {
        let (pair, slot) = Self::slot(pair);
        let known = self.entries[slot];
        (known.pair == pair && known.id != NodeId::NONE).then_some(known.id)
    }

    #[inline(always)]
    fn put(&mut self, pair: [u32; 2], id: NodeId) {
        let (pair, slot) = Self::slot(pair);
        self.entries[slot] = Remembered { pair, id };
    }
}

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
        width: usize,
        capacity: u64,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            shape: Shape::new(width),
            nodes: NodeTable::new(budget, capacity as usize / 8 + 4 * width)?,
            roots: QuotientTable::new(budget, 2 * ID_BITS[0], capacity)?,
        })
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.roots.bytes()
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

    /// Does all insertions of a batch that are not done yet, in order. When it
    /// stops with a shortage it can be called again and goes on from there.
    pub(crate) fn insert(
        &self,
        steps: &mut [Step],
        climbs: &mut [Climb],
        round: &mut Round,
        memo: &mut Memo,
        inserted: &mut Vec<Inserted>,
    ) -> Result<(), Shortage> {
        self.climb(steps, climbs, round, memo)
            .map_err(|NoRoom| Shortage::Nodes)?;
        let done = inserted.len();
        round.pending.clear();
        for (number, climb) in climbs.iter().enumerate().skip(done) {
            let hash = self.roots.hash(Self::key(
                steps[climb.last as usize].halves,
                self.roots.bits(),
            )?);
            self.roots.prefetch(hash);
            round.pending.push((number as u32, hash));
        }
        for (number, hash) in &round.pending {
            let (flags, is_new) = self.roots.insert(*hash).map_err(|NoRoom| Shortage::Roots)?;
            let handle = Self::handle(steps[climbs[*number as usize].last as usize].halves);
            inserted.push(Inserted {
                handle,
                is_new,
                flags,
            });
        }
        Ok(())
    }

    /// Brings all insertions of a batch to their roots.
    fn climb(
        &self,
        steps: &mut [Step],
        climbs: &mut [Climb],
        round: &mut Round,
        memo: &mut Memo,
    ) -> Result<(), NoRoom> {
        round.pending.clear();
        for (number, climb) in climbs.iter_mut().enumerate() {
            if let Some(hash) = self.climb_by_memory(steps, climb, memo) {
                round.pending.push((number as u32, hash));
            }
        }
        while !round.pending.is_empty() {
            let mut kept = 0;
            for at in 0..round.pending.len() {
                let (number, hash) = round.pending[at];
                let climb = &mut climbs[number as usize];
                let pair = steps[climb.next as usize].halves;
                let id = self.nodes.insert(pair, hash, &mut memo.spare)?;
                memo.put(pair, id);
                Self::take(steps, climb, id);
                if let Some(hash) = self.climb_by_memory(steps, climb, memo) {
                    round.pending[kept] = (number, hash);
                    kept += 1;
                }
            }
            round.pending.truncate(kept);
        }
        Ok(())
    }

    /// Goes up as far as the memory knows the nodes. Returns the hash of the
    /// first unknown one, whose place is being fetched, or `None` at the root.
    #[inline(always)]
    fn climb_by_memory(&self, steps: &mut [Step], climb: &mut Climb, memo: &Memo) -> Option<u64> {
        while climb.next < climb.last {
            let pair = steps[climb.next as usize].halves;
            match memo.get(pair) {
                Some(id) => Self::take(steps, climb, id),
                None => {
                    let hash = NodeTable::hash(pair);
                    self.nodes.prefetch(hash);
                    return Some(hash);
                }
            }
        }
        None
    }

    /// Whether the state with these steps is stored; adds nothing.
    pub(crate) fn contains(&self, steps: &mut [Step], mut climb: Climb, memo: &Memo) -> bool {
        while climb.next < climb.last {
            let pair = steps[climb.next as usize].halves;
            let find = || self.nodes.find(pair, NodeTable::hash(pair));
            let Some(id) = memo.get(pair).or_else(find) else {
                return false;
            };
            Self::take(steps, &mut climb, id);
        }
        let root = steps[climb.last as usize].halves;
        let key = Self::key(root, self.roots.bits());
        key.is_ok_and(|key| self.roots.flags(self.roots.hash(key)).is_some())
    }

    /// The node of the next step has this id: passes it on to its parent.
    #[inline(always)]
    fn take(steps: &mut [Step], climb: &mut Climb, id: NodeId) {
        let receiver = steps[climb.next as usize].receiver as usize;
        steps[receiver / 2].halves[receiver % 2] = id.0;
        climb.next += 1;
    }

    /// Fills `words` with a state; `known` says which ids are there already, and
    /// is updated. The handle must be one that this tree gave out.
    pub(crate) fn load(&self, handle: StateHandle, known: &mut [NodeId], words: &mut [u32]) {
        // The stack of a depth-first walk of a heap: one sibling per level.
        let mut stack = [(0u32, NodeId::NONE); 34];
        let [left, right] = Self::root(handle);
        (stack[0], stack[1]) = ((3, NodeId(right)), (2, NodeId(left)));
        let mut height = 2;
        while height > 0 {
            height -= 1;
            let (position, id) = stack[height];
            let at = position as usize;
            if known[at] == id {
                continue;
            }
            known[at] = id;
            let [left, right] = self.nodes.get(id);
            if at < self.shape.leaves {
                stack[height] = (2 * position + 1, NodeId(right));
                stack[height + 1] = (2 * position, NodeId(left));
                height += 2;
            } else {
                let [first, second] = self.shape.words_of(at - self.shape.leaves);
                words[first] = left;
                if let Some(second) = words.get_mut(second) {
                    *second = right;
                }
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

    /// Writes all nodes in the order of their ids, then all roots with their flags.
    pub(crate) fn save(&self, len: u64, sink: &mut Sink<'_>) -> std::io::Result<()> {
        // Ids that threads have in reserve look as if they were `[0, 0]`, too.
        let zero = self.nodes.find([0, 0], NodeTable::hash([0, 0]));
        sink.number(self.nodes.len() as u64)?;
        sink.number(zero.unwrap_or(NodeId::NONE).0.into())?;
        sink.numbers(self.nodes.pairs())?;
        sink.number(len)?;
        let half = self.roots.bits() / 2;
        let low = u64::MAX >> (64 - half);
        write_entries(sink, &self.roots, |hash| {
            let key = self.roots.key(hash);
            Self::handle([(key >> half) as u32, (key & low) as u32]).to_bits()
        })
    }

    /// The tables that [`save`](Self::save) wrote, and how many states they have.
    pub(crate) fn restore(
        budget: &Arc<MemoryBudget>,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::io::Result<(Self, u64)> {
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
        let mut roots = QuotientTable::new(budget, bits, states as u64).map_err(refused)?;
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
            shape: Shape::new(width),
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
        if position >= self.shape.leaves {
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
        threads: usize,
    ) -> Result<(), StoreError> {
        match shortage {
            Shortage::Nodes if self.nodes.is_exhausted() => return Err(StoreError::Full),
            Shortage::Nodes => self.nodes.grow(factor, threads)?,
            Shortage::Roots => self.roots.grow(factor, threads)?,
            Shortage::Keys => {
                let old = self.roots.bits() / 2;
                let new = ID_BITS
                    .into_iter()
                    .find(|bits| *bits > old)
                    .ok_or(StoreError::Full)?;
                let low = (1u64 << old) - 1;
                self.roots
                    .widen(2 * new, |key| (key >> old) << new | key & low)?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn masks_name_the_leaves_they_touch() {
        let shape = Shape::new(131);
        let mut mask = vec![0u64; 3];
        for word in [0, 3, 62, 63, 64, 129, 130, 131, 150] {
            mask[word / 64] |= 1 << (word % 64);
        }
        let leaves: Vec<_> = shape.leaves_in_mask(&mask).collect();
        assert_eq!(leaves, [65, 64, 32, 31, 1, 0]);
        let all: Vec<_> = shape.leaves_in_mask(&[u64::MAX; 3]).collect();
        assert_eq!(all, shape.all_leaves().collect::<Vec<_>>());
    }

    #[test]
    fn narrow_vectors_have_every_word_in_one_leaf() {
        for width in 2..=9 {
            let shape = Shape::new(width);
            for word in 0..width {
                let in_leaf = |leaf: &usize| shape.words_of(*leaf).contains(&word);
                let leaves: Vec<_> = shape.all_leaves().filter(in_leaf).collect();
                assert_eq!(leaves.len(), 1);
                let by_mask: Vec<_> = shape.leaves_in_mask(&[1 << word]).collect();
                assert_eq!(by_mask, leaves);
                let (before, mut after) = (vec![0; width], vec![0; width]);
                after[word] = 1;
                let by_value: Vec<_> = shape.differing_leaves(&before, &after).collect();
                assert_eq!(by_value, leaves);
            }
            let all: Vec<_> = shape.leaves_in_mask(&[u64::MAX]).collect();
            assert_eq!(all, shape.all_leaves().collect::<Vec<_>>());
        }
    }

    #[test]
    fn plans_visit_each_node_above_a_change_once() {
        let shape = Shape::new(14);
        let known = vec![NodeId(99); shape.positions()];
        let words: Vec<u32> = (0..14).collect();
        let mut steps = Vec::new();
        shape.plan(
            &known,
            &words,
            shape.leaves_in_mask(&[1 << 13 | 1 << 12 | 1 << 10 | 1]),
            &mut steps,
        );
        let positions: Vec<_> = steps.iter().map(|step| step.position).collect();
        assert_eq!(positions, [13, 12, 7, 6, 3, 1]);
        for step in &steps[..steps.len() - 1] {
            assert_eq!(
                steps[step.receiver as usize / 2].position,
                step.position / 2
            );
            assert_eq!(step.receiver % 2, step.position % 2);
        }
        let mut steps = Vec::new();
        shape.plan(&known, &words, std::iter::empty(), &mut steps);
        assert_eq!(steps.len(), 1);
    }

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
