//! Weak fairness by process: against an explicit product, with every emptiness check.

use std::net::TcpListener;
use std::sync::Mutex;

use stubborn_cluster::{Cluster, Meeting, Token};
use stubborn_emptiness::{
    Check, CheckResult, CheckVerdict, CycleProviso, Emptiness, FiniteRuns, Fitting, Property,
    ReductionOff, ReductionRequest, ReductionUse,
};
use stubborn_ltl::formula::{Formula, Formulas, Node};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::Limit;
use stubborn_system::{LabelId, Successors, System, Transition};

use oracle::{Step, accepts_some_run};

use crate::oracle;

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

/// A system and a formula, unless its automaton is too large.
fn random_case(seed: u64) -> Option<(Tiny, Property)> {
    case(seed, |formulas, random| {
        let size = 2 + random.below(6);
        random.formula(formulas, 3, size)
    })
}

/// A system and a formula about three of its labels.
fn case(
    seed: u64,
    formula: impl FnOnce(&mut Formulas, &mut Random) -> Formula,
) -> Option<(Tiny, Property)> {
    let mut random = Random::new(seed + 1);
    let shape = Shape {
        processes: true,
        remote_counters: seed % 5 == 1,
        nondeterminism: seed.is_multiple_of(3),
        failures: seed % 7 == 3,
        priorities: seed % 11 == 5,
        loose: false,
    };
    let system = random::system(seed, shape);
    let count = system.structure().labels.len();
    let labels: Vec<LabelId> = (count - 3..count).map(LabelId::new).collect();
    let mut formulas = Formulas::new();
    for name in ["p0", "p1", "p2"] {
        formulas.proposition(name);
    }
    let formula = formula(&mut formulas, &mut random);
    let property = Property::from_formula(formulas, formula, labels, &Default::default());
    Some((system, property.ok()?))
}

#[test]
fn fair_verdicts_are_those_of_the_whole_product() {
    let (mut violated, mut rescued) = (0, 0);
    for seed in 0..600 {
        let Some((system, property)) = random_case(seed) else {
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

/// Processes that share the product (threads here, with connections as processes have them) find
/// what one finds, and only the leader has to show it.
#[test]
fn several_processes_find_what_one_finds() {
    let mut cases: Vec<_> = (0..120).filter_map(random_case).collect();
    // Runs that see two things again and again: two acceptance sets.
    cases.extend((0..30).filter_map(|seed| {
        case(seed, |formulas, _| {
            let both = ["p0", "p1"].map(|name| {
                let atom = formulas.atom(name);
                let ever = formulas.make(Node::Finally(atom));
                formulas.make(Node::Globally(ever))
            });
            let both = formulas.make(Node::And(both[0], both[1]));
            formulas.make(Node::Not(both))
        })
    }));
    let many_sets = |(_, property): &&(_, Property)| property.automaton().acceptance_sets() > 1;
    assert!(cases.iter().filter(many_sets).count() > 2);
    let found = Mutex::new([0, 0]);
    for size in 1..4 {
        let token = Token::random();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let work = |cluster: Cluster| {
            let is_leader = cluster.is_leader();
            let cluster = Mutex::new(cluster);
            for (number, (system, property)) in cases.iter().enumerate() {
                let ways = [FiniteRuns::Stutter, FiniteRuns::Ignore];
                let alone = Check {
                    weak_fairness: number % 4 == 0,
                    finite_runs: ways[number % 2],
                    ..Check::new(system, property)
                };
                let shared = Check {
                    cluster: Some(&cluster),
                    ..alone.clone()
                };
                let (alone, shared) = (alone.run(), shared.run());
                let alone = alone.expect("it is real");
                let shared = shared.unwrap_or_else(|error| panic!("{number}: {error}"));
                assert_eq!(shared.verdict, alone.verdict, "{number} by {size}");
                let is_violated = alone.verdict == CheckVerdict::Violated;
                if !is_violated {
                    let counts =
                        |result: &CheckResult| (result.counts.states, result.counts.transitions);
                    assert_eq!(counts(&shared), counts(&alone), "{number} by {size}");
                }
                let has_one = shared.counterexample.is_some();
                assert_eq!(has_one, is_violated && is_leader, "{number} by {size}");
                found.lock().expect("nobody panics")[usize::from(is_violated)] += 1;
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..size {
                scope.spawn(|| work(Cluster::join(&address, &token, "test").expect("it works")));
            }
            let meeting = Meeting {
                listener,
                size,
                token: token.clone(),
                purpose: "test",
            };
            work(Cluster::lead(meeting, || Ok(())).expect("all come"));
        });
    }
    let found = found.into_inner().expect("nobody panics");
    assert!(found.iter().all(|count| *count > 60), "{found:?}");
}

/// A limit that one process reaches ends the check in all of them.
#[test]
fn a_limit_is_one_of_all_processes() {
    let (system, property) = (0..)
        .find_map(|seed| {
            let (system, property) = random_case(seed)?;
            let found = Check::new(&system, &property).run().expect("it is real");
            let is_it = found.verdict == CheckVerdict::Holds && found.counts.states > 20;
            is_it.then_some((system, property))
        })
        .expect("some case is like that");
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let work = |cluster: Cluster| {
        let is_leader = cluster.is_leader();
        let cluster = Mutex::new(cluster);
        let mut check = Check {
            cluster: Some(&cluster),
            ..Check::new(&system, &property)
        };
        // Only the leader's limit of states counts, and somebody else has no more time.
        check.limits.states = is_leader.then_some(10);
        let first = check.run().expect("nobody dies");
        assert_eq!(first.verdict, CheckVerdict::Unknown(Limit::States));
        check.limits.states = None;
        check.limits.time = (!is_leader).then_some(std::time::Duration::ZERO);
        let second = check.run().expect("nobody dies");
        assert_eq!(second.verdict, CheckVerdict::Unknown(Limit::Time));
        check.limits.time = None;
        assert_eq!(
            check.run().expect("nobody dies").verdict,
            CheckVerdict::Holds
        );
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(Cluster::join(&address, &token, "test").expect("it works")));
        let meeting = Meeting {
            listener,
            size: 2,
            token: token.clone(),
            purpose: "test",
        };
        work(Cluster::lead(meeting, || Ok(())).expect("all come"));
    });
}
