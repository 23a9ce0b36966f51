//! A linearizable register on several servers: Attiya, Bar-Noy, Dolev, *Sharing memory robustly in
//! message-passing systems* (1995), with as many writers as clients.
//!
//! A server that a client asks first learns the newest value from a majority, then makes sure that
//! a majority has it (or what is written, with a newer stamp) before it answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::linearizability::{Register, RegisterAnswer, RegisterOperation, Tester};
use crate::{Pid, ProcessRef, Protocol};

/// Orders writes.
pub type Stamp = (u64, Pid);

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the protocol's own words
pub enum Message {
    Put(u64, char),
    Get(u64),
    PutOk(u64),
    GetOk(u64, char),
    Query(u64),
    AckQuery(u64, Stamp, char),
    Record(u64, Stamp, char),
    AckRecord(u64),
}

/// What a server is busy with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Asks for the newest value; `Some` if there is one to write.
    Asking(u64, Pid, Option<char>, BTreeMap<Pid, (Stamp, char)>),
    /// Makes it known; `Some` if there is one to answer with.
    Telling(u64, Pid, Option<char>, BTreeSet<Pid>),
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    stamp: Stamp,
    value: char,
    phase: Option<Phase>,
}

/// A client: the request it waits for, and how many it has made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    awaiting: Option<u64>,
    operations: u64,
}

/// The protocol: each client writes once, and then reads.
pub fn protocol(servers: usize, clients: usize) -> Protocol<Message> {
    scripted(servers, &vec![Script::WriteAndRead; clients])
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Writes once.
    Write,
    /// Reads once.
    Read,
    /// Writes once, and then reads.
    WriteAndRead,
}

/// The protocol with a client for each script.
pub fn scripted(servers: usize, scripts: &[Script]) -> Protocol<Message> {
    let mut p = Protocol::new("shared register");
    let servers: Vec<ProcessRef<Server>> = (0..servers)
        .map(|at| {
            let initial = Server {
                stamp: (0, Pid(at as u16)),
                value: '\0',
                phase: None,
            };
            p.process(format!("server {at}"), initial)
        })
        .collect();
    let clients: Vec<ProcessRef<Client>> = (0..scripts.len())
        .map(|at| {
            let initial = Client {
                awaiting: Some((servers.len() + at) as u64),
                operations: 1,
            };
            p.process(format!("client {at}"), initial)
        })
        .collect();
    for server in &servers {
        add_server(&mut p, *server, &servers, &clients);
    }
    for (at, client) in clients.iter().enumerate() {
        let index = servers.len() + at;
        let value = char::from(b'A' + at as u8);
        let first = servers[index % servers.len()];
        let next = servers[(index + 1) % servers.len()];
        let script = scripts[at];
        p.send_initially(
            *client,
            first,
            match script {
                Script::Read => Message::Get(index as u64),
                Script::Write | Script::WriteAndRead => Message::Put(index as u64, value),
            },
        );
        p.on(*client, "PutOk")
            .from(&servers)
            .when(|c, m| matches!(m.message, Message::PutOk(r) if c.awaiting == Some(r)))
            .sends("Get", &[next])
            .then(move |c, _, step| {
                c.operations += 1;
                if script == Script::Write {
                    c.awaiting = None;
                    return;
                }
                let request = c.operations * index as u64;
                c.awaiting = Some(request);
                step.send(next, Message::Get(request));
            });
        p.on(*client, "GetOk")
            .from(&servers)
            .when(|c, m| matches!(m.message, Message::GetOk(r, _) if c.awaiting == Some(r)))
            .sends_nothing()
            .then(|c, _, _| {
                c.awaiting = None;
                c.operations += 1;
            });
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
    p
}

fn add_server(
    p: &mut Protocol<Message>,
    server: ProcessRef<Server>,
    servers: &[ProcessRef<Server>],
    clients: &[ProcessRef<Client>],
) {
    let me = server.pid();
    let peers: Vec<Pid> = servers
        .iter()
        .map(|s| s.pid())
        .filter(|s| *s != me)
        .collect();
    let quorum = servers.len() / 2 + 1;
    let to = peers.clone();
    p.on(server, "Put")
        .or("Get")
        .named("request")
        .only_if(|s| s.phase.is_none())
        .from(clients)
        .sends("Query", &peers)
        .then(move |s, m, step| {
            let (request, written) = match m.message {
                Message::Put(request, value) => (request, Some(value)),
                Message::Get(request) => (request, None),
                _ => return,
            };
            let own = BTreeMap::from([(me, (s.stamp, s.value))]);
            s.phase = Some(Phase::Asking(request, m.from, written, own));
            step.broadcast(&to, Message::Query(request));
        });
    p.on(server, "Query")
        .from(&peers)
        .sends("AckQuery", &peers)
        .only_reads()
        .then(|s, m, step| {
            if let Message::Query(request) = m.message {
                step.send(m.from, Message::AckQuery(request, s.stamp, s.value));
            }
        });
    let to = peers.clone();
    p.on(server, "AckQuery")
        .from(&peers)
        .when(|s, m| {
            let awaited = match &s.phase {
                Some(Phase::Asking(request, ..)) => Some(*request),
                _ => None,
            };
            matches!(m.message, Message::AckQuery(r, ..) if awaited == Some(r))
        })
        .sends("Record", &peers)
        .then(move |s, m, step| {
            let (
                Some(Phase::Asking(request, client, written, answers)),
                Message::AckQuery(_, stamp, value),
            ) = (&mut s.phase, &m.message)
            else {
                return;
            };
            answers.insert(m.from, (*stamp, *value));
            if answers.len() != quorum {
                return;
            }
            let newest = answers
                .values()
                .max()
                .copied()
                .unwrap_or((s.stamp, s.value));
            let (stamp, value, read) = match written.take() {
                Some(value) => ((newest.0.0 + 1, me), value, None),
                None => (newest.0, newest.1, Some(newest.1)),
            };
            let next = Phase::Telling(*request, *client, read, BTreeSet::from([me]));
            step.broadcast(&to, Message::Record(*request, stamp, value));
            if stamp > s.stamp {
                (s.stamp, s.value) = (stamp, value);
            }
            s.phase = Some(next);
        });
    p.on(server, "Record")
        .from(&peers)
        .sends("AckRecord", &peers)
        .then(|s, m, step| {
            if let Message::Record(request, stamp, value) = m.message {
                step.send(m.from, Message::AckRecord(request));
                if stamp > s.stamp {
                    (s.stamp, s.value) = (stamp, value);
                }
            }
        });
    p.on(server, "AckRecord")
        .from(&peers)
        .when(|s, m| match (&s.phase, &m.message) {
            (Some(Phase::Telling(request, _, _, acks)), Message::AckRecord(r)) => {
                request == r && !acks.contains(&m.from)
            }
            _ => false,
        })
        .sends("PutOk", clients)
        .sends("GetOk", clients)
        .then(move |s, m, step| {
            let Some(Phase::Telling(request, client, read, acks)) = &mut s.phase else {
                return;
            };
            acks.insert(m.from);
            if acks.len() == quorum {
                let answer = match read {
                    Some(value) => Message::GetOk(*request, *value),
                    None => Message::PutOk(*request),
                };
                step.send(*client, answer);
                s.phase = None;
            }
        });
}
