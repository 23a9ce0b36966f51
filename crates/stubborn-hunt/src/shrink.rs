//! Making counterexamples short.
//!
//! What walks and depth-first searches find is long. First a breadth-first search among the states
//! of the run takes all short cuts. For states and steps that are bad, steps are then left out, by
//! halves, quarters and so on, wherever what is left still leads to something bad of the same kind
//! (Zeller, Hildebrandt, *Simplifying and isolating failure-inducing input*, 2002); and a
//! breadth-first search of the system, with a limit, may know a shortest run.

use stubborn_plan::{CheckError, CheckOptions, Planner, ReductionOptions};
use stubborn_search::{
    Found, Limits, Order, Search, SearchError, Stop, StoreOptions, Trace, Violation,
};
use stubborn_system::{Outcome, Successors, System, TransitionId};

use crate::watch::Watch;
use crate::within::Within;
use crate::{Caught, Hunt, lasso};

/// The least and the most that each way may take, in states.
const EFFORT: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 20;

/// Following a run stores nothing.
const STEPS_PER_STATE: u64 = 16;

/// A shorter one, if there is one within reach. It may take as much as it took to find the first.
pub(crate) fn shrink(hunt: &Hunt<'_>, caught: Caught, effort: u64) -> Result<Caught, CheckError> {
    let effort = effort.clamp(*EFFORT.start(), *EFFORT.end());
    let budget = hunt.system.budget();
    if budget.poll().is_some() {
        return Ok(caught);
    }
    // (What is found as time runs out may have no run.)
    let is_shorter = |after: &Caught, before: &Caught| match (after.length(), before.length()) {
        (Some(after), Some(before)) => after < before,
        (after, before) => after.is_some() && before.is_none(),
    };
    // Whoever has no time for it leaves things as they are.
    let kept = |result: Result<Option<Caught>, CheckError>, before: Caught| match result {
        Ok(Some(after)) if is_shorter(&after, &before) => Ok(after),
        Ok(_) | Err(CheckError::Search(SearchError::GaveUp(_))) => Ok(before),
        Err(error) => Err(error),
    };
    match caught {
        Caught::Temporal(property, result) => {
            let path = result.counterexample.as_ref().map(|c| states(&c.trace));
            let shorter = match path {
                None => Ok(None),
                // Among these states, whoever would leave them seems unable to move.
                Some(_) if hunt.options.weak_fairness => Ok(None),
                Some(path) => lasso::inside(hunt, property, &path),
            };
            let shorter = shorter.map(|s| s.map(|r| Caught::Temporal(property, Box::new(r))));
            kept(shorter, Caught::Temporal(property, result))
        }
        Caught::Target(at, violation) => {
            let wrapped = |violation: Option<Violation>| {
                violation.map(|violation| Caught::Target(at, Box::new(violation)))
            };
            let mut best = Caught::Target(at, violation);
            // Short cuts first: they are cheap, and leave little to try.
            for way in [shortest, among_states, fewer_steps, among_states] {
                let Caught::Target(_, now) = &best else { break };
                let shorter = way(hunt, at, now, effort).map(wrapped);
                best = kept(shorter, best)?;
            }
            Ok(best)
        }
    }
}

/// The states of a run, one after the other.
fn states(trace: &Trace) -> Vec<u32> {
    let all = (0..=trace.len()).flat_map(|number| trace.state(number));
    all.copied().collect()
}

/// A shortest one, if it is near.
fn shortest(
    hunt: &Hunt<'_>,
    at: usize,
    _: &Violation,
    effort: u64,
) -> Result<Option<Violation>, CheckError> {
    searched(hunt, hunt.system, at, Some(effort))
}

/// A shortest one among the states of the run.
fn among_states(
    hunt: &Hunt<'_>,
    at: usize,
    violation: &Violation,
    _: u64,
) -> Result<Option<Violation>, CheckError> {
    let Some(trace) = &violation.trace else {
        return Ok(None);
    };
    let mut path = states(trace);
    let bad_step = violation.step.is_some();
    if bad_step {
        // The step is bad, not where it leads to.
        path.truncate(path.len() - hunt.system.layout().words());
    }
    searched(hunt, &Within::new(hunt.system, &path, bad_step), at, None)
}

fn searched(
    hunt: &Hunt<'_>,
    system: &dyn System,
    at: usize,
    states: Option<u64>,
) -> Result<Option<Violation>, CheckError> {
    let options = CheckOptions {
        order: Order::BreadthFirst,
        store: StoreOptions::default(),
        limits: Limits {
            states,
            ..Limits::default()
        },
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    let planner = Planner::new(system, &options).replayed_on(hunt.reference);
    let mut found = planner.check(&hunt.targets[at..=at], Stop::FirstViolation)?;
    Ok(found.answers.pop().and_then(|answer| answer.violation))
}

/// With steps left out.
fn fewer_steps(
    hunt: &Hunt<'_>,
    at: usize,
    violation: &Violation,
    effort: u64,
) -> Result<Option<Violation>, CheckError> {
    let Some(trace) = &violation.trace else {
        return Ok(None);
    };
    let mut steps: Vec<TransitionId> = trace.steps().map(|step| step.transition).collect();
    let mut walker = Walker {
        hunt,
        watch: Watch::new(hunt.system.structure(), &hunt.targets[at..=at]),
        initial: trace.initial_state().to_vec(),
        left: effort * STEPS_PER_STATE,
    };
    let mut best = None;
    let mut chunk = steps.len() / 2;
    while chunk > 0 {
        let mut from = 0;
        while from < steps.len() {
            if walker.left == 0 || hunt.system.budget().poll().is_some() {
                chunk = 1;
                break;
            }
            let to = (from + chunk).min(steps.len());
            let without = [&steps[..from], &steps[to..]].concat();
            match walker.follow(&without) {
                Some(end) if end.taken.len() < steps.len() => {
                    steps.clone_from(&end.taken);
                    best = Some(end);
                }
                _ => from = to,
            }
        }
        chunk /= 2;
    }
    let Some(end) = best else { return Ok(None) };
    let words = hunt.system.layout().words();
    let found = Found {
        target: hunt.targets[at],
        count: 1,
        length: end.taken.len() as u64,
        state: end.path[end.path.len() - words..].to_vec(),
        step: end.step,
    };
    let search = Search {
        replay: Some(hunt.reference),
        ..Search::new(hunt.system)
    };
    Ok(search.confirm(vec![found], Ok(vec![end.path]))?.pop())
}

/// Follows lists of transitions.
struct Walker<'w> {
    hunt: &'w Hunt<'w>,
    watch: Watch<'w>,
    initial: Vec<u32>,
    left: u64,
}

/// A run that ends badly.
struct BadEnd {
    /// Its states.
    path: Vec<u32>,
    /// Its transitions.
    taken: Vec<TransitionId>,
    /// The bad step, where it is one.
    step: Option<(TransitionId, Outcome)>,
}

impl Walker<'_> {
    /// Takes those of the steps that are possible, until something is bad.
    fn follow(&mut self, steps: &[TransitionId]) -> Option<BadEnd> {
        let words = self.initial.len();
        let mut executor = self.hunt.system.executor();
        let mut successors = Successors::new(words);
        let mut path = self.initial.clone();
        let mut taken = Vec::new();
        let mut wanted = steps.iter();
        loop {
            self.left = self.left.checked_sub(1)?;
            successors.clear();
            let state = &path[path.len() - words..];
            executor.successors(state, &mut successors);
            // Once the budget is spent, steps may be missing: that there are none means nothing.
            if self.hunt.system.budget().void().is_some() {
                return None;
            }
            if let Some((_, step)) = self.watch.look(&mut *executor, state, &successors) {
                taken.extend(step.map(|(transition, _)| transition));
                return Some(BadEnd { path, taken, step });
            }
            let next = wanted.find_map(|transition| {
                let step = |s: &stubborn_system::Successor<'_>| {
                    s.transition == *transition && s.outcome.failed().is_none()
                };
                successors.iter().position(|s| step(&s))
            })?;
            taken.push(successors.transitions()[next]);
            path.extend_from_slice(successors.state(next));
        }
    }
}
