//! Several models in one call: patterns, `stubborn.toml`, reports, one exit status.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stubborn"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder of its own for each test, with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("suites")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("more")).expect("the folder can be made");
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("the file can be written");
    }
    folder
}

const FINE: &str = "byte x; process P { state a; init a; trans a -> a { effect x = 1 - x; }; } \
                    system async;\n";
const STUCK: &str = "byte x; process P { state a, b; init a; trans a -> b { effect x = 1; }; } \
                     system async;\n";
const WRONG: &str = "byte x; process P { state a; init a; trans a -> a { effect y = 1; }; } \
                     system async;\n";

fn models(name: &str) -> PathBuf {
    folder(
        name,
        &[
            ("fine.dve", FINE),
            ("stuck.dve", STUCK),
            ("wrong.dve", WRONG),
            ("more/deep.dve", FINE),
        ],
    )
}

#[test]
fn patterns_stand_for_models() {
    let folder = models("patterns");
    let output = run(&folder, &["check", "-q", "**/[df]*.dve"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        text(&output),
        "holds     fine.dve\nholds     more/deep.dve\n\n2 models: 2 hold\n"
    );
    let output = run(&folder, &["check", "fine.dve", "nothing*.dve"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("no file is called `nothing*.dve`"),
        "{message}"
    );
}

#[test]
fn the_worst_decides() {
    let folder = models("worst");
    let status = |models: &[&str]| run(&folder, &[&["check"], models].concat()).status.code();
    assert_eq!(status(&["fine.dve", "more/deep.dve"]), Some(0));
    assert_eq!(status(&["fine.dve", "stuck.dve"]), Some(1));
    assert_eq!(status(&["fine.dve", "wrong.dve", "stuck.dve"]), Some(2));
    assert_eq!(
        status(&["fine.dve", "more/deep.dve", "--max-states", "1"]),
        Some(3)
    );
    assert_eq!(
        status(&["stuck.dve", "fine.dve", "--trace", "t.json"]),
        Some(2)
    );

    let output = run(
        &folder,
        &["check", "stuck.dve", "wrong.dve", "fine.dve", "--jobs", "3"],
    );
    let text = text(&output);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("VIOLATED  stuck.dve") < at("ERROR     wrong.dve"));
    assert!(at("ERROR     wrong.dve") < at("holds     fine.dve"));
    assert!(
        text.contains("1. P: a -> b"),
        "with the run that shows it: {text}"
    );
    assert!(
        text.ends_with("\n3 models: 1 hold, 1 violated, 1 wrong\n"),
        "{text}"
    );
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(messages.contains("wrong.dve:1:"), "{messages}");
}

#[test]
fn several_models_are_one_object() {
    let folder = models("object");
    let output = run(
        &folder,
        &["check", "--json", "stuck.dve", "wrong.dve", "fine.dve"],
    );
    assert_eq!(output.status.code(), Some(2));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(object["exit_status"], 2);
    let verdicts = object["models"].as_array().expect("a list").iter();
    let verdicts: Vec<&str> = verdicts.filter_map(|m| m["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["violated", "error", "holds"]);
    assert_eq!(object["summary"]["passed"], 1);
    let stuck = &object["models"][0]["result"];
    assert_eq!(
        stuck["properties"][0]["trace"]["stem"][0]["transition"],
        "P: a -> b"
    );
    let wrong = &object["models"][1]["result"];
    assert_eq!(wrong["error"]["diagnostics"][0]["place"]["line"], 1);
}

const SUITE: &str = "\
[limits]
timeout = 60

[[model]]
files = ['fine.dve', 'more/*.dve']
options = ['--invariant', 'x < 2']

[[model]]
files = 'stuck.dve'
expect = { 'no deadlock' = 'violated' }

[[model]]
files = 'wrong.dve'
expect = 'error'

[[model]]
files = 'fine.dve'
limits = { states = 1 }
expect = 'unknown'
";

#[test]
fn a_folder_is_a_test_suite() {
    let folder = models("suite");
    std::fs::write(folder.join("stubborn.toml"), SUITE).expect("it can be written");
    let output = run(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = text(&output);
    assert!(shown.ends_with("1 wrong; all as expected\n"), "{shown}");
    // From elsewhere, too.
    let output = run(&folder.join("more"), &["check", "-q", ".."]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    // Whatever is not as expected is said, and decides.
    std::fs::write(folder.join("stuck.dve"), FINE).expect("it can be written");
    let output = run(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let shown = text(&output);
    let wanted = "not as expected: no deadlock: holds, expected: violated";
    assert!(shown.contains(wanted), "{shown}");
    assert!(shown.contains("1 not as expected"), "{shown}");
    std::fs::write(folder.join("wrong.dve"), FINE).expect("it can be written");
    let object = run(&folder, &["check", "--json"]);
    let object: Value = serde_json::from_slice(&object.stdout).expect("one object");
    let expected = object["models"].as_array().expect("a list").iter();
    let expected: Vec<bool> = expected
        .filter_map(|m| m["as_expected"].as_bool())
        .collect();
    assert_eq!(expected, [true, true, false, false, true]);
}

#[test]
fn wrong_suites_are_said_to_be_so() {
    let cases = [
        ("[[model]]\nfile = 'a.dve'\n", "unknown field `file`"),
        (
            "[[model]]\nfiles = 'nothing*.dve'\n",
            "no file is called `nothing*.dve`",
        ),
        ("", "there is no [[model]] in it"),
        ("[[model]\n", "stubborn.toml:1:"),
        (
            "[[model]]\nfiles = 'fine.dve'\nexpect = 'good'\n",
            "stubborn.toml:3:10: ",
        ),
        ("[[model]]\nfiles = []\n", "`files` of a [[model]] is empty"),
        (
            "[[model]]\nfiles = 'fine.dve'\noptions = ['--help']\n",
            "`options` ask for a text instead of verdicts",
        ),
        (
            "[[model]]\nfiles = 'fine.dve'\noptions = ['--por', 'none', 'fine.dve']\n",
            "`fine.dve` in `options` is no option",
        ),
        (
            "[[model]]\nfiles = 'fine.dve'\noptions = ['--', '--por']\n",
            "`--por` in `options` is no option",
        ),
        (
            "[[model]]\nfiles = 'fine.dve'\noptions = ['--pour', 'none']\n",
            "`options`: unexpected argument '--pour'",
        ),
        (
            "[[model]]\nfiles = 'fine.dve'\n[[model]]\nfiles = '*.dve'\nexpect = 'violated'\n",
            "fine.dve is named twice with the same options and different expectations",
        ),
    ];
    for (number, (suite, wanted)) in cases.into_iter().enumerate() {
        let folder = folder(
            &format!("wrong{number}"),
            &[("stubborn.toml", suite), ("fine.dve", FINE)],
        );
        let output = run(&folder, &["check"]);
        assert_eq!(output.status.code(), Some(2), "{suite}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(wanted), "{message}");
    }
    let folder = folder("none", &[]);
    let output = run(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("there is no stubborn.toml in ."),
        "{message}"
    );
    // Names that do not exist are no success.
    let suite = "[[model]]\nfiles = 'fine.dve'\nexpect = { deadlok = 'violated' }\n";
    std::fs::write(folder.join("stubborn.toml"), suite).expect("it can be written");
    std::fs::write(folder.join("fine.dve"), FINE).expect("it can be written");
    let output = run(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("there is no property `deadlok`"),
        "{output:?}"
    );
    // Two names of one property, with different expectations.
    let suite = "[[model]]\nfiles = 'fine.dve'\n\
                 expect = { deadlock = 'violated', 'no deadlock' = 'holds' }\n";
    std::fs::write(folder.join("stubborn.toml"), suite).expect("it can be written");
    let output = run(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(1));
    let wanted = "`deadlock` and `no deadlock` are the same property, with different expectations";
    assert!(text(&output).contains(wanted), "{output:?}");
    // What would be ignored is refused.
    let output = run(&folder, &["check", "--timeout", "1"]);
    assert_eq!(output.status.code(), Some(2));
}

/// The elements of a report, with their attributes; what is not XML is an error.
fn elements(report: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::from_str(report);
    let mut all = Vec::new();
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(element) | Event::Empty(element) => {
                let attributes = element.attributes().map(|attribute| {
                    let attribute = attribute.expect("an attribute");
                    let key = attribute.key.as_ref().to_owned();
                    let value = attribute.value.into_owned();
                    (key, value)
                });
                let name = element.name().as_ref().to_owned();
                all.push((name, attributes.collect()));
            }
            Event::Eof => return all,
            _ => {}
        }
    }
}

#[test]
fn reports_are_written() {
    let folder = models("reports");
    let arguments = [
        "check",
        "fine.dve",
        "stuck.dve",
        "wrong.dve",
        "--invariant",
        "x < 1 && x >= 0",
        "--report",
        "r.xml",
        "--report",
        "r.sarif",
        "--report",
        "r.json",
    ];
    assert_eq!(run(&folder, &arguments).status.code(), Some(2));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");

    let junit = elements(&read("r.xml"));
    let count = |name: &str| junit.iter().filter(|(n, _)| n == name).count();
    assert_eq!(count("testsuite"), 3);
    assert_eq!(count("failure"), 3, "{junit:?}");
    assert_eq!(count("error"), 1);
    let escaped = "invariant x &lt; 1 &amp;&amp; x &gt;= 0";
    let has = |(_, attributes): &(String, Vec<(String, String)>)| {
        attributes.iter().any(|(_, value)| value == escaped)
    };
    assert!(junit.iter().any(has), "{junit:?}");

    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    assert_eq!(results.len(), 4);
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .expect("a list");
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].is_string(), "{result:#}");
    }
    let with_flow = results
        .iter()
        .find(|r| r["ruleId"] == "deadlock")
        .expect("one");
    let steps = &with_flow["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(
        steps[0]["location"]["message"]["text"],
        "P: a -> b  x = 1, P = b"
    );

    let object: Value = serde_json::from_str(&read("r.json")).expect("JSON");
    assert_eq!(object["summary"]["models"], 3);
    let unknown = run(&folder, &["check", "fine.dve", "--report", "r.pdf"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// A report of one model changes nothing else.
#[test]
fn one_model_has_a_report_too() {
    let folder = models("one");
    let plain = run(&folder, &["check", "-q", "stuck.dve"]);
    let with = run(&folder, &["check", "-q", "stuck.dve", "--report", "r.xml"]);
    assert_eq!(plain.status.code(), with.status.code());
    assert_eq!(text(&plain), text(&with));
    let wrong = run(&folder, &["check", "wrong.dve", "--report", "r.xml"]);
    assert_eq!(wrong.status.code(), Some(2));
    let report = std::fs::read_to_string(folder.join("r.xml")).expect("it was written");
    assert!(report.contains("wrong.dve:1:"), "{report}");
}

/// Who wants to stop gets what was learnt until then, about every model.
#[test]
#[cfg(unix)]
fn a_signal_ends_all_with_what_was_learnt() {
    let processes = (0..6).map(|process| {
        format!(
            "process P{process} {{ byte x; state a; init a; trans \
             a -> a {{ guard x < 255; effect x = x + 1, last = {process}; }}, \
             a -> a {{ guard x > 0; effect x = x - 1, last = {process}; }}; }}\n"
        )
    });
    let endless = format!(
        "byte last;\n{}system async;\n",
        processes.collect::<String>()
    );
    let folder = folder("signal", &[("a.dve", &endless), ("fine.dve", FINE)]);
    let child = Command::new(env!("CARGO_BIN_EXE_stubborn"))
        .args([
            "check",
            "a.dve",
            "fine.dve",
            "--json",
            "--memory-limit",
            "1G",
        ])
        .current_dir(&folder)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let killed = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(killed.expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(object["models"][0]["result"]["limit"], "interrupted");
    assert_eq!(object["models"][1]["verdict"], "holds");
}

/// The examples are a suite of their own.
#[test]
fn the_examples_are_as_expected() {
    let output = run(Path::new(EXAMPLES), &["check", "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
