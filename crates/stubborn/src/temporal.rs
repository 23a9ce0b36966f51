//! Temporal properties: what models and users say about infinite runs.
//!
//! A property comes as a formula, as an automaton of the runs that violate it, or as a
//! claim in the model (a property process, a never claim). [`read`] turns texts into
//! properties while a model is loaded, because propositions are expressions of the model;
//! [`mod@check`] answers them.

pub(crate) mod branching;
pub(crate) mod check;
pub(crate) mod evaluation;
pub(crate) mod explain;
pub(crate) mod explore;
pub(crate) mod read;

use stubborn_diagnostics::Span;
use stubborn_emptiness::Property;
use stubborn_ltl::parser::Syntax;

use self::branching::CtlProperty;
use self::evaluation::Evaluations;

/// A temporal property that a user adds to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemporalText {
    /// A formula that every run should satisfy.
    Formula {
        /// Its text. Propositions are expressions of the model.
        text: String,
        /// Whose notation it is.
        syntax: Syntax,
    },
    /// A CTL formula that the initial states should satisfy.
    Branching {
        /// Its text. Propositions are expressions of the model.
        text: String,
    },
    /// An automaton of the runs that violate the property, in the Hanoi Omega-Automata
    /// format. Its propositions are expressions of the model.
    Automaton {
        /// What messages call it, usually the path of its file.
        name: String,
        /// The text of the file.
        text: String,
    },
    /// A property file of the Model Checking Contest, for nets. Its LTL formulas and
    /// invariants are taken, other kinds of properties get a warning.
    Contest {
        /// What messages call it, usually the path of the file.
        name: String,
        /// The text of the file.
        text: String,
    },
}

/// A temporal property of a loaded model.
#[derive(Clone, Debug)]
pub struct Temporal {
    /// For people, and for `--property`.
    pub name: String,
    /// What should hold, in words.
    pub title: String,
    /// Where it stands in the model's text.
    pub span: Option<Span>,
    /// Who states it.
    pub origin: Origin,
    /// What its author should look at, as text.
    pub remarks: String,
    /// What it evaluates, and may fail to.
    pub evaluations: Evaluations,
    /// The property, or why it cannot be checked as one of single runs.
    pub property: Result<Property, Obstacle>,
}

/// Why a temporal property cannot be checked as one of single runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is one of branching time, and is checked as such.
    Branching(Box<CtlProperty>),
    /// Its formula is wrong; messages that show where.
    Wrong(String),
    /// Its automaton would be too large, in words.
    TooLarge(String),
    /// It depends on steps that the model was loaded without, in words.
    CountsSteps(String),
}

/// Who states a temporal property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model.
    Model,
    /// A user who asks for it.
    User,
    /// A file with many properties, of which some may be asked for.
    File,
}
