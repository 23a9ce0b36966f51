//! StateSpace: the numbers of the full graph, so nothing may be left out. Where a place has no
//! bound, none of them has an end.

use std::time::Duration;

use stubborn_net::{Census, NetSystem, PlaceId};

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
    let way = Way::breadth_first(examiner.left());
    if examiner.explore(system, None, way, &mut count) == Coverage::Partial {
        examiner.give_up();
        return;
    }
    let values = [states, edges, most.total, u128::from(most.most)];
    for (measure, value) in MEASURES.into_iter().zip(values) {
        examiner.measure(measure, Some(value), &TECHNIQUES);
    }
}
