//! Code as a [`Program`]: operations are moved about without running anything, and the code runs
//! only to learn what a thread does next.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use super::FailureKind;
use super::operation::{NOBODY, Objects, Operation, Part};
use super::runtime::{Execution, Numbers};
use crate::{Access, Choice, ObjectId, Program, Step, Taken, ThreadId};

/// A causal history: everything that may have had an influence on a thread, or on a part of an
/// object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct History(u32);

/// How a history comes from others: that of the thread, its choice and the answer, and those of
/// what it touched.
type Cause = (History, u32, u32, Vec<History>);

/// One step of an execution.
#[derive(Debug)]
struct Past {
    step: Step,
    operation: Operation,
    answer: u32,
    /// The thread's history afterwards.
    after: History,
    length: usize,
    before: Option<Rc<Past>>,
}

/// A state of the code: what every thread has seen, and who can do what.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Histories of threads; 0 for those that are not there yet.
    threads: Vec<u32>,
    objects: Objects,
    /// Histories of parts of objects.
    parts: Vec<u32>,
    past: Option<Rc<Past>>,
}

impl World {
    /// Whether some thread is not done.
    pub(crate) fn is_stuck(&self) -> bool {
        let there = self.threads.iter().enumerate().filter(|(_, h)| **h != 0);
        there
            .into_iter()
            .any(|(t, _)| !self.objects.is_done(t as u16))
    }

    /// The steps so far.
    fn steps(&self) -> Vec<Rc<Past>> {
        let mut steps = Vec::new();
        let mut next = self.past.clone();
        while let Some(past) = next {
            next = past.before.clone();
            steps.push(past);
        }
        steps.reverse();
        steps
    }
}

/// See the [module](self).
pub(crate) struct Code {
    code: Arc<dyn Fn() + Send + Sync>,
    numbers: Arc<Mutex<Numbers>>,
    most_steps: usize,
    /// The execution that has gone furthest last, and the histories it has made.
    live: Option<(Execution, Vec<(Step, History)>)>,
    histories: HashMap<Cause, History>,
    /// What a thread with a history does next.
    next: HashMap<History, Operation>,
    parts: HashMap<Part, u32>,
    /// What went wrong first, and where.
    failure: Option<(FailureKind, Option<Rc<Past>>)>,
    failed: Rc<Cell<bool>>,
}

const ROOT: History = History(1);

impl Code {
    pub(crate) fn new(code: Arc<dyn Fn() + Send + Sync>, most_steps: usize) -> Self {
        Self {
            code,
            numbers: Arc::default(),
            most_steps,
            live: None,
            histories: HashMap::new(),
            next: HashMap::from([(ROOT, Operation::Start)]),
            parts: HashMap::new(),
            failure: None,
            failed: Rc::new(Cell::new(false)),
        }
    }

    /// Whether an execution has gone wrong.
    pub(crate) fn failed(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.failed)
    }

    fn fail(&mut self, kind: FailureKind, world: &World) {
        self.failed.set(true);
        self.failure
            .get_or_insert_with(|| (kind, world.past.clone()));
    }

    fn history(&mut self, cause: Cause) -> History {
        // 0 is none, 1 is the root.
        let next = History(self.histories.len() as u32 + 2);
        *self.histories.entry(cause).or_insert(next)
    }

    fn part(&mut self, part: Part) -> u32 {
        let next = self.parts.len() as u32;
        *self.parts.entry(part).or_insert(next)
    }

    /// What a thread does next, if it is there and not done.
    fn operation(&mut self, world: &World, thread: u16) -> Option<Operation> {
        let history = History(*world.threads.get(usize::from(thread))?);
        if history == History(0) || world.objects.is_done(thread) {
            return None;
        }
        if !self.next.contains_key(&history) && !self.failed.get() {
            self.learn(world);
        }
        self.next.get(&history).copied()
    }

    /// Runs the code up to a state.
    fn learn(&mut self, world: &World) {
        if world
            .past
            .as_ref()
            .is_some_and(|p| p.length > self.most_steps)
        {
            return self.fail(FailureKind::Endless, world);
        }
        let steps = world.steps();
        let is_ahead = |done: &[(Step, History)]| {
            let mut both = done.iter().zip(&steps);
            done.len() <= steps.len() && both.all(|(d, s)| *d == (s.step, s.after))
        };
        if !self.live.as_ref().is_some_and(|(_, done)| is_ahead(done)) {
            // The old one ends first, so that there are never two.
            self.live = None;
            let execution = Execution::new(&self.numbers, Arc::clone(&self.code));
            self.live = Some((execution, Vec::new()));
        }
        let Some((execution, mut done)) = self.live.take() else {
            return;
        };
        for past in &steps[done.len()..] {
            let thread = past.step.thread.0;
            let announced = execution.advance(thread, past.answer);
            done.push((past.step, past.after));
            match announced {
                Some(Operation::Panic) => {
                    let text = execution.panic().unwrap_or_default();
                    self.next.insert(past.after, Operation::Panic);
                    self.fail(FailureKind::Panic(text), world);
                    break;
                }
                Some(operation) => {
                    let known = *self.next.entry(past.after).or_insert(operation);
                    if known != operation {
                        self.fail(FailureKind::NotDeterministic, world);
                        break;
                    }
                }
                None if past.operation == Operation::Finish => {}
                None => {
                    self.fail(FailureKind::NotDeterministic, world);
                    break;
                }
            }
        }
        self.live = Some((execution, done));
    }

    /// Why an execution that came to this state is wrong, and what happened in it.
    pub(crate) fn failure(&mut self, mut world: World) -> (FailureKind, Vec<String>) {
        if let Some((kind, past)) = self.failure.take() {
            world.past = past;
            return (kind, schedule(&world));
        }
        let mut waiting = Vec::new();
        for thread in 0..world.threads.len() as u16 {
            if let Some(operation) = self.operation(&world, thread) {
                waiting.push(format!("thread {thread} cannot go on where it {operation}"));
            }
        }
        (FailureKind::Deadlock(waiting), schedule(&world))
    }
}

/// What threads did up to a state, in words.
fn schedule(world: &World) -> Vec<String> {
    let told = |past: &Rc<Past>| {
        let choice = match (past.operation, past.step.choice.0) {
            (Operation::NotifyOne(_), NOBODY) => ": nobody waits".to_owned(),
            (Operation::NotifyOne(_), thread) => format!(": thread {thread}"),
            _ => String::new(),
        };
        format!("thread {}: {}{choice}", past.step.thread.0, past.operation)
    };
    world.steps().iter().map(told).collect()
}

impl Program for Code {
    type State = World;

    fn threads(&self) -> usize {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.thread_count()
    }

    fn initial(&self) -> World {
        World {
            threads: vec![ROOT.0],
            objects: Objects::default(),
            parts: Vec::new(),
            past: None,
        }
    }

    fn choices(&mut self, world: &World, thread: ThreadId) -> Rc<[Choice]> {
        let operation = self.operation(world, thread.0);
        match operation {
            Some(operation) => {
                let choices = world.objects.choices(thread.0, operation);
                choices.into_iter().map(Choice).collect()
            }
            None => [].into(),
        }
    }

    fn take(&mut self, world: &World, step: Step) -> Taken<World> {
        let thread = step.thread.0;
        let mut after = world.clone();
        let Some(operation) = self.operation(world, thread) else {
            return Taken {
                state: after,
                accesses: Vec::new(),
                feeds: Vec::new(),
            };
        };
        let (answer, touched) = after.objects.apply(thread, operation, step.choice.0);
        let mut accesses = Vec::with_capacity(touched.len());
        for (part, writes) in touched {
            let number = self.part(part);
            if after.parts.len() <= number as usize {
                after.parts.resize(number as usize + 1, 0);
            }
            accesses.push(Access {
                object: ObjectId(number),
                writes,
            });
        }
        let own = History(world.threads[usize::from(thread)]);
        let seen = |a: &Access| History(after.parts[a.object.0 as usize]);
        let seen: Vec<History> = accesses.iter().map(seen).collect();
        let history = self.history((own, step.choice.0, answer, seen));
        for access in accesses.iter().filter(|a| a.writes) {
            after.parts[access.object.0 as usize] = history.0;
        }
        after.threads[usize::from(thread)] = history.0;
        if let Operation::Spawn(child) = operation {
            let at = usize::from(child);
            if after.threads.len() <= at {
                after.threads.resize(at + 1, 0);
            }
            let birth = self.history((history, u32::from(child), 0, Vec::new()));
            self.next.insert(birth, Operation::Start);
            after.threads[at] = birth.0;
        }
        after.past = Some(Rc::new(Past {
            step,
            operation,
            answer,
            after: history,
            length: world.past.as_ref().map_or(0, |p| p.length) + 1,
            before: world.past.clone(),
        }));
        Taken {
            state: after,
            accesses,
            feeds: Vec::new(),
        }
    }

    fn words<'s>(&self, world: &'s World) -> &'s [u32] {
        &world.threads
    }
}
