//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod common;
mod counts;
mod guide;
mod model;
mod naive;
mod outcomes;
mod paper;
mod pays;
mod raft;
mod random;
mod reduction;
mod safe_defaults;
mod stateless;
mod symmetry;
