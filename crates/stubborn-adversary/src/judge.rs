//! Whether an answer is right.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::arena::{Mismatch, Round};
use crate::configuration::{Configuration, SAVED};
use crate::coverage::Coverage;
use crate::minimise::{Shrink, minimise};
use crate::subject::{Run, Status, Subject};

/// What is true of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Every run or state satisfies it.
    Holds,
    /// Some do not.
    Violated,
    /// Both answers can be defended.
    Open,
    /// So can having no answer.
    Undefined,
    /// There must be no answer.
    Unknown,
}

/// The kind of properties that hold if there is a state of some kind: a trace shows that they do.
pub const REACH: &str = "reach";

impl Truth {
    /// Of something bad that happens, or not.
    pub fn bad(happens: bool) -> Self {
        match happens {
            true => Self::Violated,
            false => Self::Holds,
        }
    }
}

/// What is known about a property that is asked for.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name in the answer.
    pub name: String,
    /// What it is about: `deadlock`, `ltl`.
    pub kind: &'static str,
    /// What is true of it.
    pub truth: Truth,
    /// The length of a shortest counterexample, where one is promised.
    pub shortest: Option<usize>,
    /// Whether the answer may leave it out if it holds.
    pub is_optional: bool,
}

/// What is known about a state space.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// States, failure included.
    pub states: usize,
    /// Steps.
    pub transitions: usize,
    /// States without steps, failure not included.
    pub deadlocks: usize,
    /// Whether a step fails: it leads to a state of its own, from which there is no step. A
    /// reduction need not find it.
    pub has_failure: bool,
}

/// What the answer should be.
#[derive(Clone, Debug)]
pub enum Expectation {
    /// `explore`, with the counts of everything.
    Explored(Counts),
    /// `check` with these properties, in any order.
    Checked(Vec<Known>),
    /// `mcc`: the beginnings of lines with what comes after them.
    Examined(BTreeMap<String, String>),
}

/// Says of a property's trace in the answer what is wrong with it.
pub type Judge<'a> = dyn Fn(&str, &Value) -> Result<(), String> + 'a;

/// A command with what is known about its answer.
pub struct Experiment<'a> {
    /// The files that the command reads.
    pub files: Vec<(String, String)>,
    /// The command line; the configuration's words come after it.
    pub arguments: Vec<String>,
    /// Random options.
    pub configuration: &'a Configuration,
    /// What should come out.
    pub expectation: Expectation,
    /// If a saved counterexample is to be followed: the words of `simulate`.
    pub replay: Option<Vec<String>>,
    /// Whether no answer is fine, although there is no limit.
    pub may_give_up: bool,
    /// Looks at counterexamples, by the name of the property.
    pub judge: Option<Box<Judge<'a>>>,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// So many answers were as expected.
    Right(u64),
    /// These options do not go together: the first line of the message.
    Refused(String),
    /// There was no time for an answer.
    Late,
    /// Something is wrong.
    Wrong(Wrong),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// In a few words; the same words for the same kind of mistake.
    pub what: String,
    /// What would be right.
    pub expected: String,
    /// What was said.
    pub got: String,
}

/// Most time for one run. Most take some milliseconds; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is noted where there was no answer in time.
pub const LATE: &str = "outcome late";
/// Goes on with what was cut off by its number of states.
const RESUME: [&str; 5] = ["resume", SAVED, "--max-states", "1000000", "--json"];
/// Where traces are saved.
const TRACE: &str = "trace.json";

impl Experiment<'_> {
    /// The whole command line.
    pub fn command(&self) -> Vec<String> {
        let mut words = self.arguments.clone();
        words.extend(self.configuration.arguments());
        if self.configuration.hunts {
            words[0] = "hunt".into();
        }
        if self.replay.is_some() {
            words.extend(["--trace".to_owned(), TRACE.to_owned()]);
        }
        if !matches!(self.expectation, Expectation::Examined(_)) {
            words.push("--json".into());
        }
        words
    }

    /// The command that writes the relations that this one reads, if it does.
    fn preparation(&self) -> Option<Vec<String>> {
        let relations = self.configuration.measured_relations()?;
        let mut words = vec!["inspect".to_owned(), self.arguments[1].clone()];
        words.extend(relations);
        for pair in self
            .arguments
            .windows(2)
            .filter(|pair| pair[0] == "--invariant")
        {
            words.extend_from_slice(pair);
        }
        if let Some(seed) = self.configuration.value("--shuffle") {
            words.extend(["--shuffle".to_owned(), seed.to_owned()]);
        }
        Some(words)
    }

    /// Does it.
    pub fn perform(&self, subject: &Subject) -> Judgement {
        let folder = subject.folder(&self.files);
        if let Some(words) = self.preparation() {
            let run = subject.run(folder.path(), &words, PATIENCE);
            match (run.crash(), run.status) {
                (Some(crash), _) => {
                    return Judgement::Wrong(Wrong {
                        what: "crash of inspect".into(),
                        expected: words.join(" "),
                        got: crash,
                    });
                }
                (None, Status::Exit(0)) => {}
                (None, Status::Timeout | Status::Over) => return Judgement::Late,
                (None, _) => return refusal(&run),
            }
        }
        let mut run = subject.run(folder.path(), &self.command(), PATIENCE);
        if self.configuration.has("--checkpoint") && is_unfinished(&run) {
            run = subject.run(folder.path(), &RESUME, PATIENCE);
        }
        if let Some(crash) = run.crash() {
            return Judgement::Wrong(Wrong {
                what: "crash".into(),
                expected: "an answer".into(),
                got: crash,
            });
        }
        let judged = match run.status {
            Status::Timeout if self.configuration.is_short() => {
                return Judgement::Wrong(Wrong {
                    what: "limit of time".into(),
                    expected: "an end soon after it".into(),
                    got: format!("none for {PATIENCE:?}"),
                });
            }
            Status::Timeout | Status::Over => return Judgement::Late,
            Status::Exit(2) => return refusal(&run),
            _ => self.compare(&run),
        };
        let answers = match judged {
            Ok(answers) => answers,
            Err(wrong) => return Judgement::Wrong(wrong),
        };
        let Some(words) = &self.replay else {
            return Judgement::Right(answers);
        };
        if run.status != Status::Exit(1) || !folder.path().join(TRACE).exists() {
            return Judgement::Right(answers);
        }
        let replay = subject.run(folder.path(), words, PATIENCE);
        match replay.status {
            Status::Exit(0) => Judgement::Right(answers + 1),
            Status::Timeout | Status::Over => Judgement::Late,
            _ => Judgement::Wrong(Wrong {
                what: "replay".into(),
                expected: format!("`{}` follows the saved trace: status 0", words.join(" ")),
                got: replay.summary(),
            }),
        }
    }

    fn compare(&self, run: &Run) -> Result<u64, Wrong> {
        if let Expectation::Examined(answers) = &self.expectation {
            return examined(run, answers, self.may_give_up);
        }
        let Some(answer) = &run.json else {
            return Err(Wrong {
                what: "output".into(),
                expected: "one JSON object".into(),
                got: run.summary(),
            });
        };
        match &self.expectation {
            Expectation::Explored(counts) => self.explored(run, answer, counts),
            Expectation::Checked(known) => self.checked(run, answer, known),
            Expectation::Examined(_) => Ok(0),
        }
    }

    fn explored(&self, run: &Run, answer: &Value, counts: &Counts) -> Result<u64, Wrong> {
        let number = |name: &str| answer[name].as_u64().map(|number| number as usize);
        let complete = answer["complete"].as_bool();
        let got = (number("states"), number("transitions"), number("deadlocks"));
        let wrong = |what: &str, expected: String| Wrong {
            what: what.into(),
            expected,
            got: format!(
                "{got:?} states, transitions, deadlocks, complete: {complete:?}, {:?}",
                run.status
            ),
        };
        let limited = self.configuration.is_limited() || self.may_give_up;
        let may_miss = self.configuration.is_lossy() || limited;
        let is_complete = complete == Some(true);
        if !is_complete && !may_miss {
            return Err(wrong("incomplete exploration", format!("{counts:?}")));
        }
        let status = match is_complete {
            true => Status::Exit(0),
            false => Status::Exit(3),
        };
        // A lossy store that has seen all it could is no mistake.
        let allowed = self.configuration.is_lossy() && run.status == Status::Exit(3);
        if run.status != status && !allowed {
            return Err(wrong("status of explore", format!("{status:?}")));
        }
        let mut groups = self.configuration.groups.iter();
        let structural = groups.any(|group| group[0].starts_with("--structural"));
        if structural && counts.has_failure {
            // A place that holds no more may be left out, and then the smaller net goes on.
            return Ok(1);
        }
        let times = self.configuration.most_visits();
        if got.0 > Some(times * counts.states) || got.1 > Some(times * counts.transitions) {
            return Err(wrong("too many states", format!("at most {counts:?}")));
        }
        let most = counts.deadlocks + usize::from(counts.has_failure);
        if got.2 > Some(times * most) {
            return Err(wrong("too many deadlocks", format!("{counts:?}")));
        }
        if !is_complete || may_miss {
            return Ok(1);
        }
        if structural {
            // Numbers are those of a smaller net.
            let same = (got.2 > Some(0)) == (counts.deadlocks > 0);
            return match same {
                true => Ok(1),
                false => Err(wrong("deadlocks of a smaller net", format!("{counts:?}"))),
            };
        }
        let reduced = self.configuration.has("--por");
        if !reduced && (got.0, got.1) != (Some(counts.states), Some(counts.transitions)) {
            return Err(wrong("states or transitions", format!("{counts:?}")));
        }
        let least = if reduced { counts.deadlocks } else { most };
        if got.2 < Some(least) {
            return Err(wrong("number of deadlocks", format!("{counts:?}")));
        }
        Ok(3)
    }

    fn checked(&self, run: &Run, answer: &Value, known: &[Known]) -> Result<u64, Wrong> {
        let empty = Vec::new();
        let answers = answer["properties"].as_array().unwrap_or(&empty);
        let limited = self.configuration.is_limited() || self.may_give_up;
        if answers.is_empty() && limited && run.status == Status::Exit(3) {
            // The limit was reached before it was known what there is to answer.
            return Ok(0);
        }
        let mut answers_given = 0;
        let mut worst = 0;
        let mut left_out = 0;
        for known in known {
            let named = |answer: &&Value| answer["name"].as_str() == Some(&known.name);
            let Some(answer) = answers.iter().find(named) else {
                if known.is_optional && known.truth != Truth::Violated {
                    left_out += 1;
                    continue;
                }
                // What can go wrong in processes that were not started yet is not known.
                let unstarted = ["assertion", "error"].contains(&known.kind);
                if unstarted && limited && run.status != Status::Exit(0) {
                    left_out += 1;
                    continue;
                }
                return Err(Wrong {
                    what: format!("no answer for {}", known.kind),
                    expected: format!("a property called {}", known.name),
                    got: run.summary(),
                });
            };
            let verdict = answer["verdict"].as_str().unwrap_or("none");
            answers_given += 1;
            self.verdict(known, verdict)?;
            worst = match (verdict, worst) {
                ("violated", _) => 1,
                ("unknown", 0) => 3,
                _ => worst,
            };
            let shown = if known.kind == REACH {
                "holds"
            } else {
                "violated"
            };
            if verdict == shown {
                answers_given += self.counterexample(known, &answer["trace"])?;
            }
        }
        if answers.len() + left_out != known.len() {
            let names: Vec<_> = known.iter().map(|known| &known.name).collect();
            return Err(Wrong {
                what: "properties".into(),
                expected: format!("{names:?}"),
                got: run.summary(),
            });
        }
        if run.status != Status::Exit(worst) {
            return Err(Wrong {
                what: "status of check".into(),
                expected: format!("{worst}"),
                got: run.summary(),
            });
        }
        Ok(answers_given)
    }

    fn verdict(&self, known: &Known, verdict: &str) -> Result<(), Wrong> {
        let lossy = self.configuration.is_lossy();
        let limited = self.configuration.is_limited() || self.may_give_up;
        let wrong = |what: String| {
            Err(Wrong {
                what,
                expected: format!("{}: {:?}", known.name, known.truth),
                got: verdict.to_owned(),
            })
        };
        // What a search has to see everything for.
        let proved = if known.kind == REACH {
            "violated"
        } else {
            "holds"
        };
        match (verdict, known.truth) {
            ("holds", Truth::Violated) => wrong(format!("{} holds, but is violated", known.kind)),
            ("violated", Truth::Holds) => wrong(format!("{} violated, but holds", known.kind)),
            ("holds" | "violated", Truth::Unknown) => {
                wrong(format!("{} has an answer without a value", known.kind))
            }
            ("unknown", Truth::Undefined | Truth::Unknown) => Ok(()),
            (verdict, _) if lossy && verdict == proved => {
                wrong(format!("{} {proved} by a lossy store", known.kind))
            }
            ("unknown", _) if !lossy && !limited => {
                wrong(format!("{} unknown without a limit", known.kind))
            }
            ("holds" | "violated" | "unknown", _) => Ok(()),
            _ => wrong(format!("{} has no verdict", known.kind)),
        }
    }

    /// Looks at a counterexample.
    fn counterexample(&self, known: &Known, trace: &Value) -> Result<u64, Wrong> {
        if trace.is_null() {
            // Lossy stores cannot always tell.
            return Ok(0);
        }
        let mut looks = 0;
        let length = trace["stem"].as_array().map(Vec::len);
        if let Some(shortest) = known.shortest.filter(|_| !self.configuration.hunts) {
            looks += 1;
            if length != Some(shortest) {
                return Err(Wrong {
                    what: format!("length of a shortest counterexample of {}", known.kind),
                    expected: format!("{shortest} steps"),
                    got: format!("{length:?}: {trace}"),
                });
            }
        }
        if let Some(judge) = &self.judge {
            looks += 1;
            judge(&known.name, trace).map_err(|problem| Wrong {
                what: format!("counterexample of {}", known.kind),
                expected: "a run of the system that shows the violation".into(),
                got: format!("{problem}: {trace}"),
            })?;
        }
        Ok(looks)
    }
}

/// Whether a limit has cut something off that can be gone on with.
fn is_unfinished(run: &Run) -> bool {
    let answers = run
        .json
        .iter()
        .filter_map(|answer| answer["properties"].as_array());
    run.status == Status::Exit(3) || answers.flatten().any(|one| one["verdict"] == "unknown")
}

fn refusal(run: &Run) -> Judgement {
    let line = run.stderr.lines().next().unwrap_or_default();
    Judgement::Refused(line.to_owned())
}

/// Compares the lines of an examination.
fn examined(
    run: &Run,
    answers: &BTreeMap<String, String>,
    may_give_up: bool,
) -> Result<u64, Wrong> {
    for (beginning, expected) in answers {
        let mut lines = run.stdout.lines();
        let got = lines.find_map(|line| line.strip_prefix(beginning)?.strip_prefix(' '));
        let got = got.map(|rest| rest.split(' ').next().unwrap_or(rest));
        if may_give_up && matches!(got, None | Some("CANNOT_COMPUTE")) {
            continue;
        }
        if got != Some(expected.as_str()) {
            let question = beginning.split(' ').next_back().unwrap_or(beginning);
            let question = if question.starts_with("f-") {
                "formula"
            } else {
                question
            };
            let what = match got {
                None | Some("CANNOT_COMPUTE") => format!("no answer of mcc: {question}"),
                Some(_) => format!("answer of mcc: {question}"),
            };
            return Err(Wrong {
                what,
                expected: format!("{beginning} {expected}"),
                got: run.summary(),
            });
        }
    }
    match run.status {
        Status::Exit(0) => Ok(answers.len() as u64),
        Status::Exit(3) if may_give_up => Ok(1),
        _ => Err(Wrong {
            what: "status of mcc".into(),
            expected: "0".into(),
            got: run.summary(),
        }),
    }
}

/// A system, a question and a configuration, from which an experiment is made.
pub trait Attempt: Shrink {
    /// The experiment; `None` if nothing is known about the answer because the system is
    /// too large, or because it makes no sense.
    fn experiment(&self) -> Option<Experiment<'_>>;
}

/// Tries one after the other. The first one that goes wrong is made small.
pub fn attack<A: Attempt>(
    attempts: impl IntoIterator<Item = A>,
    subject: &Subject,
    coverage: &mut Coverage,
) -> Round {
    let mut round = Round::default();
    for attempt in attempts {
        let judgement = match attempt.experiment() {
            None => continue,
            Some(experiment) => {
                note(&experiment, coverage);
                experiment.perform(subject)
            }
        };
        match judgement {
            Judgement::Right(answers) => round.comparisons += answers,
            Judgement::Late => coverage.note(LATE),
            Judgement::Refused(message) => coverage.note(&format!("refused {}", general(&message))),
            Judgement::Wrong(wrong) => {
                round.mismatch = Some(smallest(attempt, &wrong, subject));
                return round;
            }
        }
    }
    round
}

/// A message without what it quotes.
fn general(message: &str) -> String {
    let mut kept = String::new();
    let mut quote = None;
    for c in message.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if ['`', '\'', '"'].contains(&c) => {
                quote = Some(c);
                kept.push('_');
            }
            None => kept.push(c),
        }
    }
    kept
}

fn note(experiment: &Experiment<'_>, coverage: &mut Coverage) {
    experiment.configuration.note(coverage);
    if let Expectation::Checked(known) = &experiment.expectation {
        for known in known {
            coverage.note(&format!("truth {} {:?}", known.kind, known.truth));
        }
    }
}

/// The smallest attempt that goes wrong in the same way, as a mismatch.
fn smallest<A: Attempt>(attempt: A, wrong: &Wrong, subject: &Subject) -> Mismatch {
    let same = |attempt: &A| {
        let judgement = attempt.experiment().map(|e| e.perform(subject));
        match judgement {
            Some(Judgement::Wrong(other)) if other.what == wrong.what => Some(other),
            _ => None,
        }
    };
    let mut last = wrong.clone();
    let smallest = minimise(attempt, subject.minimising, |candidate| {
        match same(candidate) {
            Some(wrong) => {
                last = wrong;
                true
            }
            None => false,
        }
    });
    let (files, arguments, before) = match smallest.experiment() {
        Some(experiment) => {
            let before = experiment.preparation();
            (experiment.files.clone(), experiment.command(), before)
        }
        None => Default::default(),
    };
    let before = before.map(|words| format!(" (after `stubborn {}`)", words.join(" ")));
    Mismatch {
        files,
        arguments,
        expected: last.expected + &before.unwrap_or_default(),
        got: last.got,
        what: last.what,
    }
}
