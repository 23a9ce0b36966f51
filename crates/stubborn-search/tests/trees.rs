//! Trees that turn out to be bad ones when much is explored.

use crate::common;

use common::late::LateCounters;
use stubborn_search::Search;

/// The first states say nothing against the usual tree. It would have a node for each of the others.
#[test]
fn a_large_search_gets_another_tree() {
    let system = LateCounters::new();
    for threads in [1, 2] {
        let search = Search {
            threads,
            ..Search::new(&system)
        };
        let result = search.run().expect("it fits together");
        assert_eq!(result.states, LateCounters::STATES);
        let bytes = result.bytes_per_state();
        assert!(bytes < 12.0, "{bytes} bytes a state on {threads} threads");
    }
}
