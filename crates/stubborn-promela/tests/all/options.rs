//! Options that change the states but not the verdicts, and claims that are checked.

use std::path::Path;

use stubborn_promela::{Options, lower};

use crate::probes::probes;
use crate::random_programs::program;
use crate::support::{Counts, count_with, examples};

fn counts(text: &str, lowering: lower::Options) -> Counts {
    let options = Options {
        lowering,
        ..Options::default()
    };
    match count_with(Path::new("m.pml"), text, 100_000, &options) {
        Ok(counts) => counts,
        Err(message) => panic!("{message}\n{text}"),
    }
}

fn merged(text: &str) -> (usize, usize) {
    let options = lower::Options {
        merge: true,
        ..lower::Options::default()
    };
    let counts = counts(text, options);
    (counts.states, counts.transitions)
}

/// The numbers are those of SPIN with `-o1 -o2`, which merges statements.
#[test]
fn merged_statements_are_one_step() {
    let cases: &[(&str, (usize, usize))] = &[
        (
            "byte g; active proctype A() { byte v; v = 1; v = 2; v = v + 1; g = v; v = 0 }
             active proctype B() { byte w; g == 3 -> w = 1; w = 2 }",
            (11, 14),
        ),
        (
            "byte g; active proctype A() { byte v, a[3]; v = 1; a[v] = 2; v = a[v]; g = v; v = 0 }
             active proctype B() { byte w; g == 2 -> w = 1; w = 2 }",
            (11, 14),
        ),
        (
            "byte g; active proctype A() { byte v; do :: v < 3 -> v++; printf(\"%d\", v)
             :: v == 3 -> v = 7; break od; l: v = 1; v = 2; g = v }",
            (9, 9),
        ),
        (
            "chan q = [2] of { byte }; active proctype A() { byte v; q!1; v = 1; v = 2; q!v; v = 3 }
             active proctype B() { byte w, x; xr q; q?w; x = w; w = 0; q?w; x = w + x; assert(x == 3) }",
            (14, 19),
        ),
        (
            "chan r = [0] of { byte }; active proctype A() { byte v; atomic { v = 1; v = 2 }; v = 3; r!v; v = 4 }
             active proctype B() { byte w; r?w; w = w + 1; w = w + 1 }",
            (9, 11),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(merged(text), *expected, "{text}");
    }
}

/// Whether a model can fail, and whether it can stop where it should not.
fn verdict(counts: &Counts) -> (bool, bool) {
    (counts.errors > 0, counts.failures.is_empty())
}

#[test]
fn verdicts_stay_the_same() {
    let texts = examples().into_iter().map(|e| e.text);
    let texts = texts.chain(probes().into_iter().map(|p| p.text));
    let mut fewer = 0;
    for text in texts.chain((0..60).map(program)) {
        let plain = counts(&text, lower::Options::default());
        if !plain.complete {
            continue;
        }
        for options in switches().skip(1) {
            let other = counts(&text, options);
            assert_eq!(verdict(&other), verdict(&plain), "{options:?}\n{text}");
            assert!(other.states <= plain.states, "{options:?}\n{text}");
            fewer += usize::from(other.states < plain.states);
        }
    }
    assert!(fewer > 25, "only {fewer} models have fewer states");
}

#[test]
fn dead_variables_are_zero() {
    let text = "byte g;
        active proctype A() { byte v, w; if :: v = 1 :: v = 2 :: v = 3 fi; w = v; g = w; g = 0; g = 1 }";
    let plain = counts(text, lower::Options::default());
    let options = lower::Options {
        dead_variables: true,
        ..lower::Options::default()
    };
    let fewer = counts(text, options);
    // Three values are told apart until g forgets them.
    assert_eq!((plain.states, fewer.states), (17, 13));
    let watched = "byte g;
        active proctype A() { byte v; if :: v = 1 :: v = 2 fi; g = 1; g = 2 }
        active proctype B() { g == 2 -> assert(A:v == 1) }";
    assert!(counts(watched, options).errors > 0, "others may look at it");
}

#[test]
fn dead_locations_are_left_out() {
    let options = lower::Options {
        dead_locations: true,
        ..lower::Options::default()
    };
    let text = "byte g; active [2] proctype A() { g++; skip; skip; g-- }";
    let (plain, fewer) = (
        counts(text, lower::Options::default()),
        counts(text, options),
    );
    // Each process has two locations less; the last one to be started also ends first.
    assert!(
        fewer.states < plain.states,
        "{} {}",
        plain.states,
        fewer.states
    );
    let seen = "byte g; active proctype A() { g = 1; l: skip; g = 2 }
        active proctype B() { assert(!A@l) }";
    assert!(
        counts(seen, options).errors > 0,
        "others may look at labels"
    );
    let circle =
        "active proctype A() { do :: skip od } active proctype B() { timeout -> assert(false) }";
    assert_eq!(counts(circle, options).errors, 0, "it runs around forever");
}

/// Where a process is matters to those who find nobody ready for a rendez-vous, and to those who
/// ask for the last process, a control state or a local: each assertion fails only while a process
/// is at a place that could be left out otherwise.
#[test]
fn control_that_others_look_at_stays() {
    let refused = [
        "if :: c!1 :: else -> assert(false) fi",
        "{ assert(false) } unless { c!1 }",
        "{ assert(false) } unless { if :: c!1 :: z == 7 fi }",
    ];
    let mut texts = Vec::new();
    for refused in refused {
        texts.push(format!(
            "chan c = [0] of {{ byte }}; byte z;
            active proctype A() {{ z == 1; {refused} }}
            active proctype B() {{ z = 1; skip; end: c?1 }}"
        ));
        // SPIN's merging overlooks this one.
        texts.push(format!(
            "chan c = [0] of {{ byte }}; chan d = [1] of {{ byte }}; byte z;
            active proctype A() {{ z == 1; {refused} }}
            active proctype B() {{ byte v; xr d; d?v; v = 2; end: c?1 }}
            active proctype D() {{ xs d; d!1; end: d!2; z = 1 }}"
        ));
    }
    texts.push(
        "byte y; active proctype B() { end: _last == 1; y = 1; end1: _last == 1; assert(false) }
        active proctype A() { byte v; v = 1; v = 2; end: y == 9 }"
            .into(),
    );
    texts.push(
        "byte y; active proctype A() { byte v; v = 1; v = 2; v = 3; y = 1 }
        active proctype B() { assert(pc_value(0) != 2) }"
            .into(),
    );
    texts.push(
        "byte y; active proctype A() { end: y == 1; skip; end1: y == 2 }
        active proctype B() { y = 1; end: enabled(0); y = 3; assert(!enabled(0)) }"
            .into(),
    );
    texts.push(
        "byte x; active proctype A() { byte v; v = 1; v = 2; x = 1 }
        active proctype B() { end: A:v == 1 -> assert(false) }"
            .into(),
    );
    texts.push(
        "local byte x; byte y; active proctype A() { x = 1; x = 2; y = 1 }
        active proctype B() { end: x == 1 -> assert(false) }"
            .into(),
    );
    // Who finds nobody ready for a rendez-vous lets those of lower priorities move.
    texts.push(
        "chan c = [0] of { byte }; chan d = [1] of { byte }; byte z;
        active proctype A() priority 2 { end: z == 1; end1: c!1; z = 2 }
        active proctype B() { byte v; xr d; end: d?v; v = 2; end1: c?1 }
        active proctype D() { xs d; d!1; end: d!2; z = 1 }
        active proctype E() { end: z == 1; assert(false) }"
            .into(),
    );
    // What a clause reads, and what a d_step may leave as it was, is alive.
    texts.push(
        "byte x = 1; proctype P(byte k) provided (k == 1) { x = k; end: x = 2; assert(false) }
        init { run P(x) }"
            .into(),
    );
    texts.push(
        "byte x; active proctype A() { byte v; v = 5; x = 2;
            d_step { if :: x == 1 -> v = 3 :: else fi }; assert(v != 5) }"
            .into(),
    );
    // What others do after a step that they notice, and before one that fails.
    texts.push(
        "chan d = [1] of { byte };
        active proctype P() { byte l[2], i = 2; xs d; d!1; l[i] = 1 }
        active proctype Q() { byte x; xr d; end: d?x; assert(x != 1) }"
            .into(),
    );
    texts.push(
        "chan d = [1] of { byte };
        active proctype P() { byte i = 2; xr d; d?i; i = 0; i = 1 / i }
        active proctype Q() { xs d; d!2; end: nfull(d) -> assert(false) }"
            .into(),
    );
    texts.push(
        "byte z; active proctype P() { byte l[2], i = 2; atomic { z = 2; z = 1 }; i = 3; l[i] = 3 }
        active proctype Q() { end: z == 1 -> assert(false) }"
            .into(),
    );
    // What others do between two looks at a channel, also at one that nobody else receives from, and
    // between two starts (the first one may be gone: the second gets its number).
    for look in ["nempty(c)", "c?[1]", "len(c)"] {
        let claim = if look == "len(c)" { "" } else { "xr c;" };
        texts.push(format!(
            "chan c = [2] of {{ byte }}; proctype Never() {{ xr c; xs c }}
            active proctype A() {{ c!1 }}
            active proctype B() {{ byte l, m; {claim} l = {look}; m = {look}; assert(l == m) }}"
        ));
    }
    texts.push(
        "proctype Q() { skip }
        init { byte p, q; p = run Q(); q = run Q(); assert(q != p) }"
            .into(),
    );
    for text in &texts {
        for options in switches() {
            assert!(counts(text, options).errors > 0, "{options:?}\n{text}");
        }
    }
    // A process that others hold back is not yet where it could be met.
    let text = "chan c = [0] of { byte }; byte y, z;
        active proctype P() { y = 1; skip; end: c?1 }
        active proctype H() priority 2 { y == 1; if :: c!1 -> assert(false) :: z = 1 fi }";
    for options in switches() {
        assert_eq!(counts(text, options).errors, 0, "{options:?}\n{text}");
    }
}

/// All combinations of the options, none of them first.
fn switches() -> impl Iterator<Item = lower::Options> {
    (0..8).map(|switches| lower::Options {
        merge: switches & 1 != 0,
        dead_variables: switches & 2 != 0,
        dead_locations: switches & 4 != 0,
        ..lower::Options::default()
    })
}

#[test]
fn wrong_claims_about_channels_are_errors() {
    let right = "chan q = [1] of { byte }; active proctype A() { xs q; q!1 }
        active proctype B() { xr q; q?_ }";
    assert_eq!(counts(right, lower::Options::default()).errors, 0);
    for wrong in [
        "active proctype C() { q!2 }",
        "active proctype C() { if :: q?_ :: skip fi }",
        "active proctype C() { if :: len(q) == 1 :: skip fi }",
        "active proctype C() { d_step { nfull(q); skip } }",
    ] {
        let text = format!("{right} {wrong} active proctype D() {{ end: false }}");
        let found = counts(&text, lower::Options::default());
        assert!(found.errors > 0, "{text}");
    }
    let handed = "proctype S(chan c) { xs c; c!1 } proctype R(chan c) { xr c; c?_ }
        chan p = [1] of { byte }; chan q = [1] of { byte };
        init { run S(p); run R(p); run S(q); run R(q) }";
    assert_eq!(counts(handed, lower::Options::default()).errors, 0);
}
