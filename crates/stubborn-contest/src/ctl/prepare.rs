//! Claims made ready: formulas of the contest become formulas of the CTL library, whose
//! propositions are labels of the net.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use stubborn_ctl::{Formula as Ctl, Formulas, Node};
use stubborn_net::{Atom, Branching, Formula, NetSystem, Paths};

use super::Open;
use super::refute::Facts;
use crate::answer::Technique;
use crate::claim::Claim;
use crate::examiner::Examiner;

/// Makes a formula of a claim, with a label for each statement about a marking that the state
/// equation does not decide in a time; without that, for each.
pub(super) fn prepare(
    examiner: &Examiner<'_>,
    system: &mut NetSystem,
    claim: &Claim<Branching>,
    by_equation: Option<(&Facts, Duration)>,
) -> Option<Open> {
    let started = Instant::now();
    let statements = claim.statements();
    let simple = match by_equation {
        Some((_, time)) => examiner.by_equation(system, &statements, time),
        None => statements.iter().map(|s| (*s).clone()).collect(),
    };
    let mut pairs = statements.iter().zip(&simple);
    let simplified = pairs.any(|(s, simple)| *s != simple);
    let mut translation = Translation {
        formulas: Formulas::new(),
        statements: &statements,
        simple: &simple,
    };
    let formula = translation.translate(&claim.formula);
    let formulas = translation.formulas;
    let mut labelled = Vec::new();
    for name in formulas.names() {
        let statement = simple.get(name.parse::<usize>().ok()?)?;
        labelled.push((statement.clone(), system.add_label(statement.clone())?));
    }
    let mut open = Open {
        id: claim.id.clone(),
        formulas,
        formula,
        statements: labelled,
        reachable: Vec::new(),
        techniques: simplified
            .then_some(Technique::LinearProgramming)
            .into_iter()
            .collect(),
    };
    if let Some((facts, time)) = by_equation.filter(|_| examiner.options.equation) {
        open.refute(system, facts, time.saturating_sub(started.elapsed()));
    }
    let mut parts = Vec::new();
    reachable_parts(&open.formulas, open.formula, &mut parts);
    for (part, goal) in parts {
        let goal = open.statement(goal);
        let label = system.add_label(goal.clone())?;
        open.reachable.push((part, goal, label));
    }
    Some(open)
}

impl Open {
    /// A part about one marking in terms of the net.
    fn statement(&self, part: Ctl) -> Formula {
        match self.formulas.node(part) {
            Node::Atom(number) => self.statements[number as usize].0.clone(),
            Node::Not(inner) => self.statement(inner).negated(),
            Node::And(a, b) => Formula::And(vec![self.statement(a), self.statement(b)]),
            Node::Or(a, b) => Formula::Or(vec![self.statement(a), self.statement(b)]),
            Node::Constant(value) => Formula::Atom(Atom::Constant(value)),
            // There are none of these in a statement about one marking.
            Node::ExistsNext(_) | Node::ExistsUntil(..) | Node::AllUntil(..) => {
                Formula::Atom(Atom::Constant(false))
            }
        }
    }
}

/// From a contest formula to one of the CTL library, whose propositions are numbers of
/// statements.
struct Translation<'t> {
    formulas: Formulas,
    statements: &'t [&'t Formula],
    simple: &'t [Formula],
}

impl Translation<'_> {
    fn translate(&mut self, formula: &Branching) -> Ctl {
        match formula {
            Branching::State(statement) => {
                let number = self.statements.iter().position(|s| *s == statement);
                match number.map(|number| (number, &self.simple[number])) {
                    Some((_, Formula::Atom(Atom::Constant(value)))) => {
                        self.formulas.constant(*value)
                    }
                    Some((number, _)) => self.formulas.atom(&number.to_string()),
                    // Every statement was collected.
                    None => self.formulas.constant(false),
                }
            }
            Branching::Not(inner) => {
                let inner = self.translate(inner);
                self.formulas.not(inner)
            }
            Branching::And(parts) => self.join(parts, true, Formulas::and),
            Branching::Or(parts) => self.join(parts, false, Formulas::or),
            Branching::Next(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_next(inner),
                    Paths::Some => self.formulas.exists_next(inner),
                }
            }
            Branching::Globally(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_globally(inner),
                    Paths::Some => self.formulas.exists_globally(inner),
                }
            }
            Branching::Finally(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_finally(inner),
                    Paths::Some => self.formulas.exists_finally(inner),
                }
            }
            Branching::Until(paths, left, right) => {
                let (left, right) = (self.translate(left), self.translate(right));
                match paths {
                    Paths::All => self.formulas.all_until(left, right),
                    Paths::Some => self.formulas.exists_until(left, right),
                }
            }
        }
    }

    fn join(
        &mut self,
        parts: &[Branching],
        empty: bool,
        join: fn(&mut Formulas, Ctl, Ctl) -> Ctl,
    ) -> Ctl {
        let mut joined = self.formulas.constant(empty);
        for part in parts {
            let part = self.translate(part);
            joined = join(&mut self.formulas, joined, part);
        }
        joined
    }
}

/// The parts `EF p` with `p` about one marking, below Boolean operators alone; each with its `p`.
fn reachable_parts(formulas: &Formulas, formula: Ctl, out: &mut Vec<(Ctl, Ctl)>) {
    match formulas.node(formula) {
        Node::Not(inner) => reachable_parts(formulas, inner, out),
        Node::And(a, b) | Node::Or(a, b) => {
            reachable_parts(formulas, a, out);
            reachable_parts(formulas, b, out);
        }
        _ => {
            let goal = formulas.reachable(formula);
            out.extend(
                goal.filter(|g| formulas.depth(*g) == 0)
                    .map(|g| (formula, g)),
            );
        }
    }
}

/// A formula with some parts replaced by their values: those below Boolean operators alone, or, if
/// these are their values in all reachable markings, `everywhere`.
pub(super) fn with(
    formulas: &mut Formulas,
    formula: Ctl,
    known: &HashMap<Ctl, bool>,
    everywhere: bool,
) -> Ctl {
    if let Some(value) = known.get(&formula) {
        return formulas.constant(*value);
    }
    let node = formulas.node(formula);
    let mut inner = |part: Ctl| with(formulas, part, known, everywhere);
    match node {
        Node::Not(f) => {
            let f = inner(f);
            formulas.not(f)
        }
        Node::And(f, g) => {
            let (f, g) = (inner(f), inner(g));
            formulas.and(f, g)
        }
        Node::Or(f, g) => {
            let (f, g) = (inner(f), inner(g));
            formulas.or(f, g)
        }
        Node::ExistsNext(f) if everywhere => {
            let f = inner(f);
            formulas.exists_next(f)
        }
        Node::ExistsUntil(f, g) if everywhere => {
            let (f, g) = (inner(f), inner(g));
            formulas.exists_until(f, g)
        }
        Node::AllUntil(f, g) if everywhere => {
            let (f, g) = (inner(f), inner(g));
            formulas.all_until(f, g)
        }
        _ => formula,
    }
}
