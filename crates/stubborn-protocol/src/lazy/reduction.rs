//! The sets, behind the interface that searches use.

use std::sync::Arc;

use rapidhash::RapidHashMap;
use stubborn_system::{BitSet, Expansion, Reason, Reducer, Reduction, SetMember, TransitionId};

use super::tables::Tables;
use crate::Network;
use crate::model::{Inner, Role};
use crate::network::Parcel;
use crate::value::{Pid, Value};

/// See the [module](super).
pub(crate) struct MessageReduction<'m, M> {
    inner: &'m Inner<M>,
    tables: Arc<Tables>,
}

impl<'m, M: Value> MessageReduction<'m, M> {
    pub(crate) fn new(inner: &'m Inner<M>, tables: Arc<Tables>) -> Self {
        Self { inner, tables }
    }
}

impl<M: Value> Reduction for MessageReduction<'_, M> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        let count = self.tables.elements.len();
        Box::new(MessageReducer {
            inner: self.inner,
            tables: &self.tables,
            known: RapidHashMap::default(),
            places: Vec::new(),
            enabled: BitSet::new(count),
            tried: BitSet::new(count),
            set: BitSet::new(count),
            open: Vec::new(),
            best: Vec::new(),
        })
    }

    fn name(&self) -> String {
        "messages".into()
    }
}

/// Elements that are possible with a local state and an inbox; `None` if one is not known.
type Possible = Option<Arc<[u32]>>;

/// Entries of the table at which it is emptied.
const MOST_KNOWN: usize = 1 << 20;

struct MessageReducer<'m, M> {
    inner: &'m Inner<M>,
    tables: &'m Tables,
    known: RapidHashMap<(u16, u32, u32), Possible>,
    /// Where each process is in the tables.
    places: Vec<usize>,
    enabled: BitSet,
    /// Enabled ones whose closure is known: one that contains it is not better.
    tried: BitSet,
    set: BitSet,
    open: Vec<u32>,
    best: Vec<u32>,
}

impl<M: Value> MessageReducer<'_, M> {
    fn possible(&mut self, process: usize, local: u32, inbox: u32) -> Possible {
        let key = (process as u16, local, inbox);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let is_known = self.tables.processes[process].places.contains_key(&local);
        let moves = self.inner.moves(Pid(process as u16), local, inbox);
        let element = |m: &crate::moves::Move| {
            let key = (m.action, m.consumed.as_slice().into());
            self.tables.by_step.get(&key).copied()
        };
        let found: Option<Vec<u32>> = moves.iter().map(element).collect();
        let found = found.filter(|_| is_known).map(|mut all| {
            all.dedup();
            Arc::from(all)
        });
        self.known.insert(key, found.clone());
        found
    }

    fn add(&mut self, element: u32) {
        if self.set.insert(element as usize) {
            self.open.push(element);
        }
    }

    /// The closure of an enabled element; the number of enabled ones, if all are invisible and
    /// there are fewer than `most`.
    fn close(&mut self, state: &[u32], seed: u32, most: usize) -> Option<usize> {
        let tables = self.tables;
        self.set.clear();
        self.open.clear();
        self.add(seed);
        let mut count = 0;
        while let Some(element) = self.open.pop() {
            let at = element as usize;
            let declared = &tables.elements[at];
            let p = declared.process.index();
            let own = &tables.processes[p];
            let place = self.places[p];
            if self.enabled.contains(at) {
                count += 1;
                if tables.visible.contains(at) || self.tried.contains(at) || count >= most {
                    return None;
                }
                for other in &tables.conflicts[at] {
                    if own.future[place].contains(*other as usize) {
                        self.add(*other);
                    }
                }
                for other in own.escapes[place].iter() {
                    self.add(other as u32);
                }
                if self.role(element) == &Role::Crash {
                    for other in &tables.crashes {
                        self.add(*other);
                    }
                }
                continue;
            }
            self.wait(state, element, place);
        }
        Some(count)
    }

    fn role(&self, element: u32) -> &Role {
        let action = self.tables.elements[element as usize].action;
        &self.inner.actions[action as usize].role
    }

    /// Adds what a disabled element waits for.
    fn wait(&mut self, state: &[u32], element: u32, place: usize) {
        let tables = self.tables;
        let declared = &tables.elements[element as usize];
        let p = declared.process;
        let own = &tables.processes[p.index()];
        let inbox = self.inner.inboxes.get(state[2 * p.index() + 1]);
        let missing = declared.consumed.iter().position(|m| !inbox.contains(m));
        if let Some(missing) = missing {
            let q = declared.consumed[missing].from.index();
            let future = &tables.processes[q].future[self.places[q]];
            for sender in &tables.senders[element as usize][missing] {
                if future.contains(*sender as usize) {
                    self.add(*sender);
                }
            }
            return;
        }
        if self.inner.protocol.network == Network::Ordered
            && let Some(covered) = declared.consumed.iter().find(|m| !is_first(inbox, m))
        {
            // Whoever takes what lies before it.
            let head = inbox.iter().find(|m| m.from == covered.from);
            let all = tables.elements.iter().enumerate();
            let takers = all.filter(|(_, e)| e.process == p);
            for (at, taker) in takers {
                if head.is_some_and(|head| taker.consumed.contains(head)) {
                    self.add(at as u32);
                }
            }
            return;
        }
        if self.role(element) == &Role::Crash && !self.inner.local(state, p).crashed {
            // There is no crash left; somebody may give one back.
            if self.inner.protocol.crashes_return {
                for other in &tables.recoveries {
                    self.add(*other);
                }
            }
            return;
        }
        for opener in &tables.openers[element as usize] {
            if own.future[place].contains(*opener as usize) {
                self.add(*opener);
            }
        }
    }
}

/// Whether a message is the next one of its sender.
fn is_first(inbox: &[Parcel], parcel: &Parcel) -> bool {
    let first = inbox.iter().find(|m| m.from == parcel.from);
    first == Some(parcel)
}

impl<M: Value> Reducer for MessageReducer<'_, M> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        let keep_all = |kept: &mut BitSet, expansion: &Expansion<'_>| {
            expansion.enabled().for_each(|t| {
                kept.insert(t.index());
            });
            false
        };
        let state = expansion.state;
        self.enabled.clear();
        self.places.clear();
        let mut seeds = Vec::new();
        for p in 0..self.tables.processes.len() {
            let Some(possible) = self.possible(p, state[2 * p], state[2 * p + 1]) else {
                return keep_all(kept, expansion);
            };
            let place = self.tables.processes[p].places.get(&state[2 * p]);
            self.places.push(place.copied().unwrap_or_default());
            for element in possible.iter() {
                let is_crash = self.role(*element) == &Role::Crash;
                if is_crash && state[self.inner.extra_word] == 0 {
                    continue;
                }
                if self.enabled.insert(*element as usize) {
                    seeds.push(*element);
                }
            }
        }
        self.best.clear();
        self.tried.clear();
        let mut least = seeds.len();
        for seed in seeds {
            if self.tables.visible.contains(seed as usize) {
                continue;
            }
            if let Some(count) = self.close(state, seed, least) {
                least = count;
                self.best.clear();
                let members = self.set.iter().map(|e| e as u32);
                let enabled = |e: &u32| self.enabled.contains(*e as usize);
                self.best.extend(members.filter(enabled));
                if count == 1 {
                    break;
                }
            }
            self.tried.insert(seed as usize);
        }
        if self.best.is_empty() {
            return keep_all(kept, expansion);
        }
        for element in &self.best {
            kept.insert(self.tables.elements[*element as usize].action as usize);
        }
        expansion.enabled().any(|t| !kept.contains(t.index()))
    }

    fn last_set(&self) -> Vec<SetMember> {
        let member = |e: &u32| SetMember {
            transition: TransitionId::new(self.tables.elements[*e as usize].action as usize),
            reason: Reason::NotExcluded,
        };
        self.best.iter().map(member).collect()
    }
}
