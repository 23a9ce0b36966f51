//! State formulas as linear constraints, for the [state equation](crate::StateEquation).
//!
//! A formula becomes a disjunction of conjunctions of linear constraints that it *implies*.
//! What is not linear, or would make the disjunction too long, is weakened to "anything": where
//! even the weaker statement is true of no marking, neither is the formula.
//!
//! That a transition is disabled is a disjunction over its inputs. Where no input can hold more
//! tokens than the transition takes, it is also one linear constraint: together they hold fewer
//! than it takes together (Melzer and Esparza, "Checking system properties via integer
//! programming", 1996).

use std::time::{Duration, Instant};

use crate::bounds::{BoundSource, Bounds};
use crate::equation::{Linear, StateEquation};
use crate::formula::{Atom, CompareOp, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::net::Net;

/// A conjunction.
type Cube = Vec<Linear>;

/// Longer disjunctions become "anything".
const MOST_CUBES: usize = 64;

/// What is known of the net when formulas are made linear.
pub struct Linearise<'n> {
    net: &'n Net,
    bounds: &'n Bounds,
}

impl<'n> Linearise<'n> {
    /// For a net with the bounds of its places; those that are only claimed are not used.
    pub fn new(net: &'n Net, bounds: &'n Bounds) -> Self {
        Self { net, bounds }
    }

    /// True if it is proved that a state formula holds in no reachable marking.
    pub fn never(&self, equation: &StateEquation<'_>, formula: &Formula, time: Duration) -> bool {
        let started = Instant::now();
        let cubes = self.cubes(formula, true);
        let share = time / cubes.len().max(1) as u32;
        cubes
            .iter()
            .all(|cube| started.elapsed() <= time && equation.excludes(cube, share))
    }

    /// A state formula that is true of the same reachable markings, with constants for parts of
    /// which the state equation proves that they are always or never true; as far as it comes in
    /// this time.
    pub fn simplified(
        &self,
        equation: &StateEquation<'_>,
        formula: &Formula,
        time: Duration,
    ) -> Formula {
        let constant = |value: bool| Formula::Atom(Atom::Constant(value));
        if let Formula::Not(inner) = formula {
            return match self.simplified(equation, inner, time) {
                Formula::Atom(Atom::Constant(value)) => constant(!value),
                inner => inner.negated(),
            };
        }
        let started = Instant::now();
        if let Some(value) = self.decided(equation, formula, time / 2) {
            return constant(value);
        }
        let left = |parts: usize| time.saturating_sub(started.elapsed()) / parts.max(1) as u32;
        match formula {
            Formula::And(parts) | Formula::Or(parts) => {
                let absorbing = matches!(formula, Formula::Or(_));
                let mut rest = Vec::new();
                for (number, part) in parts.iter().enumerate() {
                    let part = self.simplified(equation, part, left(parts.len() - number));
                    match part {
                        Formula::Atom(Atom::Constant(value)) if value == absorbing => return part,
                        Formula::Atom(Atom::Constant(_)) => {}
                        _ => rest.push(part),
                    }
                }
                match (rest.len(), absorbing) {
                    (0, _) => constant(!absorbing),
                    (1, _) => rest.swap_remove(0),
                    (_, true) => Formula::Or(rest),
                    (_, false) => Formula::And(rest),
                }
            }
            Formula::Atom(Atom::Fireable(transitions)) if transitions.len() > 1 => {
                let count = transitions.len();
                let may_fire = |(number, t): &(usize, &TransitionId)| {
                    let alone = Formula::Atom(Atom::Fireable(vec![**t]));
                    let time = left(count - number);
                    self.decided(equation, &alone, time) != Some(false)
                };
                let rest = transitions.iter().enumerate().filter(may_fire);
                let rest: Vec<TransitionId> = rest.map(|(_, t)| *t).collect();
                match rest.is_empty() {
                    true => constant(false),
                    false => Formula::Atom(Atom::Fireable(rest)),
                }
            }
            _ => formula.clone(),
        }
    }

    /// The value of a state formula in all reachable markings, if it is proved to be the same.
    fn decided(
        &self,
        equation: &StateEquation<'_>,
        formula: &Formula,
        time: Duration,
    ) -> Option<bool> {
        let value = formula.holds(self.net, &|place| self.net.initial(place))?;
        let other = match value {
            true => &formula.clone().negated(),
            false => formula,
        };
        self.never(equation, other, time).then_some(value)
    }

    /// The disjunction that the formula (or its negation) implies.
    fn cubes(&self, formula: &Formula, positive: bool) -> Vec<Cube> {
        match (formula, positive) {
            (Formula::Atom(atom), _) => self.atom(atom, positive),
            (Formula::Not(inner), _) => self.cubes(inner, !positive),
            (Formula::And(parts), true) | (Formula::Or(parts), false) => {
                self.all(parts.iter().map(|part| self.cubes(part, positive)))
            }
            (Formula::Or(parts), true) | (Formula::And(parts), false) => {
                any(parts.iter().map(|part| self.cubes(part, positive)))
            }
            // Nothing is known of a formula about more than one marking.
            (
                Formula::Next(_) | Formula::Globally(_) | Formula::Finally(_) | Formula::Until(..),
                _,
            ) => anything(),
        }
    }

    fn atom(&self, atom: &Atom, positive: bool) -> Vec<Cube> {
        match atom {
            Atom::Constant(value) if *value == positive => anything(),
            Atom::Constant(_) => Vec::new(),
            Atom::Compare(op, left, right) => {
                comparison(if positive { *op } else { negated(*op) }, left, right)
            }
            Atom::Fireable(transitions) if positive => self.some_enabled(transitions),
            Atom::Fireable(transitions) => self.all_disabled(transitions.iter().copied()),
            Atom::Deadlock if positive => self.all_disabled(self.net.transitions()),
            Atom::Deadlock => anything(),
        }
    }

    fn some_enabled(&self, transitions: &[TransitionId]) -> Vec<Cube> {
        let enabled = |t: &TransitionId| {
            let inputs = self.net.pre(*t).iter();
            let cube = inputs
                .filter_map(|arc| Linear::new([(arc.node, 1)], i64::from(arc.weight)))
                .collect();
            vec![cube]
        };
        any(transitions.iter().map(enabled))
    }

    fn all_disabled(&self, transitions: impl Iterator<Item = TransitionId>) -> Vec<Cube> {
        self.all(transitions.map(|t| self.disabled(t)))
    }

    fn disabled(&self, transition: TransitionId) -> Vec<Cube> {
        let inputs = self.net.pre(transition);
        let never_more = inputs.iter().all(|arc| {
            self.bounds.source(arc.node) != BoundSource::Claimed
                && self
                    .bounds
                    .bound(arc.node)
                    .is_some_and(|bound| bound <= u64::from(arc.weight))
        });
        if never_more {
            let taken: i64 = inputs.iter().map(|arc| i64::from(arc.weight)).sum();
            let fewer = Linear::new(inputs.iter().map(|arc| (arc.node, -1)), 1 - taken);
            return fewer.map_or_else(anything, |fewer| vec![vec![fewer]]);
        }
        any(inputs.iter().map(|arc| {
            let fewer = Linear::new([(arc.node, -1)], 1 - i64::from(arc.weight));
            fewer.map_or_else(anything, |fewer| vec![vec![fewer]])
        }))
    }

    /// All of several disjunctions; those that would make the result too long are left out.
    fn all(&self, parts: impl Iterator<Item = Vec<Cube>>) -> Vec<Cube> {
        let mut parts: Vec<Vec<Cube>> = parts.collect();
        // What decides most comes first: "never", then single conjunctions.
        parts.sort_by_key(Vec::len);
        let mut product = anything();
        for part in parts {
            if product.len() * part.len() > MOST_CUBES {
                break;
            }
            let combined = product.iter().flat_map(|left| {
                part.iter()
                    .map(|right| left.iter().chain(right).cloned().collect())
            });
            product = combined.collect();
        }
        product
    }
}

/// One conjunction of nothing.
fn anything() -> Vec<Cube> {
    vec![Vec::new()]
}

/// One of several disjunctions.
fn any(parts: impl Iterator<Item = Vec<Cube>>) -> Vec<Cube> {
    let mut union: Vec<Cube> = Vec::new();
    for part in parts {
        if union.len() + part.len() > MOST_CUBES {
            return anything();
        }
        union.extend(part);
    }
    union
}

fn negated(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::LessOrEqual => CompareOp::Greater,
        CompareOp::Less => CompareOp::GreaterOrEqual,
        CompareOp::Equal => CompareOp::NotEqual,
        CompareOp::NotEqual => CompareOp::Equal,
        CompareOp::GreaterOrEqual => CompareOp::Less,
        CompareOp::Greater => CompareOp::LessOrEqual,
    }
}

fn comparison(op: CompareOp, left: &IntExpr, right: &IntExpr) -> Vec<Cube> {
    // large - small >= least
    let at_least = |large: &IntExpr, small: &IntExpr, least: i64| -> Option<Linear> {
        let constant = i64::try_from(small.constant)
            .ok()?
            .checked_sub(i64::try_from(large.constant).ok()?)?;
        let weights = |number: &IntExpr, weight: i64| -> Vec<(PlaceId, i64)> {
            number.places.iter().map(|place| (*place, weight)).collect()
        };
        let both = weights(large, 1).into_iter().chain(weights(small, -1));
        Linear::new(both, constant.checked_add(least)?)
    };
    let one = |constraint: Option<Linear>| match constraint {
        None => anything(),
        Some(c) if !c.is_constant() => vec![vec![c]],
        Some(c) if c.holds_without_tokens() => anything(),
        Some(_) => Vec::new(),
    };
    match op {
        CompareOp::LessOrEqual => one(at_least(right, left, 0)),
        CompareOp::Less => one(at_least(right, left, 1)),
        CompareOp::GreaterOrEqual => one(at_least(left, right, 0)),
        CompareOp::Greater => one(at_least(left, right, 1)),
        CompareOp::NotEqual => {
            any([one(at_least(right, left, 1)), one(at_least(left, right, 1))].into_iter())
        }
        CompareOp::Equal => match (at_least(right, left, 0), at_least(left, right, 0)) {
            (Some(a), Some(b)) => vec![vec![a, b]],
            _ => anything(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::{InvariantBudget, Invariants};
    use crate::net::NetBuilder;

    const TIME: Duration = Duration::from_secs(10);

    /// A token that goes round two places.
    fn ring() -> Net {
        let mut builder = NetBuilder::new("ring");
        let a = builder.place("a", 1);
        let b = builder.place("b", 0);
        for (name, from, to) in [("t", a, b), ("u", b, a)] {
            let t = builder.transition(name);
            builder.input(from, t, 1);
            builder.output(t, to, 1);
        }
        builder.build().unwrap()
    }

    fn never(net: &Net, formula: Formula) -> bool {
        let invariants = Invariants::find(net, InvariantBudget::default());
        let bounds = Bounds::new(net, &invariants);
        Linearise::new(net, &bounds).never(&StateEquation::new(net), &formula, TIME)
    }

    #[test]
    fn what_never_happens_is_seen() {
        let net = ring();
        let tokens = |p: u32| IntExpr::tokens(vec![PlaceId(p)]);
        let one = || IntExpr::constant(1);
        let compare = |op, l, r| Formula::Atom(Atom::Compare(op, l, r));
        let both = |op| {
            Formula::And(vec![
                compare(op, tokens(0), one()),
                compare(op, tokens(1), one()),
            ])
        };
        assert!(never(&net, both(CompareOp::GreaterOrEqual)));
        assert!(never(&net, both(CompareOp::Less)));
        assert!(never(&net, Formula::Atom(Atom::Deadlock)));
        let sum = IntExpr::tokens(vec![PlaceId(0), PlaceId(1)]);
        assert!(never(
            &net,
            compare(CompareOp::NotEqual, sum.clone(), one())
        ));
        assert!(never(
            &net,
            compare(CompareOp::Equal, sum.clone(), one()).negated()
        ));
        assert!(!never(&net, compare(CompareOp::Equal, sum, one())));
        assert!(!never(
            &net,
            compare(CompareOp::Equal, tokens(0), tokens(1)).negated()
        ));
        let fireable = Formula::Atom(Atom::Fireable(vec![TransitionId(0), TransitionId(1)]));
        assert!(!never(&net, fireable.clone()));
        assert!(never(&net, fireable.negated()));
    }

    #[test]
    fn parts_that_are_always_the_same_become_constants() {
        let net = ring();
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let bounds = Bounds::new(&net, &invariants);
        let (linear, equation) = (Linearise::new(&net, &bounds), StateEquation::new(&net));
        let simplified = |f: &Formula| {
            linear
                .simplified(&equation, f, TIME)
                .display(&net)
                .to_string()
        };
        let tokens = |places: &[u32]| IntExpr::tokens(places.iter().map(|p| PlaceId(*p)).collect());
        let at_least = |places: &[u32], least| {
            let op = CompareOp::GreaterOrEqual;
            Formula::Atom(Atom::Compare(op, tokens(places), IntExpr::constant(least)))
        };
        let (a, b) = (at_least(&[0], 1), at_least(&[1], 1));
        let (always, never) = (at_least(&[0, 1], 1), at_least(&[0, 1], 2));
        let and = |parts: &[&Formula]| Formula::And(parts.iter().map(|f| (*f).clone()).collect());
        let or = |parts: &[&Formula]| Formula::Or(parts.iter().map(|f| (*f).clone()).collect());
        assert_eq!(simplified(&and(&[&a, &always])), "a >= 1");
        assert_eq!(simplified(&or(&[&never, &a])), "a >= 1");
        assert_eq!(simplified(&and(&[&a, &never])), "false");
        assert_eq!(simplified(&or(&[&a, &b])), "true");
        assert_eq!(simplified(&and(&[&a, &b]).negated()), "true");
        let nested = and(&[&or(&[&a, &never]).negated(), &or(&[&b, &and(&[&a, &b])])]);
        assert_eq!(simplified(&nested), "(!(a >= 1) && b >= 1)");
        // Without time nothing is proved, and nothing changed.
        let both = and(&[&a, &always]);
        assert_eq!(linear.simplified(&equation, &both, Duration::ZERO), both);
    }

    /// Of several transitions those that can never fire are left out.
    #[test]
    fn only_what_may_fire_is_asked_for() {
        let mut builder = NetBuilder::new("dead");
        let [a, b] = [("a", 1), ("b", 0)].map(|(name, tokens)| builder.place(name, tokens));
        for (name, needed) in [("t", a), ("u", b), ("v", a)] {
            let t = builder.transition(name);
            builder.input(needed, t, 1);
            if name != "v" {
                builder.output(t, needed, 1);
            }
        }
        let net = builder.build().unwrap();
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let bounds = Bounds::new(&net, &invariants);
        let (linear, equation) = (Linearise::new(&net, &bounds), StateEquation::new(&net));
        let all = Formula::Atom(Atom::Fireable(net.transitions().collect()));
        let left = Formula::Atom(Atom::Fireable(vec![TransitionId(0), TransitionId(2)]));
        assert_eq!(linear.simplified(&equation, &all, TIME), left);
    }

    #[test]
    fn constants_decide_without_tokens() {
        let net = ring();
        let compare = |l, r| {
            let (l, r) = (IntExpr::constant(l), IntExpr::constant(r));
            Formula::Atom(Atom::Compare(CompareOp::LessOrEqual, l, r))
        };
        assert!(never(&net, compare(3, 2)));
        assert!(!never(&net, compare(2, 2)));
        assert!(never(&net, Formula::Or(Vec::new())));
        assert!(!never(&net, Formula::And(Vec::new())));
    }
}
