//! How far a search is.

use std::time::Duration;

/// A look at a running search. With several threads the numbers are a little behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// States stored.
    pub states: u64,
    /// Edges explored.
    pub transitions: u64,
    /// States that wait to be expanded. (In a depth-first search, an upper bound: some
    /// of them will have been reached on another path.)
    pub queue: u64,
    /// The current level, or the length of the longest path so far.
    pub depth: u64,
    /// Bytes of store, queues and stacks.
    pub memory: usize,
    /// Since the start.
    pub elapsed: Duration,
    /// States a second since the last look.
    pub states_per_second: f64,
}
