//! Hunting on the command line: what is found is real, what is not found is no answer.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn object(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = run(&[&["hunt", "--json"], arguments].concat());
    let object = serde_json::from_slice(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        object.unwrap_or_else(|e| panic!("{e}: {errors}")),
        output.status.code(),
    )
}

fn file(name: &str, text: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hunt");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path.display().to_string()
}

/// Counters that go up and down: far too many states to see them all.
fn counters(name: &str) -> String {
    let processes = (0..8).map(|process| {
        format!(
            "process P{process} {{ byte x; state a; init a; trans \
             a -> a {{ guard x < 255; effect x = x + 1, last = {process}; }}, \
             a -> a {{ guard x > 0; effect x = x - 1, last = {process}; }}; }}\n"
        )
    });
    // The last one to move is remembered: nothing can be left out.
    let text = format!(
        "byte last;\n{}system async;\n",
        processes.collect::<String>()
    );
    file(name, &text)
}

#[test]
fn what_is_far_away_is_found_and_made_short() {
    let path = counters("far.dve");
    let asked = ["--only", "--invariant", "P3.x < 60 || P5.x > 2"];
    let timeout = ["--timeout", "60"];
    let trace = file("far.json", "");
    let saved = ["--trace", &trace];
    let (object, code) = object(&[&[path.as_str()], &asked[..], &timeout, &saved].concat());
    assert_eq!(code, Some(1), "{object:#}");
    let property = &object["properties"][0];
    assert_eq!(property["verdict"], "violated");
    let steps = property["trace"]["stem"].as_array().expect("a list").len();
    assert_eq!(steps, 60, "sixty steps suffice: {:#}", object["found"]);
    assert!(object["covered"]["transitions_taken"].as_u64() > Some(0));
    // It is a run of the model.
    let replay = run(&["simulate", &path, "--replay", &trace, "--states"]);
    assert_eq!(replay.status.code(), Some(0), "{replay:?}");
    let told = String::from_utf8_lossy(&replay.stdout);
    assert!(
        told.contains("P3.x = 60") && told.contains("saved as a violation of: "),
        "{told}"
    );
    // Nothing else finds it soon.
    let limited = ["--max-states", "200000"];
    let check = run(&[&["check", &path, "-q"][..], &limited, &asked].concat());
    assert_eq!(check.status.code(), Some(3));
}

/// Where a time limit leaves questions open, several or one, `check` hunts for violations of them, and for
/// witnesses, too.
#[test]
fn what_has_no_answer_in_time_is_hunted() {
    let path = counters("open.dve");
    let expression = "P3.x < 60 || P5.x > 2";
    let formula = format!("[] ({expression})");
    let bad = format!("!({expression})");
    for (asked, verdict, status) in [
        (
            &["--invariant", expression, "--ltl", &formula][..],
            "violated",
            1,
        ),
        (&["--invariant", expression], "violated", 1),
        (&["--reach", &bad], "holds", 0),
    ] {
        let limited = ["--only", "--por", "none", "--timeout", "24"];
        let words = [&["check", &path, "--json"], asked, &limited].concat();
        let output = run(&words);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
        let found = &object["properties"][0];
        assert_eq!(found["verdict"], verdict, "{found:#}");
        let how = found["notice"].as_str().expect("how it was found");
        assert!(how.starts_with("found by a hunt"), "{how}");
        let steps = found["trace"]["stem"].as_array().expect("a list").len();
        assert_eq!(steps, 60);
    }
}

#[test]
fn infinite_runs_are_found() {
    let path = counters("infinite.dve");
    let asked = ["--only", "--ltl", "[] (P2.x > 5 -> <> (P2.x == 0))"];
    let (object, code) = object(&[&[path.as_str()], &asked[..]].concat());
    assert_eq!(code, Some(1), "{object:#}");
    let trace = &object["properties"][0]["trace"];
    assert!(!trace["cycle"].as_array().expect("a list").is_empty());
    let path = format!("{EXAMPLES}/readers_writers.pml");
    let (object, code) = self::object(&[&path, "--property", "idle"]);
    assert_eq!(code, Some(1), "{object:#}");
    let fair = ["--only", "--ltl", "[] (P_0.wait -> <> P_0.critical)"];
    let path = format!("{EXAMPLES}/peterson.dve");
    let (object, code) = self::object(&[&[path.as_str(), "--fairness"], &fair[..]].concat());
    assert_eq!(code, Some(0), "{object:#}");
}

/// A proposition without a value is a violation here as it is for `check`, and told as one.
#[test]
fn propositions_without_a_value_are_found() {
    let text = "byte arr[2]; byte a;
        process P { state s; init s; trans s -> s { guard a < 3; effect a = a + 1; }; }
        system async;";
    let model = file("no_value.dve", text);
    for (formula, steps) in [("[] (arr[a] == 0)", 2), ("! \"a % 0\"", 0)] {
        let (found, status) = object(&[&model, "--only", "--ltl", formula]);
        assert_eq!(status, Some(1), "{formula}: {found}");
        let trace = &found["properties"][0]["trace"];
        let length = |part: &str| trace[part].as_array().map(Vec::len);
        assert_eq!(
            (length("stem"), length("cycle")),
            (Some(steps), Some(0)),
            "{found}"
        );
    }
}

/// A fair run is not made shorter by leaving out who would leave its states.
#[test]
fn fair_runs_stay_fair() {
    let text = "process P { state s, t, u; init s;
            trans s -> t { }, u -> t { }, u -> u { }, t -> u { }; }
        process Q { state s, t; init s; trans s -> t { }; }
        system async;";
    let model = file("fair.dve", text);
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let asked = ["--only", "--ltl", "false", "--fairness", "--seed", seed];
        let (found, status) = object(&[&[&model[..]], &asked[..]].concat());
        assert_eq!(status, Some(1), "{found}");
    }
}

#[test]
fn nothing_found_is_no_answer() {
    let path = counters("nothing.dve");
    let (object, code) = object(&[&path, "--timeout", "2"]);
    assert_eq!(code, Some(3));
    assert_eq!(object["verdict"], "unknown");
    assert!(
        object["reason"]
            .as_str()
            .is_some_and(|r| r.contains("time limit"))
    );
    let turns = object["covered"]["turns"].as_object().expect("an object");
    assert_eq!(turns.len(), 8, "every strategy had its turn: {turns:?}");
    // A proposition that cannot be evaluated everywhere: nobody has looked for that.
    let path = format!("{MODELS}/ltlindex.dve");
    let check = run(&["check", &path, "-q"]).status.code();
    assert_eq!(check, Some(1));
    let (object, code) = self::object(&[&path, "--timeout", "2"]);
    assert!(code == Some(1) || code == Some(3), "{object:#}");
}

#[test]
fn small_models_are_seen_in_full() {
    for (model, code) in [
        ("peterson.dve", 0),
        ("cache_coherence.dve", 0),
        ("philosophers.dve", 1),
        ("token_passing.pml", 1),
        ("workshop.pnml", 1),
    ] {
        let path = format!("{EXAMPLES}/{model}");
        for threads in ["1", "3"] {
            let (object, status) = object(&[&path, "--threads", threads]);
            assert_eq!(status, Some(code), "{model}: {object:#}");
        }
    }
}

/// Models that start processes grow while they are hunted in.
#[test]
fn models_that_grow_are_hunted_in() {
    let text = "byte n; proctype P() { n++; run Q() } proctype Q() { n++; assert(n < 7) }\n\
                init { run P(); run P(); run P(); run P() }";
    let path = file("grows.pml", text);
    let (object, code) = object(&[&path]);
    assert_eq!(code, Some(1), "{object:#}");
}

/// What a command takes, in seconds of processor time, and whether it found a violation.
fn measured(program: &str, arguments: &[&str]) -> (f64, bool) {
    // Of all children that were waited for, in hundredths of a second.
    let ticks = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(13)?.parse::<f64>().ok()? + fields.get(14)?.parse::<f64>().ok()?)
    };
    let before = ticks().unwrap_or_default();
    let output = Command::new(program)
        .args(arguments)
        .args(["--timeout", "20", "--threads", "1", "--quiet"])
        .output()
        .expect("the program starts");
    let took = (ticks().unwrap_or_default() - before) / 100.0;
    (took, output.status.code() == Some(1))
}

/// The violated rows of the corpus, hunted and checked. Figures mean something with the program of a release
/// build, which STUBBORN_PROGRAM names; STUBBORN_EVERY=10 takes every tenth row.
#[test]
#[ignore = "long: every violated model of the corpus, twice"]
fn hunting_is_no_slower_than_checking() {
    let (Some(beem), Some(promela)) = (
        stubborn_corpus::folder("beem"),
        stubborn_corpus::folder("promela"),
    ) else {
        return;
    };
    let read = |file: PathBuf| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(file).expect("a table");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        rows.map(|row| row.split('\t').map(str::to_owned).collect())
            .collect()
    };
    let number = |cell: &String| cell.parse::<u64>().unwrap_or(0);
    let mut rows: Vec<(&str, String, Vec<String>)> = Vec::new();
    for row in read(beem.join("EXPECTED.tsv")) {
        if number(&row[1]) > 20_000 && number(&row[3]) > 0 {
            let file = beem.join(format!("models/{}.dve", row[0]));
            let only = ["--property", "deadlock"].map(str::to_owned).to_vec();
            rows.push(("BEEM, deadlocks", file.display().to_string(), only));
        }
    }
    for row in read(promela.join("EXPECTED.tsv")) {
        if number(&row[2]) > 2_000 && number(&row[4]) > 0 {
            let file = promela.join(&row[0]).display().to_string();
            let language = ["--language", "promela"].map(str::to_owned).to_vec();
            rows.push(("Promela", file, language));
        }
    }
    for row in read(beem.join("EXPECTED-PROPS.tsv")) {
        if row[3] == "LTL" && row[4] == "no" {
            let file = beem.join(&row[7]);
            let text = std::fs::read_to_string(&file).expect("a model");
            let (_, name) = text.rsplit_once("property ").expect("a property process");
            let name = name.trim().trim_end_matches(';').trim();
            let only = vec!["--property".into(), format!("no run of the process {name}")];
            rows.push(("BEEM, formulas", file.display().to_string(), only));
        }
    }
    let set = |name: &str| std::env::var(name).ok();
    let program = set("STUBBORN_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_stubborn").into());
    let every: usize = set("STUBBORN_EVERY").map_or(1, |n| n.parse().expect("a number"));
    let (mut faster, mut all, mut only_hunt) = (0, 0, 0);
    for (kind, file, options) in rows.iter().step_by(every) {
        if !Path::new(file).exists() {
            continue;
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let run = |command| {
            measured(
                &program,
                &[&[command, file.as_str()], &options[..]].concat(),
            )
        };
        let (hunted, found) = run("hunt");
        let (checked, answered) = run("check");
        if !found && !answered {
            eprintln!("{kind}\t{file}\tneither");
            continue;
        }
        let is_faster = found && (!answered || hunted <= (checked * 1.1).max(checked + 0.02));
        all += 1;
        faster += u32::from(is_faster);
        only_hunt += u32::from(!answered);
        eprintln!(
            "{kind}\t{file}\thunt {hunted:.2} {found}\tcheck {checked:.2} {answered}\t{is_faster}"
        );
    }
    eprintln!("hunt is no slower in {faster} of {all}; {only_hunt} were found by it alone");
    assert!(faster * 10 >= all * 8, "{faster} of {all}");
}
