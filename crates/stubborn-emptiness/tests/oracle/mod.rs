//! Verdicts by building all of a product, without any walk of this crate.

use std::collections::HashMap;

use stubborn_graph::components;
use stubborn_ltl::automaton::{Automaton, StateId};
use stubborn_system::{LabelId, Successors, System};

/// A step of a state: where it leads, and marks besides those of the automaton that an
/// accepted run has to collect again and again.
pub(crate) type Step = (Vec<u32>, Vec<bool>);

/// Whether the automaton accepts a run of the system; `steps` says what is possible in a state,
/// from the successors that are not by steps that fail.
pub(crate) fn accepts_some_run(
    system: &dyn System,
    automaton: &Automaton,
    labels: &[LabelId],
    steps: impl Fn(&[u32], &Successors) -> Vec<Step>,
) -> bool {
    let words = system.layout().words();
    let mut executor = system.executor();
    let sets = automaton.acceptance_sets();
    let mut numbers: HashMap<(Vec<u32>, StateId), u32> = HashMap::new();
    let mut nodes: Vec<(Vec<u32>, StateId)> = Vec::new();
    let mut edges: Vec<Vec<(u32, Vec<bool>)>> = Vec::new();
    let mut number = |node: (Vec<u32>, StateId), nodes: &mut Vec<(Vec<u32>, StateId)>| {
        *numbers.entry(node.clone()).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as u32 - 1
        })
    };
    number((system.initial_states(), automaton.initial()), &mut nodes);
    while edges.len() < nodes.len() {
        let (state, from) = nodes[edges.len()].clone();
        let mut letter = vec![0];
        for (at, label) in labels.iter().enumerate() {
            letter[0] |= u64::from(executor.label(&state, *label)) << at;
        }
        let (mut all, mut successors) = (Successors::new(words), Successors::new(words));
        executor.successors(&state, &mut all);
        let error = system.structure().error_state.as_deref();
        for step in all.iter().filter(|s| error != Some(s.state)) {
            successors.append(step);
        }
        let steps = steps(&state, &successors);
        let mut own = Vec::new();
        for (target, more) in steps {
            for edge in automaton.successors(from, &letter) {
                let mut seen: Vec<bool> = (0..sets).map(|set| edge.marks.has(set)).collect();
                seen.extend(&more);
                own.push((number((target.clone(), edge.target), &mut nodes), seen));
            }
        }
        edges.push(own);
    }
    let target = |node: u32, at: usize| edges[node as usize].get(at).map(|(to, _)| *to);
    let (component, count) = components(nodes.len(), [0], target);
    let mut collected: Vec<Option<Vec<bool>>> = vec![None; count as usize];
    for (node, own) in edges.iter().enumerate() {
        for (to, seen) in own {
            if component[node] == component[*to as usize] {
                let known = &mut collected[component[node] as usize];
                let known = known.get_or_insert_with(|| vec![false; seen.len()]);
                for (known, seen) in known.iter_mut().zip(seen) {
                    *known |= seen;
                }
            }
        }
    }
    let mut all = collected.iter().flatten();
    all.any(|marks| marks.iter().all(|seen| *seen))
}
