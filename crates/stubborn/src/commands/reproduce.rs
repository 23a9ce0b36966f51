//! `stubborn reproduce`: a command with its files, options, version and result in one file, which
//! runs again and compares.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stubborn::Language;

use super::{read_file, write_file};
use crate::exit::{Failure, Status};
use crate::options::{Cli, Command as Asked, ReproduceArgs};
use crate::terminal::{Paint, counted, print};

/// The first words of a bundle.
const FORMAT: &str = "stubborn bundle";
const VERSION: u32 = 1;
/// What differs from run to run, and from machine to machine.
const INCIDENTAL: [&str; 8] = [
    "load_seconds",
    "explore_seconds",
    "seconds",
    "after_seconds",
    "peak_memory_bytes",
    "bytes_per_state",
    "covered",
    "threads",
];

/// A command with everything that it needs, and what came out.
#[derive(Debug, Serialize, Deserialize)]
struct Bundle {
    format: String,
    version: u32,
    /// Of the program that wrote it.
    stubborn: String,
    /// Without the name of the program; files by their names in `files`.
    command: Vec<String>,
    /// Name to text.
    files: BTreeMap<String, String>,
    exit_status: i32,
    result: Value,
}

pub(crate) fn run(args: &ReproduceArgs) -> Result<Status, Failure> {
    if args.command.is_empty() {
        return reproduce(&args.bundle);
    }
    let mut bundle = Bundle {
        format: FORMAT.into(),
        version: VERSION,
        stubborn: env!("CARGO_PKG_VERSION").into(),
        command: Vec::new(),
        files: BTreeMap::new(),
        exit_status: 0,
        result: Value::Null,
    };
    for argument in &args.command {
        let path = Path::new(argument);
        let Some(name) = path.file_name().filter(|_| path.is_file()) else {
            bundle.command.push(argument.clone());
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        add(&mut bundle.files, path, &name)?;
        bundle.command.push(name);
    }
    if !bundle.command.iter().any(|argument| argument == "--json") {
        bundle.command.insert(1, "--json".into());
    }
    let folder = Folder::new()?;
    (bundle.exit_status, bundle.result) = result_of(&bundle, &folder)?;
    // What the command has written belongs to whoever has given it.
    for name in folder.written(&bundle) {
        let moved = std::fs::copy(folder.0.join(&name), &name);
        moved
            .map_err(|error| Failure::wrong(format!("cannot write {}: {error}", name.display())))?;
    }
    // Wrong models are results, too; what is no command has none.
    let error = &bundle.result["error"];
    if error["kind"] == "command" {
        let message = error["message"].as_str().unwrap_or_default();
        return Err(Failure::wrong(format!("nothing is recorded: {message}")));
    }
    let text = serde_json::to_string_pretty(&bundle).unwrap_or_default();
    write_file(&args.bundle, &(text + "\n"))?;
    let status = bundle.exit_status;
    let files = counted(bundle.files.len() as u64, "file");
    print(&format!(
        "{}: exit status {status}, with {files}\n",
        args.bundle.display()
    ));
    Ok(Status::Fine)
}

/// Takes a file into the bundle, and what it includes.
fn add(files: &mut BTreeMap<String, String>, path: &Path, name: &str) -> Result<(), Failure> {
    let text = read_file(path)?;
    match files.insert(name.to_owned(), text.clone()) {
        Some(before) if before != text => {
            return Err(Failure::wrong(format!(
                "two different files are called {name}"
            )));
        }
        Some(_) => return Ok(()),
        None => {}
    }
    for line in text.lines().map(str::trim_start) {
        let included = line.strip_prefix("#include").map(str::trim);
        let Some(included) = included.and_then(|rest| rest.strip_prefix('"')?.split('"').next())
        else {
            continue;
        };
        let beside = path.with_file_name(included);
        if beside.is_file() {
            let inside = Path::new(name).with_file_name(included);
            add(files, &beside, &inside.to_string_lossy())?;
        }
    }
    Ok(())
}

/// Refuses commands that do anything but look at the files of the bundle: it may come from anybody.
fn is_harmless(command: &[String]) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::wrong(format!("a bundle must not {why}")));
    let words = std::iter::once("stubborn").chain(command.iter().map(String::as_str));
    let checks = match Cli::try_parse_from(words) {
        // Whoever runs it says what is wrong with it.
        Err(error) if error.use_stderr() => return Ok(()),
        Err(_) => false,
        Ok(cli) => matches!(
            cli.command,
            Asked::Check(_)
                | Asked::Hunt(_)
                | Asked::Explore(_)
                | Asked::TraceCheck(_)
                | Asked::Protocol(_)
                | Asked::Inspect(_)
        ),
    };
    if !checks {
        let name = command.first().map_or("", String::as_str);
        return refused(format!("run `{name}`, only commands that check a model"));
    }
    for word in command {
        let value = word
            .split_once('=')
            .map_or(word.as_str(), |(_, value)| value);
        let is_outside = |text: &str| {
            let outside = |part: Component<'_>| {
                matches!(
                    part,
                    Component::ParentDir | Component::RootDir | Component::Prefix(_)
                )
            };
            Path::new(text).components().any(outside)
        };
        if is_outside(word) || is_outside(value) {
            return refused(format!("name files outside of it: `{word}`"));
        }
        let is_of_module =
            |text: &str| Language::of_path(Path::new(text)) == Some(Language::Module);
        if is_of_module(word) || is_of_module(value) || value == Language::Module.name() {
            return refused(format!("run programs: `{word}`"));
        }
        if ["--listen", "--join"]
            .iter()
            .any(|flag| word.starts_with(flag))
        {
            return refused(format!("speak to other machines: `{word}`"));
        }
    }
    Ok(())
}

/// Runs the command of a bundle in a folder of its own.
fn result_of(bundle: &Bundle, folder: &Folder) -> Result<(i32, Value), Failure> {
    is_harmless(&bundle.command)?;
    let failed = |error: std::io::Error| Failure::wrong(format!("cannot run the bundle: {error}"));
    for (name, text) in &bundle.files {
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(name).components().all(is_inside) {
            return Err(Failure::wrong(format!(
                "the file {name} is not inside the bundle"
            )));
        }
        let path = folder.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(path, text).map_err(failed)?;
    }
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    let output = command
        .args(&bundle.command)
        .current_dir(&folder.0)
        .output();
    let output = output.map_err(failed)?;
    let result = serde_json::from_slice(&output.stdout).map_err(|error| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Failure::wrong(format!("the command prints no object ({error})\n{errors}"))
    })?;
    Ok((output.status.code().unwrap_or(-1), result))
}

/// Gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("stubborn-bundle-{}", std::process::id()));
        let folder = Self(path);
        let made = std::fs::create_dir_all(&folder.0);
        made.map_err(|error| Failure::wrong(format!("cannot run the bundle: {error}")))?;
        Ok(folder)
    }

    /// The files in it that are not as the bundle has them, by their names.
    fn written(&self, bundle: &Bundle) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        let names = files.map(|entry| PathBuf::from(entry.file_name()));
        let is_new = |name: &PathBuf| {
            let text = std::fs::read_to_string(self.0.join(name)).ok();
            text.is_none() || text.as_ref() != bundle.files.get(&*name.to_string_lossy())
        };
        let mut new: Vec<PathBuf> = names.filter(is_new).collect();
        new.sort_unstable();
        new
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn reproduce(path: &Path) -> Result<Status, Failure> {
    let shown = path.display();
    let bundle: Option<Bundle> = serde_json::from_str(&read_file(path)?).ok();
    let is_ours = |bundle: &Bundle| bundle.format == FORMAT && bundle.version == VERSION;
    let Some(bundle) = bundle.filter(is_ours) else {
        return Err(Failure::wrong(format!(
            "{shown} is no bundle of this version; `stubborn reproduce FILE -- check MODEL` writes one"
        )));
    };
    let folder = Folder::new()?;
    let (status, result) = result_of(&bundle, &folder)?;
    let mut differences = Vec::new();
    if status != bundle.exit_status {
        differences.push(format!("exit status: {}, now {status}", bundle.exit_status));
    }
    compare("", &bundle.result, &result, &mut differences);
    let paint = Paint::for_stdout();
    let command = bundle.command.join(" ");
    let (now, then) = (env!("CARGO_PKG_VERSION"), &bundle.stubborn);
    let mut out = match differences.is_empty() {
        true => format!("{}  {command}\n", paint.good("the same")),
        false => format!("{}  {command}\n", paint.bad("DIFFERENT")),
    };
    for difference in &differences {
        let _ = writeln!(out, "  {difference}");
    }
    let _ = writeln!(out, "recorded by version {then}, run by {now}");
    for name in folder.written(&bundle) {
        let _ = writeln!(out, "{} was written, and is not kept", name.display());
    }
    print(&out);
    Ok(match differences.is_empty() {
        true => Status::Fine,
        false => Status::Violated,
    })
}

/// Where two results differ, in what does not depend on the machine.
fn compare(at: &str, old: &Value, new: &Value, out: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(olds), Value::Object(news)) => {
            let mut keys: Vec<&String> = olds.keys().chain(news.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys
                .into_iter()
                .filter(|key| !INCIDENTAL.contains(&key.as_str()))
            {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                let (old, new) = (of(olds).unwrap_or_default(), of(news).unwrap_or_default());
                compare(&format!("{at}.{key}"), &old, &new, out);
            }
        }
        (Value::Array(olds), Value::Array(news)) if olds.len() == news.len() => {
            for (number, (old, new)) in olds.iter().zip(news).enumerate() {
                compare(&format!("{at}[{number}]"), old, new, out);
            }
        }
        _ if old == new => {}
        _ => out.push(format!(
            "{}: {}, now {}",
            at.trim_start_matches('.'),
            brief(old),
            brief(new)
        )),
    }
}

/// Long values by their beginning.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        None => text,
        Some((cut, _)) => format!("{}...", &text[..cut]),
    }
}
