//! What cannot be true together in a reachable marking.
//!
//! A reachable marking satisfies every place invariant, every bound, and the exclusions of
//! nested units. So if some sum `Σ y(p) · need(p)` is larger than the invariant allows, no
//! reachable marking holds `need`. This is used for pairs of transitions (`need` is what both
//! take, place by place the larger number) and pairs of guards. What one needs may be as much as inhibits
//! the other. Evangelista, "Experimenting with
//! Stubborn Sets on Petri Nets", names the exact relation `D_e` as the limit of what such facts can
//! bring.
//!
//! The work is bounded by a number of steps; when it is used up, everything is taken for
//! possible, which is always sound.

use stubborn_system::{LabelId, Matrix, MatrixBuilder};

use crate::ids::{PlaceId, TransitionId};
use crate::net::{Tokens, Weight};
use crate::system::{Meaning, NetSystem};

/// Steps for all questions about pairs.
const STEPS: u64 = 200_000_000;

/// At most this many pairs of guards are recorded.
const MAX_LABEL_PAIRS: usize = 4_000_000;

/// Answers questions about pairs.
pub(super) struct Exclusion<'s> {
    system: &'s NetSystem,
    /// Sum so far for each invariant, and which are not zero.
    sums: Vec<u128>,
    touched: Vec<u32>,
    need: Vec<(PlaceId, u64)>,
    steps: u64,
    /// The row that is being asked about, and the first row that came too late.
    row: Option<TransitionId>,
    given_up_at: Option<TransitionId>,
}

impl<'s> Exclusion<'s> {
    pub(super) fn new(system: &'s NetSystem) -> Self {
        Self {
            system,
            sums: vec![0; system.invariants.all().len()],
            touched: Vec::new(),
            need: Vec::new(),
            steps: STEPS,
            row: None,
            given_up_at: None,
        }
    }

    /// As [`never_both`](Self::never_both), asked row by row in increasing order of `t`. The
    /// answers are symmetric even when the steps are used up on the way: a pair is looked at if
    /// and only if the row of its smaller transition began in time.
    pub(super) fn never_both_in_rows(&mut self, t: TransitionId, u: TransitionId) -> bool {
        if self.row != Some(t) {
            self.row = Some(t);
            if self.steps == 0 && self.given_up_at.is_none() {
                self.given_up_at = Some(t);
            }
        }
        if self.given_up_at.is_some_and(|late| t.min(u) >= late) {
            return false;
        }
        self.never_both(t, u)
    }

    /// True if no reachable marking enables both transitions.
    fn never_both(&mut self, t: TransitionId, u: TransitionId) -> bool {
        let net = &self.system.net;
        let inhibits = |t, u| {
            let mut inhibitors = net.inhibitors(u).iter();
            inhibitors.any(|arc| net.input_weight(arc.node, t) >= arc.weight)
        };
        if inhibits(t, u) || inhibits(u, t) {
            return true;
        }
        let mut need = std::mem::take(&mut self.need);
        need.clear();
        need.extend(
            net.pre(t)
                .iter()
                .map(|arc| (arc.node, u64::from(arc.weight))),
        );
        need.extend(
            net.pre(u)
                .iter()
                .map(|arc| (arc.node, u64::from(arc.weight))),
        );
        let impossible = self.is_impossible(&mut need);
        self.need = need;
        impossible
    }

    /// True if no reachable marking lets `first` and then `second` fire.
    pub(super) fn never_after(&mut self, first: TransitionId, second: TransitionId) -> bool {
        if self.steps == 0 {
            return false;
        }
        let net = &self.system.net;
        let mut inhibitors = net.inhibitors(second).iter();
        if inhibitors.any(|arc| net.output_weight(first, arc.node) >= arc.weight) {
            return true;
        }
        let mut need = std::mem::take(&mut self.need);
        need.clear();
        need.extend(
            net.pre(first)
                .iter()
                .map(|arc| (arc.node, u64::from(arc.weight))),
        );
        for arc in net.pre(second) {
            let wanted = i64::from(arc.weight) - net.effect(first, arc.node);
            if let Ok(wanted) = u64::try_from(wanted) {
                need.push((arc.node, wanted));
            }
        }
        let impossible = self.is_impossible(&mut need);
        self.need = need;
        impossible
    }

    /// True if no reachable marking has at least `need`; several needs of one place mean the
    /// largest.
    fn is_impossible(&mut self, need: &mut Vec<(PlaceId, u64)>) -> bool {
        need.retain(|(_, tokens)| *tokens > 0);
        need.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        need.dedup_by_key(|(place, _)| *place);
        let cost = need
            .iter()
            .map(|(p, _)| self.system.invariants.numbers_of_place(*p).len() + need.len())
            .sum::<usize>() as u64;
        self.steps = self.steps.saturating_sub(cost);
        let beyond = |(place, tokens): &(PlaceId, u64)| {
            self.system
                .bounds
                .bound(*place)
                .is_some_and(|bound| *tokens > bound)
        };
        need.iter().any(beyond) || self.units_exclude(need) || self.invariants_exclude(need)
    }

    fn units_exclude(&self, need: &[(PlaceId, u64)]) -> bool {
        let Some(units) = self.system.net.units() else {
            return false;
        };
        need.iter().enumerate().any(|(i, (p, _))| {
            need[i + 1..]
                .iter()
                .any(|(q, _)| units.exclude_each_other(*p, *q))
        })
    }

    fn invariants_exclude(&mut self, need: &[(PlaceId, u64)]) -> bool {
        let invariants = &self.system.invariants;
        for (place, tokens) in need {
            for number in invariants.numbers_of_place(*place) {
                let invariant = &invariants.all()[*number as usize];
                let Ok(at) = invariant.weights.binary_search_by_key(place, |(p, _)| *p) else {
                    continue;
                };
                let sum = &mut self.sums[*number as usize];
                if *sum == 0 {
                    self.touched.push(*number);
                }
                let part = u128::from(invariant.weights[at].1) * u128::from(*tokens);
                *sum = sum.saturating_add(part);
            }
        }
        let mut excluded = false;
        for number in self.touched.drain(..) {
            let sum = std::mem::take(&mut self.sums[number as usize]);
            excluded |= sum > invariants.all()[number as usize].total;
        }
        excluded
    }

    /// The pairs of guards that no reachable marking satisfies both, as far as they are cheap
    /// to find: an under-approximation.
    pub(super) fn labels(&self, meanings: &[Meaning]) -> Matrix<LabelId, LabelId> {
        let mut of_place: Vec<Vec<(LabelId, Weight)>> =
            vec![Vec::new(); self.system.net.place_count()];
        let mut below: Vec<(PlaceId, LabelId, Weight)> = Vec::new();
        for (label, meaning) in meanings.iter().enumerate() {
            let label = LabelId::new(label);
            match meaning {
                Meaning::AtLeast(place, threshold) => {
                    of_place[place.index()].push((label, *threshold));
                }
                Meaning::Below(place, threshold) => below.push((*place, label, *threshold)),
                Meaning::Formula(_) => {}
            }
        }
        let mut pairs = LabelPairs {
            builder: MatrixBuilder::new(meanings.len(), meanings.len()),
            room: MAX_LABEL_PAIRS,
        };
        for (place, few, threshold) in below {
            for (enough, tokens) in &of_place[place.index()] {
                if *tokens >= threshold && !pairs.add(few, *enough) {
                    break;
                }
            }
        }
        self.pairs_of_units(&of_place, &mut pairs);
        self.pairs_of_invariants(&of_place, &mut pairs);
        pairs.builder.finish()
    }

    fn pairs_of_units(&self, of_place: &[Vec<(LabelId, Weight)>], pairs: &mut LabelPairs) {
        let net = &self.system.net;
        let Some(units) = net.units().filter(|units| units.is_safe()) else {
            return;
        };
        let mut places_of = vec![Vec::new(); units.unit_count()];
        for place in net.places() {
            places_of[units.unit_of(place).0 as usize].push(place);
        }
        for p in net.places() {
            let mut around = Some(units.unit_of(p));
            while let Some(unit) = around {
                for q in &places_of[unit.0 as usize] {
                    if *q == p {
                        continue;
                    }
                    for (g, _) in &of_place[p.index()] {
                        for (h, _) in &of_place[q.index()] {
                            if !pairs.add(*g, *h) {
                                return;
                            }
                        }
                    }
                }
                around = units.parent(unit);
            }
        }
    }

    fn pairs_of_invariants(&self, of_place: &[Vec<(LabelId, Weight)>], pairs: &mut LabelPairs) {
        for invariant in self.system.invariants.all() {
            // The guards that this invariant weighs, the heaviest first.
            let mut guards: Vec<(u128, PlaceId, LabelId)> = Vec::new();
            for (place, weight) in &invariant.weights {
                for (label, threshold) in &of_place[place.index()] {
                    let tokens = Tokens::from(*threshold);
                    guards.push((u128::from(*weight) * u128::from(tokens), *place, *label));
                }
            }
            guards.sort_unstable_by(|a, b| b.cmp(a));
            for (i, (weight, place, label)) in guards.iter().enumerate() {
                for (other_weight, other_place, other) in &guards[i + 1..] {
                    if weight.saturating_add(*other_weight) <= invariant.total {
                        break;
                    }
                    if place != other_place && !pairs.add(*label, *other) {
                        return;
                    }
                }
            }
        }
    }
}

struct LabelPairs {
    builder: MatrixBuilder<LabelId, LabelId>,
    room: usize,
}

impl LabelPairs {
    /// Adds a pair both ways; false if there is no room left.
    fn add(&mut self, g: LabelId, h: LabelId) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        self.builder.insert(g, h);
        self.builder.insert(h, g);
        true
    }
}
