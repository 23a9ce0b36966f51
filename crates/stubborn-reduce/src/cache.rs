//! Sets remembered by what they depend on.
//!
//! A set is a function of the enabled transitions and of the labels that its computation asked
//! for, one after the other. So the memory is a decision tree for each set of enabled
//! transitions: inner nodes ask for labels, leaves are sets. A hit evaluates only the labels on
//! its way down, and what it finds is what the computation would have found. The memory is
//! bounded: when it is full, everything is forgotten.
//!
//! Labels of one field that were asked in a row are one node, which looks at the [field](Fields) and has a way
//! for each class of its values. Values that gave the same answers have the same way: nothing is told apart
//! that the computation did not tell apart.

use stubborn_system::BitSet;
use stubborn_system::bits::ones;

use crate::question::{Fields, Step};
use crate::rows::copy;
use crate::view::hash_words;

/// Set in a link that leads to a leaf.
const LEAF: u32 = 1 << 31;
/// Set, too, if the leaf is a set of all that is enabled.
const WHOLE: u32 = 1 << 30;
/// Set in the first number of a node that has only one way yet: the classes that go it are bits of the next two
/// numbers, and the way is the last. Most nodes stay like that.
const SINGLE: u32 = 1 << 31;
/// The numbers of such a node; nodes with a way for each class that have no more are made at once.
const SINGLE_LEN: usize = 4;
/// A link that leads nowhere yet.
const NOTHING: u32 = u32::MAX;
/// Most numbers (of any of the arrays together) before everything is forgotten: some 16 MiB.
const MOST_WORDS: usize = 1 << 21;

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
    /// Of each node, the field that it asks for and where to go for each class, or [`SINGLE`].
    nodes: Vec<u32>,
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
    /// Fields that were looked at.
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

    /// Looks a set up, asking for the classes of fields. On a hit, `kept` is the set.
    #[inline]
    pub(crate) fn look_up(
        &self,
        enabled: &[u64],
        kept: &mut BitSet,
        mut class: impl FnMut(u32) -> usize,
    ) -> Result<Hit, Miss> {
        let hash = hash_words(enabled);
        let root = match self.find(hash, enabled) {
            Ok(at) => self.slots[at].root,
            Err(_) => return Err(Miss { hash }),
        };
        let (mut link, mut asked) = (root, 0);
        while link & LEAF == 0 {
            // (Questions are few and stay near; a node may be anywhere, and is small.)
            link = self.follow(link as usize, &mut class);
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

    /// Where a node leads.
    #[inline]
    fn follow(&self, node: usize, class: &mut impl FnMut(u32) -> usize) -> u32 {
        let head = self.nodes[node];
        if head & SINGLE == 0 {
            return self.nodes[node + 1 + class(head)];
        }
        let class = class(head & !SINGLE);
        match self.classes_of_single(node) >> class & 1 {
            0 => NOTHING,
            _ => self.nodes[node + 3],
        }
    }

    /// The classes that go the only way of a node.
    #[inline]
    fn classes_of_single(&self, node: usize) -> u64 {
        u64::from(self.nodes[node + 1]) | u64::from(self.nodes[node + 2]) << 32
    }

    fn set_classes_of_single(&mut self, node: usize, classes: u64) {
        (self.nodes[node + 1], self.nodes[node + 2]) = (classes as u32, (classes >> 32) as u32);
    }

    /// What leads to a set that was found; classes are those of the state for which it was found.
    pub(crate) fn path(
        &self,
        hit: Hit,
        fields: &Fields,
        mut class: impl FnMut(u32) -> usize,
    ) -> Vec<Step> {
        let (mut link, mut path) = (hit.root, Vec::new());
        while link & LEAF == 0 {
            let node = link as usize;
            link = self.follow(node, &mut class);
            let mut ways = self.ways(fields, node);
            path.extend(ways.find(|way| way.0 == link).map(|way| way.1));
        }
        path
    }

    /// The same where the state is not at hand: all of the tree is searched.
    pub(crate) fn find_path(&self, hit: Hit, fields: &Fields) -> Vec<Step> {
        let mut todo = vec![(hit.root, Vec::new())];
        while let Some((link, path)) = todo.pop() {
            if link == hit.leaf {
                return path;
            }
            if link & LEAF == 0 {
                let ways = self.ways(fields, link as usize);
                todo.extend(ways.map(|(link, step)| (link, [&path[..], &[step]].concat())));
            }
        }
        Vec::new()
    }

    /// The ways from a node, each with all that go it.
    fn ways(&self, fields: &Fields, node: usize) -> impl Iterator<Item = (u32, Step)> {
        let head = self.nodes[node];
        let (field, is_single) = (head & !SINGLE, head & SINGLE != 0);
        let classes = fields.classes(field);
        let (links, single) = match is_single {
            true => (
                &[][..],
                Some((self.nodes[node + 3], self.classes_of_single(node))),
            ),
            false => (&self.nodes[node + 1..][..classes], None),
        };
        let ways = links.iter().enumerate().filter_map(move |(class, link)| {
            let is_first = *link != NOTHING && !links[..class].contains(link);
            let same = links.iter().enumerate().filter(|(_, other)| *other == link);
            is_first.then(|| (*link, same.fold(0, |all, (class, _)| all | 1 << class)))
        });
        ways.chain(single).map(move |(link, possible)| {
            let step = Step {
                field,
                classes,
                possible,
            };
            (link, step)
        })
    }

    /// Remembers a set with what led to it.
    pub(crate) fn insert(
        &mut self,
        miss: Miss,
        enabled: &[u64],
        path: impl Iterator<Item = Step>,
        kept: &BitSet,
    ) {
        if self.keys.len() + self.leaves.len() + self.nodes.len() / 2 > self.limit {
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
        let mut parent: Option<(usize, u64)> = None;
        let mut link = self.slots[at].root;
        for step in path {
            let (node, way) = match link {
                NOTHING => (self.add_node(step), NOTHING),
                known => self.with_room(known, step),
            };
            self.link(at, parent, node);
            parent = Some((node as usize, step.possible));
            link = way;
        }
        if link == NOTHING {
            let whole = if kept.words() == enabled { WHOLE } else { 0 };
            link = LEAF | whole | (self.leaves.len() / self.words.max(1)) as u32;
            self.leaves.extend_from_slice(kept.words());
        }
        self.link(at, parent, link);
    }

    /// A node from which no way leads yet.
    fn add_node(&mut self, step: Step) -> u32 {
        let link = self.nodes.len();
        if step.classes + 1 > SINGLE_LEN {
            let [low, high] = [step.possible as u32, (step.possible >> 32) as u32];
            let node: [u32; SINGLE_LEN] = [step.field | SINGLE, low, high, NOTHING];
            self.nodes.extend_from_slice(&node);
        } else {
            self.nodes.push(step.field);
            self.nodes.resize(link + 1 + step.classes, NOTHING);
        }
        link as u32
    }

    /// The same node, or its successor, if it has only one way and that is another one; and the way from there,
    /// if some of these classes go one already. (Who was told of a set by another thread may know less classes
    /// that lead there.)
    fn with_room(&mut self, link: u32, step: Step) -> (u32, u32) {
        let node = link as usize;
        debug_assert_eq!(
            self.nodes[node] & !SINGLE,
            step.field,
            "a computation asked differently after the same answers"
        );
        if self.nodes[node] & SINGLE == 0 {
            let mut ways = ones(step.possible).map(|class| self.nodes[node + 1 + class]);
            return (link, ways.find(|way| *way != NOTHING).unwrap_or(NOTHING));
        }
        let (classes, way) = (self.classes_of_single(node), self.nodes[node + 3]);
        if classes & step.possible != 0 {
            self.set_classes_of_single(node, classes | step.possible);
            return (link, way);
        }
        let successor = self.nodes.len();
        self.nodes.push(step.field);
        self.nodes.resize(successor + 1 + step.classes, NOTHING);
        for class in ones(classes) {
            self.nodes[successor + 1 + class] = way;
        }
        (successor as u32, NOTHING)
    }

    /// Makes all of some classes go a way.
    fn link(&mut self, slot: usize, parent: Option<(usize, u64)>, way: u32) {
        match parent {
            None => self.slots[slot].root = way,
            Some((node, _)) if self.nodes[node] & SINGLE != 0 => self.nodes[node + 3] = way,
            Some((node, classes)) => {
                for class in ones(classes) {
                    self.nodes[node + 1 + class] = way;
                }
            }
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
    use crate::question::tests::question;

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

    /// A made-up computation about two fields of two bits and one of one bit: it asks which value the first
    /// one has until it knows, then one of the others, and keeps what these say.
    fn compute(state: u32, enabled: u64) -> (Vec<(u32, bool)>, BitSet) {
        let mut log: Vec<(u32, bool)> = Vec::new();
        let first = state & 3;
        for value in 0..3 {
            log.push((value, first == value));
            if first == value {
                break;
            }
        }
        let next = if first == 1 { 3 } else { 4 };
        let last = holds(state, next);
        log.push((next, last));
        let mut kept = BitSet::new(70);
        kept.words_mut()[0] = enabled & if last { 0xff } else { 0xff00 };
        (log, kept)
    }

    /// Labels 0 to 2: the first field is 0, 1, 2; 3: the second one is 3; 4: the third one is 1.
    fn holds(state: u32, label: u32) -> bool {
        match label {
            3 => state >> 2 & 3 == 3,
            4 => state >> 4 & 1 == 1,
            value => state & 3 == value,
        }
    }

    fn fields() -> Fields {
        Fields::new(&[
            question(0, 0, 3, &[0]),
            question(1, 0, 3, &[1]),
            question(2, 0, 3, &[2]),
            question(3, 2, 3, &[3]),
            question(4, 4, 1, &[1]),
        ])
    }

    #[test]
    fn what_is_remembered_is_what_would_be_computed() {
        let fields = fields();
        for limit in [40, 400, 1 << 20] {
            let mut cache = Cache::with_limit(2, limit);
            let mut hits = 0;
            for round in 0..2_000_u64 {
                let state = (stubborn_system::random::mix(round) & 31) as u32;
                let enabled = [0x0101 << (round % 5), round % 3];
                let (log, expected) = compute(state, enabled[0]);
                let steps: Vec<Step> = fields.steps(&log).collect();
                assert_eq!(steps.len(), 2, "questions about one field are one step");
                let mut kept = BitSet::new(70);
                let class = |field| fields.class_of(field, &[state]);
                match cache.look_up(&enabled, &mut kept, class) {
                    Ok(hit) => {
                        hits += 1;
                        assert_eq!(hit.asked, 2);
                        assert_eq!(hit.leaves_out, expected.words() != enabled);
                        assert_eq!(
                            (cache.path(hit, &fields, class), kept),
                            (steps.clone(), expected)
                        );
                        assert_eq!(cache.find_path(hit, &fields), steps);
                        let answers: Vec<_> =
                            steps.iter().flat_map(|s| fields.answers(*s)).collect();
                        assert!(
                            log.iter().all(|asked| answers.contains(asked)),
                            "{answers:?}"
                        );
                        assert!(
                            answers
                                .iter()
                                .all(|(label, yes)| holds(state, *label) == *yes)
                        );
                    }
                    Err(miss) => cache.insert(miss, &enabled, steps.into_iter(), &expected),
                }
                assert!(cache.keys.len() + cache.leaves.len() <= limit + 8);
            }
            assert!(limit < 1_000 || hits > 1_500, "{hits}");
        }
    }
}
