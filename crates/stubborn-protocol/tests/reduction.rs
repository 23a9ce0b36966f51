//! Relations are right, and reduced checks say what unreduced ones say.

use crate::common;

use common::{compare, validate_all};
use stubborn_protocol::Value;
use stubborn_protocol::protocols::{
    echo_multicast, paxos, paxos_register, raft, storage, two_phase_commit,
};

fn small<M: Value>(protocol: stubborn_protocol::Protocol<M>) {
    let model = protocol.build().expect("a model");
    validate_all(&model);
    compare(&model);
}

#[test]
fn two_phase_commit() {
    small(two_phase_commit::protocol(2).0);
}

#[test]
fn paxos_with_one_proposer() {
    for split_quorums in [false, true] {
        small(paxos::protocol(paxos::Setting {
            proposers: 1,
            acceptors: 2,
            split_quorums,
            ..paxos::Setting::default()
        }));
    }
}

#[test]
fn paxos_register() {
    small(paxos_register::protocol(2, 1).0);
}

#[test]
fn multicast() {
    small(echo_multicast::protocol(echo_multicast::Setting {
        receivers: 2,
        liars: 0,
        ..echo_multicast::Setting::default()
    }));
}

#[test]
fn storage() {
    small(storage::protocol(1, 1, storage::Specification::Wrong));
}

#[test]
fn elections() {
    small(raft::protocol(raft::Setting {
        servers: 2,
        terms: 1,
        ..raft::Setting::default()
    }));
}

#[test]
#[ignore = "long: several reductions of larger protocols"]
fn larger_protocols() {
    compare(&two_phase_commit::protocol(5).0.build().expect("a model"));
    compare(&paxos_register::protocol(3, 2).0.build().expect("a model"));
    compare(
        &paxos::protocol(paxos::Setting::default())
            .build()
            .expect("a model"),
    );
}

/// Half of the states, each of which takes several times as long.
#[test]
#[ignore = "long: a million states"]
fn what_takes_longer_reduced_is_not_reduced() {
    let model = paxos_register::protocol(3, 3).0.build().expect("a model");
    let report = model.check().run().expect("a report");
    assert!(report.holds());
    let how = &report.searches[0].0;
    assert!(how.starts_with("none: "), "{how}");
}
