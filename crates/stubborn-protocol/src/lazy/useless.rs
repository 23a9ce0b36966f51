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

use super::tables::Tables;
use crate::model::Inner;
use crate::network::without;
use crate::quotient::{QuotientExecutor, Represent};
use crate::value::Value;

/// A system without useless messages.
pub(crate) struct Quotient<'m, M> {
    pub(crate) system: &'m dyn System,
    pub(crate) inner: &'m Inner<M>,
    pub(crate) tables: Arc<Tables>,
    /// Somebody asks for ends: messages that lead to each other for ever keep the system from one.
    pub(crate) keeps_ends: bool,
    /// Whether there were any.
    pub(crate) dropped: AtomicBool,
}

impl<M: Value> Quotient<'_, M> {
    fn cleaner(&self) -> Cleaner<'_, M> {
        Cleaner {
            inner: self.inner,
            tables: &self.tables,
            known: RapidHashMap::default(),
            left: RapidHashMap::default(),
            keeps_ends: self.keeps_ends,
            dropped: &self.dropped,
            before: Vec::new(),
            asked: Vec::new(),
            found: Vec::new(),
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

impl<M: Value> System for Quotient<'_, M> {
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
        Box::new(QuotientExecutor::new(plain, cleaner, self.layout().words()))
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

/// Positions in an inbox of messages that may be useless, and their numbers.
type Inert = Arc<[(usize, usize)]>;

/// Entries of the tables at which they are emptied.
const MOST_KNOWN: usize = 1 << 20;

/// Takes useless messages out of states.
struct Cleaner<'q, M> {
    inner: &'q Inner<M>,
    tables: &'q Tables,
    known: RapidHashMap<(u16, u32, u32), Inert>,
    /// Inboxes without the messages at some positions.
    left: RapidHashMap<(u32, Vec<usize>), u32>,
    keeps_ends: bool,
    dropped: &'q AtomicBool,
    /// What may be useless in the state that is expanded.
    before: Vec<Inert>,
    /// What is being asked about.
    asked: Vec<(usize, usize)>,
    /// What was found to be useless.
    found: Vec<(usize, usize)>,
}

impl<M: Value> Represent for Cleaner<'_, M> {
    fn expand(&mut self, state: &[u32]) {
        self.before.clear();
        for p in 0..self.tables.processes.len() {
            let inert = self.inert(p, state[2 * p], state[2 * p + 1]);
            self.before.push(inert);
        }
    }

    fn represent(&mut self, from: &[u32], state: &mut [u32]) {
        let before = std::mem::take(&mut self.before);
        self.clean_after(from, &before, state);
        self.before = before;
    }
}

impl<M: Value> Cleaner<'_, M> {
    fn clean(&mut self, state: &mut [u32]) {
        self.clean_after(&[], &[], state);
    }

    /// The same with what is known of the state before.
    fn clean_after(&mut self, before: &[u32], known: &[Inert], state: &mut [u32]) {
        for p in 0..self.tables.processes.len() {
            let words = 2 * p..2 * p + 2;
            let inert = match known.get(p) {
                Some(known) if before[words.clone()] == state[words] => Arc::clone(known),
                _ => self.inert(p, state[2 * p], state[2 * p + 1]),
            };
            if inert.is_empty() {
                continue;
            }
            let mut useless = Vec::new();
            for (position, parcel) in inert.iter() {
                self.asked.clear();
                self.found.clear();
                if self.is_useless(state, p, *parcel) {
                    useless.push(*position);
                }
            }
            if !useless.is_empty() {
                self.dropped.store(true, Ordering::Relaxed);
                state[2 * p + 1] = self.without(state[2 * p + 1], useless);
            }
        }
    }

    fn inert(&mut self, p: usize, local: u32, inbox: u32) -> Inert {
        let key = (p as u16, local, inbox);
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let own = &self.tables.processes[p];
        let mut found = Vec::new();
        if let Some(place) = own.places.get(&local) {
            for (position, parcel) in self.inner.inboxes.get(inbox).iter().enumerate() {
                if let Some(number) = own.parcels.get(parcel)
                    && own.inert[*place].contains(*number)
                {
                    found.push((position, *number));
                }
            }
        }
        let found: Inert = found.into();
        self.known.insert(key, Arc::clone(&found));
        found
    }

    /// What is being asked about counts as useless, unless ends matter: nothing else speaks against
    /// it then. (The first no is the answer to everything that was asked on the way to it.)
    fn is_useless(&mut self, state: &[u32], p: usize, parcel: usize) -> bool {
        if self.found.contains(&(p, parcel)) {
            return true;
        }
        if self.asked.contains(&(p, parcel)) {
            return !self.keeps_ends;
        }
        self.asked.push((p, parcel));
        let useless = self.leads_to_nothing(state, p, parcel);
        self.asked.pop();
        if useless {
            self.found.push((p, parcel));
        }
        useless
    }

    fn leads_to_nothing(&mut self, state: &[u32], p: usize, parcel: usize) -> bool {
        let own = &self.tables.processes[p];
        let Some(place) = own.places.get(&state[2 * p]) else {
            return false;
        };
        if !own.inert[*place].contains(parcel) {
            return false;
        }
        match &own.emits[parcel] {
            None => false,
            Some(emits) => emits.iter().all(|(q, m)| self.is_useless(state, *q, *m)),
        }
    }

    fn without(&mut self, inbox: u32, positions: Vec<usize>) -> u32 {
        if self.left.len() >= MOST_KNOWN {
            self.left.clear();
        }
        let inner = self.inner;
        *self
            .left
            .entry((inbox, positions))
            .or_insert_with_key(|(inbox, positions)| {
                inner
                    .inboxes
                    .intern(without(inner.inboxes.get(*inbox), positions))
            })
    }
}
