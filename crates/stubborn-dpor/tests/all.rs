//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod blocking;
mod classics;
mod code;
mod everything;
mod programs;
mod random_code;
mod random_ownership;
