//! `stubborn reproduce`: a command with its files, options, version and result in one file, which
//! runs again and compares.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{read_file, write_file};
use crate::exit::{Failure, Status};
use crate::options::ReproduceArgs;
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
    (bundle.exit_status, bundle.result) = result_of(&bundle)?;
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

/// Runs the command of a bundle in a folder of its own.
fn result_of(bundle: &Bundle) -> Result<(i32, Value), Failure> {
    let failed = |error: std::io::Error| Failure::wrong(format!("cannot run the bundle: {error}"));
    let folder = std::env::temp_dir().join(format!("stubborn-bundle-{}", std::process::id()));
    let folder = Folder(folder);
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
    std::fs::create_dir_all(&folder.0).map_err(failed)?;
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
    let (status, result) = result_of(&bundle)?;
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
