//! Formulas, hash-consed and made smaller on the way.
//!
//! All operators are made of `EX`, `EU` and `AU`: `AX f` is `¬EX ¬f`, `AG f` is `¬EF ¬f`, `EG f` is
//! `¬AF ¬f`. What the constructors rewrite holds for maximal runs, finite ones included; most of it is
//! in Bønneland, Dyhr, Jensen, Johannsen and Srba, "Simplification of CTL formulae for efficient
//! model checking of Petri nets" (2018): whatever leads to `EF f` has it already, so
//! `E(g U EF f)`, `AF EF f` and so on are `EF f`. That a state has a successor, `EX true`, cannot come
//! later than now either: a run that waits for it ends where it does not hold.

use std::fmt;

use rapidhash::RapidHashMap;

/// A formula of a [`Formulas`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Formula(pub(crate) u32);

/// The outermost operator of a formula, with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Always or never true.
    Constant(bool),
    /// True where the proposition of this number is.
    Atom(u32),
    /// Negation.
    Not(Formula),
    /// Conjunction.
    And(Formula, Formula),
    /// Disjunction.
    Or(Formula, Formula),
    /// Some successor satisfies it.
    ExistsNext(Formula),
    /// On some run the second comes, and the first holds until then.
    ExistsUntil(Formula, Formula),
    /// On every run the second comes, and the first holds until then.
    AllUntil(Formula, Formula),
}

/// An arena of formulas and the names of their propositions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formulas {
    nodes: Vec<Node>,
    /// How deeply temporal operators nest.
    depths: Vec<u32>,
    known: RapidHashMap<Node, Formula>,
    names: Vec<String>,
}

impl Formulas {
    /// An empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    /// The outermost operator.
    pub fn node(&self, formula: Formula) -> Node {
        self.nodes[formula.0 as usize]
    }

    /// How deeply temporal operators nest; 0 for a statement about one state.
    pub fn depth(&self, formula: Formula) -> u32 {
        self.depths[formula.0 as usize]
    }

    /// The names of the propositions.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers of the propositions of a formula, and whether it speaks of next states.
    pub fn propositions(&self, formula: Formula) -> (Vec<u32>, bool) {
        let mut seen = vec![false; self.nodes.len()];
        let (mut atoms, mut next) = (Vec::new(), false);
        let mut open = vec![formula];
        while let Some(formula) = open.pop() {
            if std::mem::replace(&mut seen[formula.0 as usize], true) {
                continue;
            }
            match self.node(formula) {
                Node::Constant(_) => {}
                Node::Atom(number) => atoms.push(number),
                Node::Not(f) => open.push(f),
                Node::ExistsNext(f) => {
                    next = true;
                    open.push(f);
                }
                Node::And(f, g)
                | Node::Or(f, g)
                | Node::ExistsUntil(f, g)
                | Node::AllUntil(f, g) => open.extend([f, g]),
            }
        }
        atoms.sort_unstable();
        (atoms, next)
    }

    /// Whether a formula is, or has as a part, another one.
    pub fn contains(&self, formula: Formula, part: Formula) -> bool {
        let any_of = |parts: &[Formula]| parts.iter().any(|f| self.contains(*f, part));
        formula == part
            || match self.node(formula) {
                Node::Constant(_) | Node::Atom(_) => false,
                Node::Not(f) | Node::ExistsNext(f) => any_of(&[f]),
                Node::And(f, g)
                | Node::Or(f, g)
                | Node::ExistsUntil(f, g)
                | Node::AllUntil(f, g) => any_of(&[f, g]),
            }
    }

    /// The formulas of the arena, operands before what is made of them.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn make(&mut self, node: Node) -> Formula {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let depth = match node {
            Node::Constant(_) | Node::Atom(_) => 0,
            Node::Not(f) => self.depth(f),
            Node::And(f, g) | Node::Or(f, g) => self.depth(f).max(self.depth(g)),
            Node::ExistsNext(f) => self.depth(f) + 1,
            Node::ExistsUntil(f, g) | Node::AllUntil(f, g) => self.depth(f).max(self.depth(g)) + 1,
        };
        let formula = Formula(self.nodes.len() as u32);
        self.nodes.push(node);
        self.depths.push(depth);
        self.known.insert(node, formula);
        formula
    }

    /// Always or never true.
    pub fn constant(&mut self, value: bool) -> Formula {
        self.make(Node::Constant(value))
    }

    /// True where the named proposition is.
    pub fn atom(&mut self, name: &str) -> Formula {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.make(Node::Atom(number as u32))
    }

    /// Not.
    pub fn not(&mut self, formula: Formula) -> Formula {
        match self.node(formula) {
            Node::Constant(value) => self.constant(!value),
            Node::Not(inner) => inner,
            _ => self.make(Node::Not(formula)),
        }
    }

    /// Both.
    pub fn and(&mut self, left: Formula, right: Formula) -> Formula {
        match (self.node(left), self.node(right)) {
            (Node::Constant(true), _) => right,
            (_, Node::Constant(true)) => left,
            (Node::Constant(false), _) | (_, Node::Constant(false)) => self.constant(false),
            _ if left == right => left,
            _ if self.are_opposite(left, right) || self.are_at_odds(left, right) => {
                self.constant(false)
            }
            _ => self.make(Node::And(left, right)),
        }
    }

    /// At least one.
    pub fn or(&mut self, left: Formula, right: Formula) -> Formula {
        match (self.node(left), self.node(right)) {
            (Node::Constant(false), _) => right,
            (_, Node::Constant(false)) => left,
            (Node::Constant(true), _) | (_, Node::Constant(true)) => self.constant(true),
            _ if left == right => left,
            _ if self.are_opposite(left, right) => self.constant(true),
            _ => self.make(Node::Or(left, right)),
        }
    }

    fn are_opposite(&self, left: Formula, right: Formula) -> bool {
        self.node(left) == Node::Not(right) || self.node(right) == Node::Not(left)
    }

    /// The first implies the second.
    pub fn implies(&mut self, left: Formula, right: Formula) -> Formula {
        let not = self.not(left);
        self.or(not, right)
    }

    /// Both or none.
    pub fn equivalent(&mut self, left: Formula, right: Formula) -> Formula {
        let (there, back) = (self.implies(left, right), self.implies(right, left));
        self.and(there, back)
    }

    /// `EX f`: some successor satisfies it.
    pub fn exists_next(&mut self, formula: Formula) -> Formula {
        match self.node(formula) {
            Node::Constant(false) => formula,
            _ => self.make(Node::ExistsNext(formula)),
        }
    }

    /// `AX f`: all successors satisfy it.
    pub fn all_next(&mut self, formula: Formula) -> Formula {
        let not = self.not(formula);
        let next = self.exists_next(not);
        self.not(next)
    }

    /// `E (f U g)`.
    pub fn exists_until(&mut self, before: Formula, reach: Formula) -> Formula {
        match (self.node(before), self.node(reach)) {
            (_, Node::Constant(_)) | (Node::Constant(false), _) => reach,
            // Something that leads to f leads to where f is in reach, and the other way round.
            (Node::Constant(true), Node::ExistsUntil(_, inner) | Node::AllUntil(_, inner)) => {
                self.exists_until(before, inner)
            }
            _ if self.is_now(reach) => reach,
            (_, Node::Or(a, b)) if self.is_now(a) || self.is_now(b) => {
                let (reached, rest) = if self.is_now(a) { (a, b) } else { (b, a) };
                let rest = self.exists_until(before, rest);
                self.or(reached, rest)
            }
            _ => self.make(Node::ExistsUntil(before, reach)),
        }
    }

    /// `A (f U g)`.
    pub fn all_until(&mut self, before: Formula, reach: Formula) -> Formula {
        match (self.node(before), self.node(reach)) {
            (_, Node::Constant(_)) | (Node::Constant(false), _) => reach,
            (Node::Constant(true), Node::AllUntil(_, inner)) => self.all_until(before, inner),
            _ if self.is_now(reach) => reach,
            (_, Node::Or(a, b)) if self.is_now(a) || self.is_now(b) => {
                let (reached, rest) = if self.is_now(a) { (a, b) } else { (b, a) };
                let rest = self.all_until(before, rest);
                self.or(reached, rest)
            }
            _ => self.make(Node::AllUntil(before, reach)),
        }
    }

    /// Whether it is `EF f`: if it holds later, it holds now.
    fn is_in_reach(&self, formula: Formula) -> bool {
        self.reachable(formula).is_some()
    }

    /// Whether it holds now if it holds later: `EF f`, or that there is a successor.
    fn is_now(&self, formula: Formula) -> bool {
        let is_next = |inner| self.node(inner) == Node::Constant(true);
        self.is_in_reach(formula) || matches!(self.node(formula), Node::ExistsNext(f) if is_next(f))
    }

    /// Whether one says that some successor satisfies something, and the other that there is none.
    fn are_at_odds(&self, left: Formula, right: Formula) -> bool {
        let is_next = |f| matches!(self.node(f), Node::ExistsNext(_));
        let is_end = |f| match self.node(f) {
            Node::Not(inner) => self.is_now(inner) && is_next(inner),
            _ => false,
        };
        is_next(left) && is_end(right) || is_end(left) && is_next(right)
    }

    /// The `f` of `EF f`.
    pub fn reachable(&self, formula: Formula) -> Option<Formula> {
        match self.node(formula) {
            Node::ExistsUntil(before, reach) if self.node(before) == Node::Constant(true) => {
                Some(reach)
            }
            _ => None,
        }
    }

    /// `EF f`: some run reaches it.
    pub fn exists_finally(&mut self, formula: Formula) -> Formula {
        let any = self.constant(true);
        self.exists_until(any, formula)
    }

    /// `AF f`: every run reaches it.
    pub fn all_finally(&mut self, formula: Formula) -> Formula {
        let any = self.constant(true);
        self.all_until(any, formula)
    }

    /// `EG f`: it holds on some whole run.
    pub fn exists_globally(&mut self, formula: Formula) -> Formula {
        let not = self.not(formula);
        let left = self.all_finally(not);
        self.not(left)
    }

    /// `AG f`: it holds wherever a run may come.
    pub fn all_globally(&mut self, formula: Formula) -> Formula {
        let not = self.not(formula);
        let left = self.exists_finally(not);
        self.not(left)
    }

    /// `E (f W g)`: as until, or the first holds for ever.
    pub fn exists_weak_until(&mut self, before: Formula, reach: Formula) -> Formula {
        let (f, g) = (self.not(before), self.not(reach));
        let both = self.and(f, g);
        let fails = self.all_until(g, both);
        self.not(fails)
    }

    /// `A (f W g)`.
    pub fn all_weak_until(&mut self, before: Formula, reach: Formula) -> Formula {
        let (f, g) = (self.not(before), self.not(reach));
        let both = self.and(f, g);
        let fails = self.exists_until(g, both);
        self.not(fails)
    }

    /// `E (f R g)`: the second holds up to and with the first, or for ever.
    pub fn exists_release(&mut self, first: Formula, second: Formula) -> Formula {
        let (f, g) = (self.not(first), self.not(second));
        let fails = self.all_until(f, g);
        self.not(fails)
    }

    /// `A (f R g)`.
    pub fn all_release(&mut self, first: Formula, second: Formula) -> Formula {
        let (f, g) = (self.not(first), self.not(second));
        let fails = self.exists_until(f, g);
        self.not(fails)
    }

    /// The formula as people write it.
    pub fn display(&self, formula: Formula) -> impl fmt::Display + '_ {
        Shown {
            formulas: self,
            formula,
            negated: false,
        }
    }
}

/// A formula, or its negation, without `¬EF ¬` and the like.
#[derive(Clone, Copy)]
struct Shown<'f> {
    formulas: &'f Formulas,
    formula: Formula,
    negated: bool,
}

impl Shown<'_> {
    fn of(self, formula: Formula, negated: bool) -> Self {
        Self {
            formula,
            negated,
            ..self
        }
    }

    /// As an operand of something.
    fn operand(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.formulas.node(self.formula) {
            Node::Not(inner) => self.of(inner, !self.negated).operand(f),
            Node::And(..) | Node::Or(..) => write!(f, "({self})"),
            _ => write!(f, "{self}"),
        }
    }

    fn joined(
        self,
        f: &mut fmt::Formatter<'_>,
        left: Formula,
        operator: &str,
        right: Formula,
    ) -> fmt::Result {
        self.of(left, self.negated).operand(f)?;
        write!(f, " {operator} ")?;
        self.of(right, self.negated).operand(f)
    }

    fn prefixed(self, f: &mut fmt::Formatter<'_>, operator: &str, inner: Formula) -> fmt::Result {
        write!(f, "{operator} ")?;
        self.of(inner, self.negated).operand(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_true = |g: Formula| self.formulas.node(g) == Node::Constant(true);
        let until = |quantifier: &str, f: &mut fmt::Formatter<'_>, a: Formula, b: Formula| {
            let not = if self.negated { "!" } else { "" };
            write!(f, "{not}{quantifier} (")?;
            self.of(a, false).operand(f)?;
            f.write_str(" U ")?;
            self.of(b, false).operand(f)?;
            f.write_str(")")
        };
        match self.formulas.node(self.formula) {
            Node::Constant(value) => write!(f, "{}", value != self.negated),
            Node::Atom(number) => {
                let name = &self.formulas.names[number as usize];
                let word = name
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_.[]".contains(c));
                match (self.negated, word) {
                    (false, _) => f.write_str(name),
                    (true, true) => write!(f, "!{name}"),
                    (true, false) => write!(f, "!({name})"),
                }
            }
            Node::Not(inner) => self.of(inner, !self.negated).fmt(f),
            Node::And(a, b) => self.joined(f, a, if self.negated { "||" } else { "&&" }, b),
            Node::Or(a, b) => self.joined(f, a, if self.negated { "&&" } else { "||" }, b),
            Node::ExistsNext(inner) => {
                self.prefixed(f, if self.negated { "AX" } else { "EX" }, inner)
            }
            Node::ExistsUntil(a, b) if is_true(a) => {
                self.prefixed(f, if self.negated { "AG" } else { "EF" }, b)
            }
            Node::AllUntil(a, b) if is_true(a) => {
                self.prefixed(f, if self.negated { "EG" } else { "AF" }, b)
            }
            Node::ExistsUntil(a, b) => until("E", f, a, b),
            Node::AllUntil(a, b) => until("A", f, a, b),
        }
    }
}
