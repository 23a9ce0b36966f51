//! The shelf: what only researchers want, kept out of the way of readers.
//!
//! Local partial-order reduction as printed, for comparison with the sets that checks use.

mod printed_lpor;

pub(crate) use printed_lpor::PrintedReduction;
