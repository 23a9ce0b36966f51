//! Helpful steps: what a way to a goal begins with, if tokens were never taken away.
//!
//! Under the generous rule of [`Relaxed`](crate::Relaxed), a way from a marking to a goal is found in
//! little more time than it takes to look at the net. Those of its transitions that are enabled now
//! are likely to lead towards the goal in the net as it is (Hoffmann and Nebel, "The FF planning
//! system: fast plan generation through heuristic search", 2001). What a place costs is the sum over
//! what its cheapest giver needs (Bonet and Geffner, "Planning as heuristic search", 2001). All this is
//! a guess: nothing is concluded from it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stubborn_system::Random;

use crate::formula::{Atom, CompareOp, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::net::{Net, Tokens};

/// The cost of what cannot be.
const FAR: u32 = u32::MAX;

/// What a transition costs at least; random numbers up to as much make ways differ.
const STEP: u32 = 4;

/// A state formula, prepared to be a goal.
pub struct Target {
    wish: Wish,
}

enum Wish {
    Constant(bool),
    All(Vec<Wish>),
    Any(Vec<Wish>),
    /// Some transition is enabled.
    Enabled(Vec<TransitionId>),
    /// A transition is disabled; those that take from its inputs, or give to what inhibits it.
    Disabled(TransitionId, Vec<TransitionId>),
    /// A comparison is true; the transitions that raise what is left of it above what is right of
    /// it, and those that lower it.
    Compare {
        op: CompareOp,
        left: IntExpr,
        right: IntExpr,
        raising: Vec<TransitionId>,
        lowering: Vec<TransitionId>,
    },
}

impl Target {
    /// Prepares a formula; one about more than one marking is never reached.
    pub fn new(net: &Net, formula: &Formula) -> Self {
        Self {
            wish: wish(net, formula, true),
        }
    }
}

fn wish(net: &Net, formula: &Formula, value: bool) -> Wish {
    let each = |parts: &[Formula]| parts.iter().map(|part| wish(net, part, value)).collect();
    match formula {
        Formula::Not(inner) => wish(net, inner, !value),
        Formula::And(parts) if value => Wish::All(each(parts)),
        Formula::Or(parts) if !value => Wish::All(each(parts)),
        Formula::And(parts) | Formula::Or(parts) => Wish::Any(each(parts)),
        Formula::Atom(Atom::Constant(constant)) => Wish::Constant(*constant == value),
        Formula::Atom(Atom::Fireable(list)) if value => Wish::Enabled(list.clone()),
        Formula::Atom(Atom::Fireable(list)) => disabled(net, list.iter().copied()),
        Formula::Atom(Atom::Deadlock) if value => disabled(net, net.transitions()),
        Formula::Atom(Atom::Deadlock) => Wish::Enabled(net.transitions().collect()),
        Formula::Atom(Atom::Compare(op, left, right)) => {
            let op = if value { *op } else { op.negated() };
            compare(net, op, left, right)
        }
        Formula::Next(_) | Formula::Globally(_) | Formula::Finally(_) | Formula::Until(..) => {
            Wish::Constant(false)
        }
    }
}

fn disabled(net: &Net, transitions: impl Iterator<Item = TransitionId>) -> Wish {
    let takers = |t: TransitionId| {
        let inputs = net.pre(t).iter().flat_map(|arc| {
            let takers = net.consumers(arc.node).iter().map(|taker| taker.node);
            takers.filter(|u| net.effect(*u, arc.node) < 0)
        });
        let inhibitors = net.inhibitors(t).iter().flat_map(|arc| {
            let givers = net.producers(arc.node).iter().map(|giver| giver.node);
            givers.filter(|u| net.effect(*u, arc.node) > 0)
        });
        let mut takers: Vec<TransitionId> = inputs.chain(inhibitors).collect();
        takers.sort_unstable();
        takers.dedup();
        takers
    };
    Wish::All(transitions.map(|t| Wish::Disabled(t, takers(t))).collect())
}

fn compare(net: &Net, op: CompareOp, left: &IntExpr, right: &IntExpr) -> Wish {
    let mut weights = vec![0i64; net.place_count()];
    left.places.iter().for_each(|p| weights[p.index()] += 1);
    right.places.iter().for_each(|p| weights[p.index()] -= 1);
    let change = |t: &TransitionId| -> i128 {
        let changes = net.effects(*t);
        changes
            .map(|(p, effect)| i128::from(weights[p.index()]) * i128::from(effect))
            .sum()
    };
    Wish::Compare {
        op,
        left: left.clone(),
        right: right.clone(),
        raising: net.transitions().filter(|t| change(t) > 0).collect(),
        lowering: net.transitions().filter(|t| change(t) < 0).collect(),
    }
}

/// What it costs to do something that costs so much for the first time, so often.
fn repeated(cost: u32, times: u64) -> u32 {
    let more = u32::try_from(times.saturating_sub(1)).unwrap_or(FAR);
    cost.saturating_add(more.saturating_mul(STEP)).min(FAR - 1)
}

/// Finds helpful steps in markings of a net.
pub struct Helpful<'n> {
    net: &'n Net,
    /// What firing a transition costs.
    step: Vec<u32>,
    /// What it costs to give a place a token more, and what gives it.
    more: Vec<u32>,
    giver: Vec<TransitionId>,
    /// The inputs of a transition that have not enough tokens and cannot get any, as far as it is known,
    /// and what it costs to fill the others.
    missing: Vec<u32>,
    before: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, TransitionId)>>,
    /// The transitions of a way.
    needed: Vec<bool>,
    way: Vec<TransitionId>,
    steps: Vec<TransitionId>,
}

impl<'n> Helpful<'n> {
    /// For a net.
    pub fn new(net: &'n Net) -> Self {
        let (places, transitions) = (net.place_count(), net.transition_count());
        Self {
            net,
            step: vec![STEP; transitions],
            more: vec![FAR; places],
            giver: vec![TransitionId(0); places],
            missing: vec![0; transitions],
            before: vec![0; transitions],
            queue: BinaryHeap::new(),
            needed: vec![false; transitions],
            way: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// From now on, other ways may be the cheapest.
    pub fn vary(&mut self, random: &mut Random) {
        for step in &mut self.step {
            *step = STEP + random.below(STEP as usize + 1) as u32;
        }
    }

    /// The enabled transitions of a cheap way from a marking to a target; none where there is no way or
    /// the target is reached.
    pub fn steps(&mut self, marking: &[Tokens], target: &Target) -> &[TransitionId] {
        self.weigh(marking);
        self.steps.clear();
        self.way.clear();
        if self.cost(marking, &target.wish) != FAR {
            self.begin(marking, &target.wish);
        }
        let net = self.net;
        while let Some(t) = self.way.pop() {
            if std::mem::replace(&mut self.needed[t.index()], true) {
                continue;
            }
            let before = self.way.len();
            self.lead_to(marking, t);
            if self.way.len() == before && !net.is_inhibited(t, |p| marking[p.index()]) {
                self.steps.push(t);
            }
        }
        self.needed.fill(false);
        &self.steps
    }

    /// A guess how far a marking is from a target, 0 if it is reached; none if there is no way even where
    /// tokens are never taken away, and hence none at all.
    pub fn distance(&mut self, marking: &[Tokens], target: &Target) -> Option<u32> {
        self.weigh(marking);
        let cost = self.cost(marking, &target.wish);
        (cost != FAR).then_some(cost)
    }

    /// Computes what everything costs.
    fn weigh(&mut self, marking: &[Tokens]) {
        let net = self.net;
        self.more.fill(FAR);
        for t in net.transitions() {
            let lacks = |arc: &&crate::net::Arc<PlaceId>| {
                marking[arc.node.index()] < Tokens::from(arc.weight)
            };
            let missing = net.pre(t).iter().filter(lacks).count() as u32;
            let inhibited = net.is_inhibited(t, |place| marking[place.index()]);
            let before = if inhibited { STEP } else { 0 };
            self.missing[t.index()] = missing;
            self.before[t.index()] = before;
            if missing == 0 {
                self.queue.push(Reverse((before, t)));
            }
        }
        while let Some(Reverse((before, t))) = self.queue.pop() {
            // What is known to be possible is never as far as what is not.
            let cost = before.saturating_add(self.step[t.index()]).min(FAR - 1);
            for arc in net.post(t) {
                let place = arc.node;
                if self.more[place.index()] != FAR || net.effect(t, place) <= 0 {
                    continue;
                }
                self.more[place.index()] = cost;
                self.giver[place.index()] = t;
                let tokens = marking[place.index()];
                for taker in net.consumers(place) {
                    if tokens >= taker.weight.into() {
                        continue;
                    }
                    let at = taker.node.index();
                    self.missing[at] -= 1;
                    let filling = repeated(cost, Tokens::from(taker.weight) - tokens);
                    self.before[at] = self.before[at].saturating_add(filling).min(FAR - 1);
                    if self.missing[at] == 0 {
                        self.queue.push(Reverse((self.before[at], taker.node)));
                    }
                }
            }
        }
    }

    /// Puts on the list what fills the inputs of a transition that lack tokens, and what empties places that
    /// inhibit it.
    fn lead_to(&mut self, marking: &[Tokens], t: TransitionId) {
        let net = self.net;
        for arc in net.pre(t) {
            if marking[arc.node.index()] < arc.weight.into() {
                self.way.push(self.giver[arc.node.index()]);
            }
        }
        for arc in net.inhibitors(t) {
            if marking[arc.node.index()] >= arc.weight.into() {
                let takers = net.consumers(arc.node).iter().map(|taker| taker.node);
                let takers: Vec<_> = takers.filter(|u| net.effect(*u, arc.node) < 0).collect();
                self.way
                    .extend(self.cheapest(&takers).map(|(_, taker)| taker));
            }
        }
    }

    /// What it costs to enable a transition.
    fn enabling(&self, t: TransitionId) -> u32 {
        match self.missing[t.index()] {
            0 => self.before[t.index()],
            _ => FAR,
        }
    }

    /// The cheapest of some transitions, with what it costs to fire it.
    fn cheapest(&self, of: &[TransitionId]) -> Option<(u32, TransitionId)> {
        let cost = |t: &TransitionId| {
            let cost = self.enabling(*t);
            (cost != FAR).then(|| (cost.saturating_add(self.step[t.index()]).min(FAR - 1), *t))
        };
        of.iter().filter_map(cost).min()
    }

    fn cost(&self, marking: &[Tokens], wish: &Wish) -> u32 {
        match wish {
            Wish::Constant(true) => 0,
            Wish::Constant(false) => FAR,
            Wish::All(parts) => {
                let mut costs = parts.iter().map(|part| self.cost(marking, part));
                let add =
                    |sum: u32, cost| (cost != FAR).then(|| sum.saturating_add(cost).min(FAR - 1));
                costs.try_fold(0, add).unwrap_or(FAR)
            }
            Wish::Any(parts) => {
                let costs = parts.iter().map(|part| self.cost(marking, part));
                costs.min().unwrap_or(FAR)
            }
            Wish::Enabled(list) => list.iter().map(|t| self.enabling(*t)).min().unwrap_or(FAR),
            Wish::Disabled(..) | Wish::Compare { .. } => match self.means(marking, wish) {
                None => 0,
                Some((means, times)) => {
                    let cheapest = self.cheapest(means);
                    cheapest.map_or(FAR, |(cost, _)| repeated(cost, times))
                }
            },
        }
    }

    /// The transitions that bring a simple wish nearer, and how often they may have to; none if it
    /// is true.
    fn means<'w>(&self, marking: &[Tokens], wish: &'w Wish) -> Option<(&'w [TransitionId], u64)> {
        let tokens = |place: PlaceId| marking[place.index()];
        match wish {
            Wish::Disabled(t, takers) => {
                let enabled = self.net.is_enabled(*t, tokens);
                enabled.then_some((takers, 1))
            }
            Wish::Compare {
                op,
                left,
                right,
                raising,
                lowering,
            } => {
                let (left, right) = (left.value(&tokens), right.value(&tokens));
                if op.holds(left, right) {
                    return None;
                }
                let times = u64::try_from(left.abs_diff(right)).unwrap_or(u64::MAX);
                let means = match op {
                    CompareOp::GreaterOrEqual | CompareOp::Greater => raising,
                    CompareOp::LessOrEqual | CompareOp::Less => lowering,
                    CompareOp::Equal if left < right => raising,
                    CompareOp::Equal => lowering,
                    CompareOp::NotEqual => {
                        let cost = |means| self.cheapest(means).map_or(FAR, |(cost, _)| cost);
                        if cost(raising) <= cost(lowering) {
                            raising
                        } else {
                            lowering
                        }
                    }
                };
                Some((means, times.max(1)))
            }
            _ => None,
        }
    }

    /// Puts the last transitions of a cheap way on the list.
    fn begin(&mut self, marking: &[Tokens], wish: &Wish) {
        match wish {
            Wish::Constant(_) => {}
            Wish::All(parts) => parts.iter().for_each(|part| self.begin(marking, part)),
            Wish::Any(parts) => {
                let cheapest = parts.iter().min_by_key(|part| self.cost(marking, part));
                if let Some(part) = cheapest {
                    self.begin(marking, part);
                }
            }
            Wish::Enabled(list) => {
                if let Some(t) = list.iter().min_by_key(|t| self.enabling(**t)) {
                    self.lead_to(marking, *t);
                }
            }
            Wish::Disabled(..) | Wish::Compare { .. } => {
                let means = self.means(marking, wish);
                let cheapest = means.and_then(|(means, _)| self.cheapest(means));
                self.way.extend(cheapest.map(|(_, t)| t));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    /// What costs more than can be counted is possible all the same.
    #[test]
    fn very_long_ways_are_ways() {
        let mut builder = NetBuilder::new("heavy");
        let places: Vec<_> = (0..6).map(|n| builder.place(&format!("p{n}"), 1)).collect();
        for n in 1..6 {
            let t = builder.transition(&format!("t{n}"));
            builder.input(places[n - 1], t, u32::MAX);
            builder.output(t, places[n], 1);
            let same = builder.transition(&format!("u{n}"));
            builder.input(places[n - 1], same, u32::MAX);
            builder.output(same, places[n], 1);
        }
        let source = builder.transition("source");
        builder.output(source, places[0], 1);
        let net = builder.build().unwrap();
        let last = TransitionId(net.transition_count() as u32 - 2);
        let target = Target::new(&net, &Formula::Atom(Atom::Fireable(vec![last])));
        let steps = Helpful::new(&net).steps(&[1; 6], &target).to_vec();
        assert_eq!(steps, [source]);
    }

    /// A chain, a way that leads nowhere, and a place to be emptied.
    #[test]
    fn the_first_steps_of_a_way_are_found() {
        let mut builder = NetBuilder::new("n");
        let [a, b, c, d, key] = [("a", 1), ("b", 0), ("c", 0), ("d", 0), ("key", 2)]
            .map(|(name, tokens)| builder.place(name, tokens));
        let [ab, bc, ad, drop] = ["ab", "bc", "ad", "drop"].map(|name| builder.transition(name));
        for (t, from, to) in [(ab, a, b), (bc, b, c), (ad, a, d)] {
            builder.input(from, t, 1);
            builder.output(t, to, 1);
        }
        builder.input(key, bc, 2);
        builder.input(key, drop, 1);
        let net = builder.build().unwrap();
        let mut helpful = Helpful::new(&net);
        let mut steps = |marking: &[Tokens], formula: Formula| {
            let target = Target::new(&net, &formula);
            helpful.steps(marking, &target).to_vec()
        };
        let sum = |place, op, value| {
            let (tokens, value) = (IntExpr::tokens(vec![place]), IntExpr::constant(value));
            Formula::Atom(Atom::Compare(op, tokens, value))
        };
        let some = |place| sum(place, CompareOp::GreaterOrEqual, 1);
        let fireable = |t| Formula::Atom(Atom::Fireable(vec![t]));
        assert_eq!(steps(&[1, 0, 0, 0, 2], some(c)), [ab]);
        assert_eq!(steps(&[0, 1, 0, 0, 2], some(c)), [bc]);
        assert_eq!(steps(&[0, 1, 0, 0, 1], some(c)), [], "the key is lost");
        assert_eq!(steps(&[1, 0, 0, 0, 2], fireable(bc)), [ab]);
        assert_eq!(steps(&[1, 0, 0, 0, 0], fireable(drop).negated()), []);
        let no_key = sum(key, CompareOp::LessOrEqual, 0);
        assert_eq!(steps(&[0, 0, 0, 1, 2], no_key.clone()), [drop]);
        let both = steps(&[1, 0, 0, 0, 2], Formula::And(vec![no_key, some(d)]));
        assert!(both.contains(&ad) && both.contains(&drop), "{both:?}");
        let either = Formula::Or(vec![some(c), some(d)]);
        assert_eq!(steps(&[1, 0, 0, 0, 2], either), [ad], "the shorter way");
        let target = Target::new(&net, &some(c));
        let far = |marking: &[Tokens]| Helpful::new(&net).distance(marking, &target);
        let (start, near) = (far(&[1, 0, 0, 0, 2]), far(&[0, 1, 0, 0, 2]));
        assert!(start > near && near > Some(0), "{start:?} {near:?}");
        assert_eq!(far(&[0, 0, 1, 0, 0]), Some(0));
        assert_eq!(far(&[0, 1, 0, 0, 1]), None);
        let other = sum(d, CompareOp::NotEqual, 0);
        assert_eq!(steps(&[1, 0, 0, 0, 2], other), [ad]);
    }
}
