//! Replaying a path on the unreduced system: how every trace is made.

use stubborn_system::{Outcome, Spent, Successors, System, TransitionId};

use crate::config::{SearchError, Target};
use crate::trace::Trace;

/// The run of `system` through `states` (one after the other, from an initial one on) and, at
/// the end, by `last_step`. Fails if there is none.
///
/// Where several steps lead from one state to the next, the first one is taken, or the first one
/// in which nothing goes wrong, if there is any. The
/// system is asked for all its steps by a fresh executor: nothing that a search or a
/// reduction believes has a say in it. With a budget that is spent, there may be no answer.
pub fn replay(
    system: &dyn System,
    states: Vec<u32>,
    last_step: Option<(TransitionId, Outcome)>,
) -> Result<Trace, SearchError> {
    let budget = system.budget();
    // Who gives up finds nothing, which says nothing.
    let failed = |text: String| {
        Err(match budget.spent() {
            Some(spent) => SearchError::GaveUp(spent),
            None => SearchError::ReplayFailed(text),
        })
    };
    let words = system.layout().words();
    let initial = system.initial_states();
    if states.is_empty() || !states.len().is_multiple_of(words) {
        return failed("the path is no list of states".into());
    }
    let first = &states[..words];
    if !initial.chunks_exact(words).any(|state| state == first) {
        return failed("the first state is no initial state".into());
    }
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut steps = Vec::with_capacity(states.len() / words);
    let mut before = first;
    for next in states.chunks_exact(words).skip(1) {
        if budget.is_overdrawn() {
            return Err(SearchError::GaveUp(budget.poll().unwrap_or(Spent::Time)));
        }
        successors.clear();
        executor.successors(before, &mut successors);
        let steps_there = successors.iter().filter(|step| step.state == next);
        let Some(step) = steps_there.min_by_key(|step| step.outcome != Outcome::FINE) else {
            return failed(format!("no step leads to state {}", steps.len() + 1));
        };
        steps.push((step.transition, step.outcome));
        before = next;
    }
    let mut trace = Trace::from_parts(words, states, steps);
    if let Some((transition, outcome)) = last_step {
        successors.clear();
        executor.successors(trace.last_state(), &mut successors);
        let is_it = |step: &stubborn_system::Successor<'_>| {
            step.transition == transition && step.outcome == outcome
        };
        let Some(step) = successors.iter().find(is_it) else {
            return failed(format!(
                "the bad step {transition:?} is not possible at the end"
            ));
        };
        trace.push(step.transition, step.outcome, step.state);
    }
    Ok(trace)
}

/// Whether a replayed trace really shows what it should.
pub(crate) fn confirm(
    system: &dyn System,
    target: Target,
    trace: &Trace,
) -> Result<(), SearchError> {
    let failed = |text: &str| Err(SearchError::ReplayFailed(text.into()));
    let mut executor = system.executor();
    let last = trace.last_state();
    let mut is_end = || {
        let mut successors = Successors::new(last.len());
        executor.successors(last, &mut successors);
        successors.is_empty()
    };
    match target {
        Target::Deadlock | Target::InvalidEnd if !is_end() => {
            failed("the last state has successors")
        }
        Target::InvalidEnd => match system.structure().valid_end {
            Some(label) if executor.label(last, label) => failed("the last state is a valid end"),
            _ => Ok(()),
        },
        Target::Label(label) if !executor.label(last, label) => {
            failed("the last state is not a bad one")
        }
        // The step was matched with its outcome.
        Target::Deadlock | Target::Errors | Target::Assertions | Target::Label(_) => Ok(()),
    }
}
