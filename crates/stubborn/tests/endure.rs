//! Runs that are stopped, killed and damaged, and go on: the same answer as if nothing had
//! happened.

#[path = "endure/cluster.rs"]
mod cluster;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stubborn::system::Random;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn stubborn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    stubborn(arguments).output().expect("the program starts")
}

/// A folder of its own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("endure")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Some 300,000 states, with a shortest way of some length to where an invariant breaks, and
/// processes that a reduction can tell apart.
fn model(folder: &Path) -> String {
    let mut text = String::from("byte turns = 0;\n");
    for at in 0..6 {
        text += &format!(
            "process P{at} {{\n  byte x = 0;\n  state run, done;\n  init run;\n  trans\n    \
             run -> run {{ guard x < 6; effect x = x + 1; }},\n    \
             run -> done {{ guard x == 6; effect turns = turns + 1; }};\n}}\n"
        );
    }
    text += "system async;\n";
    let path = folder.join("model.dve");
    std::fs::write(&path, text).expect("the model can be written");
    path.display().to_string()
}

/// The same for temporal properties: counters that begin anew, some 34,000 states of one component.
fn ring(folder: &Path) -> String {
    let mut text = String::from("byte turns = 0;\n");
    for at in 0..5 {
        text += &format!(
            "process P{at} {{\n  byte x = 0;\n  state run;\n  init run;\n  trans\n    \
             run -> run {{ guard x < 6; effect x = x + 1; }},\n    \
             run -> run {{ guard x == 6; effect x = 0, turns = 1 - turns; }};\n}}\n"
        );
    }
    text += "system async;\n";
    let path = folder.join("ring.dve");
    std::fs::write(&path, text).expect("the model can be written");
    path.display().to_string()
}

fn model_of(way: &[&str], folder: &Path) -> String {
    match way.contains(&"--ltl") {
        true => ring(folder),
        false => model(folder),
    }
}

/// It holds, and nobody knows before everything was seen.
const ALWAYS: &str = "([] <> (turns == 1)) || (<> [] (turns == 0))";

/// The answer, without what depends on the machine.
fn answer(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut value: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        let problems = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {text}{problems}")
    });
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in [
                "load_seconds",
                "explore_seconds",
                "peak_memory_bytes",
                "bytes_per_state",
            ] {
                fields.remove(name);
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The commands that are disturbed, by their arguments after the model.
const WAYS: [&[&str]; 14] = [
    &["explore"],
    &["explore", "--order", "dfs", "--seed", "3"],
    &["explore", "--store", "plain", "--threads", "2"],
    &["explore", "--store", "compact"],
    &[
        "check",
        "--por",
        "none",
        "--invariant",
        "turns < 5",
        "--deadlock",
    ],
    &[
        "check",
        "--por",
        "none",
        "--order",
        "dfs",
        "--invariant",
        "turns < 5",
    ],
    &[
        "check",
        "--por",
        "beam",
        "--only",
        "--invariant",
        "turns != 6",
    ],
    &[
        "check",
        "--por",
        "deletion",
        "--only",
        "--deadlock",
        "--order",
        "dfs",
    ],
    &["explore", "--processes", "2"],
    &[
        "check",
        "--por",
        "none",
        "--invariant",
        "turns < 5",
        "--processes",
        "3",
    ],
    &[
        "check",
        "--only",
        "--no-vacuity",
        "--por",
        "none",
        "--ltl",
        ALWAYS,
    ],
    &["check", "--por", "none", "--deadlock", "--ltl", ALWAYS],
    &[
        "check",
        "--por",
        "deletion",
        "--steering",
        "off",
        "--only",
        "--ltl",
        ALWAYS,
    ],
    &[
        "check",
        "--only",
        "--no-vacuity",
        "--ltl",
        ALWAYS,
        "--processes",
        "3",
    ],
];

/// Those that are disturbed with little memory, too.
const SPILLED: [&[&str]; 3] = [WAYS[0], WAYS[4], WAYS[6]];

fn arguments<'a>(way: &'a [&'a str], model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec![way[0], model];
    all.extend(&way[1..]);
    all.extend(["--json"]);
    all.extend(more);
    all
}

/// Kills a run after a time, if it is still there; its output otherwise.
fn killed_after(mut child: Child, time: Duration) -> Option<Output> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if child.try_wait().expect("a child of ours").is_some() {
            return Some(child.wait_with_output().expect("a child of ours"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // SIGKILL: nothing is asked.
    let _ = child.kill();
    let output = child.wait_with_output().expect("a child of ours");
    output.status.code().map(|_| output)
}

/// Runs a command, kills it again and again, and compares the answer in the end. With little memory, it goes
/// on on disk.
fn disturb(name: &str, way: &[&str], spills: bool, kills: usize, random: &mut Random) -> usize {
    let place = folder(name);
    let model = model_of(way, &place);
    let (little, files) = (little_memory(), place.join("files").display().to_string());
    let more = match spills {
        true => vec!["--memory-limit", &little, "--spill", &files],
        false => Vec::new(),
    };
    let started = Instant::now();
    let undisturbed = output(&arguments(way, &model, &more));
    let usual = started.elapsed().as_millis() as usize;
    let checkpoints = place.join("checkpoints").display().to_string();
    let often = ["--checkpoint", &checkpoints, "--checkpoint-every", "0.02"];
    let often = [&often[..], &more].concat();
    let mut command = arguments(way, &model, &often);
    let mut done = 0;
    loop {
        let child = stubborn(&command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let time = match done < kills {
            true => Duration::from_millis(random.below(usual + 10) as u64),
            false => Duration::from_secs(600),
        };
        let output = killed_after(child, time);
        let is_empty = |output: &Output| {
            String::from_utf8_lossy(&output.stderr).contains("there is no checkpoint")
        };
        if output.as_ref().is_some_and(is_empty) {
            // The first one was not complete.
            command = arguments(way, &model, &often);
            continue;
        }
        if let Some(output) = output {
            let what = format!("{name}, {way:?}, killed {done} times");
            assert_eq!(output.status, undisturbed.status, "{what}: {output:?}");
            assert_eq!(answer(&output), answer(&undisturbed), "{what}");
            assert!(
                !Path::new(&checkpoints).join("checkpoint").exists(),
                "{what}"
            );
            return done;
        }
        done += 1;
        // Killed before the first checkpoint: from the beginning.
        let has_begun = ["checkpoint", "checkpoint.new", "checkpoint.previous"]
            .iter()
            .any(|file| Path::new(&checkpoints).join(file).exists());
        command = match has_begun {
            true => vec![
                "resume",
                &checkpoints,
                "--json",
                "--checkpoint-every",
                "0.02",
            ],
            false => arguments(way, &model, &often),
        };
    }
}

#[test]
fn killed_runs_end_as_undisturbed_ones() {
    let random = &mut Random::new(1);
    let ways = WAYS.iter().chain(&SPILLED).enumerate();
    let kills: usize = ways
        .map(|(at, way)| disturb(&format!("few-{at}"), way, at >= WAYS.len(), 2, random))
        .sum();
    assert!(kills > 0);
}

#[test]
#[ignore = "minutes"]
fn two_hundred_kills_change_nothing() {
    let random = &mut Random::new(2);
    let mut kills = 0;
    for round in 0.. {
        if kills >= 200 {
            break;
        }
        let at = round % (WAYS.len() + SPILLED.len());
        let way = WAYS
            .iter()
            .chain(&SPILLED)
            .nth(at)
            .expect("there are so many");
        kills += disturb(&format!("many-{round}"), way, at >= WAYS.len(), 6, random);
    }
}

/// A run that is stopped by a limit, with the arguments after `--checkpoint DIR`.
fn stopped(name: &str, way: &[&str], limits: &[&str]) -> (String, Value) {
    let place = folder(name);
    let model = model_of(way, &place);
    let checkpoints = place.join("checkpoints").display().to_string();
    let mut command = arguments(way, &model, &["--checkpoint", &checkpoints]);
    command.extend(limits);
    let output = output(&command);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    (
        checkpoints,
        answer(&self::output(&arguments(way, &model, &[]))),
    )
}

#[test]
fn a_limit_of_states_can_be_raised() {
    for (at, way) in [0, 1, 4, 10, 13].map(|at| WAYS[at]).iter().enumerate() {
        let name = format!("states-{at}");
        let (checkpoints, undisturbed) = stopped(&name, way, &["--max-states", "10000"]);
        let again = output(&["resume", &checkpoints, "--json"]);
        assert_eq!(again.status.code(), Some(3), "the same limit: {again:?}");
        let most = ["--max-states", "20000"];
        let again = output(&[&["resume", &checkpoints, "--json"][..], &most].concat());
        assert_eq!(again.status.code(), Some(3), "{again:?}");
        let most = ["--max-states", "90000000", "--memory-limit", "2G"];
        let end = output(&[&["resume", &checkpoints, "--json"][..], &most].concat());
        assert_eq!(answer(&end), undisturbed);
    }
}

#[test]
fn other_threads_may_go_on() {
    let (checkpoints, undisturbed) = stopped("threads", WAYS[0], &["--max-states", "30000"]);
    let most = ["--max-states", "90000000", "--threads", "3"];
    let end = output(&[&["resume", &checkpoints, "--json"][..], &most].concat());
    let mut end = answer(&end);
    end["threads"] = 1.into();
    assert_eq!(end, undisturbed);
}

/// A little more memory than the program takes for the smallest model, however it was built: too
/// little for the tables of the large one.
fn little_memory() -> String {
    let small = format!("{EXAMPLES}/peterson.dve");
    let output = output(&["explore", &small, "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).expect("it is an object");
    let peak = object["peak_memory_bytes"].as_u64().expect("it is known");
    (peak + (8 << 20)).to_string()
}

/// Whether it fits or not, the answer is the same.
#[test]
fn a_search_with_little_memory_goes_on_on_disk() {
    let place = folder("spill");
    let model = model(&place);
    let files = place.join("files").display().to_string();
    for way in [WAYS[0], WAYS[4]] {
        let undisturbed = output(&arguments(way, &model, &[]));
        let little = ["--memory-limit", &little_memory(), "--spill", &files];
        let spilled = output(&arguments(way, &model, &little));
        assert_eq!(spilled.status, undisturbed.status, "{spilled:?}");
        let verdicts = |output: &Output| {
            let answer = answer(output);
            let properties = answer["properties"].as_array().cloned().unwrap_or_default();
            let verdicts = properties.into_iter().map(|mut p| p["verdict"].take());
            let counts = ["states", "transitions", "deadlocks", "depth"].map(|n| answer[n].clone());
            (counts, verdicts.collect::<Vec<_>>())
        };
        assert_eq!(verdicts(&spilled), verdicts(&undisturbed));
        let left = std::fs::read_dir(&files).map_or(0, Iterator::count);
        assert_eq!(left, 0, "files are removed");
    }
    let wrong = output(&["explore", &model, "--spill", &files, "--order", "dfs"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// A file that may not grow any more is as good as a full disk.
#[test]
#[cfg(unix)]
fn a_full_disk_is_no_answer() {
    let place = folder("full");
    let model = model(&place);
    let files = place.join("files").display().to_string();
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_stubborn")])
        .args(["explore", &model, "--spill", &files])
        .args(["--memory-limit", &little_memory()])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("cannot go on in"), "{output:?}");
    let left = std::fs::read_dir(&files).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are removed");
}

/// With a proviso, what is expanded on disk is what several processes expand.
#[test]
fn a_search_with_a_proviso_goes_on_on_disk() {
    let place = folder("spill-proviso");
    let model = model(&place);
    let files = place.join("files").display().to_string();
    for (invariant, status) in [("turns != 6", 1), ("turns < 7", 0)] {
        let check = ["check", "--por", "beam", "--only", "--invariant", invariant];
        let levels = output(&arguments(&check, &model, &["--processes", "1"]));
        let little = ["--memory-limit", &little_memory(), "--spill", &files];
        let spilled = output(&arguments(&check, &model, &little));
        assert_eq!(spilled.status.code(), Some(status), "{spilled:?}");
        let counts = |output: &Output| {
            let answer = answer(output);
            ["states", "transitions", "deadlocks", "depth"].map(|name| answer[name].clone())
        };
        assert_eq!(counts(&spilled), counts(&levels), "{invariant}");
    }
}

/// What is on disk is written down as well; and a disk that is full in between loses nothing.
#[test]
#[cfg(unix)]
fn a_search_on_disk_can_be_taken_up_again() {
    let place = folder("spill-resume");
    let files = place.join("files").display().to_string();
    let little = little_memory();
    let more = ["--memory-limit", &little, "--spill", &files];
    let stop = [&more[..], &["--max-states", "20000"]].concat();
    let (checkpoints, _) = stopped("spill-resume-check", WAYS[4], &stop);
    let model = folder_of(&checkpoints).join("model.dve");
    let model = model.display().to_string();
    let undisturbed = answer(&output(&arguments(WAYS[4], &model, &more)));
    let again = ["resume", &checkpoints, "--json", "--max-states", "90000000"];
    let limited = "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"";
    let full = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_stubborn")])
        .args(again)
        .output()
        .expect("the program starts");
    assert_eq!(full.status.code(), Some(3), "{full:?}");
    assert_eq!(answer(&output(&again)), undisturbed);
    let left = std::fs::read_dir(&files).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are removed");
}

/// A model that starts more processes than anybody could tell before is made larger while it is
/// explored, and is as large again when the run goes on.
#[test]
fn a_model_that_grew_is_as_large_again() {
    let place = folder("growth");
    let model = place.join("model.pml").display().to_string();
    let text = "byte n = 0; byte x = 0;\n\
                proctype Q(byte d) { x = (x + d) % 5; x = (x * 2) % 5 }\n\
                init { do :: n < 5 -> n++; run Q(n) :: n > 2 && x == 3 -> n = 0; run Q(7)\n\
                :: n == 5 && x == 1 -> run Q(1) :: else -> break od }\n";
    std::fs::write(&model, text).expect("the model can be written");
    let checkpoints = place.join("checkpoints").display().to_string();
    let explore = ["explore", &model, "--json", "--max-states"];
    let stopped = output(&[&explore[..], &["30000", "--checkpoint", &checkpoints]].concat());
    assert_eq!(stopped.status.code(), Some(3), "{stopped:?}");
    let undisturbed = output(&[&explore[..], &["60000"]].concat());
    let end = output(&["resume", &checkpoints, "--json", "--max-states", "60000"]);
    assert_eq!(answer(&end), answer(&undisturbed));
}

#[test]
fn a_limit_while_loading_is_an_object_for_scripts() {
    let (checkpoints, undisturbed) = stopped("loading", WAYS[0], &["--max-states", "10000"]);
    let late = output(&["resume", &checkpoints, "--json", "--timeout", "0.000001"]);
    assert_eq!(late.status.code(), Some(3), "{late:?}");
    let object: Value = serde_json::from_slice(&late.stdout).expect("an object");
    assert!(object["reason"].is_string(), "{object}");
    let more = ["--max-states", "90000000", "--timeout", "600"];
    let end = output(&[&["resume", &checkpoints, "--json"][..], &more].concat());
    assert_eq!(answer(&end), undisturbed);
}

#[test]
fn time_limits_and_signals_leave_a_checkpoint() {
    let place = folder("signals");
    let model = model(&place);
    let undisturbed = answer(&output(&arguments(WAYS[0], &model, &[])));
    for signal in ["-INT", "-TERM", ""] {
        let checkpoints = place
            .join(format!("checkpoints{signal}"))
            .display()
            .to_string();
        let mut command = arguments(WAYS[0], &model, &["--checkpoint", &checkpoints]);
        if signal.is_empty() {
            command.extend(["--timeout", "0.15"]);
        }
        let child = stubborn(&command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        if !signal.is_empty() {
            while !Path::new(&checkpoints).join("checkpoint").exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let id = child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status();
            assert!(sent.is_ok_and(|status| status.success()));
        }
        let ended = child.wait_with_output().expect("a child of ours");
        if ended.status.code() == Some(0) {
            // It was faster.
            assert_eq!(answer(&ended), undisturbed);
            continue;
        }
        assert_eq!(ended.status.code(), Some(3), "{signal}: {ended:?}");
        let end = output(&["resume", &checkpoints, "--json", "--timeout", "600"]);
        assert_eq!(answer(&end), undisturbed, "{signal}");
    }
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let place = folder("wrong");
    let said = |arguments: &[&str], status: i32, words: &str| {
        let output = output(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    };
    let nowhere = place.join("nowhere").display().to_string();
    said(&["resume", &nowhere], 2, "cannot resume");
    said(
        &["resume", &place.display().to_string()],
        2,
        "no checkpoint",
    );

    let (checkpoints, undisturbed) = stopped("wrong-run", WAYS[0], &["--max-states", "20000"]);
    let model = folder_of(&checkpoints).join("model.dve");
    let shown = model.display().to_string();
    said(
        &["explore", &shown, "--checkpoint", &checkpoints],
        2,
        "already",
    );
    // The model has changed.
    let text = std::fs::read_to_string(&model).expect("it is there");
    std::fs::write(&model, text.replace("x < 6", "x < 5")).expect("it can be written");
    said(&["resume", &checkpoints], 2, "changed");
    std::fs::write(&model, text).expect("it can be written");
    // Too little memory is no answer, and no damage.
    said(&["resume", &checkpoints, "--memory-limit", "1M"], 3, "");
    // The latest is damaged: the one before it counts.
    let latest = Path::new(&checkpoints).join("checkpoint");
    let bytes = std::fs::read(&latest).expect("it is there");
    std::fs::write(&latest, &bytes[..bytes.len() / 2]).expect("it can be written");
    let more = ["resume", &checkpoints, "--json", "--max-states", "900000"];
    let end = output(&more);
    assert!(String::from_utf8_lossy(&end.stderr).contains("the one before it is taken"));
    assert_eq!(answer(&end), undisturbed);

    let temporal = format!("{EXAMPLES}/peterson.dve");
    let never = place.join("never").display().to_string();
    let check = ["check", &temporal, "--checkpoint", &never];
    for (more, words) in [
        (&["--ltl", "[] true", "--threads", "2"][..], "threads"),
        (&["--ltl", "[] true", "--emptiness", "ndfs"], "ndfs"),
        (&["--ctl", "AG true"], "branching"),
    ] {
        said(&[&check[..], more].concat(), 2, words);
    }
    said(&["check", "-", "--checkpoint", &never], 2, "");
}

fn folder_of(checkpoints: &str) -> PathBuf {
    Path::new(checkpoints)
        .parent()
        .expect("it is in a folder")
        .to_owned()
}

/// Files of a real run, damaged in any way: a message, or the right answer from the one before.
fn damage(rounds: usize, random: &mut Random, name: &str) {
    let (checkpoints, undisturbed) = stopped(name, WAYS[0], &["--max-states", "2000"]);
    let files = ["checkpoint", "checkpoint.previous"].map(|file| {
        let path = Path::new(&checkpoints).join(file);
        let bytes = std::fs::read(&path).expect("both are there");
        (path, bytes)
    });
    for round in 0..rounds {
        for (at, (path, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            // The one before is damaged in half of the rounds.
            if at == 0 || random.one_in(2) {
                let place = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes.truncate(place),
                    1 => bytes[place] ^= 1 << random.below(8),
                    2 => bytes[8] = bytes[8].wrapping_add(1 + random.below(255) as u8),
                    _ => bytes[place..].fill(0),
                }
            }
            std::fs::write(path, bytes).expect("it can be written");
        }
        let more = ["resume", &checkpoints, "--json", "--max-states", "900000"];
        let end = output(&more);
        match end.status.code() {
            Some(0) => assert_eq!(answer(&end), undisturbed, "round {round}"),
            Some(2) => assert!(!end.stderr.is_empty(), "round {round}"),
            other => panic!("round {round}: {other:?} {end:?}"),
        }
    }
}

#[test]
fn damaged_files_are_a_message() {
    damage(12, &mut Random::new(3), "damage");
}

#[test]
#[ignore = "minutes"]
fn many_damaged_files_are_a_message() {
    damage(300, &mut Random::new(4), "much-damage");
}
