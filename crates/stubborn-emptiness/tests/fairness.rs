//! Weak fairness by process: against an explicit product, with every emptiness check.

use std::collections::HashMap;

use stubborn_emptiness::{
    Check, Emptiness, Fitting, Property, Proviso, ReductionOff, ReductionRequest, ReductionUse,
    Verdict,
};
use stubborn_ltl::automaton::StateId;
use stubborn_ltl::components::components_of;
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, Successors, System, Transition};

/// One process spins, the other has a single step: it is taken under fairness only.
#[test]
fn a_process_that_can_step_is_not_neglected() {
    let mut system = Tiny::new(&[2, 2]);
    let (spinner, worker) = (system.process(0), system.process(1));
    let waiting = system.label("waiting", &[1], |v| v[1] == 0);
    let done = system.label("done", &[1], |v| v[1] == 1);
    let spin = Transition {
        name: "spin".into(),
        processes: vec![spinner],
        writes: fields(&[0]),
        reads: fields(&[0]),
        ..Transition::default()
    };
    system.transition(spin, |v| vec![Some(vec![1 - v[0], v[1]])]);
    let step = Transition {
        name: "step".into(),
        processes: vec![worker],
        guards: vec![waiting],
        writes: fields(&[1]),
        ..Transition::default()
    };
    system.transition(step, |v| vec![Some(vec![v[0], 1])]);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("done");
    let ever = formulas.make(Node::Finally(atom));
    let property = Property::from_formula(formulas, ever, vec![done], &Default::default())
        .expect("the formula is small");
    let relations = relations_over(&system, &system.all_states());
    for emptiness in Emptiness::ALL {
        for threads in [1, 2] {
            let check = Check {
                emptiness,
                threads,
                reduction: Some(ReductionRequest {
                    config: Config::new(Algorithm::Beam),
                    relations: &relations,
                    proviso: Proviso::default(),
                    fitting: Fitting::default(),
                }),
                ..Check::new(&system, &property)
            };
            let unfair = check.run().expect("counterexamples are real");
            assert_eq!(unfair.verdict, Verdict::Violated);
            let check = Check {
                weak_fairness: true,
                ..check
            };
            let fair = check.run().expect("counterexamples are real");
            assert_eq!(fair.verdict, Verdict::Holds);
            assert_eq!(fair.reduction, ReductionUse::Off(ReductionOff::Fairness));
        }
    }
}

/// Whether a fair run violates the property: components of the whole product in which the
/// automaton sees all marks and every process moves or is without a step.
fn is_violated(system: &dyn System, property: &Property) -> bool {
    let (automaton, labels) = (property.automaton(), property.labels());
    let structure = system.structure();
    let words = system.layout().words();
    let mut executor = system.executor();
    let sets = automaton.acceptance_sets() as usize;
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
        let mut successors = Successors::new(words);
        executor.successors(&state, &mut successors);
        let mut idle = vec![true; structure.processes.len()];
        for transition in successors.transitions() {
            for process in &structure.transition(*transition).processes {
                idle[process.index()] = false;
            }
        }
        let mut steps: Vec<(Vec<u32>, Vec<bool>)> = successors
            .iter()
            .map(|successor| {
                let mut moved = idle.clone();
                for process in &structure.transition(successor.transition).processes {
                    moved[process.index()] = true;
                }
                (successor.state.to_vec(), moved)
            })
            .collect();
        if steps.is_empty() {
            steps.push((state, idle));
        }
        steps.retain(|(target, _)| structure.error_state.as_ref() != Some(target));
        let mut own = Vec::new();
        for (target, moved) in steps {
            for edge in automaton.successors(from, &letter) {
                let mut seen: Vec<bool> = (0..sets).map(|s| edge.marks.has(s as u32)).collect();
                seen.extend(&moved);
                own.push((number((target.clone(), edge.target), &mut nodes), seen));
            }
        }
        edges.push(own);
    }
    let target = |node: u32, at: usize| edges[node as usize].get(at).map(|(to, _)| *to);
    let (component, count) = components_of(nodes.len(), [0], target);
    let mut collected: Vec<Option<Vec<bool>>> = vec![None; count as usize];
    for (node, own) in edges.iter().enumerate() {
        for (to, seen) in own {
            if component[node] == component[*to as usize] {
                let known = collected[component[node] as usize]
                    .get_or_insert_with(|| vec![false; seen.len()]);
                for (known, seen) in known.iter_mut().zip(seen) {
                    *known |= seen;
                }
            }
        }
    }
    let mut fair = collected.iter().flatten();
    fair.any(|sets| sets.iter().all(|seen| *seen))
}

#[test]
fn fair_verdicts_are_those_of_the_whole_product() {
    let (mut violated, mut rescued) = (0, 0);
    for seed in 0..600 {
        let mut random = Random::new(seed + 1);
        let shape = Shape {
            processes: true,
            remote_counters: seed % 5 == 1,
            nondeterminism: seed % 3 == 0,
            failures: seed % 7 == 3,
            priorities: seed % 11 == 5,
        };
        let system = random::system(seed, shape);
        let count = system.structure().labels.len();
        let labels: Vec<LabelId> = (count - 3..count).map(LabelId::new).collect();
        let mut formulas = Formulas::new();
        for name in ["p0", "p1", "p2"] {
            formulas.proposition(name);
        }
        let size = 2 + random.below(6);
        let formula = random.formula(&mut formulas, 3, size);
        let Ok(property) = Property::from_formula(formulas, formula, labels, &Default::default())
        else {
            continue;
        };
        let expected = match is_violated(&system, &property) {
            true => Verdict::Violated,
            false => Verdict::Holds,
        };
        for emptiness in Emptiness::ALL {
            for threads in [1, 2] {
                let check = Check {
                    emptiness,
                    threads,
                    weak_fairness: true,
                    ..Check::new(&system, &property)
                };
                let result = check.run().unwrap_or_else(|e| panic!("{seed}: {e}"));
                assert_eq!(result.verdict, expected, "{seed} {emptiness:?} {threads}");
                let has_one = result.counterexample.is_some();
                assert_eq!(has_one, expected == Verdict::Violated, "{seed}");
            }
        }
        violated += usize::from(expected == Verdict::Violated);
        let unfair = Check::new(&system, &property).run().expect("it is real");
        rescued += usize::from(expected == Verdict::Holds && unfair.verdict == Verdict::Violated);
    }
    eprintln!("{violated} violated by fair runs, {rescued} only by unfair ones");
    assert!(violated > 40 && rescued > 2, "{violated} {rescued}");
}
