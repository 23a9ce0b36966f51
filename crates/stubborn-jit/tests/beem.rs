//! Generated code against the interpreter on models of the BEEM benchmark set.

mod support;

use std::path::PathBuf;

use stubborn_diagnostics::SourceFile;
use stubborn_ir::Model;
use support::{compile, explore};

/// The folder with the BEEM models, or `None` (with a plain message) where it is absent.
fn beem() -> Option<PathBuf> {
    let root = std::env::var_os("STUBBORN_CORPUS").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../shared/corpus"
            ))
        },
        PathBuf::from,
    );
    let models = root.join("beem/models");
    if models.is_dir() {
        return Some(models);
    }
    eprintln!(
        "skipped: no corpus at {} (set STUBBORN_CORPUS)",
        root.display()
    );
    None
}

/// Walks up to `limit` states of every model whose name `chosen` accepts.
fn walk(limit: usize, every: usize, chosen: impl Fn(&str) -> bool) {
    let Some(folder) = beem() else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("the entry is readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "dve"))
        .collect();
    files.sort();
    let mut count = 0;
    for file in files {
        let name = file.file_stem().map(|s| s.to_string_lossy().into_owned());
        let Some(name) = name.filter(|name| chosen(name)) else {
            continue;
        };
        let text = std::fs::read(&file).expect("the file is readable");
        let source = SourceFile::new(name.clone(), String::from_utf8_lossy(&text));
        let (lowered, _) = stubborn_dve::compile(&source);
        let program = lowered.expect("a well-formed model").into_program();
        let compiled = compile(Model::new(program).expect("a well-formed program"));
        let (states, ..) = explore(&compiled, limit, every);
        assert!(states > 0, "{name}");
        count += 1;
    }
    assert!(count > 0);
    eprintln!("{count} models agree");
}

#[test]
fn the_smallest_instance_of_each_model() {
    walk(1500, 50, |name| name.ends_with(".1"));
}

#[test]
#[ignore = "long: up to 100,000 states of every instance"]
fn every_instance() {
    walk(100_000, 1000, |_| true);
}
