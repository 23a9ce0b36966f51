//! Two-phase commit, after Gray and Lamport, *Consensus on transaction commit* (2006).
//!
//! A transaction manager asks nobody anything: resource managers say that they are prepared when
//! they are, and may abort on their own before. When all are prepared, the transaction manager
//! may commit; it may abort at any time before. Messages stay in the network for ever.

use std::collections::BTreeSet;

use crate::{Network, Pid, ProcessRef, Protocol};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// The sender is prepared.
    Prepared,
    /// Commit!
    Commit,
    /// Abort!
    Abort,
}

/// A resource manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Has not decided.
    Working,
    /// Will do as it is told.
    Prepared,
    /// Committed.
    Committed,
    /// Aborted.
    Aborted,
}

/// The transaction manager.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinator {
    /// What it has decided.
    pub decision: Decision,
    /// Who is prepared.
    pub prepared: BTreeSet<Pid>,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// None yet.
    Open,
    /// All commit.
    Commit,
    /// All abort.
    Abort,
}

crate::mentions_no_process!(Resource, Decision);
crate::renames! { struct Coordinator { decision, prepared } }

/// The processes of [`protocol`].
#[derive(Clone, Debug)]
pub struct Cast {
    /// The transaction manager.
    pub coordinator: ProcessRef<Coordinator>,
    /// The resource managers.
    pub resources: Vec<ProcessRef<Resource>>,
}

/// Two-phase commit with so many resource managers.
pub fn protocol(resources: usize) -> (Protocol<Message>, Cast) {
    let mut p = Protocol::new("two-phase commit");
    p.network(Network::Duplicating);
    let coordinator = p.process(
        "coordinator",
        Coordinator {
            decision: Decision::Open,
            prepared: BTreeSet::new(),
        },
    );
    let resources = p.processes("resource", resources, Resource::Working);
    let everybody = resources.clone();
    let count = resources.len();

    p.on(coordinator, "Prepared")
        .only_if(|c| c.decision == Decision::Open)
        .from(&resources)
        .sends_nothing()
        .then(|c, m, _| {
            c.prepared.insert(m.from);
        });
    p.action(coordinator, "commits")
        .when(move |c| c.decision == Decision::Open && c.prepared.len() == count)
        .sends("Commit", &resources)
        .then({
            let everybody = everybody.clone();
            move |c, step| {
                c.decision = Decision::Commit;
                step.broadcast(&everybody, Message::Commit);
            }
        });
    p.action(coordinator, "aborts")
        .when(|c| c.decision == Decision::Open)
        .sends("Abort", &resources)
        .then(move |c, step| {
            c.decision = Decision::Abort;
            step.broadcast(&everybody, Message::Abort);
        });
    for resource in &resources {
        p.action(*resource, "prepares")
            .when(|r| *r == Resource::Working)
            .sends("Prepared", &[coordinator])
            .then(move |r, step| {
                *r = Resource::Prepared;
                step.send(coordinator, Message::Prepared);
            });
        p.action(*resource, "aborts")
            .when(|r| *r == Resource::Working)
            .sends_nothing()
            .then(|r, _| *r = Resource::Aborted);
        p.on(*resource, "Commit")
            .from(&[coordinator])
            .sends_nothing()
            .then(|r, _, _| *r = Resource::Committed);
        p.on(*resource, "Abort")
            .from(&[coordinator])
            .sends_nothing()
            .then(|r, _, _| *r = Resource::Aborted);
    }
    p.invariant_over(
        "consistent",
        &resources,
        |r| *r,
        |all| !(all.contains(&Resource::Committed) && all.contains(&Resource::Aborted)),
    );
    p.interchangeable(&resources);
    p.mentions_processes(coordinator);
    let cast = Cast {
        coordinator,
        resources,
    };
    (p, cast)
}
