//! Sets remembered by what they depend on.
//!
//! A set is a function of the enabled transitions and of the labels that its computation asked
//! for, one after the other. So the memory is a decision tree for each set of enabled
//! transitions: inner nodes ask a label, leaves are sets. A hit evaluates only the labels on
//! its way down, and what it finds is what the computation would have found. The memory is
//! bounded: when it is full, everything is forgotten.

use stubborn_system::BitSet;

use crate::rows::copy;
use crate::view::hash_words;

/// Set in a link that leads to a leaf.
const LEAF: u32 = 1 << 31;
/// Set, too, if the leaf is a set of all that is enabled.
const WHOLE: u32 = 1 << 30;
/// A link that leads nowhere yet.
const NOTHING: u32 = u32::MAX;
/// Most numbers (of any of the arrays together) before everything is forgotten: some 16 MiB.
const MOST_WORDS: usize = 1 << 21;

#[derive(Clone, Copy, Debug)]
struct Node {
    label: u32,
    /// Where to go if the label is false, true.
    links: [u32; 2],
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    key: u32,
    root: u32,
}

const FREE: Slot = Slot {
    hash: 0,
    key: NOTHING,
    root: NOTHING,
};

/// See the [module](self). One per thread, and one for what threads tell each other.
#[derive(Debug)]
pub(crate) struct Cache {
    words: usize,
    /// Open addressing over enabled sets; the length is a power of two.
    slots: Vec<Slot>,
    used: usize,
    keys: Vec<u64>,
    nodes: Vec<Node>,
    /// Kept sets.
    leaves: Vec<u64>,
    limit: usize,
}

/// Where the search for a hash begins in a table with this mask.
///
/// Sets of enabled transitions differ in few bits, often high ones, on which only the high bits of
/// a product depend: without mixing once more, models with many processes had hundreds of sets
/// in one place.
fn place(hash: u64, mask: usize) -> usize {
    ((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as usize & mask
}

/// A set that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    root: u32,
    leaf: u32,
    /// Labels that were asked.
    pub(crate) asked: u32,
    /// Something enabled is not in it.
    pub(crate) leaves_out: bool,
}

/// Where a new entry belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    hash: u64,
}

impl Cache {
    pub(crate) fn new(words: usize) -> Self {
        Self::with_limit(words, MOST_WORDS)
    }

    pub(crate) fn with_limit(words: usize, limit: usize) -> Self {
        Self {
            words,
            slots: vec![FREE; 64],
            used: 0,
            keys: Vec::new(),
            nodes: Vec::new(),
            leaves: Vec::new(),
            limit,
        }
    }

    /// Whether a slot is that of a set of enabled transitions. (Word by word: most are few.)
    #[inline]
    fn has_key(&self, slot: Slot, enabled: &[u64]) -> bool {
        let key = &self.keys[slot.key as usize * self.words..][..self.words];
        key.iter().zip(enabled).all(|(a, b)| a == b)
    }

    fn find(&self, hash: u64, enabled: &[u64]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = place(hash, mask);
        loop {
            let slot = self.slots[at];
            if slot.key == NOTHING {
                return Err(at);
            }
            // (A single word has a hash of its own.)
            if slot.hash == hash && (self.words == 1 || self.has_key(slot, enabled)) {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Looks a set up, asking whether labels hold. On a hit, `kept` is the set.
    #[inline]
    pub(crate) fn look_up(
        &self,
        enabled: &[u64],
        kept: &mut BitSet,
        mut holds: impl FnMut(u32) -> bool,
    ) -> Result<Hit, Miss> {
        let hash = hash_words(enabled);
        let root = match self.find(hash, enabled) {
            Ok(at) => self.slots[at].root,
            Err(_) => return Err(Miss { hash }),
        };
        let (mut link, mut asked) = (root, 0);
        while link & LEAF == 0 {
            // (Questions are few and stay near; a node may be anywhere, and is small.)
            let node = self.nodes[link as usize];
            link = node.links[usize::from(holds(node.label))];
            asked += 1;
        }
        if link == NOTHING {
            return Err(Miss { hash });
        }
        let leaves_out = link & WHOLE == 0;
        let set = match leaves_out {
            true => &self.leaves[(link & !LEAF) as usize * self.words..][..self.words],
            // (That is at hand: a leaf may be anywhere.)
            false => enabled,
        };
        copy(kept.words_mut(), set);
        Ok(Hit {
            root,
            leaf: link,
            asked,
            leaves_out,
        })
    }

    /// The questions and answers that lead to a set that was found.
    pub(crate) fn log(&self, hit: Hit) -> Vec<(u32, bool)> {
        let mut todo = vec![(hit.root, Vec::new())];
        while let Some((link, log)) = todo.pop() {
            if link == hit.leaf {
                return log;
            }
            if let Some(node) = self.nodes.get(link as usize) {
                for holds in [false, true] {
                    let mut log = log.clone();
                    log.push((node.label, holds));
                    todo.push((node.links[usize::from(holds)], log));
                }
            }
        }
        Vec::new()
    }

    /// Remembers a set with the questions and answers that led to it.
    pub(crate) fn insert(
        &mut self,
        miss: Miss,
        enabled: &[u64],
        log: &[(u32, bool)],
        kept: &BitSet,
    ) {
        if self.keys.len() + self.leaves.len() + 2 * self.nodes.len() + log.len() > self.limit {
            *self = Self::with_limit(self.words, self.limit);
        }
        if 2 * self.used >= self.slots.len() {
            self.grow();
        }
        let at = match self.find(miss.hash, enabled) {
            Ok(at) => at,
            Err(at) => {
                let key = (self.keys.len() / self.words.max(1)) as u32;
                self.keys.extend_from_slice(enabled);
                self.slots[at] = Slot {
                    hash: miss.hash,
                    key,
                    root: NOTHING,
                };
                self.used += 1;
                at
            }
        };
        // Walk down as far as the tree goes, then add what is missing.
        let mut parent: Option<(usize, usize)> = None;
        let mut link = self.slots[at].root;
        for (label, holds) in log {
            if link == NOTHING {
                link = self.nodes.len() as u32;
                self.nodes.push(Node {
                    label: *label,
                    links: [NOTHING; 2],
                });
                self.link(at, parent, link);
            }
            debug_assert_eq!(
                self.nodes[link as usize].label, *label,
                "a computation asked differently after the same answers"
            );
            parent = Some((link as usize, usize::from(*holds)));
            link = self.nodes[link as usize].links[usize::from(*holds)];
        }
        let whole = if kept.words() == enabled { WHOLE } else { 0 };
        let leaf = LEAF | whole | (self.leaves.len() / self.words.max(1)) as u32;
        self.leaves.extend_from_slice(kept.words());
        self.link(at, parent, leaf);
    }

    fn link(&mut self, slot: usize, parent: Option<(usize, usize)>, link: u32) {
        match parent {
            Some((node, side)) => self.nodes[node].links[side] = link,
            None => self.slots[slot].root = link,
        }
    }

    fn grow(&mut self) {
        let larger = vec![FREE; 2 * self.slots.len()];
        let mask = larger.len() - 1;
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot.key != NOTHING {
                let mut at = place(slot.hash, mask);
                while self.slots[at].key != NOTHING {
                    at = (at + 1) & mask;
                }
                self.slots[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_differ_in_high_bits_are_in_different_places() {
        for shift in [0, 20, 40, 54] {
            for other in [&[][..], &[7]] {
                let places = (0..1024_u64).map(|n| {
                    let words: Vec<u64> = [&[n << shift], other].concat();
                    place(hash_words(&words), 2047)
                });
                let different: std::collections::BTreeSet<usize> = places.collect();
                // Of 2,048 places, 1,024 sets take 806 if they are thrown at random.
                assert!(different.len() > 700, "{shift}: {}", different.len());
            }
        }
    }

    /// A made-up computation: it asks label 0, then label 1 or 2, and keeps what these say.
    fn compute(state: u32, enabled: u64) -> (Vec<(u32, bool)>, BitSet) {
        let first = state & 1 == 1;
        let next = if first { 1 } else { 2 };
        let second = state >> next & 1 == 1;
        let mut kept = BitSet::new(70);
        kept.words_mut()[0] = enabled & if second { 0xff } else { 0xff00 };
        (vec![(0, first), (next, second)], kept)
    }

    #[test]
    fn what_is_remembered_is_what_would_be_computed() {
        for limit in [40, 400, 1 << 20] {
            let mut cache = Cache::with_limit(2, limit);
            let mut hits = 0;
            for round in 0..2_000_u64 {
                let state = (stubborn_system::random::mix(round) & 7) as u32;
                let enabled = [0x0101 << (round % 5), round % 3];
                let (log, expected) = compute(state, enabled[0]);
                let mut kept = BitSet::new(70);
                // Labels are the bits of a state.
                let holds = |label: u32| state >> label & 1 == 1;
                match cache.look_up(&enabled, &mut kept, holds) {
                    Ok(hit) => {
                        hits += 1;
                        assert_eq!(hit.asked as usize, log.len());
                        assert_eq!(hit.leaves_out, expected.words() != enabled);
                        assert_eq!((cache.log(hit), kept), (log, expected));
                    }
                    Err(miss) => cache.insert(miss, &enabled, &log, &expected),
                }
                assert!(cache.keys.len() + cache.leaves.len() <= limit + 8);
            }
            assert!(limit < 1_000 || hits > 1_800, "{hits}");
        }
    }
}
