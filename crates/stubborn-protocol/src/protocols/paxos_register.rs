//! Single-decree Paxos as a register that can be written once: servers that clients write to and
//! read from, with a record of operations that must be linearizable.
//!
//! Lamport, *The part-time parliament* (1998), every server being proposer, acceptor and learner.
//! A server that a client writes to starts a ballot; a server that knows the decision answers
//! reads. Client `i` writes once to server `i`, waits, and reads from the next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::linearizability::{Register, RegisterAnswer, RegisterOperation, Tester};
use crate::{Pid, ProcessRef, Protocol};

/// A round, and who began it.
pub type Ballot = (u32, Pid);
/// Number of a request, who asks, and what for.
pub type Proposal = (u64, Pid, char);

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the protocol's own words
pub enum Message {
    Put(u64, char),
    Get(u64),
    PutOk(u64),
    GetOk(u64, char),
    Prepare(Ballot),
    Prepared(Ballot, Option<(Ballot, Proposal)>),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    ballot: Ballot,
    proposal: Option<Proposal>,
    prepares: BTreeMap<Pid, Option<(Ballot, Proposal)>>,
    accepts: BTreeSet<Pid>,
    accepted: Option<(Ballot, Proposal)>,
    is_decided: bool,
}

/// A client: the request it waits for, and how many it has made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    awaiting: Option<u64>,
    operations: u64,
}

/// The processes of [`protocol`].
#[derive(Clone, Debug)]
pub struct Cast {
    /// The servers.
    pub servers: Vec<ProcessRef<Server>>,
    /// The clients.
    pub clients: Vec<ProcessRef<Client>>,
}

fn majority(count: usize) -> usize {
    count / 2 + 1
}

/// Paxos with so many servers and clients.
pub fn protocol(servers: usize, clients: usize) -> (Protocol<Message>, Cast) {
    let mut p = Protocol::new("Paxos");
    let servers: Vec<_> = (0..servers)
        .map(|at| {
            p.process(
                format!("server {at}"),
                Server {
                    ballot: (0, Pid(0)),
                    proposal: None,
                    prepares: BTreeMap::new(),
                    accepts: BTreeSet::new(),
                    accepted: None,
                    is_decided: false,
                },
            )
        })
        .collect();
    let waiting = |request| Client {
        awaiting: Some(request),
        operations: 1,
    };
    let clients: Vec<_> = (0..clients)
        .map(|at| p.process(format!("client {at}"), waiting((servers.len() + at) as u64)))
        .collect();
    let cast = Cast { servers, clients };
    for server in &cast.servers {
        add_server(&mut p, *server, &cast);
    }
    for (at, client) in cast.clients.iter().enumerate() {
        add_client(&mut p, *client, at, &cast);
    }
    p.record(Tester::new(Register('\0')))
        .on_send(&["Put", "Get"], |history, m| match m.message {
            Message::Put(_, value) => history.begin(m.from, RegisterOperation::Write(value)),
            _ => history.begin(m.from, RegisterOperation::Read),
        })
        .on_delivery(&["PutOk", "GetOk"], |history, m| match m.message {
            Message::GetOk(_, value) => history.end(m.to, RegisterAnswer::Value(value)),
            _ => history.end(m.to, RegisterAnswer::Written),
        })
        .drawn(Tester::operations)
        .invariant("linearizable", Tester::is_linearizable);
    (p, cast)
}

fn add_server(p: &mut Protocol<Message>, server: ProcessRef<Server>, cast: &Cast) {
    let me = server.pid();
    let peers: Vec<Pid> = cast
        .servers
        .iter()
        .map(|s| s.pid())
        .filter(|s| *s != me)
        .collect();
    let quorum = majority(cast.servers.len());
    let clients = &cast.clients;

    p.on(server, "Put")
        .only_if(|s| !s.is_decided && s.proposal.is_none())
        .from(clients)
        .sends("Prepare", &peers)
        .then({
            let peers = peers.clone();
            move |s, m, step| {
                if let Message::Put(request, value) = m.message {
                    s.proposal = Some((request, m.from, value));
                    s.accepts.clear();
                    s.ballot = (s.ballot.0 + 1, me);
                    s.prepares = BTreeMap::from([(me, s.accepted)]);
                    step.broadcast(&peers, Message::Prepare(s.ballot));
                }
            }
        });
    p.on(server, "Get")
        .only_if(|s| s.is_decided)
        .from(clients)
        .sends("GetOk", clients)
        .only_reads()
        .then(|s, m, step| {
            if let (Message::Get(request), Some((_, (_, _, value)))) = (&m.message, s.accepted) {
                step.send(m.from, Message::GetOk(*request, value));
            }
        });
    p.on(server, "Prepare")
        .only_if(|s| !s.is_decided)
        .from(&peers)
        .when(|s, m| matches!(m.message, Message::Prepare(ballot) if s.ballot < ballot))
        .sends("Prepared", &peers)
        .then(|s, m, step| {
            if let Message::Prepare(ballot) = m.message {
                s.ballot = ballot;
                step.send(m.from, Message::Prepared(ballot, s.accepted));
            }
        });
    p.on(server, "Prepared")
        .only_if(|s| !s.is_decided)
        .from(&peers)
        .when(|s, m| matches!(m.message, Message::Prepared(ballot, _) if s.ballot == ballot))
        .sends("Accept", &peers)
        .then({
            let peers = peers.clone();
            move |s, m, step| {
                let Message::Prepared(ballot, last) = m.message else {
                    return;
                };
                s.prepares.insert(m.from, last);
                if s.prepares.len() != quorum {
                    return;
                }
                // What was accepted in the highest ballot may have been decided.
                let chosen = s.prepares.values().max().copied().flatten();
                if let Some(proposal) = chosen.map(|(_, proposal)| proposal).or(s.proposal) {
                    s.proposal = Some(proposal);
                    s.accepted = Some((ballot, proposal));
                    s.accepts.insert(me);
                    step.broadcast(&peers, Message::Accept(ballot, proposal));
                }
            }
        });
    p.on(server, "Accept")
        .only_if(|s| !s.is_decided)
        .from(&peers)
        .when(|s, m| matches!(m.message, Message::Accept(ballot, _) if s.ballot <= ballot))
        .sends("Accepted", &peers)
        .then(|s, m, step| {
            if let Message::Accept(ballot, proposal) = m.message {
                s.ballot = ballot;
                s.accepted = Some((ballot, proposal));
                step.send(m.from, Message::Accepted(ballot));
            }
        });
    p.on(server, "Accepted")
        .only_if(|s| !s.is_decided)
        .from(&peers)
        .when(|s, m| matches!(m.message, Message::Accepted(ballot) if s.ballot == ballot))
        .sends("Decided", &peers)
        .sends("PutOk", clients)
        .then(move |s, m, step| {
            let Message::Accepted(ballot) = m.message else {
                return;
            };
            s.accepts.insert(m.from);
            if let (true, Some(proposal)) = (s.accepts.len() == quorum, s.proposal) {
                s.is_decided = true;
                step.broadcast(&peers, Message::Decided(ballot, proposal));
                step.send(proposal.1, Message::PutOk(proposal.0));
            }
        });
    p.on(server, "Decided")
        .only_if(|s| !s.is_decided)
        .from(&cast.servers)
        .sends_nothing()
        .then(|s, m, _| {
            if let Message::Decided(ballot, proposal) = m.message {
                s.ballot = ballot;
                s.accepted = Some((ballot, proposal));
                s.is_decided = true;
            }
        });
}

fn add_client(p: &mut Protocol<Message>, client: ProcessRef<Client>, at: usize, cast: &Cast) {
    let servers = &cast.servers;
    let index = servers.len() + at;
    let value = char::from(b'A' + at as u8);
    let first = servers[index % servers.len()];
    p.send_initially(client, first, Message::Put(index as u64, value));
    let next = servers[(index + 1) % servers.len()];
    p.on(client, "PutOk")
        .when(|c, m| matches!(m.message, Message::PutOk(request) if c.awaiting == Some(request)))
        .from(servers)
        .sends("Get", &[next])
        .then(move |c, _, step| {
            let request = (c.operations + 1) * index as u64;
            c.awaiting = Some(request);
            c.operations += 1;
            step.send(next, Message::Get(request));
        });
    p.on(client, "GetOk")
        .when(|c, m| matches!(m.message, Message::GetOk(request, _) if c.awaiting == Some(request)))
        .from(servers)
        .sends_nothing()
        .then(|c, _, _| {
            c.awaiting = None;
            c.operations += 1;
        });
}
