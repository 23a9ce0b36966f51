//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod assertions;
mod banquet;
mod choices;
mod common;
mod counterexamples;
mod local;
mod minimal;
#[path = "common/philosophers.rs"]
mod philosophers;
mod planted_errors;
mod random_systems;
