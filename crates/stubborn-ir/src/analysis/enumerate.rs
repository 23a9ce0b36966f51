//! Trying all combinations of values of a few fields, with the real code.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use rapidhash::RapidHashMap;
use stubborn_system::{FieldId, LabelId, System};

use super::domains::View;
use crate::Model;
use crate::interpreter::Interpreter;

/// Evaluations between two looks at the budget of the model.
pub(super) const LOOK_EVERY: u64 = 64;

/// A label that must hold, or must not, in the states that are tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'m> {
    label: LabelId,
    fields: &'m [FieldId],
    holds: bool,
    /// If it is about one small field: its raw values that meet it.
    values: Option<[u64; 4]>,
}

impl<'m> Condition<'m> {
    /// The label must hold (a label that fails to evaluate counts as holding).
    pub(super) fn holds(model: &'m Model, label: LabelId) -> Self {
        Self {
            label,
            fields: &model.structure().label(label).tests,
            holds: true,
            values: model.truth_table(label),
        }
    }

    pub(super) fn is_met(
        &self,
        model: &Model,
        interpreter: &Interpreter<'_>,
        state: &[u32],
    ) -> bool {
        if let Some(values) = self.values {
            return has(&values, model.layout().field(self.fields[0]).raw(state));
        }
        let expr = &model.program().labels[self.label.index()].expr;
        (interpreter.evaluate(state, expr) != Ok(0)) == self.holds
    }

    /// The label must not hold.
    pub(super) fn fails(model: &'m Model, label: LabelId) -> Self {
        let holds = Self::holds(model, label);
        Self {
            holds: false,
            values: holds.values.map(|values| values.map(|word| !word)),
            ..holds
        }
    }
}

/// Whether a raw value is among those of a [table](System::truth_table).
#[inline]
fn has(values: &[u64; 4], raw: u32) -> bool {
    values[raw as usize / 64] >> (raw % 64) & 1 == 1
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

/// The tuples of whole views that satisfy conditions, by fields and conditions.
#[derive(Default)]
pub(super) struct Filtered(Mutex<RapidHashMap<FilterKey, Arc<Packed>>>);

/// The fields of a view, and labels that must hold or must not.
type FilterKey = (Vec<FieldId>, Vec<(LabelId, bool)>);

impl Filtered {
    /// What is known, or else what the filter leaves.
    fn or_filter(
        &self,
        view: &View,
        conditions: &[Condition<'_>],
        filter: impl FnOnce() -> Arc<Packed>,
    ) -> Arc<Packed> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = conditions.iter().map(|c| (c.label, c.holds)).collect();
        let key = (view.fields.clone(), labels);
        if let Some(tuples) = known().get(&key) {
            return Arc::clone(tuples);
        }
        let tuples = filter();
        known().insert(key, Arc::clone(&tuples));
        tuples
    }
}

/// The words of a state that some fields are in, and which of their bits.
pub(super) fn words_of(model: &Model, fields: &[FieldId]) -> Vec<(usize, u32)> {
    let mut words: Vec<(usize, u32)> = Vec::new();
    let fields = fields.iter().map(|f| model.layout().field(*f));
    // (A field of one value lies nowhere.)
    for field in fields.filter(|field| field.bits > 0) {
        let (word, mask) = (field.word as usize, field.low_mask() << field.shift);
        match words.iter_mut().find(|(w, _)| *w == word) {
            Some((_, bits)) => *bits |= mask,
            None => words.push((word, mask)),
        }
    }
    words
}

/// Some tuples of a view, as they lie in a state.
#[derive(Default)]
struct Packed {
    /// The words that the fields are in, and which of their bits.
    words: Vec<(usize, u32)>,
    /// For each tuple, its bits in these words.
    bits: Vec<u32>,
    len: usize,
}

impl Packed {
    /// The tuples of a range that meet conditions on fields of the view.
    fn new(
        interpreter: &Interpreter<'_>,
        model: &Model,
        (view, range): (&View, Range<usize>),
        conditions: &[Condition<'_>],
        state: &mut [u32],
    ) -> Self {
        let words = words_of(model, &view.fields);
        let (mut bits, mut len) = (Vec::new(), 0);
        let column = |c: &Condition<'_>| view.fields.iter().position(|f| *f == c.fields[0]);
        let (by_value, others): (Vec<_>, Vec<_>) =
            conditions.iter().partition(|c| c.values.is_some());
        let by_value: Vec<(usize, [u64; 4])> = (by_value.into_iter())
            .filter_map(|c| Some((column(c)?, c.values?)))
            .collect();
        for tuple in range {
            let raws = &view.tuples[tuple * view.fields.len()..];
            let is_out = |(column, values): &(usize, [u64; 4])| !has(values, raws[*column]);
            if by_value.iter().any(is_out) {
                continue;
            }
            view.put(model, tuple, state);
            if others.iter().all(|c| c.is_met(model, interpreter, state)) {
                bits.extend(words.iter().map(|(word, mask)| state[*word] & mask));
                len += 1;
            }
        }
        Self { words, bits, len }
    }

    /// Writes a tuple into a state.
    fn put(&self, tuple: usize, state: &mut [u32]) {
        let bits = &self.bits[tuple * self.words.len()..];
        for ((word, mask), bits) in self.words.iter().zip(bits) {
            state[*word] = state[*word] & !mask | bits;
        }
    }
}

/// All combinations of some views that satisfy some conditions.
pub(super) struct Enumeration<'m> {
    model: &'m Model,
    interpreter: Interpreter<'m>,
    /// The tuples to try.
    tuples: Vec<Arc<Packed>>,
    /// Conditions to check as soon as the view at the same position has its value; those at
    /// the end need no field.
    checks: Vec<Vec<Condition<'m>>>,
    /// From here on, tuples are of fields on which no answer depends: see [`run_telling`](Self::run_telling).
    idle_from: usize,
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
        views: Vec<(Arc<View>, Range<usize>)>,
        conditions: Vec<Condition<'m>>,
        budget: u64,
    ) -> Self {
        Self::knowing(model, views, conditions, budget, None, None)
    }

    /// The same over whole views, where is known what satisfied conditions before and, if that is of use, which
    /// fields are `relevant`.
    pub(super) fn of_whole(
        model: &'m Model,
        views: &[Arc<View>],
        conditions: Vec<Condition<'m>>,
        budget: u64,
        known: &Filtered,
        relevant: Option<&[FieldId]>,
    ) -> Self {
        let views = views.iter().map(|view| (view.clone(), 0..view.len()));
        let known = Some(known);
        Self::knowing(model, views.collect(), conditions, budget, known, relevant)
    }

    fn knowing(
        model: &'m Model,
        views: Vec<(Arc<View>, Range<usize>)>,
        conditions: Vec<Condition<'m>>,
        mut budget: u64,
        known: Option<&Filtered>,
        relevant: Option<&[FieldId]>,
    ) -> Self {
        let interpreter = Interpreter::new(model);
        let mut state = vec![0; model.layout().words()];
        // Conditions on fields of one view are checked first: what is left is often one
        // location of a process.
        let is_inside =
            |c: &Condition<'_>, view: &View| c.fields.iter().all(|f| view.fields.contains(f));
        // The smallest first, which are most likely to be left with nothing: then nobody looks at the others.
        let mut order: Vec<usize> = (0..views.len()).collect();
        order.sort_by_key(|at| views[*at].1.len());
        let mut packed = vec![Arc::default(); views.len()];
        let mut is_in_vain = false;
        let mut own: Vec<Condition<'_>> = Vec::new();
        for at in order {
            let (view, range) = &views[at];
            own.clear();
            own.extend(conditions.iter().filter(|c| is_inside(c, view)));
            if !own.is_empty() {
                budget = budget.saturating_sub(range.len() as u64);
            }
            if is_in_vain {
                continue;
            }
            let part = (&**view, range.clone());
            let pack = || Arc::new(Packed::new(&interpreter, model, part, &own, &mut state));
            packed[at] = match known {
                Some(known) => known.or_filter(view, &own, pack),
                None => pack(),
            };
            is_in_vain = packed[at].len == 0;
        }
        let views = views.into_iter().map(|(view, _)| view);
        let mut views: Vec<(Arc<View>, Arc<Packed>)> = views.zip(packed).collect();
        let mut across = conditions;
        across.retain(|c| !views.iter().any(|(view, _)| is_inside(c, view)));
        let has = |view: &View, fields: &[FieldId]| view.fields.iter().any(|f| fields.contains(f));
        // (What conditions tie to others might have to be tried for long, until it tells something.)
        let is_idle = |view: &View| {
            relevant.is_some_and(|relevant| !has(view, relevant))
                && !across.iter().any(|c| has(view, c.fields))
        };
        views.sort_by_cached_key(|(view, tuples)| (is_idle(view), tuples.len));
        let idle_from = views.iter().take_while(|(view, _)| !is_idle(view)).count();
        let mut checks = vec![Vec::new(); views.len() + 1];
        for condition in across {
            let complete_at = views.iter().rposition(|(v, _)| has(v, condition.fields));
            checks[complete_at.map_or(0, |at| at + 1)].push(condition);
        }
        Self {
            model,
            interpreter,
            tuples: views.into_iter().map(|(_, tuples)| tuples).collect(),
            checks,
            idle_from,
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

    /// Evaluations that it takes at least to try everything. (Conditions on several views may leave few
    /// combinations, or many.)
    pub(super) fn needs(&self) -> u64 {
        let (mut combinations, mut needs) = (1_u64, 0_u64);
        let levels = self.tuples.iter().zip(&self.checks);
        for (at, (tuples, checks)) in levels.enumerate() {
            if !checks.is_empty() {
                return needs;
            }
            let all = tuples.len as u64;
            let tried = if at < self.idle_from { all } else { all.min(1) };
            combinations = combinations.saturating_mul(tried);
            needs = needs.saturating_add(combinations);
        }
        match self.checks.last() {
            Some(checks) if !checks.is_empty() => needs,
            _ => needs.saturating_add(combinations.saturating_mul(self.cost)),
        }
    }

    /// Calls `visit` for every combination.
    pub(super) fn run(&mut self, visit: &mut dyn FnMut(&mut [u32]) -> ControlFlow<()>) -> Ended {
        self.run_telling(&mut |state| visit(state).map_continue(|()| false))
    }

    /// Calls `visit` for every combination, but once it has told something (true), no more for others that
    /// differ only in fields that are not relevant: it would tell the same.
    pub(super) fn run_telling(
        &mut self,
        visit: &mut dyn FnMut(&mut [u32]) -> ControlFlow<(), bool>,
    ) -> Ended {
        match self.level(0, visit) {
            ControlFlow::Continue(_) => Ended::Complete,
            ControlFlow::Break(ended) => ended,
        }
    }

    fn level(
        &mut self,
        at: usize,
        visit: &mut dyn FnMut(&mut [u32]) -> ControlFlow<(), bool>,
    ) -> ControlFlow<Ended, bool> {
        for condition in &self.checks[at] {
            if !condition.is_met(self.model, &self.interpreter, &self.state) {
                return ControlFlow::Continue(false);
            }
        }
        if at == self.tuples.len() {
            if self.budget < self.cost {
                return ControlFlow::Break(Ended::OutOfBudget);
            }
            self.budget -= self.cost;
            return visit(&mut self.state).map_break(|()| Ended::Stopped);
        }
        for next in 0..self.tuples[at].len {
            let looks = self.budget.is_multiple_of(LOOK_EVERY);
            if self.budget == 0 || looks && self.model.budget().poll().is_some() {
                return ControlFlow::Break(Ended::OutOfBudget);
            }
            self.budget -= 1;
            self.tuples[at].put(next, &mut self.state);
            if self.level(at + 1, visit)? && at >= self.idle_from {
                return ControlFlow::Continue(true);
            }
        }
        ControlFlow::Continue(false)
    }
}
