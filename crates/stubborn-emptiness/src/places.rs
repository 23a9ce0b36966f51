//! Which nodes of open components there are, and where.

use crate::space::Node;
use crate::walk::{Live, Place};

/// Places by node: open addressing with linear probing, and what comes behind a gap moves up into
/// it (D. E. Knuth, *The Art of Computer Programming*, volume 3, section 6.4, algorithm R).
///
/// A node is looked up for every edge, so a slot has eight bytes: half of the hash, and the place.
/// The node itself lies there.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Half of a hash above a place and one; zero if free. As many as a power of two.
    slots: Vec<u64>,
    len: usize,
}

impl Places {
    /// Slots of the smallest table.
    const FEWEST: usize = 64;

    fn hash(node: Node) -> u64 {
        (node.0 ^ node.0 >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
    }

    /// Where to look first for what has this half of a hash.
    fn home(&self, hash: u64) -> usize {
        (hash as usize * self.slots.len()) >> 32
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// The slot and the place of a node.
    #[inline]
    fn find(&self, node: Node, live: &[Live]) -> Option<(usize, Place)> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = Self::hash(node);
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            let place = (slot as u32).wrapping_sub(1);
            if slot >> 32 == hash && live[place as usize].node == node {
                return Some((at, place));
            }
            at = self.next(at);
        }
    }

    /// The place of a node.
    #[inline]
    pub(crate) fn get(&self, node: Node, live: &[Live]) -> Option<Place> {
        self.find(node, live).map(|(_, place)| place)
    }

    /// Adds a node that is not there.
    pub(crate) fn insert(&mut self, node: Node, place: Place) {
        self.len += 1;
        if self.len * 8 > self.slots.len() * 5 {
            let size = (self.slots.len() * 2).max(Self::FEWEST);
            for slot in std::mem::replace(&mut self.slots, vec![0; size]) {
                if slot != 0 {
                    self.put(slot);
                }
            }
        }
        self.put(Self::hash(node) << 32 | (u64::from(place) + 1));
    }

    fn put(&mut self, slot: u64) {
        let mut at = self.home(slot >> 32);
        while self.slots[at] != 0 {
            at = self.next(at);
        }
        self.slots[at] = slot;
    }

    /// Takes a node out; those in `live` are all still there.
    pub(crate) fn remove(&mut self, node: Node, live: &[Live]) {
        let Some((mut gap, _)) = self.find(node, live) else {
            return;
        };
        self.len -= 1;
        let mask = self.slots.len() - 1;
        let mut at = gap;
        loop {
            at = self.next(at);
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            // What is at home between the gap and here stays.
            let home = self.home(slot >> 32);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.slots[gap] = slot;
                gap = at;
            }
        }
        self.slots[gap] = 0;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use stubborn_system::Random;

    use super::*;
    use crate::walk::{Colour, Reach};

    /// Nodes come and go as on the stack of a walk; all that are there are found, and no others.
    #[test]
    fn whoever_is_there_is_found() {
        let mut random = Random::new(7);
        let (mut places, mut live) = (Places::default(), Vec::new());
        let node = |number: usize| Node(((number as u64 % 97) << 32) | (number as u64 / 3));
        for round in 0..4_000 {
            let many = random.below(40);
            if round % 3 < 2 {
                for _ in 0..many {
                    let new = node(live.len() * 7);
                    assert_eq!(places.get(new, &live), None);
                    places.insert(new, live.len() as Place);
                    live.push(Live {
                        node: new,
                        depth: 0,
                        on_path: true,
                        colour: Colour::Green,
                        marked: false,
                        expanded: false,
                        reach: Reach::NOTHING,
                    });
                }
            } else {
                let left = live.len() - live.len().min(2 * many);
                // In the order in which a walk forgets a component.
                for at in left..live.len() {
                    let gone = live[at].node;
                    places.remove(gone, &live);
                    assert_eq!(places.get(gone, &live), None);
                }
                live.truncate(left);
            }
            for _ in 0..20 {
                let at = random.below(live.len() + 5);
                let expected = (at < live.len()).then_some(at as Place);
                assert_eq!(places.get(node(at * 7), &live), expected);
            }
        }
        assert_eq!(places.len, live.len());
    }
}
