//! The sets, behind the interface that searches use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stubborn_system::bits::ones;
use stubborn_system::{BitSet, Expansion, Reason, Reducer, Reduction, SetMember, TransitionId};

use super::tables::Tables;
use crate::Network;
use crate::model::Inner;
use crate::network::Parcel;
use crate::pairs::PairMap;
use crate::value::Value;

/// See the [module](super).
pub(crate) struct MessageReduction<'m, M> {
    inner: &'m Inner<M>,
    tables: Arc<Tables>,
    watch: &'m Watch<'m>,
}

impl<'m, M: Value> MessageReduction<'m, M> {
    pub(crate) fn new(inner: &'m Inner<M>, tables: Arc<Tables>, watch: &'m Watch<'m>) -> Self {
        Self {
            inner,
            tables,
            watch,
        }
    }
}

/// Interrupts a search that has met something new: it has to be repeated, so it goes on only for a
/// while, to meet more.
pub(crate) struct Watch<'m> {
    pub(crate) interrupt: AtomicBool,
    /// What the user may set.
    outer: Option<&'m AtomicBool>,
}

/// States of a thread for which a search goes on at least.
const LEAST_WHILE: u64 = 2_000;

impl<'m> Watch<'m> {
    pub(crate) fn new(outer: Option<&'m AtomicBool>) -> Self {
        Self {
            interrupt: AtomicBool::new(false),
            outer,
        }
    }

    /// Whether it was not the user who interrupted the search.
    pub(crate) fn has_met_something_new(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) && !self.is_interrupted()
    }

    fn is_interrupted(&self) -> bool {
        self.outer.is_some_and(|o| o.load(Ordering::Relaxed))
    }
}

impl<M: Value> Reduction for MessageReduction<'_, M> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        let count = self.tables.elements.len();
        let processes = self.tables.processes.len();
        Box::new(MessageReducer {
            inner: self.inner,
            tables: &self.tables,
            known: (0..processes).map(|_| PairMap::new()).collect(),
            entries: Vec::new(),
            places: vec![0; processes],
            current: vec![0; processes],
            enabled: BitSet::new(count),
            avoided: BitSet::new(count),
            relevant: BitSet::new(count),
            set: BitSet::new(count),
            count: 0,
            open: Vec::new(),
            best: BitSet::new(count),
            watch: self.watch,
            states: 0,
            last: u64::MAX,
        })
    }

    fn name(&self) -> String {
        "messages".into()
    }
}

/// Words of the table at which it is emptied.
const MOST_WORDS: usize = 1 << 24;

/// In the table, for what was not met.
const UNKNOWN: u32 = u32::MAX;

struct MessageReducer<'m, M> {
    inner: &'m Inner<M>,
    tables: &'m Tables,
    /// For each process, local state and inbox to the beginning of two rows of `entries`: elements
    /// that are possible, and elements whose messages are there.
    known: Vec<PairMap>,
    entries: Vec<u64>,
    /// Where each process is in the tables.
    places: Vec<usize>,
    /// The rows of each process.
    current: Vec<usize>,
    enabled: BitSet,
    /// What no set may have that is enabled: visible elements, and enabled ones whose closure is
    /// known, because one that contains it is not better.
    avoided: BitSet,
    /// Elements whose messages are there or may come. Others never happen, as far as is known, so
    /// there is nothing to wait for, and no set needs them.
    relevant: BitSet,
    set: BitSet,
    /// Enabled ones in the set.
    count: usize,
    open: Vec<u32>,
    best: BitSet,
    watch: &'m Watch<'m>,
    /// States that were reduced, and how many there are before the search is interrupted.
    states: u64,
    last: u64,
}

/// A set that is not wanted.
struct Unwanted;

impl<M: Value> MessageReducer<'_, M> {
    #[inline]
    fn rows_of(&mut self, process: usize, local: u32, inbox: u32) -> Option<usize> {
        let known = self.known[process].get(local, inbox);
        let start = known.unwrap_or_else(|| self.look(process, local, inbox));
        (start != UNKNOWN).then_some(start as usize)
    }

    #[cold]
    fn look(&mut self, process: usize, local: u32, inbox: u32) -> u32 {
        let start = self.entries.len() as u32;
        let found = self.possible(process, local, inbox);
        let start = if found { start } else { UNKNOWN };
        if !found && self.last == u64::MAX {
            self.last = self.states + self.states.max(LEAST_WHILE);
        }
        self.known[process].insert(local, inbox, start);
        start
    }

    /// Adds the two rows to the table; false if something was never met.
    fn possible(&mut self, process: usize, local: u32, inbox: u32) -> bool {
        let own = &self.tables.processes[process];
        let inbox = self.inner.inboxes.get(inbox);
        let Some(place) = own.place(local) else {
            return false;
        };
        if !inbox.iter().all(|parcel| own.parcels.contains_key(parcel)) {
            return false;
        }
        let words = own.open.words;
        let start = self.entries.len();
        self.entries.resize(start + words, 0);
        self.entries.extend_from_slice(&own.unconditional);
        let (possible, there) = self.entries[start..].split_at_mut(words);
        let mut add = |e: u32| there[e as usize / 64] |= 1 << (e % 64);
        for parcel in inbox {
            let number = own.parcels.get(parcel).copied().unwrap_or_default();
            own.takers[number].iter().for_each(|e| add(*e));
        }
        let consumed = |e: u32| &self.tables.elements[64 * own.first_word + e as usize].consumed;
        let all_there = |e: &&u32| consumed(**e).iter().all(|m| inbox.contains(m));
        own.quorums.iter().filter(all_there).for_each(|e| add(*e));
        let open = own.open.row(place).iter();
        for (possible, (there, open)) in possible.iter_mut().zip(there.iter().zip(open)) {
            *possible = there & open;
        }
        if self.inner.protocol.network == Network::Ordered {
            for (at, word) in possible.iter_mut().enumerate() {
                for bit in ones(*word) {
                    let e = (64 * at + bit) as u32;
                    if !consumed(e).iter().all(|m| is_first(inbox, m)) {
                        *word &= !(1 << bit);
                    }
                }
            }
        }
        true
    }

    /// Adds elements of a process, given by its words.
    #[inline]
    fn add(
        &mut self,
        first_word: usize,
        words: impl Iterator<Item = u64>,
        most: usize,
    ) -> Result<(), Unwanted> {
        let set = self.set.words_mut()[first_word..].iter_mut();
        let enabled = self.enabled.words()[first_word..].iter();
        let avoided = self.avoided.words()[first_word..].iter();
        let relevant = self.relevant.words()[first_word..].iter();
        let rows = set.zip(enabled).zip(avoided).zip(relevant).zip(words);
        for (at, ((((set, enabled), avoided), relevant), word)) in rows.enumerate() {
            let new = word & relevant & !*set;
            if new == 0 {
                continue;
            }
            *set |= new;
            self.count += (new & enabled).count_ones() as usize;
            if new & enabled & avoided != 0 || self.count >= most {
                return Err(Unwanted);
            }
            let first = 64 * (first_word + at) as u32;
            for bit in ones(new) {
                self.open.push(first + bit as u32);
            }
        }
        Ok(())
    }

    /// The closure of an enabled element that is not avoided, if fewer than `most` of it are
    /// enabled, and none is avoided.
    fn close(&mut self, state: &[u32], seed: u32, most: usize) -> Result<(), Unwanted> {
        let tables = self.tables;
        self.set.clear();
        self.open.clear();
        self.count = 0;
        self.add(seed as usize / 64, std::iter::once(1 << (seed % 64)), most)?;
        while let Some(element) = self.open.pop() {
            let at = element as usize;
            let p = tables.elements[at].process.index();
            let own = &tables.processes[p];
            let place = self.places[p];
            if !self.enabled.contains(at) {
                self.wait(state, element, most)?;
                continue;
            }
            let conflicts = own.conflicts.row(at - 64 * own.first_word).iter();
            let (future, escapes) = (own.future.row(place), own.escapes.row(place));
            let words = conflicts.zip(future).zip(escapes);
            self.add(own.first_word, words.map(|((c, f), e)| c & f | e), most)?;
            if tables.crashes.contains(at) {
                self.add(0, tables.crashes.words().iter().copied(), most)?;
            }
        }
        Ok(())
    }

    /// Adds what a disabled element waits for.
    fn wait(&mut self, state: &[u32], element: u32, most: usize) -> Result<(), Unwanted> {
        let tables = self.tables;
        let at = element as usize;
        let declared = &tables.elements[at];
        let p = declared.process.index();
        let own = &tables.processes[p];
        let number = at - 64 * own.first_word;
        let there = &self.entries[self.current[p] + own.open.words..];
        if there[number / 64] >> (number % 64) & 1 == 0 {
            let inbox = || self.inner.inboxes.get(state[2 * p + 1]);
            let missing = match declared.consumed.len() {
                1 => 0,
                _ => {
                    let mut consumed = declared.consumed.iter();
                    consumed
                        .position(|m| !inbox().contains(m))
                        .unwrap_or_default()
                }
            };
            let sender = &tables.processes[declared.consumed[missing].from.index()];
            let place = self.places[declared.consumed[missing].from.index()];
            let senders = own.senders[number][missing].iter();
            let words = senders.zip(sender.future.row(place)).map(|(s, f)| s & f);
            return self.add(sender.first_word, words, most);
        }
        if self.inner.protocol.network == Network::Ordered {
            let inbox = self.inner.inboxes.get(state[2 * p + 1]);
            if let Some(covered) = declared.consumed.iter().find(|m| !is_first(inbox, m)) {
                // Whoever takes what lies before it.
                let head = inbox.iter().find(|m| m.from == covered.from);
                for other in 0..own.senders.len() {
                    let other = 64 * own.first_word + other;
                    let consumed = &tables.elements[other].consumed;
                    if head.is_some_and(|head| consumed.contains(head)) {
                        self.add(other / 64, std::iter::once(1 << (other % 64)), most)?;
                    }
                }
                return Ok(());
            }
        }
        if tables.crashes.contains(at) && !self.inner.local(state, declared.process).crashed {
            // There is no crash left; somebody may give one back.
            return match self.inner.protocol.crashes_return {
                true => self.add(0, tables.recoveries.words().iter().copied(), most),
                false => Ok(()),
            };
        }
        let openers = own.openers.row(number).iter();
        let future = own.future.row(self.places[p]);
        let words = openers.zip(future).map(|(o, f)| o & f);
        self.add(own.first_word, words, most)
    }

    /// Looks up what is possible in a state; false if something was never met.
    fn enter(&mut self, state: &[u32]) -> bool {
        let tables = self.tables;
        if self.entries.len() > MOST_WORDS {
            self.entries.clear();
            self.known.iter_mut().for_each(|map| *map = PairMap::new());
        }
        for (p, own) in tables.processes.iter().enumerate() {
            let Some(start) = self.rows_of(p, state[2 * p], state[2 * p + 1]) else {
                return false;
            };
            self.places[p] = own.place(state[2 * p]).unwrap_or_default();
            self.current[p] = start;
            let words = own.open.words;
            self.enabled.words_mut()[own.first_word..][..words]
                .copy_from_slice(&self.entries[start..][..words]);
        }
        let relevant = self.relevant.words_mut();
        relevant.copy_from_slice(tables.quorums.words());
        for (p, own) in tables.processes.iter().enumerate() {
            let there = &self.entries[self.current[p] + own.open.words..][..own.open.words];
            let own_words = relevant[own.first_word..].iter_mut();
            own_words.zip(there).for_each(|(r, t)| *r |= t);
            match &own.brings {
                Some(brings) => {
                    let row = brings.row(self.places[p]).iter();
                    relevant.iter_mut().zip(row).for_each(|(r, b)| *r |= b);
                }
                None => relevant.fill(u64::MAX),
            }
        }
        if state[self.inner.extra_word] == 0 {
            let crashes = tables.crashes.words();
            let enabled = self.enabled.words_mut().iter_mut();
            enabled.zip(crashes).for_each(|(e, c)| *e &= !c);
        }
        true
    }
}

/// Whether a message is the next one of its sender.
fn is_first(inbox: &[Parcel], parcel: &Parcel) -> bool {
    let first = inbox.iter().find(|m| m.from == parcel.from);
    first == Some(parcel)
}

impl<M: Value> Reducer for MessageReducer<'_, M> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        self.best.clear();
        let state = expansion.state;
        self.states += 1;
        if self.states >= self.last
            || self.states.is_multiple_of(256) && self.watch.is_interrupted()
        {
            self.watch.interrupt.store(true, Ordering::Relaxed);
        }
        if self.enter(state) {
            let tables = self.tables;
            self.avoided
                .words_mut()
                .copy_from_slice(tables.visible.words());
            let mut least = self.enabled.count();
            'seeds: for word in 0..self.enabled.words().len() {
                for bit in ones(self.enabled.words()[word] & !tables.visible.words()[word]) {
                    let seed = (64 * word + bit) as u32;
                    if self.close(state, seed, least).is_ok() {
                        least = self.count;
                        self.best.words_mut().copy_from_slice(self.set.words());
                    }
                    self.avoided.insert(seed as usize);
                    if least == 1 {
                        break 'seeds;
                    }
                }
            }
        }
        self.best.intersect_with(&self.enabled);
        if self.best.none() {
            expansion.enabled().for_each(|t| {
                kept.insert(t.index());
            });
            return false;
        }
        for element in self.best.iter() {
            kept.insert(self.tables.elements[element].action as usize);
        }
        expansion.enabled().any(|t| !kept.contains(t.index()))
    }

    fn last_set(&self) -> Vec<SetMember> {
        let member = |e: usize| SetMember {
            transition: TransitionId::new(self.tables.elements[e].action as usize),
            reason: Reason::NotExcluded,
        };
        self.best.iter().map(member).collect()
    }
}
