//! `beam`: a set is grown from every enabled transition, always the one that is smallest yet.
//!
//! Algorithm 3 of Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order reduction*
//! (2014), section 6. One search context per enabled transition; the one with the fewest
//! enabled members goes on; the first that is finished is the set. Which of several equally
//! small contexts goes first is left open; here it is the one of the last transition, which did
//! better than the first on the BEEM models. With the cost heuristic of
//! section 4.3 (the scapegoat strategy `min_e`) each disabled member takes the enabling set
//! that adds the fewest enabled transitions, then the fewest at all; the last line of the
//! printed algorithm means this choice too.
//!
//! The paper keeps the cost of every enabling set up to date in every context. Here a cost is
//! counted when it is asked for: with bits that is a mask and a population count a word, and
//! with lists it walks the row that would otherwise have to be updated, so that nothing has to
//! be set up or copied for a context.
//!
//! With many enabled transitions most contexts come to the same: one that holds the start of
//! another needs about all that the other needs. So when the contexts of a state have taken
//! more than a few steps for each transition of the model, those that hold the start of
//! another are left to that other one. About, because choices depend on what is in a set: the
//! set that comes out can be another one. On 66 BEEM models of up to 400,000 states no count
//! changes; CloudDeployment-PT-4a, 475 transitions and dozens enabled, takes 0.8 of the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stubborn_system::{BitSet, SetMember};

use crate::algorithm::SetAlgorithm;
use crate::closure::starts;
use crate::config::Settings;
use crate::growth::{Growth, Policy};
use crate::rows::put;
use crate::view::View;

/// See the [module](self).
pub(crate) struct Beam {
    policy: Policy,
    explain: bool,
    contexts: Vec<Growth>,
    starts: Vec<u32>,
    /// Contexts that were started and put aside, as (enabled members, index), a binary heap
    /// with the least on top.
    waiting: BinaryHeap<Reverse<(usize, usize)>>,
    winner: Option<usize>,
    /// For each transition, the context that it starts.
    started_by: Vec<usize>,
    /// For each context, what became of it.
    fates: Vec<Fate>,
}

/// What became of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It may still win.
    Open,
    /// It holds all enabled transitions, or the start of a context that does.
    Full,
    /// It holds the start of this other context, which stands for it.
    Left(usize),
}

const NO_CONTEXT: usize = usize::MAX;

/// Members that all contexts together work off before some are given up, for each transition
/// of the model.
const PATIENCE: usize = 2;

impl Beam {
    pub(crate) fn new(settings: &Settings, explain: bool) -> Self {
        Self {
            policy: Policy {
                keeps_key: true,
                ..Policy::new(settings)
            },
            explain,
            contexts: Vec::new(),
            starts: Vec::new(),
            waiting: BinaryHeap::new(),
            winner: None,
            started_by: Vec::new(),
            fates: Vec::new(),
        }
    }

    /// Runs contexts until one is finished and returns it; `None` if only the set of all
    /// transitions is left.
    fn run(&mut self, view: &mut View<'_>) -> Option<usize> {
        starts(view, &mut self.starts);
        self.starts.reverse();
        let enabled = view.facts.enabled_list.len();
        while self.contexts.len() < self.starts.len() {
            self.contexts.push(Growth::new(view.tables, self.explain));
        }
        self.waiting.clear();
        let patience = PATIENCE * view.tables.transitions;
        let mut work = 0;
        let mut unstarted = 0;
        loop {
            // A context that was not started has one enabled member: none has fewer.
            let least_waiting = self.waiting.peek().map(|r| r.0.0);
            let current = if unstarted < self.starts.len() && least_waiting.is_none_or(|w| w > 1) {
                let at = unstarted;
                unstarted += 1;
                self.contexts[at].start(view, self.starts[at]);
                at
            } else {
                self.waiting.pop()?.0.1
            };
            let others = if unstarted < self.starts.len() {
                1
            } else {
                self.waiting.peek().map_or(usize::MAX, |r| r.0.0)
            };
            // A context that holds all enabled transitions has nothing left to win.
            let limit = others.min(enabled - 1);
            if work > patience {
                if self.advance_or_leave(view, current, limit) {
                    return Some(current);
                }
            } else {
                let context = &mut self.contexts[current];
                let before = context.work();
                if context.advance(view, self.policy, limit) {
                    return Some(current);
                }
                work += context.work() - before;
                if work > patience {
                    self.note_fates(view, unstarted);
                }
            }
            let size = self.contexts[current].enabled.len();
            let is_left = work > patience && self.fates[current] != Fate::Open;
            if size < enabled && !is_left {
                self.waiting.push(Reverse((size, current)));
            }
        }
    }

    /// From now on, contexts that hold the start of another are left.
    fn note_fates(&mut self, view: &View<'_>, unstarted: usize) {
        self.started_by.clear();
        self.started_by.resize(view.tables.transitions, NO_CONTEXT);
        self.fates.clear();
        let enabled = view.facts.enabled_list.len();
        for (at, t) in self.starts.iter().enumerate() {
            self.started_by[*t as usize] = at;
            let is_full = at < unstarted && self.contexts[at].enabled.len() >= enabled;
            self.fates
                .push(if is_full { Fate::Full } else { Fate::Open });
        }
    }

    /// Works off members as [`Growth::advance`] does, but only as long as none of them is the
    /// start of another context.
    fn advance_or_leave(&mut self, view: &mut View<'_>, current: usize, limit: usize) -> bool {
        loop {
            self.fates[current] = self.fate(current);
            let context = &mut self.contexts[current];
            let size = context.enabled.len();
            if self.fates[current] != Fate::Open || size > limit {
                return false;
            }
            if context.advance(view, self.policy, size) {
                return true;
            }
            if context.enabled.len() >= view.facts.enabled_list.len() {
                self.fates[current] = Fate::Full;
                return false;
            }
        }
    }

    /// What is to become of a context that holds these members.
    fn fate(&self, current: usize) -> Fate {
        let others = self.contexts[current].enabled.iter();
        for t in others.filter(|t| **t != self.starts[current]) {
            let mut at = self.started_by[*t as usize];
            if at == NO_CONTEXT {
                continue;
            }
            while let Fate::Left(to) = self.fates[at] {
                at = to;
            }
            match self.fates[at] {
                _ if at == current => {}
                Fate::Full => return Fate::Full,
                _ => return Fate::Left(at),
            }
        }
        Fate::Open
    }
}

impl SetAlgorithm for Beam {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        self.winner = self.run(view);
        match self.winner {
            Some(winner) => {
                for t in &self.contexts[winner].enabled {
                    put(kept.words_mut(), *t);
                }
            }
            None => kept.words_mut().copy_from_slice(&view.facts.enabled),
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        self.contexts[self.winner?].reasons.clone()
    }
}
