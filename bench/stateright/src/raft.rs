//! Raft for stateright, with the states of `stubborn_protocol::protocols::raft`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use stateright::actor::{Actor, ActorModel, Id, Network, Out, majority, model_peers, model_timeout};
use stateright::{Checker, Expectation, Model};

type Term = u8;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    RequestVote(Term, (Term, usize)),
    Vote(Term),
    Append(Term, Vec<Term>, usize),
    Appended(Term, usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    Candidate(BTreeSet<Id>),
    Leader(BTreeSet<Id>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    term: Term,
    voted: bool,
    role: Role,
    log: Vec<Term>,
    committed: usize,
}

impl State {
    fn see(&mut self, term: Term) {
        if term > self.term {
            self.term = term;
            self.voted = false;
            self.role = Role::Follower;
        }
    }

    fn last(&self) -> (Term, usize) {
        (self.log.last().copied().unwrap_or(0), self.log.len())
    }
}

/// What a server does without a message. Timers are always set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer {
    Patience,
    Request,
}

#[derive(Clone)]
struct Server {
    peers: Vec<Id>,
    terms: Term,
    entries: usize,
}

impl Actor for Server {
    type Msg = Message;
    type State = State;
    type Timer = Timer;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> State {
        out.set_timer(Timer::Patience, model_timeout());
        out.set_timer(Timer::Request, model_timeout());
        State {
            term: 0,
            voted: false,
            role: Role::Follower,
            log: Vec::new(),
            committed: 0,
        }
    }

    fn on_timeout(&self, me: Id, state: &mut Cow<'_, State>, timer: &Timer, out: &mut Out<Self>) {
        out.set_timer(timer.clone(), model_timeout());
        let leads = matches!(state.role, Role::Leader(_));
        match timer {
            Timer::Patience if state.term < self.terms && !leads => {
                let s = state.to_mut();
                s.term += 1;
                s.voted = true;
                s.role = Role::Candidate(BTreeSet::from([me]));
                out.broadcast(&self.peers, &Message::RequestVote(s.term, s.last()));
            }
            Timer::Request if leads && state.log.len() < self.entries => {
                let s = state.to_mut();
                s.log.push(s.term);
                s.role = Role::Leader(BTreeSet::from([me]));
                out.broadcast(&self.peers, &Message::Append(s.term, s.log.clone(), s.committed));
            }
            _ => {}
        }
    }

    fn on_msg(&self, me: Id, state: &mut Cow<'_, State>, from: Id, m: Message, out: &mut Out<Self>) {
        let quorum = majority(self.peers.len() + 1);
        // A message is taken, also if nothing comes of it.
        let s = state.to_mut();
        match m {
            Message::RequestVote(term, log) => {
                s.see(term);
                if term == s.term && !s.voted && log >= s.last() {
                    s.voted = true;
                    out.send(from, Message::Vote(term));
                }
            }
            Message::Vote(term) => {
                if let Role::Candidate(votes) = &mut s.role
                    && term == s.term
                {
                    votes.insert(from);
                    if votes.len() >= quorum {
                        s.role = Role::Leader(BTreeSet::from([me]));
                    }
                }
            }
            Message::Append(term, log, committed) => {
                s.see(term);
                if term == s.term {
                    s.role = Role::Follower;
                    let length = log.len();
                    if !s.log.starts_with(&log) {
                        s.log = log;
                    }
                    s.committed = s.committed.max(committed);
                    out.send(from, Message::Appended(term, length));
                }
            }
            Message::Appended(term, to) => {
                let length = s.log.len();
                if let Role::Leader(have) = &mut s.role
                    && (term, to) == (s.term, length)
                {
                    let is_new = have.insert(from);
                    if is_new && have.len() == quorum && s.log.last() == Some(&s.term) {
                        s.committed = length;
                        out.broadcast(&self.peers, &Message::Append(s.term, s.log.clone(), length));
                    }
                }
            }
        }
    }
}

pub fn states(terms: Term, entries: usize, breadth_first: bool) -> u64 {
    let servers = 3;
    let model = ActorModel::<Server, (), ()>::new((), ())
        .actors((0..servers).map(|at| Server {
            peers: model_peers(at, servers),
            terms,
            entries,
        }))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "one leader a term", |_, state| {
            let states = state.actor_states.iter();
            let leaders = states.filter(|s| matches!(s.role, Role::Leader(_)));
            let terms: Vec<Term> = leaders.map(|s| s.term).collect();
            terms.iter().collect::<BTreeSet<_>>().len() == terms.len()
        })
        .property(Expectation::Always, "committed logs agree", |_, state| {
            let logs = || state.actor_states.iter().map(|s| &s.log[..s.committed]);
            let longest = logs().max_by_key(|log| log.len()).unwrap_or_default();
            logs().all(|log| longest.starts_with(log))
        });
    let checker = model.checker();
    match breadth_first {
        true => checker.spawn_bfs().join().unique_state_count() as u64,
        false => checker.spawn_dfs().join().unique_state_count() as u64,
    }
}
