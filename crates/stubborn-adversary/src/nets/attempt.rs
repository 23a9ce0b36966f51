//! One question about one net: the command, and what must come out.

use super::*;

/// A question about a net, asked in some way.
#[derive(Clone, Debug)]
pub(super) struct NetAttempt {
    pub(super) system: Rc<System>,
    pub(super) question: Question,
    pub(super) configuration: Configuration,
    pub(super) replay: bool,
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

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Attempt for NetAttempt {
    fn experiment(&self) -> Option<Experiment<'_>> {
        let graph = self.system.graph();
        let is_complete = self.system.is_complete();
        let is_heavy = Net::is_heavy(graph);
        let mut files = vec![(MODEL.to_owned(), self.system.text())];
        let mut arguments = words(&["check", MODEL]);
        let mut replay = words(&["simulate", MODEL, "--replay", "trace.json"]);
        if let Some(seed) = self.configuration.value("--shuffle") {
            replay.extend(words(&["--shuffle", seed]));
        }
        let expectation = match &self.question {
            // Numbers of what can be counted are no numbers of the net.
            Question::Explore if !is_complete || is_heavy => return None,
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
                    // That a place has more tokens than the file says: never.
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
                            let what = match formula {
                                // `all-paths globally` of a condition is about markings,
                                // whatever runs that end are worth.
                                Formula::Globally(inner) if ltl::is_state_formula(inner) => {
                                    let runs = Runs {
                                        finite: FiniteRuns::Stutter,
                                        fair: false,
                                    };
                                    self.ltl_of(graph, name.clone(), formula, propositions, runs)
                                }
                                _ => self.known_ltl(graph, name.clone(), formula, propositions),
                            };
                            let Some(what) = what else {
                                continue;
                            };
                            (text, what)
                        }
                        Examined::Reachable(_) | Examined::Bound(_) | Examined::Ctl(..) => {
                            return None;
                        }
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
                // It need not have an answer about what cannot be counted, and may look for it all the time.
                let time = if is_heavy { "2" } else { "60" };
                arguments = words(&["mcc", "--examination", name, "--time", time]);
                if !is_complete {
                    return None;
                }
                let mut texts = Vec::new();
                let mut answers = match all.is_empty() {
                    true => self.global(graph, name)?,
                    false => BTreeMap::new(),
                };
                for (number, examined) in all.iter().enumerate() {
                    let id = format!("f-{number:02}");
                    let Some((text, answer)) = self.examined(graph, examined, propositions) else {
                        continue;
                    };
                    texts.push((id.clone(), text));
                    answers.insert(format!("FORMULA {id}"), answer);
                }
                if answers.is_empty() {
                    return None;
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
            // What is beyond numbers that can be counted, nobody needs to know.
            may_give_up: is_heavy || graph.has_failure(),
            judge: is_plain.then(|| -> Box<crate::judge::Judge<'_>> {
                Box::new(|name, trace| self.judge(name, trace))
            }),
        })
    }
}

/// What is true, if what was seen is bad or not: where not all was seen, nobody knows what comes.
pub(super) fn truth(graph: &Graph<Marking>, bad: bool) -> Truth {
    match (bad, graph.has_failure()) {
        (true, _) => Truth::Violated,
        (false, true) => Truth::Open,
        (false, false) => Truth::Holds,
    }
}

pub(super) fn temporal(graph: &Graph<Marking>, name: String, bad: bool) -> Known {
    Known {
        name,
        kind: "ltl",
        truth: truth(graph, bad),
        shortest: None,
        is_optional: false,
    }
}

pub(super) fn invariant_xml(condition: &Condition) -> String {
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
                .filter(|_| self.system.is_complete() && !Net::is_heavy(graph)),
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
                        .flat_map(|p| self.system.unfolded.places[*p].clone())
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
            Examined::Ctl(formula, some) => {
                let text = print::ctl_xml(formula, propositions, *some)?;
                let valuation = self.system.valuation(graph, propositions);
                (text, truth(ctl::holds(graph, &valuation, formula, *some)))
            }
        })
    }

    /// The answers of an examination without formulas.
    fn global(&self, graph: &Graph<Marking>, name: &str) -> Option<BTreeMap<String, String>> {
        // These are about places and transitions of the file.
        let (places, transitions) = (
            &self.system.unfolded.places,
            &self.system.unfolded.transitions,
        );
        let net = &self.system.unfolded.net;
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
        let breaks = |condition: &Condition| !condition.holds(&self.system.unfolded.net, last);
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
