//! What handlers do with everything that was met, and the relations that follow.

use rapidhash::RapidHashMap;
use stubborn_system::BitSet;

use super::Met;
use super::effort::Effort;
use super::inert::Traces;
use super::rows::{Placed, Rows};
use crate::Network;
use crate::handler::Takes;
use crate::model::{Inner, Role};
use crate::moves::takes_kind;
use crate::network::Parcel;
use crate::property::PropertyRole;
use crate::value::{Local, Pid};

/// Combinations of local states and elements of one process; more are not worth it.
const MOST_COMBINATIONS: usize = 4_000_000;
/// Elements of all processes.
const MOST_ELEMENTS: usize = 4_000;

/// What it takes to run a handler and to keep what it does.
const STEPS_OF_A_HANDLER: usize = 64;

/// A step of a process, without its local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Element {
    pub(super) action: u32,
    pub(super) process: Pid,
    pub(super) consumed: Box<[Parcel]>,
}

impl Element {
    /// The action of what is no element, but fills a word.
    const PADDING: u32 = u32::MAX;

    fn is_padding(&self) -> bool {
        self.action == Self::PADDING
    }
}

/// What an element does in a local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outcome {
    pub(super) local: u32,
    /// Numbers of messages sent, in order.
    pub(super) sends: Vec<(Pid, u32)>,
    pub(super) is_misuse: bool,
}

/// Several outcomes, interned; 0 stands for none.
type OutcomesId = u32;

/// One process.
pub(super) struct Own {
    /// Its elements, as a range of all.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Places of local states.
    pub(super) places: RapidHashMap<u32, usize>,
    /// For each place, and each element.
    pub(super) outcomes: Vec<OutcomesId>,
}

/// See the [module](self).
pub(crate) struct Tables {
    /// Those of a process begin a word of the sets that they are in; what is between is
    /// [padding](Element::PADDING).
    pub(super) elements: Vec<Element>,
    pub(super) processes: Vec<ProcessTable>,
    pub(super) crashes: BitSet,
    pub(super) recoveries: BitSet,
    /// Elements that take several messages.
    pub(super) quorums: BitSet,
    /// How much was met when they were made.
    pub(crate) size: usize,
}

/// What is looked up for a process in a state. Sets of elements are sets of those of the process.
pub(super) struct ProcessTable {
    /// The word in which its elements begin.
    pub(super) first_word: usize,
    /// The place of each local state, by number.
    places: Vec<u32>,
    /// For each place, elements that are possible there if their messages are.
    pub(super) open: Rows,
    /// For each place, elements that may lead to what was never met.
    pub(super) escapes: Rows,
    /// For each element, those of the same action.
    pub(super) siblings: Rows,
    /// For each place and element, those that do not commute with it from there on.
    pub(super) conflicts: Placed,
    /// For each place, elements that may change what a property looks at, there or later.
    pub(super) visible: Rows,
    /// For each place and element, those that may open it.
    pub(super) openers: Placed,
    /// For each place and message of `sent`, those that may send it.
    pub(super) senders: Placed,
    /// For each element, the numbers of its messages in `senders` of who sends them; `None` for
    /// what nobody sends.
    pub(super) sent: Vec<Box<[Option<u32>]>>,
    /// Numbers of messages for the process.
    pub(super) parcels: RapidHashMap<Parcel, usize>,
    /// For each of them, elements that take it and no other.
    pub(super) takers: Vec<Vec<u32>>,
    /// Elements that take several.
    pub(super) quorums: Vec<u32>,
    /// The set of those that take none.
    pub(super) unconditional: Box<[u64]>,
    /// For each place, messages that change nothing in the process any more.
    pub(super) inert: Rows,
    /// For each message, what it leads to.
    pub(super) traces: Vec<Traces>,
    /// For each place, elements of all processes whose only message may still come from there;
    /// `None` if that is too much to be kept.
    pub(super) brings: Option<Rows>,
}

impl ProcessTable {
    /// Where a local state is; `None` if it was not met.
    #[inline]
    pub(super) fn place(&self, local: u32) -> Option<usize> {
        let place = self.places.get(local as usize).copied();
        place.filter(|p| *p != NOWHERE).map(|p| p as usize)
    }
}

/// The place of a local state that was not met.
const NOWHERE: u32 = u32::MAX;

pub(super) struct Builder<'i, 'b> {
    pub(super) inner: &'i Inner,
    pub(super) lists: Vec<Vec<Outcome>>,
    numbers: RapidHashMap<Vec<Outcome>, OutcomesId>,
    /// What elements do in local states that were not met.
    others: RapidHashMap<(u32, u32), OutcomesId>,
    pub(super) elements: Vec<Element>,
    /// One for each action.
    left_out: &'i [bool],
    pub(super) effort: &'i mut Effort<'b>,
}

impl Tables {
    /// From everything that was met; `None` if that is too much for this effort, or at all.
    /// Some actions are left out.
    pub(crate) fn new(
        inner: &Inner,
        met: &Met,
        left_out: &[bool],
        effort: &mut Effort<'_>,
    ) -> Option<Self> {
        let mut actions = inner.actions.iter().zip(left_out);
        let loses = actions.any(|(action, left_out)| action.role == Role::Lose && !left_out);
        if loses && inner.protocol.network == Network::Duplicating {
            // What is lost and sent again is there; what is sent again and lost is not.
            return None;
        }
        let mut builder = Builder {
            inner,
            lists: vec![Vec::new()],
            numbers: RapidHashMap::default(),
            others: RapidHashMap::default(),
            elements: Vec::new(),
            left_out,
            effort,
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
            builder.fill_word();
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

impl Builder<'_, '_> {
    fn fill_word(&mut self) {
        let words = self.elements.len().div_ceil(64);
        self.elements.resize_with(64 * words, || Element {
            action: Element::PADDING,
            process: Pid(0),
            consumed: Box::default(),
        });
    }

    /// All elements of a process.
    fn add_elements(&mut self, process: Pid, parcels: &[Parcel]) -> Option<()> {
        let inner = self.inner;
        for (number, action) in inner.actions.iter().enumerate() {
            if action.process != process || self.left_out[number] {
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
        self.effort.spend(STEPS_OF_A_HANDLER)?;
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
            Role::Recover => match inner.recovered(declared.process, state) {
                Some(after) => still(after),
                None => Vec::new(),
            },
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
    pub(super) fn outcomes(&mut self, own: &Own, local: u32, element: usize) -> Option<OutcomesId> {
        self.effort.spend(4)?;
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
    /// stays possible, sends the same, both orders lead to the same local states, and any outcome of the
    /// one and any of the other meet again in one of these.
    pub(super) fn commute(&mut self, own: &Own, place: usize, a: usize, b: usize) -> Option<bool> {
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
        let one = self.ends_of_order(own, place, (a, b), false)?;
        let other = self.ends_of_order(own, place, (b, a), true)?;
        let (Some(one), Some(other)) = (one, other) else {
            return Some(false);
        };
        self.effort.spend(one.len() * other.len())?;
        let meet = |x: &Vec<End>, y: &Vec<End>| x.iter().any(|end| y.binary_search(end).is_ok());
        let all_meet = one.iter().all(|x| other.iter().all(|y| meet(x, y)));
        let all = |ends: Vec<Vec<End>>| {
            let mut all = ends.concat();
            all.sort_unstable();
            all.dedup();
            all
        };
        Some(all_meet && all(one) == all(other))
    }

    /// For each outcome of an element in a local state, where it and another element end then; `None`
    /// within if that may not be possible, or is misuse.
    fn ends_of_order(
        &mut self,
        own: &Own,
        place: usize,
        (first, second): (usize, usize),
        turned: bool,
    ) -> Option<Option<Vec<Vec<End>>>> {
        let outcomes = own.outcomes[place * own.count + first - own.first] as usize;
        let mut all = Vec::new();
        for before in self.lists[outcomes].clone() {
            let later = self.outcomes(own, before.local, second)? as usize;
            let later = &self.lists[later];
            if before.is_misuse || later.is_empty() || later.iter().any(|after| after.is_misuse) {
                return Some(None);
            }
            let end = |after: &Outcome| {
                let (mine, its) = (before.sends.clone(), after.sends.clone());
                match turned {
                    false => (after.local, mine, its),
                    true => (after.local, its, mine),
                }
            };
            let mut ends: Vec<End> = later.iter().map(end).collect();
            ends.sort_unstable();
            ends.dedup();
            all.push(ends);
        }
        Some(Some(all))
    }

    fn finish(
        mut self,
        owns: &[Own],
        locals: &[Vec<u32>],
        parcels: &[Vec<Parcel>],
        size: usize,
    ) -> Option<Tables> {
        let count = self.elements.len();
        let mut processes = Vec::new();
        let mut numbers = Vec::new();
        for (p, own) in owns.iter().enumerate() {
            let ways = self.ways(own)?;
            let (conflicts, visible) = self.conflicts(own, &ways, &locals[p])?;
            let openers = self.openers(own, &ways)?;
            let (sent, senders) = self.senders(own, &ways)?;
            numbers.push(sent);
            let table = self.table(own, &locals[p], &parcels[p])?;
            processes.push(ProcessTable {
                conflicts,
                visible,
                openers,
                senders,
                ..table
            });
        }
        for (p, own) in owns.iter().enumerate() {
            let to = Pid(p as u16);
            let number = |m: &Parcel| numbers[m.from.index()].get(&(to, m.message)).copied();
            let elements = self.elements[own.first..][..own.count].iter();
            let sent = elements.map(|e| e.consumed.iter().map(number).collect());
            processes[p].sent = sent.collect();
        }
        self.trace(owns, parcels, &mut processes)?;
        let brings = self.brings(&processes, locals)?;
        for (table, brings) in processes.iter_mut().zip(brings) {
            table.brings = brings;
        }
        let by = |wanted: Role| -> BitSet {
            let mut found = BitSet::new(count);
            for (at, e) in self.elements.iter().enumerate() {
                if !e.is_padding() && self.inner.actions[e.action as usize].role == wanted {
                    found.insert(at);
                }
            }
            found
        };
        let mut quorums = BitSet::new(count);
        let several = |e: &Element| e.consumed.len() > 1;
        let numbers = (0..count).filter(|at| several(&self.elements[*at]));
        numbers.for_each(|at| {
            quorums.insert(at);
        });
        Some(Tables {
            quorums,
            crashes: by(Role::Crash),
            recoveries: by(Role::Recover),
            processes,
            size,
            elements: self.elements,
        })
    }

    /// For each process and place, elements whose only message is still to come from there.
    fn brings(
        &mut self,
        processes: &[ProcessTable],
        locals: &[Vec<u32>],
    ) -> Option<Vec<Option<Rows>>> {
        let count = self.elements.len();
        let mut found: Vec<Option<Rows>> = locals
            .iter()
            .map(|places| {
                let fits = places.len() * count.div_ceil(64) <= MOST_COMBINATIONS;
                fits.then(|| Rows::new(places.len(), count))
            })
            .collect();
        for (at, element) in self.elements.iter().enumerate() {
            let [message] = element.consumed.as_ref() else {
                continue;
            };
            let receiver = &processes[element.process.index()];
            let Some(number) = receiver.sent[at - 64 * receiver.first_word][0] else {
                continue;
            };
            let from = message.from.index();
            let Some(rows) = &mut found[from] else {
                continue;
            };
            self.effort.spend(2 * locals[from].len())?;
            let senders = &processes[from].senders;
            for place in 0..locals[from].len() {
                if senders.row(place, number as usize).iter().any(|w| *w != 0) {
                    rows.insert(place, at);
                }
            }
        }
        Some(found)
    }

    /// Places at which an element may change what a property looks at.
    pub(super) fn visible_at(&self, own: &Own, locals: &[u32], element: usize) -> Vec<bool> {
        let inner = self.inner;
        let declared = &self.elements[element];
        let p = declared.process;
        let is_handler = matches!(
            inner.actions[declared.action as usize].role,
            Role::Handler { .. }
        );
        let delivers = |m: &Parcel| is_handler && inner.is_noted(m.message, true);
        if declared.consumed.iter().any(delivers) {
            return vec![true; locals.len()];
        }
        let properties = inner.protocol.properties.iter();
        let looks: Vec<_> = properties
            .filter(|q| q.role == PropertyRole::Invariant || q.role == PropertyRole::Sometimes)
            .filter(|q| q.processes.contains(&p))
            .collect();
        let is_visible = |(place, before): (usize, &u32)| {
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
        };
        locals.iter().enumerate().map(is_visible).collect()
    }

    /// What is possible in each local state, what leads out of what is known, and what takes which
    /// message.
    fn table(&mut self, own: &Own, locals: &[u32], parcels: &[Parcel]) -> Option<ProcessTable> {
        let mut open = Rows::new(locals.len(), own.count);
        let mut escapes = Rows::new(locals.len(), own.count);
        let mut next: Vec<Vec<usize>> = Vec::new();
        for place in 0..locals.len() {
            let mut to = Vec::new();
            for e in 0..own.count {
                let id = own.outcomes[place * own.count + e] as usize;
                if id != 0 {
                    open.insert(place, e);
                }
                for outcome in &self.lists[id] {
                    match own.places.get(&outcome.local) {
                        Some(place) => to.push(*place),
                        None => escapes.insert(place, e),
                    }
                }
            }
            to.sort_unstable();
            to.dedup();
            next.push(to);
        }
        let inert = self.inert(own, locals, parcels, &next)?;
        // Until nothing changes: where a successor leads to, its predecessors do later.
        let mut changed = true;
        while changed {
            changed = false;
            for place in (0..locals.len()).rev() {
                self.effort.spend(next[place].len() * (1 + escapes.words))?;
                for at in &next[place] {
                    changed |= escapes.add(place, *at);
                }
            }
        }
        let numbers: RapidHashMap<Parcel, usize> =
            parcels.iter().enumerate().map(|(at, m)| (*m, at)).collect();
        let elements = &self.elements[own.first..][..own.count];
        self.effort.spend(own.count * (1 + open.words))?;
        let mut siblings = Rows::new(own.count, own.count);
        for (a, first) in elements.iter().enumerate() {
            // Those of an action come one after the other.
            for (b, second) in elements.iter().enumerate().skip(a) {
                if first.action != second.action {
                    break;
                }
                siblings.insert(a, b);
                siblings.insert(b, a);
            }
        }
        let mut takers = vec![Vec::new(); parcels.len()];
        let mut quorums = Vec::new();
        let mut unconditional = vec![0; open.words];
        for (e, element) in elements.iter().enumerate() {
            match element.consumed.as_ref() {
                [] => unconditional[e / 64] |= 1 << (e % 64),
                [one] => {
                    if let Some(number) = numbers.get(one) {
                        takers[*number].push(e as u32);
                    }
                }
                _ => quorums.push(e as u32),
            }
        }
        let highest = locals.last().map_or(0, |l| *l as usize + 1);
        let mut places = vec![NOWHERE; highest];
        for (place, local) in locals.iter().enumerate() {
            places[*local as usize] = place as u32;
        }
        Some(ProcessTable {
            first_word: own.first / 64,
            places,
            open,
            escapes,
            siblings,
            conflicts: Placed::default(),
            visible: Rows::new(0, 0),
            openers: Placed::default(),
            senders: Placed::default(),
            sent: Vec::new(),
            parcels: numbers,
            takers,
            quorums,
            unconditional: unconditional.into(),
            inert,
            traces: Vec::new(),
            brings: None,
        })
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
