//! The places where a walk through a chain splits.

use rapidhash::RapidHashMap;
use stubborn_system::{Outcome, ProcessId};

/// A point of a walk: the state, who goes on there, and what was violated on the way to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<'a> {
    pub(super) state: &'a [u32],
    pub(super) process: ProcessId,
    pub(super) outcome: Outcome,
}

impl Point<'_> {
    /// The same on every machine, because walks depend on it.
    pub(super) fn hash(&self) -> u64 {
        // The step of Firefox's hash function.
        let add = |hash: u64, word: u64| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95)
        };
        let start = add(self.outcome.to_bits(), self.process.index() as u64);
        let hash = self.state.iter().fold(start, |h, w| add(h, u64::from(*w)));
        hash ^ hash >> 32
    }
}

/// Points that a walk has come to, each with the number of the stretch that led there.
#[derive(Clone, Debug, Default)]
pub(super) struct Splits {
    /// The states of all points, one after the other.
    states: Vec<u32>,
    points: Vec<Known>,
    /// By hash: one more than the number of the last point that has it.
    last: RapidHashMap<u64, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    process: ProcessId,
    outcome: Outcome,
    stretch: u64,
    hash: u64,
    /// The point before with the same hash, counted as in [`Splits::last`].
    before: u32,
}

impl Splits {
    pub(super) fn clear(&mut self) {
        if !self.points.is_empty() {
            self.states.clear();
            self.points.clear();
            self.last.clear();
        }
    }

    /// Adds a point; or gives the stretch that led there before.
    pub(super) fn insert(&mut self, point: Point<'_>, stretch: u64) -> Option<u64> {
        let hash = point.hash();
        let next = self.points.len() as u32 + 1;
        let last = self.last.entry(hash).or_insert(0);
        let before = *last;
        let mut at = before;
        while let Some(number) = (at as usize).checked_sub(1) {
            let known = &self.points[number];
            let state = &self.states[number * point.state.len()..][..point.state.len()];
            if known.process == point.process
                && known.outcome == point.outcome
                && state == point.state
            {
                return Some(known.stretch);
            }
            at = known.before;
        }
        *last = next;
        self.states.extend_from_slice(point.state);
        self.points.push(Known {
            process: point.process,
            outcome: point.outcome,
            stretch,
            hash,
            before,
        });
        None
    }

    /// Takes the last point back, of states of so many words.
    pub(super) fn pop(&mut self, words: usize) {
        if let Some(known) = self.points.pop() {
            self.states.truncate(self.states.len() - words);
            match known.before {
                0 => self.last.remove(&known.hash),
                before => self.last.insert(known.hash, before),
            };
        }
    }
}
