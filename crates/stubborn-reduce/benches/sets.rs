//! What a set costs: each algorithm on states of philosophers with 96 transitions, each
//! with and without the memory of sets. Times are for all states of the sample; the item count
//! gives states a second.

#[path = "../tests/common/philosophers.rs"]
mod philosophers;

use divan::Bencher;
use divan::counter::ItemsCount;
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan, StubbornReduction};
use stubborn_system::{
    BitSet, Expansion, LabelId, Random, Reduction, RelationLevel, Successors, System,
};

fn main() {
    divan::main();
}

/// States met on a random walk.
fn sample(system: &dyn System, count: usize) -> Vec<(Vec<u32>, Successors)> {
    let mut random = Random::new(1);
    let mut executor = system.executor();
    let mut state = system.initial_states();
    let mut sample = Vec::new();
    while sample.len() < count {
        let mut successors = Successors::new(system.layout().words());
        executor.successors(&state, &mut successors);
        let here = state.clone();
        if successors.is_empty() {
            state = system.initial_states();
        } else {
            let pick = random.below(successors.len());
            state.copy_from_slice(successors.state(pick));
        }
        sample.push((here, successors));
    }
    sample
}

fn bench(bencher: Bencher<'_, '_>, algorithm: Algorithm, cached: bool) {
    let model = philosophers::banquet(3, 8);
    let relations = model.relations(RelationLevel::Exact);
    let aim = match algorithm {
        Algorithm::Goal => Aim::Goals(Goals::labels([LabelId::new(0)])),
        _ => Aim::Deadlocks,
    };
    let plan = Plan::new(&Config::new(algorithm), aim).expect("a plan");
    let reduction = StubbornReduction::new(&model, &relations, plan).expect("a reduction");
    let mut reducer = if cached {
        reduction.reducer()
    } else {
        reduction.forgetful_reducer()
    };
    let sample = sample(&model, 200);
    let mut executor = model.executor();
    let mut kept = BitSet::new(model.structure().transitions.len());
    bencher
        .counter(ItemsCount::new(sample.len()))
        .bench_local(|| {
            let mut reduced = 0;
            for (state, successors) in &sample {
                let mut expansion = Expansion {
                    state,
                    executor: executor.as_mut(),
                    successors,
                    is_known: None,
                };
                reduced += usize::from(reducer.reduce(&mut expansion, &mut kept));
            }
            reduced
        });
}

#[divan::bench(args = Algorithm::ALL, max_time = 1)]
fn computed(bencher: Bencher<'_, '_>, algorithm: &Algorithm) {
    bench(bencher, *algorithm, false);
}

#[divan::bench(args = Algorithm::ALL, max_time = 1)]
fn remembered(bencher: Bencher<'_, '_>, algorithm: &Algorithm) {
    bench(bencher, *algorithm, true);
}
