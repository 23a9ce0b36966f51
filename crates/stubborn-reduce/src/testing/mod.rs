//! Support for tests: small systems given by functions, random ones, their exact relations.
//!
//! A reduction is tested best on systems that nobody would write by hand. [`random`] makes
//! them, [`tiny`] is what they are made of, [`exact`] computes their relations by trying all
//! states, and weakens or breaks them on purpose. The plain search they are explored with is
//! [`validate::explore`](crate::validate::explore).

pub mod exact;
pub mod random;
pub mod tiny;
