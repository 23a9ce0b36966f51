//! The BEEM benchmark through the library: sizes of state spaces by every engine, order,
//! store and number of threads, and answers to reachability questions with shortest
//! counterexamples, with and without reduction.

use crate::properties;

use std::collections::HashMap;
use std::path::Path;

use properties::{Family, family_and_number};
use stubborn::reduce::{Algorithm, Config};
use stubborn::system::RelationLevel;
use stubborn::{
    CheckOptions, Engine, LoadOptions, LoadedModel, Order, Por, Question, QuestionKind,
    ReductionOptions, StoreKind, StoreOptions, Verdict,
};

/// A row of the table of sizes.
#[derive(Debug)]
struct Expected {
    instance: String,
    states: u64,
    transitions: u64,
    deadlocks: Option<u64>,
    levels: Option<u64>,
}

fn table(beem: &Path, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(beem.join(name)).expect("the table is there");
    let rows = text.lines().skip(1);
    rows.map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn expected(beem: &Path, from: u64, to: u64) -> Vec<Expected> {
    let row = |columns: Vec<String>| {
        Some(Expected {
            instance: columns[0].clone(),
            states: columns[1].parse().ok()?,
            transitions: columns[2].parse().ok()?,
            deadlocks: columns[3].parse().ok(),
            levels: columns[4].parse().ok(),
        })
    };
    let rows = table(beem, "EXPECTED.tsv").into_iter().filter_map(row);
    rows.filter(|row| (from..to).contains(&row.states))
        .collect()
}

fn load(beem: &Path, instance: &str, engine: Engine, invariants: &[String]) -> LoadedModel {
    let path = beem.join(format!("models/{instance}.dve"));
    let options = LoadOptions {
        engine,
        invariants: invariants.to_vec(),
        ..LoadOptions::default()
    };
    stubborn::load_file(&path, None, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The ways to search: engine, order, threads, store.
type Way = (Engine, Order, usize, StoreKind);

fn ways() -> Vec<Way> {
    let mut all = Vec::new();
    for engine in [Engine::Compiled, Engine::Interpreted] {
        for order in [Order::BreadthFirst, Order::DepthFirst] {
            for threads in [1, 2] {
                for store in [StoreKind::Tree, StoreKind::Plain] {
                    all.push((engine, order, threads, store));
                }
            }
        }
    }
    all
}

fn compare(beem: &Path, expected: &Expected, way: Way) {
    let (engine, order, threads, store) = way;
    let model = load(beem, &expected.instance, engine, &[]);
    let options = CheckOptions {
        order,
        threads,
        store: StoreOptions::new(store),
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    let result = stubborn::explore(&model, &options).expect("it runs").result;
    let name = format!("{} {way:?}", expected.instance);
    assert!(result.is_complete(), "{name}");
    assert_eq!(result.states, expected.states, "states of {name}");
    assert_eq!(
        result.transitions, expected.transitions,
        "transitions of {name}"
    );
    if let Some(deadlocks) = expected.deadlocks {
        assert_eq!(result.deadlocks, deadlocks, "deadlocks of {name}");
    }
    if let (Some(levels), Order::BreadthFirst) = (expected.levels, order) {
        assert_eq!(result.bfs_levels, Some(levels), "levels of {name}");
    }
}

#[test]
fn every_way_to_search_counts_tiny_instances() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    for expected in expected(&beem, 0, 2_000) {
        for way in ways() {
            compare(&beem, &expected, way);
        }
    }
}

#[test]
fn small_instances_are_counted() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    let rows = expected(&beem, 2_000, 100_000);
    assert!(rows.len() > 80, "only {} instances", rows.len());
    let ways = ways();
    for (at, expected) in rows.iter().enumerate() {
        // 7 and 16 have no common divisor: every way gets its turn.
        compare(&beem, expected, ways[7 * at % ways.len()]);
    }
    eprintln!("{} instances agree", rows.len());
}

#[test]
#[ignore = "long: instances of up to 5 million states"]
fn larger_instances_are_counted() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    let rows = expected(&beem, 100_000, 5_000_001);
    let ways: Vec<Way> = ways()
        .into_iter()
        .filter(|way| way.0 == Engine::Compiled)
        .collect();
    for (at, expected) in rows.iter().enumerate() {
        compare(&beem, expected, ways[3 * at % ways.len()]);
    }
    eprintln!("{} instances agree", rows.len());
}

/// A reduction with relations that are computed in no time.
fn reduced_by(algorithm: Algorithm) -> ReductionOptions {
    ReductionOptions {
        por: Por::Chosen(Config::new(algorithm)),
        relations: RelationLevel::Syntax,
        ..ReductionOptions::default()
    }
}

#[test]
fn reductions_keep_every_deadlock() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    for expected in expected(&beem, 0, 20_000) {
        let model = load(&beem, &expected.instance, Engine::Compiled, &[]);
        let options = CheckOptions {
            reduction: reduced_by(Algorithm::Beam),
            ..CheckOptions::default()
        };
        let result = stubborn::explore(&model, &options).expect("it runs").result;
        assert!(result.states <= expected.states, "{}", expected.instance);
        if let Some(deadlocks) = expected.deadlocks {
            assert_eq!(result.deadlocks, deadlocks, "{}", expected.instance);
        }
    }
}

/// Asks whether goals can be reached: known answers, and shortest ways to them.
fn goals(from: u64, to: u64, reduction: &ReductionOptions) {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    let sizes: HashMap<String, u64> = expected(&beem, from, to)
        .into_iter()
        .map(|row| (row.instance, row.states))
        .collect();
    let mut answers = 0;
    for row in table(&beem, "EXPECTED-PROPS.tsv") {
        let [instance, property, _, kind, answer, length, ..] = &row[..] else {
            panic!("a row of eight columns");
        };
        let reachable = match answer.as_str() {
            "yes" => true,
            "no" => false,
            _ => continue,
        };
        if kind != "reachability" || !sizes.contains_key(instance) {
            continue;
        }
        let (family, number) = family_and_number(instance);
        let family = Family::read(&beem.join(format!("xml/{family}.xml")));
        let goal = family.goal(number, property).expect("the property exists");
        let invariant = format!("not ({goal})");
        let model = load(&beem, instance, Engine::Compiled, &[invariant]);
        let questions: Vec<Question> = stubborn::questions(&model)
            .into_iter()
            .filter(|question| question.kind == QuestionKind::Invariant)
            .collect();
        let options = CheckOptions {
            reduction: reduction.clone(),
            ..CheckOptions::default()
        };
        let report = stubborn::check(&model, &questions, &options).expect("it runs");
        let answer = &report.answers[0];
        let name = format!("{instance}, property {property}: {goal}");
        let verdict = if reachable {
            Verdict::Violated
        } else {
            Verdict::Holds
        };
        assert_eq!(answer.verdict, verdict, "{name}");
        if let Some(violation) = &answer.violation {
            // The trace was replayed by the interpreter.
            let trace = violation.trace.as_ref().expect("memory is not scarce");
            // The table counts the states on the way, not the steps.
            assert_eq!((trace.len() + 1).to_string(), *length, "{name}");
        }
        answers += 1;
    }
    assert!(answers > 10, "only {answers} answers");
    eprintln!("{answers} answers agree");
}

#[test]
fn goals_of_small_instances() {
    goals(0, 100_000, &ReductionOptions::none());
}

#[test]
fn goals_of_small_instances_reduced() {
    goals(0, 20_000, &reduced_by(Algorithm::Goal));
}

#[test]
#[ignore = "long: goals of instances of up to 5 million states"]
fn goals_of_larger_instances() {
    goals(100_000, 5_000_001, &ReductionOptions::none());
}

#[test]
#[ignore = "long: goals of instances of up to 60 million states"]
fn goals_of_huge_instances() {
    goals(5_000_001, 60_000_000, &ReductionOptions::none());
}

#[test]
#[ignore = "long: goals of instances of up to 2 million states, reduced"]
fn goals_of_larger_instances_reduced() {
    goals(20_000, 2_000_001, &ReductionOptions::default());
}
