//! Threads, as in [`std::thread`].
//!
//! Threads of a check are stacks that one thread of the operating system runs in turn. So what the
//! standard library's `thread_local!` makes is shared by all of them, and by all executions: use
//! [`thread_local!`](crate::thread_local).
//!
//! Not here: scoped threads, sleeping and parking with a time-out (there is no time), parking that ends
//! without a reason.

use std::cell::{Cell, RefCell};
use std::mem::needs_drop;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::operation::Operation;
use super::runtime::{local, own_number, perform, spawn as seat};
use super::sync as counted;

pub use std::thread::panicking;

/// A thread, to be [unparked](Thread::unpark).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    number: u16,
}

impl Thread {
    /// Lets the thread go on where it [parks](park), or will.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn unpark(&self) {
        perform(Operation::Unpark(self.number));
    }

    /// Its number in schedules.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// The thread that runs.
///
/// # Panics
/// Outside of a check.
pub fn current() -> Thread {
    Thread {
        number: own_number(),
    }
}

/// Waits until somebody has [unparked](Thread::unpark) this thread.
///
/// # Panics
/// Outside of a check.
pub fn park() {
    perform(Operation::Park);
}

/// A thread to be [joined](JoinHandle::join).
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: Thread,
    /// Where the result has a destructor: who drops the last of two references, this one or the
    /// thread's, drops the result, too, if nobody joins. (Before the field below.)
    last: Option<counted::Arc<()>>,
    result: Arc<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// Never: a thread with a panic that it does not catch ends the whole check. (The type is the
    /// standard library's.)
    ///
    /// # Panics
    /// Outside of a check.
    pub fn join(self) -> std::thread::Result<T> {
        perform(Operation::Join(self.thread.number));
        if let Some(last) = self.last {
            last.forget();
        }
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(result.take().expect("a thread that is done has a result"))
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Its number in schedules.
    pub fn number(&self) -> u16 {
        self.thread.number
    }
}

/// Starts a thread.
///
/// # Panics
/// Outside of a check.
pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let result = Arc::new(Mutex::new(None));
    let last = needs_drop::<T>().then(|| counted::Arc::from_std(Arc::new(())));
    let (place, ours) = (Arc::clone(&result), last.clone());
    let number = seat(move || {
        let value = body();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        drop(ours);
        drop(place);
    });
    let thread = Thread { number };
    JoinHandle {
        thread,
        last,
        result,
    }
}

/// Lets others run; they may run anyway.
///
/// # Panics
/// Outside of a check.
pub fn yield_now() {
    perform(Operation::Yield);
}

/// What each thread has one of: [`std::thread::LocalKey`]. Made by
/// [`thread_local!`](crate::thread_local), and dropped when its thread is done.
#[derive(Debug)]
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Self { init }
    }

    /// Does something with this thread's value.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn with<R>(&'static self, act: impl FnOnce(&T) -> R) -> R {
        act(&local(ptr::from_ref(self).addr(), self.init))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Another value.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// The value.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Reads the value.
    ///
    /// # Panics
    /// Outside of a check, and while it is changed.
    pub fn with_borrow<R>(&'static self, act: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| act(&cell.borrow()))
    }

    /// Changes the value.
    ///
    /// # Panics
    /// Outside of a check, and while it is read or changed.
    pub fn with_borrow_mut<R>(&'static self, act: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| act(&mut cell.borrow_mut()))
    }
}

/// Values that each thread of a check has one of, as by [`std::thread_local!`].
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$about:meta])* $visible:vis static $name:ident: $type:ty = $init:expr $(; $($more:tt)*)?) => {
        $(#[$about])*
        $visible static $name: $crate::thread::LocalKey<$type> =
            $crate::thread::LocalKey::new(|| $init);
        $($crate::thread_local!($($more)*);)?
    };
}
