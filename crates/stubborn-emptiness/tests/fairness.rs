//! Weak fairness by process: against an explicit product, with every emptiness check.

use stubborn_emptiness::{
    Check, CheckVerdict, CycleProviso, Emptiness, Fitting, Property, ReductionOff,
    ReductionRequest, ReductionUse,
};
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, Successors, System, Transition};

use oracle::{Step, accepts_some_run};

mod oracle;

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
                    proviso: CycleProviso::default(),
                    fitting: Fitting::default(),
                }),
                ..Check::new(&system, &property)
            };
            let unfair = check.run().expect("counterexamples are real");
            assert_eq!(unfair.verdict, CheckVerdict::Violated);
            let check = Check {
                weak_fairness: true,
                ..check
            };
            let fair = check.run().expect("counterexamples are real");
            assert_eq!(fair.verdict, CheckVerdict::Holds);
            assert_eq!(fair.reduction, ReductionUse::Off(ReductionOff::Fairness));
        }
    }
}

/// Who can only take steps that fail is not able to move: to neglect it is fair.
#[test]
fn a_process_whose_steps_all_fail_may_be_neglected() {
    let mut system = Tiny::new(&[2, 2]);
    let (spinner, worker) = (system.process(0), system.process(1));
    let done = system.label("done", &[1], |v| v[1] == 1);
    let step = |name: &str, process| Transition {
        name: name.into(),
        processes: vec![process],
        ..Transition::default()
    };
    let spin = Transition {
        writes: fields(&[0]),
        reads: fields(&[0]),
        ..step("spin", spinner)
    };
    system.transition(spin, |v| vec![Some(vec![1 - v[0], v[1]])]);
    system.transition(step("fail", worker), |_| vec![None]);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("done");
    let ever = formulas.make(Node::Finally(atom));
    let property = Property::from_formula(formulas, ever, vec![done], &Default::default())
        .expect("the formula is small");
    for emptiness in Emptiness::ALL {
        for threads in [1, 2] {
            let check = Check {
                emptiness,
                threads,
                weak_fairness: true,
                ..Check::new(&system, &property)
            };
            let fair = check.run().expect("counterexamples are real");
            assert_eq!(fair.verdict, CheckVerdict::Violated);
        }
    }
}

/// A model whose processes have no steps at all has fair runs: those that end.
#[test]
fn processes_that_never_move_are_processes() {
    let mut system = Tiny::new(&[2]);
    let done = system.label("done", &[0], |v| v[0] == 1);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("done");
    let ever = formulas.make(Node::Finally(atom));
    let property = Property::from_formula(formulas, ever, vec![done], &Default::default())
        .expect("the formula is small");
    let fair = |system: &Tiny, emptiness, threads| {
        let check = Check {
            emptiness,
            threads,
            weak_fairness: true,
            ..Check::new(system, &property)
        };
        check.run().map(|result| result.verdict)
    };
    assert!(
        fair(&system, Emptiness::Components, 1).is_err(),
        "no process"
    );
    system.process(0);
    for emptiness in Emptiness::ALL {
        for threads in [1, 2] {
            let verdict = fair(&system, emptiness, threads).expect("there is a process");
            assert_eq!(verdict, CheckVerdict::Violated, "{emptiness:?} {threads}");
        }
    }
}

/// Whether a fair run violates the property: every process moves again and again, or is again
/// and again without a step.
fn is_violated(system: &dyn System, property: &Property) -> bool {
    let structure = system.structure();
    let steps = |state: &[u32], successors: &Successors| {
        let mut idle = vec![true; structure.processes.len()];
        for transition in successors.transitions() {
            for process in &structure.transition(*transition).processes {
                idle[process.index()] = false;
            }
        }
        let mut steps: Vec<Step> = successors
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
            steps.push((state.to_vec(), idle));
        }
        steps
    };
    accepts_some_run(system, property.automaton(), property.labels(), steps)
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
            true => CheckVerdict::Violated,
            false => CheckVerdict::Holds,
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
                assert_eq!(has_one, expected == CheckVerdict::Violated, "{seed}");
            }
        }
        violated += usize::from(expected == CheckVerdict::Violated);
        let unfair = Check::new(&system, &property).run().expect("it is real");
        rescued += usize::from(
            expected == CheckVerdict::Holds && unfair.verdict == CheckVerdict::Violated,
        );
    }
    eprintln!("{violated} violated by fair runs, {rescued} only by unfair ones");
    assert!(violated > 40 && rescued > 2, "{violated} {rescued}");
}
