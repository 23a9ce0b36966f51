//! StateSpace: the numbers of the full graph, so nothing may be left out. Where a place has no
//! bound, none of them has an end.

use std::time::Duration;

use stubborn_net::{Census, NetSystem, PlaceId, StateEquation};

use crate::answer::Technique;
use crate::examiner::{Coverage, Examiner, Way};
use crate::pump::unbounded;

const TECHNIQUES: [Technique; 2] = [Technique::Explicit, Technique::StateCompression];

const MEASURES: [&str; 4] = [
    "STATES",
    "TRANSITIONS",
    "MAX_TOKEN_PER_MARKING",
    "MAX_TOKEN_IN_PLACE",
];

pub(crate) fn examine(examiner: &mut Examiner<'_>, system: &NetSystem) {
    let bounds = system.bounds();
    let open = |place: PlaceId| bounds.bound(place).is_none();
    if examiner.options.walks && system.net().places().any(open) {
        let time = examiner.slice(0.05, Duration::from_secs(5));
        if unbounded(system, time, &mut |_| true).contains(&true) {
            for measure in MEASURES {
                examiner.measure(measure, None, &[Technique::RandomWalk]);
            }
            return;
        }
    }
    let (mut states, mut edges, mut most) = (0u128, 0u128, Census::default());
    let mut count = |state: &[u32], successors: &stubborn_system::Successors| {
        let census = system.census(state);
        states += 1;
        edges += successors.len() as u128;
        most.total = most.total.max(census.total);
        most.most = most.most.max(census.most);
        true
    };
    // Whatever is left over proves what was seen to be all there is.
    let way = Way::breadth_first(examiner.left().mul_f64(0.97));
    if examiner.explore(system, None, way, &mut count) == Coverage::Partial {
        partly(examiner, system, most);
        return;
    }
    let values = [states, edges, most.total, u128::from(most.most)];
    for (measure, value) in MEASURES.into_iter().zip(values) {
        examiner.measure(measure, Some(value), &TECHNIQUES);
    }
}

/// Too many states: numbers of tokens that were seen and cannot be larger are sure all the same.
fn partly(examiner: &mut Examiner<'_>, system: &NetSystem, seen: Census) {
    let (net, bounds) = (system.net(), system.bounds());
    let mut found = Vec::new();
    if examiner.options.equation {
        let all: Vec<(PlaceId, i64)> = net.places().map(|place| (place, 1)).collect();
        let most = StateEquation::new(net).bound(&all, examiner.left());
        if most.is_some_and(|most| u128::from(most) == seen.total) {
            found.push((MEASURES[2], seen.total, Technique::LinearProgramming));
        }
    }
    let most = net.places().map(|place| bounds.bound(place));
    let most = most
        .collect::<Option<Vec<_>>>()
        .map(|all| all.into_iter().max());
    if most == Some(Some(seen.most)) {
        found.push((MEASURES[3], seen.most.into(), Technique::Topological));
    }
    if found.is_empty() {
        examiner.give_up();
    }
    for (measure, value, technique) in found {
        examiner.measure(measure, Some(value), &[Technique::Explicit, technique]);
    }
}
