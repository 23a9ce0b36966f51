//! The small models of `tests/models` give what stands in them.

use std::path::Path;

use crate::support::{count, examples};

#[test]
fn small_models_have_the_expected_counts() {
    let mut wrong = Vec::new();
    for example in examples() {
        let found = match count(Path::new("m.pml"), &example.text, 100_000) {
            Ok(counts) if counts.failures.is_empty() => format!(
                "states {} transitions {} errors {}",
                counts.states, counts.transitions, counts.errors
            ),
            Ok(_) => "fails".to_string(),
            Err(message) => message,
        };
        if found != example.expected {
            wrong.push(format!("{}\n  expected {}\n  found {found}", example.title, example.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lost_messages_are_an_option() {
    let text = "chan q = [1] of { byte }; active proctype A() { q!1; q!2; q!3; assert(q?[1]) }";
    let mut options = stubborn_promela::Options::default();
    options.lowering.lossy = true;
    let counts = crate::support::count_with(Path::new("m.pml"), text, 1_000, &options);
    let counts = counts.expect("a good model");
    assert_eq!((counts.states, counts.transitions, counts.errors), (6, 6, 0));
}

#[test]
fn endless_creation_ends_in_a_clear_failure() {
    let text = "init { do :: run P() od } proctype P() { end: false }";
    let mut options = stubborn_promela::Options::default();
    options.lowering.max_processes = 12;
    let counts = crate::support::count_with(Path::new("m.pml"), text, 1_000, &options);
    let counts = counts.expect("a good model");
    assert_eq!(counts.failures, ["more than 12 processes"]);
    assert_eq!(counts.states, 12);
}

#[test]
fn an_endless_atomic_sequence_is_a_failure() {
    let text = "byte x; active proctype A() { atomic { do :: x = 1 - x od } }";
    let counts = count(Path::new("m.pml"), text, 1_000).expect("a good model");
    assert_eq!(counts.failures, ["an uninterrupted sequence of steps never ends"]);
}
