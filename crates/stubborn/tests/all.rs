//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod architecture;
mod auto;
mod banquet;
mod beem;
#[path = "common/corpus.rs"]
mod corpus;
mod deadlocks;
mod endure;
mod files;
mod gpu;
mod habits;
mod hunt;
mod kit;
mod lab;
mod logs;
mod ltl_corpus;
mod overflow;
mod page;
#[path = "process/main.rs"]
mod process;
#[path = "../../stubborn-dve/tests/support/properties.rs"]
mod properties;
#[path = "propositions/main.rs"]
mod propositions;
mod readme;
mod relations;
mod suites;
mod switches;
mod trails;
mod transcripts;
