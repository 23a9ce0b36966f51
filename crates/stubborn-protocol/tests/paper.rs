//! The protocols of Bokor, Kinder, Serafini, Suri (2011), table I: verdicts, and reductions.

use stubborn_protocol::protocols::{echo_multicast, paxos, storage};
use stubborn_protocol::{Protocol, Reduction, Value};

/// States without and with reduction; the verdict must be the same. As printed, necessary enabling
/// transitions never make a full search larger.
fn row<M: Value>(name: &str, protocol: Protocol<M>, holds: bool) -> (u64, u64) {
    let model = protocol.build().expect("a model");
    let states = |reduction| {
        let report = model.check().reduction(reduction).run().expect("a report");
        assert_eq!(report.holds(), holds, "{name}: {report}");
        report.states()
    };
    let printed = [false, true].map(|net| states(Reduction::Printed { net }));
    assert!(!holds || printed[1] <= printed[0], "{name}: {printed:?}");
    let counts = (states(Reduction::None), states(Reduction::lpor()));
    eprintln!("{name}: {} states, {} reduced", counts.0, counts.1);
    counts
}

#[test]
fn paxos_agrees() {
    let six = paxos::Setting::default();
    let (full, reduced) = row("Paxos (6)", paxos::protocol(six), true);
    assert!(reduced * 10 < full);
    let split = paxos::Setting {
        split_quorums: true,
        ..six
    };
    let (same, fewer) = row("Paxos (6), split quorums", paxos::protocol(split), true);
    assert!(same == full && fewer < reduced);
    let counting = paxos::Setting {
        quorums: false,
        ..six
    };
    let (full, reduced) = row("Paxos (6), one by one", paxos::protocol(counting), true);
    assert!(reduced * 10 < full);
}

#[test]
fn faulty_paxos_is_caught() {
    let careless = paxos::Setting {
        fault: paxos::Fault::CarelessLearner,
        ..paxos::Setting::default()
    };
    row("F-Paxos (6)", paxos::protocol(careless), false);
    let stubborn = paxos::Setting {
        fault: paxos::Fault::StubbornProposer,
        learners: 2,
        ..paxos::Setting::default()
    };
    row("F-Paxos2 (7)", paxos::protocol(stubborn), false);
}

#[test]
fn storage_is_regular() {
    use storage::Specification::{Regular, Wrong};
    row("Register (5)", storage::protocol(1, 3, Regular), true);
    row("Register (5), wrong", storage::protocol(1, 3, Wrong), false);
}

#[test]
#[ignore = "long: 34 million states"]
fn storage_with_two_readers() {
    let wrong = storage::Specification::Wrong;
    row("Register (6), wrong", storage::protocol(2, 3, wrong), false);
}

#[test]
fn multicast_agrees() {
    let five = echo_multicast::Setting::default();
    row("Multicast (5)", echo_multicast::protocol(five), true);
    let six = echo_multicast::Setting {
        honest_initiators: 1,
        ..five
    };
    let (full, reduced) = row("Multicast (6)", echo_multicast::protocol(six), true);
    assert!(reduced * 5 < full);
    let wrong = echo_multicast::Setting {
        specification: echo_multicast::Specification::Wrong,
        ..six
    };
    row(
        "Multicast (6), wrong",
        echo_multicast::protocol(wrong),
        false,
    );
}
