//! Our own models, counted by SPIN itself, if it is installed.

use crate::support::{Scratch, examples, has_spin, spin_counts};

/// The numbers in the models are SPIN's. One in eight is tried by default.
#[test]
fn some_expectations_are_those_of_spin() {
    check(8);
}

#[test]
#[ignore = "long: compiles a verifier for each model, about two minutes"]
fn all_expectations_are_those_of_spin() {
    check(1);
}

fn check(every: usize) {
    if !has_spin() {
        return;
    }
    let scratch = Scratch::new("expectations");
    for example in examples().iter().step_by(every) {
        if example.expected == "fails" {
            continue;
        }
        let counts = spin_counts(&example.text, &scratch);
        let found = counts.map(|c| {
            format!(
                "states {} transitions {} errors {}",
                c.states, c.transitions, c.errors
            )
        });
        assert_eq!(found.as_ref(), Some(&example.expected), "{}", example.title);
    }
}
