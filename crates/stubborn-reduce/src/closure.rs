//! `closure`: one set, grown from one enabled transition.
//!
//! Algorithm 1 of Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order reduction*
//! (2014), and `clo` of Evangelista, *Experimenting with stubborn sets on Petri nets* (2023),
//! section 3.2, with the starting and scapegoat strategies of the latter. With the strategies
//! `min_e` and `min_f` a set is grown from every enabled transition and the best one kept.

use stubborn_system::{BitSet, SetMember};

use crate::algorithm::SetAlgorithm;
use crate::config::{Settings, Start};
use crate::growth::{Growth, Policy};
use crate::rows::{has, put};
use crate::tables::Tables;
use crate::view::View;

/// Grows a set from a start; false if it has more than `limit` enabled members.
pub(crate) trait Grow: Send {
    fn grow(&mut self, into: &mut Growth, view: &mut View<'_>, start: u32, limit: usize) -> bool;
}

/// The loop of the closure algorithm.
#[derive(Debug)]
pub(crate) struct PlainGrow(pub(crate) Policy);

impl Grow for PlainGrow {
    fn grow(&mut self, into: &mut Growth, view: &mut View<'_>, start: u32, limit: usize) -> bool {
        into.start(view, start);
        into.advance(view, self.0, limit)
    }
}

/// Closure by some way to grow, with a starting strategy.
pub(crate) struct Closure<G> {
    grow: G,
    start: Start,
    seed: u64,
    best: Growth,
    trial: Growth,
    found: bool,
    starts: Vec<u32>,
}

impl<G: Grow> Closure<G> {
    pub(crate) fn new(tables: &Tables, settings: &Settings, grow: G, explain: bool) -> Self {
        Self {
            grow,
            start: settings.start,
            seed: settings.seed,
            best: Growth::new(tables, explain),
            trial: Growth::new(tables, explain),
            found: false,
            starts: Vec::new(),
        }
    }

    /// Computes a set; `None` if only the set of all transitions is found. At least one
    /// transition must be enabled.
    pub(crate) fn compute(&mut self, view: &mut View<'_>) -> Option<&Growth> {
        starts(view, &mut self.starts);
        // A set with all enabled transitions is as good as the set of all transitions.
        let limit = view.facts.enabled_list.len() - 1;
        self.found = match self.start {
            Start::Fst => {
                let start = self.starts[0];
                self.grow.grow(&mut self.best, view, start, limit)
            }
            Start::Rnd => {
                let pick = view.random(self.seed, u64::MAX) % self.starts.len() as u64;
                let start = self.starts[pick as usize];
                self.grow.grow(&mut self.best, view, start, limit)
            }
            Start::MinE | Start::MinF => self.compute_best(view, limit),
        };
        self.last()
    }

    fn compute_best(&mut self, view: &mut View<'_>, limit: usize) -> bool {
        let mut least = (usize::MAX, usize::MAX);
        for at in 0..self.starts.len() {
            let start = self.starts[at];
            // By enabled members alone, a set that is no smaller can be given up on the way.
            let limit = match self.start {
                Start::MinE => limit.min(least.1 - 1),
                _ => limit,
            };
            if !self.grow.grow(&mut self.trial, view, start, limit) {
                continue;
            }
            let enabled = self.trial.enabled.len();
            let fresh = match self.start {
                Start::MinF => {
                    let fresh = &view.facts.fresh;
                    self.trial
                        .enabled
                        .iter()
                        .filter(|t| has(fresh, **t))
                        .count()
                }
                _ => 0,
            };
            if (fresh, enabled) < least {
                least = (fresh, enabled);
                std::mem::swap(&mut self.best, &mut self.trial);
                if least <= (0, 1) {
                    break;
                }
            }
        }
        least.1 != usize::MAX
    }

    /// What [`compute`](Self::compute) returned last.
    pub(crate) fn last(&self) -> Option<&Growth> {
        self.found.then_some(&self.best)
    }
}

/// The transitions that a set may start from.
pub(crate) fn starts(view: &View<'_>, out: &mut Vec<u32>) {
    out.clear();
    let invisible_only = view.must_start_invisible();
    let visible = &view.tables.visible;
    out.extend(
        view.facts
            .enabled_list
            .iter()
            .filter(|t| !(invisible_only && has(visible, **t))),
    );
}

impl<G: Grow> SetAlgorithm for Closure<G> {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        match self.compute(view) {
            Some(set) => {
                for t in &set.enabled {
                    put(kept.words_mut(), *t);
                }
            }
            None => kept.words_mut().copy_from_slice(&view.facts.enabled),
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        self.last()?.reasons.clone()
    }
}
