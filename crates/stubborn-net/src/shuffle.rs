//! The same net with its places and transitions in another order.
//!
//! Strategies that choose "the first" depend on the order of the file. Evangelista,
//! "Experimenting with Stubborn Sets on Petri Nets", section 3.3, shuffles nets to see how much.

use crate::formula::{Atom, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::net::{BuildError, Net, NetBuilder};

/// A shuffled net, and where its nodes went.
#[derive(Clone, Debug)]
pub struct Shuffled {
    /// The net.
    pub net: Net,
    /// For each place of the original, its new id.
    places: Vec<PlaceId>,
    /// For each transition of the original, its new id.
    transitions: Vec<TransitionId>,
}

impl Shuffled {
    /// Shuffles a net; the same seed gives the same order.
    pub fn new(net: &Net, seed: u64) -> Result<Self, BuildError> {
        let mut random = Xorshift::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let place_order = order(net.place_count(), &mut random);
        let transition_order = order(net.transition_count(), &mut random);
        let mut builder = NetBuilder::new(net.name());
        let mut places = vec![PlaceId(0); net.place_count()];
        for old in place_order.iter().map(|at| PlaceId(*at)) {
            let new = builder.place(net.place_name(old), net.initial(old));
            if net.place_label(old) != net.place_name(old) {
                builder.label_place(new, net.place_label(old));
            }
            places[old.index()] = new;
        }
        let mut transitions = vec![TransitionId(0); net.transition_count()];
        for old in transition_order.iter().map(|at| TransitionId(*at)) {
            let new = builder.transition(net.transition_name(old));
            if net.transition_label(old) != net.transition_name(old) {
                builder.label_transition(new, net.transition_label(old));
            }
            builder.arcs_of(net, old, new, |place| Some(places[place.index()]));
            transitions[old.index()] = new;
        }
        if let Some(units) = net.units() {
            let order = place_order.iter().map(|at| PlaceId(*at));
            builder.units(units.restricted_to(order));
        }
        Ok(Self {
            net: builder.build()?,
            places,
            transitions,
        })
    }

    /// A formula over the original in terms of the shuffled net.
    pub fn formula(&self, formula: &Formula) -> Formula {
        let boxed = |inner: &Formula| Box::new(self.formula(inner));
        let all = |parts: &[Formula]| parts.iter().map(|part| self.formula(part)).collect();
        match formula {
            Formula::Atom(atom) => Formula::Atom(self.atom(atom)),
            Formula::Not(inner) => Formula::Not(boxed(inner)),
            Formula::And(parts) => Formula::And(all(parts)),
            Formula::Or(parts) => Formula::Or(all(parts)),
            Formula::Next(inner) => Formula::Next(boxed(inner)),
            Formula::Globally(inner) => Formula::Globally(boxed(inner)),
            Formula::Finally(inner) => Formula::Finally(boxed(inner)),
            Formula::Until(left, right) => Formula::Until(boxed(left), boxed(right)),
        }
    }

    fn atom(&self, atom: &Atom) -> Atom {
        let number = |number: &IntExpr| IntExpr {
            places: number
                .places
                .iter()
                .map(|p| self.places[p.index()])
                .collect(),
            constant: number.constant,
        };
        match atom {
            Atom::Constant(value) => Atom::Constant(*value),
            Atom::Deadlock => Atom::Deadlock,
            Atom::Compare(op, left, right) => Atom::Compare(*op, number(left), number(right)),
            Atom::Fireable(transitions) => {
                let moved = transitions.iter().map(|t| self.transitions[t.index()]);
                let mut moved: Vec<TransitionId> = moved.collect();
                moved.sort_unstable();
                Atom::Fireable(moved)
            }
        }
    }
}

/// Numbers below `count` in a random order (Fisher and Yates).
fn order(count: usize, random: &mut Xorshift) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        order.swap(at, random.below(at + 1));
    }
    order
}

/// Pseudo-random numbers, the same for the same seed for ever (xorshift64: Marsaglia, *Xorshift
/// RNGs*, 2003).
struct Xorshift(u64);

impl Xorshift {
    /// The sequence of a seed, which is not 0.
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_net_is_the_same_net_in_another_order() {
        let mut builder = NetBuilder::new("chain");
        let places: Vec<PlaceId> = (0..20u32)
            .map(|i| builder.place(&format!("p{i}"), i.into()))
            .collect();
        for i in 0..19 {
            let t = builder.transition(&format!("t{i}"));
            builder.input(places[i], t, i as u32 + 1);
            builder.output(t, places[i + 1], 2);
        }
        let net = builder.build().unwrap();
        let shuffled = Shuffled::new(&net, 7).unwrap();
        let same = Shuffled::new(&net, 7).unwrap();
        assert_ne!(
            net.place_name(PlaceId(0)),
            shuffled.net.place_name(PlaceId(0))
        );
        for place in net.places() {
            let new = shuffled.places[place.index()];
            assert_eq!(net.place_name(place), shuffled.net.place_name(new));
            assert_eq!(net.initial(place), shuffled.net.initial(new));
            assert_eq!(same.places[place.index()], new, "the seed decides");
        }
        for t in net.transitions() {
            let new = shuffled.transitions[t.index()];
            assert_eq!(net.transition_name(t), shuffled.net.transition_name(new));
            for arc in net.pre(t) {
                let place = shuffled.places[arc.node.index()];
                assert_eq!(shuffled.net.input_weight(place, new), arc.weight);
            }
        }
        let compare = Formula::Atom(Atom::Compare(
            crate::CompareOp::Less,
            IntExpr::tokens(vec![PlaceId(3)]),
            IntExpr::constant(9),
        ));
        let moved = shuffled.formula(&compare);
        assert_eq!(
            moved.display(&shuffled.net).to_string(),
            compare.display(&net).to_string()
        );
    }
}
