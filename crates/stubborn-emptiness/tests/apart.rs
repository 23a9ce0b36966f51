//! A product that several processes share (threads here, with connections as processes have them): the
//! verdict is that of an explicit product, and every process has it.

use std::net::TcpListener;
use std::sync::Mutex;

use stubborn_cluster::{Cluster, Meeting, Token};
use stubborn_emptiness::{
    Check, CheckResult, CheckVerdict, CycleProviso, Fitting, Property, ReductionRequest,
    SteeringMode,
};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, System};

use automata::random_automaton;
use loose::loose_system;
use oracle::{Step, accepts_some_run};

use crate::automata;
use crate::loose;
use crate::oracle;

/// Does something in so many processes at once; what each has got, the leader's first.
fn spread<T: Send>(size: usize, work: impl Fn(&Mutex<Cluster>) -> T + Sync) -> Vec<T> {
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (work, token, address) = (&work, &token, &address);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..size)
            .map(|_| {
                scope.spawn(move || {
                    let cluster = Cluster::join(address, token, "test").expect("it is welcome");
                    work(&Mutex::new(cluster))
                })
            })
            .collect();
        let meeting = Meeting {
            listener,
            size,
            token: token.clone(),
            purpose: "test",
        };
        let cluster = Cluster::lead(meeting, || Ok(())).expect("all come");
        let first = work(&Mutex::new(cluster));
        let others = others
            .into_iter()
            .map(|other| other.join().expect("it ends"));
        std::iter::once(first).chain(others).collect()
    })
}

/// Random systems with automata of any shape, with several marks and none, reduced and not.
#[test]
fn processes_find_what_there_is() {
    let (mut violated, mut holding) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed + 1);
        let system = loose_system(&mut random);
        let first = system.structure().labels.len() - 2;
        let labels: Vec<LabelId> = (first..first + 2).map(LabelId::new).collect();
        let relations = relations_over(&system, &system.all_states());
        let automaton = random_automaton(&mut random, 2);
        let is_violated = accepts_some_run(&system, &automaton, &labels, |state, successors| {
            let step = |target: &[u32]| (target.to_vec(), Vec::new());
            let mut steps: Vec<Step> = successors.iter().map(|s| step(s.state)).collect();
            if steps.is_empty() {
                steps.push(step(state));
            }
            steps
        });
        violated += usize::from(is_violated);
        holding += usize::from(!is_violated);
        let expected = match is_violated {
            true => CheckVerdict::Violated,
            false => CheckVerdict::Holds,
        };
        let property = Property::from_automaton(automaton, labels);
        let request = ReductionRequest {
            config: Config::new(Algorithm::Beam),
            relations: &relations,
            proviso: CycleProviso::default(),
            fitting: Fitting::ByState,
        };
        let size = 1 + random.below(3);
        let plain = Check::new(&system, &property);
        let counted = plain.run().expect("a check").counts.states;
        for reduction in [None, Some(&request)] {
            let results: Vec<CheckResult> = spread(size, |cluster| {
                let check = Check {
                    reduction: reduction.cloned(),
                    steering: SteeringMode::Mixed,
                    cluster: Some(cluster),
                    ..Check::new(&system, &property)
                };
                check.run().expect("nobody dies")
            });
            for result in &results {
                assert_eq!(result.verdict, expected, "seed {seed} of {size}");
            }
            assert_eq!(results[0].counterexample.is_some(), is_violated, "{seed}");
            if reduction.is_none() && !is_violated {
                assert_eq!(results[0].counts.states, counted, "seed {seed} of {size}");
            }
        }
    }
    assert!(violated > 10 && holding > 10, "{violated} {holding}");
}
