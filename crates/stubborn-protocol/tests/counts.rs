//! State counts that other tools and papers agree on.

use stubborn_protocol::protocols::two_phase_commit;
use stubborn_search::{Search, SearchResult};
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
    println!(
        "{} {} {:?} {}",
        result.states_per_second(),
        result.bytes_per_state(),
        result.time,
        result.transitions
    );
    assert_eq!((result.states, result.depth + 1), (296_448, 23));
}
