//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod codes;
#[path = "../../stubborn-net/tests/common/mod.rs"]
mod common;
mod corpus;
mod formulas;
mod hostile;
mod nets;
mod round_trip;
mod unread;
