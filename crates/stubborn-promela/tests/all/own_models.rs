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
            wrong.push(format!(
                "{}\n  expected {}\n  found {found}",
                example.title, example.expected
            ));
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
    assert_eq!(
        (counts.states, counts.transitions, counts.errors),
        (6, 6, 0)
    );
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

/// What is sent is evaluated before anybody watches it being sent.
#[test]
fn a_send_that_fails_is_no_event() {
    for (capacity, rest) in [(1, ""), (0, "active proctype Q() { c?_, _ }")] {
        let text = format!(
            "byte g; chan c = [{capacity}] of {{ byte, byte }};
            active proctype P() {{ c!1, (g / g) }} {rest} trace {{ c!0, _ }}"
        );
        let counts = count(Path::new("m.pml"), &text, 1_000).expect("a good model");
        assert_eq!(counts.failures, ["`(g / g)` divides by zero"], "{text}");
        assert_eq!(counts.errors, 1, "no violated trace beside it: {text}");
    }
}

/// Who asks about whom is written out, and there is an end to it.
#[test]
fn many_who_ask_about_each_other_are_refused() {
    let text = "byte x; active [9] proctype A() { do :: enabled(x) -> x++ :: x > 8 -> break od }";
    let message = count(Path::new("m.pml"), text, 10).expect_err("too many questions");
    assert!(message.contains("PML101"), "{message}");
}

/// Violated assertions and failing steps of uninterrupted sequences, whatever becomes of the way
/// that they are on. Fused or not, and by whatever kind of sequence.
#[test]
fn nothing_that_goes_wrong_in_a_sequence_is_lost() {
    let endless = "an uninterrupted sequence of steps never ends";
    let index = "`a[i]`: index outside of the array a";
    let cases: &[(&str, usize, &[&str])] = &[
        // Violated on a way that comes back to where it was.
        ("atomic { x = 0; do :: assert(x == 1) :: break od }", 1, &[]),
        (
            "atomic { x = 0; do :: x = 1 - x; assert(x == 0) :: x == 2 -> break od }",
            2,
            &[endless],
        ),
        // Violated before a step fails.
        ("atomic { assert(x == 7); a[i] = 1 }", 2, &[index]),
        ("d_step { assert(x == 7); a[i] = 1 }", 2, &[index]),
        (
            "atomic { do :: x < 1 -> x++ :: else -> break od; assert(x == 7); a[i] = 1 }",
            2,
            &[index],
        ),
        (
            "atomic { assert(x == 7); if :: a[i] == 1 -> x = 1 :: x == 0 -> x = 2 fi }",
            3,
            &[index],
        ),
        (
            "d_step { x = 0; do :: x < 3 -> x++; assert(x != 2) :: else -> break od; a[i] = x }",
            2,
            &[index],
        ),
        // Violated, and then never an end.
        (
            "atomic { assert(x == 7); do :: x = 1 - x od }",
            2,
            &[endless],
        ),
        // One way has an end, the other one none.
        (
            "atomic { if :: x = 1; assert(x == 0); do :: x = 3 - x od :: x = 5 fi }",
            2,
            &[endless],
        ),
        (
            "atomic { if :: x = 1 :: x = 2; do :: x == 2 -> x = 3 :: x == 3 -> x = 2 od fi }",
            1,
            &[endless],
        ),
        // An endless loop that can be left is none.
        (
            "atomic { x = 0; do :: x = 1 - x :: x = 1 :: break od }",
            0,
            &[],
        ),
    ];
    for (body, errors, failures) in cases {
        let text = format!("byte x, i = 5; byte a[2]; active proctype P() {{ {body} }}");
        for fuse in [true, false] {
            let mut options = stubborn_promela::Options::default();
            options.lowering.fuse = fuse;
            let counts = crate::support::count_with(Path::new("m.pml"), &text, 1_000, &options);
            let counts = counts.expect("a good model");
            assert_eq!(counts.failures, *failures, "{body}");
            // Each way counts.
            assert_eq!(counts.errors.min(*errors), *errors, "{body}");
            assert_eq!(counts.errors == 0, *errors == 0, "{body}");
        }
    }
}

#[test]
fn an_endless_atomic_sequence_is_a_failure() {
    let text = "byte x; active proctype A() { atomic { do :: x = 1 - x od } }";
    let counts = count(Path::new("m.pml"), text, 1_000).expect("a good model");
    assert_eq!(
        counts.failures,
        ["an uninterrupted sequence of steps never ends"]
    );
}

#[test]
fn propositions_become_labels() {
    use stubborn_promela::{load, source::NoIncludes};
    use stubborn_system::System;
    let text =
        "#define high (x > 2)\nbyte x = 3; active proctype P() { here: x = 0; progress: x = 1 }";
    let options = stubborn_promela::Options {
        propositions: vec!["high && P@here".into(), "x == 0 || len(q) > 1".into()],
        ..Default::default()
    };
    assert!(
        load(Path::new("m.pml"), text, &options, &NoIncludes).is_err(),
        "q is not declared"
    );
    let options = stubborn_promela::Options {
        propositions: vec!["high && P@here".into(), "np_".into(), "!high".into()],
        ..Default::default()
    };
    let loaded = load(Path::new("m.pml"), text, &options, &NoIncludes).expect("a good model");
    let mut executor = loaded.model.executor();
    let state = loaded.model.initial_states();
    let values: Vec<bool> = loaded
        .lowered
        .propositions
        .iter()
        .map(|l| executor.label(&state, *l))
        .collect();
    assert_eq!(values, [true, true, false]);
}

#[test]
fn never_claims_become_automata() {
    use stubborn_promela::{load, source::NoIncludes};
    let text = "byte x; active proctype P() { x = 1 }
        never { do :: x == 0 :: x == 1 -> break :: else od; accept: do :: x == 1 od }";
    let loaded = load(Path::new("m.pml"), text, &Default::default(), &NoIncludes);
    let claims = loaded.expect("a good model").lowered.claims;
    assert_eq!(claims.len(), 1);
    let (start, states) = (claims[0].start, &claims[0].states);
    assert_eq!(states[start].edges.len(), 3);
    assert_eq!(states.iter().filter(|s| s.accepting).count(), 1);
}
