//! Threads, as in [`std::thread`].
//!
//! Not here: scoped threads, parking, sleeping (there is no time), thread-local storage that is
//! dropped with its thread.

use std::sync::{Arc, Mutex, PoisonError};

use super::operation::Operation;
use super::runtime::{perform, spawn as seat};

/// A thread to be [joined](JoinHandle::join).
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: u16,
    result: Arc<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// Never: a thread that panics ends the whole check. (The type is the standard library's.)
    ///
    /// # Panics
    /// Outside of a check.
    pub fn join(self) -> std::thread::Result<T> {
        perform(Operation::Join(self.thread));
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(result.take().expect("a thread that is done has a result"))
    }

    /// Its number in schedules.
    pub fn number(&self) -> u16 {
        self.thread
    }
}

/// Starts a thread.
///
/// # Panics
/// Outside of a check.
pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    let thread = seat(move || {
        let value = body();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    JoinHandle { thread, result }
}

/// Lets others run; they may run anyway.
///
/// # Panics
/// Outside of a check.
pub fn yield_now() {
    perform(Operation::Yield);
}
