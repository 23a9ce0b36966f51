//! The tests of the crate that need no process of their own, as one program: it is linked once.

mod beem_counts;
mod beem_properties;
mod corpus_parsing;
mod diagnostics;
mod own_models;
mod random_expressions;
mod relations;
mod robustness;
mod support;
