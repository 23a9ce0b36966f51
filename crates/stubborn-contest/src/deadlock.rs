//! ReachabilityDeadlock: is there a reachable marking that enables nothing?
//!
//! The net is made smaller first, which keeps whether there is one. Then: random walks, a short
//! search of everything, siphons and traps, a depth-first search with stubborn sets (it goes deep
//! soon, where deadlocks are), the state equation with all transitions disabled, and a longer
//! search with what is left of the time.

use std::time::{Duration, Instant};

use stubborn_net::{
    Atom, Formula, Linearise, Net, NetOptions, NetSystem, Preserve, StateEquation,
    no_deadlock_by_traps,
};
use stubborn_plan::reduction::Made;
use stubborn_reduce::Aim;
use stubborn_system::Successors;

use crate::answer::{Technique, Value};
use crate::examiner::{Coverage, Examiner, Way};
use crate::walk::walk;

/// The name of the examination, and of its only question.
pub(crate) const NAME: &str = "ReachabilityDeadlock";

pub(crate) fn examine(examiner: &mut Examiner<'_>) {
    let answer = find(examiner, examiner.left());
    match answer {
        Some((value, techniques)) => examiner.answer(NAME, Value::Truth(value), &techniques),
        None => examiner.answer(NAME, Value::Unknown, &[]),
    }
}

/// Whether there is a deadlock, as far as it can be found out in this time.
pub(crate) fn find(examiner: &Examiner<'_>, time: Duration) -> Option<(bool, Vec<Technique>)> {
    let started = Instant::now();
    let mut techniques = Vec::new();
    let mut net = std::borrow::Cow::Borrowed(&examiner.model.net);
    if has_source(&net) {
        return Some((false, vec![Technique::Topological]));
    }
    if let Some(reduced) = examiner.reduced(&net, &Preserve::Deadlocks) {
        techniques.push(Technique::StructuralReduction);
        net = std::borrow::Cow::Owned(reduced.net);
        if has_source(&net) {
            return Some((false, techniques));
        }
        if net.transition_count() == 0 {
            return Some((true, techniques));
        }
    }
    let narrow = NetOptions::narrow(&net);
    let system = NetSystem::with_options(net.into_owned(), narrow).ok()?;
    let with = |more: &[Technique]| {
        let mut all = techniques.clone();
        all.extend_from_slice(more);
        all
    };
    let search = |reduction: Option<&Made<'_>>, way: Way| {
        let mut found = false;
        let mut look = |_: &[u32], successors: &Successors| {
            found |= successors.is_empty();
            !found
        };
        let coverage = examiner.explore(&system, reduction, way, &mut look);
        match (found, coverage) {
            (true, _) => Some(true),
            (false, Coverage::Complete) => Some(false),
            (false, Coverage::Partial) => None,
        }
    };
    let mut searched = with(&[Technique::Explicit, Technique::StateCompression]);
    let mut reduction = None;
    let glance = examiner.glance().min(time.mul_f64(0.02));
    // What is easy for one of them should not wait for the others: first a little of each.
    for round in 0..2 {
        let share = |share: f64, glances: u32| match round {
            0 => glance * glances,
            _ => time.mul_f64(share),
        };
        let walks = share(0.02, 2).min(Duration::from_secs(1));
        if examiner.options.walks && walks_into_one(&system, walks) {
            return Some((true, with(&[Technique::RandomWalk])));
        }
        // A net with few states is done before sets are thought about.
        if let Some(value) = search(None, Way::breadth_first(share(0.15, 5))) {
            return Some((value, searched));
        }
        if examiner.options.traps
            && !examiner.is_over()
            && no_deadlock_by_traps(system.net(), system.invariants(), share(0.05, 20))
        {
            return Some((false, with(&[Technique::Topological])));
        }
        if round == 0 {
            reduction = examiner.reduction(&system, Aim::Deadlocks);
            searched.extend(reduction.as_ref().map(|_| Technique::StubbornSets));
        }
        let deep = Way::depth_first(0, share(0.1, 20));
        if let Some(value) = search(reduction.as_ref(), deep) {
            return Some((value, searched));
        }
        if examiner.options.equation && !examiner.is_over() && is_excluded(&system, share(0.15, 20))
        {
            return Some((false, with(&[Technique::LinearProgramming])));
        }
    }
    if examiner.is_over() {
        return None;
    }
    // What is left, in another order.
    let rest = time.saturating_sub(started.elapsed()).min(examiner.left());
    search(reduction.as_ref(), Way::depth_first(1, rest)).map(|value| (value, searched))
}

/// A transition that needs nothing is always enabled.
fn has_source(net: &Net) -> bool {
    net.transitions().any(|t| net.is_always_enabled(t))
}

fn walks_into_one(system: &NetSystem, time: Duration) -> bool {
    let mut found = false;
    walk(system, time, &mut |_: &[u32], successors: &Successors| {
        found |= successors.is_empty();
        !found
    });
    found
}

/// Whether the state equation proves that there is none.
fn is_excluded(system: &NetSystem, time: Duration) -> bool {
    let equation = StateEquation::new(system.net());
    let linear = Linearise::new(system.net(), system.bounds());
    linear.never(&equation, &Formula::Atom(Atom::Deadlock), time)
}
