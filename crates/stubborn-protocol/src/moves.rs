//! What one process can do, from its local state and its inbox alone.

use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::handler::{Handler, Result, Takes, calmly};
use crate::model::{Event, Inner, Role};
use crate::network::{Parcel, without};
use crate::value::{Boxed, Envelope, Local, Pid};

/// What a handler does in a local state with some messages.
pub(crate) struct Deed {
    /// The local state afterwards.
    local: u32,
    /// Posts to the process itself, and to others.
    to_itself: Option<u32>,
    posts: Vec<(Pid, u32)>,
    /// What the record notes.
    events: Option<u32>,
    /// It did what it must not.
    is_misuse: bool,
}

/// By handler, local state and consumed parcels (as a post).
pub(crate) type Deeds = RapidHashMap<(u32, u32, u32), Arc<[Deed]>>;

/// One thing that a process can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// Number of the transition.
    pub(crate) action: u32,
    /// Its local state afterwards.
    pub(crate) local: u32,
    /// Its inbox afterwards, with what it sent to itself.
    pub(crate) inbox: u32,
    /// What it sends to others: receiver and post.
    pub(crate) posts: Vec<(Pid, u32)>,
    /// What the record notes.
    pub(crate) events: Option<u32>,
    /// Whether it uses up a crash.
    pub(crate) crashes: bool,
    /// Whether it gives one back.
    pub(crate) returns: bool,
    /// The handler, if it did what it must not.
    pub(crate) misused: Option<usize>,
    /// Consumed parcels.
    pub(crate) consumed: Vec<Parcel>,
}

impl Inner {
    /// Everything that a process can do, by increasing transition; within one, in an order that
    /// depends on values and not on numbers.
    pub(crate) fn moves(&self, process: Pid, local: u32, inbox: u32) -> Vec<Move> {
        let state = self.locals.get(local);
        let mut moves = Vec::new();
        // Actions of a process lie together.
        let first = self.actions.partition_point(|a| a.process < process);
        let own = self.actions[first..]
            .iter()
            .take_while(|a| a.process == process);
        for (offset, action) in own.enumerate() {
            let number = (first + offset) as u32;
            let start = moves.len();
            match &action.role {
                Role::Handler { handler, senders } => {
                    let declared = &self.protocol.handlers[*handler];
                    if declared.is_open(state) {
                        let at = At {
                            process,
                            local,
                            inbox,
                            action: number,
                            handler: *handler,
                        };
                        self.handler_moves(at, senders.as_deref(), &mut moves);
                    }
                }
                Role::Lose => self.losses(number, local, inbox, &mut moves),
                Role::Crash if !state.crashed => {
                    let after = Local {
                        state: state.state.clone(),
                        timers: 0,
                        crashed: true,
                    };
                    let after = self.locals.intern(after);
                    let mut step = still(number, after, inbox);
                    step.crashes = true;
                    moves.push(step);
                }
                Role::Recover if state.crashed => {
                    if let Some(after) = self.recovered(process, state) {
                        let after = self.locals.intern(after);
                        let mut step = still(number, after, inbox);
                        step.returns = self.protocol.crashes_return;
                        moves.push(step);
                    }
                }
                Role::Crash | Role::Recover => {}
            }
            let order = |m: &Move| -> Vec<(Pid, u64)> {
                let consumed = m.consumed.iter();
                consumed
                    .map(|p| (p.from, self.messages.get(p.message).order))
                    .collect()
            };
            // Results of one handler with the same messages keep the order of choices.
            if moves.len() > start + 1 {
                moves[start..].sort_by_cached_key(order);
            }
        }
        moves
    }

    /// The same without actions that are left out, noted as met.
    pub(crate) fn moves_met(
        &self,
        process: Pid,
        local: u32,
        inbox: u32,
        left_out: &[bool],
    ) -> Vec<Move> {
        let mut moves = self.moves(process, local, inbox);
        moves.retain(|step| left_out.get(step.action as usize) != Some(&true));
        self.meet(process, inbox, &moves);
        self.note_met(process, local, inbox, &moves);
        moves
    }

    /// A crashed process that has come back, if it does.
    pub(crate) fn recovered(&self, process: Pid, crashed: &Local) -> Option<Local> {
        let declaration = &self.protocol.processes[process.index()];
        let recover = declaration.recovers.as_ref()?;
        let state = calmly(|| recover((*crashed.state.0).as_any()));
        let blame = |text| {
            let name = &declaration.name;
            self.blame(format!("the recovery of `{name}` panics: {text}"));
        };
        Some(Local {
            state: state.map_err(blame).ok()?,
            timers: declaration.initial_timers,
            crashed: false,
        })
    }

    /// Notes that somebody did what must not be done.
    pub(crate) fn blame(&self, text: String) {
        let mut misuses = self.misuses.lock().unwrap_or_else(|e| e.into_inner());
        if !misuses.contains(&text) {
            misuses.push(text);
        }
    }

    /// Changes the words of processes as a move does.
    pub(crate) fn apply(&self, step: &Move, words: &mut [u32]) {
        let own = 2 * self.actions[step.action as usize].process.index();
        words[own] = step.local;
        words[own + 1] = step.inbox;
        for (to, post) in &step.posts {
            let word = 2 * to.index() + 1;
            let (inbox, post) = (self.inboxes.get(words[word]), self.posts.get(*post));
            words[word] = self.inboxes.intern(self.protocol.network.add(inbox, post));
        }
    }

    fn losses(&self, action: u32, local: u32, inbox: u32, moves: &mut Vec<Move>) {
        let parcels = self.inboxes.get(inbox);
        for at in self.protocol.network.deliverable(parcels) {
            let after = self.inboxes.intern(without(parcels, &[at]));
            let mut step = still(action, local, after);
            step.consumed = vec![parcels[at]];
            moves.push(step);
        }
    }

    fn handler_moves(&self, at: At, senders: Option<&[Pid]>, moves: &mut Vec<Move>) {
        let declared = &self.protocol.handlers[at.handler];
        let kinds = &self.taken_kinds[at.handler];
        let parcels = self.inboxes.get(at.inbox);
        let fits = |position: &usize| {
            let parcel = &parcels[*position];
            let from_it = match senders {
                Some(senders) => senders.contains(&parcel.from),
                None => declared
                    .senders
                    .as_ref()
                    .is_none_or(|s| s.contains(&parcel.from)),
            };
            let kind = self.messages.get(parcel.message).kind;
            from_it && kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
        };
        let fitting = || self.protocol.network.deliverable(parcels).filter(fits);
        match declared.takes {
            Takes::Nothing | Takes::Timer(_) => self.deliver(at, &[], moves),
            Takes::One => {
                for position in fitting() {
                    self.deliver(at, &[position], moves);
                }
            }
            Takes::Quorum(size) => {
                let positions: Vec<usize> = fitting().collect();
                let mut chosen = Vec::new();
                self.quorums(at, &positions, usize::from(size), &mut chosen, moves);
            }
        }
    }

    /// All ways to choose messages from different senders; positions come by sender.
    fn quorums(
        &self,
        at: At,
        positions: &[usize],
        missing: usize,
        chosen: &mut Vec<usize>,
        moves: &mut Vec<Move>,
    ) {
        if missing == 0 {
            self.deliver(at, chosen, moves);
            return;
        }
        let parcels = self.inboxes.get(at.inbox);
        for (index, position) in positions.iter().enumerate() {
            let sender = parcels[*position].from;
            let mut rest = &positions[index + 1..];
            while let Some((next, later)) = rest.split_first()
                && parcels[*next].from == sender
            {
                rest = later;
            }
            chosen.push(*position);
            self.quorums(at, rest, missing - 1, chosen, moves);
            chosen.pop();
        }
    }

    /// Runs the handler with the messages at some positions.
    fn deliver(&self, at: At, positions: &[usize], moves: &mut Vec<Move>) {
        let parcels = self.inboxes.get(at.inbox);
        let consumed: Vec<Parcel> = positions.iter().map(|p| parcels[*p]).collect();
        let deeds = self.deeds(at, &consumed);
        if deeds.is_empty() {
            return;
        }
        let network = self.protocol.network;
        let left = network.take(parcels, positions);
        for deed in &*deeds {
            let inbox = match deed.to_itself {
                Some(post) => network.add(&left, self.posts.get(post)),
                None => left.clone(),
            };
            moves.push(Move {
                action: at.action,
                local: deed.local,
                inbox: self.inboxes.intern(inbox),
                posts: deed.posts.clone(),
                events: deed.events,
                crashes: false,
                returns: false,
                misused: deed.is_misuse.then_some(at.handler),
                consumed: consumed.clone(),
            });
        }
    }

    /// What a handler does in a local state with some messages: it is run once for each combination,
    /// whatever else there is in the inbox.
    fn deeds(&self, at: At, consumed: &[Parcel]) -> Arc<[Deed]> {
        let key = (
            at.handler as u32,
            at.local,
            self.posts.intern_slice(consumed),
        );
        let deeds = || self.deeds.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = deeds().get(&key) {
            return Arc::clone(known);
        }
        let results = self.results(at.handler, at.local, consumed).into_iter();
        let new: Arc<[Deed]> = results.map(|r| self.deed(at, consumed, r)).collect();
        deeds().insert(key, Arc::clone(&new));
        new
    }

    fn deed(&self, at: At, consumed: &[Parcel], result: Result) -> Deed {
        let misuse = self.misuse(&self.protocol.handlers[at.handler], at.local, &result);
        let is_misuse = misuse.is_some();
        misuse.into_iter().for_each(|text| self.blame(text));
        let mut events = Vec::new();
        let mut note = |from, to, message, delivered| {
            if self.is_noted(message, delivered) {
                events.push(Event {
                    delivered,
                    from,
                    to,
                    message,
                });
            }
        };
        for parcel in consumed {
            note(parcel.from, at.process, parcel.message, true);
        }
        let mut outgoing: Vec<(Pid, Vec<Parcel>)> = Vec::new();
        for (to, message) in result.sends {
            let message = self.message(message);
            note(at.process, to, message, false);
            let parcel = Parcel {
                from: at.process,
                message,
            };
            match outgoing.iter_mut().find(|(q, _)| *q == to) {
                Some((_, post)) => post.push(parcel),
                None => outgoing.push((to, vec![parcel])),
            }
        }
        let (mut to_itself, mut posts) = (None, Vec::new());
        for (to, mut post) in outgoing {
            if self.protocol.network != crate::Network::Ordered {
                post.sort_unstable();
            }
            let post = self.posts.intern(post.into());
            if to == at.process {
                to_itself = Some(post);
            } else if to.index() < self.protocol.processes.len() {
                posts.push((to, post));
            }
        }
        Deed {
            local: self.locals.intern(Local {
                state: result.state,
                timers: result.timers,
                crashed: false,
            }),
            to_itself,
            posts,
            events: (!events.is_empty()).then(|| self.events.intern(events.into())),
            is_misuse,
        }
    }

    /// All results of a handler with some messages.
    pub(crate) fn results(&self, handler: usize, local: u32, consumed: &[Parcel]) -> Vec<Result> {
        let declared = &self.protocol.handlers[handler];
        let messages: Vec<Envelope<&Boxed>> = consumed
            .iter()
            .map(|p| self.envelope(p.from, declared.process, p.message))
            .collect();
        let timers = &self.protocol.processes[declared.process.index()].timers;
        let edge = self.protocol.edge;
        declared.results(self.locals.get(local), &messages, edge, timers)
    }

    /// What a result does that its handler's declaration excludes, in words.
    pub(crate) fn misuse(&self, handler: &Handler, local: u32, result: &Result) -> Option<String> {
        let who = || {
            format!(
                "the handler `{}` of `{}`",
                handler.name,
                self.process_name(handler.process)
            )
        };
        if let Some(text) = &result.misuse {
            return Some(format!("{} {text}", who()));
        }
        for (to, message) in &result.sends {
            if to.index() >= self.protocol.processes.len() {
                return Some(format!("{} sends to a process of another protocol", who()));
            }
            let Some(declared) = &handler.sends else {
                continue;
            };
            let kind = crate::value::kind_of(message);
            let allowed = declared.iter().any(|may| {
                may.kind.as_ref().is_none_or(|k| *k == kind)
                    && may.to.as_ref().is_none_or(|all| all.contains(to))
            });
            if !allowed {
                let receiver = self.process_name(*to);
                return Some(format!(
                    "{} sends `{kind}` to `{receiver}`, which its declaration excludes",
                    who()
                ));
            }
        }
        let before = self.locals.get(local);
        if handler.only_reads && (result.state != before.state || result.timers != before.timers) {
            return Some(format!(
                "{} changes its state, which its declaration excludes",
                who()
            ));
        }
        None
    }
}

/// Whether a handler takes messages of a kind.
pub(crate) fn takes_kind(handler: &Handler, kind: &str) -> bool {
    let kinds = handler.kinds.as_ref();
    kinds.is_none_or(|kinds| kinds.iter().any(|k| k == kind))
}

/// Where a handler runs.
#[derive(Clone, Copy)]
struct At {
    process: Pid,
    local: u32,
    inbox: u32,
    action: u32,
    handler: usize,
}

/// A move that sends nothing.
fn still(action: u32, local: u32, inbox: u32) -> Move {
    Move {
        action,
        local,
        inbox,
        posts: Vec::new(),
        events: None,
        crashes: false,
        returns: false,
        misused: None,
        consumed: Vec::new(),
    }
}
