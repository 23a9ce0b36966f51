//! Very weak alternating automata: one state per normalised formula.
//!
//! After Gastin and Oddoux, "Fast LTL to Büchi automata translation" (2001), with
//! the choices of Babiak, Křetínský, Řehák, Strejček (2012) that keep disjunctions
//! below `X` as states. A transition of a formula is a guard and an obligation: what
//! must hold from the next position on, as a conjunction. All cycles are self-loops,
//! since an obligation consists of the formula itself and of proper subformulas.

use std::collections::BTreeMap;
use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::guard::Guard;
use crate::normal::{Kind, Normal, Normals};

/// A conjunction: one letter and formulas that are not letters, sorted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Obligation {
    pub(crate) letter: Guard,
    pub(crate) formulas: Arc<[Normal]>,
    /// One bit per formula, several formulas to a bit: most comparisons end here.
    mask: u64,
}

impl Obligation {
    pub(crate) fn nothing() -> Self {
        Self::new(Guard::TRUE, Arc::from([]))
    }

    fn new(letter: Guard, formulas: Arc<[Normal]>) -> Self {
        let mask = formulas
            .iter()
            .fold(0, |mask, formula| mask | 1 << (formula.0 % 64));
        Self {
            letter,
            formulas,
            mask,
        }
    }

    /// The conjuncts of a formula.
    pub(crate) fn of(normals: &Normals, formula: Normal) -> Self {
        let parts = match normals.kind(formula) {
            Kind::And(parts) => parts.clone(),
            _ => Arc::from([formula]),
        };
        // A normalised conjunction has one letter at most.
        let letter = parts.iter().find_map(|part| normals.as_letter(*part));
        let formulas = parts
            .iter()
            .copied()
            .filter(|p| normals.as_letter(*p).is_none())
            .collect();
        Self::new(letter.unwrap_or(Guard::TRUE), formulas)
    }

    pub(crate) fn join(&self, other: &Obligation, normals: &mut Normals) -> Obligation {
        let letter = normals.guards.and(self.letter, other.letter);
        if other.formulas.is_empty() {
            return Obligation {
                letter,
                ..self.clone()
            };
        }
        if self.formulas.is_empty() {
            return Obligation {
                letter,
                ..other.clone()
            };
        }
        let mut formulas: Vec<Normal> = self
            .formulas
            .iter()
            .chain(other.formulas.iter())
            .copied()
            .collect();
        formulas.sort_unstable();
        formulas.dedup();
        // What another one asks for with every step that it takes.
        let all = formulas.clone();
        formulas.retain(|part| !all.iter().any(|whole| normals.repeats(*whole, *part)));
        Obligation::new(letter, formulas.into())
    }

    pub(crate) fn has(&self, formula: Normal) -> bool {
        self.formulas.binary_search(&formula).is_ok()
    }

    /// Whether everything asked here is also asked by `other`.
    pub(crate) fn is_within(&self, other: &Obligation, normals: &mut Normals) -> bool {
        self.mask & !other.mask == 0
            && self.formulas.len() <= other.formulas.len()
            && self.formulas.iter().all(|formula| other.has(*formula))
            && normals.guards.implies(other.letter, self.letter)
    }
}

impl Normals {
    /// Whether a run may not wait in this formula for ever.
    pub(crate) fn must_be_left(&self, formula: Normal) -> bool {
        matches!(
            self.kind(formula),
            Kind::Until(..) | Kind::Finally(_) | Kind::StrongRelease(..)
        )
    }

    /// Whether every transition of `whole`, another formula, has one of `part` in it, so that who asks for the first
    /// need not ask for the second: `b` of `a R b`, and so on inside. Not where a run may not wait in `part` for
    /// ever, since then it matters how long it has been asked for.
    fn repeats(&self, mut whole: Normal, part: Normal) -> bool {
        while let Kind::Release(_, inner) | Kind::StrongRelease(_, inner) | Kind::Globally(inner) =
            self.kind(whole)
        {
            let is_inside = match self.kind(*inner) {
                Kind::And(parts) => parts.contains(&part),
                _ => *inner == part,
            };
            if is_inside {
                return !self.must_be_left(part);
            }
            whole = *inner;
        }
        false
    }
}

/// Guards by obligation, ordered so that results do not depend on hashing.
pub(crate) type Transitions = BTreeMap<Obligation, Guard>;

/// The transition function, computed on demand.
pub(crate) struct Alternating {
    pub(crate) normals: Normals,
    known: RapidHashMap<Normal, Arc<Transitions>>,
    /// Combinations and comparisons that may still be made.
    budget: usize,
    pub(crate) overflowed: bool,
}

/// Above this many obligations they are not compared with each other any more.
pub(crate) const MAX_COMPARED: usize = 3_000;

/// Most obligations of one formula or state.
const MAX_OBLIGATIONS: usize = 60_000;

impl Alternating {
    pub(crate) fn new(normals: Normals, budget: usize) -> Self {
        Self {
            normals,
            known: RapidHashMap::default(),
            budget,
            overflowed: false,
        }
    }

    /// Takes from the budget; false, and `overflowed`, once it is used up.
    pub(crate) fn spend(&mut self, work: usize) -> bool {
        self.budget = self.budget.saturating_sub(work);
        self.overflowed |= self.budget == 0 || self.normals.guards.overflowed();
        !self.overflowed
    }

    /// The transitions of one formula. Obligations that ask more than another one does
    /// on the same letter are left out: an accepting run never needs them.
    pub(crate) fn transitions(&mut self, formula: Normal) -> Arc<Transitions> {
        if let Some(known) = self.known.get(&formula) {
            return known.clone();
        }
        let mut result = match self.normals.kind(formula).clone() {
            Kind::Letter(guard) => one(guard, Obligation::nothing()),
            Kind::And(parts) => {
                let mut product = one(Guard::TRUE, Obligation::nothing());
                for part in parts.iter() {
                    let next = self.transitions(*part);
                    product = self.product(&product, &next);
                    self.drop_greater(&mut product);
                }
                product
            }
            Kind::Or(parts) => {
                let mut sum = Transitions::new();
                for part in parts.iter() {
                    let next = self.transitions(*part);
                    self.add_all(&mut sum, &next);
                }
                sum
            }
            Kind::Next(f) => {
                let obligation = Obligation::of(&self.normals, f);
                let guard = if f == Normals::FALSE {
                    Guard::FALSE
                } else {
                    Guard::TRUE
                };
                one(guard, obligation)
            }
            Kind::Finally(f) => {
                let mut sum = self.stay(formula);
                let now = self.transitions(f);
                self.add_all(&mut sum, &now);
                sum
            }
            Kind::Globally(f) => {
                let now = self.transitions(f);
                let stay = self.stay(formula);
                self.product(&now, &stay)
            }
            Kind::Until(f, g) | Kind::WeakUntil(f, g) => {
                let (left, right) = (self.transitions(f), self.transitions(g));
                let stay = self.stay(formula);
                let mut sum = self.product(&left, &stay);
                self.add_all(&mut sum, &right);
                sum
            }
            Kind::Release(f, g) | Kind::StrongRelease(f, g) => {
                let (left, right) = (self.transitions(f), self.transitions(g));
                let stay = self.stay(formula);
                let mut sum = self.product(&right, &stay);
                let both = self.product(&left, &right);
                self.add_all(&mut sum, &both);
                sum
            }
        };
        self.drop_greater(&mut result);
        let result = Arc::new(result);
        self.known.insert(formula, result.clone());
        result
    }

    fn stay(&self, formula: Normal) -> Transitions {
        one(Guard::TRUE, Obligation::of(&self.normals, formula))
    }

    fn add_all(&mut self, sum: &mut Transitions, more: &Transitions) {
        for (obligation, guard) in more {
            self.add(sum, obligation.clone(), *guard);
        }
    }

    pub(crate) fn add(&mut self, sum: &mut Transitions, obligation: Obligation, guard: Guard) {
        if guard.is_false() || obligation.letter.is_false() {
            return;
        }
        let known = sum.entry(obligation).or_insert(Guard::FALSE);
        *known = self.normals.guards.or(*known, guard);
    }

    pub(crate) fn product(&mut self, left: &Transitions, right: &Transitions) -> Transitions {
        let mut product = Transitions::new();
        for (a, a_guard) in left {
            for (b, b_guard) in right {
                let guard = self.normals.guards.and(*a_guard, *b_guard);
                if guard.is_false() {
                    continue;
                }
                let joined = a.join(b, &mut self.normals);
                self.add(&mut product, joined, guard);
            }
            // A combination costs a good deal more than a comparison.
            if product.len() > MAX_OBLIGATIONS || !self.spend(10 * right.len()) {
                self.overflowed = true;
                return Transitions::new();
            }
        }
        product
    }

    fn drop_greater(&mut self, transitions: &mut Transitions) {
        let count = transitions.len();
        if !(2..=MAX_COMPARED).contains(&count) || !self.spend(count * count) {
            return;
        }
        let mut list: Vec<(Obligation, Guard)> = std::mem::take(transitions).into_iter().collect();
        // Few obligations first: only a shorter or equal list can be within a longer one.
        list.sort_by_key(|(obligation, _)| obligation.formulas.len());
        for i in 0..list.len() {
            for j in 0..list.len() {
                if i == j || list[j].1.is_false() || list[i].1.is_false() {
                    continue;
                }
                if list[j].0.is_within(&list[i].0, &mut self.normals) {
                    list[i].1 = self.normals.guards.minus(list[i].1, list[j].1);
                }
            }
        }
        transitions.extend(list.into_iter().filter(|(_, guard)| !guard.is_false()));
    }
}

fn one(guard: Guard, obligation: Obligation) -> Transitions {
    let mut transitions = Transitions::new();
    if !guard.is_false() && !obligation.letter.is_false() {
        transitions.insert(obligation, guard);
    }
    transitions
}
