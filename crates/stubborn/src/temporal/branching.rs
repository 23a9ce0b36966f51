//! CTL formulas: properties of branching time, and the stories of their witnesses and
//! counterexamples.
//!
//! A formula is decided without reduction on the part of the state space that it depends on
//! ([`stubborn_ctl`]). What is told is a tree: runs, each of which ends with the reason for what was
//! to be shown, which may be further runs; and at its leaves what is so on all runs.

use std::fmt::Write;
use std::time::{Duration, Instant};

use stubborn_ctl::{
    Ending, Evaluation, Explanation, Formula, Formulas, Graph, Node, Reason, Space, StateNumber,
    Stop,
};
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_ltl::parser::Atoms;
use stubborn_plan::{CheckError, Verdict};
use stubborn_search::{Limit, Limits, Trace};
use stubborn_system::{LabelId, Successors, System};

use crate::load::LoadedModel;
use crate::story;

/// A CTL formula over the labels of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtlProperty {
    formulas: Formulas,
    formula: Formula,
    /// Of the propositions, by number.
    labels: Vec<LabelId>,
}

/// What was found about a CTL formula.
#[derive(Clone, Debug)]
pub struct CtlResult {
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why that is not known.
    pub reason: Option<String>,
    /// The limit that this is due to, if it is.
    pub limit: Option<Limit>,
    /// What shows the verdict, for people.
    pub story: String,
    /// The first run of it, with what follows where it ends; none if there is none.
    pub trace: Option<Trace>,
    /// States that were looked at.
    pub states: u64,
    /// Steps that were looked at.
    pub transitions: u64,
    /// How long it took.
    pub time: Duration,
    /// Bytes of states.
    pub bytes: usize,
}

impl CtlProperty {
    /// Reads a formula, where `resolve` turns propositions into labels.
    pub(super) fn parse(
        text: &str,
        resolve: &mut dyn FnMut(&str, Span) -> Result<LabelId, Diagnostic>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut formulas = Formulas::new();
        let mut found = Resolver {
            resolve,
            labels: Vec::new(),
        };
        let (formula, problems) = stubborn_ctl::parse(&mut formulas, text, &mut found);
        let formula = formula.ok_or(problems)?;
        let label = |name: &String| {
            let known = found.labels.iter().find(|(known, _)| known == name);
            known.map_or(LabelId::new(0), |(_, label)| *label)
        };
        let labels = formulas.names().iter().map(label).collect();
        Ok(Self {
            formulas,
            formula,
            labels,
        })
    }

    /// The texts of its propositions with their labels.
    pub fn propositions(&self) -> impl Iterator<Item = (&str, LabelId)> {
        let names = self.formulas.names().iter().map(String::as_str);
        names.zip(self.labels.iter().copied())
    }

    /// Decides it. `partial` are labels that may have no value, each with the label that holds
    /// where it has none.
    pub(super) fn check(
        &self,
        model: &LoadedModel,
        limits: &Limits<'_>,
        partial: Vec<(LabelId, LabelId)>,
    ) -> Result<CtlResult, CheckError> {
        let started = Instant::now();
        let system = model.system();
        let mut result = CtlResult {
            verdict: Verdict::Unknown,
            reason: None,
            limit: None,
            story: String::new(),
            trace: None,
            states: 0,
            transitions: 0,
            time: Duration::ZERO,
            bytes: 0,
        };
        system.budget().begin("evaluating a CTL formula");
        let decided = Space::new(system, limits).and_then(|space| {
            let mut graph = Graph::new(system, &space, limits);
            graph.watch(partial);
            let labels = self.labels.clone();
            let mut evaluation = Evaluation::new(&self.formulas, self.formula, labels);
            let holds = evaluation.holds(&mut graph);
            if holds.is_ok() {
                // Whoever has a verdict may be out of time for its story.
                graph.restart(None);
                match evaluation.explain(&mut graph) {
                    Err(stop) => {
                        let why = why(model, stop);
                        result.story = format!("  (nothing to show: {why})\n");
                    }
                    Ok(explanation) => {
                        let mut teller = Teller {
                            formulas: &self.formulas,
                            system: model.reference(),
                            graph: &mut graph,
                            out: String::new(),
                        };
                        teller.tell(&explanation, 1);
                        result.trace = teller.trace(&explanation);
                        result.story = teller.out;
                    }
                }
            }
            result.states = graph.len() as u64;
            result.transitions = graph.transitions() as u64;
            result.bytes = space.bytes();
            holds
        });
        // A model that is too small for its processes says nothing.
        if system.budget().is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        match decided {
            Ok(true) => result.verdict = Verdict::Holds,
            Ok(false) => result.verdict = Verdict::Violated,
            Err(stop) => {
                result.limit = limit(stop);
                result.reason = Some(why(model, stop));
            }
        }
        result.time = started.elapsed();
        Ok(result)
    }
}

/// Turns propositions into labels.
struct Resolver<'r> {
    resolve: &'r mut dyn FnMut(&str, Span) -> Result<LabelId, Diagnostic>,
    labels: Vec<(String, LabelId)>,
}

impl Atoms for Resolver<'_> {
    fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic> {
        if !self.labels.iter().any(|(known, _)| known == text) {
            let label = (self.resolve)(text, span)?;
            self.labels.push((text.to_owned(), label));
        }
        Ok(text.to_owned())
    }

    fn takes_expressions(&self) -> bool {
        true
    }
}

/// The limit that stopped an evaluation, if one did.
fn limit(stop: Stop) -> Option<Limit> {
    match stop {
        Stop::Failure(_) | Stop::Undefined(_) => None,
        Stop::States => Some(Limit::States),
        Stop::Memory => Some(Limit::Memory),
        Stop::Time => Some(Limit::Time),
        Stop::Interrupted => Some(Limit::Interrupted),
    }
}

/// Why there is no verdict.
fn why(model: &LoadedModel, stop: Stop) -> String {
    let spent = model.system().budget().reason();
    let structure = model.reference().structure();
    match stop {
        Stop::Failure(site) => {
            let message = structure
                .failures
                .get(site)
                .map(|site| site.message.as_str());
            let message = message.unwrap_or("an error");
            format!("a step fails ({message}), and CTL does not say what comes after it")
        }
        Stop::Undefined(label) => {
            let text = &structure.label(label).text;
            format!("the proposition `{text}` has no value in a state that matters")
        }
        Stop::States => "the limit of states was reached".into(),
        Stop::Memory => spent.unwrap_or_else(|| "the memory limit was reached".into()),
        Stop::Time => spent.unwrap_or_else(|| "the time limit was reached".into()),
        Stop::Interrupted => spent.unwrap_or_else(|| "the run was interrupted".into()),
    }
}

/// Tells an explanation.
struct Teller<'t, 'g> {
    formulas: &'t Formulas,
    system: &'t dyn System,
    graph: &'t mut Graph<'g>,
    out: String,
}

impl Teller<'_, '_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 2 * depth);
    }

    fn tell(&mut self, explanation: &Explanation, depth: usize) {
        let Explanation { formula, holds, .. } = *explanation;
        self.tell_as(explanation, (formula, holds), depth);
    }

    /// Tells an explanation as one of a formula that says the same or the opposite.
    fn tell_as(&mut self, explanation: &Explanation, (said, holds): (Formula, bool), depth: usize) {
        let formulas = self.formulas;
        let formula = explanation.formula;
        let shown = formulas.display(said).to_string();
        let truth = if holds { "true" } else { "false" };
        match &explanation.reason {
            Reason::Here => {
                let truth = if explanation.holds { "true" } else { "false" };
                let text = format!("{} is {truth}", formulas.display(formula));
                self.line(depth, &text);
            }
            Reason::All => {
                let text = format!("{shown} is {truth}: {}", self.on_all_runs(formula));
                self.line(depth, &text);
            }
            // `AG p` is a negation for us, and nothing of the kind for its author.
            Reason::Parts(parts) if matches!(formulas.node(formula), Node::Not(_)) => {
                let same = (said, holds);
                parts
                    .iter()
                    .for_each(|part| self.tell_as(part, same, depth));
            }
            Reason::Parts(parts) => {
                self.line(depth, &format!("{shown} is {truth} here:"));
                parts.iter().for_each(|part| self.tell(part, depth + 1));
            }
            Reason::Run { states, ending } => {
                let shows = match (holds, ending) {
                    (true, _) => "shown by this run",
                    (false, _) => "because of this run",
                };
                self.line(depth, &format!("{shown} is {truth}, {shows}:"));
                let from = match ending {
                    Ending::Cycle { from } => Some(*from),
                    _ => None,
                };
                match self.run(explanation.state, states, from) {
                    Some(trace) => {
                        let steps = story::steps(self.system, &trace);
                        for step in steps.lines() {
                            self.line(depth, step);
                        }
                    }
                    None => self.line(depth, "  (no steps to show)"),
                }
                match ending {
                    Ending::Because(why) => {
                        self.line(depth + 1, "where");
                        self.tell(why, depth + 2);
                    }
                    Ending::Deadlock => self.line(depth + 1, "where the run ends"),
                    Ending::Cycle { .. } => {}
                }
            }
        }
    }

    /// What is so on all runs where a formula has a value that no run shows.
    fn on_all_runs(&self, formula: Formula) -> String {
        let shown = |f: Formula| self.formulas.display(f).to_string();
        let is_true = |f: Formula| self.formulas.node(f) == Node::Constant(true);
        match self.formulas.node(formula) {
            Node::ExistsNext(f) if is_true(f) => "there is no next state".into(),
            Node::ExistsNext(f) => format!("no next state has {}", shown(f)),
            Node::ExistsUntil(f, g) if is_true(f) => format!("no run reaches {}", shown(g)),
            Node::ExistsUntil(f, g) => {
                format!("no run reaches {} through {}", shown(g), shown(f))
            }
            Node::AllUntil(f, g) if is_true(f) => format!("every run reaches {}", shown(g)),
            Node::AllUntil(f, g) => format!("every run reaches {} through {}", shown(g), shown(f)),
            _ => "it is so".into(),
        }
    }

    /// A run with its transitions, as the reference takes them.
    fn run(
        &mut self,
        first: StateNumber,
        states: &[StateNumber],
        cycle: Option<usize>,
    ) -> Option<Trace> {
        let mut trace = Trace::new(self.graph.state(first).ok()?);
        self.extend(&mut trace, states)?;
        if let Some(from) = cycle {
            trace.close_cycle(from);
        }
        Some(trace)
    }

    fn extend(&mut self, trace: &mut Trace, states: &[StateNumber]) -> Option<()> {
        let mut executor = self.system.executor();
        let mut successors = Successors::new(self.system.layout().words());
        for next in states {
            let next = self.graph.state(*next).ok()?;
            successors.clear();
            executor.successors(trace.last_state(), &mut successors);
            let step = successors.iter().find(|step| step.state == next)?;
            trace.push(step.transition, step.outcome, next);
        }
        Some(())
    }

    /// The first run of an explanation, and on where it ends.
    fn trace(&mut self, explanation: &Explanation) -> Option<Trace> {
        let mut trace: Option<Trace> = None;
        let mut at = explanation;
        loop {
            match &at.reason {
                Reason::Here | Reason::All => return trace,
                Reason::Parts(parts) => {
                    let runs =
                        |part: &&Explanation| !matches!(part.reason, Reason::Here | Reason::All);
                    let next = parts.iter().find(runs);
                    match next {
                        Some(next) => at = next,
                        None => return trace,
                    }
                }
                Reason::Run { states, ending } => {
                    let mut longer = match trace.take() {
                        Some(trace) => trace,
                        None => Trace::new(self.graph.state(at.state).ok()?),
                    };
                    let before = longer.len();
                    self.extend(&mut longer, states)?;
                    match ending {
                        Ending::Because(why) => at = why,
                        Ending::Deadlock => return Some(longer),
                        Ending::Cycle { from } => {
                            longer.close_cycle(before + from);
                            return Some(longer);
                        }
                    }
                    trace = Some(longer);
                }
            }
        }
    }
}
