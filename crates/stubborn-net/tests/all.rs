//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod bounds;
mod common;
mod laws;
mod overflow;
mod reduction;
mod structural;
