//! An adversary of the model checker: it makes small random systems, biased to corners, runs
//! the program on them as a user does, in random configurations, and compares what it says
//! with a naive checker of its own, or with another tool.
//!
//! It shares no code with the program (McKeeman, *Differential testing for software*, 1998):
//! it knows files, command lines, exit statuses and JSON. So it can attack any version.
//!
//! - [`arena`]: a kind of systems, and what comes out of comparing one of them;
//! - [`subject`]: the program under attack, as a child process;
//! - [`mod@reference`]: the naive checker;
//! - [`minimise`]: makes a mismatch small (Zeller, Hildebrandt, *Simplifying and isolating
//!   failure-inducing input*, 2002);
//! - [`coverage`]: what was tried how often, and what never;
//! - [`campaign`]: rounds on several threads until the time is over.

#![forbid(unsafe_code)]

pub mod arena;
pub mod campaign;
pub mod configuration;
pub mod coverage;
pub mod dve;
pub mod formula;
pub mod hoa;
pub mod judge;
pub mod minimise;
pub mod nets;
pub mod promela;
pub mod random;
pub mod reference;
pub mod subject;
pub mod trace;

use arena::Arena;

/// Every arena there is; Promela programs lack the features `without`.
pub fn arenas(without: &[String]) -> Vec<Box<dyn Arena>> {
    let mut arenas: Vec<Box<dyn Arena>> = vec![
        Box::new(dve::Dve),
        Box::new(nets::Nets),
        Box::new(dve::Automata),
    ];
    arenas.extend(promela::arenas(without));
    arenas
}
