//! `deletion`: start from all transitions and delete as many enabled ones as possible.
//!
//! Algorithm 2 of Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order reduction*
//! (2014), with the optimisations of its section 6. The result is minimal: no set that
//! satisfies lemma 1 there has fewer of the same enabled transitions (theorem 1). The order of
//! deletion is left open; its strategies are those of Evangelista, *Experimenting with stubborn
//! sets on Petri nets* (2023), section 3.2, of which `max_e` and `max_f` did best there.
//!
//! Two overlapping sets are maintained: keys, whose do-not-accord row is in the set, and
//! others, which are disabled with a complete enabling set or, in weak sets, enabled with their
//! do-not-left-accord row in the set. What leaves takes with it whatever relied on it. An
//! attempt that leaves no key is undone, and its transition is not tried again: sets only get
//! smaller, so it would fail again (optimisations 1 and 2); it ends as soon as no key is left
//! (3). An enabling set is *broken* from its first missing transition on, and a disabled
//! transition leaves when all it may use are broken (4; a bit for each set instead of a counter
//! for each transition, because few transitions are ever asked).

use stubborn_system::{BitSet, Reason, SetMember, TransitionId};

use crate::algorithm::SetAlgorithm;
use crate::closure::starts;
use crate::config::{Delete, Settings};
use crate::minimise::Minimiser;
use crate::rows::{Row, has, ones_of, put, take};
use crate::tables::{EnablingSet, Inverse, Tables};
use crate::view::View;

/// See the [module](self).
pub(crate) struct Deletion<'t> {
    inverse: &'t Inverse,
    weak: bool,
    strategy: Delete,
    minimiser: Option<Minimiser>,
    seed: u64,
    /// Enabled members whose do-not-accord row is in the set.
    pub(crate) keys: Vec<u64>,
    /// Members that are disabled, and in weak sets enabled ones that can move left.
    pub(crate) others: Vec<u64>,
    /// Enabling sets that miss a transition.
    broken: Vec<u64>,
    /// Transitions that cannot leave.
    stuck: Vec<u64>,
    /// Transitions that may serve as the key that is needed.
    eligible: Vec<u64>,
    eligible_left: usize,
    /// Removed from keys, from others, and broken, in this attempt.
    undo: Undo,
    leaving: Vec<u32>,
    /// Enabled transitions that left in this attempt.
    gone: Vec<u32>,
    order: Vec<u32>,
    /// Whether the last set is anything but the set of all transitions.
    found: bool,
}

#[derive(Debug, Default)]
struct Undo {
    keys: Vec<u32>,
    others: Vec<u32>,
    broken: Vec<u32>,
}

impl<'t> Deletion<'t> {
    pub(crate) fn new(tables: &Tables, inverse: &'t Inverse, settings: &Settings) -> Self {
        let bits = || vec![0; tables.words];
        Self {
            inverse,
            weak: settings.weak,
            strategy: settings.delete,
            minimiser: settings.minimise.then(Minimiser::default),
            seed: settings.seed,
            keys: bits(),
            others: bits(),
            broken: vec![0; 2 * tables.half / 64],
            stuck: bits(),
            eligible: bits(),
            eligible_left: 0,
            undo: Undo::default(),
            leaving: Vec::new(),
            gone: Vec::new(),
            order: Vec::new(),
            found: false,
        }
    }

    fn note_eligible(&mut self, view: &View<'_>) {
        starts(view, &mut self.order);
        self.eligible.fill(0);
        for t in &self.order {
            put(&mut self.eligible, *t);
        }
    }

    /// Starts from the set of all transitions, except those that are disabled although all
    /// their guards hold: nothing but the full set has an enabling set for those. False if
    /// no key is left then.
    pub(crate) fn start_from_all(&mut self, view: &mut View<'_>) -> bool {
        self.note_eligible(view);
        self.keys.copy_from_slice(&view.facts.enabled);
        self.others.fill(!0);
        if let Some(last) = self.others.last_mut()
            && !view.tables.transitions.is_multiple_of(64)
        {
            *last = (1 << (view.tables.transitions % 64)) - 1;
        }
        if !self.weak {
            for (others, enabled) in self.others.iter_mut().zip(&view.facts.enabled) {
                *others &= !enabled;
            }
        }
        self.broken.fill(0);
        self.stuck.fill(0);
        self.eligible_left = self.order.len();
        let tables = view.tables;
        for t in &tables.low_priority {
            if !view.is_enabled(*t) && has(&self.others, *t) {
                let options = tables.options.list(*t as usize);
                let usable = |o: &u32| view.is_usable(EnablingSet(*o));
                if !options.iter().any(usable) && !self.attempt(view, *t) {
                    return false;
                }
            }
        }
        true
    }

    /// Starts from a set that satisfies lemma 1.
    pub(crate) fn start_from(&mut self, view: &mut View<'_>, contains: impl Fn(u32) -> bool) {
        self.note_eligible(view);
        let tables = view.tables;
        self.keys.fill(0);
        self.others.fill(0);
        self.broken.fill(0);
        self.stuck.fill(0);
        for t in 0..tables.transitions as u32 {
            if !contains(t) {
                for set in self.inverse.sets_with.list(t as usize) {
                    put(&mut self.broken, *set);
                }
            } else if !view.is_enabled(t) {
                put(&mut self.others, t);
            } else if !self.weak {
                put(&mut self.keys, t);
            } else {
                if tables.accord.list(t as usize).iter().all(|u| contains(*u)) {
                    put(&mut self.keys, t);
                }
                if tables.left.list(t as usize).iter().all(|u| contains(*u)) {
                    put(&mut self.others, t);
                }
            }
        }
        let keys = self.keys.iter().zip(&self.eligible);
        self.eligible_left = keys.map(|(k, e)| (k & e).count_ones() as usize).sum();
    }

    /// Whether a transition is in the set.
    pub(crate) fn contains(&self, t: u32) -> bool {
        has(&self.keys, t) || has(&self.others, t)
    }

    /// Tries to delete a transition and what relies on it; undoes it if no key is left.
    pub(crate) fn attempt(&mut self, view: &mut View<'_>, t: u32) -> bool {
        self.undo.keys.clear();
        self.undo.others.clear();
        self.undo.broken.clear();
        self.gone.clear();
        self.leaving.clear();
        let deleted = self.remove_key(t) && {
            self.remove_other(t);
            self.left_for_good(view, t);
            self.cascade(view)
        };
        if !deleted {
            put(&mut self.stuck, t);
            self.take_back();
        }
        deleted
    }

    /// Undoes the last attempt.
    fn take_back(&mut self) {
        for t in &self.undo.keys {
            put(&mut self.keys, *t);
            self.eligible_left += usize::from(has(&self.eligible, *t));
        }
        for t in &self.undo.others {
            put(&mut self.others, *t);
        }
        for set in &self.undo.broken {
            take(&mut self.broken, *set);
        }
    }

    /// False if no eligible key is left.
    fn remove_key(&mut self, t: u32) -> bool {
        if has(&self.keys, t) {
            take(&mut self.keys, t);
            self.undo.keys.push(t);
            if has(&self.eligible, t) {
                self.eligible_left -= 1;
            }
        }
        self.eligible_left > 0
    }

    fn remove_other(&mut self, t: u32) {
        if has(&self.others, t) {
            take(&mut self.others, t);
            self.undo.others.push(t);
        }
    }

    fn left_for_good(&mut self, view: &View<'_>, t: u32) {
        self.leaving.push(t);
        if view.is_enabled(t) {
            self.gone.push(t);
        }
    }

    /// Removes everything that relied on what left.
    fn cascade(&mut self, view: &mut View<'_>) -> bool {
        let (tables, inverse) = (view.tables, self.inverse);
        while let Some(t) = self.leaving.pop() {
            if has(&self.stuck, t) {
                return false;
            }
            let relying = inverse.accord_from.as_ref().unwrap_or(&tables.accord);
            if !self.remove_relying_keys(view, relying.row(t as usize)) {
                return false;
            }
            if self.weak {
                for u in inverse.left_from.list(t as usize) {
                    if has(&self.others, *u) && view.is_enabled(*u) {
                        self.remove_other(*u);
                        if !has(&self.keys, *u) {
                            self.left_for_good(view, *u);
                        }
                    }
                }
            }
            for set in inverse.sets_with.list(t as usize) {
                if has(&self.broken, *set) {
                    continue;
                }
                put(&mut self.broken, *set);
                self.undo.broken.push(*set);
                self.leave_without(view, EnablingSet(*set));
            }
        }
        true
    }

    /// Keys that do not accord with something that left are keys no more.
    fn remove_relying_keys(&mut self, view: &View<'_>, row: Row<'_>) -> bool {
        match row {
            Row::List(list) => list.iter().all(|u| self.stop_being_key(view, *u)),
            Row::Bits(bits) => (0..bits.len()).all(|at| {
                let keys = bits[at] & self.keys[at];
                stubborn_system::bits::ones(keys)
                    .all(|bit| self.stop_being_key(view, (at * 64 + bit) as u32))
            }),
        }
    }

    /// False if no eligible key is left.
    fn stop_being_key(&mut self, view: &View<'_>, u: u32) -> bool {
        if !has(&self.keys, u) {
            return true;
        }
        let left = self.remove_key(u);
        if !has(&self.others, u) {
            self.left_for_good(view, u);
        }
        left
    }

    /// An enabling set broke: those that have no other one leave.
    fn leave_without(&mut self, view: &mut View<'_>, set: EnablingSet) {
        let users = &view.tables.users;
        if users.list(set.0 as usize).is_empty() {
            return;
        }
        if !view.is_usable(set) {
            return;
        }
        match users.row(set.0 as usize) {
            Row::List(users) => {
                for u in users {
                    if has(&self.others, *u) && !view.is_enabled(*u) {
                        self.leave_if_unsupported(view, *u);
                    }
                }
            }
            Row::Bits(users) => {
                for (at, users) in users.iter().enumerate() {
                    let disabled = users & self.others[at] & !view.facts.enabled[at];
                    for bit in stubborn_system::bits::ones(disabled) {
                        self.leave_if_unsupported(view, (at * 64 + bit) as u32);
                    }
                }
            }
        }
    }

    /// A disabled transition leaves if no enabling set that it may use is whole.
    fn leave_if_unsupported(&mut self, view: &mut View<'_>, t: u32) {
        if !self.is_supported(view, t) {
            self.remove_other(t);
            self.left_for_good(view, t);
        }
    }

    fn is_supported(&self, view: &mut View<'_>, t: u32) -> bool {
        let tables = view.tables;
        let Some(words) = tables.option_words(t) else {
            let whole = |o: &u32| !has(&self.broken, *o) && view.is_usable(EnablingSet(*o));
            return tables.options.list(t as usize).iter().any(whole);
        };
        // By bits; what is known to be of use first, so that few labels must be asked.
        let (broken, broken_disabling) = self.broken.split_at(tables.half / 64);
        let facts = &view.facts;
        let known = words.iter().any(|word| {
            let at = word.at;
            let own = word.guards & facts.known[at] & !facts.truth[at] & !broken[at];
            let disabling = word.excluders & facts.truth[at] & !broken_disabling[at];
            own | disabling != 0
        });
        known
            || words.iter().any(|word| {
                let at = word.at;
                let own = word.guards & !view.facts.known[at] & !broken[at];
                let disabling = word.excluders & !view.facts.known[at] & !broken_disabling[at];
                let usable = |view: &mut View<'_>, first: usize, labels: u64| {
                    stubborn_system::bits::ones(labels)
                        .any(|bit| view.is_usable(EnablingSet((first + bit) as u32)))
                };
                usable(view, at * 64, own) || usable(view, tables.half + at * 64, disabling)
            })
    }

    /// Deletes until nothing more can be deleted.
    pub(crate) fn delete_all(&mut self, view: &mut View<'_>) {
        self.order.clear();
        self.order.extend_from_slice(&view.facts.enabled_list);
        match self.strategy {
            Delete::Fst => {}
            Delete::Rnd => {
                let seed = self.seed;
                self.order
                    .sort_unstable_by_key(|t| (view.random(seed, u64::from(*t)), *t));
            }
            Delete::MinE | Delete::MaxE | Delete::MinF | Delete::MaxF => {
                while let Some(t) = self.best_next(view) {
                    self.attempt(view, t);
                }
                return;
            }
        }
        self.delete_in_order(view);
    }

    /// Tries what is in `order` one after the other.
    fn delete_in_order(&mut self, view: &mut View<'_>) {
        for at in 0..self.order.len() {
            let t = self.order[at];
            if self.contains(t) && !has(&self.stuck, t) {
                self.attempt(view, t);
            }
        }
    }

    /// The transition that the strategy deletes next, found by trying all.
    fn best_next(&mut self, view: &mut View<'_>) -> Option<u32> {
        let mut best: Option<(u32, (usize, usize))> = None;
        for at in 0..self.order.len() {
            let t = self.order[at];
            if !self.contains(t) || has(&self.stuck, t) || !self.attempt(view, t) {
                continue;
            }
            let gone = self.gone.len();
            let fresh = |t: &&u32| has(&view.facts.fresh, **t);
            let fresh = self.gone.iter().filter(fresh).count();
            self.take_back();
            let better = |(f, e): (usize, usize)| match self.strategy {
                Delete::MinE => gone < e,
                Delete::MaxE => gone > e,
                Delete::MinF => (fresh, gone) < (f, e),
                _ => (fresh, gone) > (f, e),
            };
            if best.is_none_or(|(_, least)| better(least)) {
                best = Some((t, (fresh, gone)));
            }
        }
        best.map(|(t, _)| t)
    }

    /// Starts from all transitions and deletes in a given order, then all others; how many
    /// enabled transitions are left. `None` if nothing can be deleted at all.
    pub(crate) fn run_in_order(&mut self, view: &mut View<'_>, order: &[u32]) -> Option<usize> {
        if !self.start_from_all(view) {
            return None;
        }
        self.order.clear();
        self.order.extend_from_slice(order);
        self.delete_in_order(view);
        Some(self.enabled_left(view))
    }

    pub(crate) fn enabled_left(&self, view: &View<'_>) -> usize {
        let list = view.facts.enabled_list.iter();
        list.filter(|t| self.contains(**t)).count()
    }

    pub(crate) fn keep(&self, view: &View<'_>, kept: &mut BitSet) {
        let kept = kept.words_mut();
        for (at, word) in kept.iter_mut().enumerate() {
            *word = (self.keys[at] | self.others[at]) & view.facts.enabled[at];
        }
    }

    pub(crate) fn all_members(&self) -> Vec<SetMember> {
        let union: Vec<u64> = (self.keys.iter().zip(&self.others))
            .map(|(k, o)| k | o)
            .collect();
        ones_of(&union)
            .map(|t| SetMember {
                transition: TransitionId::new(t as usize),
                reason: Reason::NotExcluded,
            })
            .collect()
    }
}

impl SetAlgorithm for Deletion<'_> {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        self.found = self.start_from_all(view);
        if !self.found {
            kept.words_mut().copy_from_slice(&view.facts.enabled);
            return;
        }
        self.delete_all(view);
        if let Some(mut minimiser) = self.minimiser.take() {
            minimiser.run(self, view);
            self.minimiser = Some(minimiser);
        }
        self.keep(view, kept);
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        self.found.then(|| self.all_members())
    }
}
