//! Experiments: which reduction is best, and how do we compare with published tables?
//!
//! An [`experiment`] is a small file: models, configurations, seeds, limits, and what to
//! measure. [`plan`] expands experiments to runs, each with a stable key; [`schedule`] makes
//! the runs in parallel child processes ([`execute`], [`child`], [`peers`]) within a budget,
//! and appends each result to a file ([`record`]) at once, so that it can be killed and
//! resumed. [`table`] puts our figures beside those that papers print (`papers/` of this
//! crate, the only figures that were ever typed in), [`compare`] says where we are worse, and
//! [`report`] makes a page and Markdown of it all.
//!
//! This crate knows no language and no algorithm: it only sees command lines and what they
//! print.

mod batch;
pub mod child;
pub mod compare;
pub mod corpus;
pub mod execute;
pub mod experiment;
pub mod machine;
pub mod peers;
pub mod plan;
pub mod record;
pub mod report;
pub mod schedule;
pub mod scores;
pub mod shipped;
pub mod table;
mod workshop;
