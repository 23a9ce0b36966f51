//! Counts: every order, number of threads and store must find the same graph.

use crate::common;

use common::models::{
    counters, overflow, peterson, philosophers, producer_consumer, ring_of_references,
};
use common::protocol::LockProtocol;
use common::{assert_same, exact_stores, facts, roomy_lossy_stores, run};
use stubborn_search::{End, Order, Search, StoreKind};
use stubborn_system::System;

/// Explores in every way.
fn explore_in_all_ways(system: &dyn System, what: &str) {
    let facts = facts(system);
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2, 4] {
            for store in exact_stores().into_iter().chain(roomy_lossy_stores()) {
                let search = Search {
                    order,
                    threads,
                    store,
                    ..Search::new(system)
                };
                let result = run(&search);
                if search.store.kind == StoreKind::Bitstate && threads > 1 {
                    // Two threads that insert a state at once may both take it for new.
                    assert!(result.states >= facts.states && result.end == End::Lossy);
                    continue;
                }
                assert_same(&facts, &result, &format!("{what}, {search:?}"));
            }
        }
    }
    for seed in 0..3 {
        let search = Search {
            order: Order::DepthFirst,
            seed: Some(seed),
            ..Search::new(system)
        };
        assert_same(&facts, &run(&search), &format!("{what}, {search:?}"));
    }
}

#[test]
fn counters_have_as_many_states_as_the_formula_says() {
    let model = counters(4, 7);
    let result = run(&Search::new(&model));
    assert_eq!(result.states, 7_u64.pow(4));
    assert_eq!(result.transitions, 4 * 7_u64.pow(4));
    assert_eq!((result.depth, result.bfs_levels), (24, Some(25)));
    assert_eq!(result.deadlocks, 0);
    explore_in_all_ways(&model, "counters");
}

#[test]
fn philosophers_have_the_known_counts() {
    // A fork is held by at most one neighbour: 3^n ways to be where they are, by transfer
    // matrix; that everybody still holds only the right fork cannot come about.
    for n in 2..8 {
        let result = run(&Search::new(&philosophers(n)));
        let known = (3_u64.pow(n as u32) - 1, 1);
        assert_eq!((result.states, result.deadlocks), known, "{n}");
    }
    explore_in_all_ways(&philosophers(6), "six philosophers");
}

#[test]
fn other_models_are_the_same_in_all_ways() {
    explore_in_all_ways(&peterson(false).0, "peterson");
    explore_in_all_ways(&producer_consumer(3, 5, false), "producer and consumer");
    explore_in_all_ways(&overflow(9), "overflow");
}

#[test]
fn ten_processes_with_channel_references() {
    explore_in_all_ways(&ring_of_references(), "ring");
}

#[test]
fn a_system_without_any_language() {
    let system = LockProtocol::new(5);
    explore_in_all_ways(&system, "lock protocol");
}

#[test]
fn the_error_state_is_a_state_without_steps() {
    let result = run(&Search::new(&overflow(9)));
    assert_eq!(
        (result.states, result.transitions, result.deadlocks),
        (10, 9, 1)
    );
}

#[test]
fn random_programs_are_the_same_in_all_ways() {
    let mut explored = 0;
    for seed in 0..100 {
        let model = common::random::program(seed);
        let states = facts(&model).states;
        if states > 20 && states < 20_000 {
            explore_in_all_ways(&model, &format!("random program {seed}"));
            explored += 1;
        }
    }
    assert!(explored > 20, "only {explored} programs were worth it");
}
