//! The naive checker: small, slow, and obviously right.
//!
//! - [`program`]: processes with guarded commands, and a plain interpreter of them;
//! - [`net`]: Petri nets, and the token game;
//! - [`graph`]: all states and steps of either, and what can be reached;
//! - [`ctl`]: formulas of branching time, by fixpoints on the graph;
//! - [`ltl`]: formulas, by their tableau on the graph;
//! - [`automaton`]: Büchi automata, by their product with the graph;
//! - [`cycles`]: strongly connected components by the book.

pub mod automaton;
pub mod ctl;
pub mod cycles;
pub mod graph;
pub mod ltl;
pub mod net;
pub mod program;
