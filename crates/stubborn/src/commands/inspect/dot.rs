//! Control-flow graphs of processes for Graphviz, one cluster a process.
//!
//! Where a transition leads is not part of its description (it is whatever its action does),
//! so targets are found by walking through reachable states, up to a limit.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt::Write;

use stubborn::system::{ProcessId, Successors, System, TransitionId};

use super::View;

/// So many states are looked at to find where transitions lead.
const STATES: usize = 20_000;

/// Where each transition took each of its processes.
type Targets = BTreeMap<(TransitionId, ProcessId), BTreeSet<String>>;

pub(super) fn show(view: &View<'_>) -> String {
    let is_filtered = view.args.process.is_some() || view.args.transition.is_some();
    if let (Some(net), false) = (view.model.net(), is_filtered) {
        return stubborn::net::dot(net.net()).to_string();
    }
    let targets = targets(view.model.system());
    let mut out = String::from("digraph model {\n  node [shape=box, style=rounded];\n");
    if view.structure.processes.is_empty() {
        out += &without_processes(view);
    }
    for (at, process) in view.structure.processes.iter().enumerate() {
        let id = ProcessId::new(at);
        let own: Vec<TransitionId> = view
            .transitions
            .iter()
            .copied()
            .filter(|t| view.structure.transition(*t).processes.contains(&id))
            .collect();
        if own.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "  subgraph cluster_{at} {{\n    label={};",
            quoted(&process.name)
        );
        let node = |location: &str| quoted(&format!("{}.{location}", process.name));
        for location in &process.locations {
            let _ = writeln!(out, "    {} [label={}];", node(location), quoted(location));
        }
        for transition in own {
            edges(view, &targets, id, transition, &node, &mut out);
        }
        out += "  }\n";
    }
    out + "}\n"
}

fn edges(
    view: &View<'_>,
    targets: &Targets,
    process: ProcessId,
    id: TransitionId,
    node: &dyn Fn(&str) -> String,
    out: &mut String,
) {
    let transition = view.structure.transition(id);
    let locations = &view.structure.processes[process.index()].locations;
    let position = transition.processes.iter().position(|p| *p == process);
    let source = position.and_then(|at| transition.sources.get(at).copied().flatten());
    let Some(source) = source.and_then(|at| locations.get(at as usize)) else {
        return;
    };
    let own_counter = view.structure.processes[process.index()].location;
    let guards = transition.guards.iter().map(|g| view.structure.label(*g));
    let conditions: Vec<String> = guards
        .filter(|label| own_counter.is_none_or(|f| label.tests != [f]))
        .map(|label| super::text::conjunct(&label.text))
        .collect();
    let mut label = conditions.join("\n");
    if transition.processes.len() > 1 {
        label = format!("{}\n{label}", transition.title());
    }
    match targets.get(&(id, process)) {
        Some(reached) => {
            for target in reached {
                let (source, target) = (node(source), node(target));
                let _ = writeln!(out, "    {source} -> {target} [label={}];", quoted(&label));
            }
        }
        // Never taken in what was seen: a stub.
        None => {
            let stub = quoted(&format!("{id:?} {}", process.index()));
            let _ = writeln!(out, "    {stub} [shape=point];");
            let source = node(source);
            let _ = writeln!(
                out,
                "    {source} -> {stub} [label={}, style=dashed];",
                quoted(&label)
            );
        }
    }
}

/// Walks breadth-first and notes where processes end up.
fn targets(system: &dyn System) -> Targets {
    let structure = system.structure();
    let layout = system.layout();
    let mut targets = Targets::new();
    let mut executor = system.executor();
    let mut successors = Successors::new(layout.words());
    let initial = system.initial_states();
    let mut queue: VecDeque<Vec<u32>> = initial
        .chunks_exact(layout.words())
        .map(<[u32]>::to_vec)
        .collect();
    let mut seen: HashSet<Vec<u32>> = queue.iter().cloned().collect();
    while let Some(state) = queue.pop_front() {
        successors.clear();
        executor.successors(&state, &mut successors);
        for step in successors.iter() {
            if structure.error_state.as_deref() == Some(step.state) {
                continue;
            }
            for process in &structure.transition(step.transition).processes {
                if let Some(field) = structure.processes[process.index()].location {
                    let name = system.value_text(field, layout.get(step.state, field));
                    targets
                        .entry((step.transition, *process))
                        .or_default()
                        .insert(name);
                }
            }
            if seen.len() < STATES && !seen.contains(step.state) {
                seen.insert(step.state.to_vec());
                queue.push_back(step.state.to_vec());
            }
        }
    }
    targets
}

/// A system without processes: transitions and the fields they read and write.
fn without_processes(view: &View<'_>) -> String {
    let mut out = String::new();
    for id in &view.transitions {
        let transition = view.structure.transition(*id);
        let node = format!("{id:?}");
        let _ = writeln!(
            out,
            "  {node} [label={}, style=filled];",
            quoted(&transition.name)
        );
        for field in view.tests(*id) {
            let _ = writeln!(out, "  {} -> {node};", quoted(view.field_name(field)));
        }
        for field in &transition.writes {
            let _ = writeln!(out, "  {node} -> {};", quoted(view.field_name(*field)));
        }
    }
    out
}

fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
