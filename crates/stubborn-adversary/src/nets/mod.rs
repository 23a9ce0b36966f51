//! Petri nets against the token game: `check` and `explore`, property files, and the
//! examinations of the Model Checking Contest.

pub mod coloured;
pub mod generate;
pub mod print;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use self::coloured::Coloured;
use crate::arena::{Arena, Round};
use crate::configuration::{self, Configuration, Task};
use crate::coverage::Coverage;
use crate::formula::{self, Syntax};
use crate::hoa;
use crate::judge::{Attempt, Counts, Expectation, Experiment, Known, Truth, attack};
use crate::minimise::{Shrink, without_some};
use crate::random::Random;
use crate::reference::automaton::{Automaton, Runs, Valuation, accepts_some_run};
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
    net: Net,
    /// The places of the net that each place of the source stands for.
    places: Vec<Vec<usize>>,
    /// Likewise.
    transitions: Vec<Vec<usize>>,
    /// And whether that is all.
    graph: OnceCell<(Graph<Marking>, bool)>,
}

impl System {
    fn new(source: Source, units: bool) -> Rc<Self> {
        let (net, places, transitions) = match &source {
            Source::Plain(net) => {
                let each = |count: usize| (0..count).map(|number| vec![number]).collect();
                let places = each(net.initial.len());
                (net.clone(), places, each(net.transitions.len()))
            }
            Source::Coloured(coloured) => {
                let (net, origins) = coloured.unfold();
                let places = (0..coloured.initial.len())
                    .map(|place| {
                        let first = place * coloured.colours;
                        (first..first + coloured.colours).collect()
                    })
                    .collect();
                let transitions = (0..coloured.transitions.len())
                    .map(|number| {
                        let unfolded = 0..origins.len();
                        unfolded.filter(|at| origins[*at] == number).collect()
                    })
                    .collect();
                (net, places, transitions)
            }
        };
        Rc::new(Self {
            source,
            units,
            net,
            places,
            transitions,
            graph: OnceCell::new(),
        })
    }

    fn some(&self) -> &(Graph<Marking>, bool) {
        self.graph.get_or_init(|| {
            let (graph, is_complete) = self.net.explore_some(MOST_STATES);
            match is_complete {
                true => (graph, true),
                false => self.net.explore_some(FIRST_STATES),
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

    /// A condition about the source as one about the net.
    fn unfolded(&self, condition: &Condition) -> Condition {
        let sum = |sum: &Sum| Sum {
            places: sum
                .places
                .iter()
                .flat_map(|p| self.places[*p].clone())
                .collect(),
            constant: sum.constant,
        };
        let inner = |inner: &Condition| Box::new(self.unfolded(inner));
        match condition {
            Condition::Constant(_) | Condition::Deadlock => condition.clone(),
            Condition::Compare(comparison, left, right) => {
                Condition::Compare(*comparison, sum(left), sum(right))
            }
            Condition::Fireable(transitions) => {
                let transitions = transitions.iter();
                Condition::Fireable(
                    transitions
                        .flat_map(|t| self.transitions[*t].clone())
                        .collect(),
                )
            }
            Condition::Not(a) => Condition::Not(inner(a)),
            Condition::And(a, b) => Condition::And(inner(a), inner(b)),
            Condition::Or(a, b) => Condition::Or(inner(a), inner(b)),
        }
    }

    /// The markings in which a condition does not hold.
    fn bad(&self, graph: &Graph<Marking>, condition: &Condition) -> Vec<usize> {
        let condition = self.unfolded(condition);
        let states = graph.states.iter().enumerate();
        states
            .filter(|(_, marking)| !condition.holds(&self.net, marking))
            .map(|(number, _)| number)
            .collect()
    }

    fn valuation(&self, graph: &Graph<Marking>, propositions: &[Condition]) -> Valuation {
        let mut holds = vec![0; graph.states.len()];
        for (bit, proposition) in propositions.iter().enumerate() {
            let proposition = self.unfolded(proposition);
            for (state, marking) in graph.states.iter().enumerate() {
                holds[state] |= u64::from(proposition.holds(&self.net, marking)) << bit;
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
                all.push(Self::new(Source::Plain(self.net.clone()), false));
                for net in net.candidates() {
                    all.push(Self::new(Source::Coloured(net), false));
                }
            }
        }
        all
    }
}

/// Nets with fewer arcs and tokens. Places and transitions keep their numbers, but those
/// without arcs at the end go.
fn smaller_nets(net: &Net) -> Vec<Net> {
    let mut all = Vec::new();
    for transitions in without_some(&net.transitions) {
        all.push(Net {
            transitions,
            ..net.clone()
        });
    }
    let fewer_places = |all: &mut Vec<Net>, place: usize| {
        let mut smaller = net.clone();
        smaller.initial.remove(place);
        for transition in &mut smaller.transitions {
            for side in [&mut transition.takes, &mut transition.gives] {
                side.retain(|(other, _)| *other != place);
                for (other, _) in side {
                    *other -= usize::from(*other > place);
                }
            }
        }
        all.push(smaller);
    };
    if net.initial.len() > 1 {
        (0..net.initial.len()).for_each(|place| fewer_places(&mut all, place));
    }
    for (number, transition) in net.transitions.iter().enumerate() {
        let mut with = |takes: Arcs, gives: Arcs| {
            let mut smaller = net.clone();
            smaller.transitions[number] = NetTransition { takes, gives };
            all.push(smaller);
        };
        for takes in smaller_arcs(&transition.takes) {
            with(takes, transition.gives.clone());
        }
        for gives in smaller_arcs(&transition.gives) {
            with(transition.takes.clone(), gives);
        }
    }
    for (place, tokens) in net.initial.iter().enumerate() {
        for fewer in [0, tokens / 2, tokens.saturating_sub(1)] {
            if fewer < *tokens {
                let mut smaller = net.clone();
                smaller.initial[place] = fewer;
                all.push(smaller);
            }
        }
    }
    all
}

fn smaller_arcs(arcs: &Arcs) -> Vec<Arcs> {
    let mut all = without_some(arcs);
    for (number, (_, weight)) in arcs.iter().enumerate() {
        if *weight > 1 {
            let mut lighter = arcs.clone();
            lighter[number].1 -= 1;
            all.push(lighter);
        }
    }
    all
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

fn smaller_conditions(condition: &Condition) -> Vec<Condition> {
    let mut all = match condition {
        Condition::Constant(_) => return vec![],
        _ => vec![Condition::Constant(false), Condition::Constant(true)],
    };
    match condition {
        Condition::Constant(_) | Condition::Deadlock => {}
        Condition::Compare(comparison, left, right) => {
            let smaller = |sum: &Sum| {
                let mut sums: Vec<Sum> = Vec::new();
                if sum.places.len() > 1 {
                    let fewer = without_some(&sum.places).into_iter();
                    sums.extend(fewer.filter(|places| !places.is_empty()).map(|places| Sum {
                        places,
                        ..sum.clone()
                    }));
                }
                if sum.constant > 0 {
                    sums.push(Sum {
                        constant: sum.constant - 1,
                        ..sum.clone()
                    });
                }
                sums
            };
            for left in smaller(left) {
                all.push(Condition::Compare(*comparison, left, right.clone()));
            }
            for right in smaller(right) {
                all.push(Condition::Compare(*comparison, left.clone(), right));
            }
        }
        Condition::Fireable(transitions) => {
            if transitions.len() > 1 {
                let fewer = without_some(transitions).into_iter();
                all.extend(fewer.filter(|t| !t.is_empty()).map(Condition::Fireable));
            }
        }
        Condition::Not(inner) => {
            all.push((**inner).clone());
            let smaller = smaller_conditions(inner).into_iter();
            all.extend(smaller.map(|inner| Condition::Not(Box::new(inner))));
        }
        Condition::And(left, right) | Condition::Or(left, right) => {
            all.extend([(**left).clone(), (**right).clone()]);
            let make = |left: Condition, right: Condition| match condition {
                Condition::And(..) => Condition::And(Box::new(left), Box::new(right)),
                _ => Condition::Or(Box::new(left), Box::new(right)),
            };
            for smaller in smaller_conditions(left) {
                all.push(make(smaller, (**right).clone()));
            }
            for smaller in smaller_conditions(right) {
                all.push(make((**left).clone(), smaller));
            }
        }
    }
    all
}

/// Lists with one condition made smaller.
fn with_smaller_conditions(conditions: &[Condition]) -> Vec<Vec<Condition>> {
    let mut all = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        for smaller in smaller_conditions(condition) {
            let mut list = conditions.to_vec();
            list[number] = smaller;
            all.push(list);
        }
    }
    all
}

fn smaller_examined(examined: &Examined) -> Vec<Examined> {
    match examined {
        Examined::Reachable(condition) => {
            let smaller = smaller_conditions(condition).into_iter();
            smaller.map(Examined::Reachable).collect()
        }
        Examined::Invariant(condition) => {
            let smaller = smaller_conditions(condition).into_iter();
            smaller.map(Examined::Invariant).collect()
        }
        Examined::Bound(places) => {
            let fewer = without_some(places).into_iter();
            fewer
                .filter(|p| !p.is_empty())
                .map(Examined::Bound)
                .collect()
        }
        Examined::Ltl(formula) => {
            let smaller = formula::candidates(formula).into_iter();
            smaller.map(Examined::Ltl).collect()
        }
    }
}

/// Lists with fewer formulas, or smaller ones.
fn smaller_lists(all: &[Examined]) -> Vec<Vec<Examined>> {
    let mut lists = without_some(all);
    for (number, examined) in all.iter().enumerate() {
        for smaller in smaller_examined(examined) {
            let mut list = all.to_vec();
            list[number] = smaller;
            lists.push(list);
        }
    }
    lists
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
                    Examined::Bound(_) | Examined::Ltl(_) => None,
                });
                own.chain(propositions).collect()
            }
        }
    }

    /// Whether everything that it speaks of is there.
    fn fits(&self, system: &System) -> bool {
        let (places, transitions) = (system.places.len(), system.transitions.len());
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

/// A question about a net, asked in some way.
#[derive(Clone, Debug)]
struct NetAttempt {
    system: Rc<System>,
    question: Question,
    configuration: Configuration,
    replay: bool,
}

impl Shrink for NetAttempt {
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
        for system in self.system.smaller() {
            if self.question.fits(&system) {
                all.push(Self {
                    system,
                    ..self.clone()
                });
            }
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

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Attempt for NetAttempt {
    fn experiment(&self) -> Option<Experiment<'_>> {
        let graph = self.system.graph();
        let is_complete = self.system.is_complete();
        let mut files = vec![(MODEL.to_owned(), self.system.text())];
        let mut arguments = words(&["check", MODEL]);
        let mut replay = words(&["simulate", MODEL, "--replay", "trace.json"]);
        if let Some(seed) = self.configuration.value("--shuffle") {
            replay.extend(words(&["--shuffle", seed]));
        }
        let expectation = match &self.question {
            Question::Explore if !is_complete => return None,
            Question::Explore => {
                arguments[0] = "explore".into();
                Expectation::Explored(Counts {
                    states: graph.state_count(),
                    transitions: graph.step_count(),
                    deadlocks: graph.deadlocks().count(),
                    has_failure: graph.has_failure(),
                })
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
                    known.push(self.known(graph, "deadlock".into(), "deadlock", {
                        graph.deadlocks().collect()
                    }));
                }
                if !only {
                    // That a place has more tokens than can be counted.
                    known.push(Known {
                        truth: match is_complete {
                            true => Truth::bad(graph.has_failure()),
                            false => Truth::Open,
                        },
                        is_optional: true,
                        ..self.known(graph, "errors".into(), "errors", vec![])
                    });
                }
                for invariant in invariants {
                    let text = print::condition(invariant);
                    arguments.extend(["--invariant".to_owned(), text.clone()]);
                    if known.iter().any(|other| other.name == text) {
                        return None;
                    }
                    let bad = self.system.bad(graph, invariant);
                    known.push(self.known(graph, text, "invariant", bad));
                }
                if known.is_empty() {
                    return None;
                }
                Expectation::Checked(known)
            }
            Question::Ltl {
                formula,
                propositions,
                syntax,
            } => {
                let text = print::ltl(formula, propositions, *syntax);
                arguments.extend(["--only".to_owned(), "--ltl".to_owned(), text.clone()]);
                if *syntax == Syntax::Spot {
                    arguments.extend(words(&["--syntax", "spot"]));
                }
                Expectation::Checked(vec![self.known_ltl(graph, text, formula, propositions)?])
            }
            Question::Hoa {
                automaton,
                propositions,
            } => {
                let names: Vec<String> = propositions.iter().map(print::condition).collect();
                if (1..names.len()).any(|number| names[..number].contains(&names[number])) {
                    return None;
                }
                files.push((AUTOMATON.to_owned(), hoa::text(automaton, &names)));
                arguments.extend(words(&["--only", "--hoa", AUTOMATON]));
                let valuation = self.system.valuation(graph, propositions);
                let bad = accepts_some_run(graph, &valuation, automaton, self.runs());
                Expectation::Checked(vec![temporal(graph, AUTOMATON.into(), bad)])
            }
            Question::Properties { all, propositions } => {
                let mut known = Vec::new();
                let mut texts = Vec::new();
                for (number, examined) in all.iter().enumerate() {
                    let name = format!("f-{number:02}");
                    let (text, what) = match examined {
                        Examined::Invariant(condition) => {
                            let bad = self.system.bad(graph, condition);
                            let what = self.known(graph, name.clone(), "invariant", bad);
                            (invariant_xml(condition), what)
                        }
                        Examined::Ltl(formula) => {
                            let text = print::ltl_xml(formula, propositions)?;
                            let text = format!("<all-paths>{text}</all-paths>");
                            let known = match formula {
                                // `all-paths globally` of a condition is about markings,
                                // whatever runs that end are worth.
                                Formula::Globally(inner) if ltl::is_state_formula(inner) => {
                                    let runs = Runs {
                                        finite: FiniteRuns::Stutter,
                                        fair: false,
                                    };
                                    self.ltl_of(graph, name.clone(), formula, propositions, runs)?
                                }
                                _ => self.known_ltl(graph, name.clone(), formula, propositions)?,
                            };
                            (text, known)
                        }
                        Examined::Reachable(_) | Examined::Bound(_) => return None,
                    };
                    texts.push((name, text));
                    known.push(what);
                }
                if known.is_empty() {
                    return None;
                }
                files.push((PROPERTIES.to_owned(), print::properties(&texts)));
                arguments.extend(words(&["--only", "--properties", PROPERTIES]));
                Expectation::Checked(known)
            }
            Question::Examine {
                name,
                all,
                propositions,
            } => {
                arguments = words(&["mcc", "--examination", name, "--time", "60"]);
                if graph.has_failure() {
                    // It need not know then.
                    return None;
                }
                let mut texts = Vec::new();
                let mut answers = match all.is_empty() {
                    true => self.global(graph, name)?,
                    false => BTreeMap::new(),
                };
                for (number, examined) in all.iter().enumerate() {
                    let id = format!("f-{number:02}");
                    let (text, answer) = self.examined(graph, examined, propositions)?;
                    texts.push((id.clone(), text));
                    answers.insert(format!("FORMULA {id}"), answer);
                }
                if !texts.is_empty() {
                    files.push((format!("{name}.xml"), print::properties(&texts)));
                }
                Expectation::Examined(answers)
            }
        };
        if !is_complete && !self.configuration.has("--max-states") {
            arguments.extend(words(&["--max-states", "3000"]));
        }
        let is_plain = matches!(self.system.source, Source::Plain(_)) && !graph.has_failure();
        Some(Experiment {
            files,
            arguments,
            configuration: &self.configuration,
            expectation,
            replay: self.replay.then_some(replay),
            // What is beyond numbers that can be counted, nobody knows.
            may_give_up: graph.has_failure(),
            judge: is_plain.then(|| -> Box<crate::judge::Judge<'_>> {
                Box::new(|name, trace| self.judge(name, trace))
            }),
        })
    }
}

/// What is true, if what was seen is bad or not: where tokens cannot be counted any more,
/// nobody knows what would come.
fn truth(graph: &Graph<Marking>, bad: bool) -> Truth {
    match (bad, graph.has_failure()) {
        (true, _) => Truth::Violated,
        (false, true) => Truth::Open,
        (false, false) => Truth::Holds,
    }
}

fn temporal(graph: &Graph<Marking>, name: String, bad: bool) -> Known {
    Known {
        name,
        kind: "ltl",
        truth: truth(graph, bad),
        shortest: None,
        is_optional: false,
    }
}

fn invariant_xml(condition: &Condition) -> String {
    let condition = print::condition_xml(condition);
    format!("<all-paths><globally>{condition}</globally></all-paths>")
}

impl NetAttempt {
    fn runs(&self) -> Runs {
        Runs {
            finite: match self.configuration.value("--finite-runs") {
                Some("ignore") => FiniteRuns::Ignore,
                _ => FiniteRuns::Stutter,
            },
            fair: false,
        }
    }

    fn known(
        &self,
        graph: &Graph<Marking>,
        name: String,
        kind: &'static str,
        bad: Vec<usize>,
    ) -> Known {
        let breadth_first = self.configuration.value("--order") != Some("dfs");
        let is_plain = self.configuration.is_unreduced() && !self.configuration.is_lossy();
        Known {
            name,
            kind,
            truth: truth(graph, !bad.is_empty()),
            shortest: graph
                .distance(bad.into_iter())
                .filter(|_| breadth_first && is_plain && !self.is_structural())
                .filter(|_| self.system.is_complete()),
            is_optional: false,
        }
    }

    fn is_structural(&self) -> bool {
        let mut groups = self.configuration.groups.iter();
        groups.any(|group| group[0].starts_with("--structural"))
    }

    fn known_ltl(
        &self,
        graph: &Graph<Marking>,
        name: String,
        formula: &Formula,
        propositions: &[Condition],
    ) -> Option<Known> {
        self.ltl_of(graph, name, formula, propositions, self.runs())
    }

    fn ltl_of(
        &self,
        graph: &Graph<Marking>,
        name: String,
        formula: &Formula,
        propositions: &[Condition],
        runs: Runs,
    ) -> Option<Known> {
        if graph.states.len() << ltl::guesses(formula) > MOST_NODES {
            return None;
        }
        let valuation = self.system.valuation(graph, propositions);
        let bad = ltl::is_violated(graph, &valuation, formula, runs);
        Some(temporal(graph, name, bad))
    }

    /// The formula of an examination as text, and its answer.
    fn examined(
        &self,
        graph: &Graph<Marking>,
        examined: &Examined,
        propositions: &[Condition],
    ) -> Option<(String, String)> {
        let truth = |value: bool| value.to_string().to_uppercase();
        Some(match examined {
            Examined::Reachable(condition) => {
                let text = print::condition_xml(condition);
                let text = format!("<exists-path><finally>{text}</finally></exists-path>");
                let never = self.system.bad(graph, condition).len() == graph.states.len();
                (text, truth(!never))
            }
            Examined::Invariant(condition) => {
                let holds = self.system.bad(graph, condition).is_empty();
                (invariant_xml(condition), truth(holds))
            }
            Examined::Bound(places) => {
                let names = places
                    .iter()
                    .map(|place| format!("<place>p{place}</place>"));
                let text = format!("<place-bound>{}</place-bound>", names.collect::<String>());
                let sum = Sum {
                    places: places
                        .iter()
                        .flat_map(|p| self.system.places[*p].clone())
                        .collect(),
                    constant: 0,
                };
                let most = graph.states.iter().map(|marking| sum.value(marking)).max();
                (text, most.unwrap_or(0).to_string())
            }
            Examined::Ltl(formula) => {
                let text = print::ltl_xml(formula, propositions)?;
                let known = self.known_ltl(graph, String::new(), formula, propositions)?;
                let text = format!("<all-paths>{text}</all-paths>");
                (text, truth(known.truth == Truth::Holds))
            }
        })
    }

    /// The answers of an examination without formulas.
    fn global(&self, graph: &Graph<Marking>, name: &str) -> Option<BTreeMap<String, String>> {
        // These are about places and transitions of the file.
        let (places, transitions) = (&self.system.places, &self.system.transitions);
        let net = &self.system.net;
        let is_plain = matches!(self.system.source, Source::Plain(_));
        let value = match name {
            "ReachabilityDeadlock" => graph.deadlocks().next().is_some(),
            "OneSafe" => Net::is_one_safe(graph, places),
            "QuasiLiveness" => net.is_quasi_live(graph, transitions),
            // Whether nothing at all is alive is a matter of taste.
            "Liveness" if !transitions.is_empty() => net.is_live(graph, transitions),
            "StableMarking" => Net::has_stable_place(graph, places),
            "StateSpace" => {
                let sums = graph
                    .states
                    .iter()
                    .map(|marking| marking.iter().sum::<u64>());
                let most = graph.states.iter().flatten().max();
                let lines = [
                    ("STATES", Some(graph.state_count() as u64)),
                    ("TRANSITIONS", Some(graph.step_count() as u64)),
                    ("MAX_TOKEN_PER_MARKING", sums.max()),
                    ("MAX_TOKEN_IN_PLACE", most.copied()),
                ];
                return Some(
                    lines
                        .into_iter()
                        .filter(|(key, _)| is_plain || *key != "MAX_TOKEN_IN_PLACE")
                        .map(|(key, value)| {
                            let key = format!("STATE_SPACE {key}");
                            (key, value.unwrap_or(0).to_string())
                        })
                        .collect(),
                );
            }
            _ => return None,
        };
        let value = value.to_string().to_uppercase();
        Some(BTreeMap::from([(format!("FORMULA {name}"), value)]))
    }

    /// Whether a counterexample is a run that shows the violation.
    fn judge(&self, name: &str, trace: &Value) -> Result<(), String> {
        let graph = self.system.graph();
        let named = |marking: &Marking| -> Named {
            let places = marking.iter().enumerate();
            places
                .map(|(place, tokens)| (format!("p{place}"), tokens.to_string()))
                .collect()
        };
        // A marking is all there is: no two runs have the same changes.
        let run = trace::follow(graph, trace, &[], named)?.remove(0);
        let last = &graph.states[run.last()];
        let may_end =
            graph.steps[run.last()].is_empty() && self.runs().finite == FiniteRuns::Stutter;
        let counts = !run.failed && (!run.cycle.is_empty() || may_end);
        let all = Runs {
            finite: FiniteRuns::Stutter,
            fair: false,
        };
        let breaks = |condition: &Condition| !condition.holds(&self.system.net, last);
        let violates = |formula: &Formula, propositions: &[Condition]| {
            let valuation = self.system.valuation(graph, propositions);
            let (alone, valuation) = run.alone(&valuation);
            counts && ltl::is_violated(&alone, &valuation, formula, all)
        };
        let shows = match &self.question {
            Question::Explore | Question::Examine { .. } => true,
            Question::Check {
                only,
                deadlock,
                invariants,
            } => match name {
                "deadlock" if !only || *deadlock => {
                    !run.failed && graph.steps[run.last()].is_empty()
                }
                "errors" => run.failed,
                _ => {
                    let mut named = invariants.iter();
                    named.any(|invariant| print::condition(invariant) == name && breaks(invariant))
                }
            },
            Question::Ltl {
                formula,
                propositions,
                ..
            } => violates(formula, propositions),
            Question::Hoa {
                automaton,
                propositions,
            } => {
                let valuation = self.system.valuation(graph, propositions);
                let (alone, valuation) = run.alone(&valuation);
                counts && accepts_some_run(&alone, &valuation, automaton, all)
            }
            Question::Properties { all, propositions } => {
                let number = name
                    .strip_prefix("f-")
                    .and_then(|n| n.parse::<usize>().ok());
                match number.and_then(|number| all.get(number)) {
                    Some(Examined::Invariant(condition)) => breaks(condition),
                    // `all-paths globally` of a condition is an invariant: its end is enough.
                    Some(Examined::Ltl(Formula::Globally(inner))) if run.cycle.is_empty() => {
                        ltl::is_state_formula(inner)
                            || violates(&Formula::Globally(inner.clone()), propositions)
                    }
                    Some(Examined::Ltl(formula)) => violates(formula, propositions),
                    _ => false,
                }
            }
        };
        match shows {
            true => Ok(()),
            false => Err("the run does not violate it".into()),
        }
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
const WITH_FORMULAS: [&str; 5] = [
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "UpperBounds",
    "LTLCardinality",
    "LTLFireability",
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
        let (places, transitions) = (self.system.places.len(), self.system.transitions.len());
        (0..count)
            .map(|_| generate::condition(self.random, places, transitions, depth))
            .collect()
    }

    fn ask(&mut self, question: &Question, task: Task, count: usize) {
        for _ in 0..count {
            let random = &mut *self.random;
            let mut configuration = Configuration::random(random, task);
            configuration.without_processes(random);
            if random.chance(1, 5) {
                let seed = random.below(100).to_string();
                configuration.push("--shuffle", Some(&seed));
            }
            let may_reduce = matches!(task, Task::Safety | Task::Goals | Task::ExploreReduced);
            let has_cycle_proviso = task == Task::ExploreReduced && configuration.has("--proviso");
            if may_reduce && !has_cycle_proviso && random.chance(1, 3) {
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
        let count = 1 + self.random.below(3);
        let propositions = self.conditions(2, 1);
        let mut all = Vec::new();
        if WITH_FORMULAS.contains(&name) {
            for _ in 0..count {
                let condition = self.conditions(1, 2).remove(0);
                let places = self.system.places.len();
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
        coverage.note(match (Net::is_one_safe(graph, &system.places), units) {
            (true, true) => "net units",
            (true, false) => "net one-safe",
            (false, _) => "net not one-safe",
        });
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
            let count = maker.random.below(3);
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
            maker.ask(&question, task, 4);
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
            maker.ask(&question, Task::Temporal, 3);
        }
        let count = 1 + maker.random.below(2);
        let question = Question::Hoa {
            propositions: maker.conditions(count, 1),
            automaton: hoa::random(maker.random, count, coverage),
        };
        maker.ask(&question, Task::Temporal, 3);
        let propositions = maker.conditions(2, 1);
        let mut all = Vec::new();
        for _ in 0..3 {
            let formula = formula::random(maker.random, 2);
            all.push(match print::ltl_xml(&formula, &propositions) {
                Some(_) => Examined::Ltl(formula),
                None => Examined::Invariant(maker.conditions(1, 1).remove(0)),
            });
        }
        maker.ask(
            &Question::Properties { all, propositions },
            Task::Temporal,
            2,
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
