//! Depth-first search, with an explicit stack.
//!
//! When a state is entered, all its chosen successors are stored at once, as a batch, and
//! wait on the stack; when one is taken, a flag in the store says whether it was entered
//! meanwhile. So each state is expanded once, in true depth-first order, and nothing is
//! computed again on the way back.
//! (With a store that cannot give states back, whole states wait on the stack and are stored
//! when they are taken.)
//!
//! On several threads each has such a stack, and shares the store and, when somebody is
//! idle, [work](crate::sharing). That is not depth-first as a whole: provisos that need it
//! are refused.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stubborn_store::saved::Sink;
use stubborn_store::{Batch, Cursor, OutOfMemory, Worker};
use stubborn_system::Random;

use crate::config::Order;
use crate::context::Context;
use crate::control::Halt;
use crate::expand::{Choice, Expander};
use crate::flags;
use crate::memory::Words;
use crate::proviso::{Known, Ruling, SafetyProviso, Selected};
use crate::saved::Reading;
use crate::sharing::{Origin, Packet, Pool};
use crate::stack::Stack;
use crate::violation::Preference;

/// Turns of the loop after which a thread looks whether to stop or to share.
const GROUP: u32 = 64;

/// Explores everything, or until a limit; if that was the one of states, it can be called again.
/// `PROVISO`: whether there is one; what it needs is compiled away otherwise.
pub(crate) fn run<const PROVISO: bool>(context: &Context<'_>, waiting: &mut Waiting) {
    let threads = context.search.threads.max(1);
    let pool = Pool::default();
    // The first thread has all the work at first: the others must not think it is done.
    pool.join();
    let begins = !std::mem::replace(&mut waiting.has_begun, true);
    if !begins && context.control.found_enough() {
        // A thread found it when the others had stopped to wait, and left its state half-way.
        return context.control.stop_found();
    }
    let stacks = Mutex::new(std::mem::take(&mut waiting.stacks));
    let walk = |thread: usize| {
        let mut walker = Walker::<PROVISO>::new(context, thread);
        if thread > 0 {
            pool.join();
        }
        // The reason to stop is known to `Control`.
        let _ = context.guarded(|| walker.walk(&pool, begins, &stacks));
        let left = walker.stack_in_hand();
        lock(&stacks).extend(left);
        context.add(walker.expander, walker.deepest);
        Ok(())
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let walk = &walk;
            // Without that thread the search is slower, not wrong.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _ = context.guarded(|| walk(thread));
            });
        }
        let _ = context.guarded(|| walk(0));
    });
    waiting.stacks = stacks.into_inner().unwrap_or_else(PoisonError::into_inner);
}

/// What is left to do in a search that was stopped.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) has_begun: bool,
    stacks: Vec<StackInHand>,
}

impl Waiting {
    /// Writes everything that is left to do.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.number(self.has_begun.into())?;
        sink.number(self.stacks.len() as u64)?;
        for one in &self.stacks {
            one.stack.save(sink)?;
            let origin = Origin::collect(one.origin.as_ref());
            sink.number(origin.len() as u64)?;
            sink.numbers(origin)?;
            sink.number(one.origin_depth)?;
            sink.number(one.shuffle.is_some().into())?;
            sink.number(one.shuffle.as_ref().map_or(0, Random::seed))?;
        }
        Ok(())
    }

    pub(crate) fn restore(reading: &mut Reading<'_, '_, '_>) -> io::Result<Self> {
        let has_begun = reading.flag()?;
        let mut stacks = Vec::new();
        for _ in 0..reading.source.count(size_of::<u64>())? {
            let stack = Stack::restore(reading)?;
            let path = reading.entries()?;
            let origin_depth = reading.at_most_many()?;
            let is_shuffled = reading.flag()?;
            let seed = reading.source.number()?;
            stacks.push(StackInHand {
                stack,
                origin: (!path.is_empty()).then(|| Origin::new(None, path)),
                origin_depth,
                shuffle: is_shuffled.then(|| Random::new(seed)),
            });
        }
        Ok(Self { has_begun, stacks })
    }
}

/// A thread's stack, and how it came to it.
struct StackInHand {
    stack: Stack,
    origin: Option<Arc<Origin>>,
    origin_depth: u64,
    shuffle: Option<Random>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which successors of the state in the cursor are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Chosen,
    Rest,
}

/// One thread.
struct Walker<'a, const PROVISO: bool> {
    context: &'a Context<'a>,
    thread: usize,
    /// Used if `PROVISO`.
    proviso: Option<&'a dyn SafetyProviso>,
    /// It needs to know what is on the stack.
    marks_stack: bool,
    expander: Expander<'a>,
    worker: Worker<'a>,
    cursor: Cursor,
    /// For states that are not in the store.
    scratch: Vec<u32>,
    /// Always empty, to insert whole states.
    nowhere: Cursor,
    batch: Batch,
    stack: Stack,
    /// The entry in hand.
    entry: Vec<u64>,
    kept: Vec<Known>,
    /// Numbers of successors, in the order in which they are to be taken.
    numbers: Vec<u32>,
    /// Successors that wait, last one first.
    line: Vec<u64>,
    shuffle: Option<Random>,
    /// The way to the bottom of the stack, and how long it is.
    origin: Option<Arc<Origin>>,
    origin_depth: u64,
    deepest: u64,
    /// Frames below this one were offered to other threads already.
    shared_below: usize,
    turns: u32,
}

impl<'a, const PROVISO: bool> Walker<'a, PROVISO> {
    fn new(context: &'a Context<'a>, thread: usize) -> Self {
        let seed = context.search.seed;
        let proviso = context.search.proviso;
        Self {
            context,
            thread,
            proviso,
            marks_stack: proviso.is_some_and(|p| p.order() == Some(Order::DepthFirst)),
            expander: context.expander(Preference::First),
            worker: context.store.worker(),
            cursor: context.store.cursor(),
            scratch: Vec::new(),
            nowhere: context.store.cursor(),
            batch: context.store.batch(),
            stack: Stack::new(context.ledger, context.shape.entry_words),
            entry: Vec::new(),
            kept: Vec::new(),
            numbers: Vec::new(),
            line: Vec::new(),
            shuffle: seed.map(|seed| Random::new(seed.wrapping_add(thread as u64))),
            origin: None,
            origin_depth: 0,
            deepest: 0,
            shared_below: 0,
            turns: 0,
        }
    }

    fn walk(
        &mut self,
        pool: &Pool,
        begins: bool,
        stacks: &Mutex<Vec<StackInHand>>,
    ) -> Result<(), Halt> {
        if begins && self.thread == 0 {
            self.start()?;
            self.walk_down(pool)?;
        }
        // Whoever comes first: a thread that had one may not be there any more.
        loop {
            let Some(next) = lock(stacks).pop() else {
                break;
            };
            self.stack = next.stack;
            self.origin = next.origin;
            self.origin_depth = next.origin_depth;
            self.shuffle = next.shuffle;
            self.shared_below = 0;
            self.walk_down(pool)?;
        }
        while let Some(packet) = self.next_packet(pool) {
            self.origin = packet.origin;
            self.origin_depth = packet.depth;
            self.remember(|stack| stack.wait(packet.entries.as_slice()))?;
            drop(packet.entries);
            self.walk_down(pool)?;
        }
        self.context.control.go_on()
    }

    /// What is left of the work when it has to stop.
    fn stack_in_hand(&mut self) -> Option<StackInHand> {
        if self.stack.is_empty() && self.stack.all_waiting() == 0 {
            return None;
        }
        let entry_words = self.context.shape.entry_words;
        let none = Stack::new(self.context.ledger, entry_words);
        Some(StackInHand {
            stack: std::mem::replace(&mut self.stack, none),
            origin: self.origin.take(),
            origin_depth: self.origin_depth,
            shuffle: self.shuffle.take(),
        })
    }

    fn next_packet(&self, pool: &Pool) -> Option<Packet> {
        let (control, store) = (self.context.control, self.context.store);
        let transitions = self.expander.counts.transitions;
        pool.take(control, || {
            control.tick(self.thread, store, transitions, 0, self.deepest)
        })
    }

    /// Does something with the stack that needs memory.
    #[inline]
    fn remember(
        &mut self,
        what: impl FnOnce(&mut Stack) -> Result<(), OutOfMemory>,
    ) -> Result<(), Halt> {
        what(&mut self.stack).map_err(|e| self.context.control.out_of_memory(e))
    }

    /// Lets the initial states wait, the first one on top.
    fn start(&mut self) -> Result<(), Halt> {
        let (system, shape) = (self.context.search.system, self.context.shape);
        let initial = system.initial_states();
        for state in initial.chunks_exact(system.layout().words()).rev() {
            self.entry.clear();
            if shape.is_handle {
                let inserted = self.worker.insert(&self.nowhere, state, None);
                let handle = inserted
                    .map_err(|e| self.context.control.store_failed(e))?
                    .handle;
                self.entry.push(handle.to_bits());
            } else {
                shape.write_words(state, &mut self.entry);
            }
            let entry = std::mem::take(&mut self.entry);
            self.remember(|stack| stack.wait(&entry))?;
            self.entry = entry;
        }
        Ok(())
    }

    /// The loop: until nothing waits and the stack is empty.
    fn walk_down(&mut self, pool: &Pool) -> Result<(), Halt> {
        loop {
            self.turns += 1;
            if self.turns >= GROUP {
                self.turns = 0;
                self.look_around(pool)?;
            }
            match self.stack.take(&mut self.entry) {
                true => self.take_edge()?,
                false if self.stack.is_empty() => return Ok(()),
                false => self.leave(),
            }
        }
    }

    fn look_around(&mut self, pool: &Pool) -> Result<(), Halt> {
        let (waiting, depth) = (self.stack.all_waiting() as u64, self.deepest);
        let transitions = self.expander.counts.transitions;
        let (control, store) = (self.context.control, self.context.store);
        control.tick(self.thread, store, transitions, waiting, depth)?;
        if pool.is_hungry() {
            self.share(pool);
        }
        Ok(())
    }

    /// Follows the edge to the state in `entry`: enters it, unless that was done before.
    #[inline]
    fn take_edge(&mut self) -> Result<(), Halt> {
        if !self.context.shape.is_handle {
            return match self.store_whole()? {
                true => self.enter(),
                false => Ok(()),
            };
        }
        let to = self.context.shape.handle(&self.entry);
        let before = self.worker.set_flags(to, flags::ENTERED);
        match before & flags::ENTERED {
            0 => self.enter(),
            _ => Ok(()),
        }
    }

    /// Stores the whole state in `entry`; true if it is new.
    fn store_whole(&mut self) -> Result<bool, Halt> {
        self.context.shape.load(
            &self.entry,
            &mut self.worker,
            &mut self.cursor,
            &mut self.scratch,
        );
        let inserted = self.worker.insert(&self.nowhere, self.cursor.words(), None);
        let inserted = inserted.map_err(|e| self.context.control.store_failed(e))?;
        Ok(inserted.is_new)
    }

    /// Puts the state in `entry` on the stack and lets its successors wait.
    fn enter(&mut self) -> Result<(), Halt> {
        let depth = self.origin_depth + self.stack.len() as u64;
        self.deepest = self.deepest.max(depth);
        let entry = std::mem::take(&mut self.entry);
        self.remember(|stack| stack.push(&entry))?;
        self.entry = entry;
        let shape = self.context.shape;
        shape.load(
            &self.entry,
            &mut self.worker,
            &mut self.cursor,
            &mut self.scratch,
        );
        let choice = self.expander.expand(&self.cursor, depth, &mut self.worker);
        if self.expander.keeper.has_fresh() {
            self.keep_path();
            if self.context.control.found_enough() {
                self.context.control.stop_found();
                return Err(Halt);
            }
        }
        if PROVISO {
            return self.explore_with_proviso(choice);
        }
        match choice {
            Choice::All => self.explore(Part::All),
            Choice::Some => self.explore(Part::Chosen),
        }
    }

    /// Writes the way to the last state into findings that were just made.
    #[cold]
    fn keep_path(&mut self) {
        let fresh = self.expander.keeper.take_fresh();
        let states = self.origin_depth as usize + self.stack.len();
        let bytes = states * self.context.shape.entry_words * size_of::<u64>();
        // Without memory for it there will be no trace.
        if !self.context.ledger.has_room(2 * bytes) {
            return fresh.for_each(drop);
        }
        let mut path = Origin::collect(self.origin.as_ref());
        for frame in 0..self.stack.len() {
            path.extend_from_slice(self.stack.entry(frame));
        }
        for finding in fresh {
            finding.path.clone_from(&path);
        }
    }

    /// Explores the state just entered as the proviso wants it.
    fn explore_with_proviso(&mut self, choice: Choice) -> Result<(), Halt> {
        let state = self.context.shape.handle(&self.entry);
        if self.marks_stack {
            self.worker.set_flags(state, flags::ON_STACK);
        }
        if choice == Choice::All {
            return self.explore(Part::All);
        }
        self.explore(Part::Chosen)?;
        let selected = Selected::new(&self.kept, self.expander.chosen.len());
        match self.proviso.map(|proviso| proviso.ruling(&selected)) {
            Some(Ruling::Expanded) => self.explore(Part::Rest),
            _ => Ok(()),
        }
    }

    /// Stores successors of the state in the cursor, the last one on the stack, and lets
    /// them wait, the first one on top.
    #[inline]
    fn explore(&mut self, part: Part) -> Result<(), Halt> {
        self.numbers.clear();
        match part {
            Part::All => {
                self.expander.count_all();
                self.numbers
                    .extend(0..self.expander.successors().len() as u32);
            }
            Part::Chosen => {
                self.expander.count_chosen();
                self.numbers.extend_from_slice(&self.expander.chosen);
            }
            Part::Rest => {
                self.expander.count_rest();
                self.numbers.extend_from_slice(&self.expander.rest);
            }
        }
        if let Some(shuffle) = &mut self.shuffle {
            shuffle.shuffle(&mut self.numbers);
        }
        if !self.context.shape.is_handle {
            return self.let_whole_wait();
        }
        for number in &self.numbers {
            let successor = self.expander.successors().get(*number as usize);
            self.batch
                .push(&self.cursor, successor.state, Some(successor.changed));
        }
        let stored = self.worker.insert_batch(&mut self.batch).map(|_| ());
        if let Err(error) = stored {
            self.batch.clear();
            return Err(self.context.control.store_failed(error));
        }
        if PROVISO {
            self.kept.clear();
            let inserted = self.batch.inserted().iter();
            self.kept
                .extend(inserted.map(|one| flags::known(one.is_new, one.flags)));
        }
        self.line.clear();
        for inserted in self.batch.inserted().iter().rev() {
            if inserted.flags & flags::ENTERED == 0 {
                self.line.push(inserted.handle.to_bits());
            }
        }
        self.batch.clear();
        let control = self.context.control;
        let waits = self.stack.wait(&self.line);
        waits.map_err(|e| control.out_of_memory(e))
    }

    /// Lets whole states wait; they are stored when they are taken.
    fn let_whole_wait(&mut self) -> Result<(), Halt> {
        self.line.clear();
        for number in self.numbers.iter().rev() {
            let state = self.expander.successors().state(*number as usize);
            self.context.shape.write_words(state, &mut self.line);
        }
        let control = self.context.control;
        let waits = self.stack.wait(&self.line);
        waits.map_err(|e| control.out_of_memory(e))
    }

    /// All edges of the last state were taken: it leaves.
    fn leave(&mut self) {
        if PROVISO && self.marks_stack {
            let entry = self.stack.entry(self.stack.len() - 1);
            let state = self.context.shape.handle(entry);
            self.worker.clear_flags(state, flags::ON_STACK);
        }
        self.stack.pop();
        self.shared_below = self.shared_below.min(self.stack.len());
    }

    /// Offers what waits at the lowest frame that was not offered before. Without memory
    /// for it nothing is shared, which costs only time.
    #[cold]
    fn share(&mut self, pool: &Pool) {
        let frames = self.shared_below..self.stack.len();
        let mut candidates = frames.filter(|frame| self.stack.waiting(*frame) > 0);
        let Some(frame) = candidates.next() else {
            self.shared_below = self.stack.len();
            return;
        };
        let mut entries = Words::new(self.context.ledger);
        let mut path = Words::new(self.context.ledger);
        let mut copied = entries.extend(self.stack.waiting_entries(frame));
        // Nobody will ask for the way if there is nothing to look for.
        let needs_way = !self.context.search.targets.is_empty();
        if needs_way {
            for frame in 0..=frame {
                copied = copied.and_then(|()| path.extend(self.stack.entry(frame)));
            }
        }
        if copied.is_ok() {
            self.shared_below = frame + 1;
            pool.give(Packet {
                entries,
                depth: self.origin_depth + frame as u64 + 1,
                origin: needs_way.then(|| Origin::new(self.origin.clone(), path)),
            });
        }
    }
}
