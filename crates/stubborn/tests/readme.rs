//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_sessions_in_the_readme_are_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("README.md")).expect("it is there");
    let mut sessions = 0;
    for block in text.split("```console\n$ stubborn ").skip(1) {
        let (command, rest) = block.split_once('\n').expect("a command line");
        let (expected, _) = rest.split_once("```").expect("a closed block");
        let output = Command::new(env!("CARGO_BIN_EXE_stubborn"))
            .args(command.split_whitespace())
            .current_dir(&root)
            .output()
            .expect("the program starts");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{command}"
        );
        sessions += 1;
    }
    assert!(sessions > 0);
}

/// The first command of the README: there is one program that `cargo run` can mean.
#[test]
fn cargo_knows_which_program_to_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .expect("cargo starts");
    let about: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    let packages = about["packages"].as_array().expect("packages");
    let default = about["workspace_default_members"]
        .as_array()
        .expect("members");
    let targets = packages
        .iter()
        .filter(|package| default.contains(&package["id"]))
        .flat_map(|package| package["targets"].as_array().expect("targets"));
    let programs: Vec<_> = targets
        .filter(|target| target["kind"][0] == "bin")
        .collect();
    assert_eq!(programs.len(), 1, "{programs:?}");
    let readme = include_str!("../../../README.md");
    assert!(readme.contains("\ncargo first check examples/"));
    let table = |text: &str| text.parse::<toml::Table>().expect("a table");
    let settings = table(include_str!("../../../.cargo/config.toml"));
    let command = settings["alias"]["first"].as_str().expect("a command");
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!((words[0], words[words.len() - 1]), ("run", "--"));
    let after = |flag: &str| {
        let at = words.iter().position(|word| *word == flag);
        words[at.unwrap_or_else(|| panic!("{flag}")) + 1]
    };
    let profiles = &table(include_str!("../../../Cargo.toml"))["profile"];
    assert!(profiles.get(after("--profile")).is_some(), "{command}");
    let features = &table(include_str!("../Cargo.toml"))["features"];
    for feature in after("--features").split(',') {
        assert!(features.get(feature).is_some(), "{feature}");
    }
}

/// A package has the program, its manual, completions and documents, and says what it needs.
#[test]
#[cfg(target_os = "linux")]
fn a_debian_package_is_complete() {
    let works = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !works("dpkg-deb") {
        eprintln!("skipped: dpkg-deb is not installed");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(root.join("packaging/debian"))
        .arg(env!("CARGO_BIN_EXE_stubborn"))
        .arg(folder.path())
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none")
        .output()
        .expect("the script starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let package = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let ask = |what: &str| {
        let output = Command::new("dpkg-deb").args([what, &package]).output();
        String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
    };
    let files = ask("--contents");
    for wanted in [
        "./usr/bin/stubborn\n",
        "./usr/share/man/man1/stubborn.1.gz\n",
        "./usr/share/man/man1/stubborn-check.1.gz\n",
        "./usr/share/bash-completion/completions/stubborn\n",
        "./usr/share/doc/stubborn/examples/peterson.dve\n",
        "./usr/share/doc/stubborn/copyright\n",
        "./usr/share/doc/stubborn/promela.md\n",
    ] {
        assert!(files.contains(wanted), "{wanted} in {files}");
    }
    let control = ask("--info");
    assert!(control.contains("Package: stubborn"), "{control}");
    let version = concat!("Version: ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(control.contains(version), "{control}");

    let missing = Command::new(root.join("packaging/debian"))
        .arg(folder.path().join("nothing"))
        .output()
        .expect("the script starts");
    assert_eq!(missing.status.code(), Some(2));
}

/// `cargo binstall` finds the program in the archive that `packaging/static` makes, by the templates of the
/// manifest. (The compiler is a script here: only names and places matter.)
#[test]
#[cfg(target_os = "linux")]
fn archives_are_as_binstall_expects_them() {
    use std::os::unix::fs::PermissionsExt;

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let compiler =
        "#!/bin/sh\nd=$CARGO_TARGET_DIR/a-b-c/release; mkdir -p $d; cp /bin/true $d/stubborn\n";
    let targets = "#!/bin/sh\necho a-b-c\n";
    for (name, text) in [("cargo", compiler), ("rustup", targets)] {
        let path = tools.join(name);
        std::fs::write(&path, text).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("it may be executed");
    }
    let path = std::env::var("PATH").expect("a path");
    let output = Command::new(root.join("packaging/static"))
        .arg("a-b-c")
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("CARGO_TARGET_DIR", folder.path())
        .env_remove("PROFILE")
        .output()
        .expect("the script starts");
    assert!(output.status.success(), "{output:?}");
    let archive = String::from_utf8_lossy(&output.stdout).trim().to_owned();

    let manifest = root.join("crates/stubborn/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("it is there");
    let expanded = |key: &str| {
        let line = manifest.lines().find(|l| l.starts_with(key)).expect(key);
        let value = line.split('"').nth(1).expect("a text").to_owned();
        let parts = [
            ("repo", "R"),
            ("version", "V"),
            ("target", "a-b-c"),
            ("bin", "stubborn"),
            ("binary-ext", ""),
        ];
        let expand =
            |text: String, (name, by): (&str, &str)| text.replace(&format!("{{ {name} }}"), by);
        let value = parts.into_iter().fold(value, expand);
        assert!(!value.contains('{'), "{value}: a word that nobody knows");
        value
    };
    let (_, name) = archive.rsplit_once('/').expect("a path");
    let address = expanded("pkg-url");
    assert_eq!(address, format!("R/releases/download/vV/{name}"));
    assert_eq!(expanded("pkg-fmt"), "tgz");
    let list = Command::new("tar")
        .args(["-tzf", &archive])
        .output()
        .expect("tar starts");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let program = expanded("bin-dir");
    assert!(
        list.lines().any(|file| file == program),
        "{program} in {list}"
    );
}

/// Every protocol that comes with the library is found where people look for it: in the guide, on the
/// command line and in the example.
#[test]
fn every_protocol_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is there");
    let guide = read("docs/protocols.md");
    let example = read("crates/stubborn-protocol/examples/shipped.rs");
    let help = Command::new(env!("CARGO_BIN_EXE_stubborn"))
        .args(["protocol", "--help"])
        .output()
        .expect("the program starts");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let (_, names) = help.split_once("[possible values: ").expect("a list");
    let (names, _) = names.split_once(']').expect("its end");
    let mut offered: Vec<String> = names.split(',').map(|n| n.trim().to_owned()).collect();
    let folder = root.join("crates/stubborn-protocol/src/protocols");
    let mut listed = Vec::new();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("a file").path();
        let module = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if module == "mod" {
            continue;
        }
        assert!(
            example.contains(&format!("{module}::protocol(")),
            "{module}"
        );
        let row = guide
            .lines()
            .find(|l| l.starts_with(&format!("| `{module}` |")));
        let row = row.unwrap_or_else(|| panic!("`{module}` is not in the guide"));
        let names = row.trim_end_matches([' ', '|']).rsplit('|').next();
        let names = names.expect("a column").split(',');
        listed.extend(names.map(|n| n.trim().trim_matches('`').to_owned()));
    }
    offered.sort();
    listed.sort();
    assert_eq!(listed, offered);
}
