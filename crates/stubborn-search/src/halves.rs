//! Which words of states should be in which half of a tree.
//!
//! The nodes of a tree are the values of its halves, and of their parts. Where one half has nearly
//! as many values as there are states, the tree has a node a state for nothing. How many values
//! some words have together, a sample tells: the more values, the fewer pairs of states agree in
//! them. So a search starts with the usual halves; when it turns out not to be a small one, some
//! random walks are made, and if other halves have far fewer values, it starts again with those.

use stubborn_store::{Cursor, Halves, StateHandle, Store, StoreKind, Worker};
use stubborn_system::{FieldKind, Random, Successors};

use crate::config::Search;

/// States after which a search is not a small one.
pub(crate) const NOT_SMALL: u64 = 16_000;
/// Walks, and the most steps of each: together a sixteenth of what was explored.
const WALKS: usize = 32;
const STEPS: usize = 32;
/// Words of the widest states that are looked at.
const WIDEST: usize = 64;
/// Most words of which two are moved at once.
const MOST_PAIRED: usize = 16;
/// It is worth starting again if there are fewer values by this factor.
const WORTH_IT: f64 = 0.7;

/// Better halves for states like those of a store, if there are some.
pub(crate) fn better(search: &Search<'_>, store: &Store) -> Option<Halves> {
    let width = store.width();
    if store.kind() != StoreKind::Tree || !(3..=WIDEST).contains(&width) {
        return None;
    }
    let sample = Sample::new(&states(search, store), width);
    let usual = Store::usual_halves(width);
    let mut is_left = vec![false; width];
    for word in &usual[0] {
        is_left[*word as usize] = true;
    }
    let mut split = Split::new(&sample, is_left);
    let (before, after) = (split.cost(), split.improve());
    // Words that are always the same come last: where paths are longer.
    let is_same = |word: &u32| sample.is_same(*word as usize);
    let half = |left: bool| {
        let words = (0..width as u32).filter(|word| split.is_left[*word as usize] == left);
        let (same, others): (Vec<u32>, Vec<u32>) = words.partition(is_same);
        [others, same].concat()
    };
    (after < WORTH_IT * before).then(|| [half(true), half(false)])
}

/// States of random walks that start at states of the store.
fn states(search: &Search<'_>, store: &Store) -> Vec<Vec<u32>> {
    let mut handles: Vec<StateHandle> = Vec::new();
    store.for_each(&mut |handle, _| {
        handles.push(handle);
        true
    });
    let (mut worker, mut cursor): (Worker<'_>, Cursor) = (store.worker(), store.cursor());
    // A system may keep all that it is asked about: nobody goes where the search would not.
    let mut fields = search.system.layout().fields().iter();
    let keeps = fields.any(|field| matches!(field.kind, FieldKind::Interned));
    let (walks, steps) = match keeps || search.limits.depth.is_some() {
        true => (WALKS * STEPS, 1),
        false => (WALKS, STEPS),
    };
    let every = (handles.len() / walks).max(1);
    let mut executor = search.system.executor();
    let mut successors = Successors::new(store.width());
    let mut random = Random::new(1);
    let mut states = Vec::new();
    for handle in handles.into_iter().step_by(every) {
        if worker.load(handle, &mut cursor).is_err() {
            continue;
        }
        let mut state = cursor.words().to_vec();
        for step in 1..=steps {
            states.push(state.clone());
            if step == steps {
                break;
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            if successors.is_empty() {
                break;
            }
            let next = random.below(successors.len());
            state.copy_from_slice(successors.state(next));
        }
    }
    states
}

/// Values of words in some states.
struct Sample {
    /// By word, by state: a hash of its value.
    hashes: Vec<Vec<u64>>,
}

impl Sample {
    fn new(states: &[Vec<u32>], width: usize) -> Self {
        let hash =
            |word: usize, value: u32| Random::new((word as u64) << 32 | u64::from(value)).bits();
        let of_word = |word: usize| states.iter().map(|s| hash(word, s[word])).collect();
        Self {
            hashes: (0..width).map(of_word).collect(),
        }
    }

    fn is_same(&self, word: usize) -> bool {
        self.hashes[word].windows(2).all(|two| two[0] == two[1])
    }
}

/// Words in two halves.
struct Split<'s> {
    sample: &'s Sample,
    is_left: Vec<bool>,
    /// By half, by state: a hash of all its words.
    hashes: [Vec<u64>; 2],
    /// Hashes and how often they were seen.
    seen: Vec<(u64, u32)>,
}

impl<'s> Split<'s> {
    fn new(sample: &'s Sample, is_left: Vec<bool>) -> Self {
        let states = sample.hashes[0].len();
        let mut split = Self {
            sample,
            hashes: [vec![0; states], vec![0; states]],
            seen: vec![(0, 0); (4 * states).next_power_of_two()],
            is_left,
        };
        for (word, hashes) in sample.hashes.iter().enumerate() {
            let half = usize::from(split.is_left[word]);
            combine(&mut split.hashes[half], hashes);
        }
        split
    }

    /// Moves words to the other half.
    fn turn(&mut self, words: &[usize]) {
        for word in words {
            self.is_left[*word] ^= true;
            for half in &mut self.hashes {
                combine(half, &self.sample.hashes[*word]);
            }
        }
    }

    fn has_both(&self) -> bool {
        self.is_left.contains(&true) && self.is_left.contains(&false)
    }

    /// How many values both halves have, about.
    fn cost(&mut self) -> f64 {
        self.values(0) + self.values(1)
    }

    fn values(&mut self, half: usize) -> f64 {
        self.seen.fill((0, 0));
        let last = self.seen.len() - 1;
        let mut agreeing = 0;
        for hash in &self.hashes[half] {
            let mut at = *hash as usize & last;
            while self.seen[at].1 > 0 && self.seen[at].0 != *hash {
                at = (at + 1) & last;
            }
            agreeing += u64::from(self.seen[at].1);
            self.seen[at] = (*hash, self.seen[at].1 + 1);
        }
        let states = self.hashes[half].len() as f64;
        // As if one more pair had agreed.
        states * (states - 1.0) / 2.0 / (agreeing + 1) as f64
    }

    /// Moves words to the other half, or two at once, as long as that makes for fewer values.
    fn improve(&mut self) -> f64 {
        let width = self.is_left.len();
        let words: Vec<usize> = (0..width).filter(|w| !self.sample.is_same(*w)).collect();
        let mut moves: Vec<Vec<usize>> = words.iter().map(|word| vec![*word]).collect();
        if words.len() <= MOST_PAIRED {
            for (at, first) in words.iter().enumerate() {
                moves.extend(words[at + 1..].iter().map(|second| vec![*first, *second]));
            }
        }
        let mut cost = self.cost();
        loop {
            let before = cost;
            for words in &moves {
                self.turn(words);
                let other = if self.has_both() {
                    self.cost()
                } else {
                    f64::MAX
                };
                if other < cost {
                    cost = other;
                } else {
                    self.turn(words);
                }
            }
            if cost > 0.95 * before {
                return cost;
            }
        }
    }
}

fn combine(all: &mut [u64], more: &[u64]) {
    all.iter_mut()
        .zip(more)
        .for_each(|(all, more)| *all ^= more);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words that count as one, in different halves, are brought together; what never changes
    /// does not matter.
    #[test]
    fn words_that_depend_on_each_other_come_together() {
        let mut random = Random::new(5);
        let mut state = || {
            let (a, b) = (random.below(500) as u32, random.below(500) as u32);
            vec![a, 9, b, 7 * a, 9, b / 2]
        };
        let states: Vec<Vec<u32>> = (0..1_000).map(|_| state()).collect();
        let sample = Sample::new(&states, 6);
        let mut split = Split::new(&sample, vec![true, true, true, false, false, false]);
        let (before, after) = (split.cost(), split.improve());
        let is_left = &split.is_left;
        assert!(after < before / 50.0, "{before} {after}");
        assert_eq!(is_left[0], is_left[3]);
        assert_eq!(is_left[2], is_left[5]);
        assert_ne!(is_left[0], is_left[2]);
        assert!(
            after > 500.0 && after < 2_000.0,
            "about 500 values each: {after}"
        );
    }
}
