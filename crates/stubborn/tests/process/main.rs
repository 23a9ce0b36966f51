//! The program as scripts see it: JSON, files, pipes, signals, exit statuses.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

mod editor;
mod promela;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn stubborn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    stubborn(arguments).output().expect("the program starts")
}

fn example(name: &str) -> String {
    format!("{EXAMPLES}/{name}")
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

const FIELDS: [&str; 18] = [
    "schema_version",
    "command",
    "model",
    "language",
    "por",
    "order",
    "threads",
    "store",
    "states",
    "transitions",
    "deadlocks",
    "invalid_ends",
    "depth",
    "complete",
    "load_seconds",
    "explore_seconds",
    "peak_memory_bytes",
    "bytes_per_state",
];

#[test]
fn explore_prints_exactly_the_agreed_fields() {
    let path = example("philosophers.dve");
    let object = json(&run(&["explore", "--json", &path]));
    let names: Vec<&str> = object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(names, FIELDS);
    assert_eq!(object["model"], path.as_str());
    assert_eq!(object["language"], "dve");
    assert_eq!(object["por"], "none");
    assert_eq!(object["order"], "bfs");
    assert_eq!(object["threads"], 1);
    assert_eq!(object["store"], "tree");
    assert_eq!(object["states"], 242);
    assert_eq!(object["transitions"], 805);
    assert_eq!(object["deadlocks"], 1);
    assert_eq!(object["invalid_ends"], Value::Null);
    assert_eq!(object["depth"], 12);
    assert_eq!(object["complete"], true);
}

#[test]
fn explore_says_when_a_limit_stopped_it() {
    let path = example("cache_coherence.dve");
    let output = run(&[
        "explore",
        "--json",
        "--max-states",
        "1000",
        "--order",
        "dfs",
        &path,
    ]);
    assert_eq!(output.status.code(), Some(3));
    let object = json(&output);
    assert_eq!(object["complete"], false);
    assert_eq!(object["order"], "dfs");
}

#[test]
fn check_adds_properties_with_traces() {
    let path = example("alternating_bit_broken.dve");
    let output = run(&[
        "check",
        "--json",
        "--por",
        "beam",
        "--relations",
        "exact",
        &path,
    ]);
    assert_eq!(output.status.code(), Some(1));
    let object = json(&output);
    for field in FIELDS {
        assert!(object.get(field).is_some(), "{field} is missing");
    }
    let properties = object["properties"].as_array().expect("a list");
    let kinds: Vec<&str> = properties
        .iter()
        .filter_map(|p| p["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["deadlock", "assertion"]);
    let verdicts: Vec<&str> = properties
        .iter()
        .filter_map(|p| p["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["holds", "violated"]);
    assert_eq!(properties[0]["trace"], Value::Null);
    let trace = &properties[1]["trace"];
    assert_eq!(trace["cycle"], Value::Array(Vec::new()));
    let stem = trace["stem"].as_array().expect("a list of steps");
    assert_eq!(stem.len(), 8);
    assert_eq!(stem[0]["transition"], "Sender: send -> wait (data!)");
    assert_eq!(stem[0]["process"], "Sender");
    let location = stem[0]["location"].as_str().expect("a place");
    assert!(
        location.ends_with("alternating_bit_broken.dve:17:5"),
        "{location}"
    );
    assert_eq!(
        stem[0]["changes"]["Sender"],
        serde_json::json!(["send", "wait"])
    );
    // One search has answered all of them.
    for property in properties {
        assert_eq!(property["states"], object["states"]);
    }
}

#[test]
fn a_saved_trace_can_be_replayed_and_read() {
    let folder = folder("replay");
    let file = folder.join("bug.json");
    let file = file.to_str().expect("a plain name");
    let model = example("alternating_bit_broken.dve");
    let output = run(&["check", &model, "--trace", file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("saved as"));

    let output = run(&["simulate", &model, "--replay", file]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("8. Receiver: judge -> deliver"), "{text}");
    assert!(text.contains("alternating_bit_broken.dve:28:10"), "{text}");

    // What was repaired is no violation any more, even if the run is still there.
    let source = std::fs::read_to_string(&model).expect("an example");
    let kept = source.replace("assert deliver: value == wanted;", "");
    assert!(kept != source);
    let repaired = folder.join("repaired.dve").display().to_string();
    std::fs::write(&repaired, kept).expect("a file");
    let output = run(&["simulate", &repaired, "--replay", file]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    // The correct protocol does not do that.
    let output = run(&[
        "simulate",
        &example("alternating_bit.dve"),
        "--replay",
        file,
    ]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    let problem = "step 8: `Receiver: judge -> deliver` is not possible there";
    assert!(text.contains(problem), "{text}");
}

/// The model without the property has no need for a constant that only the property reads.
#[test]
fn a_trace_about_a_constant_can_be_replayed() {
    let folder = folder("replay_constant");
    let text = "const byte g[2] = {1, 2}; byte x;
        process P { state a, b; init a; trans a -> b { effect x = 1; }, b -> a { effect x = 0; }; }
        system async;";
    let path = model(&folder, "constant.dve", text);
    let file = folder.join("t.json").to_string_lossy().into_owned();
    let found = run(&[
        "check",
        &path,
        "--only",
        "--ltl",
        "\"g[x] == 1\"U\"x == 2\"",
        "--trace",
        &file,
    ]);
    assert_eq!(found.status.code(), Some(1));
    let saved = std::fs::read_to_string(&file).expect("a trace");
    assert!(saved.contains("g[1]"), "the property needs it: {saved}");
    let replayed = run(&["simulate", &path, "--replay", &file]);
    let complaint = String::from_utf8_lossy(&replayed.stderr).into_owned();
    assert_eq!(replayed.status.code(), Some(0), "{complaint}");
}

/// Relations of nets know of no limit to tokens; where a place gets to its limit, they must not
/// decide what is left out.
#[test]
fn full_places_hide_nothing_from_reduced_searches() {
    let folder = folder("full_places");
    let net = |name: &str,
               places: &[(&str, u32)],
               transitions: &[&str],
               arcs: &[(&str, &str, u32)]| {
        let place = |(id, tokens): &(&str, u32)| {
            format!(
                "<place id='{id}'><initialMarking><text>{tokens}</text></initialMarking></place>"
            )
        };
        let mut parts: Vec<String> = places.iter().map(place).collect();
        parts.extend(
            transitions
                .iter()
                .map(|id| format!("<transition id='{id}'/>")),
        );
        parts.extend(arcs.iter().map(|(from, to, weight)| {
            format!("<arc id='{from}{to}' source='{from}' target='{to}'><inscription><text>{weight}</text></inscription></arc>")
        }));
        let text = format!(
            "<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'><net id='n' \
             type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='g'>{}</page></net></pnml>",
            parts.concat()
        );
        model(&folder, name, &text)
    };
    let (full, most) = (u32::MAX, u32::MAX);
    // The transition `idle` fires for ever.
    let idle = net(
        "idle.pnml",
        &[("p", full), ("q", 0)],
        &["more", "idle", "never"],
        &[("more", "p", 1), ("q", "never", 1)],
    );
    // A deadlock, if `empty` goes first.
    let order = net(
        "order.pnml",
        &[("a", 1), ("p", full), ("q", 0)],
        &["more", "empty"],
        &[
            ("a", "more", 1),
            ("more", "p", 1),
            ("p", "empty", most),
            ("empty", "q", 1),
        ],
    );
    for por in ["none", "beam", "closure", "deletion", "auto"] {
        for (path, question) in [
            (&idle, ["--ltl", "\"fireable(never)\""]),
            (&order, ["--invariant", "q == 0"]),
            (&order, ["--ltl", "[] \"q == 0\""]),
        ] {
            let arguments = [
                "check",
                path,
                "--only",
                question[0],
                question[1],
                "--por",
                por,
            ];
            let output = run(&arguments);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        }
        let output = run(&["check", &order, "--only", "--deadlock", "--por", por]);
        assert_eq!(output.status.code(), Some(1), "deadlock with {por}");
    }
    // The smaller net has a deadlock behind the limit of this one, which can neither say so nor deny it.
    let behind = net(
        "behind.pnml",
        &[("p", full), ("q", 1)],
        &["more"],
        &[("q", "more", 1), ("more", "p", 1)],
    );
    let output = run(&["check", &behind, "--only", "--deadlock", "--structural"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The net stops after a billion steps, which a smaller one leaves out.
    let long = net(
        "long.pnml",
        &[("p", 1_073_741_823), ("q", 0), ("r", 0), ("s", 1)],
        &["move", "meet", "come", "go"],
        &[
            ("p", "move", 1),
            ("move", "q", 1),
            ("q", "meet", 1),
            ("r", "meet", 1),
            ("s", "come", 1),
            ("come", "r", 1),
            ("r", "go", 1),
        ],
    );
    let output = run(&["check", &long, "--only", "--deadlock", "--structural"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("too long to be told"), "{told}");
}

#[test]
fn a_simulated_run_can_be_saved() {
    let folder = folder("save");
    let file = folder.join("run.json");
    let file = file.to_str().expect("a plain name");
    let model = example("peterson.dve");
    let first = run(&[
        "simulate", &model, "--steps", "30", "--seed", "5", "--save", file,
    ]);
    assert_eq!(first.status.code(), Some(0));
    let again = run(&["simulate", &model, "--replay", file]);
    let (first, again) = (
        String::from_utf8_lossy(&first.stdout).into_owned(),
        String::from_utf8_lossy(&again.stdout).into_owned(),
    );
    assert!(again.ends_with(&first), "{first}\n{again}");
}

/// What a failing step leaves is no state, and a saved trace says nothing about it: here, of an array
/// that only the property reads.
#[test]
fn a_failing_step_can_be_replayed_without_the_property() {
    let folder = folder("failing");
    let file = |name: &str| folder.join(name).to_str().expect("a plain name").to_owned();
    let (model, trace) = (file("model.dve"), file("trace.json"));
    let text = "const int g[2] = {0, 255};
        process P { state s; init s; trans s -> s { guard 0 / 0; }; }
        process Q { int v; state s; init s; }
        system async;";
    std::fs::write(&model, text).expect("it can be written");
    let checked = run(&["check", &model, "--invariant", "g[Q.v]", "--trace", &trace]);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let again = run(&["simulate", &model, "--replay", &trace]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
}

#[test]
fn steps_can_be_chosen_from_a_pipe() {
    let mut child = stubborn(&["simulate", "-i", &example("philosophers.dve")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(b"1\nu\n99\n?\ns\nr\nq\n")
        .expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for part in [
        "[1] Philosopher_0: thinking -> hungry",
        "`99` is no choice here",
        "take a random step",
        "taken[4] = 0",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn a_replay_can_be_continued_by_hand() {
    let file = folder("continued").join("run.json");
    let file = file.to_str().expect("a plain name");
    let model = example("alternating_bit_broken.dve");
    assert_eq!(
        run(&["check", &model, "--trace", file]).status.code(),
        Some(1)
    );
    let mut child = stubborn(&["simulate", "-i", &model, "--replay", file])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"u\nu\n1\nq\n").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    // Eight steps are replayed, two undone, and another one taken.
    let (replayed, own) = text.split_once("violated: ").expect("it is named");
    assert!(
        replayed.contains("  8. Receiver: judge -> deliver"),
        "{text}"
    );
    assert!(own.contains("alternating_bit_broken.dve:28:10"), "{text}");
    assert!(own.contains("\n    7. Sender: wait"), "{text}");
}

#[test]
fn a_model_may_come_from_a_pipe() {
    let mut child = stubborn(&["explore", "-q", "-", "--language", "dve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let text = std::fs::read(example("philosophers.dve")).expect("it is there");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&text).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("242 states"));
}

#[test]
fn hostile_files_end_in_a_message() {
    let folder = folder("hostile");
    let parentheses = "(".repeat(1_000_000);
    let names = "abcdefgh ".repeat(100_000);
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("zeros", vec![0; 10_000]),
        ("bytes", (0..=255_u8).cycle().skip(1).filter(|b| *b != 0).take(50_000).collect()),
        ("empty", Vec::new()),
        ("deep", format!("byte x; process P {{ state a; init a; trans a -> a {{ guard {parentheses}x; }}; }} system async;").into_bytes()),
        ("long", names.into_bytes()),
        ("open", b"<pnml><net>".repeat(10_000)),
    ];
    for (name, content) in &files {
        for language in ["dve", "pml", "pnml"] {
            let path = folder.join(format!("{name}.{language}"));
            std::fs::write(&path, content).expect("it can be written");
            let output = run(&["check", path.to_str().expect("a plain name")]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{name}.{language}: {error}");
            assert!(error.starts_with("error"), "{name}.{language}: {error}");
        }
    }
}

#[test]
fn a_file_of_100_megabytes_ends_in_a_message() {
    let path = folder("large").join("large.dve");
    let file = std::fs::File::create(&path).expect("it can be made");
    file.set_len(100 << 20).expect("there is room for a hole");
    let output = run(&["check", path.to_str().expect("a plain name")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("100 MiB"));
    std::fs::remove_file(&path).expect("it can be removed");
}

/// 2^40 states: nobody waits for the end.
fn endless() -> PathBuf {
    let path = folder("endless").join("endless.dve");
    // Who came last is in the state, so that no reduction helps.
    let mut text = String::from("byte last;\n");
    for process in 0..5 {
        text += &format!(
            "process P{process} {{ byte x; state a; init a; trans \
             a -> a {{ guard x < 255; effect x = x + 1, last = {process}; }}, \
             a -> a {{ guard x > 0; effect x = x - 1, last = {process}; }}; }}\n"
        );
    }
    std::fs::write(&path, text + "system async;\n").expect("it can be written");
    path
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_with_what_was_learnt() {
    let path = endless();
    let path = path.to_str().expect("a plain name");
    let child = stubborn(&["explore", path, "--json", "--memory-limit", "2G"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_millis(700));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(object["complete"], false);
}

#[test]
fn memory_and_time_limits_end_cleanly() {
    let path = endless();
    let path = path.to_str().expect("a plain name");
    for limit in [["--memory-limit", "40M"], ["--timeout", "0.2"]] {
        let output = run(&["check", path, "-q", limit[0], limit[1]]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("limit was reached"), "{text}");
    }
}

#[test]
fn explore_tells_of_steps_that_fail() {
    let path = folder("endless sequences").join("m.pml");
    let text = "byte x; active proctype P() { x = 1;\n atomic { x = 1; do :: x = 1 - x od } }";
    std::fs::write(&path, text).expect("it can be written");
    let path = path.to_str().expect("a plain name");
    for engine in ["compiled", "interpreted"] {
        let output = run(&["explore", path, "--engine", engine]);
        assert_eq!(output.status.code(), Some(0));
        let out = String::from_utf8_lossy(&output.stdout);
        let wanted = "an uninterrupted sequence of steps never ends";
        assert!(out.contains(wanted) && out.contains("m.pml:2:"), "{out}");
        let output = run(&["explore", path, "--engine", engine, "--json"]);
        let list = &json(&output)["failing_steps"];
        assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    }
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let mut child = stubborn(&[
        "inspect",
        &example("cache_coherence.dve"),
        "--format",
        "json",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let commands = [
        "check", "explore", "simulate", "inspect", "validate", "ltl", "bench",
    ];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        let text = String::from_utf8_lossy(&output.stdout);
        for command in commands {
            assert!(text.contains(command), "{command} is missing for {shell}");
        }
    }
    let folder = folder("man");
    let output = run(&["man", "--folder", folder.to_str().expect("a plain name")]);
    assert_eq!(output.status.code(), Some(0));
    for command in commands {
        assert!(
            folder.join(format!("stubborn-{command}.1")).is_file(),
            "{command}"
        );
    }
    assert!(String::from_utf8_lossy(&run(&["man"]).stdout).contains(".TH"));
}

#[test]
fn a_bench_is_a_table() {
    let output = run(&[
        "bench",
        &example("peterson.dve"),
        &example("philosophers.dve"),
        "--threads",
        "1",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("| peterson | 705 | 1,725 |"), "{text}");
    assert!(text.contains("geometric mean"), "{text}");
}

#[test]
fn temporal_properties_have_lassos_that_can_be_replayed() {
    let folder = folder("lassos");
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");
    // Formulas that are violated, and numbers of steps before and on the cycle; an end of
    // the run where there is none.
    let cases = [
        ("lamp.pml", "<> [] lit", Some((0, 2))),
        ("lamp.pml", "<> ! Guard@L", Some((0, 2))),
        ("lamp.pml", "[] (_last != 1)", None),
        ("turnstile.dve", "[] <> First.inside", Some((0, 1))),
        ("producer.pnml", "[] <> (done < 3)", None),
    ];
    for (number, (model, formula, lasso)) in cases.into_iter().enumerate() {
        let model = format!("{models}/{model}");
        let saved = folder.join(format!("{number}.json"));
        let saved = saved.to_str().expect("a path in ASCII");
        for emptiness in ["scc", "ndfs"] {
            let arguments = [
                "check",
                "--json",
                "--only",
                "--ltl",
                formula,
                "--trace",
                saved,
                "--emptiness",
                emptiness,
                &model,
            ];
            let output = run(&arguments);
            assert_eq!(output.status.code(), Some(1), "{formula}");
            let object = json(&output);
            let property = &object["properties"][0];
            assert_eq!(property["name"], formula);
            assert_eq!(property["kind"], "ltl");
            assert_eq!(property["verdict"], "violated");
            let trace = &property["trace"];
            let length = |part: &str| trace[part].as_array().expect("a list of steps").len();
            if let (Some((stem, cycle)), "scc") = (lasso, emptiness) {
                assert_eq!(
                    (length("stem"), length("cycle")),
                    (stem, cycle),
                    "{formula}"
                );
            }
            let replayed = run(&["simulate", &model, "--replay", saved]);
            assert_eq!(replayed.status.code(), Some(0), "{formula}");
            let told = String::from_utf8_lossy(&replayed.stdout);
            assert_eq!(
                told.contains("then for ever"),
                length("cycle") > 0,
                "{told}"
            );
        }
    }
}

#[test]
fn a_formula_that_a_limit_left_open_is_unknown() {
    let path = example("cache_coherence.dve");
    let formula = "[] (latest < 200)";
    let output = run(&[
        "check",
        "--json",
        "--only",
        "--ltl",
        formula,
        "--por",
        "none",
        "--max-states",
        "100",
        &path,
    ]);
    assert_eq!(output.status.code(), Some(3));
    let object = json(&output);
    assert_eq!(object["complete"], false);
    let property = &object["properties"][0];
    assert_eq!(property["verdict"], "unknown");
    assert_eq!(property["trace"], Value::Null);
}

#[test]
fn explorations_with_a_proviso_depend_on_order_and_proviso() {
    let path = example("leader_ring.dve");
    let states = |proviso: &str, seed: &str| {
        let object = json(&run(&[
            "explore",
            "--json",
            "--por",
            "beam",
            "--proviso",
            proviso,
            "--seed",
            seed,
            &path,
        ]));
        assert_eq!(object["proviso"], proviso);
        assert_eq!(object["order"], "dfs");
        assert_eq!(object["por"], "beam");
        object["states"].as_u64().expect("a number")
    };
    let whole = json(&run(&["explore", "--json", &path]));
    let whole = whole["states"].as_u64().expect("a number");
    for seed in ["1", "2"] {
        assert_eq!(states("full", seed), whole);
        assert!(states("none", seed) <= states("source", seed));
        assert!(states("source", seed) <= whole);
        assert_eq!(states("source", seed), states("source", seed));
    }
    let refused = run(&["explore", "--proviso", "source", "--threads", "2", &path]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn explorations_with_a_proviso_take_strategies_that_ask_the_search() {
    let path = example("leader_ring.dve");
    let strategy = [
        "explore", "--json", "--por", "deletion", "--delete", "max_f",
    ];
    let explore = |more: &[&str]| run(&[&strategy, more, &[path.as_str()]].concat());
    let whole = json(&run(&["explore", "--json", &path]));
    let everything = json(&explore(&["--proviso", "full"]));
    for number in ["states", "transitions", "deadlocks"] {
        assert_eq!(everything[number], whole[number]);
    }
    let reduced = json(&explore(&["--proviso", "dest"]));
    assert!(reduced["states"].as_u64() <= whole["states"].as_u64());
    assert_eq!(reduced["deadlocks"], whole["deadlocks"]);
    assert_eq!(
        explore(&["--compare", "dest,source"]).status.code(),
        Some(2)
    );
}

/// A proposition that cannot be evaluated violates its property, with a trace to where it fails.
#[test]
fn evaluations_that_fail_are_told_and_replayed() {
    let folder = folder("evaluations");
    let trace = folder.join("failure.json");
    let trace = trace.to_str().expect("the name is plain");
    for (model, arguments, steps) in [
        ("tests/models/ltlindex.pml", &[][..], 6),
        (
            "tests/models/ltlindex.dve",
            &["--only", "--ltl", "<> (arr[a] != 0)"][..],
            3,
        ),
    ] {
        let check = [&["check", "--json", "--trace", trace, model], arguments].concat();
        let output = run(&check);
        assert_eq!(output.status.code(), Some(1));
        let object = json(&output);
        let properties = object["properties"].as_array().expect("a list");
        let property = properties.last().expect("the formula");
        assert_eq!(property["kind"], "ltl");
        assert_eq!(property["verdict"], "violated");
        let stem = property["trace"]["stem"].as_array().expect("a list");
        let cycle = property["trace"]["cycle"].as_array().expect("a list");
        assert_eq!((stem.len(), cycle.len()), (steps, 0));
        let proposition = property["failure"]["proposition"].as_str();
        let proposition = proposition.expect("a text");
        assert!(proposition.starts_with("arr[a]"), "{proposition}");
        let message = property["failure"]["message"].as_str();
        assert!(message.expect("a text").contains("array arr"));
        let replayed = run(&["simulate", model, "--replay", trace]);
        assert_eq!(replayed.status.code(), Some(0));
        let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
        assert!(text.contains("a = 3") && !text.contains("a = 4"), "{text}");
    }
}

/// Writes a model into a folder of its own.
fn model(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder can be written to");
    path.to_string_lossy().into_owned()
}

#[test]
fn the_contest_hears_what_is_not_answered_without_an_error() {
    let mut command = stubborn(&["mcc"]);
    let output = command.env("BK_EXAMINATION", "Beauty").output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"DO_NOT_COMPETE\n");
}

#[test]
fn the_first_run_of_a_branching_counterexample_is_saved_and_replayed() {
    let file = folder("branching").join("run.json");
    let (file, model) = (file.display().to_string(), example("peterson.dve"));
    let formula = "AG (P_0.wait -> AF P_0.critical)";
    let output = run(&[
        "check", &model, "--only", "--ctl", formula, "--trace", &file,
    ]);
    assert_eq!(output.status.code(), Some(1));
    let replayed = run(&["simulate", &model, "--replay", &file]);
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
}
