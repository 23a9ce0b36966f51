//! Messages that make no difference any more, and states without them.
//!
//! A late answer that nobody waits for stays in an inbox for ever, and a late question leads to
//! nothing but such an answer. States that differ in nothing else behave alike, so useless messages
//! are taken out of every state. A message is *useless* if, in whatever local state its receiver may
//! still get into, whoever takes it leaves the local state as it is, is not noted in a record, and
//! sends nothing but useless messages. Taking it then leads to the same state, up to useless
//! messages; and what is useless stays so, because there is less and less to get into. So the states
//! with and without useless messages are bisimilar, and properties do not look into inboxes.
//!
//! Which local states a process may get into is known from what was [met](super): if a search of the
//! smaller state space meets nothing new, then there is nothing new in the full one either, because
//! every state of it is, without useless messages, one that was visited.
//!
//! Not in queues, where a message that nobody takes blocks those behind it; and not for ends where
//! messages are delivered again and again, because then a useless one keeps the system from ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rapidhash::RapidHashMap;
use stubborn_search::Trace;
use stubborn_system::{
    Budget, Executor, FieldId, Layout, Outcome, RelationLevel, Relations, Structure, Successors,
    System,
};

use super::inert::Traces;
use super::tables::Tables;
use crate::model::Inner;
use crate::network::without;
use crate::pairs::PairMap;
use crate::quotient::{QuotientExecutor, Represent};

/// A system without useless messages.
pub(crate) struct Quotient<'m> {
    pub(crate) system: &'m dyn System,
    pub(crate) inner: &'m Inner,
    pub(crate) tables: Arc<Tables>,
    /// Somebody asks for ends: messages that lead to each other for ever keep the system from one.
    pub(crate) keeps_ends: bool,
    /// Whether there were any.
    pub(crate) dropped: AtomicBool,
}

impl Quotient<'_> {
    fn cleaner(&self) -> Cleaner<'_> {
        let processes = self.tables.processes.len();
        Cleaner {
            inner: self.inner,
            tables: &self.tables,
            known: (0..processes).map(|_| PairMap::new()).collect(),
            ranges: Vec::new(),
            inert: Vec::new(),
            left: RapidHashMap::default(),
            keeps_ends: self.keeps_ends,
            dropped: &self.dropped,
            before: vec![Range::default(); processes],
            places: vec![None; processes],
            useless: Vec::new(),
        }
    }

    /// A run of the system itself.
    pub(crate) fn unfold(&self, trace: &Trace) -> Option<Trace> {
        let mut cleaner = self.cleaner();
        let mut executor = self.system.executor();
        let mut state = self.system.initial_states();
        let mut concrete = Trace::new(&state);
        for step in trace.steps() {
            let mut successors = Successors::new(state.len());
            executor.successors(&state, &mut successors);
            let next = successors.iter().find(|s| {
                let mut clean = s.state.to_vec();
                if s.outcome == Outcome::FINE {
                    cleaner.clean(&mut clean);
                }
                s.transition == step.transition && clean == step.after
            })?;
            concrete.push(next.transition, next.outcome, next.state);
            state = next.state.to_vec();
        }
        Some(concrete)
    }
}

impl System for Quotient<'_> {
    fn layout(&self) -> &Layout {
        self.system.layout()
    }

    fn structure(&self) -> &Structure {
        self.system.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        let mut state = self.system.initial_states();
        self.cleaner().clean(&mut state);
        state
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let plain = self.system.executor();
        let cleaner = self.cleaner();
        Box::new(QuotientExecutor::new(plain, cleaner))
    }

    fn relations(&self, _: RelationLevel) -> Relations {
        Relations::from_sets(self.structure())
    }

    fn budget(&self) -> &Budget {
        self.system.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.system.value_text(field, value)
    }
}

/// Entries of the tables at which they are emptied.
const MOST_KNOWN: usize = 1 << 20;

/// Messages of an inbox that may be useless.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    /// In `inert`.
    start: u32,
    end: u32,
    /// Processes on whose local states it depends, as bits.
    depends: u64,
}

/// The bit of a process; the last one is shared.
fn bit(process: usize) -> u64 {
    1 << process.min(63)
}

/// Takes useless messages out of states.
struct Cleaner<'q> {
    inner: &'q Inner,
    tables: &'q Tables,
    /// For each process, local state and inbox to the number of a range of `inert`.
    known: Vec<PairMap>,
    ranges: Vec<Range>,
    /// Positions in an inbox of messages that may be useless, and their numbers.
    inert: Vec<(u32, u32)>,
    /// Inboxes without the messages at some positions.
    left: RapidHashMap<(u32, Box<[u32]>), u32>,
    keeps_ends: bool,
    dropped: &'q AtomicBool,
    /// What may be useless in the state that is expanded.
    before: Vec<Range>,
    /// Where each process is in the state that is expanded.
    places: Vec<Option<usize>>,
    /// Positions found in an inbox.
    useless: Vec<u32>,
}

impl Represent for Cleaner<'_> {
    fn expand(&mut self, state: &[u32]) {
        if self.inert.len() + self.ranges.len() > MOST_KNOWN {
            self.known.iter_mut().for_each(|map| *map = PairMap::new());
            self.ranges.clear();
            self.inert.clear();
        }
        for p in 0..self.tables.processes.len() {
            self.before[p] = self.range(p, state[2 * p], state[2 * p + 1]);
            self.places[p] = self.tables.processes[p].place(state[2 * p]);
        }
    }

    /// The state that it comes from has no useless messages.
    fn represent(&mut self, from: &[u32], state: &mut [u32], changed: &mut [u64]) {
        let processes = 0..self.tables.processes.len();
        let moved = processes.filter(|p| from[2 * p] != state[2 * p]);
        let moved = moved.fold(0, |all, p| all | bit(p));
        self.take_out(from, state, moved, changed);
    }
}

impl Cleaner<'_> {
    /// Takes out what is useless in inboxes that have changed, and what may have become so because of
    /// new local states of some processes.
    fn take_out(&mut self, from: &[u32], state: &mut [u32], moved: u64, changed: &mut [u64]) {
        for p in 0..self.tables.processes.len() {
            let words = 2 * p..2 * p + 2;
            let Range {
                start,
                end,
                depends,
            } = match from[words.clone()] == state[words] {
                true if self.before[p].depends & moved == 0 => continue,
                true => self.before[p],
                false => self.range(p, state[2 * p], state[2 * p + 1]),
            };
            if depends == 0 {
                continue;
            }
            self.useless.clear();
            for at in start..end {
                let (position, message) = self.inert[at as usize];
                if self.is_useless(from, state, p, message) {
                    self.useless.push(position);
                }
            }
            if !self.useless.is_empty() {
                self.dropped.store(true, Ordering::Relaxed);
                state[2 * p + 1] = self.without(state[2 * p + 1]);
                changed[(2 * p + 1) / 64] |= 1 << ((2 * p + 1) % 64);
            }
        }
    }

    fn clean(&mut self, state: &mut [u32]) {
        let from = state.to_vec();
        self.expand(&from);
        let mut changed = vec![0; state.len().div_ceil(64)];
        self.take_out(&from, state, u64::MAX, &mut changed);
    }

    #[inline]
    fn range(&mut self, p: usize, local: u32, inbox: u32) -> Range {
        match self.known[p].get(local, inbox) {
            Some(number) => self.ranges[number as usize],
            None => self.look(p, local, inbox),
        }
    }

    #[cold]
    fn look(&mut self, p: usize, local: u32, inbox: u32) -> Range {
        let own = &self.tables.processes[p];
        let start = self.inert.len() as u32;
        let mut depends = 0;
        if let Some(place) = own.place(local) {
            for (position, parcel) in self.inner.inboxes.get(inbox).iter().enumerate() {
                if let Some(number) = own.parcels.get(parcel)
                    && own.inert.contains(place, *number)
                {
                    self.inert.push((position as u32, *number as u32));
                    depends |= match &own.traces[*number] {
                        Traces::Unknown => 0,
                        Traces::Messages { all, .. } => {
                            let bits = all.iter().map(|(q, _)| bit(*q as usize));
                            bits.fold(0, |all, bit| all | bit)
                        }
                    };
                }
            }
        }
        let range = Range {
            start,
            end: self.inert.len() as u32,
            depends,
        };
        self.known[p].insert(local, inbox, self.ranges.len() as u32);
        self.ranges.push(range);
        range
    }

    /// Whether a message, and whatever it leads to, changes nothing. What leads to itself again
    /// keeps the system from ending.
    #[inline]
    fn is_useless(&self, from: &[u32], state: &[u32], p: usize, message: u32) -> bool {
        match &self.tables.processes[p].traces[message as usize] {
            Traces::Unknown => false,
            Traces::Messages { circular: true, .. } if self.keeps_ends => false,
            Traces::Messages { all, .. } => all.iter().all(|(q, m)| {
                let (q, m) = (*q as usize, *m as usize);
                let own = &self.tables.processes[q];
                let place = match from[2 * q] == state[2 * q] {
                    true => self.places[q],
                    false => own.place(state[2 * q]),
                };
                place.is_some_and(|place| own.inert.contains(place, m))
            }),
        }
    }

    fn without(&mut self, inbox: u32) -> u32 {
        if self.left.len() >= MOST_KNOWN {
            self.left.clear();
        }
        let inner = self.inner;
        *self
            .left
            .entry((inbox, self.useless.as_slice().into()))
            .or_insert_with_key(|(inbox, positions)| {
                let positions: Vec<usize> = positions.iter().map(|p| *p as usize).collect();
                let left = without(inner.inboxes.get(*inbox), &positions);
                inner.inboxes.intern(left)
            })
    }
}
