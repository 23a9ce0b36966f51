//! How many tokens each place can hold, and how sure that is.
//!
//! The executor packs places by these bounds. A bound that is *proved* (the place never
//! changes, or a place invariant covers it) cannot be exceeded. A bound that the file *claims*
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
        let safe = net.units().is_some_and(|units| units.is_safe());
        let bounds = net
            .places()
            .map(|place| {
                if !changes[place.index()] {
                    return (Some(net.initial(place)), BoundSource::Constant);
                }
                match invariants.bound(place) {
                    // A claim that says more than the invariant is worth having.
                    Some(bound) if bound <= 1 || !safe => (Some(bound), BoundSource::Invariant),
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
