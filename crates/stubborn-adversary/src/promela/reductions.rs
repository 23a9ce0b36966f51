//! Programs against themselves: every way to search must give the verdicts of the plain one,
//! the unreduced search by the interpreter, which keeps whole states.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::arena::{Arena, Mismatch, Round};
use crate::coverage::Coverage;
use crate::minimise::{Shrink, minimise, without_some};
use crate::random::Random;
use crate::subject::{Folder, Status, Subject};

use super::answers::{self, Answer, Verdict, first_words, note_program};
use super::ast::{Kind, Style};
use super::configuration::{self, Options};
use super::generate::{Case, Features, case};
use super::spin::Spin;

/// More states than this are too many.
const STATES: u64 = 4000;

/// How long a mismatch is made smaller.
const MINIMISING: Duration = Duration::from_secs(60);

/// Kinds of properties that are about reaching something.
const GOALS: &[&str] = &["assertion", "error", "invariant"];

/// Attacks on one program.
const ATTACKS: usize = 24;

/// The arena `promela`.
#[derive(Debug)]
pub struct Reductions {
    features: Features,
    spin: bool,
}

impl Reductions {
    /// Programs with some of these features.
    pub fn new(features: Features) -> Self {
        let spin = Spin::find().is_ok();
        Self { features, spin }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Verdicts.
    Check,
    /// Verdicts, or no answer: with a limit.
    Limited,
    /// Sizes, or what is left of them.
    Explore,
    /// What the program says of its own reduction.
    Validate,
    /// Whether a saved counterexample can be followed.
    Replay,
    /// Whether SPIN can follow a counterexample.
    Trail,
}

/// A program, what is asked, and in which way.
#[derive(Clone, Debug)]
struct Attack {
    case: Case,
    question: Options,
    way: Way,
    options: Options,
}

impl Shrink for Attack {
    fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for options in without_some(&self.options) {
            all.push(Self {
                options,
                ..self.clone()
            });
        }
        for question in without_some(&self.question) {
            all.push(Self {
                question,
                ..self.clone()
            });
        }
        for case in self.case.candidates() {
            all.push(Self {
                case,
                ..self.clone()
            });
        }
        all
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
        let mut all = configuration::all();
        let ways = [
            Way::Check,
            Way::Limited,
            Way::Explore,
            Way::Validate,
            Way::Replay,
            Way::Trail,
        ];
        all.extend(ways.map(|way| format!("way {way:?}")));
        all.extend(answers::all_features());
        all
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let case = case(seed, &self.features);
        note_program(&case, coverage);
        let mut random = Random::new(seed ^ 0x5eed);
        let question = question(&case, &mut random);
        let mut round = Round::default();
        let plain = match Plain::ask(subject, &case, &question) {
            Ok(plain) => plain,
            Err(Verdictless::Wrong(mismatch)) => {
                round.mismatch = Some(*mismatch);
                return round;
            }
            Err(Verdictless::Skipped(why)) => {
                coverage.note(&format!("skipped {why}"));
                return round;
            }
        };
        for _ in 0..ATTACKS {
            let attack = self.attack(&case, &question, &plain, &mut random);
            for option in attack
                .options
                .iter()
                .filter(|option| option[0] != "--property")
            {
                coverage.note(&configuration::noted(option));
            }
            coverage.note(&format!("way {:?}", attack.way));
            let (comparisons, mismatch) = attack.judge(subject, &plain, coverage);
            round.comparisons += comparisons;
            if let Some(found) = mismatch {
                round.mismatch = Some(attack.minimised(subject, found));
                break;
            }
        }
        round
    }
}

/// What is asked beyond what the model states.
fn question(case: &Case, random: &mut Random) -> Options {
    let mut all = Vec::new();
    let style = Style::default();
    if case
        .program
        .any(&mut |n| n.kind == Kind::Label && n.name.starts_with("accept"))
    {
        all.push(vec!["--acceptance".to_owned()]);
    }
    if random.chance(1, 4) {
        all.push(vec![
            "--invariant".to_owned(),
            case.invariant.expression_text(style),
        ]);
    }
    if random.chance(1, 3) {
        all.push(vec![
            "--ltl".to_owned(),
            case.formula.expression_text(style),
        ]);
    }
    if random.chance(1, 8) {
        all.push(vec!["--deadlock".to_owned()]);
    }
    if random.chance(1, 8) {
        all.push(vec!["--finite-runs".to_owned(), "ignore".to_owned()]);
    }
    if random.chance(1, 8) {
        all.push(vec!["--fairness".to_owned()]);
    }
    all
}

/// The answers that all others are compared with.
struct Plain {
    folder: Folder,
    checked: Answer,
    explored: Answer,
}

/// Why there are none.
enum Verdictless {
    Wrong(Box<Mismatch>),
    Skipped(&'static str),
}

impl Plain {
    fn ask(subject: &Subject, case: &Case, question: &Options) -> Result<Self, Verdictless> {
        let text = case.program.text(Style::default());
        let folder = subject.folder(&[("m.pml".into(), text)]);
        let limit = STATES.to_string();
        let plain = [
            "--engine",
            "interpreted",
            "--store",
            "plain",
            "--max-states",
            &limit,
        ];
        let mut words = vec!["--por", "none"];
        words.extend(plain);
        let explored = Answer::ask(subject, folder.path(), case, "explore", &words);
        words.extend(question.iter().flatten().map(String::as_str));
        let checked = Answer::ask(subject, folder.path(), case, "check", &words);
        for answer in [&explored, &checked] {
            if let Some(crash) = answer.run.crash() {
                let what = format!("crash: {}", first_words(&crash));
                let mismatch = answer.mismatch(case, &what, "no crash");
                return Err(Verdictless::Wrong(Box::new(mismatch)));
            }
            match answer.run.status {
                Status::Timeout => return Err(Verdictless::Skipped("timeout")),
                Status::Exit(2) => return Err(Verdictless::Skipped("refused")),
                Status::Exit(3) => return Err(Verdictless::Skipped("too many states")),
                _ => {}
            }
        }
        Ok(Self {
            folder,
            checked,
            explored,
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn violated(&self) -> bool {
        self.checked.run.status == Status::Exit(1)
    }
}

impl Reductions {
    fn attack(
        &self,
        case: &Case,
        question: &Options,
        plain: &Plain,
        random: &mut Random,
    ) -> Attack {
        let way = match random.below(32) {
            0..=3 => Way::Explore,
            4 if random.chance(1, 3) => Way::Validate,
            5 | 6 => Way::Limited,
            7..=9 if plain.violated() => Way::Replay,
            10 if plain.violated() && self.spin => Way::Trail,
            _ => Way::Check,
        };
        let mut options = configuration::search(random);
        options.extend(configuration::reduction(random));
        match way {
            Way::Explore => {}
            Way::Validate => {
                let known = [
                    "--engine",
                    "--merge",
                    "--dead-variables",
                    "--dead-locations",
                ];
                let searching = ["--order", "--threads", "--store"];
                options.retain(|o| {
                    known.contains(&o[0].as_str()) || !searching.contains(&o[0].as_str())
                });
            }
            _ => {
                options.extend(configuration::proviso(random));
                options.extend(configuration::temporal(random));
            }
        }
        if options[..].iter().any(|option| option[1..] == ["goal"]) && way != Way::Explore {
            // It answers everything but deadlocks, and nothing temporal.
            for property in plain.checked.properties().into_iter().flatten() {
                let kind = property["kind"].as_str().unwrap_or_default();
                if let (Some(name), true) = (property["name"].as_str(), GOALS.contains(&kind)) {
                    options.push(vec!["--property".to_owned(), name.to_owned()]);
                }
            }
        }
        match way {
            Way::Limited => options.push(match random.below(3) {
                0 => vec!["--max-states".to_owned(), random.between(1, 60).to_string()],
                1 => vec!["--memory-limit".to_owned(), "40K".to_owned()],
                _ => vec!["--timeout".to_owned(), "3".to_owned()],
            }),
            // A trail counts every step.
            Way::Trail => {
                options.retain(|o| !["--dead-locations", "--merge"].contains(&o[0].as_str()))
            }
            _ => {}
        }
        Attack {
            case: case.clone(),
            question: question.clone(),
            way,
            options,
        }
    }
}

impl Attack {
    /// The smallest attack that finds the same, and what it finds.
    fn minimised(self, subject: &Subject, found: Mismatch) -> Mismatch {
        let again = |attack: &Attack| {
            let plain = Plain::ask(subject, &attack.case, &attack.question).ok()?;
            attack.judge(subject, &plain, &mut Coverage::default()).1
        };
        let smallest = minimise(self, MINIMISING, |smaller| {
            again(smaller).is_some_and(|mismatch| mismatch.what == found.what)
        });
        again(&smallest).unwrap_or(found)
    }

    fn ask(&self, subject: &Subject, plain: &Plain, command: &str, more: &[&str]) -> Answer {
        let mut words: Vec<&str> = Vec::new();
        if command == "check" {
            words.extend(self.question.iter().flatten().map(String::as_str));
        }
        words.extend(self.options.iter().flatten().map(String::as_str));
        words.extend(more);
        Answer::ask(subject, plain.path(), &self.case, command, &words)
    }

    /// How many answers were compared, and the first wrong one.
    fn judge(
        &self,
        subject: &Subject,
        plain: &Plain,
        coverage: &mut Coverage,
    ) -> (u64, Option<Mismatch>) {
        let answer = match self.way {
            Way::Check | Way::Limited => self.ask(subject, plain, "check", &[]),
            Way::Explore => self.ask(subject, plain, "explore", &[]),
            Way::Validate => self.ask(subject, plain, "validate", &[]),
            Way::Replay => self.ask(subject, plain, "check", &["--trace", "t.json"]),
            Way::Trail => self.ask(subject, plain, "check", &["--trail"]),
        };
        if let Some(crash) = answer.run.crash() {
            let what = format!("crash: {}", first_words(&crash));
            return (1, Some(answer.mismatch(&self.case, &what, "no crash")));
        }
        if answer.refused() {
            coverage.note(&format!("refused {}", first_words(&answer.run.stderr)));
            return (0, None);
        }
        if answer.run.status == Status::Timeout {
            coverage.note("skipped timeout");
            return (0, None);
        }
        match self.way {
            Way::Check | Way::Limited => self.judge_verdicts(&answer, plain, coverage),
            Way::Explore => (1, self.judge_sizes(&answer, plain)),
            Way::Validate => {
                let wrong = answer.run.status == Status::Exit(1);
                let wrong =
                    wrong.then(|| answer.mismatch(&self.case, "validate", "a valid reduction"));
                (1, wrong)
            }
            Way::Replay | Way::Trail => {
                let (comparisons, wrong) = self.judge_verdicts(&answer, plain, coverage);
                let wrong = wrong.or_else(|| match self.way {
                    Way::Replay => self.judge_replay(subject, plain, &answer),
                    _ => self.judge_trail(subject, plain, &answer),
                });
                (comparisons + 1, wrong)
            }
        }
    }

    fn has(&self, words: &[&str]) -> bool {
        self.options
            .iter()
            .any(|option| words.iter().all(|word| option.iter().any(|o| o == word)))
    }

    /// Whether a search may overlook states, and must not say that something holds.
    fn lossy(&self) -> bool {
        self.has(&["bitstate"]) || self.has(&["compact"])
    }

    fn judge_verdicts(
        &self,
        answer: &Answer,
        plain: &Plain,
        coverage: &mut Coverage,
    ) -> (u64, Option<Mismatch>) {
        let mut comparisons = 0;
        let properties = plain.checked.properties().map_or(&[][..], Vec::as_slice);
        let mut unknown = false;
        for property in properties {
            let Some(name) = property["name"].as_str() else {
                continue;
            };
            if self.has(&["--property"]) && !self.has(&[name]) {
                continue;
            }
            comparisons += 1;
            let kind = property["kind"].as_str().unwrap_or_default();
            let (expected, got) = (plain.checked.verdict(name), answer.verdict(name));
            coverage.note(&format!("verdict {kind} {got:?}"));
            unknown |= got == Verdict::Unknown;
            let right = match got {
                Verdict::Unknown => self.way == Way::Limited || self.lossy(),
                // A lossy store that has overlooked nothing it knows of.
                Verdict::Holds if self.lossy() => false,
                got => got == expected,
            };
            if !right {
                let what = format!("{kind}: {got:?} instead of {expected:?}");
                let expected = format!("{name}: {expected:?}");
                return (
                    comparisons,
                    Some(answer.mismatch(&self.case, &what, &expected)),
                );
            }
        }
        let violated = |p: &Value| p["verdict"] == "violated";
        let said = answer
            .properties()
            .is_some_and(|all| all.iter().any(violated));
        let expected = match (said, unknown) {
            (true, _) => 1,
            (false, true) => 3,
            (false, false) => 0,
        };
        let right = answer.run.status == Status::Exit(expected);
        let wrong = (!right).then(|| {
            answer.mismatch(
                &self.case,
                "exit status",
                &format!("exit status {expected}"),
            )
        });
        (comparisons, wrong)
    }

    fn judge_sizes(&self, answer: &Answer, plain: &Plain) -> Option<Mismatch> {
        if self.lossy() {
            return None;
        }
        let numbers = |name: &str| Some((plain.explored.number(name)?, answer.number(name)?));
        let differs = |name: &str| numbers(name).is_none_or(|(a, b)| a != b);
        let grows = |name: &str| numbers(name).is_none_or(|(a, b)| a < b);
        let fewer = self.has(&["--merge"])
            || self.has(&["--dead-variables"])
            || self.has(&["--dead-locations"]);
        let full = self.has(&["none"]) || self.has(&["auto"]);
        // Merging may add states, SPIN's does as well.
        let states = match (full, fewer) {
            (_, true) if self.has(&["--merge"]) => None,
            (true, false) => Some(differs("states") || differs("transitions")),
            _ => Some(grows("states")),
        };
        let ends = !fewer && (differs("invalid_ends") || self.loses_deadlocks(plain, &differs));
        let what = match (states, ends) {
            (Some(true), _) => "size",
            (_, true) => "number of deadlocks",
            _ => return None,
        };
        Some(answer.mismatch(&self.case, what, &plain.explored.run.stdout))
    }

    /// A state of failure has no successors, and a reduction may miss it.
    fn loses_deadlocks(&self, plain: &Plain, differs: &impl Fn(&str) -> bool) -> bool {
        plain.checked.verdict("errors") == Verdict::Holds && differs("deadlocks")
    }

    fn judge_replay(&self, subject: &Subject, plain: &Plain, found: &Answer) -> Option<Mismatch> {
        if found.run.status != Status::Exit(1) {
            return None;
        }
        let mut arguments = answers::model_arguments("simulate", &self.case);
        for switch in ["--merge", "--dead-variables", "--dead-locations"] {
            if self.has(&[switch]) {
                arguments.push(switch.to_owned());
            }
        }
        arguments.extend(["--replay".to_owned(), "t.json".to_owned()]);
        let run = subject.run(plain.path(), &arguments, answers::TIME);
        let replayed = Answer { arguments, run };
        if replayed.run.status == Status::Exit(0) || replayed.run.status == Status::Timeout {
            return None;
        }
        let mut mismatch = replayed.mismatch(&self.case, "replay", "the run that was saved");
        let trace = fs::read_to_string(plain.path().join("t.json")).unwrap_or_default();
        mismatch.files.push(("t.json".to_owned(), trace));
        mismatch.got = format!("saved by: {}\n{}", found.arguments.join(" "), mismatch.got);
        Some(mismatch)
    }

    fn judge_trail(&self, subject: &Subject, plain: &Plain, found: &Answer) -> Option<Mismatch> {
        let trail = plain.path().join("m.pml.trail");
        if found.run.status != Status::Exit(1) || !trail.exists() {
            return None;
        }
        let mut command = Command::new("spin");
        command.args(["-t", "m.pml"]);
        let run = subject.child(plain.path(), command, answers::TIME);
        let _ = fs::remove_file(trail);
        let lost = ["doesn't match", "lost trail", "cannot find pid"];
        let wrong = lost.iter().any(|word| run.stdout.contains(word));
        if !wrong {
            return None;
        }
        let mut mismatch = found.mismatch(&self.case, "trail", "a trail that `spin -t` follows");
        mismatch.got = run.summary();
        Some(mismatch)
    }
}
