//! Chains: commands that are not interrupted by other processes.
//!
//! Languages with atomic sequences (Promela's `atomic`) have steps after which the same process
//! goes on before anybody else may move. Such a command [continues](crate::Command::continues)
//! with a process. A chain is one transition of the system: it starts with any command and runs
//! through all ways to go on, each of which ends where a command continues with nobody, or
//! where the process finds no enabled command (it then just waits, and others may move). What
//! happens in between is no state of the system.
//!
//! The first assertion that is violated on a way is part of how that way ends. A way that comes
//! back to a state it was in before is cut there, because what can follow is followed anyway. A
//! way that gets to where no way ends any more is a failure, and that is the only meaning of
//! endless: there is no limit to how long a chain may be, except the
//! [budget](stubborn_system::System::budget) of the system.
//!
//! For reductions, a transition looks at and changes everything that any command of its chain
//! does: [`Chains`] knows the commands that can follow.

mod splits;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use stubborn_system::{Outcome, ProcessId, Successors, TransitionId};

use crate::{Command, Expr, Model, Place, Program, Statement};
use walk::Visitor;

pub use walk::Runner;

/// Runs one command on a state, and nothing that follows: appends its successor, if enabled.
pub type Once<'a> = dyn FnMut(&[u32], TransitionId, &mut Successors) + 'a;

/// Runs each command of priority 0 that a process starts from where it is, and nothing that
/// follows, command by command: appends the successors in the order of commands.
pub fn one_by_one<'a>(
    model: &'a Model,
    once: &'a mut Once<'_>,
) -> impl FnMut(ProcessId, &[u32], &mut Successors) + 'a {
    |process, state, out| {
        for at in model.commands_of(process, state) {
            if model.program().commands[at as usize].priority == 0 {
                once(state, TransitionId::new(at as usize), out);
            }
        }
    }
}

/// The commands of the first chain that starts with `transition` and leads from `state` to
/// `target` with this outcome: the transition alone, if it is no chain. Of a chain that never
/// ends, the commands up to where that is noticed.
pub fn explain(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
    target: (&[u32], Outcome),
    once: &mut Once<'_>,
) -> Vec<TransitionId> {
    struct Path<'a> {
        commands: Vec<TransitionId>,
        target: (&'a [u32], Outcome),
        found: bool,
    }
    impl Visitor for Path<'_> {
        fn step(&mut self, depth: usize, command: TransitionId) {
            self.commands.truncate(1 + depth);
            self.commands.push(command);
        }

        fn end(&mut self, state: &[u32], outcome: Outcome) -> ControlFlow<()> {
            self.found = (state, outcome) == self.target;
            match self.found {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let mut path = Path {
        commands: vec![transition],
        target,
        found: false,
    };
    let mut first = Successors::new(state.len());
    once(state, transition, &mut first);
    if !first.is_empty() {
        let steps = &mut one_by_one(model, once);
        Runner::new(state.len()).run(model, first.get(0), steps, &mut path);
    }
    if !path.found {
        path.commands.truncate(1);
    }
    path.commands
}

/// Tells `each` command that runs in the chains that start with `transition` in `state`, also on
/// ways that never end.
pub fn visit(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
    once: &mut Once<'_>,
    each: &mut dyn FnMut(TransitionId),
) {
    struct Each<'a>(&'a mut dyn FnMut(TransitionId));
    impl Visitor for Each<'_> {
        fn step(&mut self, _: usize, command: TransitionId) {
            (self.0)(command);
        }

        fn end(&mut self, _: &[u32], _: Outcome) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }
    let mut first = Successors::new(state.len());
    once(state, transition, &mut first);
    if first.is_empty() {
        return;
    }
    each(transition);
    let steps = &mut one_by_one(model, once);
    Runner::new(state.len()).run(model, first.get(0), steps, &mut Each(each));
}

/// Which commands can follow each command within its chain.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// By command: what may run after it before the chain ends, sorted, itself only if it can
    /// come again.
    followers: Vec<Vec<u32>>,
    /// By command: who goes on after it.
    continues: Vec<Option<ProcessId>>,
    /// By command: whether a chain from it can run in circles.
    may_repeat: Vec<bool>,
}

impl Chains {
    /// Looks at all commands of a program.
    pub fn new(program: &Program) -> Self {
        let starts = by_start(&program.commands);
        let direct: Vec<Vec<u32>> = program
            .commands
            .iter()
            .map(|command| direct_followers(program, &starts, command))
            .collect();
        let followers: Vec<Vec<u32>> = (0..direct.len())
            .map(|start| {
                let mut seen = BTreeSet::new();
                let mut todo = direct[start].clone();
                while let Some(next) = todo.pop() {
                    if seen.insert(next) {
                        todo.extend_from_slice(&direct[next as usize]);
                    }
                }
                seen.into_iter().collect()
            })
            .collect();
        let repeats = |c: u32| followers[c as usize].binary_search(&c).is_ok();
        let may_repeat = (0..direct.len())
            .map(|c| repeats(c as u32) || followers[c].iter().any(|f| repeats(*f)))
            .collect();
        Self {
            continues: program.commands.iter().map(|c| c.continues).collect(),
            may_repeat,
            followers,
        }
    }

    /// Who goes on after a command before anybody else moves.
    #[inline]
    pub fn continues(&self, command: usize) -> Option<ProcessId> {
        self.continues[command]
    }

    /// Commands that may run after this one within the same transition.
    pub fn followers(&self, command: usize) -> &[u32] {
        &self.followers[command]
    }

    /// Whether a chain from this command can run in circles.
    #[inline]
    pub fn may_repeat(&self, command: usize) -> bool {
        self.may_repeat[command]
    }
}

/// The commands of priority 0 that each process starts at each location.
pub(crate) type Starts = BTreeMap<(ProcessId, u32), Vec<u32>>;

/// Sorts commands by where they start.
pub(crate) fn by_start(commands: &[Command]) -> Starts {
    let mut starts = Starts::new();
    for (at, command) in commands.iter().enumerate() {
        if let (Some(process), Some(Some(location)), 0) = (
            command.processes.first(),
            command.sources.first(),
            command.priority,
        ) {
            let here = starts.entry((*process, *location)).or_default();
            here.push(at as u32);
        }
    }
    starts
}

/// What may come right after a command, sorted.
fn direct_followers(program: &Program, starts: &Starts, command: &Command) -> Vec<u32> {
    let Some(process) = command.continues else {
        return Vec::new();
    };
    let mut followers: Vec<u32> = match locations_after(program, command, process) {
        Some(reached) => reached
            .iter()
            .filter_map(|location| starts.get(&(process, *location)))
            .flatten()
            .copied()
            .collect(),
        None => starts
            .range((process, 0)..=(process, u32::MAX))
            .flat_map(|(_, commands)| commands)
            .copied()
            .collect(),
    };
    followers.sort_unstable();
    followers
}

/// Where a process can be after a command; `None` if it can be anywhere.
fn locations_after(
    program: &Program,
    command: &Command,
    process: ProcessId,
) -> Option<BTreeSet<u32>> {
    let counter = program.processes[process.index()].counter;
    let (mut reached, always) = counter_after(command, counter)?;
    if !always {
        let at = command.processes.iter().position(|p| *p == process)?;
        reached.insert(command.sources[at]?);
    }
    Some(reached)
}

/// What a command assigns to a program counter, and whether it always does; `None` if that
/// can be anything.
pub(crate) fn counter_after(
    command: &Command,
    counter: crate::VarId,
) -> Option<(BTreeSet<u32>, bool)> {
    let mut reached = BTreeSet::new();
    let mut always = false;
    for statement in &command.body {
        let one = std::slice::from_ref(statement);
        let mut again = false;
        if !assigned(one, counter, &mut reached, &mut again) {
            return None;
        }
        if again {
            // Only the last assignment counts that happens on all ways.
            reached.clear();
            assigned(one, counter, &mut reached, &mut always);
        }
    }
    Some((reached, always))
}

/// Collects constants assigned to a counter; false if something else is assigned.
fn assigned(
    body: &[Statement],
    counter: crate::VarId,
    reached: &mut BTreeSet<u32>,
    always: &mut bool,
) -> bool {
    let mut ignored = false;
    body.iter().all(|statement| match statement {
        Statement::Assign { target, value, .. } if target.variable() == counter => match value {
            Expr::Const(location) => {
                reached.insert(*location as u32);
                *always = true;
                true
            }
            _ => false,
        },
        Statement::If {
            then, otherwise, ..
        } => {
            assigned(then, counter, reached, &mut ignored)
                && assigned(otherwise, counter, reached, &mut ignored)
        }
        Statement::While { body, .. } => assigned(body, counter, reached, &mut ignored),
        Statement::Receive { targets, .. } => !targets
            .iter()
            .flatten()
            .any(|place: &Place| place.variable() == counter),
        _ => true,
    })
}

/// For each process that goes on after some command: where it can be then; `None` if
/// anywhere.
pub fn continuations(program: &Program) -> BTreeMap<ProcessId, Option<BTreeSet<u32>>> {
    let mut all: BTreeMap<ProcessId, Option<BTreeSet<u32>>> = BTreeMap::new();
    for command in &program.commands {
        if let Some(process) = command.continues {
            let reached = all.entry(process).or_insert_with(|| Some(BTreeSet::new()));
            match (reached.as_mut(), locations_after(program, command, process)) {
                (Some(known), Some(more)) => known.extend(more),
                _ => *reached = None,
            }
        }
    }
    all
}
