//! Public models with SPIN's results.

use std::path::Path;

use stubborn_diagnostics::has_errors;
use stubborn_promela::{parse, source::FileLoader};

use crate::support::{corpus, count};

struct Row {
    file: String,
    accepted: bool,
    complete: bool,
    states: f64,
    transitions: String,
    errors: String,
}

fn rows(folder: &Path) -> Vec<Row> {
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("a table");
    let rows = table.lines().filter(|l| !l.starts_with('#')).skip(1);
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or("");
        Row {
            file: cell(0).to_string(),
            accepted: cell(1) == "OK",
            complete: cell(6) == "complete",
            states: cell(2).parse().unwrap_or(0.0),
            transitions: cell(3).to_string(),
            errors: cell(4).to_string(),
        }
    })
    .collect()
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("a model")).into_owned()
}

#[test]
fn every_model_that_spin_accepts_is_accepted() {
    let Some(folder) = corpus() else { return };
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for row in rows(&folder).into_iter().filter(|r| r.accepted) {
        let path = folder.join(&row.file);
        let parsed = parse(&path, &text(&path), &[], &FileLoader);
        let uses_c = parsed.diagnostics.iter().any(|d| d.code == "PML025");
        if has_errors(&parsed.diagnostics) && !uses_c {
            wrong.push(format!(
                "{}: {}",
                row.file,
                parsed.sources.render(&parsed.diagnostics, false)
            ));
        } else {
            accepted += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > 200, "only {accepted} models");
}

fn compare(least: f64, most: f64) {
    let Some(folder) = corpus() else { return };
    let (mut wrong, mut right) = (Vec::new(), 0);
    for row in rows(&folder) {
        let fits = row.complete && row.states > least && row.states <= most;
        if !fits {
            continue;
        }
        let path = folder.join(&row.file);
        let limit = 2 * row.states as usize + 1_000;
        match count(&path, &text(&path), limit) {
            Ok(found)
                if found.states as f64 == row.states
                    && found.transitions.to_string() == row.transitions
                    && (found.errors > 0) == (row.errors != "0") =>
            {
                right += 1;
            }
            Ok(found) => wrong.push(format!(
                "{}: {found:?}, expected {} states, {} transitions, {} errors",
                row.file, row.states, row.transitions, row.errors
            )),
            Err(message) => wrong.push(format!("{}: {message}", row.file)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} right, wrong:\n{}",
        right,
        wrong.join("\n")
    );
    eprintln!("{right} models agree with SPIN");
}

#[test]
fn small_models_have_the_counts_of_spin() {
    compare(0.0, 20_000.0);
}

#[test]
#[ignore = "long: about five minutes"]
fn larger_models_have_the_counts_of_spin() {
    compare(20_000.0, 1_000_000.0);
}
