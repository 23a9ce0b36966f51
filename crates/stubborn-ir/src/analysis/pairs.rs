//! Decisions on pairs: syntax first, then all values of the joint support with real code.

use std::ops::ControlFlow;
use std::sync::Arc;

use stubborn_system::{FieldId, LabelId, System, TransitionId};

use super::domains::{Domains, View};
use super::enumerate::{Condition, Ended, Enumeration, Filtered};
use super::parts::Parts;
use super::support::{Support, shares};
use super::syntax::Syntax;
use crate::interpreter::Interpreter;
use crate::{Model, Statement};

/// Up to so many combinations are tried without a look at what they have to do with the question.
const MOST_UNSORTED: u64 = 256;

/// What is to be known about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Can the label be turned to this by the transition?
    Turn(LabelId, TransitionId, bool),
    /// Can the labels hold together?
    Together(LabelId, LabelId),
    /// Can the two be in each other's way where both are enabled?
    Conflict(TransitionId, TransitionId),
    /// Is there a state from which the first cannot be moved left over the second?
    LeftConflict(TransitionId, TransitionId),
    /// Where both are enabled, can the outcome of the first be another one after the second?
    Outcome(TransitionId, TransitionId),
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Decision {
    No,
    Yes,
    /// It would take too many evaluations to know; it counts as what is safe.
    #[default]
    TooMuch,
}

/// What can be said without trying.
#[derive(Clone, Debug)]
pub(super) enum First {
    Known(Decision),
    /// All values of [its fields](Pairs::views) have to be tried.
    Try(Question),
}

/// What came of trying.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    pub(super) decision: Decision,
    /// Evaluations that it took.
    pub(super) spent: u64,
    /// Evaluations without which it cannot be `No`.
    pub(super) needs: u64,
}

/// Everything known when pairs are decided.
pub(super) struct Pairs<'m> {
    model: &'m Model,
    supports: &'m [Support],
    syntax: &'m Syntax<'m>,
    domains: Option<&'m Domains>,
    /// By label: its evaluation may fail.
    may_fail: Vec<bool>,
    /// Values that satisfy the guards of a command are asked for again and again.
    filtered: Filtered,
}

impl<'m> Pairs<'m> {
    pub(super) fn new(
        model: &'m Model,
        supports: &'m [Support],
        syntax: &'m Syntax<'m>,
        domains: Option<&'m Domains>,
    ) -> Self {
        let program = model.program();
        let labels = program.labels.iter();
        Self {
            model,
            supports,
            syntax,
            domains,
            may_fail: labels.map(|label| program.may_fail(&label.expr)).collect(),
            filtered: Filtered::default(),
        }
    }

    pub(super) fn model(&self) -> &'m Model {
        self.model
    }

    fn support(&self, t: TransitionId) -> &'m Support {
        &self.supports[t.index()]
    }

    /// `t` is certainly disabled right after `u`.
    pub(super) fn never_after(&self, t: TransitionId, u: TransitionId) -> bool {
        self.syntax.never_after(t, u, self.support(u))
    }

    /// Low priority: whether it is enabled depends on everything.
    pub(super) fn is_special(&self, t: TransitionId) -> bool {
        self.priority(t) > 0
    }

    fn priority(&self, t: TransitionId) -> u8 {
        self.model.structure().transition(t).priority
    }

    /// Whether the label can be turned to `to` by the transition.
    pub(super) fn may_turn(&self, label: LabelId, t: TransitionId, to: bool) -> First {
        let support = self.support(t);
        if !self.syntax.may_turn(label, t, support, to) {
            return First::Known(Decision::No);
        }
        if support.chain {
            return First::Known(Decision::Yes);
        }
        First::Try(Question::Turn(label, t, to))
    }

    /// Whether some state satisfies both labels.
    pub(super) fn may_hold_together(&self, g: LabelId, h: LabelId) -> First {
        if g == h {
            return First::Known(Decision::Yes);
        }
        if self.syntax.never_together(g, h) {
            return First::Known(Decision::No);
        }
        let structure = self.model.structure();
        let (a, b) = (&structure.label(g).tests, &structure.label(h).tests);
        if !self.related(a, b) {
            return First::Known(Decision::Yes);
        }
        First::Try(Question::Together(g, h))
    }

    /// Labels can exclude each other only through fields, or fields of one process.
    fn related(&self, a: &[FieldId], b: &[FieldId]) -> bool {
        let layout = self.model.layout();
        let process = |f: &FieldId| layout.field(*f).process;
        shares(a, b)
            || a.iter()
                .any(|f| process(f).is_some() && b.iter().any(|e| process(e) == process(f)))
    }

    /// Whether the two can be in each other's way where both are enabled.
    pub(super) fn may_not_accord(&self, t: TransitionId, u: TransitionId) -> First {
        let (ts, us) = (self.support(t), self.support(u));
        // Of different priorities, only one is enabled at a time.
        if self.priority(t) != self.priority(u) {
            return First::Known(Decision::No);
        }
        let special = self.is_special(t);
        if t == u || (!special && !ts.conflicts(us)) || self.syntax.never_co_enabled(t, u) {
            return First::Known(Decision::No);
        }
        if special {
            return First::Known(Decision::Yes);
        }
        if !self.syntax.may_not_accord((t, ts), (u, us)) {
            return First::Known(Decision::No);
        }
        if ts.chain || us.chain {
            return First::Known(Decision::Yes);
        }
        First::Try(Question::Conflict(t, u))
    }

    /// Whether the outcome of `t`, where both are enabled, may be another one after `u`. What lets the
    /// two accord by its form does not change what a body of `t` sees.
    pub(super) fn may_change_outcome(&self, t: TransitionId, u: TransitionId) -> First {
        match self.may_not_accord(t, u) {
            First::Try(_) => First::Try(Question::Outcome(t, u)),
            known => known,
        }
    }

    /// Whether `u` may write something that `t` looks at, or outrank it by what it enables.
    pub(super) fn may_be_seen(&self, u: TransitionId, by: TransitionId) -> bool {
        shares(&self.support(u).writes, &self.support(by).looked)
            || self.is_special(by) && self.priority(u) == self.priority(by)
    }

    /// Whether `t` cannot always be moved left over `u`; if trying would be `too_much`, what
    /// syntax says.
    pub(super) fn may_not_left_accord(
        &self,
        t: TransitionId,
        u: TransitionId,
        too_much: bool,
    ) -> First {
        let (ts, us) = (self.support(t), self.support(u));
        if t == u || self.never_after(t, u) {
            return First::Known(Decision::No);
        }
        if self.is_special(t) || self.is_special(u) {
            return First::Known(Decision::Yes);
        }
        if !ts.conflicts(us) {
            return First::Known(Decision::No);
        }
        let enables = ts
            .guards
            .iter()
            .any(|g| self.syntax.may_turn(*g, u, us, true));
        if !enables
            && (self.syntax.never_co_enabled(t, u) || !self.syntax.may_not_accord((t, ts), (u, us)))
        {
            return First::Known(Decision::No);
        }
        if ts.chain || us.chain || too_much {
            return First::Known(Decision::Yes);
        }
        First::Try(Question::LeftConflict(t, u))
    }

    /// The values to try for a question, unless there are too many to begin with.
    pub(super) fn views(&self, question: Question) -> Option<Vec<Arc<View>>> {
        let structure = self.model.structure();
        let tests = |g: LabelId| structure.label(g).tests.as_slice();
        let looked = |t: TransitionId| self.support(t).looked.as_slice();
        let (a, b) = match question {
            Question::Turn(label, t, _) => (tests(label), looked(t)),
            Question::Together(g, h) => (tests(g), tests(h)),
            Question::Conflict(t, u) | Question::LeftConflict(t, u) | Question::Outcome(t, u) => {
                (looked(t), looked(u))
            }
        };
        let domains = self.domains?;
        // Most pairs of a model with many values have such a field.
        if a.iter().chain(b).any(|field| domains.is_open(*field)) {
            return None;
        }
        let mut all: Vec<FieldId> = a.iter().chain(b).copied().collect();
        all.sort_unstable();
        all.dedup();
        domains.views(&all)
    }

    /// Tries all values, within a budget; what needs more than `most` evaluations to be decided is not
    /// tried: the only answer to be had, that something was found, counts for no more than no answer.
    pub(super) fn decide(
        &self,
        question: Question,
        views: &[Arc<View>],
        budget: u64,
        most: u64,
    ) -> Tried {
        // (To find out what matters takes a while, too.)
        let combinations = views.iter().map(|view| view.len() as u64);
        let is_long = combinations.fold(1, u64::saturating_mul) > MOST_UNSORTED;
        let relevant = is_long.then(|| self.relevant(question)).flatten();
        self.decide_by(question, views, relevant.as_deref(), budget, most)
    }

    /// The same, where is known what is relevant.
    fn decide_by(
        &self,
        question: Question,
        views: &[Arc<View>],
        relevant: Option<&[FieldId]>,
        budget: u64,
        most: u64,
    ) -> Tried {
        let mut trial = Trial {
            pairs: self,
            interpreter: Interpreter::new(self.model),
            scratch: (Vec::new(), Vec::new()),
            gave_up: false,
            told: false,
        };
        let mut enumeration = Enumeration::of_whole(
            self.model,
            views,
            self.conditions(question),
            budget,
            &self.filtered,
            relevant,
        )
        .with_cost(question.cost());
        let needs = enumeration.needs();
        if needs > most {
            return Tried {
                decision: Decision::TooMuch,
                spent: 0,
                needs,
            };
        }
        let ended = match question {
            Question::Turn(label, t, to) => {
                let turned = match to {
                    true => Condition::holds(self.model, label),
                    false => Condition::fails(self.model, label),
                };
                enumeration.run_telling(&mut |state| {
                    let turns = trial.turns(state, t, &turned);
                    wanted(turns || trial.gave_up).map_continue(|()| trial.told)
                })
            }
            Question::Together(..) => enumeration.run(&mut |_| wanted(true)),
            Question::Conflict(t, u) => {
                let unseen = unseen(self.support(t), self.support(u));
                let guards = Guards::new(self, t, u);
                let conflict = |trial: &mut Trial<'_, '_>, state: &[u32]| {
                    !trial.commute(state, t, u, &guards) || trial.gave_up
                };
                enumeration.run_telling(&mut |state| {
                    let found = trial.with_fillings(state, &unseen, conflict);
                    wanted(found).map_continue(|()| trial.told)
                })
            }
            Question::LeftConflict(t, u) => {
                let unseen = unseen(self.support(t), self.support(u));
                let guards = Guards::new(self, t, u);
                let conflict = |trial: &mut Trial<'_, '_>, state: &[u32]| {
                    !trial.moves_left(state, t, u, &guards) || trial.gave_up
                };
                enumeration.run(&mut |state| wanted(trial.with_fillings(state, &unseen, conflict)))
            }
            Question::Outcome(t, u) => {
                let guards = Guards::new(self, t, u);
                enumeration.run_telling(&mut |state| {
                    let changes = !trial.keeps_outcome(state, t, u, &guards);
                    wanted(changes || trial.gave_up).map_continue(|()| trial.told)
                })
            }
        };
        let decision = match ended {
            _ if trial.gave_up => Decision::TooMuch,
            Ended::Complete => Decision::No,
            Ended::Stopped => Decision::Yes,
            Ended::OutOfBudget => Decision::TooMuch,
        };
        Tried {
            decision,
            spent: budget - enumeration.budget_left(),
            needs,
        }
    }

    /// The fields that an answer depends on, sorted, besides what makes a step fail at once; `None` if that may be all of them.
    ///
    /// Bodies fall into parts that have no field in common: what a part does, and whether it fails, depends on its own
    /// fields. A part that one of two steps has for itself does the same in both orders.
    fn relevant(&self, question: Question) -> Option<Vec<FieldId>> {
        let structure = self.model.structure();
        let mut parts = Parts::default();
        match question {
            Question::Turn(label, t, _) => {
                parts.add_body(self.model, t, 0)?;
                parts.add(structure.label(label).tests.clone(), 1);
            }
            Question::Conflict(t, u) | Question::Outcome(t, u) => {
                let guards = Guards::new(self, t, u);
                for (number, id) in [t, u].into_iter().enumerate() {
                    parts.add_body(self.model, id, number)?;
                    for g in guards.risky[number].iter().chain(&guards.touched[number]) {
                        parts.add(structure.label(*g).tests.clone(), number);
                    }
                }
            }
            Question::Together(..) | Question::LeftConflict(..) => return None,
        }
        Some(parts.common())
    }

    /// What must hold in the states that are tried.
    fn conditions(&self, question: Question) -> Vec<Condition<'m>> {
        let model = self.model;
        let enabled = |t: TransitionId| {
            let guards = self.support(t).guards.iter();
            guards.map(|g| Condition::holds(model, *g))
        };
        match question {
            Question::Turn(label, t, true) => std::iter::once(Condition::fails(model, label))
                .chain(enabled(t))
                .collect(),
            Question::Turn(label, t, false) => std::iter::once(Condition::holds(model, label))
                .chain(enabled(t))
                .collect(),
            Question::Together(g, h) => {
                vec![Condition::holds(model, g), Condition::holds(model, h)]
            }
            Question::Conflict(t, u) | Question::Outcome(t, u) => {
                enabled(t).chain(enabled(u)).collect()
            }
            Question::LeftConflict(t, u) => {
                // A guard of `t` that `u` does not touch holds after `u` only if it held before.
                let writes = &self.support(u).writes;
                let untouched = |g: &&LabelId| !shares(&model.structure().label(**g).tests, writes);
                let guards = self.support(t).guards.iter().filter(untouched);
                let before = guards.map(|g| Condition::holds(model, *g));
                before.chain(enabled(u)).collect()
            }
        }
    }
}

impl Question {
    /// What trying one combination costs, in evaluations.
    fn cost(self) -> u64 {
        match self {
            Question::Together(..) => 0,
            Question::Turn(..) => 1,
            Question::Conflict(..) | Question::LeftConflict(..) | Question::Outcome(..) => 3,
        }
    }
}

fn wanted(found: bool) -> ControlFlow<()> {
    match found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Tries one pair.
struct Trial<'p, 'm> {
    pairs: &'p Pairs<'m>,
    interpreter: Interpreter<'m>,
    /// Two states.
    scratch: (Vec<u32>, Vec<u32>),
    /// What a body does could not be found out.
    gave_up: bool,
    /// In the state that was tried last, no step failed at once: what came of it is the same in all states
    /// that are the same in all that is [relevant](Pairs::relevant).
    told: bool,
}

impl Trial<'_, '_> {
    /// Runs a body; false if it fails.
    fn run(&mut self, state: &mut [u32], body: &[Statement]) -> bool {
        let outcome = self.interpreter.run_body(state, body);
        self.gave_up |= outcome.is_none();
        outcome.is_some_and(|outcome| outcome.failed().is_none())
    }

    /// Whether a condition is met after the transition.
    fn turns(&mut self, state: &[u32], t: TransitionId, turned: &Condition<'_>) -> bool {
        let program = self.pairs.model.program();
        let (mut after, other) = std::mem::take(&mut self.scratch);
        after.clear();
        after.extend_from_slice(state);
        let body = &program.commands[t.index()].body;
        self.told = self.run(&mut after, body);
        let turns = self.told && turned.is_met(self.pairs.model, &self.interpreter, &after);
        self.scratch = (after, other);
        turns
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

    /// Replaces the state by the one after a transition, if those of its guards hold that are in
    /// question; false if it is disabled or fails.
    fn fire(&mut self, state: &mut [u32], t: TransitionId, guards: &[LabelId]) -> bool {
        let program = self.pairs.model.program();
        let holds = |g: &LabelId| {
            let value = self
                .interpreter
                .evaluate(state, &program.labels[g.index()].expr);
            value.is_ok_and(|v| v != 0)
        };
        guards.iter().all(holds) && self.run(state, &program.commands[t.index()].body)
    }

    /// Whether both orders are possible and end in the same state, if each is possible alone.
    fn commute(&mut self, state: &[u32], t: TransitionId, u: TransitionId, of: &Guards) -> bool {
        let (mut one, mut other) = self.copies(state);
        self.told = self.fire(&mut one, t, &of.risky[0]) && self.fire(&mut other, u, &of.risky[1]);
        let commute = !self.told
            || self.fire(&mut one, u, &of.touched[1])
                && self.fire(&mut other, t, &of.touched[0])
                && one == other;
        self.scratch = (one, other);
        commute
    }

    /// Whether `t u` is possible and ends in the same state, if `u t` is possible.
    fn moves_left(&mut self, state: &[u32], t: TransitionId, u: TransitionId, of: &Guards) -> bool {
        let (mut one, mut other) = self.copies(state);
        let moves = !(self.fire(&mut one, u, &of.risky[1]) && self.fire(&mut one, t, &of.either))
            || self.fire(&mut other, t, &of.either)
                && self.fire(&mut other, u, &of.touched[1])
                && one == other;
        self.scratch = (one, other);
        moves
    }

    /// Whether `t` has the same outcome before and after `u`, if `u` is possible.
    fn keeps_outcome(
        &mut self,
        state: &[u32],
        t: TransitionId,
        u: TransitionId,
        of: &Guards,
    ) -> bool {
        let (mut one, mut other) = self.copies(state);
        let before = match self.fire(&mut other, u, &of.risky[1]) {
            true => Some(self.outcome(&mut one, t, &of.either)),
            false => None,
        };
        self.told = before.flatten().is_some_and(|(_, failed)| !failed);
        let keeps = before.is_none_or(|it| it == self.outcome(&mut other, t, &of.either));
        self.scratch = (one, other);
        keeps
    }

    /// Whether a step violates an assertion, and whether it fails; `None` if one of those of its
    /// guards that are in question is false.
    fn outcome(
        &mut self,
        state: &mut [u32],
        t: TransitionId,
        guards: &[LabelId],
    ) -> Option<(bool, bool)> {
        let program = self.pairs.model.program();
        let mut guard_fails = false;
        for g in guards {
            match (self.interpreter).evaluate(state, &program.labels[g.index()].expr) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(_) => guard_fails = true,
            }
        }
        if guard_fails {
            return Some((false, true));
        }
        let body = &program.commands[t.index()].body;
        let outcome = self.interpreter.run_body(state, body);
        self.gave_up |= outcome.is_none();
        outcome.map(|outcome| (outcome.violated().is_some(), outcome.failed().is_some()))
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

/// The guards of two transitions that have to be looked at when one is fired after the other. States
/// are tried in which the others hold: nobody looks at these again.
struct Guards {
    /// Of each, those whose evaluation may fail, which counts as holding.
    risky: [Vec<LabelId>; 2],
    /// Of each, those that the other may change.
    touched: [Vec<LabelId>; 2],
    /// Of the first one, both.
    either: Vec<LabelId>,
}

impl Guards {
    fn new(pairs: &Pairs<'_>, t: TransitionId, u: TransitionId) -> Self {
        let structure = pairs.model.structure();
        let risky = |g: &LabelId| pairs.may_fail[g.index()];
        let touched = |g: &LabelId, by: TransitionId| {
            shares(&structure.label(*g).tests, &pairs.support(by).writes)
        };
        let of = |t: TransitionId, wanted: &dyn Fn(&LabelId) -> bool| -> Vec<LabelId> {
            let guards = pairs.support(t).guards.iter().copied();
            guards.filter(wanted).collect()
        };
        Self {
            risky: [of(t, &risky), of(u, &risky)],
            touched: [of(t, &|g| touched(g, u)), of(u, &|g| touched(g, t))],
            either: of(t, &|g| risky(g) || touched(g, u)),
        }
    }
}

/// Fields that one of the two writes and none looks at.
fn unseen(ts: &Support, us: &Support) -> Vec<FieldId> {
    let looked =
        |f: &FieldId| ts.looked.binary_search(f).is_ok() || us.looked.binary_search(f).is_ok();
    let written = ts.writes.iter().chain(&us.writes);
    written.filter(|f| !looked(f)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dining_philosophers, peterson, random_program, ring_election};
    use crate::{Command, Expr, Program, Variable};

    /// A clock for several timers, one of which others look at and set; steps of the clock fail where one would
    /// run too far.
    fn timers() -> Program {
        let mut program = Program::new("timers");
        let names = ["a", "b", "c"];
        let all = names.map(|name| program.variable(Variable::integer(name, 0, 5, 3)));
        let site = program.out_of_range_site("a timer", None);
        let less = |v| Expr::minus(Expr::Var(v), Expr::Const(1));
        let tick = all.map(|v| crate::Statement::assign(v, less(v), site));
        let body = tick.to_vec();
        let name = "tick".into();
        program.command(Command {
            name,
            body,
            ..Command::default()
        });
        for (at, v) in all.into_iter().enumerate() {
            let is_low = program.label(Expr::less(Expr::Var(v), Expr::Const(2)));
            let other = Expr::Var(all[(at + 1) % 3]);
            for value in [Expr::Const(4), Expr::plus(Expr::Var(v), other)] {
                program.command(Command {
                    name: format!("set {at}"),
                    guards: vec![is_low],
                    body: vec![crate::Statement::assign(v, value, site)],
                    ..Command::default()
                });
            }
        }
        program
    }

    #[test]
    fn what_is_not_relevant_changes_no_answer() {
        let protocols = [
            timers(),
            peterson(3),
            dining_philosophers(4),
            ring_election(3, 2),
        ];
        let random = (0..60).map(random_program);
        let (mut shorter, mut answers) = (0, [0; 2]);
        for program in protocols.into_iter().chain(random) {
            let model = Model::new(program).expect("a sound program");
            let supports = Support::all(&model);
            let domains = Domains::reachable(&model, &supports);
            let syntax = Syntax::new(&model, &supports);
            let pairs = Pairs::new(&model, &supports, &syntax, Some(&domains));
            let structure = model.structure();
            let steps = || structure.transition_ids();
            let both = steps().flat_map(|t| steps().map(move |u| (t, u)));
            let both = both.flat_map(|(t, u)| [Question::Conflict(t, u), Question::Outcome(t, u)]);
            let turns = structure.label_ids().flat_map(|g| {
                steps().flat_map(move |t| [false, true].map(|to| Question::Turn(g, t, to)))
            });
            for question in both.chain(turns) {
                let (Some(views), Some(relevant)) =
                    (pairs.views(question), pairs.relevant(question))
                else {
                    continue;
                };
                let most = 100_000;
                let by = |relevant| pairs.decide_by(question, &views, relevant, most, most);
                let (all, some) = (by(None), by(Some(&relevant)));
                if all.decision == Decision::TooMuch {
                    continue;
                }
                let name = &model.program().name;
                assert_eq!(all.decision, some.decision, "{name}: {question:?}");
                let is_no = all.decision == Decision::No;
                assert!(!is_no || some.needs <= some.spent, "{name}: {question:?}");
                shorter += usize::from(is_no && some.spent < all.spent);
                answers[usize::from(is_no)] += 1;
            }
        }
        assert!(
            shorter > 100 && answers.iter().all(|n| *n > 100),
            "{shorter} {answers:?}"
        );
    }
}
