//! What people from elsewhere expect: flags of SPIN, graphs for other tools, systems of one's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn scratch(name: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("habits");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder.join(name).display().to_string()
}

#[test]
fn flags_of_spin_have_hints() {
    let path = format!("{EXAMPLES}/token_passing.pml");
    for (flag, hint) in [
        ("-a", "--acceptance"),
        ("-l", "[]<> !np_"),
        ("-f", "--fairness"),
        ("-m10000", "--max-states"),
        ("-I", "shortest"),
        ("-run", "stubborn check"),
        ("-o3", "--as-written"),
        ("-bfs", "breadth-first"),
        ("-ltl", "--property"),
        ("-N", "--property"),
        ("-k", "--trail"),
    ] {
        let output = run(&["check", &path, flag]);
        assert_eq!(output.status.code(), Some(2), "{flag}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("for users of SPIN"), "{flag}: {message}");
        assert!(message.contains(hint), "{flag}: {message}");
        assert!(!message.contains("as a value"), "{flag}: {message}");
    }
    let wrong = run(&["check", &path, "--nonsense"]);
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("SPIN"));
    for (definition, hint) in [("-DNP", "np_"), ("-DNFAIR=3", "--fairness")] {
        let output = run(&["check", &path, definition]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(hint), "{definition}: {message}");
    }
    let plain = run(&["check", &path, "-DOTHER"]);
    assert!(plain.stderr.is_empty(), "{plain:?}");
}

/// The name of a trail after a space is no model, and somebody says so.
#[test]
fn names_of_trails_are_not_taken_for_models() {
    let path = format!("{EXAMPLES}/token_passing.pml");
    let output = run(&["check", &path, "--trail", "bug.trail"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("--trail=bug.trail"), "{message}");
}

/// One formula means the same wherever it is written.
#[test]
fn formulas_are_read_alike() {
    let text = |arguments: &[&str]| {
        let output = run(&[&["ltl"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let formula = "a U b U c";
    assert_eq!(text(&[formula]), text(&[formula, "--syntax", "spin"]));
    assert_ne!(text(&[formula]), text(&[formula, "--syntax", "spot"]));
    assert_eq!(text(&["[] (a -> <> b)"]), text(&["G (a -> F b)"]));
}

fn explored(path: &str, more: &[&str]) -> (Value, String, String) {
    let (aut, dot) = (scratch("graph.aut"), scratch("graph.dot"));
    let files = ["explore", path, "--json", "--aut", &aut, "--dot", &dot];
    let output = run(&[&files, more].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |file: &str| std::fs::read_to_string(file).expect("it was written");
    let object = serde_json::from_slice(&output.stdout).expect("an object");
    (object, read(&aut), read(&dot))
}

#[test]
fn graphs_are_those_that_were_explored() {
    for model in ["philosophers.dve", "token_passing.pml", "workshop.pnml"] {
        let path = format!("{EXAMPLES}/{model}");
        for por in ["none", "beam"] {
            let (object, aut, dot) = explored(&path, &["--por", por, "--branching"]);
            let counts = |of: &str| -> Vec<u64> {
                let counts = object["branching"][of].as_array().expect("a list");
                counts
                    .iter()
                    .filter_map(serde_json::Value::as_u64)
                    .collect()
            };
            for of in ["kept", "all"] {
                assert_eq!(object["states"], counts(of).iter().sum::<u64>());
            }
            let steps = |of: &str| counts(of).iter().zip(0..).map(|(n, k)| n * k).sum::<u64>();
            assert_eq!(object["transitions"], steps("kept"));
            assert!(
                steps("all") >= steps("kept") && (por == "beam" || counts("all") == counts("kept"))
            );
            let head = format!("des (0, {}, {})", object["transitions"], object["states"]);
            assert_eq!(aut.lines().next(), Some(head.as_str()), "{model} {por}");
            assert_eq!(object["transitions"], aut.lines().count() - 1);
            let edges = dot.lines().filter(|line| line.contains(" -> "));
            let (left_out, kept): (Vec<&str>, Vec<&str>) =
                edges.partition(|line| line.contains("style=dashed"));
            assert_eq!(object["transitions"], kept.len());
            assert!(por == "beam" || left_out.is_empty());
        }
    }
    // More states than allowed are no graph.
    let aut = scratch("none.aut");
    let _ = std::fs::remove_file(&aut);
    let path = format!("{EXAMPLES}/philosophers.dve");
    let output = run(&["explore", &path, "--aut", &aut, "--max-states", "10"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!Path::new(&aut).exists());
}

/// To SPIN, `R` is a name like others.
#[test]
fn propositions_may_be_called_r() {
    let model = scratch("release.pml");
    let text = "int P, R; ltl before { <>R -> (!P U R) }\nactive proctype A() { R = 1; P = 1 }\n";
    std::fs::write(&model, text).expect("it can be written");
    let output = run(&["check", &model, "--json", "--property", "before"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn bundles_run_again_and_compare() {
    let bundle = scratch("bundle.json");
    let included = scratch("included.h");
    let model = scratch("including.pml");
    std::fs::write(included, "#define LIMIT 2\n").expect("it can be written");
    let text =
        "#include \"included.h\"\nbyte x; active proctype P() { x = 3; assert(x < LIMIT) }\n";
    std::fs::write(&model, text).expect("it can be written");
    let recorded = run(&["reproduce", &bundle, "--", "check", &model, "--seed", "3"]);
    assert_eq!(recorded.status.code(), Some(0), "{recorded:?}");
    // The bundle has all it needs.
    std::fs::remove_file(&model).expect("it was there");
    let again = run(&["reproduce", &bundle]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stdout).starts_with("the same"));
    // Anything else is told.
    let changed = std::fs::read_to_string(&bundle).expect("it was written");
    let changed = changed.replace("LIMIT 2", "LIMIT 5");
    std::fs::write(&bundle, changed).expect("it can be written");
    let again = run(&["reproduce", &bundle]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let text = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(text.contains("exit status: 1, now 0"), "{text}");
    assert!(
        text.contains("verdict: \"violated\", now \"holds\""),
        "{text}"
    );
    // Files stay inside of the folder that is made for them.
    let changed = std::fs::read_to_string(&bundle).expect("it was written");
    let outside = changed.replace("\"included.h\": ", "\"../included.h\": ");
    std::fs::write(&bundle, outside).expect("it can be written");
    let again = run(&["reproduce", &bundle]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    // What cannot be run is not recorded.
    let none = scratch("none.json");
    for command in [
        &["nonsense"][..],
        &["check", "nowhere.dve"],
        &["serve", &model],
    ] {
        let output = run(&[&["reproduce", &none, "--"], command].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(!Path::new(&none).exists(), "{command:?}");
    }
    std::fs::write(&bundle, "{}").expect("it can be written");
    assert_eq!(run(&["reproduce", &bundle]).status.code(), Some(2));
}

/// A bundle may come from anybody: it neither touches files outside of it, nor runs anything but checks. What a
/// recorded command writes belongs to whoever has given it.
#[test]
fn bundles_are_data() {
    let outside = scratch("outside");
    let _ = std::fs::remove_dir_all(&outside);
    std::fs::create_dir_all(&outside).expect("the folder can be made");
    let up = format!("{}{outside}/up.json", "../".repeat(12));
    let target = format!("{outside}/t.json");
    let joined = format!("--trace={target}");
    let bundle = scratch("hostile.json");
    let model = "process P { state a; init a; trans a -> a {}; } system async;";
    let hostile: [&[&str]; 12] = [
        &["check", "--json", "m.dve", "--report", &target],
        &["check", "--json", "m.dve", "--report", &up],
        &["check", "--json", "m.dve", "--invariant", "false", &joined],
        &["check", "--json", "m.dve", "--checkpoint", &outside],
        &[
            "check",
            "--json",
            "m.dve",
            "--memory-limit",
            "12M",
            "--spill",
            &outside,
        ],
        &[
            "check",
            "--json",
            "m.dve",
            "--processes",
            "2",
            "--listen",
            "127.0.0.1:0",
        ],
        &["check", "--json", "/etc/hostname"],
        &["check", "--json", "module.so"],
        &["inspect", "m.dve", "--write-relations", &target],
        &["reproduce", &target, "--", "check", "m.dve"],
        &["serve", "m.dve"],
        &["--help"],
    ];
    for command in hostile {
        let object = serde_json::json!({
            "format": "stubborn bundle", "version": 1, "stubborn": "0.2.0", "command": command,
            "files": {"m.dve": model}, "exit_status": 0, "result": {},
        });
        std::fs::write(&bundle, object.to_string()).expect("it can be written");
        let output = run(&["reproduce", &bundle]);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("a bundle must not"), "{command:?}: {text}");
        let left = std::fs::read_dir(&outside)
            .expect("the folder is there")
            .count();
        assert_eq!(left, 0, "{command:?}");
    }
    let recorded = || {
        std::fs::write(format!("{outside}/m.dve"), model).expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
        let command = command
            .current_dir(&outside)
            .args(["reproduce", "b.json", "--", "check"]);
        let command = command.args(["m.dve", "--invariant", "false", "--trace", "t.json"]);
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        std::fs::read_to_string(&target).expect("it is where the user is")
    };
    let first = recorded();
    // Another time, over what is there.
    std::fs::write(&target, "{}").expect("it can be written");
    assert_eq!(recorded(), first);
    let again = run(&["reproduce", &format!("{outside}/b.json")]);
    let text = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(text.contains("the same"), "{text}");
}

/// Names of files may be any bytes, and whatever else is no text is refused in words.
#[test]
#[cfg(unix)]
fn arguments_are_any_bytes() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;

    let odd = |before: &str, after: &str| {
        let bytes = [before.as_bytes(), b"\xff", after.as_bytes()].concat();
        OsStr::from_bytes(&bytes).to_owned()
    };
    let plain = OsString::from(scratch("plain.dve"));
    let strange = odd(&scratch("strange"), ".dve");
    for path in [&plain, &strange] {
        let model = "byte x; process P { state a; init a; trans a -> a {}; } system async;";
        std::fs::write(path, model).expect("it can be written");
    }
    let (check, report) = (OsString::from("check"), OsString::from("--report"));
    let (odd_report, invariant, x) = (
        odd(&scratch("r"), ".json"),
        "--invariant".into(),
        odd("x", ""),
    );
    let (no, nothing, json) = (odd("--no", ""), odd("", ""), "--json".into());
    let cases = [
        (vec![&check, &strange], 0),
        (vec![&check, &plain, &strange], 0),
        (vec![&check, &plain, &report, &odd_report], 0),
        (vec![&check, &plain, &invariant, &x], 2),
        (vec![&check, &plain, &no], 2),
        (vec![&nothing], 2),
        (vec![&nothing, &json], 2),
    ];
    for (arguments, status) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
        let output = command
            .args(&arguments)
            .output()
            .expect("the program starts");
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {output:?}"
        );
    }
}
