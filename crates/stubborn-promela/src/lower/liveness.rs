//! Dead variables: locals whose value nobody will read.
//!
//! States that differ only in dead variables behave alike. A local is dead at a control state if
//! on every way from there it is written before it is read, or never read; steps that lead there
//! set it to zero (M. Bozga, J.-C. Fernandez, L. Ghirvu, "State space reduction based on live
//! variables analysis", 1999). Only single numbers are looked at: an array is always alive, and
//! so is whatever other processes, clauses or properties refer to.

use std::collections::{BTreeSet, HashSet};

use stubborn_ir::{self as ir, Statement};

use super::Lowering;
use super::steps::Body;
use super::storage::Store;
use crate::flow::{Action, DNode, StateNr, Transition};
use crate::hir::{Argument, Basic, Expr, Place, ProcId, Process, Program, Scalar, VarKey};

/// A number of a process type: local variable and leaf.
type Number = (usize, usize);

/// What a step does with the numbers of its process.
#[derive(Default)]
struct Uses {
    reads: BTreeSet<Number>,
    /// Written whatever happens.
    writes: BTreeSet<Number>,
    /// Written on some way.
    may_write: BTreeSet<Number>,
}

/// Which numbers are alive where, for every process type.
#[derive(Clone, Debug, Default)]
pub(super) struct Liveness {
    processes: Vec<ProcessLiveness>,
}

#[derive(Clone, Debug, Default)]
struct ProcessLiveness {
    candidates: BTreeSet<Number>,
    /// By control state.
    live: Vec<BTreeSet<Number>>,
}

impl Liveness {
    pub(super) fn find(program: &Program) -> Self {
        let watched = watched(program);
        let processes = (0..program.processes.len())
            .map(|at| ProcessLiveness::find(program, at, &watched))
            .collect();
        Self { processes }
    }

    /// What a step must set to zero.
    fn dying(&self, process: ProcId, from: StateNr, step: &Transition) -> Vec<Number> {
        let Some(found) = self.processes.get(process.0) else {
            return Vec::new();
        };
        let uses = uses(step);
        let empty = BTreeSet::new();
        let before = found.live.get(from).unwrap_or(&empty);
        let after = found.live.get(step.target).unwrap_or(&empty);
        let candidates = found.candidates.iter();
        candidates
            .filter(|n| !after.contains(n) && (before.contains(n) || uses.may_write.contains(n)))
            .copied()
            .collect()
    }
}

impl ProcessLiveness {
    fn find(program: &Program, at: usize, watched: &HashSet<(usize, usize)>) -> Self {
        let process = &program.processes[at];
        let mut candidates = BTreeSet::new();
        for (variable, declared) in process.locals.iter().enumerate() {
            for (leaf, number) in declared.leaves.iter().enumerate() {
                let plain = number.dims.is_empty() && number.scalar != Scalar::Chan;
                if plain && !watched.contains(&(at, variable)) {
                    candidates.insert((variable, leaf));
                }
            }
        }
        if let Some(provided) = &process.provided {
            let mut reads = BTreeSet::new();
            reads_of(provided, &mut reads);
            candidates.retain(|n| !reads.contains(n));
        }
        let states = &process.flow.states;
        let steps: Vec<Vec<(Uses, StateNr)>> = states
            .iter()
            .map(|s| s.transitions.iter().map(|t| (uses(t), t.target)).collect())
            .collect();
        let mut live = vec![BTreeSet::new(); states.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for state in (0..states.len()).rev() {
                let mut here: BTreeSet<Number> = BTreeSet::new();
                for (uses, target) in &steps[state] {
                    here.extend(&uses.reads);
                    if let Some(after) = live.get(*target) {
                        here.extend(after.difference(&uses.writes));
                    }
                }
                if here.len() != live[state].len() {
                    live[state] = here;
                    changed = true;
                }
            }
        }
        Self { candidates, live }
    }
}

/// Locals that are referred to from outside their process: process type and variable.
fn watched(program: &Program) -> HashSet<(usize, usize)> {
    let mut found = HashSet::new();
    let mut look = |expr: &Expr| remote_of(expr, &mut found);
    program.propositions.iter().for_each(&mut look);
    for process in &program.processes {
        process.provided.iter().for_each(&mut look);
        for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
            each_basic(step, &mut |basic| each_expr(basic, &mut look));
        }
    }
    found
}

/// Shows an expression and all its parts.
fn with_parts(expr: &Expr, look: &mut dyn FnMut(&Expr)) {
    look(expr);
    parts(expr).into_iter().for_each(|e| with_parts(e, look));
}

/// Shows all expressions of a statement, with all their parts.
pub(crate) fn each_part(basic: &Basic, look: &mut dyn FnMut(&Expr)) {
    each_expr(basic, &mut |expr| with_parts(expr, look));
}

/// Shows all expressions of a model's steps, clauses and properties, with all their parts.
pub(crate) fn each_expression(program: &Program, look: &mut dyn FnMut(&Expr)) {
    let mut look = |expr: &Expr| with_parts(expr, look);
    program.propositions.iter().for_each(&mut look);
    for process in &program.processes {
        process.provided.iter().for_each(&mut look);
        for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
            each_basic(step, &mut |basic| each_expr(basic, &mut look));
        }
    }
}

/// The globals that the steps and the clause of a process type refer to.
pub(crate) fn globals_of(process: &Process) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut look = |expr: &Expr| each_global(expr, &mut found);
    process.provided.iter().for_each(&mut look);
    for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
        each_basic(step, &mut |basic| each_expr(basic, &mut look));
    }
    for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
        each_basic(step, &mut |basic| {
            each_target(basic, &mut |variable| {
                if let VarKey::Global(at) = variable {
                    found.insert(at);
                }
            });
        });
    }
    found
}

/// The globals that an expression refers to.
pub(crate) fn each_global(expr: &Expr, found: &mut BTreeSet<usize>) {
    if let Expr::Load(place) | Expr::Len(place) | Expr::Probe(_, place) = expr
        && let VarKey::Global(at) = place.variable
    {
        found.insert(at);
    }
    if let Expr::Poll { channel, .. } = expr
        && let VarKey::Global(at) = channel.variable
    {
        found.insert(at);
    }
    parts(expr).into_iter().for_each(|e| each_global(e, found));
}

/// The variables that a statement assigns.
pub(super) fn each_target(basic: &Basic, look: &mut dyn FnMut(VarKey)) {
    match basic {
        Basic::Assign(place, _) => look(place.variable),
        Basic::AssignAll(variable, _) => look(*variable),
        Basic::Receive { arguments, .. } => {
            for argument in arguments {
                if let Argument::Store(place) = argument {
                    look(place.variable);
                }
            }
        }
        _ => {}
    }
}

/// Shows the statements of a step.
pub(super) fn each_basic(step: &Transition, look: &mut dyn FnMut(&Basic)) {
    match &*step.action {
        Action::Basic(basic) => look(basic),
        Action::DStep(graph) => {
            for node in &graph.nodes {
                if let DNode::Step(basic, ..) = node {
                    look(basic);
                }
            }
        }
        Action::Blocked | Action::Jump => {}
    }
}

/// All expressions of a statement, targets' indices included.
fn each_expr(basic: &Basic, look: &mut dyn FnMut(&Expr)) {
    match basic {
        Basic::Condition(e) | Basic::Assert(e) | Basic::PrintMtype(e) => look(e),
        Basic::Assign(place, value) => {
            place.indices.iter().for_each(&mut *look);
            look(value);
        }
        Basic::Print(_, arguments) => arguments.iter().for_each(look),
        Basic::SetPriority(pid, value) => {
            pid.iter().for_each(&mut *look);
            look(value);
        }
        Basic::Send {
            channel, values, ..
        } => {
            look(&Expr::Load(Box::new(channel.clone())));
            values.iter().for_each(look);
        }
        Basic::Receive {
            channel, arguments, ..
        } => {
            look(&Expr::Load(Box::new(channel.clone())));
            for argument in arguments {
                match argument {
                    Argument::Store(place) => place.indices.iter().for_each(&mut *look),
                    Argument::Ignore => {}
                    Argument::Match(expr) => look(expr),
                }
            }
        }
        Basic::Else | Basic::AssignAll(..) | Basic::Nothing | Basic::End => {}
    }
}

/// The expressions right below one.
pub(super) fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Load(place) | Expr::Len(place) | Expr::Probe(_, place) => {
            place.indices.iter().collect()
        }
        Expr::Unary(_, a) | Expr::Enabled(a, _) | Expr::PcValue(a) => vec![a],
        Expr::Binary(_, a, b, _) => vec![a, b],
        Expr::Conditional(a, b, c) => vec![a, b, c],
        Expr::Run(run) => run.arguments.iter().collect(),
        Expr::Poll {
            channel, pattern, ..
        } => channel
            .indices
            .iter()
            .chain(pattern.iter().flatten())
            .collect(),
        Expr::RemoteLabel { pid, .. } | Expr::Priority(pid) => pid.iter().map(|p| &**p).collect(),
        Expr::RemoteVariable { pid, place, .. } => {
            pid.iter().map(|p| &**p).chain(&place.indices).collect()
        }
        Expr::Const(_)
        | Expr::Timeout
        | Expr::NonProgress
        | Expr::Pid
        | Expr::ProcessCount
        | Expr::Last
        | Expr::Any => Vec::new(),
    }
}

fn remote_of(expr: &Expr, found: &mut HashSet<(usize, usize)>) {
    if let Expr::RemoteVariable { process, place, .. } = expr
        && let VarKey::Local(at) = place.variable
    {
        found.insert((process.0, at));
    }
    parts(expr).into_iter().for_each(|e| remote_of(e, found));
}

fn reads_of(expr: &Expr, found: &mut BTreeSet<Number>) {
    match expr {
        Expr::Load(place) | Expr::Len(place) | Expr::Probe(_, place) => {
            found.extend(number(place));
        }
        Expr::Poll { channel, .. } => found.extend(number(channel)),
        _ => {}
    }
    parts(expr).into_iter().for_each(|e| reads_of(e, found));
}

fn number(place: &Place) -> Option<Number> {
    match place.variable {
        VarKey::Local(at) => Some((at, place.leaf)),
        VarKey::Global(_) => None,
    }
}

fn uses(step: &Transition) -> Uses {
    let mut uses = Uses::default();
    let whole = matches!(*step.action, Action::Basic(_));
    each_basic(step, &mut |basic| {
        each_expr(basic, &mut |e| reads_of(e, &mut uses.reads));
        let mut write = |place: &Place| {
            let plain = number(place).filter(|_| place.indices.is_empty());
            uses.may_write.extend(plain);
            // Inside a d_step it may be read first, or not be reached at all.
            if whole {
                uses.writes.extend(plain);
            }
        };
        match basic {
            Basic::Assign(place, _) => write(place),
            Basic::Receive { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Store(place) = argument {
                        write(place);
                    }
                }
            }
            _ => {}
        }
    });
    uses
}

impl Lowering<'_> {
    /// Sets to zero what a step from a control state leaves dead.
    pub(super) fn bury(
        &mut self,
        slot: usize,
        instance: usize,
        from: StateNr,
        step: &Transition,
        body: &mut Body,
    ) {
        let Some(liveness) = &self.liveness else {
            return;
        };
        let found = &self.slots[slot].instances[instance];
        let never = self.never;
        for (variable, leaf) in liveness.dying(found.process, from, step) {
            if let Store::Variable(id) = found.locals[variable][leaf] {
                body.statements
                    .push(Statement::assign(id, ir::Expr::Const(0), never));
            }
        }
    }
}
