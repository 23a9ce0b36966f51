//! Expanding one state: successors, targets, reduction. The same for all orders.

use stubborn_system::{
    BitSet, FailureKind, LabelId, Outcome, Structure, Successor, Successors, TransitionId,
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
    /// Steps that fail may lead on, and nobody sees where: the error state is no end of a run.
    leads_on: bool,
    /// For each place of failure, the target that it hits.
    sites: Vec<Option<usize>>,
}

impl Checks {
    pub(crate) fn new(targets: &[Target], structure: &Structure) -> Self {
        let mut checks = Self {
            valid_end: structure.valid_end,
            error_state: structure.error_state.clone(),
            leads_on: structure.failures.iter().any(|f| f.kind.leaves_out()),
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
            kind if kind.is_error() => checks.errors,
            _ => None,
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
    steps: stubborn_system::Expander<'a>,
    checks: &'a Checks,
    visitor: Option<&'a Visitor<'a>>,
    /// Numbers of the kept successors, if the [`Choice`] was `Some`.
    pub(crate) chosen: Vec<u32>,
    /// Numbers of the others.
    pub(crate) rest: Vec<u32>,
    pub(crate) counts: Counts,
    /// By transition: whether it was explored. (Whole bytes: setting one is cheaper than setting a bit.)
    fired: Vec<bool>,
    all_fired: bool,
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
            steps: stubborn_system::Expander::new(search.system, search.reduction),
            checks,
            visitor: search.visitor,
            chosen: Vec::new(),
            rest: Vec::new(),
            counts: Counts::default(),
            fired: vec![false; transitions],
            all_fired: false,
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
    #[inline(always)]
    pub(crate) fn expand(&mut self, cursor: &Cursor, depth: u64, store: &mut Worker<'_>) -> Choice {
        let state = cursor.words();
        if self.steps.compute(state).is_err() {
            self.steps.clear();
            return Choice::All;
        }
        if self.successors().is_empty() {
            self.count_end(state, depth);
        }
        if !self.checks.labels.is_empty() {
            self.check_labels(state, depth);
        }
        if self.looks_at_outcomes && !self.successors().all_fine() {
            self.check_outcomes(state, depth);
        }
        if let Some(visitor) = self.visitor
            && !self.checks.is_error(state)
            && !visitor(state, self.steps.successors())
        {
            self.keeper.stop();
        }
        let leaves_out = match self.tells_what_is_known {
            true => self.steps.choose_knowing(state, &mut |successor| {
                store.contains(cursor, successor.state, Some(successor.changed))
            }),
            false => self.steps.choose(state),
        };
        self.sort_out(leaves_out)
    }

    /// The successors of the last state.
    #[inline]
    pub(crate) fn successors(&self) -> &Successors {
        self.steps.successors()
    }

    /// The transitions that were explored.
    pub(crate) fn fired(&self) -> BitSet {
        let mut fired = BitSet::new(self.fired.len());
        let numbers = self.fired.iter().enumerate();
        numbers
            .filter(|(_, is_fired)| **is_fired)
            .for_each(|(transition, _)| {
                fired.insert(transition);
            });
        fired
    }

    /// Never leaves anything out from now on.
    pub(crate) fn without_reduction(mut self) -> Self {
        self.steps.forget_reduction();
        self
    }

    /// After a choice, keeps all successors all the same.
    pub(crate) fn keep_all(&mut self) {
        self.last_choice = Choice::All;
    }

    /// The successors that the last choice keeps.
    pub(crate) fn explored(&self) -> impl Iterator<Item = Successor<'_>> {
        let numbers = 0..self.explored_count();
        numbers.map(|at| self.successors().get(self.explored_number(at)))
    }

    /// How many these are.
    pub(crate) fn explored_count(&self) -> usize {
        match self.last_choice {
            Choice::All => self.successors().len(),
            Choice::Some => self.chosen.len(),
        }
    }

    /// The number of one of them.
    pub(crate) fn explored_number(&self, at: usize) -> usize {
        match self.last_choice {
            Choice::All => at,
            Choice::Some => self.chosen[at] as usize,
        }
    }

    /// Computes the successors and the choice of a state expanded before once more; nothing
    /// is counted or looked for.
    pub(crate) fn expand_again(&mut self, state: &[u32]) -> Choice {
        // Where the budget is spent, whoever asks looks at it.
        let _ = self.steps.compute(state);
        let leaves_out = self.steps.choose(state);
        self.last_choice = self.sort_out(leaves_out);
        self.last_choice
    }

    /// Where something is left out, lists the successors that are kept and those that are not.
    #[inline]
    fn sort_out(&mut self, leaves_out: bool) -> Choice {
        if !leaves_out {
            return Choice::All;
        }
        self.chosen.clear();
        self.rest.clear();
        let kept = self.steps.kept();
        for (number, transition) in self.steps.successors().transitions().iter().enumerate() {
            let list = if kept.contains(transition.index()) {
                &mut self.chosen
            } else {
                &mut self.rest
            };
            list.push(number as u32);
        }
        Choice::Some
    }

    /// Looks whether there is a transition left that was not explored.
    #[inline]
    pub(crate) fn look_whether_all_fired(&mut self) {
        self.all_fired = self.all_fired || self.fired.iter().all(|is_fired| *is_fired);
    }

    /// Counts all successors as explored.
    #[inline]
    pub(crate) fn count_all(&mut self) {
        self.counts.transitions += self.steps.successors().len() as u64;
        if self.all_fired {
            return;
        }
        for transition in self.steps.successors().transitions() {
            self.fired[transition.index()] = true;
        }
    }

    /// Counts the chosen successors as explored.
    pub(crate) fn count_chosen(&mut self) {
        self.counts.transitions += self.chosen.len() as u64;
        for number in &self.chosen {
            let transition = self.steps.successors().transitions()[*number as usize];
            self.fired[transition.index()] = true;
        }
    }

    /// Counts the others as explored, too.
    pub(crate) fn count_rest(&mut self) {
        self.counts.expanded_by_proviso += 1;
        self.counts.transitions += self.rest.len() as u64;
        for number in &self.rest {
            let transition = self.steps.successors().transitions()[*number as usize];
            self.fired[transition.index()] = true;
        }
    }

    #[cold]
    fn count_end(&mut self, state: &[u32], depth: u64) {
        let is_error = self.checks.is_error(state);
        if is_error && self.checks.leads_on {
            return;
        }
        self.counts.deadlocks += 1;
        let is_valid = match self.checks.valid_end {
            Some(label) => self.steps.executor().label(state, label),
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
            if self.steps.executor().label(state, *label) && !self.checks.is_error(state) {
                self.keeper.state(*target, depth, state);
            }
        }
    }

    #[cold]
    fn check_outcomes(&mut self, state: &[u32], depth: u64) {
        for number in 0..self.steps.successors().len() {
            let outcome = self.steps.successors().outcome(number);
            if outcome == Outcome::FINE {
                continue;
            }
            let transition: TransitionId = self.steps.successors().transitions()[number];
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
