//! `goal`: only what can help to reach a goal.
//!
//! The goal is the guard of a virtual disabled transition, and the set is the closure of its
//! necessary enabling set: a path to the goal must take one of these, and the first of them on
//! the path can be taken first (D1). No key transition, no visibility and no proviso is needed,
//! in any order of search; the length of a shortest path stays what it was. An empty set means
//! that the goal cannot be reached from here. Deadlocks are lost.
//!
//! The idea is older than its names: Schmidt, *Stubborn sets for standard properties* (1999);
//! Kristensen, Schmidt, Valmari, *Question-guided stubborn set methods for state properties*
//! (2006); Bønneland et al., *Start pruning when time gets urgent* (2018) with "interesting
//! transitions". A disjunction of goals takes an enabling set of every disjunct that is false.

use stubborn_system::{BitSet, LabelId, Reason, SetMember};

use crate::algorithm::SetAlgorithm;
use crate::config::{Scapegoat, Settings};
use crate::growth::{Growth, Policy};
use crate::rows::put;
use crate::tables::{EnablingSet, Tables};
use crate::view::View;

/// See the [module](self).
pub(crate) struct GoalDriven {
    policy: Policy,
    /// For each disjunct, its labels and the enabling sets it may use.
    disjuncts: Vec<(Vec<u32>, Vec<u32>)>,
    /// Steps that are goals themselves.
    steps: Vec<u32>,
    /// Disjuncts that do not hold in the state.
    open: Vec<usize>,
    best: Growth,
    trial: Growth,
    found: bool,
}

impl GoalDriven {
    pub(crate) fn new(tables: &Tables, settings: &Settings, explain: bool) -> Self {
        let disjuncts = tables.goals.any_of.iter().map(|labels| {
            (
                labels.iter().map(|l| l.index() as u32).collect(),
                tables.options_of_conjunction(labels, settings.disabling_sets),
            )
        });
        let steps = tables.goals.transitions.iter().map(|t| t.index() as u32);
        Self {
            policy: Policy::new(settings),
            disjuncts: disjuncts.collect(),
            steps: steps.collect(),
            open: Vec::new(),
            best: Growth::new(tables, explain),
            trial: Growth::new(tables, explain),
            found: false,
        }
    }

    /// Grows a set for all open goals; the first one uses `forced` if given.
    fn grow(&mut self, view: &mut View<'_>, forced: Option<EnablingSet>, limit: usize) -> bool {
        let set = &mut self.trial;
        set.clear();
        for t in &self.steps {
            set.add(view, *t, || Reason::Start);
        }
        for (at, disjunct) in self.open.iter().enumerate() {
            let (_, options) = &self.disjuncts[*disjunct];
            let chosen = match forced {
                Some(set) if at == 0 => Some(set),
                _ => set.choose(view, options, self.policy, !(at as u64)),
            };
            let Some(chosen) = chosen else {
                return false;
            };
            let label = LabelId::new(view.tables.condition(chosen).0 as usize);
            let row = view.tables.enabling.row(chosen.0 as usize);
            set.add_row(view, row, || Reason::NeededByGoal(label));
        }
        set.advance(view, self.policy, limit)
    }

    fn compute(&mut self, view: &mut View<'_>) -> bool {
        self.open.clear();
        for (at, (labels, _)) in self.disjuncts.iter().enumerate() {
            // A goal that holds is reached, and needs nothing more.
            if !labels.iter().all(|l| view.holds(*l)) {
                self.open.push(at);
            }
        }
        let mut limit = view.facts.enabled_list.len() - 1;
        let mut found = false;
        // With the heuristic, every way to the goal is tried and the smallest set taken.
        let tries_all = self.open.len() == 1
            && matches!(self.policy.scapegoat, Scapegoat::MinE | Scapegoat::MinF);
        if !tries_all {
            found = self.grow(view, None, limit);
            std::mem::swap(&mut self.best, &mut self.trial);
            return found;
        }
        let count = self.disjuncts[self.open[0]].1.len();
        for option in 0..count {
            let set = EnablingSet(self.disjuncts[self.open[0]].1[option]);
            let (label, value) = view.tables.condition(set);
            if view.holds(label) == value && self.grow(view, Some(set), limit) {
                found = true;
                let size = self.trial.enabled.len();
                std::mem::swap(&mut self.best, &mut self.trial);
                match size.checked_sub(1) {
                    Some(less) => limit = less,
                    None => break,
                }
            }
        }
        found
    }
}

impl SetAlgorithm for GoalDriven {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        self.found = self.compute(view);
        if self.found {
            for t in &self.best.enabled {
                put(kept.words_mut(), *t);
            }
        } else {
            kept.words_mut().copy_from_slice(&view.facts.enabled);
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        if self.found {
            self.best.reasons.clone()
        } else {
            None
        }
    }
}
