//! One process's part of a level: own states are expanded, successors go to their owners, and
//! those of others come in.

use std::iter::repeat_n;
use std::time::Duration;

use stubborn_cluster::{Cluster, Lost, Message};
use stubborn_store::travel::{Arrivals, Departures};
use stubborn_store::{Batch, Cursor, StateHandle, StoreError, Worker};

use super::owners::Owners;
use super::{Status, Totals, bytes_of, numbers_of, topic};
use crate::bfs::Frontier;
use crate::context::Context;
use crate::control::Halt;
use crate::expand::{Choice, Expander};
use crate::flags;
use crate::memory::Words;
use crate::recent::Recent;
use crate::result::{Limit, SearchResult};
use crate::violation::Preference;

/// States after which a process looks whether to stop, and what has come.
const GROUP: usize = 32;
/// Bytes of a batch for another process.
const FRAME: usize = 64 << 10;
/// Bytes of what was sent lately: more take longer to look at than they save.
const SENT: usize = 1 << 20;
/// How long a process waits for messages before it looks at the clock.
const PATIENCE: Duration = Duration::from_millis(100);

/// States, after the number of the phase. With a proviso, each after the number under which somebody
/// asks whether it is on the next level, or [`NOBODY`].
const STATES: u8 = 1;
/// Numbers of those that are.
const ANSWERS: u8 = 3;
/// Nothing more of this phase will come.
const END: u8 = 4;
/// The search must stop.
const HALT: u8 = 5;

/// In the place of a number of somebody who asks.
const NOBODY: u32 = u32::MAX;

/// The parts of a level: kept successors, answers about them, and what the proviso puts back.
const PHASES: usize = 3;

/// Why a search waits before a level.
enum Pause {
    No,
    Asked,
    /// There are as many states as there may be.
    States,
}

/// What is to be told of a state in the batch.
#[derive(Clone, Copy)]
enum Asker {
    Nobody,
    Own(u32),
    Other(usize, u32),
}

/// A state out of which something was left.
struct Reduced {
    state: StateHandle,
    /// A kept successor is on the next level.
    leads_on: bool,
}

/// States that are about to be sent.
struct Mail {
    has_askers: bool,
    /// What was sent lately.
    sent: Recent,
    /// What others know of states here.
    departures: Departures,
    /// To each process.
    states: Vec<Vec<u8>>,
}

impl Mail {
    /// Adds a state by its name, or its words, unless it was sent lately; whether it is time to send.
    #[inline]
    fn add(
        &mut self,
        worker: &mut Worker<'_>,
        phase: usize,
        to: usize,
        name: &[u32],
        asker: Asker,
    ) -> bool {
        // (Who asks wants an answer each time.)
        if matches!(asker, Asker::Nobody) && self.sent.contains_or_insert(name) {
            return false;
        }
        let frame = &mut self.states[to];
        if frame.is_empty() {
            frame.push(phase as u8);
        }
        if self.has_askers {
            let number = match asker {
                Asker::Own(number) => number,
                _ => NOBODY,
            };
            frame.extend(number.to_le_bytes());
        }
        self.departures.put(worker, to, name, frame);
        frame.len() >= FRAME
    }
}

/// One go of one process.
pub(super) struct Walk<'a, 'c> {
    context: &'a Context<'a>,
    pub(super) cluster: &'c mut Cluster,
    owners: &'c Owners,
    pub(super) expander: Expander<'a>,
    pub(super) worker: Worker<'a>,
    pub(super) cursor: Cursor,
    nowhere: Cursor,
    /// What was found, and what has come.
    batch: Batch,
    /// Numbers of those in it that belong to others, where these have names.
    leaving: Vec<usize>,
    /// What states are called that leave (words where they have no names), to whom they go, and with a
    /// proviso who asks for them.
    names: Vec<u32>,
    whose: Vec<usize>,
    asks: Vec<Asker>,
    /// Words of a name.
    name_words: usize,
    /// With a proviso, who asked for each in the batch that stays.
    askers: Vec<Asker>,
    has_askers: bool,
    /// To whom the successors of one state belong.
    homes: Vec<usize>,
    mail: Mail,
    /// What is known of states of others.
    arrivals: Arrivals,
    /// What is about to be sent to each process.
    answers: Vec<Vec<u8>>,
    /// New states of this process.
    pub(super) next: Words,
    /// Everything is seen for the second time.
    pub(super) is_again: bool,
    reduced: Vec<Reduced>,
    phase: usize,
    /// How many others have ended each phase of the level.
    ends: [usize; PHASES],
    /// What came before its phase.
    early: Vec<Message>,
    is_halted: bool,
    /// Something could not be stored: whatever comes is lost.
    is_full: bool,
    scratch: Vec<u32>,
}

impl<'a, 'c> Walk<'a, 'c> {
    pub(super) fn new(
        context: &'a Context<'a>,
        cluster: &'c mut Cluster,
        owners: &'c Owners,
    ) -> Self {
        let (store, size) = (context.store, cluster.size());
        let none = vec![Vec::new(); size];
        let departures = Departures::new(store, size);
        let name_words = match departures.have_names() {
            true => 2,
            false => store.width(),
        };
        Self {
            context,
            cluster,
            owners,
            expander: context.expander(Preference::Least),
            worker: context.store.worker(),
            cursor: context.store.cursor(),
            nowhere: context.store.cursor(),
            batch: context.store.batch(),
            leaving: Vec::new(),
            names: Vec::new(),
            whose: Vec::new(),
            asks: Vec::new(),
            name_words,
            askers: Vec::new(),
            has_askers: context.search.proviso.is_some(),
            homes: Vec::new(),
            mail: Mail {
                has_askers: context.search.proviso.is_some(),
                sent: Recent::new(name_words, SENT),
                departures,
                states: none.clone(),
            },
            arrivals: Arrivals::new(store, size),
            answers: none,
            next: Words::new(context.ledger),
            is_again: false,
            reduced: Vec::new(),
            phase: 0,
            ends: [0; PHASES],
            early: Vec::new(),
            is_halted: false,
            is_full: false,
            scratch: Vec::new(),
        }
    }

    /// Those that belong here.
    pub(super) fn insert_initial_states(&mut self) -> Result<(), Lost> {
        let system = self.context.search.system;
        let width = system.layout().words();
        for state in system.initial_states().chunks_exact(width) {
            if self.owners.owner(state) == self.cluster.rank() {
                self.store(state)?;
            }
        }
        self.flush()
    }

    /// Explores level by level.
    pub(super) fn run(
        &mut self,
        frontier: &mut Frontier,
        most: u64,
        totals: &mut Totals,
    ) -> Result<Status, Lost> {
        let control = self.context.control;
        loop {
            let (level_size, limit, pauses) = self.agree(most, totals)?;
            if let Some(limit) = limit {
                control.stop_at(limit);
                return Ok(Status::Over);
            }
            if level_size == 0 {
                return Ok(Status::Over);
            }
            if control.found_enough() {
                control.stop_found();
                return Ok(Status::Over);
            }
            match pauses {
                Pause::No => {}
                Pause::Asked => {
                    control.wait();
                    return Ok(Status::Paused);
                }
                Pause::States => return Ok(Status::Waits),
            }
            let depth = frontier.levels;
            frontier.levels += 1;
            if frontier.level_sizes.len() < SearchResult::LEVEL_SIZES {
                frontier.level_sizes.push(level_size);
            }
            let mut level = self.take_next();
            if self.mail.departures.have_names() {
                // States with the same half are expanded one after the other: less is to be loaded and
                // looked up, here and where successors go.
                level.as_mut_slice().sort_unstable();
            }
            self.expand_level(&level, depth)?;
        }
    }

    /// What was found last.
    pub(super) fn take_next(&mut self) -> Words {
        std::mem::replace(&mut self.next, Words::new(self.context.ledger))
    }

    /// All processes tell what they have; returns the size of the next level, the limit that
    /// somebody has reached, and whether the leader wants a pause.
    fn agree(
        &mut self,
        most: u64,
        totals: &mut Totals,
    ) -> Result<(u64, Option<Limit>, Pause), Lost> {
        let (control, store) = (self.context.control, self.context.store);
        let spent = self.context.search.system.budget().spent();
        let limit = match spent {
            Some(spent) => Some(spent.into()),
            None => control.limit().filter(|_| self.is_halted),
        };
        let is_leader = self.cluster.is_leader();
        let own = [
            self.next.len() as u64,
            store.len(),
            store.bytes() as u64,
            limit.map_or(0, |limit| limit as u64),
            u64::from(is_leader && control.wants_pause()),
            if is_leader { most } else { 0 },
        ];
        let own = bytes_of(own.into_iter().chain(control.hits().map(u64::from)));
        let agreed = self.cluster.agree(topic::LEVEL, own, |all| {
            let all: Vec<Vec<u64>> = all.iter().map(|one| numbers_of(one)).collect();
            let numbers = all.iter().map(Vec::len).min().unwrap_or(0);
            bytes_of((0..numbers).map(|at| {
                let column = all.iter().map(|one| one[at]);
                match at {
                    0..=2 => column.sum(),
                    _ => column.max().unwrap_or(0),
                }
            }))
        })?;
        let agreed = numbers_of(&agreed);
        let number = |at: usize| agreed.get(at).copied().unwrap_or(0);
        totals.states = number(1);
        totals.bytes = number(2);
        control.has_elsewhere(totals.states.saturating_sub(store.len()));
        for (target, _) in agreed
            .iter()
            .skip(6)
            .enumerate()
            .filter(|(_, hit)| **hit > 0)
        {
            control.note_hit(target);
        }
        let limit = Limit::of_number(number(3) as u8);
        let pause = match (number(4), number(5)) {
            (1.., _) => Pause::Asked,
            (_, most) if totals.states > most => Pause::States,
            _ => Pause::No,
        };
        Ok((number(0), limit, pause))
    }

    /// Expands the own states of a level, until everybody has the next one.
    pub(super) fn expand_level(&mut self, level: &Words, depth: u64) -> Result<(), Lost> {
        let has_proviso = self.context.search.proviso.is_some() && !self.is_again;
        self.phase = 0;
        self.ends = [0; PHASES];
        if has_proviso {
            for bits in level.as_slice() {
                let state = StateHandle::from_bits(*bits);
                self.worker.set_flags(state, flags::ENTERED);
            }
        }
        for group in level.as_slice().chunks(GROUP) {
            self.look(level.len(), depth)?;
            if self.is_halted {
                break;
            }
            while let Some(message) = self.cluster.receive(Duration::ZERO)? {
                self.take(message)?;
            }
            let mut states = [StateHandle::from_bits(0); GROUP];
            for (state, bits) in states.iter_mut().zip(group) {
                *state = StateHandle::from_bits(*bits);
            }
            let states = &states[..group.len()];
            self.worker.prefetch(states);
            for state in states {
                let _ = self.worker.load(*state, &mut self.cursor);
                self.expand(*state, depth)?;
            }
        }
        self.end_phase(depth)?;
        if has_proviso {
            // Answers may have come already; now all have.
            self.end_phase(depth)?;
            self.put_back()?;
            self.end_phase(depth)?;
        }
        Ok(())
    }

    /// Looks at clock and memory.
    fn look(&mut self, level: usize, depth: u64) -> Result<(), Lost> {
        let (control, store) = (self.context.control, self.context.store);
        if self.is_again {
            // The search has stopped; it is the way that is wanted.
            let budget = self.context.search.system.budget();
            let is_over = budget.is_overdrawn() || control.was_interrupted();
            return self.unless_halted(if is_over { Err(Halt) } else { Ok(()) });
        }
        let transitions = self.expander.counts.transitions;
        let ticked = control.tick_without_waiting(store, transitions, level as u64, depth);
        self.unless_halted(ticked)
    }

    /// Tells everybody if the search must stop.
    fn unless_halted(&mut self, result: Result<(), Halt>) -> Result<(), Lost> {
        if result.is_err() && !self.is_halted {
            self.is_halted = true;
            for other in self.cluster.others() {
                self.cluster.send(other, HALT, &[])?;
            }
        }
        Ok(())
    }

    /// Sends the successors of the state in the cursor to their owners.
    fn expand(&mut self, state: StateHandle, depth: u64) -> Result<(), Lost> {
        if self.is_again {
            self.choose_again(state);
            for at in 0..self.expander.explored_count() {
                self.pass_on(self.expander.explored_number(at), None)?;
            }
            return Ok(());
        }
        match self.expander.expand(&self.cursor, depth, &mut self.worker) {
            Choice::All => {
                self.expander.count_all();
                self.pass_on_all()?;
            }
            Choice::Some => {
                self.expander.count_chosen();
                let asker = self.context.search.proviso.map(|_| {
                    let leads_on = false;
                    self.reduced.push(Reduced { state, leads_on });
                    self.reduced.len() as u32 - 1
                });
                for at in 0..self.expander.chosen.len() {
                    self.pass_on(self.expander.chosen[at] as usize, asker)?;
                }
            }
        }
        Ok(())
    }

    /// Computes the successors of the state in the cursor that the first run has explored.
    pub(super) fn choose_again(&mut self, state: StateHandle) {
        let choice = self.expander.expand_again(self.cursor.words());
        if choice == Choice::Some
            && self.context.search.proviso.is_some()
            && self.worker.flags(state) & flags::EXPANDED != 0
        {
            self.expander.keep_all();
        }
    }

    /// Gives all successors to their owners.
    #[inline]
    fn pass_on_all(&mut self) -> Result<(), Lost> {
        let (state, rank) = (self.cursor.words(), self.cluster.rank());
        let (states, changed) = self.expander.successors().states();
        let masks = changed.chunks_exact(state.len().div_ceil(64));
        let (mut hash, mut leaves) = (None, false);
        self.homes.clear();
        for (successor, changed) in states.chunks_exact(state.len()).zip(masks) {
            let owner = self.owners.other(state, &mut hash, successor, changed);
            let owner = owner.unwrap_or(rank);
            leaves |= owner != rank;
            self.homes.push(owner);
        }
        let count = self.homes.len();
        if leaves && !self.mail.departures.have_names() {
            return self.pass_on_whole();
        }
        // (Some may be left out.)
        let (before, mut at) = (self.batch.len(), self.batch.len());
        let (homes, whose, leaving) = (&self.homes, &mut self.whose, &mut self.leaving);
        let left_before = leaving.len();
        self.batch
            .push_each(&self.cursor, count, states, changed, |number| {
                if homes[number] != rank {
                    whose.push(homes[number]);
                    leaving.push(at);
                }
                at += 1;
            });
        let left = self.leaving.len() - left_before;
        self.nobody_asks(self.batch.len() - before - left, left);
        self.flush_if_full()
    }

    /// The same where states have no names and some belong to others.
    fn pass_on_whole(&mut self) -> Result<(), Lost> {
        let (width, rank) = (self.cursor.words().len(), self.cluster.rank());
        let (mut states, mut changed) = self.expander.successors().states();
        let (batched, left) = (self.batch.len(), self.whose.len());
        for run in self
            .homes
            .chunk_by(|one, other| (*one == rank) == (*other == rank))
        {
            let (these, later) = states.split_at(run.len() * width);
            let (masks, later_masks) = changed.split_at(run.len() * width.div_ceil(64));
            (states, changed) = (later, later_masks);
            if run[0] == rank {
                self.batch.push_all(&self.cursor, run.len(), these, masks);
                continue;
            }
            self.whose.extend_from_slice(run);
            self.names.extend_from_slice(these);
            for state in these.chunks_exact(width) {
                self.mail.sent.prefetch(state);
            }
        }
        self.nobody_asks(self.batch.len() - batched, self.whose.len() - left);
        self.flush_if_full()
    }

    /// Of so many states that stay, and so many that leave.
    #[inline]
    fn nobody_asks(&mut self, stay: usize, leave: usize) {
        if self.has_askers {
            self.askers.extend(repeat_n(Asker::Nobody, stay));
            self.asks.extend(repeat_n(Asker::Nobody, leave));
        }
    }

    #[inline]
    fn flush_if_full(&mut self) -> Result<(), Lost> {
        match self.batch.is_full() || self.whose.len() >= Batch::GOOD_SIZE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Gives a successor to its owner.
    #[inline]
    fn pass_on(&mut self, number: usize, asker: Option<u32>) -> Result<(), Lost> {
        let successor = self.expander.successors().get(number);
        let (state, changed) = (self.cursor.words(), successor.changed);
        let owner = (self.owners).other(state, &mut None, successor.state, changed);
        self.give(number, owner.unwrap_or(self.cluster.rank()), asker)
    }

    /// Gives a successor to somebody.
    #[inline]
    fn give(&mut self, number: usize, owner: usize, asker: Option<u32>) -> Result<(), Lost> {
        let successor = self.expander.successors().get(number);
        let stays = owner == self.cluster.rank();
        if self.has_askers {
            let asker = asker.map_or(Asker::Nobody, Asker::Own);
            match stays {
                true => self.askers.push(asker),
                false => self.asks.push(asker),
            }
        }
        let has_names = self.mail.departures.have_names();
        if !stays {
            self.whose.push(owner);
            match has_names {
                true => self.leaving.push(self.batch.len()),
                false => {
                    self.mail.sent.prefetch(successor.state);
                    self.names.extend_from_slice(successor.state);
                }
            }
        }
        if stays || has_names {
            self.batch
                .push(&self.cursor, successor.state, Some(successor.changed));
        }
        self.flush_if_full()
    }

    /// Sends what is about to be sent. Where too much is on its way, first takes what has come.
    fn send(&mut self, to: usize, kind: u8) -> Result<(), Lost> {
        while self.cluster.is_congested(to) {
            if let Some(message) = self.cluster.receive(PATIENCE)? {
                self.take(message)?;
            }
        }
        let frames = match kind {
            STATES => &mut self.mail.states,
            _ => &mut self.answers,
        };
        let frame = &mut frames[to];
        let sent = match frame.is_empty() {
            true => Ok(()),
            false => self.cluster.send(to, kind, frame),
        };
        frame.clear();
        sent
    }

    /// Takes a message of this level.
    fn take(&mut self, message: Message) -> Result<(), Lost> {
        match message.kind {
            // What a proviso puts back must not look as if it had been there before.
            STATES
                if message
                    .body
                    .first()
                    .is_some_and(|p| usize::from(*p) > self.phase) =>
            {
                self.early.push(message);
                Ok(())
            }
            STATES => self.take_states(message.from, message.body.get(1..).unwrap_or_default()),
            ANSWERS => {
                for number in words_of(&message.body) {
                    if let Some(reduced) = self.reduced.get_mut(number as usize) {
                        reduced.leads_on = true;
                    }
                }
                Ok(())
            }
            END => {
                if let Some(ends) = message
                    .body
                    .first()
                    .and_then(|p| self.ends.get_mut(usize::from(*p)))
                {
                    *ends += 1;
                }
                Ok(())
            }
            HALT => {
                self.is_halted = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_states(&mut self, from: usize, body: &[u8]) -> Result<(), Lost> {
        let mut words = std::mem::take(&mut self.scratch);
        words.clear();
        words.extend(words_of(body));
        let mut left = &words[..];
        while !left.is_empty() && !self.is_full {
            if self.has_askers {
                let number = left[0];
                left = &left[1..];
                self.askers.push(match number {
                    NOBODY => Asker::Nobody,
                    number => Asker::Other(from, number),
                });
            } else {
                left = self.arrivals.take_known(from, left, &mut self.batch);
                if left.is_empty() || self.batch.is_full() {
                    self.flush_if_full()?;
                    continue;
                }
            }
            let taken = (self.arrivals).take(from, left, &mut self.worker, &mut self.batch);
            match taken {
                Ok(Ok(rest)) => left = rest,
                Ok(Err(_)) => return Err(self.cluster.distrust(from)),
                Err(error) => self.give_up(error)?,
            }
            self.flush_if_full()?;
        }
        self.scratch = words;
        Ok(())
    }

    /// Stores a state that came from nowhere.
    fn store(&mut self, state: &[u32]) -> Result<(), Lost> {
        self.batch.push(&self.nowhere, state, None);
        if self.has_askers {
            self.askers.push(Asker::Nobody);
        }
        self.flush_if_full()
    }

    /// There is no room.
    fn give_up(&mut self, error: StoreError) -> Result<(), Lost> {
        self.is_full = true;
        self.forget_batch();
        let halted = self.context.control.store_failed(error);
        self.unless_halted(Err(halted))
    }

    fn forget_batch(&mut self) {
        self.batch.clear();
        self.askers.clear();
        self.leaving.clear();
        self.names.clear();
        self.whose.clear();
        self.asks.clear();
    }

    /// Stores what belongs here of the batch, notes what is new, and answers; the rest is about to be
    /// sent.
    fn flush(&mut self) -> Result<(), Lost> {
        if !self.leaving.is_empty() || self.arrivals.wait_for_names() {
            if let Err(error) = self.worker.name_batch(&mut self.batch) {
                return self.give_up(error);
            }
            self.arrivals.settle(&self.batch);
        }
        let departs = self.post();
        match self.has_askers || self.is_again {
            true => self.store_and_answer()?,
            false => self.store_new()?,
        }
        // What comes meanwhile is for this process, and does not bring it here again.
        if departs {
            for other in self.cluster.others() {
                if self.mail.states[other].len() >= FRAME {
                    self.send(other, STATES)?;
                }
            }
        }
        Ok(())
    }

    /// Stores the batch and notes what is new.
    fn store_new(&mut self) -> Result<(), Lost> {
        let control = self.context.control;
        let stored = self.worker.insert_for_new(&mut self.batch);
        let mut result = stored.map_err(|error| control.store_failed(error));
        for handle in self.batch.new_states() {
            let pushed = self.next.push(handle.to_bits());
            result = result.and(pushed.map_err(|error| control.out_of_memory(error)));
        }
        self.forget_batch();
        self.unless_halted(result)
    }

    /// Stores the batch, notes what is new, and answers.
    fn store_and_answer(&mut self) -> Result<(), Lost> {
        let control = self.context.control;
        let stored = self.worker.insert_batch(&mut self.batch).map(|_| ());
        let mut result = stored.map_err(|error| control.store_failed(error));
        let mut full = Vec::new();
        for (at, inserted) in self.batch.inserted().iter().enumerate() {
            let handle = inserted.handle;
            let is_new = match self.is_again {
                false => inserted.is_new,
                true => {
                    let before = self.worker.set_flags(handle, flags::SEEN_AGAIN);
                    before & flags::SEEN_AGAIN == 0
                }
            };
            if is_new {
                let pushed = self.next.push(handle.to_bits());
                result = result.and(pushed.map_err(|error| control.out_of_memory(error)));
            }
            let asker = match self.has_askers {
                true => self.askers[at],
                false => Asker::Nobody,
            };
            if matches!(asker, Asker::Nobody)
                || !is_new && self.worker.flags(handle) & flags::ENTERED != 0
            {
                continue;
            }
            match asker {
                Asker::Own(number) => self.reduced[number as usize].leads_on = true,
                Asker::Other(from, number) => {
                    let answers = &mut self.answers[from];
                    answers.extend(number.to_le_bytes());
                    if answers.len() >= FRAME {
                        full.push(from);
                    }
                }
                Asker::Nobody => {}
            }
        }
        self.forget_batch();
        self.unless_halted(result)?;
        // Nobody is waited for here: answers are few.
        for from in full {
            let answers = std::mem::take(&mut self.answers[from]);
            if !answers.is_empty() {
                self.cluster.send(from, ANSWERS, &answers)?;
            }
        }
        Ok(())
    }

    /// Writes what belongs to others to what is about to be sent, unless it was sent lately; whether something
    /// is enough to be sent. What is in the batch is taken out of it.
    fn post(&mut self) -> bool {
        if self.whose.is_empty() {
            return false;
        }
        if !self.leaving.is_empty() {
            self.batch.take_out(&self.leaving, |number, name| {
                self.mail.sent.prefetch(name);
                self.mail.departures.prefetch(self.whose[number], name);
                self.names.extend_from_slice(name);
            });
        }
        let mut departs = false;
        let names = self.names.chunks_exact(self.name_words);
        for (at, (name, to)) in names.zip(&self.whose).enumerate() {
            let asker = self.asks.get(at).copied().unwrap_or(Asker::Nobody);
            let (worker, phase) = (&mut self.worker, self.phase);
            departs |= self.mail.add(worker, phase, *to, name, asker);
        }
        departs
    }

    /// Says that nothing more comes, and waits until everybody has said so.
    fn end_phase(&mut self, depth: u64) -> Result<(), Lost> {
        self.flush()?;
        for other in self.cluster.others() {
            for kind in [STATES, ANSWERS] {
                self.send(other, kind)?;
            }
            self.cluster.send(other, END, &[self.phase as u8])?;
        }
        self.cluster.flush();
        while self.ends[self.phase] + 1 < self.cluster.size() {
            match self.cluster.receive(PATIENCE)? {
                Some(message) => self.take(message)?,
                None => self.look(self.next.len(), depth)?,
            }
        }
        self.flush()?;
        self.phase += 1;
        for message in std::mem::take(&mut self.early) {
            self.take(message)?;
        }
        Ok(())
    }

    /// Expands the states whose kept successors are all on this level or an earlier one.
    fn put_back(&mut self) -> Result<(), Lost> {
        if self.context.search.proviso.is_none() {
            return Ok(());
        }
        for reduced in std::mem::take(&mut self.reduced) {
            if self.is_halted || reduced.leads_on {
                continue;
            }
            let _ = self.worker.load(reduced.state, &mut self.cursor);
            self.expander.expand_again(self.cursor.words());
            self.worker.set_flags(reduced.state, flags::EXPANDED);
            self.expander.count_rest();
            for at in 0..self.expander.rest.len() {
                self.pass_on(self.expander.rest[at] as usize, None)?;
            }
        }
        Ok(())
    }

    /// Whether something has stopped this process.
    pub(super) fn is_halted(&self) -> bool {
        self.is_halted
    }
}

fn words_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word))
}
