//! A check that reaches a limit says so, and never more.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stubborn_emptiness::{Check, Emptiness, Property, Verdict};
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_search::{Limit, Limits, SearchError, StoreKind, StoreOptions};

/// Four counters modulo 8, and the property that the first one is 0 again and again.
fn counters() -> (Tiny, Property) {
    let mut system = Tiny::new(&[8; 4]);
    for at in 0..4 {
        system.simple("count", &[], (&[at], &[at]), move |v| {
            v[at] = (v[at] + 1) % 8
        });
    }
    let impossible = system.label("x0 = 8", &[0], |v| v[0] == 8);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("p");
    let ever = formulas.make(Node::Finally(atom));
    let never = formulas.not(ever);
    let labels = vec![impossible];
    let property = Property::from_formula(formulas, never, labels, &Default::default());
    (system, property.expect("the formula is small"))
}

fn verdict(limits: Limits<'_>, emptiness: Emptiness, threads: usize) -> Verdict {
    let (system, property) = counters();
    let check = Check {
        limits,
        emptiness,
        threads,
        ..Check::new(&system, &property)
    };
    check.run().expect("the parts fit together").verdict
}

#[test]
fn limits_end_a_check_without_answer() {
    let interrupted = AtomicBool::new(true);
    let ways = Emptiness::ALL.map(|emptiness| [(emptiness, 1), (emptiness, 3)]);
    for (emptiness, threads) in ways.into_iter().flatten() {
        let none = Limits::default();
        assert_eq!(verdict(none, emptiness, threads), Verdict::Holds);
        let cases = [
            (
                Limits {
                    states: Some(500),
                    ..none
                },
                Limit::States,
            ),
            (
                Limits {
                    memory: Some(20_000),
                    ..none
                },
                Limit::Memory,
            ),
            (
                Limits {
                    time: Some(Duration::ZERO),
                    ..none
                },
                Limit::Time,
            ),
            (
                Limits {
                    interrupt: Some(&interrupted),
                    ..none
                },
                Limit::Interrupted,
            ),
        ];
        for (limits, limit) in cases {
            let result = verdict(limits, emptiness, threads);
            assert_eq!(result, Verdict::Unknown(limit), "{emptiness:?}, {threads}");
        }
    }
}

#[test]
fn lossy_stores_are_refused() {
    let (system, property) = counters();
    let check = Check {
        store: StoreOptions::new(StoreKind::Compact),
        ..Check::new(&system, &property)
    };
    assert!(matches!(check.run(), Err(SearchError::Mismatch(_))));
}
