//! Relations between the transitions of a protocol.
//!
//! Definitions 4 and 5 of Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space
//! reductions through local partial-order reduction* (2011), for guards instead of whole
//! transitions: a step can enable another one by sending what it waits for, or by changing the
//! local state of the same process. Two processes disturb each other only through a message that
//! one sends and the other may take, and only the sender disturbs: what was on its way before is
//! still there. What a quorum waits for (definition 6) is one guard for each sender, so that the
//! state decides which of them is still missing.
//!
//! With an [analysis](crate::analysis), steps of one process are compared by what they do, and
//! the timestamps and disjoint variables of the paper fall out of it; without, they all conflict.

use stubborn_system::{BitSet, LabelId, Matrix, May, Must, Relations, Structure, TransitionId};

use crate::analysis::{Analysis, Outcome};
use crate::model::{Inner, Meaning, Role};
use crate::moves::takes_kind;
use crate::network::{Network, Parcel};
use crate::value::Pid;

/// Pairs of results compared for one pair of transitions before giving up on it.
const PAIR_BUDGET: usize = 200_000;

/// How transitions of different processes are linked.
pub(crate) struct Links {
    /// For each transition, those that may take what it sends.
    pub(crate) feeds: Vec<BitSet>,
    /// Whether it may change the record.
    pub(crate) notes: Vec<bool>,
}

pub(crate) fn links(inner: &Inner, analysis: Option<&Analysis>) -> Links {
    let facts = Facts::new(inner, analysis);
    let count = inner.actions.len();
    let row = |t| {
        let mut row = BitSet::new(count);
        for u in (0..count).filter(|u| facts.feeds(t, *u)) {
            row.insert(u);
        }
        row
    };
    Links {
        feeds: (0..count).map(row).collect(),
        notes: facts.notes,
    }
}

pub(crate) fn relations(
    inner: &Inner,
    structure: &Structure,
    analysis: Option<&Analysis>,
) -> Relations {
    let facts = Facts::new(inner, analysis);
    let (labels, count) = (structure.labels.len(), inner.actions.len());
    let mut enable = vec![Vec::new(); labels];
    let mut disable = vec![Vec::new(); labels];
    for (label, meaning) in inner.meanings.iter().enumerate() {
        for action in 0..count {
            let (may_enable, may_disable) = facts.changes(meaning, action);
            if may_enable {
                enable[label].push(action as u32);
            }
            if may_disable {
                disable[label].push(action as u32);
            }
        }
    }
    let never_together = Matrix::from_fn(labels, labels, |g: LabelId, h: LabelId| {
        facts.never_together(&inner.meanings[g.index()], &inner.meanings[h.index()])
    });
    let mut accord = Vec::with_capacity(count);
    let mut apart = Vec::with_capacity(count);
    let mut left = Vec::with_capacity(count);
    for t in 0..count {
        let row = |related: &dyn Fn(usize) -> bool| -> Vec<u32> {
            (0..count)
                .filter(|u| related(*u))
                .map(|u| u as u32)
                .collect()
        };
        let conflicts = row(&|u| facts.conflict(t, u));
        let conflict = |u: usize| conflicts.binary_search(&(u as u32)).is_ok();
        apart.push(row(&|u| !facts.meet(t, u, conflict(u))));
        accord.push(conflicts);
        left.push(row(&|u| !facts.moves_left(t, u)));
    }
    Relations {
        may_enable: May(Matrix::from_rows(count, enable)),
        may_disable: May(Matrix::from_rows(count, disable)),
        never_together: Must(never_together),
        do_not_accord: May(Matrix::<TransitionId, TransitionId>::from_rows(
            count, accord,
        )),
        do_not_meet: Some(May(Matrix::from_rows(count, apart))),
        do_not_left_accord: May(Matrix::from_rows(count, left)),
        must_disable: Must(Matrix::empty(count, count)),
        may_change_outcome: None,
    }
}

/// Whether a local state allows something.
type Allows<'f> = Box<dyn Fn(u32) -> bool + 'f>;

/// Kinds of messages that may go to a process.
#[derive(Clone, Debug)]
pub(crate) struct Sends {
    to: Pid,
    /// `None` for any.
    kind: Option<u32>,
}

/// What an action may send.
pub(crate) fn sends(inner: &Inner, analysis: Option<&Analysis>, action: usize) -> Vec<Sends> {
    let Role::Handler { handler, .. } = &inner.actions[action].role else {
        return Vec::new();
    };
    let mut found: Vec<(Pid, Option<u32>)> = Vec::new();
    if let Some(analysis) = analysis {
        for (_, _, outcome) in analysis.steps(action) {
            let kinds = outcome.sends.iter();
            found.extend(kinds.map(|(to, m)| (*to, Some(inner.messages.get(*m).kind))));
        }
    } else {
        let all = || (0..inner.protocol.processes.len()).map(|p| Pid(p as u16));
        match &inner.protocol.handlers[*handler].sends {
            None => found.extend(all().map(|p| (p, None))),
            Some(declared) => {
                for may in declared {
                    let kind = may.kind.as_ref().map(|k| inner.kinds.intern(k.clone()));
                    let to: Vec<Pid> = may.to.clone().unwrap_or_else(|| all().collect());
                    found.extend(to.into_iter().map(|p| (p, kind)));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|(to, kind)| Sends { to, kind })
        .collect()
}

fn may_be_noted(inner: &Inner, analysis: Option<&Analysis>, action: usize) -> bool {
    let Some(history) = &inner.protocol.history else {
        return false;
    };
    let Role::Handler { handler, .. } = &inner.actions[action].role else {
        return false;
    };
    if let Some(analysis) = analysis {
        return analysis.steps(action).any(|(_, consumed, outcome)| {
            consumed.iter().any(|p| inner.is_noted(p.message, true))
                || outcome.sends.iter().any(|(_, m)| inner.is_noted(*m, false))
        });
    }
    let declared = &inner.protocol.handlers[*handler];
    let takes = match (&declared.kinds, declared.takes) {
        (_, crate::handler::Takes::Nothing | crate::handler::Takes::Timer(_)) => false,
        (None, _) => true,
        (Some(kinds), _) => kinds.iter().any(|k| history.notes(k, true)),
    };
    let gives = declared.sends.as_ref().is_none_or(|sends| {
        let noted = |k: &String| history.notes(k, false);
        sends.iter().any(|s| s.kind.as_ref().is_none_or(noted))
    });
    takes || gives
}

struct Facts<'i> {
    inner: &'i Inner,
    analysis: Option<&'i Analysis>,
    sends: Vec<Vec<Sends>>,
    notes: Vec<bool>,
}

impl<'i> Facts<'i> {
    fn new(inner: &'i Inner, analysis: Option<&'i Analysis>) -> Self {
        let all = 0..inner.actions.len();
        Self {
            inner,
            analysis,
            sends: all.clone().map(|a| sends(inner, analysis, a)).collect(),
            notes: all.map(|a| may_be_noted(inner, analysis, a)).collect(),
        }
    }

    fn process(&self, action: usize) -> Pid {
        self.inner.actions[action].process
    }

    fn is_lossy_role(&self, action: usize) -> bool {
        self.inner.actions[action].role == Role::Lose
    }

    /// Whether a step of `action` may put a message into the inbox of `to` of a kind that
    /// `wanted` accepts.
    fn may_send(&self, action: usize, to: Pid, wanted: impl Fn(u32) -> bool) -> bool {
        let sends = self.sends[action].iter();
        sends
            .filter(|s| s.to == to)
            .any(|s| s.kind.is_none_or(&wanted))
    }

    /// Whether `action` may take messages of this kind (any, if `None`) from this sender.
    fn may_take(&self, action: usize, sender: Pid, kind: Option<u32>) -> bool {
        let Role::Handler { handler, senders } = &self.inner.actions[action].role else {
            return self.is_lossy_role(action);
        };
        let declared = &self.inner.protocol.handlers[*handler];
        if !matches!(
            declared.takes,
            crate::handler::Takes::One | crate::handler::Takes::Quorum(_)
        ) {
            return false;
        }
        let from_it = match senders {
            Some(senders) => senders.contains(&sender),
            None => declared
                .senders
                .as_ref()
                .is_none_or(|s| s.contains(&sender)),
        };
        from_it && kind.is_none_or(|kind| takes_kind(declared, self.inner.kinds.get(kind)))
    }

    /// Whether `sender`'s step may put something into the inbox that `taker` may take.
    fn feeds(&self, sender: usize, taker: usize) -> bool {
        let (from, to) = (self.process(sender), self.process(taker));
        let sends = self.sends[sender].iter().filter(|s| s.to == to);
        sends
            .into_iter()
            .any(|s| self.may_take(taker, from, s.kind))
    }

    /// Whether two steps of one process may want the same message at the same time.
    fn compete(&self, t: usize, u: usize) -> bool {
        if self.inner.protocol.network == Network::Unordered
            && let Some(analysis) = self.handlers(t, u)
        {
            let shares = |m: &[Parcel], n: &[Parcel]| m.iter().any(|parcel| n.contains(parcel));
            return analysis.locals[self.process(t).index()]
                .iter()
                .any(|local| {
                    let (first, second) = (analysis.table(t, *local), analysis.table(u, *local));
                    first
                        .iter()
                        .any(|(m, _)| second.iter().any(|(n, _)| shares(m, n)))
                });
        }
        if !self.inner.protocol.network.consumes()
            && !self.is_lossy_role(t)
            && !self.is_lossy_role(u)
        {
            return false;
        }
        let senders = (0..self.inner.protocol.processes.len()).map(|p| Pid(p as u16));
        let ordered = self.inner.protocol.network == Network::Ordered;
        let kinds: Vec<u32> = (0..self.inner.kinds.len() as u32).collect();
        senders.into_iter().any(|s| {
            let both = |kind| self.may_take(t, s, kind) && self.may_take(u, s, kind);
            // In a queue, whoever takes the first changes what the other finds.
            both(None)
                && (ordered || self.analysis.is_none() || kinds.iter().any(|k| both(Some(*k))))
        })
    }

    /// Whether a step can make a label true, and false.
    fn changes(&self, meaning: &Meaning, action: usize) -> (bool, bool) {
        let p = self.process(action);
        let role = &self.inner.actions[action].role;
        match meaning {
            Meaning::Has(to, sender, kind) => {
                let arrives = p == *sender
                    && self.may_send(action, *to, |k| kind.is_none_or(|kind| kind == k));
                let consumes = self.inner.protocol.network.consumes() || self.is_lossy_role(action);
                let leaves = p == *to && consumes && self.may_take(action, *sender, *kind);
                (arrives, leaves)
            }
            Meaning::Open(handler) => {
                let declared = &self.inner.protocol.handlers[*handler];
                if declared.process != p {
                    return (false, false);
                }
                let open = |local: u32| declared.is_open(self.inner.locals.get(local));
                self.local_changes(action, &|before, after| {
                    (!open(before) && open(after), open(before) && !open(after))
                })
            }
            Meaning::Ready(other) => self.ready_changes(*other as usize, action),
            Meaning::MayCrash => (self.gives_back(action), *role == Role::Crash),
            Meaning::Violated(number) | Meaning::Holds(number) => {
                let property = &self.inner.protocol.properties[*number];
                if property.history && self.notes[action] {
                    return (true, true);
                }
                if !property.processes.contains(&p) {
                    return (false, false);
                }
                let shown = |local: u32| {
                    let local = self.inner.locals.get(local);
                    property
                        .shows
                        .as_ref()
                        .map(|s| s(p, (*local.state.0).as_any()))
                };
                // Without a way to see what is shown, every change counts.
                self.local_changes(action, &|before, after| {
                    let changes = match (shown(before), shown(after)) {
                        (Some(a), Some(b)) => a != b,
                        _ => before != after,
                    };
                    (changes, changes)
                })
            }
        }
    }

    /// Whether some step of an action changes the local state in a way that counts, upwards and
    /// downwards.
    fn local_changes(
        &self,
        action: usize,
        counts: &dyn Fn(u32, u32) -> (bool, bool),
    ) -> (bool, bool) {
        let Role::Handler { handler, .. } = &self.inner.actions[action].role else {
            let still = self.is_lossy_role(action);
            return (!still, !still);
        };
        let Some(analysis) = self.analysis else {
            let writes = !self.inner.protocol.handlers[*handler].only_reads;
            return (writes, writes);
        };
        let mut found = (false, false);
        for (before, _, outcome) in analysis.steps(action) {
            if before != outcome.local && found != (true, true) {
                let (up, down) = counts(before, outcome.local);
                found = (found.0 | up, found.1 | down);
            }
        }
        found
    }

    fn ready_changes(&self, other: usize, action: usize) -> (bool, bool) {
        let (p, q) = (self.process(action), self.process(other));
        if p != q {
            return (self.feeds(action, other), false);
        }
        let competes = self.compete(action, other);
        // A queue shows its next message when one is taken.
        let uncovers = competes && self.inner.protocol.network == Network::Ordered;
        let fed = self.feeds(action, other);
        let (up, down) = match self.analysis {
            None => self.local_changes(action, &|_, _| (true, true)),
            Some(analysis) => match &self.inner.actions[other].role {
                Role::Handler { .. } => self.local_changes(action, &|before, after| {
                    let ready = |local: u32| {
                        let table = analysis.table(other, local).iter();
                        let mut ready: Vec<&[Parcel]> = table.map(|(m, _)| m.as_slice()).collect();
                        ready.sort_unstable();
                        ready
                    };
                    let (was, is) = (ready(before), ready(after));
                    let up = is.iter().any(|m| was.binary_search(m).is_err());
                    let down = was.iter().any(|m| is.binary_search(m).is_err());
                    (up, down)
                }),
                Role::Lose => (false, false),
                Role::Crash | Role::Recover => {
                    let role = &self.inner.actions[action].role;
                    let turns = matches!(role, Role::Crash | Role::Recover);
                    (turns, turns)
                }
            },
        };
        (up || fed || uncovers, down || competes)
    }

    fn never_together(&self, g: &Meaning, h: &Meaning) -> bool {
        let Some(analysis) = self.analysis else {
            return false;
        };
        let allows = |meaning: &Meaning| -> Option<(Pid, Allows<'_>)> {
            match meaning {
                Meaning::Open(handler) => {
                    let declared = &self.inner.protocol.handlers[*handler];
                    let open = move |l: u32| declared.is_open(self.inner.locals.get(l));
                    Some((declared.process, Box::new(open)))
                }
                Meaning::Ready(action) => {
                    let action = *action as usize;
                    match self.inner.actions[action].role {
                        Role::Handler { .. } => {
                            let ready = move |l: u32| !analysis.table(action, l).is_empty();
                            Some((self.process(action), Box::new(ready)))
                        }
                        _ => None,
                    }
                }
                _ => None,
            }
        };
        let (Some((p, first)), Some((q, second))) = (allows(g), allows(h)) else {
            return false;
        };
        p == q
            && !analysis.locals[p.index()]
                .iter()
                .any(|l| first(*l) && second(*l))
    }

    /// Whether one may disable the other, or their order matters.
    fn conflict(&self, t: usize, u: usize) -> bool {
        if t == u {
            return true;
        }
        if self.notes[t] && self.notes[u] {
            return true;
        }
        let crash = |a: usize| self.inner.actions[a].role == Role::Crash;
        if crash(t) && crash(u) {
            return true;
        }
        if self.process(t) != self.process(u) {
            return self.offers_more(t, u) || self.offers_more(u, t);
        }
        self.compete(t, u) || self.feeds(t, u) || self.feeds(u, t) || !self.commute(t, u)
    }

    /// Whether any outcome of the one and any of the other meet again, where both are enabled.
    fn meet(&self, t: usize, u: usize, conflict: bool) -> bool {
        if self.process(t) == self.process(u) {
            return !conflict && self.outcomes_meet(t, u);
        }
        // What else the other process sends is one more choice, and takes away none.
        let crash = |a: usize| self.inner.actions[a].role == Role::Crash;
        let order_matters = self.notes[t] && self.notes[u] || crash(t) && crash(u);
        !order_matters && !self.loses_again(t, u) && !self.loses_again(u, t)
    }

    /// Whether `loser` may lose what `sender` sends. In a set, what is lost and sent again is there;
    /// what is sent again and lost is not.
    fn loses_again(&self, loser: usize, sender: usize) -> bool {
        let is_set = !self.inner.protocol.network.consumes();
        is_set && self.is_lossy_role(loser) && self.feeds(sender, loser)
    }

    /// Whether a step of another process may give `taker` one more message to choose from. What
    /// arrives in a queue comes behind what is taken, so there is nothing more to choose from
    /// for who waits for one sender.
    fn offers_more(&self, sender: usize, taker: usize) -> bool {
        let one_queue = self.inner.protocol.network == Network::Ordered
            && matches!(
                self.inner.actions[taker].role,
                Role::Handler {
                    senders: Some(_),
                    ..
                }
            );
        !one_queue && self.feeds(sender, taker)
    }

    /// Whether it makes room for another crash.
    fn gives_back(&self, action: usize) -> bool {
        self.inner.protocol.crashes_return && self.inner.actions[action].role == Role::Recover
    }

    /// Whether `t` can always be moved left over `u`: what `u t` reaches, `t u` reaches.
    fn moves_left(&self, t: usize, u: usize) -> bool {
        if t == u || self.notes[t] && self.notes[u] {
            return false;
        }
        if self.feeds(u, t) {
            return false;
        }
        if self.gives_back(u) && self.inner.actions[t].role == Role::Crash {
            return false;
        }
        if self.process(t) != self.process(u) {
            return !self.loses_again(u, t);
        }
        // In a multiset there was a message for each of them. In a queue the second took what the
        // first had uncovered, and in a set it may have been the same message.
        let each_had_its_own = self.inner.protocol.network == Network::Unordered;
        if !each_had_its_own && self.compete(t, u) || self.feeds(t, u) {
            return false;
        }
        self.commutes_left(t, u)
    }

    /// Steps of one process, both enabled: neither disables the other, same ends. They want
    /// different messages.
    fn commute(&self, t: usize, u: usize) -> bool {
        let Some(analysis) = self.handlers(t, u) else {
            return self.is_lossy_role(t) || self.is_lossy_role(u);
        };
        let mut budget = PAIR_BUDGET;
        for local in &analysis.locals[self.process(t).index()] {
            if self.opens_more(analysis, *local, t, u) || self.opens_more(analysis, *local, u, t) {
                return false;
            }
            for (m, first) in analysis.table(t, *local) {
                for (n, second) in analysis.table(u, *local) {
                    let Some(left) = budget.checked_sub(first.len() * second.len() + 1) else {
                        return false;
                    };
                    budget = left;
                    let one = self.both(analysis, first, (u, n));
                    let other = self.both(analysis, second, (t, m));
                    match (one, other) {
                        (Some(one), Some(other)) if one == other => {}
                        _ => return false,
                    }
                }
            }
        }
        true
    }

    /// Whether `t` leads from a local state where both are possible to one where `u` takes a message that
    /// it did not take before. Then `u` has more outcomes after `t`, although `t` does not enable it.
    fn opens_more(&self, analysis: &Analysis, local: u32, t: usize, u: usize) -> bool {
        let before = analysis.table(u, local);
        let takes_it = |messages: &[Parcel]| before.iter().any(|(m, _)| m == messages);
        let more = |after: u32| analysis.table(u, after).iter().any(|(m, _)| !takes_it(m));
        let mut outcomes = analysis.table(t, local).iter().flat_map(|(_, all)| all);
        !before.is_empty() && outcomes.any(|outcome| more(outcome.local))
    }

    /// Steps of one process that commute, with different messages: whether any outcome of the one and any
    /// of the other meet again.
    fn outcomes_meet(&self, t: usize, u: usize) -> bool {
        let Some(analysis) = self.handlers(t, u) else {
            return true;
        };
        let mut budget = PAIR_BUDGET;
        for local in &analysis.locals[self.process(t).index()] {
            for (m, first) in analysis.table(t, *local) {
                for (n, second) in analysis.table(u, *local) {
                    // Of one outcome, both orders lead to where it leads.
                    if first.len() == 1 || second.len() == 1 {
                        continue;
                    }
                    let Some(left) = budget.checked_sub(first.len() * second.len()) else {
                        return false;
                    };
                    budget = left;
                    let after = |outcome: &Outcome, then| {
                        self.some_ends(analysis, std::slice::from_ref(outcome), then)
                    };
                    let others: Vec<_> = second.iter().map(|o| after(o, (t, m))).collect();
                    let meets = |outcome: &Outcome| {
                        let ends = after(outcome, (u, n));
                        let common = |other: &Vec<Outcome>| {
                            ends.iter().any(|end| other.binary_search(end).is_ok())
                        };
                        others.iter().all(common)
                    };
                    if !first.iter().all(meets) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whatever `u` and then `t` can do, `t` and then `u` can.
    fn commutes_left(&self, t: usize, u: usize) -> bool {
        let Some(analysis) = self.handlers(t, u) else {
            return self.is_lossy_role(t) || self.is_lossy_role(u);
        };
        let mut budget = PAIR_BUDGET;
        for local in &analysis.locals[self.process(t).index()] {
            for (n, first) in analysis.table(u, *local) {
                for between in first {
                    for (m, second) in analysis.table(t, between.local) {
                        let Some(left) = budget.checked_sub(second.len() + 1) else {
                            return false;
                        };
                        budget = left;
                        let here = analysis.table(t, *local).iter().find(|(k, _)| k == m);
                        let Some((_, moved)) = here else {
                            return false;
                        };
                        let ends = self.some_ends(analysis, moved, (u, n));
                        let is_end = |after: &Outcome| ends.contains(&self.end(between, after));
                        if !second.iter().all(is_end) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// The analysis, if both actions are handlers.
    fn handlers(&self, t: usize, u: usize) -> Option<&Analysis> {
        let is_handler = |a: usize| matches!(self.inner.actions[a].role, Role::Handler { .. });
        self.analysis.filter(|_| is_handler(t) && is_handler(u))
    }

    /// Where two steps lead: the local state, and what was sent.
    fn end(&self, first: &Outcome, second: &Outcome) -> Outcome {
        let mut sends = first.sends.clone();
        sends.extend_from_slice(&second.sends);
        match self.inner.protocol.network {
            // Only the order of messages to one receiver can be seen.
            Network::Ordered => sends.sort_by_key(|(to, _)| *to),
            Network::Unordered => sends.sort_unstable(),
            Network::Duplicating => {
                sends.sort_unstable();
                sends.dedup();
            }
        }
        Outcome {
            local: second.local,
            sends,
        }
    }

    fn some_ends(
        &self,
        analysis: &Analysis,
        first: &[Outcome],
        (action, messages): (usize, &[Parcel]),
    ) -> Vec<Outcome> {
        let mut ends = Vec::new();
        for between in first {
            let table = analysis.table(action, between.local).iter();
            for (_, outcomes) in table.filter(|(m, _)| m == messages) {
                ends.extend(outcomes.iter().map(|after| self.end(between, after)));
            }
        }
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// All ends of two steps; `None` if the second is not possible after some first.
    fn both(
        &self,
        analysis: &Analysis,
        first: &[Outcome],
        (action, messages): (usize, &[Parcel]),
    ) -> Option<Vec<Outcome>> {
        let possible = |between: &Outcome| {
            let table = analysis.table(action, between.local).iter();
            table.into_iter().any(|(m, _)| m == messages)
        };
        let all = first.iter().all(possible);
        all.then(|| self.some_ends(analysis, first, (action, messages)))
    }
}
