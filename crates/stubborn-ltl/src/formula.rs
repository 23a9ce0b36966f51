//! LTL formulas as people write them.
//!
//! Formulas live in a [`Formulas`] arena and are hash-consed: equal formulas are
//! equal [`Formula`] handles, shared subformulas are stored once, and operands always
//! have smaller handles than the formulas built from them, so a pass over a formula
//! is a loop over [`Formulas::subformulas`]. Simplification and translation use a
//! second, normalised language ([`crate::normal`]).

use rapidhash::RapidHashMap;

/// An atomic proposition: its index among the propositions of a [`Formulas`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Proposition(pub u32);

/// A formula of a [`Formulas`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Formula(u32);

/// The outermost operator of a formula, with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Always true.
    True,
    /// Never true.
    False,
    /// True where the proposition is.
    Atom(Proposition),
    /// Negation.
    Not(Formula),
    /// Conjunction.
    And(Formula, Formula),
    /// Disjunction.
    Or(Formula, Formula),
    /// Implication.
    Implies(Formula, Formula),
    /// Equivalence.
    Iff(Formula, Formula),
    /// Exclusive disjunction.
    Xor(Formula, Formula),
    /// In the next position.
    Next(Formula),
    /// Now or later.
    Finally(Formula),
    /// Now and always.
    Globally(Formula),
    /// The right operand comes, and the left one holds until then.
    Until(Formula, Formula),
    /// The left operand holds until the right one comes, or for ever.
    WeakUntil(Formula, Formula),
    /// The right operand holds up to and including the first position of the left one, or for ever.
    Release(Formula, Formula),
    /// Like release, and the left operand comes.
    StrongRelease(Formula, Formula),
}

impl Node {
    /// The operands, from left to right.
    pub fn operands(self) -> impl DoubleEndedIterator<Item = Formula> {
        let (first, second) = match self {
            Node::True | Node::False | Node::Atom(_) => (None, None),
            Node::Not(f) | Node::Next(f) | Node::Finally(f) | Node::Globally(f) => (Some(f), None),
            Node::And(f, g)
            | Node::Or(f, g)
            | Node::Implies(f, g)
            | Node::Iff(f, g)
            | Node::Xor(f, g)
            | Node::Until(f, g)
            | Node::WeakUntil(f, g)
            | Node::Release(f, g)
            | Node::StrongRelease(f, g) => (Some(f), Some(g)),
        };
        first.into_iter().chain(second)
    }

    /// The operator with other operands, made of its own from left to right.
    #[must_use]
    pub fn map(self, mut other: impl FnMut(Formula) -> Formula) -> Self {
        match self {
            Node::True | Node::False | Node::Atom(_) => self,
            Node::Not(f) => Node::Not(other(f)),
            Node::Next(f) => Node::Next(other(f)),
            Node::Finally(f) => Node::Finally(other(f)),
            Node::Globally(f) => Node::Globally(other(f)),
            Node::And(f, g) => Node::And(other(f), other(g)),
            Node::Or(f, g) => Node::Or(other(f), other(g)),
            Node::Implies(f, g) => Node::Implies(other(f), other(g)),
            Node::Iff(f, g) => Node::Iff(other(f), other(g)),
            Node::Xor(f, g) => Node::Xor(other(f), other(g)),
            Node::Until(f, g) => Node::Until(other(f), other(g)),
            Node::WeakUntil(f, g) => Node::WeakUntil(other(f), other(g)),
            Node::Release(f, g) => Node::Release(other(f), other(g)),
            Node::StrongRelease(f, g) => Node::StrongRelease(other(f), other(g)),
        }
    }
}

/// An arena of formulas and the names of their propositions.
#[derive(Clone, Debug, Default)]
pub struct Formulas {
    nodes: Vec<Node>,
    depths: Vec<u32>,
    known: RapidHashMap<Node, Formula>,
    names: Vec<String>,
    named: RapidHashMap<String, Proposition>,
}

impl Formulas {
    /// An empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    /// The formula with this outermost operator.
    pub fn make(&mut self, node: Node) -> Formula {
        if let Some(formula) = self.known.get(&node) {
            return *formula;
        }
        let depth = node
            .operands()
            .map(|f| self.depth(f) + 1)
            .max()
            .unwrap_or(0);
        let formula = Formula(self.nodes.len() as u32);
        self.nodes.push(node);
        self.depths.push(depth);
        self.known.insert(node, formula);
        formula
    }

    /// The outermost operator.
    pub fn node(&self, formula: Formula) -> Node {
        self.nodes[formula.0 as usize]
    }

    /// Longest chain of operands below the formula.
    pub fn depth(&self, formula: Formula) -> u32 {
        self.depths[formula.0 as usize]
    }

    /// The proposition of that name, new or known.
    pub fn proposition(&mut self, name: &str) -> Proposition {
        if let Some(proposition) = self.named.get(name) {
            return *proposition;
        }
        let proposition = Proposition(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.named.insert(name.to_owned(), proposition);
        proposition
    }

    /// The name of a proposition.
    pub fn name(&self, proposition: Proposition) -> &str {
        &self.names[proposition.0 as usize]
    }

    /// The names of all propositions, by index.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The formula that is true where the named proposition is.
    pub fn atom(&mut self, name: &str) -> Formula {
        let proposition = self.proposition(name);
        self.make(Node::Atom(proposition))
    }

    /// The constant.
    pub fn constant(&mut self, value: bool) -> Formula {
        self.make(if value { Node::True } else { Node::False })
    }

    /// Negation; a negation below is removed instead of doubled.
    pub fn not(&mut self, formula: Formula) -> Formula {
        match self.node(formula) {
            Node::Not(inner) => inner,
            _ => self.make(Node::Not(formula)),
        }
    }

    /// The formula and all its subformulas, each once, operands first.
    pub fn subformulas(&self, formula: Formula) -> Vec<Formula> {
        let mut found = vec![false; formula.0 as usize + 1];
        found[formula.0 as usize] = true;
        for index in (0..=formula.0 as usize).rev() {
            if found[index] {
                for operand in self.nodes[index].operands() {
                    found[operand.0 as usize] = true;
                }
            }
        }
        (0..=formula.0)
            .filter(|i| found[*i as usize])
            .map(Formula)
            .collect()
    }

    /// The propositions that occur in the formula, ascending.
    pub fn propositions(&self, formula: Formula) -> Vec<Proposition> {
        let mut all: Vec<Proposition> = self
            .subformulas(formula)
            .into_iter()
            .filter_map(|f| match self.node(f) {
                Node::Atom(proposition) => Some(proposition),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether no `X` occurs: such a formula cannot tell stuttering apart.
    pub fn is_next_free(&self, formula: Formula) -> bool {
        !self
            .subformulas(formula)
            .iter()
            .any(|f| matches!(self.node(*f), Node::Next(_)))
    }

    /// Negation normal form: only `&`, `|` and the temporal operators, negation only
    /// in front of propositions. Implications and equivalences are spelt out, which
    /// can double the formula at each nested equivalence; subformulas stay shared.
    pub fn negation_normal_form(&mut self, formula: Formula) -> Formula {
        let mut positive: RapidHashMap<Formula, Formula> = RapidHashMap::default();
        let mut negative: RapidHashMap<Formula, Formula> = RapidHashMap::default();
        for part in self.subformulas(formula) {
            let (yes, no) = match self.node(part) {
                Node::True => (part, self.constant(false)),
                Node::False => (part, self.constant(true)),
                Node::Atom(_) => (part, self.not(part)),
                Node::Not(f) => (negative[&f], positive[&f]),
                Node::And(f, g) => (
                    self.make(Node::And(positive[&f], positive[&g])),
                    self.make(Node::Or(negative[&f], negative[&g])),
                ),
                Node::Or(f, g) => (
                    self.make(Node::Or(positive[&f], positive[&g])),
                    self.make(Node::And(negative[&f], negative[&g])),
                ),
                Node::Implies(f, g) => (
                    self.make(Node::Or(negative[&f], positive[&g])),
                    self.make(Node::And(positive[&f], negative[&g])),
                ),
                Node::Iff(f, g) | Node::Xor(f, g) => {
                    let both = self.make(Node::And(positive[&f], positive[&g]));
                    let none = self.make(Node::And(negative[&f], negative[&g]));
                    let same = self.make(Node::Or(both, none));
                    let left = self.make(Node::And(positive[&f], negative[&g]));
                    let right = self.make(Node::And(negative[&f], positive[&g]));
                    let differ = self.make(Node::Or(left, right));
                    if matches!(self.node(part), Node::Iff(..)) {
                        (same, differ)
                    } else {
                        (differ, same)
                    }
                }
                Node::Next(f) => (
                    self.make(Node::Next(positive[&f])),
                    self.make(Node::Next(negative[&f])),
                ),
                Node::Finally(f) => (
                    self.make(Node::Finally(positive[&f])),
                    self.make(Node::Globally(negative[&f])),
                ),
                Node::Globally(f) => (
                    self.make(Node::Globally(positive[&f])),
                    self.make(Node::Finally(negative[&f])),
                ),
                Node::Until(f, g) => (
                    self.make(Node::Until(positive[&f], positive[&g])),
                    self.make(Node::Release(negative[&f], negative[&g])),
                ),
                Node::Release(f, g) => (
                    self.make(Node::Release(positive[&f], positive[&g])),
                    self.make(Node::Until(negative[&f], negative[&g])),
                ),
                Node::WeakUntil(f, g) => (
                    self.make(Node::WeakUntil(positive[&f], positive[&g])),
                    self.make(Node::StrongRelease(negative[&f], negative[&g])),
                ),
                Node::StrongRelease(f, g) => (
                    self.make(Node::StrongRelease(positive[&f], positive[&g])),
                    self.make(Node::WeakUntil(negative[&f], negative[&g])),
                ),
            };
            positive.insert(part, yes);
            negative.insert(part, no);
        }
        positive[&formula]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_formulas_are_shared() {
        let mut formulas = Formulas::new();
        let (p, q) = (formulas.atom("p"), formulas.atom("q"));
        let first = formulas.make(Node::Until(p, q));
        let second = formulas.make(Node::Until(p, q));
        assert_eq!(first, second);
        assert_eq!(formulas.subformulas(first), [p, q, first]);
        assert!(formulas.is_next_free(first));
        assert_eq!(formulas.depth(first), 1);
    }

    #[test]
    fn negation_moves_to_the_atoms() {
        let mut formulas = Formulas::new();
        let (p, q) = (formulas.atom("p"), formulas.atom("q"));
        let until = formulas.make(Node::Until(p, q));
        let negated = formulas.not(until);
        let normal = formulas.negation_normal_form(negated);
        let (not_p, not_q) = (formulas.not(p), formulas.not(q));
        assert_eq!(formulas.node(normal), Node::Release(not_p, not_q));
    }
}
