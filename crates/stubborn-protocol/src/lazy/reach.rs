//! Relations between the elements of a process, from each of its local states on.
//!
//! What two elements do to each other somewhere does not matter where the process never comes any
//! more: a server with a newer value answers the same whether it hears of an old one before or
//! afterwards. So relations are those that hold in some local state that can still be reached,
//! and by ways that matter:
//!
//! - an element that is possible stays so until something happens that does not commute with it, and
//!   that is in the set; so its conflicts are looked for along steps that commute with it;
//! - one that is closed is opened at the end of a way along which it is closed;
//! - a message that is not there is sent at the end of a way along which it is not sent.

use rapidhash::RapidHashMap;

use super::effort::Effort;
use super::rows::{Placed, PlacedBuilder, Rows};
use super::tables::{Builder, Own};
use crate::model::Role;
use crate::value::Pid;

/// A step from a place to another one.
pub(super) struct Way {
    element: u32,
    /// Which of its outcomes.
    outcome: u32,
    to: u32,
}

/// Numbers of what a process sends: receivers and messages.
type Sent = RapidHashMap<(Pid, u32), u32>;

/// Adds to each place what lies ahead of it by ways that matter, until nothing changes; `None` if
/// that takes too long. `add` gives a place what another one has, and says whether that is new.
fn carry_back(
    effort: &mut Effort<'_>,
    words: usize,
    ways: &[Vec<Way>],
    matters: impl Fn(usize, &Way) -> bool,
    mut add: impl FnMut(usize, usize) -> bool,
) -> Option<()> {
    let mut changed = true;
    while changed {
        changed = false;
        for (place, from) in ways.iter().enumerate().rev() {
            effort.spend(1 + from.len() * (1 + words))?;
            for way in from.iter().filter(|way| matters(place, way)) {
                changed |= add(place, way.to as usize);
            }
        }
    }
    Some(())
}

impl Builder<'_, '_> {
    /// For each place, the steps to other places.
    pub(super) fn ways(&mut self, own: &Own) -> Option<Vec<Vec<Way>>> {
        let mut ways: Vec<Vec<Way>> = Vec::new();
        for place in 0..own.places.len() {
            self.effort.spend(own.count)?;
            let mut from = Vec::new();
            for element in 0..own.count {
                let id = own.outcomes[place * own.count + element] as usize;
                for (outcome, after) in self.lists[id].iter().enumerate() {
                    match own.places.get(&after.local) {
                        Some(to) if *to != place => from.push(Way {
                            element: element as u32,
                            outcome: outcome as u32,
                            to: *to as u32,
                        }),
                        _ => {}
                    }
                }
            }
            ways.push(from);
        }
        Some(ways)
    }

    /// For each place and element, those that take its message or do not commute with it, and
    /// for each place, the elements that are visible.
    pub(super) fn conflicts(
        &mut self,
        own: &Own,
        ways: &[Vec<Way>],
        locals: &[u32],
    ) -> Option<(Placed, Rows)> {
        let inner = self.inner;
        let places = own.places.len();
        let loses: Vec<bool> = self.elements[own.first..][..own.count]
            .iter()
            .map(|e| inner.actions[e.action as usize].role == Role::Lose)
            .collect();
        // For each element, places and what it does not commute with there.
        let mut pairs: Vec<Vec<(u32, u32)>> = vec![Vec::new(); own.count];
        let mut rivals = Rows::new(own.count, own.count);
        for a in 0..own.count {
            self.effort.spend(4 * (own.count - a))?;
            for b in a + 1..own.count {
                let consumes = inner.protocol.network.consumes() || loses[a] || loses[b];
                let of = |e: usize| &self.elements[own.first + e].consumed;
                if consumes && of(a).iter().any(|m| of(b).contains(m)) {
                    rivals.insert(a, b);
                }
            }
        }
        let mut open = Vec::new();
        for place in 0..places {
            let is_open = |e: &usize| own.outcomes[place * own.count + e] != 0;
            open.clear();
            open.extend((0..own.count).filter(is_open));
            for (at, a) in open.iter().copied().enumerate() {
                self.effort.spend(4 * (open.len() - at))?;
                for b in open[at + 1..].iter().copied() {
                    if rivals.contains(a, b)
                        || !loses[a]
                            && !loses[b]
                            && !self.commute(own, place, own.first + a, own.first + b)?
                    {
                        pairs[a].push((place as u32, b as u32));
                        pairs[b].push((place as u32, a as u32));
                    }
                }
            }
        }
        let mut found = PlacedBuilder::new(places, own.count, own.count);
        let mut visible = Rows::new(places, own.count);
        let mut here = Rows::new(places, own.count);
        for (a, pairs) in pairs.iter().enumerate() {
            here.clear();
            self.effort.spend(2 * places * here.words)?;
            for (place, b) in pairs {
                here.insert(*place as usize, *b as usize);
            }
            let mut all = here.clone();
            self.effort.spend(8 * places)?;
            let mut seen = self.visible_at(own, locals, own.first + a);
            let matters = |place: usize, way: &Way| {
                let b = way.element as usize;
                own.outcomes[place * own.count + a] != 0 && b != a && !here.contains(place, b)
            };
            carry_back(self.effort, all.words, ways, matters, |place, to| {
                let shows = seen[to] && !std::mem::replace(&mut seen[place], true);
                all.add(place, to) | shows
            })?;
            found.add(a, &all);
            let places = seen.iter().enumerate().filter(|(_, seen)| **seen);
            places.for_each(|(place, _)| visible.insert(place, a));
        }
        Some((found.finish(), visible))
    }

    /// For each place and element that is closed there, those that may open it.
    pub(super) fn openers(&mut self, own: &Own, ways: &[Vec<Way>]) -> Option<Placed> {
        let places = own.places.len();
        let mut found = PlacedBuilder::new(places, own.count, own.count);
        let mut rows = Rows::new(places, own.count);
        for e in 0..own.count {
            rows.clear();
            self.effort.spend(2 * places * rows.words)?;
            let is_open = |place: usize| own.outcomes[place * own.count + e] != 0;
            for place in (0..places).filter(|place| !is_open(*place)) {
                self.effort.spend(own.count)?;
                for v in 0..own.count {
                    let id = own.outcomes[place * own.count + v] as usize;
                    for number in 0..self.lists[id].len() {
                        let after = self.lists[id][number].local;
                        if self.outcomes(own, after, own.first + e)? != 0 {
                            rows.insert(place, v);
                        }
                    }
                }
            }
            let matters = |place: usize, way: &Way| !is_open(place) && !is_open(way.to as usize);
            carry_back(self.effort, rows.words, ways, matters, |place, to| {
                rows.add(place, to)
            })?;
            found.add(e, &rows);
        }
        Some(found.finish())
    }

    /// What a process sends, and for each place and message, who may send it.
    pub(super) fn senders(&mut self, own: &Own, ways: &[Vec<Way>]) -> Option<(Sent, Placed)> {
        let places = own.places.len();
        let mut sent = Sent::default();
        let mut who: Vec<Vec<(usize, usize)>> = Vec::new();
        for place in 0..places {
            for e in 0..own.count {
                let id = own.outcomes[place * own.count + e] as usize;
                for message in self.lists[id].iter().flat_map(|o| &o.sends) {
                    let number = *sent.entry(*message).or_insert(who.len() as u32) as usize;
                    if number == who.len() {
                        who.push(Vec::new());
                    }
                    who[number].push((place, e));
                }
            }
        }
        let mut found = PlacedBuilder::new(places, who.len(), own.count);
        let mut rows = Rows::new(places, own.count);
        for (message, number) in &sent {
            rows.clear();
            self.effort.spend(2 * places * rows.words)?;
            for (place, e) in &who[*number as usize] {
                rows.insert(*place, *e);
            }
            let lists = &self.lists;
            let matters = |place: usize, way: &Way| {
                let at = place * own.count + way.element as usize;
                let outcomes = &lists[own.outcomes[at] as usize];
                !outcomes[way.outcome as usize].sends.contains(message)
            };
            carry_back(self.effort, rows.words, ways, matters, |place, to| {
                rows.add(place, to)
            })?;
            found.add(*number as usize, &rows);
        }
        Some((sent, found.finish()))
    }
}
