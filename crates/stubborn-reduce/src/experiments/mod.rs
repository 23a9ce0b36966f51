//! The shelf: what only researchers want, kept out of the way of readers.
//!
//! Nothing else in this crate knows of it. [`measured`] computes relations from a whole state
//! space, which nobody needs who has explored it, to find out how much better analysis could get.

pub mod measured;
