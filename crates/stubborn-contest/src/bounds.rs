//! UpperBounds: the largest number of tokens that some places hold together.
//!
//! A random walk gives a lower bound, the state equation an upper one; often they meet, at the latest
//! after walks towards larger sums, and where traps exclude that the upper bound is reached. Else one
//! exploration of a small net gives all bounds, or each sum gets a search of its own: the net is
//! made smaller around its places, and stubborn sets are made for a sum larger than any. Such sets
//! contain what increases the sum, whatever its value is now, so they lead to every larger
//! value, and hence to the largest.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use stubborn_net::{
    Atom, CompareOp, Formula, IntExpr, Linear, NetOptions, NetSystem, PlaceId, Preserve,
    StateEquation,
};
use stubborn_reduce::{Aim, Goals};
use stubborn_system::{Successors, System};

use crate::answer::{Technique, Value};
use crate::best_first::best_first;
use crate::examiner::{Coverage, Examiner, Way, sum};
use crate::guided::Guide;
use crate::pump::unbounded;
use crate::walk::walk;

/// A question for a largest sum.
pub(crate) struct Bound {
    pub(crate) id: String,
    pub(crate) places: Vec<PlaceId>,
}

/// An open question with what is known.
pub(crate) struct Open {
    bound: Bound,
    /// Seen.
    least: u64,
    /// Proved.
    most: Option<u64>,
}

impl Open {
    fn is_settled(&self) -> bool {
        self.most == Some(self.least)
    }
}

const SEEN: [Technique; 2] = [Technique::LinearProgramming, Technique::RandomWalk];

/// Answers what is easy to answer; the others.
pub(crate) fn first_look(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    bounds: Vec<Bound>,
) -> Vec<Open> {
    let initial = system.initial_states();
    let mut open: Vec<Open> = bounds
        .into_iter()
        .map(|bound| Open {
            least: sum(system, &initial, &bound.places),
            most: None,
            bound,
        })
        .collect();
    let glance = examiner.glance();
    explore(examiner, system, &mut open, glance / 8);
    prove(examiner, system, &mut open, 20 * glance);
    for time in [glance / 4, glance] {
        walk_around(examiner, system, &mut open, time);
        walk_up(examiner, system, &mut open, 4 * time);
        settle(examiner, &mut open, &SEEN);
        explore(examiner, system, &mut open, time);
    }
    one_by_one(examiner, system, &mut open, |_, _| 20 * glance);
    open
}

/// Answers all bounds that a [first look](first_look) left; what cannot be answered is said so.
pub(crate) fn examine(examiner: &mut Examiner<'_>, system: &NetSystem, mut open: Vec<Open>) {
    explore(examiner, system, &mut open, examiner.short());
    let each = 1.0 / open.len().max(1) as f64;
    let time = examiner.slice(0.2 * each, Duration::from_secs(20));
    prove(examiner, system, &mut open, time);
    let time = examiner.slice(0.03, Duration::from_secs(2));
    walk_around(examiner, system, &mut open, time);
    settle(examiner, &mut open, &SEEN);
    if examiner.options.walks {
        pump(examiner, system, &mut open);
    }
    let time = examiner.slice(0.1 * each, Duration::from_secs(5));
    walk_up(examiner, system, &mut open, time);
    settle(examiner, &mut open, &SEEN);
    explore(examiner, system, &mut open, examiner.left().mul_f64(0.2));
    // The most expensive of what needs no search of its own; what is left of a bound after it is for
    // searches.
    if examiner.options.equation && examiner.options.traps {
        lower(examiner, system, &mut open);
        settle(
            examiner,
            &mut open,
            &[Technique::LinearProgramming, Technique::Topological],
        );
    }
    for share in [0.1, 1.0] {
        one_by_one(examiner, system, &mut open, |examiner, open| {
            examiner.left().mul_f64(share / open as f64)
        });
    }
    for question in open {
        examiner.answer(&question.bound.id, Value::Unknown, &[]);
    }
}

/// Answers what grows without a bound.
fn pump(examiner: &mut Examiner<'_>, system: &NetSystem, open: &mut Vec<Open>) {
    let candidates = open.iter().filter(|question| question.most.is_none());
    if candidates.count() == 0 || examiner.is_over() {
        return;
    }
    let time = examiner.slice(0.05, Duration::from_secs(20));
    let grows = |question: &Open, places: &[bool]| {
        question.most.is_none() && question.bound.places.iter().any(|p| places[p.index()])
    };
    let found = unbounded(system, time, &mut |places: &[bool]| {
        let bounded = |question: &Open| question.most.is_some() || grows(question, places);
        open.iter().all(bounded)
    });
    open.retain(|question| {
        let infinite = grows(question, &found);
        if infinite {
            examiner.answer(
                &question.bound.id,
                Value::Infinite,
                &[Technique::RandomWalk],
            );
        }
        !infinite
    });
}

/// Walks at random for a time.
fn walk_around(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open], time: Duration) {
    if examiner.options.walks && !open.iter().all(Open::is_settled) {
        walk(system, time, &mut |state: &[u32], _: &Successors| {
            raise(system, state, open)
        });
    }
}

/// Walks towards larger sums than those that were seen, up to what is proved; each for a time.
fn walk_up(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open], time: Duration) {
    if !examiner.options.walks || open.iter().all(Open::is_settled) {
        return;
    }
    let mut guide = Guide::new(system);
    for at in 0..open.len() {
        let started = Instant::now();
        while !open[at].is_settled() && !examiner.is_over() {
            let places = IntExpr::tokens(open[at].bound.places.clone());
            let seen = IntExpr::constant(open[at].least);
            let more = Formula::Atom(Atom::Compare(CompareOp::Greater, places, seen));
            let limits = examiner.limits(time.saturating_sub(started.elapsed()));
            let visitor = &mut |state: &[u32], _: &Successors| raise(system, state, open);
            if guide.walk(&more, &limits, visitor).is_none() {
                break;
            }
        }
    }
}

/// Takes note of the sums in a state; false if all largest ones were seen.
fn raise(system: &NetSystem, state: &[u32], open: &mut [Open]) -> bool {
    let mut unsettled = false;
    for question in open {
        if !question.is_settled() {
            question.least = question
                .least
                .max(sum(system, state, &question.bound.places));
            unsettled |= !question.is_settled();
        }
    }
    unsettled
}

/// Answers where the bounds meet.
fn settle(examiner: &mut Examiner<'_>, open: &mut Vec<Open>, techniques: &[Technique]) {
    open.retain(|question| {
        let settled = question.is_settled();
        if settled {
            let value = Value::Number(question.least);
            examiner.answer(&question.bound.id, value, techniques);
        }
        !settled
    });
}

/// Upper bounds by the state equation where there are none yet, each in a time; of a coloured net first
/// by the sums over its colours.
fn prove(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open], time: Duration) {
    if !examiner.options.equation || open.iter().all(|q| q.most.is_some()) {
        return;
    }
    let summed = examiner.summed();
    let equation = OnceCell::new();
    for question in open.iter_mut().filter(|q| q.most.is_none()) {
        if examiner.is_over() {
            return;
        }
        let places = &question.bound.places;
        question.most = summed.as_ref().and_then(|s| s.bound(places, time));
        if !question.is_settled() {
            let weights: Vec<(PlaceId, i64)> = places.iter().map(|place| (*place, 1)).collect();
            let equation = equation.get_or_init(|| StateEquation::new(system.net()));
            let proved = equation.bound(&weights, time);
            question.most = question.most.into_iter().chain(proved).min();
        }
    }
}

/// Lowers upper bounds as long as traps exclude that they are reached.
fn lower(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open]) {
    let equation = StateEquation::new(system.net());
    let time = examiner.slice(0.1 / open.len().max(1) as f64, Duration::from_secs(10));
    for question in open.iter_mut().filter(|_| !examiner.is_over()) {
        let started = Instant::now();
        while let Some(most) = question.most.filter(|most| *most > question.least) {
            let weights = question.bound.places.iter().map(|place| (*place, 1));
            let reached = i64::try_from(most).ok();
            let reached = reached.and_then(|most| Linear::new(weights, most));
            let left = time.saturating_sub(started.elapsed());
            if !reached.is_some_and(|reached| equation.excludes_with_traps(&[reached], left)) {
                break;
            }
            question.most = Some(most - 1);
        }
    }
}

/// One exploration for all.
fn explore(examiner: &mut Examiner<'_>, system: &NetSystem, open: &mut Vec<Open>, time: Duration) {
    if open.is_empty() || examiner.is_over() {
        return;
    }
    let way = Way::breadth_first(time);
    let questions = open.as_mut_slice();
    let mut look = |state: &[u32], _: &Successors| raise(system, state, questions);
    let coverage = examiner.explore(system, None, way, &mut look);
    if coverage == Coverage::Complete {
        for question in open.iter_mut() {
            question.most = Some(question.least);
        }
    }
    let techniques = [
        Technique::Explicit,
        Technique::StateCompression,
        Technique::CollateralProcessing,
    ];
    settle(examiner, open, &techniques);
}

/// Gives each open sum a search of its own, in a time by how many are open.
fn one_by_one(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<Open>,
    time: impl Fn(&Examiner<'_>, usize) -> Duration,
) {
    let count = open.len();
    for (at, question) in open.iter_mut().enumerate() {
        let time = time(examiner, count - at);
        if examiner.is_over() {
            break;
        }
        search(examiner, system, question, time);
    }
    let techniques = [
        Technique::Explicit,
        Technique::StateCompression,
        Technique::StructuralReduction,
        Technique::StubbornSets,
    ];
    settle(examiner, open, &techniques);
}

/// Looks for the largest value of one sum in a net made for it.
fn search(
    examiner: &Examiner<'_>,
    whole: &NetSystem,
    question: &mut Open,
    time: Duration,
) -> Option<()> {
    let original = &examiner.model.net;
    let watched = Preserve::Places(question.bound.places.clone());
    let (mut system, places) = match examiner.reduced(original, &watched) {
        Some(reduced) => {
            let places = question.bound.places.iter();
            let places: Option<Vec<PlaceId>> = places.map(|p| reduced.place(*p)).collect();
            (examiner.smaller(whole, &reduced)?, places?)
        }
        None => {
            let (net, narrow) = (original.clone(), NetOptions::narrow(original));
            let known = whole.invariants().clone();
            let budget = whole.shared_budget().clone();
            let same = NetSystem::knowing(net, known, narrow, budget).ok()?;
            (same, question.bound.places.clone())
        }
    };
    if examiner.options.equation {
        let weights: Vec<(PlaceId, i64)> = places.iter().map(|place| (*place, 1)).collect();
        let proved = StateEquation::new(system.net()).bound(&weights, time / 8);
        question.most = question.most.into_iter().chain(proved).min();
    }
    let mut look = |state: &[u32], _: &Successors| {
        question.least = question.least.max(sum(&system, state, &places));
        !question.is_settled()
    };
    if examiner.options.walks {
        walk(&system, time / 8, &mut look);
    }
    if let Some(most) = question.most.filter(|most| *most > question.least) {
        let sum_of = IntExpr::tokens(places.clone());
        let reached = Atom::Compare(CompareOp::GreaterOrEqual, sum_of, IntExpr::constant(most));
        let limits = examiner.limits(time / 4);
        if best_first(&system, &Formula::Atom(reached), &limits).is_some() {
            question.least = most;
        }
    }
    if question.is_settled() {
        return Some(());
    }
    let unreachable = IntExpr::constant(u64::MAX);
    let more = Atom::Compare(
        CompareOp::GreaterOrEqual,
        IntExpr::tokens(places.clone()),
        unreachable,
    );
    let label = system.add_label(Formula::Atom(more))?;
    let reduction = examiner.reduction(&system, Aim::Goals(Goals::labels([label])));
    let mut look = |state: &[u32], _: &Successors| {
        question.least = question.least.max(sum(&system, state, &places));
        !question.is_settled()
    };
    let way = Way::breadth_first(time);
    let coverage = examiner.explore(&system, reduction.as_ref(), way, &mut look);
    if coverage == Coverage::Complete {
        question.most = Some(question.least);
    }
    Some(())
}
