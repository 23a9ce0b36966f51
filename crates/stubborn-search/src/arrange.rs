//! How the words of states should lie in a tree.
//!
//! The nodes of a tree are the values of its halves, and of their parts. Where one half has nearly
//! as many values as there are states, the tree has a node a state for nothing. How many values
//! some words have together, a sample tells: the more values, the fewer pairs of states agree in
//! them. And every node between a word that changes and the root is looked up: what changes often
//! should be near the root, as in the codes of D. A. Huffman (*A method for the construction of
//! minimum-redundancy codes*, 1952). So a search starts with the usual tree; when it turns out not
//! to be a small one, some random walks are made, and if another tree is far better, it starts
//! again with that. What the first states tell is not true of all: when a search turns out to be a
//! large one, and the tree has many nodes, it is looked at again, with a larger sample.

use std::collections::{BTreeMap, BTreeSet};

use stubborn_store::{Cursor, Leaves, NO_WORD, StateHandle, Store, Worker};
use stubborn_system::{FieldKind, Random, Successors, System};

use crate::config::Search;

/// When to look whether there is a better tree.
pub(crate) struct Look {
    /// After so many states.
    pub(crate) states: u64,
    /// Walks, and the most steps of each: together not more than an eighth of what was explored.
    walks: usize,
    steps: usize,
    /// Whether all states of a walk are in the sample, or only the last: the others are like it, and
    /// make halves seem to have fewer values than they have.
    takes_all: bool,
    /// Nodes of the tree for each state, at least.
    nodes: f64,
    /// What a reduction may have done for each state, at most: starting again, it chooses the sets again.
    pub(crate) work: u64,
    /// It is worth starting again if there are fewer values by this factor, and not more nodes to
    /// look up by [`MORE_NODES`].
    fewer_values: f64,
    /// The same where there are not more nodes to look up.
    fewer_of_both: f64,
}

/// The search is not a small one; it is a large one.
pub(crate) const LOOKS: [Look; 2] = [
    Look {
        states: 16_000,
        walks: 64,
        steps: 16,
        takes_all: true,
        nodes: 0.0,
        work: u64::MAX,
        fewer_values: 0.7,
        fewer_of_both: 0.7,
    },
    Look {
        states: 256_000,
        walks: 4_000,
        steps: 8,
        takes_all: false,
        nodes: 0.25,
        work: 500,
        fewer_values: 0.3,
        fewer_of_both: 0.6,
    },
];

/// Words of the widest states that are looked at.
const WIDEST: usize = 64;
/// Words of narrow states, and values of the whole in a sample that says little about them.
const NARROW: usize = 6;
const FEW_STATES: f64 = 1_000.0;
/// Words of states of which all trees are looked at.
const FEW_WORDS: usize = 8;
/// Then it is worth starting again if there are fewer values by this factor.
const FEWER_SURELY: f64 = 0.7;
/// What a node to look up counts there, of all of them, for one value of all.
const NODES_BESIDE_VALUES: f64 = 0.3;
/// Most words of which two are moved at once.
const MOST_PAIRED: usize = 16;
/// Values of both halves, for each of the whole: fewer make no difference, and with fewer than the
/// other there must also be fewer nodes to look up.
const SOME_VALUES: f64 = 0.01;
const MANY_VALUES: f64 = 0.03;
/// It is not worth starting again for more nodes to look up by this factor.
const MORE_NODES: f64 = 1.1;
/// Or if there are fewer nodes to look up by this one.
const FEWER_NODES: f64 = 0.8;

impl Look {
    /// Whether to start again for a tree with so many times the values and the nodes to look up of
    /// one whose halves have this share of the values of the whole; surer if all trees were compared.
    fn is_worth(&self, share: f64, values: f64, nodes: f64, is_sure: bool) -> bool {
        // Nodes are dearer where every state has one of its own.
        let most_nodes = match share > MANY_VALUES {
            true => MORE_NODES.max(2.0 * share),
            false => FEWER_NODES,
        };
        let fewer_values = match (is_sure, nodes < 1.0) {
            (true, _) => FEWER_SURELY,
            (false, true) => self.fewer_of_both,
            (false, false) => self.fewer_values,
        };
        values < fewer_values && nodes < most_nodes
    }
}

/// A better tree for states like those of a store, if there is one.
pub(crate) fn better_tree(look: &Look, search: &Search<'_>, store: &Store) -> Option<Leaves> {
    let width = store.width();
    let usual = store.leaves()?;
    let has_many_nodes = store.parts() as f64 >= look.nodes * store.len() as f64;
    if !(3..=WIDEST).contains(&width) || !has_many_nodes {
        return None;
    }
    let (states, steps) = walks(look, search, store);
    let sample = Sample::new(&states, width, !look.takes_all);
    let mut split = Split::new(&sample, left_words(&usual, width));
    let usual_nodes = nodes(&usual, &steps);
    // The same halves, but what changes often at the top.
    let sorted = arranged(&split, &steps);
    let whole = sample.whole();
    let share = split.cost() / whole;
    // The usual tree of a narrow state is a good one: it takes more to know better.
    let knows_enough = width > NARROW || whole > FEW_STATES;
    if knows_enough && share > SOME_VALUES {
        let (leaves, values, is_sure) = match width <= FEW_WORDS {
            true => {
                let before = values(&usual, &sample);
                let leaves = cheapest(&sample, &steps, [before, usual_nodes]);
                let values = values(&leaves, &sample) / before;
                (leaves, values, true)
            }
            false => {
                let before = split.cost();
                let values = split.improve() / before;
                (arranged(&split, &steps), values, false)
            }
        };
        let nodes = nodes(&leaves, &steps) / usual_nodes;
        if look.is_worth(share, values, nodes, is_sure) {
            return Some(leaves);
        }
    }
    (nodes(&sorted, &steps) < FEWER_NODES * usual_nodes).then_some(sorted)
}

/// A better tree for a product like its first nodes, of which there should be
/// [so many](STATES_OF_PRODUCT), if there is one: states of the system with more words behind them, which
/// hardly ever change.
pub fn better_tree_of_product(system: &dyn System, store: &Store) -> Option<Leaves> {
    better_tree(&LOOKS[0], &Search::new(system), store)
}

/// When to ask for a better tree of a product.
pub const STATES_OF_PRODUCT: u64 = LOOKS[0].states;

/// The tree with such halves in which what changes often is at the top.
fn arranged(split: &Split<'_>, steps: &Steps) -> Leaves {
    let mut leaves = Leaves::new();
    for (position, left) in [(2, true), (3, false)] {
        let words = 0..split.is_left.len() as u32;
        let words = words.filter(|word| split.is_left[*word as usize] == left);
        let is_same = |word: &u32| split.sample.is_same(*word as usize);
        let (same, others): (Vec<u32>, Vec<u32>) = words.partition(is_same);
        let words = others.chunks(2).chain(same.chunks(2));
        let words = words.map(|two| [two[0], two.get(1).copied().unwrap_or(NO_WORD)]);
        place(tree(words.collect(), steps), position, &mut leaves);
    }
    leaves
}

/// Which words are in the first half of a tree.
fn left_words(leaves: &Leaves, width: usize) -> Vec<bool> {
    let mut is_left = vec![false; width];
    for (position, words) in leaves {
        let half = position >> (position.ilog2() - 1);
        for word in words.iter().filter(|word| **word != NO_WORD) {
            is_left[*word as usize] = half == 2;
        }
    }
    is_left
}

/// Masks of words that changed in a step, with the number of such steps.
type Steps = BTreeMap<u64, u64>;

/// Whether a step changes a leaf.
fn changes(mask: u64, words: [u32; 2]) -> bool {
    let in_mask = |word: &u32| *word != NO_WORD && mask >> word & 1 == 1;
    words.iter().any(in_mask)
}

/// How many values all nodes below the root have, about.
fn values(leaves: &Leaves, sample: &Sample) -> f64 {
    let mut parts = BTreeMap::new();
    for (position, words) in leaves {
        let words = words.iter().filter(|word| **word != NO_WORD);
        let mask = words.fold(0, |mask, word| mask | 1 << word);
        let above = std::iter::successors(Some(*position), |position| Some(position / 2));
        for position in above.take_while(|position| *position > 1) {
            *parts.entry(position).or_insert(0) |= mask;
        }
    }
    parts.into_values().map(|words| sample.values(words)).sum()
}

/// The tree of few words with the fewest values, and nodes to look up, for each of those that another has.
fn cheapest(sample: &Sample, steps: &Steps, [values, nodes]: [f64; 2]) -> Leaves {
    let all = (1usize << sample.hashes.len()) - 1;
    // By words: what a part with these costs, and the words of its first half.
    let mut best = vec![(0.0, 0); all + 1];
    for words in 1..=all {
        let changing = steps.iter().filter(|(mask, _)| **mask & words as u64 != 0);
        let looked_up = changing.map(|(_, count)| *count).sum::<u64>() as f64;
        let own =
            sample.values(words as u64) / values + NODES_BESIDE_VALUES * looked_up / nodes.max(1.0);
        let mut below = (f64::MAX, 0);
        let mut half = (words - 1) & words;
        while half > words / 2 {
            let both = best[half].0 + best[words ^ half].0;
            if both < below.0 {
                below = (both, half);
            }
            half = (half - 1) & words;
        }
        best[words] = match words.count_ones() > 2 {
            true => (own + below.0, below.1),
            false => (own, 0),
        };
    }
    let mut leaves = Leaves::new();
    let mut parts = vec![(2, best[all].1), (3, all ^ best[all].1)];
    while let Some((position, words)) = parts.pop() {
        if words.count_ones() <= 2 {
            let (first, last) = (words.trailing_zeros(), words.ilog2());
            leaves.push((position, [first, if last > first { last } else { NO_WORD }]));
        } else {
            parts.push((2 * position, best[words].1));
            parts.push((2 * position + 1, words ^ best[words].1));
        }
    }
    leaves
}

/// How many nodes below the root all steps change.
fn nodes(leaves: &Leaves, steps: &Steps) -> f64 {
    let of_step = |mask: u64| {
        let mut changed = BTreeSet::from([1]);
        for (position, _) in leaves.iter().filter(|(_, words)| changes(mask, *words)) {
            let mut position = *position;
            while changed.insert(position) {
                position /= 2;
            }
        }
        changed.len() as f64 - 1.0
    };
    let all = steps.iter();
    all.map(|(mask, count)| of_step(*mask) * *count as f64)
        .sum()
}

/// A part of a tree.
enum Part {
    Leaf([u32; 2]),
    Pair(Box<[Part; 2]>),
}

/// The tree of some leaves in which those that change often are at the top.
fn tree(leaves: Vec<[u32; 2]>, steps: &Steps) -> Part {
    let all: u64 = steps.values().sum();
    let weight = |words: [u32; 2]| {
        let changing = steps.iter().filter(|(mask, _)| changes(**mask, words));
        // Whatever happens seldom: no path gets much too long.
        changing.map(|(_, count)| count).sum::<u64>() + all / 32 + 1
    };
    let leaves = leaves.into_iter();
    let mut parts: Vec<(u64, Part)> = leaves
        .map(|words| (weight(words), Part::Leaf(words)))
        .collect();
    let take_lightest = |parts: &mut Vec<(u64, Part)>| {
        let weights = parts.iter().enumerate();
        let lightest = weights.min_by_key(|(_, (weight, _))| *weight);
        let at = lightest.map_or(0, |(at, _)| at);
        parts.remove(at)
    };
    while parts.len() > 1 {
        let (first, second) = (take_lightest(&mut parts), take_lightest(&mut parts));
        let pair = Part::Pair(Box::new([second.1, first.1]));
        parts.push((first.0 + second.0, pair));
    }
    parts.remove(0).1
}

/// Puts a part at a position.
fn place(part: Part, position: u32, leaves: &mut Leaves) {
    match part {
        Part::Leaf(words) => leaves.push((position, words)),
        Part::Pair(parts) => {
            let [left, right] = *parts;
            place(left, 2 * position, leaves);
            place(right, 2 * position + 1, leaves);
        }
    }
}

/// States of random walks that start at states of the store, and all steps from them.
fn walks(look: &Look, search: &Search<'_>, store: &Store) -> (Vec<Vec<u32>>, Steps) {
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
        true if look.takes_all => (look.walks * look.steps, 1),
        true => (look.walks, 1),
        // Of few words, much can be said with more states.
        false if !look.takes_all && store.width() <= FEW_WORDS => (4 * look.walks, look.steps / 4),
        false => (look.walks, look.steps),
    };
    let every = (handles.len() / walks).max(1);
    let mut executor = search.system.executor();
    let words = search.system.layout().words();
    let mut successors = Successors::new(words);
    let mut random = Random::new(1);
    let (mut states, mut all_steps) = (Vec::new(), Steps::new());
    for handle in handles.into_iter().step_by(every) {
        if worker.load(handle, &mut cursor).is_err() {
            continue;
        }
        let mut state = cursor.words().to_vec();
        for step in 1..=steps {
            if look.takes_all || step == steps {
                states.push(state.clone());
            }
            successors.clear();
            executor.successors(&state[..words], &mut successors);
            if successors.is_empty() {
                break;
            }
            for successor in successors.iter() {
                let words = state.iter().zip(successor.state).enumerate();
                let changed = words.filter(|(_, (before, after))| before != after);
                let mask = changed.fold(0, |mask, (word, _)| mask | 1 << word);
                *all_steps.entry(mask).or_default() += 1;
            }
            let next = random.below(successors.len());
            state[..words].copy_from_slice(successors.state(next));
        }
    }
    (states, all_steps)
}

/// Values of words in some states.
struct Sample {
    /// By word, by state: a hash of its value.
    hashes: Vec<Vec<u64>>,
    /// Whether the states have nothing to do with each other.
    is_scattered: bool,
}

impl Sample {
    fn new(states: &[Vec<u32>], width: usize, is_scattered: bool) -> Self {
        let hash =
            |word: usize, value: u32| Random::new((word as u64) << 32 | u64::from(value)).bits();
        let of_word = |word: usize| states.iter().map(|s| hash(word, s[word])).collect();
        Self {
            hashes: (0..width).map(of_word).collect(),
            is_scattered,
        }
    }

    /// How many values all words have together, about.
    fn whole(&self) -> f64 {
        self.values(u64::MAX >> (64 - self.hashes.len()))
    }

    /// The same of some words, by their bits.
    fn values(&self, words: u64) -> f64 {
        let states = self.hashes[0].len();
        let mut hashes = vec![0; states];
        for (word, of_word) in self.hashes.iter().enumerate() {
            if words >> word & 1 == 1 {
                combine(&mut hashes, of_word);
            }
        }
        self.count(&hashes, &mut no_values(states))
    }

    /// How many values there are of which these are hashes, one for each state, about; with room for those
    /// that were seen.
    fn count(&self, hashes: &[u64], seen: &mut [(u64, u32)]) -> f64 {
        seen.fill((0, 0));
        let last = seen.len() - 1;
        let mut agreeing = 0;
        for hash in hashes {
            let mut at = *hash as usize & last;
            while seen[at].1 > 0 && seen[at].0 != *hash {
                at = (at + 1) & last;
            }
            agreeing += u64::from(seen[at].1);
            seen[at] = (*hash, seen[at].1 + 1);
        }
        if self.is_scattered {
            // After A. Chao (1984): a value that many states have is one value all the same.
            let mut seen_times = [0.0; 3];
            for (_, times) in seen.iter().filter(|(_, times)| *times > 0) {
                seen_times[(*times as usize).min(3) - 1] += 1.0;
            }
            let [once, twice, more] = seen_times;
            return once + twice + more + once * once / (2.0 * (twice + 1.0));
        }
        let states = hashes.len() as f64;
        // As if one more pair had agreed.
        states * (states - 1.0) / 2.0 / (agreeing + 1) as f64
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
            seen: no_values(states),
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
        self.sample.count(&self.hashes[half], &mut self.seen)
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

/// Room for the values of so many states.
fn no_values(states: usize) -> Vec<(u64, u32)> {
    vec![(0, 0); (4 * states).next_power_of_two()]
}

fn combine(all: &mut [u64], more: &[u64]) {
    all.iter_mut()
        .zip(more)
        .for_each(|(all, more)| *all ^= more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_store::{MemoryBudget, StoreOptions};

    /// What changes often is near the root.
    #[test]
    fn frequent_changes_are_cheap() {
        let steps = Steps::from([(1 << 9, 1_000), (1, 10), (1 << 4, 10), (1 << 7, 10)]);
        let words = (0..6).map(|leaf| [2 * leaf, 2 * leaf + 1]).collect();
        let mut leaves = vec![(2, [12, NO_WORD])];
        place(tree(words, &steps), 3, &mut leaves);
        let position_of = |word: u32| leaves.iter().find(|(_, words)| words.contains(&word));
        assert!(position_of(9).is_some_and(|(position, _)| position.ilog2() == 2));
        assert!(nodes(&leaves, &steps) < 2_200.0);
        let usual = Store::new(13, &StoreOptions::default(), &MemoryBudget::unlimited());
        let usual = usual.expect("memory").leaves().expect("a tree");
        assert!(nodes(&usual, &steps) > 3_000.0);
        assert_eq!(
            left_words(&leaves, 13),
            [vec![false; 12], vec![true]].concat()
        );
        let widest = (0..32).map(|leaf| [2 * leaf, 2 * leaf + 1]).collect();
        let rapid = Steps::from_iter((0..32).map(|at| (1 << (2 * at), 1 << at)));
        let mut deep = Leaves::new();
        place(tree(widest, &rapid), 1, &mut deep);
        assert!(
            deep.iter().all(|(position, _)| *position < 1 << 11),
            "{deep:?}"
        );
    }

    /// A large search starts again for a tree that is better in one way only if it is much better.
    #[test]
    fn a_large_search_starts_again_for_much() {
        let [small, large] = &LOOKS;
        let is_worth =
            |look: &Look, share, values, nodes| look.is_worth(share, values, nodes, false);
        assert!(is_worth(small, 0.2, 0.6, 1.05) && !is_worth(large, 0.2, 0.5, 1.05));
        assert!(is_worth(large, 0.2, 0.5, 0.9) && is_worth(large, 0.2, 0.2, 1.05));
        assert!(!is_worth(large, 0.2, 0.8, 0.9) && !is_worth(large, 0.2, 0.2, 1.5));
        assert!(is_worth(large, 0.9, 0.2, 1.5) && !is_worth(large, 0.02, 0.2, 0.9));
        assert!(large.is_worth(0.2, 0.6, 1.05, true) && !large.is_worth(0.2, 0.6, 1.2, true));
    }

    /// Of few words, the parts of halves count as well.
    #[test]
    fn few_words_have_the_cheapest_of_all_trees() {
        let mut random = Random::new(7);
        let mut state = || {
            let [a, b, c] = [0; 3].map(|_| random.below(60) as u32);
            vec![a, c, b, c, c % 2]
        };
        let states: Vec<Vec<u32>> = (0..2_000).map(|_| state()).collect();
        let sample = Sample::new(&states, 5, true);
        let usual = vec![(2, [1, 3]), (6, [0, 2]), (7, [4, NO_WORD])];
        let steps = Steps::from([(1, 100), (1 << 4, 1)]);
        let before = [values(&usual, &sample), nodes(&usual, &steps)];
        assert!(before[0] > 6_000.0, "of 0, 2, 4 and of 0, 2: {before:?}");
        assert_eq!(before[1], 202.0);
        let leaves = cheapest(&sample, &steps, before);
        // Only one half has two of the three in it.
        assert!(values(&leaves, &sample) < 0.7 * before[0], "{leaves:?}");
        assert!(nodes(&leaves, &steps) <= 102.0);
        // Where nothing ever changes, it is a tree all the same.
        let leaves = cheapest(&sample, &Steps::new(), [1.0, 0.0]);
        assert_eq!(
            leaves.iter().map(|(_, words)| words.len()).sum::<usize>(),
            6
        );
    }

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
        for is_scattered in [false, true] {
            let sample = Sample::new(&states, 6, is_scattered);
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
}
