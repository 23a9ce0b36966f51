//! Dead locations: control states at which a process does nothing but leave.
//!
//! At a dead location a process has a single step, which is always executable, changes
//! nothing and is not part of an atomic sequence: a `skip`, a jump, the end of a choice. Where
//! nobody can see the location, nor that the process comes to the next one, it may as well be there
//! already: steps that led to it lead on. States with a process at a dead location are never deadlocks, and
//! nothing that can be asserted is different there, so verdicts stay the same. A circle of
//! dead locations keeps all of them: a process that runs around it forever still does.

use std::collections::HashSet;

use super::{Action, Flow, StateNr, Transition};
use crate::ast::ProcessKind;
use crate::hir::{Basic, Expr, Process, Program};
use crate::lower::each_expression;

/// The model without dead locations. The numbers of states and steps stay the same.
pub(crate) fn bypass(program: &Program) -> Program {
    let mut program = program.clone();
    let provided = program.processes.iter().any(|p| p.provided.is_some());
    if program.uses_priority || provided || looks_at_control(&program) {
        return program;
    }
    let observed = observed(&program);
    for (process, observed) in program.processes.iter_mut().zip(&observed) {
        if matches!(process.kind, ProcessKind::Proctype | ProcessKind::Init) {
            lead_on(&mut process.flow, observed);
        }
    }
    program
}

/// By process type: the control states that somebody looks at, by a label or by `np_`. Who comes to one does
/// something that others notice.
pub(super) fn observed(program: &Program) -> Vec<HashSet<StateNr>> {
    let mut labels = Vec::new();
    let mut progress = false;
    each_expression(program, &mut |expr| match expr {
        Expr::RemoteLabel { process, label, .. } => labels.push((process.0, label.clone())),
        Expr::NonProgress => progress = true,
        _ => {}
    });
    let of = |(at, process): (usize, &Process)| {
        let flow = &process.flow;
        let own = labels.iter().filter(|(other, _)| *other == at);
        let mut all: HashSet<StateNr> = own.filter_map(|(_, l)| flow.label_state(l)).collect();
        let states = flow.states.iter().enumerate();
        all.extend(
            states
                .filter(|(_, s)| progress && s.progress)
                .map(|(state, _)| state),
        );
        all
    };
    program.processes.iter().enumerate().map(of).collect()
}

/// Whether some step depends on where another process is, labels aside: on `_last`, `enabled` or
/// `pc_value`, or on nobody being ready for a rendez-vous, as an `else` beside a send does, or
/// whatever an escape that begins with a send, or a process of a higher priority, keeps from moving.
pub(crate) fn looks_at_control(program: &Program) -> bool {
    let refuses = program.uses_priority || refuses_partners(program);
    let mut looks = program.uses_last || program.has_rendezvous() && refuses;
    each_expression(program, &mut |expr| {
        looks |= matches!(expr, Expr::Enabled(..) | Expr::PcValue(_));
    });
    looks
}

fn refuses_partners(program: &Program) -> bool {
    let mut states = program.processes.iter().flat_map(|p| &p.flow.states);
    states.any(|state| {
        let steps = &state.transitions;
        let is_else = |step: &Transition| matches!(&*step.action, Action::Basic(Basic::Else));
        let has_else = steps.iter().any(is_else);
        let sends = |step: &Transition| matches!(&*step.action, Action::Basic(Basic::Send { .. }));
        steps
            .iter()
            .any(|step| sends(step) && (has_else || step.escape != 0))
    })
}

fn lead_on(flow: &mut Flow, observed: &HashSet<StateNr>) {
    let next: Vec<Option<(StateNr, bool)>> = (0..flow.states.len())
        .map(|state| {
            let only = flow.dead_step(state)?;
            let silent = !observed.contains(&only.target);
            silent.then_some((only.target, only.joins))
        })
        .collect();
    // And whether what comes there belongs to the same merged step.
    let lead = |from: StateNr| {
        let (mut at, mut joins) = (from, true);
        // No way is longer than there are states, unless it is a circle.
        for _ in 0..next.len() {
            match next.get(at).copied().flatten() {
                Some((further, joined)) => (at, joins) = (further, joins && joined),
                None => return (at, joins),
            }
        }
        (from, true)
    };
    let leads: Vec<(StateNr, bool)> = (0..next.len()).map(lead).collect();
    for step in flow.states.iter_mut().flat_map(|s| &mut s.transitions) {
        if let Some((lead, joins)) = leads.get(step.target).filter(|_| !step.atomic) {
            step.target = *lead;
            step.joins &= *joins;
        }
    }
}

impl Flow {
    /// The step that leaves a dead location; `None` if it is not dead.
    pub fn dead_step(&self, state: StateNr) -> Option<&Transition> {
        let found = self.states.get(state)?;
        let [only] = found.transitions.as_slice() else {
            return None;
        };
        let silent = match &*only.action {
            Action::Jump | Action::Basic(Basic::Nothing) => true,
            Action::Basic(Basic::Condition(Expr::Const(value))) => *value != 0,
            Action::Basic(_) | Action::Blocked | Action::DStep(_) => false,
        };
        let seen = found.valid_end
            || found.progress
            || found.accept
            || self.labels.iter().any(|(_, labelled)| *labelled == state);
        let plain = !only.atomic && !only.in_atomic && only.escape == 0 && only.target != 0;
        (silent && plain && !seen).then_some(only)
    }
}
