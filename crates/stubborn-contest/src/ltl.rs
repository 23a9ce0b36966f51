//! LTLCardinality and LTLFireability: does every path satisfy a formula?
//!
//! Each formula is checked by itself, in the product of the net with the automaton of its
//! negation. Before, statements about single markings that the state equation decides become
//! constants. Where the formula cannot see stuttering, the net is made smaller around its places,
//! and searched with stubborn sets. First every formula gets a short time, then those that are
//! left share the rest.

use std::cell::OnceCell;
use std::time::Duration;

use stubborn_emptiness::{CheckVerdict, FiniteRuns, Property};
use stubborn_ltl::formula::{Formula as Temporal, Formulas, Node};
use stubborn_net::{Atom, Formula, NetSystem, PlaceId, Preserve};
use stubborn_plan::{CheckOptions, Planner, Por, ReductionOptions, TemporalQuestion};
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, RelationLevel, Relations, System};

use crate::answer::{Technique, Value};
use crate::claim::Claim;
use crate::examiner::{Examiner, MOST_TRANSITIONS};

/// A claim, ready to be checked.
struct Ready {
    id: String,
    property: Property,
    by_equation: bool,
    /// A net made for the claim, if it is not checked on the net itself.
    smaller: Option<Smaller>,
}

/// A net made for a claim.
struct Smaller {
    system: NetSystem,
    relations: OnceCell<Relations>,
}

/// Answers all claims; what cannot be answered is said so.
pub(crate) fn examine(
    examiner: &mut Examiner<'_>,
    system: &mut NetSystem,
    claims: Vec<Claim<Formula>>,
) {
    let mut open: Vec<Ready> = Vec::new();
    let count = claims.len().max(1);
    let time = examiner.slice(0.15 / count as f64, Duration::from_secs(10));
    for claim in claims {
        match prepare(examiner, system, &claim, time) {
            Some(ready) => open.push(ready),
            None => examiner.answer(&claim.id, Value::Unknown, &[]),
        }
    }
    let system = &*system;
    let relations = OnceCell::new();
    for share in [0.1, 0.4, 1.0] {
        let mut left = open.len();
        open.retain(|ready| {
            let time = examiner.left().mul_f64(share / left.max(1) as f64);
            left -= 1;
            if examiner.is_over() {
                return true;
            }
            match check(examiner, system, &relations, ready, time) {
                Some((value, techniques)) => {
                    examiner.answer(&ready.id, Value::Truth(value), &techniques);
                    false
                }
                None => true,
            }
        });
    }
    for ready in open {
        examiner.answer(&ready.id, Value::Unknown, &[]);
    }
}

fn check(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    relations: &OnceCell<Relations>,
    ready: &Ready,
    time: Duration,
) -> Option<(bool, Vec<Technique>)> {
    let (system, relations) = match &ready.smaller {
        Some(smaller) => (&smaller.system, &smaller.relations),
        None => (system, relations),
    };
    let reduces =
        examiner.options.stubborn_sets && system.net().transition_count() <= MOST_TRANSITIONS;
    let relations =
        reduces.then(|| relations.get_or_init(|| system.relations(RelationLevel::Reach)));
    system.forget_overflow();
    let por = match relations {
        Some(_) => Por::Chosen(Config::new(Algorithm::Beam)),
        None => Por::None,
    };
    let options = CheckOptions {
        limits: examiner.limits(time),
        reduction: ReductionOptions {
            por,
            ..ReductionOptions::default()
        },
        ..CheckOptions::default()
    };
    let mut planner = Planner::new(system, &options);
    if let Some(relations) = relations {
        planner = planner.with_relations(relations);
    }
    let question = TemporalQuestion {
        property: &ready.property,
        finite_runs: FiniteRuns::Stutter,
    };
    let result = planner.check_temporal(question).ok()?.result;
    let value = match result.verdict {
        CheckVerdict::Violated => false,
        CheckVerdict::Holds => true,
        CheckVerdict::Unknown(_) => return None,
    };
    let mut techniques = vec![Technique::Explicit, Technique::StateCompression];
    if matches!(
        result.reduction,
        stubborn_emptiness::ReductionUse::On { .. }
    ) {
        techniques.push(Technique::StubbornSets);
    }
    if ready.smaller.is_some() {
        techniques.push(Technique::StructuralReduction);
    }
    if ready.by_equation {
        techniques.push(Technique::LinearProgramming);
    }
    Some((value, techniques))
}

/// Makes the automaton of a claim, with a label for each statement about a marking.
fn prepare(
    examiner: &Examiner<'_>,
    system: &mut NetSystem,
    claim: &Claim<Formula>,
    time: Duration,
) -> Option<Ready> {
    let statements = claim.statements();
    let simple = examiner.by_equation(system, &statements, time);
    let by_equation = statements
        .iter()
        .zip(&simple)
        .any(|(s, simple)| *s != simple);
    let make = |label: &mut dyn FnMut(&Formula) -> Option<LabelId>| {
        let mut translation = Translation {
            formulas: Formulas::new(),
            statements: &statements,
            simple: &simple,
        };
        let formula = translation.translate(&claim.formula);
        let formulas = translation.formulas;
        let mut labels: Vec<LabelId> = Vec::new();
        for name in formulas.names() {
            let number: usize = name.strip_prefix('s')?.parse().ok()?;
            labels.push(label(simple.get(number)?)?);
        }
        let options = stubborn_ltl::translate::TranslationOptions::default();
        Property::from_formula(formulas, formula, labels, &options).ok()
    };
    let mut places: Vec<PlaceId> = Vec::new();
    let first = make(&mut |statement| {
        places.extend(statement.places(system.net()));
        system.add_label(statement.clone())
    })?;
    let smaller = !examiner.is_over() && first.is_stutter_invariant() == Some(true);
    let own = smaller.then(|| {
        let net = system.net();
        let reduced = examiner.reduced(net, &Preserve::Runs(places))?;
        if reduced.net.place_count() == net.place_count()
            && reduced.net.transition_count() == net.transition_count()
        {
            return None;
        }
        let mut own = examiner.smaller(system, &reduced)?;
        let property = make(&mut |statement| own.add_label(reduced.translate(statement, net)?))?;
        let smaller = Smaller {
            system: own,
            relations: OnceCell::new(),
        };
        Some((property, smaller))
    });
    let (property, smaller) = match own.flatten() {
        Some((property, smaller)) => (property, Some(smaller)),
        None => (first, None),
    };
    Some(Ready {
        id: claim.id.clone(),
        property,
        by_equation,
        smaller,
    })
}

/// From a contest formula to one of the LTL library.
struct Translation<'t> {
    formulas: Formulas,
    statements: &'t [&'t Formula],
    simple: &'t [Formula],
}

impl Translation<'_> {
    fn translate(&mut self, formula: &Formula) -> Temporal {
        if let Some(number) = self.statements.iter().position(|s| *s == formula) {
            return match self.simple[number] {
                Formula::Atom(Atom::Constant(value)) => self.formulas.constant(value),
                _ => self.formulas.atom(&format!("s{number}")),
            };
        }
        match formula {
            // Every statement about one marking was collected.
            Formula::Atom(_) => self.formulas.constant(false),
            Formula::Not(inner) => {
                let inner = self.translate(inner);
                self.formulas.not(inner)
            }
            Formula::And(parts) => self.join(parts, true, Node::And),
            Formula::Or(parts) => self.join(parts, false, Node::Or),
            Formula::Next(inner) => self.unary(inner, Node::Next),
            Formula::Globally(inner) => self.unary(inner, Node::Globally),
            Formula::Finally(inner) => self.unary(inner, Node::Finally),
            Formula::Until(left, right) => {
                let (left, right) = (self.translate(left), self.translate(right));
                self.formulas.make(Node::Until(left, right))
            }
        }
    }

    fn unary(&mut self, inner: &Formula, node: fn(Temporal) -> Node) -> Temporal {
        let inner = self.translate(inner);
        self.formulas.make(node(inner))
    }

    /// Statements about one marking among the parts were collected one by one, unless all are.
    fn join(
        &mut self,
        parts: &[Formula],
        empty: bool,
        node: fn(Temporal, Temporal) -> Node,
    ) -> Temporal {
        let mut joined: Option<Temporal> = None;
        for part in parts {
            let part = self.translate(part);
            joined = Some(match joined {
                None => part,
                Some(before) => self.formulas.make(node(before, part)),
            });
        }
        joined.unwrap_or_else(|| self.formulas.constant(empty))
    }
}
