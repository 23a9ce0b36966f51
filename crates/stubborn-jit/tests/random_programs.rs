//! Generated code against the interpreter on random programs: random states and walks.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use stubborn_ir::Model;
use stubborn_ir::testing::{Random, random_chains, random_loop, random_program, random_state};
use stubborn_system::{Budget, FailureKind, Successors, System};
use support::{Both, compile, explore};

fn check(seed: u64) -> (usize, usize) {
    let model = Model::new(random_program(seed)).expect("a well-formed program");
    let compiled = compile(model);
    let mut rng = Random::new(seed ^ 0x5eed);
    let mut both = Both::new(&compiled);
    let mut steps = 0;
    for nr in 0..30 {
        let state = random_state(both.model, &mut rng);
        steps += both.successors(&state).len();
        if nr % 3 == 0 {
            both.parts(&state);
        }
    }
    let (_, edges, failures) = explore(&compiled, 60, 10);
    (steps + edges, failures)
}

fn check_all(seeds: std::ops::Range<u64>) {
    let count = seeds.end - seeds.start;
    let (mut steps, mut failures) = (0, 0);
    for seed in seeds {
        let (more, failed) = std::panic::catch_unwind(|| check(seed)).unwrap_or_else(|_| {
            panic!("seed {seed}");
        });
        steps += more;
        failures += failed;
    }
    // The programs are worth running, and failures are among what happens.
    assert!(steps as u64 > 20 * count, "{steps} steps");
    assert!(failures as u64 > count, "{failures} failures");
}

#[test]
fn random_programs_behave_as_interpreted() {
    check_all(0..400);
}

#[test]
#[ignore = "long: many more random programs"]
fn many_random_programs_behave_as_interpreted() {
    check_all(1_000_000..1_010_000);
}

/// Chains with loops, choices, assertions and failing steps.
#[test]
fn random_chains_behave_as_interpreted() {
    let mut failures = 0;
    for seed in 0..150 {
        let model = Model::new(random_chains(seed)).expect("a well-formed program");
        let compiled = compile(model);
        let mut rng = Random::new(seed);
        let mut both = Both::new(&compiled);
        for _ in 0..5 {
            let state = random_state(both.model, &mut rng);
            both.successors(&state);
            both.parts(&state);
        }
        failures += explore(&compiled, 60, 10).2;
    }
    assert!(failures > 100, "{failures} failures");
}

/// Loops of any number of rounds, some of them without an end.
#[test]
fn random_loops_behave_as_evaluated() {
    let (mut many, mut endless) = (0, 0);
    for random in (0..400).filter_map(random_loop) {
        let compiled = compile(Model::new(random.program).expect("a small program"));
        let initial = compiled.initial_states();
        let mut both = Both::new(&compiled);
        assert_eq!(both.successors(&initial).outcome(0), random.outcome);
        many += usize::from(random.rounds > 1_000);
        let site = random.outcome.failed();
        let kind = site.map(|site| compiled.structure().failures[site].kind);
        endless += usize::from(kind == Some(FailureKind::EndlessLoop));
    }
    assert!(many > 5 && endless > 30, "{many} {endless}");
}

/// Loops and chains of generated code look at the budget, and have no successor if it is spent.
#[test]
fn generated_code_gives_up_when_the_budget_is_spent() {
    let random = (0..)
        .filter_map(random_loop)
        .find(|random| random.rounds > 10_000);
    let random = random.expect("some loop is long");
    let model = Model::new(random.program).expect("a small program");
    for (time, successors) in [(None, 1), (Some(Duration::ZERO), 0)] {
        let budget = Arc::new(Budget::unlimited().with_time(time));
        let compiled = compile(model.clone().with_budget(Arc::clone(&budget)));
        let initial = compiled.initial_states();
        let mut out = Successors::new(initial.len());
        compiled.executor().successors(&initial, &mut out);
        assert_eq!(out.len(), successors);
        assert_eq!(budget.spent().is_some(), successors == 0);
        assert_eq!(compiled.budget().spent(), budget.spent());
    }
}
