//! Paxos with quorum transitions: proposers, acceptors and learners as processes of their own.
//!
//! Lamport, *The part-time parliament* (1998), as in Bokor, Kinder, Serafini, Suri, *Supporting
//! domain-specific state space reductions through local partial-order reduction* (2011): each
//! proposer makes one proposal, in a ballot of its own, and a quorum of messages is consumed at
//! once. Messages that come too late are consumed, and forgotten. Consensus: no two different
//! values are learnt.
//!
//! As an alternative, promises and acceptances are consumed one by one, and counted: more states,
//! and far more that a reduction can leave out, because the order of counting does not matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Envelope, Pid, ProcessRef, Protocol};

/// A ballot: the number of its proposer, from 1 on.
pub type Ballot = u8;
/// What is proposed.
pub type Proposed = u8;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Will you ignore older ballots?
    Prepare(Ballot),
    /// I will, and this is what I have accepted last.
    Promise(Ballot, Option<(Ballot, Proposed)>),
    /// Accept this!
    Accept(Ballot, Proposed),
    /// I have accepted it.
    Accepted(Ballot, Proposed),
}

/// A proposer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Proposer {
    /// Has not started.
    Idle,
    /// Waits for promises; these have come, if they come one by one.
    Preparing(BTreeMap<Pid, Option<(Ballot, Proposed)>>),
    /// Has asked to accept.
    Proposed,
}

/// An acceptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acceptor {
    promised: Ballot,
    accepted: Option<(Ballot, Proposed)>,
}

/// A learner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Learner {
    /// What it has learnt, in which ballots.
    learnt: BTreeSet<(Ballot, Proposed)>,
    /// Who has accepted what, if it is told one by one.
    told: BTreeSet<(Pid, Ballot, Proposed)>,
}

/// What is wrong with the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Learners do not look whether what they are told is the same.
    CarelessLearner,
    /// Proposers do not care for what was accepted before.
    StubbornProposer,
}

/// How many processes, and what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Proposers.
    pub proposers: usize,
    /// Acceptors.
    pub acceptors: usize,
    /// Learners.
    pub learners: usize,
    /// What is wrong.
    pub fault: Fault,
    /// Quorums are consumed at once.
    pub quorums: bool,
    /// One transition for each set of senders of a quorum.
    pub split_quorums: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            proposers: 2,
            acceptors: 3,
            learners: 1,
            fault: Fault::None,
            quorums: true,
            split_quorums: false,
        }
    }
}

/// What an acceptor had accepted when it promised.
fn promise(envelope: &Envelope<Message>) -> Option<Option<(Ballot, Proposed)>> {
    match envelope.message {
        Message::Promise(_, last) => Some(last),
        _ => None,
    }
}

/// The protocol.
pub fn protocol(setting: Setting) -> Protocol<Message> {
    let mut p = Protocol::new("Paxos");
    if setting.split_quorums {
        p.split_quorums();
    }
    let proposers = p.processes("proposer", setting.proposers, Proposer::Idle);
    let nothing = Acceptor {
        promised: 0,
        accepted: None,
    };
    let acceptors = p.processes("acceptor", setting.acceptors, nothing);
    let learners = p.processes("learner", setting.learners, Learner::default());

    for (at, proposer) in proposers.iter().enumerate() {
        add_proposer(&mut p, *proposer, at as u8 + 1, &acceptors, setting);
    }
    for acceptor in &acceptors {
        p.on(*acceptor, "Prepare")
            .from(&proposers)
            .sends("Promise", &proposers)
            .then(|a, m, step| {
                if let Message::Prepare(ballot) = m.message
                    && ballot > a.promised
                {
                    a.promised = ballot;
                    step.send(m.from, Message::Promise(ballot, a.accepted));
                }
            });
        let to = learners.clone();
        p.on(*acceptor, "Accept")
            .from(&proposers)
            .sends("Accepted", &learners)
            .then(move |a, m, step| {
                if let Message::Accept(ballot, value) = m.message
                    && ballot >= a.promised
                {
                    a.promised = ballot;
                    a.accepted = Some((ballot, value));
                    step.broadcast(&to, Message::Accepted(ballot, value));
                }
            });
    }
    for learner in &learners {
        add_learner(&mut p, *learner, &acceptors, setting);
    }
    let values =
        |learner: &Learner| -> BTreeSet<Proposed> { learner.learnt.iter().map(|l| l.1).collect() };
    p.invariant_over("consensus", &learners, values, |all| {
        let together: BTreeSet<&Proposed> = all.iter().flatten().collect();
        together.len() <= 1
    });
    p
}

fn add_learner(
    p: &mut Protocol<Message>,
    learner: ProcessRef<Learner>,
    acceptors: &[ProcessRef<Acceptor>],
    setting: Setting,
) {
    let quorum = acceptors.len() / 2 + 1;
    let careless = setting.fault == Fault::CarelessLearner;
    if !setting.quorums {
        p.on(learner, "Accepted")
            .from(acceptors)
            .sends_nothing()
            .then(move |l, m, _| {
                if let Message::Accepted(ballot, value) = m.message {
                    l.told.insert((m.from, ballot, value));
                    let same = l
                        .told
                        .iter()
                        .filter(|t| careless || (t.1, t.2) == (ballot, value));
                    if same.count() >= quorum {
                        l.learnt.insert((ballot, value));
                    }
                }
            });
        return;
    }
    p.on_quorum(learner, "Accepted", quorum)
        .from(acceptors)
        .when(move |_, all| careless || all.windows(2).all(|two| two[0].message == two[1].message))
        .sends_nothing()
        .then(|l, all, _| {
            if let Some(Message::Accepted(ballot, value)) = all.first().map(|m| &m.message) {
                l.learnt.insert((*ballot, *value));
            }
        });
    p.on(learner, "Accepted")
        .named("late Accepted")
        .from(acceptors)
        .when(|l, m| {
            let is_it = |l: &(Ballot, Proposed)| m.message == Message::Accepted(l.0, l.1);
            l.learnt.iter().any(is_it)
        })
        .sends_nothing()
        .only_reads()
        .then(|_, _, _| {});
}

fn add_proposer(
    p: &mut Protocol<Message>,
    proposer: ProcessRef<Proposer>,
    ballot: Ballot,
    acceptors: &[ProcessRef<Acceptor>],
    setting: Setting,
) {
    let quorum = acceptors.len() / 2 + 1;
    let to = acceptors.to_vec();
    p.action(proposer, "prepares")
        .when(|s| *s == Proposer::Idle)
        .sends("Prepare", acceptors)
        .then(move |s, step| {
            *s = Proposer::Preparing(BTreeMap::new());
            step.broadcast(&to, Message::Prepare(ballot));
        });
    let to = acceptors.to_vec();
    let proposal = move |last: Option<(Ballot, Proposed)>| match last {
        // Each proposer would like its own number best.
        Some((_, value)) if setting.fault != Fault::StubbornProposer => {
            Message::Accept(ballot, value)
        }
        _ => Message::Accept(ballot, ballot),
    };
    let is_preparing = |s: &Proposer| matches!(s, Proposer::Preparing(_));
    if setting.quorums {
        p.on_quorum(proposer, "Promise", quorum)
            .only_if(is_preparing)
            .from(acceptors)
            .sends("Accept", acceptors)
            .then(move |s, promises, step| {
                *s = Proposer::Proposed;
                let last = promises.iter().filter_map(promise).max().flatten();
                step.broadcast(&to, proposal(last));
            });
    } else {
        // Late ones change nothing.
        p.on(proposer, "Promise")
            .only_if(|s| *s != Proposer::Idle)
            .from(acceptors)
            .sends("Accept", acceptors)
            .then(move |s, m, step| {
                let (Proposer::Preparing(promises), Some(last)) = (&mut *s, promise(m)) else {
                    return;
                };
                promises.insert(m.from, last);
                if promises.len() == quorum {
                    let last = promises.values().max().copied().flatten();
                    *s = Proposer::Proposed;
                    step.broadcast(&to, proposal(last));
                }
            });
        return;
    }
    p.on(proposer, "Promise")
        .named("late Promise")
        .only_if(|s| *s == Proposer::Proposed)
        .from(acceptors)
        .sends_nothing()
        .only_reads()
        .then(|_, _, _| {});
}
