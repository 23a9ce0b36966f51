//! Files and standard output that cannot be written take no verdict away, and checkpoints stay as long as
//! something is open.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An assertion fails after one step, and a formula as soon.
const BROKEN: &str =
    "byte x;\nltl stays { [] (x == 0) }\nactive proctype P() { x = 1; assert(x == 0) }\n";

fn stubborn(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    stubborn(args).output().expect("the program starts")
}

fn broken(folder: &Path) -> String {
    let model = folder.join("broken.pml");
    std::fs::write(&model, BROKEN).expect("a model");
    model.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = broken(folder.path());
    for args in [
        &["check", &model][..],
        &["check", &model, "--json"],
        &["explore", &model],
        &["explore", &model, "--json"],
        &["inspect", &model],
        &["ltl", "GFa"],
        &["schema"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full");
        let status = stubborn(args)
            .stdout(full.expect("a device that is always full"))
            .stderr(Stdio::null())
            .status()
            .expect("the program starts");
        assert!(matches!(status.code(), Some(1 | 2)), "{args:?}: {status}");
        let wanted = Stdio::null();
        let status = stubborn(args).stdout(wanted).stderr(Stdio::null()).status();
        let code = status.expect("the program starts").code();
        assert!(matches!(code, Some(0 | 1)), "{args:?}: {code:?}");
    }
}

#[test]
fn places_that_cannot_be_written_are_refused_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = broken(folder.path());
    let nowhere = folder.path().join("none/file");
    let is_a_folder = folder.path().to_owned();
    for (option, place) in [
        ("--trace", nowhere.clone()),
        ("--trace", is_a_folder),
        ("--trail=", nowhere.clone()),
        ("--report", nowhere.with_extension("json")),
        ("--report", nowhere.with_extension("html")),
    ] {
        let place = place.to_str().expect("UTF-8");
        let output = match option.strip_suffix('=') {
            Some(_) => run(&["check", &model, &format!("{option}{place}")]),
            None => run(&["check", &model, option, place]),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {place}: {said}");
        assert!(said.contains("cannot write"), "{said}");
        assert!(output.stdout.is_empty(), "nothing was searched");
    }
    let kept = folder.path().join("kept.json");
    std::fs::write(&kept, "as it was").expect("a file");
    let args = [
        "check",
        "nothing.pml",
        "--trace",
        kept.to_str().expect("UTF-8"),
    ];
    assert_eq!(run(&args).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&kept).expect("a file"), "as it was");
}

#[test]
fn a_full_disk_takes_no_verdict_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = broken(folder.path());
    for (option, name) in [
        ("--trace", "t.json"),
        ("--trail=", "t.trail"),
        ("--report", "r.json"),
        ("--report", "r.xml"),
        ("--report", "r.sarif"),
        ("--report", "r.html"),
    ] {
        let place = folder.path().join(name);
        let _ = std::fs::remove_file(&place);
        std::os::unix::fs::symlink("/dev/full", &place).expect("a link");
        let place = place.to_str().expect("UTF-8");
        let output = match option.strip_suffix('=') {
            Some(_) => run(&["check", &model, &format!("{option}{place}")]),
            None => run(&["check", &model, option, place]),
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(printed.contains("VIOLATED"), "{name}: {printed}{said}");
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(said.contains("cannot write"), "{name}: {said}");
    }
    let left: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_checkpoint_stays_while_something_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("counters.dve");
    let counters = (0..6).map(|p| {
        format!("process P{p} {{ state a; init a; trans a -> a {{ effect x{p} = (x{p} + 1) % 9; }}; }}\n")
    });
    let globals: String = (0..6).map(|p| format!("byte x{p} = 0;\n")).collect();
    let text = globals + &counters.collect::<String>() + "system async;\n";
    std::fs::write(&model, text).expect("a model");
    let kept = folder.path().join("kept");
    let kept = kept.to_str().expect("UTF-8");
    let model = model.to_str().expect("UTF-8");
    let asked = ["--deadlock", "--ltl", "[] (x0 == 0)", "--por", "none"];
    let mut args = vec!["check", model];
    args.extend(asked);
    args.extend(["--max-states", "20000", "--checkpoint", kept]);
    let output = run(&args);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("unknown"), "{printed}");
    assert!(Path::new(kept).join("checkpoint").exists(), "{printed}");
    let resumed = run(&["resume", kept, "--max-states", "1000000"]);
    let printed = String::from_utf8_lossy(&resumed.stdout);
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(1), "{printed}{said}");
    assert!(printed.contains("holds     no deadlock"), "{printed}{said}");
    assert!(
        !Path::new(kept).join("checkpoint").exists(),
        "nothing is open"
    );
}
