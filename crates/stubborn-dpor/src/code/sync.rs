//! What threads share, as in [`std::sync`]: sequentially consistent, and known to the search.
//!
//! Not here: weaker memory orderings (they are accepted, and taken for sequentially consistent),
//! statics (everything must be made inside of the check), poisoning (a panic ends the check),
//! spurious wakeups and time-outs of condition variables, channels without room, `LazyLock`,
//! and data races (safe code has none). A reader may wait for a writer that is not
//! there yet in the standard library; here it never does.
//!
//! The standard library's `Arc` works, and costs nothing, as long as nobody asks how many references
//! there are (`strong_count`, `try_unwrap`, `upgrade`), and nobody notices who drops the last one. The
//! search knows nothing of it otherwise: use [`Arc`].

mod arc;
pub mod atomic;
pub mod mpsc;
mod once;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, TryLockError};

pub use std::sync::{LockResult, TryLockResult};

pub use arc::{Arc, Weak};
pub use once::{Barrier, BarrierWaitResult, Once, OnceLock};

use super::operation::{Operation, YES};
use super::runtime::{new_object, no_waiting, perform};

/// A mutex: [`std::sync::Mutex`].
pub struct Mutex<T> {
    number: u32,
    value: sync::Mutex<T>,
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Gives the mutex back when it is dropped.
pub struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    /// `None` only while it is dropped, or waits.
    value: Option<sync::MutexGuard<'m, T>>,
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Mutex<T> {
    /// A free mutex.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new(value: T) -> Self {
        Self {
            number: new_object(),
            value: sync::Mutex::new(value),
        }
    }

    /// Waits for it.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        perform(Operation::Lock(self.number));
        Ok(self.guard())
    }

    /// Takes it if it is free.
    ///
    /// # Errors
    /// If it is not.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match perform(Operation::TryLock(self.number)) {
            YES => Ok(self.guard()),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            mutex: self,
            value: Some(free(self.value.try_lock())),
        }
    }

    /// What is inside, of a mutex that nobody else has.
    ///
    /// # Errors
    /// Never.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is inside.
    ///
    /// # Errors
    /// Never.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self
            .value
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// The guard of a lock that is free, because the search says so.
fn free<G>(locked: Result<G, TryLockError<G>>) -> G {
    match locked {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => no_waiting(),
    }
}

const HELD: &str = "a guard holds its lock";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect(HELD)
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.value.take().is_some() {
            perform(Operation::Unlock(self.mutex.number));
        }
    }
}

/// A condition variable: [`std::sync::Condvar`].
#[derive(Debug)]
pub struct Condvar {
    number: u32,
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// Nobody waits for it.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new() -> Self {
        Self {
            number: new_object(),
        }
    }

    /// Gives the mutex back, waits to be notified, and takes it again.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let mutex = guard.mutex;
        // Its drop has nothing to give back any more.
        drop(guard.value.take());
        if std::thread::panicking() {
            no_waiting();
        }
        let both = (self.number, mutex.number);
        perform(Operation::Wait {
            condvar: both.0,
            mutex: both.1,
        });
        perform(Operation::Relock {
            condvar: both.0,
            mutex: both.1,
        });
        Ok(mutex.guard())
    }

    /// Waits while something holds.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn wait_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Notifies one of those who wait, any of them.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn notify_one(&self) {
        perform(Operation::NotifyOne(self.number));
    }

    /// Notifies all of them.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn notify_all(&self) {
        perform(Operation::NotifyAll(self.number));
    }
}

/// A lock for many readers or one writer: [`std::sync::RwLock`].
pub struct RwLock<T> {
    number: u32,
    value: sync::RwLock<T>,
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Reads until it is dropped.
pub struct RwLockReadGuard<'l, T> {
    lock: &'l RwLock<T>,
    value: Option<sync::RwLockReadGuard<'l, T>>,
}

/// Writes until it is dropped.
pub struct RwLockWriteGuard<'l, T> {
    lock: &'l RwLock<T>,
    value: Option<sync::RwLockWriteGuard<'l, T>>,
}

impl<T: fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> RwLock<T> {
    /// A free lock.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new(value: T) -> Self {
        Self {
            number: new_object(),
            value: sync::RwLock::new(value),
        }
    }

    /// Waits until nobody writes.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        perform(Operation::Read(self.number));
        Ok(RwLockReadGuard {
            lock: self,
            value: Some(free(self.value.try_read())),
        })
    }

    /// Waits until nobody reads or writes.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        perform(Operation::Write(self.number));
        Ok(RwLockWriteGuard {
            lock: self,
            value: Some(free(self.value.try_write())),
        })
    }

    /// Reads if nobody writes.
    ///
    /// # Errors
    /// If somebody does.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match perform(Operation::TryRead(self.number)) {
            YES => Ok(RwLockReadGuard {
                lock: self,
                value: Some(free(self.value.try_read())),
            }),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Writes if nobody reads or writes.
    ///
    /// # Errors
    /// If somebody does.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match perform(Operation::TryWrite(self.number)) {
            YES => Ok(RwLockWriteGuard {
                lock: self,
                value: Some(free(self.value.try_write())),
            }),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// What is inside, of a lock that nobody else has.
    ///
    /// # Errors
    /// Never.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is inside.
    ///
    /// # Errors
    /// Never.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self
            .value
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect(HELD)
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect(HELD)
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect(HELD)
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.value.take());
        perform(Operation::EndRead(self.lock.number));
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.value.take());
        perform(Operation::EndWrite(self.lock.number));
    }
}
