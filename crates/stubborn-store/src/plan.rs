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

use crate::boxed;
use crate::nodes::NodeId;
use crate::shape::{NO_WORD, Shape};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

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
        // (Not by `map`, which is never quite compiled away.)
        let [first, second] = self.words;
        let (first, second) = (words[first as usize], words[second as usize]);
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

/// A node above the only changed leaf.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The half that stays.
    kept: u64,
    position: u32,
    /// Bits below the other half.
    shift: u32,
}

/// The nodes to look up for all states with one mask of changed words.
#[derive(Clone, Debug)]
struct Template {
    /// The first word of the mask.
    mask: u64,
    /// The halves of the root that stay.
    kept: u64,
    /// The first of the leaves, if there are any.
    leaf: LeafPart,
    /// There are no others.
    is_single: bool,
    /// Nothing is between the leaves and the root.
    is_flat: bool,
    parts: Arc<Parts>,
}

/// What of a [`Template`] is not looked at for most states.
#[derive(Debug)]
struct Parts {
    /// The other words of the mask.
    rest: Box<[u64]>,
    leaves: Box<[LeafPart]>,
    /// Without leaves, in the order in which they become known; the root is the last.
    nodes: Box<[NodePart]>,
    /// The same where a single leaf is below them.
    links: Box<[Link]>,
}

/// What is known of a state of which not everything is.
#[derive(Clone, Debug)]
struct Partly {
    /// So many of the leaves, and of the nodes above them.
    leaves: usize,
    nodes: usize,
    /// The pairs of the other nodes above the leaves, as far as they are known.
    pairs: Vec<u64>,
}

impl Partly {
    /// Notes how much is known.
    #[cold]
    fn known<T>(&mut self, leaves: usize, nodes: usize) -> Option<T> {
        (self.leaves, self.nodes) = (leaves, nodes);
        None
    }
}

impl Template {
    /// Whether it is the one for a mask, of as many words as its own.
    #[inline(always)]
    fn is_for(&self, mask: &[u64]) -> bool {
        match mask {
            [only] => self.mask == *only,
            [first, rest @ ..] => self.mask == *first && *self.parts.rest == *rest,
            [] => true,
        }
    }
}

impl Template {
    /// For states of which the words in `mask` may have changed.
    fn new(shape: &Shape, mask: &[u64]) -> Self {
        let is_changed = |word: u32| {
            let block = mask.get(word as usize / 64);
            word != NO_WORD && block.is_some_and(|bits| bits >> (word % 64) & 1 == 1)
        };
        let leaves = shape.leaves();
        let leaves = leaves.filter(|(_, words)| words.iter().any(|word| is_changed(*word)));
        let leaves: Vec<(usize, [u32; 2])> = leaves.collect();
        let mut above = BTreeSet::from([1]);
        for (mut position, _) in leaves.iter().copied() {
            while above.insert(position / 2) {
                position /= 2;
            }
        }
        // Parents have smaller positions than their children, and come after them.
        let positions: Vec<usize> = above.into_iter().rev().collect();
        let receiver = |position: usize| Receiver {
            // The root has none.
            node: positions
                .iter()
                .position(|p| *p == position / 2)
                .unwrap_or(0) as u32,
            shift: if position == 1 {
                0
            } else {
                32 * (position % 2) as u32
            },
        };
        let leaf_part = |(position, [first, second]): &(usize, [u32; 2])| {
            let has_second = *second != NO_WORD;
            LeafPart {
                words: [*first, if has_second { *second } else { *first }],
                second: if has_second { u32::MAX } else { 0 },
                receiver: receiver(*position),
            }
        };
        let node_part = |position: &usize| {
            let below = leaves.iter().map(|(below, _)| below).chain(&positions);
            let below = below.filter(|below| **below / 2 == *position);
            let halves = below.map(|below| u64::from(u32::MAX) << receiver(*below).shift);
            NodePart {
                kept: !halves.fold(0, |all, half| all | half),
                position: *position as u32,
                receiver: receiver(*position),
            }
        };
        let (first, rest) = mask.split_first().unwrap_or((&0, &[]));
        let nodes: Box<[NodePart]> = positions.iter().map(node_part).collect();
        let leaves: Box<[LeafPart]> = leaves.iter().map(leaf_part).collect();
        let is_single = leaves.len() == 1;
        let below = leaves.iter().map(|leaf| leaf.receiver);
        let below = below.chain(nodes.iter().map(|node| node.receiver));
        let link = |(node, below): (&NodePart, Receiver)| Link {
            kept: node.kept,
            position: node.position,
            shift: below.shift,
        };
        let links = nodes.iter().zip(below).filter(|_| is_single).map(link);
        let links = links.collect();
        let none = LeafPart {
            words: [0; 2],
            second: 0,
            receiver: Receiver { node: 0, shift: 0 },
        };
        Self {
            mask: *first,
            kept: nodes.last().map_or(0, |root| root.kept),
            leaf: leaves.first().copied().unwrap_or(none),
            is_single,
            is_flat: nodes.len() == 1,
            parts: Arc::new(Parts {
                rest: rest.into(),
                leaves,
                nodes,
                links,
            }),
        }
    }

    /// The root of a state that differs from one with these pairs of ids and this root, if the
    /// memory knows all nodes below. Otherwise, `partly` says what is known.
    #[inline(always)]
    fn root(
        &self,
        known: &[[NodeId; 2]],
        own: u64,
        words: &[u32],
        memo: &Memo,
        partly: &mut Partly,
    ) -> Option<u64> {
        // Only the leaves are looked up here: what takes more registers would slow them down. Most often
        // it is a single one, with nothing between it and the root.
        if self.is_single {
            let pair = self.leaf.pair(words);
            let Some(id) = memo.get(pair) else {
                return self.unknown_above(0, pair, known, partly);
            };
            return match self.is_flat {
                true => Some(own & self.kept | u64::from(id.0) << self.leaf.receiver.shift),
                false => self.root_above(id, known, memo, partly),
            };
        }
        if !self.is_flat {
            return self.root_above_all(known, words, memo, partly);
        }
        let mut pair = own & self.kept;
        for (at, leaf) in self.parts.leaves.iter().enumerate() {
            let Some(id) = memo.get(leaf.pair(words)) else {
                partly.pairs[0] = pair;
                return partly.known(at, 0);
            };
            pair |= u64::from(id.0) << leaf.receiver.shift;
        }
        Some(pair)
    }

    /// The same with nodes between leaves and root.
    #[inline(never)]
    fn root_above_all(
        &self,
        known: &[[NodeId; 2]],
        words: &[u32],
        memo: &Memo,
        partly: &mut Partly,
    ) -> Option<u64> {
        // Whole pairs are written and read: a processor does not forward halves of them.
        let Parts { leaves, nodes, .. } = &*self.parts;
        let pairs = &mut partly.pairs[..nodes.len()];
        pairs.fill(0);
        for (at, leaf) in leaves.iter().enumerate() {
            let Some(id) = memo.get(leaf.pair(words)) else {
                return self.unknown_above_all(at, 0, known, partly);
            };
            pairs[leaf.receiver.node as usize] |= u64::from(id.0) << leaf.receiver.shift;
        }
        let mut at = 0;
        loop {
            let node = &nodes[at];
            let pair = pairs[at] | NodeId::pair(known[node.position as usize]) & node.kept;
            if at + 1 == nodes.len() {
                return Some(pair);
            }
            let Some(id) = memo.get(pair) else {
                return self.unknown_above_all(leaves.len(), at, known, partly);
            };
            pairs[node.receiver.node as usize] |= u64::from(id.0) << node.receiver.shift;
            at += 1;
        }
    }

    /// What is known where not all leaves, or not all nodes, are.
    #[cold]
    fn unknown_above_all(
        &self,
        leaves: usize,
        nodes: usize,
        known: &[[NodeId; 2]],
        partly: &mut Partly,
    ) -> Option<u64> {
        let unknown = partly.pairs.iter_mut().zip(&self.parts.nodes).skip(nodes);
        for (pair, node) in unknown {
            *pair |= NodeId::pair(known[node.position as usize]) & node.kept;
        }
        partly.known(leaves, nodes)
    }

    /// The same with one changed leaf, whose id is known: each node goes to the next one.
    #[inline(never)]
    fn root_above(
        &self,
        mut id: NodeId,
        known: &[[NodeId; 2]],
        memo: &Memo,
        partly: &mut Partly,
    ) -> Option<u64> {
        let links = &*self.parts.links;
        let mut at = 0;
        loop {
            let link = links[at];
            let others = NodeId::pair(known[link.position as usize]) & link.kept;
            let pair = others | u64::from(id.0) << link.shift;
            at += 1;
            if at == links.len() {
                return Some(pair);
            }
            match memo.get(pair) {
                Some(above) => id = above,
                None => return self.unknown_above(at, pair, known, partly),
            }
        }
    }

    /// What is known where the leaf, or the node before number `at`, is not.
    #[cold]
    fn unknown_above(
        &self,
        at: usize,
        pair: u64,
        known: &[[NodeId; 2]],
        partly: &mut Partly,
    ) -> Option<u64> {
        let pairs = &mut partly.pairs;
        for (pair, node) in pairs.iter_mut().zip(&self.parts.nodes).skip(at) {
            *pair = NodeId::pair(known[node.position as usize]) & node.kept;
        }
        let Some(unknown) = at.checked_sub(1) else {
            return partly.known(0, 0);
        };
        pairs[unknown] = pair;
        partly.known(1, unknown)
    }
}

/// Templates by mask, all masks of as many words: a small direct-mapped cache in front of all of
/// them.
#[derive(Clone, Debug)]
struct Templates {
    shape: Shape,
    slots: Box<[Template; Self::SLOTS]>,
    all: HashMap<Box<[u64]>, Template>,
    /// Leaves and nodes of all.
    parts: usize,
}

impl Templates {
    const SLOTS: usize = 256;
    /// Parts of all templates, at most; then they are made anew.
    const MOST_PARTS: usize = 1 << 16;

    fn new(shape: Shape) -> Self {
        Self {
            slots: boxed(vec![Template::new(&shape, &[0]); Self::SLOTS]),
            shape,
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
            self.fetch(slot, mask);
        }
        &self.slots[slot]
    }

    #[inline(always)]
    fn mix(word: u64) -> u64 {
        word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[cold]
    #[inline(never)]
    fn fetch(&mut self, slot: usize, mask: &[u64]) {
        self.slots[slot] = self.make(mask);
    }

    fn make(&mut self, mask: &[u64]) -> Template {
        if let Some(known) = self.all.get(mask) {
            return known.clone();
        }
        let template = Template::new(&self.shape, mask);
        if self.parts > Self::MOST_PARTS {
            self.all.clear();
            self.parts = 0;
        }
        self.parts += template.parts.leaves.len() + template.parts.nodes.len();
        self.all.insert(mask.into(), template.clone());
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
        Self {
            entries: boxed(entries),
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
    /// For one state.
    partly: Partly,
    /// For one state: a mask.
    mask: Vec<u64>,
    /// Numbers and hashes of a round of lookups.
    pub(crate) pending: Vec<(usize, u64)>,
}

impl TreePlan {
    /// For trees of a shape.
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            partly: Partly {
                leaves: 0,
                nodes: 0,
                // More than there are nodes above the leaves.
                pairs: vec![0; shape.positions()],
            },
            templates: Templates::new(shape),
            memo: Memo::new(),
            roots: Vec::new(),
            steps: Vec::new(),
            climbs: Vec::new(),
            mask: Vec::new(),
            pending: Vec::new(),
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
        let own = NodeId::pair(known[1]);
        match template.root(known, own, words, &self.memo, &mut self.partly) {
            Some(root) => self.roots.push(root),
            None => self.keep(mask, words),
        }
    }

    /// Adds several states of `width` words, with their masks, except those that are the state with
    /// these ids itself, or the same as the one before; `pushed` hears which ones these are. Returns how
    /// many.
    pub(crate) fn push_all(
        &mut self,
        known: &[NodeId],
        width: usize,
        words: &[u32],
        masks: &[u64],
        pushed: impl FnMut(usize),
    ) -> usize {
        match width <= 64 {
            true => self.push_new(known, width, words, masks, 1, pushed),
            false => self.push_new(known, width, words, masks, width.div_ceil(64), pushed),
        }
    }

    #[inline(always)]
    fn push_new(
        &mut self,
        known: &[NodeId],
        width: usize,
        words: &[u32],
        masks: &[u64],
        mask_words: usize,
        mut pushed: impl FnMut(usize),
    ) -> usize {
        let before = self.roots.len();
        let (known, _) = known.as_chunks::<2>();
        let own = NodeId::pair(known[1]);
        let mut last = own;
        let mut unknown = None;
        let mut left = words;
        for (at, mask) in masks.chunks_exact(mask_words).enumerate() {
            let Some((state, others)) = left.split_at_checked(width) else {
                break;
            };
            left = others;
            // (If nothing has changed, it is the root itself.)
            let template = self.templates.of(mask);
            match template.root(known, own, state, &self.memo, &mut self.partly) {
                Some(root) if root == last || root == own => {}
                Some(root) => {
                    last = root;
                    self.roots.push(root);
                    pushed(at);
                }
                None => {
                    if unknown.replace((mask, state)) != Some((mask, state)) {
                        self.keep(mask, state);
                        pushed(at);
                    }
                }
            }
        }
        self.roots.len() - before
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
        match before {
            None => {
                let len = words.len().max(1);
                mask.resize((len - 1) / 64, u64::MAX);
                mask.push(u64::MAX >> (64 - ((len - 1) % 64 + 1)));
            }
            Some(before) => {
                mask.resize(words.len().div_ceil(64), 0);
                for (at, (word, before)) in words.iter().zip(before).enumerate() {
                    mask[at / 64] |= u64::from(before != word) << (at % 64);
                }
            }
        }
        self.push(known, words, &mask);
        self.mask = mask;
    }

    /// Keeps what is left of a state that is known partly.
    #[inline(never)]
    fn keep(&mut self, mask: &[u64], words: &[u32]) {
        let (leaves, nodes) = (self.partly.leaves, self.partly.nodes);
        let template = self.templates.of(mask);
        let first = self.steps.len();
        let left = &template.parts.leaves[leaves..];
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
        let above = self.partly.pairs[nodes..]
            .iter()
            .zip(&template.parts.nodes[nodes..]);
        self.steps
            .extend(above.map(|(pair, node)| step(*pair, node.receiver)));
        self.climbs.push(Climb {
            insertion: self.roots.len(),
            next: first,
            last: self.steps.len() - 1,
        });
        self.roots.push(0);
    }

    /// All states are at their roots.
    pub(crate) fn end_climbs(&mut self) {
        self.steps.clear();
        self.climbs.clear();
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

    fn leaves_of(width: usize, mask: &[u64]) -> Vec<u32> {
        let template = Template::new(&Shape::new(width, None), mask);
        template
            .parts
            .leaves
            .iter()
            .map(|leaf| leaf.words[0])
            .collect()
    }

    #[test]
    fn masks_name_the_leaves_they_touch() {
        let mut mask = vec![0u64; 3];
        for word in [0, 3, 62, 63, 64, 129, 130, 131, 150] {
            mask[word / 64] |= 1 << (word % 64);
        }
        assert_eq!(leaves_of(131, &mask), [130, 128, 64, 62, 2, 0]);
        let all: Vec<u32> = (0..66).rev().map(|leaf| 2 * leaf).collect();
        assert_eq!(leaves_of(131, &[u64::MAX; 3]), all);
    }

    #[test]
    fn nodes_come_after_those_below_them() {
        // Leaves at positions 2, 6, 14 and 15.
        let leaves = vec![(2, [6, NO_WORD]), (6, [0, 1]), (14, [2, 3]), (15, [4, 5])];
        let shape = Shape::new(7, Some(&leaves));
        let template = Template::new(&shape, &[u64::MAX]);
        let positions: Vec<u32> = template
            .parts
            .nodes
            .iter()
            .map(|node| node.position)
            .collect();
        assert_eq!(positions, [7, 3, 1]);
        assert!(template.parts.nodes.iter().all(|node| node.kept == 0));
        let known = [[NodeId::NONE; 2]; 8];
        let mut memo = Memo::new();
        memo.put(6, NodeId(10));
        for (leaf, id) in [(0, 20), (2, 21), (4, 22)] {
            memo.put(leaf | (leaf + 1) << 32, NodeId(id));
        }
        memo.put(21 | 22 << 32, NodeId(30));
        memo.put(20 | 30 << 32, NodeId(40));
        let words = [0, 1, 2, 3, 4, 5, 6];
        let mut partly = Partly {
            leaves: 0,
            nodes: 0,
            pairs: vec![0; 7],
        };
        let root = template.root(&known, u64::MAX, &words, &memo, &mut partly);
        assert_eq!(root, Some(10 | 40 << 32));
    }

    #[test]
    fn plans_visit_each_node_above_a_change_once() {
        let shape = Shape::new(13, None);
        let template = Template::new(&shape, &[1 << 12 | 1 << 10 | 1]);
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
        assert_eq!(*template.parts.leaves, leaves);
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
        assert_eq!(*template.parts.nodes, nodes);
        let unchanged = Template::new(&shape, &[0]);
        assert_eq!(*unchanged.parts.leaves, []);
        assert_eq!(*unchanged.parts.nodes, [node(1, u64::MAX, receiver(0, 0))]);
    }

    #[test]
    fn templates_are_told_apart_by_the_whole_mask() {
        let mut templates = Templates::new(Shape::new(200, None));
        // More masks than slots, more than once, with equal first words.
        for _ in 0..2 {
            for number in 0..3_000_u64 {
                let masks = [
                    [1, number, 0, 0],
                    [1, number, 1, 0],
                    [1, 0, 0, number],
                    [number, 0, 0, 1],
                ];
                for mask in &masks {
                    let expected = leaves_of(200, mask).len();
                    assert_eq!(templates.of(mask).parts.leaves.len(), expected, "{mask:?}");
                }
            }
            assert!(templates.parts <= Templates::MOST_PARTS + 300);
            assert!(templates.all.len() <= templates.parts);
        }
    }

    #[test]
    fn a_memo_knows_what_it_was_told_and_nothing_else() {
        let mut memo = Memo::new();
        let pairs = || (0..40_000_u64).map(|number| (number << 32) | (number % 7));
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
