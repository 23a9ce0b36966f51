//! A few states, to learn from: which values occur, and which go together.
//!
//! What is learnt is a guess. A value that turns out not to fit ends the run on the card, and the
//! next one takes declared ranges.

use std::collections::HashSet;

use stubborn_ir::Model;
use stubborn_system::budget::Patience;
use stubborn_system::{Random, Successors, System};

/// States that are explored from the start.
const NEAR: usize = 10_000;
/// Walks at random, to see what is far away.
const WALKS: usize = 24;
/// Steps of each.
const STEPS: usize = 400;

/// States of a model, one after the other; without the error state.
pub(crate) fn states(model: &Model) -> Vec<u32> {
    let words = model.layout().words();
    let initial = model.initial_states();
    let mut seen: HashSet<Box<[u32]>> = HashSet::from([initial.clone().into()]);
    let mut states = initial.clone();
    let mut executor = model.executor();
    let mut out = Successors::new(words);
    let mut patience = Patience::new(model.budget(), 64);
    let mut at = 0;
    while at < states.len() && states.len() < NEAR * words && patience.spent().is_none() {
        let state = states[at..at + words].to_vec();
        at += words;
        out.clear();
        executor.successors(&state, &mut out);
        for next in out.iter().filter(|next| !model.is_error(next.state)) {
            if seen.insert(next.state.into()) {
                states.extend_from_slice(next.state);
            }
        }
    }
    // All of them were seen: no need to walk.
    if at >= states.len() {
        return states;
    }
    let mut random = Random::new(1);
    for _ in 0..WALKS {
        let mut state = initial.clone();
        for _ in 0..STEPS {
            out.clear();
            executor.successors(&state, &mut out);
            if out.is_empty() || patience.spent().is_some() {
                break;
            }
            let next = out.get(random.below(out.len()));
            if model.is_error(next.state) {
                break;
            }
            state.copy_from_slice(next.state);
            states.extend_from_slice(&state);
        }
    }
    states
}
