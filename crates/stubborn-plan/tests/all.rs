//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod keeping;
mod shortest;
