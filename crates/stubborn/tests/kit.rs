//! The program in scripts and in continuous integration: signals, shared limits, objects for
//! everything that can come out. (Builds for tests check each object against the schema.)

#[path = "kit/modules.rs"]
mod modules;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");

fn stubborn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    stubborn(arguments).output().expect("the program starts")
}

/// The object that a command prints, with its exit status.
fn object(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let object: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("{arguments:?}: {error}: {text}{errors}")
    });
    assert_eq!(object["schema_version"], 1);
    assert_eq!(object["command"], arguments[0]);
    (object, output.status.code())
}

fn file(name: &str, text: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path.display().to_string()
}

/// Far too many states to see them all, without a reduction.
fn endless(name: &str) -> String {
    let processes = (0..6).map(|process| {
        format!(
            "process P{process} {{ byte x; state a; init a; trans \
             a -> a {{ guard x < 255; effect x = x + 1; }}, \
             a -> a {{ guard x > 0; effect x = x - 1; }}; }}\n"
        )
    });
    file(name, &(processes.collect::<String>() + "system async;\n"))
}

#[test]
#[cfg(unix)]
fn signals_of_schedulers_end_with_what_was_learnt() {
    let path = endless("signal.dve");
    for signal in ["-TERM", "-HUP", "-INT"] {
        let child = stubborn(&[
            "check",
            &path,
            "--json",
            "--por",
            "none",
            "--memory-limit",
            "2G",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
        std::thread::sleep(Duration::from_millis(1500));
        let killed = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(killed.expect("there is a kill").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{signal}");
        let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
        assert_eq!(object["verdict"], "unknown");
        assert!(object["states"].as_u64() > Some(0));
        assert_eq!(object["limit"], "interrupted");
        assert_eq!(object["properties"][0]["limit"], "interrupted");
    }
}

/// One property whose search never ends does not take the time of others, wherever it stands.
#[test]
fn a_time_limit_is_shared() {
    let path = endless("shared.dve");
    let (object, code) = object(&[
        "check",
        &path,
        "--json",
        "--por",
        "none",
        "--timeout",
        "8",
        "--ltl",
        "[] (P0.x < 250 || P0.x >= 0)",
        "--ltl",
        "[] (P0.x < 3)",
        "--ltl",
        "<> (P1.x > 1)",
    ]);
    assert_eq!(code, Some(1), "{object:#}");
    let properties = object["properties"].as_array().expect("a list");
    let verdicts: Vec<&str> = properties
        .iter()
        .filter_map(|p| p["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["unknown", "unknown", "violated", "violated"]);
    for unknown in &properties[..2] {
        assert_eq!(unknown["limit"], "time");
        let reason = unknown["reason"].as_str().expect("a reason");
        assert!(reason.contains("time limit"), "{reason}");
        assert!(unknown["states"].as_u64() > Some(10_000), "{unknown:#}");
    }
    let seconds = object["explore_seconds"].as_f64().expect("a number");
    assert!(seconds > 4.0, "what is left is used: {seconds}");
}

#[test]
fn the_line_of_progress_says_something() {
    let path = endless("progress.dve");
    let program = env!("CARGO_BIN_EXE_stubborn");
    let command = format!("'{program}' explore '{path}' --timeout 4");
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else {
        eprintln!("skipped: there is no `script` to make a terminal");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    for word in [" a second", " waiting", "level ", "iB"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert!(!text.contains("0/0"), "{text}");
}

#[test]
fn properties_have_the_names_that_results_print() {
    let path = format!("{EXAMPLES}/alternating_bit_broken.dve");
    for (name, verdict) in [("deadlock", "holds"), ("no deadlock", "holds")] {
        let (object, _) = object(&["check", &path, "--json", "--property", name]);
        assert_eq!(object["properties"][0]["verdict"], verdict);
        assert_eq!(object["properties"].as_array().map(Vec::len), Some(1));
    }
    let path = format!("{EXAMPLES}/readers_writers.pml");
    let (all, _) = object(&["check", &path, "--json"]);
    for property in all["properties"].as_array().expect("a list") {
        for key in ["name", "title"] {
            let name = property[key].as_str().expect("a text");
            let (one, _) = object(&["check", &path, "--json", "--property", name]);
            assert_eq!(
                one["properties"].as_array().map(Vec::len),
                Some(1),
                "{name}"
            );
            assert_eq!(one["properties"][0]["name"], property["name"]);
        }
    }
}

#[test]
fn wrong_models_are_objects() {
    let path = format!("{MODELS}/unknown_name.dve");
    let (object, code) = object(&["check", &path, "--json"]);
    assert_eq!(code, Some(2));
    assert_eq!(object["exit_status"], 2);
    assert_eq!(object["error"]["kind"], "model");
    let first = &object["error"]["diagnostics"][0];
    assert_eq!(first["severity"], "error");
    assert_eq!(first["message"], object["error"]["message"]);
    assert_eq!(first["place"]["file"], path.as_str());
    assert!(first["place"]["line"].as_u64() >= Some(1));
    assert!(first["place"]["end_column"].as_u64() > first["place"]["column"].as_u64());
    assert!(
        first["code"]
            .as_str()
            .is_some_and(|code| code.starts_with("DVE"))
    );
}

#[test]
fn wrong_commands_are_objects() {
    let path = format!("{EXAMPLES}/peterson.dve");
    let wrong: [&[&str]; 5] = [
        &["check", &path, "--json", "--no-such-flag"],
        &["explore", "--json"],
        &["check", &path, "--json", "--property", "nothing"],
        &["check", "nowhere.dve", "--json"],
        &["explore", &path, "--json", "--structural"],
    ];
    for arguments in wrong {
        let (object, code) = object(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert_eq!(object["exit_status"], 2);
        assert_eq!(object["error"]["kind"], "command");
        let message = object["error"]["message"].as_str().expect("a text");
        assert!(
            !message.is_empty() && !message.starts_with("error"),
            "{message}"
        );
    }
    let help = run(&["check", "--json", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(!help.stdout.starts_with(b"{"));
}

#[test]
fn steps_have_messages_and_places() {
    let path = format!("{EXAMPLES}/alternating_bit_broken.dve");
    let (object, _) = object(&["check", &path, "--json"]);
    let violated = &object["properties"][1];
    assert_eq!(violated["place"]["line"], 28);
    let steps = violated["trace"]["stem"].as_array().expect("a list");
    let messages: Vec<&Value> = steps.iter().map(|step| &step["messages"]).collect();
    assert_eq!(
        *messages[0],
        json!([{"channel": "data", "action": "gets", "message": [0, 0]}])
    );
    assert_eq!(messages[2][0]["action"], "gives");
    assert_eq!(*messages[3], Value::Null);
    for step in steps {
        let place = &step["place"];
        let location = format!("{path}:{}:{}", place["line"], place["column"]);
        assert_eq!(step["location"], location.as_str());
    }
    // Names of values are given as such.
    let text = "mtype = { ack, nak }; chan c = [2] of { mtype, byte };\n\
                active proctype P() { c!nak(7); c?nak(7); assert(false) }";
    let path = file("names.pml", text);
    let (object, _) = self::object(&["check", &path, "--json", "--property", "assertions"]);
    let stem = &object["properties"][0]["trace"]["stem"];
    assert_eq!(stem[0]["messages"][0]["message"], json!(["nak", 7]));
}

#[test]
fn what_was_asked_besides_is_in_the_object() {
    let path = format!("{EXAMPLES}/peterson.dve");
    let (explored, _) = object(&["explore", &path, "--json", "--levels", "--unused"]);
    let levels = explored["levels"].as_array().expect("a list");
    let sum: u64 = levels.iter().filter_map(Value::as_u64).sum();
    assert_eq!(explored["states"], sum);
    assert_eq!(explored["unused"], json!([]));

    let text = "byte x; active proctype P() { if :: x == 0 -> x = 1 :: x == 7 -> x = 2 fi }";
    let path = file("unreached.pml", text);
    let (checked, code) = object(&["check", &path, "--json", "--coverage"]);
    assert_eq!(code, Some(0));
    let coverage = &checked["coverage"][0];
    assert_eq!(coverage["process"], "proctype P");
    let unreached = coverage["unreached"].as_array().expect("a list");
    let texts: Vec<&str> = unreached
        .iter()
        .filter_map(|u| u["text"].as_str())
        .collect();
    assert_eq!(texts, ["x == 7", "x = 2"]);
    let (plain, _) = object(&["check", &path, "--json"]);
    assert_eq!(plain.get("coverage"), None);

    let path = format!("{EXAMPLES}/philosophers.dve");
    let trace = format!("{MODELS}/two_hungry.json");
    let arguments = ["inspect", &path, "--state", &trace, "--format", "json"];
    let (inspected, _) = object(&arguments);
    let text = run(&arguments[..4]);
    let text = String::from_utf8_lossy(&text.stdout);
    for member in inspected["set"].as_array().expect("a list") {
        assert!(text.contains(member["transition"].as_str().expect("a name")));
        assert!(text.contains(member["reason"].as_str().expect("a text")));
    }
    let enabled = inspected["enabled"].as_array().expect("a list");
    let kept = enabled.iter().filter(|e| e["kept"] == true).count();
    let line = format!("{kept} of {} enabled transitions", enabled.len());
    assert!(text.contains(&line), "{text}");
}

#[test]
fn unknown_has_a_reason() {
    let path = format!("{EXAMPLES}/peterson.dve");
    let cases: [(&[&str], &str); 3] = [
        (&["--max-states", "10"], "states"),
        (&["--store", "bitstate"], "lossy store"),
        (
            &["--max-states", "10", "--only", "--ltl", "[] (inside < 2)"],
            "states",
        ),
    ];
    for (more, limit) in cases {
        let (object, code) = object(&[&["check", &path, "--json"], more].concat());
        assert_eq!(code, Some(3), "{more:?}");
        assert_eq!(object["limit"], limit);
        let unknown = object["properties"].as_array().expect("a list").iter();
        for property in unknown.filter(|p| p["verdict"] == "unknown") {
            assert_eq!(property["limit"], limit);
            assert!(property["reason"].as_str().is_some_and(|r| !r.is_empty()));
        }
    }
}

#[test]
fn the_schema_is_printed() {
    let output = run(&["schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(schema["$defs"]["version"]["const"], 1);
}
