//! Threads that wait between the levels of a breadth-first search.
//!
//! Not a barrier of fixed size: a thread joins when it is ready, so that the search starts
//! at once, goes on with fewer threads if the system gives no more, and does not hang if one
//! fails to start. Levels are often short, and to sleep and be woken takes longer than the
//! next one does to come; so threads look a while before they sleep.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often to look before sleeping: some tens of microseconds.
const LOOKS: u32 = 2_000;

#[derive(Default)]
pub(crate) struct Team {
    /// Threads other than the leader; changed under the lock.
    helpers: Mutex<usize>,
    /// Helpers that are not done with the level.
    busy: AtomicUsize,
    /// Levels begun with helpers; changed under the lock.
    round: AtomicU64,
    is_over: AtomicBool,
    /// A level was begun, or there will be no more.
    begun: Condvar,
    /// The last helper is done with a level.
    done: Condvar,
}

/// A thread's place in the team: the last round it knows of.
pub(crate) struct Place(u64);

impl Team {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is so: first by looking, then asleep.
    fn wait_until(&self, is_so: impl Fn() -> bool, wakes: &Condvar) {
        for _ in 0..LOOKS {
            if is_so() {
                return;
            }
            std::hint::spin_loop();
        }
        // What is waited for is changed under the lock, or the lock is taken after the
        // change and before waking: nobody falls asleep in between.
        let guard = wakes.wait_while(self.lock(), |_| !is_so());
        drop(guard.unwrap_or_else(PoisonError::into_inner));
    }

    /// Called by a helper: it takes part from the next level on.
    pub(crate) fn join(&self) -> Place {
        let mut helpers = self.lock();
        *helpers += 1;
        Place(self.round.load(Ordering::Acquire))
    }

    /// Called by a helper: waits for a level; false if there are no more.
    pub(crate) fn wait_for_level(&self, place: &mut Place) -> bool {
        let is_over = || self.is_over.load(Ordering::Acquire);
        let has_begun = || self.round.load(Ordering::Acquire) != place.0 || is_over();
        self.wait_until(has_begun, &self.begun);
        place.0 = self.round.load(Ordering::Acquire);
        !is_over()
    }

    /// Called by a helper: it is done with the level.
    pub(crate) fn level_done(&self) {
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            drop(self.lock());
            self.done.notify_one();
        }
    }

    /// Called by the leader: wakes the helpers.
    pub(crate) fn begin_level(&self) {
        let helpers = self.lock();
        self.busy.store(*helpers, Ordering::Release);
        self.round.fetch_add(1, Ordering::AcqRel);
        self.begun.notify_all();
    }

    /// Called by the leader: waits for the helpers.
    pub(crate) fn end_level(&self) {
        self.wait_until(|| self.busy.load(Ordering::Acquire) == 0, &self.done);
    }

    /// Called by the leader: there are no more levels.
    pub(crate) fn dismiss(&self) {
        let _helpers = self.lock();
        self.is_over.store(true, Ordering::Release);
        self.begun.notify_all();
    }
}
