//! Language modules of LTSmin, compiled here where there is a C compiler, against the same model in DVE.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{file, object, run};

/// The same as `table.c`.
fn table() -> String {
    let process = |i: usize| {
        let right = (i + 1) % 4;
        format!(
            "process P{i} {{ state thinks, holds_left, eats; init thinks; trans \
             thinks -> holds_left {{ guard fork[{i}] == 0; effect fork[{i}] = 1; }}, \
             holds_left -> eats {{ guard fork[{right}] == 0; effect fork[{right}] = 1; }}, \
             eats -> thinks {{ effect fork[{i}] = 0, fork[{right}] = 0; }}; }}\n"
        )
    };
    let processes: String = (0..4).map(process).collect();
    file(
        "table.dve",
        &format!("byte fork[4];\n{processes}system async;\n"),
    )
}

/// A module, compiled with these definitions; `None` where there is no compiler.
fn module(name: &str, definitions: &[&str]) -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kit/table.c");
    let target = file(name, "");
    let output = Command::new("cc")
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", &target,
        ])
        .args(definitions)
        .arg(source)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no C compiler");
        return None;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(target)
}

fn counts(arguments: &[&str]) -> (Value, Value) {
    let (object, status) = object(arguments);
    assert!(status.is_some(), "{arguments:?}");
    (object["states"].clone(), object["transitions"].clone())
}

#[test]
fn modules_have_the_states_of_the_same_model_in_dve() {
    let table = table();
    let all = counts(&["explore", "--json", "--por", "none", &table]);
    assert_eq!(all.0, json!(34));
    let variants: [(&str, &[&str]); 4] = [
        ("spins.spins", &["-DSPINS"]),
        ("divine.so", &[]),
        ("divine_bare.dve2C", &["-DNO_GUARDS"]),
        ("spins_bare.so", &["-DSPINS", "-DNO_GUARDS"]),
    ];
    for (name, definitions) in variants {
        let Some(path) = module(name, definitions) else {
            return;
        };
        assert_eq!(
            counts(&["explore", "--json", "--por", "none", &path]),
            all,
            "{name}"
        );
        let (reduced, _) = counts(&["explore", "--json", "--por", "beam", &path]);
        let most = if name.contains("bare") { 34 } else { 30 };
        assert!(reduced.as_u64() <= Some(most), "{name}: {reduced}");
        for por in ["none", "beam", "deletion"] {
            let (found, status) = object(&["check", "--json", "--por", por, &path]);
            assert_eq!(status, Some(1), "{name}: {found}");
            assert_eq!(found["properties"][0]["verdict"], "violated", "{found}");
            assert_eq!(found["language"], "module");
        }
        let validated = run(&["validate", &path]);
        assert_eq!(
            validated.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&validated.stdout)
        );
    }
}

#[test]
fn conditions_about_modules_are_checked() {
    let Some(path) = module("conditions.so", &["-DSPINS"]) else {
        return;
    };
    let only = |option: &str, text: &str| {
        let output = run(&["check", "-q", "--only", option, text, &path]);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr),
        )
    };
    for (status, text) in [
        (0, "fork0 <= 1"),
        (1, "fork0 < 1"),
        (0, "P0 != eats || P1 != eats"),
        (1, "P0 != eats || P2 != eats"),
        (1, "P0 != eats && P1 == thinks || P2 == 0"),
        (0, "!guard_free0 || fork0 == 0"),
        (2, "hunger == 0"),
        (2, "fork0 < many"),
        (2, "guard_free9"),
    ] {
        let (found, shown) = only("--invariant", text);
        assert_eq!(found, Some(status), "{text}: {shown}");
    }
    let (_, story) = only("--invariant", "P0 != eats || P2 != eats");
    assert!(
        story.contains("P2 takes left") && story.contains("P0 = eats"),
        "{story}"
    );
    assert_eq!(
        only("--ltl", "[] ((P0 == eats) -> <> (P0 == thinks))").0,
        Some(1)
    );
    assert_eq!(
        only("--ltl", "[] ((P0 == eats) -> (P1 != eats))").0,
        Some(0)
    );
}

#[test]
fn properties_and_assertions_of_modules_are_found() {
    let Some(path) = module("property.so", &["-DPROPERTY"]) else {
        return;
    };
    let (found, status) = object(&["check", "--json", "--property", "acceptance", &path]);
    assert_eq!(status, Some(1), "{found}");
    let Some(path) = module("assertion.so", &["-DSPINS", "-DASSERTION"]) else {
        return;
    };
    let output = run(&["check", "-q", &path]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("an assertion of the module is violated"),
        "{text}"
    );
}

#[test]
fn what_is_no_module_is_refused_and_what_lies_distrusted() {
    let text = file("text.so", "not a library");
    let output = run(&["check", &text]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(
        shown.contains("cannot be loaded as a shared library"),
        "{shown}"
    );

    let Some(path) = module("liar.so", &["-DLIAR"]) else {
        return;
    };
    // Something that the module needs is nowhere: a message, not the end of the program.
    let incomplete = module("incomplete.so", &["-DINCOMPLETE"]).expect("there is a compiler");
    let output = run(&["check", &incomplete]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(shown.contains("nowhere_to_be_found"), "{shown}");

    let output = run(&["check", "--por", "beam", &path]);
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(shown.contains("guards of this module"), "{shown}");
    assert_eq!(
        counts(&["explore", "--json", "--por", "none", &path]).0,
        json!(34)
    );
    let found = object(&["explore", "--json", "--por", "beam", &path]).0;
    assert_eq!(found["deadlocks"], 1, "{found}");
}
