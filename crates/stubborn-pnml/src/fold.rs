//! Colours that behave alike are one.
//!
//! The unfolding of a coloured net has a place for each colour, though many colours of a place are
//! never told apart: whatever takes a token of one takes one of the other just as well, and goes on
//! alike. Such places become one place with the sum of their tokens, and transitions that are
//! the same then become one transition. What formulas speak of stays as it is: the tokens of a place
//! of the file are a sum over all its colours, and its transitions fire as before.
//!
//! This is the partitioning of colours of Bilgram, Jensen, Pedersen, Srba and Taankvist, "Methods
//! for efficient unfolding of colored Petri nets" (2023), with their symmetric variables as a special
//! case, done after the unfolding: there it needs no analysis of arc expressions and is as coarse as
//! the arcs themselves allow.
//!
//! **Which places.** Let `~` be an equivalence of places within each place of the file, and `X̂` the
//! multiset `X` of places with each place replaced by its class. The *exchange property*: if
//! `a ~ b` and `t` takes a token from `a`, there is a transition `u` of the same transition of the
//! file with `pre(u) = pre(t) - a + b`, `p̂ost(u) = p̂ost(t)` and the same inhibitor arcs; places that
//! inhibit anything are equivalent to themselves alone. The coarsest such equivalence is
//! found by splitting classes until nothing splits.
//!
//! **Why.** The folded net has a transition `(name, p̂re(t), p̂ost(t), inhibitors(t))` for each `t`. A marking `m`
//! of the net and the marking `m̂` of the folded one do the same steps: what `t` does in `m`, its
//! image does in `m̂`. If an image of `t` is enabled in `m̂`, choose tokens of `m` as `p̂re(t)` asks for;
//! exchanging the tokens of `pre(t)` for these one by one gives transitions with the same image,
//! the last of which is enabled in `m`. So `m` and `m̂` are bisimilar with steps named as in the file,
//! and the initial markings are such a pair. Hence deadlocks, liveness of the file's transitions,
//! bounds of the file's places and all temporal logics over these are kept; numbers of states and
//! steps are not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rapidhash::RapidHashMap;
use stubborn_system::{Budget, Patience};

use crate::model::Model;
use stubborn_net::{Arc, NetBuilder, Tokens, Weight};
use stubborn_net::{PlaceId, TransitionId};

/// A net of some millions of pairs of an arc and its transition takes seconds: more are left alone.
const MOST_PAIRS: usize = 8_000_000;

/// Transitions between two looks at the budget.
const LOOK_EVERY: u32 = 1024;

impl Model {
    /// The model with places that behave alike folded into one; none if there are none, or the
    /// budget is spent. Places and transitions of the file mean the same in both.
    pub fn folded(&self, budget: &Budget) -> Option<Model> {
        budget.begin("folding colours that behave alike");
        let classes = classes(self, budget)?;
        Some(fold(self, &classes)?.0)
    }
}

/// What a transition needs beside a token: its number in the file, what else it takes, and what
/// inhibits it.
type Rest<'n> = (u32, Vec<(PlaceId, Weight)>, &'n [Arc<PlaceId>]);

/// Numbers things as they come.
struct Interned<K>(RapidHashMap<K, u32>);

impl<K: std::hash::Hash + Eq> Interned<K> {
    fn new() -> Self {
        Self(RapidHashMap::default())
    }

    fn number(&mut self, key: K) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

/// The number in the file of each node.
fn sources(groups: impl Iterator<Item = std::ops::Range<u32>>, count: usize) -> Vec<u32> {
    let mut of = vec![0; count];
    for (number, range) in groups.enumerate() {
        of[range.start as usize..range.end as usize].fill(number as u32);
    }
    of
}

/// The class of each place under the coarsest equivalence with the exchange property; none if
/// the budget is spent, or the net is too large. Only what leads to a class that was split is looked
/// at again, as in Paige and Tarjan, "Three partition refinement algorithms" (1987).
fn classes(model: &Model, budget: &Budget) -> Option<Vec<u32>> {
    let net = &model.net;
    let pairs: usize = net.transitions().map(|t| net.pre(t).len().pow(2)).sum();
    if pairs > MOST_PAIRS {
        return None;
    }
    let mut patience = Patience::new(budget, LOOK_EVERY);
    let source = sources(
        model.transition_groups().map(|(_, range)| range),
        net.transition_count(),
    );
    // What else a transition takes, for each place that it takes a token from.
    let mut rests: Interned<Rest<'_>> = Interned::new();
    let mut takers: Vec<Vec<(u32, TransitionId)>> = vec![Vec::new(); net.place_count()];
    for t in net.transitions() {
        if patience.spent().is_some() {
            return None;
        }
        for taken in net.pre(t) {
            let others = net.pre(t).iter().map(|arc| {
                let one = Weight::from(arc.node == taken.node);
                (arc.node, arc.weight - one)
            });
            let rest = others.filter(|(_, weight)| *weight > 0).collect();
            let rest = rests.number((source[t.index()], rest, net.inhibitors(t)));
            takers[taken.node.index()].push((rest, t));
        }
    }
    drop(rests);
    let mut classes = Classes::new(model);
    let mut images: Interned<Vec<(u32, Weight)>> = Interned::new();
    let mut image = vec![u32::MAX; net.transition_count()];
    let mut signatures: Interned<Vec<(u32, u32)>> = Interned::new();
    for t in net.transitions() {
        if patience.spent().is_some() {
            return None;
        }
        image[t.index()] = images.number(hat(net.post(t), &classes.of)?);
    }
    // In the beginning everything is to be looked at; then what leads to a class that was split.
    let mut dirty = Dirty::new(net.place_count());
    for place in net.places() {
        dirty.add(place, &classes, takers[place.index()].len());
    }
    let mut stale: Vec<TransitionId> = Vec::new();
    while let Some((class, places)) = dirty.cheapest() {
        if patience.spent().is_some() {
            return None;
        }
        let mut signature = |place: PlaceId| {
            let takers = takers[place.index()].iter();
            let mut taken: Vec<(u32, u32)> =
                takers.map(|(rest, t)| (*rest, image[t.index()])).collect();
            taken.sort_unstable();
            taken.dedup();
            signatures.number(taken)
        };
        for moved in classes.split(class, &places, &mut signature) {
            stale.extend(net.producers(moved).iter().map(|arc| arc.node));
        }
        stale.sort_unstable();
        stale.dedup();
        for t in stale.drain(..) {
            if patience.spent().is_some() {
                return None;
            }
            let now = images.number(hat(net.post(t), &classes.of)?);
            if std::mem::replace(&mut image[t.index()], now) != now {
                for arc in net.pre(t) {
                    dirty.add(arc.node, &classes, takers[arc.node.index()].len());
                }
            }
        }
    }
    Some(classes.of)
}

/// Places that are to be looked at, by their classes. What costs little comes first: a chain of
/// colours (a counter) splits step by step, and what costs much would be looked at after each step.
struct Dirty {
    listed: Vec<bool>,
    /// For each class its places, and what they cost together.
    classes: RapidHashMap<u32, (usize, Vec<PlaceId>)>,
    /// Costs and classes; those with an outdated cost are passed over.
    queue: BinaryHeap<Reverse<(usize, u32)>>,
}

impl Dirty {
    fn new(places: usize) -> Self {
        Self {
            listed: vec![false; places],
            classes: RapidHashMap::default(),
            queue: BinaryHeap::new(),
        }
    }

    fn add(&mut self, place: PlaceId, classes: &Classes, cost: usize) {
        let class = classes.of[place.index()];
        // One place alone cannot be split from others.
        let alone = classes.members[class as usize].len() == 1;
        if alone || std::mem::replace(&mut self.listed[place.index()], true) {
            return;
        }
        let (sum, list) = self.classes.entry(class).or_default();
        *sum += cost;
        list.push(place);
        self.queue.push(Reverse((*sum, class)));
    }

    /// Takes the class that costs least, with its places in order.
    fn cheapest(&mut self) -> Option<(u32, Vec<PlaceId>)> {
        while let Some(Reverse((cost, class))) = self.queue.pop() {
            if self
                .classes
                .get(&class)
                .is_some_and(|(sum, _)| *sum == cost)
            {
                let (_, mut places) = self.classes.remove(&class)?;
                places.sort_unstable();
                places.iter().for_each(|p| self.listed[p.index()] = false);
                return Some((class, places));
            }
        }
        None
    }
}

/// Classes of places; a class that is split keeps its number in one part.
struct Classes {
    of: Vec<u32>,
    members: Vec<Vec<PlaceId>>,
}

impl Classes {
    /// The places of each place of the file.
    fn new(model: &Model) -> Self {
        let groups = || model.place_groups().map(|(_, range)| range);
        let net = &model.net;
        let mut classes = Self {
            of: sources(groups(), net.place_count()),
            members: groups().map(|range| range.map(PlaceId).collect()).collect(),
        };
        for place in net.places().filter(|p| !net.inhibited(*p).is_empty()) {
            let class = &mut classes.of[place.index()];
            classes.members[*class as usize].retain(|member| *member != place);
            *class = classes.members.len() as u32;
            classes.members.push(vec![place]);
        }
        classes
    }

    /// Splits a class by signatures, of which only those of some places, in order, may have changed: all
    /// other places of the class have one and the same. The places that are in a new class now.
    fn split(
        &mut self,
        class: u32,
        dirty: &[PlaceId],
        signature: &mut impl FnMut(PlaceId) -> u32,
    ) -> Vec<PlaceId> {
        let members = std::mem::take(&mut self.members[class as usize]);
        let is_clean = |place: &PlaceId| dirty.binary_search(place).is_err();
        let clean = members.iter().copied().find(is_clean).map(&mut *signature);
        let signed: Vec<(u32, PlaceId)> = members
            .into_iter()
            .map(|place| match clean.filter(|_| is_clean(&place)) {
                Some(same) => (same, place),
                None => (signature(place), place),
            })
            .collect();
        let mut sizes: RapidHashMap<u32, usize> = RapidHashMap::default();
        for (part, _) in &signed {
            *sizes.entry(*part).or_default() += 1;
        }
        // The largest part stays: what leads to the others is looked at again.
        let stays = sizes.iter().max_by_key(|(part, size)| (**size, **part));
        let mut parts: RapidHashMap<u32, u32> = RapidHashMap::default();
        parts.extend(stays.map(|(part, _)| (*part, class)));
        let mut moved = Vec::new();
        for (part, place) in signed {
            let next = self.members.len() as u32;
            let part = *parts.entry(part).or_insert(next);
            if part == next {
                self.members.push(Vec::new());
            }
            self.members[part as usize].push(place);
            if part != class {
                self.of[place.index()] = part;
                moved.push(place);
            }
        }
        moved
    }
}

/// The classes of the places of arcs, with summed weights.
fn hat(arcs: &[Arc<PlaceId>], class: &[u32]) -> Option<Vec<(u32, Weight)>> {
    let mut list: Vec<(u32, Weight)> = arcs
        .iter()
        .map(|arc| (class[arc.node.index()], arc.weight))
        .collect();
    list.sort_unstable();
    let mut out: Vec<(u32, Weight)> = Vec::with_capacity(list.len());
    for (class, weight) in list {
        match out.last_mut() {
            Some((last, sum)) if *last == class => *sum = sum.checked_add(weight)?,
            _ => out.push((class, weight)),
        }
    }
    Some(out)
}

/// The folded model, and the place that each place became; none if it is not smaller.
fn fold(model: &Model, class: &[u32]) -> Option<(Model, Vec<PlaceId>)> {
    let net = &model.net;
    let classes = class.iter().max().map_or(0, |most| *most as usize + 1);
    let mut tokens: Vec<Tokens> = vec![0; classes];
    for (place, class) in net.places().zip(class) {
        let sum = &mut tokens[*class as usize];
        *sum = sum.checked_add(net.initial(place))?;
    }
    let mut builder = NetBuilder::new(net.name());
    let mut new: Vec<Option<PlaceId>> = vec![None; classes];
    let mut place_starts = vec![0];
    let mut places = 0;
    for (_, range) in model.place_groups() {
        for old in range.map(PlaceId) {
            let class = class[old.index()] as usize;
            if new[class].is_none() {
                // By the first of them: nobody but people reads it.
                new[class] = Some(builder.place(net.place_name(old), tokens[class]));
                places += 1;
            }
        }
        place_starts.push(places);
    }
    let target = |class: u32| new[class as usize];
    let mut transition_starts = vec![0];
    let mut transitions = 0;
    for (_, range) in model.transition_groups() {
        let mut seen = Interned::new();
        for old in range.map(TransitionId) {
            let (pre, post) = (hat(net.pre(old), class)?, hat(net.post(old), class)?);
            let number = seen.0.len() as u32;
            let inhibitors = net.inhibitors(old);
            if seen.number((pre.clone(), post.clone(), inhibitors)) != number {
                continue;
            }
            let t = builder.transition(net.transition_name(old));
            for (class, weight) in pre {
                builder.input(target(class)?, t, weight);
            }
            for (class, weight) in post {
                builder.output(t, target(class)?, weight);
            }
            for arc in inhibitors {
                builder.inhibitor(target(class[arc.node.index()])?, t, arc.weight);
            }
            transitions += 1;
        }
        transition_starts.push(transitions);
    }
    if places as usize == net.place_count() && transitions as usize == net.transition_count() {
        return None;
    }
    let folded = Model {
        net: builder.build().ok()?,
        coloured: model.coloured,
        places: model.places.with_ranges(place_starts),
        transitions: model.transitions.with_ranges(transition_starts),
    };
    let places: Option<Vec<PlaceId>> = class.iter().map(|class| target(*class)).collect();
    Some((folded, places?))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::fmt::Write;

    use stubborn_diagnostics::SourceFile;
    use stubborn_system::Random;
    use stubborn_system::budget::UNLIMITED;

    use super::*;
    use crate::model::load;

    /// The text of a small coloured net: two sorts, variables, constants, successors, `all`,
    /// sums, guards; in every other one a place of black tokens that inhibits.
    fn random_text(random: &mut Random) -> String {
        let sizes = [2 + random.below(2), 2 + random.below(2)];
        let mut text = String::from(
            "<pnml><net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/symmetricnet\">\n\
             <declaration><structure><declarations>\n",
        );
        for (sort, size) in sizes.iter().enumerate() {
            let _ = write!(text, "<namedsort id=\"s{sort}\"><cyclicenumeration>");
            for c in 0..*size {
                let _ = write!(text, "<feconstant id=\"c{sort}{c}\" name=\"c{sort}{c}\"/>");
            }
            text += "</cyclicenumeration></namedsort>\n";
            for v in 0..2 {
                let _ = writeln!(
                    text,
                    "<variabledecl id=\"v{sort}{v}\" name=\"v{sort}{v}\"><usersort \
                     declaration=\"s{sort}\"/></variabledecl>"
                );
            }
        }
        text += "</declarations></structure></declaration><page id=\"g\">\n";
        let term = |random: &mut Random, sort: usize, ground: bool| {
            let variable = format!("<variable refvariable=\"v{sort}{}\"/>", random.below(2));
            let constant = format!(
                "<useroperator declaration=\"c{sort}{}\"/>",
                random.below(sizes[sort])
            );
            match random.below(9) {
                0 if !ground => format!("<successor><subterm>{variable}</subterm></successor>"),
                1 => format!("<all><usersort declaration=\"s{sort}\"/></all>"),
                2 => constant,
                _ if ground => constant,
                _ => variable,
            }
        };
        let numbered = |random: &mut Random, sort: usize, ground: bool| {
            let count = 1 + random.below(5) / 4;
            let term = term(random, sort, ground);
            format!(
                "<numberof><subterm><numberconstant value=\"{count}\"><positive/>\
                 </numberconstant></subterm><subterm>{term}</subterm></numberof>"
            )
        };
        let sum = |random: &mut Random, sort: usize, ground: bool| {
            let first = numbered(random, sort, ground);
            if random.below(4) > 0 {
                return first;
            }
            let second = numbered(random, sort, ground);
            format!("<add><subterm>{first}</subterm><subterm>{second}</subterm></add>")
        };
        let places: Vec<usize> = (0..2 + random.below(3)).map(|_| random.below(2)).collect();
        for (place, sort) in places.iter().enumerate() {
            let _ = write!(
                text,
                "<place id=\"p{place}\"><type><structure><usersort declaration=\"s{sort}\"/>\
                 </structure></type>"
            );
            if random.below(3) > 0 {
                let marking = sum(random, *sort, true);
                let _ = write!(
                    text,
                    "<hlinitialMarking><structure>{marking}</structure></hlinitialMarking>"
                );
            }
            text += "</place>\n";
        }
        let inhibits = random.below(2) == 0;
        if inhibits {
            let tokens = random.below(3);
            let _ = writeln!(
                text,
                "<place id=\"black\"><type><structure><dot/></structure></type>\
                 <initialMarking><text>{tokens}</text></initialMarking></place>"
            );
        }
        for t in 0..1 + random.below(3) {
            let ends = [
                format!("source=\"black\" target=\"t{t}\" type=\"inhibitor\""),
                format!("source=\"black\" target=\"t{t}\""),
                format!("source=\"t{t}\" target=\"black\""),
            ];
            for (number, ends) in ends.iter().enumerate() {
                if inhibits && random.below(3) == 0 {
                    let weight = 1 + random.below(2);
                    let _ = writeln!(
                        text,
                        "<arc id=\"b{t}.{number}\" {ends}><inscription><text>{weight}</text>\
                         </inscription></arc>"
                    );
                }
            }
            let _ = write!(text, "<transition id=\"t{t}\">");
            if random.below(4) == 0 {
                let sort = random.below(2);
                let operator = ["equality", "inequality"][random.below(2)];
                let _ = write!(
                    text,
                    "<condition><structure><{operator}>\
                     <subterm><variable refvariable=\"v{sort}0\"/></subterm>\
                     <subterm><variable refvariable=\"v{sort}1\"/></subterm>\
                     </{operator}></structure></condition>"
                );
            }
            text += "</transition>\n";
            for arc in 0..1 + random.below(4) {
                let place = random.below(places.len());
                let inscription = sum(random, places[place], false);
                let (from, to) = if arc % 2 == 0 {
                    (format!("p{place}"), format!("t{t}"))
                } else {
                    (format!("t{t}"), format!("p{place}"))
                };
                let _ = writeln!(
                    text,
                    "<arc id=\"a{t}.{arc}\" source=\"{from}\" target=\"{to}\"><hlinscription>\
                     <structure>{inscription}</structure></hlinscription></arc>"
                );
            }
        }
        text += "</page></net></pnml>";
        text
    }

    /// The steps of a marking: the transition of the file, and where it leads.
    fn steps(model: &Model, source: &[u32], marking: &[Tokens]) -> Vec<(u32, Vec<Tokens>)> {
        let net = &model.net;
        let mut out = Vec::new();
        for t in net.transitions() {
            if net.is_enabled(t, |place| marking[place.index()]) {
                let mut next = marking.to_vec();
                for (place, change) in net.effects(t) {
                    next[place.index()] = next[place.index()].checked_add_signed(change).unwrap();
                }
                out.push((source[t.index()], next));
            }
        }
        out
    }

    fn of_transitions(model: &Model) -> Vec<u32> {
        let groups = model.transition_groups().map(|(_, range)| range);
        sources(groups, model.net.transition_count())
    }

    #[test]
    fn folded_nets_are_bisimilar_to_their_unfoldings() {
        let mut random = Random::new(0x0f01_dfed_c010_0001);
        let (mut folded, mut markings, mut fired) = (0, 0, 0);
        for number in 0..1_500 {
            let text = random_text(&mut random);
            let (model, messages) = load(&SourceFile::new("random", text.as_str()));
            let model = model.unwrap_or_else(|| panic!("{messages:?}\n{text}"));
            let Some((small, place)) = fold(&model, &classes(&model, &UNLIMITED).unwrap()) else {
                continue;
            };
            folded += 1;
            let hat = |marking: &[Tokens]| {
                let mut sums = vec![0; small.net.place_count()];
                for (tokens, place) in marking.iter().zip(&place) {
                    sums[place.index()] += *tokens;
                }
                sums
            };
            let (large_source, small_source) = (of_transitions(&model), of_transitions(&small));
            let mut queue = vec![model.net.initial_marking().to_vec()];
            assert_eq!(hat(&queue[0]), small.net.initial_marking());
            let mut seen: HashSet<Vec<Tokens>> = queue.iter().cloned().collect();
            while let Some(marking) = queue.pop() {
                let large = steps(&model, &large_source, &marking);
                let images = large.iter().map(|(name, next)| (*name, hat(next)));
                let images: BTreeSet<_> = images.collect();
                let own = steps(&small, &small_source, &hat(&marking));
                let own: BTreeSet<_> = own.into_iter().collect();
                assert_eq!(images, own, "net {number}, {marking:?}\n{text}");
                fired += own.len();
                markings += 1;
                for (_, next) in large {
                    if seen.len() < 60 && seen.insert(next.clone()) {
                        queue.push(next);
                    }
                }
            }
            // Ranges are those of the file.
            for ((name, large), (same, range)) in model.place_groups().zip(small.place_groups()) {
                assert_eq!(name, same);
                let expected: BTreeSet<PlaceId> = large.map(|p| place[p as usize]).collect();
                assert_eq!(range.map(PlaceId).collect::<BTreeSet<_>>(), expected);
            }
        }
        assert!(
            folded > 500 && markings > 3_000 && fired > 3_000,
            "{folded} {markings} {fired}"
        );
    }
}
