//! Where the words of a vector are in its tree.

use crate::saved::{Sink, Source, damaged};
use std::sync::Arc;

/// The leaves of a tree: their positions in a binary heap, in which position 1 is the root and the
/// children of `p` are `2p` and `2p + 1`, and their words, or one word and [`NO_WORD`]. Every word
/// is in one of them, and every position above a leaf has two children.
pub type Leaves = Vec<(u32, [u32; 2])>;

/// What is at a position of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A node above others, or nothing.
    Inner,
    /// Two words, or one and [`NO_WORD`].
    Leaf([u32; 2]),
}

/// In place of a word where a leaf has only one.
pub const NO_WORD: u32 = u32::MAX;

/// The tree of all vectors of a store: a part of a binary heap, in which position 1 is the root
/// and the children of `p` are `2p` and `2p + 1`.
///
/// Wide vectors have neighbours in one leaf: they belong to one process and change
/// together. A narrow vector has few nodes below its root, and what counts is that
/// neither half has nearly as many values as there are states. Shared variables come
/// first in a vector and processes after them, so every other word goes to the other
/// half: each gets a share of both. Who knows more of the vectors says where they should be.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// By position; position 0 is not used.
    spots: Arc<[Spot]>,
    /// By position, where a leaf goes: its words, the first one twice if it has only one. [`NO_WORD`]
    /// where there is no leaf.
    targets: Arc<[[u32; 2]]>,
    /// They were given.
    is_given: bool,
}

/// The leaves of vectors of two words and more. The first half of the root has the
/// leaves under position 2: with three leaves the last two, else the first ones.
const NARROW: [&[[u32; 2]]; 5] = [
    &[[0, NO_WORD], [1, NO_WORD]],
    &[[0, 2], [1, NO_WORD]],
    &[[0, 2], [1, 3]],
    &[[1, 3], [0, 2], [4, NO_WORD]],
    &[[0, 2], [4, NO_WORD], [1, 3], [5, NO_WORD]],
];

impl Shape {
    /// The deepest position of a leaf that is given.
    const DEEPEST: u32 = 1 << 12;

    /// The tree of vectors of `width` words, at least two; with these leaves, if they are leaves
    /// of such a tree.
    pub(crate) fn new(width: usize, leaves: Option<&Leaves>) -> Self {
        debug_assert!(width >= 2, "single words are stored plainly");
        if let Some(leaves) = leaves.filter(|leaves| are_leaves(leaves, width)) {
            return Self::with_leaves(leaves, true);
        }
        let narrow = NARROW
            .get(width.wrapping_sub(2))
            .map(|leaves| leaves.to_vec());
        let second = |word: usize| if word < width { word as u32 } else { NO_WORD };
        let wide = (0..width).step_by(2);
        let wide = wide.map(|word| [word as u32, second(word + 1)]);
        let leaves = narrow.unwrap_or_else(|| wide.collect());
        let first = leaves.len() as u32;
        Self::with_leaves(&(first..).zip(leaves).collect(), false)
    }

    fn with_leaves(leaves: &Leaves, is_given: bool) -> Self {
        let last = leaves.iter().map(|(position, _)| *position).max();
        // Siblings lie side by side.
        let mut spots = vec![Spot::Inner; last.unwrap_or(0) as usize / 2 * 2 + 2];
        for (position, words) in leaves {
            spots[*position as usize] = Spot::Leaf(*words);
        }
        let target = |spot: &Spot| match *spot {
            Spot::Inner => [NO_WORD; 2],
            Spot::Leaf([only, NO_WORD]) => [only; 2],
            Spot::Leaf(words) => words,
        };
        Self {
            targets: spots.iter().map(target).collect(),
            spots: spots.into(),
            is_given,
        }
    }

    /// Positions of the heap; position 0 is not used.
    pub(crate) fn positions(&self) -> usize {
        self.spots.len()
    }

    /// What is at a position.
    #[inline(always)]
    pub(crate) fn spot(&self, position: usize) -> Spot {
        self.spots[position]
    }

    /// By position, where a leaf goes.
    #[inline(always)]
    pub(crate) fn targets(&self) -> &[[u32; 2]] {
        &self.targets
    }

    /// Puts the two values of a leaf at a position where they belong; false if there is none.
    #[inline(always)]
    pub(crate) fn fill(
        targets: &[[u32; 2]],
        position: usize,
        [left, right]: [u32; 2],
        words: &mut [u32],
    ) -> bool {
        let [first, second] = targets[position];
        if first == NO_WORD {
            return false;
        }
        // In this order: what a leaf has not is overwritten by what it has.
        words[second as usize] = right;
        words[first as usize] = left;
        true
    }

    /// All leaves with their positions, the last one first.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (usize, [u32; 2])> + Clone + '_ {
        let leaf = |(position, spot): (usize, &Spot)| match spot {
            Spot::Leaf(words) => Some((position, *words)),
            Spot::Inner => None,
        };
        self.spots.iter().enumerate().rev().filter_map(leaf)
    }

    /// Writes which leaves were given.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let leaves = self.leaves().filter(|_| self.is_given);
        sink.number(leaves.clone().count() as u64)?;
        for (position, [first, second]) in leaves {
            sink.numbers([position as u64, first.into(), second.into()])?;
        }
        Ok(())
    }

    /// The shape that was written, for vectors of `width` words.
    pub(crate) fn restore(width: usize, source: &mut Source<'_>) -> std::io::Result<Self> {
        let wrong = || damaged("leaves of trees");
        let number = |source: &mut Source<'_>| {
            let number = source.number()?;
            u32::try_from(number).map_err(|_| wrong())
        };
        let count = source.count(24)?;
        let mut leaves = Leaves::new();
        for _ in 0..count {
            let position = number(source)?;
            leaves.push((position, [number(source)?, number(source)?]));
        }
        match leaves.is_empty() {
            true => Ok(Self::new(width, None)),
            false if are_leaves(&leaves, width) => Ok(Self::new(width, Some(&leaves))),
            false => Err(wrong()),
        }
    }
}

/// Whether these are the leaves of a tree of vectors of `width` words.
fn are_leaves(leaves: &Leaves, width: usize) -> bool {
    let is_whole = |[first, second]: [u32; 2]| first != NO_WORD && first != second;
    let words = leaves.iter().flat_map(|(_, words)| words);
    let mut words: Vec<u32> = words.copied().filter(|word| *word != NO_WORD).collect();
    words.sort_unstable();
    let mut positions: Vec<u32> = leaves.iter().map(|(position, _)| *position).collect();
    if !leaves.iter().all(|(_, words)| is_whole(*words))
        || !words.into_iter().eq(0..width as u32)
        || positions.iter().any(|p| !(2..Shape::DEEPEST).contains(p))
    {
        return false;
    }
    // Two siblings become their parent, from the deepest ones on, until there is only the root.
    positions.sort_unstable();
    while let Some(last) = positions.pop() {
        if last == 1 {
            return positions.is_empty();
        }
        if last % 2 == 0 || positions.pop() != Some(last - 1) {
            return false;
        }
        let at = positions.partition_point(|p| *p < last / 2);
        positions.insert(at, last / 2);
    }
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn leaves_of(shape: &Shape) -> Leaves {
        shape.leaves().map(|(p, words)| (p as u32, words)).collect()
    }

    #[test]
    fn every_word_is_in_one_place() {
        for width in (2..=40).chain([131]) {
            let shape = Shape::new(width, None);
            let leaves = leaves_of(&shape);
            assert!(are_leaves(&leaves, width), "{leaves:?}");
            let given = Shape::new(width, Some(&leaves));
            assert_eq!((given.spots, given.is_given), (shape.spots, true));
        }
    }

    #[test]
    fn what_is_no_tree_is_not_taken() {
        let fine: Leaves = vec![(2, [2, NO_WORD]), (6, [0, 3]), (7, [1, NO_WORD])];
        assert!(are_leaves(&fine, 4));
        assert!(!are_leaves(&fine, 5), "a word is missing");
        assert!(!are_leaves(&fine, 3), "there is no such word");
        assert!(!are_leaves(&vec![], 0));
        for (at, leaf) in [
            (0, (2, [1, NO_WORD])),
            (0, (2, [NO_WORD, 2])),
            (0, (4, [2, NO_WORD])),
            (1, (7, [0, 3])),
            (2, (3, [1, NO_WORD])),
            (2, (14, [1, NO_WORD])),
            (2, (7, [1, 1])),
            (2, (u32::MAX, [1, NO_WORD])),
        ] {
            let mut wrong = fine.clone();
            wrong[at] = leaf;
            assert!(!are_leaves(&wrong, 4), "{wrong:?}");
            assert!(!Shape::new(4, Some(&wrong)).is_given);
        }
    }

    #[test]
    fn shapes_can_be_written_down() {
        let leaves = vec![(2, [2, NO_WORD]), (6, [0, 3]), (7, [1, 4])];
        for shape in [Shape::new(5, None), Shape::new(5, Some(&leaves))] {
            let mut bytes = Vec::new();
            let saved = shape.save(&mut Sink::new(&mut bytes));
            saved.expect("memory is patient");
            let read = |bytes: &[u8], width: usize| {
                let mut input = bytes;
                let left = bytes.len() as u64;
                Shape::restore(width, &mut Source::new(&mut input, left))
            };
            let same = read(&bytes, 5).expect("as it was written");
            assert_eq!((&same.spots, same.is_given), (&shape.spots, shape.is_given));
            assert!(!shape.is_given || read(&bytes, 6).is_err());
            for at in 0..bytes.len() {
                assert!(read(&bytes[..at], 5).is_err());
            }
        }
    }
}
