//! A state graph as arrays of numbers.

use std::collections::HashMap;

use stubborn::reduce::StubbornReduction;
use stubborn::system::{Expander, Reduction, System};

/// Values of all states, sources, targets and transitions of all edges as numbers of 64 and 32 bits, and whether
/// that is everything.
pub(crate) type Arrays = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, bool);

/// Numbers the states that can be reached, breadth-first.
pub(crate) fn explore(
    system: &dyn System,
    reduction: Option<&StubbornReduction>,
    most: usize,
) -> Result<Arrays, String> {
    let most = most.min(u32::MAX as usize);
    let words = system.layout().words();
    let mut expander = Expander::new(system, reduction.map(|set| set as &dyn Reduction));
    let mut numbers: HashMap<Box<[u32]>, u32> = HashMap::new();
    let mut states: Vec<Box<[u32]>> = Vec::new();
    let mut edges = [Vec::new(), Vec::new(), Vec::new()];
    let mut complete = true;
    let mut number_of = |state: &[u32], states: &mut Vec<Box<[u32]>>| {
        if let Some(number) = numbers.get(state) {
            return Some(*number);
        }
        (states.len() < most).then(|| {
            let number = states.len() as u32;
            numbers.insert(state.into(), number);
            states.push(state.into());
            number
        })
    };
    for state in system.initial_states().chunks(words) {
        number_of(state, &mut states);
    }
    let mut next = 0;
    while next < states.len() {
        let state = states[next].clone();
        expander
            .compute(&state)
            .map_err(|spent| spent.to_string())?;
        // A step that fails may be the one that was asked for: nothing is left out then.
        let all = !expander.successors().all_fine();
        if !all {
            expander.choose(&state);
        }
        for index in 0..expander.successors().len() {
            let step = expander.successors().get(index);
            if !all && !expander.keeps(step.transition) {
                continue;
            }
            match number_of(step.state, &mut states) {
                None => complete = false,
                Some(target) => {
                    let edge = [next as u32, target, step.transition.index() as u32];
                    for (column, number) in edges.iter_mut().zip(edge) {
                        column.extend_from_slice(&number.to_ne_bytes());
                    }
                }
            }
        }
        next += 1;
    }
    let fields = system.layout().fields();
    let values = states
        .iter()
        .flat_map(|state| fields.iter().map(|field| field.get(state)));
    let values = values.flat_map(i64::to_ne_bytes).collect();
    let [sources, targets, transitions] = edges;
    Ok((values, sources, targets, transitions, complete))
}
