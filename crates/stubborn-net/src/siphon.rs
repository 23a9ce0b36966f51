//! No deadlock, by siphons and traps: without a search among markings.
//!
//! In a deadlock every transition misses a token. Where arcs have weight one, the places without
//! tokens then are a *siphon* that meets the inputs of every transition, and it contains no
//! *trap* (a set that every transition that takes from it gives back to) which was marked in the
//! beginning, because such a trap never becomes empty. So a net whose siphons all contain a
//! marked trap has no deadlock (Commoner, "Deadlocks in Petri nets", 1972; Hack, "Analysis of
//! production schemata by Petri nets", 1972). Here a set of empty places is looked for that
//! would allow a deadlock, with what else is known of reachable markings:
//!
//! * every transition has an empty input (one with a heavier arc may miss tokens without, and one
//!   with an inhibitor arc may be disabled by tokens, so nothing is known of these);
//! * in a constant sum of tokens not all places are empty, and in no sum more places are marked
//!   than it allows;
//! * in a trap that was marked not all places are empty. Traps are found when the search runs into
//!   them, made small, and remembered;
//! * and a set that passes all this is left to the state equation.
//!
//! If there is no such set, there is no deadlock. Places are decided one after the other, with
//! unit propagation, and the number of steps is bounded.

use std::time::{Duration, Instant};

use crate::equation::{Linear, StateEquation};
use crate::ids::{PlaceId, TransitionId};
use crate::invariants::Invariants;
use crate::net::Net;
use crate::traps::marked_trap;

/// Decisions before the search is given up.
const DECISIONS: u32 = 200_000;

/// Sets that are given to the state equation before the search is given up.
const CANDIDATES: u32 = 100;

/// Larger nets are not looked at.
const MOST_ARCS: usize = 200_000;

/// True if it is proved that no reachable marking of the net is a deadlock; false if it is not,
/// within this time.
///
/// ```
/// use std::time::Duration;
/// use stubborn_net::{Invariants, NetBuilder, no_deadlock_by_traps};
///
/// let mut builder = NetBuilder::new("there and back");
/// let (a, b) = (builder.place("a", 1), builder.place("b", 0));
/// for (from, to) in [(a, b), (b, a)] {
///     let t = builder.transition("t");
///     builder.input(from, t, 1);
///     builder.output(t, to, 1);
/// }
/// let net = builder.build().unwrap();
/// assert!(no_deadlock_by_traps(&net, &Invariants::default(), Duration::from_secs(1)));
/// ```
pub fn no_deadlock_by_traps(net: &Net, invariants: &Invariants, time: Duration) -> bool {
    if net.transitions().any(|t| net.is_always_enabled(t)) {
        return true;
    }
    if net.arc_count() > MOST_ARCS {
        return false;
    }
    let Some(end) = Instant::now().checked_add(time) else {
        return false;
    };
    Search::new(net, invariants, net.transitions(), end).excludes_all()
}

/// True if it is proved that in every reachable marking with a token in one of some places, one of some
/// transitions is enabled; false if it is not, within this time.
pub(crate) fn some_goes_on(
    net: &Net,
    invariants: &Invariants,
    marked: &[PlaceId],
    transitions: &[TransitionId],
    end: Instant,
) -> bool {
    if net.arc_count() > MOST_ARCS {
        return false;
    }
    let mut search = Search::new(net, invariants, transitions.iter().copied(), end);
    search.add_clause(marked.iter().map(|p| p.0).collect(), Tokens::Some);
    search.given = Linear::new(marked.iter().map(|p| (*p, 1)), 1);
    search.excludes_all()
}

/// What is assumed of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tokens {
    Unknown,
    None,
    Some,
}

/// At least one of these places is as `wanted`.
struct Clause {
    places: Vec<u32>,
    wanted: Tokens,
}

/// The assumption cannot be.
struct Contradiction;

/// A place that was decided, to be decided the other way when that fails.
struct Decision {
    place: u32,
    /// How many places were known before.
    known: usize,
}

struct Search<'n> {
    net: &'n Net,
    invariants: &'n Invariants,
    equation: StateEquation<'n>,
    tokens: Vec<Tokens>,
    /// Places that are known, in the order they became so, and up to where the consequences
    /// were drawn.
    trail: Vec<u32>,
    drawn: usize,
    clauses: Vec<Clause>,
    clauses_of: Vec<Vec<u32>>,
    /// The clauses of transitions come first.
    transitions: usize,
    /// What else is known of the marking that is looked for.
    given: Option<Linear>,
    end: Instant,
}

impl<'n> Search<'n> {
    /// Looks for a marking in which none of these transitions is enabled.
    fn new(
        net: &'n Net,
        invariants: &'n Invariants,
        transitions: impl Iterator<Item = TransitionId>,
        end: Instant,
    ) -> Self {
        let mut search = Self {
            net,
            invariants,
            equation: StateEquation::new(net),
            tokens: vec![Tokens::Unknown; net.place_count()],
            trail: Vec::new(),
            drawn: 0,
            clauses: Vec::new(),
            clauses_of: vec![Vec::new(); net.place_count()],
            transitions: 0,
            given: None,
            end,
        };
        for t in transitions {
            let inputs = net.pre(t);
            if net.inhibitors(t).is_empty() && inputs.iter().all(|arc| arc.weight == 1) {
                let places = inputs.iter().map(|arc| arc.node.0).collect();
                search.add_clause(places, Tokens::None);
            }
        }
        search.transitions = search.clauses.len();
        for invariant in invariants.all() {
            if invariant.constant && invariant.total > 0 {
                let places = invariant.weights.iter().map(|(p, _)| p.0).collect();
                search.add_clause(places, Tokens::Some);
            }
        }
        search
    }

    fn add_clause(&mut self, places: Vec<u32>, wanted: Tokens) {
        for place in &places {
            self.clauses_of[*place as usize].push(self.clauses.len() as u32);
        }
        self.clauses.push(Clause { places, wanted });
    }

    /// Goes through all sets of empty places; true if none passes.
    fn excludes_all(&mut self) -> bool {
        let mut decisions: Vec<Decision> = Vec::new();
        let (mut decided, mut candidates) = (0, 0);
        let mut state = self.start();
        loop {
            if state.is_ok() {
                state = self.consequences();
            }
            if state.is_ok() && self.next_place().is_none() {
                candidates += 1;
                if candidates > CANDIDATES || !self.is_refuted() {
                    return false;
                }
                state = Err(Contradiction);
            }
            match state {
                Ok(()) => {
                    decided += 1;
                    let late = decided % 16 == 0 && Instant::now() >= self.end;
                    let Some(place) = self.next_place().filter(|_| decided < DECISIONS && !late)
                    else {
                        return false;
                    };
                    let known = self.trail.len();
                    decisions.push(Decision { place, known });
                    state = self.assume(place, Tokens::None);
                }
                Err(Contradiction) => {
                    let Some(last) = decisions.pop() else {
                        return true;
                    };
                    self.forget(last.known);
                    // What follows from the decisions before.
                    state = self.assume(last.place, Tokens::Some);
                }
            }
        }
    }

    /// What is certain without any decision.
    fn start(&mut self) -> Result<(), Contradiction> {
        (0..self.clauses.len()).try_for_each(|clause| self.unit(clause))?;
        (0..self.invariants.all().len()).try_for_each(|number| self.sum(number))
    }

    fn assume(&mut self, place: u32, tokens: Tokens) -> Result<(), Contradiction> {
        let known = &mut self.tokens[place as usize];
        if *known == Tokens::Unknown {
            *known = tokens;
            self.trail.push(place);
            return Ok(());
        }
        if *known == tokens {
            Ok(())
        } else {
            Err(Contradiction)
        }
    }

    fn forget(&mut self, known: usize) {
        for place in self.trail.drain(known..) {
            self.tokens[place as usize] = Tokens::Unknown;
        }
        self.drawn = known;
    }

    /// Draws all consequences, traps included.
    fn consequences(&mut self) -> Result<(), Contradiction> {
        while let Some(place) = self.trail.get(self.drawn).copied() {
            self.drawn += 1;
            for at in 0..self.clauses_of[place as usize].len() {
                self.unit(self.clauses_of[place as usize][at] as usize)?;
            }
            let invariants = self.invariants;
            for number in invariants.numbers_of_place(PlaceId(place)) {
                self.sum(*number as usize)?;
            }
        }
        match self.marked_trap() {
            Some(trap) => {
                self.add_clause(trap, Tokens::Some);
                Err(Contradiction)
            }
            None => Ok(()),
        }
    }

    /// If all places of a clause but one are not as wanted, that one is.
    fn unit(&mut self, clause: usize) -> Result<(), Contradiction> {
        let Clause { places, wanted } = &self.clauses[clause];
        let wanted = *wanted;
        let mut open = None;
        for place in places {
            match self.tokens[*place as usize] {
                known if known == wanted => return Ok(()),
                Tokens::Unknown if open.is_some() => return Ok(()),
                Tokens::Unknown => open = Some(*place),
                _ => {}
            }
        }
        self.assume(open.ok_or(Contradiction)?, wanted)
    }

    /// Places that a sum does not allow to be marked as well are empty.
    fn sum(&mut self, number: usize) -> Result<(), Contradiction> {
        let invariants = self.invariants;
        let invariant = &invariants.all()[number];
        let weighs = |(_, weight): &(PlaceId, u64)| u128::from(*weight);
        let is = |place: PlaceId, tokens| self.tokens[place.index()] == tokens;
        let marked = invariant.weights.iter();
        let least: u128 = marked
            .filter(|(place, _)| is(*place, Tokens::Some))
            .map(weighs)
            .fold(0, u128::saturating_add);
        let Some(left) = invariant.total.checked_sub(least) else {
            return Err(Contradiction);
        };
        for entry in &invariant.weights {
            if weighs(entry) > left && self.tokens[entry.0.index()] == Tokens::Unknown {
                self.assume(entry.0.0, Tokens::None)?;
            }
        }
        Ok(())
    }

    /// A trap that was marked and that the places without tokens contain.
    fn marked_trap(&self) -> Option<Vec<u32>> {
        let empty: Vec<bool> = self.tokens.iter().map(|t| *t == Tokens::None).collect();
        let trap = marked_trap(self.net, empty, self.end)?;
        Some(trap.into_iter().map(|place| place.0).collect())
    }

    /// A place that is worth deciding: of the transition with the fewest open inputs, of those
    /// without an empty one. None if every transition has one.
    fn next_place(&self) -> Option<u32> {
        let mut best: Option<(usize, u32)> = None;
        for clause in &self.clauses[..self.transitions] {
            let tokens = |place: &&u32| self.tokens[**place as usize];
            if clause.places.iter().any(|p| tokens(&p) == Tokens::None) {
                continue;
            }
            let unknown = || {
                clause
                    .places
                    .iter()
                    .filter(|p| tokens(p) == Tokens::Unknown)
            };
            let count = unknown().count();
            if let Some(place) = unknown().next()
                && best.is_none_or(|(least, _)| count < least)
            {
                best = Some((count, *place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Whether the state equation excludes what is known of the places.
    fn is_refuted(&self) -> bool {
        let constraint = |place: u32| {
            let (weight, least) = match self.tokens[place as usize] {
                Tokens::Some => (1, 1),
                Tokens::None | Tokens::Unknown => (-1, 0),
            };
            Linear::new([(PlaceId(place), weight)], least)
        };
        let known = self.trail.iter().filter_map(|p| constraint(*p));
        let constraints: Vec<Linear> = known.chain(self.given.clone()).collect();
        let left = self.end.saturating_duration_since(Instant::now());
        !left.is_zero() && self.equation.excludes(&constraints, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::InvariantBudget;
    use crate::net::NetBuilder;

    const TIME: Duration = Duration::from_secs(10);

    /// Two processes that take two locks, in the same order or not.
    fn locks(same_order: bool) -> Net {
        let mut builder = NetBuilder::new("locks");
        let locks = [0, 1].map(|i| builder.place(&format!("lock{i}"), 1));
        for process in 0..2 {
            let order = if same_order || process == 0 {
                [0, 1]
            } else {
                [1, 0]
            };
            let at =
                [0, 1, 2].map(|i| builder.place(&format!("at{process}{i}"), u64::from(i == 0)));
            for step in 0..2 {
                let t = builder.transition(&format!("take{process}{step}"));
                builder.input(at[step], t, 1);
                builder.input(locks[order[step]], t, 1);
                builder.output(t, at[step + 1], 1);
            }
            let release = builder.transition(&format!("release{process}"));
            builder.input(at[2], release, 1);
            builder.output(release, at[0], 1);
            locks
                .iter()
                .for_each(|lock| builder.output(release, *lock, 1));
        }
        builder.build().unwrap()
    }

    #[test]
    fn locks_in_one_order_never_deadlock() {
        for (same_order, expected) in [(true, true), (false, false)] {
            let net = locks(same_order);
            let invariants = Invariants::find(&net, InvariantBudget::default());
            assert_eq!(no_deadlock_by_traps(&net, &invariants, TIME), expected);
        }
    }

    /// What inhibits a transition may make a deadlock in which no input is empty.
    #[test]
    fn inhibitor_arcs_allow_deadlocks() {
        for inhibits in [false, true] {
            let mut builder = NetBuilder::new("loop");
            let p = builder.place("p", 1);
            let t = builder.transition("t");
            builder.input(p, t, 1);
            builder.output(t, p, 1);
            let source = builder.transition("source");
            if inhibits {
                builder.inhibitor(p, t, 1);
                builder.inhibitor(p, source, 1);
            } else {
                builder.input(p, source, 2);
                builder.output(source, p, 2);
            }
            let net = builder.build().unwrap();
            let invariants = Invariants::find(&net, InvariantBudget::default());
            assert_eq!(no_deadlock_by_traps(&net, &invariants, TIME), !inhibits);
        }
    }

    #[test]
    fn without_transitions_everything_is_dead() {
        let mut builder = NetBuilder::new("nothing");
        builder.place("p", 1);
        let net = builder.build().unwrap();
        assert!(!no_deadlock_by_traps(&net, &Invariants::default(), TIME));
    }
}
