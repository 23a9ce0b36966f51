//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod beem;
mod random_programs;
mod state_spaces;
mod support;
