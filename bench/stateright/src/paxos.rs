//! Single-decree Paxos for stateright, with the states of
//! `stubborn_protocol::protocols::paxos_register`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use stateright::actor::register::{RegisterActor, RegisterMsg};
use stateright::actor::{Actor, ActorModel, Id, Network, Out, majority, model_peers};
use stateright::semantics::LinearizabilityTester;
use stateright::semantics::register::Register;
use stateright::{Checker, Expectation, Model};

type Ballot = (u32, Id);
type Proposal = (u64, Id, char);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Inner {
    Prepare(Ballot),
    Prepared(Ballot, Option<(Ballot, Proposal)>),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    ballot: Ballot,
    proposal: Option<Proposal>,
    prepares: BTreeMap<Id, Option<(Ballot, Proposal)>>,
    accepts: BTreeSet<Id>,
    accepted: Option<(Ballot, Proposal)>,
    is_decided: bool,
}

#[derive(Clone)]
struct Server(Vec<Id>);

impl Actor for Server {
    type Msg = RegisterMsg<u64, char, Inner>;
    type State = State;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> State {
        State {
            ballot: (0, Id::from(0)),
            proposal: None,
            prepares: BTreeMap::new(),
            accepts: BTreeSet::new(),
            accepted: None,
            is_decided: false,
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
        let tell_all = |out: &mut Out<Self>, inner: Inner| out.broadcast(&self.0, &Internal(inner));
        if state.is_decided {
            if let (Get(request), Some((_, (_, _, value)))) = (&message, state.accepted) {
                out.send(from, GetOk(*request, value));
            }
            return;
        }
        match message {
            Put(request, value) if state.proposal.is_none() => {
                let s = state.to_mut();
                s.proposal = Some((request, from, value));
                s.accepts.clear();
                s.ballot = (s.ballot.0 + 1, me);
                s.prepares = BTreeMap::from([(me, s.accepted)]);
                tell_all(out, Inner::Prepare(s.ballot));
            }
            Internal(Inner::Prepare(ballot)) if state.ballot < ballot => {
                state.to_mut().ballot = ballot;
                out.send(from, Internal(Inner::Prepared(ballot, state.accepted)));
            }
            Internal(Inner::Prepared(ballot, last)) if state.ballot == ballot => {
                let s = state.to_mut();
                s.prepares.insert(from, last);
                if s.prepares.len() == quorum {
                    let chosen = s.prepares.values().max().copied().flatten();
                    if let Some(proposal) = chosen.map(|c| c.1).or(s.proposal) {
                        s.proposal = Some(proposal);
                        s.accepted = Some((ballot, proposal));
                        s.accepts.insert(me);
                        tell_all(out, Inner::Accept(ballot, proposal));
                    }
                }
            }
            Internal(Inner::Accept(ballot, proposal)) if state.ballot <= ballot => {
                let s = state.to_mut();
                s.ballot = ballot;
                s.accepted = Some((ballot, proposal));
                out.send(from, Internal(Inner::Accepted(ballot)));
            }
            Internal(Inner::Accepted(ballot)) if state.ballot == ballot => {
                let s = state.to_mut();
                s.accepts.insert(from);
                if let (true, Some(proposal)) = (s.accepts.len() == quorum, s.proposal) {
                    s.is_decided = true;
                    tell_all(out, Inner::Decided(ballot, proposal));
                    out.send(proposal.1, PutOk(proposal.0));
                }
            }
            Internal(Inner::Decided(ballot, proposal)) => {
                let s = state.to_mut();
                s.ballot = ballot;
                s.accepted = Some((ballot, proposal));
                s.is_decided = true;
            }
            _ => {}
        }
    }
}

pub fn states(clients: usize, breadth_first: bool) -> u64 {
    let servers = 3;
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
