//! `--engine gpu` on the command line: the same answers as without it, and clear words where
//! there can be none. Where no OpenCL device is, that is what is looked at.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> (String, String, Option<i32>) {
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        words(&output.stdout),
        words(&output.stderr),
        output.status.code(),
    )
}

fn model(name: &str) -> String {
    format!("{}/tests/models/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Everything that is said without times and memory.
fn verdicts(output: &str) -> Vec<&str> {
    output
        .lines()
        .filter(|line| !line.contains(" s to load"))
        .collect()
}

#[test]
fn answers_are_those_of_the_other_engine() {
    for (name, more) in [
        ("division.dve", &[][..]),
        ("handshake.dve", &["--deadlock"]),
        ("mailbox.pml", &[]),
        ("endless.pml", &[]),
        ("producer.pnml", &["--deadlock", "--invariant", "full <= 2"]),
        ("../../../../examples/workshop.pnml", &["--deadlock"]),
    ] {
        let path = model(name);
        let mut arguments = vec!["check", &path, "-q", "--por", "none"];
        arguments.extend_from_slice(more);
        let (expected, _, status) = text(&run(&arguments));
        arguments.extend_from_slice(&["--engine", "gpu"]);
        let (found, said, found_status) = text(&run(&arguments));
        if said.contains("there is no graphics card") {
            eprintln!("skipped: {said}");
            assert_eq!(found_status, Some(2));
            return;
        }
        assert_eq!(found_status, status, "{name}: {said}");
        assert_eq!(verdicts(&found), verdicts(&expected), "{name}");

        let (expected, ..) = text(&run(&["explore", &path, "-q", "--levels"]));
        let (found, said, _) = text(&run(&[
            "explore", &path, "-q", "--levels", "--engine", "gpu",
        ]));
        assert_eq!(verdicts(&found), verdicts(&expected), "{name}: {said}");
    }
}

#[test]
fn temporal_properties_are_answered_on_a_card() {
    let path = model("turnstile.dve");
    for (formula, on_card) in [
        ("[] <> (First.outside)", true),
        ("<> [] (First.outside)", false),
        ("<> (First.inside)", true),
        ("[] (First.outside || First.inside)", true),
    ] {
        let arguments = ["check", &path, "--only", "--por", "none", "--ltl", formula];
        let (expected, _, status) = text(&run(&arguments));
        let mut arguments = arguments.to_vec();
        arguments.extend_from_slice(&["--engine", "gpu"]);
        let (found, said, found_status) = text(&run(&arguments));
        if said.contains("there is no graphics card") {
            eprintln!("skipped: {said}");
            assert_eq!(found_status, Some(2));
            return;
        }
        assert_eq!(found_status, status, "{formula}: {found}{said}");
        assert_ne!(status, Some(2), "{formula}: {said}");
        let first = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(first(&found), first(&expected), "{formula}");
        let left = found.contains("on the processor") || said.contains("on the processor");
        assert_eq!(!left, on_card, "{formula}: {found}{said}");
    }
}

#[test]
fn a_card_may_join_in() {
    for command in ["check", "explore"] {
        let path = model("turnstile.dve");
        let expected = text(&run(&[command, &path, "-q"]));
        let found = text(&run(&[command, &path, "-q", "--engine", "auto"]));
        assert_eq!(verdicts(&found.0), verdicts(&expected.0), "{command}");
        assert_eq!(found.2, expected.2, "{command}: {}", found.1);
    }
}

#[test]
fn what_a_card_cannot_do_is_refused() {
    let dve = model("turnstile.dve");
    for arguments in [
        &["check", &dve, "--engine", "gpu", "--por", "lpor"][..],
        &["check", &dve, "--engine", "gpu", "--order", "dfs"],
        &["check", &dve, "--engine", "gpu", "--store", "bitstate"],
        &["explore", &dve, "--engine", "gpu", "--unused"],
        &["simulate", &dve, "--engine", "gpu"],
        &["inspect", &dve, "--engine", "gpu"],
        &["validate", &dve, "--engine", "gpu"],
        &["bench", &dve, "--engine", "gpu"],
    ] {
        let (said, complaint, status) = text(&run(arguments));
        assert_eq!(status, Some(2), "{arguments:?}: {said}{complaint}");
        assert!(
            complaint.starts_with("error: "),
            "{arguments:?}: {complaint}"
        );
    }
}

/// Nets of the contest, with many tokens, safe ones and coloured ones: all counts, and deadlocks after a
/// reduction, are those of the other engine.
#[test]
fn nets_have_the_same_counts() {
    let Some(folder) = stubborn_corpus::folder("pnml") else {
        return;
    };
    for name in ["ERK-PT-000010", "SafeBus-COL-03", "Philosophers-PT-000010"] {
        let path = folder.join(name).join("model.pnml");
        let path = path.to_str().expect("a name in UTF-8");
        let explore = ["explore", path, "-q", "--levels"];
        let (expected, _, status) = text(&run(&explore));
        assert_eq!(status, Some(0), "{name}: {expected}");
        let (found, said, status) = text(&run(&[&explore[..], &["--engine", "gpu"]].concat()));
        if said.contains("there is no graphics card") {
            eprintln!("skipped: {said}");
            return;
        }
        assert_eq!(status, Some(0), "{name}: {found}{said}");
        assert_eq!(verdicts(&found), verdicts(&expected), "{name}");

        let reduced = ["explore", path, "-q", "--engine", "gpu", "--por", "closure"];
        let (found, said, _) = text(&run(&reduced));
        let deadlocks = |text: &str| {
            text.lines()
                .find(|l| l.contains("deadlock"))
                .map(str::to_owned)
        };
        assert_ne!(deadlocks(&expected), None, "{name}: {expected}");
        assert_eq!(deadlocks(&found), deadlocks(&expected), "{name}: {said}");
    }
}
