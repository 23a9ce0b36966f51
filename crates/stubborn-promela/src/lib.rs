//! Promela front-end.
mod condition;
mod preprocess;
pub mod source;
pub mod token;
