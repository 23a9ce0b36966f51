//! Which statements SPIN would merge with those before them.
//!
//! A statement that cannot block and touches only what its process owns may run in one step with
//! the statement before it: nobody can tell. The rules are those of SPIN's statement merging
//! (its default; switched off there by `-o3`): such a statement has no label, no alternative and
//! no escape; a condition, a receive, or, in models without rendez-vous, a send may start a
//! merged step, but never continue one. Inside atomic sequences shared variables do not matter.
//!
//! The marks are always made, because SPIN's trails leave merged statements out; the lowering
//! looks at them only if asked to, and never where some step [depends](super::looks_at_control)
//! on where another process is: there SPIN's merging can lose errors. Nor does it join a statement that may
//! fail, starts a process, looks at a channel or leads to where others [look](super::bypass::observed) to one
//! that they notice (`d!1; a[i] = 0`, `p = run Q(); q = run Q()`): what they do in between would be lost.

use std::collections::{BTreeSet, HashSet};

use super::bypass::observed;
use super::{Action, Flow, StateNr, Transition};
use crate::ast::{Binary, Probe};
use crate::hir::{Argument, Basic, Expr, Place, ProcId, Program, VarKey};
use crate::lower::{each_expression, each_global, each_part, globals_of, runs_of};

/// Sets [`Transition::merges`] and [`Transition::joins`] in all process types.
pub(crate) fn merge(program: &mut Program, remote_labels: &[(crate::ast::Name, crate::ast::Name)]) {
    // Nothing is local where locals are looked at from outside.
    let mut locals_are_seen = false;
    each_expression(program, &mut |expr| {
        locals_are_seen |= matches!(expr, Expr::RemoteVariable { .. });
    });
    if locals_are_seen {
        return;
    }
    let mut marks: Vec<(Vec<bool>, Vec<bool>)> = Vec::new();
    let observed = observed(program);
    for (at, observed) in observed.iter().enumerate() {
        let merging = Merging::new(program, ProcId(at), remote_labels);
        let merges = merging.marks();
        let joins = merging.joins(&merges, observed);
        marks.push((merges, joins));
    }
    for (process, (merges, joins)) in program.processes.iter_mut().zip(marks) {
        for state in &mut process.flow.states {
            for transition in &mut state.transitions {
                let is = |marks: &[bool]| marks.get(transition.number).copied().unwrap_or(false);
                (transition.merges, transition.joins) = (is(&merges), is(&joins));
            }
        }
    }
}

/// Whether every global that is declared `local` is used by one process at most, and by no
/// proposition.
pub(crate) fn locals_are_private(program: &Program) -> bool {
    let mut used = BTreeSet::new();
    for expr in &program.propositions {
        each_global(expr, &mut used);
    }
    let is_local = |global: &usize| program.globals[*global].local;
    if used.iter().any(is_local) {
        return false;
    }
    let states = || program.processes.iter().flat_map(|p| &p.flow.states);
    let steps = || states().flat_map(|s| &s.transitions);
    let started: BTreeSet<usize> = steps()
        .flat_map(|step| runs_of(&step.action))
        .map(|run| run.process.0)
        .collect();
    program.processes.iter().enumerate().all(|(at, process)| {
        let several = process.active > 1 || started.contains(&at);
        let globals = globals_of(process);
        let mut own = globals.into_iter().filter(is_local);
        own.all(|global| used.insert(global) && !several)
    })
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
        Self {
            program,
            process,
            flow,
            labelled: labels.map(|(_, state)| *state).collect(),
            watched: remote.filter_map(|(_, l)| flow.label_state(l)).collect(),
            has_rendezvous: program.has_rendezvous(),
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

    /// Those of the marks that lose nothing. Between a step that others notice and one that fails they
    /// may do what is impossible before the first and after the second.
    fn joins(&self, merges: &[bool], observed: &HashSet<StateNr>) -> Vec<bool> {
        let arrives = |state: StateNr| {
            let mut steps = self.flow.states[state].transitions.iter();
            steps.any(|step| observed.contains(&step.target))
        };
        let mut joins = merges.to_vec();
        // States in the middle of a merged step that others notice.
        let mut noticed = vec![false; self.flow.states.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (state, found) in self.flow.states.iter().enumerate() {
                for step in found
                    .transitions
                    .iter()
                    .filter(|step| merges.get(step.number) == Some(&true))
                {
                    let leaves = observed.contains(&state);
                    if !(noticed[state] || leaves || self.is_noticed(step)) {
                        continue;
                    }
                    if self.may_fail(step.target) || arrives(step.target) {
                        joins[step.number] = false;
                    } else {
                        changed |= !std::mem::replace(&mut noticed[step.target], true);
                    }
                }
            }
        }
        joins
    }

    /// Whether others may notice when a step is taken: by what it does to channels and processes, or
    /// because it sees what they have done to them (also to a channel that only it may receive from).
    fn is_noticed(&self, step: &Transition) -> bool {
        let Action::Basic(basic) = &*step.action else {
            return step.in_atomic;
        };
        let mut noticed =
            step.in_atomic || matches!(basic, Basic::Send { .. } | Basic::Receive { .. });
        each_part(basic, &mut |expr| {
            noticed |= matches!(
                expr,
                Expr::Run(_) | Expr::Len(_) | Expr::Probe(..) | Expr::Poll { .. }
            );
        });
        noticed
    }

    /// Whether the statement at a state may end in an error. (Starts and looks at channels may.)
    fn may_fail(&self, state: usize) -> bool {
        let mut steps = self.flow.states[state].transitions.iter();
        steps.any(|step| match &*step.action {
            Action::Basic(Basic::Assert(expr) | Basic::PrintMtype(expr)) => {
                self.expr_may_fail(expr)
            }
            Action::Basic(Basic::Assign(place, value)) => {
                self.place_may_fail(place) || self.expr_may_fail(value)
            }
            Action::Basic(Basic::Print(_, arguments)) => arguments
                .iter()
                .any(|argument| self.expr_may_fail(argument)),
            Action::Basic(Basic::AssignAll(..) | Basic::Nothing) | Action::Jump => false,
            _ => true,
        })
    }

    fn place_may_fail(&self, place: &Place) -> bool {
        let variable = match place.variable {
            VarKey::Global(at) => &self.program.globals[at],
            VarKey::Local(at) => &self.program.processes[self.process.0].locals[at],
        };
        let dims = &variable.leaves[place.leaf].dims;
        let inside = |index: &Expr, size: u32| match index {
            Expr::Const(index) => (0..i64::from(size)).contains(&i64::from(*index)),
            _ => false,
        };
        let mut indices = place.indices.iter().zip(dims);
        !indices.all(|(index, size)| inside(index, *size))
    }

    fn expr_may_fail(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Pid => false,
            Expr::Load(place) => self.place_may_fail(place),
            Expr::Unary(_, inner) => self.expr_may_fail(inner),
            Expr::Binary(op, left, right, _) => {
                let divides = matches!(op, Binary::Divide | Binary::Remainder);
                let fine = matches!(&**right, Expr::Const(divisor) if *divisor > 0);
                divides && !fine || self.expr_may_fail(left) || self.expr_may_fail(right)
            }
            Expr::Conditional(a, b, c) => [a, b, c].iter().any(|e| self.expr_may_fail(e)),
            _ => true,
        }
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
            // SPIN merges all other jumps.
            Action::Jump => !self.flow.breaks.contains(&state),
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
