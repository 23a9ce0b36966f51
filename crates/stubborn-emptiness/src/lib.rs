//! LTL checking: is there a run of the system that an automaton accepts?
//!
//! A [`Check`] takes a system and a [`Property`] (an automaton of the violating runs, made
//! from a formula or from a claim in the model), walks their product depth-first, and says
//! whether the property holds, with a lasso if it does not. The product is reduced where
//! that is sound, with a cycle [`CycleProviso`] by name; the result says whether it was, and why
//! not.
//!
//! This is a crate of its own because it joins two others that should not know each other:
//! formulas and automata (`stubborn-ltl`) on one side, searching (`stubborn-search`, whose
//! traces, replay and limits it shares) on the other. Its walk is not a search order of that
//! crate: it follows components, which need a table of what is live, and all provisos of the
//! literature, which need colours and depths of those nodes.
//!
//! ```
//! use stubborn_emptiness::{Check, Property, CheckVerdict};
//! use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
//! use stubborn_ltl::formula::Formulas;
//! use stubborn_ltl::parser::{AnyName, Syntax, parse};
//!
//! // A light that is switched on and off for ever.
//! let mut program = Program::new("light");
//! let x = program.variable(Variable::integer("x", 0, 1, 0));
//! let site = program.out_of_range_site("x", None);
//! let flipped = Expr::minus(Expr::Const(1), Expr::Var(x));
//! program.command(Command {
//!     name: "flip".into(),
//!     body: vec![Statement::assign(x, flipped, site)],
//!     ..Command::default()
//! });
//! let on = program.label(Expr::equal(Expr::Var(x), Expr::Const(1)));
//! let model = Model::new(program)?;
//!
//! let verdict = |text: &str| {
//!     let mut formulas = Formulas::new();
//!     let (formula, _) = parse(&mut formulas, text, Syntax::Spin, &mut AnyName);
//!     let formula = formula.ok_or("a formula with errors")?;
//!     let property = Property::from_formula(formulas, formula, vec![on], &Default::default())?;
//!     let result = Check::new(&model, &property).run()?;
//!     Ok::<_, Box<dyn std::error::Error>>((result.verdict, result.counterexample))
//! };
//! assert_eq!(verdict("[] <> on")?.0, CheckVerdict::Holds);
//! let (violated, counterexample) = verdict("<> [] on")?;
//! assert_eq!(violated, CheckVerdict::Violated);
//! assert_eq!(counterexample.ok_or("memory is not scarce")?.trace.cycle().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | holds |
//! | --- | --- |
//! | `check`, `property`, `claim`, `result` | what goes in and what comes out |
//! | `prepare`, `shared` | when a reduced product is sound |
//! | `steering` | sets that are driven by the automaton's state |
//! | `branching` | reductions for branching time |
//! | `explore`, `choices` | a system alone, reduced with a cycle proviso |
//! | `gate`, `kept` | where checks wait that can be continued, and how they are written down |
//! | `experiments` | the shelf: many provisos at once, provisos that look ahead |
//! | `levels` | how much a reduction leaves of the first levels |
//! | `report`, `lasso`, `shortest` | counterexamples: found again, made short, replayed |
//! | `fairness` | runs that neglect no process |
//! | [`proviso`], `watch`, `sticky` | cycle provisos: their parts, and what they decide |
//! | [`walk`], `nested` | the depth-first walk and the emptiness checks |
//! | [`parallel`] | the same by several threads |
//! | `owcty`, `apart` | the same by several processes |
//! | [`space`], `product`, `pulse` | what is walked, within which limits |

#![forbid(unsafe_code)]

mod apart;
mod branching;
mod check;
mod choices;
mod claim;
mod experiments;
mod explore;
mod fairness;
mod gate;
mod kept;
mod lasso;
mod levels;
mod nested;
mod owcty;
pub mod parallel;
mod places;
mod prepare;
mod product;
mod property;
pub mod proviso;
mod pulse;
#[cfg(test)]
mod regressions;
mod report;
mod result;
mod shared;
mod shortest;
pub mod space;
mod steering;
mod sticky;
pub mod walk;
mod watch;

pub use branching::BranchingReduction;
pub use check::{Check, ReductionRequest};
pub use claim::ClaimGuards;
pub use experiments::Compared;
pub use explore::{Exploration, ExplorationResult};
pub use fairness::Neglected;
pub use kept::CheckKeeper;
pub use lasso::Counterexample;
pub use levels::ProductLevels;
pub use prepare::{FiniteRuns, Fitting, PutBack, ReductionOff, Soundness, SteeringMode};
pub use property::{Claim, ClaimEdge, LabelledFormula, Property};
pub use proviso::{CycleProviso, UnknownProviso};
pub use result::{CheckResult, CheckVerdict, ReductionUse};
pub use space::Counts;
pub use sticky::{StickyReduction, sticky_transitions};
pub use walk::{Emptiness, UnknownEmptiness};
