//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod apart;
mod automata;
#[path = "beem/main.rs"]
mod beem;
mod branching;
mod by_state;
mod choices;
mod comparison;
mod fairness;
mod formulas;
mod graphs;
mod length;
#[allow(dead_code)]
mod loose;
#[allow(dead_code)]
mod oracle;
mod parallel;
mod provisos;
mod random_systems;
mod relaxed;
