//! Code as a [`Program`]: operations are moved about without running anything, and the code runs
//! only to learn what a thread does next.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::rc::Rc;

use super::FailureKind;
use super::operation::{NOBODY, Objects, Operation, Part};
use super::runtime::{Announced, Common, Execution};
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
    announced: Announced,
    answer: u32,
    /// The thread's history afterwards.
    after: History,
    length: usize,
    before: Option<Rc<Past>>,
}

impl Drop for Past {
    /// One after the other: an execution may have more steps than a stack has frames.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut past) = before.and_then(Rc::into_inner) {
            before = past.before.take();
        }
    }
}

/// A state of the code: what every thread has seen, and who can do what.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Histories of threads; 0 for those that are not there yet.
    threads: Vec<u32>,
    objects: Objects,
    /// Histories of parts of objects: of who wrote them last.
    parts: Vec<u32>,
    /// Parts and histories of those who let go of them since then, in order.
    let_go: Vec<(u32, u32)>,
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
    code: Rc<dyn Fn()>,
    common: Rc<RefCell<Common>>,
    most_steps: usize,
    /// The execution that has gone furthest last, and its steps.
    live: Option<(Execution, Vec<Rc<Past>>)>,
    histories: HashMap<Cause, History>,
    /// What a thread with a history does next, if it is known.
    next: Vec<Option<Announced>>,
    parts: HashMap<Part, u32>,
    /// No choice, and the only one of most operations.
    none: Rc<[Choice]>,
    only: Rc<[Choice]>,
    /// What went wrong first, and where.
    failure: Option<(FailureKind, Option<Rc<Past>>)>,
    failed: Rc<Cell<bool>>,
}

const ROOT: History = History(1);

impl Code {
    pub(crate) fn new(code: Rc<dyn Fn()>, most_steps: usize) -> Self {
        Self {
            code,
            common: Rc::default(),
            most_steps,
            live: None,
            histories: HashMap::new(),
            next: vec![None, Some(Operation::Start.into())],
            none: [].into(),
            only: [Choice(0)].into(),
            parts: HashMap::new(),
            failure: None,
            failed: Rc::new(Cell::new(false)),
        }
    }

    /// See [`Common::weaker_orderings`].
    pub(crate) fn weaker_orderings(&self) -> Vec<Location<'static>> {
        self.common.borrow().weaker_orderings()
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
        let history = *self.histories.entry(cause).or_insert(next);
        if history == next {
            self.next.push(None);
        }
        history
    }

    fn part(&mut self, part: Part) -> u32 {
        let next = self.parts.len() as u32;
        *self.parts.entry(part).or_insert(next)
    }

    /// What a thread does next, if it is there and not done.
    fn announced(&mut self, world: &World, thread: u16) -> Option<Announced> {
        let history = History(*world.threads.get(usize::from(thread))?);
        if history == History(0) || world.objects.is_done(thread) {
            return None;
        }
        if self.next[history.0 as usize].is_none() && !self.failed.get() {
            self.learn(world);
        }
        self.next[history.0 as usize]
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
        let is_ahead = |done: &[Rc<Past>]| {
            let mut both = done.iter().zip(&steps);
            done.len() <= steps.len() && both.all(|(d, s)| (d.step, d.after) == (s.step, s.after))
        };
        if !self.live.as_ref().is_some_and(|(_, done)| is_ahead(done)) {
            // The old one ends first, so that there are never two.
            self.leave();
            let execution = Execution::new(&self.common, Rc::clone(&self.code));
            self.live = Some((execution, Vec::new()));
        }
        let Some((mut execution, mut done)) = self.live.take() else {
            return;
        };
        for past in &steps[done.len()..] {
            let thread = past.step.thread.0;
            let announced = execution.advance(thread, past.answer);
            done.push(Rc::clone(past));
            match announced {
                Some(announced) if announced.operation == Operation::Panic => {
                    let text = execution.panic.take().unwrap_or_default();
                    self.next[past.after.0 as usize] = Some(announced);
                    self.fail(FailureKind::Panic(text), world);
                    break;
                }
                Some(announced) => {
                    let known = self.next[past.after.0 as usize].get_or_insert(announced);
                    if *known != announced {
                        self.fail(FailureKind::NotDeterministic, world);
                        break;
                    }
                }
                None if past.announced.operation == Operation::Finish => {}
                None => {
                    self.fail(FailureKind::NotDeterministic, world);
                    break;
                }
            }
        }
        self.live = Some((execution, done));
    }

    /// Leaves the execution that is under way.
    fn leave(&mut self) {
        if let Some((execution, done)) = self.live.take() {
            let mut objects = Objects::default();
            for past in &done {
                objects.apply(
                    past.step.thread.0,
                    past.announced.operation,
                    past.step.choice.0,
                );
            }
            execution.finish(objects, self.most_steps);
        }
    }

    /// Why an execution that came to this state is wrong, and what happened in it.
    pub(crate) fn failure(&mut self, mut world: World) -> (FailureKind, Vec<String>) {
        if let Some((kind, past)) = self.failure.take() {
            world.past = past;
            return (kind, schedule(&world));
        }
        let mut waiting = Vec::new();
        for thread in 0..world.threads.len() as u16 {
            if let Some(announced) = self.announced(&world, thread) {
                let (operation, unwinds) = (announced.operation, unwinding(announced));
                waiting.push(format!(
                    "thread {thread}{unwinds} cannot go on where it {operation}"
                ));
            }
        }
        (FailureKind::Deadlock(waiting), schedule(&world))
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if !self.failed.get() {
            self.leave();
        }
    }
}

/// What to say of a thread that does something in a destructor while its stack unwinds.
fn unwinding(announced: Announced) -> &'static str {
    match announced.unwinds {
        true => " (unwinding from a panic)",
        false => "",
    }
}

/// What threads did up to a state, in words.
fn schedule(world: &World) -> Vec<String> {
    let told = |past: &Rc<Past>| {
        let operation = past.announced.operation;
        let choice = match (operation, past.step.choice.0) {
            (Operation::NotifyOne(_), NOBODY) => ": nobody waits".to_owned(),
            (Operation::NotifyOne(_), thread) => format!(": thread {thread}"),
            _ => String::new(),
        };
        let unwinds = unwinding(past.announced);
        format!(
            "thread {}{unwinds}: {operation}{choice}",
            past.step.thread.0
        )
    };
    world.steps().iter().map(told).collect()
}

impl Program for Code {
    type State = World;

    fn threads(&self) -> usize {
        self.common.borrow().thread_count()
    }

    fn initial(&self) -> World {
        World {
            threads: vec![ROOT.0],
            objects: Objects::default(),
            parts: Vec::new(),
            let_go: Vec::new(),
            past: None,
        }
    }

    fn choices(&mut self, world: &World, thread: ThreadId) -> Rc<[Choice]> {
        match self.announced(world, thread.0) {
            Some(announced) => match world
                .objects
                .choices(thread.0, announced.operation)
                .as_slice()
            {
                [] => Rc::clone(&self.none),
                [0] => Rc::clone(&self.only),
                choices => choices.iter().copied().map(Choice).collect(),
            },
            None => Rc::clone(&self.none),
        }
    }

    fn take(&mut self, world: &World, step: Step) -> Taken<World> {
        let thread = step.thread.0;
        let mut after = world.clone();
        let Some(announced) = self.announced(world, thread) else {
            return Taken {
                state: after,
                accesses: Vec::new(),
                feeds: Vec::new(),
            };
        };
        let operation = announced.operation;
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
        let mut seen: Vec<History> = Vec::with_capacity(accesses.len());
        for access in &accesses {
            let part = access.object.0;
            seen.push(History(after.parts[part as usize]));
            if access.writes {
                // Who let go did so in any order, and all of them matter: a value that is unwrapped is
                // what they have made of it.
                let of_part = after.let_go.iter().filter(|(of, _)| *of == part);
                seen.extend(of_part.map(|(_, history)| History(*history)));
                after.let_go.retain(|(of, _)| *of != part);
            }
        }
        let history = self.history((own, step.choice.0, answer, seen));
        for access in &accesses {
            let part = access.object.0;
            if access.writes {
                after.parts[part as usize] = history.0;
            } else if matches!(operation, Operation::DropArc(..)) {
                let entry = (part, history.0);
                let (Ok(at) | Err(at)) = after.let_go.binary_search(&entry);
                after.let_go.insert(at, entry);
            }
        }
        after.threads[usize::from(thread)] = history.0;
        if let Operation::Spawn(child) = operation {
            let at = usize::from(child);
            if after.threads.len() <= at {
                after.threads.resize(at + 1, 0);
            }
            let birth = self.history((history, u32::from(child), 0, Vec::new()));
            self.next[birth.0 as usize] = Some(Operation::Start.into());
            after.threads[at] = birth.0;
        }
        after.past = Some(Rc::new(Past {
            step,
            announced,
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
