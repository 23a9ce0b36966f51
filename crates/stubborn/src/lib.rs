//! A model checker: can this concurrent system deadlock, can an assertion or an invariant
//! fail, is a temporal formula violated? The answer comes with a counterexample that a person can read.
//!
//! This crate is the facade: it loads models (DVE, Promela, Petri nets), asks questions and
//! tells stories. What it is made of can be used alone: [`system`] is the seam that every
//! algorithm works on, and [`ir`] the language that front-ends lower to.
//!
//! ```
//! use stubborn::{CheckOptions, Language, LoadOptions, Verdict};
//!
//! // Two processes take two locks in different order.
//! let text = "
//!     byte a, b;
//!     process P {
//!         state start, one, both;
//!         init start;
//!         trans start -> one { guard a == 0; effect a = 1; },
//!               one -> both { guard b == 0; effect b = 1; },
//!               both -> start { effect a = 0, b = 0; };
//!     }
//!     process Q {
//!         state start, one, both;
//!         init start;
//!         trans start -> one { guard b == 0; effect b = 1; },
//!               one -> both { guard a == 0; effect a = 1; },
//!               both -> start { effect a = 0, b = 0; };
//!     }
//!     system async;
//! ";
//! let model = stubborn::load_text("locks.dve", text, Language::Dve, &LoadOptions::default())?;
//! let report = stubborn::check(&model, &stubborn::questions(&model), &CheckOptions::default())?;
//!
//! let deadlock = &report.answers[0];
//! println!("{}: {}", deadlock.question.name, deadlock.verdict);
//! assert_eq!(deadlock.verdict, Verdict::Violated);
//!
//! // Shortest counterexamples: P takes a, Q takes b, nobody can go on.
//! let violation = deadlock.violation.as_ref().expect("it is violated");
//! let trace = violation.trace.as_ref().expect("there is memory for it");
//! let story = stubborn::story::steps(model.system(), trace);
//! assert_eq!(story, "  1. P: start -> one  a = 1\n  2. Q: start -> one  b = 1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
pub mod conformance;
mod gpu;
mod languages;
mod load;
mod measured;
pub mod record;
pub mod sequence_chart;
pub mod spin;
pub mod story;
mod structural;
mod temporal;
mod text;

pub use check::{Answer, Question, QuestionKind, Report, check, check_system, explore, questions};
pub use gpu::GraphicsCard;
pub use languages::promela::{PromelaModel, PromelaOptions};
pub use load::{Engine, Language, LoadError, LoadOptions, LoadedModel, load_file, load_text};
pub use measured::{RelationsError, SavedRelations, fingerprint};
pub use structural::{NetSizes, check_smaller, explore_smaller};
pub use stubborn_plan::{
    CheckError, CheckOptions, Por, ProvisoChoice, ReductionOptions, Run, TemporalOptions, Verdict,
};
pub use stubborn_search::{
    End, Limit, Limits, Order, Progress, Search, SearchError, SearchResult, Stop, StoreKind,
    StoreOptions, Target, Trace, TraceStep, Violation,
};
pub use temporal::branching::{CtlProperty, CtlResult};
pub use temporal::check::{TemporalAnswer, check_temporal};
pub use temporal::evaluation::{EvaluationFailure, Evaluations};
pub use temporal::explain::RunExplanation;
pub use temporal::explore::{compare_provisos, explore_with_proviso};
pub use temporal::{Obstacle, Origin, Temporal, TemporalText};
pub use text::{ModelText, PlaceRecord};

#[cfg(feature = "contest")]
pub use stubborn_contest as contest;
pub use stubborn_ctl as ctl;
pub use stubborn_diagnostics as diagnostics;
pub use stubborn_emptiness as emptiness;
pub use stubborn_hunt as hunt;
pub use stubborn_ir as ir;
pub use stubborn_ltl as ltl;
pub use stubborn_net as net;
pub use stubborn_plan as plan;
pub use stubborn_pnml as pnml;
pub use stubborn_promela as promela;
pub use stubborn_reduce as reduce;
pub use stubborn_search as search;
pub use stubborn_system as system;
