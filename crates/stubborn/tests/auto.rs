//! `auto` gives the answers that a search without reduction gives, wherever it stops to think.

use crate::corpus;

use std::path::Path;

use stubborn::{CheckOptions, LoadedModel, Order, Por, ReductionOptions, questions};

/// Asks after so many states.
fn after(states: u64) -> ReductionOptions {
    ReductionOptions {
        por: Por::Auto,
        patience: states,
        ..ReductionOptions::default()
    }
}

/// Compares all verdicts; how many searches were reduced.
fn compare(model: &LoadedModel, patience: u64, order: Order, threads: usize) -> usize {
    let questions = questions(model);
    let check = |reduction| {
        let options = CheckOptions {
            order,
            threads,
            reduction,
            ..CheckOptions::default()
        };
        stubborn::check(model, &questions, &options).expect("it runs")
    };
    let (full, auto) = (check(ReductionOptions::none()), check(after(patience)));
    for (one, other) in full.answers.iter().zip(&auto.answers) {
        let (name, what) = (model.name(), &one.question.name);
        assert_eq!(one.verdict, other.verdict, "{name}: {what}, {patience}");
    }
    auto.runs.iter().filter(|r| r.reduction != "none").count()
}

#[test]
fn examples_have_the_same_answers() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in [
        "alternating_bit.dve",
        "cache_coherence.dve",
        "leader_ring.dve",
        "peterson.dve",
        "philosophers.dve",
        "readers_writers.pml",
        "token_passing.pml",
        "workshop.pnml",
    ] {
        let model = corpus::load(&examples.join(name));
        for (patience, order, threads) in [
            (1, Order::DepthFirst, 1),
            (100, Order::BreadthFirst, 2),
            (1_000, Order::BreadthFirst, 1),
        ] {
            compare(&model, patience, order, threads);
        }
    }
}

#[test]
fn small_corpus_models_have_the_same_answers() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    let mut reduced = 0;
    for instance in [
        "phils.3",
        "fischer.1",
        "protocols.3",
        "cyclic_scheduler.1",
        "production_cell.2",
        "iprotocol.1",
        "lann.2",
        "mcs.4",
        "firewire_link.1",
        "krebs.1",
    ] {
        let model = corpus::load(&beem.join(format!("models/{instance}.dve")));
        for patience in [50, 300, 1_500] {
            reduced += compare(&model, patience, Order::BreadthFirst, 1);
            let options = |reduction| CheckOptions {
                reduction,
                ..CheckOptions::default()
            };
            let run = |reduction| stubborn::explore(&model, &options(reduction)).expect("it runs");
            let (full, auto) = (run(ReductionOptions::none()), run(after(patience)));
            assert!(auto.result.is_complete(), "{instance}");
            assert_eq!(full.result.deadlocks, auto.result.deadlocks, "{instance}");
            assert!(auto.result.states <= full.result.states, "{instance}");
            reduced += usize::from(auto.reduction != "none");
        }
    }
    assert!(reduced > 5, "{reduced} searches were reduced");
}

#[test]
fn a_limit_of_states_leaves_room_for_reduction() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    // 4,606 states, 48 of them reduced.
    let model = corpus::load(&beem.join("models/cyclic_scheduler.1.dve"));
    let options = CheckOptions {
        limits: stubborn::Limits {
            states: Some(1_000),
            ..stubborn::Limits::default()
        },
        ..CheckOptions::default()
    };
    let run = stubborn::explore(&model, &options).expect("it runs");
    assert!(run.result.is_complete(), "{}", run.reduction);
}
