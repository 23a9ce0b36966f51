//! The register of Attiya, Bar-Noy and Dolev for stateright, with the states of
//! `stubborn_protocol::protocols::shared_register`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use stateright::actor::register::{RegisterActor, RegisterMsg};
use stateright::actor::{Actor, ActorModel, Id, Network, Out, majority, model_peers};
use stateright::semantics::LinearizabilityTester;
use stateright::semantics::register::Register;
use stateright::{Checker, Expectation, Model};

type Stamp = (u64, Id);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Inner {
    Query(u64),
    AckQuery(u64, Stamp, char),
    Record(u64, Stamp, char),
    AckRecord(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Asking(u64, Id, Option<char>, BTreeMap<Id, (Stamp, char)>),
    Telling(u64, Id, Option<char>, BTreeSet<Id>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    stamp: Stamp,
    value: char,
    phase: Option<Phase>,
}

#[derive(Clone)]
struct Server(Vec<Id>);

impl Actor for Server {
    type Msg = RegisterMsg<u64, char, Inner>;
    type State = State;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, me: Id, _: &Option<()>, _: &mut Out<Self>) -> State {
        State {
            stamp: (0, me),
            value: '\0',
            phase: None,
        }
    }

    fn on_msg(
        &self,
        me: Id,
        state: &mut Cow<'_, State>,
        from: Id,
        message: Self::Msg,
        out: &mut Out<Self>,
    ) {
        use RegisterMsg::{Get, GetOk, Internal, Put, PutOk};
        let quorum = majority(self.0.len() + 1);
        match message {
            Put(request, _) | Get(request) if state.phase.is_none() => {
                let written = match message {
                    Put(_, value) => Some(value),
                    _ => None,
                };
                let s = state.to_mut();
                let own = BTreeMap::from([(me, (s.stamp, s.value))]);
                s.phase = Some(Phase::Asking(request, from, written, own));
                out.broadcast(&self.0, &Internal(Inner::Query(request)));
            }
            Internal(Inner::Query(request)) => {
                let answer = Inner::AckQuery(request, state.stamp, state.value);
                out.send(from, Internal(answer));
            }
            Internal(Inner::AckQuery(request, stamp, value)) => {
                let awaited = matches!(&state.phase, Some(Phase::Asking(r, ..)) if *r == request);
                if !awaited {
                    return;
                }
                let s = state.to_mut();
                let Some(Phase::Asking(_, client, written, answers)) = &mut s.phase else {
                    return;
                };
                answers.insert(from, (stamp, value));
                if answers.len() != quorum {
                    return;
                }
                let newest = *answers.values().max().expect("an answer");
                let (stamp, value, read) = match written.take() {
                    Some(value) => ((newest.0.0 + 1, me), value, None),
                    None => (newest.0, newest.1, Some(newest.1)),
                };
                let next = Phase::Telling(request, *client, read, BTreeSet::from([me]));
                out.broadcast(&self.0, &Internal(Inner::Record(request, stamp, value)));
                if stamp > s.stamp {
                    (s.stamp, s.value) = (stamp, value);
                }
                s.phase = Some(next);
            }
            Internal(Inner::Record(request, stamp, value)) => {
                out.send(from, Internal(Inner::AckRecord(request)));
                if stamp > state.stamp {
                    let s = state.to_mut();
                    (s.stamp, s.value) = (stamp, value);
                }
            }
            Internal(Inner::AckRecord(request)) => {
                let counts = match &state.phase {
                    Some(Phase::Telling(r, _, _, acks)) => *r == request && !acks.contains(&from),
                    _ => false,
                };
                if !counts {
                    return;
                }
                let s = state.to_mut();
                let Some(Phase::Telling(_, client, read, acks)) = &mut s.phase else {
                    return;
                };
                acks.insert(from);
                if acks.len() == quorum {
                    let answer = match read {
                        Some(value) => GetOk(request, *value),
                        None => PutOk(request),
                    };
                    out.send(*client, answer);
                    s.phase = None;
                }
            }
            _ => {}
        }
    }
}

pub fn states(servers: usize, clients: usize, breadth_first: bool) -> u64 {
    let actors = (0..servers).map(|at| RegisterActor::Server(Server(model_peers(at, servers))));
    let model = ActorModel::new((), LinearizabilityTester::new(Register('\0')))
        .actors(actors)
        .actors((0..clients).map(|_| RegisterActor::Client {
            put_count: 1,
            server_count: servers,
        }))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "linearizable", |_, state| {
            state.history.serialized_history().is_some()
        })
        .record_msg_in(RegisterMsg::record_returns)
        .record_msg_out(RegisterMsg::record_invocations);
    let checker = model.checker();
    if breadth_first {
        checker.spawn_bfs().join().unique_state_count() as u64
    } else {
        checker.spawn_dfs().join().unique_state_count() as u64
    }
}
