//! Relations in files, as scripts see them: written, used by every algorithm, refused where
//! they do not belong or are damaged.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use stubborn::reduce::Algorithm;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn example(name: &str) -> String {
    format!("{EXAMPLES}/{name}")
}

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Writes relations of a model; their path.
fn written(folder: &Path, model: &str, details: &[&str]) -> String {
    let path = folder.join("relations.json").display().to_string();
    let mut arguments = vec!["inspect", model, "--relations", "full"];
    arguments.extend_from_slice(details);
    arguments.extend_from_slice(&["--write-relations", &path]);
    let output = run(&arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    path
}

fn counts(arguments: &[&str]) -> (u64, u64) {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |name: &str| object[name].as_u64().expect("a number");
    (number("states"), number("deadlocks"))
}

/// The program refuses with status 2 and these words.
fn refuses(arguments: &[&str], words: &str) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    let line = text.replace('\n', " ");
    assert!(line.contains(words), "{arguments:?}: {text}");
    assert!(!line.contains("internal error"), "{text}");
}

#[test]
fn every_algorithm_runs_with_every_kind_of_relations() {
    let folder = folder("kinds");
    let model = example("philosophers.dve");
    let (full, deadlocks) = counts(&["explore", &model, "--json"]);
    let mut fewest = full;
    for (dependency, precedence) in [
        ("sets", "sets"),
        ("sets", "full"),
        ("full", "sets"),
        ("full", "reach"),
        ("full", "full"),
        ("dynamic", "full"),
        ("dynamic", "dynamic"),
    ] {
        let details = ["--dependency", dependency, "--precedence", precedence];
        let path = written(&folder, &model, &details);
        for algorithm in Algorithm::ALL.iter().filter(|a| **a != Algorithm::Goal) {
            let por = algorithm.name();
            let found = counts(&[
                "explore",
                &model,
                "--json",
                "--por",
                por,
                "--relations",
                &path,
            ]);
            assert!(found.0 <= full, "{por}");
            assert_eq!(found.1, deadlocks, "{dependency} {precedence} {por}");
            fewest = fewest.min(found.0);
        }
        let valid = run(&["validate", &model, "--relations", &path]);
        assert!(valid.status.success(), "{dependency} {precedence}");
    }
    assert!(fewest < full);
}

#[test]
fn goals_are_found_with_measured_relations() {
    let folder = folder("goals");
    let model = example("peterson.dve");
    for (invariant, status) in [("inside <= 1", 0), ("inside == 0", 1)] {
        for dependency in ["full", "dynamic"] {
            let details = ["--dependency", dependency, "--invariant", invariant];
            let path = written(&folder, &model, &details);
            for por in ["goal", "beam"] {
                let arguments = [
                    "check",
                    &model,
                    "--only",
                    "--invariant",
                    invariant,
                    "--por",
                    por,
                    "--relations",
                    &path,
                ];
                if dependency == "dynamic" && por == "beam" {
                    refuses(&arguments, "relations that depend on the state");
                    continue;
                }
                assert_eq!(
                    run(&arguments).status.code(),
                    Some(status),
                    "{invariant} {por}"
                );
            }
            // Without the invariant, labels have other meanings.
            let plain = ["check", &model, "--por", "beam", "--relations", &path];
            refuses(&plain, "another model");
        }
    }
}

#[test]
fn relations_are_shown_and_explained() {
    let folder = folder("shown");
    let model = example("philosophers.dve");
    let path = written(&folder, &model, &[]);
    let direct = run(&["inspect", &model, "--relations", "full"]);
    let from_file = run(&["inspect", &model, "--relations", &path]);
    assert!(direct.status.success());
    assert_eq!(direct.stdout, from_file.stdout);
    let set = run(&["inspect", &model, "--relations", &path, "--state", "start"]);
    assert!(String::from_utf8_lossy(&set.stdout).contains("enabled transitions are kept"));
}

#[test]
fn wrong_relations_are_refused() {
    let folder = folder("refused");
    let model = example("philosophers.dve");
    let path = written(&folder, &model, &[]);
    let explore = |path: &str, words: &str| {
        let model = example("philosophers.dve");
        refuses(
            &["explore", &model, "--por", "beam", "--relations", path],
            words,
        );
    };
    refuses(
        &[
            "explore",
            &example("peterson.dve"),
            "--por",
            "beam",
            "--relations",
            &path,
        ],
        "another model",
    );
    explore("exat", "levels are sets, syntax, exact, reach");
    explore(
        "full",
        "inspect MODEL --relations full --write-relations FILE",
    );
    explore(&folder.display().to_string(), "directory");
    explore(&folder.join("none.json").display().to_string(), "none.json");
    let details = [
        "inspect",
        &model,
        "--relations",
        &path,
        "--dependency",
        "full",
    ];
    refuses(&details, "not about those in a file");
    refuses(
        &[
            "inspect",
            &model,
            "--relations",
            "full",
            "--max-states",
            "10",
        ],
        "more than 10 states",
    );

    let text = std::fs::read_to_string(&path).expect("it was written");
    let good: Value = serde_json::from_str(&text).expect("JSON");
    let broken = folder.join("broken.json");
    let broken_path = broken.display().to_string();
    let with = |text: &str, words: &str| {
        std::fs::write(&broken, text).expect("the folder can be written");
        explore(&broken_path, words);
    };
    with("", "no relations");
    with("{}", "no relations");
    with(&"[".repeat(100_000), "no relations");
    with(&text[..text.len() / 2], "no relations");
    let changes: [(&str, Value, &str); 10] = [
        ("format", "trace".into(), "no relations"),
        ("version", 1.into(), "format version 1"),
        ("transitions", 1.into(), "damaged"),
        ("transitions", u64::MAX.into(), "damaged"),
        ("labels", 0.into(), "damaged"),
        ("contexts", Value::Array(Vec::new()), "damaged"),
        ("dependency", "luck".into(), "no dependency"),
        ("checksum", "0".into(), "checksum"),
        ("fingerprint", "0".into(), "another model"),
        (
            "state_contexts",
            serde_json::json!([["00zz", 0]]),
            "no state",
        ),
    ];
    for (field, value, words) in changes {
        let mut changed = good.clone();
        changed[field] = value;
        with(&changed.to_string(), words);
    }
    let mut changed = good.clone();
    changed["contexts"][0]["do_not_accord"][0] = serde_json::json!([99_999]);
    with(&changed.to_string(), "does not fit");
    let mut changed = good.clone();
    changed["contexts"][0]["do_not_accord"][0] = serde_json::json!([]);
    with(&changed.to_string(), "checksum");
    let mut changed = good;
    changed["extra"] = 1.into();
    with(&changed.to_string(), "unknown field `extra`");
}

#[test]
fn disabling_alone_is_refused_where_orders_matter() {
    refuses(
        &[
            "inspect",
            &example("cache_coherence.dve"),
            "--relations",
            "full",
            "--dependency",
            "disabling",
        ],
        "for models in which that never happens",
    );
}
