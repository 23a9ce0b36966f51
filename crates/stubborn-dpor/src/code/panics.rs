//! The count of panics that the standard library keeps for each thread of the operating system.
//!
//! Threads of a check share one such thread. While the stack of one unwinds and others run, the
//! count must be theirs: [`std::thread::panicking`] answers by it, and so do locks that decide
//! whether they are poisoned. So the count is taken along when threads take turns.
//!
//! Nothing in the standard library sets the count. It grows where a panic begins, and shrinks where one is
//! caught, on whatever thread that happens. A *spare* is a stack of its own that has begun to unwind
//! and stopped before its panic is caught: to make one adds 1, to let it go on takes 1 away. The first
//! spares come from another thread of the operating system, whose count nobody reads.

#![allow(
    unsafe_code,
    reason = "a stack goes from one thread of the operating system to another"
)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Bytes of the stack of a spare.
const STACK: usize = 64 << 10;

/// A panic that was begun and not caught yet.
struct Spare(Coroutine<(), (), ()>);

// SAFETY: its stack holds no value that belongs to a thread: a guard with a reference to the stack's own
// yielder, a boxed `()`, and frames of the unwinder, whose state is on the stack and in the
// exception. The count itself is looked up anew by the standard library's functions that change it.
unsafe impl Send for Spare {}

/// Spares for all checks of the program.
static SPARES: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

/// Stops when it is dropped.
struct Stop<'y>(&'y Yielder<(), ()>);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.suspend(());
    }
}

impl Spare {
    /// Adds 1 to the count of this thread.
    fn new() -> Self {
        let stack = DefaultStack::new(STACK).expect("memory for a stack");
        let mut spare = Coroutine::with_stack(stack, |back: &Yielder<(), ()>, ()| {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _stop = Stop(back);
                // Without a hook that would print a message.
                resume_unwind(Box::new(()))
            }));
            drop(caught);
        });
        let stopped = matches!(spare.resume(()), CoroutineResult::Yield(()));
        assert!(stopped, "the panic of a spare is caught too early");
        Self(spare)
    }

    /// Takes 1 from the count of this thread.
    fn end(mut self) {
        let ended = matches!(self.0.resume(()), CoroutineResult::Return(()));
        assert!(ended, "the panic of a spare is never caught");
    }
}

fn spares() -> std::sync::MutexGuard<'static, Vec<Spare>> {
    SPARES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the count to 0; what it was.
pub(super) fn hide() -> u32 {
    let mut count = 0;
    while thread::panicking() {
        let spare = spares().pop();
        let spare = spare.unwrap_or_else(|| {
            let made = thread::spawn(Spare::new).join();
            made.unwrap_or_else(|panic| resume_unwind(panic))
        });
        spare.end();
        count += 1;
    }
    count
}

/// Adds to the count what [`hide`] has taken from it.
pub(super) fn show(count: u32) {
    for _ in 0..count {
        let spare = Spare::new();
        spares().push(spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at the count from inside of a destructor while a stack unwinds.
    struct Looks(u32);

    impl Drop for Looks {
        fn drop(&mut self) {
            assert!(thread::panicking());
            let count = hide();
            assert_eq!(count, self.0);
            assert!(!thread::panicking());
            // A panic of another thread, caught meanwhile.
            assert!(catch_unwind(|| resume_unwind(Box::new(()))).is_err());
            assert!(!thread::panicking());
            show(count);
            assert!(thread::panicking());
            if self.0 < 3 {
                let deeper = Looks(self.0 + 1);
                let caught = catch_unwind(AssertUnwindSafe(move || {
                    let _looks = deeper;
                    resume_unwind(Box::new(()))
                }));
                assert!(caught.is_err() && thread::panicking());
            }
        }
    }

    #[test]
    fn a_count_is_taken_away_and_given_back() {
        for _ in 0..3 {
            assert_eq!(hide(), 0);
            let caught = catch_unwind(|| {
                let _looks = Looks(1);
                resume_unwind(Box::new(()))
            });
            assert!(caught.is_err() && !thread::panicking());
        }
    }
}
