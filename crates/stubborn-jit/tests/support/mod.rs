//! Comparison of generated code with the interpreter.
#![allow(dead_code)] // each test file uses a part of it

use std::collections::HashSet;
use std::sync::Arc;

use stubborn_ir::Model;
use stubborn_jit::{CompiledModel, Status};
use stubborn_system::{BitSet, Executor, LabelId, Outcome, Successors, System, TransitionId};

/// Both executors of a model.
pub(crate) struct Both<'m> {
    pub(crate) model: &'m Model,
    interpreter: Box<dyn Executor + 'm>,
    compiled: Box<dyn Executor + 'm>,
    expected: Successors,
    found: Successors,
    labels: (BitSet, BitSet),
}

pub(crate) fn compile(model: Model) -> CompiledModel {
    let compiled = CompiledModel::ready(Arc::new(model));
    assert_eq!(compiled.status(), Status::Compiled);
    compiled
}

impl<'m> Both<'m> {
    pub(crate) fn new(compiled: &'m CompiledModel) -> Self {
        let model: &Model = compiled.model();
        let words = model.layout().words();
        let labels = BitSet::new(model.structure().labels.len());
        Self {
            model,
            interpreter: model.executor(),
            compiled: compiled.executor(),
            expected: Successors::new(words),
            found: Successors::new(words),
            labels: (labels.clone(), labels),
        }
    }

    /// Compares all successors; returns them.
    pub(crate) fn successors(&mut self, state: &[u32]) -> &Successors {
        self.expected.clear();
        self.found.clear();
        self.interpreter.successors(state, &mut self.expected);
        self.compiled.successors(state, &mut self.found);
        compare(self.model, state, &self.expected, &self.found, "successors");
        &self.found
    }

    /// Compares single transitions and labels.
    pub(crate) fn parts(&mut self, state: &[u32]) {
        let model = self.model;
        self.interpreter.labels(state, &mut self.labels.0);
        self.compiled.labels(state, &mut self.labels.1);
        for at in 0..self.labels.0.len() {
            let text = &model.structure().labels[at].text;
            let expected = self.labels.0.contains(at);
            assert_eq!(self.labels.1.contains(at), expected, "{text} in bulk");
            let label = LabelId::new(at);
            assert_eq!(self.compiled.label(state, label), expected, "{text}");
            assert_eq!(self.interpreter.label(state, label), expected);
            if let Some(table) = model.truth_table(label) {
                let field = model
                    .layout()
                    .field(model.structure().label(label).tests[0]);
                assert_eq!(
                    table[field.raw(state) as usize / 64] >> (field.raw(state) % 64) & 1 == 1,
                    expected,
                    "{text} by its field"
                );
            }
        }
        assert_eq!(self.labels.0, self.labels.1);
        for at in 0..model.structure().transitions.len() {
            self.expected.clear();
            self.found.clear();
            let transition = TransitionId::new(at);
            self.interpreter.fire(state, transition, &mut self.expected);
            self.compiled.fire(state, transition, &mut self.found);
            compare(model, state, &self.expected, &self.found, "fire");
        }
    }
}

fn compare(model: &Model, state: &[u32], expected: &Successors, found: &Successors, what: &str) {
    let context = |nr: usize, part: &str| {
        let both = expected
            .transitions()
            .get(nr)
            .or(found.transitions().get(nr));
        let text = both.map(|t| {
            let program = model.program();
            let command = &program.commands[t.index()];
            let guards = command
                .guards
                .iter()
                .map(|g| program.text(&program.labels[g.index()].expr));
            let body = command.body.iter().map(|s| program.statement_text(s));
            let lines: Vec<String> = guards.chain(body).collect();
            format!("{}:\n  {}", command.name, lines.join("\n  "))
        });
        format!(
            "{part} of {what} nr {nr} in {state:?}: {}",
            text.unwrap_or_default()
        )
    };
    for nr in 0..expected.len().min(found.len()) {
        let (e, f) = (expected.get(nr), found.get(nr));
        assert_eq!(f.transition, e.transition, "{}", context(nr, "transition"));
        assert_eq!(f.outcome, e.outcome, "{}", context(nr, "outcome"));
        assert_eq!(f.state, e.state, "{}", context(nr, "state"));
        for (word, (old, new)) in state.iter().zip(f.state).enumerate() {
            let marked = f.changed[word / 64] >> (word % 64) & 1 == 1;
            assert!(marked || old == new, "{}", context(nr, "mask"));
        }
        let beyond = state.len() % 64;
        if beyond != 0 {
            assert_eq!(
                f.changed[state.len() / 64] >> beyond,
                0,
                "bits beyond the state"
            );
        }
    }
    let shorter = expected.len().min(found.len());
    assert_eq!(
        found.len(),
        expected.len(),
        "{}",
        context(shorter, "number")
    );
}

/// Walks the reachable states, at most `limit`, comparing everything in each; parts only in
/// every `every`th state. Returns states, transitions and failed steps.
pub(crate) fn explore(
    compiled: &CompiledModel,
    limit: usize,
    every: usize,
) -> (usize, usize, usize) {
    let mut both = Both::new(compiled);
    let words = compiled.layout().words();
    let initial = compiled.initial_states();
    let mut seen: HashSet<Box<[u32]>> = HashSet::new();
    let mut queue: Vec<Box<[u32]>> = Vec::new();
    for state in initial.chunks(words) {
        seen.insert(state.into());
        queue.push(state.into());
    }
    let (mut at, mut edges, mut failures) = (0, 0, 0);
    while at < queue.len() && at < limit {
        let state = queue[at].clone();
        if at % every == 0 {
            both.parts(&state);
        }
        for successor in both.successors(&state).iter() {
            edges += 1;
            failures += usize::from(successor.outcome != Outcome::FINE);
            if seen.len() < limit && !seen.contains(successor.state) {
                seen.insert(successor.state.into());
                queue.push(successor.state.into());
            }
        }
        at += 1;
    }
    (at, edges, failures)
}
