//! The normalised formulas that simplification and translation work on.
//!
//! Negation normal form over *letters*: every purely Boolean subformula is one
//! [`Guard`], so Boolean reasoning is exact and costs nothing extra. Conjunctions and
//! disjunctions have any number of operands, sorted, without nesting. Constructors
//! simplify (see file `rewrite.rs`), so a formula that exists is already simplified.
//!
//! Each formula knows whether it is *eventual* (true after any prefix if true: `f`
//! equals `F f`) and *universal* (true for ever once true: `f` equals `G f`), after
//! Etessami and Holzmann, "Optimizing Büchi automata" (2000), and Babiak, Křetínský,
//! Řehák, Strejček, "LTL to Büchi automata translation: fast and more deterministic"
//! (2012). The rules are syntactic and each has its reason beside it.

use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::formula::{Formula, Formulas, Node, Proposition};
use crate::guard::{Guard, Guards};

/// A normalised formula of a [`Normals`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Normal(pub(crate) u32);

/// The outermost operator of a normalised formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A Boolean function of the current letter, constants included.
    Letter(Guard),
    /// Conjunction of at least two formulas.
    And(Arc<[Normal]>),
    /// Disjunction of at least two formulas.
    Or(Arc<[Normal]>),
    /// In the next position.
    Next(Normal),
    /// Now or later.
    Finally(Normal),
    /// Now and always.
    Globally(Normal),
    /// Left until right, and right comes.
    Until(Normal, Normal),
    /// Left until right, or left for ever.
    WeakUntil(Normal, Normal),
    /// Right up to and including the first left, or for ever.
    Release(Normal, Normal),
    /// Right up to and including the first left, which comes.
    StrongRelease(Normal, Normal),
}

#[derive(Clone, Copy, Debug)]
struct Facts {
    eventual: bool,
    universal: bool,
    depth: u32,
}

/// An arena of normalised formulas with the guards of their letters.
#[derive(Clone, Debug)]
pub struct Normals {
    /// The arena of the letters.
    pub guards: Guards,
    kinds: Vec<Kind>,
    facts: Vec<Facts>,
    known: RapidHashMap<Kind, Normal>,
    negations: RapidHashMap<Normal, Normal>,
    pub(crate) implications: RapidHashMap<(Normal, Normal), bool>,
}

impl Default for Normals {
    fn default() -> Self {
        Self::new()
    }
}

impl Normals {
    /// The constant false.
    pub const FALSE: Normal = Normal(0);
    /// The constant true.
    pub const TRUE: Normal = Normal(1);

    /// An arena with the two constants.
    pub fn new() -> Self {
        let mut normals = Self {
            guards: Guards::new(),
            kinds: Vec::new(),
            facts: Vec::new(),
            known: RapidHashMap::default(),
            negations: RapidHashMap::default(),
            implications: RapidHashMap::default(),
        };
        normals.intern(Kind::Letter(Guard::FALSE));
        normals.intern(Kind::Letter(Guard::TRUE));
        normals
    }

    /// Number of formulas.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether only the constants exist.
    pub fn is_empty(&self) -> bool {
        self.kinds.len() == 2
    }

    /// The outermost operator.
    pub fn kind(&self, formula: Normal) -> &Kind {
        &self.kinds[formula.0 as usize]
    }

    /// The guard, if the formula is purely Boolean.
    pub fn as_letter(&self, formula: Normal) -> Option<Guard> {
        match self.kind(formula) {
            Kind::Letter(guard) => Some(*guard),
            _ => None,
        }
    }

    /// Whether the formula equals `F` of itself.
    pub fn is_eventual(&self, formula: Normal) -> bool {
        self.facts[formula.0 as usize].eventual
    }

    /// Whether the formula equals `G` of itself.
    pub fn is_universal(&self, formula: Normal) -> bool {
        self.facts[formula.0 as usize].universal
    }

    /// Whether the formula has the same value in all positions of a word.
    pub fn is_constant_in_time(&self, formula: Normal) -> bool {
        self.is_eventual(formula) && self.is_universal(formula)
    }

    /// Longest chain of operands below the formula.
    pub fn depth(&self, formula: Normal) -> u32 {
        self.facts[formula.0 as usize].depth
    }

    /// A purely Boolean formula.
    pub fn letter(&mut self, guard: Guard) -> Normal {
        self.intern(Kind::Letter(guard))
    }

    /// The formula of that shape, without any simplification.
    pub(crate) fn intern(&mut self, kind: Kind) -> Normal {
        if let Some(formula) = self.known.get(&kind) {
            return *formula;
        }
        let facts = self.facts_of(&kind);
        let formula = Normal(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.facts.push(facts);
        self.known.insert(kind, formula);
        formula
    }

    fn facts_of(&self, kind: &Kind) -> Facts {
        let ev = |f: &Normal| self.is_eventual(*f);
        let un = |f: &Normal| self.is_universal(*f);
        let deep = |f: &Normal| self.depth(*f) + 1;
        let (eventual, universal, depth) = match kind {
            Kind::Letter(guard) => {
                let constant = guard.is_true() || guard.is_false();
                (constant, constant, 0)
            }
            Kind::And(parts) | Kind::Or(parts) => (
                parts.iter().all(ev),
                parts.iter().all(un),
                parts.iter().map(deep).max().unwrap_or(0),
            ),
            Kind::Next(f) => (ev(f), un(f), deep(f)),
            Kind::Finally(f) => (true, un(f), deep(f)),
            Kind::Globally(f) => (ev(f), true, deep(f)),
            // Once `g` has come it stays; before that every suffix still waits for it.
            Kind::Until(f, g) => (ev(g), un(g), deep(f).max(deep(g))),
            // A prefix must not break the left operand either.
            Kind::WeakUntil(f, g) => (ev(f) && ev(g), un(g), deep(f).max(deep(g))),
            // `f R g` is `g & (f | X(f R g))`: only `g` is asked of a new first position.
            Kind::Release(f, g) => (ev(g), un(g), deep(f).max(deep(g))),
            Kind::StrongRelease(f, g) => (ev(g), un(f) && un(g), deep(f).max(deep(g))),
        };
        Facts {
            eventual,
            universal,
            depth,
        }
    }

    /// The negation, again normalised.
    pub fn negate(&mut self, formula: Normal) -> Normal {
        if let Some(known) = self.negations.get(&formula) {
            return *known;
        }
        let result = match self.kind(formula).clone() {
            Kind::Letter(guard) => {
                let negated = self.guards.not(guard);
                self.letter(negated)
            }
            Kind::And(parts) => {
                let parts = parts.iter().map(|part| self.negate(*part)).collect();
                self.or(parts)
            }
            Kind::Or(parts) => {
                let parts = parts.iter().map(|part| self.negate(*part)).collect();
                self.and(parts)
            }
            Kind::Next(f) => {
                let f = self.negate(f);
                self.next(f)
            }
            Kind::Finally(f) => {
                let f = self.negate(f);
                self.globally(f)
            }
            Kind::Globally(f) => {
                let f = self.negate(f);
                self.finally(f)
            }
            Kind::Until(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.release(f, g)
            }
            Kind::Release(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.until(f, g)
            }
            Kind::WeakUntil(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.strong_release(f, g)
            }
            Kind::StrongRelease(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.weak_until(f, g)
            }
        };
        self.negations.insert(formula, result);
        self.negations.entry(result).or_insert(formula);
        result
    }

    /// Normalises and simplifies; `variable` numbers the propositions.
    ///
    /// # Errors
    /// [`TooDeep`] where the formula nests deeper than [`Normals::MAX_DEPTH`].
    pub fn add(
        &mut self,
        formulas: &Formulas,
        formula: Formula,
        variable: impl Fn(Proposition) -> u32,
    ) -> Result<Normal, TooDeep> {
        let mut done: RapidHashMap<Formula, Normal> = RapidHashMap::default();
        for part in parts_without_chains(formulas, formula) {
            let result = match formulas.node(part) {
                Node::True => Self::TRUE,
                Node::False => Self::FALSE,
                Node::Atom(proposition) => {
                    let guard = self.guards.variable(variable(proposition));
                    self.letter(guard)
                }
                Node::Not(f) => self.negate(done[&f]),
                Node::And(..) => {
                    let parts = chain(formulas, part)
                        .into_iter()
                        .map(|f| done[&f])
                        .collect();
                    self.and(parts)
                }
                Node::Or(..) => {
                    let parts = chain(formulas, part)
                        .into_iter()
                        .map(|f| done[&f])
                        .collect();
                    self.or(parts)
                }
                Node::Implies(f, g) => {
                    let not_f = self.negate(done[&f]);
                    self.or(vec![not_f, done[&g]])
                }
                Node::Iff(f, g) => {
                    let not_g = self.negate(done[&g]);
                    self.differ(done[&f], not_g)
                }
                Node::Xor(f, g) => self.differ(done[&f], done[&g]),
                Node::Next(f) => self.next(done[&f]),
                Node::Finally(f) => self.finally(done[&f]),
                Node::Globally(f) => self.globally(done[&f]),
                Node::Until(f, g) => self.until(done[&f], done[&g]),
                Node::WeakUntil(f, g) => self.weak_until(done[&f], done[&g]),
                Node::Release(f, g) => self.release(done[&f], done[&g]),
                Node::StrongRelease(f, g) => self.strong_release(done[&f], done[&g]),
            };
            if self.depth(result) > Self::MAX_DEPTH {
                return Err(TooDeep);
            }
            done.insert(part, result);
        }
        Ok(done[&formula])
    }

    /// Deepest nesting that is normalised: functions on formulas recurse.
    pub const MAX_DEPTH: u32 = 600;

    fn differ(&mut self, f: Normal, g: Normal) -> Normal {
        if let (Some(a), Some(b)) = (self.as_letter(f), self.as_letter(g)) {
            let guard = self.guards.xor(a, b);
            return self.letter(guard);
        }
        let (not_f, not_g) = (self.negate(f), self.negate(g));
        let left = self.and(vec![f, not_g]);
        let right = self.and(vec![not_f, g]);
        self.or(vec![left, right])
    }

    /// A Boolean function as a formula: a sum of products, or nested case distinctions
    /// (which share their parts in the arena) where that would be very long.
    fn letter_formula(
        &mut self,
        guard: Guard,
        formulas: &mut Formulas,
        proposition: &impl Fn(u32) -> Proposition,
        done: &mut RapidHashMap<Guard, Formula>,
    ) -> Formula {
        if let Some(known) = done.get(&guard) {
            return *known;
        }
        let Some(cubes) = self.guards.cubes(guard, MAX_PRODUCTS) else {
            let Some((variable, low, high)) = self.guards.decision(guard) else {
                return formulas.constant(guard.is_true());
            };
            let low = self.letter_formula(low, formulas, proposition, done);
            let high = self.letter_formula(high, formulas, proposition, done);
            let atom = formulas.make(Node::Atom(proposition(variable)));
            let not_atom = formulas.not(atom);
            let on = formulas.make(Node::And(atom, high));
            let off = formulas.make(Node::And(not_atom, low));
            let formula = formulas.make(Node::Or(on, off));
            done.insert(guard, formula);
            return formula;
        };
        let mut sum: Option<Formula> = None;
        for cube in cubes {
            let mut product: Option<Formula> = None;
            for (variable, value) in cube {
                let atom = formulas.make(Node::Atom(proposition(variable)));
                let literal = if value { atom } else { formulas.not(atom) };
                product = Some(match product {
                    Some(others) => formulas.make(Node::And(others, literal)),
                    None => literal,
                });
            }
            let product = product.unwrap_or_else(|| formulas.constant(true));
            sum = Some(match sum {
                Some(others) => formulas.make(Node::Or(others, product)),
                None => product,
            });
        }
        sum.unwrap_or_else(|| formulas.constant(false))
    }

    /// Back to an ordinary formula; `proposition` undoes the numbering.
    pub fn to_formula(
        &mut self,
        normal: Normal,
        formulas: &mut Formulas,
        proposition: &impl Fn(u32) -> Proposition,
    ) -> Formula {
        let kind = self.kind(normal).clone();
        let mut convert = |f: Normal| self.to_formula(f, formulas, proposition);
        let node = match kind {
            Kind::Letter(guard) => {
                let mut done = RapidHashMap::default();
                return self.letter_formula(guard, formulas, proposition, &mut done);
            }
            Kind::And(parts) | Kind::Or(parts) => {
                let is_and = matches!(self.kind(normal), Kind::And(_));
                let parts: Vec<Formula> = parts
                    .iter()
                    .map(|p| self.to_formula(*p, formulas, proposition))
                    .collect();
                let join = |f, g| {
                    if is_and {
                        Node::And(f, g)
                    } else {
                        Node::Or(f, g)
                    }
                };
                let first = parts[0];
                return parts[1..]
                    .iter()
                    .fold(first, |f, g| formulas.make(join(f, *g)));
            }
            Kind::Next(f) => Node::Next(convert(f)),
            Kind::Finally(f) => Node::Finally(convert(f)),
            Kind::Globally(f) => Node::Globally(convert(f)),
            Kind::Until(f, g) => Node::Until(convert(f), convert(g)),
            Kind::WeakUntil(f, g) => Node::WeakUntil(convert(f), convert(g)),
            Kind::Release(f, g) => Node::Release(convert(f), convert(g)),
            Kind::StrongRelease(f, g) => Node::StrongRelease(convert(f), convert(g)),
        };
        formulas.make(node)
    }
}

/// The operands of a conjunction or disjunction through all directly nested ones, or the
/// ordinary operands of another formula.
fn chain(formulas: &Formulas, formula: Formula) -> Vec<Formula> {
    let outer = formulas.node(formula);
    if !matches!(outer, Node::And(..) | Node::Or(..)) {
        return outer.operands().collect();
    }
    let kind = std::mem::discriminant(&outer);
    let mut leaves = Vec::new();
    let mut todo: Vec<Formula> = outer.operands().collect();
    while let Some(part) = todo.pop() {
        let node = formulas.node(part);
        if std::mem::discriminant(&node) == kind {
            todo.extend(node.operands());
        } else {
            leaves.push(part);
        }
    }
    leaves
}

/// The subformulas, operands first, without those that only continue a conjunction or
/// disjunction: normalised one by one, a chain of n would cost n² memory.
fn parts_without_chains(formulas: &Formulas, formula: Formula) -> Vec<Formula> {
    let mut needed: std::collections::BTreeSet<Formula> = [formula].into();
    let mut parts = Vec::new();
    // Operands have smaller handles, so the largest one left has all its users behind it.
    while let Some(part) = needed.pop_last() {
        needed.extend(chain(formulas, part));
        parts.push(part);
    }
    parts.reverse();
    parts
}

/// Longest sum of products that is written out.
const MAX_PRODUCTS: usize = 64;

/// The formula nests deeper than this crate handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl std::fmt::Display for TooDeep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "the formula nests more than {} levels deep",
            Normals::MAX_DEPTH
        )
    }
}

impl std::error::Error for TooDeep {}

/// An equivalent formula that is usually shorter, and in negation normal form.
///
/// # Errors
/// [`TooDeep`] where the formula nests deeper than [`Normals::MAX_DEPTH`].
pub fn simplify(formulas: &mut Formulas, formula: Formula) -> Result<Formula, TooDeep> {
    let mut normals = Normals::new();
    let normal = normals.add(formulas, formula, |p| p.0)?;
    if normals.guards.overflowed() {
        // Too many propositions for Boolean reasoning: the formula as it was is still right.
        return Ok(formula);
    }
    Ok(normals.to_formula(normal, formulas, &Proposition))
}
