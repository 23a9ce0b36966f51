//! Verdicts by building all of a product, without any walk of this crate.

use std::collections::HashMap;

use stubborn_emptiness::Property;
use stubborn_graph::components;
use stubborn_ltl::automaton::{Automaton, StateId};
use stubborn_ltl::lasso::Lasso;
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

/// The length of the shortest run that violates a property, and of its cycle (0 where it ends), by
/// trying all runs of up to `longest` steps.
#[allow(dead_code, reason = "not every test asks for it")]
pub(crate) fn shortest_lasso(
    system: &dyn System,
    property: &Property,
    stutters: bool,
    longest: usize,
) -> Option<(usize, usize)> {
    let words = system.layout().words();
    let mut executor = system.executor();
    let error = system.structure().error_state.as_deref();
    let initial = system.initial_states();
    let mut runs: Vec<Vec<Vec<u32>>> = initial.chunks(words).map(|s| vec![s.to_vec()]).collect();
    let mut accepts = |run: &[Vec<u32>], start: usize, end: usize| {
        let mut letters = |states: &[Vec<u32>]| {
            let letter = |state: &Vec<u32>| {
                let labels = property.labels().iter().enumerate();
                let bits = labels.map(|(at, l)| u64::from(executor.label(state, *l)) << at);
                vec![bits.sum()]
            };
            states.iter().map(letter).collect()
        };
        property.automaton().accepts(&Lasso {
            stem: letters(&run[..start]),
            cycle: letters(&run[start..end]),
        })
    };
    let mut other = system.executor();
    for steps in 0..=longest {
        let mut cycles = Vec::new();
        let mut longer = Vec::new();
        for run in runs {
            let last = &run[steps];
            let mut successors = Successors::new(words);
            other.successors(last, &mut successors);
            let fine = successors.iter().filter(|s| error != Some(s.state));
            let targets: Vec<Vec<u32>> = fine.map(|s| s.state.to_vec()).collect();
            if targets.is_empty() && stutters && accepts(&run, steps, steps + 1) {
                cycles.push(0);
            }
            let returns = (0..steps).filter(|start| run[*start] == *last);
            let returns: Vec<usize> = returns.collect();
            cycles.extend(
                returns
                    .into_iter()
                    .filter(|start| accepts(&run, *start, steps))
                    .map(|start| steps - start),
            );
            longer.extend(targets.into_iter().map(|target| {
                let mut run = run.clone();
                run.push(target);
                run
            }));
        }
        if let Some(cycle) = cycles.into_iter().min() {
            return Some((steps, cycle));
        }
        runs = longer;
    }
    None
}
