//! Generated code against the interpreter on random programs: random states and walks.

mod support;

use stubborn_ir::Model;
use stubborn_ir::testing::{Random, random_program, random_state};
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
