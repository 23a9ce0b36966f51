//! `stubborn.toml`: which models of a folder are checked, how, and what is expected.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::Parser;
use serde::Deserialize;
use serde_json::Value;

use super::suite::{self, Job};
use crate::commands::read_toml;
use crate::exit::Failure;
use crate::options::{Cli, Command};

/// The name of the file.
pub(super) const NAME: &str = "stubborn.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    /// For every model that has none of its own.
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    model: Vec<Entry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    timeout: Option<f64>,
    memory: Option<String>,
    states: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    files: OneOrMore,
    /// As on the command line.
    #[serde(default)]
    options: Vec<String>,
    /// Only these.
    #[serde(default)]
    properties: Vec<String>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    expect: Expectation,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A verdict, or `error` for a model that is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wish {
    #[default]
    Holds,
    Violated,
    Unknown,
    Error,
}

impl Wish {
    fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
            Self::Error => "error",
        }
    }
}

/// What should come out: of everything together, or of properties by name; those that have no
/// name in the table should hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Expectation {
    Whole(Wished),
    Each(BTreeMap<String, Wished>),
}

/// (A type of its own keeps the wish private.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Wished(Wish);

impl Default for Expectation {
    fn default() -> Self {
        Self::Whole(Wished(Wish::Holds))
    }
}

impl Expectation {
    /// How a result differs from it, in words.
    pub(super) fn differences(&self, verdict: &str, object: &Value) -> Vec<String> {
        let differs = |what: &str, is: &str, wish: Wish| {
            (is != wish.name()).then(|| format!("{what}: {is}, expected: {}", wish.name()))
        };
        let each = match self {
            Self::Whole(wished) => {
                return differs("verdict", verdict, wished.0).into_iter().collect();
            }
            Self::Each(each) => each,
        };
        let Some(properties) = object["properties"].as_array() else {
            let message = object["error"]["message"].as_str().unwrap_or("no answer");
            return vec![format!("no verdicts: {message}")];
        };
        let is_named = |property: &Value, name: &String| {
            [&property["name"], &property["title"]].contains(&&Value::from(name.as_str()))
        };
        let mut all = Vec::new();
        for property in properties {
            let title = property["title"].as_str().unwrap_or("");
            let is = property["verdict"].as_str().unwrap_or("");
            let mut wished = each.iter().filter(|(name, _)| is_named(property, name));
            let first = wished.next();
            all.extend(differs(title, is, first.map_or(Wish::Holds, |(_, w)| w.0)));
            if let (Some((one, a)), Some((other, b))) = (first, wished.next())
                && a != b
            {
                all.push(format!(
                    "{title}: `{one}` and `{other}` are the same property, with different expectations"
                ));
            }
        }
        for name in each.keys() {
            if !properties.iter().any(|property| is_named(property, name)) {
                all.push(format!("there is no property `{name}`"));
            }
        }
        all
    }
}

/// The jobs of the suite in a folder.
pub(super) fn jobs(folder: &Path) -> Result<Vec<Job>, Failure> {
    let path = folder.join(NAME);
    let wrong = |message: String| Failure::wrong(format!("{}: {message}", path.display()));
    let file: SuiteFile = read_toml(&path)?;
    if file.model.is_empty() {
        return Err(wrong("there is no [[model]] in it".into()));
    }
    let mut jobs = Vec::new();
    for entry in file.model {
        let mut arguments = vec!["check".to_owned()];
        let mut add = |flag: &str, value: Option<String>| {
            arguments.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        };
        let seconds = entry.limits.timeout.or(file.limits.timeout);
        add("--timeout", seconds.map(|seconds| seconds.to_string()));
        let memory = entry.limits.memory.or_else(|| file.limits.memory.clone());
        add("--memory-limit", memory);
        let states = entry.limits.states.or(file.limits.states);
        add("--max-states", states.map(|states| states.to_string()));
        for name in entry.properties {
            add("--property", Some(name));
        }
        arguments.extend(entry.options);
        let patterns = match entry.files {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        };
        if patterns.is_empty() {
            return Err(wrong("`files` of a [[model]] is empty".into()));
        }
        are_options(&arguments).map_err(&wrong)?;
        let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
        for pattern in patterns {
            let files = suite::expanded(&folder.join(&pattern))?;
            if files.is_empty() {
                return Err(wrong(format!("no file is called `{pattern}`")));
            }
            for model in files {
                let file = |path: &Path| std::fs::canonicalize(path).ok();
                let is_same =
                    |job: &&Job| job.arguments == arguments && file(&job.model) == file(&model);
                let known = jobs.iter().find(is_same);
                if known.is_some_and(|job| job.expectation.as_ref() != Some(&entry.expect)) {
                    let model = model.display();
                    return Err(wrong(format!(
                        "{model} is named twice with the same options and different expectations"
                    )));
                }
                jobs.push(Job {
                    model,
                    arguments: arguments.clone(),
                    folder: Some(folder.to_owned()),
                    expectation: Some(entry.expect.clone()),
                });
            }
        }
    }
    Ok(jobs)
}

/// Refuses arguments that are no options of a check; in words.
fn are_options(arguments: &[String]) -> Result<(), String> {
    let words = std::iter::once("stubborn").chain(arguments.iter().map(String::as_str));
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Check(args)) => match args.models.first() {
            None => Ok(()),
            Some(model) => Err(format!(
                "`{}` in `options` is no option; models belong into `files`",
                model.display()
            )),
        },
        Ok(_) => Err("`options` are those of another command".into()),
        Err(error) if !error.use_stderr() => {
            Err("`options` ask for a text instead of verdicts, as --help does".into())
        }
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or("they cannot be read");
            Err(format!(
                "`options`: {}",
                first.trim_start_matches("error: ")
            ))
        }
    }
}
