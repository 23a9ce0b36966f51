//! Claims about runs, and the statements about single markings that they are made of.

use stubborn_net::{Branching, Formula};

/// A formula that the initial marking, or every path from it, should satisfy.
pub(crate) struct Claim<F> {
    pub(crate) id: String,
    pub(crate) formula: F,
}

/// A formula about runs.
pub(crate) trait Temporal: Sized {
    /// Itself, if it speaks of one marking.
    fn statement(&self) -> Option<&Formula>;
    /// What it is made of directly.
    fn parts(&self) -> Vec<&Self>;
}

impl Temporal for Formula {
    fn statement(&self) -> Option<&Formula> {
        self.is_state_formula().then_some(self)
    }

    fn parts(&self) -> Vec<&Self> {
        self.parts()
    }
}

impl Temporal for Branching {
    fn statement(&self) -> Option<&Formula> {
        match self {
            Self::State(statement) => Some(statement),
            _ => None,
        }
    }

    fn parts(&self) -> Vec<&Self> {
        self.parts()
    }
}

impl<F: Temporal> Claim<F> {
    /// The largest parts that speak of one marking, each once.
    pub(crate) fn statements(&self) -> Vec<&Formula> {
        let mut found = Vec::new();
        let mut open = vec![&self.formula];
        while let Some(part) = open.pop() {
            match part.statement() {
                Some(statement) if found.contains(&statement) => {}
                Some(statement) => found.push(statement),
                None => open.extend(part.parts().into_iter().rev()),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use stubborn_net::Atom;

    use super::*;

    /// What is said of one marking is not taken apart, and said once.
    #[test]
    fn statements_are_as_large_as_they_can_be() {
        let holds = |value| Formula::Atom(Atom::Constant(value));
        let both = Formula::And(vec![holds(true), holds(false)]);
        let next = |formula: &Formula| Formula::Next(Box::new(formula.clone()));
        let formula = Formula::Or(vec![
            Formula::Until(Box::new(both.clone()), Box::new(next(&holds(true)))),
            next(&both),
            holds(false),
        ]);
        let of = |formula: Formula| Claim {
            id: "claim".into(),
            formula,
        };
        let claim = of(formula);
        assert_eq!(claim.statements(), [&both, &holds(true), &holds(false)]);
        assert_eq!(of(both.clone()).statements(), [&both]);
    }
}
