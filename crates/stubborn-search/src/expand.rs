//! Expanding one state: successors, targets, reduction. The same for all orders.

use stubborn_system::{
    BitSet, Budget, Executor, Expansion, FailureKind, LabelId, Outcome, Reducer, Structure,
    Successor, Successors, TransitionId,
};

use stubborn_store::{Cursor, Worker};

use crate::config::{Search, Target, Visitor};
use crate::violation::FindingKeeper;

/// What to look for, sorted by where it can be seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// Labels of targets, with the number of the target.
    labels: Vec<(LabelId, usize)>,
    deadlock: Option<usize>,
    invalid_end: Option<usize>,
    errors: Option<usize>,
    assertions: Option<usize>,
    valid_end: Option<LabelId>,
    error_state: Option<Vec<u32>>,
    /// For each place of failure, the target that it hits.
    sites: Vec<Option<usize>>,
}

impl Checks {
    pub(crate) fn new(targets: &[Target], structure: &Structure) -> Self {
        let mut checks = Self {
            valid_end: structure.valid_end,
            error_state: structure.error_state.clone(),
            ..Self::default()
        };
        for (number, target) in targets.iter().enumerate() {
            match target {
                Target::Deadlock => checks.deadlock = Some(number),
                Target::InvalidEnd => checks.invalid_end = Some(number),
                Target::Errors => checks.errors = Some(number),
                Target::Assertions => checks.assertions = Some(number),
                Target::Label(label) => checks.labels.push((*label, number)),
            }
        }
        let hit = |kind: FailureKind| match kind {
            FailureKind::Assertion => checks.assertions,
            _ => checks.errors,
        };
        checks.sites = structure.failures.iter().map(|s| hit(s.kind)).collect();
        checks
    }

    fn looks_at_outcomes(&self) -> bool {
        self.assertions.is_some() || self.error_state.is_some()
    }

    fn is_error(&self, state: &[u32]) -> bool {
        self.error_state.as_deref() == Some(state)
    }
}

/// Numbers that a thread counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) transitions: u64,
    pub(crate) deadlocks: u64,
    pub(crate) invalid_ends: u64,
    pub(crate) expanded_by_proviso: u64,
}

/// Which successors of a state the reduction keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    All,
    Some,
}

/// A thread's tools to expand states.
pub(crate) struct Expander<'a> {
    executor: Box<dyn Executor + 'a>,
    reducer: Option<Box<dyn Reducer + 'a>>,
    checks: &'a Checks,
    budget: &'a Budget,
    visitor: Option<&'a Visitor<'a>>,
    pub(crate) successors: Successors,
    /// One bit a transition; of the last state, if its [`Choice`] was `Some`.
    kept: BitSet,
    /// Numbers of the kept successors, if the [`Choice`] was `Some`.
    pub(crate) chosen: Vec<u32>,
    /// Numbers of the others.
    pub(crate) rest: Vec<u32>,
    pub(crate) counts: Counts,
    pub(crate) fired: BitSet,
    /// Places where steps failed.
    pub(crate) failed: BitSet,
    pub(crate) keeper: FindingKeeper<'a>,
    looks_at_outcomes: bool,
    /// The reduction looks at what was seen before.
    pub(crate) tells_what_is_known: bool,
    /// Of [`expand_again`](Self::expand_again).
    last_choice: Choice,
}

impl<'a> Expander<'a> {
    pub(crate) fn new(search: &Search<'a>, checks: &'a Checks, keeper: FindingKeeper<'a>) -> Self {
        let transitions = search.system.structure().transitions.len();
        Self {
            executor: search.system.executor(),
            reducer: search.reduction.map(|r| r.reducer()),
            checks,
            budget: search.system.budget(),
            visitor: search.visitor,
            successors: Successors::new(search.system.layout().words()),
            kept: BitSet::new(transitions),
            chosen: Vec::new(),
            rest: Vec::new(),
            counts: Counts::default(),
            fired: BitSet::new(transitions),
            failed: BitSet::new(checks.sites.len()),
            looks_at_outcomes: checks.looks_at_outcomes(),
            keeper,
            last_choice: Choice::All,
            tells_what_is_known: search.reduction.is_some_and(|r| !r.is_function_of_state()),
        }
    }

    /// Computes all successors of a state that is `depth` steps from an initial one, looks
    /// for targets in it and on its edges (also on those that the reduction leaves out:
    /// they are there), and lets the reduction choose.
    pub(crate) fn expand(&mut self, cursor: &Cursor, depth: u64, store: &mut Worker<'_>) -> Choice {
        let state = cursor.words();
        self.compute(state);
        if self.budget.spent().is_some() {
            // There may be more than these: that none are left means nothing.
            self.successors.clear();
            return Choice::All;
        }
        if self.successors.is_empty() {
            self.count_end(state, depth);
        }
        if !self.checks.labels.is_empty() {
            self.check_labels(state, depth);
        }
        if self.looks_at_outcomes && !self.successors.all_fine() {
            self.check_outcomes(state, depth);
        }
        if let Some(visitor) = self.visitor
            && !self.checks.is_error(state)
            && !visitor(state, &self.successors)
        {
            self.keeper.stop();
        }
        match self.tells_what_is_known {
            true => self.choose_knowingly(cursor, store),
            false => self.choose(state),
        }
    }

    /// Never leaves anything out from now on.
    pub(crate) fn without_reduction(mut self) -> Self {
        self.reducer = None;
        self
    }

    /// After a choice, keeps all successors all the same.
    pub(crate) fn keep_all(&mut self) {
        self.last_choice = Choice::All;
    }

    /// The successors that the last choice keeps.
    pub(crate) fn explored(&self) -> impl Iterator<Item = Successor<'_>> {
        let (all, chosen) = match self.last_choice {
            Choice::All => (0..self.successors.len(), [].as_slice()),
            Choice::Some => (0..0, self.chosen.as_slice()),
        };
        all.chain(chosen.iter().map(|number| *number as usize))
            .map(|number| self.successors.get(number))
    }

    /// Computes the successors and the choice of a state expanded before once more; nothing
    /// is counted or looked for.
    pub(crate) fn expand_again(&mut self, state: &[u32]) -> Choice {
        self.compute(state);
        self.last_choice = self.choose(state);
        self.last_choice
    }

    #[inline]
    fn compute(&mut self, state: &[u32]) {
        self.successors.clear();
        self.executor.successors(state, &mut self.successors);
        debug_assert!(
            self.successors.transitions().is_sorted(),
            "successors out of order"
        );
    }

    #[inline]
    fn choose(&mut self, state: &[u32]) -> Choice {
        let Some(reducer) = &mut self.reducer else {
            return Choice::All;
        };
        if self.successors.is_empty() {
            return Choice::All;
        }
        let mut expansion = Expansion {
            state,
            executor: &mut *self.executor,
            successors: &self.successors,
            is_known: None,
        };
        match reducer.reduce(&mut expansion, &mut self.kept) {
            true => self.sort_out(),
            false => Choice::All,
        }
    }

    /// The same for reductions that want to know which successors were seen before.
    fn choose_knowingly(&mut self, cursor: &Cursor, store: &mut Worker<'_>) -> Choice {
        let (Some(reducer), false) = (&mut self.reducer, self.successors.is_empty()) else {
            return Choice::All;
        };
        let successors = &self.successors;
        let mut is_known = |number: usize| {
            let successor = successors.get(number);
            store.contains(cursor, successor.state, Some(successor.changed))
        };
        let mut expansion = Expansion {
            state: cursor.words(),
            executor: &mut *self.executor,
            successors,
            is_known: Some(&mut is_known),
        };
        match reducer.reduce(&mut expansion, &mut self.kept) {
            true => self.sort_out(),
            false => Choice::All,
        }
    }

    /// Lists the successors that are kept and those that are not.
    fn sort_out(&mut self) -> Choice {
        self.chosen.clear();
        self.rest.clear();
        for (number, transition) in self.successors.transitions().iter().enumerate() {
            let list = if self.kept.contains(transition.index()) {
                &mut self.chosen
            } else {
                &mut self.rest
            };
            list.push(number as u32);
        }
        Choice::Some
    }

    /// Counts all successors as explored.
    #[inline]
    pub(crate) fn count_all(&mut self) {
        self.counts.transitions += self.successors.len() as u64;
        for transition in self.successors.transitions() {
            self.fired.insert(transition.index());
        }
    }

    /// Counts the chosen successors as explored.
    pub(crate) fn count_chosen(&mut self) {
        self.counts.transitions += self.chosen.len() as u64;
        for number in &self.chosen {
            let transition = self.successors.transitions()[*number as usize];
            self.fired.insert(transition.index());
        }
    }

    /// Counts the others as explored, too.
    pub(crate) fn count_rest(&mut self) {
        self.counts.expanded_by_proviso += 1;
        self.counts.transitions += self.rest.len() as u64;
        for number in &self.rest {
            let transition = self.successors.transitions()[*number as usize];
            self.fired.insert(transition.index());
        }
    }

    #[cold]
    fn count_end(&mut self, state: &[u32], depth: u64) {
        self.counts.deadlocks += 1;
        let is_error = self.checks.is_error(state);
        let is_valid = match self.checks.valid_end {
            Some(label) => self.executor.label(state, label),
            None => false,
        };
        if !is_valid {
            self.counts.invalid_ends += 1;
        }
        if !is_error {
            let hit = [
                self.checks.deadlock,
                self.checks.invalid_end.filter(|_| !is_valid),
            ];
            for target in hit.into_iter().flatten() {
                self.keeper.state(target, depth, state);
            }
        }
    }

    fn check_labels(&mut self, state: &[u32], depth: u64) {
        for (label, target) in &self.checks.labels {
            // The error state is no state of the model: nothing is said about it.
            if self.executor.label(state, *label) && !self.checks.is_error(state) {
                self.keeper.state(*target, depth, state);
            }
        }
    }

    #[cold]
    fn check_outcomes(&mut self, state: &[u32], depth: u64) {
        for number in 0..self.successors.len() {
            let outcome = self.successors.outcome(number);
            if outcome == Outcome::FINE {
                continue;
            }
            let transition: TransitionId = self.successors.transitions()[number];
            if let Some(site) = outcome.failed() {
                self.failed.insert(site);
            }
            for site in outcome.violated().into_iter().chain(outcome.failed()) {
                if let Some(target) = self.checks.sites[site] {
                    self.keeper
                        .edge(target, depth + 1, state, (transition, outcome));
                }
            }
        }
    }
}
