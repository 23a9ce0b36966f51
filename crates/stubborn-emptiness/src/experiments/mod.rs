//! The shelf: what only researchers want, kept out of the way of readers.
//!
//! `ahead` has provisos that explore the whole graph before the walk, and are bounds for those
//! that do not; `compare` runs many provisos in many orders over one space.

pub(crate) mod ahead;
mod compare;

pub use compare::Compared;
