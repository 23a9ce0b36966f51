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

    /// Appends the nodes to look up for a state of which the words in `mask` may have
    /// changed: leaves first, the root last. Tells how many of them are leaves.
    fn plan(&self, mask: &[u64], parts: &mut Vec<Part>) -> usize {
        let first = parts.len();
        // Positions descend, so those of the parents do, and siblings are neighbours.
        let mut positions: Vec<usize> = Vec::new();
        for leaf in self.leaves_in_mask(mask) {
            positions.push(self.leaves + leaf);
            parts.push(Part {
                from: self.words_of(leaf),
                receiver: 0,
            });
        }
        let leaves = positions.len();
        if leaves == 0 {
            // Nothing changed: the successor is the state itself.
            positions.push(1);
            parts.push(Part::above(1));
        }
        let mut at = 0;
        while positions[at] != 1 {
            let parent = positions[at] / 2;
            if positions.last() != Some(&parent) {
                positions.push(parent);
                parts.push(Part::above(parent));
            }
            parts[first + at].receiver = 2 * (positions.len() - 1 - leaves) + positions[at] % 2;
            at += 1;
        }
        leaves
    }
}

/// A node on the way from changed words to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Of a leaf, the numbers of its words; else the positions of its children.
    from: [usize; 2],
    /// Which half of which part the id of this node goes to: twice the number of the
    /// part among those of its template that are no leaves, plus one for the right half.
    receiver: usize,
}

impl Part {
    /// The words of a leaf.
    #[inline(always)]
    fn words(&self, words: &[u32]) -> [u32; 2] {
        self.from.map(|at| words.get(at).copied().unwrap_or(0))
    }

    fn above(position: usize) -> Self {
        Self {
            from: [2 * position, 2 * position + 1],
            receiver: 0,
        }
    }
}

/// The nodes to look up for all states with one mask of changed words.
#[derive(Clone, Copy, Debug)]
struct Template {
    first: usize,
    leaves: usize,
    end: usize,
}

/// Templates by mask: a small direct-mapped cache.
#[derive(Clone, Debug)]
struct Templates {
    shape: Shape,
    /// Where a mask was last seen: its first word, its length, and its number.
    slots: Vec<(u64, usize, usize)>,
    masks: Vec<Box<[u64]>>,
    templates: Vec<Template>,
    parts: Vec<Part>,
}

impl Templates {
    const SLOT_BITS: u32 = 8;
    /// Parts of all templates, at most; then they are made anew.
    const MOST_PARTS: usize = 1 << 16;

    fn new(shape: Shape) -> Self {
        Self {
            shape,
            slots: vec![(0, 0, 0); 1 << Self::SLOT_BITS],
            masks: Vec::new(),
            templates: Vec::new(),
            parts: Vec::new(),
        }
    }

    #[inline(always)]
    fn of(&mut self, mask: &[u64]) -> Template {
        let first = mask.first().copied().unwrap_or(0);
        let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mask.iter().fold(0, mix) >> (64 - Self::SLOT_BITS)) as usize;
        let (seen, len, number) = self.slots[slot];
        if seen == first && len == mask.len() && (len == 1 || *self.masks[number] == *mask) {
            return self.templates[number];
        }
        self.make(mask, slot)
    }

    #[cold]
    fn make(&mut self, mask: &[u64], slot: usize) -> Template {
        if self.parts.len() > Self::MOST_PARTS {
            *self = Self::new(self.shape);
        }
        let known = self.masks.iter().position(|known| **known == *mask);
        let number = known.unwrap_or_else(|| {
            let first = self.parts.len();
            let leaves = self.shape.plan(mask, &mut self.parts);
            self.masks.push(mask.into());
            self.templates.push(Template {
                first,
                leaves,
                end: self.parts.len(),
            });
            self.masks.len() - 1
        });
        self.slots[slot] = (mask.first().copied().unwrap_or(0), mask.len(), number);
        self.templates[number]
    }
}

/// Nodes that were looked up lately, with their ids: a small direct-mapped cache. Ids
/// never change, so nothing in it becomes wrong. It spares two lines of shared memory
/// for each node that it knows.
#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// The pair, and one more than its id, or zero.
    entries: Box<[[u64; 2]]>,
}

impl Memo {
    /// Entries: 256 KiB. Of the sizes from 16 KiB on this was the fastest, by up
    /// to a fifth, on a processor with 1 MiB of second-level cache.
    const SIZE_BITS: u32 = if cfg!(loom) { 3 } else { 14 };

    fn new() -> Self {
        Self {
            entries: vec![[0; 2]; 1 << Self::SIZE_BITS].into(),
        }
    }

    #[inline(always)]
    fn slot([left, right]: [u32; 2]) -> (u64, usize) {
        let pair = u64::from(left) | u64::from(right) << 32;
        let spread = (pair ^ pair >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (pair, (spread >> (64 - Self::SIZE_BITS)) as usize)
    }

    #[inline(always)]
    pub(crate) fn get(&self, pair: [u32; 2]) -> Option<NodeId> {
        let (pair, slot) = Self::slot(pair);
        let [known, next] = self.entries[slot];
        (known == pair && next != 0).then(|| NodeId((next - 1) as u32))
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, pair: [u32; 2], id: NodeId) {
        let (pair, slot) = Self::slot(pair);
        self.entries[slot] = [pair, u64::from(id.0) + 1];
    }
}

/// A node that is not known yet.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Words of a leaf, or ids of the children.
    halves: [u32; 2],
    /// Twice the number of the step that the id goes to, plus one for the right half.
    receiver: usize,
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
    pub(crate) memo: Memo,
    /// By insertion: the ids at the root, once they are known.
    pub(crate) roots: Vec<[u32; 2]>,
    steps: Vec<Step>,
    climbs: Vec<Climb>,
    /// For one state: the halves of its nodes above the leaves.
    halves: Vec<[u32; 2]>,
    /// For one state: a mask.
    mask: Vec<u64>,
    /// Numbers and hashes of a round of lookups.
    pub(crate) pending: Vec<(usize, u64)>,
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
            halves: vec![[0; 2]; shape.first_leaf()],
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
        let parts = &self.templates.parts[template.first..template.end];
        let (leaves, above) = parts.split_at(template.leaves);
        let halves = &mut self.halves[..above.len()];
        for (halves, node) in halves.iter_mut().zip(above) {
            *halves = node.from.map(|at| known[at].0);
        }
        for (at, leaf) in leaves.iter().enumerate() {
            match self.memo.get(leaf.words(words)) {
                Some(id) => halves.as_flattened_mut()[leaf.receiver] = id.0,
                None => return self.keep(template, words, at, 0),
            }
        }
        let last = above.len() - 1;
        for (at, node) in above[..last].iter().enumerate() {
            match self.memo.get(halves[at]) {
                Some(id) => halves.as_flattened_mut()[node.receiver] = id.0,
                None => return self.keep(template, words, template.leaves, at),
            }
        }
        self.roots.push(halves[last]);
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
    fn keep(&mut self, template: Template, words: &[u32], leaves: usize, nodes: usize) {
        let first = self.steps.len();
        let parts = &self.templates.parts[template.first..template.end];
        let (all_leaves, above) = parts.split_at(template.leaves);
        let leaves = &all_leaves[leaves..];
        let step = |halves: [u32; 2], part: &Part| Step {
            halves,
            // The root has no receiver.
            receiver: (part.receiver + 2 * (first + leaves.len())).saturating_sub(2 * nodes),
        };
        let words = leaves.iter().map(|leaf| step(leaf.words(words), leaf));
        self.steps.extend(words);
        let above = self.halves.iter().zip(above).skip(nodes);
        self.steps
            .extend(above.map(|(halves, node)| step(*halves, node)));
        self.climbs.push(Climb {
            insertion: self.roots.len(),
            next: first,
            last: self.steps.len() - 1,
        });
        self.roots.push([0; 2]);
    }

    /// How many states are not known to be at their roots.
    pub(crate) fn climbs(&self) -> usize {
        self.climbs.len()
    }

    /// Goes up with a state as far as the memory knows the nodes. Returns the first
    /// unknown one, or `None` at the root.
    #[inline(always)]
    pub(crate) fn climb(&mut self, number: usize) -> Option<[u32; 2]> {
        let mut climb = self.climbs[number];
        let unknown = loop {
            let pair = self.steps[climb.next].halves;
            if climb.next == climb.last {
                self.roots[climb.insertion] = pair;
                break None;
            }
            match self.memo.get(pair) {
                Some(id) => self.pass_on(&mut climb, id),
                None => break Some(pair),
            }
        };
        self.climbs[number] = climb;
        unknown
    }

    /// The first unknown node of a state.
    #[inline(always)]
    pub(crate) fn unknown(&self, number: usize) -> [u32; 2] {
        self.steps[self.climbs[number].next].halves
    }

    /// The first unknown node of a state has this id.
    #[inline(always)]
    pub(crate) fn found(&mut self, number: usize, id: NodeId) {
        let mut climb = self.climbs[number];
        self.memo.put(self.steps[climb.next].halves, id);
        self.pass_on(&mut climb, id);
        self.climbs[number] = climb;
    }

    #[inline(always)]
    fn pass_on(&mut self, climb: &mut Climb, id: NodeId) {
        let receiver = self.steps[climb.next].receiver;
        self.steps[receiver / 2].halves[receiver % 2] = id.0;
        climb.next += 1;
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
        let shape = Shape::new(14);
        let mut parts = vec![Part::above(9); 3];
        let leaves = shape.plan(&[1 << 13 | 1 << 12 | 1 << 10 | 1], &mut parts);
        assert_eq!(leaves, 3);
        // Positions 13 (words 12 and 13), 12, 7, 6, 3, 1, and the halves that their ids go to.
        let expected = [
            ([12, 13], 1),
            ([10, 11], 0),
            ([0, 1], 3),
            ([12, 13], 2),
            ([6, 7], 5),
            ([2, 3], 0),
        ];
        let found: Vec<_> = parts[3..].iter().map(|p| (p.from, p.receiver)).collect();
        assert_eq!(found, expected);
        let mut parts = Vec::new();
        assert_eq!(shape.plan(&[0], &mut parts), 0);
        assert_eq!(parts, [Part::above(1)]);
    }

    #[test]
    fn templates_are_told_apart_by_the_whole_mask() {
        let mut templates = Templates::new(Shape::new(200));
        let leaves_of = |templates: &mut Templates, mask: &[u64]| {
            let template = templates.of(mask);
            template.leaves
        };
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
                    assert_eq!(leaves_of(&mut templates, mask), expected, "{mask:?}");
                }
            }
            assert!(templates.parts.len() <= Templates::MOST_PARTS + 300);
        }
    }
}
