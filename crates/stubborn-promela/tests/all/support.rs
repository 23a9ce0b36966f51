//! Counting states, and running SPIN if it is there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use stubborn_promela::source::FileLoader;
use stubborn_promela::{Loaded, Options, load};
use stubborn_system::{FailureKind, Outcome, Successors, System};

/// What a full exploration finds, counted as SPIN counts with `-c0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) states: usize,
    /// Edges, and one for the initial state.
    pub(crate) transitions: usize,
    /// Failed assertions on edges, and invalid end states.
    pub(crate) errors: usize,
    /// Messages of failures that end a run.
    pub(crate) failures: Vec<String>,
    /// False if the limit was reached.
    pub(crate) complete: bool,
}

/// Explores all states of a model, up to a limit.
pub(crate) fn count(path: &Path, text: &str, limit: usize) -> Result<Counts, String> {
    count_with(path, text, limit, &Options::default())
}

pub(crate) fn count_with(
    path: &Path,
    text: &str,
    limit: usize,
    options: &Options,
) -> Result<Counts, String> {
    let shown = |(sources, diagnostics): (stubborn_promela::source::Sources, Vec<_>)| {
        sources.render(&diagnostics, false)
    };
    let mut loaded = load(path, text, options, &FileLoader).map_err(shown)?;
    loop {
        match explore(&loaded, limit) {
            Ok(counts) => return Ok(counts),
            Err(outcome) => match loaded.grown(outcome) {
                Some(grown) => loaded = grown.map_err(shown)?,
                None => return Err("a process was not foreseen".into()),
            },
        }
    }
}

fn explore(loaded: &Loaded, limit: usize) -> Result<Counts, Outcome> {
    let model = &loaded.model;
    let structure = model.structure();
    let mut executor = model.executor();
    let mut successors = Successors::new(model.layout().words());
    let initial = model.initial_states();
    let mut seen: HashSet<Vec<u32>> = HashSet::from([initial.clone()]);
    let mut todo = vec![initial];
    let mut counts = Counts {
        states: 1,
        transitions: 1,
        complete: true,
        ..Counts::default()
    };
    while let Some(state) = todo.pop() {
        successors.clear();
        executor.successors(&state, &mut successors);
        let may_stop = structure
            .valid_end
            .is_none_or(|label| executor.label(&state, label));
        if successors.is_empty() && !may_stop {
            counts.errors += 1;
        }
        for next in successors.iter() {
            if loaded.lowered.missing(next.outcome).is_some() {
                return Err(next.outcome);
            }
            for site in next.outcome.sites(structure) {
                counts.errors += 1;
                if site.kind != FailureKind::Assertion && !counts.failures.contains(&site.message) {
                    counts.failures.push(site.message.clone());
                }
            }
            if next.outcome.failed().is_some() {
                continue;
            }
            counts.transitions += 1;
            if !seen.contains(next.state) {
                if seen.len() >= limit {
                    counts.complete = false;
                    return Ok(counts);
                }
                seen.insert(next.state.to_vec());
                counts.states += 1;
                todo.push(next.state.to_vec());
            }
        }
    }
    Ok(counts)
}

/// One small model out of a file of models.
pub(crate) struct Example {
    pub(crate) title: String,
    pub(crate) expected: String,
    pub(crate) text: String,
}

/// The models of `tests/models`: each starts with `/* model: … */` and `/* expect: … */`.
pub(crate) fn examples() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the models are part of the sources")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let mut examples = Vec::new();
    for file in files {
        let all = std::fs::read_to_string(&file).expect("a text");
        for part in all.split("/* model: ").skip(1) {
            let (title, rest) = part.split_once(" */\n").expect("a title");
            let (expected, text) = rest
                .strip_prefix("/* expect: ")
                .and_then(|r| r.split_once(" */\n"))
                .expect("an expectation");
            examples.push(Example {
                title: format!("{}: {title}", file.display()),
                expected: expected.to_string(),
                text: text.to_string(),
            });
        }
    }
    examples
}

/// The folder of public models with SPIN's results, if it is there.
pub(crate) fn corpus() -> Option<PathBuf> {
    stubborn_corpus::folder("promela")
}

/// Whether SPIN and a C compiler can be run.
pub(crate) fn has_spin() -> bool {
    let runs = |program: &str, flag: &str| {
        Command::new(program)
            .arg(flag)
            .output()
            .is_ok_and(|out| out.status.success())
    };
    let there = runs("spin", "-V") && runs("gcc", "--version");
    if !there {
        eprintln!("skipped: spin and gcc are not both installed");
    }
    there
}

/// A folder that goes away in the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("stubborn-promela-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What SPIN's verifier of a model prints, or None if SPIN refuses it. The model and its trail are
/// `m.pml` and `m.pml.trail` in the folder then.
pub(crate) fn spin_search(
    text: &str,
    scratch: &Scratch,
    translate: &[&str],
    compile: &[&str],
    search: &[&str],
) -> Option<String> {
    let folder = &scratch.0;
    for old in ["pan.c", "pan", "m.pml.trail"] {
        let _ = std::fs::remove_file(folder.join(old));
    }
    std::fs::write(folder.join("m.pml"), text).ok()?;
    let run = |program: &str, arguments: &[&str]| {
        let out = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&out.stdout).into_owned())
    };
    run("spin", &[&["-a"], translate, &["m.pml"]].concat())?;
    if !folder.join("pan.c").exists() {
        return None;
    }
    run(
        "gcc",
        &[&["-w", "-O0", "-o", "pan", "pan.c"], compile].concat(),
    )?;
    run(folder.join("pan").to_str()?, search)
}

/// What SPIN counts for a model, or None if it refuses it.
pub(crate) fn spin_counts(text: &str, scratch: &Scratch) -> Option<Counts> {
    let out = spin_search(
        text,
        scratch,
        &["-o1", "-o2", "-o3"],
        &["-DSAFETY", "-DNOREDUCE", "-DNOCLAIM", "-DNOFAIR"],
        &["-c0", "-n", "-m400000"],
    )?;
    let number = |after: &str| {
        let line = out.lines().find(|l| l.contains(after))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let errors = out
        .split("errors: ")
        .nth(1)?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    Some(Counts {
        states: number("states, stored")?,
        transitions: number("transitions (")?,
        errors,
        failures: Vec::new(),
        complete: !out.contains("max search depth too small"),
    })
}
