//! Stopping the world, so that tables can grow.
//!
//! A [`Gate`] guards a value that many threads use at once and one thread
//! sometimes replaces: a readers-writer lock in which readers touch only a
//! cache line of their own. A reader says that it is inside, then looks whether
//! the gate is closing; the writer closes the gate, then looks who is inside
//! (Dekker's handshake; the two steps are sequentially consistent on either side).
//!
//! Who finds the gate closed helps with the change if that can be done in parts
//! (see [`crew`](crate::crew)).
//!
//! Readers are inside only for the time of one call of the store, never while
//! the search runs other code or waits. So growth cannot deadlock with a worker
//! that is blocked elsewhere, and the search has nothing to declare.

use crate::crew::{Crew, Helpers};
use crate::sync::{
    Arc, AtomicBool, AtomicU64, Backoff, ConstPtr, Mutex, Ordering, UnsafeCell, announce, lock,
};
use std::ops::Deref;

/// A value that is shared most of the time and exclusive now and then.
pub(crate) struct Gate<T> {
    closing: AtomicBool,
    /// How often the value was changed.
    generation: AtomicU64,
    seats: Mutex<Vec<Arc<Seat>>>,
    crew: Crew,
    value: UnsafeCell<T>,
}

// SAFETY: `&T` is given out to threads that are inside, `&mut T` only to one
// that found nobody inside, as with `RwLock`, and with the same bounds.
unsafe impl<T: Send + Sync> Sync for Gate<T> {}

/// A thread's own cache line at a gate.
#[repr(align(128))]
struct Seat {
    inside: AtomicBool,
}

/// A thread's right to use the gate. Not shared: `enter` takes it mutably.
pub(crate) struct Ticket {
    seat: Arc<Seat>,
}

/// The time a thread is inside; the value cannot change meanwhile.
pub(crate) struct Inside<'a, T> {
    value: ConstPtr<T>,
    generation: u64,
    // Dropped last: it makes the seat empty.
    _leaving: Leaving<'a>,
}

/// Makes a seat empty.
struct Leaving<'a>(&'a Seat);

impl<T> Gate<T> {
    /// A gate around `value`.
    pub(crate) fn new(value: T) -> Self {
        Self {
            closing: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            seats: Mutex::new(Vec::new()),
            crew: Crew::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Registers a thread.
    pub(crate) fn register(&self) -> Ticket {
        let seat = Arc::new(Seat {
            inside: AtomicBool::new(false),
        });
        lock(&self.seats).push(Arc::clone(&seat));
        Ticket { seat }
    }

    /// Forgets a thread.
    pub(crate) fn leave(&self, ticket: &Ticket) {
        lock(&self.seats).retain(|seat| !Arc::ptr_eq(seat, &ticket.seat));
    }

    /// Goes inside, after waiting for a change in progress.
    #[inline]
    pub(crate) fn enter<'a>(&'a self, ticket: &'a mut Ticket) -> Inside<'a, T> {
        let seat = &*ticket.seat;
        loop {
            announce(&seat.inside);
            if !self.closing.load(Ordering::SeqCst) {
                return Inside {
                    value: self.value.get(),
                    generation: self.generation.load(Ordering::Relaxed),
                    _leaving: Leaving(seat),
                };
            }
            self.step_back(seat);
        }
    }

    /// Lets a change happen, helps with it, and waits for its end.
    #[cold]
    fn step_back(&self, seat: &Seat) {
        seat.inside.store(false, Ordering::Release);
        (self.crew).help_until(|| !self.closing.load(Ordering::Acquire));
    }

    /// Changes the value with every thread outside, unless it was already
    /// changed since `seen` (then somebody else has done the work, and `Ok` is
    /// returned). `change` is told who may help: all registered threads.
    pub(crate) fn change<E>(
        &self,
        seen: u64,
        change: impl FnOnce(&mut T, Helpers<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Who wants a change while there is one may help with that.
        (self.crew).help_until(|| !self.closing.load(Ordering::Acquire));
        let seats = lock(&self.seats);
        if self.generation.load(Ordering::Relaxed) != seen {
            return Ok(());
        }
        announce(&self.closing);
        let reopen = Reopen(self);
        for seat in seats.iter() {
            let mut backoff = Backoff::default();
            while seat.inside.load(Ordering::SeqCst) {
                backoff.wait();
            }
        }
        let result = {
            let value = self.value.get_mut();
            // SAFETY: all seats were seen empty after the gate was closed. A
            // thread that enters later sees it closed (its announcement and our
            // closing are in one order with what is read) and steps back without touching
            // the value. The lock keeps away other changes and new threads.
            let helpers = Helpers::new(&self.crew, seats.len());
            change(unsafe { value.deref() }, helpers)
        };
        self.generation.fetch_add(1, Ordering::Release);
        drop(reopen);
        result
    }
}

/// Opens the gate again, also when the change panics.
struct Reopen<'a, T>(&'a Gate<T>);

impl<T> Drop for Reopen<'_, T> {
    fn drop(&mut self) {
        self.0.closing.store(false, Ordering::Release);
        self.0.crew.wake();
    }
}

impl<T> Inside<'_, T> {
    /// How often the value was changed before.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a change waits until this seat is empty again, and the gate
        // outlives the guard.
        unsafe { self.value.deref() }
    }
}

impl Drop for Leaving<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.inside.store(false, Ordering::Release);
    }
}
