//! Stateless searches see what others see, and refuse what they cannot do.

use stubborn_protocol::protocols::{
    echo_multicast, paxos, paxos_register, storage, two_phase_commit,
};
use stubborn_protocol::{Protocol, Stateless, StatelessReport, Value};

/// Visits by dynamic reduction and by local one; verdicts must be those of the full check.
fn row<M: Value>(name: &str, protocol: Protocol<M>) -> (StatelessReport, StatelessReport) {
    let model = protocol.build().expect("a model");
    let full = model.check().unreduced().run().expect("a report");
    let violated: Vec<_> = full.failures.iter().map(|f| f.property.clone()).collect();
    let search = |how| {
        model
            .search_stateless(how, 200_000)
            .expect("an acyclic model")
    };
    let (dynamic, local) = (search(Stateless::Dynamic), search(Stateless::Local));
    for report in [&dynamic, &local] {
        eprintln!(
            "{name}: {} visits, {} executions",
            report.visits, report.executions
        );
        if report.complete {
            assert_eq!(report.violated, violated, "{name}");
        }
    }
    (dynamic, local)
}

#[test]
fn multicast() {
    let five = echo_multicast::Setting::default();
    row("Multicast (5)", echo_multicast::protocol(five));
    let wrong = echo_multicast::Setting {
        specification: echo_multicast::Specification::Wrong,
        ..five
    };
    row("Multicast (5), wrong", echo_multicast::protocol(wrong));
}

#[test]
fn faulty_paxos() {
    let careless = paxos::Setting {
        fault: paxos::Fault::CarelessLearner,
        ..paxos::Setting::default()
    };
    row("F-Paxos (6)", paxos::protocol(careless));
}

#[test]
fn storage() {
    row(
        "Register (5)",
        storage::protocol(1, 3, storage::Specification::Regular),
    );
    row(
        "Register (5), wrong",
        storage::protocol(1, 3, storage::Specification::Wrong),
    );
}

#[test]
fn cycles_and_records_are_refused() {
    // Messages stay, so that a step can be repeated for ever.
    let model = two_phase_commit::protocol(2).0.build().expect("a model");
    let refused = model.search_stateless(Stateless::Dynamic, 1_000_000);
    assert!(refused.is_err_and(|e| e.to_string().contains("cycle")));
    let model = paxos_register::protocol(3, 1).0.build().expect("a model");
    let refused = model.search_stateless(Stateless::Dynamic, 1_000_000);
    assert!(refused.is_err_and(|e| e.to_string().contains("record")));
}
