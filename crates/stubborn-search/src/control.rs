//! What all threads of a search share: the reason to stop, and counters for progress.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stubborn_store::{MemoryBudget, OutOfMemory, Store, StoreError};
use stubborn_system::Budget;

use crate::config::{Limits, Stop};
use crate::progress::Progress;
use crate::result::Limit;

/// A thread must stop. [`Control::limit`] says why, if a limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halt;

/// How often the observer is called.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many times a thread other than the first may go on before it looks at the clock, too.
const OTHERS_LOOK_EVERY: u32 = 16;

/// Stopped because enough was found, among the numbers of [`Limit`].
const FOUND: u8 = u8::MAX;
/// Stopped because somebody asked for a pause.
const PAUSED: u8 = u8::MAX - 1;
/// After these, a search can go on.
const WAITS: [u8; 2] = [Limit::States as u8, PAUSED];

pub(crate) struct Control<'a> {
    limits: Limits<'a>,
    /// Most states at the moment.
    most_states: AtomicU64,
    observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
    memory: Arc<MemoryBudget>,
    /// Of the system.
    budget: &'a Budget,
    pub(crate) started: Instant,
    /// 0 while running, else a [`Limit`] or [`FOUND`].
    stop: AtomicU8,
    /// One a thread.
    slots: Vec<Slot>,
    last_look: Mutex<(Duration, u64)>,
    stop_rule: Stop,
    /// One a target: it was hit.
    hit: Vec<AtomicBool>,
    /// States that are not in the store of the search, for progress.
    elsewhere: AtomicU64,
}

/// What one thread publishes, on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    pub(crate) transitions: AtomicU64,
    pub(crate) queue: AtomicU64,
    pub(crate) depth: AtomicU64,
    ticks: AtomicU32,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        limits: Limits<'a>,
        observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
        memory: Arc<MemoryBudget>,
        budget: &'a Budget,
        threads: usize,
        stop_rule: Stop,
        targets: usize,
    ) -> Self {
        Self {
            limits,
            most_states: AtomicU64::new(limits.states.unwrap_or(u64::MAX)),
            observer,
            memory,
            budget,
            started: Instant::now(),
            stop: AtomicU8::new(0),
            slots: (0..threads).map(|_| Slot::default()).collect(),
            last_look: Mutex::new((Duration::ZERO, 0)),
            stop_rule,
            hit: (0..targets).map(|_| AtomicBool::new(false)).collect(),
            elsewhere: AtomicU64::new(0),
        }
    }

    /// To be called by every thread every few dozen states. Thread 0 looks at the clock
    /// and calls the observer; others look at the clock, too, for it may be stuck in one state.
    #[inline]
    pub(crate) fn tick(
        &self,
        thread: usize,
        store: &Store,
        transitions: u64,
        queue: u64,
        depth: u64,
    ) -> Result<(), Halt> {
        let slot = &self.slots[thread];
        slot.transitions.store(transitions, Ordering::Relaxed);
        slot.queue.store(queue, Ordering::Relaxed);
        slot.depth.store(depth, Ordering::Relaxed);
        if thread == 0 {
            self.look_around(store);
        } else {
            let ticks = slot.ticks.load(Ordering::Relaxed).wrapping_add(1);
            slot.ticks.store(ticks, Ordering::Relaxed);
            if ticks.is_multiple_of(OTHERS_LOOK_EVERY) {
                self.look_at_budget(Instant::now());
                self.look_at_pause();
            }
        }
        self.look_at_states(store)
    }

    /// The same for thread 0 within something that cannot be continued: it does not wait there.
    pub(crate) fn tick_without_waiting(
        &self,
        store: &Store,
        transitions: u64,
        queue: u64,
        depth: u64,
    ) -> Result<(), Halt> {
        let slot = &self.slots[0];
        slot.transitions.store(transitions, Ordering::Relaxed);
        slot.queue.store(queue, Ordering::Relaxed);
        slot.depth.store(depth, Ordering::Relaxed);
        self.look_at_limits(store);
        self.go_on()
    }

    /// Stops if somebody wants a pause, or if there are more states than there may be.
    pub(crate) fn look_whether_to_wait(&self, store: &Store) -> Result<(), Halt> {
        self.look_at_pause();
        self.look_at_states(store)
    }

    fn look_at_pause(&self) {
        if self.wants_pause() {
            self.stop_with(PAUSED);
        }
    }

    /// Whether somebody wants a pause.
    pub(crate) fn wants_pause(&self) -> bool {
        (self.limits.pause).is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// So many states are not in the store of the search.
    pub(crate) fn has_elsewhere(&self, states: u64) {
        self.elsewhere.store(states, Ordering::Relaxed);
    }

    /// Stops if there are more states than there may be at the moment.
    #[inline]
    fn look_at_states(&self, store: &Store) -> Result<(), Halt> {
        if store.len() > self.most_states.load(Ordering::Relaxed) {
            self.stop_at(Limit::States);
        }
        self.go_on()
    }

    /// Lets a search go on that only waits: with that limit of states, or without one. False if
    /// something else stopped it, or nothing did.
    pub(crate) fn allow_states(&self, most: Option<u64>) -> bool {
        let most = most.unwrap_or(u64::MAX);
        self.most_states.store(most, Ordering::Relaxed);
        let order = Ordering::Relaxed;
        let goes_on = |from: u8| self.stop.compare_exchange(from, 0, order, order).is_ok();
        WAITS.into_iter().any(goes_on)
    }

    /// Whether to go on.
    #[inline]
    pub(crate) fn go_on(&self) -> Result<(), Halt> {
        match self.stop.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(Halt),
        }
    }

    fn look_around(&self, store: &Store) {
        self.look_at_pause();
        self.look_at_limits(store);
    }

    fn look_at_limits(&self, store: &Store) {
        if self.was_interrupted() {
            self.stop_at(Limit::Interrupted);
        }
        let is_limited = self.budget.deadline().is_some() || self.budget.memory().is_some();
        if self.limits.time.is_none() && self.observer.is_none() && !is_limited {
            // It may be stopped all the same.
            if let Some(spent) = self.budget.spent() {
                self.stop_at(spent.into());
            }
            return;
        }
        let now = Instant::now();
        self.look_at_budget(now);
        let elapsed = now.saturating_duration_since(self.started);
        if self.limits.time.is_some_and(|longest| elapsed > longest) {
            self.stop_at(Limit::Time);
        }
        if let Some(observer) = self.observer {
            let mut last = self
                .last_look
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if elapsed - last.0 >= LOOK_EVERY {
                let states = store.len() + self.elsewhere.load(Ordering::Relaxed);
                let speed = states.saturating_sub(last.1) as f64 / (elapsed - last.0).as_secs_f64();
                *last = (elapsed, states);
                drop(last);
                let sum = |part: fn(&Slot) -> &AtomicU64| -> u64 {
                    self.slots
                        .iter()
                        .map(|s| part(s).load(Ordering::Relaxed))
                        .sum()
                };
                let depths = self.slots.iter().map(|s| s.depth.load(Ordering::Relaxed));
                observer(&Progress {
                    states,
                    transitions: sum(|s| &s.transitions),
                    queue: sum(|s| &s.queue),
                    depth: depths.max().unwrap_or(0),
                    memory: self.memory.used(),
                    elapsed,
                    states_per_second: speed,
                });
            }
        }
    }

    fn look_at_budget(&self, now: Instant) {
        if let Some(spent) = self.budget.poll_at(now) {
            self.stop_at(spent.into());
        }
    }

    /// Whether somebody set the flag.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.limits
            .interrupt
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether states so many steps from an initial one are not looked at any more.
    pub(crate) fn is_too_deep(&self, depth: u64) -> bool {
        self.limits.depth.is_some_and(|most| depth > most)
    }

    /// Stops all threads at a limit, unless they stop already.
    #[cold]
    pub(crate) fn stop_at(&self, limit: Limit) {
        self.stop_with(limit as u8);
    }

    /// Stops all threads because enough was found.
    pub(crate) fn stop_found(&self) {
        self.stop_with(FOUND);
    }

    fn stop_with(&self, reason: u8) {
        // The first reason stays, unless it is one to wait and this one is not.
        let order = Ordering::Relaxed;
        if let Err(before) = self.stop.compare_exchange(0, reason, order, order)
            && WAITS.contains(&before)
            && reason != FOUND
            && !WAITS.contains(&reason)
        {
            let _ = self.stop.compare_exchange(before, reason, order, order);
        }
    }

    /// Stops all threads because the store refused a state.
    #[cold]
    pub(crate) fn store_failed(&self, error: StoreError) -> Halt {
        self.stop_at(match error {
            StoreError::OutOfMemory(_) => Limit::Memory,
            StoreError::Full => Limit::StoreFull,
        });
        Halt
    }

    /// Stops all threads because a queue or a stack could not grow.
    #[cold]
    pub(crate) fn out_of_memory(&self, _: OutOfMemory) -> Halt {
        self.stop_at(Limit::Memory);
        Halt
    }

    /// The limit that stopped the threads, if one did.
    pub(crate) fn limit(&self) -> Option<Limit> {
        match self.stop.load(Ordering::Relaxed) {
            PAUSED => Some(Limit::Interrupted),
            reason => Limit::of_number(reason),
        }
    }

    /// Begins as a search that waits.
    pub(crate) fn wait(&self) {
        self.stop_with(PAUSED);
    }

    /// Whether the threads stopped because somebody asked for a pause.
    pub(crate) fn is_paused(&self) -> bool {
        self.stop.load(Ordering::Relaxed) == PAUSED
    }

    /// Notes that a target was hit.
    pub(crate) fn note_hit(&self, target: usize) {
        self.hit[target].store(true, Ordering::Relaxed);
    }

    /// The targets that were hit.
    pub(crate) fn hits(&self) -> impl Iterator<Item = bool> + '_ {
        self.hit.iter().map(|hit| hit.load(Ordering::Relaxed))
    }

    /// Whether enough was found.
    pub(crate) fn found_enough(&self) -> bool {
        let mut hit = self.hit.iter().map(|h| h.load(Ordering::Relaxed));
        match self.stop_rule {
            Stop::Never => false,
            Stop::FirstViolation => hit.any(|h| h),
            Stop::AllViolated => !self.hit.is_empty() && hit.all(|h| h),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
