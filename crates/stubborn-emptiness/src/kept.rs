//! Writing down a walk that waits between two nodes, and what a check found, for another run to go
//! on with.
//!
//! All that a walk knows is data: the path with the edges that are left to take, the nodes of open
//! components, the flags of the others in the store. Nothing that is read is believed: nodes
//! must be those of the store, and places and edges those that there are.

use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stubborn_ltl::automaton::Marks;
use stubborn_search::{Limit, ResumeError, SearchError};
use stubborn_store::saved::{Sink, Source, damaged};
use stubborn_system::System;

use crate::lasso;
use crate::prepare::{ReductionOff, Soundness};
use crate::property::Property;
use crate::result::{CheckResult, CheckVerdict, ReductionUse};
use crate::space::{Counts, Edge, Node, Space};
use crate::walk::{Colour, Frame, Live, Place, Reach, Root, Walk};

/// Who keeps what a check has done. (Of one thread, with
/// [components](crate::walk::Emptiness::Components) and a proviso that does not look ahead.)
pub trait CheckKeeper: Sync {
    /// A flag that is set when a walk should pause.
    fn pause(&self) -> &AtomicBool;

    /// Whether a walk is going on now that looks at the flag.
    fn is_exploring(&self, now: bool);

    /// A walk waits, because of the flag or at a limit: keeps what `write` writes, where that is
    /// of use. (An error of [kind `Unsupported`](io::ErrorKind::Unsupported) means that there is
    /// nothing to keep.) Whether the walk goes on.
    fn keep(
        &self,
        limit: Option<Limit>,
        write: &mut dyn FnMut(&mut Sink<'_>) -> io::Result<()>,
    ) -> bool;

    /// What was kept before, to go on with, and how many bytes that are at most; told once.
    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)>;
}

/// What a check goes on with.
pub(crate) struct Begun {
    input: Box<dyn Read + Send>,
    bytes: u64,
}

impl Begun {
    pub(crate) fn of(keeper: Option<&dyn CheckKeeper>) -> Option<Self> {
        let (input, bytes) = keeper?.take_up()?;
        Some(Self { input, bytes })
    }
}

/// Reads something of what was kept.
pub(crate) fn read<T>(
    begun: &mut Begun,
    what: impl FnOnce(&mut Source<'_>) -> io::Result<T>,
) -> Result<T, SearchError> {
    let source = &mut Source::new(&mut *begun.input, begun.bytes);
    what(source).map_err(|error| match error.kind() {
        io::ErrorKind::OutOfMemory => {
            SearchError::NoAnswer(format!("the memory limit is too small to go on: {error}"))
        }
        _ => SearchError::Mismatch(format!("the checkpoint cannot be read: {error}")),
    })
}

pub(crate) fn yes_or_no(source: &mut Source<'_>) -> io::Result<bool> {
    Ok(source.at_most(1, "neither yes nor no")? == 1)
}

const COLOURS: [Colour; 4] = [Colour::Green, Colour::Orange, Colour::Purple, Colour::Red];
/// More than anybody counts: sums of such numbers do not overflow.
pub(crate) const MANY: u64 = 1 << 56;

/// Bits beside a depth in one word.
mod bit {
    pub(super) const ON_PATH: u64 = 1 << 32;
    pub(super) const MARKED: u64 = 1 << 33;
    pub(super) const EXPANDED: u64 = 1 << 34;
    pub(super) const HAS_REACH: u64 = 1 << 35;
    pub(super) const LATE: u64 = 1 << 36;
    pub(super) const EXPANDED_LATE: u64 = 1 << 37;
    pub(super) const HAS_ACCEPTING_EDGE: u64 = 1 << 38;
    pub(super) const ACCEPTS_EVERY_CYCLE: u64 = 1 << 39;
    pub(super) const COLOUR: u32 = 40;
}

fn on(is_on: bool, bit: u64) -> u64 {
    if is_on { bit } else { 0 }
}

/// Two numbers from -1 on, in one word.
fn pair(first: i32, second: i32) -> u64 {
    u64::from((first + 1) as u32) | u64::from((second + 1) as u32) << 32
}

impl Counts {
    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let Self {
            states,
            transitions,
            expanded_by_proviso,
            depth,
        } = *self;
        sink.numbers([states, transitions, expanded_by_proviso, depth])
    }

    fn restore(source: &mut Source<'_>) -> io::Result<Self> {
        let mut many = || source.at_most(MANY, "a number is too large");
        Ok(Self {
            states: many()?,
            transitions: many()?,
            expanded_by_proviso: many()?,
            depth: many()?,
        })
    }
}

impl Reach {
    fn words(&self) -> [u64; 2] {
        let [first, second] = self.nodes.map(|node| node.map_or(-1, |place| place as i32));
        [pair(first, second), pair(self.others, -1)]
    }
}

impl<S: Space> Walk<'_, S> {
    /// Writes down a walk that [can go on](Self::can_go_on), without what the store holds.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        if !self.can_go_on() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.counts.save(sink)?;
        sink.number(self.loose.len() as u64)?;
        sink.numbers(self.loose.iter().map(|node| node.0))?;
        sink.number(self.waiting.is_some().into())?;
        if let Some((node, incoming)) = self.waiting {
            sink.numbers([node.0, incoming.0.into()])?;
        }
        sink.number(self.live.len() as u64)?;
        for live in &self.live {
            let colour = COLOURS.iter().position(|colour| *colour == live.colour);
            let has_reach = live.reach != Reach::NOTHING;
            let word = u64::from(live.depth)
                | on(live.on_path, bit::ON_PATH)
                | on(live.marked, bit::MARKED)
                | on(live.expanded, bit::EXPANDED)
                | on(has_reach, bit::HAS_REACH)
                | (colour.unwrap_or(0) as u64) << bit::COLOUR;
            sink.numbers([live.node.0, word])?;
            if has_reach {
                sink.numbers(live.reach.words())?;
            }
        }
        sink.number(self.frames.len() as u64)?;
        for frame in &self.frames {
            let word = u64::from(frame.place)
                | on(frame.late, bit::LATE)
                | on(frame.expanded_late, bit::EXPANDED_LATE)
                | on(frame.has_accepting_edge, bit::HAS_ACCEPTING_EDGE)
                | on(frame.accepts_every_cycle, bit::ACCEPTS_EVERY_CYCLE);
            let edges = [frame.first_edge, frame.next_edge, frame.first_postponed];
            sink.number(word)?;
            sink.numbers(edges.map(|edge| edge as u64))?;
            sink.number(pair(frame.need, frame.collected))?;
            sink.numbers(frame.reach.words())?;
        }
        for edges in [&self.edges, &self.postponed] {
            sink.number(edges.len() as u64)?;
            sink.numbers(edges.iter().flat_map(|e| [e.to.0, e.marks.0.into()]))?;
        }
        sink.number(self.roots.len() as u64)?;
        for root in &self.roots {
            let marks = u64::from(root.inside.0) << 32 | u64::from(root.incoming.0);
            sink.numbers([root.place.into(), marks])?;
        }
        sink.number(self.expanded_depths.len() as u64)?;
        sink.numbers(self.expanded_depths.iter().map(|depth| u64::from(*depth)))
    }

    /// Goes on with what was written down; `is_node` says what is in the store.
    pub(crate) fn restore(
        &mut self,
        source: &mut Source<'_>,
        is_node: &mut dyn FnMut(Node) -> bool,
    ) -> io::Result<()> {
        self.counts = Counts::restore(source)?;
        if self.counts.states == 0 {
            return Err(damaged("nothing was entered"));
        }
        let mut node = |source: &mut Source<'_>| {
            let node = Node(source.number()?);
            match is_node(node) {
                true => Ok(node),
                false => Err(damaged("a state is not there")),
            }
        };
        let marks = |source: &mut Source<'_>| {
            let marks = source.at_most(u32::MAX.into(), "no such marks")?;
            Ok::<_, io::Error>(Marks(marks as u32))
        };
        for _ in 0..source.count(size_of::<u64>())? {
            self.loose.push(node(source)?);
        }
        match yes_or_no(source)? {
            true => self.waiting = Some((node(source)?, marks(source)?)),
            false => self.is_between = true,
        }
        let count = source.count(2 * size_of::<u64>())?;
        let place = |number: u64| match usize::try_from(number) {
            Ok(at) if at < count && number < Place::MAX.into() => Ok(number as Place),
            _ => Err(damaged("there is no such place")),
        };
        let reach = |source: &mut Source<'_>| {
            let (nodes, others) = (source.number()?, source.number()?);
            let one = |word: u64| (word & 0xffff_ffff).checked_sub(1).map(place).transpose();
            Ok::<_, io::Error>(Reach {
                nodes: [one(nodes)?, one(nodes >> 32)?],
                others: bounded(others)?,
            })
        };
        for at in 0..count {
            let node = node(source)?;
            let word = source.number()?;
            let is = |bit| word & bit != 0;
            self.live.push(Live {
                node,
                depth: u32::try_from(bounded(word & 0xffff_ffff)? + 1).unwrap_or(0),
                on_path: is(bit::ON_PATH),
                marked: is(bit::MARKED),
                expanded: is(bit::EXPANDED),
                colour: COLOURS[(word >> bit::COLOUR) as usize % COLOURS.len()],
                reach: match is(bit::HAS_REACH) {
                    true => reach(source)?,
                    false => Reach::NOTHING,
                },
            });
            if self.places.get(node, &self.live[..at]).is_some() {
                return Err(damaged("a state is there twice"));
            }
            self.places.insert(node, at as Place);
        }
        let frames = source.count(7 * size_of::<u64>())?;
        for depth in 0..frames {
            let word = source.number()?;
            let is = |bit| word & bit != 0;
            let own = place(word & 0xffff_ffff)?;
            let mut edge = || {
                source
                    .at_most(MANY, "no such edge")
                    .map(|edge| edge as usize)
            };
            let [first_edge, next_edge, first_postponed] = [edge()?, edge()?, edge()?];
            let needs = source.number()?;
            let depth_of = |word: u64| match bounded(word & 0xffff_ffff)? {
                depth if depth < frames as i32 => Ok(depth),
                _ => Err(damaged("a path is not so long")),
            };
            let live = &self.live[own as usize];
            if !live.on_path || live.depth as usize != depth {
                return Err(damaged("a path leads somewhere else"));
            }
            self.frames.push(Frame {
                place: own,
                made: u64::MAX,
                first_edge,
                next_edge,
                first_postponed,
                late: is(bit::LATE),
                expanded_late: is(bit::EXPANDED_LATE),
                has_accepting_edge: is(bit::HAS_ACCEPTING_EDGE),
                accepts_every_cycle: is(bit::ACCEPTS_EVERY_CYCLE),
                need: depth_of(needs)?,
                collected: depth_of(needs >> 32)?,
                reach: reach(source)?,
            });
        }
        if self.live.iter().filter(|live| live.on_path).count() != frames {
            return Err(damaged("a path is broken"));
        }
        for edges in [&mut self.edges, &mut self.postponed] {
            for _ in 0..source.count(2 * size_of::<u64>())? {
                edges.push(Edge::new(node(source)?, marks(source)?));
            }
        }
        let (mut edges, mut postponed) = (self.edges.len(), self.postponed.len());
        for frame in self.frames.iter().rev() {
            let is_fine = frame.first_edge <= frame.next_edge && frame.next_edge <= edges;
            if !is_fine || frame.first_postponed > postponed {
                return Err(damaged("edges are not in order"));
            }
            (edges, postponed) = (frame.first_edge, frame.first_postponed);
        }
        for _ in 0..source.count(2 * size_of::<u64>())? {
            let place = place(source.number()?)?;
            let marks = source.number()?;
            if self.roots.last().is_some_and(|root| root.place >= place) {
                return Err(damaged("components are not in order"));
            }
            self.roots.push(Root {
                place,
                inside: Marks((marks >> 32) as u32),
                incoming: Marks(marks as u32),
            });
        }
        for _ in 0..source.count(size_of::<u64>())? {
            let last = (frames as u64).saturating_sub(1);
            let depth = source.at_most(last, "a path is not so long")? as u32;
            self.expanded_depths.push(depth);
        }
        match self.roots.first().map(|root| root.place) {
            first if first == (count > 0).then_some(0) => Ok(()),
            _ => Err(damaged("components are missing")),
        }
    }
}

/// A number from -1 on that was written by [`pair`].
fn bounded(word: u64) -> io::Result<i32> {
    match i32::try_from(word) {
        Ok(number) => Ok(number - 1),
        Err(_) => Err(damaged("a number is too large")),
    }
}

const SOUNDNESS: [Soundness; 6] = [
    Soundness::Deterministic,
    Soundness::StutterNormal,
    Soundness::Normalised,
    Soundness::ByState,
    Soundness::Steered,
    Soundness::Mixed,
];
/// Why there was no reduction; a text comes after all of them.
const OFF: [ReductionOff; 5] = [
    ReductionOff::NotAsked,
    ReductionOff::StutterSensitive,
    ReductionOff::StutteringUnknown,
    ReductionOff::NormalFormTooLarge,
    ReductionOff::Fairness,
];

impl ReductionUse {
    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        match self {
            Self::On {
                name,
                proviso,
                soundness,
            } => {
                let soundness = SOUNDNESS.iter().position(|one| one == soundness);
                sink.numbers([0, soundness.unwrap_or(0) as u64])?;
                sink.text(name)?;
                sink.text(&proviso.to_string())
            }
            Self::Off(why) => {
                let known = OFF.iter().position(|one| one == why).unwrap_or(OFF.len());
                sink.number(1 + known as u64)?;
                match why {
                    ReductionOff::Refused(why) => sink.text(why),
                    _ => Ok(()),
                }
            }
        }
    }

    fn restore(source: &mut Source<'_>) -> io::Result<Self> {
        let number = source.at_most(1 + OFF.len() as u64, "no such reason")?;
        let Some(why) = number.checked_sub(1) else {
            let soundness = source.at_most(SOUNDNESS.len() as u64 - 1, "no such reason")?;
            let name = source.text()?;
            let proviso = source.text()?.parse();
            return Ok(Self::On {
                name,
                proviso: proviso.map_err(|_| damaged("no such proviso"))?,
                soundness: SOUNDNESS[soundness as usize],
            });
        };
        Ok(Self::Off(match OFF.get(why as usize) {
            Some(why) => why.clone(),
            None => ReductionOff::Refused(source.text()?),
        }))
    }
}

impl CheckResult {
    /// Writes down what was found, with the run that shows it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let verdict = match self.verdict {
            CheckVerdict::Holds => 0,
            CheckVerdict::Violated => 1,
            CheckVerdict::Unknown(limit) => 2 + limit as u64,
        };
        sink.number(verdict)?;
        self.counts.save(sink)?;
        sink.numbers([
            self.automaton_states as u64,
            self.store_bytes as u64,
            self.peak_bytes as u64,
            self.prepare_time.as_nanos() as u64,
            self.time.as_nanos() as u64,
            self.walks.into(),
        ])?;
        self.reduction.save(sink)?;
        let Some(found) = &self.counterexample else {
            return sink.number(0);
        };
        let trace = &found.trace;
        // Where it ends, the last state counts as a cycle of its own.
        let mut states: Vec<u32> = (0..=trace.len())
            .flat_map(|at| trace.state(at))
            .copied()
            .collect();
        let start = match found.ends {
            true => {
                states.extend_from_slice(trace.state(trace.len()));
                trace.len()
            }
            false => trace.len() - trace.cycle().len(),
        };
        sink.numbers([1, start as u64, states.len() as u64])?;
        sink.numbers(states.into_iter().map(u64::from))
    }

    /// What was written down. The run that shows a violation is replayed once more.
    ///
    /// # Errors
    /// If it cannot be read, or if the run cannot be repeated.
    pub fn recall(
        source: &mut Source<'_>,
        system: &dyn System,
        property: &Property,
        weak_fairness: bool,
    ) -> Result<Self, ResumeError> {
        let verdict = match source.number()? {
            0 => CheckVerdict::Holds,
            1 => CheckVerdict::Violated,
            limit => {
                let limit = u8::try_from(limit - 2).ok().and_then(Limit::of_number);
                CheckVerdict::Unknown(limit.ok_or_else(|| damaged("no such limit"))?)
            }
        };
        let counts = Counts::restore(source)?;
        let mut many = || source.at_most(MANY, "a number is too large");
        let mut result = Self {
            verdict,
            counterexample: None,
            counts,
            automaton_states: many()? as usize,
            store_bytes: many()? as usize,
            peak_bytes: many()? as usize,
            prepare_time: Duration::from_nanos(many()?),
            time: Duration::from_nanos(many()?),
            walks: many()? as u32,
            reduction: ReductionUse::restore(source)?,
        };
        if yes_or_no(source)? {
            let start = source.at_most(MANY, "a number is too large")? as usize;
            let count = source.count(size_of::<u64>())?;
            let mut states = Vec::new();
            source.numbers(count, |word| {
                states.push(u32::try_from(word).map_err(|_| damaged("a word is too large"))?);
                Ok(())
            })?;
            let width = system.layout().words();
            if !count.is_multiple_of(width) || start + 1 >= count / width {
                return Err(damaged("a way is none").into());
            }
            result.counterexample =
                match lasso::confirm(system, property, weak_fairness, states, start) {
                    Ok(found) => Some(found),
                    Err(SearchError::GaveUp(_)) => None,
                    Err(error) => return Err(error.into()),
                };
        }
        Ok(result)
    }
}
