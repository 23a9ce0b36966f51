//! `clostar`: closure that notices what it has covered already.
//!
//! Algorithm 2 (`clo*`) of Evangelista, *Experimenting with stubborn sets on Petri nets*
//! (2023), section 3.2, stated for guards instead of places. Each necessary enabling set has a
//! counter of its transitions that are not yet in the set. When one reaches zero, every
//! disabled transition that may use this enabling set can join without needing anything more,
//! and lowers further counters by joining. A later choice of a scapegoat then adds fewer
//! transitions, or none.

use stubborn_system::Reason;

use crate::closure::Grow;
use crate::growth::{Growth, Policy};
use crate::rows::Row;
use crate::tables::{EnablingSet, Inverse, Tables};
use crate::view::View;

/// Grows sets with counters.
pub(crate) struct CountingGrow<'t> {
    policy: Policy,
    inverse: &'t Inverse,
    /// How many transitions each enabling set has.
    sizes: Vec<u32>,
    /// Enabling sets without transitions: whoever may use one can never fire again.
    empty: Vec<u32>,
    missing: Vec<u32>,
    /// Counters that differ from `sizes`, to be set back.
    touched: Vec<u32>,
    pending: Vec<u32>,
}

impl<'t> CountingGrow<'t> {
    pub(crate) fn new(tables: &Tables, inverse: &'t Inverse, policy: Policy) -> Self {
        let sizes: Vec<u32> = (0..tables.enabling.len())
            .map(|set| tables.enabling.list(set).len() as u32)
            .collect();
        let empty = (0..sizes.len() as u32).filter(|s| sizes[*s as usize] == 0);
        Self {
            policy,
            inverse,
            empty: empty.collect(),
            missing: sizes.clone(),
            sizes,
            touched: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// An enabling set is covered: those that may use it join.
    fn covered(&mut self, into: &mut Growth, view: &mut View<'_>, set: u32) {
        let users = &view.tables.users;
        if users.list(set as usize).is_empty() || !view.is_usable(EnablingSet(set)) {
            return;
        }
        match users.row(set as usize) {
            Row::List(users) => {
                for user in users.iter().filter(|u| !view.is_enabled(**u)) {
                    self.join(into, *user);
                }
            }
            Row::Bits(users) => {
                for (at, users) in users.iter().enumerate() {
                    let new = users & !view.facts.enabled[at] & !into.members()[at];
                    for bit in stubborn_system::bits::ones(new) {
                        self.join(into, (at * 64 + bit) as u32);
                    }
                }
            }
        }
    }

    /// Nothing asked for it, but keeping it out would win nothing.
    fn join(&mut self, into: &mut Growth, user: u32) {
        if into.add_covered(user, Reason::NotExcluded) {
            self.pending.push(user);
        }
    }

    /// Lowers the counters for everything that joined since the last call.
    fn settle(&mut self, into: &mut Growth, view: &mut View<'_>) {
        while let Some(new) = self.pending.pop() {
            for set in self.inverse.sets_with.list(new as usize) {
                let missing = &mut self.missing[*set as usize];
                *missing -= 1;
                let done = *missing == 0;
                self.touched.push(*set);
                if done {
                    self.covered(into, view, *set);
                }
            }
        }
    }

    /// Puts the members that the growing set got by itself on the list of what joined.
    fn collect(&mut self, into: &Growth, before: (usize, usize)) {
        self.pending.extend(&into.enabled[before.0..]);
        self.pending.extend(&into.disabled[before.1..]);
    }
}

impl Grow for CountingGrow<'_> {
    fn grow(&mut self, into: &mut Growth, view: &mut View<'_>, start: u32, limit: usize) -> bool {
        for set in self.touched.drain(..) {
            self.missing[set as usize] = self.sizes[set as usize];
        }
        self.pending.clear();
        into.start(view, start);
        self.collect(into, (0, 0));
        for at in 0..self.empty.len() {
            self.covered(into, view, self.empty[at]);
        }
        self.settle(into, view);
        loop {
            if into.enabled.len() > limit {
                return false;
            }
            let before = (into.enabled.len(), into.disabled.len());
            let Some(more) = into.step(view, self.policy) else {
                return true;
            };
            if !more {
                return into.enabled.len() <= limit;
            }
            self.collect(into, before);
            self.settle(into, view);
        }
    }
}
