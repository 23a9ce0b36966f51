//! Results: one line of JSON for each finished run, in a file that only grows.
//!
//! A line is written in one piece and forced to the disk before the run counts as finished,
//! so that a lab that is killed loses only what was running. What a kill leaves of a line
//! that was being written is cut off when the file is opened next.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::corpus::ModelName;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// With a result.
    Done,
    /// Without, because the program does not know the configuration (or refuses it).
    Unsupported,
    /// At the limit of time; the numbers are what was seen until then.
    TimeLimit,
    /// At the limit of memory; the numbers are what was seen until then.
    MemoryLimit,
    /// By a bug: a panic, a signal, nonsense instead of a result.
    Crashed,
    /// Not at all: the program is not installed.
    NotInstalled,
}

/// Among the numbers of a run that has ended where its configuration asked it to.
pub(crate) const CUT_SHORT: &str = "cut_short";

impl Outcome {
    /// Whether more generous limits could change it.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TimeLimit | Self::MemoryLimit)
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unsupported => "not supported",
            Self::TimeLimit => "time limit",
            Self::MemoryLimit => "memory limit",
            Self::Crashed => "crashed",
            Self::NotInstalled => "not installed",
        }
    }
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Of processor time.
    pub seconds: f64,
    /// Of memory.
    pub bytes: u64,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was run: program, words and model. The same for the same run, always.
    pub key: String,
    /// The model.
    pub model: ModelName,
    /// The program.
    pub tool: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it said, if it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// States.
    #[serde(default)]
    pub states: Option<u64>,
    /// Transitions.
    #[serde(default)]
    pub transitions: Option<u64>,
    /// States without a step.
    #[serde(default)]
    pub deadlocks: Option<u64>,
    /// Verdicts of properties, `name: verdict`, where any were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<String>,
    /// Other numbers that the program printed about the model.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub numbers: HashMap<String, f64>,
    /// Processor time of the whole run.
    pub cpu_seconds: f64,
    /// Time on the wall.
    pub wall_seconds: f64,
    /// Processor time to compile the model (peers only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_seconds: Option<f64>,
    /// Most memory at any time.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
    /// The limits it ran under.
    pub limits: Limits,
    /// What the program says about its version.
    pub version: String,
    /// The commit of the repository around the program, if there is one.
    #[serde(default)]
    pub commit: Option<String>,
    /// A fingerprint of the program's file: same number, same program.
    pub fingerprint: String,
    /// Processor, cores, memory and system.
    pub machine: String,
    /// When it finished, in UTC.
    pub finished: String,
}

impl Record {
    /// What must not depend on machine, time or interruptions.
    pub fn essence(&self) -> impl PartialEq + std::fmt::Debug + '_ {
        (
            &self.key,
            self.outcome,
            self.states,
            self.transitions,
            self.deadlocks,
            &self.verdicts,
        )
    }

    /// Processor time, with that to make and compile a program.
    pub fn whole_seconds(&self) -> f64 {
        self.cpu_seconds + self.build_seconds.unwrap_or(0.0)
    }

    /// Processor time for a state, without loading.
    pub fn state_seconds(&self) -> Option<f64> {
        let loading = self.numbers.get("load_seconds").copied().unwrap_or(0.0);
        Some((self.cpu_seconds - loading).max(0.001) / self.states?.max(1) as f64)
    }

    /// Seconds by the clock, without loading.
    pub fn clock_seconds(&self) -> Option<f64> {
        self.numbers.get("explore_seconds").copied()
    }

    /// Whether there is more than its numbers say: a limit was reached, be it the one that its
    /// configuration asked for.
    pub fn was_cut_short(&self) -> bool {
        self.outcome.is_limit() || self.numbers.contains_key(CUT_SHORT)
    }

    /// Whether running it again, by this program within these limits, could teach nothing.
    pub fn is_final(&self, fingerprint: &str, limits: Limits) -> bool {
        let is_limited = self.outcome.is_limit()
            && (self.limits.seconds < limits.seconds || self.limits.bytes < limits.bytes);
        self.fingerprint == fingerprint && !is_limited
    }
}

/// Why results cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be used.
    #[error("cannot use {path}: {error}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another lab writes to it.
    #[error("another lab is writing to {0}")]
    Busy(PathBuf),
}

/// All results of a file; the last one of each key counts.
#[derive(Clone, Debug, Default)]
pub struct Results {
    records: HashMap<String, Record>,
    /// Lines that are no result.
    pub unreadable: usize,
}

impl Results {
    /// Reads a file; one that does not exist has no results.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(file_error(path, error)),
        }
    }

    /// Reads lines.
    pub fn parse(text: &str) -> Self {
        let mut results = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match serde_json::from_str::<Record>(line) {
                Ok(record) => results.insert(record),
                Err(_) => results.unreadable += 1,
            }
        }
        results
    }

    /// Adds a result, instead of an older one. A result is not forgotten for a limit that
    /// struck earlier.
    pub fn insert(&mut self, record: Record) {
        let better = |old: &Record| {
            record.outcome.is_limit()
                && old.fingerprint == record.fingerprint
                && !old.outcome.is_limit()
        };
        if !self.records.get(&record.key).is_some_and(better) {
            self.records.insert(record.key.clone(), record);
        }
    }

    /// The result of a run.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.records.get(key)
    }

    /// All, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// The file that results are appended to.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Opens it, alone; makes it if need be; cuts off what a kill left of the last line.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let fail = |error| file_error(path, error);
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(LogError::Busy(path.into())),
            // Some file systems cannot lock; then nobody is protected from two labs.
            Err(std::fs::TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail)?;
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self {
            file,
            path: path.into(),
        })
    }

    /// Appends a result; when this returns, it is on the disk.
    pub fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let mut line = serde_json::to_string(record).unwrap_or_default();
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        let done = written.and_then(|()| self.file.sync_data());
        done.map_err(|error| file_error(&self.path, error))
    }
}

fn file_error(path: &Path, error: std::io::Error) -> LogError {
    LogError::File {
        path: path.into(),
        error,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record for tests.
    pub(crate) fn record(key: &str, states: u64) -> Record {
        Record {
            key: key.into(),
            model: ModelName("example:x".into()),
            tool: "stubborn".into(),
            outcome: Outcome::Done,
            message: None,
            states: Some(states),
            transitions: Some(2 * states),
            deadlocks: None,
            verdicts: Vec::new(),
            numbers: HashMap::new(),
            cpu_seconds: 1.0,
            wall_seconds: 1.0,
            build_seconds: None,
            peak_bytes: None,
            limits: Limits {
                seconds: 1.0,
                bytes: 1,
            },
            version: String::new(),
            commit: None,
            fingerprint: "f".into(),
            machine: String::new(),
            finished: String::new(),
        }
    }

    #[test]
    fn a_torn_line_is_cut_off_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/results.jsonl");
        let mut log = Log::open(&path).unwrap();
        log.append(&record("a", 1)).unwrap();
        log.append(&record("b", 2)).unwrap();
        drop(log);
        let text = std::fs::read_to_string(&path).unwrap();
        for cut in 1..text.len() / 2 - 1 {
            std::fs::write(&path, &text[..text.len() - cut]).unwrap();
            assert_eq!(
                Results::read(&path).unwrap().len(),
                if cut > 1 { 1 } else { 2 }
            );
            let mut log = Log::open(&path).unwrap();
            log.append(&record("c", 3)).unwrap();
            drop(log);
            let results = Results::read(&path).unwrap();
            assert_eq!(results.unreadable, 0, "cut {cut}");
            assert_eq!(results.get("a").unwrap().states, Some(1));
            assert_eq!(results.get("c").unwrap().states, Some(3));
        }
    }

    #[test]
    fn two_labs_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let _log = Log::open(&path).unwrap();
        assert!(matches!(Log::open(&path), Err(LogError::Busy(_))));
    }

    #[test]
    fn limits_are_tried_again_when_they_grow() {
        let mut limited = record("a", 1);
        limited.outcome = Outcome::TimeLimit;
        let same = limited.limits;
        let more = Limits {
            seconds: 2.0,
            ..same
        };
        assert!(limited.is_final("f", same));
        assert!(!limited.is_final("f", more));
        assert!(!limited.is_final("another", same));
        assert!(record("a", 1).is_final("f", more));
        // And a limit does not hide a result.
        let mut results = Results::default();
        results.insert(record("a", 1));
        results.insert(limited);
        assert_eq!(results.get("a").unwrap().outcome, Outcome::Done);
    }
}
