//! LTL formulas and (generalised) Büchi automata: the part that knows nothing of
//! models and searches.
#![warn(missing_docs)]

mod alternating;
pub mod automaton;
pub mod components;
pub mod emptiness;
pub mod formula;
pub mod guard;
pub mod hoa;
mod implication;
pub mod lasso;
pub mod normal;
pub mod parser;
pub mod print;
pub mod reduce;
pub mod random;
mod rewrite;
mod scan;
pub mod stutter;
pub mod translate;
