//! The relations that reductions work with, typed by the side on which they may err.
//!
//! A reduction is sound only if some relations are over-approximations (adding a pair is
//! safe, leaving one out may lose a bug) and others under-approximations (the other way
//! round). [`May`] and [`Must`] make the difference part of the type, and the complement
//! of one is the other: a wrong use does not compile. (A published estimate of
//! do-not-left-accord had exactly such a mix-up.)
//!
//! A transition of [low priority](crate::Transition::priority) may be disabled although all
//! its guards hold. No enabling set is known for it then: algorithms take all transitions, unless
//! something of a higher priority is sure to stay enabled.
//!
//! Notation as in Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order
//! reduction* (2014): necessary enabling and disabling sets `N_g`, do-not-accord `DNA`,
//! do-not-left-accord `DNB`, may-be-co-enabled `MC`.

use crate::budget::UNLIMITED;
use crate::{Budget, FieldId, LabelId, Matrix, MatrixBuilder, Structure, TransitionId};

/// An over-approximation: contains every pair for which the fact *can* be true.
#[derive(Clone, Debug)]
pub struct May<M>(pub M);

/// An under-approximation: contains only pairs for which the fact is *always* true.
#[derive(Clone, Debug)]
pub struct Must<M>(pub M);

impl<R: crate::matrix::Index, C: crate::matrix::Index> May<Matrix<R, C>> {
    /// What is certainly not related.
    pub fn complement(&self) -> Must<Matrix<R, C>> {
        Must(self.0.complement())
    }

    /// Two over-approximations of the same fact: both must agree that a pair is possible.
    pub fn refine(&self, other: &Self) -> Self {
        May(self.0.intersection(&other.0))
    }
}

impl<R: crate::matrix::Index, C: crate::matrix::Index> Must<Matrix<R, C>> {
    /// What may be unrelated.
    pub fn complement(&self) -> May<Matrix<R, C>> {
        May(self.0.complement())
    }
}

/// How hard to look at the model, from weak and fast to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelationLevel {
    /// Only which fields are tested, read and written.
    Sets,
    /// And the shape of guards and actions: constants, comparisons, increments, program
    /// counters, channel ends.
    Syntax,
    /// And all valuations of small joint supports, tried with the real code.
    Exact,
    /// And what an over-approximation of the reachable states rules out.
    Reach,
    /// And, where that knows nothing of a shared variable, its values at each location of the
    /// processes: seconds instead of tenths.
    Located,
}

/// What reductions know of a system. Each relation says what a pair means.
///
/// All of them are about executions in which no step fails: in them, a transition whose step
/// would fail counts as disabled. That is enough, because a path to a proper deadlock, or to
/// a state that satisfies or violates a property, has no failing step in it, and a search
/// takes every step of a state in which one fails. Whether a step *can* fail is a goal of its
/// own, and who can change that the last relation.
#[derive(Clone, Debug)]
pub struct Relations {
    /// `(g, t)`: from a reachable state where `g` is false, firing `t` can make it true.
    /// A row is a necessary enabling set of its label.
    pub may_enable: May<Matrix<LabelId, TransitionId>>,
    /// `(g, t)`: from a reachable state where `g` is true, firing `t` can make it false.
    /// A row is a necessary disabling set of its label.
    pub may_disable: May<Matrix<LabelId, TransitionId>>,
    /// `(g, h)`: no reachable state satisfies both. Symmetric. (The complement of `MC`,
    /// kept this way round because it is sparse.)
    pub never_together: Must<Matrix<LabelId, LabelId>>,
    /// `(t, u)`: in some reachable state where both are enabled, one disables the other or
    /// the two orders end differently. Symmetric. (`DNA`)
    ///
    /// Where transitions have several outcomes, all of them count: an outcome of `t` that disables
    /// `u` is enough, and the ends of an order are those of all outcomes of the one after all outcomes
    /// of the other.
    pub do_not_accord: May<Matrix<TransitionId, TransitionId>>,
    /// `(t, u)`: in some reachable state where both are enabled, an outcome of `t` and one of `u` do
    /// not meet again: no outcome of `u` after the one is an outcome of `t` after the other. Symmetric.
    ///
    /// Two that accord and of which one has but one outcome meet. Where both have several, equal ends
    /// do not make any two outcomes meet, nor the other way round. `None`: only what follows from
    /// [sets and accordance](Self::may_not_meet) is known.
    pub do_not_meet: Option<May<Matrix<TransitionId, TransitionId>>>,
    /// `(t, u)`: `t` cannot always be moved left over `u`: in some reachable state `u t` can
    /// be fired and `t u` cannot, or ends elsewhere. (`DNB`, row `t` is `DNB_t`)
    pub do_not_left_accord: May<Matrix<TransitionId, TransitionId>>,
    /// `(t, u)`: after `t`, `u` is never enabled.
    pub must_disable: Must<Matrix<TransitionId, TransitionId>>,
    /// `(t, u)`, for `t` that may fail or violate an assertion: in some reachable state where `t` is
    /// enabled, whatever its outcome, a step of `u` that does not fail leads to where `t` is
    /// disabled, or differs in whether it fails or whether it violates an assertion. `None`: only
    /// what `u` writes is known.
    pub may_change_outcome: Option<May<Matrix<TransitionId, TransitionId>>>,
}

impl Relations {
    /// The relations that follow from test, read and write sets alone: correct for every
    /// system that keeps the laws of the seam, and the weakest.
    pub fn from_sets(structure: &Structure) -> Self {
        Self::from_sets_within(structure, &UNLIMITED)
    }

    /// The same where nobody knows what comes after some transitions: other transitions than those
    /// of the system may become possible, and do anything. So these depend on all others, and may
    /// change every label; a set that holds anything that is enabled holds them, too.
    #[must_use]
    pub fn with_unknown_effects(self, unknown: &[TransitionId]) -> Self {
        if unknown.is_empty() {
            return self;
        }
        fn with<R: crate::matrix::Index, C: crate::matrix::Index>(
            matrix: &Matrix<R, C>,
            columns: &[TransitionId],
            rows: &[TransitionId],
        ) -> Matrix<R, C> {
            let row = |number: usize| {
                let all = rows.iter().any(|row| row.index() == number);
                let mut row = match all {
                    true => (0..matrix.columns() as u32).collect(),
                    false => matrix.row_indices(R::from_index(number)).to_vec(),
                };
                row.extend(columns.iter().map(|column| column.index() as u32));
                row
            };
            Matrix::from_rows(matrix.columns(), (0..matrix.rows()).map(row))
        }
        let must_disable = &self.must_disable.0;
        Self {
            may_enable: May(with(&self.may_enable.0, unknown, &[])),
            may_disable: May(with(&self.may_disable.0, unknown, &[])),
            do_not_accord: May(with(&self.do_not_accord.0, unknown, unknown)),
            do_not_left_accord: May(with(&self.do_not_left_accord.0, unknown, unknown)),
            must_disable: Must(Matrix::from_fn(
                must_disable.rows(),
                must_disable.columns(),
                |t: TransitionId, u| !unknown.contains(&t) && must_disable.contains(t, u),
            )),
            may_change_outcome: (self.may_change_outcome)
                .map(|outcome| May(with(&outcome.0, unknown, unknown))),
            // (They do not accord with anybody.)
            do_not_meet: self.do_not_meet,
            never_together: self.never_together,
        }
    }

    /// For each transition that may have several outcomes, those with one of whose outcomes one of its
    /// own may not meet again, among those that accord with it; for all others, none. Symmetric.
    ///
    /// Accordance says that both orders have the same ends. That is enough for whoever may choose among
    /// the outcomes of a step, and no promise for each of them. Whoever follows any kept step asks
    /// for this, too.
    pub fn may_not_meet(&self, structure: &Structure) -> May<Matrix<TransitionId, TransitionId>> {
        let count = structure.transitions.len();
        let has_several = |t: u32| !structure.transitions[t as usize].deterministic;
        let several: Vec<u32> = (0..count as u32).filter(|t| has_several(*t)).collect();
        let mut pairs = MatrixBuilder::new(count, count);
        if several.len() < 2 {
            return May(pairs.finish());
        }
        let known = match &self.do_not_meet {
            Some(known) => known,
            // Who does not write what the other looks at or writes does the same before and after.
            None => &Self::from_sets(structure).do_not_accord,
        };
        for t in several {
            let row = TransitionId::new(t as usize);
            let others = known.0.row_indices(row).iter().copied();
            for u in others.filter(|u| *u != t && has_several(*u)) {
                let column = TransitionId::new(u as usize);
                if !self.do_not_accord.0.contains(row, column) {
                    pairs.insert(row, column);
                    pairs.insert(column, row);
                }
            }
        }
        May(pairs.finish())
    }

    /// As [`from_sets`](Self::from_sets); once the budget is spent, nothing follows from them.
    pub fn from_sets_within(structure: &Structure, budget: &Budget) -> Self {
        budget.begin("computing relations");
        let (labels, transitions) = (structure.labels.len(), structure.transitions.len());
        let sets = FieldSets::new(structure);
        let writers_of_label = |label: LabelId| -> Vec<u32> {
            let tests = &structure.label(label).tests;
            tests
                .iter()
                .flat_map(|f| sets.writers[f.index()].iter().copied())
                .collect()
        };
        let may_change: Matrix<LabelId, TransitionId> =
            Matrix::from_rows(transitions, structure.label_ids().map(writers_of_label));
        let mut conflicts = MatrixBuilder::new(transitions, transitions);
        for (field, writers) in sets.writers.iter().enumerate() {
            for writer in writers {
                if budget.poll().is_some() {
                    break;
                }
                for other in writers.iter().chain(&sets.lookers[field]) {
                    let (a, b) = (*writer as usize, *other as usize);
                    conflicts.insert(TransitionId::new(a), TransitionId::new(b));
                    conflicts.insert(TransitionId::new(b), TransitionId::new(a));
                }
            }
        }
        for (id, transition) in structure.transition_ids().zip(&structure.transitions) {
            // A low-priority transition looks at everything.
            if transition.priority > 0 {
                for other in structure.transition_ids() {
                    conflicts.insert(id, other);
                    conflicts.insert(other, id);
                }
            }
        }
        let do_not_accord = conflicts.finish();
        Self {
            may_enable: May(may_change.clone()),
            may_disable: May(may_change),
            never_together: Must(Matrix::empty(labels, labels)),
            do_not_left_accord: May(do_not_accord.clone()),
            do_not_accord: May(do_not_accord),
            do_not_meet: None,
            must_disable: Must(Matrix::empty(transitions, transitions)),
            may_change_outcome: None,
        }
    }
}

/// For each field, who writes it and who looks at it (in guards or action).
#[derive(Clone, Debug)]
pub struct FieldSets {
    /// Transitions that may write the field, as numbers, in order.
    pub writers: Vec<Vec<u32>>,
    /// Transitions whose guards or action look at the field, as numbers, in order.
    pub lookers: Vec<Vec<u32>>,
}

impl FieldSets {
    /// Inverts the sets of a structure.
    pub fn new(structure: &Structure) -> Self {
        let all = structure
            .transitions
            .iter()
            .flat_map(|t| t.writes.iter().chain(&t.reads))
            .chain(structure.labels.iter().flat_map(|l| &l.tests));
        let fields = all.map(|f: &FieldId| f.index() + 1).max().unwrap_or(0);
        let mut sets = Self {
            writers: vec![Vec::new(); fields],
            lookers: vec![Vec::new(); fields],
        };
        for (at, transition) in structure.transitions.iter().enumerate() {
            for field in &transition.writes {
                sets.writers[field.index()].push(at as u32);
            }
            let tests = transition
                .guards
                .iter()
                .flat_map(|g| &structure.label(*g).tests);
            let mut looked: Vec<_> = transition.reads.iter().chain(tests).collect();
            looked.sort_unstable();
            looked.dedup();
            for field in looked {
                sets.lookers[field.index()].push(at as u32);
            }
        }
        sets
    }
}
