//! Best-first search: markings that are nearest to a goal come first.
//!
//! Near is what costs little [if tokens are never taken away](Helpful). Of several that are as near, any
//! comes first: neither a broad plateau nor a deep one swallows the search. What has no way even then
//! is left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use stubborn_ctl::{Graph, Space, StateNumber, Stop};
use stubborn_net::{Formula, Helpful, NetSystem, Target, Tokens};
use stubborn_search::Limits;

/// The clock is looked at after so many distances.
const PATIENCE: u32 = 8;

/// A state that satisfies a state formula, if one was found within limits.
pub(crate) fn best_first(
    system: &NetSystem,
    formula: &Formula,
    limits: &Limits<'_>,
) -> Option<Vec<u32>> {
    let space = Space::new(system, limits).ok()?;
    let mut graph = Graph::new(system, &space, limits);
    search(system, formula, &mut graph, limits.time).ok()?
}

fn search(
    system: &NetSystem,
    formula: &Formula,
    graph: &mut Graph<'_>,
    time: Option<Duration>,
) -> Result<Option<Vec<u32>>, Stop> {
    let mut queue: BinaryHeap<Reverse<(u32, u32, StateNumber)>> = BinaryHeap::new();
    let mut fresh = graph.initial()?;
    let net = system.net();
    let mut helpful = Helpful::new(net);
    let target = Target::new(net, formula);
    let mut marking: Vec<Tokens> = Vec::with_capacity(net.place_count());
    let (started, mut patience) = (Instant::now(), 0u32);
    loop {
        for state in fresh.drain(..) {
            // In a large net a distance takes longer than many steps, after which the graph would look.
            patience += 1;
            if patience.is_multiple_of(PATIENCE) && time.is_some_and(|t| started.elapsed() >= t) {
                return Ok(None);
            }
            let words = graph.state(state)?;
            marking.clear();
            marking.extend(net.places().map(|place| system.tokens(words, place)));
            if formula.holds(net, &|place| marking[place.index()]) == Some(true) {
                return Ok(Some(words.to_vec()));
            }
            let Some(distance) = helpful.distance(&marking, &target) else {
                continue;
            };
            // Some order that has nothing to do with the one of discovery.
            let order = state.wrapping_mul(0x9e37_79b1).rotate_left(16);
            queue.push(Reverse((distance, order, state)));
        }
        let Some(Reverse((_, _, state))) = queue.pop() else {
            return Ok(None);
        };
        let known = graph.len() as StateNumber;
        let degree = match graph.degree(state) {
            // More tokens than fit: there are others.
            Err(Stop::Failure(_)) => 0,
            other => other?,
        };
        fresh.extend((0..degree).map(|n| graph.successor(state, n)));
        fresh.retain(|next| *next >= known);
    }
}

#[cfg(test)]
mod tests {
    use stubborn_net::{Atom, CompareOp, IntExpr, NetBuilder};

    use super::*;

    /// Many counters: breadth-first, all sums up to the goal come before it.
    #[test]
    fn what_is_far_away_is_found_by_the_straight_way() {
        let mut builder = NetBuilder::new("counters");
        let counters: Vec<_> = (0..12)
            .map(|n| {
                let from = builder.place(&format!("from{n}"), 9);
                let to = builder.place(&format!("to{n}"), 0);
                let t = builder.transition(&format!("t{n}"));
                builder.input(from, t, 1);
                builder.output(t, to, 1);
                to
            })
            .collect();
        let system = NetSystem::new(builder.build().unwrap()).unwrap();
        let at_least = |place, tokens| {
            let (sum, least) = (IntExpr::tokens(vec![place]), IntExpr::constant(tokens));
            Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, sum, least))
        };
        let limits = Limits {
            states: Some(2_000),
            ..Limits::default()
        };
        let all = |tokens| {
            let each = counters.iter().map(|place| at_least(*place, tokens));
            Formula::And(each.collect())
        };
        let found = best_first(&system, &all(9), &limits).unwrap();
        assert_eq!(system.tokens(&found, counters[0]), 9);
        assert_eq!(best_first(&system, &all(10), &limits), None);
    }
}
