//! Echo multicast with Byzantine processes, after Reiter, *Secure agreement protocols: reliable and
//! atomic group multicast in Rampart* (1994).
//!
//! An initiator sends a message to all receivers; each echoes the first one it gets; with echoes
//! of a quorum for the same message, which it cannot forge, the initiator makes receivers
//! deliver it. A Byzantine initiator sends different messages to different receivers, a
//! Byzantine receiver echoes everything. Agreement: no two honest receivers deliver different
//! messages of one initiator.

use std::collections::BTreeMap;

use crate::{Pid, ProcessRef, Protocol};

/// What is sent: the text is one of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// I would like to send this.
    Init(u8),
    /// I have seen it.
    Echo(u8),
    /// So many have seen it: deliver it.
    Commit(u8),
}

/// An honest receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Receiver {
    echoed: BTreeMap<Pid, u8>,
    delivered: BTreeMap<Pid, u8>,
}

/// An initiator, honest or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Initiator {
    started: bool,
    /// Bit `m`: there was a quorum for `m`.
    committed: u8,
}

/// A Byzantine receiver: whether it has echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Liar(bool);

/// What is asked of receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specification {
    /// Agreement.
    #[default]
    Agreement,
    /// Nothing that a Byzantine initiator sends is delivered. Wrong: it may behave.
    Wrong,
}

/// How many processes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Honest receivers.
    pub receivers: usize,
    /// Byzantine receivers.
    pub liars: usize,
    /// Honest initiators.
    pub honest_initiators: usize,
    /// Byzantine initiators.
    pub byzantine_initiators: usize,
    /// What is asked.
    pub specification: Specification,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            receivers: 3,
            liars: 1,
            honest_initiators: 0,
            byzantine_initiators: 1,
            specification: Specification::Agreement,
        }
    }
}

/// The protocol.
pub fn protocol(setting: Setting) -> Protocol<Message> {
    let mut p = Protocol::new("echo multicast");
    let silent = Initiator {
        started: false,
        committed: 0,
    };
    let honest = p.processes("initiator", setting.honest_initiators, silent);
    let byzantine = p.processes("traitor", setting.byzantine_initiators, silent);
    let receivers = p.processes("receiver", setting.receivers, Receiver::default());
    let liars = p.processes("liar", setting.liars, Liar(false));
    let everybody: Vec<Pid> = receivers
        .iter()
        .map(|r| r.pid())
        .chain(liars.iter().map(|l| l.pid()))
        .collect();
    // With n receivers of which f lie, two sets of so many have an honest one in common.
    let quorum = (everybody.len() + setting.liars) / 2 + 1;

    for initiator in &honest {
        let to = everybody.clone();
        p.action(*initiator, "starts")
            .when(|i| !i.started)
            .sends("Init", &everybody)
            .then(move |i, step| {
                i.started = true;
                step.broadcast(&to, Message::Init(0));
            });
        add_commit(&mut p, *initiator, &everybody, quorum);
    }
    for initiator in &byzantine {
        let to = everybody.clone();
        p.action(*initiator, "starts")
            .when(|i| !i.started)
            .sends("Init", &everybody)
            .then(move |i, step| {
                i.started = true;
                for receiver in &to {
                    let text = step.choose(2) as u8;
                    step.send(*receiver, Message::Init(text));
                }
            });
        add_commit(&mut p, *initiator, &everybody, quorum);
    }
    let initiators: Vec<Pid> = honest.iter().chain(&byzantine).map(|i| i.pid()).collect();
    for receiver in &receivers {
        p.on(*receiver, "Init")
            .from(&initiators)
            .sends("Echo", &initiators)
            .then(|r, m, step| {
                if let (Message::Init(text), false) = (&m.message, r.echoed.contains_key(&m.from)) {
                    r.echoed.insert(m.from, *text);
                    step.send(m.from, Message::Echo(*text));
                }
            });
        p.on(*receiver, "Commit")
            .from(&initiators)
            .sends_nothing()
            .then(|r, m, _| {
                if let Message::Commit(text) = m.message {
                    r.delivered.entry(m.from).or_insert(text);
                }
            });
    }
    for liar in &liars {
        let to = initiators.clone();
        p.action(*liar, "echoes everything")
            .when(|l| !l.0)
            .sends("Echo", &initiators)
            .then(move |l, step| {
                l.0 = true;
                step.broadcast(&to, Message::Echo(0));
                step.broadcast(&to, Message::Echo(1));
            });
    }
    let traitors: Vec<Pid> = byzantine.iter().map(|i| i.pid()).collect();
    match setting.specification {
        Specification::Agreement => {
            p.invariant_over(
                "agreement",
                &receivers,
                |r| r.delivered.clone(),
                |all| {
                    let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
                    let agree = |a: &BTreeMap<Pid, u8>, b: &BTreeMap<Pid, u8>| {
                        a.iter()
                            .all(|(from, text)| b.get(from).is_none_or(|t| t == text))
                    };
                    pairs.into_iter().all(|(a, b)| agree(a, b))
                },
            );
        }
        Specification::Wrong => p.invariant_over(
            "nothing from traitors",
            &receivers,
            move |r| traitors.iter().any(|t| r.delivered.contains_key(t)),
            |all| !all.contains(&true),
        ),
    }
    p
}

/// An initiator lets everybody deliver what a quorum has echoed, once for each text.
fn add_commit(
    p: &mut Protocol<Message>,
    initiator: ProcessRef<Initiator>,
    everybody: &[Pid],
    quorum: usize,
) {
    let to = everybody.to_vec();
    p.on_quorum(initiator, "Echo", quorum)
        .only_if(|i| i.started && i.committed != 3)
        .from(everybody)
        .when(|i, echoes| {
            let same = echoes
                .windows(2)
                .all(|two| two[0].message == two[1].message);
            let text = echoes.first().map(|m| &m.message);
            let is_new = matches!(text, Some(Message::Echo(t)) if i.committed >> t & 1 == 0);
            same && is_new
        })
        .sends("Commit", everybody)
        .then(move |i, echoes, step| {
            if let Some(Message::Echo(text)) = echoes.first().map(|m| &m.message) {
                i.committed |= 1 << text;
                step.broadcast(&to, Message::Commit(*text));
            }
        });
}
