//! Deciding questions about pairs, structurally equal ones once.
//!
//! Two questions are structurally equal if a renaming of fields turns the one into the other:
//! the code has the same [shape](super::shapes), shared fields are shared in both, and the
//! values to try are the same lists in the same order. Then trying goes the same way, step by
//! step, and ends in the same answer. Processes of one template make most questions of a large
//! model equal to earlier ones.
//!
//! Work is bounded by a budget of evaluations for all classes of a relation. Each class is tried
//! with a little; those that need more get more, round by round, until the budget is spent. Those that
//! are known to need more than they get are not tried: what is found then is of no more use than that it was
//! too much. What a class may take depends on counts alone, never on which core is faster.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rapidhash::RapidHashMap;
use stubborn_system::{Budget, FieldId, System};

use super::domains::View;
use super::pairs::{Decision, First, Pairs, Question, Tried};
use super::shapes::{Shape, Shapes};

/// Evaluations for one class, at most.
const CLASS_BUDGET: u64 = 40_000;
/// Evaluations for one class in the first round, at most.
const FIRST_ROUND: u64 = 256;
/// Questions that are sorted into classes, of all rows together: more than that, and there would
/// be less than an evaluation for each. What is left is too much.
const MOST_ASKED: usize = 1_000_000;
/// Columns between two looks at the budget.
const LOOK_EVERY: usize = 64;
/// Evaluations for all classes of a relation, a row, at least.
const ROW_BUDGET: u64 = 1_000;

/// What a class may need to be tried with a budget. A few evaluations find most of what there is to be
/// found, so that fewer classes share the budget of the later rounds; more are for those that can be
/// decided by them.
fn worth(budget: u64) -> u64 {
    match budget {
        ..=FIRST_ROUND => CLASS_BUDGET,
        more => more,
    }
}

/// Decides rows of questions.
pub(super) struct Classes<'p, 'm> {
    pairs: &'p Pairs<'m>,
    shapes: Shapes,
    /// Decide equal questions one by one all the same.
    one_by_one: bool,
}

/// A column of a row, and what is known about it.
enum Entry {
    Known(u32, Decision),
    Try(u32, usize),
}

/// Structurally equal questions.
struct Class {
    /// One of them.
    question: Question,
    views: Vec<Arc<View>>,
    decision: Decision,
    /// What the last try was allowed.
    budget: u64,
}

impl<'p, 'm> Classes<'p, 'm> {
    pub(super) fn new(pairs: &'p Pairs<'m>, one_by_one: bool) -> Self {
        Self {
            pairs,
            shapes: Shapes::new(pairs.model()),
            one_by_one,
        }
    }

    /// Decides what is asked about each row: columns with what is known at first.
    pub(super) fn decide<I: Iterator<Item = (u32, First)>>(
        &self,
        rows: usize,
        budget: u64,
        row: impl Fn(usize) -> I + Sync,
    ) -> Vec<Vec<(u32, Decision)>> {
        let keys: Mutex<Keys> = Mutex::default();
        let most_asked = MOST_ASKED / rows.max(1);
        let spending = self.pairs.model().budget();
        let asked = parallel(spending, rows, |at| {
            let mut local = Vec::new();
            let mut keyed = Vec::new();
            let mut asked = 0;
            for (number, (column, first)) in row(at).enumerate() {
                if number % LOOK_EVERY == LOOK_EVERY - 1 && spending.poll().is_some() {
                    break;
                }
                local.push(match first {
                    First::Known(decision) => Entry::Known(column, decision),
                    First::Try(question) => {
                        asked += 1;
                        let may_ask = asked <= most_asked;
                        match may_ask.then(|| self.pairs.views(question)).flatten() {
                            None => Entry::Known(column, Decision::TooMuch),
                            Some(views) => {
                                keyed.push((self.key(question, &views), question, views));
                                Entry::Try(column, 0)
                            }
                        }
                    }
                });
            }
            // Once for all columns: threads would wait for each other most of the time.
            let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
            let classes = local.iter_mut().filter_map(|entry| match entry {
                Entry::Try(_, class) => Some(class),
                Entry::Known(..) => None,
            });
            for (class, (key, question, views)) in classes.zip(keyed) {
                *class = keys.class(key, question, views);
            }
            local
        });
        let mut classes = keys
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .classes;
        self.try_all(&mut classes, budget.max(rows as u64 * ROW_BUDGET));
        if self.one_by_one {
            return self.one_by_one(&asked, &classes, row);
        }
        let decided = asked.into_iter().map(|row| {
            let entry = |entry| match entry {
                Entry::Known(column, decision) => (column, decision),
                Entry::Try(column, class) => (column, classes[class].decision),
            };
            row.into_iter().map(entry).collect()
        });
        decided.collect()
    }

    /// Tries all classes, with more and more evaluations.
    fn try_all(&self, classes: &mut [Class], budget: u64) {
        let mut left = budget;
        let mut open: Vec<usize> = (0..classes.len()).collect();
        let mut share = FIRST_ROUND;
        while !open.is_empty() {
            let fair = left / open.len() as u64;
            let most = share.min(fair).min(CLASS_BUDGET);
            // Trying again with hardly more would be in vain.
            if most < 2 * classes[open[0]].budget || most == 0 {
                return;
            }
            let spending = self.pairs.model().budget();
            let tried = parallel(spending, open.len(), |at| {
                let class = &classes[open[at]];
                self.pairs
                    .decide(class.question, &class.views, most, worth(most))
            });
            if spending.spent().is_some() {
                return;
            }
            for (at, tried) in open.iter().zip(&tried) {
                left -= tried.spent;
                classes[*at].decision = tried.decision;
                classes[*at].budget = most;
            }
            let mut tried = tried.iter();
            let is_open = |t: &Tried| t.decision == Decision::TooMuch && t.needs <= CLASS_BUDGET;
            open.retain(|_| tried.next().is_some_and(is_open));
            share *= 8;
        }
    }

    /// Every question by itself, allowed as much as its class was in the end.
    fn one_by_one<I: Iterator<Item = (u32, First)>>(
        &self,
        asked: &[Vec<Entry>],
        classes: &[Class],
        row: impl Fn(usize) -> I + Sync,
    ) -> Vec<Vec<(u32, Decision)>> {
        parallel(self.pairs.model().budget(), asked.len(), |at| {
            let alone = |(entry, (column, first)): (&Entry, (u32, First))| match (entry, first) {
                (Entry::Try(_, class), First::Try(question)) => {
                    let budget = classes[*class].budget;
                    let views = self.pairs.views(question).unwrap_or_default();
                    let tried = (self.pairs).decide(question, &views, budget, worth(budget));
                    (column, tried.decision)
                }
                (_, First::Known(decision)) => (column, decision),
                (_, First::Try(..)) => (column, Decision::TooMuch),
            };
            asked[at].iter().zip(row(at)).map(alone).collect()
        })
    }

    /// Equal for structurally equal questions only.
    fn key(&self, question: Question, views: &[Arc<View>]) -> Key {
        let label = |g: stubborn_system::LabelId| &self.shapes.labels[g.index()];
        let command = |t: stubborn_system::TransitionId| &self.shapes.commands[t.index()];
        let (kind, a, b): (i64, &Shape, &Shape) = match question {
            Question::Turn(g, t, false) => (0, label(g), command(t)),
            Question::Turn(g, t, true) => (1, label(g), command(t)),
            Question::Together(g, h) => (2, label(g), label(h)),
            Question::Conflict(t, u) => (3, command(t), command(u)),
            Question::LeftConflict(t, u) => (4, command(t), command(u)),
            Question::Outcome(t, u) => (5, command(t), command(u)),
        };
        let mut key = vec![kind, i64::from(a.id), i64::from(b.id)];
        // The fields of the first are numbered already.
        let mut numbers: RapidHashMap<FieldId, i64> = RapidHashMap::default();
        let layout = self.pairs.model().layout();
        for (number, id) in a.fields.iter().enumerate() {
            let field = layout.field(*id);
            numbers.insert(*id, number as i64);
            key.extend([field.min, field.max]);
        }
        for id in &b.fields {
            let next = numbers.len() as i64;
            let number = *numbers.entry(*id).or_insert(next);
            key.push(number);
            if number == next {
                let field = layout.field(*id);
                key.extend([field.min, field.max]);
            }
        }
        let lists = views.iter().map(|view| {
            let number = |f: &FieldId| numbers.get(f).copied().unwrap_or(-1);
            key.push(view.fields.len() as i64);
            key.extend(view.fields.iter().map(number));
            view.list
        });
        let lists = lists.collect();
        Key { key, lists }
    }
}

/// A structure: numbers, and the lists of values to try.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    key: Vec<i64>,
    lists: Vec<u32>,
}

/// The classes found so far.
#[derive(Default)]
struct Keys {
    numbers: RapidHashMap<Key, usize>,
    classes: Vec<Class>,
}

impl Keys {
    fn class(&mut self, key: Key, question: Question, views: Vec<Arc<View>>) -> usize {
        let next = self.classes.len();
        let class = *self.numbers.entry(key).or_insert(next);
        if class == next {
            self.classes.push(Class {
                question,
                views,
                decision: Decision::TooMuch,
                budget: 0,
            });
        }
        class
    }
}

/// Rows are computed on one core for so long: to start a thread and to end it takes a part of a millisecond,
/// and most relations of small models take less.
const ALONE: Duration = Duration::from_millis(2);

/// Computes rows, on all cores if it takes a while; nothing more once the budget is spent.
pub(super) fn parallel<R: Default + Send>(
    budget: &Budget,
    rows: usize,
    row: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let row = |at| match budget.poll() {
        None => row(at),
        Some(_) => R::default(),
    };
    let (begin, mut first) = (Instant::now(), Vec::with_capacity(rows));
    while first.len() < rows && begin.elapsed() < ALONE {
        first.push(row(first.len()));
    }
    let left = rows - first.len();
    if left == 0 {
        return first;
    }
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(left / 8 + 1);
    let next = AtomicUsize::new(first.len());
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= rows {
                return done;
            }
            done.push((at, row(at)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for handle in handles {
            match handle.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    first.extend(all.into_iter().map(|(_, r)| r));
    first
}

#[cfg(test)]
mod tests {
    use stubborn_system::RelationLevel;

    use crate::Model;
    use crate::analysis::{relations, relations_pair_by_pair};
    use crate::testing::{dining_philosophers, peterson, random_program, ring_election};

    fn is_the_same(model: &Model) {
        for level in [RelationLevel::Exact, RelationLevel::Reach] {
            let shared = format!("{:?}", relations(model, level));
            let alone = format!("{:?}", relations_pair_by_pair(model, level));
            assert!(shared == alone, "{} at {level:?}", model.program().name);
        }
    }

    #[test]
    fn equal_pairs_have_equal_answers() {
        let protocols = [
            peterson(3),
            peterson(4),
            dining_philosophers(6),
            ring_election(4, 2),
        ];
        let random = (0..25).map(random_program);
        for program in protocols.into_iter().chain(random) {
            is_the_same(&Model::new(program).expect("a sound program"));
        }
    }

    #[test]
    fn everybody_stops_when_the_budget_is_spent() {
        use stubborn_system::{Budget, System, TransitionId};
        for level in [
            RelationLevel::Sets,
            RelationLevel::Syntax,
            RelationLevel::Exact,
            RelationLevel::Reach,
            RelationLevel::Located,
        ] {
            let budget = std::sync::Arc::new(Budget::unlimited());
            let model = Model::new(peterson(3)).expect("a sound program");
            let model = model.with_budget(std::sync::Arc::clone(&budget));
            let count = model.structure().transitions.len();
            let conflicts = || {
                let relations = relations(&model, level);
                let rows = (0..count).map(TransitionId::new);
                rows.map(|t| relations.do_not_accord.0.row_indices(t).len())
                    .sum::<usize>()
            };
            assert!(conflicts() > 0, "{level:?}");
            budget.stop();
            assert_eq!(conflicts(), 0, "{level:?}");
        }
    }

    /// All pairs of commands that have to be tried, with as many evaluations as it takes.
    fn tried(model: &Model, most: u64) -> Vec<super::Tried> {
        use super::super::{domains::Domains, support::Support, syntax::Syntax};
        use super::First;
        use stubborn_system::System;
        let supports = Support::all(model);
        let domains = Domains::reachable(model, &supports);
        let syntax = Syntax::new(model, &supports);
        let pairs = super::Pairs::new(model, &supports, &syntax, Some(&domains));
        let commands = || model.structure().transition_ids();
        let asked = commands().flat_map(|t| commands().map(move |u| (t, u)));
        let asked = asked.filter_map(|(t, u)| match pairs.may_not_accord(t, u) {
            First::Try(question) => Some((question, pairs.views(question)?)),
            First::Known(_) => None,
        });
        let budget = 100_000_000;
        asked
            .map(|(question, views)| pairs.decide(question, &views, budget, most))
            .collect()
    }

    #[test]
    fn what_can_be_decided_is_tried() {
        let protocols = [peterson(3), dining_philosophers(4), ring_election(3, 2)];
        let random = (0..25).map(random_program);
        let mut decided = 0;
        for program in protocols.into_iter().chain(random) {
            let model = Model::new(program).expect("a sound program");
            for tried in tried(&model, u64::MAX) {
                let is_no = tried.decision == super::Decision::No;
                decided += usize::from(is_no);
                assert!(!is_no || tried.needs <= tried.spent, "{tried:?}");
            }
        }
        assert!(decided > 100, "{decided}");
    }

    /// Two commands that add to a sum: as many combinations as there are values of both and the sum.
    fn sums(values: i32) -> Model {
        use crate::{Command, Expr, Program, Statement, Variable};
        let mut program = Program::new("sums");
        let site = program.site(stubborn_system::FailureKind::OutOfRange, "too much", None);
        let range = |name: &str| Variable::integer(name, 0, values - 1, 0);
        let sum = program.variable(range("sum"));
        for name in ["a", "b"] {
            let own = program.variable(range(name));
            // Anybody may count it up, so that all values are reached.
            let more = Expr::plus(Expr::Var(own), Expr::Const(1));
            let of = Expr::plus(Expr::Var(sum), Expr::Var(own));
            for (variable, value) in [(own, more), (sum, of)] {
                program.command(Command {
                    name: name.into(),
                    body: vec![Statement::assign(variable, value, site)],
                    ..Command::default()
                });
            }
        }
        Model::new(program).expect("a small program")
    }

    #[test]
    fn what_takes_too_much_is_not_tried() {
        // With 100 values there are a million combinations.
        for (values, is_tried) in [(10, true), (100, false)] {
            let tried = tried(&sums(values), super::CLASS_BUDGET);
            let largest = tried.iter().max_by_key(|t| t.needs).expect("sums meet");
            assert_eq!(largest.needs > super::CLASS_BUDGET, !is_tried);
            assert_eq!(largest.spent > 0, is_tried, "{largest:?}");
        }
    }

    #[test]
    fn philosophers_share_their_answers() {
        use super::super::{domains::Domains, support::Support, syntax::Syntax};
        let classes_of = |n| {
            let model = Model::new(dining_philosophers(n)).expect("a sound program");
            let supports = Support::all(&model);
            let domains = Domains::reachable(&model, &supports);
            let syntax = Syntax::new(&model, &supports);
            let pairs = super::Pairs::new(&model, &supports, &syntax, Some(&domains));
            let classes = super::Classes::new(&pairs, false);
            let mut shapes: Vec<u32> = classes.shapes.commands.iter().map(|s| s.id).collect();
            shapes.sort_unstable();
            shapes.dedup();
            shapes.len()
        };
        assert_eq!(
            classes_of(5),
            classes_of(50),
            "philosophers differ in fields only"
        );
    }

    #[test]
    fn questions_differ_where_ranges_or_lists_do() {
        use super::super::{domains::Domains, support::Support, syntax::Syntax};
        use super::Question::{Conflict, Together};
        use crate::{Command, Expr, Program, Statement, Variable};
        use stubborn_system::{LabelId, TransitionId};
        let mut program = Program::new("ranges");
        let site = program.site(stubborn_system::FailureKind::OutOfRange, "too much", None);
        let variable = |name: &str, min| Variable::integer(name, min, min + 3, min);
        let names = [("x", 0), ("y", 0), ("other", -1), ("few", 0)];
        let [x, y, other, few] = names.map(|(name, min)| program.variable(variable(name, min)));
        let one = Expr::Const(1);
        let less = |a, b| Expr::less(Expr::Var(a), Expr::Var(b));
        for label in [less(x, few), less(few, x), less(y, few)] {
            program.label(label);
        }
        let stores = [x, y, other, few].map(|v| (v, one.clone()));
        let more = [x, y].map(|v| (v, Expr::plus(Expr::Var(v), one.clone())));
        for (nr, (variable, value)) in stores.into_iter().chain(more).enumerate() {
            program.command(Command {
                name: nr.to_string(),
                body: vec![Statement::assign(variable, value, site)],
                ..Command::default()
            });
        }
        let model = Model::new(program).expect("a small program");
        let supports = Support::all(&model);
        let domains = Domains::reachable(&model, &supports);
        let syntax = Syntax::new(&model, &supports);
        let pairs = super::Pairs::new(&model, &supports, &syntax, Some(&domains));
        let classes = super::Classes::new(&pairs, false);
        let key = |question| classes.key(question, &pairs.views(question).expect("few values"));
        let (g, t) = (LabelId::new, TransitionId::new);
        // None of these looks at anything: there are no lists.
        let first = |at| key(Conflict(t(at), t(3)));
        assert_eq!(first(0), first(1));
        assert_ne!(first(0), first(2), "the range of what the first writes");
        let second = |at| key(Conflict(t(3), t(at)));
        assert_eq!(second(0), second(1));
        assert_ne!(second(0), second(2), "the range of what the second writes");
        let alone = |at| key(Together(g(at), g(at)));
        assert_eq!(alone(0), alone(2));
        // The same lists, and the same ranges; but it is the other field that has few values.
        assert_ne!(alone(0), alone(1), "whose list it is");
    }
}
