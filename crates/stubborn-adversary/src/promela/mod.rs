//! Promela programs: against a second configuration of the program itself, and against SPIN.

use crate::arena::Arena;

/// The arenas for Promela: `promela` and `spin`.
pub fn arenas() -> Vec<Box<dyn Arena>> {
    Vec::new()
}
