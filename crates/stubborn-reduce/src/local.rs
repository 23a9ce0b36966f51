//! `lpor`: local partial-order reduction on any system behind the seam.
//!
//! Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space reductions through
//! local partial-order reduction* (2011), algorithm 2 in its path-free, state-conditional form.
//! The set holds enabled transitions only. It is good if no member depends on a transition that
//! can be fired, now or later, without the set: a transition *is in reach* if it is enabled and
//! no member, or if it is disabled and every necessary enabling set that it has in this state
//! has a member in reach. That is the paper's forward-enable set with necessary enabling sets in
//! the place of single necessary enabling transitions. Where a member depends on something in
//! reach, one enabled transition that leads there is added, and reach is computed anew, because
//! one addition often puts many others out of reach.
//!
//! Dependence is one-sided, as in the paper: a member must not be disabled from outside and must
//! be movable to the left over what comes from outside; it may well do something to the others.
//! Where the search may follow any kept step, a member with several outcomes must not do so: one of
//! them may disable what another one leaves possible. So it depends, too, on those with whose
//! outcomes it need not meet again.
//!
//! All transitions out of reach, disabled ones included, form a strong stubborn set in the sense
//! of the other algorithms, so conditions V and I are met in the same way.

use stubborn_system::{BitSet, Reason, Relations, SetMember, Structure, TransitionId};

use crate::aim::Plan;
use crate::algorithm::SetAlgorithm;
use crate::closure::starts;
use crate::config::{Settings, Start};
use crate::rows::{Row, Rows, has, put};
use crate::tables::{EnablingSet, Inverse, Tables};
use crate::view::View;

/// What members of sets depend on, one-sided.
#[derive(Debug)]
pub(crate) struct Dependence {
    /// For each transition, those that may disable it, over which it cannot be moved left, or that it
    /// must meet and need not, in a state where both are enabled.
    strong: Rows,
    /// For each transition, those over which it cannot be moved left in any state.
    weak: Rows,
}

impl Dependence {
    pub(crate) fn new(
        tables: &Tables,
        structure: &Structure,
        relations: &Relations,
        plan: &Plan,
    ) -> Self {
        let rows = |of: &dyn Fn(usize) -> Vec<u32>| {
            Rows::new(
                tables.transitions,
                (0..tables.transitions).map(of).collect(),
            )
        };
        Self {
            strong: rows(&|t| {
                let transition = &structure.transitions[t];
                // What fails counts as disabled, and what waits for others is disabled by them,
                // although no guard tells.
                let guards_tell = !transition.may_fail && transition.priority == 0;
                let must_meet = plan.follows_any_step() && !transition.deterministic;
                let meets = |u: u32| match &relations.do_not_meet {
                    Some(apart) => {
                        let (t, u) = (TransitionId::new(t), TransitionId::new(u as usize));
                        !apart.0.contains(t, u) && !apart.0.contains(u, t)
                    }
                    None => false,
                };
                let one_side_is_enough = |u| guards_tell && (!must_meet || meets(u));
                strong_row(tables, t, &one_side_is_enough)
            }),
            weak: rows(&|t| weak_row(tables, t)),
        }
    }
}

/// Transitions whose outcome is a goal, and may change if `t` is moved left over them.
fn goals_changed_by(tables: &Tables, t: usize) -> impl Iterator<Item = u32> {
    let goals = tables.goals.transitions.iter().map(|u| u.index() as u32);
    let accord = tables.accord.list(t);
    goals.filter(|u| accord.binary_search(u).is_ok())
}

/// `one_side_is_enough` says of whom it does not matter what `t` does to them.
fn strong_row(tables: &Tables, t: usize, one_side_is_enough: &dyn Fn(u32) -> bool) -> Vec<u32> {
    let guards = tables.guards.list(t);
    let may_disable = |u: u32| {
        let rows = guards
            .iter()
            .map(|g| tables.enabling.list(tables.half + *g as usize));
        rows.into_iter().any(|row| row.binary_search(&u).is_ok())
    };
    let left = tables.left.list(t);
    let accord = tables.accord.list(t).iter().copied();
    accord
        .filter(|u| !one_side_is_enough(*u) || left.binary_search(u).is_ok() || may_disable(*u))
        .chain(goals_changed_by(tables, t))
        .collect()
}

fn weak_row(tables: &Tables, t: usize) -> Vec<u32> {
    let left = tables.left.list(t).iter().copied();
    left.chain(goals_changed_by(tables, t)).collect()
}

/// See the [module](self). Memory is kept from state to state.
pub(crate) struct Local<'t> {
    inverse: &'t Inverse,
    dependence: &'t Dependence,
    weak: bool,
    start: Start,
    seed: u64,
    trial: Attempt,
    best: Attempt,
    found: bool,
    starts: Vec<u32>,
    reach: Reach,
}

/// A set in the making.
#[derive(Debug, Default)]
struct Attempt {
    key: u32,
    members: Vec<u64>,
    list: Vec<u32>,
    reasons: Vec<Reason>,
    out_of_reach: Vec<u64>,
}

impl Attempt {
    fn begin(&mut self, words: usize, key: u32) {
        self.members.clear();
        self.members.resize(words, 0);
        self.list.clear();
        self.reasons.clear();
        self.key = key;
        self.add(key, Reason::Start);
    }

    fn add(&mut self, transition: u32, reason: Reason) {
        put(&mut self.members, transition);
        self.list.push(transition);
        self.reasons.push(reason);
    }
}

/// Which transitions are in reach.
#[derive(Debug, Default)]
struct Reach {
    bits: Vec<u64>,
    queue: Vec<u32>,
    /// Enabling sets with a member in reach.
    hit: Vec<u64>,
    /// Visited when looking for a way back.
    seen: Vec<u64>,
}

impl Reach {
    /// Everything that can be fired without a member of the set.
    fn compute(&mut self, view: &mut View<'_>, inverse: &Inverse, members: &[u64]) {
        let tables = view.tables;
        self.bits.clear();
        self.bits.resize(tables.words, 0);
        self.hit.clear();
        self.hit.resize((2 * tables.half).div_ceil(64), 0);
        self.queue.clear();
        for t in &view.facts.enabled_list {
            if !has(members, *t) {
                put(&mut self.bits, *t);
                self.queue.push(*t);
            }
        }
        if !self.queue.is_empty() {
            // Of a transition that waits for all others to be disabled, nothing is known.
            for t in &tables.low_priority {
                if !has(&self.bits, *t) && !view.is_enabled(*t) && self.is_free(view, *t) {
                    put(&mut self.bits, *t);
                    self.queue.push(*t);
                }
            }
        }
        while let Some(t) = self.queue.pop() {
            for set in inverse.sets_with.list(t as usize) {
                if has(&self.hit, *set) {
                    continue;
                }
                put(&mut self.hit, *set);
                for user in tables.users.list(*set as usize) {
                    if !has(&self.bits, *user)
                        && !view.is_enabled(*user)
                        && self.is_free(view, *user)
                    {
                        put(&mut self.bits, *user);
                        self.queue.push(*user);
                    }
                }
            }
        }
    }

    /// Whether no enabling set keeps a disabled transition out of reach.
    fn is_free(&self, view: &mut View<'_>, t: u32) -> bool {
        let tables = view.tables;
        let options = tables.options.list(t as usize).iter();
        !options
            .filter(|set| !has(&self.hit, **set))
            .any(|set| view.is_usable(EnablingSet(*set)))
    }

    /// An enabled transition in reach that leads to `target`, also in reach. Each disabled
    /// transition on the way stands for the enabling set that has the fewest transitions in
    /// reach; of all enabled ones found that way, the first.
    fn origin(&mut self, view: &mut View<'_>, target: u32) -> Option<u32> {
        let tables = view.tables;
        self.seen.clear();
        self.seen.resize(tables.words, 0);
        self.queue.clear();
        self.queue.push(target);
        put(&mut self.seen, target);
        let mut first: Option<u32> = None;
        while let Some(t) = self.queue.pop() {
            if view.is_enabled(t) {
                first = Some(first.map_or(t, |f| f.min(t)));
                continue;
            }
            let mut narrowest: Option<(usize, u32)> = None;
            for set in tables.options.list(t as usize) {
                let row = tables.enabling.list(*set as usize);
                let width = row.iter().filter(|u| has(&self.bits, **u)).count();
                if narrowest.is_none_or(|(w, _)| width < w) && view.is_usable(EnablingSet(*set)) {
                    narrowest = Some((width, *set));
                }
            }
            let Some((_, set)) = narrowest else {
                // No enabling set is known: only all enabled transitions are enough.
                return view
                    .facts
                    .enabled_list
                    .iter()
                    .copied()
                    .find(|u| has(&self.bits, *u));
            };
            for u in tables.enabling.list(set as usize) {
                if has(&self.bits, *u) && !has(&self.seen, *u) {
                    put(&mut self.seen, *u);
                    self.queue.push(*u);
                }
            }
        }
        first
    }
}

impl<'t> Local<'t> {
    pub(crate) fn new(
        inverse: &'t Inverse,
        dependence: &'t Dependence,
        settings: &Settings,
    ) -> Self {
        Self {
            inverse,
            dependence,
            weak: settings.weak,
            start: settings.start,
            seed: settings.seed,
            trial: Attempt::default(),
            best: Attempt::default(),
            found: false,
            starts: Vec::new(),
            reach: Reach::default(),
        }
    }

    /// What a member depends on; in weak sets, for all but the key, what it cannot move over.
    fn row(&self, t: u32) -> Row<'t> {
        if self.weak && t != self.trial.key {
            self.dependence.weak.row(t as usize)
        } else {
            self.dependence.strong.row(t as usize)
        }
    }

    /// Grows a set from an enabled transition; false if it has more than `limit` members.
    fn grow(&mut self, view: &mut View<'_>, start: u32, limit: usize) -> bool {
        self.trial.begin(view.tables.words, start);
        loop {
            // Enabled transitions that a member depends on are no matter of choice.
            let mut done = 0;
            while done < self.trial.list.len() {
                let t = self.trial.list[done];
                done += 1;
                let because = Reason::DoesNotAccord(TransitionId::new(t as usize));
                let row = self.row(t);
                for at in 0..view.facts.enabled_list.len() {
                    let u = view.facts.enabled_list[at];
                    if !has(&self.trial.members, u) && contains(row, u) {
                        self.trial.add(u, because);
                    }
                }
                if self.trial.list.len() > limit {
                    return false;
                }
            }
            self.reach.compute(view, self.inverse, &self.trial.members);
            let Some(threat) = self.threat() else {
                self.trial.out_of_reach.clear();
                let reach = &self.reach.bits;
                self.trial.out_of_reach.extend(reach.iter().map(|w| !w));
                return true;
            };
            match self.reach.origin(view, threat) {
                Some(t) => self.trial.add(t, Reason::NotExcluded),
                None => return false,
            }
            if self.trial.list.len() > limit {
                return false;
            }
        }
    }

    /// A transition in reach that a member depends on.
    fn threat(&self) -> Option<u32> {
        let members = self.trial.list.iter();
        let reach = &self.reach.bits;
        members
            .filter_map(|t| match self.row(*t) {
                Row::List(list) => list.iter().copied().find(|u| has(reach, *u)),
                Row::Bits(bits) => {
                    let both = bits.iter().zip(reach).map(|(a, b)| a & b);
                    both.enumerate()
                        .find(|(_, word)| *word != 0)
                        .map(|(at, word)| at as u32 * 64 + word.trailing_zeros())
                }
            })
            .next()
    }
}

fn contains(row: Row<'_>, transition: u32) -> bool {
    match row {
        Row::List(list) => list.binary_search(&transition).is_ok(),
        Row::Bits(bits) => has(bits, transition),
    }
}

impl SetAlgorithm for Local<'_> {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        let mut candidates = std::mem::take(&mut self.starts);
        starts(view, &mut candidates);
        let all = view.facts.enabled_list.len();
        let mut limit = all - 1;
        self.found = false;
        let tried = match self.start {
            Start::Fst => 0..1,
            Start::Rnd => {
                let pick = (view.random(self.seed, u64::MAX) % candidates.len() as u64) as usize;
                pick..pick + 1
            }
            Start::MinE | Start::MinF => 0..candidates.len(),
        };
        let mut least = (usize::MAX, usize::MAX);
        for start in &candidates[tried] {
            if limit == 0 || !self.grow(view, *start, limit) {
                continue;
            }
            let size = self.trial.list.len();
            let fresh = match self.start {
                Start::MinF => {
                    let fresh = &view.facts.fresh;
                    self.trial.list.iter().filter(|t| has(fresh, **t)).count()
                }
                _ => {
                    limit = size - 1;
                    0
                }
            };
            if (fresh, size) < least {
                least = (fresh, size);
                std::mem::swap(&mut self.trial, &mut self.best);
                self.found = true;
            }
        }
        self.starts = candidates;
        if self.found {
            for t in &self.best.list {
                put(kept.words_mut(), *t);
            }
        } else {
            kept.words_mut().copy_from_slice(&view.facts.enabled);
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        if !self.found {
            return None;
        }
        let best = &self.best;
        let member = |t: u32, reason| SetMember {
            transition: TransitionId::new(t as usize),
            reason,
        };
        let enabled = best.list.iter().zip(&best.reasons);
        let enabled = enabled.map(|(t, reason)| member(*t, *reason));
        let transitions = self.dependence.strong.len() as u32;
        let others = (0..transitions)
            .filter(|t| has(&best.out_of_reach, *t) && !has(&best.members, *t))
            .map(|t| member(t, Reason::NotExcluded));
        Some(enabled.chain(others).collect())
    }
}
