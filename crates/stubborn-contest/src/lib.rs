//! The examinations of the Model Checking Contest.
//!
//! [`examine`] takes a net, an [`Examination`] and its properties, and gives answers one by one,
//! as soon as each is known: [`Line`]s in the form that the contest reads. Every answer rests on
//! something that was seen or proved; where time or memory ends before, it is `CANNOT_COMPUTE`.
//!
//! This is a crate of its own because it joins what should not know each other: nets and their
//! structure (`stubborn-net`), reductions, searches, and the check of temporal properties.
//!
//! ```
//! use stubborn_contest::{Examination, Options, examine};
//! use stubborn_net::NetBuilder;
//! use stubborn_pnml::Model;
//!
//! let mut builder = NetBuilder::new("one step");
//! let p = builder.place("p", 1);
//! let t = builder.transition("t");
//! builder.input(p, t, 1);
//! let model = Model::from_net(builder.build()?);
//! let mut lines = Vec::new();
//! let examination = Examination::ReachabilityDeadlock;
//! examine(examination, &model, &[], &Options::default(), &mut |line| lines.push(line));
//! assert!(lines[0].to_string().starts_with("FORMULA ReachabilityDeadlock TRUE TECHNIQUES "));
//! # Ok::<(), stubborn_net::BuildError>(())
//! ```
//!
//! # Where things are
//!
//! | module | holds |
//! | --- | --- |
//! | `answer` | lines and techniques |
//! | `examiner` | options, the clock, how to search |
//! | `summed` | the state equation of a coloured net without its colours |
//! | `claim` | temporal formulas and the statements in them |
//! | `walk`, `guided`, `pump`, `best_first` | random walks; walks towards a goal; runs that can be repeated; searches by distance |
//! | `state_space`, `deadlock`, `reachability`, `bounds`, `global`, `liveness`, `ltl`, `ctl` | the examinations |
//! | `terminal` | terminal components of full and reduced graphs |

#![forbid(unsafe_code)]

mod answer;
mod best_first;
mod bounds;
mod claim;
mod ctl;
mod deadlock;
mod examiner;
mod global;
mod guided;
mod liveness;
mod ltl;
mod pump;
mod reachability;
mod state_space;
mod summed;
mod terminal;
#[cfg(test)]
mod testing;
mod walk;

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use stubborn_net::{Branching, Formula, NetSystem, Paths};
use stubborn_pnml::{ContestProperty, Model, Question};

use stubborn_system::Budget;

pub use answer::{Line, Technique, Value};
pub use examiner::Options;

use crate::claim::Claim;
use crate::examiner::Examiner;
use crate::reachability::Goal;

macro_rules! examinations {
    ($($(#[$doc:meta])* $item:ident = $text:literal, $has_file:literal;)+) => {
        /// What is asked of a net.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Examination {
            $($(#[$doc])* $item),+
        }

        impl Examination {
            /// All of them.
            pub const ALL: &'static [Examination] = &[$(Examination::$item),+];

            /// As the contest calls it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Examination::$item => $text),+
                }
            }

            /// Whether it is about the formulas of a file of its name.
            pub const fn has_formulas(self) -> bool {
                match self {
                    $(Examination::$item => $has_file),+
                }
            }
        }
    };
}

examinations! {
    /// Numbers of states, edges and tokens.
    StateSpace = "StateSpace", false;
    /// Can a deadlock be reached?
    ReachabilityDeadlock = "ReachabilityDeadlock", false;
    /// Can numbers of tokens be reached?
    ReachabilityCardinality = "ReachabilityCardinality", true;
    /// Can combinations of enabled transitions be reached?
    ReachabilityFireability = "ReachabilityFireability", true;
    /// How many tokens can places hold?
    UpperBounds = "UpperBounds", true;
    /// Does no place ever hold more than one token?
    OneSafe = "OneSafe", false;
    /// Can every transition fire?
    QuasiLiveness = "QuasiLiveness", false;
    /// Can every transition fire again and again?
    Liveness = "Liveness", false;
    /// Does the marking of some place never change?
    StableMarking = "StableMarking", false;
    /// Linear temporal logic about numbers of tokens.
    LtlCardinality = "LTLCardinality", true;
    /// Linear temporal logic about enabled transitions.
    LtlFireability = "LTLFireability", true;
    /// Branching time about numbers of tokens.
    CtlCardinality = "CTLCardinality", true;
    /// Branching time about enabled transitions.
    CtlFireability = "CTLFireability", true;
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownExamination(String);

impl fmt::Display for UnknownExamination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Examination::ALL.iter().map(|e| e.name()).collect();
        let names = names.join(", ");
        write!(f, "`{}` is no examination; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownExamination {}

impl FromStr for Examination {
    type Err = UnknownExamination;

    fn from_str(text: &str) -> Result<Self, UnknownExamination> {
        let found = Self::ALL.iter().copied().find(|e| e.name() == text);
        found.ok_or_else(|| UnknownExamination(text.to_owned()))
    }
}

/// The model that is best examined in place of one, before its properties are read: colours that
/// behave alike are one, unless states are to be counted.
pub fn fitting(examination: Examination, model: Model, budget: &Budget) -> Model {
    if examination == Examination::StateSpace || !model.coloured {
        return model;
    }
    model.folded(budget).unwrap_or(model)
}

/// Answers an examination; `out` gets each answer as soon as it is known. `properties` are those
/// of the examination's file, if it [has one](Examination::has_formulas).
pub fn examine(
    examination: Examination,
    model: &Model,
    properties: &[ContestProperty],
    options: &Options<'_>,
    out: &mut dyn FnMut(Line),
) {
    let started = Instant::now();
    let mut examiner = Examiner::new(model, options, started, out);
    let name = examination.name();
    match examination {
        Examination::ReachabilityDeadlock => deadlock::examine(&mut examiner),
        Examination::ReachabilityCardinality
        | Examination::ReachabilityFireability
        | Examination::UpperBounds
        | Examination::LtlCardinality
        | Examination::LtlFireability => formulas(&mut examiner, properties),
        Examination::CtlCardinality | Examination::CtlFireability => {
            with_system(&mut examiner, |e, system| branching(e, system, properties));
        }
        Examination::StateSpace => {
            with_system(&mut examiner, |e, system| state_space::examine(e, system));
        }
        Examination::OneSafe => {
            with_system(&mut examiner, |e, system| global::one_safe(e, system, name));
        }
        Examination::QuasiLiveness => with_system(&mut examiner, |e, system| {
            let question = global::QuasiLive::new(e);
            global::by_firing(e, system, name, &question);
        }),
        Examination::StableMarking => with_system(&mut examiner, |e, system| {
            let question = global::Stable::new(e);
            global::by_firing(e, system, name, &question);
        }),
        Examination::Liveness => {
            with_system(&mut examiner, |e, system| {
                liveness::examine(e, system, name)
            });
        }
    }
}

/// Asks of the net, ready for execution.
fn with_system<'f>(
    examiner: &mut Examiner<'f>,
    ask: impl FnOnce(&mut Examiner<'f>, &mut NetSystem),
) {
    match examiner.system() {
        Some(mut system) => ask(examiner, &mut system),
        None => examiner.give_up(),
    }
}

/// Answers formulas by what they ask, whichever file they come from.
fn formulas(examiner: &mut Examiner<'_>, properties: &[ContestProperty]) {
    let (mut goals, mut sums, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for property in properties {
        let id = property.id.clone();
        match &property.question {
            Question::Reachable(formula) => goals.push(Goal::new(id, formula.clone(), true)),
            Question::Invariant(formula) => {
                goals.push(Goal::new(id, formula.clone().negated(), false));
            }
            Question::UpperBound(places) => sums.push(bounds::Bound {
                id,
                places: places.clone(),
            }),
            Question::Ltl(formula) => claims.push(Claim {
                id,
                formula: formula.clone(),
            }),
            Question::Ctl(_) | Question::Unsupported => examiner.answer(&id, Value::Unknown, &[]),
        }
    }
    let mut open_sums = Vec::new();
    if !goals.is_empty() || !sums.is_empty() {
        // Place invariants take longer than many an answer does.
        let Some(mut plain) = examiner.system_without_invariants() else {
            return examiner.give_up();
        };
        goals = reachability::first_look(examiner, &mut plain, goals);
        open_sums = bounds::first_look(examiner, &plain, sums);
    }
    if goals.is_empty() && open_sums.is_empty() && claims.is_empty() {
        return;
    }
    with_system(examiner, |examiner, system| {
        if !goals.is_empty() {
            reachability::examine(examiner, system, goals);
        }
        if !open_sums.is_empty() {
            bounds::examine(examiner, system, open_sums);
        }
        if !claims.is_empty() {
            ltl::examine(examiner, system, claims);
        }
    });
}

/// Answers formulas of branching time. Those that are also linear are read as branching ones: a
/// path that ends has no next marking here.
fn branching(examiner: &mut Examiner<'_>, system: &mut NetSystem, properties: &[ContestProperty]) {
    let mut claims = Vec::new();
    for property in properties {
        let state = |formula: &Formula| Box::new(Branching::State(formula.clone()));
        let formula = match &property.question {
            Question::Ctl(formula) => Some(formula.clone()),
            Question::Reachable(goal) => Some(Branching::Finally(Paths::Some, state(goal))),
            Question::Invariant(always) => Some(Branching::Globally(Paths::All, state(always))),
            Question::Ltl(formula) => Branching::on_all_paths(formula),
            Question::UpperBound(_) | Question::Unsupported => None,
        };
        match formula {
            Some(formula) => claims.push(Claim {
                id: property.id.clone(),
                formula,
            }),
            None => examiner.answer(&property.id, Value::Unknown, &[]),
        }
    }
    ctl::examine(examiner, system, claims);
}
