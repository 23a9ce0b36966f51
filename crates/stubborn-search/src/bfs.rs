//! Breadth-first search, level by level, on any number of threads.
//!
//! Threads take chunks of the current level and write chunks of the next one; between two
//! levels all wait for each other. A level that has begun is finished even if a violation was
//! found on it, so that counts and the violation shown depend only on the system, not on
//! timing. Small levels are not worth waking anybody: the first thread does them alone.
//!
//! A thread first takes what it found itself on the level before, because it knows the nodes of these
//! states; who has nothing left takes half of what another has.
//!
//! The queue holds handles, or whole states where the store cannot give them back.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stubborn_store::saved::Sink;
use stubborn_store::{Batch, Cursor, StateHandle, StoreError, Worker};

use crate::context::Context;
use crate::control::Halt;
use crate::entry::ChunkWriter;
use crate::expand::{Choice, Expander};
use crate::flags;
use crate::packed::Packed;
use crate::proviso::{Known, Ruling, SafetyProviso, Selected};
use crate::result::{Limit, SearchResult};
use crate::saved::{Reading, save_chunks};
use crate::settle::Settling;
use crate::team::{Place, Team};
use crate::violation::Preference;

/// States after which a thread looks whether to stop.
const GROUP: usize = 32;

/// Levels of fewer chunks than there are threads are done by the first thread alone, but those of so many
/// are not.
const CHUNKS_WORTH_SHARING: usize = 8;

/// Explores everything, or until a limit; if that was the one of states, it can be called again.
/// `PROVISO`: whether there is one; what it needs is compiled away otherwise.
pub(crate) fn run<const PROVISO: bool>(context: &Context<'_>, frontier: &mut Frontier) {
    let threads = context.search.threads.max(1);
    let shared = Shared {
        level: Mutex::new(std::mem::take(&mut frontier.level)),
        next: Mutex::new(std::mem::take(&mut frontier.next)),
        put_off: Mutex::new(std::mem::take(&mut frontier.put_off)),
        team: Team::default(),
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let shared = &shared;
            // Without that thread the search is slower, not wrong.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _ = context.guarded(|| follow::<PROVISO>(context, shared, thread));
            });
        }
        let _ = context.guarded(|| lead::<PROVISO>(context, &shared, frontier));
        shared.team.dismiss();
    });
    frontier.level = unlocked(shared.level);
    frontier.next = unlocked(shared.next);
    frontier.put_off = unlocked(shared.put_off);
}

/// What is left to do, and the shape of what was done.
#[derive(Default)]
pub(crate) struct Frontier {
    /// The level that is being expanded, if there is one.
    level: Level,
    /// Of the next one, what was found so far.
    next: Runs,
    /// What the proviso wants to come back to.
    put_off: Vec<StateHandle>,
    /// Levels begun, initial states included.
    pub(crate) levels: u64,
    pub(crate) level_sizes: Vec<u64>,
}

impl Frontier {
    /// Writes everything that is left to do.
    pub(crate) fn save(&self, entry_words: usize, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.number(self.levels)?;
        sink.number(self.level_sizes.len() as u64)?;
        sink.numbers(self.level_sizes.iter().copied())?;
        sink.number(self.level.depth)?;
        sink.number(self.level.size)?;
        // In the order in which they would be taken; of those that were begun, what is left.
        let begun = self.level.begun.iter().rev();
        let begun = begun.map(|(chunk, done)| &chunk[*done..]);
        save_chunks(sink, begun, self.level.chunks.iter(), entry_words)?;
        save_chunks(sink, std::iter::empty(), self.next.iter(), entry_words)?;
        sink.number(self.put_off.len() as u64)?;
        sink.numbers(self.put_off.iter().map(|state| state.to_bits()))
    }

    pub(crate) fn restore(reading: &mut Reading<'_, '_, '_>) -> io::Result<Self> {
        let levels = reading.at_most_many()?;
        let most_sizes = SearchResult::LEVEL_SIZES as u64;
        let sizes = reading
            .source
            .at_most(levels.min(most_sizes), "too many levels")?;
        let mut level_sizes = Vec::new();
        reading.source.numbers(sizes as usize, |size| {
            level_sizes.push(size);
            Ok(())
        })?;
        let depth = reading.source.at_most(levels, "a level is too deep")?;
        let size = reading.at_most_many()?;
        let chunks = Runs(vec![reading.chunks()?]);
        let next = Runs(vec![reading.chunks()?]);
        let put_off = reading.handles()?;
        Ok(Self {
            level: Level {
                begun: Vec::new(),
                chunks,
                depth,
                size,
            },
            next,
            put_off,
            levels,
            level_sizes,
        })
    }

    /// The number of levels and their sizes.
    pub(crate) fn into_levels(self) -> (u64, Vec<u64>) {
        (self.levels, self.level_sizes)
    }
}

/// What is left of the current level.
#[derive(Default)]
struct Level {
    /// Chunks that were begun when the search had to wait, and how much of them is done.
    begun: Vec<(Vec<u64>, usize)>,
    chunks: Runs,
    depth: u64,
    /// States of the whole level.
    size: u64,
}

impl Level {
    fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.chunks.is_empty()
    }
}

/// Chunks of a level, for each thread those that it found.
#[derive(Default)]
struct Runs(Vec<VecDeque<Packed>>);

impl Runs {
    fn iter(&self) -> impl Iterator<Item = &Packed> + Clone {
        self.0.iter().flatten()
    }

    fn len(&self) -> usize {
        self.0.iter().map(VecDeque::len).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    /// The chunks of a thread.
    fn of(&mut self, thread: usize) -> &mut VecDeque<Packed> {
        if self.0.len() <= thread {
            self.0.resize_with(thread + 1, VecDeque::new);
        }
        &mut self.0[thread]
    }

    /// The next chunk for a thread. If it has none, the last half of another's becomes its own: neighbours
    /// stay together, and few are taken away often.
    fn take(&mut self, thread: usize) -> Option<Packed> {
        if self.of(thread).is_empty() {
            let most = self.0.iter_mut().max_by_key(|run| run.len())?;
            *self.of(thread) = most.split_off(most.len() / 2);
        }
        self.of(thread).pop_front()
    }
}

struct Shared {
    level: Mutex<Level>,
    next: Mutex<Runs>,
    put_off: Mutex<Vec<StateHandle>>,
    team: Team,
}

fn unlocked<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first thread: decides level by level.
fn lead<const PROVISO: bool>(
    context: &Context<'_>,
    shared: &Shared,
    frontier: &mut Frontier,
) -> Result<(), Halt> {
    let mut walker = Walker::<PROVISO>::new(context, 0);
    let running = context.guarded(|| walker.lead(shared, frontier));
    let running = running.and(walker.give_back(shared));
    context.add(walker.expander, frontier.levels.saturating_sub(1));
    running
}

/// The other threads: help with large levels.
fn follow<const PROVISO: bool>(
    context: &Context<'_>,
    shared: &Shared,
    thread: usize,
) -> Result<(), Halt> {
    let mut walker = Walker::<PROVISO>::new(context, thread);
    let mut place = Place::default();
    while shared.team.wait_for_level(&mut place) {
        let depth = lock(&shared.level).depth;
        // The leader sees the reason to stop, if there is one.
        let _ = context.guarded(|| walker.work(shared, depth, true));
        let _ = walker.give_back(shared);
        shared.team.level_done();
    }
    context.add(walker.expander, 0);
    Ok(())
}

/// One thread.
struct Walker<'a, const PROVISO: bool> {
    context: &'a Context<'a>,
    thread: usize,
    /// Used if `PROVISO`.
    proviso: Option<&'a dyn SafetyProviso>,
    expander: Expander<'a>,
    worker: Worker<'a>,
    cursor: Cursor,
    /// For states that are not in the store.
    scratch: Vec<u32>,
    batch: Batch,
    /// The states in the batch, if queues hold whole states.
    batch_states: Vec<u64>,
    out: ChunkWriter,
    /// The part of the level that is being expanded.
    chunk: Vec<u64>,
    kept: Vec<Known>,
    /// States that the proviso wants to come back to.
    put_off: Vec<StateHandle>,
    /// States of the current level, for progress.
    level_size: u64,
}

impl<'a, const PROVISO: bool> Walker<'a, PROVISO> {
    fn new(context: &'a Context<'a>, thread: usize) -> Self {
        Self {
            context,
            thread,
            proviso: context.search.proviso,
            expander: context.expander(Preference::Least),
            worker: context.store.worker(),
            cursor: context.store.cursor(),
            scratch: Vec::new(),
            batch: context.store.batch(),
            batch_states: Vec::new(),
            out: ChunkWriter::new(context.ledger, context.shape.entry_words),
            chunk: Vec::new(),
            kept: Vec::new(),
            put_off: Vec::new(),
            level_size: 0,
        }
    }

    /// Explores level by level until nothing is left, or a reason to stop.
    fn lead(&mut self, shared: &Shared, frontier: &mut Frontier) -> Result<(), Halt> {
        let (context, threads) = (self.context, self.context.search.threads);
        if frontier.levels == 0 {
            self.insert_initial_states()?;
            self.give_back(shared)?;
        }
        loop {
            let chunks = {
                let mut level = lock(&shared.level);
                if level.is_empty() {
                    self.begin_level(&mut level, shared, frontier)?;
                }
                self.level_size = level.size;
                level.chunks.len()
            };
            let depth = lock(&shared.level).depth;
            if chunks == 0 && lock(&shared.level).is_empty() {
                return Ok(());
            }
            let is_shared = threads > 1 && chunks >= threads.min(CHUNKS_WORTH_SHARING);
            if is_shared {
                shared.team.begin_level(chunks);
            }
            let done = context.guarded(|| self.work(shared, depth, is_shared));
            if is_shared {
                shared.team.end_level();
            }
            done?;
            // Another thread may have had a reason to stop.
            context.control.go_on()?;
            self.give_back(shared)?;
        }
    }

    /// Makes the states found last the current level; there are none if nothing is left.
    fn begin_level(
        &mut self,
        level: &mut Level,
        shared: &Shared,
        frontier: &mut Frontier,
    ) -> Result<(), Halt> {
        let control = self.context.control;
        if lock(&shared.next).is_empty() && !control.found_enough() {
            let put_off = std::mem::take(&mut *lock(&shared.put_off));
            if !put_off.is_empty() {
                // What is settled is settled in one go: if the search has to wait, then before.
                let waits = control.look_whether_to_wait(self.context.store);
                if waits.is_err() {
                    *lock(&shared.put_off) = put_off;
                    return waits;
                }
                self.settle(&put_off, level.depth)?;
                self.give_back(shared)?;
            }
        }
        let chunks = std::mem::take(&mut *lock(&shared.next));
        if chunks.is_empty() {
            return Ok(());
        }
        if control.found_enough() {
            control.stop_found();
            return Err(Halt);
        }
        if control.is_too_deep(frontier.levels) {
            *lock(&shared.next) = chunks;
            control.stop_at(Limit::Depth);
            return Err(Halt);
        }
        let words: usize = chunks.iter().map(Packed::len).sum();
        *level = Level {
            begun: Vec::new(),
            chunks,
            depth: frontier.levels,
            size: (words / self.context.shape.entry_words) as u64,
        };
        frontier.levels += 1;
        if frontier.level_sizes.len() < SearchResult::LEVEL_SIZES {
            frontier.level_sizes.push(level.size);
        }
        Ok(())
    }

    /// Hands over what was found.
    fn give_back(&mut self, shared: &Shared) -> Result<(), Halt> {
        lock(&shared.put_off).append(&mut self.put_off);
        let control = self.context.control;
        let mut next = lock(&shared.next);
        self.out.finish_into(next.of(self.thread), control)
    }

    fn insert_initial_states(&mut self) -> Result<(), Halt> {
        let system = self.context.search.system;
        for state in system
            .initial_states()
            .chunks_exact(system.layout().words())
        {
            self.batch.push(&self.cursor, state, None);
            if !self.context.shape.is_handle {
                self.context
                    .shape
                    .write_words(state, &mut self.batch_states);
            }
        }
        self.flush()
    }

    /// Takes chunks of the level until there are none. Where it `is_shared`, the last ones are
    /// cut into smaller parts, so that nobody waits long for the last one.
    fn work(&mut self, shared: &Shared, depth: u64, is_shared: bool) -> Result<(), Halt> {
        let (entry_words, threads) = (self.context.shape.entry_words, self.context.search.threads);
        loop {
            let mut chunk = std::mem::take(&mut self.chunk);
            let mut done = 0;
            let is_near_the_end;
            {
                let mut level = lock(&shared.level);
                if let Some(begun) = level.begun.pop() {
                    (chunk, done) = begun;
                    is_near_the_end = level.chunks.len() < threads;
                } else if let Some(packed) = level.chunks.take(self.thread) {
                    is_near_the_end = level.chunks.len() < threads;
                    drop(level);
                    packed.unpack(entry_words, &mut chunk);
                } else {
                    self.chunk = chunk;
                    break;
                }
            }
            let part = done + GROUP * entry_words;
            if is_shared && is_near_the_end && chunk.len() > part {
                let rest = chunk.split_off(part);
                lock(&shared.level).begun.push((rest, 0));
            }
            let running = self.expand_chunk(&chunk, &mut done, depth);
            if running.is_err() {
                // If the search only waits, it goes on here.
                let stored = self.flush();
                lock(&shared.level).begun.push((chunk, done));
                return running.and(stored);
            }
            self.chunk = chunk;
        }
        self.flush()
    }

    /// Expands the states of a chunk, beginning with the word `done`, which goes along.
    fn expand_chunk(&mut self, chunk: &[u64], done: &mut usize, depth: u64) -> Result<(), Halt> {
        let shape = self.context.shape;
        self.expander.look_whether_all_fired();
        for group in chunk[*done..].chunks(GROUP * shape.entry_words) {
            let transitions = self.expander.counts.transitions;
            self.context.control.tick(
                self.thread,
                self.context.store,
                transitions,
                self.level_size,
                depth,
            )?;
            if shape.is_handle {
                let mut handles = [StateHandle::from_bits(0); GROUP];
                for (handle, bits) in handles.iter_mut().zip(group) {
                    *handle = StateHandle::from_bits(*bits);
                }
                self.worker.prefetch(&handles[..group.len()]);
            }
            for entry in group.chunks_exact(shape.entry_words) {
                shape.load(entry, &mut self.worker, &mut self.cursor, &mut self.scratch);
                if self.expander.tells_what_is_known {
                    // What is known is what earlier states led to, all of it.
                    self.flush()?;
                }
                let choice = self.expander.expand(&self.cursor, depth, &mut self.worker);
                if PROVISO {
                    self.explore_with_proviso(choice)?;
                } else {
                    self.explore(choice);
                }
                if self.batch.is_full() {
                    self.flush()?;
                }
            }
            *done += group.len();
        }
        Ok(())
    }

    /// Puts the successors that the reduction chose into the batch.
    #[inline]
    fn explore(&mut self, choice: Choice) {
        match choice {
            Choice::All => {
                self.expander.count_all();
                let count = self.expander.successors().len();
                let (states, changed) = self.expander.successors().states();
                self.batch.push_all(&self.cursor, count, states, changed);
                let shape = self.context.shape;
                if !shape.is_handle {
                    for state in states.chunks_exact(self.cursor.words().len()) {
                        shape.write_words(state, &mut self.batch_states);
                    }
                }
            }
            Choice::Some => {
                self.expander.count_chosen();
                for at in 0..self.expander.chosen.len() {
                    self.store_later(self.expander.chosen[at] as usize);
                }
            }
        }
    }

    #[inline(always)]
    fn store_later(&mut self, number: usize) {
        let successor = self.expander.successors().get(number);
        self.batch
            .push(&self.cursor, successor.state, Some(successor.changed));
        if !self.context.shape.is_handle {
            self.context
                .shape
                .write_words(successor.state, &mut self.batch_states);
        }
    }

    /// The same with a proviso: the state is closed, and if something was left out, the kept
    /// successors are stored at once and the proviso is asked.
    fn explore_with_proviso(&mut self, choice: Choice) -> Result<(), Halt> {
        let Some(state) = self.cursor.handle() else {
            // Provisos are refused where states have no handles.
            self.explore(choice);
            return Ok(());
        };
        let is_reduced = choice == Choice::Some;
        let full = if is_reduced { 0 } else { flags::EXPANDED };
        self.worker.set_flags(state, flags::ENTERED | full);
        if !is_reduced {
            self.explore(choice);
            return Ok(());
        }
        self.flush()?;
        self.explore(choice);
        let stored = self.store_batch();
        self.kept.clear();
        let inserted = self.batch.inserted().iter();
        self.kept
            .extend(inserted.map(|one| flags::known(one.is_new, one.flags)));
        self.batch.clear();
        stored?;
        let selected = Selected::new(&self.kept, self.expander.chosen.len());
        match self.proviso.map(|proviso| proviso.ruling(&selected)) {
            Some(Ruling::Expanded) => self.store_rest_later(state),
            Some(Ruling::PutOff) => self.put_off.push(state),
            Some(Ruling::Reduced) | None => {}
        }
        Ok(())
    }

    /// Expands the state in the cursor, whose kept successors are stored.
    fn store_rest_later(&mut self, state: StateHandle) {
        self.worker.set_flags(state, flags::EXPANDED);
        self.expander.count_rest();
        for at in 0..self.expander.rest.len() {
            self.store_later(self.expander.rest[at] as usize);
        }
    }

    /// Nothing is left: decides what becomes of the states that were put off, and explores what
    /// was left out of some of them.
    fn settle(&mut self, put_off: &[StateHandle], depth: u64) -> Result<(), Halt> {
        let Self {
            context,
            expander,
            worker,
            cursor,
            ..
        } = self;
        for state in Settling::new(context, expander, worker, cursor, depth).run(put_off)? {
            if self.worker.load(state, &mut self.cursor).is_err() {
                continue;
            }
            self.expander.expand_again(self.cursor.words());
            self.store_rest_later(state);
            self.flush()?;
        }
        Ok(())
    }

    /// Inserts the batch, queues what is new, and empties the batch.
    fn flush(&mut self) -> Result<(), Halt> {
        let stored = match self.context.shape.is_handle {
            true => {
                let stored = self.worker.insert_for_new(&mut self.batch);
                self.queue_new(stored)
            }
            false => self.store_batch(),
        };
        self.batch.clear();
        self.batch_states.clear();
        stored
    }

    /// Inserts the batch and queues what is new.
    fn store_batch(&mut self) -> Result<(), Halt> {
        let stored = self.worker.insert_batch(&mut self.batch).map(|_| ());
        self.queue_new(stored)
    }

    /// Queues what was new in the batch, which was stored or not.
    fn queue_new(&mut self, stored: Result<(), StoreError>) -> Result<(), Halt> {
        let control = self.context.control;
        if self.context.shape.is_handle {
            for handle in self.batch.new_states() {
                self.out.push(&[handle.to_bits()], control)?;
            }
        } else {
            let states = self
                .batch_states
                .chunks_exact(self.context.shape.entry_words);
            let inserted = self.batch.inserted().iter();
            for (_, state) in inserted.zip(states).filter(|(i, _)| i.is_new) {
                self.out.push(state, control)?;
            }
        }
        stored.map_err(|e| control.store_failed(e))
    }
}

#[cfg(test)]
mod tests {
    use stubborn_store::MemoryBudget;

    use super::*;
    use crate::memory::Ledger;

    #[test]
    fn a_thread_takes_its_own_chunks_first_then_halves_of_others() {
        let ledger = Ledger::new(MemoryBudget::new(1 << 20));
        let mut runs = Runs::default();
        for (thread, entry) in [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 11), (1, 12)] {
            let chunk = Packed::new(&[entry], 1, &ledger, &mut Vec::new());
            runs.of(thread).push_back(chunk.expect("there is room"));
        }
        // Thread 2 found nothing: of those of thread 0, the last three become its own. They are all gone
        // when thread 1 has taken what it found, so that it takes the last one of thread 0.
        let turns = [(2, 3), (0, 1), (1, 11), (2, 4), (1, 12), (2, 5), (1, 2)];
        let mut entries = Vec::new();
        for (at, (thread, expected)) in turns.into_iter().enumerate() {
            assert_eq!(runs.len(), turns.len() - at);
            let chunk = runs.take(thread).expect("some are left");
            chunk.unpack(1, &mut entries);
            assert_eq!((thread, &entries[..]), (thread, &[expected][..]));
        }
        assert!(runs.is_empty() && runs.iter().next().is_none());
        assert!((0..4).all(|thread| runs.take(thread).is_none()));
    }
}
