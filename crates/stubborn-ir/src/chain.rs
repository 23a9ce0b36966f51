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

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use stubborn_system::{Outcome, ProcessId, Successors, System, TransitionId};

use crate::{Command, Expr, Model, Place, Program, Statement};

/// After this many steps a chain follows each state only once.
const LONG_CHAIN: usize = 2_000;
/// Up to this many states, a path is looked through for a repetition.
const LONG_PATH: usize = 64;
/// After this many steps a chain counts as endless.
const LONGEST_CHAIN: usize = 1 << 18;

/// Runs one command on a state, and nothing that follows: appends its successor, if enabled.
pub type Once<'a> = dyn FnMut(&[u32], TransitionId, &mut Successors) + 'a;

/// Replaces the successors from number `from` on, which are those by single commands, by the
/// ends of the chains that start with them.
pub fn finish(
    model: &Model,
    source: &[u32],
    from: usize,
    out: &mut Successors,
    once: &mut Once<'_>,
) {
    let commands = &model.program().commands;
    let goes_on = |t: &TransitionId| commands[t.index()].continues.is_some();
    if !out.transitions()[from..].iter().any(goes_on) {
        return;
    }
    let mut begun = Successors::new(source.len());
    for at in from..out.len() {
        let next = out.get(at);
        begun.push(next.transition, source, next.state, next.outcome);
    }
    while out.len() > from {
        out.pop();
    }
    for first in begun.iter() {
        match commands[first.transition.index()].continues {
            Some(process) if !model.is_error(first.state) => {
                let link = Link {
                    state: first.state.to_vec(),
                    outcome: first.outcome,
                };
                run(model, link, process, once, &mut |end, _| {
                    out.push(first.transition, source, &end.state, end.outcome);
                });
            }
            _ => out.push(first.transition, source, first.state, first.outcome),
        }
    }
}

/// The commands of the first chain that starts with `transition` and leads from `state` to
/// `target`: the transition alone, if it is no chain.
pub fn explain(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
    target: &[u32],
    once: &mut Once<'_>,
) -> Vec<TransitionId> {
    let mut steps = vec![transition];
    let mut first = Successors::new(state.len());
    once(state, transition, &mut first);
    let Some(process) = model.program().commands[transition.index()].continues else {
        return steps;
    };
    if first.is_empty() || model.is_error(first.state(0)) {
        return steps;
    }
    let link = Link {
        state: first.state(0).to_vec(),
        outcome: first.outcome(0),
    };
    let mut found = false;
    run(model, link, process, once, &mut |end, path| {
        if end.state == target && !found {
            found = true;
            steps.extend_from_slice(path);
        }
    });
    steps
}

/// Tells `each` command that runs in the chains that start with `transition` in `state`.
pub fn visit(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
    once: &mut Once<'_>,
    each: &mut dyn FnMut(TransitionId),
) {
    let mut first = Successors::new(state.len());
    once(state, transition, &mut first);
    if first.is_empty() {
        return;
    }
    each(transition);
    let continues = model.program().commands[transition.index()].continues;
    if let Some(process) = continues.filter(|_| !model.is_error(first.state(0))) {
        let link = Link {
            state: first.state(0).to_vec(),
            outcome: first.outcome(0),
        };
        run(model, link, process, once, &mut |_, path| {
            path.iter().copied().for_each(&mut *each);
        });
    }
}

/// A state inside a chain, or at its end.
struct Link {
    state: Vec<u32>,
    /// The first assertion that failed on the way.
    outcome: Outcome,
}

/// A state inside a chain, and what was not tried from there yet.
struct Frame {
    link: Link,
    next: Range<u32>,
    moved: bool,
}

/// Runs a chain on from `first` in all ways; `end` is told where each way ends, and by which
/// commands.
fn run(
    model: &Model,
    first: Link,
    process: ProcessId,
    once: &mut Once<'_>,
    end: &mut dyn FnMut(&Link, &[TransitionId]),
) {
    let mut scratch = Successors::new(first.state.len());
    // The states of the path, once it is too long to be looked through.
    let mut on_path: HashSet<Vec<u32>> = HashSet::new();
    // States seen on any way; only kept once a chain turns out to be long, because two ways to
    // one state are two successors.
    let mut seen: HashSet<Vec<u32>> = HashSet::new();
    let mut path: Vec<TransitionId> = Vec::new();
    let next = model.commands_of(process, &first.state);
    let mut frames = vec![Frame {
        link: first,
        next,
        moved: false,
    }];
    let (mut steps, mut ended) = (0_usize, false);
    while let Some(frame) = frames.last_mut() {
        let Some(at) = frame.next.next() else {
            if !frame.moved {
                end(&frame.link, &path);
                ended = true;
            }
            if let Some(done) = frames.pop()
                && !on_path.is_empty()
            {
                on_path.remove(&done.link.state);
            }
            path.pop();
            continue;
        };
        let command = &model.program().commands[at as usize];
        if command.priority != 0 {
            continue;
        }
        let transition = TransitionId::new(at as usize);
        scratch.clear();
        once(&frame.link.state, transition, &mut scratch);
        if scratch.is_empty() {
            continue;
        }
        frame.moved = true;
        steps += 1;
        let failed = model.is_error(scratch.state(0));
        let earlier = frame.link.outcome;
        let link = Link {
            state: scratch.state(0).to_vec(),
            outcome: match earlier {
                Outcome::FINE => scratch.outcome(0),
                _ if failed => scratch.outcome(0),
                earlier => earlier,
            },
        };
        path.push(transition);
        match command.continues {
            Some(process) if !failed => {
                let on_the_path = match frames.len() {
                    ..=LONG_PATH => frames.iter().any(|f| f.link.state == link.state),
                    _ => {
                        if on_path.is_empty() {
                            on_path.extend(frames.iter().map(|f| f.link.state.clone()));
                        }
                        on_path.contains(&link.state)
                    }
                };
                let repeated =
                    on_the_path || steps > LONG_CHAIN && !seen.insert(link.state.clone());
                if repeated {
                    path.pop();
                    continue;
                }
                if steps > LONGEST_CHAIN {
                    break;
                }
                if !on_path.is_empty() {
                    on_path.insert(link.state.clone());
                }
                frames.push(Frame {
                    next: model.commands_of(process, &link.state),
                    link,
                    moved: false,
                });
            }
            _ => {
                end(&link, &path);
                ended = true;
                path.pop();
            }
        }
    }
    if (!ended || steps > LONGEST_CHAIN)
        && let (Some(site), Some(error)) = (model.program().endless, &model.structure().error_state)
    {
        let outcome = Outcome::failure(site.index());
        let link = Link {
            state: error.clone(),
            outcome,
        };
        end(&link, &path);
    }
}

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
