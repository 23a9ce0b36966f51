//! The one search loop of the checker.
//!
//! A [`Search`] says what to explore, in which order, on how many threads, until when and for
//! what; [`Search::run`] gives a [`SearchResult`] with counts and [`Violation`]s, each with a
//! [`Trace`] that was replayed on the unreduced system.
//!
//! The loop is the same everywhere: the executor computes the successors of a state, the
//! reduction chooses among them, the chosen ones are stored in batches, the
//! [`proviso`] looks at what the store says of them, and may make the search take
//! the rest. Only who comes next differs: `bfs` has a queue of levels, `dfs` a stack.
//!
//! ```
//! use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
//! use stubborn_search::{Search, Stop, Target};
//!
//! // x counts from 0 to 3, and stops.
//! let mut program = Program::new("counter");
//! let x = program.variable(Variable::integer("x", 0, 3, 0));
//! let below = program.label(Expr::less(Expr::Var(x), Expr::Const(3)));
//! let site = program.out_of_range_site("x", None);
//! program.command(Command {
//!     name: "count".into(),
//!     guards: vec![below],
//!     body: vec![Statement::assign(x, Expr::plus(Expr::Var(x), Expr::Const(1)), site)],
//!     ..Command::default()
//! });
//! let model = Model::new(program)?;
//!
//! let search = Search {
//!     targets: vec![Target::Deadlock],
//!     stop: Stop::FirstViolation,
//!     ..Search::new(&model)
//! };
//! let result = search.run()?;
//! assert_eq!(result.states, 4);
//! let trace = result.violations[0].trace.as_ref().expect("memory is not scarce");
//! assert_eq!(trace.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | holds |
//! | --- | --- |
//! | `config`, `result`, `progress` | what goes in and what comes out |
//! | [`engine`] | what runs searches: the seam for other engines |
//! | `run` | the frame around a search: checks, threads, results |
//! | `expand` | one state: successors, targets, reduction |
//! | `bfs`, `team` | breadth-first order, and how its threads wait for each other |
//! | `dfs`, `sharing` | depth-first order, and how its threads share work |
//! | [`proviso`], `settle` | what may put back left-out steps |
//! | `run::disk`, `runs` | the engine that goes on on disk when memory is full |
//! | `run::distributed` | the engine of several processes that share the states |
//! | `saved` | writing a search down that waits, and taking it up again |
//! | `rerun`, `replay`, [`trace`] | the way to a violation |
//! | `entry`, `stack`, `memory`, `flags` | queues and stacks |
//! | `control`, `context`, `violation` | what threads share |

#![forbid(unsafe_code)]

mod arrange;
mod bfs;
mod config;
mod context;
mod control;
mod dfs;
pub mod engine;
mod entry;
mod expand;
mod flags;

mod memory;
mod packed;
mod progress;
pub mod proviso;
mod recent;
mod replay;
mod rerun;
mod result;
mod run;
mod runs;
mod saved;
mod settle;
mod sharing;
mod stack;
mod team;
pub mod trace;
mod violation;

pub use arrange::{STATES_OF_PRODUCT, better_tree_of_product};
pub use config::{Limits, Order, Search, SearchError, Stop, Target, Visitor};
pub use engine::{Engine, Explore, Found, SharedMemory};
pub use memory::peak_resident_bytes;
pub use progress::Progress;
pub use replay::replay;
pub use result::{End, Limit, MemoryUse, SearchResult, TimeUse, TraceMissing, Violation};
pub use run::Exploration;
pub use run::disk::Disk;
pub use run::distributed::Distributed;
pub use saved::ResumeError;
pub use stubborn_store::saved::{Sink, Source};
pub use stubborn_store::{StateHandle, StoreKind, StoreOptions};
pub use trace::{Change, Trace, TraceStep};
