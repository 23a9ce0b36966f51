//! A net that can be taken apart: the working copy of the structural reductions.
//!
//! Transitions carry where they came from, as a binary tree of sequences over the transitions
//! of the original net, so that a run of the reduced net can be told in terms of the original.

use crate::ids::{PlaceId, TransitionId};
use crate::net::{Net, NetBuilder, Tokens, Weight};
use crate::nupn::UnitId;

/// A finished working copy.
pub(super) struct Built {
    pub(super) net: Net,
    pub(super) origins: Vec<u32>,
    pub(super) places: Vec<Option<PlaceId>>,
}

/// A sequence of original transitions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A transition of the original net.
    One(TransitionId),
    /// Two sequences one after the other, by position in [`Graph::origins`].
    Then(u32, u32),
}

/// A transition of the working copy.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Inputs, ordered by place.
    pub(super) pre: Vec<(u32, Weight)>,
    /// Outputs, ordered by place.
    pub(super) post: Vec<(u32, Weight)>,
    /// Places that must have fewer tokens, ordered.
    pub(super) inhibitors: Vec<(u32, Weight)>,
    /// Position in [`Graph::origins`].
    pub(super) origin: u32,
    /// Length of the sequence.
    pub(super) length: u32,
}

impl Step {
    pub(super) fn takes(&self, place: u32) -> Weight {
        weight(&self.pre, place)
    }

    pub(super) fn gives(&self, place: u32) -> Weight {
        weight(&self.post, place)
    }
}

fn weight(arcs: &[(u32, Weight)], place: u32) -> Weight {
    arcs.binary_search_by_key(&place, |(p, _)| *p)
        .map_or(0, |at| arcs[at].1)
}

/// The working copy.
pub(super) struct Graph {
    /// Tokens of each place; none for a place that was removed.
    pub(super) places: Vec<Option<Tokens>>,
    pub(super) steps: Vec<Option<Step>>,
    pub(super) origins: Vec<Origin>,
    /// Places that somebody looks at: they stay, and markings differ in nothing else.
    pub(super) watched: Vec<bool>,
    /// Places that may inhibit a step.
    pub(super) inhibits: Vec<bool>,
    /// The unit of each place, in nets with units.
    pub(super) unit: Vec<Option<UnitId>>,
    /// For each place, steps that took from it or gave to it when they were added.
    touching: Vec<Vec<u32>>,
    /// Original transitions that came before the initial marking of the working copy.
    pub(super) prefix: Vec<u32>,
    /// Transitions that mergings may still add.
    room: usize,
}

impl Graph {
    pub(super) fn new(net: &Net, watched: &[PlaceId]) -> Self {
        let mut is_watched = vec![false; net.place_count()];
        watched
            .iter()
            .for_each(|place| is_watched[place.index()] = true);
        let mut graph = Self {
            watched: is_watched,
            inhibits: vec![false; net.place_count()],
            unit: net
                .places()
                .map(|place| net.units().map(|units| units.unit_of(place)))
                .collect(),
            places: net
                .initial_marking()
                .iter()
                .map(|tokens| Some(*tokens))
                .collect(),
            steps: Vec::with_capacity(net.transition_count()),
            origins: Vec::with_capacity(net.transition_count()),
            touching: vec![Vec::new(); net.place_count()],
            prefix: Vec::new(),
            room: net.transition_count() / 2 + 16,
        };
        for t in net.transitions() {
            let arcs = |list: &[crate::net::Arc<PlaceId>]| {
                list.iter().map(|arc| (arc.node.0, arc.weight)).collect()
            };
            graph.origins.push(Origin::One(t));
            graph.add(Step {
                pre: arcs(net.pre(t)),
                post: arcs(net.post(t)),
                inhibitors: arcs(net.inhibitors(t)),
                origin: t.0,
                length: 1,
            });
        }
        graph.note_inhibitors();
        graph
    }

    /// Finds out again which places inhibit steps.
    pub(super) fn note_inhibitors(&mut self) {
        self.inhibits.fill(false);
        for step in self.steps.iter().flatten() {
            for (place, _) in &step.inhibitors {
                self.inhibits[*place as usize] = true;
            }
        }
    }

    pub(super) fn add(&mut self, step: Step) {
        let number = self.steps.len() as u32;
        for (place, _) in step.pre.iter().chain(&step.post) {
            let list = &mut self.touching[*place as usize];
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
        self.steps.push(Some(step));
    }

    /// Whether so many takers and givers of a place may be merged with each other: that makes
    /// fewer transitions, or up to twice as many, as long as the whole does not grow by more
    /// than half.
    pub(super) fn has_room(&self, takers: usize, givers: usize) -> bool {
        let (before, after) = (takers + givers, takers.saturating_mul(givers));
        after <= before || (after <= 2 * before && after - before <= self.room)
    }

    /// Takes note that so many takers and givers were merged.
    pub(super) fn use_room(&mut self, takers: usize, givers: usize) {
        let more = (takers * givers).saturating_sub(takers + givers);
        self.room = self.room.saturating_sub(more);
    }

    /// The numbers of the live steps, in order.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.steps.len() as u32).filter(|n| self.steps[*n as usize].is_some())
    }

    /// The steps that take from a place, and those that give to it.
    pub(super) fn around(&mut self, place: u32) -> (Vec<u32>, Vec<u32>) {
        let mut list = std::mem::take(&mut self.touching[place as usize]);
        list.retain(|n| self.steps[*n as usize].is_some());
        let with = |wanted: fn(&Step, u32) -> Weight| {
            let touches = |n: &&u32| {
                self.steps[**n as usize]
                    .as_ref()
                    .is_some_and(|step| wanted(step, place) > 0)
            };
            list.iter().filter(touches).copied().collect()
        };
        let result = (with(Step::takes), with(Step::gives));
        self.touching[place as usize] = list;
        result
    }

    /// Takes a place out of the net with all its arcs.
    pub(super) fn remove_place(&mut self, place: u32) {
        self.places[place as usize] = None;
        for number in std::mem::take(&mut self.touching[place as usize]) {
            if let Some(step) = &mut self.steps[number as usize] {
                step.pre.retain(|(p, _)| *p != place);
                step.post.retain(|(p, _)| *p != place);
            }
        }
    }

    /// Makes one place of several, with the tokens and arcs of all. False, and nothing changed, if
    /// numbers become too large.
    pub(super) fn join_places(&mut self, group: &[u32]) -> bool {
        let &[one, ref others @ ..] = group else {
            return false;
        };
        let mut tokens = group.iter().map(|place| self.places[*place as usize]);
        let sum = tokens.try_fold(0, |sum: Tokens, n| sum.checked_add(n?));
        let Some(sum) = sum else { return false };
        let joined = |arcs: &[(u32, Weight)]| {
            let (mine, mut rest): (Vec<_>, Vec<_>) =
                arcs.iter().partition(|(place, _)| group.contains(place));
            let mut weights = mine.iter().map(|(_, weight)| *weight);
            let sum = weights.try_fold(0, |sum: Weight, n| sum.checked_add(n))?;
            let at = rest.partition_point(|(place, _)| *place < one);
            rest.splice(at..at, (sum > 0).then_some((one, sum)));
            Some(rest)
        };
        let mut numbers: Vec<u32> = Vec::new();
        for place in group {
            numbers.extend(&self.touching[*place as usize]);
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|n| self.steps[*n as usize].is_some());
        let mut arcs = Vec::with_capacity(numbers.len());
        for step in numbers
            .iter()
            .filter_map(|n| self.steps[*n as usize].as_ref())
        {
            let (Some(pre), Some(post)) = (joined(&step.pre), joined(&step.post)) else {
                return false;
            };
            arcs.push((pre, post));
        }
        for (number, (pre, post)) in numbers.iter().zip(arcs) {
            if let Some(step) = &mut self.steps[*number as usize] {
                (step.pre, step.post) = (pre, post);
            }
        }
        for place in others {
            self.places[*place as usize] = None;
            self.touching[*place as usize].clear();
        }
        self.places[one as usize] = Some(sum);
        self.touching[one as usize] = numbers;
        true
    }

    /// The step that does `first` and then `second`, given that the tokens `first` leaves in
    /// `between` are exactly what `second` takes there. None if weights become too large, or `first`
    /// touches what inhibits `second`.
    pub(super) fn sequence(&mut self, first: u32, second: u32, between: u32) -> Option<Step> {
        let (Some(a), Some(b)) = (&self.steps[first as usize], &self.steps[second as usize]) else {
            return None;
        };
        let touches = |(place, _): &(u32, Weight)| a.takes(*place) > 0 || a.gives(*place) > 0;
        if b.inhibitors.iter().any(touches) {
            return None;
        }
        let inhibitors = merge(&a.inhibitors, &b.inhibitors, |a, b| {
            Some(if a == 0 || b == 0 { a.max(b) } else { a.min(b) })
        })?;
        let without = |arcs: &[(u32, Weight)]| -> Vec<(u32, Weight)> {
            arcs.iter()
                .filter(|(p, _)| *p != between)
                .copied()
                .collect()
        };
        // The pair needs what the first needs, and what the second needs beyond what the first
        // gives; it leaves what is left of the first's gifts and all gifts of the second.
        let (a_pre, a_post) = (without(&a.pre), without(&a.post));
        let (b_pre, b_post) = (without(&b.pre), without(&b.post));
        let need = merge(&b_pre, &a_post, |needed, given| {
            Some(needed.saturating_sub(given))
        })?;
        let left = merge(&a_post, &b_pre, |given, needed| {
            Some(given.saturating_sub(needed))
        })?;
        let pre = merge(&a_pre, &need, Weight::checked_add)?;
        let post = merge(&left, &b_post, Weight::checked_add)?;
        let length = a.length.checked_add(b.length).filter(|n| *n <= 1 << 16)?;
        let (a, b) = (a.origin, b.origin);
        self.origins.push(Origin::Then(a, b));
        Some(Step {
            pre,
            post,
            inhibitors,
            origin: (self.origins.len() - 1) as u32,
            length,
        })
    }

    /// The original transitions of a sequence, in order.
    pub(super) fn flatten(&self, origin: u32, out: &mut Vec<TransitionId>) {
        let mut open = vec![origin];
        while let Some(origin) = open.pop() {
            match self.origins[origin as usize] {
                Origin::One(transition) => out.push(transition),
                Origin::Then(first, second) => open.extend([second, first]),
            }
        }
    }

    /// The working copy as a net, the origin of each of its transitions, and where each place of
    /// the original went.
    pub(super) fn build(&self, net: &Net) -> Option<Built> {
        let mut builder = NetBuilder::new(net.name());
        let mut new_place = vec![None; self.places.len()];
        for (old, tokens) in net.places().zip(&self.places) {
            if let Some(tokens) = tokens {
                let new = builder.place(net.place_name(old), *tokens);
                if net.place_label(old) != net.place_name(old) {
                    builder.label_place(new, net.place_label(old));
                }
                new_place[old.index()] = Some(new);
            }
        }
        // Every marking of the working copy is a marking of the original without some places, so
        // what the units promise still holds.
        if let Some(units) = net.units() {
            let kept = net
                .places()
                .filter(|place| self.places[place.index()].is_some());
            builder.units(units.restricted_to(kept));
        }
        let mut origins = Vec::new();
        let mut sequence = Vec::new();
        for step in self.steps.iter().flatten() {
            sequence.clear();
            self.flatten(step.origin, &mut sequence);
            let new = builder.transition(&name(net, &sequence));
            for (place, weight) in &step.pre {
                builder.input(new_place[*place as usize]?, new, *weight);
            }
            for (place, weight) in &step.post {
                builder.output(new, new_place[*place as usize]?, *weight);
            }
            for (place, weight) in &step.inhibitors {
                builder.inhibitor(new_place[*place as usize]?, new, *weight);
            }
            origins.push(step.origin);
        }
        Some(Built {
            net: builder.build().ok()?,
            origins,
            places: new_place,
        })
    }
}

/// `first; second; …`, cut where it is long.
fn name(net: &Net, sequence: &[TransitionId]) -> String {
    const SHOWN: usize = 4;
    let mut text = String::new();
    for (i, transition) in sequence.iter().take(SHOWN).enumerate() {
        text.push_str(if i > 0 { "; " } else { "" });
        text.push_str(net.transition_name(*transition));
    }
    if sequence.len() > SHOWN {
        text.push_str(&format!("; … ({} steps)", sequence.len()));
    }
    text
}

fn merge(
    left: &[(u32, Weight)],
    right: &[(u32, Weight)],
    combine: impl Fn(Weight, Weight) -> Option<Weight>,
) -> Option<Vec<(u32, Weight)>> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() || j < right.len() {
        let a = left.get(i).map_or(u32::MAX, |(p, _)| *p);
        let b = right.get(j).map_or(u32::MAX, |(p, _)| *p);
        let place = a.min(b);
        let combined = combine(
            if a == place { left[i].1 } else { 0 },
            if b == place { right[j].1 } else { 0 },
        )?;
        i += usize::from(a == place);
        j += usize::from(b == place);
        if combined > 0 {
            out.push((place, combined));
        }
    }
    Some(out)
}
