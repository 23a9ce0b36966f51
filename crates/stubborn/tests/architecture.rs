//! The table of `docs/architecture.md` says what each crate must not know: what it does not depend
//! on it cannot know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Which of our crates each one may depend on, tests aside.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("diagnostics", &[]),
    ("dpor", &[]),
    ("graph", &[]),
    ("store", &[]),
    ("corpus", &[]),
    ("adversary", &[]),
    ("checkpoint", &[]),
    ("cluster", &[]),
    ("system", &["diagnostics"]),
    ("ir", &["diagnostics", "system"]),
    ("jit", &["ir", "system"]),
    ("dve", &["diagnostics", "ir", "system"]),
    ("promela", &["diagnostics", "ir", "system"]),
    ("net", &["diagnostics", "graph", "system"]),
    ("pnml", &["diagnostics", "net", "system"]),
    ("pins", &["system"]),
    ("reduce", &["graph", "system"]),
    ("c", &["reduce", "system"]),
    // It sees the facade alone.
    ("python", &[]),
    ("search", &["cluster", "store", "system"]),
    ("ltl", &["diagnostics", "graph"]),
    (
        "emptiness",
        &[
            "cluster",
            "diagnostics",
            "graph",
            "ir",
            "ltl",
            "reduce",
            "search",
            "store",
            "system",
        ],
    ),
    ("ctl", &["diagnostics", "ltl", "search", "store", "system"]),
    (
        "plan",
        &["cluster", "emptiness", "reduce", "search", "system"],
    ),
    (
        "protocol",
        &[
            "diagnostics",
            "dpor",
            "emptiness",
            "ltl",
            "plan",
            "reduce",
            "search",
            "system",
        ],
    ),
    (
        "contest",
        &[
            "ctl",
            "emptiness",
            "graph",
            "ltl",
            "net",
            "plan",
            "pnml",
            "reduce",
            "search",
            "store",
            "system",
        ],
    ),
    ("gpu", &["ir", "ltl", "search", "system"]),
    (
        "hunt",
        &["emptiness", "ltl", "plan", "reduce", "search", "system"],
    ),
    (
        "page",
        &[
            "diagnostics",
            "emptiness",
            "graph",
            "ltl",
            "plan",
            "protocol",
            "reduce",
            "search",
            "system",
        ],
    ),
    ("lab", &["corpus"]),
    ("lsp", &["diagnostics", "dve", "promela"]),
];

#[test]
fn crates_know_only_what_they_may() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let allowed: BTreeMap<&str, &[&str]> = MAY_KNOW.iter().copied().collect();
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(crates).expect("the folder of all crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str());
        // The facade knows everybody.
        let Some(name) = name.and_then(|name| name.strip_prefix("stubborn-")) else {
            continue;
        };
        let Ok(manifest) = std::fs::read_to_string(path.join("Cargo.toml")) else {
            continue;
        };
        let allowed = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} is in no table: say what it may know"));
        for known in dependencies(&manifest) {
            assert!(
                allowed.contains(&known.as_str()),
                "stubborn-{name} must not know stubborn-{known} (docs/architecture.md)"
            );
        }
        seen.insert(name.to_owned());
    }
    assert_eq!(seen.len(), MAY_KNOW.len(), "crates that are gone");
}

/// Our crates among the dependencies that a manifest names, those of tests aside.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-");
        } else if let (true, Some(rest)) = (inside, line.strip_prefix("stubborn-")) {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-');
            found.push(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }
    found
}

#[test]
fn manifests_are_understood() {
    let text = "[dependencies]\nstubborn-ir.workspace = true\nserde = \"1\"\n\
                stubborn-store = { workspace = true }\n[dev-dependencies]\nstubborn-dve = \"1\"\n\
                [target.'cfg(unix)'.dependencies]\nstubborn-lab = \"1\"\n";
    assert_eq!(dependencies(text), ["ir", "store", "lab"]);
}

/// Cranelift is by far the most to build: who wants the library alone does without.
#[test]
fn only_the_feature_jit_brings_machine_code() {
    let manifest = include_str!("../Cargo.toml");
    assert!(manifest.contains("stubborn-jit = { workspace = true, optional = true }"));
    let knows_it = |(name, known): &&(&str, &[&str])| *name != "jit" && known.contains(&"jit");
    assert_eq!(MAY_KNOW.iter().find(knows_it), None);
}

/// A test that nobody runs finds nothing: where some are ignored, a part of `.ci/long` runs them.
#[test]
fn long_tests_are_in_a_part_of_the_long_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let long = std::fs::read_to_string(root.join(".ci/long")).expect("the long command");
    let words: BTreeSet<&str> = long.split_ascii_whitespace().collect();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut ignored = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        // Not what this test says of it.
        if !text
            .lines()
            .any(|line| line.trim_start().starts_with("#[ignore"))
        {
            continue;
        }
        ignored += 1;
        let inside = file.strip_prefix(root.join("crates")).expect("a crate's");
        let mut parts = inside.iter().filter_map(|part| part.to_str());
        let (package, _, test) = (parts.next(), parts.next(), parts.next());
        let test = test.map(|test| test.trim_end_matches(".rs"));
        let named = |word: Option<&str>| word.is_some_and(|word| words.contains(word));
        let module = test.map(|test| format!("{test}::"));
        assert!(
            named(package) && (package != Some("stubborn") || named(module.as_deref())),
            "{} has ignored tests that .ci/long does not run",
            inside.display()
        );
    }
    assert!(ignored > 20, "long tests are found");
}

/// Tests are modules of one program in each crate. A file that is no module of it is never compiled.
#[test]
fn every_file_of_tests_is_compiled() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut programs = 0;
    for entry in std::fs::read_dir(crates).expect("the folder of all crates") {
        let package = entry.expect("an entry").path();
        let Ok(all) = std::fs::read_to_string(package.join("tests/all.rs")) else {
            continue;
        };
        programs += 1;
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).expect("a manifest");
        for entry in std::fs::read_dir(package.join("tests")).expect("the folder of tests") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.expect("a name in UTF-8");
            let is_test = path.extension().is_some_and(|ending| ending == "rs")
                || path.join("main.rs").exists();
            let listed = manifest.contains(&format!("[[test]]\nname = \"{name}\""))
                || all.lines().any(|line| line == format!("mod {name};"));
            assert!(
                !is_test || listed,
                "{}: no module of tests/all.rs",
                path.display()
            );
        }
    }
    assert!(programs > 10, "crates with tests are found");
}

fn sources(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            out.push(path);
        }
    }
}
