//! Which statements SPIN would merge with those before them.
//!
//! A statement that cannot block and touches only what its process owns may run in one step with
//! the statement before it: nobody can tell. The rules are those of SPIN's statement merging
//! (its default; switched off there by `-o3`): such a statement has no label, no alternative and
//! no escape; a condition, a receive, or, in models without rendez-vous, a send may start a
//! merged step, but never continue one. Inside atomic sequences shared variables do not matter.
//!
//! The marks are always made, because SPIN's trails leave merged statements out; the lowering
//! looks at them only if asked to.

use std::collections::HashSet;

use super::{Action, Flow, Transition};
use crate::ast::Probe;
use crate::hir::{Argument, Basic, Expr, LeafInitial, Place, ProcId, Program, VarKey};

/// Sets [`Transition::merges`] in all process types.
pub(crate) fn merge(program: &mut Program, remote_labels: &[(crate::ast::Name, crate::ast::Name)]) {
    let mut marks: Vec<Vec<bool>> = Vec::new();
    for at in 0..program.processes.len() {
        marks.push(Merging::new(program, ProcId(at), remote_labels).marks());
    }
    for (process, marks) in program.processes.iter_mut().zip(marks) {
        for state in &mut process.flow.states {
            for transition in &mut state.transitions {
                transition.merges = marks.get(transition.number).copied().unwrap_or(false);
            }
        }
    }
}

struct Merging<'p> {
    program: &'p Program,
    process: ProcId,
    flow: &'p Flow,
    /// States with a label of any kind.
    labelled: HashSet<usize>,
    /// States with a label that others refer to.
    watched: HashSet<usize>,
    has_rendezvous: bool,
    /// With a `provided` clause anywhere, nothing outside atomic sequences is local.
    all_shared: bool,
}

impl<'p> Merging<'p> {
    fn new(
        program: &'p Program,
        process: ProcId,
        remote_labels: &[(crate::ast::Name, crate::ast::Name)],
    ) -> Self {
        let found = &program.processes[process.0];
        let flow = &found.flow;
        let labels = flow.labels.iter();
        let remote = remote_labels.iter().filter(|(p, _)| *p == found.name);
        let variables = program.processes.iter().flat_map(|p| &p.locals);
        let mut leaves = variables.chain(&program.globals).flat_map(|v| &v.leaves);
        Self {
            program,
            process,
            flow,
            labelled: labels.map(|(_, state)| *state).collect(),
            watched: remote.filter_map(|(_, l)| flow.label_state(l)).collect(),
            has_rendezvous: leaves
                .any(|l| matches!(&l.initial, LeafInitial::Channel(ty) if ty.capacity == 0)),
            all_shared: program.processes.iter().any(|p| p.provided.is_some()),
        }
    }

    /// By number of the step.
    fn marks(&self) -> Vec<bool> {
        let mut marks = vec![false; self.flow.states.len()];
        for (state, found) in self.flow.states.iter().enumerate() {
            // Steps stand at the state of their own element, and in the choices before it.
            if let [only] = found.transitions.as_slice()
                && only.number + 1 == state
                && (self.starts(only) || self.follows(state))
                && only.target != state
            {
                marks[only.number] = self.follows(only.target);
            }
        }
        marks
    }

    /// Whether a step may run together with the one before it.
    fn follows(&self, state: usize) -> bool {
        let Some([only]) = self
            .flow
            .states
            .get(state)
            .map(|s| s.transitions.as_slice())
        else {
            return false;
        };
        let never_blocks = match &*only.action {
            Action::Jump => true,
            Action::Basic(basic) => matches!(
                basic,
                Basic::Assign(..)
                    | Basic::AssignAll(..)
                    | Basic::Nothing
                    | Basic::Print(..)
                    | Basic::PrintMtype(_)
                    | Basic::Assert(_)
            ),
            Action::Blocked | Action::DStep(_) => false,
        };
        never_blocks
            && only.number + 1 == state
            && !self.labelled.contains(&state)
            && self.is_local(only)
    }

    /// Whether a step that may block can be the first of a merged one.
    fn starts(&self, step: &Transition) -> bool {
        let kind = match &*step.action {
            Action::Basic(Basic::Condition(expr)) => !crate::resolve::contains_run(expr),
            Action::Basic(Basic::Receive { .. }) => true,
            Action::Basic(Basic::Send { .. }) => !self.has_rendezvous,
            _ => false,
        };
        kind && !self.watched.contains(&(step.number + 1)) && self.is_local(step)
    }

    fn is_local(&self, step: &Transition) -> bool {
        if step.in_atomic {
            return true;
        }
        let shared = match &*step.action {
            Action::Basic(basic) => self.basic(basic),
            Action::Jump => false,
            Action::Blocked | Action::DStep(_) => true,
        };
        !self.all_shared && !shared
    }

    /// Whether a statement touches something that others may touch.
    fn basic(&self, basic: &Basic) -> bool {
        match basic {
            Basic::Condition(expr) | Basic::Assert(expr) | Basic::PrintMtype(expr) => {
                self.expr(expr)
            }
            Basic::Assign(place, value) => self.place(place) || self.expr(value),
            Basic::AssignAll(variable, _) => matches!(variable, VarKey::Global(_)),
            Basic::Print(_, arguments) => arguments.iter().any(|a| self.expr(a)),
            Basic::Send {
                channel, values, ..
            } => values.iter().any(|v| self.expr(v)) || !self.owns(channel, false),
            Basic::Receive {
                channel, arguments, ..
            } => {
                let shared = |argument: &Argument| match argument {
                    Argument::Store(place) => self.place(place),
                    Argument::Ignore => false,
                    Argument::Match(expr) => self.expr(expr),
                };
                arguments.iter().any(shared) || !self.owns(channel, true)
            }
            Basic::Nothing | Basic::End => false,
            Basic::Else | Basic::SetPriority(..) => true,
        }
    }

    fn place(&self, place: &Place) -> bool {
        let shared = match place.variable {
            VarKey::Global(at) => !self.program.globals[at].local,
            VarKey::Local(_) => false,
        };
        shared || place.indices.iter().any(|i| self.expr(i))
    }

    fn expr(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Pid => false,
            Expr::Load(place) => self.place(place),
            Expr::Unary(_, inner) => self.expr(inner),
            Expr::Binary(_, left, right, _) => self.expr(left) || self.expr(right),
            Expr::Conditional(a, b, c) => self.expr(a) || self.expr(b) || self.expr(c),
            Expr::Run(run) => {
                let started = &self.program.processes[run.process.0];
                !started.initialised.is_empty() || run.arguments.iter().any(|a| self.expr(a))
            }
            Expr::Len(channel) => !(self.owns(channel, true) && self.owns(channel, false)),
            Expr::Probe(Probe::NotEmpty | Probe::Full, channel) => !self.owns(channel, true),
            Expr::Probe(Probe::NotFull | Probe::Empty, channel) => !self.owns(channel, false),
            Expr::Poll {
                channel, pattern, ..
            } => {
                let owns = self.owns(channel, true) && self.owns(channel, false);
                !owns || pattern.iter().flatten().any(|e| self.expr(e))
            }
            Expr::Enabled(..)
            | Expr::PcValue(_)
            | Expr::Timeout
            | Expr::NonProgress
            | Expr::ProcessCount
            | Expr::Last
            | Expr::Priority(_)
            | Expr::Any
            | Expr::RemoteLabel { .. }
            | Expr::RemoteVariable { .. } => true,
        }
    }

    /// Whether a channel is claimed by `xr` (or `xs`).
    fn owns(&self, channel: &Place, receive: bool) -> bool {
        let claims = |at: usize| {
            let list = &self.program.processes[at].exclusive;
            list.iter()
                .any(|(r, place)| *r == receive && place.variable == channel.variable)
        };
        match channel.variable {
            VarKey::Global(_) => (0..self.program.processes.len()).any(claims),
            VarKey::Local(_) => claims(self.process.0),
        }
    }
}
