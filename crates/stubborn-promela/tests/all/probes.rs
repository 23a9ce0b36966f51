//! Tiny models of single rules, with SPIN's figures: the lines of `tests/probes`.
//!
//! `states/transitions/errors: model` is what SPIN 6.5.2 finds without its optimisations (`spin -a
//! -o1 -o2 -o3`, `-DNOREDUCE`, `pan -c0`), and what we must find. `fails: model` has a step that
//! fails, where SPIN stops or goes on with arbitrary memory. `ours not SPIN's: model` is where SPIN
//! is wrong.

use std::path::Path;

use crate::support::{Counts, Scratch, count, has_spin, spin_counts};

pub(crate) struct Probe {
    /// File and line.
    place: String,
    expected: String,
    spin: String,
    pub(crate) text: String,
}

pub(crate) fn probes() -> Vec<Probe> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probes");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the probes are part of the sources")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let mut probes = Vec::new();
    for file in files {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let all = std::fs::read_to_string(&file).expect("a text");
        let lines = all.lines().enumerate();
        for (number, line) in lines.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
            let (figures, text) = line.split_once(": ").expect("figures and a model");
            let (expected, spin) = figures.split_once(" not ").unwrap_or((figures, figures));
            probes.push(Probe {
                place: format!("{name}:{}", number + 1),
                expected: expected.to_string(),
                spin: spin.to_string(),
                text: text.to_string(),
            });
        }
    }
    probes
}

fn shown(counts: &Counts) -> String {
    let Counts {
        states,
        transitions,
        errors,
        ..
    } = counts;
    format!("{states}/{transitions}/{errors}")
}

#[test]
fn probes_have_the_figures_of_spin() {
    let mut wrong = Vec::new();
    for probe in probes() {
        let found = match count(Path::new("m.pml"), &probe.text, 100_000) {
            Ok(counts) if counts.failures.is_empty() => shown(&counts),
            Ok(_) => "fails".into(),
            Err(message) => message,
        };
        if found != probe.expected {
            let Probe {
                place,
                expected,
                text,
                ..
            } = probe;
            wrong.push(format!("{place}: {found} instead of {expected}\n  {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One in 40, by SPIN itself.
#[test]
fn some_figures_are_those_of_spin() {
    compare(40);
}

#[test]
#[ignore = "long: compiles a verifier for each probe, some minutes"]
fn all_figures_are_those_of_spin() {
    compare(1);
}

fn compare(every: usize) {
    if !has_spin() {
        return;
    }
    let scratch = Scratch::new("probes");
    for probe in probes().iter().step_by(every) {
        if probe.spin == "fails" {
            continue;
        }
        let counts = spin_counts(&probe.text, &scratch).map(|c| shown(&c));
        assert_eq!(counts.as_ref(), Some(&probe.spin), "{}", probe.place);
    }
}
