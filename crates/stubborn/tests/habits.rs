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
    ] {
        let output = run(&["check", &path, flag]);
        assert_eq!(output.status.code(), Some(2), "{flag}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("for users of SPIN"), "{flag}: {message}");
        assert!(message.contains(hint), "{flag}: {message}");
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
            let (object, aut, dot) = explored(&path, &["--por", por]);
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
