//! Writing automata, as HOA and as DOT.

use std::fmt::Write;

use rapidhash::RapidHashMap;

use crate::automaton::{Automaton, Marks};
use crate::guard::{Guard, Guards};

/// Longest sum of products that is written as a label.
const MAX_PRODUCTS: usize = 64;

/// The automaton in HOA format. Only properties that were checked are claimed.
pub fn write_hoa(automaton: &Automaton, name: Option<&str>) -> String {
    let mut out = String::from("HOA: v1\n");
    if let Some(name) = name {
        line(&mut out, format_args!("name: {}", quoted(name)));
    }
    line(
        &mut out,
        format_args!("States: {}", automaton.state_count()),
    );
    line(&mut out, format_args!("Start: {}", automaton.initial().0));
    let names: Vec<String> = automaton.propositions().iter().map(|p| quoted(p)).collect();
    line(
        &mut out,
        format_args!("AP: {} {}", names.len(), names.join(" ")),
    );
    let sets = automaton.acceptance_sets();
    let condition: Vec<String> = (0..sets).map(|set| format!("Inf({set})")).collect();
    match sets {
        0 => line(&mut out, format_args!("acc-name: all\nAcceptance: 0 t")),
        1 => line(
            &mut out,
            format_args!("acc-name: Buchi\nAcceptance: 1 Inf(0)"),
        ),
        _ => line(
            &mut out,
            format_args!(
                "acc-name: generalized-Buchi {sets}\nAcceptance: {sets} {}",
                condition.join("&")
            ),
        ),
    }
    let state_based = automaton.is_state_based();
    let mut properties = vec!["trans-labels", "explicit-labels"];
    properties.push(if state_based {
        "state-acc"
    } else {
        "trans-acc"
    });
    if automaton.is_deterministic() {
        properties.push("deterministic");
    }
    if automaton.is_complete() {
        properties.push("complete");
    }
    line(
        &mut out,
        format_args!("properties: {}", properties.join(" ")),
    );
    let mut guards = automaton.guards().clone();
    let mut aliases = Aliases::default();
    let mut labels: Vec<String> = Vec::with_capacity(automaton.edge_count());
    for edge in automaton.states().flat_map(|state| automaton.edges(state)) {
        let short = label(&mut guards, edge.guard, &|variable| variable.to_string());
        labels.push(short.unwrap_or_else(|| aliases.name(automaton.guards(), edge.guard)));
    }
    out.push_str(&aliases.definitions);
    out.push_str("--BODY--\n");
    let mut labels = labels.into_iter();
    for state in automaton.states() {
        let edges = automaton.edges(state);
        let common = edges.first().map_or(Marks::NONE, |edge| edge.marks);
        let state_marks = if state_based { common } else { Marks::NONE };
        line(
            &mut out,
            format_args!("State: {}{}", state.0, braces(state_marks)),
        );
        for edge in edges {
            let label = labels.next().unwrap_or_default();
            let marks = if state_based { Marks::NONE } else { edge.marks };
            line(
                &mut out,
                format_args!("[{label}] {}{}", edge.target.0, braces(marks)),
            );
        }
    }
    out.push_str("--END--\n");
    out
}

/// The automaton as a graph for Graphviz.
pub fn write_dot(automaton: &Automaton, name: Option<&str>) -> String {
    let mut out = String::from("digraph {\n  rankdir=LR\n  node [shape=circle]\n");
    if let Some(name) = name {
        line(&mut out, format_args!("  label={}", quoted(name)));
    }
    line(
        &mut out,
        format_args!(
            "  start [shape=point]\n  start -> {}",
            automaton.initial().0
        ),
    );
    let names = automaton.propositions();
    let mut guards = automaton.guards().clone();
    for state in automaton.states() {
        line(&mut out, format_args!("  {}", state.0));
        for edge in automaton.edges(state) {
            let mut text = label(&mut guards, edge.guard, &|v| names[v as usize].clone())
                .unwrap_or_else(|| "(long)".to_owned());
            text.push_str(&braces(edge.marks));
            let target = edge.target.0;
            line(
                &mut out,
                format_args!("  {} -> {target} [label={}]", state.0, quoted(&text)),
            );
        }
    }
    out.push_str("}\n");
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn braces(marks: Marks) -> String {
    let sets: Vec<String> = (0..Marks::MAX_SETS)
        .filter(|set| marks.has(*set))
        .map(|set| set.to_string())
        .collect();
    if sets.is_empty() {
        String::new()
    } else {
        format!(" {{{}}}", sets.join(" "))
    }
}

/// The guard as a sum of products, if that is short enough to be written.
fn label(guards: &mut Guards, guard: Guard, name: &dyn Fn(u32) -> String) -> Option<String> {
    if guard.is_true() {
        return Some("t".to_owned());
    }
    let cubes = guards.cubes(guard, MAX_PRODUCTS)?;
    let several = cubes.len() > 1;
    let terms: Vec<String> = cubes
        .into_iter()
        .map(|cube| {
            let literals: Vec<String> = cube
                .into_iter()
                .map(|(v, value)| format!("{}{}", if value { "" } else { "!" }, name(v)))
                .collect();
            let term = literals.join("&");
            if several && literals.len() > 1 {
                format!("({term})")
            } else {
                term
            }
        })
        .collect();
    Some(if terms.is_empty() {
        "f".to_owned()
    } else {
        terms.join(" | ")
    })
}

/// Labels of guards that are too long as sums of products: an alias per decision node,
/// defined after those it uses.
#[derive(Default)]
struct Aliases {
    names: RapidHashMap<Guard, String>,
    definitions: String,
}

impl Aliases {
    fn name(&mut self, guards: &Guards, guard: Guard) -> String {
        if let Some(name) = self.names.get(&guard) {
            return name.clone();
        }
        let Some((variable, low, high)) = guards.decision(guard) else {
            return if guard.is_true() { "t" } else { "f" }.to_owned();
        };
        let (low, high) = (self.name(guards, low), self.name(guards, high));
        let name = format!("@g{}", self.names.len());
        let definition = format!("Alias: {name} ({variable}&{high}) | (!{variable}&{low})");
        line(&mut self.definitions, format_args!("{definition}"));
        self.names.insert(guard, name.clone());
        name
    }
}
