//! The search: algorithms 1 (source sets) and 2 (wakeup trees) of *Source sets* (2017).

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use crate::order::{Event, Fits, Placed, fits, initials, place};
use crate::wakeup::{Branch, insert};
use crate::{Algorithm, Program, Step, Taken, ThreadId};

/// What a search counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Visits of states; a state that is reached twice counts twice.
    pub visits: u64,
    /// Executions to their ends.
    pub executions: u64,
    /// Executions that were begun and given up, because all that was left had been tried. Never
    /// any with [`Algorithm::Optimal`].
    pub given_up: u64,
    /// Everything was explored.
    pub complete: bool,
}

/// Something that a search has come to.
#[derive(Debug)]
pub enum Seen<'s, S> {
    /// A state.
    State(&'s S),
    /// A state where no thread can do anything, told after it as a state.
    End(&'s S),
}

/// Why a search cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExploreError {
    /// A state comes up twice on one path: a search that remembers nothing would never end.
    Cyclic,
    /// A step has taken away a choice of another thread, although the two touch no object in
    /// common, or although the program says that steps never do that: executions would be missed.
    Disables {
        /// What was taken.
        step: Step,
        /// What is no longer possible.
        lost: Step,
    },
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cyclic => f.write_str(
                "the state graph has a cycle: a stateless search would go round for ever; use a \
                 check that remembers states",
            ),
            Self::Disables { step, lost } => write!(
                f,
                "{step:?} takes {lost:?} away, and the program does not say that one depends on \
                 the other"
            ),
        }
    }
}

impl std::error::Error for ExploreError {}

/// Explores at least one execution of each maximal trace, and only one with
/// [`Algorithm::Optimal`], until `goes_on` says otherwise.
///
/// # Errors
/// If the state graph turns out to have a cycle, or the program breaks a law.
pub fn explore<P: Program>(
    program: &mut P,
    algorithm: Algorithm,
    goes_on: &mut dyn FnMut(Seen<'_, P::State>) -> bool,
) -> Result<Counts, ExploreError> {
    let mut search = Search {
        program,
        algorithm,
        goes_on,
        path: Vec::new(),
        on_path: HashSet::new(),
        counts: Counts {
            complete: true,
            ..Counts::default()
        },
    };
    search.run()?;
    Ok(search.counts)
}

/// One state on the path.
struct Frame<S> {
    state: S,
    /// What need not be tried: it was, or an equivalent of it.
    asleep: Vec<Event>,
    /// What is to be tried. (With source sets alone, single steps.)
    tree: Vec<Branch>,
    /// The step that is being tried.
    next: Option<Placed>,
    /// Everything that is possible.
    enabled: Vec<Step>,
}

struct Search<'s, P: Program> {
    program: &'s mut P,
    algorithm: Algorithm,
    goes_on: &'s mut dyn FnMut(Seen<'_, P::State>) -> bool,
    path: Vec<Frame<P::State>>,
    on_path: HashSet<Vec<u32>>,
    counts: Counts,
}

/// A step as it would be taken from a state.
fn event<S>(step: Step, taken: &Taken<S>) -> Event {
    Event {
        step,
        accesses: taken.accesses.as_slice().into(),
    }
}

impl<P: Program> Search<'_, P> {
    fn run(&mut self) -> Result<(), ExploreError> {
        let initial = self.program.initial();
        if !self.enter(initial, Vec::new(), Vec::new())? {
            return Ok(());
        }
        while let Some(frame) = self.path.last_mut() {
            if let Some(done) = frame.next.take() {
                frame.asleep.push(done.event);
            }
            if frame.tree.is_empty() {
                let words = self.program.words(&frame.state);
                self.on_path.remove(words);
                self.path.pop();
                continue;
            }
            let branch = frame.tree.remove(0);
            let is_asleep = |e: &Event| e.step == branch.event.step;
            if frame.asleep.iter().any(is_asleep) {
                continue;
            }
            if !self.follow(branch)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A new state at the end of the path; false to stop.
    fn enter(
        &mut self,
        state: P::State,
        asleep: Vec<Event>,
        tree: Vec<Branch>,
    ) -> Result<bool, ExploreError> {
        if !self.on_path.insert(self.program.words(&state).to_vec()) {
            return Err(ExploreError::Cyclic);
        }
        self.counts.visits += 1;
        let mut goes_on = (self.goes_on)(Seen::State(&state));
        let threads = (0..self.program.threads()).map(|t| ThreadId(t as u16));
        let mut enabled = Vec::new();
        for thread in threads {
            let choices = self.program.choices(&state, thread);
            enabled.extend(choices.iter().map(|choice| Step {
                thread,
                choice: *choice,
            }));
        }
        self.compare(&enabled)?;
        let is_end = enabled.is_empty();
        if is_end {
            self.counts.executions += 1;
            goes_on &= (self.goes_on)(Seen::End(&state));
        }
        self.counts.complete &= goes_on;
        let mut frame = Frame {
            state,
            asleep,
            tree,
            next: None,
            enabled: Vec::new(),
        };
        if frame.tree.is_empty() && !is_end {
            self.begin(&mut frame, &enabled);
            self.counts.given_up += u64::from(frame.tree.is_empty());
        }
        let is_over = frame.tree.is_empty();
        frame.enabled = enabled;
        self.path.push(frame);
        match self.algorithm {
            Algorithm::Optimal if is_end => self.reverse_all(),
            Algorithm::Source if is_over && self.program.may_disable() => self.reverse_disabled(),
            Algorithm::Optimal | Algorithm::Source => {}
        }
        Ok(goes_on)
    }

    /// Whether the last step has taken away only what depends on it.
    fn compare(&mut self, enabled: &[Step]) -> Result<(), ExploreError> {
        let Some(frame) = self.path.last() else {
            return Ok(());
        };
        let Some(taken) = &frame.next else {
            return Ok(());
        };
        let event = &taken.event;
        let others = frame.enabled.iter();
        let others = others.filter(|s| s.thread != event.step.thread);
        let mut lost = others.filter(|s| !enabled.contains(s)).copied();
        let may_disable = self.program.may_disable();
        let broken = lost.find(|step| {
            let depends = |program: &mut P| {
                let accesses = program.take(&frame.state, *step).accesses;
                let other = Event {
                    step: *step,
                    accesses: accesses.into(),
                };
                other.depends_on(event)
            };
            !(may_disable && depends(self.program))
        });
        match broken {
            None => Ok(()),
            Some(lost) => Err(ExploreError::Disables {
                step: event.step,
                lost,
            }),
        }
    }

    /// Choices of other threads that a step takes away: they are open in this state, and not after
    /// the step.
    fn disabled_by(&mut self, state: &P::State, step: Step) -> Vec<Step> {
        let after = self.program.take(state, step).state;
        let mut lost = Vec::new();
        let threads = (0..self.program.threads()).map(|t| ThreadId(t as u16));
        for thread in threads.filter(|t| *t != step.thread) {
            let left = self.program.choices(&after, thread);
            let open = self.program.choices(state, thread);
            let gone = open.iter().filter(|c| !left.contains(c));
            lost.extend(gone.map(|choice| Step {
                thread,
                choice: *choice,
            }));
        }
        lost
    }

    /// With source sets, at the end of an execution: what a step has taken away from others, and
    /// what may have become possible again only long after, is put before it.
    fn reverse_disabled(&mut self) {
        let end = self.path.len() - 1;
        for at in 0..end {
            let Some(own) = self.placed(at).map(|p| p.event.step) else {
                continue;
            };
            let beside = self.beside(at, end);
            let (state, events) = self.simulate(at, &beside);
            for step in self.disabled_by(&state, own) {
                self.turn(at, &state, events.clone(), step);
            }
        }
    }

    /// Something to try first in a state.
    fn begin(&mut self, frame: &mut Frame<P::State>, enabled: &[Step]) {
        let is_awake = |s: &&Step| !frame.asleep.iter().any(|e| e.step == **s);
        let preferred = self.program.preferred(&frame.state);
        let is_preferred = |s: &&Step| match &preferred {
            Some(threads) => threads.contains(&s.thread),
            None => true,
        };
        let awake = || enabled.iter().filter(is_awake);
        let first = awake().find(is_preferred).or_else(|| awake().next());
        let Some(first) = first else {
            return;
        };
        frame.tree = self.branches(&frame.state, *first);
    }

    /// A step to be tried; with source sets alone, all choices of its thread.
    fn branches(&mut self, state: &P::State, step: Step) -> Vec<Branch> {
        let mut steps = vec![step];
        if self.algorithm == Algorithm::Source {
            let choices = self.program.choices(state, step.thread);
            let others = choices.iter().filter(|c| **c != step.choice);
            steps.extend(others.map(|choice| Step {
                choice: *choice,
                ..step
            }));
        }
        let branch = |step| Branch {
            event: event(step, &self.program.take(state, step)),
            after: Vec::new(),
        };
        steps.into_iter().map(branch).collect()
    }

    /// Takes a step from the end of the path; false to stop.
    fn follow(&mut self, branch: Branch) -> Result<bool, ExploreError> {
        let last = self.path.len() - 1;
        let frame = &self.path[last];
        let taken = self.program.take(&frame.state, branch.event.step);
        let event = event(branch.event.step, &taken);
        let asleep = frame.asleep.iter();
        let asleep = asleep.filter(|e| !e.depends_on(&event)).cloned().collect();
        let earlier = self.path[..last].iter().enumerate();
        let earlier = earlier.filter_map(|(at, f)| Some((at, f.next.as_ref()?)));
        let earlier: Vec<_> = earlier.collect();
        let placed = place(earlier.into_iter(), event);
        self.path[last].next = Some(placed);
        if self.algorithm == Algorithm::Source {
            self.reverse_last(&taken.feeds);
        }
        self.enter(taken.state, asleep, branch.after)
    }

    fn placed(&self, at: usize) -> Option<&Placed> {
        self.path[at].next.as_ref()
    }

    /// Steps after position `at`, before `end`, that do not happen after the step there.
    fn beside(&self, at: usize, end: usize) -> Vec<Step> {
        let later = (at + 1..end).filter_map(|k| self.placed(k));
        let free = later.filter(|p| !p.before.contains(at));
        free.map(|p| p.event.step).collect()
    }

    /// Whether the steps at two positions depend on each other directly, and only so.
    fn is_adjacent(&self, first: usize, second: usize) -> bool {
        let Some(later) = self.placed(second) else {
            return false;
        };
        let between = |k: usize| {
            later.before.contains(k) && self.placed(k).is_some_and(|p| p.before.contains(first))
        };
        later.before.contains(first) && !(first + 1..second).any(between)
    }

    /// Runs steps from the state at a position.
    fn simulate(&mut self, at: usize, steps: &[Step]) -> (P::State, Vec<Event>) {
        let mut state = self.path[at].state.clone();
        let mut events = Vec::with_capacity(steps.len() + 1);
        for step in steps {
            let taken = self.program.take(&state, *step);
            events.push(event(*step, &taken));
            state = taken.state;
        }
        (state, events)
    }

    fn can(&mut self, state: &P::State, step: Step) -> bool {
        self.program
            .choices(state, step.thread)
            .contains(&step.choice)
    }

    /// At the end of an execution: every step is put behind everything that could have come
    /// before it.
    fn reverse_all(&mut self) {
        let end = self.path.len() - 1;
        for at in 0..end {
            let Some(own) = self.placed(at).map(|p| p.event.step) else {
                continue;
            };
            let beside = self.beside(at, end);
            let racing: Vec<Step> = (at + 1..end)
                .filter(|k| self.is_adjacent(at, *k))
                .filter_map(|k| self.placed(k).map(|p| p.event.step))
                .filter(|s| s.thread != own.thread)
                .collect();
            let (state, events) = self.simulate(at, &beside);
            let others = self.program.choices(&state, own.thread);
            let others = others.iter().map(|choice| Step {
                choice: *choice,
                ..own
            });
            let mut instead: Vec<Step> = others.filter(|s| *s != own).collect();
            for step in racing {
                if self.can(&state, step) {
                    instead.push(step);
                }
            }
            if self.program.may_disable() {
                let lost = self.disabled_by(&state, own);
                instead.extend(
                    lost.into_iter()
                        .filter(|s| !instead.contains(s))
                        .collect::<Vec<_>>(),
                );
            }
            for step in instead {
                let taken = self.program.take(&state, step);
                let mut sequence = events.clone();
                sequence.push(event(step, &taken));
                let frame = &mut self.path[at];
                let slept = |e: &Event| fits(e, &sequence) != Fits::Not;
                if !frame.asleep.iter().any(slept) {
                    insert(&mut frame.tree, sequence);
                }
            }
        }
    }

    /// After a step: earlier ones that race with it are put behind it.
    fn reverse_last(&mut self, feeds: &[ThreadId]) {
        let last = self.path.len() - 1;
        let Some(step) = self.placed(last).map(|p| p.event.step) else {
            return;
        };
        for at in 0..last {
            let Some(own) = self.placed(at).map(|p| p.event.step) else {
                continue;
            };
            if own.thread == step.thread {
                continue;
            }
            let beside = self.beside(at, last);
            if self.is_adjacent(at, last) {
                let (state, events) = self.simulate(at, &beside);
                if self.can(&state, step) {
                    self.turn(at, &state, events, step);
                }
            }
            let is_after = self.placed(last).is_some_and(|p| p.before.contains(at));
            if !is_after && feeds.contains(&own.thread) {
                let (without, mut events) = self.simulate(at, &beside);
                let taken = self.program.take(&without, step);
                events.push(event(step, &taken));
                let before = self.program.choices(&without, own.thread);
                let after: Rc<[_]> = self.program.choices(&taken.state, own.thread);
                for choice in after.iter().filter(|c| !before.contains(c)) {
                    let new = Step {
                        choice: *choice,
                        ..own
                    };
                    self.turn(at, &taken.state, events.clone(), new);
                }
            }
        }
    }

    /// A sequence from the state at a position, with one more step, must be tried: some step that
    /// it can begin with.
    fn turn(&mut self, at: usize, state: &P::State, mut events: Vec<Event>, step: Step) {
        let taken = self.program.take(state, step);
        events.push(event(step, &taken));
        let first: Vec<Step> = initials(&events).map(|e| e.step).collect();
        let frame = &self.path[at];
        let current = frame.next.iter().map(|p| p.event.step);
        let slept = frame.asleep.iter().map(|e| e.step);
        let wanted = frame.tree.iter().map(|b| b.event.step);
        let known: Vec<Step> = current.chain(slept).chain(wanted).collect();
        if first.iter().any(|s| known.contains(s)) {
            return;
        }
        let start = self.path[at].state.clone();
        let preferred = self.program.preferred(&start).unwrap_or_default();
        let is_preferred = |s: &&Step| preferred.contains(&s.thread);
        let chosen = first.iter().find(is_preferred).or(first.first());
        if let Some(chosen) = chosen {
            let mut branches = self.branches(&start, *chosen);
            self.path[at].tree.append(&mut branches);
        }
    }
}
