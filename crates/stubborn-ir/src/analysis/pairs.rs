//! Decisions on pairs: syntax first, then all values of the joint support with real code.

use std::ops::ControlFlow;

use stubborn_system::{FieldId, LabelId, System, TransitionId};

use super::domains::Domains;
use super::enumerate::{Condition, Ended, Enumeration};
use super::support::{Support, shares};
use super::syntax::Syntax;
use crate::Model;
use crate::interpreter::Interpreter;

/// Evaluations for one pair.
const PAIR_BUDGET: u64 = 40_000;
/// Evaluations for all pairs of one relation.
pub(super) const RELATION_BUDGET: u64 = 600_000;
/// The same for do-not-left-accord, which only weak sets use.
pub(super) const LEFT_BUDGET: u64 = 150_000;
/// Evaluations for all pairs of one row, at least.
pub(super) const ROW_BUDGET: u64 = 1_000;

/// Whether a pair is related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    No,
    Yes,
    /// It would take too many evaluations to know; it counts as related.
    TooMuch,
}

/// Everything known when pairs are decided.
pub(super) struct Pairs<'m> {
    model: &'m Model,
    supports: &'m [Support],
    syntax: &'m Syntax<'m>,
    domains: Option<&'m Domains>,
}

impl<'m> Pairs<'m> {
    pub(super) fn new(
        model: &'m Model,
        supports: &'m [Support],
        syntax: &'m Syntax<'m>,
        domains: Option<&'m Domains>,
    ) -> Self {
        Self {
            model,
            supports,
            syntax,
            domains,
        }
    }

    /// A decider for one row, with a budget of its own.
    pub(super) fn row(&self, budget: u64) -> Row<'_, 'm> {
        Row {
            pairs: self,
            interpreter: Interpreter::new(self.model),
            scratch: (Vec::new(), Vec::new()),
            budget,
            spent: 0,
            had_too_little: false,
        }
    }

    fn support(&self, t: TransitionId) -> &'m Support {
        &self.supports[t.index()]
    }

    /// `t` is certainly disabled right after `u`.
    pub(super) fn never_after(&self, t: TransitionId, u: TransitionId) -> bool {
        self.syntax.never_after(self.support(t), u, self.support(u))
    }

    /// Low priority: whether it is enabled depends on everything.
    pub(super) fn is_special(&self, t: TransitionId) -> bool {
        self.model.structure().transition(t).priority > 0
    }
}

/// Decides the pairs of one row.
pub(super) struct Row<'p, 'm> {
    pairs: &'p Pairs<'m>,
    interpreter: Interpreter<'m>,
    /// Two states.
    scratch: (Vec<u32>, Vec<u32>),
    budget: u64,
    spent: u64,
    had_too_little: bool,
}

impl Row<'_, '_> {
    /// Evaluations so far.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// Whether some pair was given up because the row's budget was spent.
    pub(super) fn had_too_little(&self) -> bool {
        self.had_too_little
    }

    /// Whether the label can be turned to `to` by the transition.
    pub(super) fn may_turn(&mut self, label: LabelId, t: TransitionId, to: bool) -> bool {
        let support = self.pairs.support(t);
        if !self.pairs.syntax.may_turn(label, t, support, to) {
            return false;
        }
        if support.chain {
            return true;
        }
        let model = self.pairs.model;
        let tests = &model.structure().label(label).tests;
        let before = if to {
            Condition::fails(model, label)
        } else {
            Condition::holds(model, label)
        };
        let body = &model.program().commands[t.index()].body;
        let label = &model.program().labels[label.index()].expr;
        let mut after = Vec::new();
        let turned = self.search(
            &[&support.looked, tests],
            &[t],
            vec![before],
            |row, state| {
                after.clear();
                after.extend_from_slice(state);
                row.interpreter.run_body(&mut after, body).is_ok()
                    && (row.interpreter.evaluate(&after, label) != Ok(0)) == to
            },
        );
        turned.unwrap_or(true)
    }

    /// Whether no state satisfies both labels.
    pub(super) fn never_together(&mut self, g: LabelId, h: LabelId) -> bool {
        if g == h {
            return false;
        }
        if self.pairs.syntax.never_together(g, h) {
            return true;
        }
        let model = self.pairs.model;
        let structure = model.structure();
        let (a, b) = (&structure.label(g).tests, &structure.label(h).tests);
        if !self.related(a, b) {
            return false;
        }
        let both = vec![Condition::holds(model, g), Condition::holds(model, h)];
        self.search(&[a, b], &[], both, |_, _| true) == Some(false)
    }

    /// Labels can exclude each other only through fields, or fields of one process.
    fn related(&self, a: &[FieldId], b: &[FieldId]) -> bool {
        let layout = self.pairs.model.layout();
        let process = |f: &FieldId| layout.field(*f).process;
        shares(a, b)
            || a.iter()
                .any(|f| process(f).is_some() && b.iter().any(|e| process(e) == process(f)))
    }

    /// Whether the two can be in each other's way where both are enabled.
    pub(super) fn may_not_accord(&mut self, t: TransitionId, u: TransitionId) -> Decision {
        let pairs = self.pairs;
        let (ts, us) = (pairs.support(t), pairs.support(u));
        let special = pairs.is_special(t) || pairs.is_special(u);
        if t == u || (!special && !ts.conflicts(us)) || pairs.syntax.never_co_enabled(ts, us) {
            return Decision::No;
        }
        if special {
            return Decision::Yes;
        }
        if !pairs.syntax.may_not_accord((t, ts), (u, us)) {
            return Decision::No;
        }
        if ts.chain || us.chain {
            return Decision::Yes;
        }
        let unseen = unseen(ts, us);
        let found = self.search(
            &[&ts.looked, &us.looked],
            &[t, u],
            Vec::new(),
            |row, state| row.with_fillings(state, &unseen, |row, state| !row.commute(state, t, u)),
        );
        match found {
            Some(true) => Decision::Yes,
            Some(false) => Decision::No,
            None => Decision::TooMuch,
        }
    }

    /// Whether `t` cannot always be moved left over `u`; if trying would be `too_much`, what
    /// syntax says.
    pub(super) fn may_not_left_accord(
        &mut self,
        t: TransitionId,
        u: TransitionId,
        too_much: bool,
    ) -> bool {
        let pairs = self.pairs;
        let (ts, us) = (pairs.support(t), pairs.support(u));
        if t == u || pairs.never_after(t, u) {
            return false;
        }
        if pairs.is_special(t) || pairs.is_special(u) {
            return true;
        }
        if !ts.conflicts(us) {
            return false;
        }
        let enables = ts
            .guards
            .iter()
            .any(|g| pairs.syntax.may_turn(*g, u, us, true));
        if !enables
            && (pairs.syntax.never_co_enabled(ts, us)
                || !pairs.syntax.may_not_accord((t, ts), (u, us)))
        {
            return false;
        }
        if ts.chain || us.chain || too_much {
            return true;
        }
        let unseen = unseen(ts, us);
        // A guard of `t` that `u` does not touch holds after `u` only if it held before.
        let model = pairs.model;
        let untouched = |g: &&LabelId| !shares(&model.structure().label(**g).tests, &us.writes);
        let guards = ts.guards.iter().filter(untouched);
        let before = guards.map(|g| Condition::holds(model, *g)).collect();
        let found = self.search(&[&ts.looked, &us.looked], &[u], before, |row, state| {
            row.with_fillings(state, &unseen, |row, state| !row.moves_left(state, t, u))
        });
        found.unwrap_or(true)
    }

    /// Whether some values of the fields, with the guards of `enabled` and the conditions
    /// true, satisfy `wanted`; `None` if there are too many to try.
    fn search(
        &mut self,
        fields: &[&[FieldId]],
        enabled: &[TransitionId],
        mut conditions: Vec<Condition>,
        mut wanted: impl FnMut(&mut Self, &mut [u32]) -> bool,
    ) -> Option<bool> {
        let model = self.pairs.model;
        let mut all: Vec<FieldId> = fields.iter().flat_map(|f| f.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let views = self.pairs.domains?.views(&all)?;
        let views = views.into_iter().map(|v| (v.clone(), 0..v.len())).collect();
        for t in enabled {
            let guards = &self.pairs.support(*t).guards;
            conditions.extend(guards.iter().map(|g| Condition::holds(model, *g)));
        }
        let budget = self.budget.min(PAIR_BUDGET);
        let mut enumeration = Enumeration::new(model, views, conditions, budget);
        let ended = enumeration.run(&mut |state| match wanted(self, state) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let spent = budget - enumeration.budget_left();
        self.spent += spent;
        self.budget -= spent;
        self.had_too_little |= ended == Ended::OutOfBudget && budget < PAIR_BUDGET;
        match ended {
            Ended::Complete => Some(false),
            Ended::Stopped => Some(true),
            Ended::OutOfBudget => None,
        }
    }

    /// Tries a state twice, with two different values in all fields that are written but not
    /// looked at: what is kept in one order and overwritten in the other shows in one of them.
    fn with_fillings(
        &mut self,
        state: &mut [u32],
        unseen: &[FieldId],
        mut wanted: impl FnMut(&mut Self, &[u32]) -> bool,
    ) -> bool {
        let layout = self.pairs.model.layout();
        [false, true].into_iter().any(|high| {
            for field in unseen {
                let field = layout.field(*field);
                field.set(state, if high { field.max } else { field.min });
            }
            (!high || !unseen.is_empty()) && wanted(self, state)
        })
    }

    /// Replaces the state by the one after a transition; false if that is disabled or fails.
    fn fire(&mut self, state: &mut [u32], t: TransitionId) -> bool {
        let program = self.pairs.model.program();
        let command = &program.commands[t.index()];
        let holds = |g: &LabelId| {
            let value = self
                .interpreter
                .evaluate(state, &program.labels[g.index()].expr);
            value.is_ok_and(|v| v != 0)
        };
        command.guards.iter().all(holds) && self.interpreter.run_body(state, &command.body).is_ok()
    }

    /// Whether both orders are possible and end in the same state, if each is possible alone.
    fn commute(&mut self, state: &[u32], t: TransitionId, u: TransitionId) -> bool {
        let (mut one, mut other) = self.copies(state);
        let commute = !self.fire(&mut one, t)
            || !self.fire(&mut other, u)
            || self.fire(&mut one, u) && self.fire(&mut other, t) && one == other;
        self.scratch = (one, other);
        commute
    }

    /// Whether `t u` is possible and ends in the same state, if `u t` is possible.
    fn moves_left(&mut self, state: &[u32], t: TransitionId, u: TransitionId) -> bool {
        let (mut one, mut other) = self.copies(state);
        let moves = !(self.fire(&mut one, u) && self.fire(&mut one, t))
            || self.fire(&mut other, t) && self.fire(&mut other, u) && one == other;
        self.scratch = (one, other);
        moves
    }

    /// Two copies of a state, in memory that is used again.
    fn copies(&mut self, state: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut one, mut other) = std::mem::take(&mut self.scratch);
        for copy in [&mut one, &mut other] {
            copy.clear();
            copy.extend_from_slice(state);
        }
        (one, other)
    }
}

/// Fields that one of the two writes and none looks at.
fn unseen(ts: &Support, us: &Support) -> Vec<FieldId> {
    let looked =
        |f: &FieldId| ts.looked.binary_search(f).is_ok() || us.looked.binary_search(f).is_ok();
    let written = ts.writes.iter().chain(&us.writes);
    written.filter(|f| !looked(f)).copied().collect()
}
