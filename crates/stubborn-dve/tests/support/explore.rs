//! A plain breadth-first search over a set of states, to count with the interpreter.

use std::collections::HashSet;
use stubborn_ir::Model;
use stubborn_system::{LabelId, Successors, System};

/// What a full exploration counts.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Counts {
    pub(crate) states: usize,
    /// Every enabled step of every state.
    pub(crate) transitions: usize,
    /// States without steps, the error state included.
    pub(crate) deadlocks: usize,
    /// Breadth-first levels, that of the initial state included.
    pub(crate) levels: usize,
    /// Error states: 0 or 1.
    pub(crate) errors: usize,
    /// For each label asked about, the number of states where it holds (the error state
    /// left out).
    pub(crate) holds: Vec<usize>,
}

/// Explores everything, unless there are more than `limit` states.
pub(crate) fn explore(model: &Model, labels: &[LabelId], limit: usize) -> Option<Counts> {
    let words = model.layout().words();
    let mut executor = model.executor();
    let mut successors = Successors::new(words);
    let mut counts = Counts {
        holds: vec![0; labels.len()],
        ..Counts::default()
    };
    let mut seen: HashSet<Box<[u32]>> = HashSet::new();
    let mut level: Vec<Box<[u32]>> = model
        .initial_states()
        .chunks(words)
        .map(Box::from)
        .collect();
    seen.extend(level.iter().cloned());
    while !level.is_empty() {
        counts.levels += 1;
        let mut next = Vec::new();
        for state in &level {
            let is_error = model.is_error(state);
            counts.errors += usize::from(is_error);
            if !is_error {
                for (count, label) in counts.holds.iter_mut().zip(labels) {
                    *count += usize::from(executor.label(state, *label));
                }
            }
            successors.clear();
            executor.successors(state, &mut successors);
            counts.transitions += successors.len();
            counts.deadlocks += usize::from(successors.is_empty());
            for successor in successors.iter() {
                if !seen.contains(successor.state) {
                    let state: Box<[u32]> = successor.state.into();
                    next.push(state.clone());
                    seen.insert(state);
                }
            }
        }
        if seen.len() > limit {
            return None;
        }
        level = next;
    }
    counts.states = seen.len();
    Some(counts)
}
