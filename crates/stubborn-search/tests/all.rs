//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod common;
mod disk;
mod distributed;
mod exploration;
mod large_system;
mod provisos;
mod saved;
mod trees;
mod violations;
