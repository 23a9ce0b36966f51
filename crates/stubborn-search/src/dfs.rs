//! Depth-first search, with an explicit stack.
//!
//! When a state is entered, all its chosen successors are stored at once, as a batch, and
//! wait on the stack; when one is taken, a flag in the store says whether it was entered
//! meanwhile. So each state is expanded once, in true depth-first order, and nothing is
//! computed again on the way back, except where a proviso wants a state expanded late.
//! (With a store that cannot give states back, whole states wait on the stack and are stored
//! when they are taken.)
//!
//! On several threads each has such a stack, and shares the store and, when somebody is
//! idle, [work](crate::sharing). That is not depth-first as a whole: provisos that need it
//! are refused.

use std::sync::{Arc, Mutex, PoisonError};

use stubborn_store::{Batch, Cursor, OutOfMemory, StateHandle, Worker};
use stubborn_system::Random;

use crate::context::{Context, Sum};
use crate::control::Halt;
use crate::expand::{Choice, Expander};
use crate::flags;
use crate::memory::Words;
use crate::proviso::{Edge, EdgeOrder, Known, Marks, Needs, ProvisoWorker, Visit, Watch};
use crate::sharing::{Origin, Packet, Pool};
use crate::stack::{Stack, StackView};
use crate::violation::Preference;

/// Turns of the loop after which a thread looks whether to stop or to share.
const GROUP: u32 = 64;

/// Explores everything; `watch` makes the proviso of each thread.
pub(crate) fn run<W: Watch>(context: &Context<'_>, watch: impl Fn() -> W + Sync) -> Sum {
    let threads = context.search.threads.max(1);
    let pool = Pool::default();
    // The first thread has all the work at first: the others must not think it is done.
    pool.join();
    let sum = Mutex::new(context.empty_sum());
    let walk = |thread: usize| {
        let mut walker = Walker::new(context, thread, watch());
        if thread > 0 {
            pool.join();
        }
        // The reason to stop is known to `Control`.
        let _ = context.guarded(|| walker.walk(&pool));
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        context.add(&mut sum, walker.expander, walker.deepest);
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
    sum.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Which successors of the state in the cursor are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Chosen,
    Rest,
}

/// One thread.
struct Walker<'a, W> {
    context: &'a Context<'a>,
    thread: usize,
    watch: W,
    needs: Needs,
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
    edges: Vec<Edge>,
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

impl<'a, W: Watch> Walker<'a, W> {
    fn new(context: &'a Context<'a>, thread: usize, watch: W) -> Self {
        let seed = context.search.seed;
        Self {
            context,
            thread,
            needs: watch.needs(),
            watch,
            expander: context.expander(Preference::First),
            worker: context.store.worker(),
            cursor: context.store.cursor(),
            scratch: Vec::new(),
            nowhere: context.store.cursor(),
            batch: context.store.batch(),
            stack: Stack::new(context.ledger, context.shape.entry_words),
            entry: Vec::new(),
            edges: Vec::new(),
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

    fn walk(&mut self, pool: &Pool) -> Result<(), Halt> {
        if self.thread == 0 {
            self.start()?;
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
                Some(was_put_off) => self.take_edge(was_put_off)?,
                None if self.stack.is_empty() => return Ok(()),
                None => self.leave()?,
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

    /// Follows the edge to the state in `entry`: enters it, or tells the proviso that it was
    /// entered before.
    #[inline]
    fn take_edge(&mut self, was_put_off: bool) -> Result<(), Halt> {
        if !self.context.shape.is_handle {
            return match self.store_whole()? {
                true => self.enter(),
                false => Ok(()),
            };
        }
        let to = self.context.shape.handle(&self.entry);
        let before = self.worker.set_flags(to, flags::ENTERED);
        if before & flags::ENTERED == 0 {
            return self.enter();
        }
        if W::WATCHES && self.needs.edges && !self.stack.is_empty() {
            self.take_known_edge(to, before, was_put_off)?;
        }
        Ok(())
    }

    /// An edge to a state entered before, for provisos that want to know.
    fn take_known_edge(
        &mut self,
        to: StateHandle,
        bits: u8,
        was_put_off: bool,
    ) -> Result<(), Halt> {
        let frame = self.stack.len() - 1;
        let unknown_first = self.needs.edge_order == EdgeOrder::UnknownFirst;
        if unknown_first && !was_put_off && self.stack.entry(frame)[0] != to.to_bits() {
            let entry = to.to_bits();
            return self.remember(|stack| stack.put_off(&[entry]));
        }
        let edge = Edge {
            to,
            known: known(false, bits),
        };
        let expands = self.ask(|hooks, visit, marks| hooks.on_known_successor(visit, edge, marks));
        if expands && !self.stack.is_expanded(frame) {
            self.expand_late()?;
        }
        Ok(())
    }

    /// Asks the proviso about the last state on the stack.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut W::Hooks, Visit<'_>, &mut Marks<'_, '_>) -> T,
    ) -> T {
        let frame = self.stack.len() - 1;
        let visit = Visit {
            state: StateHandle::from_bits(self.stack.entry(frame)[0]),
            expanded: self.stack.is_expanded(frame),
            stack: StackView(Some(&self.stack)),
        };
        question(self.watch.hooks(), visit, &mut Marks(&mut self.worker))
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
        if W::WATCHES {
            return self.explore_watched(choice);
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

    /// Takes note of the proviso's wishes for the state just entered.
    fn explore_watched(&mut self, choice: Choice) -> Result<(), Halt> {
        let state = self.context.shape.handle(&self.entry);
        let frame = self.stack.len() - 1;
        let is_reduced = choice == Choice::Some;
        let mut bits = 0;
        if self.needs.depth_first {
            bits |= flags::ON_STACK;
        }
        if !is_reduced {
            bits |= flags::EXPANDED;
            self.stack.set_expanded(frame);
        }
        if bits != 0 {
            self.worker.set_flags(state, bits);
        }
        self.ask(|hooks, visit, marks| hooks.on_enter(visit, marks));
        if !is_reduced {
            return self.explore(Part::All);
        }
        self.explore(Part::Chosen)?;
        if self.stack.is_expanded(frame) {
            return Ok(());
        }
        let edges = std::mem::take(&mut self.edges);
        let expands = self.ask(|hooks, visit, marks| hooks.on_successors(visit, &edges, marks));
        self.edges = edges;
        if expands {
            self.expand_rest()?;
        }
        Ok(())
    }

    /// Expands the last state on the stack, whose successors are at hand.
    fn expand_rest(&mut self) -> Result<(), Halt> {
        let frame = self.stack.len() - 1;
        self.stack.set_expanded(frame);
        let state = StateHandle::from_bits(self.stack.entry(frame)[0]);
        self.worker.set_flags(state, flags::EXPANDED);
        self.explore(Part::Rest)
    }

    /// Expands the last state on the stack, long after its successors were computed.
    #[cold]
    fn expand_late(&mut self) -> Result<(), Halt> {
        let state = StateHandle::from_bits(self.stack.entry(self.stack.len() - 1)[0]);
        if self.worker.load(state, &mut self.cursor).is_err() {
            return Ok(());
        }
        // The set is a function of the state, so this is the same choice as before.
        match self.expander.expand_again(self.cursor.words()) {
            Choice::All => Ok(()),
            Choice::Some => self.expand_rest(),
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
                    .extend(0..self.expander.successors.len() as u32);
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
            let successor = self.expander.successors.get(*number as usize);
            self.batch
                .push(&self.cursor, successor.state, Some(successor.changed));
        }
        let stored = self.worker.insert_batch(&mut self.batch).map(|_| ());
        if let Err(error) = stored {
            self.batch.clear();
            return Err(self.context.control.store_failed(error));
        }
        let done = if W::WATCHES {
            self.let_watched_wait()
        } else {
            self.line.clear();
            for inserted in self.batch.inserted().iter().rev() {
                if inserted.flags & flags::ENTERED == 0 {
                    self.line.push(inserted.handle.to_bits());
                }
            }
            let control = self.context.control;
            let waits = self.stack.wait(&self.line);
            waits.map_err(|e| control.out_of_memory(e))
        };
        self.batch.clear();
        done
    }

    /// Lets the successors in the batch wait in the order that the proviso wants.
    fn let_watched_wait(&mut self) -> Result<(), Halt> {
        self.edges.clear();
        self.edges
            .extend(self.batch.inserted().iter().map(|inserted| Edge {
                to: inserted.handle,
                known: known(inserted.is_new, inserted.flags),
            }));
        let was_entered = |edge: &Edge| matches!(edge.known, Known::OnStack | Known::Closed);
        self.line.clear();
        // The last one in line is the next one taken.
        let last_first = self.edges.iter().rev();
        match (self.needs.edges, self.needs.edge_order) {
            (false, _) => {
                let unknown = last_first.filter(|edge| !was_entered(edge));
                self.line.extend(unknown.map(|edge| edge.to.to_bits()));
            }
            (true, EdgeOrder::KnownFirst) => {
                let (unknown, known) = (last_first.clone(), last_first);
                let unknown = unknown.filter(|edge| !was_entered(edge));
                let known = known.filter(|edge| was_entered(edge));
                self.line
                    .extend(unknown.chain(known).map(|edge| edge.to.to_bits()));
            }
            // With unknown ones first, known ones are put off when they are taken.
            (true, EdgeOrder::AsGiven | EdgeOrder::UnknownFirst) => {
                self.line.extend(last_first.map(|edge| edge.to.to_bits()));
            }
        }
        let control = self.context.control;
        let waits = self.stack.wait(&self.line);
        waits.map_err(|e| control.out_of_memory(e))
    }

    /// Lets whole states wait; they are stored when they are taken.
    fn let_whole_wait(&mut self) -> Result<(), Halt> {
        self.line.clear();
        for number in self.numbers.iter().rev() {
            let state = self.expander.successors.state(*number as usize);
            self.context.shape.write_words(state, &mut self.line);
        }
        let control = self.context.control;
        let waits = self.stack.wait(&self.line);
        waits.map_err(|e| control.out_of_memory(e))
    }

    /// All edges of the last state were taken: it leaves, unless the proviso wants more of it.
    fn leave(&mut self) -> Result<(), Halt> {
        if W::WATCHES {
            let frame = self.stack.len() - 1;
            if !self.stack.is_expanded(frame)
                && self.ask(|hooks, visit, marks| hooks.on_exhausted(visit, marks))
            {
                self.expand_late()?;
                if self.stack.waiting(frame) > 0 {
                    return Ok(());
                }
            }
            self.ask(|hooks, visit, marks| hooks.on_leave(visit, marks));
            let state = StateHandle::from_bits(self.stack.entry(frame)[0]);
            if self.needs.depth_first {
                self.worker.clear_flags(state, flags::ON_STACK);
            }
            self.stack.pop();
            if frame > 0 {
                self.ask(|hooks, visit, marks| hooks.on_child_done(visit, state, marks));
            }
        } else {
            self.stack.pop();
        }
        self.shared_below = self.shared_below.min(self.stack.len());
        Ok(())
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

/// What flags in the store say of a state.
fn known(is_new: bool, bits: u8) -> Known {
    match bits {
        _ if is_new => Known::New,
        _ if bits & flags::ENTERED == 0 => Known::Open,
        _ if bits & flags::ON_STACK != 0 => Known::OnStack,
        _ => Known::Closed,
    }
}
