//! Where the words of a vector are in its tree.

use crate::saved::{Sink, Source, damaged};
use std::sync::Arc;

/// Which words of a vector are in which half of its tree. Each is in one of them, and neither
/// half is empty.
pub type Halves = [Vec<u32>; 2];

/// What is at a position of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A node above others, or nothing.
    Inner,
    /// Two words, or one and [`NO_WORD`].
    Leaf([u32; 2]),
}

/// In place of a word where a leaf has only one.
pub(crate) const NO_WORD: u32 = u32::MAX;

/// The tree of all vectors of a store: a part of a binary heap, in which position 1 is the root
/// and the children of `p` are `2p` and `2p + 1`.
///
/// Wide vectors have neighbours in one leaf: they belong to one process and change
/// together. A narrow vector has few nodes below its root, and what counts is that
/// neither half has nearly as many values as there are states. Shared variables come
/// first in a vector and processes after them, so every other word goes to the other
/// half: each gets a share of both. Who knows more of the vectors says what the halves are.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// By position; position 0 is not used.
    spots: Arc<[Spot]>,
    /// If they were given.
    halves: Option<Arc<Halves>>,
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
    /// The tree of vectors of `width` words, at least two; with these halves, if they are halves
    /// of such vectors.
    pub(crate) fn new(width: usize, halves: Option<&Arc<Halves>>) -> Self {
        debug_assert!(width >= 2, "single words are stored plainly");
        if let Some(halves) = halves.filter(|halves| are_halves(halves, width)) {
            let mut spots = vec![Spot::Inner; 4];
            for (words, position) in halves.iter().zip([2, 3]) {
                place(&neighbours(words), position, &mut spots);
            }
            return Self {
                spots: spots.into(),
                halves: Some(Arc::clone(halves)),
            };
        }
        let leaves = match NARROW.get(width.wrapping_sub(2)) {
            Some(leaves) => leaves.to_vec(),
            None => neighbours(&(0..width as u32).collect::<Vec<u32>>()),
        };
        let spots = std::iter::repeat_n(Spot::Inner, leaves.len());
        let leaves = leaves.iter().copied().map(Spot::Leaf);
        Self {
            spots: spots.chain(leaves).collect(),
            halves: None,
        }
    }

    /// The halves that were given.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn halves(&self) -> Option<&Arc<Halves>> {
        self.halves.as_ref()
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

    /// All leaves with their positions, the last one first.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (usize, [u32; 2])> + '_ {
        let leaf = |(position, spot): (usize, &Spot)| match spot {
            Spot::Leaf(words) => Some((position, *words)),
            Spot::Inner => None,
        };
        self.spots.iter().enumerate().rev().filter_map(leaf)
    }

    /// The words of both halves.
    pub(crate) fn halves_of(width: usize) -> Halves {
        let shape = Self::new(width, None);
        let mut halves = Halves::default();
        for (mut position, words) in shape.leaves() {
            while position > 3 {
                position /= 2;
            }
            let words = words.into_iter().filter(|word| *word != NO_WORD);
            halves[position % 2].extend(words);
        }
        halves
    }

    /// Writes which halves were given.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let none = Halves::default();
        let halves = self.halves.as_deref().unwrap_or(&none);
        for words in halves {
            sink.number(words.len() as u64)?;
            sink.numbers(words.iter().map(|word| u64::from(*word)))?;
        }
        Ok(())
    }

    /// The shape that was written, for vectors of `width` words.
    pub(crate) fn restore(width: usize, source: &mut Source<'_>) -> std::io::Result<Self> {
        let mut halves = Halves::default();
        for words in &mut halves {
            let count = source.count(8)?;
            source.numbers(count, |word| {
                words.push(word.min(NO_WORD.into()) as u32);
                Ok(())
            })?;
        }
        match halves.iter().all(Vec::is_empty) {
            true => Ok(Self::new(width, None)),
            false if are_halves(&halves, width) => Ok(Self::new(width, Some(&Arc::new(halves)))),
            false => Err(damaged("halves of vectors")),
        }
    }
}

/// Whether each word is in one of the halves, and neither is empty.
fn are_halves(halves: &Halves, width: usize) -> bool {
    let mut all: Vec<u32> = halves.iter().flatten().copied().collect();
    all.sort_unstable();
    all.into_iter().eq(0..width as u32) && halves.iter().all(|half| !half.is_empty())
}

/// Leaves of two words each.
fn neighbours(words: &[u32]) -> Vec<[u32; 2]> {
    let pair = |pair: &[u32]| [pair[0], pair.get(1).copied().unwrap_or(NO_WORD)];
    words.chunks(2).map(pair).collect()
}

/// Puts leaves under a position.
fn place(leaves: &[[u32; 2]], position: usize, spots: &mut Vec<Spot>) {
    if spots.len() <= position {
        spots.resize(position / 2 * 2 + 2, Spot::Inner);
    }
    match leaves {
        [] => {}
        [leaf] => spots[position] = Spot::Leaf(*leaf),
        several => {
            // What comes first is nearer to the root, if there is a difference.
            let (left, right) = several.split_at(several.len() / 2);
            place(left, 2 * position, spots);
            place(right, 2 * position + 1, spots);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn check(shape: &Shape, width: usize) {
        let mut count = vec![0; width];
        for (position, words) in shape.leaves() {
            for word in words.into_iter().filter(|word| *word != NO_WORD) {
                count[word as usize] += 1;
            }
            let mut above = position / 2;
            while above > 0 {
                assert_eq!(shape.spot(above), Spot::Inner, "{shape:?}");
                above /= 2;
            }
        }
        assert!(count.iter().all(|count| *count == 1), "{shape:?}");
    }

    #[test]
    fn every_word_is_in_one_place() {
        for width in (2..=40).chain([131]) {
            check(&Shape::new(width, None), width);
            let own = Shape::halves_of(width);
            assert!(are_halves(&own, width), "{own:?}");
            for left in [1, width / 2, width - 1] {
                let left = left as u32;
                let halves = [(0..left).rev().collect(), (left..width as u32).collect()];
                let shape = Shape::new(width, Some(&Arc::new(halves.clone())));
                assert_eq!(shape.halves().map(|given| &**given), Some(&halves));
                check(&shape, width);
            }
        }
    }

    #[test]
    fn halves_of_other_vectors_are_no_halves() {
        for halves in [
            [vec![0, 1], vec![1, 2]],
            [vec![0], vec![1]],
            [vec![0, 1, 2], vec![]],
            [vec![0, 1], vec![3]],
        ] {
            let shape = Shape::new(3, Some(&Arc::new(halves)));
            assert!(shape.halves().is_none());
        }
    }

    #[test]
    fn shapes_can_be_written_down() {
        let halves = Arc::new([vec![3, 0], vec![1, 4, 2]]);
        for shape in [Shape::new(5, None), Shape::new(5, Some(&halves))] {
            let mut bytes = Vec::new();
            shape
                .save(&mut Sink::new(&mut bytes))
                .expect("memory is patient");
            let read = |bytes: &[u8], width: usize| {
                let mut input = bytes;
                let left = bytes.len() as u64;
                Shape::restore(width, &mut Source::new(&mut input, left))
            };
            let same = read(&bytes, 5).expect("as it was written");
            assert_eq!((&same.spots, same.halves()), (&shape.spots, shape.halves()));
            assert!(shape.halves().is_none() || read(&bytes, 6).is_err());
            for at in 0..bytes.len() {
                assert!(read(&bytes[..at], 5).is_err());
            }
        }
    }
}
