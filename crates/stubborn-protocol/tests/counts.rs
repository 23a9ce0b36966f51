//! State counts that other tools and papers agree on.

use stubborn_protocol::protocols::{paxos_register, shared_register, two_phase_commit};
use stubborn_search::{Search, SearchResult, StoreKind, StoreOptions};
use stubborn_system::System;

fn explore(system: &dyn System) -> SearchResult {
    let result = Search::new(system).run().expect("a search");
    assert!(result.is_complete());
    result
}

#[test]
fn two_phase_commit_has_as_many_states_as_elsewhere() {
    for (resources, states) in [(3, 288), (5, 8_832)] {
        let (protocol, _) = two_phase_commit::protocol(resources);
        let model = protocol.build().expect("a model");
        assert_eq!(explore(&model).states, states);
    }
    let (protocol, _) = two_phase_commit::protocol(7);
    let result = explore(&protocol.build().expect("a model"));
    assert_eq!((result.states, result.depth + 1), (296_448, 23));
}

#[test]
fn nothing_holds_because_a_lossy_store_has_not_seen_it() {
    let (protocol, _) = two_phase_commit::protocol(3);
    let model = protocol.build().expect("a model");
    for (kind, holds) in [(StoreKind::Tree, true), (StoreKind::Compact, false)] {
        let check = model.check().unreduced().store(StoreOptions::new(kind));
        assert_eq!(check.run().expect("a report").holds(), holds, "{kind:?}");
    }
}

#[test]
fn paxos_has_as_many_states_as_elsewhere() {
    let (protocol, _) = paxos_register::protocol(3, 2);
    let model = protocol.build().expect("a model");
    assert_eq!(explore(&model).states, 16_668);
}

#[test]
#[ignore = "long: a million states"]
fn paxos_with_three_clients_has_as_many_states_as_elsewhere() {
    let (protocol, _) = paxos_register::protocol(3, 3);
    let model = protocol.build().expect("a model");
    let result = explore(&model);
    assert_eq!(result.states, 1_194_428);
}

#[test]
fn the_shared_register_has_as_many_states_as_elsewhere() {
    let model = shared_register::protocol(2, 2).build().expect("a model");
    assert_eq!(explore(&model).states, 544);
    stubborn_protocol::assert_holds!(model);
}
