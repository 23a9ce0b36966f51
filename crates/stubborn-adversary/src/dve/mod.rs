//! DVE models against the naive checker: programs of all kinds (`dve`), and nearly
//! independent processes watched by nasty automata (`automata`).

mod attempt;
pub mod generate;
pub mod print;
pub mod shrink;

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::Value;

use self::attempt::DveAttempt;
use self::print::{PROPERTY, PropertyProcess, Scope};
use crate::arena::{Arena, Round};
use crate::configuration::{self, Configuration, Task};
use crate::coverage::Coverage;
use crate::formula::{self, Syntax};
use crate::hoa;
use crate::judge::{Attempt, Counts, Expectation, Experiment, Known, REACH, Truth, attack};
use crate::minimise::{Shrink, without_some};
use crate::random::Random;
use crate::reference::automaton::{
    Automaton, Edge, Label, Runs, Valuation, accepts_some_run, looks_at_failure,
};
use crate::reference::ctl;
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
    /// Whether states can be reached in which these hold.
    Reach(Vec<Expr>),
    /// A formula of branching time; bits say which of its operators are about some runs.
    Ctl {
        propositions: Vec<Expr>,
        formula: Formula,
        some: u64,
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
    /// The name of a formula or an automaton, which is the so-manieth question of a run.
    fn name(&self, number: usize) -> String {
        match self {
            Self::Ltl {
                propositions,
                formula,
                syntax,
                quotes,
            } => {
                let name = |p: &Expr| {
                    let text = print::expr(p, Scope::Outside);
                    match *quotes || *syntax == Syntax::Spot || !attempt::is_simple(p) {
                        true => format!("\"{text}\""),
                        false => text,
                    }
                };
                let names: Vec<String> = propositions.iter().map(name).collect();
                formula::text(formula, &names, *syntax)
            }
            _ => format!("bad{number}.hoa"),
        }
    }

    /// What a formula or an automaton is about.
    fn propositions(&self) -> &[Expr] {
        match self {
            Self::Ltl { propositions, .. } | Self::Hoa { propositions, .. } => propositions,
            _ => &[],
        }
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let mut all = |expressions: &mut [Expr]| {
            let expressions = expressions.iter_mut();
            expressions.for_each(|expression| shrink::visit_expr(expression, visit));
        };
        match self {
            Self::Explore => {}
            Self::Check { invariants, .. } => all(invariants),
            Self::Reach(propositions)
            | Self::Ctl { propositions, .. }
            | Self::Ltl { propositions, .. }
            | Self::Hoa { propositions, .. } => all(propositions),
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
            Self::Reach(propositions) => {
                all.extend(without_some(propositions).into_iter().map(Self::Reach));
            }
            Self::Ctl { formula, .. } | Self::Ltl { formula, .. } => {
                for smaller in formula::candidates(formula) {
                    let mut simpler = self.clone();
                    if let Self::Ctl { formula, .. } | Self::Ltl { formula, .. } = &mut simpler {
                        *formula = smaller;
                    }
                    all.push(simpler);
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

/// How the formulas of a run are written.
fn syntax(random: &mut Random) -> Syntax {
    match random.chance(1, 3) {
        true => Syntax::Spot,
        false => Syntax::Spin,
    }
}

fn ltl_question(random: &mut Random, propositions: Vec<Expr>, syntax: Syntax) -> Question {
    Question::Ltl {
        formula: formula::random(random, propositions.len()),
        propositions,
        syntax,
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
            more: Vec::new(),
            configuration: Configuration::random(random, task),
            replay: task != Task::Explore && task != Task::ExploreReduced && random.chance(1, 20),
        })
        .collect()
}

/// Formulas and automata, each for itself, and all of them in some runs: most of a run's time is spent
/// before it comes to a question.
fn temporal_attempts(
    system: &Rc<System>,
    questions: &[Question],
    runs: usize,
    random: &mut Random,
) -> Vec<DveAttempt> {
    let mut all = Vec::new();
    for question in questions {
        all.extend(attempts(system, question, Task::Temporal, 1, random));
    }
    for run in 0..runs {
        let (mut more, first) = (questions.to_vec(), run % questions.len());
        let question = more.remove(first);
        let attempts = attempts(system, &question, Task::Temporal, 1, random);
        all.extend(attempts.into_iter().map(|attempt| DveAttempt {
            more: more.clone(),
            ..attempt
        }));
    }
    all
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
        let kinds = [
            "deadlock",
            "errors",
            "assertion",
            "invariant",
            "claim",
            "reach",
            "ctl",
        ];
        for kind in kinds {
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
            more: Vec::new(),
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
            let count = random.below(6);
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
            all.extend(attempts(&system, &check, task, 3, random));
        }
        let mut questions = Vec::new();
        let syntax = syntax(random);
        for _ in 0..4 {
            let count = 1 + random.below(2);
            let propositions = generate::propositions(random, coverage, program, count);
            let question = ltl_question(random, propositions, syntax);
            if let Question::Ltl { formula, .. } = &question {
                formula::note(formula, coverage);
            }
            questions.push(question);
        }
        for _ in 0..2 {
            let count = 1 + random.below(2);
            questions.push(Question::Hoa {
                propositions: generate::propositions(random, coverage, program, count),
                automaton: hoa::random(random, count, coverage),
            });
        }
        all.extend(temporal_attempts(&system, &questions, 5, random));
        let count = 1 + random.below(2);
        let propositions = generate::propositions(random, coverage, program, count);
        let question = Question::Reach(propositions.clone());
        all.extend(attempts(&system, &question, Task::Goals, 2, random));
        let formula = formula::random(random, count);
        formula::note(&formula, coverage);
        let question = Question::Ctl {
            propositions,
            formula,
            some: random.number(),
        };
        all.extend(attempts(&system, &question, Task::Branching, 2, random));
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
        let mut questions = Vec::new();
        let syntax = syntax(random);
        for _ in 0..6 {
            let count = 1 + random.below(2);
            let propositions = generate::loose_propositions(random, program, count);
            let question = match random.chance(1, 4) {
                true => ltl_question(random, propositions, syntax),
                false => Question::Hoa {
                    automaton: hoa::random(random, count, coverage),
                    propositions,
                },
            };
            if let Question::Ltl { formula, .. } = &question {
                formula::note(formula, coverage);
            }
            questions.push(question);
        }
        let all = temporal_attempts(&system, &questions, 8, random);
        attack(all, subject, coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::attempt::automaton_of;
    use super::*;

    /// The first few attempts of a seed, as commands and files.
    #[test]
    fn attempts_shrink_to_attempts_that_make_sense() {
        let random = &mut Random::new(4);
        let program = generate::program(random, &mut Coverage::default());
        let system = System::new(program);
        let propositions =
            generate::propositions(random, &mut Coverage::default(), &system.program, 2);
        let question = ltl_question(random, propositions, Syntax::Spin);
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
