//! Formulas of the contest over the places and transitions of a net.
//!
//! Atoms compare sums of tokens or ask whether a transition is enabled; they are combined by
//! Boolean and temporal operators. Names have been resolved: a place of a coloured net is the
//! list of its unfolded places.

use std::fmt;

use crate::ids::{PlaceId, TransitionId};
use crate::net::{Arc, Net, Tokens};

/// A number: the tokens of some places together, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntExpr {
    /// The places whose tokens are added up; a place that is listed twice counts twice.
    pub places: Vec<PlaceId>,
    /// What is added to that.
    pub constant: u64,
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `≤`
    LessOrEqual,
    /// `<`
    Less,
    /// `=`
    Equal,
    /// `≠`
    NotEqual,
    /// `≥`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl CompareOp {
    /// Compares.
    pub fn holds(self, left: u128, right: u128) -> bool {
        match self {
            Self::LessOrEqual => left <= right,
            Self::Less => left < right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }

    /// The comparison that holds where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::LessOrEqual => Self::Greater,
            Self::Less => Self::GreaterOrEqual,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::GreaterOrEqual => Self::Less,
            Self::Greater => Self::LessOrEqual,
        }
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::LessOrEqual => "<=",
            Self::Less => "<",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }
}

/// A statement about one marking without Boolean operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// Always or never true.
    Constant(bool),
    /// A comparison of two numbers.
    Compare(CompareOp, IntExpr, IntExpr),
    /// At least one of the transitions is enabled.
    Fireable(Vec<TransitionId>),
    /// No transition is enabled.
    Deadlock,
}

/// A formula of linear temporal logic over [`Atom`]s; without temporal operators, a statement
/// about one marking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// An atom.
    Atom(Atom),
    /// Not.
    Not(Box<Formula>),
    /// All of them.
    And(Vec<Formula>),
    /// At least one of them.
    Or(Vec<Formula>),
    /// In the next marking.
    Next(Box<Formula>),
    /// From now on always.
    Globally(Box<Formula>),
    /// Now or later.
    Finally(Box<Formula>),
    /// The first until the second, which comes.
    Until(Box<Formula>, Box<Formula>),
}

impl Formula {
    /// Not.
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// What it is made of directly.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Atom(_) => Vec::new(),
            Self::Not(inner) | Self::Next(inner) | Self::Globally(inner) | Self::Finally(inner) => {
                vec![inner]
            }
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Until(left, right) => vec![left, right],
        }
    }

    /// The number of operators and atoms.
    pub fn size(&self) -> usize {
        1 + self.parts().into_iter().map(Self::size).sum::<usize>()
    }

    /// The places that it depends on, in order; the inputs of transitions, and what inhibits them, for
    /// those it asks to be fireable.
    pub fn places(&self, net: &Net) -> Vec<PlaceId> {
        let mut places = Vec::new();
        self.collect_places(net, &mut places);
        places.sort_unstable();
        places.dedup();
        places
    }

    fn collect_places(&self, net: &Net, out: &mut Vec<PlaceId>) {
        let inputs = |t: TransitionId| {
            let all = net.pre(t).iter().chain(net.inhibitors(t));
            all.map(|arc| arc.node)
        };
        match self {
            Self::Atom(Atom::Constant(_)) => {}
            Self::Atom(Atom::Compare(_, left, right)) => {
                out.extend(left.places.iter().chain(&right.places));
            }
            Self::Atom(Atom::Fireable(transitions)) => {
                out.extend(transitions.iter().flat_map(|t| inputs(*t)));
            }
            Self::Atom(Atom::Deadlock) => out.extend(net.transitions().flat_map(inputs)),
            _ => {
                let parts = self.parts().into_iter();
                parts.for_each(|part| part.collect_places(net, out));
            }
        }
    }

    /// True if it speaks of one marking only.
    pub fn is_state_formula(&self) -> bool {
        match self {
            Self::Atom(_) => true,
            Self::Not(inner) => inner.is_state_formula(),
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::is_state_formula),
            Self::Next(_) | Self::Globally(_) | Self::Finally(_) | Self::Until(..) => false,
        }
    }

    /// The truth of a state formula in a marking; none if it has temporal operators.
    pub fn holds(&self, net: &Net, marking: &impl Fn(PlaceId) -> Tokens) -> Option<bool> {
        match self {
            Self::Atom(atom) => Some(atom.holds(net, marking)),
            Self::Not(inner) => inner.holds(net, marking).map(|value| !value),
            Self::And(parts) => parts
                .iter()
                .try_fold(true, |all, part| Some(part.holds(net, marking)? && all)),
            Self::Or(parts) => parts
                .iter()
                .try_fold(false, |any, part| Some(part.holds(net, marking)? || any)),
            Self::Next(_) | Self::Globally(_) | Self::Finally(_) | Self::Until(..) => None,
        }
    }

    /// A state formula that holds in a marking that enables a transition exactly if this one holds
    /// after the transition; none if this one is about more than one marking, or about deadlocks.
    pub fn after(&self, net: &Net, transition: TransitionId) -> Option<Self> {
        let all = |parts: &[Self]| -> Option<Vec<Self>> {
            parts.iter().map(|p| p.after(net, transition)).collect()
        };
        Some(match self {
            Self::Atom(Atom::Constant(_)) => self.clone(),
            Self::Atom(Atom::Compare(op, left, right)) => {
                let effect = |place: &PlaceId| -> i64 {
                    let mut effects = net.effects(transition);
                    effects.find(|(p, _)| p == place).map_or(0, |(_, e)| e)
                };
                let change = |sum: &IntExpr| -> i64 { sum.places.iter().map(effect).sum() };
                // What one side loses the other one wins.
                let change = change(left).checked_sub(change(right))?;
                let (mut left, mut right) = (left.clone(), right.clone());
                let side = if change > 0 { &mut left } else { &mut right };
                side.constant = side.constant.checked_add(change.unsigned_abs())?;
                Self::Atom(Atom::Compare(*op, left, right))
            }
            Self::Atom(Atom::Fireable(transitions)) => {
                let enabled = |t: &TransitionId| Self::enabled(net, *t).after(net, transition);
                Self::Or(transitions.iter().map(enabled).collect::<Option<_>>()?)
            }
            Self::Not(inner) => inner.after(net, transition)?.negated(),
            Self::And(parts) => Self::And(all(parts)?),
            Self::Or(parts) => Self::Or(all(parts)?),
            Self::Atom(Atom::Deadlock)
            | Self::Next(_)
            | Self::Globally(_)
            | Self::Finally(_)
            | Self::Until(..) => return None,
        })
    }

    /// That a transition is enabled, as a statement about tokens.
    pub fn enabled(net: &Net, transition: TransitionId) -> Self {
        let compare = |op| {
            move |arc: &Arc<PlaceId>| {
                let tokens = IntExpr::tokens(vec![arc.node]);
                let weight = IntExpr::constant(arc.weight.into());
                Self::Atom(Atom::Compare(op, tokens, weight))
            }
        };
        let enough = net
            .pre(transition)
            .iter()
            .map(compare(CompareOp::GreaterOrEqual));
        let few = net
            .inhibitors(transition)
            .iter()
            .map(compare(CompareOp::Less));
        Self::And(enough.chain(few).collect())
    }

    /// The formula as people write it, with the names of a net.
    pub fn display<'f>(&'f self, net: &'f Net) -> impl fmt::Display + 'f {
        Shown { formula: self, net }
    }
}

impl IntExpr {
    /// A constant.
    pub fn constant(constant: u64) -> Self {
        Self {
            places: Vec::new(),
            constant,
        }
    }

    /// The tokens of some places together.
    pub fn tokens(places: Vec<PlaceId>) -> Self {
        Self {
            places,
            constant: 0,
        }
    }

    /// Adds another number; false, and nothing is right any more, if constants become too large.
    #[must_use]
    pub fn add(&mut self, other: Self) -> bool {
        self.places.extend(other.places);
        let sum = self.constant.checked_add(other.constant);
        self.constant = sum.unwrap_or(u64::MAX);
        sum.is_some()
    }

    /// Its value in a marking.
    pub fn value(&self, marking: &impl Fn(PlaceId) -> Tokens) -> u128 {
        let tokens: u128 = self.places.iter().map(|p| u128::from(marking(*p))).sum();
        tokens + u128::from(self.constant)
    }
}

impl Atom {
    /// Its truth in a marking.
    pub fn holds(&self, net: &Net, marking: &impl Fn(PlaceId) -> Tokens) -> bool {
        let enabled = |t: TransitionId| net.is_enabled(t, marking);
        match self {
            Self::Constant(value) => *value,
            Self::Compare(op, left, right) => op.holds(left.value(marking), right.value(marking)),
            Self::Fireable(transitions) => transitions.iter().any(|t| enabled(*t)),
            Self::Deadlock => !net.transitions().any(enabled),
        }
    }
}

struct Shown<'f> {
    formula: &'f Formula,
    net: &'f Net,
}

impl Shown<'_> {
    fn list(
        &self,
        f: &mut fmt::Formatter<'_>,
        parts: &[Formula],
        operator: &str,
        empty: &str,
    ) -> fmt::Result {
        if parts.is_empty() {
            return f.write_str(empty);
        }
        f.write_str("(")?;
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                write!(f, " {operator} ")?;
            }
            write!(f, "{}", part.display(self.net))?;
        }
        f.write_str(")")
    }

    fn number(&self, f: &mut fmt::Formatter<'_>, number: &IntExpr) -> fmt::Result {
        let mut plus = "";
        for place in &number.places {
            write!(f, "{plus}{}", self.net.place_name(*place))?;
            plus = " + ";
        }
        if number.constant > 0 || number.places.is_empty() {
            write!(f, "{plus}{}", number.constant)?;
        }
        Ok(())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.formula {
            Formula::Atom(Atom::Constant(value)) => write!(f, "{value}"),
            Formula::Atom(Atom::Deadlock) => f.write_str("deadlock"),
            Formula::Atom(Atom::Fireable(transitions)) => {
                f.write_str("fireable(")?;
                for (i, t) in transitions.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", self.net.transition_name(*t))?;
                }
                f.write_str(")")
            }
            Formula::Atom(Atom::Compare(op, left, right)) => {
                self.number(f, left)?;
                write!(f, " {} ", op.symbol())?;
                self.number(f, right)
            }
            Formula::Not(inner) => write!(f, "!({})", inner.display(self.net)),
            Formula::And(parts) => self.list(f, parts, "&&", "true"),
            Formula::Or(parts) => self.list(f, parts, "||", "false"),
            Formula::Next(inner) => write!(f, "X ({})", inner.display(self.net)),
            Formula::Globally(inner) => write!(f, "G ({})", inner.display(self.net)),
            Formula::Finally(inner) => write!(f, "F ({})", inner.display(self.net)),
            Formula::Until(left, right) => {
                write!(
                    f,
                    "(({}) U ({}))",
                    left.display(self.net),
                    right.display(self.net)
                )
            }
        }
    }
}
