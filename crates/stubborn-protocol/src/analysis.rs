//! What handlers can do, found by running them on everything that may come their way.
//!
//! Each process is taken by itself: its local states are those it can get into if every message
//! that anybody may ever send to it can arrive at any time, any number of times, and messages
//! that may be sent are those that handlers send in such states. That is more than can really
//! happen, so whatever is never seen here never happens. Relations derived from it need no
//! declarations by the user, and are exact about what matters most: which steps of one process
//! commute, which can enable which, and which change what a property looks at.
//!
//! The collection may be infinite where the real one is finite; then the budget runs out, and
//! relations are those that follow from declarations.

use rapidhash::{RapidHashMap, RapidHashSet};
use stubborn_system::{Budget, Patience};

use crate::handler::Takes;
use crate::model::{Inner, Role};
use crate::moves::takes_kind;
use crate::network::Parcel;
use crate::value::{Local, Pid};

/// Runs of handlers before giving up.
pub(crate) const BUDGET: usize = 300_000;

/// Looks at combinations for each run: rounds repeat what is known.
const LOOKS: usize = 20;

/// A result of a handler: local state afterwards, and what is sent in which order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outcome {
    pub(crate) local: u32,
    pub(crate) sends: Vec<(Pid, u32)>,
}

/// What one handler does in one local state: for each choice of messages with any result, the
/// results.
type Table = Vec<(Vec<Parcel>, Vec<Outcome>)>;

/// See the [module](self).
pub(crate) struct Analysis {
    /// Local states of each process.
    pub(crate) locals: Vec<Vec<u32>>,
    /// For each action, by local state.
    tables: Vec<RapidHashMap<u32, Table>>,
}

struct Run<'i> {
    inner: &'i Inner,
    budget: usize,
    /// Combinations to look at, known ones included.
    looks: usize,
    limits: Patience<'i>,
    locals: Vec<Vec<u32>>,
    messages: Vec<Vec<Parcel>>,
    seen_locals: RapidHashSet<(Pid, u32)>,
    seen_messages: RapidHashSet<(Pid, Parcel)>,
    known: RapidHashMap<(usize, u32, Vec<Parcel>), Vec<Outcome>>,
}

/// The budget ran out.
struct TooMuch;

impl Run<'_> {
    fn add_local(&mut self, process: Pid, local: u32) -> bool {
        let is_new = self.seen_locals.insert((process, local));
        if is_new {
            self.locals[process.index()].push(local);
        }
        is_new
    }

    fn add_message(&mut self, to: Pid, parcel: Parcel) -> bool {
        let is_new = self.seen_messages.insert((to, parcel));
        if is_new {
            self.messages[to.index()].push(parcel);
        }
        is_new
    }

    /// Runs every handler on every new combination; true if something new came out.
    fn round(&mut self) -> Result<bool, TooMuch> {
        let mut changed = false;
        for number in 0..self.inner.actions.len() {
            let action = self.inner.actions[number].clone();
            let p = action.process;
            let mut at = 0;
            // What is new is looked at in the same round.
            while let Some(local) = self.locals[p.index()].get(at).copied() {
                at += 1;
                match &action.role {
                    Role::Handler { handler, senders } => {
                        changed |= self.handler(*handler, senders.as_deref(), local)?;
                    }
                    Role::Lose => {}
                    Role::Crash => {
                        let state = self.inner.locals.get(local);
                        let crashed = Local {
                            state: state.state.clone(),
                            timers: 0,
                            crashed: true,
                        };
                        let crashed = self.inner.locals.intern(crashed);
                        changed |= self.add_local(p, crashed);
                    }
                    Role::Recover => {
                        for step in self.inner.moves(p, local, self.empty_inbox()) {
                            if step.action as usize == number {
                                changed |= self.add_local(p, step.local);
                            }
                        }
                    }
                }
            }
        }
        Ok(changed)
    }

    fn empty_inbox(&self) -> u32 {
        self.inner.inboxes.intern(Box::new([]))
    }

    fn handler(
        &mut self,
        handler: usize,
        senders: Option<&[Pid]>,
        local: u32,
    ) -> Result<bool, TooMuch> {
        let inner = self.inner;
        let declared = &inner.protocol.handlers[handler];
        if !declared.is_open(inner.locals.get(local)) {
            return Ok(false);
        }
        let messages = &self.messages[declared.process.index()];
        let mut fitting: Vec<Parcel> = messages
            .iter()
            .filter(|p| match senders {
                Some(senders) => senders.contains(&p.from),
                None => declared
                    .senders
                    .as_ref()
                    .is_none_or(|s| s.contains(&p.from)),
            })
            .filter(|p| takes_kind(declared, inner.kind_name(p.message)))
            .copied()
            .collect();
        fitting.sort_unstable();
        match declared.takes {
            Takes::Nothing | Takes::Timer(_) => self.run(handler, local, Vec::new()),
            Takes::One => {
                let mut changed = false;
                for parcel in fitting {
                    changed |= self.run(handler, local, vec![parcel])?;
                }
                Ok(changed)
            }
            Takes::Quorum(size) => {
                self.quorums(handler, local, &fitting, usize::from(size), &mut Vec::new())
            }
        }
    }

    fn quorums(
        &mut self,
        handler: usize,
        local: u32,
        fitting: &[Parcel],
        missing: usize,
        chosen: &mut Vec<Parcel>,
    ) -> Result<bool, TooMuch> {
        if missing == 0 {
            return self.run(handler, local, chosen.clone());
        }
        let mut changed = false;
        for (at, parcel) in fitting.iter().enumerate() {
            let rest = &fitting[at + 1..];
            let next = rest.partition_point(|p| p.from == parcel.from);
            chosen.push(*parcel);
            changed |= self.quorums(handler, local, &rest[next..], missing - 1, chosen)?;
            chosen.pop();
        }
        Ok(changed)
    }

    fn run(&mut self, handler: usize, local: u32, consumed: Vec<Parcel>) -> Result<bool, TooMuch> {
        let key = (handler, local, consumed);
        self.looks = self.looks.checked_sub(1).ok_or(TooMuch)?;
        if self.limits.spent().is_some() {
            return Err(TooMuch);
        }
        if self.known.contains_key(&key) {
            return Ok(false);
        }
        self.budget = self.budget.checked_sub(1).ok_or(TooMuch)?;
        let inner = self.inner;
        let process = inner.protocol.handlers[handler].process;
        let mut outcomes = Vec::new();
        let mut changed = false;
        for result in inner.results(handler, local, &key.2) {
            let sends: Vec<(Pid, u32)> = result
                .sends
                .into_iter()
                .map(|(to, message)| (to, inner.message(message)))
                .filter(|(to, _)| to.index() < inner.protocol.processes.len())
                .collect();
            for (to, message) in &sends {
                let parcel = Parcel {
                    from: process,
                    message: *message,
                };
                changed |= self.add_message(*to, parcel);
            }
            let after = inner.locals.intern(Local {
                state: result.state,
                timers: result.timers,
                crashed: false,
            });
            changed |= self.add_local(process, after);
            outcomes.push(Outcome {
                local: after,
                sends,
            });
        }
        self.known.insert(key, outcomes);
        Ok(changed)
    }
}

impl Analysis {
    /// Runs handlers until nothing new comes out; `None` if that takes too long.
    pub(crate) fn run<'i>(inner: &'i Inner, budget: usize, limits: &'i Budget) -> Option<Self> {
        let count = inner.protocol.processes.len();
        let mut run = Run {
            inner,
            budget,
            looks: LOOKS * budget,
            limits: Patience::new(limits, 64),
            locals: vec![Vec::new(); count],
            messages: vec![Vec::new(); count],
            seen_locals: RapidHashSet::default(),
            seen_messages: RapidHashSet::default(),
            known: RapidHashMap::default(),
        };
        let initial = inner.initial_words();
        for p in 0..count {
            run.add_local(Pid(p as u16), initial[2 * p]);
            for parcel in inner.inboxes.get(initial[2 * p + 1]) {
                run.add_message(Pid(p as u16), *parcel);
            }
        }
        loop {
            match run.round() {
                Ok(true) => {}
                Ok(false) => break,
                Err(TooMuch) => return None,
            }
        }
        let mut tables: Vec<RapidHashMap<u32, Table>> = Vec::new();
        tables.resize_with(inner.actions.len(), RapidHashMap::default);
        let mut by_handler: RapidHashMap<usize, Vec<usize>> = RapidHashMap::default();
        for (number, action) in inner.actions.iter().enumerate() {
            if let Role::Handler { handler, .. } = &action.role {
                by_handler.entry(*handler).or_default().push(number);
            }
        }
        for ((handler, local, consumed), outcomes) in run.known {
            if outcomes.is_empty() {
                continue;
            }
            for number in &by_handler[&handler] {
                let Role::Handler { senders, .. } = &inner.actions[*number].role else {
                    continue;
                };
                let from = consumed.iter().map(|p| p.from);
                let is_its = match (senders, inner.protocol.handlers[handler].takes) {
                    (None, _) => true,
                    (Some(senders), _) => from.eq(senders.iter().copied()),
                };
                if is_its {
                    let table = tables[*number].entry(local).or_default();
                    table.push((consumed.clone(), outcomes.clone()));
                }
            }
        }
        Some(Self {
            locals: run.locals,
            tables,
        })
    }

    /// What an action does in a local state.
    pub(crate) fn table(&self, action: usize, local: u32) -> &[(Vec<Parcel>, Vec<Outcome>)] {
        self.tables[action].get(&local).map_or(&[], Vec::as_slice)
    }

    /// All results of an action: local state before, messages, outcome.
    pub(crate) fn steps(
        &self,
        action: usize,
    ) -> impl Iterator<Item = (u32, &[Parcel], &Outcome)> + '_ {
        self.tables[action].iter().flat_map(|(local, table)| {
            table.iter().flat_map(move |(consumed, outcomes)| {
                outcomes
                    .iter()
                    .map(move |o| (*local, consumed.as_slice(), o))
            })
        })
    }
}
