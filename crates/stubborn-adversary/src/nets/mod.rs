//! Petri nets against the token game: `check` and `explore`, property files, and the
//! examinations of the Model Checking Contest.

mod attempt;
pub mod coloured;
pub mod generate;
pub mod print;
mod shrink;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use self::attempt::NetAttempt;
use self::coloured::{Coloured, Unfolded};
use self::shrink::{smaller_lists, smaller_nets, with_smaller_conditions};
use crate::arena::{Arena, Round};
use crate::configuration::{self, Configuration, Task};
use crate::coverage::Coverage;
use crate::formula::{self, Syntax};
use crate::hoa;
use crate::judge::{Attempt, Counts, Expectation, Experiment, Known, Truth, attack};
use crate::minimise::{Shrink, without_some};
use crate::random::Random;
use crate::reference::automaton::{Automaton, Runs, Valuation, accepts_some_run};
use crate::reference::ctl;
use crate::reference::graph::{FiniteRuns, Graph};
use crate::reference::ltl::{self, Formula};
use crate::reference::net::{Arcs, Condition, Marking, Net, NetTransition, Sum};
use crate::subject::Subject;
use crate::trace::{self, Named};

/// Larger state spaces are not explored.
const MOST_STATES: usize = 1500;
/// Of larger ones, the beginning is looked at.
const FIRST_STATES: usize = 200;
/// Larger tableaux are left alone.
const MOST_NODES: usize = 40_000;
/// The net's file.
const MODEL: &str = "model.pnml";
/// An automaton's file.
const AUTOMATON: &str = "bad.hoa";
/// A file of properties.
const PROPERTIES: &str = "properties.xml";

/// A net as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Plain(Net),
    Coloured(Coloured),
}

/// A net with its state space, computed once.
#[derive(Debug)]
struct System {
    source: Source,
    /// Whether units are written down.
    units: bool,
    /// The net without colours.
    unfolded: Unfolded,
    /// And whether that is all.
    graph: OnceCell<(Graph<Marking>, bool)>,
}

impl System {
    fn new(source: Source, units: bool) -> Rc<Self> {
        let unfolded = match &source {
            Source::Plain(net) => {
                let each = |count: usize| (0..count).map(|number| vec![number]).collect();
                Unfolded {
                    places: each(net.initial.len()),
                    transitions: each(net.transitions.len()),
                    net: net.clone(),
                }
            }
            Source::Coloured(coloured) => coloured.unfold().expect("a net that can be unfolded"),
        };
        Rc::new(Self {
            source,
            units,
            unfolded,
            graph: OnceCell::new(),
        })
    }

    fn some(&self) -> &(Graph<Marking>, bool) {
        self.graph.get_or_init(|| {
            let (graph, is_complete) = self.unfolded.net.explore_some(MOST_STATES);
            match is_complete {
                true => (graph, true),
                false => self.unfolded.net.explore_some(FIRST_STATES),
            }
        })
    }

    /// The state space, or the beginning of it.
    fn graph(&self) -> &Graph<Marking> {
        &self.some().0
    }

    /// Whether that is all.
    fn is_complete(&self) -> bool {
        self.some().1
    }

    fn text(&self) -> String {
        match &self.source {
            Source::Plain(net) => {
                let known = self.units && self.is_complete();
                print::net(net, known.then(|| self.graph()))
            }
            Source::Coloured(net) => print::coloured(net),
        }
    }

    /// The markings in which a condition does not hold.
    fn bad(&self, graph: &Graph<Marking>, condition: &Condition) -> Vec<usize> {
        let condition = self.unfolded.condition(condition);
        let states = graph.states.iter().enumerate();
        states
            .filter(|(_, marking)| !condition.holds(&self.unfolded.net, marking))
            .map(|(number, _)| number)
            .collect()
    }

    fn valuation(&self, graph: &Graph<Marking>, propositions: &[Condition]) -> Valuation {
        let mut holds = vec![0; graph.states.len()];
        for (bit, proposition) in propositions.iter().enumerate() {
            let proposition = self.unfolded.condition(proposition);
            for (state, marking) in graph.states.iter().enumerate() {
                holds[state] |= u64::from(proposition.holds(&self.unfolded.net, marking)) << bit;
            }
        }
        Valuation {
            fails: vec![0; holds.len()],
            holds,
        }
    }

    fn smaller(&self) -> Vec<Rc<Self>> {
        let mut all = Vec::new();
        if self.units {
            all.push(Self::new(self.source.clone(), false));
        }
        match &self.source {
            Source::Plain(net) => {
                for net in smaller_nets(net) {
                    all.push(Self::new(Source::Plain(net), self.units));
                }
            }
            Source::Coloured(net) => {
                all.push(Self::new(Source::Plain(self.unfolded.net.clone()), false));
                for net in net.candidates() {
                    all.push(Self::new(Source::Coloured(net), false));
                }
            }
        }
        all
    }
}

/// A formula of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Examined {
    /// Whether such a marking can be reached.
    Reachable(Condition),
    /// Whether all markings are such.
    Invariant(Condition),
    /// The most tokens of these places together.
    Bound(Vec<usize>),
    /// Whether all runs satisfy it.
    Ltl(Formula),
    /// One of branching time; see [`ctl`].
    Ctl(Formula, u64),
}

/// What is asked about a net.
#[derive(Clone, Debug)]
enum Question {
    Explore,
    Check {
        only: bool,
        deadlock: bool,
        invariants: Vec<Condition>,
    },
    Ltl {
        formula: Formula,
        propositions: Vec<Condition>,
        syntax: Syntax,
    },
    Hoa {
        automaton: Automaton,
        propositions: Vec<Condition>,
    },
    /// A file with invariants and formulas, for `check`.
    Properties {
        all: Vec<Examined>,
        propositions: Vec<Condition>,
    },
    /// An examination, with its formulas, if it has some.
    Examine {
        name: &'static str,
        all: Vec<Examined>,
        propositions: Vec<Condition>,
    },
}

/// The largest numbers of places and transitions that a condition speaks of, plus one.
fn extent(condition: &Condition) -> (usize, usize) {
    let most = |numbers: &[usize]| numbers.iter().max().map_or(0, |most| most + 1);
    match condition {
        Condition::Constant(_) | Condition::Deadlock => (0, 0),
        Condition::Compare(_, left, right) => (most(&left.places).max(most(&right.places)), 0),
        Condition::Fireable(transitions) => (0, most(transitions)),
        Condition::Not(inner) => extent(inner),
        Condition::And(left, right) | Condition::Or(left, right) => {
            let (left, right) = (extent(left), extent(right));
            (left.0.max(right.0), left.1.max(right.1))
        }
    }
}

impl Question {
    /// All conditions that it has.
    fn conditions(&self) -> Vec<&Condition> {
        match self {
            Self::Explore => vec![],
            Self::Check { invariants, .. } => invariants.iter().collect(),
            Self::Ltl { propositions, .. } | Self::Hoa { propositions, .. } => {
                propositions.iter().collect()
            }
            Self::Properties { all, propositions }
            | Self::Examine {
                all, propositions, ..
            } => {
                let own = all.iter().filter_map(|examined| match examined {
                    Examined::Reachable(condition) | Examined::Invariant(condition) => {
                        Some(condition)
                    }
                    Examined::Bound(_) | Examined::Ltl(_) | Examined::Ctl(..) => None,
                });
                own.chain(propositions).collect()
            }
        }
    }

    /// Whether everything that it speaks of is there.
    fn fits(&self, system: &System) -> bool {
        let (places, transitions) = (
            system.unfolded.places.len(),
            system.unfolded.transitions.len(),
        );
        let conditions = self.conditions();
        let bounds = match self {
            Self::Properties { all, .. } | Self::Examine { all, .. } => all.as_slice(),
            _ => &[],
        };
        let mut bounds = bounds.iter().filter_map(|examined| match examined {
            Examined::Bound(places) => Some(places),
            _ => None,
        });
        bounds.all(|bound| bound.iter().all(|place| *place < places))
            && conditions
                .into_iter()
                .map(extent)
                .all(|extent| extent.0 <= places && extent.1 <= transitions)
    }

    fn candidates(&self) -> Vec<Self> {
        let mut result = Vec::new();
        match self {
            Self::Explore => {}
            Self::Check {
                only,
                deadlock,
                invariants,
            } => {
                let lists = without_some(invariants).into_iter();
                let simpler = with_smaller_conditions(invariants);
                for invariants in lists.chain(simpler) {
                    result.push(Self::Check {
                        only: *only,
                        deadlock: *deadlock,
                        invariants,
                    });
                }
                for (only, deadlock) in [(true, *deadlock), (*only, false)] {
                    if (only, deadlock) != (self.is_only(), self.asks_deadlock()) {
                        result.push(Self::Check {
                            only,
                            deadlock,
                            invariants: invariants.clone(),
                        });
                    }
                }
            }
            Self::Ltl {
                formula,
                propositions,
                syntax,
            } => {
                for formula in formula::candidates(formula) {
                    result.push(Self::Ltl {
                        formula,
                        propositions: propositions.clone(),
                        syntax: *syntax,
                    });
                }
                for propositions in with_smaller_conditions(propositions) {
                    result.push(Self::Ltl {
                        formula: formula.clone(),
                        propositions,
                        syntax: *syntax,
                    });
                }
            }
            Self::Hoa {
                automaton,
                propositions,
            } => {
                for automaton in hoa::candidates(automaton) {
                    result.push(Self::Hoa {
                        automaton,
                        propositions: propositions.clone(),
                    });
                }
                for propositions in with_smaller_conditions(propositions) {
                    result.push(Self::Hoa {
                        automaton: automaton.clone(),
                        propositions,
                    });
                }
            }
            Self::Properties { all, propositions } => {
                for all in smaller_lists(all) {
                    result.push(Self::Properties {
                        all,
                        propositions: propositions.clone(),
                    });
                }
                for propositions in with_smaller_conditions(propositions) {
                    result.push(Self::Properties {
                        all: all.clone(),
                        propositions,
                    });
                }
            }
            Self::Examine {
                name,
                all,
                propositions,
            } => {
                for all in smaller_lists(all) {
                    result.push(Self::Examine {
                        name,
                        all,
                        propositions: propositions.clone(),
                    });
                }
                for propositions in with_smaller_conditions(propositions) {
                    result.push(Self::Examine {
                        name,
                        all: all.clone(),
                        propositions,
                    });
                }
            }
        }
        result
    }

    fn is_only(&self) -> bool {
        matches!(self, Self::Check { only: true, .. })
    }

    fn asks_deadlock(&self) -> bool {
        matches!(self, Self::Check { deadlock: true, .. })
    }
}

/// Everything that is asked about nets.
#[derive(Debug)]
pub struct Nets;

/// The examinations: those without formulas first.
const GLOBAL: [&str; 6] = [
    "StateSpace",
    "ReachabilityDeadlock",
    "OneSafe",
    "QuasiLiveness",
    "Liveness",
    "StableMarking",
];
const WITH_FORMULAS: [&str; 7] = [
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "UpperBounds",
    "LTLCardinality",
    "LTLFireability",
    "CTLCardinality",
    "CTLFireability",
];
const SWITCHES: [&str; 5] = [
    "--no-por",
    "--no-structural",
    "--no-equation",
    "--no-traps",
    "--no-walks",
];

struct Maker<'a> {
    random: &'a mut Random,
    system: Rc<System>,
    attempts: Vec<NetAttempt>,
}

impl Maker<'_> {
    fn conditions(&mut self, count: usize, depth: usize) -> Vec<Condition> {
        let (places, transitions) = (
            self.system.unfolded.places.len(),
            self.system.unfolded.transitions.len(),
        );
        (0..count)
            .map(|_| generate::condition(self.random, places, transitions, depth))
            .collect()
    }

    fn ask(&mut self, question: &Question, task: Task, count: usize) {
        for _ in 0..count {
            let random = &mut *self.random;
            let mut configuration = Configuration::random(random, task);
            configuration.without_processes(random);
            if !self.system.is_complete() {
                // Up to a limit of states, level by level, several processes and disks take seconds;
                // and relations are measured on all states.
                let measured = configuration.measured_relations().is_some();
                configuration.groups.retain(|group| match &*group[0] {
                    "--processes" | "--spill" => false,
                    "--relations" => !measured,
                    _ => true,
                });
            }
            if random.chance(1, 5) {
                let seed = random.below(100).to_string();
                configuration.push("--shuffle", Some(&seed));
            }
            let may_reduce = matches!(task, Task::Safety | Task::Goals | Task::ExploreReduced);
            let has_cycle_proviso = task == Task::ExploreReduced && configuration.has("--proviso");
            let may_reduce = may_reduce && !has_cycle_proviso && !configuration.hunts;
            if may_reduce && random.chance(1, 3) {
                let rules = ["dead", "transitions", "places", "post", "pre"];
                let some: Vec<&str> = rules.into_iter().filter(|_| random.chance(1, 2)).collect();
                match some.is_empty() || random.chance(1, 2) {
                    true => configuration.push("--structural", None),
                    false => {
                        configuration.push(&format!("--structural={}", some.join(",")), None);
                    }
                }
            }
            self.attempts.push(NetAttempt {
                system: Rc::clone(&self.system),
                question: question.clone(),
                configuration,
                replay: matches!(task, Task::Safety | Task::Goals | Task::Temporal)
                    && random.chance(1, 20),
            });
        }
    }

    fn examine(&mut self, name: &'static str, coverage: &mut Coverage) {
        let count = 2 + self.random.below(6);
        let propositions = self.conditions(2, 1);
        let mut all = Vec::new();
        if WITH_FORMULAS.contains(&name) {
            for _ in 0..count {
                let condition = self.conditions(1, 2).remove(0);
                let places = self.system.unfolded.places.len();
                all.push(match (name, self.random.chance(1, 2)) {
                    ("UpperBounds", _) => {
                        let count = 1 + self.random.below(2);
                        Examined::Bound((0..count).map(|_| self.random.below(places)).collect())
                    }
                    ("LTLCardinality" | "LTLFireability", _) => {
                        let formula = formula::random(self.random, propositions.len());
                        if print::ltl_xml(&formula, &propositions).is_none() {
                            continue;
                        }
                        formula::note(&formula, coverage);
                        Examined::Ltl(formula)
                    }
                    ("CTLCardinality" | "CTLFireability", _) => {
                        let formula = formula::random(self.random, propositions.len());
                        if print::ltl_xml(&formula, &propositions).is_none() {
                            continue;
                        }
                        formula::note(&formula, coverage);
                        Examined::Ctl(formula, self.random.number())
                    }
                    (_, true) => Examined::Reachable(condition),
                    (_, false) => Examined::Invariant(condition),
                });
            }
            if all.is_empty() {
                return;
            }
        }
        coverage.note(&format!("examination {name}"));
        let mut configuration = Configuration::default();
        for switch in SWITCHES {
            if self.random.chance(1, 4) {
                configuration.push(switch, None);
            }
        }
        self.attempts.push(NetAttempt {
            system: Rc::clone(&self.system),
            question: Question::Examine {
                name,
                all,
                propositions,
            },
            configuration,
            replay: false,
        });
    }
}

impl Arena for Nets {
    fn name(&self) -> &'static str {
        "nets"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut all = configuration::features(true);
        let processes = ["--fairness", "--choice", "ample"];
        all.retain(|name| !processes.iter().any(|part| name.contains(part)));
        all.extend(formula::features());
        all.extend(hoa::FEATURES.map(str::to_owned));
        all.extend(generate::FEATURES.map(str::to_owned));
        let examinations = GLOBAL.iter().chain(&WITH_FORMULAS);
        all.extend(examinations.map(|name| format!("examination {name}")));
        all.extend(SWITCHES.map(|switch| format!("option {switch}")));
        let more = ["--structural", "--structural=RULES", "--shuffle"];
        all.extend(more.map(|name| format!("option {name}")));
        for kind in ["deadlock", "invariant", "ltl"] {
            all.push(format!("truth {kind} Holds"));
            all.push(format!("truth {kind} Violated"));
        }
        all
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let random = &mut Random::new(seed);
        let source = match random.chance(1, 6) {
            true => {
                coverage.note("net coloured");
                Source::Coloured(Coloured::random(random))
            }
            false => Source::Plain(generate::net(random, coverage)),
        };
        let units = random.chance(1, 3);
        let system = System::new(source, units);
        let graph = system.graph();
        if !system.is_complete() {
            coverage.note("net large or unbounded");
        }
        coverage.note(
            match (Net::is_one_safe(graph, &system.unfolded.places), units) {
                (true, true) => "net units",
                (true, false) => "net one-safe",
                (false, _) => "net not one-safe",
            },
        );
        coverage.note(match graph.deadlocks().next() {
            Some(_) => "net deadlock",
            None => "net no deadlock",
        });
        let mut maker = Maker {
            random,
            system: Rc::clone(&system),
            attempts: vec![NetAttempt {
                system: Rc::clone(&system),
                question: Question::Explore,
                configuration: Configuration::default(),
                replay: false,
            }],
        };
        maker.ask(&Question::Explore, Task::Explore, 1);
        maker.ask(&Question::Explore, Task::ExploreReduced, 3);
        for _ in 0..2 {
            let count = maker.random.below(6);
            let (only, deadlock) = (maker.random.chance(1, 3), maker.random.chance(1, 3));
            let question = Question::Check {
                only,
                deadlock,
                invariants: maker.conditions(count, 2),
            };
            let task = match only && !deadlock {
                true => Task::Goals,
                false => Task::Safety,
            };
            maker.ask(&question, task, 3);
        }
        for _ in 0..2 {
            let count = 1 + maker.random.below(2);
            let propositions = maker.conditions(count, 1);
            let formula = formula::random(maker.random, count);
            formula::note(&formula, coverage);
            let syntax = match maker.random.chance(1, 3) {
                true => Syntax::Spot,
                false => Syntax::Spin,
            };
            let question = Question::Ltl {
                formula,
                propositions,
                syntax,
            };
            maker.ask(&question, Task::Temporal, 2);
        }
        let count = 1 + maker.random.below(2);
        let question = Question::Hoa {
            propositions: maker.conditions(count, 1),
            automaton: hoa::random(maker.random, count, coverage),
        };
        maker.ask(&question, Task::Temporal, 2);
        // Most of a run's time is spent before it comes to a question.
        let propositions = maker.conditions(2, 1);
        let mut all = Vec::new();
        for _ in 0..8 {
            let formula = formula::random(maker.random, 2);
            all.push(match print::ltl_xml(&formula, &propositions) {
                Some(_) => Examined::Ltl(formula),
                None => Examined::Invariant(maker.conditions(1, 1).remove(0)),
            });
        }
        maker.ask(
            &Question::Properties { all, propositions },
            Task::Temporal,
            4,
        );
        for _ in 0..2 {
            let global = *maker.random.pick(&GLOBAL);
            maker.examine(global, coverage);
            let name = *maker.random.pick(&WITH_FORMULAS);
            maker.examine(name, coverage);
        }
        attack(maker.attempts, subject, coverage)
    }
}
