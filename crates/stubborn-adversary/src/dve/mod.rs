//! DVE models against the naive checker: programs of all kinds (`dve`), and nearly
//! independent processes watched by nasty automata (`automata`).

pub mod generate;
pub mod print;
pub mod shrink;

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::Value;

use self::print::{PROPERTY, PropertyProcess, Scope};
use crate::arena::{Arena, Round};
use crate::configuration::{self, Configuration, Task};
use crate::coverage::Coverage;
use crate::formula::{self, Syntax};
use crate::hoa;
use crate::judge::{Attempt, Counts, Expectation, Experiment, Known, Truth, attack};
use crate::minimise::{Shrink, without_some};
use crate::random::Random;
use crate::reference::automaton::{
    Automaton, Edge, Label, Runs, Valuation, accepts_some_run, looks_at_failure,
};
use crate::reference::graph::{FiniteRuns, Graph};
use crate::reference::ltl::{self, Formula};
use crate::reference::program::{Expr, Program, State};
use crate::subject::Subject;
use crate::trace::{self, Followed, Named};

/// Larger state spaces are left alone.
const MOST_STATES: usize = 2000;
/// Larger tableaux are left alone.
const MOST_NODES: usize = 40_000;
/// The model's file.
const MODEL: &str = "model.dve";
/// An automaton's file.
const AUTOMATON: &str = "bad.hoa";

/// A program with its state space, computed once.
#[derive(Debug)]
struct System {
    program: Program,
    graph: OnceCell<Option<Graph<State>>>,
}

impl System {
    fn new(program: Program) -> Rc<Self> {
        Rc::new(Self {
            program,
            graph: OnceCell::new(),
        })
    }

    fn graph(&self) -> Option<&Graph<State>> {
        let graph = self.graph.get_or_init(|| self.program.explore(MOST_STATES));
        graph.as_ref()
    }
}

/// What is asked about it.
#[derive(Clone, Debug)]
enum Question {
    /// How large it is.
    Explore,
    /// What the model states, unless `only`, and what is added.
    Check {
        only: bool,
        deadlock: bool,
        invariants: Vec<Expr>,
    },
    /// A formula.
    Ltl {
        propositions: Vec<Expr>,
        formula: Formula,
        syntax: Syntax,
        /// Whether all propositions are quoted; those that need no quotes, that is.
        quotes: bool,
    },
    /// An automaton of bad runs.
    Hoa {
        propositions: Vec<Expr>,
        automaton: Automaton,
    },
    /// An automaton of bad runs as a part of the model.
    Property(PropertyProcess),
}

impl Question {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let mut all = |expressions: &mut [Expr]| {
            let expressions = expressions.iter_mut();
            expressions.for_each(|expression| shrink::visit_expr(expression, visit));
        };
        match self {
            Self::Explore => {}
            Self::Check { invariants, .. } => all(invariants),
            Self::Ltl { propositions, .. } | Self::Hoa { propositions, .. } => all(propositions),
            Self::Property(property) => {
                let guards = property.edges.iter_mut();
                guards
                    .filter_map(|(_, _, guard)| guard.as_mut())
                    .for_each(|guard| shrink::visit_expr(guard, visit));
            }
        }
    }

    fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        match self {
            Self::Explore => {}
            Self::Check {
                only,
                deadlock,
                invariants,
            } => {
                for fewer in without_some(invariants) {
                    all.push(Self::Check {
                        only: *only,
                        deadlock: *deadlock,
                        invariants: fewer,
                    });
                }
                if *deadlock {
                    all.push(Self::Check {
                        only: *only,
                        deadlock: false,
                        invariants: invariants.clone(),
                    });
                }
                if !*only {
                    all.push(Self::Check {
                        only: true,
                        deadlock: *deadlock,
                        invariants: invariants.clone(),
                    });
                }
            }
            Self::Ltl {
                propositions,
                formula,
                syntax,
                quotes,
            } => {
                for smaller in formula::candidates(formula) {
                    all.push(Self::Ltl {
                        propositions: propositions.clone(),
                        formula: smaller,
                        syntax: *syntax,
                        quotes: *quotes,
                    });
                }
            }
            Self::Hoa {
                propositions,
                automaton,
            } => {
                for smaller in hoa::candidates(automaton) {
                    all.push(Self::Hoa {
                        propositions: propositions.clone(),
                        automaton: smaller,
                    });
                }
            }
            Self::Property(property) => {
                for edges in without_some(&property.edges) {
                    all.push(Self::Property(PropertyProcess {
                        edges,
                        ..property.clone()
                    }));
                }
                for number in 0..property.edges.len() {
                    if property.edges[number].2.is_some() {
                        let mut simpler = property.clone();
                        simpler.edges[number].2 = None;
                        all.push(Self::Property(simpler));
                    }
                }
            }
        }
        all.extend(shrink::with_simpler_expressions(self, Self::visit));
        all
    }
}

/// A question about a program, asked in some way.
#[derive(Clone, Debug)]
struct DveAttempt {
    system: Rc<System>,
    question: Question,
    configuration: Configuration,
    replay: bool,
}

impl Shrink for DveAttempt {
    fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.replay {
            all.push(Self {
                replay: false,
                ..self.clone()
            });
        }
        for configuration in self.configuration.candidates() {
            all.push(Self {
                configuration,
                ..self.clone()
            });
        }
        for program in shrink::candidates(&self.system.program) {
            let mut question = self.question.clone();
            question.visit(&mut |part| shrink::mend_expr(part, &program));
            all.push(Self {
                system: System::new(program),
                question,
                ..self.clone()
            });
        }
        for question in self.question.candidates() {
            all.push(Self {
                question,
                ..self.clone()
            });
        }
        all
    }
}

impl Attempt for DveAttempt {
    fn experiment(&self) -> Option<Experiment<'_>> {
        let graph = self.system.graph()?;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut arguments: Vec<String> = words(&["check", MODEL]);
        let mut files = Vec::new();
        let mut property = None;
        let seen;
        let known = match &self.question {
            Question::Explore => {
                let model = print::program(&self.system.program, None, &[]);
                return Some(Experiment {
                    files: vec![(MODEL.into(), model)],
                    arguments: words(&["explore", MODEL]),
                    configuration: &self.configuration,
                    expectation: Expectation::Explored(Counts {
                        states: graph.state_count(),
                        transitions: graph.step_count(),
                        deadlocks: graph.deadlocks().count(),
                        has_failure: graph.has_failure(),
                    }),
                    replay: None,
                    may_give_up: false,
                    judge: None,
                });
            }
            Question::Check {
                only,
                deadlock,
                invariants,
            } => {
                if *only {
                    arguments.push("--only".into());
                }
                if *deadlock {
                    arguments.push("--deadlock".into());
                }
                let mut known = Vec::new();
                if !only || *deadlock {
                    known.push(self.known_deadlock(graph));
                }
                if !only {
                    known.push(self.known_errors(graph));
                    known.extend(self.known_assertions(graph));
                }
                for invariant in invariants {
                    let text = print::expr(invariant, Scope::Outside);
                    arguments.extend(["--invariant".to_owned(), text.clone()]);
                    if known.iter().any(|other: &Known| other.name == text) {
                        return None;
                    }
                    known.push(self.known_invariant(graph, text, "invariant", |state| {
                        state.holds(invariant).unwrap_or(false)
                    }));
                }
                if known.is_empty() {
                    return None;
                }
                seen = invariants.clone();
                known
            }
            Question::Ltl {
                propositions,
                formula,
                syntax,
                quotes,
            } => {
                let nodes = graph.states.len() << ltl::guesses(formula);
                let valuation = valuation(graph, propositions);
                if nodes > MOST_NODES {
                    return None;
                }
                let names: Vec<String> = propositions
                    .iter()
                    .map(|p| {
                        let text = print::expr(p, Scope::Outside);
                        match *quotes || *syntax == Syntax::Spot || !is_simple(p) {
                            true => format!("\"{text}\""),
                            false => text,
                        }
                    })
                    .collect();
                let text = formula::text(formula, &names, *syntax);
                arguments.extend(["--only".to_owned(), "--ltl".to_owned(), text.clone()]);
                if *syntax == Syntax::Spot {
                    arguments.extend(words(&["--syntax", "spot"]));
                }
                seen = propositions.clone();
                vec![if ltl::looks_at_failure(formula, &valuation) {
                    temporal(text, "ltl that fails", true)
                } else {
                    let bad = ltl::is_violated(graph, &valuation, formula, self.runs());
                    temporal(text, "ltl", bad)
                }]
            }
            Question::Hoa {
                propositions,
                automaton,
            } => {
                let valuation = valuation(graph, propositions);
                let names: Vec<String> = propositions
                    .iter()
                    .map(|p| print::expr(p, Scope::Outside))
                    .collect();
                if (1..names.len()).any(|number| names[..number].contains(&names[number])) {
                    return None;
                }
                files.push((AUTOMATON.to_owned(), hoa::text(automaton, &names)));
                arguments.extend(words(&["--only", "--hoa", AUTOMATON]));
                seen = propositions.clone();
                let runs = self.runs();
                let bad = accepts_some_run(graph, &valuation, automaton, runs);
                let mut known = temporal(AUTOMATON.into(), "automaton", bad);
                if valuation.has_failure() {
                    known.kind = "automaton that fails";
                    // A proposition that the automaton can do without may be left out. Where a run
                    // that looks at a failure is accepted all the same, nothing can be left out.
                    known.truth = match bad && looks_at_failure(graph, &valuation, automaton, runs)
                    {
                        true => Truth::Violated,
                        false => Truth::Open,
                    };
                }
                vec![known]
            }
            Question::Property(process) => {
                let (automaton, guards) = automaton_of(process);
                let valuation = valuation(graph, &guards);
                arguments.extend(words(&["--property", PROPERTY]));
                property = Some(process);
                seen = Vec::new();
                let runs = self.runs();
                // A claim that cannot be evaluated is found whichever runs count.
                let every = Runs {
                    finite: FiniteRuns::Stutter,
                    ..runs
                };
                vec![if looks_at_failure(graph, &valuation, &automaton, every) {
                    temporal(PROPERTY.into(), "claim that fails", true)
                } else {
                    let bad = accepts_some_run(graph, &valuation, &automaton, runs);
                    temporal(PROPERTY.into(), "claim", bad)
                }]
            }
        };
        let model = print::program(&self.system.program, property, &seen);
        files.insert(0, (MODEL.into(), model));
        let replay = ["simulate", MODEL, "--replay", "trace.json"];
        Some(Experiment {
            files,
            arguments,
            configuration: &self.configuration,
            expectation: Expectation::Checked(known),
            replay: self.replay.then(|| words(&replay)),
            may_give_up: false,
            judge: Some(Box::new(|name, trace| self.judge(name, trace))),
        })
    }
}

/// Whether a proposition needs no quotes: a comparison with a number, or a location.
fn is_simple(proposition: &Expr) -> bool {
    let is_plain = |operand: &Expr| match operand {
        Expr::Const(value) => *value >= 0,
        Expr::Read(place) => place.index.is_none(),
        _ => false,
    };
    match proposition {
        Expr::At(..) => true,
        Expr::Binary(operator, left, right) => {
            generate::COMPARISONS.contains(operator) && is_plain(left) && is_plain(right)
        }
        _ => false,
    }
}

fn temporal(name: String, kind: &'static str, bad: bool) -> Known {
    Known {
        name,
        kind,
        truth: Truth::bad(bad),
        shortest: None,
        is_optional: false,
    }
}

/// What propositions say in each state.
fn valuation(graph: &Graph<State>, propositions: &[Expr]) -> Valuation {
    let mut valuation = Valuation::default();
    for state in &graph.states {
        let (mut holds, mut fails) = (0, 0);
        for (bit, proposition) in propositions.iter().enumerate() {
            match state.holds(proposition) {
                Ok(true) => holds |= 1 << bit,
                Ok(false) => {}
                Err(_) => fails |= 1 << bit,
            }
        }
        valuation.holds.push(holds);
        valuation.fails.push(fails);
    }
    valuation
}

/// A property process as an automaton over its guards. A state that accepts marks the edges
/// that leave it.
fn automaton_of(process: &PropertyProcess) -> (Automaton, Vec<Expr>) {
    let mut guards = Vec::new();
    let edges = process.edges.iter().map(|(source, target, guard)| Edge {
        source: *source,
        target: *target,
        label: match guard {
            None => Label::True,
            Some(guard) => {
                guards.push(guard.clone());
                Label::Proposition(guards.len() - 1)
            }
        },
        marks: u64::from(process.accepting[*source]),
    });
    let edges = edges.collect();
    let automaton = Automaton {
        states: process.accepting.len(),
        starts: vec![0],
        sets: 1,
        edges,
    };
    (automaton, guards)
}

impl DveAttempt {
    fn runs(&self) -> Runs {
        Runs {
            finite: match self.configuration.value("--finite-runs") {
                Some("ignore") => FiniteRuns::Ignore,
                _ => FiniteRuns::Stutter,
            },
            fair: self.configuration.has("--fairness"),
        }
    }

    /// Whether counterexamples are as short as possible.
    fn promises_shortest(&self) -> bool {
        let breadth_first = self.configuration.value("--order") != Some("dfs");
        breadth_first && self.configuration.is_unreduced() && !self.configuration.is_lossy()
    }

    fn shortest(&self, distance: Option<usize>) -> Option<usize> {
        distance.filter(|_| self.promises_shortest())
    }

    fn known_deadlock(&self, graph: &Graph<State>) -> Known {
        Known {
            name: "deadlock".into(),
            kind: "deadlock",
            truth: Truth::bad(graph.deadlocks().next().is_some()),
            shortest: self.shortest(graph.distance(graph.deadlocks())),
            is_optional: false,
        }
    }

    fn known_errors(&self, graph: &Graph<State>) -> Known {
        Known {
            name: "errors".into(),
            kind: "errors",
            truth: Truth::bad(graph.has_failure()),
            shortest: self.shortest(graph.distance_of_failure()),
            // Where nothing can fail, nothing is said.
            is_optional: true,
        }
    }

    fn known_assertions(&self, graph: &Graph<State>) -> Vec<Known> {
        let mut all = Vec::new();
        for (number, process) in self.system.program.present() {
            for (location, condition) in &process.assertions {
                let name = format!("assertion in P{number}.s{location}");
                all.push(self.known_invariant(graph, name, "assertion", |state| {
                    state.locations[number] != *location || state.holds(condition).unwrap_or(false)
                }));
            }
        }
        all
    }

    fn known_invariant(
        &self,
        graph: &Graph<State>,
        name: String,
        kind: &'static str,
        holds: impl Fn(&State) -> bool,
    ) -> Known {
        let states = graph.states.iter().enumerate();
        let bad = states.filter(|(_, state)| !holds(state));
        let bad: Vec<usize> = bad.map(|(number, _)| number).collect();
        Known {
            name,
            kind,
            truth: Truth::bad(!bad.is_empty()),
            shortest: self.shortest(graph.distance(bad.into_iter())),
            is_optional: false,
        }
    }

    /// Whether a counterexample is a run that shows the violation.
    fn judge(&self, name: &str, trace: &Value) -> Result<(), String> {
        let Some(graph) = self.system.graph() else {
            return Ok(());
        };
        let channels: Vec<String> = (0..self.system.program.channels.len())
            .map(|number| format!("c{number}"))
            .collect();
        let named = |state: &State| named(&self.system.program, state);
        let runs = trace::follow(graph, trace, &channels, named)?;
        match runs.iter().any(|run| self.is_shown(name, graph, run)) {
            true => Ok(()),
            false => Err("the run does not violate it".into()),
        }
    }

    /// Whether a run violates a property.
    fn is_shown(&self, name: &str, graph: &Graph<State>, run: &Followed) -> bool {
        let last = &graph.states[run.last()];
        match &self.question {
            Question::Explore => true,
            Question::Check { invariants, .. } => match name {
                "deadlock" => !run.failed && graph.steps[run.last()].is_empty(),
                "errors" => run.failed,
                _ => {
                    let is_assertion = |(process, location): (usize, usize)| {
                        name == format!("assertion in P{process}.s{location}")
                    };
                    let assertions = self.system.program.present().flat_map(|(number, process)| {
                        let assertions = process.assertions.iter();
                        assertions.map(move |(at, condition)| (number, *at, condition))
                    });
                    let mut broken = assertions.filter(|(number, at, condition)| {
                        is_assertion((*number, *at))
                            && last.locations[*number] == *at
                            && !last.holds(condition).unwrap_or(false)
                    });
                    let mut invariants = invariants.iter();
                    !run.failed
                        && (broken.next().is_some()
                            || invariants.any(|invariant| {
                                print::expr(invariant, Scope::Outside) == name
                                    && !last.holds(invariant).unwrap_or(false)
                            }))
                }
            },
            Question::Ltl {
                propositions,
                formula,
                ..
            } => self.shows(run, propositions, |graph, valuation, runs| {
                ltl::is_violated(graph, valuation, formula, runs)
            }),
            Question::Hoa {
                propositions,
                automaton,
            } => self.shows(run, propositions, |graph, valuation, runs| {
                accepts_some_run(graph, valuation, automaton, runs)
            }),
            Question::Property(process) => {
                let (automaton, guards) = automaton_of(process);
                self.shows(run, &guards, |graph, valuation, runs| {
                    accepts_some_run(graph, valuation, &automaton, runs)
                })
            }
        }
    }

    /// Whether a run alone is bad: an infinite one, or one that ends and may be extended.
    fn shows(
        &self,
        run: &Followed,
        propositions: &[Expr],
        is_bad: impl Fn(&Graph<usize>, &Valuation, Runs) -> bool,
    ) -> bool {
        let Some(graph) = self.system.graph() else {
            return true;
        };
        let valuation = valuation(graph, propositions);
        // A run to a proposition that cannot be evaluated is a violation of its own.
        if valuation.fails[run.last()] != 0 && run.cycle.is_empty() {
            return true;
        }
        let ends = run.cycle.is_empty();
        let may_end = graph.is_end(run.last()) && self.runs().finite == FiniteRuns::Stutter;
        let runs = Runs {
            finite: FiniteRuns::Stutter,
            fair: false,
        };
        let (alone, valuation) = run.alone(&valuation);
        !run.failed && (!ends || may_end) && is_bad(&alone, &valuation, runs)
    }
}

/// The parts of a state as answers call them.
fn named(program: &Program, state: &State) -> Named {
    let mut all = Named::new();
    let mut put = |name: String, is_array: bool, values: &[i32]| {
        for (index, value) in values.iter().enumerate() {
            let name = match is_array {
                true => format!("{name}[{index}]"),
                false => name.clone(),
            };
            all.insert(name, value.to_string());
        }
    };
    for (number, variable) in program.globals.iter().enumerate() {
        if !variable.removed && !variable.is_const {
            put(
                format!("g{number}"),
                variable.is_array,
                &state.globals[number],
            );
        }
    }
    for (process, declared) in program.present() {
        for (number, variable) in declared.locals.iter().enumerate() {
            if !variable.removed && !variable.is_const {
                let values = &state.locals[process][number];
                put(format!("P{process}.v{number}"), variable.is_array, values);
            }
        }
    }
    for (process, _) in program.present() {
        let location = format!("s{}", state.locations[process]);
        all.insert(format!("P{process}"), location);
    }
    for (number, channel) in program.channels.iter().enumerate() {
        if channel.capacity > 0 && !channel.removed {
            let messages = &state.channels[number];
            all.insert(format!("len(c{number})"), messages.len().to_string());
            for (slot, message) in messages.iter().enumerate() {
                for (item, value) in message.iter().enumerate() {
                    all.insert(format!("c{number}[{slot}].{item}"), value.to_string());
                }
            }
        }
    }
    all
}

fn ltl_question(random: &mut Random, propositions: Vec<Expr>) -> Question {
    Question::Ltl {
        formula: formula::random(random, propositions.len()),
        propositions,
        syntax: match random.chance(1, 3) {
            true => Syntax::Spot,
            false => Syntax::Spin,
        },
        quotes: random.chance(1, 2),
    }
}

fn attempts(
    system: &Rc<System>,
    question: &Question,
    task: Task,
    count: usize,
    random: &mut Random,
) -> Vec<DveAttempt> {
    (0..count)
        .map(|_| DveAttempt {
            system: Rc::clone(system),
            question: question.clone(),
            configuration: Configuration::random(random, task),
            replay: task != Task::Explore && task != Task::ExploreReduced && random.chance(1, 20),
        })
        .collect()
}

fn common_features(safety: bool) -> Vec<String> {
    let mut all = configuration::features(safety);
    all.extend(formula::features());
    all.extend(hoa::FEATURES.map(str::to_owned));
    for kind in ["ltl", "automaton"] {
        all.push(format!("truth {kind} Holds"));
        all.push(format!("truth {kind} Violated"));
    }
    all
}

/// DVE programs of all kinds, with questions of all kinds.
#[derive(Debug)]
pub struct Dve;

impl Arena for Dve {
    fn name(&self) -> &'static str {
        "dve"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut all = common_features(true);
        all.extend(generate::FEATURES.map(str::to_owned));
        for kind in ["deadlock", "errors", "assertion", "invariant", "claim"] {
            all.push(format!("truth {kind} Holds"));
            all.push(format!("truth {kind} Violated"));
        }
        for kind in ["ltl", "automaton", "claim"] {
            all.push(format!("truth {kind} that fails Violated"));
        }
        all
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let random = &mut Random::new(seed);
        let program = match random.chance(1, 5) {
            true => generate::loose_program(random, coverage),
            false => generate::program(random, coverage),
        };
        let system = System::new(program);
        let Some(graph) = system.graph() else {
            coverage.note("outcome too large");
            return Round::default();
        };
        if graph.has_failure() {
            coverage.note("language failing step");
        }
        let mut all = vec![DveAttempt {
            system: Rc::clone(&system),
            question: Question::Explore,
            configuration: Configuration::default(),
            replay: false,
        }];
        let program = &system.program;
        all.extend(attempts(
            &system,
            &Question::Explore,
            Task::Explore,
            1,
            random,
        ));
        all.extend(attempts(
            &system,
            &Question::Explore,
            Task::ExploreReduced,
            3,
            random,
        ));
        for _ in 0..2 {
            let count = random.below(3);
            let (only, deadlock) = (random.chance(1, 3), random.chance(1, 3));
            let check = Question::Check {
                only,
                deadlock,
                invariants: generate::propositions(random, coverage, program, count),
            };
            let task = match only && !deadlock {
                true => Task::Goals,
                false => Task::Safety,
            };
            all.extend(attempts(&system, &check, task, 4, random));
        }
        for _ in 0..3 {
            let count = 1 + random.below(2);
            let propositions = generate::propositions(random, coverage, program, count);
            let question = ltl_question(random, propositions);
            if let Question::Ltl { formula, .. } = &question {
                formula::note(formula, coverage);
            }
            all.extend(attempts(&system, &question, Task::Temporal, 4, random));
        }
        let count = 1 + random.below(2);
        let question = Question::Hoa {
            propositions: generate::propositions(random, coverage, program, count),
            automaton: hoa::random(random, count, coverage),
        };
        all.extend(attempts(&system, &question, Task::Temporal, 4, random));
        let process = generate::property_process(random, coverage, program);
        let question = Question::Property(process);
        all.extend(attempts(&system, &question, Task::Temporal, 4, random));
        attack(all, subject, coverage)
    }
}

/// Nearly independent processes, watched by automata.
#[derive(Debug)]
pub struct Automata;

impl Arena for Automata {
    fn name(&self) -> &'static str {
        "automata"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        common_features(false)
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let random = &mut Random::new(seed);
        let system = System::new(generate::loose_program(random, coverage));
        let program = &system.program;
        let mut all = Vec::new();
        for _ in 0..4 {
            let count = 1 + random.below(2);
            let propositions = generate::loose_propositions(random, program, count);
            let question = match random.chance(1, 4) {
                true => ltl_question(random, propositions),
                false => Question::Hoa {
                    automaton: hoa::random(random, count, coverage),
                    propositions,
                },
            };
            if let Question::Ltl { formula, .. } = &question {
                formula::note(formula, coverage);
            }
            all.extend(attempts(&system, &question, Task::Temporal, 4, random));
        }
        attack(all, subject, coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first few attempts of a seed, as commands and files.
    #[test]
    fn attempts_shrink_to_attempts_that_make_sense() {
        let random = &mut Random::new(4);
        let program = generate::program(random, &mut Coverage::default());
        let system = System::new(program);
        let propositions =
            generate::propositions(random, &mut Coverage::default(), &system.program, 2);
        let question = ltl_question(random, propositions);
        let mut attempt = attempts(&system, &question, Task::Temporal, 1, random).remove(0);
        // Whatever is taken away, something is left that can be asked, until nothing is left
        // to take away.
        let mut steps = 0;
        loop {
            let candidates = attempt.candidates();
            let number = random.below(candidates.len().max(1));
            let Some(next) = candidates.into_iter().nth(number) else {
                break;
            };
            if let Some(experiment) = next.experiment() {
                assert!(experiment.files[0].1.contains("system async;"));
            }
            attempt = next;
            steps += 1;
            assert!(steps < 1000);
        }
        assert!(attempt.configuration.groups.is_empty());
    }

    #[test]
    fn accepting_states_of_property_processes_mark_the_edges_that_leave() {
        let process = PropertyProcess {
            accepting: vec![false, true],
            edges: vec![(0, 1, Some(Expr::Const(1))), (1, 1, None)],
        };
        let (automaton, guards) = automaton_of(&process);
        assert_eq!(guards, [Expr::Const(1)]);
        let marks: Vec<u64> = automaton.edges.iter().map(|edge| edge.marks).collect();
        assert_eq!(marks, [0, 1]);
    }
}
