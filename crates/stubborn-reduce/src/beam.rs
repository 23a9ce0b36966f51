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
}

impl Beam {
    pub(crate) fn new(settings: &Settings, explain: bool) -> Self {
        Self {
            policy: Policy::new(settings),
            explain,
            contexts: Vec::new(),
            starts: Vec::new(),
            waiting: BinaryHeap::new(),
            winner: None,
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
            let context = &mut self.contexts[current];
            if context.advance(view, self.policy, limit) {
                return Some(current);
            }
            if context.enabled.len() < enabled {
                let size = context.enabled.len();
                self.waiting.push(Reverse((size, current)));
            }
        }
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
