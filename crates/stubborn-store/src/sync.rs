//! The synchronisation primitives of this crate, in one place, so that a build
//! with `--cfg loom` swaps them for the model-checked ones of the `loom` crate.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence},
};

/// Locks, also after a panic of another thread: no invariant of this crate
/// spans a panic, since nothing is changed half-way under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for another thread to finish a short critical section: a few busy
/// turns, then the processor is given away, because the other thread may not
/// be running (more threads than cores).
#[derive(Default)]
pub(crate) struct Backoff {
    turns: u32,
}

impl Backoff {
    /// Waits a little.
    pub(crate) fn wait(&mut self) {
        #[cfg(loom)]
        {
            self.turns += 1;
            loom::thread::yield_now();
        }
        #[cfg(not(loom))]
        {
            if self.turns < 64 {
                self.turns += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
