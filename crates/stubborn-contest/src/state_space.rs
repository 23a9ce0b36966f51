//! StateSpace: the numbers of the full graph, so nothing may be left out. Where a place has no
//! bound, none of them has an end.

use std::time::Duration;

use stubborn_net::{Census, NetSystem, PlaceId};

use crate::answer::Technique;
use crate::frame::{Coverage, Frame, Way};
use crate::pump::unbounded;

const TECHNIQUES: [Technique; 2] = [Technique::Explicit, Technique::StateCompression];

const MEASURES: [&str; 4] = [
    "STATES",
    "TRANSITIONS",
    "MAX_TOKEN_PER_MARKING",
    "MAX_TOKEN_IN_PLACE",
];

pub(crate) fn examine(frame: &mut Frame<'_>, system: &NetSystem) {
    let bounds = system.bounds();
    let open = |place: PlaceId| bounds.bound(place).is_none();
    if frame.options.walks && system.net().places().any(open) {
        let time = frame.slice(0.05, Duration::from_secs(5));
        if unbounded(system, time, &mut |_| true).contains(&true) {
            for measure in MEASURES {
                frame.measure(measure, None, &[Technique::RandomWalk]);
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
    let way = Way::breadth_first(frame.left());
    if frame.explore(system, None, way, &mut count) == Coverage::Partial {
        frame.give_up();
        return;
    }
    let values = [states, edges, most.total, u128::from(most.most)];
    for (measure, value) in MEASURES.into_iter().zip(values) {
        frame.measure(measure, Some(value), &TECHNIQUES);
    }
}
