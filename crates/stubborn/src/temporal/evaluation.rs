//! Propositions that cannot be evaluated.
//!
//! An index outside its array or a division by zero is neither true nor false, so a property
//! that looks at one is violated, whatever it says. Which evaluations count:
//!
//! - A formula, or an automaton in the HOA format, evaluates in each state that its automaton can be in the
//!   propositions that the edges of that state depend on, and no others, as SPIN does. So a property that
//!   holds does so whatever the propositions without a value are. The parts of a formula without temporal
//!   operators are propositions here: they are evaluated from left to right and no further than needed,
//!   so that `[] (i < 3 -> a[i] == 0)` never looks at `a[3]`.
//! - A claim (a property process, a never claim) evaluates the guards of the state that it is in,
//!   and no others.
//! - A formula of branching time has no answer where one that matters has no value.
//!
//! Every expression that may fail gets a [label](Expr::failure) that holds where it does. It leads to a
//! state of the automaton that violates the property, in the product with the system.

use std::collections::{HashMap, HashSet};

use stubborn_diagnostics::Span;
use stubborn_emptiness::{Claim, ClaimGuards, LabelledFormula, Property};
use stubborn_ir::narrow::may_fail_somewhere;
use stubborn_ir::{BinaryOp, Expr, Program, simplify};
use stubborn_ltl::automaton::StateId;
use stubborn_ltl::formula::{Formula, Formulas, Node, Proposition};
use stubborn_ltl::parser::Syntax;
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
    /// Each with a state of the watcher that evaluates it.
    all: Vec<(usize, Evaluation)>,
    /// `None` for formulas of branching time, and where no evaluation fails.
    watched: Option<Watched>,
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
struct Watched {
    by: Watcher,
    /// That no run comes to where an evaluation fails.
    alone: Property,
}

/// What evaluates.
#[derive(Clone, Debug)]
enum Watcher {
    Claim(Claim),
    /// The automaton of a property.
    Automaton(Box<Property>),
}

impl Watcher {
    fn initial(&self) -> usize {
        match self {
            Self::Claim(claim) => claim.initial,
            Self::Automaton(property) => property.automaton().initial().index(),
        }
    }

    /// The states that it can be in after it was in one of some.
    fn successors(
        &self,
        states: &[usize],
        state: &[u32],
        executor: &mut dyn Executor,
    ) -> Vec<usize> {
        let mut next = Vec::new();
        let mut add = |target: usize| {
            if !next.contains(&target) {
                next.push(target);
            }
        };
        match self {
            Self::Claim(claim) => {
                for edge in claim.edges.iter().filter(|e| states.contains(&e.source)) {
                    if edge.guard.is_none_or(|guard| executor.label(state, guard)) {
                        add(edge.target);
                    }
                }
            }
            Self::Automaton(property) => {
                let labels = property.labels();
                let mut letter = vec![0; labels.len().div_ceil(64)];
                for (at, label) in labels.iter().enumerate() {
                    letter[at / 64] |= u64::from(executor.label(state, *label)) << (at % 64);
                }
                for from in states {
                    let from = StateId(*from as u32);
                    for edge in property.automaton().successors(from, &letter) {
                        add(edge.target.index());
                    }
                }
            }
        }
        next
    }
}

/// An expression of a formula or an automaton.
pub(crate) struct Partial {
    /// What it is in the formula.
    part: Option<Formula>,
    expr: Expr,
    /// As in [`Evaluation`].
    parts: Vec<(String, LabelId)>,
    /// It may fail to have a value.
    fails: bool,
}

impl Partial {
    /// What a property evaluates whose labels the program has; nothing if nothing can fail.
    pub(crate) fn all(property: &Temporal, program: &Program, budget: &Budget) -> Vec<Self> {
        let of_label = |(name, label): (&str, LabelId)| Self {
            part: None,
            expr: program.labels[label.index()].expr.clone(),
            parts: vec![(name.to_owned(), label)],
            fails: false,
        };
        let mut found: Vec<Self> = match property.property.as_ref().map(|p| (p, p.formula())) {
            Err(Obstacle::Branching(property)) => property.propositions().map(of_label).collect(),
            Err(_) => return Vec::new(),
            Ok((_, Some(formula))) => parts_of(formula, program),
            Ok((property, None)) => {
                let used = property.used_labels();
                let names = property.automaton().propositions().iter();
                let all = names
                    .map(String::as_str)
                    .zip(property.labels().iter().copied());
                all.filter(|(_, label)| used.contains(label))
                    .map(of_label)
                    .collect()
            }
        };
        let exprs: Vec<Expr> = found.iter().map(|partial| partial.expr.clone()).collect();
        let mut fails = may_fail_somewhere(program, &exprs, budget).into_iter();
        for partial in &mut found {
            partial.fails = fails.next().unwrap_or(true);
        }
        match found.iter().any(|partial| partial.fails) {
            true => found,
            false => Vec::new(),
        }
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
    /// Makes what a formula or an automaton evaluates part of its property, which is violated then where an
    /// evaluation fails. The program, which has the labels of the property, gets one for each.
    pub(crate) fn watch(temporal: &mut Temporal, partial: Vec<Partial>, program: &mut Program) {
        let mut plain = match &temporal.property {
            _ if partial.is_empty() => return,
            Ok(property) => Some(property.clone()),
            Err(_) => None,
        };
        if let Some(formula) = temporal.property.as_ref().ok().and_then(Property::formula) {
            match of_parts(formula, &partial, program) {
                Ok(property) => plain = Some(property),
                Err(why) => {
                    temporal.property = Err(why);
                    return;
                }
            }
        }
        let mut failures = Vec::new();
        let mut evaluations = Vec::new();
        for partial in partial.into_iter().filter(|partial| partial.fails) {
            let whole = partial.label(program);
            let fails = program.label(Expr::failure(partial.expr));
            failures.push((whole, fails));
            evaluations.push(Evaluation {
                fails,
                parts: partial.parts,
            });
        }
        let mut all = Vec::new();
        let Some(plain) = plain else {
            all.extend(evaluations.into_iter().map(|evaluation| (0, evaluation)));
            temporal.evaluations = Self { all, watched: None };
            return;
        };
        for state in plain.automaton().states() {
            let looked_at = plain.looked_at(state);
            for ((label, _), evaluation) in failures.iter().zip(&evaluations) {
                if looked_at.contains(label) {
                    all.push((state.index(), evaluation.clone()));
                }
            }
        }
        if let Ok(property) = &mut temporal.property {
            *property = plain.watched(&failures, property);
            let alone = property.failures_alone();
            let by = Watcher::Automaton(Box::new(plain));
            let watched = Some(Watched { by, alone });
            temporal.evaluations = Self { all, watched };
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
        let by = Watcher::Claim(claim);
        let watched = Some(Watched { by, alone });
        (Self { all, watched }, whole)
    }

    /// Whether no evaluation can fail.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// That no run comes to where an evaluation fails.
    pub(crate) fn alone(&self) -> Option<&Property> {
        self.watched.as_ref().map(|watched| &watched.alone)
    }

    /// The first evaluation that fails along a run.
    pub fn first_failure(&self, model: &LoadedModel, run: &Trace) -> Option<EvaluationFailure> {
        let mut executor = model.reference().executor();
        let (mut at, mut steps) = (0, 0);
        let by = &self.watched.as_ref()?.by;
        let mut states = vec![by.initial()];
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
            states = by.successors(&states, state, &mut *executor);
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
            part: Some(part),
            expr: expression(formulas, part, &expr),
            parts: atoms.collect(),
            fails: false,
        });
    }
    found
}

impl Partial {
    /// The label that it is for the automaton.
    fn label(&self, program: &mut Program) -> LabelId {
        match self.parts.as_slice() {
            // (The automaton may ask for its negation.)
            [(_, only)] => *only,
            _ => program.label(simplify::truth(self.expr.clone())),
        }
    }
}

/// The property of a formula with its parts, where they have several propositions, as propositions of their
/// own.
fn of_parts(
    labelled: &LabelledFormula,
    parts: &[Partial],
    program: &mut Program,
) -> Result<Property, Obstacle> {
    let (mut formulas, mut labels) = (labelled.formulas.clone(), labelled.labels.clone());
    let mut image: HashMap<Formula, Formula> = HashMap::new();
    for partial in parts.iter().filter(|partial| partial.parts.len() > 1) {
        let Some(part) = partial.part else { continue };
        let mut name = formulas.display(part, Syntax::Spin).to_string();
        while formulas.names().contains(&name) {
            name += " ";
        }
        image.insert(part, formulas.atom(&name));
        labels.push(partial.label(program));
    }
    for part in labelled.formulas.subformulas(labelled.formula) {
        if !image.contains_key(&part) {
            let node = labelled.formulas.node(part).map(|operand| image[&operand]);
            let same = match node {
                Node::Not(operand) => formulas.not(operand),
                node => formulas.make(node),
            };
            image.insert(part, same);
        }
    }
    let formula = image[&labelled.formula];
    let property = Property::from_formula(formulas, formula, labels, &Default::default());
    property.map_err(|error| Obstacle::TooLarge(error.to_string()))
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
