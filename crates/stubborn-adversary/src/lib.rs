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
//!
//! Which bias finds what: each of these was wrong in version 0.1.0. The last column says how many
//! cases of a run against that version it took.
//!
//! | what was wrong | kind | bias that finds it | cases |
//! | --- | --- | --- | ---: |
//! | steering loses violations | `automata` | two states that enter each other, marks on edges | 17 |
//! | propositions without a value hold | `dve` | indices and divisors that may be bad | 8 |
//! | runs that end by failing lose violations | `dve` | first steps that fail | 21 |
//! | violations before endless atomic sequences | `spin` | `endless atomic` beside a claim | 108 |
//! | assertions in loops of atomic sequences | `spin` | `trouble in atomic` | 102* |
//! | long atomic sequences taken for endless | `spin` | `long loop` | 239* |
//! | an assertion before a failing step | `spin` | `trouble in atomic` | 280* |
//! | widths of `bool` in arrays and messages | `spin` | values wider than their type | 43 |
//! | priorities and `provided` | `spin` | swarms of few features, so both with little else | 56 |
//! | runs that end at `accept` labels | `spin` | labels of all meanings before any statement | 1 |
//! | traces of models that grew | `promela` | `growth`: a process starts after others have counted | 117 |
//! | limits of time while loading | `promela` | `long loop`; what takes long gets a second | 166 |
//!
//! (*: with `--without` many other features.)

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
