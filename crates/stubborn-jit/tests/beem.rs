//! Generated code against the interpreter on models of the BEEM benchmark set.

use crate::support;

use std::path::PathBuf;

use stubborn_diagnostics::SourceFile;
use stubborn_ir::Model;
use support::{compile, explore};

/// Walks up to `limit` states of every model whose name `chosen` accepts.
fn walk(limit: usize, every: usize, chosen: impl Fn(&str) -> bool) {
    let Some(folder) = stubborn_corpus::folder("beem/models") else {
        return;
    };
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
