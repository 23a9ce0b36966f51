//! Successors of many states of well-known protocols: generated code and interpreter.
//!
//! Figures are for one pass over all states; the throughput counts states.

use std::collections::HashSet;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use stubborn_ir::testing::{dining_philosophers, peterson, ring_election};
use stubborn_ir::{Model, Program};
use stubborn_jit::CompiledModel;
use stubborn_system::{BitSet, Successors, System};

fn main() {
    divan::main();
}

/// The models by name.
const MODELS: [&str; 3] = ["peterson 4", "ring 5", "philosophers 8"];

fn program(name: &str) -> Program {
    match name {
        "peterson 4" => peterson(4),
        "ring 5" => ring_election(5, 5),
        _ => dining_philosophers(8),
    }
}

fn model(name: &str) -> Arc<Model> {
    Arc::new(Model::new(program(name)).expect("a well-formed program"))
}

/// Up to 5,000 reachable states, one after the other.
fn states(system: &dyn System) -> Vec<u32> {
    let words = system.layout().words();
    let mut states = system.initial_states();
    let mut seen: HashSet<Vec<u32>> = states.chunks(words).map(<[u32]>::to_vec).collect();
    let mut executor = system.executor();
    let mut buffer = Successors::new(words);
    let mut at = 0;
    while at < states.len() && states.len() < 5000 * words {
        let state = states[at..at + words].to_vec();
        buffer.clear();
        executor.successors(&state, &mut buffer);
        for successor in buffer.iter() {
            if seen.insert(successor.state.to_vec()) {
                states.extend_from_slice(successor.state);
            }
        }
        at += words;
    }
    states
}

fn measure(bencher: Bencher, system: &dyn System) {
    let words = system.layout().words();
    let states = states(system);
    let mut executor = system.executor();
    let mut buffer = Successors::new(words);
    bencher
        .counter(ItemsCount::new(states.len() / words))
        .bench_local(|| {
            let mut total = 0;
            for state in states.chunks(words) {
                buffer.clear();
                executor.successors(state, &mut buffer);
                total += buffer.len();
            }
            total
        });
}

#[divan::bench(args = MODELS)]
fn interpreted(bencher: Bencher, name: &str) {
    measure(bencher, &*model(name));
}

#[divan::bench(args = MODELS)]
fn compiled(bencher: Bencher, name: &str) {
    measure(bencher, &CompiledModel::ready(model(name)));
}

#[divan::bench(args = MODELS)]
fn labels(bencher: Bencher, name: &str) {
    let system = CompiledModel::ready(model(name));
    let words = system.layout().words();
    let states = states(&system);
    let mut executor = system.executor();
    let mut labels = BitSet::new(system.structure().labels.len());
    bencher
        .counter(ItemsCount::new(states.len() / words))
        .bench_local(|| {
            for state in states.chunks(words) {
                executor.labels(state, &mut labels);
            }
            labels.count()
        });
}

#[divan::bench(args = MODELS)]
fn compiling(bencher: Bencher, name: &str) {
    let model = model(name);
    bencher.bench_local(|| CompiledModel::ready(model.clone()));
}
