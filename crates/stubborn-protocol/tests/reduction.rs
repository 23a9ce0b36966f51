//! Relations are right, and reduced checks say what unreduced ones say.

mod common;

use common::{compare, validate_all};
use stubborn_protocol::protocols::{paxos_register, two_phase_commit};

#[test]
fn two_phase_commit() {
    let (protocol, _) = two_phase_commit::protocol(3);
    let model = protocol.build().expect("a model");
    validate_all(&model);
    compare(&model);
}

#[test]
fn paxos_register() {
    let (protocol, _) = paxos_register::protocol(3, 2);
    let model = protocol.build().expect("a model");
    compare(&model);
}
