//! One question about one program: the command, and what must come out.

use super::*;

/// A question about a program, asked in some way.
#[derive(Clone, Debug)]
pub(super) struct DveAttempt {
    pub(super) system: Rc<System>,
    pub(super) question: Question,
    /// Formulas and automata that are asked about in the same run.
    pub(super) more: Vec<Question>,
    pub(super) configuration: Configuration,
    pub(super) replay: bool,
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
        for (number, question) in self.more.iter().enumerate() {
            let (question, more) = (question.clone(), self.more.clone());
            let mut fewer = Self {
                more,
                ..self.clone()
            };
            fewer.more.remove(number);
            let alone = Self {
                question,
                more: Vec::new(),
                ..self.clone()
            };
            all.extend([alone, fewer]);
        }
        for configuration in self.configuration.candidates() {
            all.push(Self {
                configuration,
                ..self.clone()
            });
        }
        for program in shrink::candidates(&self.system.program) {
            let (mut question, mut more) = (self.question.clone(), self.more.clone());
            for question in more.iter_mut().chain([&mut question]) {
                question.visit(&mut |part| shrink::mend_expr(part, &program));
            }
            all.push(Self {
                system: System::new(program),
                question,
                more,
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
            Question::Reach(propositions) => {
                arguments.push("--only".into());
                let mut known: Vec<Known> = Vec::new();
                for proposition in propositions {
                    let text = print::expr(proposition, Scope::Outside);
                    if known.iter().any(|other| other.name == text) {
                        return None;
                    }
                    arguments.extend(["--reach".to_owned(), text.clone()]);
                    known.push(self.known_reach(graph, text, proposition));
                }
                if known.is_empty() {
                    return None;
                }
                seen = propositions.clone();
                known
            }
            Question::Ctl {
                propositions,
                formula,
                some,
            } => {
                let quoted = |p: &Expr| format!("\"{}\"", print::expr(p, Scope::Outside));
                let names: Vec<String> = propositions.iter().map(quoted).collect();
                let text = formula::branching_text(formula, &names, *some);
                arguments.extend(["--only".to_owned(), "--ctl".to_owned(), text.clone()]);
                seen = propositions.clone();
                let valuation = valuation(graph, propositions);
                let mut known = temporal(text, "ctl", false);
                known.truth = match graph.has_failure() || valuation.has_failure() {
                    true => Truth::Undefined,
                    false => Truth::bad(!ctl::holds(graph, &valuation, formula, *some)),
                };
                vec![known]
            }
            Question::Ltl { .. } | Question::Hoa { .. } => {
                arguments.push("--only".into());
                let asked = std::iter::once(&self.question).chain(&self.more);
                let mut known: Vec<Known> = Vec::new();
                let mut propositions = Vec::new();
                for (number, question) in asked.enumerate() {
                    let one = self.temporal(graph, question, number, &mut files, &mut arguments);
                    match one.filter(|one| known.iter().all(|other| other.name != one.name)) {
                        Some(one) => known.push(one),
                        None if number == 0 => return None,
                        None => continue,
                    }
                    propositions.extend_from_slice(question.propositions());
                }
                seen = propositions;
                known
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
pub(super) fn is_simple(proposition: &Expr) -> bool {
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
pub(super) fn automaton_of(process: &PropertyProcess) -> (Automaton, Vec<Expr>) {
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
    /// Asks about a formula or an automaton. Nothing is asked about one that is too large, twice in an
    /// automaton, or was asked before.
    fn temporal(
        &self,
        graph: &Graph<State>,
        question: &Question,
        number: usize,
        files: &mut Vec<(String, String)>,
        arguments: &mut Vec<String>,
    ) -> Option<Known> {
        let name = question.name(number);
        if arguments.contains(&name) {
            return None;
        }
        let valuation = valuation(graph, question.propositions());
        match question {
            Question::Ltl {
                formula, syntax, ..
            } => {
                if graph.states.len() << ltl::guesses(formula) > MOST_NODES {
                    return None;
                }
                arguments.extend(["--ltl".to_owned(), name.clone()]);
                let spot = "--syntax".to_owned();
                if *syntax == Syntax::Spot && !arguments.contains(&spot) {
                    arguments.extend([spot, "spot".to_owned()]);
                }
                let violated = |valuation| ltl::is_violated(graph, valuation, formula, self.runs());
                let bad = violated(&valuation);
                if !ltl::looks_at_failure(formula, &valuation) {
                    return Some(temporal(name, "ltl", bad));
                }
                // Whether its automaton looks there, only the automaton knows. But it holds only if it does so
                // whatever has no value.
                let otherwise = Valuation {
                    holds: (valuation.holds.iter().zip(&valuation.fails))
                        .map(|(holds, fails)| holds | fails)
                        .collect(),
                    fails: vec![0; valuation.fails.len()],
                };
                let bad = bad || violated(&otherwise);
                let mut known = temporal(name, "ltl that fails", bad);
                if !bad {
                    known.truth = Truth::Open;
                }
                Some(known)
            }
            Question::Hoa {
                propositions,
                automaton,
            } => {
                let names: Vec<String> = propositions
                    .iter()
                    .map(|p| print::expr(p, Scope::Outside))
                    .collect();
                if (1..names.len()).any(|number| names[..number].contains(&names[number])) {
                    return None;
                }
                files.push((name.clone(), hoa::text(automaton, &names)));
                arguments.extend(["--hoa".to_owned(), name.clone()]);
                let runs = self.runs();
                let bad = accepts_some_run(graph, &valuation, automaton, runs);
                let mut known = temporal(name, "automaton", bad);
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
                Some(known)
            }
            _ => None,
        }
    }

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

    fn known_reach(&self, graph: &Graph<State>, name: String, proposition: &Expr) -> Known {
        let holds = |state: &State| state.holds(proposition);
        let states = graph.states.iter().enumerate();
        let good = states.filter(|(_, state)| holds(state).unwrap_or(false));
        let good: Vec<usize> = good.map(|(number, _)| number).collect();
        let fails = graph.states.iter().any(|state| holds(state).is_err());
        Known {
            name,
            kind: REACH,
            // Which of both is seen first is left open.
            truth: match (good.is_empty(), fails) {
                (true, true) => Truth::Unknown,
                (true, false) => Truth::Violated,
                (false, true) => Truth::Undefined,
                (false, false) => Truth::Holds,
            },
            shortest: self.shortest(graph.distance(good.into_iter())),
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
        let asked = std::iter::once(&self.question).chain(&self.more);
        let mut asked = asked.enumerate().skip(1);
        let other = asked.find(|(number, question)| question.name(*number) == name);
        match other.map_or(&self.question, |(_, question)| question) {
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
            Question::Reach(propositions) => {
                let mut propositions = propositions.iter();
                !run.failed
                    && propositions.any(|proposition| {
                        print::expr(proposition, Scope::Outside) == name
                            && last.holds(proposition).unwrap_or(false)
                    })
            }
            // What is told is a tree, of which a trace is a part.
            Question::Ctl { .. } => true,
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
