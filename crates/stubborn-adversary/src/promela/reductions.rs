//! Programs against themselves: every way to search must give the answers of the plain one,
//! the unreduced search by the interpreter, which keeps whole states.

use std::cell::OnceCell;
use std::process::Command;
use std::rc::Rc;

use crate::arena::{Arena, Mismatch, Round};
use crate::configuration::{self, Configuration, Task};
use crate::coverage::Coverage;
use crate::judge::{Attempt, Counts, Expectation, Experiment, Known, Truth, attack};
use crate::minimise::{Shrink, minimise, without_some};
use crate::random::Random;
use crate::subject::{Status, Subject};

use super::answers::{self, Answer, Verdict, first_words, note_program};
use super::ast::{Kind, Node, Style};
use super::generate::{Case, Features, case};
use super::spin::Spin;

/// More states than this are too many.
const STATES: &str = "4000";

/// Attacks on one program.
const ATTACKS: usize = 24;

/// Fewer on one that counts this far: each takes a hundred times as long.
const FAR: i64 = 1000;
const ATTACKS_ON_LONG: usize = 4;

/// Nor as many on one with so many transitions: half of all time would be spent on one program in twenty.
const MANY: u64 = 1500;
const ATTACKS_ON_LARGE: usize = 8;

/// Options for Promela alone; they keep verdicts, not sizes.
const SWITCHES: [&str; 3] = ["--merge", "--dead-variables", "--dead-locations"];

/// The arena `promela`.
#[derive(Debug)]
pub struct Reductions {
    features: Features,
    has_spin: bool,
}

impl Reductions {
    /// Programs with some of these features.
    pub fn new(features: Features) -> Self {
        let has_spin = Spin::find().is_ok();
        Self { features, has_spin }
    }
}

impl Arena for Reductions {
    fn name(&self) -> &'static str {
        "promela"
    }

    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut all = configuration::features(true);
        all.extend(SWITCHES.map(|switch| format!("option {switch}")));
        all.extend(answers::all_features());
        all.push("way validate".into());
        all.push("way trail".into());
        all
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let case = case(seed, &self.features);
        note_program(&case, coverage);
        let mut random = Random::new(seed ^ 0x5eed);
        let question = question(&case, &mut random);
        let plain = match Plain::ask(subject, &case, &question) {
            Ok(plain) => Rc::new(plain),
            Err(NoPlain::Wrong(mismatch)) => {
                let mismatch = Some(*mismatch);
                return Round {
                    comparisons: 1,
                    mismatch,
                };
            }
            Err(NoPlain::Late) => {
                coverage.note("skipped timeout");
                return limited(subject, &case);
            }
            Err(NoPlain::Skipped(why)) => {
                coverage.note(&format!("skipped {why}"));
                return Round::default();
            }
        };
        let far = |node: &Node| node.kind == Kind::Number && node.number >= FAR;
        let edges = plain.explored.number("transitions");
        let attacks = match case.program.any(&mut |node| far(node)) {
            true => ATTACKS_ON_LONG,
            false if edges > Some(MANY) => ATTACKS_ON_LARGE,
            false => ATTACKS,
        };
        let attempts: Vec<Attack<'_>> = (0..attacks)
            .map(|_| Attack::random(subject, &case, &question, &plain, &mut random))
            .collect();
        let mut round = attack(attempts, subject, coverage);
        let mut more = |chance, way: Way| {
            if round.mismatch.is_none() && random.chance(1, chance) {
                coverage.note(&format!("way {way:?}").to_lowercase());
                round.comparisons += 1;
                round.mismatch = way.attack(subject, &case, &mut random);
            }
        };
        more(8, Way::Validate);
        if self.has_spin && plain.checked.run.status == Status::Exit(1) {
            more(8, Way::Trail);
        }
        round
    }
}

/// A program that is hard to answer: a limit of time must be kept, whatever takes the time.
fn limited(subject: &Subject, case: &Case) -> Round {
    let folder = subject.folder(&[("m.pml".into(), case.program.text(Style::default()))]);
    let answer = Answer::ask(subject, folder.path(), case, "check", &["--timeout", "1"]);
    let kept = answer.run.status != Status::Timeout;
    Round {
        comparisons: 1,
        mismatch: (!kept).then(|| answer.mismatch(case, "limit of time", "an end after a second")),
    }
}

/// What is asked beyond what the model states, and what questions mean.
fn question(case: &Case, random: &mut Random) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut option = |words: &[&str]| {
        all.push(
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        );
    };
    let style = Style::default();
    let accept = case
        .program
        .any(&mut |n| n.kind == Kind::Label && n.name.starts_with("accept"));
    if accept {
        option(&["--acceptance"]);
    }
    // Most of a run's time is spent before it comes to a question.
    let count = |random: &mut Random, most| match random.chance(1, 3) {
        true => 0,
        false => 1 + random.below(most),
    };
    for (name, parts) in [("--invariant", &case.invariants), ("--ltl", &case.formulas)] {
        let texts = parts.iter().map(|part| part.expression_text(style));
        let mut texts: Vec<String> = texts.take(count(random, parts.len().max(1))).collect();
        texts.sort();
        texts.dedup();
        for text in texts {
            option(&[name, &text]);
        }
    }
    if random.chance(1, 8) {
        option(&["--deadlock"]);
    }
    if random.chance(1, 8) {
        option(&["--finite-runs", "ignore"]);
    }
    if random.chance(1, 8) {
        option(&["--fairness"]);
    }
    all
}

/// The answers that all others are compared with.
struct Plain {
    checked: Answer,
    explored: Answer,
}

/// Why there are none.
enum NoPlain {
    Wrong(Box<Mismatch>),
    Late,
    Skipped(&'static str),
}

impl Plain {
    fn ask(subject: &Subject, case: &Case, question: &[Vec<String>]) -> Result<Self, NoPlain> {
        let folder = subject.folder(&[("m.pml".into(), case.program.text(Style::default()))]);
        let plain = "--por none --engine interpreted --store plain --max-states";
        let mut words: Vec<&str> = plain.split(' ').collect();
        words.push(STATES);
        let explored = Answer::ask(subject, folder.path(), case, "explore", &words);
        words.extend(question.iter().flatten().map(String::as_str));
        let checked = Answer::ask(subject, folder.path(), case, "check", &words);
        for answer in [&explored, &checked] {
            if let Some(crash) = answer.run.crash() {
                let what = format!("crash: {}", first_words(&crash));
                let mismatch = answer.mismatch(case, &what, "no crash");
                return Err(NoPlain::Wrong(Box::new(mismatch)));
            }
            match answer.run.status {
                Status::Timeout => return Err(NoPlain::Late),
                Status::Over => return Err(NoPlain::Skipped("at the end")),
                Status::Exit(2) => return Err(NoPlain::Skipped("refused")),
                Status::Exit(3) => return Err(NoPlain::Skipped("too many states")),
                _ => {}
            }
        }
        Ok(Self { checked, explored })
    }

    /// Every property: its name, its kind, what is true of it, and the length of its trace.
    fn known(&self) -> Vec<Known> {
        let properties = self.checked.properties().into_iter().flatten();
        properties
            .filter_map(|property| {
                let name = property["name"].as_str()?.to_owned();
                let kinds = ["deadlock", "error", "assertion", "invariant", "ltl"];
                let kind = kinds.into_iter().find(|kind| property["kind"] == *kind)?;
                Some(Known {
                    truth: match self.checked.verdict(&name) {
                        Verdict::Holds => Truth::Holds,
                        Verdict::Violated => Truth::Violated,
                        Verdict::Unknown => Truth::Open,
                    },
                    name,
                    kind,
                    shortest: property["trace"]["stem"].as_array().map(Vec::len),
                    // Where an analysis finds that no step can fail, nothing is said about it; how much it
                    // finds depends on what is left out of the program.
                    is_optional: kind == "error",
                })
            })
            .collect()
    }

    fn counts(&self) -> Option<Counts> {
        let number = |name| self.explored.number(name).map(|number| number as usize);
        // There is one state for all that fails.
        let has_failure = self.checked.verdict("errors") != Verdict::Holds;
        Some(Counts {
            states: number("states")?,
            transitions: number("transitions")?,
            deadlocks: number("deadlocks")?.checked_sub(usize::from(has_failure))?,
            has_failure,
        })
    }
}

/// A program, what is asked, and in which way.
#[derive(Clone)]
struct Attack<'a> {
    subject: &'a Subject,
    case: Case,
    question: Vec<Vec<String>>,
    task: Task,
    configuration: Configuration,
    replay: bool,
    plain: OnceCell<Option<Rc<Plain>>>,
}

impl<'a> Attack<'a> {
    fn random(
        subject: &'a Subject,
        case: &Case,
        question: &[Vec<String>],
        plain: &Rc<Plain>,
        random: &mut Random,
    ) -> Self {
        let tasks = [
            Task::Explore,
            Task::ExploreReduced,
            Task::Safety,
            Task::Goals,
            Task::Temporal,
        ];
        let task = tasks[random.weighted(&[1, 2, 5, 3, 6])];
        let mut configuration = Configuration::random(random, task);
        // These are part of the question.
        let groups = &mut configuration.groups;
        groups.retain(|group| !["--finite-runs", "--fairness"].contains(&group[0].as_str()));
        // From 5 ms a run for the first ones to over 100 ms for the last ones and the default.
        groups.retain(|group| group[0] != "--relations");
        let level = random.weighted(&[20, 24, 10, 2, 1, 1]);
        let levels = ["sets", "syntax", "exact", "reach", "located"];
        if let (true, Some(level)) = (configuration.has("--por"), levels.get(level)) {
            configuration.push("--relations", Some(level));
        }
        if !matches!(task, Task::Explore | Task::ExploreReduced) {
            for switch in SWITCHES {
                if random.chance(1, 6) {
                    configuration.push(switch, None);
                }
            }
        }
        Self {
            subject,
            case: case.clone(),
            question: question.to_vec(),
            task,
            configuration,
            replay: random.chance(1, 6),
            plain: OnceCell::from(Some(Rc::clone(plain))),
        }
    }

    /// The same about another program or question.
    fn about(&self, case: Case, question: Vec<Vec<String>>) -> Self {
        Self {
            case,
            question,
            plain: OnceCell::new(),
            ..self.clone()
        }
    }

    /// Whether a property belongs to the task.
    fn asks(&self, known: &Known) -> bool {
        match self.task {
            Task::Safety => known.kind != "ltl",
            Task::Goals => !["ltl", "deadlock"].contains(&known.kind),
            _ => true,
        }
    }

    /// Whether counterexamples are as short as those of the plain search. (Whether a jump is a step hangs on
    /// whether some property that is asked about looks at its label.)
    fn is_shortest(&self) -> bool {
        let mut words = self.question.iter().flatten();
        if words.any(|word| word.contains('@'))
            || self.case.program.text(Style::default()).contains('@')
        {
            return false;
        }
        let longer = ["--order", "--por", "--threads"];
        let longer = longer.iter().chain(&SWITCHES);
        !longer
            .into_iter()
            .any(|option| self.configuration.has(option))
            && self.configuration.is_unreduced()
            && !self.configuration.is_lossy()
    }
}

impl Shrink for Attack<'_> {
    fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.replay {
            let replay = false;
            all.push(Self {
                replay,
                ..self.clone()
            });
        }
        for configuration in self.configuration.candidates() {
            all.push(Self {
                configuration,
                ..self.clone()
            });
        }
        for question in without_some(&self.question) {
            all.push(self.about(self.case.clone(), question));
        }
        for case in self.case.candidates() {
            all.push(self.about(case, self.question.clone()));
        }
        all
    }
}

impl Attempt for Attack<'_> {
    fn experiment(&self) -> Option<Experiment<'_>> {
        let ask = || Plain::ask(self.subject, &self.case, &self.question).ok();
        let plain = self.plain.get_or_init(|| ask().map(Rc::new)).as_ref()?;
        let (command, expectation) = match self.task {
            Task::Explore | Task::ExploreReduced => {
                ("explore", Expectation::Explored(plain.counts()?))
            }
            _ => {
                let mut known = plain.known();
                known.retain(|known| self.asks(known));
                for known in &mut known {
                    known.shortest = known
                        .shortest
                        .filter(|_| known.kind != "ltl" && self.is_shortest());
                }
                ("check", Expectation::Checked(known))
            }
        };
        let mut arguments = answers::model_arguments(command, &self.case);
        // The experiment adds it.
        arguments.retain(|argument| argument != "--json");
        let mut replay = None;
        if let Expectation::Checked(known) = &expectation {
            if known.is_empty() {
                return None;
            }
            let asked = self
                .question
                .iter()
                .filter(|words| match words[0].as_str() {
                    "--acceptance" | "--ltl" => self.task == Task::Temporal,
                    "--deadlock" => self.task != Task::Goals,
                    _ => true,
                });
            arguments.extend(asked.flatten().cloned());
            if self.task != Task::Temporal {
                // What options add is asked in any case.
                let own = |known: &&Known| known.kind != "invariant" && known.name != "deadlock";
                let own: Vec<&Known> = known.iter().filter(own).collect();
                if own.is_empty() {
                    arguments.push("--only".to_owned());
                }
                for known in own {
                    arguments.extend(["--property".to_owned(), known.name.clone()]);
                }
            }
            if self.replay {
                let mut words = answers::model_arguments("simulate", &self.case);
                let switches = SWITCHES.iter().filter(|s| self.configuration.has(s));
                words.extend(switches.map(|switch| (*switch).to_owned()));
                words.extend(["--replay".to_owned(), "trace.json".to_owned()]);
                replay = Some(words);
            }
        }
        Some(Experiment {
            files: vec![("m.pml".into(), self.case.program.text(Style::default()))],
            arguments,
            configuration: &self.configuration,
            expectation,
            replay,
            // They change the number of steps, which such a property may depend on.
            may_give_up: self.task == Task::Temporal
                && (self.configuration.has("--merge")
                    || self.configuration.has("--dead-locations")),
            judge: None,
        })
    }
}

/// Other ways to find something wrong.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// By what the program says of its own reduction.
    Validate,
    /// By a counterexample that SPIN cannot follow.
    Trail,
}

impl Way {
    fn attack(self, subject: &Subject, case: &Case, random: &mut Random) -> Option<Mismatch> {
        let words = match self {
            Self::Validate => {
                let sets = Configuration::random(random, Task::ExploreReduced);
                let own = ["--por", "--weak", "--no-nds", "--start", "--scapegoat"];
                let kept = sets
                    .groups
                    .into_iter()
                    .filter(|group| own.contains(&group[0].as_str()));
                let mut words = kept.collect::<Vec<_>>().concat();
                let level = *random.pick(&["sets", "syntax", "exact"]);
                words.extend(["--relations".to_owned(), level.to_owned()]);
                words
            }
            Self::Trail => vec!["--trail".to_owned()],
        };
        let found = self.mismatch(subject, case, &words)?;
        let again = |case: &Case| self.mismatch(subject, case, &words);
        let smallest = minimise(case.clone(), subject.minimising, |smaller| {
            again(smaller).is_some_and(|mismatch| mismatch.what == found.what)
        });
        again(&smallest).or(Some(found))
    }

    fn mismatch(self, subject: &Subject, case: &Case, words: &[String]) -> Option<Mismatch> {
        let folder = subject.folder(&[("m.pml".into(), case.program.text(Style::default()))]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = match self {
            Self::Validate => "validate",
            Self::Trail => "check",
        };
        let answer = Answer::ask(subject, folder.path(), case, command, &words);
        if let Some(crash) = answer.run.crash() {
            let what = format!("crash: {}", first_words(&crash));
            return Some(answer.mismatch(case, &what, "no crash"));
        }
        if answer.run.status != Status::Exit(1) {
            return None;
        }
        if let Self::Validate = self {
            return Some(answer.mismatch(case, "validate", "a valid reduction"));
        }
        let mut spin = Command::new("spin");
        spin.args(["-t", "m.pml"]);
        let run = subject.child(folder.path(), spin, answers::TIME);
        let lost = ["doesn't match", "lost trail", "cannot find pid"];
        if !lost.iter().any(|word| run.stdout.contains(word)) {
            return None;
        }
        let mut mismatch = answer.mismatch(case, "trail", "a trail that `spin -t` follows");
        mismatch.got = run.summary();
        Some(mismatch)
    }
}
