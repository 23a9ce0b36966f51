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

/// See the [module](super).
pub(crate) struct MessageReduction<'m> {
    inner: &'m Inner,
    tables: Arc<Tables>,
    watch: &'m Watch<'m>,
}

impl<'m> MessageReduction<'m> {
    pub(crate) fn new(inner: &'m Inner, tables: Arc<Tables>, watch: &'m Watch<'m>) -> Self {
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

impl Reduction for MessageReduction<'_> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        let words = self.tables.elements.len().div_ceil(64);
        let processes = self.tables.processes.len();
        let mut owners = vec![0; words];
        for (p, own) in self.tables.processes.iter().enumerate() {
            owners[own.first_word..][..own.open.words].fill(p as u32);
        }
        Box::new(MessageReducer {
            inner: self.inner,
            tables: &self.tables,
            known: (0..processes).map(|_| PairMap::new()).collect(),
            entries: Vec::new(),
            places: vec![0; processes],
            current: vec![0; processes],
            words: vec![Word::default(); words],
            owners,
            count: 0,
            open: Vec::new(),
            best: vec![0; words],
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

struct MessageReducer<'m> {
    inner: &'m Inner,
    tables: &'m Tables,
    /// For each process, local state and inbox to the beginning of two rows of `entries`: elements
    /// that are possible, and elements whose messages are there.
    known: Vec<PairMap>,
    entries: Vec<u64>,
    /// Where each process is in the tables.
    places: Vec<usize>,
    /// The rows of each process.
    current: Vec<usize>,
    words: Vec<Word>,
    /// The process of each word.
    owners: Vec<u32>,
    /// Enabled ones in the set.
    count: usize,
    /// What was added to the set, and not looked at yet: words and bits of them.
    open: Vec<(u32, u64)>,
    /// The best set so far.
    best: Vec<u64>,
    watch: &'m Watch<'m>,
    /// States that were reduced, and how many there are before the search is interrupted.
    states: u64,
    last: u64,
}

/// A word of several sets of elements.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    enabled: u64,
    /// Enabled ones that no set may have: visible elements, and those whose closure is known, because
    /// one that contains it is not better.
    avoided: u64,
    /// Elements whose messages are there or may come. Others never happen, as far as is known, so
    /// there is nothing to wait for, and no set needs them.
    relevant: u64,
    set: u64,
}

/// A set that is not wanted.
struct Unwanted;

impl MessageReducer<'_> {
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

    /// Adds elements of one word.
    #[inline]
    fn add(&mut self, at: usize, elements: u64, most: usize) -> Result<(), Unwanted> {
        let word = &mut self.words[at];
        let new = elements & word.relevant & !word.set;
        if new == 0 {
            return Ok(());
        }
        word.set |= new;
        self.count += (new & word.enabled).count_ones() as usize;
        if new & word.avoided != 0 || self.count >= most {
            return Err(Unwanted);
        }
        self.open.push((at as u32, new));
        Ok(())
    }

    /// Adds elements of several words.
    #[inline]
    fn add_all(
        &mut self,
        first: usize,
        words: impl Iterator<Item = u64>,
        most: usize,
    ) -> Result<(), Unwanted> {
        let mut words = words.enumerate();
        words.try_for_each(|(at, word)| self.add(first + at, word, most))
    }

    /// The closure of an enabled element that is not avoided, if fewer than `most` of it are
    /// enabled, and none is avoided.
    fn close(&mut self, state: &[u32], seed: (usize, u64), most: usize) -> Result<(), Unwanted> {
        let tables = self.tables;
        self.words.iter_mut().for_each(|word| word.set = 0);
        self.open.clear();
        self.count = 0;
        self.add(seed.0, seed.1, most)?;
        while let Some((at, bits)) = self.open.pop() {
            let at = at as usize;
            let p = self.owners[at] as usize;
            let own = &tables.processes[p];
            let first = 64 * (at - own.first_word);
            let enabled = bits & self.words[at].enabled;
            if enabled != 0 {
                let place = self.places[p];
                for bit in ones(enabled) {
                    for (offset, siblings) in own.siblings.row(first + bit).iter().enumerate() {
                        let at = own.first_word + offset;
                        self.add(at, siblings & self.words[at].enabled, most)?;
                    }
                    let conflicts = own.conflicts.row(place, first + bit).iter();
                    self.add_all(own.first_word, conflicts.copied(), most)?;
                }
                let escapes = own.escapes.row(place).iter();
                self.add_all(own.first_word, escapes.copied(), most)?;
                if enabled & tables.crashes.words()[at] != 0 {
                    self.add_all(0, tables.crashes.words().iter().copied(), most)?;
                }
            }
            for bit in ones(bits & !enabled) {
                self.wait(state, p, first + bit, most)?;
            }
        }
        Ok(())
    }

    /// Adds what a disabled element waits for.
    fn wait(
        &mut self,
        state: &[u32],
        p: usize,
        number: usize,
        most: usize,
    ) -> Result<(), Unwanted> {
        let tables = self.tables;
        let own = &tables.processes[p];
        let at = 64 * own.first_word + number;
        let declared = &tables.elements[at];
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
            let Some(message) = own.sent[number][missing] else {
                return Ok(());
            };
            let from = declared.consumed[missing].from.index();
            let sender = &tables.processes[from];
            let senders = sender.senders.row(self.places[from], message as usize);
            return self.add_all(sender.first_word, senders.iter().copied(), most);
        }
        if self.inner.protocol.network == Network::Ordered {
            let inbox = self.inner.inboxes.get(state[2 * p + 1]);
            if let Some(covered) = declared.consumed.iter().find(|m| !is_first(inbox, m)) {
                // Whoever takes what lies before it.
                let head = inbox.iter().find(|m| m.from == covered.from);
                for other in 0..own.sent.len() {
                    let other = 64 * own.first_word + other;
                    let consumed = &tables.elements[other].consumed;
                    if head.is_some_and(|head| consumed.contains(head)) {
                        self.add(other / 64, 1 << (other % 64), most)?;
                    }
                }
                return Ok(());
            }
        }
        if tables.crashes.contains(at) && !self.inner.local(state, declared.process).crashed {
            // There is no crash left; somebody may give one back.
            return match self.inner.protocol.crashes_return {
                true => self.add_all(0, tables.recoveries.words().iter().copied(), most),
                false => Ok(()),
            };
        }
        let openers = own.openers.row(self.places[p], number).iter();
        self.add_all(own.first_word, openers.copied(), most)
    }

    /// Looks up what is possible in a state; false if something was never met.
    fn enter(&mut self, state: &[u32]) -> bool {
        let tables = self.tables;
        if self.entries.len() > MOST_WORDS {
            self.entries.clear();
            self.known.iter_mut().for_each(|map| *map = PairMap::new());
        }
        let quorums = tables.quorums.words();
        for (p, own) in tables.processes.iter().enumerate() {
            let Some(start) = self.rows_of(p, state[2 * p], state[2 * p + 1]) else {
                return false;
            };
            self.places[p] = own.place(state[2 * p]).unwrap_or_default();
            self.current[p] = start;
            let count = own.open.words;
            let (enabled, there) = self.entries[start..][..2 * count].split_at(count);
            let words = self.words[own.first_word..].iter_mut();
            let rows = enabled.iter().zip(there).zip(&quorums[own.first_word..]);
            for (word, ((enabled, there), quorums)) in words.zip(rows) {
                word.enabled = *enabled;
                word.relevant = there | quorums;
            }
        }
        for (own, place) in tables.processes.iter().zip(&self.places) {
            let words = self.words.iter_mut();
            match &own.brings {
                Some(brings) => {
                    let both = words.zip(brings.row(*place));
                    both.for_each(|(word, brought)| word.relevant |= brought);
                }
                None => words.for_each(|word| word.relevant = u64::MAX),
            }
        }
        if state[self.inner.extra_word] == 0 {
            let both = self.words.iter_mut().zip(tables.crashes.words());
            both.for_each(|(word, crashes)| word.enabled &= !crashes);
        }
        true
    }
}

/// Whether a message is the next one of its sender.
fn is_first(inbox: &[Parcel], parcel: &Parcel) -> bool {
    let first = inbox.iter().find(|m| m.from == parcel.from);
    first == Some(parcel)
}

impl Reducer for MessageReducer<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        self.best.fill(0);
        let tables = self.tables;
        let state = expansion.state;
        self.states += 1;
        if self.states >= self.last
            || self.states.is_multiple_of(256) && self.watch.is_interrupted()
        {
            self.watch.interrupt.store(true, Ordering::Relaxed);
        }
        if self.enter(state) {
            let mut least = 0;
            for (own, place) in tables.processes.iter().zip(&self.places) {
                let words = self.words[own.first_word..].iter_mut();
                for (word, visible) in words.zip(own.visible.row(*place)) {
                    word.avoided = word.enabled & visible;
                    least += word.enabled.count_ones() as usize;
                }
            }
            'seeds: for at in 0..self.words.len() {
                for bit in ones(self.words[at].enabled & !self.words[at].avoided) {
                    if self.close(state, (at, 1 << bit), least).is_ok() {
                        least = self.count;
                        let sets = self.words.iter().map(|word| word.set & word.enabled);
                        self.best.iter_mut().zip(sets).for_each(|(b, set)| *b = set);
                    }
                    self.words[at].avoided |= 1 << bit;
                    if least == 1 {
                        break 'seeds;
                    }
                }
            }
        }
        if self.best.iter().all(|word| *word == 0) {
            expansion.enabled().for_each(|t| {
                kept.insert(t.index());
            });
            return false;
        }
        for (at, word) in self.best.iter().enumerate() {
            for bit in ones(*word) {
                kept.insert(tables.elements[64 * at + bit].action as usize);
            }
        }
        expansion.enabled().any(|t| !kept.contains(t.index()))
    }

    fn last_set(&self) -> Vec<SetMember> {
        let member = |e: usize| SetMember {
            transition: TransitionId::new(self.tables.elements[e].action as usize),
            reason: Reason::NotExcluded,
        };
        let words = self.best.iter().enumerate();
        let elements = words.flat_map(|(at, word)| ones(*word).map(move |bit| 64 * at + bit));
        elements.map(member).collect()
    }
}
