//! Dead locations: control states at which a process does nothing but leave.
//!
//! At a dead location a process has a single step, which is always executable, changes
//! nothing and is not part of an atomic sequence: a `skip`, a jump, the end of a choice. Where
//! nobody can see the location, a process may as well be at the next one already: steps that
//! led to it lead on. States with a process at a dead location are never deadlocks, and
//! nothing that can be asserted is different there, so verdicts stay the same. A circle of
//! dead locations keeps all of them: a process that runs around it forever still does.

use super::{Action, Flow, StateNr, Transition};
use crate::ast::ProcessKind;
use crate::hir::{Basic, Expr, Program};
use crate::lower::each_expression;

/// The model without dead locations. The numbers of states and steps stay the same.
pub(crate) fn bypass(program: &Program) -> Program {
    let mut program = program.clone();
    let provided = program.processes.iter().any(|p| p.provided.is_some());
    if program.uses_priority || provided || looks_at_control(&program) {
        return program;
    }
    for process in &mut program.processes {
        if matches!(process.kind, ProcessKind::Proctype | ProcessKind::Init) {
            lead_on(&mut process.flow);
        }
    }
    program
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

fn lead_on(flow: &mut Flow) {
    let next: Vec<Option<StateNr>> = (0..flow.states.len())
        .map(|state| flow.dead_step(state).map(|only| only.target))
        .collect();
    let lead = |from: StateNr| {
        let mut at = from;
        // No way is longer than there are states, unless it is a circle.
        for _ in 0..next.len() {
            match next.get(at).copied().flatten() {
                Some(further) => at = further,
                None => return at,
            }
        }
        from
    };
    let leads: Vec<StateNr> = (0..next.len()).map(lead).collect();
    for step in flow.states.iter_mut().flat_map(|s| &mut s.transitions) {
        if let Some(lead) = leads.get(step.target).filter(|_| !step.atomic) {
            step.target = *lead;
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
