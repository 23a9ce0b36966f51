//! The protocols that come with the library: `cargo run -p stubborn-protocol --example shipped` lists
//! them, and with a name checks one and prints the report.
#![allow(clippy::print_stdout)]

use stubborn_protocol::protocols::{
    echo_multicast, paxos, paxos_register, primary_backup, raft, shared_register, storage,
    two_phase_commit,
};
use stubborn_protocol::{Protocol, Value};

fn check<M: Value>(protocol: Protocol<M>) {
    let model = protocol.build().expect("a protocol without mistakes");
    print!("{}", model.check().run().expect("a report"));
}

/// Name, what it is, and how it is checked.
const SHIPPED: [(&str, &str, fn()); 9] = [
    ("two-phase-commit", "four managers agree to commit", || {
        check(two_phase_commit::protocol(4).0);
    }),
    ("paxos", "two proposers, three acceptors, quorums", || {
        check(paxos::protocol(paxos::Setting::default()));
    }),
    ("paxos-register", "Paxos as a linearizable register", || {
        check(paxos_register::protocol(3, 2).0);
    }),
    ("register", "a register on two servers (ABD)", || {
        check(shared_register::protocol(2, 2));
    }),
    ("storage", "a regular register with one writer", || {
        check(storage::protocol(1, 3, storage::Specification::Regular));
    }),
    ("primary-backup", "losses, crashes and retries", || {
        let setting = primary_backup::Setting {
            clients: 1,
            ..primary_backup::Setting::default()
        };
        check(primary_backup::protocol(setting));
    }),
    ("hasty-primary", "the same, answering too early", || {
        let setting = primary_backup::Setting {
            hasty: true,
            ..primary_backup::Setting::default()
        };
        check(primary_backup::protocol(setting));
    }),
    ("raft", "elections and logs, one term", || {
        let setting = raft::Setting {
            terms: 1,
            ..raft::Setting::default()
        };
        check(raft::protocol(setting));
    }),
    ("multicast", "with Byzantine processes", || {
        check(echo_multicast::protocol(echo_multicast::Setting::default()));
    }),
];

fn main() {
    let name = std::env::args().nth(1);
    match SHIPPED.iter().find(|(n, _, _)| name.as_deref() == Some(n)) {
        Some((_, _, run)) => run(),
        None => SHIPPED
            .iter()
            .for_each(|(name, what, _)| println!("{name:<18}{what}")),
    }
}
