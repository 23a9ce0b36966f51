//! The state space as a file: in the Aldebaran format of CADP and mCRL2, or for Graphviz.
//!
//! The graph that is written is the one that was explored: with a reduction, what it keeps. For
//! Graphviz, what it leaves out is drawn, too, in grey, as far as both ends are there.

use std::collections::HashMap;
use std::fmt::{self, Write};

use serde::Serialize;
use stubborn::plan::reduction::Made;
use stubborn::reduce::{Aim, Algorithm, Config};
use stubborn::system::{Expander, Relations, System, TransitionId};
use stubborn::{CheckError, CheckOptions, LoadedModel, Por, story};

use crate::commands::write_file;
use crate::exit::Failure;
use crate::options::ExploreArgs;
use crate::terminal::grouped;

/// Most states of a graph, unless --max-states says otherwise.
const MOST_STATES: u64 = 1 << 20;

/// States and steps, by number.
pub(super) struct Graph {
    states: Vec<Box<[u32]>>,
    initial: usize,
    edges: Vec<(u32, TransitionId, u32)>,
    left_out: Vec<(u32, TransitionId, u32)>,
    branching: Branching,
}

/// How many states have how many steps.
#[derive(Clone, Default, Serialize)]
pub(super) struct Branching {
    /// At each number, the states with so many steps that are kept.
    kept: Vec<u64>,
    /// The same for all steps.
    all: Vec<u64>,
}

impl Branching {
    fn count(&mut self, kept: usize, all: usize) {
        for (counts, steps) in [(&mut self.kept, kept), (&mut self.all, all)] {
            if counts.len() <= steps {
                counts.resize(steps + 1, 0);
            }
            counts[steps] += 1;
        }
    }
}

impl fmt::Display for Branching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_reduced = self.kept != self.all;
        let mean = |counts: &[u64]| {
            let steps: u64 = counts.iter().zip(0..).map(|(states, n)| states * n).sum();
            steps as f64 / counts.iter().sum::<u64>().max(1) as f64
        };
        f.write_str(match is_reduced {
            true => "\nsteps  states that keep so many  states that have so many\n",
            false => "\nsteps  states\n",
        })?;
        for (steps, all) in self.all.iter().enumerate() {
            let kept = self.kept.get(steps).copied().unwrap_or(0);
            match is_reduced {
                true => writeln!(f, "{steps:>5}  {:<24}  {}", grouped(kept), grouped(*all))?,
                false => writeln!(f, "{steps:>5}  {}", grouped(*all))?,
            }
        }
        match is_reduced {
            true => writeln!(
                f,
                " mean  {:<24.2}  {:.2}",
                mean(&self.kept),
                mean(&self.all)
            ),
            false => writeln!(f, " mean  {:.2}", mean(&self.all)),
        }
    }
}

/// Explores a model state by state, breadth-first.
pub(super) fn build(
    args: &ExploreArgs,
    model: &LoadedModel,
    options: &CheckOptions<'_>,
) -> Result<Result<Graph, Failure>, CheckError> {
    let system = model.system();
    let relations: Relations;
    let made = match &options.reduction.por {
        Por::None => None,
        Por::Auto | Por::Chosen(_) => {
            let config = match &options.reduction.por {
                Por::Chosen(config) => config.clone(),
                _ => Config::new(Algorithm::Beam),
            };
            relations = system.relations(options.reduction.relations);
            Some(Made::new(system, &relations, &config, Aim::Deadlocks)?)
        }
    };
    let most = args.search.max_states.unwrap_or(MOST_STATES);
    let mut expander = Expander::new(system, made.as_ref().map(Made::reduction));
    let mut numbers: HashMap<Box<[u32]>, u32> = HashMap::new();
    let mut graph = Graph {
        states: Vec::new(),
        initial: 0,
        edges: Vec::new(),
        left_out: Vec::new(),
        branching: Branching::default(),
    };
    let mut unseen: Vec<(u32, TransitionId, Box<[u32]>)> = Vec::new();
    let words = system.layout().words();
    for state in system.initial_states().chunks_exact(words) {
        graph.number(&mut numbers, state);
    }
    graph.initial = graph.states.len();
    let mut next = 0;
    while let Some(state) = graph.states.get(next).cloned() {
        let from = next as u32;
        next += 1;
        if graph.states.len() as u64 > most {
            return Ok(Err(Failure::no_answer(format!(
                "the graph has more than {most} states; --max-states allows more"
            ))));
        }
        if system.structure().error_state.as_deref() == Some(&*state) {
            continue;
        }
        let spent = expander.compute(&state).err();
        if spent == Some(stubborn::system::Spent::Outgrown) || system.budget().is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        if let Some(spent) = spent.or_else(|| system.budget().poll()) {
            return Ok(Err(Failure::no_answer(spent)));
        }
        let is_reduced = expander.choose(&state);
        let before = graph.edges.len();
        for step in expander.successors().iter() {
            match !is_reduced || expander.keeps(step.transition) {
                true => {
                    let to = graph.number(&mut numbers, step.state);
                    graph.edges.push((from, step.transition, to));
                }
                false => unseen.push((from, step.transition, step.state.into())),
            }
        }
        let kept = graph.edges.len() - before;
        graph
            .branching
            .count(kept, expander.successors().iter().count());
    }
    graph.left_out = unseen
        .into_iter()
        .filter_map(|(from, by, state)| Some((from, by, *numbers.get(&state)?)))
        .collect();
    Ok(Ok(graph))
}

impl Graph {
    fn number(&mut self, numbers: &mut HashMap<Box<[u32]>, u32>, state: &[u32]) -> u32 {
        if let Some(number) = numbers.get(state) {
            return *number;
        }
        let number = self.states.len() as u32;
        self.states.push(state.into());
        numbers.insert(state.into(), number);
        number
    }

    pub(super) fn branching(&self) -> &Branching {
        &self.branching
    }

    /// Writes the files that the user asked for.
    pub(super) fn write(&self, args: &ExploreArgs, model: &LoadedModel) -> Result<(), Failure> {
        let system = model.system();
        if let Some(file) = &args.aut {
            if self.initial > 1 {
                return Err(Failure::wrong(
                    "the Aldebaran format has one initial state, and the model has several",
                ));
            }
            write_file(file, &self.aldebaran(system))?;
        }
        if let Some(file) = &args.dot {
            write_file(file, &self.graphviz(system))?;
        }
        Ok(())
    }

    fn aldebaran(&self, system: &dyn System) -> String {
        let mut out = format!("des (0, {}, {})\n", self.edges.len(), self.states.len());
        for (from, by, to) in &self.edges {
            let name = quoted(&system.structure().transition(*by).name);
            let _ = writeln!(out, "({from}, {name}, {to})");
        }
        out
    }

    fn graphviz(&self, system: &dyn System) -> String {
        let mut out = String::from("digraph {\n  node [shape=box]\n");
        for (number, state) in self.states.iter().enumerate() {
            let text = story::state(system, state, false);
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let style = if number < self.initial {
                ", penwidth=2"
            } else {
                ""
            };
            let label = quoted(&lines.join("\n"));
            let _ = writeln!(out, "  {number} [label={label}{style}]");
        }
        let edges = self.edges.iter().map(|edge| (edge, ""));
        let left_out = self
            .left_out
            .iter()
            .map(|edge| (edge, ", style=dashed, color=gray"));
        for ((from, by, to), style) in edges.chain(left_out) {
            let name = quoted(&system.structure().transition(*by).title());
            let _ = writeln!(out, "  {from} -> {to} [label={name}{style}]");
        }
        out + "}\n"
    }
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
