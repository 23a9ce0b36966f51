//! Writing automata, as HOA and as DOT.

use std::fmt::Write;

use crate::automaton::{Automaton, Marks};
use crate::guard::{Guard, Guards};

/// The automaton in HOA format. Only properties that were checked are claimed.
pub fn write_hoa(automaton: &Automaton, name: Option<&str>) -> String {
    let mut out = String::from("HOA: v1\n");
    if let Some(name) = name {
        line(&mut out, format_args!("name: {}", quoted(name)));
    }
    line(&mut out, format_args!("States: {}", automaton.state_count()));
    line(&mut out, format_args!("Start: {}", automaton.initial().0));
    let names: Vec<String> = automaton.propositions().iter().map(|p| quoted(p)).collect();
    line(&mut out, format_args!("AP: {} {}", names.len(), names.join(" ")));
    let sets = automaton.acceptance_sets();
    let condition: Vec<String> = (0..sets).map(|set| format!("Inf({set})")).collect();
    match sets {
        0 => line(&mut out, format_args!("acc-name: all\nAcceptance: 0 t")),
        1 => line(&mut out, format_args!("acc-name: Buchi\nAcceptance: 1 Inf(0)")),
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
    properties.push(if state_based { "state-acc" } else { "trans-acc" });
    if automaton.is_deterministic() {
        properties.push("deterministic");
    }
    if automaton.is_complete() {
        properties.push("complete");
    }
    line(&mut out, format_args!("properties: {}\n--BODY--", properties.join(" ")));
    let mut guards = automaton.guards().clone();
    for state in automaton.states() {
        let edges = automaton.edges(state);
        let common = edges.first().map_or(Marks::NONE, |edge| edge.marks);
        let state_marks = if state_based { common } else { Marks::NONE };
        line(&mut out, format_args!("State: {}{}", state.0, braces(state_marks)));
        for edge in edges {
            let label = label(&mut guards, edge.guard, &|variable| variable.to_string());
            let marks = if state_based { Marks::NONE } else { edge.marks };
            line(&mut out, format_args!("[{label}] {}{}", edge.target.0, braces(marks)));
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
    line(&mut out, format_args!("  start [shape=point]\n  start -> {}", automaton.initial().0));
    let names = automaton.propositions();
    let mut guards = automaton.guards().clone();
    for state in automaton.states() {
        line(&mut out, format_args!("  {}", state.0));
        for edge in automaton.edges(state) {
            let mut text = label(&mut guards, edge.guard, &|v| names[v as usize].clone());
            text.push_str(&braces(edge.marks));
            let target = edge.target.0;
            line(&mut out, format_args!("  {} -> {target} [label={}]", state.0, quoted(&text)));
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
    let sets: Vec<String> =
        (0..Marks::MAX_SETS).filter(|set| marks.has(*set)).map(|set| set.to_string()).collect();
    if sets.is_empty() { String::new() } else { format!(" {{{}}}", sets.join(" ")) }
}

fn label(guards: &mut Guards, guard: Guard, name: &dyn Fn(u32) -> String) -> String {
    if guard.is_true() {
        return "t".to_owned();
    }
    let cubes = guards.cubes(guard);
    let several = cubes.len() > 1;
    let terms: Vec<String> = cubes
        .into_iter()
        .map(|cube| {
            let literals: Vec<String> = cube
                .into_iter()
                .map(|(v, value)| format!("{}{}", if value { "" } else { "!" }, name(v)))
                .collect();
            let term = literals.join("&");
            if several && literals.len() > 1 { format!("({term})") } else { term }
        })
        .collect();
    if terms.is_empty() { "f".to_owned() } else { terms.join(" | ") }
}
