//! What has to be looked up in a tree to insert the states of a batch.
//!
//! A successor that changes a few words needs the changed leaves and the positions
//! above them, each a pair of which some halves are known (from the cursor) and the
//! others will be when an earlier node was found. Which nodes these are depends on
//! the mask of changed words alone, and a model has few masks: the list is worked
//! out once for each, as a [`Template`].
//!
//! Most changed leaves and many nodes above them recur soon. A [`Memo`] knows their
//! ids, so that most successors are brought to their roots while they are pushed,
//! without a look at any table. What is left of the others becomes a [`Climb`].

use crate::nodes::NodeId;
use crate::quotient::Home;
use std::collections::HashMap;
use std::sync::Arc;

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
    pub(crate) fn words_of(&self, leaf: usize) -> LeafWords {
        match self.narrow {
            Some(leaves) => leaves[leaf],
            None => [2 * leaf, 2 * leaf + 1],
        }
    }

    /// Puts the words of a leaf into a vector.
    #[inline(always)]
    pub(crate) fn fill(&self, leaf: usize, [left, right]: [u32; 2], words: &mut [u32]) {
        let [first, second] = self.words_of(leaf);
        words[first] = left;
        if let Some(second) = words.get_mut(second) {
            *second = right;
        }
    }

    /// Positions of the heap; position 0 is not used.
    pub(crate) fn positions(&self) -> usize {
        2 * self.leaves
    }

    /// The first position that is a leaf.
    #[inline(always)]
    pub(crate) fn first_leaf(&self) -> usize {
        self.leaves
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

    /// The nodes to look up for a state of which the words in `mask` may have changed.
    fn template(&self, mask: &[u64]) -> Template {
        // Positions descend, so those of the parents do, and siblings are neighbours.
        let leaves: Vec<usize> = self.leaves_in_mask(mask).collect();
        let mut positions: Vec<usize> = leaves.iter().map(|leaf| self.leaves + leaf).collect();
        if leaves.is_empty() {
            // Nothing changed: the successor is the state itself.
            positions.push(1);
        }
        let mut receivers = Vec::new();
        while positions[receivers.len()] != 1 {
            let position = positions[receivers.len()];
            if positions.last() != Some(&(position / 2)) {
                positions.push(position / 2);
            }
            receivers.push(Receiver {
                node: (positions.len() - 1 - leaves.len()) as u32,
                shift: 32 * (position % 2) as u32,
            });
        }
        // The root has none.
        receivers.push(Receiver { node: 0, shift: 0 });
        let of_leaves = &receivers[..leaves.len()];
        let leaf_parts = leaves.iter().zip(of_leaves).map(|(leaf, receiver)| {
            let [first, second] = self.words_of(*leaf);
            let has_second = second < self.width;
            LeafPart {
                words: [first, if has_second { second } else { first }].map(|word| word as u32),
                second: if has_second { u32::MAX } else { 0 },
                receiver: *receiver,
            }
        });
        let above = positions.iter().zip(&receivers).skip(leaves.len());
        let node_parts = above.enumerate().map(|(number, (position, receiver))| {
            let changed = of_leaves
                .iter()
                .chain(&receivers[leaves.len()..receivers.len() - 1])
                .filter(|receiver| receiver.node as usize == number)
                .map(|receiver| u64::from(u32::MAX) << receiver.shift);
            NodePart {
                kept: !changed.fold(0, |all, half| all | half),
                position: *position as u32,
                receiver: *receiver,
            }
        });
        let (first, rest) = mask.split_first().unwrap_or((&0, &[]));
        Template {
            mask: *first,
            rest: rest.into(),
            leaves: leaf_parts.collect(),
            nodes: node_parts.collect(),
        }
    }
}

/// Which half of which node above the leaves the id of a node goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Receiver {
    /// Its number among the nodes of the template.
    node: u32,
    /// Bits below the half.
    shift: u32,
}

/// A changed leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LeafPart {
    /// The numbers of its words.
    words: [u32; 2],
    /// Zero if it has only one.
    second: u32,
    receiver: Receiver,
}

impl LeafPart {
    #[inline(always)]
    fn pair(&self, words: &[u32]) -> u64 {
        let [first, second] = self.words.map(|at| words[at as usize]);
        u64::from(first) | u64::from(second & self.second) << 32
    }
}

/// A node above a changed leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodePart {
    /// The halves that no other part is below of.
    kept: u64,
    position: u32,
    receiver: Receiver,
}

/// The nodes to look up for all states with one mask of changed words.
#[derive(Debug)]
struct Template {
    /// The first word of the mask, and the others.
    mask: u64,
    rest: Box<[u64]>,
    leaves: Box<[LeafPart]>,
    /// Without leaves, in the order in which they become known; the root is the last.
    nodes: Box<[NodePart]>,
}

impl Template {
    #[inline(always)]
    fn is_for(&self, mask: &[u64]) -> bool {
        match mask {
            [only] => self.mask == *only && self.rest.is_empty(),
            [first, rest @ ..] => self.mask == *first && *self.rest == *rest,
            [] => self.mask == 0 && self.rest.is_empty(),
        }
    }
}

impl Template {
    /// The root of a state that differs from one with these pairs of ids, if the memory knows
    /// all nodes below. Otherwise, how many leaves and nodes above them it knows; what is known of
    /// `pairs` is in there.
    #[inline(always)]
    fn root(
        &self,
        known: &[[NodeId; 2]],
        words: &[u32],
        memo: &Memo,
        pairs: &mut [u64],
    ) -> Result<u64, (usize, usize)> {
        // Whole pairs are written and read: a processor does not forward halves of them.
        let pairs = &mut pairs[..self.nodes.len()];
        for (pair, node) in pairs.iter_mut().zip(&self.nodes) {
            *pair = NodeId::pair(known[node.position as usize]) & node.kept;
        }
        for (at, leaf) in self.leaves.iter().enumerate() {
            let id = memo.get(leaf.pair(words)).ok_or((at, 0))?;
            pairs[leaf.receiver.node as usize] |= u64::from(id.0) << leaf.receiver.shift;
        }
        let last = self.nodes.len() - 1;
        for (at, node) in self.nodes[..last].iter().enumerate() {
            let id = memo.get(pairs[at]).ok_or((self.leaves.len(), at))?;
            pairs[node.receiver.node as usize] |= u64::from(id.0) << node.receiver.shift;
        }
        Ok(pairs[last])
    }
}

/// Templates by mask: a small direct-mapped cache in front of all of them.
#[derive(Clone, Debug)]
struct Templates {
    shape: Shape,
    slots: Box<[Arc<Template>; Self::SLOTS]>,
    all: HashMap<Box<[u64]>, Arc<Template>>,
    /// Leaves and nodes of all.
    parts: usize,
}

impl Templates {
    const SLOTS: usize = 256;
    /// Parts of all templates, at most; then they are made anew.
    const MOST_PARTS: usize = 1 << 16;

    fn new(shape: Shape) -> Self {
        let none = Arc::new(shape.template(&[0]));
        Self {
            shape,
            slots: Box::new(std::array::from_fn(|_| Arc::clone(&none))),
            all: HashMap::new(),
            parts: 0,
        }
    }

    #[inline(always)]
    fn of(&mut self, mask: &[u64]) -> &Template {
        // Most masks are one word.
        let hash = match mask {
            [only] => Self::mix(*only),
            several => several.iter().fold(0, |hash, word| Self::mix(hash ^ word)),
        };
        let slot = (hash >> 56) as usize % Self::SLOTS;
        if !self.slots[slot].is_for(mask) {
            self.slots[slot] = self.make(mask);
        }
        &self.slots[slot]
    }

    #[inline(always)]
    fn mix(word: u64) -> u64 {
        word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[cold]
    fn make(&mut self, mask: &[u64]) -> Arc<Template> {
        if let Some(known) = self.all.get(mask) {
            return Arc::clone(known);
        }
        let template = Arc::new(self.shape.template(mask));
        if self.parts > Self::MOST_PARTS {
            self.all.clear();
            self.parts = 0;
        }
        self.parts += template.leaves.len() + template.nodes.len();
        self.all.insert(mask.into(), Arc::clone(&template));
        template
    }
}

/// Nodes that were looked up lately, with their ids: a small direct-mapped cache. Ids
/// never change, so nothing in it becomes wrong. It spares two lines of shared memory
/// for each node that it knows.
#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// Pairs and their ids. Where nothing was put yet, a pair that belongs elsewhere.
    entries: Box<[(u64, u32); 1 << Self::SIZE_BITS]>,
}

impl Memo {
    /// Entries: 256 KiB. Of the sizes from 16 KiB on this was the fastest, by up
    /// to a fifth, on a processor with 1 MiB of second-level cache.
    const SIZE_BITS: u32 = if cfg!(loom) { 3 } else { 14 };

    fn new() -> Self {
        // Zero belongs to slot 0, and this one to another.
        let elsewhere = 1 << 63;
        debug_assert!(Self::slot(0) == 0 && Self::slot(elsewhere) != 0);
        let mut entries = vec![(0, 0); 1 << Self::SIZE_BITS];
        entries[0].0 = elsewhere;
        let entries: Box<[_]> = entries.into();
        match entries.try_into() {
            Ok(entries) => Self { entries },
            Err(_) => unreachable!("it was made with this length"),
        }
    }

    #[inline(always)]
    fn slot(pair: u64) -> usize {
        let spread = (pair ^ pair >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> (64 - Self::SIZE_BITS)) as usize
    }

    #[inline(always)]
    fn get(&self, pair: u64) -> Option<NodeId> {
        let (known, id) = self.entries[Self::slot(pair)];
        (known == pair).then_some(NodeId(id))
    }

    #[inline(always)]
    fn put(&mut self, pair: u64, id: NodeId) {
        self.entries[Self::slot(pair)] = (pair, id.0);
    }
}

/// A node that is not known yet.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Words of a leaf, or ids of the children, zero where they are not known.
    pair: u64,
    /// The step that the id goes to.
    to: u32,
    shift: u32,
}

/// The steps of one insertion that are left: `next` is the one to do, `last` the root.
#[derive(Clone, Copy, Debug)]
struct Climb {
    insertion: usize,
    next: usize,
    last: usize,
}

/// The states of a batch on their way to their roots.
#[derive(Clone, Debug)]
pub(crate) struct TreePlan {
    templates: Templates,
    memo: Memo,
    /// By insertion: the pair of ids at the root, once they are known.
    pub(crate) roots: Vec<u64>,
    steps: Vec<Step>,
    climbs: Vec<Climb>,
    /// For one state: the pairs of its nodes above the leaves.
    pairs: Vec<u64>,
    /// For one state: a mask.
    mask: Vec<u64>,
    /// Numbers and hashes of a round of lookups.
    pub(crate) pending: Vec<(usize, u64)>,
    /// By insertion: where its root is looked for.
    pub(crate) homes: Vec<Home>,
}

impl TreePlan {
    /// For vectors of `width` words, at least two.
    pub(crate) fn new(width: usize) -> Self {
        let shape = Shape::new(width);
        Self {
            templates: Templates::new(shape),
            memo: Memo::new(),
            roots: Vec::new(),
            steps: Vec::new(),
            climbs: Vec::new(),
            pairs: vec![0; shape.first_leaf()],
            mask: Vec::new(),
            pending: Vec::new(),
            homes: Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.roots.clear();
        self.steps.clear();
        self.climbs.clear();
    }

    /// Adds a state that may differ in the words of `mask` from one whose node ids are
    /// `known`.
    #[inline(always)]
    pub(crate) fn push(&mut self, known: &[NodeId], words: &[u32], mask: &[u64]) {
        let template = self.templates.of(mask);
        let (known, _) = known.as_chunks::<2>();
        match template.root(known, words, &self.memo, &mut self.pairs) {
            Ok(root) => self.roots.push(root),
            Err((leaves, nodes)) => self.keep(mask, words, leaves, nodes),
        }
    }

    /// Adds several states of `width` words, with their masks.
    pub(crate) fn push_all(
        &mut self,
        known: &[NodeId],
        width: usize,
        mut words: &[u32],
        masks: &[u64],
    ) {
        if width <= 64 {
            for mask in masks.chunks_exact(1) {
                let Some((state, others)) = words.split_at_checked(width) else {
                    break;
                };
                self.push(known, state, mask);
                words = others;
            }
            return;
        }
        for mask in masks.chunks_exact(width.div_ceil(64)) {
            let Some((state, others)) = words.split_at_checked(width) else {
                break;
            };
            self.push(known, state, mask);
            words = others;
        }
    }

    /// Adds a state without a mask: one that differs from `before`, or any.
    #[cold]
    pub(crate) fn push_unmasked(
        &mut self,
        known: &[NodeId],
        before: Option<&[u32]>,
        words: &[u32],
    ) {
        let mut mask = std::mem::take(&mut self.mask);
        mask.clear();
        mask.resize(words.len().div_ceil(64), 0);
        for (at, word) in words.iter().enumerate() {
            let differs = before.is_none_or(|before| before[at] != *word);
            mask[at / 64] |= u64::from(differs) << (at % 64);
        }
        self.push(known, words, &mask);
        self.mask = mask;
    }

    /// Keeps what is left of a state of which so many leaves, and so many nodes above them,
    /// are known.
    #[inline(never)]
    fn keep(&mut self, mask: &[u64], words: &[u32], leaves: usize, nodes: usize) {
        let template = self.templates.of(mask);
        let first = self.steps.len();
        let left = &template.leaves[leaves..];
        // Where the first node above the leaves is, or would be.
        let base = (first + left.len()) as u32;
        let step = |pair, receiver: Receiver| Step {
            pair,
            // The root's goes nowhere.
            to: (base + receiver.node).saturating_sub(nodes as u32),
            shift: receiver.shift,
        };
        let leaves = left.iter();
        self.steps
            .extend(leaves.map(|leaf| step(leaf.pair(words), leaf.receiver)));
        let above = self.pairs.iter().zip(&template.nodes).skip(nodes);
        self.steps
            .extend(above.map(|(pair, node)| step(*pair, node.receiver)));
        self.climbs.push(Climb {
            insertion: self.roots.len(),
            next: first,
            last: self.steps.len() - 1,
        });
        self.roots.push(0);
    }

    /// How many states are not known to be at their roots.
    pub(crate) fn climbs(&self) -> usize {
        self.climbs.len()
    }

    /// Goes up with a state as far as the memory knows the nodes. Returns the first
    /// unknown one, or `None` at the root.
    #[inline(always)]
    pub(crate) fn climb(&mut self, number: usize) -> Option<u64> {
        let mut climb = self.climbs[number];
        let unknown = loop {
            let step = self.steps[climb.next];
            if climb.next == climb.last {
                self.roots[climb.insertion] = step.pair;
                break None;
            }
            match self.memo.get(step.pair) {
                Some(id) => self.steps[step.to as usize].pair |= u64::from(id.0) << step.shift,
                None => break Some(step.pair),
            }
            climb.next += 1;
        };
        self.climbs[number].next = climb.next;
        unknown
    }

    /// The first unknown node of a state.
    #[inline(always)]
    pub(crate) fn unknown(&self, number: usize) -> u64 {
        self.steps[self.climbs[number].next].pair
    }

    /// The first unknown node of a state has this id.
    #[inline(always)]
    pub(crate) fn found(&mut self, number: usize, id: NodeId) {
        let climb = &mut self.climbs[number];
        let step = self.steps[climb.next];
        climb.next += 1;
        self.memo.put(step.pair, id);
        self.steps[step.to as usize].pair |= u64::from(id.0) << step.shift;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn leaves_of(shape: &Shape, mask: &[u64]) -> Vec<usize> {
        shape.leaves_in_mask(mask).collect()
    }

    #[test]
    fn masks_name_the_leaves_they_touch() {
        let shape = Shape::new(131);
        let mut mask = vec![0u64; 3];
        for word in [0, 3, 62, 63, 64, 129, 130, 131, 150] {
            mask[word / 64] |= 1 << (word % 64);
        }
        assert_eq!(leaves_of(&shape, &mask), [65, 64, 32, 31, 1, 0]);
        let all: Vec<usize> = (0..66).rev().collect();
        assert_eq!(leaves_of(&shape, &[u64::MAX; 3]), all);
    }

    #[test]
    fn narrow_vectors_have_every_word_in_one_leaf() {
        for width in 2..=9 {
            let shape = Shape::new(width);
            let all = leaves_of(&shape, &[u64::MAX]);
            assert_eq!(all.len(), shape.first_leaf());
            for word in 0..width {
                let in_leaf = |leaf: &usize| shape.words_of(*leaf).contains(&word);
                let leaves: Vec<_> = all.iter().copied().filter(in_leaf).collect();
                assert_eq!(leaves.len(), 1);
                assert_eq!(leaves_of(&shape, &[1 << word]), leaves);
            }
        }
    }

    #[test]
    fn plans_visit_each_node_above_a_change_once() {
        let shape = Shape::new(13);
        let template = shape.template(&[1 << 12 | 1 << 10 | 1]);
        let receiver = |node: u32, half: u32| Receiver {
            node,
            shift: 32 * half,
        };
        // Positions 13 (the last word), 12 and 7; then 6, 3 and 1.
        let leaf = |words: [u32; 2], second, to| LeafPart {
            words,
            second,
            receiver: to,
        };
        let leaves = [
            leaf([12, 12], 0, receiver(0, 1)),
            leaf([10, 11], u32::MAX, receiver(0, 0)),
            leaf([0, 1], u32::MAX, receiver(1, 1)),
        ];
        assert_eq!(*template.leaves, leaves);
        let node = |position, kept, receiver| NodePart {
            kept,
            position,
            receiver,
        };
        let left = u64::from(u32::MAX);
        let nodes = [
            node(6, 0, receiver(1, 0)),
            node(3, 0, receiver(2, 1)),
            node(1, left, receiver(0, 0)),
        ];
        assert_eq!(*template.nodes, nodes);
        let unchanged = shape.template(&[0]);
        assert_eq!(*unchanged.leaves, []);
        assert_eq!(*unchanged.nodes, [node(1, u64::MAX, receiver(0, 0))]);
    }

    #[test]
    fn templates_are_told_apart_by_the_whole_mask() {
        let mut templates = Templates::new(Shape::new(200));
        // More masks than slots, more than once, with equal first words and of several lengths.
        for _ in 0..2 {
            for number in 0..3_000_u64 {
                let masks = [
                    vec![1],
                    vec![1, number],
                    vec![1, number, 1],
                    vec![1, 0, 0, number],
                ];
                for mask in &masks {
                    let expected = Shape::new(200).leaves_in_mask(mask).count();
                    assert_eq!(templates.of(mask).leaves.len(), expected, "{mask:?}");
                }
            }
            assert!(templates.parts <= Templates::MOST_PARTS + 300);
            assert!(templates.all.len() <= templates.parts);
        }
    }

    #[test]
    fn a_memo_knows_what_it_was_told_and_nothing_else() {
        let mut memo = Memo::new();
        let pairs = || (0..40_000_u64).map(|number| number << 32 | number % 7);
        assert!(pairs().all(|pair| memo.get(pair).is_none()));
        for pair in pairs() {
            memo.put(pair, NodeId(pair as u32));
            assert_eq!(memo.get(pair), Some(NodeId(pair as u32)));
        }
        for pair in pairs() {
            assert!(memo.get(pair).is_none_or(|id| id == NodeId(pair as u32)));
        }
        assert_eq!(memo.get(1 << 63), None);
    }
}
