//! Partial-order reduction: which of the enabled transitions a search may leave out.
//!
//! Most interleavings of concurrent transitions end in the same states. A *stubborn set* of a
//! state is a set of transitions such that exploring only its enabled members loses nothing
//! that the question asks for. This crate computes such sets from the [relations] between
//! transitions and guards, knows nothing of any language, of stores or of searches, and checks
//! itself: [`validate`] tests the defining conditions at states of a model, and falsifies
//! relations with the model's own code.
//!
//! - [`config`]: what a user can choose; [`aim`]: what is allowed for which question;
//! - [`StubbornReduction`]: the result, a [`Reduction`](stubborn_system::Reduction);
//! - one private module per technique: `closure`, `clostar`, `beam`, `deletion`, `minimise`,
//!   `clodel`, `inc`, `ample`, `goal`, `local`; the loop that grows sets is in `growth`, what a state
//!   looks like to them in `view`, how labels are evaluated in `question`, the memory of sets in `cache`;
//! - [`lpor`]: stubborn sets for any checker that can say which of its transitions enable and
//!   disturb which;
//! - [`steer`]: sets for demands of an observer, such as an automaton in a product;
//! - [`explain`]: why two transitions do not accord;
//! - [`experiments`]: the shelf, such as relations from an explored state space;
//! - [`testing`]: random systems, exact relations by brute force, and a plain search.
//!
//! Reading order: `growth` (the conditions in code), `closure`, `beam`; then any other.
//!
//! [relations]: stubborn_system::Relations

#![forbid(unsafe_code)]

pub mod aim;
mod algorithm;
mod ample;
mod beam;
mod cache;
mod clodel;
mod clostar;
mod closure;
pub mod config;
mod deletion;
pub mod experiments;
pub mod explain;
mod goal;
mod growth;
mod inc;
mod local;
pub mod lpor;
mod minimise;
mod question;
mod reducer;
mod rows;
pub mod steer;
mod tables;
pub mod testing;
pub mod validate;
mod view;

pub use aim::{Aim, Goals, NeededProviso, Plan};
pub use config::{
    Algorithm, Choice, Config, ConfigError, Delete, Scapegoat, Settings, Start, Visibility,
};
pub use reducer::StubbornReduction;
