//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod coloured;
mod corpus;
mod examinations;
mod temporal;
