//! Programs for tests and benchmarks: random ones that use every feature of the language, and
//! a few well-known protocols of any size.
//!
//! Only with the cargo feature `testing`.

mod chains;
mod loops;
mod protocols;
mod random;

pub use chains::random_chains;
pub use loops::{RandomLoop, random_loop};
pub use protocols::{dining_philosophers, peterson, ring_election};
pub use random::{random_program, random_state};
pub use stubborn_system::Random;
