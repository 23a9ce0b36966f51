//! Chains: commands that are not interrupted by other processes.
//!
//! Languages with atomic sequences (Promela's `atomic`) have steps after which the same process
//! goes on before anybody else may move. Such a command [continues](crate::Command::continues)
//! with a process. A chain is one transition of the system: it starts with any command and runs
//! through all ways to go on, each of which ends where a command continues with nobody, or
//! where the process finds no enabled command (it then just waits, and others may move). What
//! happens in between is no state of the system.
//!
//! A chain that comes back to a state it was in before goes on forever on that way; such a way
//! is cut, and a chain without any end is a failure.
//!
//! For reductions, a transition looks at and changes everything that any command of its chain
//! does: [`Chains`] knows the commands that can follow.

use std::collections::BTreeSet;

use stubborn_system::ProcessId;

use crate::{Command, Expr, Place, Program, Statement};

/// Which commands can follow each command within its chain.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// By command: what may run after it before the chain ends, sorted, itself only if it can
    /// come again.
    followers: Vec<Vec<u32>>,
}

impl Chains {
    /// Looks at all commands of a program.
    pub fn new(program: &Program) -> Self {
        let direct: Vec<Vec<u32>> = program
            .commands
            .iter()
            .map(|command| direct_followers(program, command))
            .collect();
        let followers = (0..direct.len())
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
        Self { followers }
    }

    /// Commands that may run after this one within the same transition.
    pub fn followers(&self, command: usize) -> &[u32] {
        &self.followers[command]
    }

    /// Whether a chain from this command can run in circles.
    pub fn may_repeat(&self, command: usize) -> bool {
        let repeats = |c: u32| self.followers[c as usize].binary_search(&c).is_ok();
        repeats(command as u32) || self.followers[command].iter().any(|c| repeats(*c))
    }
}

/// What may come right after a command.
fn direct_followers(program: &Program, command: &Command) -> Vec<u32> {
    let Some(process) = command.continues else {
        return Vec::new();
    };
    let reached = locations_after(program, command, process);
    let follows = |c: &Command| {
        c.priority == 0
            && c.processes.first() == Some(&process)
            && matches!(c.sources.first(), Some(Some(location))
                if reached.as_ref().is_none_or(|r| r.contains(location)))
    };
    let commands = program.commands.iter().enumerate();
    commands
        .filter(|(_, c)| follows(c))
        .map(|(at, _)| at as u32)
        .collect()
}

/// Where a process can be after a command; `None` if it can be anywhere.
fn locations_after(
    program: &Program,
    command: &Command,
    process: ProcessId,
) -> Option<BTreeSet<u32>> {
    let counter = program.processes[process.index()].counter;
    let mut reached = BTreeSet::new();
    let mut always = false;
    if !assigned(&command.body, counter, &mut reached, &mut always) {
        return None;
    }
    if !always {
        let at = command.processes.iter().position(|p| *p == process)?;
        reached.insert(command.sources[at]?);
    }
    Some(reached)
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
