//! What depends on what: on the path of a search, and in a sequence of steps.

use std::rc::Rc;

use crate::{Access, Step};

/// A step with what it touches.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) step: Step,
    pub(super) accesses: Rc<[Access]>,
}

impl Event {
    /// Whether the order of two steps matters.
    pub(super) fn depends_on(&self, other: &Self) -> bool {
        self.step.thread == other.step.thread || conflict(&self.accesses, &other.accesses)
    }
}

fn conflict(one: &[Access], other: &[Access]) -> bool {
    one.iter().any(|a| {
        let same = |b: &Access| a.object == b.object && (a.writes || b.writes);
        other.iter().any(same)
    })
}

/// Positions of a path, as bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions(Vec<u64>);

impl Positions {
    pub(super) fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|w| w >> (at % 64) & 1 == 1)
    }

    fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn union_with(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// An event of a path with the events that happen before it.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) event: Event,
    /// Positions of events that happen before it.
    pub(super) before: Positions,
}

/// Where the event belongs at the end of a path.
pub(super) fn place<'p>(
    path: impl DoubleEndedIterator<Item = (usize, &'p Placed)>,
    event: Event,
) -> Placed {
    let mut before = Positions::default();
    for (at, earlier) in path.rev() {
        if !before.contains(at) && event.depends_on(&earlier.event) {
            before.insert(at);
            before.union_with(&earlier.before);
        }
    }
    Placed { event, before }
}

/// How a step goes together with a sequence from the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fits {
    /// Some equivalent sequence begins with it: it is the one at this position.
    At(usize),
    /// It is not in the sequence, and does not depend on any of it.
    Beside,
    /// Not at all.
    Not,
}

/// Whether a step is a *weak initial* of a sequence: whether some continuation of the sequence
/// has an equivalent that begins with the step.
pub(super) fn fits(step: &Event, sequence: &[Event]) -> Fits {
    let own = |event: &Event| event.step.thread == step.step.thread;
    match sequence.iter().position(own) {
        Some(at) if sequence[at].step != step.step => Fits::Not,
        Some(at) => {
            let late = sequence[..at].iter().any(|e| sequence[at].depends_on(e));
            if late { Fits::Not } else { Fits::At(at) }
        }
        None if sequence.iter().any(|e| step.depends_on(e)) => Fits::Not,
        None => Fits::Beside,
    }
}

/// The *initials* of a sequence: steps with which some equivalent sequence begins.
pub(super) fn initials(sequence: &[Event]) -> impl Iterator<Item = &Event> {
    let is_first = |at: usize| !sequence[..at].iter().any(|e| sequence[at].depends_on(e));
    let all = 0..sequence.len();
    all.filter(move |at| is_first(*at)).map(|at| &sequence[at])
}
