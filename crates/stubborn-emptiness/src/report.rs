//! From a violation to the counterexample that is shown.

use std::time::Instant;

use stubborn_search::SearchError;
use stubborn_store::Store;

use crate::check::{Bounds, Check, Reductions, Setting};
use crate::fairness::Fair;
use crate::lasso::{self, Counterexample, NodeLasso, Region};
use crate::product::{Product, Watcher};
use crate::result::{CheckResult, CheckVerdict};
use crate::shortest::{self, Length};
use crate::space::Counts;
use crate::walk::Emptiness;

/// A short counterexample is looked for among this part of as many nodes as the search has entered: each
/// costs twice as much, with its edges kept.
const NEAR_PART: u64 = 4;

impl Check<'_> {
    /// The property is violated: finds a counterexample.
    pub(crate) fn report(
        &self,
        product: &mut Product<'_>,
        setting: &Setting<'_>,
        region: &Region<'_>,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        result.verdict = CheckVerdict::Violated;
        if !self.counterexample {
            return Ok(());
        }
        self.shorten(setting, Length::UNKNOWN, result)?;
        if result.counterexample.is_some() {
            return Ok(());
        }
        // Without time or memory for it the violation is real all the same.
        let Ok((lasso, reached)) = lasso::find(product, region) else {
            return Ok(());
        };
        result.counterexample = self.confirmed(product, &lasso)?;
        let length = result.counterexample.as_ref().map(Counterexample::length);
        // No way into the component is shorter, but there may be a shorter way round.
        let nodes = self.near(&result.counts);
        if let Some(known) = length.filter(|known| known.cycle > 1 && reached <= nodes) {
            product.forget_observer();
            let admits = |node, known| region.admits(node, known);
            let found = shortest::shorter(product, region.all, known, nodes, &admits);
            self.take_shorter(product, found, result)?;
        }
        Ok(())
    }

    /// Among how many nodes a short counterexample is looked for.
    fn near(&self, counts: &Counts) -> usize {
        let part = (counts.states / NEAR_PART).max(*self.near.start());
        part.min(*self.near.end()) as usize
    }

    /// Looks for a short counterexample around the start of the whole product, with the automaton as it
    /// came, so that what is shown does not depend on how the violation was found.
    pub(crate) fn shorten(
        &self,
        setting: &Setting<'_>,
        known: Length,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        let store = Store::new(setting.store.width(), &self.store, setting.bounds.memory);
        let Ok(store) = store else { return Ok(()) };
        let automaton = self.property.automaton();
        let sets = automaton.acceptance_sets();
        let fair = match self.weak_fairness {
            true => Some(Fair::new(self.system, sets, Emptiness::Components)?),
            false => None,
        };
        let whole = Setting {
            watcher: Watcher {
                automaton,
                starts: &[automaton.initial()],
                fair: fair.as_ref(),
                ..setting.watcher
            },
            reductions: &Reductions::default(),
            store: &store,
            bounds: Bounds {
                gate: None,
                started: Instant::now(),
                ..setting.bounds
            },
        };
        let all = whole.watcher.all_marks();
        let mut product = self.product(&whole, None);
        product.forget_observer();
        let nodes = self.near(&result.counts);
        let found = shortest::shorter(&mut product, all, known, nodes, &|_, _| true);
        self.take_shorter(&mut product, found, result)
    }

    /// The counterexample, unless there is no time for it.
    fn confirmed(
        &self,
        product: &mut Product<'_>,
        nodes: &NodeLasso,
    ) -> Result<Option<Counterexample>, SearchError> {
        let Ok((states, cycle_start)) = lasso::system_states(product, nodes) else {
            return Ok(None);
        };
        let system = self.replay.unwrap_or(self.system);
        let fair = self.weak_fairness;
        match lasso::confirm(system, self.property, fair, states, cycle_start) {
            Ok(confirmed) => Ok(Some(confirmed)),
            Err(SearchError::GaveUp(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a lasso for the counterexample if it is shorter.
    fn take_shorter(
        &self,
        product: &mut Product<'_>,
        lasso: Option<NodeLasso>,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        let Some(lasso) = lasso else { return Ok(()) };
        let known = result.counterexample.as_ref().map(Counterexample::length);
        let found = self.confirmed(product, &lasso)?;
        if let Some(found) = found.filter(|found| known.is_none_or(|known| found.length() < known))
        {
            result.counterexample = Some(found);
        }
        Ok(())
    }
}
