//! Tests of the Promela front-end, in one program so that it links once.

mod corpus;
mod diagnostics;
mod options;
mod own_models;
mod probes;
mod random_programs;
mod relations;
mod robustness;
mod spin;
mod support;
mod trails;
