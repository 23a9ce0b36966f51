//! Tests of programs, of their making smaller, and of the oracle.

use std::path::PathBuf;
use std::time::Duration;

use crate::coverage::Coverage;
use crate::minimise::{Shrink, minimise};
use crate::subject::{Status, Subject};

use super::ast::{Kind, Node, Style};
use super::generate::{Case, FEATURES, Features, case};
use super::spin::{NoAnswer, Search, Spin};

fn everything() -> Features {
    Features::without(&[])
}

#[test]
fn programs_are_a_function_of_the_seed() {
    for seed in 0..200 {
        assert_eq!(case(seed, &everything()), case(seed, &everything()));
    }
    let texts: Vec<_> = (0..200)
        .map(|seed| text(&case(seed, &everything())))
        .collect();
    let mut different = texts.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), texts.len());
}

fn text(case: &Case) -> String {
    case.program.text(Style::default())
}

#[test]
fn features_can_be_left_out() {
    let names: Vec<String> = ["atomic", "endless atomic", "ltl", "unless"]
        .map(str::to_owned)
        .into();
    assert!(names.iter().all(|name| FEATURES.contains(&name.as_str())));
    let absent = [Kind::Atomic, Kind::Ltl, Kind::Unless];
    let has =
        |features: &Features, kind| (0..400).any(|seed| case(seed, features).program.has(kind));
    for kind in absent {
        assert!(has(&everything(), kind), "{kind:?}");
        assert!(!has(&Features::without(&names), kind), "{kind:?}");
    }
}

/// Version 0.1.0 lost assertions in chains of more than 2,000 steps, and took chains of more than
/// 262,144 steps for endless, and loops of more than a million rounds in a d_step.
#[test]
fn some_programs_are_long_chains() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..2000 {
        let program = case(seed, &everything()).program;
        let processes = program.parts.iter().filter(|n| n.kind == Kind::Process);
        let bodies = processes.filter_map(|process| process.parts.last()?.parts.first());
        for body in bodies.filter(|n| [Kind::Atomic, Kind::DStep].contains(&n.kind)) {
            for rounds in [5000, 300_000, 1_200_000] {
                let long = |n: &Node| n.kind == Kind::Number && n.number == rounds;
                if body.any(&mut |node| long(node)) {
                    lengths.insert((body.kind == Kind::Atomic, rounds));
                }
            }
        }
    }
    assert_eq!(lengths.len(), 5, "{lengths:?}");
}

#[test]
fn every_statement_has_a_text() {
    for seed in 0..500 {
        let text = text(&case(seed, &everything()));
        assert!(!text.contains("/*"), "{text}");
        let count = |c: char| text.matches(c).count();
        assert_eq!(count('{'), count('}'));
        assert_eq!(count('('), count(')'));
    }
}

/// The program beside this test, if it was built.
fn subject() -> Option<Subject> {
    let folder: PathBuf = std::env::current_exe().ok()?.parent()?.parent()?.to_owned();
    let subject = Subject::new(&folder.join("stubborn")).ok();
    if subject.is_none() {
        eprintln!("skipped: the program was not built");
    }
    subject
}

#[test]
fn most_programs_are_accepted() {
    let Some(subject) = subject() else {
        return;
    };
    let mut refused = Vec::new();
    for seed in 0..100 {
        let text = text(&case(seed, &everything()));
        let folder = subject.folder(&[("m.pml".into(), text.clone())]);
        let arguments = [
            "explore",
            "m.pml",
            "--max-states",
            "1",
            "--engine",
            "interpreted",
        ];
        let run = subject.run(folder.path(), &arguments, Duration::from_secs(60));
        if run.status == Status::Exit(2) {
            refused.push(format!("{seed}: {}\n{text}", run.stderr));
        }
    }
    assert!(refused.len() < 10, "{}", refused.join("\n"));
}

/// Smaller variants have fewer nodes, or as many simpler ones.
fn weight(node: &Node) -> (usize, usize, u128) {
    let mut weight = (0, 0, 0);
    node.each(&mut |node| {
        weight.0 += 1;
        let simplest = match node.kind {
            Kind::Number => true,
            Kind::Type => node.name == "byte",
            _ => false,
        };
        weight.1 += usize::from(!simplest);
        weight.2 += u128::from(node.number.unsigned_abs());
    });
    weight
}

#[test]
fn candidates_are_smaller() {
    for seed in 0..30 {
        let program = case(seed, &everything()).program;
        for smaller in program.candidates() {
            assert!(
                weight(&smaller) < weight(&program),
                "{smaller:?}\nof {program:?}"
            );
        }
    }
}

#[test]
fn only_what_matters_is_left_of_a_program() {
    let asserts_inside = |node: &Node| {
        node.any(&mut |node| {
            node.kind == Kind::Atomic && node.has(Kind::Do) && node.has(Kind::Assert)
        })
    };
    let mut cases = (0..).map(|seed| case(seed, &everything()).program);
    let large = cases
        .find(|program| program.size() > 100 && asserts_inside(program))
        .unwrap();
    let small = minimise(large, Duration::from_secs(60), asserts_inside);
    assert!(small.size() < 20, "{}", small.text(Style::default()));
}

fn searched(text: &str, flags: &[&str], arguments: &[&str]) -> Option<Search> {
    let spin = match Spin::find() {
        Ok(spin) => spin,
        Err(why) => {
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let subject = Subject::new(std::path::Path::new("/bin/sh")).unwrap();
    let folder = subject.folder(&[]);
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    spin.translate(&subject, folder.path(), text, &[]).unwrap();
    spin.compile(&subject, folder.path(), 255, flags).unwrap();
    Some(
        spin.search(&subject, folder.path(), &words(arguments))
            .unwrap(),
    )
}

const SAFETY: &[&str] = &["-DSAFETY", "-DNOCLAIM", "-DNOFAIR"];

#[test]
fn spin_says_what_comes_before_a_failing_step() {
    let text = "byte x, z; byte a[2];
        active proctype P() { d_step { assert(x == 7); x = 5; a[x] = 1; assert(false) }; x = 2 }
        active proctype Q() { x = 1 / z }";
    let Some(search) = searched(text, SAFETY, &[]) else {
        return;
    };
    assert_eq!((search.states, search.edges, search.failing), (1, 0, 2));
    assert_eq!(search.count("assertion violated (x==7)"), 1);
    assert_eq!(search.count("assertion violated"), 1);
    assert_eq!(search.count("invalid end state"), 0);
}

#[test]
fn spin_undoes_receives_into_what_they_read() {
    // Without copies of states, SPIN itself puts 44 back into the channel, and finds 10 states.
    let text = "chan c = [1] of { short }; byte x; bool b;
        active proctype P() { c!300; if :: c?x -> skip :: c?300 -> assert(!b) fi }
        active proctype Q() { b = 1 }";
    let Some(search) = searched(text, SAFETY, &[]) else {
        return;
    };
    assert_eq!(search.states, 20);
    // Before and after the end of Q.
    assert_eq!(search.count("assertion violated"), 2);
}

#[test]
fn spin_follows_claims() {
    let text = "byte a[2]; byte x; active proctype P() { do :: x < 3 -> x++ :: x > 0 -> x-- od }
        ltl p0 { [] <> (x == 0) } ltl p1 { [] (a[x] == 0) }";
    let Some(search) = searched(text, &[], &["-a", "-N", "p0"]) else {
        return;
    };
    assert!(search.count("acceptance cycle") > 0);
    let search = searched(text, &[], &["-a", "-N", "p1"]).unwrap();
    assert!(search.count("claim fails: array index") > 0);
    assert_eq!(search.count("acceptance cycle"), 0);
}

#[test]
fn spin_notices_receives_from_nowhere_and_fields_that_are_not_there() {
    // Without our changes, both wait, and nothing is said.
    let nowhere = "chan c = [0] of { byte }; active proctype P() { chan q; q?1 }";
    let Some(search) = searched(nowhere, SAFETY, &[]) else {
        return;
    };
    assert_eq!((search.states, search.failing), (1, 1));
    // Looking for who receives is no step of those who wait.
    for channel in ["", "chan d = [1] of { byte };"] {
        let text = format!(
            "chan c = [0] of {{ byte }}; {channel} chan a[2]; byte i = 2;
            active proctype P() {{ chan q; if :: a[i]?1 :: q?1 fi }} active proctype Q() {{ c!1 }}"
        );
        let search = searched(&text, SAFETY, &[]).unwrap();
        assert_eq!((search.states, search.failing), (1, 2), "{channel}");
    }
    let more = "chan c = [1] of { byte }; active proctype P() { chan q = c; q!1; q?1,2 }";
    let search = searched(more, SAFETY, &[]).unwrap();
    assert!(search.count("too many fields in recv") > 0);
}

#[test]
fn spin_refuses() {
    let (Ok(spin), Ok(subject)) = (Spin::find(), Subject::new(std::path::Path::new("/bin/sh")))
    else {
        return;
    };
    let folder = subject.folder(&[]);
    let refused = spin.translate(
        &subject,
        folder.path(),
        "active proctype P() { x = 1 }",
        &[],
    );
    assert!(matches!(refused, Err(NoAnswer::Refused(_))), "{refused:?}");
}

#[test]
fn arenas_compare_answers() {
    let Some(subject) = subject() else {
        return;
    };
    for arena in super::arenas(&[]) {
        if arena.available().is_err() {
            continue;
        }
        let mut comparisons = 0;
        for seed in 0..3 {
            let mut coverage = Coverage::default();
            comparisons += arena.round(seed, &subject, &mut coverage).comparisons;
        }
        assert!(comparisons > 0, "{}", arena.name());
    }
}
