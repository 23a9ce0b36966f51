//! One run: a child process, and what it printed as a [`Record`].
//!
//! `stubborn` itself runs as a child, too, so that a crash or a lack of memory hurts one run
//! only. A configuration that it refuses (exit status 2) is recorded as not supported, with
//! its message.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::batch::{self, Member};
use crate::child::{self, Finished};
use crate::experiment::Tool;
use crate::machine::{self, Program};
use crate::peers;
use crate::plan::PlannedRun;
use crate::record::{CUT_SHORT, Limits, Outcome, Record};
use crate::workshop::Workshop;

/// The programs that runs need, and the machine.
#[derive(Debug)]
pub struct Bench {
    binary: PathBuf,
    programs: HashMap<Tool, Option<Program>>,
    machine: String,
    workshop: Workshop,
    prepared: Mutex<HashMap<String, Arc<Preparation>>>,
}

/// A number for its name, and the file once it is made.
type Preparation = (usize, OnceLock<Prepared>);

/// A file that was made before a run, or why there is none.
type Prepared = Result<PathBuf, (Outcome, String)>;

/// What a run has shown, before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) outcome: Outcome,
    pub(crate) message: Option<String>,
    pub(crate) states: Option<u64>,
    pub(crate) transitions: Option<u64>,
    pub(crate) deadlocks: Option<u64>,
    pub(crate) verdicts: Vec<String>,
    pub(crate) numbers: HashMap<String, f64>,
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
    pub(crate) build_seconds: Option<f64>,
    pub(crate) peak_bytes: Option<u64>,
}

impl Shown {
    /// No result.
    pub(crate) fn nothing(outcome: Outcome, message: impl Into<String>) -> Self {
        Self {
            outcome,
            message: Some(message.into()),
            states: None,
            transitions: None,
            deadlocks: None,
            verdicts: Vec::new(),
            numbers: HashMap::new(),
            cpu_seconds: 0.0,
            wall_seconds: 0.0,
            build_seconds: None,
            peak_bytes: None,
        }
    }
}

impl Bench {
    /// Uses this `stubborn`, and the peers on the path.
    pub fn new(binary: &Path) -> std::io::Result<Self> {
        let mut programs = HashMap::new();
        programs.insert(Tool::Stubborn, Some(Program::at(binary, "--version")?));
        for tool in [Tool::Spin, Tool::Rumur] {
            programs.insert(tool, peers::find(tool));
        }
        Ok(Self {
            binary: binary.to_owned(),
            programs,
            machine: machine::describe(),
            workshop: Workshop::default(),
            prepared: Mutex::default(),
        })
    }

    /// The fingerprint of a program, as results carry it.
    pub fn fingerprint(&self, tool: Tool) -> &str {
        let program = self.programs.get(&tool).and_then(Option::as_ref);
        program.map_or("", |program| &program.fingerprint)
    }

    /// Runs.
    pub fn run(&self, run: &PlannedRun) -> Record {
        let shown = match self.programs.get(&run.tool).and_then(Option::as_ref) {
            None => Shown::nothing(Outcome::NotInstalled, "not found on the path"),
            Some(_) => match run.tool {
                Tool::Stubborn => self.run_stubborn(run),
                Tool::Spin => peers::run_spin(run),
                Tool::Rumur => peers::run_rumur(run),
            },
        };
        self.sign(run, shown)
    }

    /// Runs several that one child can make together.
    pub(crate) fn run_together(&self, runs: &[&PlannedRun]) -> Vec<Record> {
        let members: Vec<Member> = runs.iter().filter_map(|run| Member::of(run)).collect();
        let (first, limits) = match runs {
            [first, _, ..] if members.len() == runs.len() => (first, first.limits),
            _ => return runs.iter().map(|run| self.run(run)).collect(),
        };
        let together = PlannedRun {
            words: batch::words(&members),
            limits: Limits {
                seconds: limits.seconds * runs.len() as f64,
                ..limits
            },
            ..(*first).clone()
        };
        let args = arguments(&together, None);
        let shown = match child::run(&self.binary, &args, None, together.limits) {
            Ok(finished) => batch::judge(&members, &finished),
            Err(error) => {
                vec![Shown::nothing(Outcome::Crashed, error.to_string()); runs.len()]
            }
        };
        let signed = runs.iter().zip(shown);
        signed.map(|(run, shown)| self.sign(run, shown)).collect()
    }

    /// The file that runs with the same preparation share, made once.
    fn prepared(&self, run: &PlannedRun, words: &[String]) -> Prepared {
        let name = format!("{} | {}", words.join(" "), run.model);
        let cell = {
            let mut all = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            let number = all.len();
            let cell = all
                .entry(name)
                .or_insert_with(|| Arc::new((number, OnceLock::new())));
            Arc::clone(cell)
        };
        let make = || {
            let crashed = |error: std::io::Error| (Outcome::Crashed, error.to_string());
            let folder = self.workshop.folder().map_err(crashed)?;
            let file = folder.join(format!("prepared-{}", cell.0));
            let args = with_model(words, &run.path, Some(&file));
            let done = child::run(&self.binary, &args, None, run.limits).map_err(crashed)?;
            match done.code {
                Some(0) => Ok(file),
                Some(2) => Err((Outcome::Unsupported, first_line(&done.stderr))),
                _ if done.out_of_time => Err((Outcome::TimeLimit, "while preparing".into())),
                _ if done.out_of_memory => Err((Outcome::MemoryLimit, "while preparing".into())),
                Some(3) => Err((Outcome::MemoryLimit, "while preparing".into())),
                _ => Err((Outcome::Crashed, first_line(&done.stderr))),
            }
        };
        cell.1.get_or_init(make).clone()
    }

    fn sign(&self, run: &PlannedRun, shown: Shown) -> Record {
        let program = self.programs.get(&run.tool).and_then(Option::as_ref);
        Record {
            key: run.key.clone(),
            model: run.model.clone(),
            tool: run.tool.name().into(),
            outcome: shown.outcome,
            message: shown.message,
            states: shown.states,
            transitions: shown.transitions,
            deadlocks: shown.deadlocks,
            verdicts: shown.verdicts,
            numbers: shown.numbers,
            cpu_seconds: shown.cpu_seconds,
            wall_seconds: shown.wall_seconds,
            build_seconds: shown.build_seconds,
            peak_bytes: shown.peak_bytes,
            limits: run.limits,
            version: program.map_or_else(String::new, |p| p.version.clone()),
            commit: program.and_then(|p| p.commit.clone()),
            fingerprint: self.fingerprint(run.tool).into(),
            machine: self.machine.clone(),
            finished: machine::now(),
        }
    }

    fn run_stubborn(&self, run: &PlannedRun) -> Shown {
        let file = match &run.prepare {
            None => None,
            Some(words) => match self.prepared(run, words) {
                Ok(file) => Some(file),
                Err((outcome, message)) => return Shown::nothing(outcome, message),
            },
        };
        let args = arguments(run, file.as_deref());
        match child::run(&self.binary, &args, None, run.limits) {
            Ok(finished) => judge(run, &finished),
            Err(error) => Shown::nothing(Outcome::Crashed, error.to_string()),
        }
    }
}

/// The words with model and file put in.
fn with_model(words: &[String], model: &Path, file: Option<&Path>) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut args: Vec<String> = words.to_vec();
    for word in &mut args {
        if let ("{file}", Some(file)) = (word.as_str(), file) {
            *word = text(file);
        }
    }
    if let Some(place) = args.iter_mut().find(|word| *word == "{model}") {
        *place = text(model);
    } else {
        args.insert(1.min(args.len()), text(model));
    }
    args
}

/// The whole command line: the model after the command, and limits that the program keeps.
fn arguments(run: &PlannedRun, file: Option<&Path>) -> Vec<String> {
    let mut args = with_model(&run.words, &run.path, file);
    if matches!(
        args.first().map(String::as_str),
        Some("explore" | "check" | "protocol")
    ) {
        args.extend(["--json", "--memory-limit"].map(str::to_owned));
        args.push(run.limits.bytes.to_string());
    }
    args
}

/// Reads what the program printed.
fn judge(run: &PlannedRun, finished: &Finished) -> Shown {
    let mut shown = Shown {
        outcome: Outcome::Done,
        message: None,
        cpu_seconds: finished.cpu_seconds,
        wall_seconds: finished.wall_seconds,
        peak_bytes: finished.peak_bytes,
        ..Shown::nothing(Outcome::Done, "")
    };
    let object: Value = serde_json::from_str(finished.stdout.trim()).unwrap_or_default();
    let number = |name: &str| object.get(name).and_then(Value::as_u64);
    shown.states = number("states");
    shown.transitions = number("transitions");
    shown.deadlocks = number("deadlocks");
    shown.verdicts = verdicts(&object);
    if let Some(fields) = object.as_object() {
        // Of a list, its length is a number worth keeping.
        let value = |v: &Value| v.as_f64().or(v.as_array().map(|list| list.len() as f64));
        let numeric = fields
            .iter()
            .filter_map(|(k, v)| Some((k.clone(), value(v)?)));
        let is_field = |name: &str| {
            let is_count = ["states", "deadlocks"].contains(&name);
            is_count || (name == "transitions" && shown.transitions.is_some())
        };
        shown.numbers = numeric.filter(|(name, _)| !is_field(name)).collect();
    }
    // A limit on states is part of a configuration, and reaching it is what was wanted.
    let asked_to_stop = run.words.iter().any(|word| word == "--max-states");
    let said = || first_line(&finished.stderr);
    shown.outcome = match finished.code {
        _ if finished.out_of_memory => Outcome::MemoryLimit,
        Some(0 | 1) if object.is_object() => Outcome::Done,
        Some(2) => Outcome::Unsupported,
        Some(3) if asked_to_stop && !finished.out_of_time => Outcome::Done,
        Some(3) if finished.out_of_time => Outcome::TimeLimit,
        Some(3) => Outcome::MemoryLimit,
        None if finished.out_of_time => Outcome::TimeLimit,
        _ => Outcome::Crashed,
    };
    if finished.code == Some(3) && shown.outcome == Outcome::Done {
        shown.numbers.insert(CUT_SHORT.to_owned(), 1.0);
    }
    if matches!(shown.outcome, Outcome::Unsupported | Outcome::Crashed) {
        shown.message = Some(said());
    }
    shown
}

fn verdicts(object: &Value) -> Vec<String> {
    let properties = object.get("properties").and_then(Value::as_array);
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let lines = properties.into_iter().flatten();
    lines
        .map(|p| format!("{}: {}", text(p, "name"), text(p, "verdict")))
        .collect()
}

/// The first line that says something, without `error:`.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or("no message").trim_start_matches("error: ");
    line.chars().take(300).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::corpus::ModelName;

    /// A run of these words on some model.
    pub(crate) fn planned(words: &str) -> PlannedRun {
        PlannedRun {
            key: String::new(),
            tool: Tool::Stubborn,
            words: words.split_whitespace().map(str::to_owned).collect(),
            prepare: None,
            model: ModelName("example:x.dve".into()),
            path: "x.dve".into(),
            limits: Limits {
                seconds: 1.0,
                bytes: 5,
            },
            cost: 1.0,
            alone: false,
        }
    }

    fn finished(code: Option<i32>, stdout: &str) -> Finished {
        Finished {
            code,
            out_of_time: false,
            out_of_memory: false,
            stdout: stdout.into(),
            stderr: "\nerror: no such flag\n".into(),
            cpu_seconds: 1.0,
            wall_seconds: 1.0,
            peak_bytes: None,
        }
    }

    #[test]
    fn the_model_follows_the_command() {
        let args = arguments(&planned("explore --por none"), None);
        let expected = [
            "explore",
            "x.dve",
            "--por",
            "none",
            "--json",
            "--memory-limit",
            "5",
        ];
        assert_eq!(args, expected);
        assert_eq!(
            arguments(&planned("inspect --all {model}"), None),
            ["inspect", "--all", "x.dve"]
        );
    }

    #[test]
    fn exits_are_told_apart() {
        let json = r#"{"states": 3, "transitions": 4, "complete": true,
            "properties": [{"name": "deadlock", "verdict": "violated"}]}"#;
        let run = planned("explore");
        let outcome = |code, stdout: &str| judge(&run, &finished(code, stdout)).outcome;
        assert_eq!(outcome(Some(0), json), Outcome::Done);
        assert_eq!(outcome(Some(1), json), Outcome::Done);
        assert_eq!(outcome(Some(0), "nonsense"), Outcome::Crashed);
        assert_eq!(outcome(Some(3), json), Outcome::MemoryLimit);
        assert_eq!(outcome(Some(70), ""), Outcome::Crashed);
        assert_eq!(outcome(None, ""), Outcome::Crashed);
        let stopped = judge(&planned("explore --max-states 3"), &finished(Some(3), json));
        assert_eq!(stopped.outcome, Outcome::Done);
        assert!(stopped.numbers.contains_key(CUT_SHORT));
        let refused = judge(&run, &finished(Some(2), ""));
        assert_eq!(refused.outcome, Outcome::Unsupported);
        assert_eq!(refused.message.as_deref(), Some("no such flag"));
        let done = judge(&run, &finished(Some(1), json));
        assert_eq!((done.states, done.transitions), (Some(3), Some(4)));
        assert_eq!(done.verdicts, ["deadlock: violated"]);
        let sample = judge(&planned("explore --max-states 9"), &finished(Some(3), json));
        assert_eq!(sample.outcome, Outcome::Done);
        let mut late = finished(Some(3), json);
        late.out_of_time = true;
        assert_eq!(judge(&run, &late).outcome, Outcome::TimeLimit);
    }
}
