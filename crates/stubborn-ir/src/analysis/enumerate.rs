//! Trying all combinations of values of a few fields, with the real code.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use stubborn_system::{FieldId, LabelId, System};

use super::domains::View;
use crate::Model;
use crate::interpreter::Interpreter;

/// A label that must hold, or must not, in the states that are tried.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    label: LabelId,
    fields: Vec<FieldId>,
    holds: bool,
}

impl Condition {
    /// The label must hold (a label that fails to evaluate counts as holding).
    pub(super) fn holds(model: &Model, label: LabelId) -> Self {
        Self {
            label,
            fields: model.structure().label(label).tests.clone(),
            holds: true,
        }
    }

    /// The label must not hold.
    pub(super) fn fails(model: &Model, label: LabelId) -> Self {
        Self {
            holds: false,
            ..Self::holds(model, label)
        }
    }
}

/// How an enumeration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All combinations were tried.
    Complete,
    /// The visitor had seen enough.
    Stopped,
    /// The budget was spent: nothing follows.
    OutOfBudget,
}

/// All combinations of some views that satisfy some conditions.
pub(super) struct Enumeration<'m> {
    model: &'m Model,
    interpreter: Interpreter<'m>,
    views: Vec<(Arc<View>, Range<usize>)>,
    /// Conditions to check as soon as the view at the same position has its value; those at
    /// the end need no field.
    checks: Vec<Vec<Condition>>,
    state: Vec<u32>,
    budget: u64,
    /// What a visit takes of the budget.
    cost: u64,
}

impl<'m> Enumeration<'m> {
    /// Prepares the enumeration over a range of each view. Conditions on fields outside the views are the caller's
    /// mistake and are looked at with those fields zero.
    pub(super) fn new(
        model: &'m Model,
        mut views: Vec<(Arc<View>, Range<usize>)>,
        conditions: Vec<Condition>,
        budget: u64,
    ) -> Self {
        views.sort_by_key(|(_, range)| range.len());
        let mut checks = vec![Vec::new(); views.len() + 1];
        for condition in conditions {
            let complete_at = views
                .iter()
                .rposition(|(v, _)| v.fields.iter().any(|f| condition.fields.contains(f)));
            checks[complete_at.map_or(0, |at| at + 1)].push(condition);
        }
        let state = vec![0; model.layout().words()];
        Self {
            model,
            interpreter: Interpreter::new(model),
            views,
            checks,
            state,
            budget,
            cost: 0,
        }
    }

    /// Every combination that is visited takes so much more of the budget.
    pub(super) fn with_cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Evaluations that are left.
    pub(super) fn budget_left(&self) -> u64 {
        self.budget
    }

    /// Calls `visit` for every combination.
    pub(super) fn run(&mut self, visit: &mut dyn FnMut(&mut [u32]) -> ControlFlow<()>) -> Ended {
        match self.level(0, visit) {
            ControlFlow::Continue(()) => Ended::Complete,
            ControlFlow::Break(ended) => ended,
        }
    }

    fn level(
        &mut self,
        at: usize,
        visit: &mut dyn FnMut(&mut [u32]) -> ControlFlow<()>,
    ) -> ControlFlow<Ended> {
        for condition in &self.checks[at] {
            let expr = &self.model.program().labels[condition.label.index()].expr;
            let value = self.interpreter.evaluate(&self.state, expr);
            if (value != Ok(0)) != condition.holds {
                return ControlFlow::Continue(());
            }
        }
        if at == self.views.len() {
            if self.budget < self.cost {
                return ControlFlow::Break(Ended::OutOfBudget);
            }
            self.budget -= self.cost;
            return visit(&mut self.state).map_break(|()| Ended::Stopped);
        }
        for tuple in self.views[at].1.clone() {
            if self.budget == 0 {
                return ControlFlow::Break(Ended::OutOfBudget);
            }
            self.budget -= 1;
            let view = &self.views[at].0;
            let width = view.fields.len();
            for (field, raw) in view.fields.iter().zip(&view.tuples[tuple * width..]) {
                let field = self.model.layout().field(*field);
                field.set(&mut self.state, i64::from(*raw) + field.min);
            }
            self.level(at + 1, visit)?;
        }
        ControlFlow::Continue(())
    }
}
