//! Trails that SPIN can replay.
