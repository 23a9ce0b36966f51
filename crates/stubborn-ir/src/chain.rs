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

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stubborn_system::{Outcome, ProcessId, Successor, Successors, System, TransitionId};

use crate::{Command, Expr, Model, Place, Program, Statement};

/// After this many steps a chain follows each state only once.
const LONG_CHAIN: usize = 2_000;
/// Up to this many states, a path is looked through for a repetition.
const LONG_PATH: usize = 64;
/// After this many steps a chain counts as endless.
const LONGEST_CHAIN: usize = 1 << 18;

/// Runs one command on a state, and nothing that follows: appends its successor, if enabled.
pub type Once<'a> = dyn FnMut(&[u32], TransitionId, &mut Successors) + 'a;

/// Runs each command of priority 0 that a process starts from where it is, and nothing that
/// follows: appends the successors in the order of commands.
pub type Steps<'a> = dyn FnMut(ProcessId, &[u32], &mut Successors) + 'a;

/// [`Steps`] command by command.
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
/// `target`: the transition alone, if it is no chain.
pub fn explain(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
    target: &[u32],
    once: &mut Once<'_>,
) -> Vec<TransitionId> {
    let mut commands = vec![transition];
    let mut first = Successors::new(state.len());
    once(state, transition, &mut first);
    let mut found = false;
    if !first.is_empty() {
        let mut runner = Runner::new(state.len());
        let steps = &mut one_by_one(model, once);
        runner.run(model, first.get(0), steps, &mut |end, _, path| {
            if end == target && !found {
                found = true;
                commands.extend_from_slice(path);
            }
        });
    }
    commands
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
    let mut runner = Runner::new(state.len());
    let steps = &mut one_by_one(model, once);
    runner.run(model, first.get(0), steps, &mut |_, _, path| {
        path.iter().copied().for_each(&mut *each);
    });
}

/// Is told a state where a way through a chain ends, the first assertion that failed on that
/// way, and its commands.
type End<'a> = dyn FnMut(&[u32], Outcome, &[TransitionId]) + 'a;

/// Runs chains, in memory that is kept from one to the next.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Steps that were taken before their chains are run.
    begun: Successors,
    /// The first state of the chain, then the steps from each state of the path. A step's
    /// outcome is what became of the whole way.
    steps: Successors,
    frames: Vec<Frame>,
    path: Vec<TransitionId>,
    /// A copy of the state whose steps are computed.
    state: Vec<u32>,
    /// The states of the path, once it is too long to be looked through.
    on_path: HashSet<Vec<u32>>,
    /// States seen on any way; only kept once a chain turns out to be long, because two ways
    /// to one state are two successors.
    seen: HashSet<Vec<u32>>,
}

/// A state of the path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The step that led here.
    state: usize,
    /// The first step from here, and the first one that was not followed yet.
    first: usize,
    next: usize,
    /// Where its steps end.
    end: usize,
}

impl Runner {
    /// For states of `words` words.
    pub fn new(words: usize) -> Self {
        Self {
            begun: Successors::new(words),
            steps: Successors::new(words),
            frames: Vec::new(),
            path: Vec::new(),
            state: Vec::new(),
            on_path: HashSet::new(),
            seen: HashSet::new(),
        }
    }

    /// Replaces the successors from number `from` on, which are those by single commands, by
    /// the ends of the chains that start with them.
    pub fn finish(
        &mut self,
        model: &Model,
        source: &[u32],
        from: usize,
        out: &mut Successors,
        steps: &mut Steps<'_>,
    ) {
        let chains = model.chains();
        let goes_on = |t: &TransitionId| chains.continues(t.index()).is_some();
        let Some(first) = out.transitions()[from..].iter().position(goes_on) else {
            return;
        };
        let mut begun = std::mem::replace(&mut self.begun, Successors::new(0));
        begun.clear();
        for at in from + first..out.len() {
            begun.append(out.get(at));
        }
        out.truncate(from + first);
        for first in begun.iter() {
            if goes_on(&first.transition) {
                self.run(model, first, steps, &mut |state, outcome, _| {
                    out.push(first.transition, source, state, outcome);
                });
            } else {
                out.append(first);
            }
        }
        self.begun = begun;
    }

    /// Runs a chain on after its first step in all ways; `end` is told where each way ends.
    fn run(
        &mut self,
        model: &Model,
        first: Successor<'_>,
        steps: &mut Steps<'_>,
        end: &mut End<'_>,
    ) {
        let chains = model.chains();
        let process = chains.continues(first.transition.index());
        let Some(process) = process.filter(|_| !model.is_error(first.state)) else {
            return end(first.state, first.outcome, &[]);
        };
        let may_repeat = chains.may_repeat(first.transition.index());
        self.steps.clear();
        self.frames.clear();
        self.path.clear();
        self.on_path.clear();
        self.seen.clear();
        self.steps.append(first);
        self.enter(0, process, steps);
        let (mut taken, mut ended) = (0_usize, false);
        while let Some(frame) = self.frames.last_mut() {
            if frame.next == frame.end {
                let frame = *frame;
                if frame.first == frame.end {
                    let here = self.steps.get(frame.state);
                    end(here.state, here.outcome, &self.path);
                    ended = true;
                }
                self.steps.truncate(frame.first);
                if !self.on_path.is_empty() {
                    self.on_path.remove(self.steps.state(frame.state));
                }
                self.frames.pop();
                self.path.pop();
                continue;
            }
            let (at, earlier) = (frame.next, self.steps.outcome(frame.state));
            frame.next += 1;
            taken += 1;
            let step = self.steps.get(at);
            let (transition, failed) = (step.transition, model.is_error(step.state));
            let outcome = match earlier {
                Outcome::FINE => step.outcome,
                _ if failed => step.outcome,
                earlier => earlier,
            };
            match chains.continues(transition.index()) {
                Some(process) if !failed => {
                    if may_repeat && self.is_repeated(at, taken) {
                        continue;
                    }
                    if taken > LONGEST_CHAIN {
                        break;
                    }
                    self.steps.set_outcome(at, outcome);
                    self.path.push(transition);
                    self.enter(at, process, steps);
                }
                _ => {
                    self.path.push(transition);
                    end(self.steps.state(at), outcome, &self.path);
                    self.path.pop();
                    ended = true;
                }
            }
        }
        if (!ended || taken > LONGEST_CHAIN)
            && let (Some(site), Some(error)) =
                (model.program().endless, &model.structure().error_state)
        {
            end(error, Outcome::failure(site.index()), &self.path);
        }
    }

    /// Computes the steps of a process from a state of the chain, to be followed next.
    fn enter(&mut self, at: usize, process: ProcessId, steps: &mut Steps<'_>) {
        self.state.clear();
        self.state.extend_from_slice(self.steps.state(at));
        let first = self.steps.len();
        steps(process, &self.state, &mut self.steps);
        self.frames.push(Frame {
            state: at,
            first,
            next: first,
            end: self.steps.len(),
        });
    }

    /// Whether the chain was in the state of this step before: on this way, or, in a long
    /// chain, on any.
    fn is_repeated(&mut self, at: usize, taken: usize) -> bool {
        let state = self.steps.state(at);
        if self.frames.len() <= LONG_PATH && self.on_path.is_empty() {
            let mut path = self.frames.iter();
            if path.any(|frame| self.steps.state(frame.state) == state) {
                return true;
            }
        } else {
            if self.on_path.is_empty() {
                let path = self.frames.iter();
                let path = path.map(|frame| self.steps.state(frame.state).to_vec());
                self.on_path.extend(path);
            }
            if !self.on_path.insert(state.to_vec()) {
                return true;
            }
        }
        let repeated = taken > LONG_CHAIN && !self.seen.insert(state.to_vec());
        if repeated {
            self.on_path.remove(state);
        }
        repeated
    }
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
