//! Random nets: machines that share resources, and arcs anywhere.

use crate::coverage::Coverage;
use crate::random::Random;
use crate::reference::net::{Arcs, Comparison, Condition, Net, NetTransition, Sum};

/// What may be noted.
pub const FEATURES: [&str; 18] = [
    "net large or unbounded",
    "net machines",
    "net any shape",
    "net coloured",
    "net weights",
    "net read loop",
    "net read arc",
    "net inhibitor arc",
    "net source transition",
    "net sink transition",
    "net transition without arcs",
    "net many tokens",
    "net heavy arcs",
    "net units",
    "net one-safe",
    "net not one-safe",
    "net deadlock",
    "net no deadlock",
];

/// A random net.
pub fn net(random: &mut Random, coverage: &mut Coverage) -> Net {
    let mut net = match random.chance(1, 2) {
        true => {
            coverage.note("net machines");
            machines(random)
        }
        false => {
            coverage.note("net any shape");
            anything(random)
        }
    };
    if random.chance(1, 15) {
        coverage.note("net many tokens");
        let place = random.below(net.initial.len());
        net.initial[place] =
            *random.pick(&[15, 16, 255, 256, 257, 65_536, 4_294_967_294, 4_294_967_295]);
    }
    if random.chance(1, 3) {
        inhibit(random, &mut net);
    }
    if random.chance(1, 15) && !net.transitions.is_empty() {
        coverage.note("net heavy arcs");
        for _ in 0..1 + random.below(3) {
            let at = random.below(net.transitions.len());
            let transition = &mut net.transitions[at];
            let arcs = match random.chance(3, 4) {
                true => &mut transition.gives,
                false => &mut transition.takes,
            };
            let weight = *random.pick(&[65_535, 65_536, 1 << 31, (1 << 32) - 2, (1 << 32) - 1]);
            if let Some(arc) = arcs.first_mut() {
                arc.1 = weight;
            }
        }
    }
    for transition in &net.transitions {
        if !transition.inhibitors.is_empty() {
            coverage.note("net inhibitor arc");
        }
        if transition.read_arcs().next().is_some() {
            coverage.note("net read arc");
        }
        let arcs = || transition.takes.iter().chain(&transition.gives);
        if arcs().any(|(_, weight)| *weight > 1) {
            coverage.note("net weights");
        }
        let reads = |(place, _): &(usize, u64)| transition.gives.iter().any(|(p, _)| p == place);
        if transition.takes.iter().any(reads) {
            coverage.note("net read loop");
        }
        coverage.note(
            match (transition.takes.is_empty(), transition.gives.is_empty()) {
                (true, true) => "net transition without arcs",
                (true, false) => "net source transition",
                (false, true) => "net sink transition",
                (false, false) => continue,
            },
        );
    }
    net
}

/// Adds inhibitor arcs, and takes that are given back.
fn inhibit(random: &mut Random, net: &mut Net) {
    let places = net.initial.len();
    for transition in &mut net.transitions {
        while random.chance(1, 3) {
            let arc = (random.below(places), [1, 1, 1, 2, 2, 3][random.below(6)]);
            if !transition
                .inhibitors
                .iter()
                .any(|(place, _)| *place == arc.0)
            {
                transition.inhibitors.push(arc);
            }
        }
        if random.chance(1, 6) {
            let arc = (random.below(places), 1 + random.below(2) as u64);
            let sides = || transition.takes.iter().chain(&transition.gives);
            if sides().all(|(place, _)| *place != arc.0) {
                transition.takes.push(arc);
                transition.gives.push(arc);
            }
        }
    }
}

/// Machines of a few places each, and resources that they take and give back, or not.
fn machines(random: &mut Random) -> Net {
    let mut net = Net::default();
    let resources = random.below(3);
    for _ in 0..resources {
        net.initial.push([0, 1, 1, 2][random.below(4)]);
    }
    for _ in 0..1 + random.below(3) {
        let first = net.initial.len();
        let length = 1 + random.below(3);
        for place in 0..length {
            net.initial.push(u64::from(place == 0));
        }
        if random.chance(1, 6) {
            net.initial[first] = 2;
        }
        let is_ring = random.chance(3, 4);
        for at in 0..length {
            let next = match (at + 1 < length, is_ring) {
                (true, _) => Some(first + at + 1),
                (false, true) => Some(first),
                (false, false) => None,
            };
            let mut transition = NetTransition {
                takes: vec![(first + at, 1)],
                gives: next.map(|next| (next, 1)).into_iter().collect(),
                inhibitors: vec![],
            };
            for resource in 0..resources {
                match random.below(6) {
                    0 => transition.takes.push((resource, 1)),
                    1 => transition.gives.push((resource, 1)),
                    2 if random.chance(1, 2) => {
                        transition.takes.push((resource, 1));
                        transition.gives.push((resource, 1));
                    }
                    _ => {}
                }
            }
            net.transitions.push(transition);
        }
        // A choice.
        if length > 1 && random.chance(1, 3) {
            let (from, to) = (random.below(length), random.below(length));
            net.transitions.push(NetTransition {
                takes: vec![(first + from, 1)],
                gives: vec![(first + to, 1)],
                inhibitors: vec![],
            });
        }
    }
    net
}

fn anything(random: &mut Random) -> Net {
    let places = 1 + random.below(6);
    let side = |random: &mut Random, count: usize| {
        let mut arcs: Arcs = Vec::new();
        for _ in 0..count {
            let place = random.below(places);
            if !arcs.iter().any(|(other, _)| *other == place) {
                arcs.push((place, [1, 1, 1, 1, 1, 2, 2, 3][random.below(8)]));
            }
        }
        arcs
    };
    let mut net = Net {
        initial: (0..places)
            .map(|_| [0, 0, 0, 1, 1, 1, 2, 3][random.below(8)])
            .collect(),
        transitions: Vec::new(),
    };
    for _ in 0..1 + random.below(6) {
        let takes = [0, 1, 1, 1, 2, 2, 3][random.below(7)];
        // Mostly as much as is taken, or less.
        let gives = match random.chance(1, 5) {
            true => takes + 1,
            false => random.below(takes + 1).max(takes.min(1)),
        };
        let transition = NetTransition {
            takes: side(random, takes),
            gives: side(random, gives),
            inhibitors: vec![],
        };
        if takes > 0 || random.chance(1, 10) {
            net.transitions.push(transition);
        }
    }
    net
}

/// A condition about so many places and transitions. Sums are of places or a number only, as
/// in the contest.
pub fn condition(
    random: &mut Random,
    places: usize,
    transitions: usize,
    depth: usize,
) -> Condition {
    let number = |random: &mut Random| Sum {
        places: vec![],
        constant: random.below(4) as u64,
    };
    let tokens = |random: &mut Random| {
        let count = 1 + random.below(2);
        Sum {
            places: (0..count).map(|_| random.below(places)).collect(),
            constant: 0,
        }
    };
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0..=3 => {
            let comparison = *random.pick(&[
                Comparison::LessEqual,
                Comparison::LessEqual,
                Comparison::Less,
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::GreaterEqual,
                Comparison::Greater,
            ]);
            let (left, right) = match random.below(4) {
                0 => (tokens(random), tokens(random)),
                1 => (number(random), tokens(random)),
                _ => (tokens(random), number(random)),
            };
            Condition::Compare(comparison, left, right)
        }
        4 | 5 if transitions > 0 => {
            let count = 1 + random.below(2);
            Condition::Fireable((0..count).map(|_| random.below(transitions)).collect())
        }
        4..=6 => match random.chance(1, 3) {
            true => Condition::Deadlock,
            false => Condition::Compare(Comparison::Equal, tokens(random), number(random)),
        },
        7 => Condition::Not(Box::new(condition(random, places, transitions, depth - 1))),
        kind => {
            let left = Box::new(condition(random, places, transitions, depth - 1));
            let right = Box::new(condition(random, places, transitions, depth - 1));
            match kind {
                8 => Condition::And(left, right),
                _ => Condition::Or(left, right),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nets_are_a_function_of_the_seed_and_mostly_small() {
        let mut small = 0;
        for seed in 0..300 {
            let made = net(&mut Random::new(seed), &mut Coverage::default());
            assert_eq!(made, net(&mut Random::new(seed), &mut Coverage::default()));
            small += usize::from(made.explore(1000).is_some());
        }
        assert!(small > 180, "{small} of 300 have few markings");
    }
}
