//! State formulas as linear constraints, for the [state equation](crate::StateEquation).
//!
//! Each case of a formula implies a conjunction of linear constraints. Cases are distinguished one
//! disjunction after the other, and a case ends where its constraints are excluded; so there may be
//! many more cases than are looked at. What is not linear is weakened to "anything", and so are
//! atoms with very many cases: where even the weaker statement is true of no marking, neither is
//! the formula.
//!
//! That a transition is disabled is a disjunction over its inputs. Where no input can hold more
//! tokens than the transition takes, it is also one linear constraint: together they hold fewer
//! than it takes together (Melzer and Esparza, "Checking system properties via integer
//! programming", 1996). An inhibitor arc is one more way to be disabled.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use crate::bounds::{BoundSource, Bounds};
use crate::equation::{Linear, StateEquation};
use crate::formula::{Atom, CompareOp, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::net::{Arc, Net};

/// A conjunction.
type Cube = Vec<Linear>;

/// Something that is to hold in a case.
#[derive(Clone)]
enum Part<'f> {
    /// A formula, or its negation.
    Formula(&'f Formula, bool),
    /// One of several conjunctions.
    Cubes(Vec<Cube>),
    /// One of several things.
    Cases(Vec<Part<'f>>),
}

/// Longer disjunctions become "anything".
const MOST_CUBES: usize = 64;

/// What is known of the net when formulas are made linear.
pub struct Linearise<'n> {
    net: &'n Net,
    bounds: &'n Bounds,
    traps: bool,
}

impl<'n> Linearise<'n> {
    /// For a net with the bounds of its places; those that are only claimed are not used.
    pub fn new(net: &'n Net, bounds: &'n Bounds) -> Self {
        Self {
            net,
            bounds,
            traps: false,
        }
    }

    /// The same, and traps may be looked for, which takes longer.
    #[must_use]
    pub fn with_traps(mut self, traps: bool) -> Self {
        self.traps = traps;
        self
    }

    /// True if it is proved that a state formula holds in no reachable marking.
    pub fn never(&self, equation: &StateEquation<'_>, formula: &Formula, time: Duration) -> bool {
        let Some(end) = Instant::now().checked_add(time) else {
            return false;
        };
        let whole = vec![Part::Formula(formula, true)];
        self.is_closed(equation, whole, Vec::new(), end)
    }

    /// Whether the parts all together contradict the state equation and a conjunction: by cases, and
    /// no case is looked at any further when what is known in it is a contradiction already.
    fn is_closed(
        &self,
        equation: &StateEquation<'_>,
        mut open: Vec<Part<'_>>,
        mut cube: Cube,
        end: Instant,
    ) -> bool {
        let mut cases: Vec<Vec<Part<'_>>> = Vec::new();
        let before = cube.len();
        while let Some(part) = open.pop() {
            let alternatives: Vec<Part<'_>> = match part {
                Part::Formula(Formula::Not(inner), value) => vec![Part::Formula(inner, !value)],
                Part::Formula(Formula::And(parts), true)
                | Part::Formula(Formula::Or(parts), false) => {
                    let value = matches!(part, Part::Formula(_, true));
                    open.extend(parts.iter().map(|p| Part::Formula(p, value)));
                    continue;
                }
                Part::Formula(Formula::Or(parts), value)
                | Part::Formula(Formula::And(parts), value) => {
                    parts.iter().map(|p| Part::Formula(p, value)).collect()
                }
                Part::Formula(Formula::Atom(Atom::Fireable(transitions)), false) => {
                    let disabled = transitions.iter().map(|t| Part::Cubes(self.disabled(*t)));
                    open.extend(disabled);
                    continue;
                }
                Part::Formula(Formula::Atom(atom), value) => {
                    vec![Part::Cubes(self.atom(atom, value))]
                }
                // Nothing is known of a formula about more than one marking.
                Part::Formula(..) => continue,
                Part::Cubes(mut cubes) if cubes.len() == 1 => {
                    cube.extend(cubes.swap_remove(0));
                    continue;
                }
                Part::Cubes(cubes) if cubes.iter().any(Vec::is_empty) => continue,
                Part::Cubes(cubes) => cubes.into_iter().map(|c| Part::Cubes(vec![c])).collect(),
                Part::Cases(cases) => cases,
            };
            match alternatives.len() {
                0 => return true,
                1 => open.extend(alternatives),
                _ => cases.push(alternatives),
            }
        }
        let now = Instant::now();
        if now >= end {
            return false;
        }
        let left = end.saturating_duration_since(now);
        let excluded = match cases.is_empty() {
            true if self.traps => equation.excludes_with_traps(&cube, left),
            true => equation.excludes(&cube, left),
            false => cube.len() > before && equation.excludes(&cube, left),
        };
        if excluded {
            return true;
        }
        // The fewest cases first.
        cases.sort_by_key(|alternatives| Reverse(alternatives.len()));
        let Some(alternatives) = cases.pop() else {
            return false;
        };
        alternatives.into_iter().all(|case| {
            let rest = cases.iter().cloned().map(Part::Cases);
            let open = rest.chain([case]).collect();
            self.is_closed(equation, open, cube.clone(), end)
        })
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

    /// The disjunction that an atom (or its negation) implies.
    fn atom(&self, atom: &Atom, positive: bool) -> Vec<Cube> {
        match atom {
            Atom::Constant(value) if *value == positive => anything(),
            Atom::Constant(_) => Vec::new(),
            Atom::Compare(op, left, right) => {
                comparison(if positive { *op } else { op.negated() }, left, right)
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
            let enough =
                inputs.filter_map(|arc| Linear::new([(arc.node, 1)], i64::from(arc.weight)));
            let few = self.net.inhibitors(*t).iter().filter_map(fewer);
            vec![enough.chain(few).collect()]
        };
        any(transitions.iter().map(enabled))
    }

    fn all_disabled(&self, transitions: impl Iterator<Item = TransitionId>) -> Vec<Cube> {
        self.all(transitions.map(|t| self.disabled(t)))
    }

    fn disabled(&self, transition: TransitionId) -> Vec<Cube> {
        let inputs = self.net.pre(transition);
        let inhibitors = self.net.inhibitors(transition);
        let never_more = inhibitors.is_empty()
            && inputs.iter().all(|arc| {
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
        let few = inputs.iter().map(fewer);
        let many = inhibitors
            .iter()
            .map(|arc| Linear::new([(arc.node, 1)], i64::from(arc.weight)));
        let case = |case: Option<Linear>| case.map_or_else(anything, |c| vec![vec![c]]);
        any(few.chain(many).map(case))
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

/// That a place has fewer tokens than the weight of an arc.
fn fewer(arc: &Arc<PlaceId>) -> Option<Linear> {
    Linear::new([(arc.node, -1)], 1 - i64::from(arc.weight))
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

    /// Where a contradiction is among thousands of cases, it is found.
    #[test]
    fn many_cases_are_no_obstacle() {
        let net = ring();
        let at_least = |place: u32, least| {
            let (sum, least) = (
                IntExpr::tokens(vec![PlaceId(place)]),
                IntExpr::constant(least),
            );
            Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, sum, least))
        };
        let either = |a, b| Formula::Or(vec![at_least(0, a), at_least(1, b)]);
        // Twelve that say nothing, and two of which each leaves one case that excludes the other's.
        let mut parts = vec![either(1, 1); 12];
        parts.extend([either(1, 2), either(2, 1)]);
        assert!(never(&net, Formula::And(parts.clone())));
        // All the same with the negation of its negation.
        let not = |f: &Formula| f.clone().negated();
        let other = Formula::Or(parts.iter().map(not).collect()).negated();
        assert!(never(&net, other));
        parts.pop();
        assert!(!never(&net, Formula::And(parts)));
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
