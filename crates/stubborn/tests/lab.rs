//! The lab from outside: a kill in mid-run costs nothing, a refused configuration is a
//! result, and the report shows what there is.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const EXPERIMENT: &str = r#"
title = "Small models"
models = ["example:peterson.dve", "example:philosophers.dve", "example:leader_ring.dve"]
baseline = "full"
limits = { seconds = 20, memory = "500M" }

[[configuration]]
name = "full"
run = "explore --por none"

[[configuration]]
name = "closure"
run = "explore --por closure --seed {seed}"
seeds = 6

[[configuration]]
name = "moonlight"
run = "explore --por moonlight"

[[column]]
title = "closure"
configuration = "closure"
measure = "states%"
over = "range"

[[column]]
title = "moonlight"
configuration = "moonlight"
measure = "states%"

[[plot]]
kind = "scatter"
title = "States"
"#;

const RUNS: usize = 3 * (1 + 6 + 1);

fn lab(folder: &Path, words: &[&str], results: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.arg("lab").args(words);
    command.arg(folder.join("small.toml"));
    command.arg("--results").arg(folder.join(results));
    command
}

fn run(folder: &Path, results: &str, more: &[&str]) -> Output {
    let output = lab(folder, &["run"], results).args(more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// What must not depend on when it was measured.
fn essence(path: &Path) -> BTreeMap<String, Vec<Value>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let fields = ["outcome", "states", "transitions", "deadlocks", "message"];
        let fields = fields.map(|name| record[name].clone()).to_vec();
        let key = record["key"].as_str().unwrap().to_owned();
        assert!(all.insert(key, fields).is_none(), "a run was made twice");
    }
    all
}

#[test]
fn a_killed_lab_goes_on_and_ends_with_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("small.toml"), EXPERIMENT).unwrap();

    let whole = folder.join("whole.jsonl");
    run(folder, "whole.jsonl", &["--jobs", "2"]);
    let expected = essence(&whole);
    assert_eq!(expected.len(), RUNS);
    let refused = expected.values().filter(|v| v[0] == "unsupported");
    assert_eq!(refused.count(), 3);

    let broken = folder.join("broken.jsonl");
    let mut child = lab(folder, &["run"], "broken.jsonl")
        .args(["--jobs", "1"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = || std::fs::read_to_string(&broken).map_or(0, |text| text.lines().count());
    let started = Instant::now();
    while lines() < 5 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines();
    assert!((5..RUNS).contains(&kept), "{kept} lines");
    // As if the kill had come while a line was being written.
    let mut text = std::fs::read_to_string(&broken).unwrap();
    text.push_str(r#"{"key":"stubborn explore --por none | exam"#);
    std::fs::write(&broken, text).unwrap();

    let output = run(folder, "broken.jsonl", &["--jobs", "2"]);
    assert_eq!(essence(&broken), expected);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&format!("{kept} found")), "{said}");

    // Nothing is left to do, and nothing is done.
    let output = run(folder, "broken.jsonl", &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains(&format!("0 runs made, {RUNS} found")),
        "{said}"
    );
}

#[test]
fn weaker_relations_are_noticed_and_the_report_shows_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("small.toml"), EXPERIMENT).unwrap();
    run(folder, "results.jsonl", &[]);
    let output = run(folder, "results.jsonl", &["--relations", "sets"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("worse than with the usual relations"),
        "{said}"
    );
    assert!(said.contains("philosophers.dve"), "{said}");

    let mut command = lab(folder, &["report"], "results.jsonl");
    command.arg("--html").arg(folder.join("page.html"));
    command.arg("--markdown").arg(folder.join("pages"));
    command.args(["--relations", "sets"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    for wanted in ["peterson.dve", "<svg", "moonlight", "With weaker relations"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    for foreign in ["http://", "https://", "src="] {
        let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains(foreign), "the page needs {foreign}");
    }
    let summary = std::fs::read_to_string(folder.join("pages/README.md")).unwrap();
    assert!(summary.contains("`--relations sets`"));
    assert!(folder.join("pages/small.md").is_file());
    assert!(folder.join("pages/small-1.svg").is_file());

    // A report on some experiments leaves a first page about others alone.
    std::fs::write(folder.join("pages/README.md"), "others").unwrap();
    std::fs::remove_file(folder.join("pages/small.md")).unwrap();
    assert!(command.status().unwrap().success());
    let summary = std::fs::read_to_string(folder.join("pages/README.md")).unwrap();
    assert_eq!(summary, "others");
    assert!(folder.join("pages/small.md").is_file());
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fails = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
        let output = command.arg("lab").args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(fails(&["run", "moon/1"]).contains("moon/1"));
    assert!(fails(&["run", "nowhere.toml"]).contains("nowhere.toml"));
    let file = folder.join("wrong.toml");
    std::fs::write(&file, "title = 3\n").unwrap();
    assert!(fails(&["list", file.to_str().unwrap()]).contains("wrong"));
    let results = folder.join("none.jsonl");
    let said = fails(&["report", "--results", results.to_str().unwrap()]);
    assert!(said.contains("no results"), "{said}");
}

/// From any folder of the repository, the examples are found; elsewhere, nothing is no success.
#[test]
fn a_lab_without_models_is_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("stubborn");
    std::fs::copy(env!("CARGO_BIN_EXE_stubborn"), &program).expect("it can be copied");
    let output = std::process::Command::new(&program)
        .args(["lab", "run", "guard-based/8", "--results", "results.jsonl"])
        .env("STUBBORN_CORPUS", "nowhere")
        .current_dir(folder.path())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("None of the models was found"), "{text}");
    assert!(text.contains("docs/lab.md"), "{text}");
    // The examples are found from here, too.
    let output = std::process::Command::new(&program)
        .args(["lab", "run", "tiny", "--quick", "--results", "tiny.jsonl"])
        .env("STUBBORN_CORPUS", "nowhere")
        .current_dir(folder.path())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// With some of the models only, what there is is run, and the rest is named and no success.
#[test]
fn a_lab_with_some_models_is_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let experiment = folder.path().join("some.toml");
    let text = include_str!("../../stubborn-lab/experiments/tiny-1.toml");
    let text = text.replace("models = [", "models = [\"beem:anderson.1\", ");
    std::fs::write(&experiment, text).expect("a file");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_stubborn"))
        .args(["lab", "run", "--quick", "--results"])
        .arg(folder.path().join("results.jsonl"))
        .arg(&experiment)
        .env("STUBBORN_CORPUS", "nowhere")
        .current_dir(examples)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("Not found: 1 model, among them anderson.1"),
        "{text}"
    );
}
