//! What happens once, and what all wait for: [`std::sync::Once`], [`std::sync::OnceLock`] and
//! [`std::sync::Barrier`], made from locks.

use std::sync;

use super::atomic::{AtomicBool, Ordering};
use super::{Condvar, Mutex};

/// Something that is done once: [`std::sync::Once`].
#[derive(Debug)]
pub struct Once {
    /// Whether it was begun in vain: a panic ended it. Held while it is done.
    poisoned: Mutex<bool>,
    done: AtomicBool,
}

/// How things are when [`Once::call_once_force`] begins.
#[derive(Clone, Copy, Debug)]
pub struct OnceState {
    is_poisoned: bool,
}

impl OnceState {
    /// Whether it was begun before, and ended by a panic.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl Once {
    /// Not done yet.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new() -> Self {
        Self {
            poisoned: Mutex::new(false),
            done: AtomicBool::new(false),
        }
    }

    /// Does it, if nobody has; who comes while it is done waits.
    ///
    /// # Panics
    /// Outside of a check, and if an earlier call was ended by a panic.
    pub fn call_once(&self, act: impl FnOnce()) {
        self.call(|state| {
            assert!(
                !state.is_poisoned,
                "Once instance has previously been poisoned"
            );
            act();
        });
    }

    /// Does it, if nobody has; also if an earlier call was ended by a panic.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn call_once_force(&self, act: impl FnOnce(&OnceState)) {
        self.call(act);
    }

    fn call(&self, act: impl FnOnce(&OnceState)) {
        if self.is_completed() {
            return;
        }
        let lock = self.poisoned.lock();
        let mut poisoned = lock.unwrap_or_else(sync::PoisonError::into_inner);
        if !self.is_completed() {
            let is_poisoned = std::mem::replace(&mut *poisoned, true);
            act(&OnceState { is_poisoned });
            *poisoned = false;
            self.done.store(true, Ordering::SeqCst);
        }
    }

    /// Whether it is done.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn is_completed(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }
}

/// A value that is set once: [`std::sync::OnceLock`].
#[derive(Debug)]
pub struct OnceLock<T> {
    once: Once,
    value: sync::OnceLock<T>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> OnceLock<T> {
    /// Not set yet.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new() -> Self {
        Self {
            once: Once::new(),
            value: sync::OnceLock::new(),
        }
    }

    /// The value, if it is set.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn get(&self) -> Option<&T> {
        match self.once.is_completed() {
            true => self.value.get(),
            false => None,
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    /// The new value, if there is one already.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| {
            value
                .take()
                .unwrap_or_else(|| unreachable!("it is made once"))
        });
        value.map_or(Ok(()), Err)
    }

    /// The value; who comes first makes it, the others wait.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.once.call_once_force(|_| {
            let _ = self.value.set(make());
        });
        self.value
            .get()
            .unwrap_or_else(|| unreachable!("it is set"))
    }

    /// The value, if it is set.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

/// Where so many threads wait for each other: [`std::sync::Barrier`].
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    /// How many have come, and how often all have gone on.
    come: Mutex<(usize, usize)>,
    all: Condvar,
}

/// Whether a thread was the last one to come to a [`Barrier`].
#[derive(Clone, Copy, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one of those who have waited for each other.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// For so many threads.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            come: Mutex::new((0, 0)),
            all: Condvar::new(),
        }
    }

    /// Waits for the others.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn wait(&self) -> BarrierWaitResult {
        let mut come = self
            .come
            .lock()
            .unwrap_or_else(sync::PoisonError::into_inner);
        come.0 += 1;
        if come.0 >= self.threads {
            *come = (0, come.1 + 1);
            self.all.notify_all();
            return BarrierWaitResult(true);
        }
        let round = come.1;
        let over = self.all.wait_while(come, |come| come.1 == round);
        drop(over);
        BarrierWaitResult(false)
    }
}
