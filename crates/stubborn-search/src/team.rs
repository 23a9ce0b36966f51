//! Threads that wait between the levels of a breadth-first search.
//!
//! Not a barrier of fixed size: a thread takes part in a level if it comes while that is open, so
//! that the search starts at once, goes on with fewer threads if the system gives no more, does not
//! hang if one fails to start, and waits for nobody who sleeps. Levels are often short, and to
//! sleep and be woken takes longer than the next one does to come; so threads look a while before
//! they sleep, and for a short level few are woken.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often to look before sleeping: some hundred microseconds.
const LOOKS: u32 = 8_000;

/// Parts of a level for which one more thread is woken.
const WORTH_WAKING: usize = 2;

/// Who comes may take part in the level.
const OPEN: u64 = 1 << 31;
/// Helpers that take part and are not done.
const BUSY: u64 = OPEN - 1;
/// The number of the level.
const ROUND: u64 = 1 << 32;

#[derive(Default)]
pub(crate) struct Team {
    /// Helpers that sleep.
    asleep: Mutex<usize>,
    /// See [`ROUND`], [`OPEN`], [`BUSY`]; opened under the lock.
    level: AtomicU64,
    is_over: AtomicBool,
    /// A level was begun, or there will be no more.
    begun: Condvar,
    /// The last helper is done with a level.
    done: Condvar,
}

/// A thread's place in the team: the last round it took part in.
#[derive(Default)]
pub(crate) struct Place(u64);

impl Team {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a while whether something is so.
    fn look_whether(is_so: impl Fn() -> bool) -> bool {
        (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            is_so()
        })
    }

    /// Called by a helper: waits for a level, and takes part in it; false if there are no more.
    pub(crate) fn wait_for_level(&self, place: &mut Place) -> bool {
        loop {
            let last = place.0;
            let is_for_me = |level: u64| level & OPEN != 0 && level / ROUND != last;
            let has_begun = || {
                let level = self.level.load(Ordering::Acquire);
                is_for_me(level) || self.is_over.load(Ordering::Acquire)
            };
            if !has_begun() && !Self::look_whether(has_begun) {
                let mut asleep = self.lock();
                *asleep += 1;
                let woken = self.begun.wait_while(asleep, |_| !has_begun());
                *woken.unwrap_or_else(PoisonError::into_inner) -= 1;
            }
            if self.is_over.load(Ordering::Acquire) {
                return false;
            }
            // It may have been closed meanwhile.
            let join = |level: u64| is_for_me(level).then_some(level + 1);
            let joined = (self.level).fetch_update(Ordering::AcqRel, Ordering::Acquire, join);
            if let Ok(level) = joined {
                place.0 = level / ROUND;
                return true;
            }
        }
    }

    /// Called by a helper: it is done with the level.
    pub(crate) fn level_done(&self) {
        if self.level.fetch_sub(1, Ordering::AcqRel) & (OPEN | BUSY) == 1 {
            drop(self.lock());
            self.done.notify_one();
        }
    }

    /// Called by the leader: opens a level of so many parts, and wakes helpers.
    pub(crate) fn begin_level(&self, parts: usize) {
        let asleep = self.lock();
        let before = self.level.load(Ordering::Acquire);
        debug_assert_eq!(before & (OPEN | BUSY), 0, "the level before is not over");
        self.level.store(before + ROUND + OPEN, Ordering::Release);
        let wanted = parts / WORTH_WAKING;
        if wanted >= *asleep && *asleep > 0 {
            self.begun.notify_all();
        } else {
            (0..wanted.min(*asleep)).for_each(|_| self.begun.notify_one());
        }
    }

    /// Called by the leader: nobody may take part any more; waits for those who do.
    pub(crate) fn end_level(&self) {
        self.level.fetch_and(!OPEN, Ordering::AcqRel);
        let is_done = || self.level.load(Ordering::Acquire) & BUSY == 0;
        if !is_done() && !Self::look_whether(is_done) {
            // The last helper takes the lock after the change and before waking.
            let guard = self.done.wait_while(self.lock(), |_| !is_done());
            drop(guard.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Called by the leader: there are no more levels.
    pub(crate) fn dismiss(&self) {
        let _asleep = self.lock();
        self.is_over.store(true, Ordering::Release);
        self.begun.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// All parts of all levels are done once, by whoever comes, and nobody works after the end of
    /// a level.
    #[test]
    fn levels_are_done_once_whoever_comes() {
        let team = Team::default();
        let (parts, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let next = |left: usize| left.checked_sub(1);
            while (parts.fetch_update(Ordering::AcqRel, Ordering::Acquire, next)).is_ok() {
                done.fetch_add(1, Ordering::AcqRel);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut place = Place::default();
                    while team.wait_for_level(&mut place) {
                        work();
                        team.level_done();
                    }
                });
            }
            for round in 0..2_000 {
                let size = if round % 3 == 0 { 40 } else { round % 9 };
                parts.store(size, Ordering::Release);
                team.begin_level(size);
                work();
                team.end_level();
                assert_eq!(done.swap(0, Ordering::AcqRel), size, "round {round}");
                if round % 400 == 0 {
                    // Long enough for everybody to fall asleep.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            }
            team.dismiss();
        });
    }
}
