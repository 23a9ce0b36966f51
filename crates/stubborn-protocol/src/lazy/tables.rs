//! What handlers do with everything that was met, and the relations that follow.

use rapidhash::RapidHashMap;
use stubborn_system::{BitSet, Budget, Patience};

use super::Met;
use crate::Network;
use crate::handler::Takes;
use crate::model::{Inner, Role};
use crate::moves::takes_kind;
use crate::network::Parcel;
use crate::property::PropertyRole;
use crate::value::{Local, Pid, Value};

/// Combinations of local states and elements of one process; more are not worth it.
const MOST_COMBINATIONS: usize = 4_000_000;
/// Elements of all processes.
const MOST_ELEMENTS: usize = 4_000;

/// A step of a process, without its local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Element {
    pub(super) action: u32,
    pub(super) process: Pid,
    pub(super) consumed: Box<[Parcel]>,
}

/// What an element does in a local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Outcome {
    local: u32,
    /// Numbers of messages sent, in order.
    sends: Vec<(Pid, u32)>,
    is_misuse: bool,
}

/// Several outcomes, interned; 0 stands for none.
type OutcomesId = u32;

/// One process.
struct Own {
    /// Its elements, as a range of all.
    first: usize,
    count: usize,
    /// Places of local states.
    places: RapidHashMap<u32, usize>,
    /// For each place, and each element.
    outcomes: Vec<OutcomesId>,
}

/// See the [module](self).
pub(crate) struct Tables {
    pub(super) elements: Vec<Element>,
    pub(super) by_step: RapidHashMap<(u32, Box<[Parcel]>), u32>,
    /// For each process: the number of its first element, and places of its local states.
    pub(super) processes: Vec<ProcessTable>,
    /// For each element, those of the same process that do not commute with it.
    pub(super) conflicts: Vec<Vec<u32>>,
    /// For each element, those of its process that may open it.
    pub(super) openers: Vec<Vec<u32>>,
    /// For each element, who sends each of its messages.
    pub(super) senders: Vec<Vec<Vec<u32>>>,
    pub(super) visible: BitSet,
    pub(super) crashes: Vec<u32>,
    pub(super) recoveries: Vec<u32>,
    /// How much was met when they were made.
    pub(crate) size: usize,
}

/// What is looked up for a process in a state.
pub(super) struct ProcessTable {
    pub(super) places: RapidHashMap<u32, usize>,
    /// For each place, elements that may still happen: of all elements, as those of the process.
    pub(super) future: Vec<BitSet>,
    /// For each place, elements that may lead to what was never met.
    pub(super) escapes: Vec<BitSet>,
    /// Numbers of messages for the process.
    pub(super) parcels: RapidHashMap<Parcel, usize>,
    /// For each place, messages that change nothing in the process any more.
    pub(super) inert: Vec<BitSet>,
    /// For each message, what is sent by those who take it; `None` if some of it was never met.
    pub(super) emits: Vec<Option<Vec<(usize, usize)>>>,
}

struct Builder<'i, M> {
    inner: &'i Inner<M>,
    lists: Vec<Vec<Outcome>>,
    numbers: RapidHashMap<Vec<Outcome>, OutcomesId>,
    /// What elements do in local states that were not met.
    others: RapidHashMap<(u32, u32), OutcomesId>,
    elements: Vec<Element>,
    patience: Patience<'i>,
}

impl Tables {
    /// From everything that was met; `None` if that is too much, or the budget is spent.
    pub(crate) fn new<M: Value>(inner: &Inner<M>, met: &Met, budget: &Budget) -> Option<Self> {
        if inner.protocol.lossy && inner.protocol.network == Network::Duplicating {
            // What is lost and sent again is there; what is sent again and lost is not.
            return None;
        }
        let mut builder = Builder {
            inner,
            lists: vec![Vec::new()],
            numbers: RapidHashMap::default(),
            others: RapidHashMap::default(),
            elements: Vec::new(),
            patience: Patience::new(budget, 256),
        };
        let count = inner.protocol.processes.len();
        let mut locals: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut parcels: Vec<Vec<Parcel>> = vec![Vec::new(); count];
        met.locals
            .iter()
            .for_each(|(p, l)| locals[p.index()].push(*l));
        met.parcels
            .iter()
            .for_each(|(p, m)| parcels[p.index()].push(*m));
        locals.iter_mut().for_each(|l| l.sort_unstable());
        parcels.iter_mut().for_each(|m| m.sort_unstable());
        let mut owns = Vec::new();
        for p in 0..count {
            let first = builder.elements.len();
            builder.add_elements(Pid(p as u16), &parcels[p])?;
            let own_count = builder.elements.len() - first;
            if locals[p].len() * own_count > MOST_COMBINATIONS {
                return None;
            }
            let places = locals[p]
                .iter()
                .enumerate()
                .map(|(at, l)| (*l, at))
                .collect();
            owns.push(Own {
                first,
                count: own_count,
                places,
                outcomes: Vec::new(),
            });
        }
        for (p, own) in owns.iter_mut().enumerate() {
            let mut outcomes = Vec::with_capacity(locals[p].len() * own.count);
            for local in &locals[p] {
                for element in own.first..own.first + own.count {
                    outcomes.push(builder.run(*local, element)?);
                }
            }
            own.outcomes = outcomes;
        }
        builder.finish(&owns, &locals, &parcels, met.size())
    }
}

impl<M: Value> Builder<'_, M> {
    /// All elements of a process.
    fn add_elements(&mut self, process: Pid, parcels: &[Parcel]) -> Option<()> {
        let inner = self.inner;
        for (number, action) in inner.actions.iter().enumerate() {
            if action.process != process {
                continue;
            }
            let mut add = |consumed: Vec<Parcel>| {
                self.elements.push(Element {
                    action: number as u32,
                    process,
                    consumed: consumed.into(),
                });
            };
            match &action.role {
                Role::Lose => parcels.iter().for_each(|m| add(vec![*m])),
                Role::Crash | Role::Recover => add(Vec::new()),
                Role::Handler { handler, senders } => {
                    let declared = &inner.protocol.handlers[*handler];
                    let senders = senders.as_ref().or(declared.senders.as_ref());
                    let fits = |m: &&Parcel| {
                        senders.is_none_or(|s| s.contains(&m.from))
                            && takes_kind(declared, inner.kind_name(m.message))
                    };
                    let fitting: Vec<Parcel> = parcels.iter().filter(fits).copied().collect();
                    match declared.takes {
                        Takes::Nothing | Takes::Timer(_) => add(Vec::new()),
                        Takes::One => fitting.iter().for_each(|m| add(vec![*m])),
                        Takes::Quorum(size) => {
                            let mut found = Vec::new();
                            quorums(&fitting, usize::from(size), &mut Vec::new(), &mut found);
                            found.into_iter().for_each(add);
                        }
                    }
                }
            }
            if self.elements.len() > MOST_ELEMENTS {
                return None;
            }
        }
        Some(())
    }

    /// What an element does in a local state.
    fn run(&mut self, local: u32, element: usize) -> Option<OutcomesId> {
        if self.patience.spent().is_some() {
            return None;
        }
        let inner = self.inner;
        let declared = &self.elements[element];
        let state = inner.locals.get(local);
        let still = |local: Local| {
            vec![Outcome {
                local: inner.locals.intern(local),
                sends: Vec::new(),
                is_misuse: false,
            }]
        };
        let found = match &inner.actions[declared.action as usize].role {
            Role::Lose => still(state.clone()),
            Role::Crash if state.crashed => Vec::new(),
            Role::Crash => still(Local {
                state: state.state.clone(),
                timers: 0,
                crashed: true,
            }),
            Role::Recover if !state.crashed => Vec::new(),
            Role::Recover => {
                let process = &inner.protocol.processes[declared.process.index()];
                let recover = process.recovers.as_ref()?;
                still(Local {
                    state: recover((*state.state.0).as_any()),
                    timers: process.initial_timers,
                    crashed: false,
                })
            }
            Role::Handler { handler, .. } => {
                let results = inner.results(*handler, local, &declared.consumed);
                let handler = &inner.protocol.handlers[*handler];
                let mut found = Vec::with_capacity(results.len());
                for result in results {
                    let is_misuse = inner.misuse(handler, local, &result).is_some();
                    let sends = result.sends.into_iter();
                    let sends = sends.map(|(to, message)| (to, inner.message(message)));
                    let sends = sends.collect();
                    found.push(Outcome {
                        local: inner.locals.intern(Local {
                            state: result.state,
                            timers: result.timers,
                            crashed: false,
                        }),
                        sends,
                        is_misuse,
                    });
                }
                found
            }
        };
        Some(self.number(found))
    }

    fn number(&mut self, outcomes: Vec<Outcome>) -> OutcomesId {
        if outcomes.is_empty() {
            return 0;
        }
        let next = self.lists.len() as OutcomesId;
        let lists = &mut self.lists;
        *self.numbers.entry(outcomes).or_insert_with_key(|outcomes| {
            lists.push(outcomes.clone());
            next
        })
    }

    /// What an element does in any local state.
    fn outcomes(&mut self, own: &Own, local: u32, element: usize) -> Option<OutcomesId> {
        if let Some(place) = own.places.get(&local) {
            return Some(own.outcomes[place * own.count + element - own.first]);
        }
        let key = (local, element as u32);
        if let Some(known) = self.others.get(&key) {
            return Some(*known);
        }
        let found = self.run(local, element)?;
        self.others.insert(key, found);
        Some(found)
    }

    /// Whether two steps of one process may put messages into the same queue.
    fn meet_in_a_queue(&self, first: usize, second: usize) -> bool {
        let to = |id: usize| {
            let all = self.lists[id].iter().flat_map(|o| &o.sends);
            all.map(|(to, _)| *to)
        };
        self.inner.protocol.network == Network::Ordered
            && to(first).any(|q| to(second).any(|r| q == r))
    }

    /// Whether two elements that are both possible in a local state do not disturb each other: each
    /// stays possible, sends the same, and both orders lead to the same local states.
    fn commute(&mut self, own: &Own, place: usize, a: usize, b: usize) -> Option<bool> {
        let row = place * own.count;
        let first = own.outcomes[row + a - own.first] as usize;
        let second = own.outcomes[row + b - own.first] as usize;
        // Nearly everything has one outcome.
        if self.meet_in_a_queue(first, second) {
            return Some(false);
        }
        if let ([one], [other]) = (&self.lists[first][..], &self.lists[second][..]) {
            if one.is_misuse || other.is_misuse {
                return Some(false);
            }
            let (after_one, after_other) = (one.local, other.local);
            let then_b = self.outcomes(own, after_one, b)? as usize;
            let then_a = self.outcomes(own, after_other, a)? as usize;
            let same = match (&self.lists[then_a][..], &self.lists[then_b][..]) {
                ([a_later], [b_later]) => {
                    a_later.local == b_later.local
                        && a_later.sends == self.lists[first][0].sends
                        && b_later.sends == self.lists[second][0].sends
                        && !a_later.is_misuse
                        && !b_later.is_misuse
                }
                _ => false,
            };
            return Some(same);
        }
        let ends = |s: &mut Self, x: usize, y: usize, turned: bool| -> Option<Option<Vec<End>>> {
            let mut ends = Vec::new();
            for before in s.lists[own.outcomes[row + x - own.first] as usize].clone() {
                let later = s.outcomes(own, before.local, y)? as usize;
                if before.is_misuse || s.lists[later].is_empty() {
                    return Some(None);
                }
                for after in &s.lists[later] {
                    if after.is_misuse {
                        return Some(None);
                    }
                    let (mine, its) = (before.sends.clone(), after.sends.clone());
                    ends.push(match turned {
                        false => (after.local, mine, its),
                        true => (after.local, its, mine),
                    });
                }
            }
            ends.sort_unstable();
            ends.dedup();
            Some(Some(ends))
        };
        let one = ends(self, a, b, false)?;
        let other = ends(self, b, a, true)?;
        Some(one.is_some() && one == other)
    }

    fn finish(
        mut self,
        owns: &[Own],
        locals: &[Vec<u32>],
        parcels: &[Vec<Parcel>],
        size: usize,
    ) -> Option<Tables> {
        let count = self.elements.len();
        let mut conflicts = vec![Vec::new(); count];
        let mut openers = vec![Vec::new(); count];
        let mut visible = BitSet::new(count);
        let mut senders: RapidHashMap<(Pid, Parcel), Vec<u32>> = RapidHashMap::default();
        let mut processes = Vec::new();
        for (p, own) in owns.iter().enumerate() {
            let all = own.first..own.first + own.count;
            for a in all.clone() {
                for b in a + 1..all.end {
                    if self.conflict(own, a, b)? {
                        conflicts[a].push(b as u32);
                        conflicts[b].push(a as u32);
                    }
                }
                openers[a] = self.openers(own, a)?;
                if self.is_visible(own, locals, a) {
                    visible.insert(a);
                }
            }
            for (place, _) in locals[p].iter().enumerate() {
                for e in all.clone() {
                    let id = own.outcomes[place * own.count + e - own.first] as usize;
                    for outcome in &self.lists[id] {
                        for (to, message) in &outcome.sends {
                            let parcel = Parcel {
                                from: Pid(p as u16),
                                message: *message,
                            };
                            let who = senders.entry((*to, parcel)).or_default();
                            if who.last() != Some(&(e as u32)) && !who.contains(&(e as u32)) {
                                who.push(e as u32);
                            }
                        }
                    }
                }
            }
            processes.push(self.future(own, &locals[p], &parcels[p], count));
        }
        for (own, process) in owns.iter().zip(0..) {
            let emits = self.emits(own, &parcels[process], &processes);
            processes[process].emits = emits;
        }
        let by = |wanted: Role| -> Vec<u32> {
            let all = self.elements.iter().enumerate();
            all.filter(|(_, e)| self.inner.actions[e.action as usize].role == wanted)
                .map(|(at, _)| at as u32)
                .collect()
        };
        let by_step = self.elements.iter().enumerate();
        let by_step = by_step.map(|(at, e)| ((e.action, e.consumed.clone()), at as u32));
        Some(Tables {
            by_step: by_step.collect(),
            senders: self
                .elements
                .iter()
                .map(|e| {
                    let of = |m: &Parcel| senders.get(&(e.process, *m)).cloned();
                    e.consumed
                        .iter()
                        .map(|m| of(m).unwrap_or_default())
                        .collect()
                })
                .collect(),
            crashes: by(Role::Crash),
            recoveries: by(Role::Recover),
            processes,
            conflicts,
            openers,
            visible,
            size,
            elements: self.elements,
        })
    }

    /// Whether two elements of a process want the same message, or do not commute where both are
    /// possible.
    fn conflict(&mut self, own: &Own, a: usize, b: usize) -> Option<bool> {
        let inner = self.inner;
        let loses = |e: usize| inner.actions[self.elements[e].action as usize].role == Role::Lose;
        let consumes = inner.protocol.network.consumes() || loses(a) || loses(b);
        let (one, other) = (&self.elements[a].consumed, &self.elements[b].consumed);
        if consumes && one.iter().any(|m| other.contains(m)) {
            return Some(true);
        }
        if loses(a) || loses(b) {
            return Some(false);
        }
        for place in 0..own.places.len() {
            let row = place * own.count;
            let both =
                own.outcomes[row + a - own.first] != 0 && own.outcomes[row + b - own.first] != 0;
            if both && !self.commute(own, place, a, b)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Elements that make another one possible in some local state.
    fn openers(&mut self, own: &Own, element: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        for v in own.first..own.first + own.count {
            for place in 0..own.places.len() {
                let row = place * own.count;
                if own.outcomes[row + element - own.first] != 0 {
                    continue;
                }
                let id = own.outcomes[row + v - own.first] as usize;
                let after: Vec<u32> = self.lists[id].iter().map(|o| o.local).collect();
                let mut opens = false;
                for local in after {
                    opens |= self.outcomes(own, local, element)? != 0;
                }
                if opens {
                    found.push(v as u32);
                    break;
                }
            }
        }
        Some(found)
    }

    /// Whether an element may change what a property looks at.
    fn is_visible(&self, own: &Own, locals: &[Vec<u32>], element: usize) -> bool {
        let inner = self.inner;
        let declared = &self.elements[element];
        let p = declared.process;
        let is_handler = matches!(
            inner.actions[declared.action as usize].role,
            Role::Handler { .. }
        );
        let delivers = |m: &Parcel| is_handler && inner.is_noted(m.message, true);
        if declared.consumed.iter().any(delivers) {
            return true;
        }
        let properties = inner.protocol.properties.iter();
        let looks: Vec<_> = properties
            .filter(|q| q.role == PropertyRole::Invariant || q.role == PropertyRole::Sometimes)
            .filter(|q| q.processes.contains(&p))
            .collect();
        locals[p.index()].iter().enumerate().any(|(place, before)| {
            let id = own.outcomes[place * own.count + element - own.first] as usize;
            self.lists[id].iter().any(|outcome| {
                let mut sends = outcome.sends.iter();
                if sends.any(|(_, m)| inner.is_noted(*m, false)) {
                    return true;
                }
                if outcome.local == *before {
                    return false;
                }
                looks.iter().any(|property| {
                    let state = |l: u32| inner.locals.get(l);
                    let Some(shows) = &property.shows else {
                        return true;
                    };
                    let shown = |l: u32| shows(p, (*state(l).state.0).as_any());
                    shown(*before) != shown(outcome.local)
                })
            })
        })
    }

    /// What may still happen from each local state, and what leads out of what is known.
    fn future(&self, own: &Own, locals: &[u32], parcels: &[Parcel], count: usize) -> ProcessTable {
        let mut future: Vec<BitSet> = Vec::new();
        let mut escapes: Vec<BitSet> = Vec::new();
        let mut next: Vec<Vec<usize>> = Vec::new();
        for place in 0..locals.len() {
            let (mut can, mut out) = (BitSet::new(count), BitSet::new(count));
            let mut to = Vec::new();
            for e in 0..own.count {
                let id = own.outcomes[place * own.count + e] as usize;
                if id != 0 {
                    can.insert(own.first + e);
                }
                for outcome in &self.lists[id] {
                    match own.places.get(&outcome.local) {
                        Some(place) => to.push(*place),
                        None => {
                            out.insert(own.first + e);
                        }
                    }
                }
            }
            to.sort_unstable();
            to.dedup();
            future.push(can);
            escapes.push(out);
            next.push(to);
        }
        let inert = self.inert(own, locals, parcels, &next);
        // Until nothing changes: what a successor can, its predecessors can later.
        let mut changed = true;
        while changed {
            changed = false;
            for place in (0..locals.len()).rev() {
                for at in &next[place] {
                    if *at == place {
                        continue;
                    }
                    for of in [&mut future, &mut escapes] {
                        let (one, other) = match place < *at {
                            true => {
                                let (low, high) = of.split_at_mut(*at);
                                (&mut low[place], &high[0])
                            }
                            false => {
                                let (low, high) = of.split_at_mut(place);
                                (&mut high[0], &low[*at])
                            }
                        };
                        if !other.is_subset(one) {
                            one.union_with(other);
                            changed = true;
                        }
                    }
                }
            }
        }
        ProcessTable {
            places: own.places.clone(),
            future,
            escapes,
            parcels: parcels.iter().enumerate().map(|(at, m)| (*m, at)).collect(),
            inert,
            emits: Vec::new(),
        }
    }
}

impl<M: Value> Builder<'_, M> {
    /// Elements that take a message and are not its loss.
    fn takers(&self, own: &Own, parcel: &Parcel) -> Vec<usize> {
        let all = own.first..own.first + own.count;
        let takes = |e: &usize| {
            let declared = &self.elements[*e];
            declared.consumed.contains(parcel)
                && self.inner.actions[declared.action as usize].role != Role::Lose
        };
        all.filter(takes).collect()
    }

    /// For each place, the messages that change nothing in any local state from there on.
    fn inert(
        &self,
        own: &Own,
        locals: &[u32],
        parcels: &[Parcel],
        next: &[Vec<usize>],
    ) -> Vec<BitSet> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); locals.len()];
        for (place, all) in next.iter().enumerate() {
            all.iter().for_each(|to| before[*to].push(place));
        }
        let mut inert = vec![BitSet::new(parcels.len()); locals.len()];
        for (number, parcel) in parcels.iter().enumerate() {
            let takers = self.takers(own, parcel);
            let noted = takers.iter().any(|e| {
                let mut consumed = self.elements[*e].consumed.iter();
                consumed.any(|m| self.inner.is_noted(m.message, true))
            });
            let changes = |place: usize, e: usize| {
                let id = own.outcomes[place * own.count + e - own.first] as usize;
                self.lists[id].iter().any(|o| {
                    let mut sends = o.sends.iter();
                    let tells = sends.any(|(_, m)| self.inner.is_noted(*m, false));
                    o.local != locals[place] || o.is_misuse || noted || tells
                })
            };
            // A quorum takes other messages with it, which may be of use.
            let changes = |place: usize, e: &usize| {
                let id = own.outcomes[place * own.count + *e - own.first];
                changes(place, *e) || id != 0 && self.elements[*e].consumed.len() > 1
            };
            let mut is_inert = vec![true; locals.len()];
            let bad = (0..locals.len()).filter(|place| takers.iter().any(|e| changes(*place, e)));
            let mut open: Vec<usize> = bad.collect();
            open.iter().for_each(|place| is_inert[*place] = false);
            while let Some(place) = open.pop() {
                for earlier in &before[place] {
                    if std::mem::replace(&mut is_inert[*earlier], false) {
                        open.push(*earlier);
                    }
                }
            }
            for (place, is_inert) in is_inert.into_iter().enumerate() {
                inert[place].assign(number, is_inert);
            }
        }
        inert
    }

    /// What is sent by those who take a message.
    fn emits(
        &self,
        own: &Own,
        parcels: &[Parcel],
        processes: &[ProcessTable],
    ) -> Vec<Option<Vec<(usize, usize)>>> {
        let of = |parcel: &Parcel| {
            let mut found = Vec::new();
            for e in self.takers(own, parcel) {
                for place in 0..own.places.len() {
                    let id = own.outcomes[place * own.count + e - own.first] as usize;
                    for (to, message) in self.lists[id].iter().flat_map(|o| &o.sends) {
                        let sent = Parcel {
                            from: self.elements[e].process,
                            message: *message,
                        };
                        let receiver = processes.get(to.index())?;
                        found.push((to.index(), *receiver.parcels.get(&sent)?));
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            Some(found)
        };
        parcels.iter().map(of).collect()
    }
}

/// A local state and what two steps have sent.
type End = (u32, Vec<(Pid, u32)>, Vec<(Pid, u32)>);

/// All choices of messages from different senders; parcels come by sender.
fn quorums(
    fitting: &[Parcel],
    missing: usize,
    chosen: &mut Vec<Parcel>,
    found: &mut Vec<Vec<Parcel>>,
) {
    if found.len() > MOST_ELEMENTS {
        return;
    }
    if missing == 0 {
        found.push(chosen.clone());
        return;
    }
    for (at, parcel) in fitting.iter().enumerate() {
        let rest = &fitting[at + 1..];
        let next = rest.partition_point(|p| p.from == parcel.from);
        chosen.push(*parcel);
        quorums(&rest[next..], missing - 1, chosen, found);
        chosen.pop();
    }
}
