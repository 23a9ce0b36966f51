//! Promela programs: against SPIN, and against the unreduced search of the program itself.
//!
//! - [`ast`]: programs as trees, their text, and smaller ones;
//! - [`generate`]: random programs, biased to corners of the language;
//! - [`spin`]: SPIN's verifier as an oracle;
//! - [`answers`]: what the program under attack says;
//! - [`against_spin`], [`reductions`]: the arenas.

pub mod against_spin;
pub mod answers;
pub mod ast;
pub mod generate;
pub mod reductions;
pub mod spin;

#[cfg(test)]
mod tests;

use crate::arena::Arena;

/// The arenas for Promela: `promela` and `spin`, whose programs lack these features.
pub fn arenas(without: &[String]) -> Vec<Box<dyn Arena>> {
    let features = generate::Features::without(without);
    vec![
        Box::new(reductions::Reductions::new(features.clone())),
        Box::new(against_spin::AgainstSpin::new(features)),
    ]
}
