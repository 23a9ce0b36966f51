//! Promela: the language of SPIN.
//!
//! ```text
//! text ─► preprocess ─► parser (ast) ─► resolve + flow (hir) ─► lower (guarded commands)
//! ```
//!
//! [`load`] does it all. Each stage never fails half-way but collects [diagnostics]
//! (stubborn_diagnostics) with stable codes `PMLnnn`.
//!
//! [diagnostics]: stubborn_diagnostics::Diagnostic
//!
//! ```
//! use stubborn_promela::{Options, load, source::NoIncludes};
//! use stubborn_system::System;
//!
//! let text = "byte x; active [2] proctype P() { x++; x-- }";
//! let loaded = load("m.pml".as_ref(), text, &Options::default(), &NoIncludes).unwrap();
//! assert_eq!(loaded.model.structure().processes.len(), 2);
//! ```

#![forbid(unsafe_code)]

pub mod ast;
mod condition;
pub mod flow;
pub mod hir;
mod load;
pub mod lower;
mod parser;
mod preprocess;
mod resolve;
pub mod source;
pub mod token;
pub mod trail;

pub use parser::KEYWORDS;

pub use load::{Loaded, Options, Parsed, StartName, load, parse, parse_within};
