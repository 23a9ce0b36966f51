//! All maximal traces of a program by brute force: what the search is tested against.

use std::collections::HashSet;

use crate::order::{Event, Placed, place};
use crate::{Program, Step, ThreadId};

/// The number of maximal traces; `None` if there are more than `most_executions` executions. No
/// cycle may be reachable.
pub fn count<P: Program>(program: &mut P, most_executions: u64) -> Option<u64> {
    let mut traces = HashSet::new();
    let mut executions = 0;
    let mut path: Vec<(Vec<Placed>, P::State)> = vec![(Vec::new(), program.initial())];
    while let Some((placed, state)) = path.pop() {
        let threads = (0..program.threads()).map(|t| ThreadId(t as u16));
        let mut is_end = true;
        for thread in threads {
            for choice in program.choices(&state, thread).iter() {
                is_end = false;
                let step = Step {
                    thread,
                    choice: *choice,
                };
                let taken = program.take(&state, step);
                let event = Event {
                    step,
                    accesses: taken.accesses.into(),
                };
                let mut longer = placed.clone();
                longer.push(place(placed.iter().enumerate(), event));
                path.push((longer, taken.state));
            }
        }
        if is_end {
            executions += 1;
            if executions > most_executions {
                return None;
            }
            traces.insert(normal_form(&placed));
        }
    }
    Some(traces.len() as u64)
}

/// The first of all equivalent sequences, in the order of steps.
fn normal_form(placed: &[Placed]) -> Vec<Step> {
    let mut left: Vec<usize> = (0..placed.len()).collect();
    let mut form = Vec::new();
    while !left.is_empty() {
        let is_free = |at: &usize| !left.iter().any(|b| placed[*at].before.contains(*b));
        let free = left.iter().copied().filter(is_free);
        let Some(first) = free.min_by_key(|at| placed[*at].event.step) else {
            break;
        };
        form.push(placed[first].event.step);
        left.retain(|at| *at != first);
    }
    form
}
