//! Raft: leader election and log replication, after Ongaro and Ousterhout, *In search of an
//! understandable consensus algorithm* (2014), without snapshots and changes of membership.
//!
//! Any server may run out of patience at any time, so timers need no clock; terms and the length
//! of logs are bounded. Two properties: at most one leader a term, and logs agree as far as they
//! are committed.

use std::collections::BTreeSet;

use crate::{Pid, ProcessRef, Protocol};

/// An election period.
pub type Term = u8;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Vote for me: term, and term and length of my log.
    RequestVote(Term, (Term, usize)),
    /// You have my vote in this term.
    Vote(Term),
    /// Term, the log of the leader, and how much of it is committed.
    Append(Term, Vec<Term>, usize),
    /// In this term, my log equals yours up to this length.
    Appended(Term, usize),
}

/// What a server takes itself for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Follows.
    Follower,
    /// Has these votes.
    Candidate(BTreeSet<Pid>),
    /// Leads; these have all of its log.
    Leader(BTreeSet<Pid>),
}

/// A server. An entry of the log is the term in which it was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    term: Term,
    voted: bool,
    role: Role,
    log: Vec<Term>,
    committed: usize,
}

/// How far it may go, and what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Servers.
    pub servers: usize,
    /// Terms.
    pub terms: Term,
    /// Entries of a log.
    pub entries: usize,
    /// A server votes as often as it is asked.
    pub votes_twice: bool,
    /// A server votes for candidates whose log is older than its own.
    pub votes_blindly: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            servers: 3,
            terms: 2,
            entries: 1,
            votes_twice: false,
            votes_blindly: false,
        }
    }
}

fn last(log: &[Term]) -> (Term, usize) {
    (log.last().copied().unwrap_or(0), log.len())
}

impl Server {
    /// A newer term makes a follower of everybody.
    fn see(&mut self, term: Term) {
        if term > self.term {
            self.term = term;
            self.voted = false;
            self.role = Role::Follower;
        }
    }
}

/// The protocol.
pub fn protocol(setting: Setting) -> Protocol<Message> {
    let mut p = Protocol::new("Raft");
    let follower = Server {
        term: 0,
        voted: false,
        role: Role::Follower,
        log: Vec::new(),
        committed: 0,
    };
    let servers = p.processes("server", setting.servers, follower);
    for server in &servers {
        add_election(&mut p, *server, &servers, setting);
        add_replication(&mut p, *server, &servers, setting);
    }
    p.invariant_over(
        "one leader a term",
        &servers,
        |s| matches!(s.role, Role::Leader(_)).then_some(s.term),
        |leaders| {
            let terms: Vec<_> = leaders.iter().flatten().collect();
            let different: BTreeSet<_> = terms.iter().collect();
            terms.len() == different.len()
        },
    );
    p.invariant_over(
        "committed logs agree",
        &servers,
        |s| s.log[..s.committed].to_vec(),
        |logs| {
            let longest = logs.iter().max_by_key(|log| log.len());
            longest.is_none_or(|longest| logs.iter().all(|log| longest.starts_with(log)))
        },
    );
    p
}

fn others(me: Pid, servers: &[ProcessRef<Server>]) -> Vec<Pid> {
    servers
        .iter()
        .map(|s| s.pid())
        .filter(|s| *s != me)
        .collect()
}

fn add_election(
    p: &mut Protocol<Message>,
    server: ProcessRef<Server>,
    servers: &[ProcessRef<Server>],
    setting: Setting,
) {
    let me = server.pid();
    let peers = others(me, servers);
    let quorum = servers.len() / 2 + 1;
    let to = peers.clone();
    p.action(server, "runs out of patience")
        .when(move |s| s.term < setting.terms && !matches!(s.role, Role::Leader(_)))
        .sends("RequestVote", &peers)
        .then(move |s, step| {
            s.term += 1;
            s.voted = true;
            s.role = Role::Candidate(BTreeSet::from([me]));
            step.broadcast(&to, Message::RequestVote(s.term, last(&s.log)));
        });
    p.on(server, "RequestVote")
        .from(&peers)
        .sends("Vote", &peers)
        .then(move |s, m, step| {
            if let Message::RequestVote(term, log) = m.message {
                s.see(term);
                let may = !s.voted || setting.votes_twice;
                let is_newer = setting.votes_blindly || log >= last(&s.log);
                if term == s.term && may && is_newer {
                    s.voted = true;
                    step.send(m.from, Message::Vote(term));
                }
            }
        });
    p.on(server, "Vote")
        .from(&peers)
        .sends_nothing()
        .then(move |s, m, _| {
            if let (Message::Vote(term), Role::Candidate(votes)) = (&m.message, &mut s.role)
                && *term == s.term
            {
                votes.insert(m.from);
                if votes.len() >= quorum {
                    s.role = Role::Leader(BTreeSet::from([me]));
                }
            }
        });
}

fn add_replication(
    p: &mut Protocol<Message>,
    server: ProcessRef<Server>,
    servers: &[ProcessRef<Server>],
    setting: Setting,
) {
    let me = server.pid();
    let peers = others(me, servers);
    let quorum = servers.len() / 2 + 1;
    let to = peers.clone();
    p.action(server, "takes a request")
        .when(move |s| matches!(s.role, Role::Leader(_)) && s.log.len() < setting.entries)
        .sends("Append", &peers)
        .then(move |s, step| {
            s.log.push(s.term);
            s.role = Role::Leader(BTreeSet::from([me]));
            step.broadcast(&to, Message::Append(s.term, s.log.clone(), s.committed));
        });
    p.on(server, "Append")
        .from(&peers)
        .sends("Appended", &peers)
        .then(|s, m, step| {
            if let Message::Append(term, log, committed) = &m.message {
                s.see(*term);
                if *term == s.term {
                    s.role = Role::Follower;
                    // Messages may overtake each other: an older one is a part of the newer.
                    if !s.log.starts_with(log) {
                        s.log.clone_from(log);
                    }
                    s.committed = s.committed.max(*committed);
                    step.send(m.from, Message::Appended(*term, log.len()));
                }
            }
        });
    p.on(server, "Appended")
        .from(&peers)
        .sends("Append", &peers)
        .then(move |s, m, step| {
            let length = s.log.len();
            if let (Message::Appended(term, to), Role::Leader(have)) = (&m.message, &mut s.role)
                && (*term, *to) == (s.term, length)
            {
                let is_new = have.insert(m.from);
                // Only entries of its own term make a leader sure.
                if is_new && have.len() == quorum && s.log.last() == Some(&s.term) {
                    s.committed = length;
                    step.broadcast(&peers, Message::Append(s.term, s.log.clone(), length));
                }
            }
        });
}
