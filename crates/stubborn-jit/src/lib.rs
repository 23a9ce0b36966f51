//! Code in memory.
