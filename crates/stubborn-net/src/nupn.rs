//! Nested units (NUPN): groups of places of which at most one is marked at a time.
//!
//! Garavel, "Nested-unit Petri nets" (Journal of Logical and Algebraic Methods in Programming,
//! 2019). Units form a tree and every place belongs to one. Where the file says that the net is
//! *unit-safe*, no place ever holds two tokens, and two different places of one unit, or of a
//! unit and a unit inside it, are never marked together. Those facts are trusted for the
//! relations; the executor still notices a second token in a place and stops with an error.

use crate::ids::PlaceId;

/// A unit, by its position in [`Nupn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// The tree of units over the places of a net.
#[derive(Clone, Debug)]
pub struct Nupn {
    safe: bool,
    unit_of: Vec<UnitId>,
    parent: Vec<Option<UnitId>>,
    /// Position of each unit in a walk of the tree, and one past its last descendant.
    enter: Vec<u32>,
    leave: Vec<u32>,
}

/// Why a description of units is no unit tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NupnError {
    /// A place belongs to no unit or to several.
    PlaceNotInOneUnit(PlaceId),
    /// Units contain one another in a circle, or one has two parents.
    NotATree(UnitId),
}

impl Nupn {
    /// Builds the tree from the unit of each place and the parent of each unit.
    pub fn new(
        safe: bool,
        unit_of: Vec<UnitId>,
        parent: Vec<Option<UnitId>>,
    ) -> Result<Self, NupnError> {
        let units = parent.len();
        for (place, unit) in unit_of.iter().enumerate() {
            if unit.0 as usize >= units {
                return Err(NupnError::PlaceNotInOneUnit(PlaceId::new(place)));
            }
        }
        let mut children = vec![Vec::new(); units];
        let mut stack = Vec::new();
        for (unit, above) in parent.iter().enumerate() {
            match above {
                Some(above) if (above.0 as usize) < units => {
                    children[above.0 as usize].push(unit as u32);
                }
                Some(_) => return Err(NupnError::NotATree(UnitId(unit as u32))),
                None => stack.push((unit as u32, false)),
            }
        }
        let (mut enter, mut leave) = (vec![u32::MAX; units], vec![0; units]);
        let mut clock = 0;
        while let Some((unit, done)) = stack.pop() {
            if done {
                leave[unit as usize] = clock;
                continue;
            }
            enter[unit as usize] = clock;
            clock += 1;
            stack.push((unit, true));
            stack.extend(children[unit as usize].iter().map(|child| (*child, false)));
        }
        // Units on a circle are reached from no root.
        if let Some(unit) = enter.iter().position(|e| *e == u32::MAX) {
            return Err(NupnError::NotATree(UnitId(unit as u32)));
        }
        Ok(Self {
            safe,
            unit_of,
            parent,
            enter,
            leave,
        })
    }

    /// The same tree over some of the places, in the given order.
    #[must_use]
    pub fn restricted_to(&self, places: impl IntoIterator<Item = PlaceId>) -> Self {
        let unit_of = places
            .into_iter()
            .map(|place| self.unit_of(place))
            .collect();
        Self {
            unit_of,
            ..self.clone()
        }
    }

    /// True if the file guarantees unit-safeness.
    pub fn is_safe(&self) -> bool {
        self.safe
    }

    /// The number of units.
    pub fn unit_count(&self) -> usize {
        self.parent.len()
    }

    /// The unit of a place.
    pub fn unit_of(&self, place: PlaceId) -> UnitId {
        self.unit_of[place.index()]
    }

    /// The unit directly around a unit.
    pub fn parent(&self, unit: UnitId) -> Option<UnitId> {
        self.parent[unit.0 as usize]
    }

    /// True if `outer` is `inner` or lies around it.
    pub fn contains(&self, outer: UnitId, inner: UnitId) -> bool {
        let at = self.enter[inner.0 as usize];
        self.enter[outer.0 as usize] <= at && at < self.leave[outer.0 as usize]
    }

    /// A place that breaks the promise of unit-safeness in a marking, if any does.
    pub fn violated_by(&self, marking: &[u64]) -> Option<PlaceId> {
        let mut marked: Vec<(u32, usize)> = Vec::new();
        for (place, tokens) in marking.iter().enumerate() {
            match tokens {
                0 => {}
                1 => marked.push((self.enter[self.unit_of[place].0 as usize], place)),
                _ => return Some(PlaceId::new(place)),
            }
        }
        // Sorted by entry, a unit with a marked unit inside is followed by one of those.
        marked.sort_unstable();
        marked.windows(2).find_map(|pair| {
            let (outer, inner) = (PlaceId::new(pair[0].1), PlaceId::new(pair[1].1));
            self.contains(self.unit_of(outer), self.unit_of(inner))
                .then_some(inner)
        })
    }

    /// True if the two places are certainly never marked together. A place does not exclude itself.
    pub fn exclude_each_other(&self, p: PlaceId, q: PlaceId) -> bool {
        if !self.safe || p == q {
            return false;
        }
        let (a, b) = (self.unit_of(p), self.unit_of(q));
        self.contains(a, b) || self.contains(b, a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(n: u32) -> UnitId {
        UnitId(n)
    }

    #[test]
    fn places_of_comparable_units_exclude_each_other() {
        // root 0 with children 1 and 2; places p0..p3 in units 0, 1, 1, 2.
        let units = vec![unit(0), unit(1), unit(1), unit(2)];
        let parent = vec![None, Some(unit(0)), Some(unit(0))];
        let nupn = Nupn::new(true, units, parent).unwrap();
        let p = PlaceId;
        assert!(nupn.exclude_each_other(p(1), p(2)));
        assert!(nupn.exclude_each_other(p(0), p(3)));
        assert!(nupn.exclude_each_other(p(3), p(0)));
        assert!(!nupn.exclude_each_other(p(1), p(3)));
        assert!(!nupn.exclude_each_other(p(1), p(1)));
    }

    #[test]
    fn circles_and_orphans_are_refused() {
        let circle = Nupn::new(true, vec![], vec![None, Some(unit(2)), Some(unit(1))]);
        assert!(matches!(circle, Err(NupnError::NotATree(_))));
        let orphan = Nupn::new(true, vec![unit(7)], vec![None]);
        assert_eq!(orphan.err(), Some(NupnError::PlaceNotInOneUnit(PlaceId(0))));
    }
}
