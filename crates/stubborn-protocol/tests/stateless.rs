//! Stateless searches see what others see, and refuse what they cannot do.

use stubborn_protocol::protocols::{
    echo_multicast, paxos, paxos_register, storage, two_phase_commit,
};
use stubborn_protocol::{Protocol, Stateless, StatelessReport, Value};

/// Reports of dynamic reductions and of local one; verdicts must be those of the full check, and
/// what is explored in full has each trace once.
fn row<M: Value>(name: &str, protocol: Protocol<M>) -> Vec<StatelessReport> {
    let model = protocol.build().expect("a model");
    let full = model.check().unreduced().all_violations();
    let full = full.run().expect("a report");
    let violated: Vec<_> = full.failures.iter().map(|f| f.property.clone()).collect();
    let all = [
        Stateless::Local,
        Stateless::Dynamic,
        Stateless::Source,
        Stateless::Optimal,
    ];
    let mut reports = Vec::new();
    for how in all {
        for search in [model.stateless(how), model.stateless(how).in_local_sets()] {
            let report = search.most_visits(20_000).run().expect("an acyclic model");
            eprintln!("{name}, {search:?}: {report:?}");
            if report.complete {
                assert_eq!(report.violated, violated, "{name}");
            }
            reports.push(report);
        }
    }
    reports
}

#[test]
fn multicast() {
    let five = echo_multicast::Setting::default();
    let reports = row("Multicast (5)", echo_multicast::protocol(five));
    let by_traces = &reports[4..];
    assert!(by_traces.iter().all(|r| r.complete && r.executions == 312));
    // The classic algorithm explores traces again and again; optimal ones never begin in vain.
    assert!(reports[2].executions > 1_000);
    assert!(by_traces[2..].iter().all(|r| r.given_up == 0));
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
    for how in [Stateless::Dynamic, Stateless::Source, Stateless::Optimal] {
        let refused = model.stateless(how).most_visits(1_000_000).run();
        assert!(refused.is_err_and(|e| e.to_string().contains("cycle")));
    }
    let model = paxos_register::protocol(3, 1).0.build().expect("a model");
    let refused = model
        .stateless(Stateless::Dynamic)
        .most_visits(1_000_000)
        .run();
    assert!(refused.is_err_and(|e| e.to_string().contains("record")));
    // The optimal one follows it.
    let report = model.stateless(Stateless::Optimal).most_visits(5_000).run();
    assert!(report.is_ok_and(|r| r.violated.is_empty()));
}

/// Processes that stop one after the other.
fn crashing(at_most: u32) -> Protocol<()> {
    let mut p = Protocol::new("crashing");
    let all = p.processes("P", 3, false);
    p.may_crash(&all, at_most);
    for process in &all {
        p.action(*process, "acts")
            .when(|acted| !*acted)
            .then(|acted, _| *acted = true);
    }
    p
}

#[test]
fn crashes_are_followed_unless_they_are_scarce() {
    let model = crashing(3).build().expect("a model");
    let report = model.stateless(Stateless::Optimal).run().expect("a report");
    // Each acts or not before it crashes.
    assert_eq!((report.executions, report.given_up), (8, 0));
    let model = crashing(2).build().expect("a model");
    let refused = model.stateless(Stateless::Optimal).run();
    assert!(refused.is_err_and(|e| e.to_string().contains("crash")));
}
