//! StateSpace: the numbers of the full graph, so nothing may be left out.

use stubborn_pnml::{Census, NetSystem};

use crate::answer::Technique;
use crate::frame::{Coverage, Frame, Way};

const TECHNIQUES: [Technique; 2] = [Technique::Explicit, Technique::StateCompression];

pub(crate) fn examine(frame: &mut Frame<'_>, system: &NetSystem) {
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
    for (measure, value) in [
        ("STATES", states),
        ("TRANSITIONS", edges),
        ("MAX_TOKEN_PER_MARKING", most.total),
        ("MAX_TOKEN_IN_PLACE", u128::from(most.most)),
    ] {
        frame.measure(measure, value, &TECHNIQUES);
    }
}
