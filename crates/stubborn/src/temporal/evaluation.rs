//! Propositions that cannot be evaluated.
//!
//! An index outside its array or a division by zero is neither true nor false, so a property
//! that looks at one is violated, whatever it says. Which evaluations count:
//!
//! - A formula, or an automaton in the HOA format, is about all propositions in every state that
//!   the system reaches, so each of them must have a value there. The parts of a formula without
//!   temporal operators are evaluated from left to right and no further than needed:
//!   `[] (i < 3 -> a[i] == 0)` never looks at `a[3]`.
//! - A claim (a property process, a never claim) evaluates the guards of the state that it is in,
//!   and no others.
//!
//! Every expression that may fail gets a [label](Expr::failure) that holds where it does. For formulas
//! it is a goal of a search like any other safety question; in claims it leads to a
//! state that violates the property, in the product with the claim.

use std::collections::HashSet;

use stubborn_diagnostics::Span;
use stubborn_emptiness::{Claim, ClaimGuards, LabelledFormula, Property};
use stubborn_ir::narrow::may_fail_somewhere;
use stubborn_ir::{BinaryOp, Expr, Program, simplify};
use stubborn_ltl::formula::{Formula, Formulas, Node, Proposition};
use stubborn_search::Trace;
use stubborn_system::{Budget, Executor, LabelId};

use super::{Obstacle, Temporal};
use crate::load::LoadedModel;

/// Deeper parts of formulas are taken apart: expressions that are evaluated are no deeper than
/// those of front-ends.
const DEEPEST_PART: u32 = 100;

/// The evaluations of a property that may fail.
#[derive(Clone, Debug, Default)]
pub struct Evaluations {
    /// Each with the state of the claim that evaluates it; a formula is a claim with one state.
    all: Vec<(usize, Evaluation)>,
    claim: Option<WatchedClaim>,
}

/// An expression that may fail to have a value.
#[derive(Clone, Debug)]
struct Evaluation {
    /// Holds where it cannot be evaluated.
    fails: LabelId,
    /// What it is put together from: texts for people, and labels.
    parts: Vec<(String, LabelId)>,
}

#[derive(Clone, Debug)]
struct WatchedClaim {
    claim: Claim,
    /// That no run comes to where an evaluation fails.
    property: Property,
}

/// An expression of a formula or an automaton that may fail to have a value.
pub(crate) struct Partial {
    expr: Expr,
    /// As in [`Evaluation`].
    parts: Vec<(String, LabelId)>,
}

impl Partial {
    /// All of them, for a property whose labels the program has.
    pub(crate) fn all(property: &Temporal, program: &Program, budget: &Budget) -> Vec<Self> {
        let expr = |label: LabelId| &program.labels[label.index()].expr;
        let mut found: Vec<Self> = match property.property.as_ref().map(|p| (p, p.formula())) {
            Err(Obstacle::Branching(property)) => {
                let all = property.propositions().map(|(name, label)| Self {
                    expr: expr(label).clone(),
                    parts: vec![(name.to_owned(), label)],
                });
                all.collect()
            }
            Err(_) => return Vec::new(),
            Ok((_, Some(formula))) => parts_of(formula, program),
            Ok((property, None)) => {
                let used = property.used_labels();
                let names = property.automaton().propositions().iter();
                let all = names.zip(property.labels());
                let all = all.filter(|(_, label)| used.contains(label));
                all.map(|(name, label)| Self {
                    expr: expr(*label).clone(),
                    parts: vec![(name.clone(), *label)],
                })
                .collect()
            }
        };
        let exprs: Vec<Expr> = found.iter().map(|partial| partial.expr.clone()).collect();
        let mut fails = may_fail_somewhere(program, &exprs, budget).into_iter();
        found.retain(|_| fails.next().unwrap_or(true));
        found
    }
}

/// How a property came to be violated by an evaluation that failed.
#[derive(Clone, Debug)]
pub struct EvaluationFailure {
    /// The proposition, or the guard of the claim.
    pub proposition: String,
    /// As a label of the model.
    pub label: LabelId,
    /// What went wrong, in words.
    pub message: String,
    /// Where it stands in the model's text, for claims.
    pub span: Option<Span>,
    /// A run whose last state it cannot be evaluated in.
    pub trace: Trace,
}

impl Evaluations {
    /// Those of a formula or an automaton, whose labels the program has. The program gets a label
    /// for each.
    pub(crate) fn new(partial: Vec<Partial>, program: &mut Program) -> Self {
        let mut evaluation = |partial: Partial| Evaluation {
            fails: program.label(Expr::failure(partial.expr)),
            parts: partial.parts,
        };
        Self {
            all: partial.into_iter().map(|p| (0, evaluation(p))).collect(),
            claim: None,
        }
    }

    /// For evaluations of single propositions: each label with the one that holds where it has no
    /// value.
    pub(super) fn partial(&self) -> Vec<(LabelId, LabelId)> {
        let each = self.all.iter().flat_map(|(_, evaluation)| {
            let labels = evaluation.parts.iter().map(|(_, label)| *label);
            labels.map(|label| (label, evaluation.fails))
        });
        each.collect()
    }

    /// The same at once.
    pub(crate) fn of(property: &Temporal, program: &mut Program, budget: &Budget) -> Self {
        Self::new(Partial::all(property, program, budget), program)
    }

    /// Those of a claim, and the property that it states, its evaluations included. The program
    /// gets a label for each.
    pub(crate) fn of_claim(
        claim: Claim,
        program: &mut Program,
        budget: &Budget,
    ) -> (Self, Property) {
        let property = |program: &mut Program, claim: &Claim| {
            let guards = ClaimGuards::new(program, claim);
            Property::from_claim(claim, guards)
        };
        let mut guards: Vec<(usize, LabelId)> = Vec::new();
        for edge in &claim.edges {
            let guard = edge.guard.map(|guard| (edge.source, guard));
            guards.extend(guard.filter(|guard| !guards.contains(guard)));
        }
        let exprs = guards.iter().map(|(_, g)| &program.labels[g.index()].expr);
        let exprs: Vec<Expr> = exprs.cloned().collect();
        let fails = may_fail_somewhere(program, &exprs, budget);
        let mut all = Vec::new();
        for (((source, guard), expr), fails) in guards.into_iter().zip(exprs).zip(fails) {
            if fails {
                let evaluation = Evaluation {
                    fails: program.label(Expr::failure(expr)),
                    parts: vec![(String::new(), guard)],
                };
                all.push((source, evaluation));
            }
        }
        if all.is_empty() {
            return (Self::default(), property(program, &claim));
        }
        let failing = all.iter().map(|(source, e)| (*source, e.fails));
        let watched = claim.with_violations(failing);
        let whole = property(program, &watched);
        let alone = property(program, &watched.with_last_accepting());
        let claim = Some(WatchedClaim {
            claim,
            property: alone,
        });
        (Self { all, claim }, whole)
    }

    /// Whether no evaluation can fail.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The labels that hold where an evaluation fails.
    pub(crate) fn labels(&self) -> impl Iterator<Item = LabelId> + '_ {
        self.all.iter().map(|(_, evaluation)| evaluation.fails)
    }

    /// Those that violate the property wherever they hold: for claims, that depends on where the
    /// claim is, and its property knows.
    pub fn wherever(&self) -> impl Iterator<Item = LabelId> + '_ {
        self.labels().filter(|_| self.claim.is_none())
    }

    /// For claims: that no run comes to where an evaluation fails.
    pub(crate) fn of_claim_alone(&self) -> Option<&Property> {
        self.claim.as_ref().map(|claim| &claim.property)
    }

    /// The first evaluation that fails along a run.
    pub fn first_failure(&self, model: &LoadedModel, run: &Trace) -> Option<EvaluationFailure> {
        let mut executor = model.reference().executor();
        let (mut at, mut steps) = (0, 0);
        let claim = self.claim.as_ref().map(|watched| &watched.claim);
        let mut states = vec![claim.map_or(0, |claim| claim.initial)];
        // Until nothing new can come.
        let mut seen: HashSet<(usize, usize)> = HashSet::new();
        loop {
            let state = run.state(at);
            let fails = |(of, evaluation): &&(usize, Evaluation)| {
                states.contains(of) && executor.label(state, evaluation.fails)
            };
            if let Some((_, evaluation)) = self.all.iter().find(fails) {
                return Some(evaluation.failure(model, prefix(run, steps)));
            }
            let before = seen.len();
            seen.extend(states.iter().map(|q| (at, *q)));
            if seen.len() == before {
                return None;
            }
            if let Some(claim) = claim {
                states = successors(claim, &states, state, &mut *executor);
            }
            // A run without a cycle stands still at its end.
            if at < run.len() {
                (at, steps) = (at + 1, steps + 1);
            }
            if let Some(start) = run.cycle_start().filter(|_| at == run.len()) {
                at = start;
            }
        }
    }
}

/// The states that a claim can be in after it was in one of some.
fn successors(
    claim: &Claim,
    states: &[usize],
    state: &[u32],
    executor: &mut dyn Executor,
) -> Vec<usize> {
    let mut next = Vec::new();
    for edge in claim.edges.iter().filter(|e| states.contains(&e.source)) {
        let holds = edge.guard.is_none_or(|guard| executor.label(state, guard));
        if holds && !next.contains(&edge.target) {
            next.push(edge.target);
        }
    }
    next
}

/// The first steps of a run, as a run that ends.
fn prefix(run: &Trace, steps: usize) -> Trace {
    let mut trace = Trace::new(run.initial_state());
    let start = run.cycle_start().unwrap_or(0);
    for number in 0..steps {
        let beyond = number.checked_sub(run.len());
        let step = run.step(beyond.map_or(number, |more| start + more % (run.len() - start)));
        trace.push(step.transition, step.outcome, step.after);
    }
    trace
}

impl Evaluation {
    fn failure(&self, model: &LoadedModel, trace: Trace) -> EvaluationFailure {
        let state = trace.last_state();
        let site = model.why_label_fails(self.fails, state);
        let is_culprit =
            |(_, label): &&(String, LabelId)| match (site, model.why_label_fails(*label, state)) {
                (Some(whole), Some(part)) => std::ptr::eq(whole, part),
                _ => false,
            };
        let culprit = self.parts.iter().find(is_culprit).or(self.parts.first());
        let (text, label) = culprit.map_or(("", self.fails), |(text, label)| (text, *label));
        let is_guard = text.is_empty();
        EvaluationFailure {
            proposition: match is_guard {
                true => model.reference().structure().label(label).text.clone(),
                false => text.to_owned(),
            },
            label,
            message: site.map_or(String::new(), |site| site.message.clone()),
            span: site.and_then(|site| site.span).filter(|_| is_guard),
            trace,
        }
    }
}

/// The largest parts of a formula without temporal operators that contain a proposition that may
/// fail.
fn parts_of(labelled: &LabelledFormula, program: &Program) -> Vec<Partial> {
    let formulas = &labelled.formulas;
    let expr = |p: Proposition| {
        let label = labelled.labels[p.0 as usize];
        &program.labels[label.index()].expr
    };
    let (mut temporal, mut partial) = (HashSet::new(), HashSet::new());
    for part in formulas.subformulas(labelled.formula) {
        let node = formulas.node(part);
        let has = |set: &HashSet<Formula>| node.operands().any(|o| set.contains(&o));
        if !is_boolean(node) || has(&temporal) {
            temporal.insert(part);
        }
        if matches!(node, Node::Atom(p) if program.may_fail(expr(p))) || has(&partial) {
            partial.insert(part);
        }
    }
    let mut found = Vec::new();
    let (mut todo, mut seen) = (vec![labelled.formula], HashSet::new());
    while let Some(part) = todo.pop() {
        if !partial.contains(&part) || !seen.insert(part) {
            continue;
        }
        if temporal.contains(&part) || formulas.depth(part) > DEEPEST_PART {
            todo.extend(formulas.node(part).operands().rev());
            continue;
        }
        let atoms = formulas.propositions(part).into_iter();
        let atoms = atoms.map(|p| (formulas.name(p).to_owned(), labelled.labels[p.0 as usize]));
        found.push(Partial {
            expr: expression(formulas, part, &expr),
            parts: atoms.collect(),
        });
    }
    found
}

/// A part of a formula as an expression that is evaluated from left to right.
fn expression<'e>(
    formulas: &Formulas,
    part: Formula,
    expr: &dyn Fn(Proposition) -> &'e Expr,
) -> Expr {
    let of = |part| expression(formulas, part, expr);
    let compared = |op, f, g| Expr::binary(op, simplify::truth(of(f)), simplify::truth(of(g)));
    match formulas.node(part) {
        Node::Atom(p) => expr(p).clone(),
        Node::False => Expr::Const(0),
        Node::Not(f) => Expr::negation(of(f)),
        Node::And(f, g) => Expr::and(of(f), of(g)),
        Node::Or(f, g) => Expr::or(of(f), of(g)),
        Node::Implies(f, g) => Expr::or(Expr::negation(of(f)), of(g)),
        Node::Iff(f, g) => compared(BinaryOp::Equal, f, g),
        Node::Xor(f, g) => compared(BinaryOp::NotEqual, f, g),
        // What is temporal was taken apart.
        _ => Expr::Const(1),
    }
}

fn is_boolean(node: Node) -> bool {
    !matches!(
        node,
        Node::Next(_)
            | Node::Finally(_)
            | Node::Globally(_)
            | Node::Until(..)
            | Node::WeakUntil(..)
            | Node::Release(..)
            | Node::StrongRelease(..)
    )
}
