//! CTL formulas over the places and transitions of a net.

use crate::formula::Formula;

/// A formula of computation tree logic: each temporal operator with its path quantifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branching {
    /// A statement about one marking.
    State(Formula),
    /// Not.
    Not(Box<Branching>),
    /// All of them.
    And(Vec<Branching>),
    /// At least one of them.
    Or(Vec<Branching>),
    /// In the next marking.
    Next(Paths, Box<Branching>),
    /// From now on always.
    Globally(Paths, Box<Branching>),
    /// Now or later.
    Finally(Paths, Box<Branching>),
    /// The first until the second, which comes.
    Until(Paths, Box<Branching>, Box<Branching>),
}

/// On which paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// On every one.
    All,
    /// On at least one.
    Some,
}

impl Branching {
    /// Not.
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// What it is made of directly; a statement about one marking is of one piece.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::State(_) => Vec::new(),
            Self::Not(inner)
            | Self::Next(_, inner)
            | Self::Globally(_, inner)
            | Self::Finally(_, inner) => vec![inner],
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Until(_, left, right) => vec![left, right],
        }
    }

    /// The number of operators and atoms.
    pub fn size(&self) -> usize {
        match self {
            Self::State(formula) => formula.size(),
            _ => 1 + self.parts().into_iter().map(Self::size).sum::<usize>(),
        }
    }

    /// That every path satisfies a formula of linear time, where that can be said: at most one
    /// temporal operator.
    pub fn on_all_paths(formula: &Formula) -> Option<Self> {
        let state = |inner: &Formula| {
            let state = inner.is_state_formula();
            state.then(|| Box::new(Self::State(inner.clone())))
        };
        Some(match formula {
            Formula::Next(inner) => Self::Next(Paths::All, state(inner)?),
            Formula::Globally(inner) => Self::Globally(Paths::All, state(inner)?),
            Formula::Finally(inner) => Self::Finally(Paths::All, state(inner)?),
            Formula::Until(left, right) => Self::Until(Paths::All, state(left)?, state(right)?),
            other => *state(other)?,
        })
    }
}
