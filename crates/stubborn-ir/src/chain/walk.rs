//! Walking through a chain in all ways.
//!
//! A walk is a depth-first search over *points*: a state, the process that goes on, and the
//! first assertion that was violated on the way. Where there is one step only, the walk just
//! goes on: such a *stretch* takes no memory, and [repeats itself](Repetition) or comes to an
//! end. Points with several steps, *splits*, are kept while they are on the way. A way that
//! comes to a split of its own again is cut there: whatever can follow is followed from the
//! split itself. In a chain of many steps a split is followed only once, on whichever way it
//! was reached. (Before that, two ways to one state are two successors, as in other tools.)
//!
//! A point from which no way ends is as good as an endless loop. The first split of a walk into
//! such a trap sees it when all its steps were followed: none ended, and whatever was cut led
//! back to where the walk had only come after the split, or just before it. That is R. Tarjan's
//! criterion for strongly connected components (*Depth-first search and linear graph
//! algorithms*, 1972), with numbers of stretches for numbers of nodes.

use std::ops::ControlFlow;

use stubborn_system::{Outcome, ProcessId, Successor, Successors, System, TransitionId};

use super::splits::{Point, Splits};
use crate::Model;
use crate::repetition::Repetition;

/// After this many steps, a chain that can run in circles follows each split only once.
const LONG_CHAIN: u64 = 2_000;
/// The same for chains that cannot, which have an end at least.
const LONG_WAYS: u64 = 1 << 18;
/// In long chains, stretches that meet go on as one after about this many steps: at states whose
/// hash has zeros at the top (distinguished points: J.-J. Quisquater, J.-P. Delescaille, *How
/// easy is collision search?*, 1989).
const LANDMARK_BITS: u32 = if cfg!(test) { 1 } else { 5 };
/// Steps between two looks at the budget.
const POLL: u64 = 1 << 12;

/// Somebody who is told of a walk.
pub(super) trait Visitor {
    /// A command that is taken, when the way so far has `depth` steps after the first. What was
    /// told for that depth and larger ones is no part of the way.
    fn step(&mut self, _depth: usize, _command: TransitionId) {}

    /// A way ends, and how.
    fn end(&mut self, state: &[u32], outcome: Outcome) -> ControlFlow<()>;
}

/// Runs chains, in memory that is kept from one to the next.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Steps that were taken before their chains are run.
    begun: Successors,
    /// Where the walk is.
    state: Vec<u32>,
    /// The steps from each split of the way, then those from the current state.
    steps: Successors,
    frames: Vec<Frame>,
    splits: Splits,
    repetition: Repetition,
    /// [`LONG_CHAIN`] and [`LONG_WAYS`].
    long_chain: u64,
    long_ways: u64,
    /// The command that this chain starts with.
    first: TransitionId,
    /// Whether this chain can run in circles.
    repeats: bool,
    /// After how many steps this chain is a long one.
    long: u64,
    /// Steps of this chain.
    taken: u64,
    /// Stretches of this chain.
    stretches: u64,
    /// Steps of all chains.
    ticks: u64,
}

/// A split of the way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The first of its steps, the first one that was not followed yet, and the end of all.
    first: usize,
    next: usize,
    end: usize,
    /// What was violated before.
    outcome: Outcome,
    /// Steps before.
    depth: usize,
    /// The number of the stretch that leads here.
    stretch: u64,
    /// The smallest number of a stretch that leads to where a way from here was cut.
    back_to: u64,
    /// Whether some way from here ended, or was reported as endless.
    ended: bool,
    /// It is among the splits that are known.
    listed: bool,
}

/// How a stretch ended.
enum Stretch {
    /// The way ends.
    End,
    /// It never will.
    Endless,
    /// Here the walk was before, by the stretch with this number.
    Known(u64),
    /// There are several steps, and this process takes them.
    Split(ProcessId),
    /// The budget is spent.
    GaveUp,
}

/// Replaces chains' first steps by their ends.
struct Ends<'a> {
    first: TransitionId,
    source: &'a [u32],
    out: &'a mut Successors,
}

impl Visitor for Ends<'_> {
    fn end(&mut self, state: &[u32], outcome: Outcome) -> ControlFlow<()> {
        self.out.push(self.first, self.source, state, outcome);
        ControlFlow::Continue(())
    }
}

impl Runner {
    /// For states of `words` words.
    pub fn new(words: usize) -> Self {
        Self {
            begun: Successors::new(words),
            state: Vec::new(),
            steps: Successors::new(words),
            frames: Vec::new(),
            splits: Splits::default(),
            repetition: Repetition::default(),
            long_chain: LONG_CHAIN,
            long_ways: LONG_WAYS,
            first: TransitionId::new(0),
            repeats: false,
            long: 0,
            taken: 0,
            stretches: 0,
            ticks: 0,
        }
    }

    /// Counts a chain as long after so many steps.
    #[cfg(test)]
    pub(super) fn long_after(mut self, steps: u64) -> Self {
        (self.long_chain, self.long_ways) = (steps, steps);
        self
    }

    /// Replaces the successors from number `from` on, which are those by single commands, by
    /// the ends of the chains that start with them. `steps` appends the successors by single
    /// commands of priority 0 that a process starts where it is, in the order of commands.
    pub fn finish(
        &mut self,
        model: &Model,
        source: &[u32],
        from: usize,
        out: &mut Successors,
        steps: &mut impl FnMut(ProcessId, &[u32], &mut Successors),
    ) {
        let chains = model.chains();
        let goes_on = |t: &TransitionId| chains.continues(t.index()).is_some();
        let Some(first) = out.transitions()[from..].iter().position(goes_on) else {
            return;
        };
        let mut begun = std::mem::replace(&mut self.begun, Successors::new(0));
        begun.clear();
        for at in from + first..out.len() {
            begun.append(out.get(at));
        }
        out.truncate(from + first);
        for first in begun.iter() {
            if goes_on(&first.transition) {
                let mut ends = Ends {
                    first: first.transition,
                    source,
                    out,
                };
                self.run(model, first, steps, &mut ends);
            } else {
                out.append(first);
            }
        }
        self.begun = begun;
    }

    /// Runs a chain on after its first step in all ways.
    pub(super) fn run(
        &mut self,
        model: &Model,
        first: Successor<'_>,
        steps: &mut impl FnMut(ProcessId, &[u32], &mut Successors),
        visitor: &mut impl Visitor,
    ) {
        self.first = first.transition;
        self.repeats = model.chains().may_repeat(first.transition.index());
        self.long = match self.repeats {
            true => self.long_chain,
            false => self.long_ways,
        };
        self.steps.clear();
        self.frames.clear();
        self.splits.clear();
        (self.taken, self.stretches) = (0, 0);
        self.state.clear();
        self.state.extend_from_slice(first.state);
        let mut at = Way {
            command: first.transition,
            outcome: first.outcome,
            depth: 0,
        };
        loop {
            let stretch = self.stretches;
            self.stretches += 1;
            let told = match self.follow(model, &mut at, steps, visitor) {
                Stretch::GaveUp => return,
                Stretch::End => {
                    self.note_end();
                    visitor.end(&self.state, at.outcome)
                }
                Stretch::Endless => {
                    self.note_end();
                    endless(model, self.first, at.outcome, visitor)
                }
                Stretch::Known(known) => {
                    self.note_cut(known);
                    ControlFlow::Continue(())
                }
                Stretch::Split(process) => {
                    self.split(process, &at, stretch);
                    ControlFlow::Continue(())
                }
            };
            if told.is_break() {
                return;
            }
            match self.next_way(model, visitor) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Goes on from the current state as long as there is one step.
    fn follow(
        &mut self,
        model: &Model,
        at: &mut Way,
        steps: &mut impl FnMut(ProcessId, &[u32], &mut Successors),
        visitor: &mut impl Visitor,
    ) -> Stretch {
        let chains = model.chains();
        let first = self.steps.len();
        self.repetition.restart();
        loop {
            let process = match chains.continues(at.command.index()) {
                Some(process) if !model.is_error(&self.state) => process,
                _ => return Stretch::End,
            };
            self.ticks += 1;
            if self.ticks.is_multiple_of(POLL) && model.budget().poll().is_some() {
                return Stretch::GaveUp;
            }
            steps(process, &self.state, &mut self.steps);
            match self.steps.len() - first {
                // A loop inside a step may have given up.
                0 if model.budget().spent().is_some() => return Stretch::GaveUp,
                0 => return Stretch::End,
                1 => {}
                _ => return Stretch::Split(process),
            }
            if let Some(stop) = self.came_again(process, at.outcome) {
                self.steps.truncate(first);
                return stop;
            }
            self.take(first, at, at.outcome, visitor);
            self.steps.truncate(first);
        }
    }

    /// Takes a step.
    #[inline]
    fn take(&mut self, number: usize, at: &mut Way, before: Outcome, visitor: &mut impl Visitor) {
        self.taken += 1;
        at.command = self.steps.transitions()[number];
        at.outcome = before.then(self.steps.outcome(number));
        visitor.step(at.depth, at.command);
        at.depth += 1;
        self.state.copy_from_slice(self.steps.state(number));
    }

    /// Whether a stretch does not go on from the current state, because it was here before, or
    /// because another one was: stretches that meet become one at some states.
    #[inline]
    fn came_again(&mut self, process: ProcessId, outcome: Outcome) -> Option<Stretch> {
        if self.repeats
            && self
                .repetition
                .is_back(&self.state, &[process.index() as u32])
        {
            return Some(Stretch::Endless);
        }
        // A single way meets no other.
        if !self.is_long() || self.frames.is_empty() {
            return None;
        }
        let point = Point {
            state: &self.state,
            process,
            outcome,
        };
        if point.hash() >> (u64::BITS - LANDMARK_BITS) != 0 {
            return None;
        }
        let this = self.stretches - 1;
        let known = self.splits.insert(point, this)?;
        Some(match known == this {
            true => Stretch::Endless,
            false => Stretch::Known(known),
        })
    }

    /// Comes to a split.
    fn split(&mut self, process: ProcessId, at: &Way, stretch: u64) {
        let first = self.frames.last().map_or(0, |frame| frame.end);
        let listed = self.repeats || self.is_long();
        if listed {
            let point = Point {
                state: &self.state,
                process,
                outcome: at.outcome,
            };
            if let Some(known) = self.splits.insert(point, stretch) {
                self.steps.truncate(first);
                return self.note_cut(known);
            }
        }
        self.frames.push(Frame {
            first,
            next: first,
            end: self.steps.len(),
            outcome: at.outcome,
            depth: at.depth,
            stretch,
            back_to: u64::MAX,
            ended: false,
            listed,
        });
    }

    fn is_long(&self) -> bool {
        self.taken > self.long
    }

    fn note_end(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.ended = true;
        }
    }

    fn note_cut(&mut self, stretch: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.back_to = frame.back_to.min(stretch);
        }
    }

    /// Goes back to the last split that has a step left, and takes that.
    fn next_way(&mut self, model: &Model, visitor: &mut impl Visitor) -> Option<Way> {
        loop {
            let frame = self.frames.last_mut()?;
            if frame.next < frame.end {
                let (number, outcome) = (frame.next, frame.outcome);
                let mut at = Way {
                    command: TransitionId::new(0),
                    outcome,
                    depth: frame.depth,
                };
                frame.next += 1;
                self.take(number, &mut at, outcome, visitor);
                return Some(at);
            }
            let frame = self.frames.pop()?;
            self.steps.truncate(frame.first);
            if frame.listed && !self.is_long() {
                self.splits.pop(self.state.len());
            }
            if frame.ended {
                self.note_end();
            } else if frame.back_to >= frame.stretch {
                self.note_end();
                if endless(model, self.first, frame.outcome, visitor).is_break() {
                    return None;
                }
            } else {
                self.note_cut(frame.back_to);
            }
        }
    }
}

/// Where a walk is, beside its state.
struct Way {
    /// The last command.
    command: TransitionId,
    /// What became of the way so far.
    outcome: Outcome,
    /// Steps after the first.
    depth: usize,
}

/// Reports a way that never ends, if no step of the walk can have been left out.
fn endless(
    model: &Model,
    first: TransitionId,
    before: Outcome,
    visitor: &mut impl Visitor,
) -> ControlFlow<()> {
    let site = model.program().commands[first.index()].endless;
    match (site, &model.structure().error_state) {
        (Some(site), Some(error)) if model.budget().spent().is_none() => {
            visitor.end(error, before.then(Outcome::failure(site.index())))
        }
        _ => ControlFlow::Continue(()),
    }
}
