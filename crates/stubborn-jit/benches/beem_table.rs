//! A table of figures for models of the BEEM benchmark set: time per state of generated code
//! and interpreter, and what compiling takes.
//!
//! `cargo bench -p stubborn-jit --bench beem_table -- NAME...` measures the given instances.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use stubborn_diagnostics::SourceFile;
use stubborn_ir::Model;
use stubborn_jit::CompiledModel;
use stubborn_system::{BitSet, Executor, Successors, System, TransitionId};

const INSTANCES: [&str; 16] = [
    "adding.3",
    "anderson.4",
    "at.4",
    "bakery.4",
    "brp.3",
    "collision.3",
    "elevator.2",
    "firewire_link.2",
    "iprotocol.2",
    "lamport.3",
    "lifts.4",
    "mcs.2",
    "peterson.3",
    "phils.4",
    "rether.3",
    "telephony.2",
];

fn main() -> std::io::Result<()> {
    let Some(models) = stubborn_corpus::folder("beem/models") else {
        return Ok(());
    };
    let mut out = std::io::stdout().lock();
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let names = if named.is_empty() {
        INSTANCES.iter().map(|name| (*name).to_string()).collect()
    } else {
        named
    };
    writeln!(
        out,
        "{:20} {:>5} {:>5} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "instance",
        "words",
        "cmds",
        "states",
        "succ/st",
        "compile",
        "ns/state",
        "ns/succ",
        "interp.",
        "labels",
        "fire/st"
    )?;
    for name in names {
        let file = models.join(format!("{name}.dve"));
        match std::fs::read(&file) {
            Ok(text) => {
                let row = measure(&name, &String::from_utf8_lossy(&text));
                writeln!(out, "{row}")?;
            }
            Err(_) => writeln!(out, "{name:20} skipped: no {}", file.display())?,
        }
    }
    Ok(())
}

fn measure(name: &str, text: &str) -> String {
    let source = SourceFile::new(name, text);
    let (lowered, _) = stubborn_dve::compile(&source);
    let program = lowered.expect("a well-formed model").into_program();
    let model = Arc::new(Model::new(program).expect("a well-formed program"));
    let words = model.layout().words();
    let start = Instant::now();
    let compiled = CompiledModel::ready(model.clone());
    let compile = start.elapsed().as_secs_f64() * 1e3;
    let states = states(&compiled, 20_000);
    let count = states.len() / words;
    let edges = pass(&mut *compiled.executor(), &states, words);
    let code = time(|| pass(&mut *compiled.executor(), &states, words));
    let interpreted = time(|| pass(&mut *model.executor(), &states, words));
    let labels = time(|| label_pass(&compiled, &states));
    let fire = time(|| fire_pass(&compiled, &states));
    let per_state = |seconds: f64| seconds * 1e9 / count as f64;
    format!(
        "{name:20} {words:5} {:5} {count:6} {:7.2} {compile:6.1}ms {:8.1} {:8.1} {:8.1} {:8.1} {:8.1}",
        model.structure().transitions.len(),
        edges as f64 / count as f64,
        per_state(code),
        code * 1e9 / edges as f64,
        per_state(interpreted),
        per_state(labels),
        per_state(fire),
    )
}

/// The best of some runs, in seconds.
fn time(mut run: impl FnMut() -> usize) -> f64 {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn pass(executor: &mut dyn Executor, states: &[u32], words: usize) -> usize {
    let mut buffer = Successors::new(words);
    let mut total = 0;
    for state in states.chunks(words) {
        buffer.clear();
        executor.successors(state, &mut buffer);
        total += buffer.len();
    }
    total
}

fn label_pass(system: &dyn System, states: &[u32]) -> usize {
    let mut executor = system.executor();
    let mut labels = BitSet::new(system.structure().labels.len());
    for state in states.chunks(system.layout().words()) {
        executor.labels(state, &mut labels);
    }
    labels.count()
}

/// Fires one transition a state, as a reduction would.
fn fire_pass(system: &dyn System, states: &[u32]) -> usize {
    let words = system.layout().words();
    let mut executor = system.executor();
    let mut buffer = Successors::new(words);
    let transitions = system.structure().transitions.len();
    let mut total = 0;
    for (nr, state) in states.chunks(words).enumerate() {
        buffer.clear();
        let transition = TransitionId::new(nr * 7 % transitions);
        executor.fire(state, transition, &mut buffer);
        total += buffer.len();
    }
    total
}

/// Up to `limit` reachable states, breadth first.
fn states(system: &dyn System, limit: usize) -> Vec<u32> {
    let words = system.layout().words();
    let mut states = system.initial_states();
    let mut seen: HashSet<Vec<u32>> = states.chunks(words).map(<[u32]>::to_vec).collect();
    let mut executor = system.executor();
    let mut buffer = Successors::new(words);
    let mut at = 0;
    while at < states.len() && states.len() < limit * words {
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
