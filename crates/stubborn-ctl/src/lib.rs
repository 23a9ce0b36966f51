//! Computation tree logic: what can happen from a state, and what must.
//!
//! `EF p` says that some run reaches `p`, `AG EF p` that `p` stays in reach for ever; LTL can say
//! neither of what *can* happen. [`Formulas`] holds formulas and makes them smaller as they are
//! built, [`parse`] reads them, a [`Graph`] is the part of the state space that was looked at, and
//! [`Evaluation`] decides formulas on it, on the fly: only what a verdict depends on is explored.
//! [`Evaluation::explain`] tells why as a tree of runs.
//!
//! ```
//! use stubborn_ctl::{Evaluation, Formulas, Graph, Space, parse};
//! use stubborn_net::{NetBuilder, NetSystem};
//! use stubborn_search::Limits;
//!
//! // A token goes round, or leaves for good.
//! let mut builder = NetBuilder::new("exit");
//! let [here, there, gone] = [("here", 1), ("there", 0), ("gone", 0)].map(|(n, m)| builder.place(n, m));
//! for (from, to) in [(here, there), (there, here), (there, gone)] {
//!     let t = builder.transition("t");
//!     builder.input(from, t, 1);
//!     builder.output(t, to, 1);
//! }
//! let system = NetSystem::new(builder.build()?).unwrap();
//! let label = |text: &str| system_label(&system, text);
//! # fn system_label(s: &NetSystem, text: &str) -> stubborn_system::LabelId {
//! #     use stubborn_system::System;
//! #     let at = s.structure().labels.iter().position(|l| l.text == text).unwrap();
//! #     stubborn_system::LabelId::new(at)
//! # }
//! let mut formulas = Formulas::new();
//! let (formula, _) = parse(&mut formulas, "AG EF \"here >= 1\"", &mut stubborn_ltl::parser::AnyName);
//! let labels = vec![label("here >= 1")];
//!
//! let limits = Limits::default();
//! let space = Space::new(&system, &limits).unwrap();
//! let mut graph = Graph::new(&system, &space, &limits);
//! let mut evaluation = Evaluation::new(&formulas, formula.unwrap(), labels);
//! assert_eq!(evaluation.holds(&mut graph), Ok(false), "a token may be gone");
//! # Ok::<(), stubborn_net::BuildError>(())
//! ```
//!
//! # Runs that end
//!
//! Formulas speak of maximal runs, as in the Model Checking Contest: a state without successors
//! ends its run. There `EX f` is false and `AX f` true whatever `f`; `EG f`, `AF f` and the like are
//! what `f` is in that state.

mod evaluate;
mod explain;
mod formula;
mod graph;
mod parse;

pub use evaluate::{Effort, Evaluation};
pub use explain::{Ending, Explanation, Reason};
pub use formula::{Formula, Formulas, Node};
pub use graph::{Graph, Space, StateNumber, Stop};
pub use parse::parse;
