//! Atomic values: [`std::sync::atomic`]. Every ordering is taken for sequentially consistent, so that
//! fences change nothing. Places in the code that ask for a weaker one are
//! [listed](crate::Executions::weaker_orderings): what only a weaker ordering allows is not found.
//!
//! An exchange that may fail counts as a change. Not here: `AtomicPtr`, because whether memory is used
//! again is up to the allocator, and not explored; use numbers of places.

use std::panic::Location;
use std::sync::atomic;

pub use std::sync::atomic::Ordering;

use crate::code::operation::Operation;
use crate::code::runtime::{new_object, note_weaker_ordering, perform};

/// Notes where the code asks for less than what is explored.
#[track_caller]
fn note<const N: usize>(orderings: [Ordering; N]) {
    if orderings
        .iter()
        .any(|ordering| *ordering != Ordering::SeqCst)
    {
        note_weaker_ordering(Location::caller());
    }
}

/// Does nothing: everything is sequentially consistent.
///
/// # Panics
/// Outside of a check, and for the ordering that the standard library refuses.
#[track_caller]
pub fn fence(ordering: Ordering) {
    note([ordering]);
    atomic::fence(ordering);
}

/// What all atomics have in common.
macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`].")]
        #[derive(Debug)]
        pub struct $name {
            number: u32,
            value: atomic::$name,
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(Default::default())
            }
        }

        impl $name {
            /// With a first value.
            ///
            /// # Panics
            /// Outside of a check.
            pub fn new(value: $value) -> Self {
                Self {
                    number: new_object(),
                    value: atomic::$name::new(value),
                }
            }

            #[track_caller]
            fn changes<const N: usize>(&self, orderings: [Ordering; N]) -> &atomic::$name {
                note(orderings);
                perform(Operation::Store(self.number));
                &self.value
            }

            /// The value.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $value {
                note([ordering]);
                perform(Operation::Load(self.number));
                self.value.load(ordering)
            }

            /// Another value.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.changes([ordering]).store(value, ordering);
            }

            /// Another value; the one before.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                self.changes([ordering]).swap(value, ordering)
            }

            /// Another value, if it is the expected one; the one before.
            ///
            /// # Errors
            /// The value, if it is another one.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                expected: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let value = self.changes([success, failure]);
                value.compare_exchange(expected, new, success, failure)
            }

            /// Another value that depends on it, unless that is none; the one before.
            ///
            /// # Errors
            /// The value, if there shall be no other one.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut next: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch);
                while let Some(new) = next(before) {
                    match self.compare_exchange(before, new, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(other) => before = other,
                    }
                }
                Err(before)
            }

            /// The value, of an atomic that nobody else has.
            pub fn get_mut(&mut self) -> &mut $value {
                self.value.get_mut()
            }

            /// The value.
            pub fn into_inner(self) -> $value {
                self.value.into_inner()
            }

            /// The same: it never fails without a reason here.
            ///
            /// # Errors
            /// The value, if it is another one.
            ///
            /// # Panics
            /// Outside of a check, and for orderings that the standard library refuses.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                expected: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(expected, new, success, failure)
            }
        }
    };
}

/// What values change by, and give back what they were.
macro_rules! changes {
    ($name:ident, $value:ty, $($change:ident),+) => {
        impl $name {
            $(
                #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "::",
                    stringify!($change), "`].")]
                ///
                /// # Panics
                /// Outside of a check.
                #[track_caller]
                pub fn $change(&self, value: $value, ordering: Ordering) -> $value {
                    self.changes([ordering]).$change(value, ordering)
                }
            )+
        }
    };
}

macro_rules! number {
    ($($name:ident $value:ty),+) => {$(
        atomic!($name, $value);
        changes!($name, $value, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max,
            fetch_min);
    )+};
}

number!(AtomicUsize usize, AtomicIsize isize, AtomicU64 u64, AtomicI64 i64, AtomicU32 u32,
    AtomicI32 i32, AtomicU16 u16, AtomicI16 i16, AtomicU8 u8, AtomicI8 i8);
atomic!(AtomicBool, bool);
changes!(AtomicBool, bool, fetch_and, fetch_or, fetch_xor);
