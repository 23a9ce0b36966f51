//! The HOA format: any text gives automata or messages; automata print as themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_ltl::hoa::{read_hoa, write_hoa};

fuzz_target!(|text: &str| {
    let (automata, _) = read_hoa(text);
    for automaton in &automata {
        let written = write_hoa(automaton, None);
        let (again, messages) = read_hoa(&written);
        assert_eq!(again.len(), 1, "{messages:?}");
    }
});
