//! Conflicts that never come about, because there are always enough tokens for both.
//!
//! Two transitions that take from one place disable each other only where it holds too few
//! tokens for both. Where places hold more than one token, that is a statement about reachable
//! markings: both transitions are enabled, and the place has at most so many tokens. The state
//! equation refutes it in many nets, such as in networks of buffers, where every message that
//! waits has reserved its room. What is left is close to the exact dependency `D_e` of
//! Evangelista, "Experimenting with Stubborn Sets on Petri Nets" (definition 7), which there
//! needs the whole state space.
//!
//! A sum that refuted one pair is tried on the next ones before a linear program is solved. Work
//! is counted in programs and their size, never in time, so that the relations of a net are the
//! same on every machine.

use std::time::Duration;

use rapidhash::RapidHashMap;

use crate::equation::{Linear, NeverGrowing, StateEquation};
use crate::ids::{PlaceId, TransitionId};
use crate::system::NetSystem;

/// Work for all programs: the sum of their sizes.
const WORK: u64 = 20_000_000;

/// Larger programs are not solved.
const LARGEST: u64 = 400_000;

/// Far more than a program of that size takes.
const TIME: Duration = Duration::from_secs(20);

/// Answers questions about pairs.
pub(super) struct Enough<'s> {
    system: &'s NetSystem,
    equation: StateEquation<'s>,
    /// What refuted pairs before.
    sums: Vec<NeverGrowing>,
    known: RapidHashMap<(TransitionId, TransitionId), bool>,
    work: u64,
}

impl<'s> Enough<'s> {
    pub(super) fn new(system: &'s NetSystem) -> Self {
        Self {
            system,
            equation: StateEquation::new(&system.net),
            sums: Vec::new(),
            known: RapidHashMap::default(),
            work: WORK,
        }
    }

    /// True if no reachable marking enables both transitions and lets one disable the other.
    /// The order of the pair makes no difference.
    pub(super) fn for_both(&mut self, t: TransitionId, u: TransitionId) -> bool {
        let pair = (t.min(u), t.max(u));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let result = pair.0 != pair.1
            && self.never_disables(pair.0, pair.1)
            && self.never_disables(pair.1, pair.0);
        self.known.insert(pair, result);
        result
    }

    /// True if no reachable marking enables both, and not `u` after `t`.
    fn never_disables(&mut self, t: TransitionId, u: TransitionId) -> bool {
        let net = &self.system.net;
        // Nothing is proved of tokens that inhibit.
        if net
            .inhibitors(u)
            .iter()
            .any(|arc| net.effect(t, arc.node) > 0)
        {
            return false;
        }
        let taken = net.touched(t).filter(|(_, takes, gives)| takes > gives);
        let mut places: Vec<(PlaceId, u64)> = Vec::new();
        for (place, takes, gives) in taken {
            let wanted = u64::from(net.input_weight(place, u));
            let both = wanted + u64::from(takes) - u64::from(gives);
            // Tokens that enable both, and are too few for one after the other.
            if wanted > 0 && wanted.max(takes.into()) < both {
                places.push((place, both - 1));
            }
        }
        // A place that never has more is never enough; then all would rest on the pair being
        // never enabled together, which was tried before.
        let bounds = &self.system.bounds;
        let may_suffice =
            |(place, few): &(PlaceId, u64)| bounds.bound(*place).is_none_or(|bound| bound > *few);
        places.iter().all(may_suffice)
            && places
                .into_iter()
                .all(|(place, few)| self.is_refuted(t, u, place, few))
    }

    /// True if no reachable marking enables both while the place has at most `few` tokens.
    fn is_refuted(&mut self, t: TransitionId, u: TransitionId, place: PlaceId, few: u64) -> bool {
        let net = &self.system.net;
        let mut need: Vec<(PlaceId, i64)> = [t, u]
            .iter()
            .flat_map(|t| net.pre(*t))
            .map(|arc| (arc.node, i64::from(arc.weight)))
            .collect();
        need.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        need.dedup_by_key(|(place, _)| *place);
        let Ok(few) = i64::try_from(few) else {
            return false;
        };
        if self.sums.iter().any(|sum| exceeds(sum, &need, place, few)) {
            return true;
        }
        let size = self.equation.size();
        if size > LARGEST || size > self.work {
            return false;
        }
        self.work -= size;
        let mut constraints: Vec<Linear> = need
            .iter()
            .filter_map(|(place, tokens)| Linear::new([(*place, 1)], *tokens))
            .collect();
        constraints.extend(Linear::new([(place, -1)], -few));
        let budget = &self.system.budget;
        if budget.poll().is_some() {
            return false;
        }
        let time = budget.time_left().map_or(TIME, |left| left.min(TIME));
        match self.equation.refutation(&constraints, time) {
            Some(sum) => {
                self.sums.push(sum);
                true
            }
            None => false,
        }
    }
}

/// Whether a sum that never grows would be too large in every marking with at least `need` and
/// at most `few` tokens in `place`.
fn exceeds(sum: &NeverGrowing, need: &[(PlaceId, i64)], place: PlaceId, few: i64) -> bool {
    let mut least = 0i128;
    for (p, weight) in &sum.weights {
        let at = need.binary_search_by_key(p, |(q, _)| *q);
        let tokens = match (*weight < 0, at) {
            (true, _) if *p == place => few,
            // Any number of tokens makes it as small as one likes.
            (true, _) => return false,
            (false, Ok(at)) => need[at].1,
            (false, Err(_)) => 0,
        };
        least = least.saturating_add(weight.saturating_mul(i128::from(tokens)));
    }
    least > sum.value
}
