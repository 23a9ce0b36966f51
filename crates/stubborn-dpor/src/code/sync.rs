//! What threads share, as in [`std::sync`]: sequentially consistent, and known to the search.
//!
//! Not here: weaker memory orderings (they are accepted, and taken for sequentially consistent),
//! statics (everything must be made inside of the check), spurious wakeups and time-outs of condition
//! variables, channels without room, `LazyLock`, and data races (safe code has none). A reader may
//! wait for a writer that is not there yet in the standard library; here it never does.
//!
//! A panic that a thread catches is one of its steps: what destructors do on the way is explored like
//! everything else, and locks are poisoned as in the standard library. A panic that nothing
//! catches ends the check.
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{self, PoisonError, TryLockError};
use std::thread::panicking;

pub use std::sync::{LockResult, TryLockResult};

pub use arc::{Arc, Weak};
pub use once::{Barrier, BarrierWaitResult, Once, OnceLock, OnceState};

use super::operation::{Operation, YES};
use super::runtime::{new_object, perform};

/// Whether a guard was dropped because of a panic that began while it was there. (The locks of the
/// standard library that are inside do not tell: a condition variable has to let go of theirs.)
#[derive(Default)]
struct Poison(AtomicBool);

impl Poison {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, poisoned: bool) {
        self.0.store(poisoned, Ordering::Relaxed);
    }

    /// A guard is given back that was taken with or without a panic under way.
    fn give_back(&self, was_panicking: bool) {
        if !was_panicking && panicking() {
            self.set(true);
        }
    }

    /// With an error if it is set.
    fn with<G>(&self, guard: G) -> LockResult<G> {
        match self.is_set() {
            true => Err(PoisonError::new(guard)),
            false => Ok(guard),
        }
    }
}

/// A mutex: [`std::sync::Mutex`].
pub struct Mutex<T> {
    number: u32,
    poison: Poison,
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
    was_panicking: bool,
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
            poison: Poison::default(),
            value: sync::Mutex::new(value),
        }
    }

    /// Waits for it.
    ///
    /// # Errors
    /// If it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        perform(Operation::Lock(self.number));
        self.poison.with(self.guard(panicking()))
    }

    /// Takes it if it is free.
    ///
    /// # Errors
    /// If it is not, or is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match perform(Operation::TryLock(self.number)) {
            YES => Ok(self.poison.with(self.guard(panicking()))?),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    fn guard(&self, was_panicking: bool) -> MutexGuard<'_, T> {
        MutexGuard {
            mutex: self,
            was_panicking,
            value: Some(free(self.value.try_lock())),
        }
    }

    /// Whether it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn is_poisoned(&self) -> bool {
        perform(Operation::IsPoisoned(self.number));
        self.poison.is_set()
    }

    /// From now on it is not poisoned any more.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn clear_poison(&self) {
        perform(Operation::ClearPoison(self.number));
        self.poison.set(false);
    }

    /// What is inside, of a mutex that nobody else has.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let value = self.value.get_mut();
        self.poison
            .with(value.unwrap_or_else(PoisonError::into_inner))
    }

    /// What is inside.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let value = self.value.into_inner();
        self.poison
            .with(value.unwrap_or_else(PoisonError::into_inner))
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
        Err(TryLockError::WouldBlock) => unreachable!("the search knows that the lock is free"),
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
        if self.value.is_some() {
            perform(Operation::Unlock(self.mutex.number));
            self.mutex.poison.give_back(self.was_panicking);
            self.value = None;
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
    /// If it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let mutex = guard.mutex;
        // Its drop has nothing to give back any more.
        drop(guard.value.take());
        let both = (self.number, mutex.number);
        perform(Operation::Wait {
            condvar: both.0,
            mutex: both.1,
        });
        perform(Operation::Relock {
            condvar: both.0,
            mutex: both.1,
        });
        mutex.poison.with(mutex.guard(guard.was_panicking))
    }

    /// Waits while something holds.
    ///
    /// # Errors
    /// If the mutex is poisoned.
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
    poison: Poison,
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
    was_panicking: bool,
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
            poison: Poison::default(),
            value: sync::RwLock::new(value),
        }
    }

    /// Waits until nobody writes.
    ///
    /// # Errors
    /// If it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        perform(Operation::Read(self.number));
        self.poison.with(self.read_guard())
    }

    /// Waits until nobody reads or writes.
    ///
    /// # Errors
    /// If it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        perform(Operation::Write(self.number));
        self.poison.with(self.write_guard())
    }

    /// Reads if nobody writes.
    ///
    /// # Errors
    /// If somebody does, or if it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match perform(Operation::TryRead(self.number)) {
            YES => Ok(self.poison.with(self.read_guard())?),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Writes if nobody reads or writes.
    ///
    /// # Errors
    /// If somebody does, or if it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match perform(Operation::TryWrite(self.number)) {
            YES => Ok(self.poison.with(self.write_guard())?),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard {
            lock: self,
            value: Some(free(self.value.try_read())),
        }
    }

    fn write_guard(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard {
            lock: self,
            was_panicking: panicking(),
            value: Some(free(self.value.try_write())),
        }
    }

    /// Whether it is poisoned.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn is_poisoned(&self) -> bool {
        perform(Operation::IsPoisoned(self.number));
        self.poison.is_set()
    }

    /// From now on it is not poisoned any more.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn clear_poison(&self) {
        perform(Operation::ClearPoison(self.number));
        self.poison.set(false);
    }

    /// What is inside, of a lock that nobody else has.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let value = self.value.get_mut();
        self.poison
            .with(value.unwrap_or_else(PoisonError::into_inner))
    }

    /// What is inside.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let value = self.value.into_inner();
        self.poison
            .with(value.unwrap_or_else(PoisonError::into_inner))
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
        perform(Operation::EndRead(self.lock.number));
        self.value = None;
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        perform(Operation::EndWrite(self.lock.number));
        self.lock.poison.give_back(self.was_panicking);
        self.value = None;
    }
}
