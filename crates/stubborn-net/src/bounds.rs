//! How many tokens each place can hold, and how sure that is.
//!
//! The executor packs places by these bounds. A bound that is *proved* (the place never
//! changes, a place invariant covers it, or what fills it can only fire so often) cannot be
//! exceeded. A bound that the file *claims*
//! (a unit-safe net) or that is only the width of a field can be, and the executor then stops
//! with an error instead of going on with a wrong marking.

use crate::ids::PlaceId;
use crate::invariants::Invariants;
use crate::net::{Net, Tokens};

/// Why a place cannot hold more tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundSource {
    /// No transition changes the place.
    Constant,
    /// A place invariant.
    Invariant,
    /// The transitions that give to the place can only fire so often.
    Firings,
    /// The file says that the net is unit-safe.
    Claimed,
    /// Nothing is known.
    Unknown,
}

/// The bounds of all places.
#[derive(Clone, Debug)]
pub struct Bounds {
    bounds: Vec<(Option<Tokens>, BoundSource)>,
}

impl Bounds {
    /// Derives the bounds of a net.
    pub fn new(net: &Net, invariants: &Invariants) -> Self {
        let mut changes = vec![false; net.place_count()];
        for t in net.transitions() {
            for (place, _) in net.effects(t) {
                changes[place.index()] = true;
            }
        }
        let firings = most_ever(net);
        let safe = net.units().is_some_and(|units| units.is_safe());
        let bounds = net
            .places()
            .map(|place| {
                if !changes[place.index()] {
                    return (Some(net.initial(place)), BoundSource::Constant);
                }
                let by_firings = firings[place.index()].map(|n| (n, BoundSource::Firings));
                let by_invariant = invariants.bound(place).map(|n| (n, BoundSource::Invariant));
                let proved = match (by_invariant, by_firings) {
                    (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
                    (a, b) => a.or(b),
                };
                match proved {
                    // A claim that says more than what is proved is worth having.
                    Some((bound, source)) if bound <= 1 || !safe => (Some(bound), source),
                    _ if safe => (Some(1), BoundSource::Claimed),
                    _ => (None, BoundSource::Unknown),
                }
            })
            .collect();
        Self { bounds }
    }

    /// The largest number of tokens of a place, if any is known.
    pub fn bound(&self, place: PlaceId) -> Option<Tokens> {
        self.bounds[place.index()].0
    }

    /// Where the bound comes from.
    pub fn source(&self, place: PlaceId) -> BoundSource {
        self.bounds[place.index()].1
    }

    /// True if every place holds at most one token, be it proved or claimed.
    pub fn all_safe(&self) -> bool {
        self.bounds
            .iter()
            .all(|(bound, _)| bound.is_some_and(|b| b <= 1))
    }
}

/// For each place, all tokens that it can ever get together with those of the beginning, where
/// that is limited: a transition that uses up tokens of such a place fires only so often, and a
/// place that only such transitions give to is one, too. That covers the parts of a net in which
/// tokens flow one way, whatever is unbounded elsewhere.
fn most_ever(net: &Net) -> Vec<Option<Tokens>> {
    let mut of_place: Vec<Option<Tokens>> = vec![None; net.place_count()];
    let mut of_transition: Vec<Option<u64>> = vec![None; net.transition_count()];
    // What is known to flow in, and how many transitions may still add to it.
    let mut inflow: Vec<Option<Tokens>> = net.initial_marking().iter().copied().map(Some).collect();
    let mut open = vec![0usize; net.place_count()];
    for t in net.transitions() {
        for (place, _) in net.effects(t).filter(|(_, change)| *change > 0) {
            open[place.index()] += 1;
        }
    }
    let mut ready: Vec<PlaceId> = net.places().filter(|p| open[p.index()] == 0).collect();
    while let Some(place) = ready.pop() {
        let Some(most) = inflow[place.index()] else {
            continue;
        };
        of_place[place.index()] = Some(most);
        for arc in net.consumers(place) {
            let used = net.effect(arc.node, place);
            let known = &mut of_transition[arc.node.index()];
            if used >= 0 || known.is_some() {
                continue;
            }
            let times = most / used.unsigned_abs();
            *known = Some(times);
            for (target, change) in net.effects(arc.node).filter(|(_, change)| *change > 0) {
                let more = times.checked_mul(change.unsigned_abs());
                let sum = &mut inflow[target.index()];
                *sum = sum.and_then(|sum| sum.checked_add(more?));
                open[target.index()] -= 1;
                if open[target.index()] == 0 {
                    ready.push(target);
                }
            }
        }
    }
    of_place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    #[test]
    fn what_flows_one_way_is_bounded_beside_a_source() {
        let mut builder = NetBuilder::new("n");
        let [a, b, c, d] =
            [("a", 7), ("b", 1), ("c", 0), ("d", 0)].map(|(n, m)| builder.place(n, m));
        let two = builder.transition("two");
        builder.input(a, two, 2);
        builder.output(two, b, 3);
        let reads = builder.transition("reads");
        builder.input(a, reads, 1);
        builder.output(reads, a, 1);
        builder.output(reads, c, 1);
        let both = builder.transition("both");
        builder.input(b, both, 1);
        builder.output(both, d, 2);
        builder.output(both, c, 1);
        let net = builder.build().unwrap();
        let bounds = Bounds::new(&net, &Invariants::default());
        assert_eq!(bounds.bound(a), Some(7));
        assert_eq!(bounds.bound(b), Some(10), "three times three and one");
        assert_eq!(bounds.source(b), BoundSource::Firings);
        assert_eq!(bounds.bound(c), None, "reading does not use up");
        assert_eq!(bounds.bound(d), Some(20));
    }
}
