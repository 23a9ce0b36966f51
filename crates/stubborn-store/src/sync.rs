//! The synchronisation primitives of this crate, in one place, so that a build
//! with `--cfg loom` swaps them for the model-checked ones of the `loom` crate.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::cell::{ConstPtr, UnsafeCell};

#[cfg(not(loom))]
pub(crate) use cell::{ConstPtr, UnsafeCell};

/// The interface of loom's cell, which watches that nobody reads while somebody
/// writes, for the cell of the standard library, which does not.
#[cfg(not(loom))]
mod cell {
    /// As `std::cell::UnsafeCell`.
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    /// A reader's pointer into a cell.
    pub(crate) struct ConstPtr<T>(*const T);

    /// A writer's pointer into a cell.
    pub(crate) struct MutPtr<T>(*mut T);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn get(&self) -> ConstPtr<T> {
            ConstPtr(self.0.get())
        }

        pub(crate) fn get_mut(&self) -> MutPtr<T> {
            MutPtr(self.0.get())
        }
    }

    impl<T> ConstPtr<T> {
        /// # Safety
        /// Nobody writes to the cell meanwhile, and the cell outlives the result.
        #[inline(always)]
        pub(crate) unsafe fn deref(&self) -> &T {
            // SAFETY: promised by the caller.
            unsafe { &*self.0 }
        }
    }

    impl<T> MutPtr<T> {
        /// # Safety
        /// Nobody else uses the cell meanwhile, and the cell outlives the result.
        #[expect(clippy::mut_from_ref, reason = "loom's signature")]
        pub(crate) unsafe fn deref(&self) -> &mut T {
            // SAFETY: promised by the caller.
            unsafe { &mut *self.0 }
        }
    }
}

/// A value on cache lines of its own (two, since processors fetch them in
/// pairs): threads that write it do not slow down those that read its neighbours.
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

impl<T> std::ops::Deref for OwnLine<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Sets a flag before anything is read that is read after it: of two threads that each set a flag
/// and then read the other's, [sequentially consistently](Ordering::SeqCst), at least one sees it
/// set.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn announce(flag: &AtomicBool) {
    // A fence would wait for all that was read before, too.
    flag.swap(true, Ordering::SeqCst);
}

// Loom knows sequential consistency of fences only.
#[cfg(loom)]
pub(crate) fn announce(flag: &AtomicBool) {
    flag.store(true, Ordering::Relaxed);
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Locks, also after a panic of another thread: no invariant of this crate
/// spans a panic, since nothing is changed half-way under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One turn of a loop that waits for another thread.
pub(crate) fn busy_turn() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::hint::spin_loop();
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
