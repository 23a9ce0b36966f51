//! Models and a naive explorer that the tests share.
#![allow(dead_code, unreachable_pub)] // each test file uses a part

pub mod graph;
pub mod late;
pub mod models;
pub mod protocol;
pub mod random;

use std::collections::HashMap;

use stubborn_search::{End, Search, SearchResult, StoreKind, StoreOptions};
use stubborn_system::{Outcome, Successors, System};

/// What the naive explorer found.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Facts {
    pub states: u64,
    pub transitions: u64,
    pub deadlocks: u64,
    pub level_sizes: Vec<u64>,
    /// Steps to the nearest deadlock, error state excluded.
    pub nearest_deadlock: Option<u64>,
    /// Steps to the nearest step that does not end well (that step included).
    pub nearest_failure: Option<u64>,
    pub fired: Vec<usize>,
}

/// Plain breadth-first search with a hash map: as simple as can be.
pub fn facts(system: &dyn System) -> Facts {
    let words = system.layout().words();
    let mut executor = system.executor();
    let mut depth_of: HashMap<Vec<u32>, u64> = HashMap::new();
    let mut level: Vec<Vec<u32>> = Vec::new();
    for state in system.initial_states().chunks_exact(words) {
        if depth_of.insert(state.to_vec(), 0).is_none() {
            level.push(state.to_vec());
        }
    }
    let mut facts = Facts::default();
    let mut fired = std::collections::BTreeSet::new();
    let mut depth = 0;
    while !level.is_empty() {
        facts.level_sizes.push(level.len() as u64);
        let mut next = Vec::new();
        for state in &level {
            facts.states += 1;
            let mut successors = Successors::new(words);
            executor.successors(state, &mut successors);
            if successors.is_empty() {
                facts.deadlocks += 1;
                if system.structure().error_state.as_ref() != Some(state) {
                    facts.nearest_deadlock.get_or_insert(depth);
                }
            }
            for successor in successors.iter() {
                facts.transitions += 1;
                fired.insert(successor.transition.index());
                if successor.outcome != Outcome::FINE {
                    facts.nearest_failure.get_or_insert(depth + 1);
                }
                if !depth_of.contains_key(successor.state) {
                    depth_of.insert(successor.state.to_vec(), depth + 1);
                    next.push(successor.state.to_vec());
                }
            }
        }
        level = next;
        depth += 1;
    }
    facts.fired = fired.into_iter().collect();
    facts
}

/// Asserts that a full exploration found what the naive explorer found.
pub fn assert_same(facts: &Facts, result: &SearchResult, what: &str) {
    let end = match result.store.is_exact() {
        true => End::Complete,
        false => End::Lossy,
    };
    assert_eq!(result.end, end, "{what}");
    assert_eq!(result.states, facts.states, "states of {what}");
    assert_eq!(
        result.transitions, facts.transitions,
        "transitions of {what}"
    );
    assert_eq!(result.deadlocks, facts.deadlocks, "deadlocks of {what}");
    assert_eq!(
        result.fired.iter().collect::<Vec<_>>(),
        facts.fired,
        "fired transitions of {what}"
    );
    if result.bfs_levels.is_some() {
        assert_eq!(result.level_sizes, facts.level_sizes, "levels of {what}");
        assert_eq!(result.bfs_levels, Some(facts.level_sizes.len() as u64));
    }
}

/// All exact ways to set up a store, with forced growth among them.
pub fn exact_stores() -> Vec<StoreOptions> {
    let mut all = Vec::new();
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        for force_growth_every in [None, Some(50)] {
            all.push(StoreOptions {
                force_growth_every,
                initial_capacity: 16,
                ..StoreOptions::new(kind)
            });
        }
    }
    all
}

/// A store that will not lose anything in a small test.
pub fn roomy_lossy_stores() -> Vec<StoreOptions> {
    let bitstate = StoreOptions {
        bitstate_bytes: Some(1 << 20),
        ..StoreOptions::new(StoreKind::Bitstate)
    };
    vec![bitstate, StoreOptions::new(StoreKind::Compact)]
}

/// Runs a search that must not fail.
pub fn run(search: &Search<'_>) -> SearchResult {
    search
        .run()
        .unwrap_or_else(|error| panic!("{search:?}: {error}"))
}
