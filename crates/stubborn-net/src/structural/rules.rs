//! The rules, each with the reason why it keeps deadlocks, or the markings of watched places.
//!
//! Agglomerations keep maximal runs as well, as far as watched places show them and up to
//! stuttering (compare Poitrenaud and Pradat-Peyre, "Pre- and post-agglomerations for LTL model
//! checking", 2000). A run of the merged net is one of the net. The other way round, after a
//! post-agglomeration a consumer follows its producer at once, also where it never did: it takes
//! nothing that others want, and nobody sees it. After a pre-agglomeration a producer waits for
//! its consumer, if need be for ever. What is left of an infinite run is infinite, since there are
//! no more consumers than producers have fired before, and no producer can fire for ever by
//! itself; and the merged net stops where the net does.
//!
//! Branching time is kept where what is merged is *confluent*: a step that nobody sees, that stays
//! enabled until it is taken, and that disables nothing. The markings before and after such a step
//! are branching bisimilar (Groote and Sellink, "Confluence for process verification", 1996):
//! whatever the first can do the second can do as well, and the other way round after the step.
//! The producers of a pre-agglomeration are such steps, since nobody else takes from their inputs.
//! The consumer of a post-agglomeration is one if there is no other; with several, merging them
//! with a producer would choose too early. Such a step alone cannot go on for ever, so runs that end or
//! never do anything visible again are kept, too.
//!
//! A place that *inhibits* a transition disables by having tokens, so it is never merged and never
//! removed, and nothing is brought forward that gives to it or put off that takes from it. (A place
//! where the marking alone says that it inhibits for ever, or never, is not looked for.) Rules that
//! only move what a transition does are not concerned by what inhibits that transition itself, if they
//! leave it when it happens.

use rapidhash::RapidHashMap;
use stubborn_system::{Budget, Patience};

use crate::net::{Tokens, Weight};
use crate::structural::graph::{Graph, Step};
use crate::structural::{Kept, ReductionRules};

/// Applies the rules until none fits. Each application removes a place or, among transitions
/// for the same places, a transition, so this ends. What was applied is right also where the budget
/// does not suffice for the rest.
pub(super) fn apply(
    graph: &mut Graph,
    rules: ReductionRules,
    kept: Kept,
    delayed: &mut Vec<Vec<u32>>,
    budget: &Budget,
) {
    while budget.poll().is_none() {
        graph.note_inhibitors();
        let mut patience = Patience::new(budget, 64);
        let mut changed = false;
        if rules.dead_transitions {
            changed |= dead_transitions(graph);
        }
        if rules.redundant_transitions {
            changed |= redundant_transitions(graph, kept);
        }
        if rules.redundant_places {
            changed |= redundant_places(graph);
        }
        if rules.irrelevant_transitions && kept == Kept::Markings {
            changed |= irrelevant_transitions(graph);
        }
        if rules.shared_places {
            changed |= shared_places(graph);
        }
        let places = 0..graph.places.len() as u32;
        if rules.post_agglomeration {
            for place in places.clone() {
                if patience.spent().is_some() {
                    return;
                }
                changed |= post_agglomeration(graph, place, kept);
            }
        }
        if changed {
            continue;
        }
        // Merging with what comes later is tried first: a producer that waits does so at the
        // cost of longer transitions, which stand in the way of other mergings.
        for place in places.filter(|_| rules.pre_agglomeration) {
            if patience.spent().is_some() {
                return;
            }
            if let Some(sequences) = pre_agglomeration(graph, place) {
                delayed.push(sequences);
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// A transition that cannot fire even if tokens were never taken away, and inhibited nothing, never
/// fires.
fn dead_transitions(graph: &mut Graph) -> bool {
    let mut marked: Vec<bool> = graph
        .places
        .iter()
        .map(|tokens| tokens.is_some_and(|n| n > 0))
        .collect();
    let mut alive = vec![false; graph.steps.len()];
    let mut missing = vec![0u32; graph.steps.len()];
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); graph.places.len()];
    let mut ready = Vec::new();
    for number in graph.live() {
        let Some(step) = &graph.steps[number as usize] else {
            continue;
        };
        for (place, _) in step
            .pre
            .iter()
            .filter(|(place, _)| !marked[*place as usize])
        {
            waiting[*place as usize].push(number);
            missing[number as usize] += 1;
        }
        if missing[number as usize] == 0 {
            ready.push(number);
        }
    }
    while let Some(number) = ready.pop() {
        alive[number as usize] = true;
        let Some(step) = &graph.steps[number as usize] else {
            continue;
        };
        for (place, _) in &step.post {
            if std::mem::replace(&mut marked[*place as usize], true) {
                continue;
            }
            for waiter in waiting[*place as usize].drain(..) {
                missing[waiter as usize] -= 1;
                if missing[waiter as usize] == 0 {
                    ready.push(waiter);
                }
            }
        }
    }
    let dead: Vec<u32> = graph.live().filter(|n| !alive[*n as usize]).collect();
    for number in &dead {
        graph.steps[*number as usize] = None;
    }
    !dead.is_empty()
}

/// A transition is redundant if another one needs no more and has the same effect (then the
/// other can fire instead), or if it has no effect at all and another one needs no more (then
/// it only says that there is no deadlock, which the other says too). Where deadlocks do not
/// matter, every transition without effect is redundant; where runs do, it is not: it may fire
/// for ever where everything else would change something.
fn redundant_transitions(graph: &mut Graph, kept: Kept) -> bool {
    let mut by_effect: RapidHashMap<Vec<(u32, i64)>, Vec<u32>> = RapidHashMap::default();
    for number in graph.live() {
        if let Some(step) = &graph.steps[number as usize] {
            by_effect.entry(effect(step)).or_default().push(number);
        }
    }
    let mut redundant: Vec<u32> = Vec::new();
    for (effect, mut group) in by_effect {
        if effect.is_empty() {
            let superfluous = |n: &&u32| match kept {
                Kept::Deadlocks => idle_is_covered(graph, **n),
                Kept::Markings => true,
                Kept::Runs | Kept::Branching => false,
            };
            redundant.extend(group.iter().filter(superfluous));
        }
        // Those that need the least first; a large group is not worth a quadratic search.
        group.sort_by_key(|number| (total(graph, *number), *number));
        group.truncate(64);
        for (position, number) in group.iter().enumerate().skip(1) {
            if group[..position]
                .iter()
                .any(|other| needs_no_more(graph, *other, *number))
            {
                redundant.push(*number);
            }
        }
    }
    redundant.sort_unstable();
    redundant.dedup();
    // A transition without effect may be covered by one that goes as well, as long as one stays.
    let mut changed = false;
    for number in redundant {
        let idle = graph.steps[number as usize]
            .as_ref()
            .is_some_and(|s| effect(s).is_empty());
        if !idle || kept != Kept::Deadlocks || idle_is_covered(graph, number) {
            graph.steps[number as usize] = None;
            changed = true;
        }
    }
    changed
}

fn effect(step: &Step) -> Vec<(u32, i64)> {
    let mut places: Vec<u32> = step.pre.iter().chain(&step.post).map(|(p, _)| *p).collect();
    places.sort_unstable();
    places.dedup();
    places
        .into_iter()
        .map(|p| (p, i64::from(step.gives(p)) - i64::from(step.takes(p))))
        .filter(|(_, change)| *change != 0)
        .collect()
}

fn total(graph: &Graph, number: u32) -> u64 {
    let step = graph.steps[number as usize].as_ref();
    step.map_or(0, |step| step.pre.iter().map(|(_, w)| u64::from(*w)).sum())
}

/// True if `one` can fire wherever `other` can: it needs no more, and everything that inhibits it
/// inhibits the other one at the latest then.
fn needs_no_more(graph: &Graph, one: u32, other: u32) -> bool {
    match (&graph.steps[one as usize], &graph.steps[other as usize]) {
        (Some(one), Some(other)) => {
            let inhibited = |(place, weight): &(u32, Weight)| {
                let mut all = other.inhibitors.iter();
                all.any(|(p, w)| p == place && w <= weight)
            };
            one.pre.iter().all(|(p, w)| *w <= other.takes(*p))
                && one.inhibitors.iter().all(inhibited)
        }
        _ => false,
    }
}

/// True if some other transition can fire wherever this one can.
fn idle_is_covered(graph: &mut Graph, number: u32) -> bool {
    let Some(step) = &graph.steps[number as usize] else {
        return false;
    };
    let places: Vec<u32> = step.pre.iter().map(|(p, _)| *p).collect();
    places.into_iter().any(|place| {
        let (takers, _) = graph.around(place);
        // Each candidate is looked at once, where its first input is.
        let starts_here = |u: &u32| {
            let first = graph.steps[*u as usize]
                .as_ref()
                .and_then(|step| step.pre.first());
            first.is_some_and(|(p, _)| *p == place)
        };
        let mut candidates = takers
            .into_iter()
            .filter(|u| *u != number && starts_here(u));
        candidates
            .by_ref()
            .take(256)
            .any(|u| needs_no_more(graph, u, number))
    })
}

/// The steps at a place with what they take and give, divided by the greatest common divisor.
type Shape = Vec<(u32, Weight, Weight)>;

/// A place is redundant if it never keeps a transition from firing that the rest of the net
/// lets fire: nothing takes from it; or nothing changes it and it has enough; or its arcs are a
/// multiple of another place's and it has at least that multiple of tokens. A place that inhibits does
/// keep a transition from firing.
fn redundant_places(graph: &mut Graph) -> bool {
    let mut changed = false;
    let mut by_shape: RapidHashMap<Shape, Vec<(u32, Weight)>> = RapidHashMap::default();
    for place in 0..graph.places.len() as u32 {
        let Some(tokens) = graph.places[place as usize] else {
            continue;
        };
        if graph.watched[place as usize] || graph.inhibits[place as usize] {
            continue;
        }
        let (takers, givers) = graph.around(place);
        let step = |n: &u32| graph.steps[*n as usize].as_ref();
        let constant = takers
            .iter()
            .chain(&givers)
            .filter_map(step)
            .all(|s| s.takes(place) == s.gives(place));
        let enough = takers
            .iter()
            .filter_map(step)
            .all(|s| tokens >= s.takes(place).into());
        if takers.is_empty() || (constant && enough) {
            graph.remove_place(place);
            changed = true;
            continue;
        }
        let mut numbers: Vec<u32> = takers.into_iter().chain(givers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let arcs: Vec<(u32, Weight, Weight)> = numbers
            .iter()
            .filter_map(|n| step(n).map(|s| (*n, s.takes(place), s.gives(place))))
            .collect();
        let divisor = arcs
            .iter()
            .fold(0, |d, (_, a, b)| {
                num_integer::gcd(num_integer::gcd(d, *a), *b)
            })
            .max(1);
        let shape = arcs
            .into_iter()
            .map(|(n, a, b)| (n, a / divisor, b / divisor))
            .collect();
        by_shape.entry(shape).or_default().push((place, divisor));
    }
    // Of places of one shape, the one with the fewest tokens per multiple decides, as long as
    // whole multiples are compared: m(p) = d·x + c with c >= 0 never disables before d·x does.
    for group in by_shape.into_values().filter(|group| group.len() > 1) {
        let tokens = |graph: &Graph, place: u32| graph.places[place as usize].unwrap_or(0);
        let multiples = |(place, divisor): &(u32, Weight)| {
            (tokens(graph, *place) / Tokens::from(*divisor), *place)
        };
        let Some(&(tightest, _)) = group.iter().min_by_key(|entry| multiples(entry)) else {
            continue;
        };
        for (place, _) in group {
            if place != tightest {
                graph.remove_place(place);
                changed = true;
            }
        }
    }
    changed
}

/// A transition is relevant if it changes a watched place, or gives more than it takes to a place
/// from which a relevant one takes, or takes more than it gives from a place that inhibits a relevant
/// one. The others can be left out of a run, one and all: what is left finds at least as many tokens
/// where it takes some, at most as many where they inhibit it, and shows the same.
fn irrelevant_transitions(graph: &mut Graph) -> bool {
    // What of a place matters: that it gets more tokens, and that it gets fewer.
    let both = |watched: &bool| [*watched, *watched];
    let mut wanted: Vec<[bool; 2]> = graph.watched.iter().map(both).collect();
    let mut relevant = vec![false; graph.steps.len()];
    let mut open: Vec<u32> = (0..wanted.len() as u32)
        .filter(|p| wanted[*p as usize][0])
        .collect();
    while let Some(place) = open.pop() {
        let [more, fewer] = wanted[place as usize];
        let (takers, givers) = graph.around(place);
        let takers = takers.into_iter().filter(|_| fewer);
        for number in takers.chain(givers) {
            let Some(step) = &graph.steps[number as usize] else {
                continue;
            };
            let (takes, gives) = (step.takes(place), step.gives(place));
            let matters = more && gives > takes || fewer && gives < takes;
            if matters && !std::mem::replace(&mut relevant[number as usize], true) {
                for (arcs, what) in [(&step.pre, 0), (&step.inhibitors, 1)] {
                    for (needed, _) in arcs {
                        if !std::mem::replace(&mut wanted[*needed as usize][what], true) {
                            open.push(*needed);
                        }
                    }
                }
            }
        }
    }
    let superfluous: Vec<u32> = graph.live().filter(|n| !relevant[*n as usize]).collect();
    for number in &superfluous {
        graph.steps[*number as usize] = None;
    }
    !superfluous.is_empty()
}

/// Places from each of which a token can move to each other, by steps that do nothing else: how
/// their tokens are spread can be changed at any time, and nobody sees it. One place with all the
/// tokens does the same, if nothing inhibits these steps and none of the places inhibits anything. The
/// steps that move tokens are steps without effect then, which say that a run
/// need not end, nor go on, where there are tokens.
fn shared_places(graph: &mut Graph) -> bool {
    let mut moves: Vec<Vec<u32>> = vec![Vec::new(); graph.places.len()];
    for step in graph.steps.iter().flatten() {
        if let ([(from, 1)], [(to, 1)]) = (step.pre.as_slice(), step.post.as_slice())
            && !watches(graph, &step.pre)
            && !watches(graph, &step.post)
            && step.inhibitors.is_empty()
            && !inhibits(graph, &step.pre)
            && !inhibits(graph, &step.post)
            && graph.unit[*from as usize] == graph.unit[*to as usize]
        {
            moves[*from as usize].push(*to);
        }
    }
    let roots = (0..moves.len() as u32).filter(|p| !moves[*p as usize].is_empty());
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let target = |place: u32, at: usize| moves[place as usize].get(at).copied();
    let collect = |group: &[u32]| {
        groups.extend((group.len() > 1).then(|| group.to_vec()));
        Ok::<(), ()>(())
    };
    let _ = stubborn_graph::for_each_component(moves.len(), roots, target, collect);
    let mut changed = false;
    for group in groups {
        changed |= graph.join_places(&group);
    }
    changed
}

/// The producers and consumers of a place that stands between them and nothing else: single
/// tokens, nobody both takes and gives, merging does not make the net much larger.
fn between(graph: &mut Graph, place: u32) -> Option<(Vec<u32>, Vec<u32>)> {
    graph.places[place as usize]?;
    if graph.watched[place as usize] || graph.inhibits[place as usize] {
        return None;
    }
    let (takers, givers) = graph.around(place);
    if takers.is_empty() || givers.is_empty() || !graph.has_room(takers.len(), givers.len()) {
        return None;
    }
    let single = |n: &u32, weight: fn(&Step, u32) -> Weight| {
        graph.steps[*n as usize]
            .as_ref()
            .is_some_and(|step| weight(step, place) == 1)
    };
    let plain = takers.iter().all(|n| single(n, Step::takes))
        && givers.iter().all(|n| single(n, Step::gives))
        && !takers.iter().any(|n| givers.contains(n));
    plain.then_some((givers, takers))
}

/// Merges every producer with every consumer and removes the place. False, and nothing changed,
/// if numbers become too large.
fn merge_around(graph: &mut Graph, place: u32, givers: &[u32], takers: &[u32]) -> bool {
    let mut merged = Vec::with_capacity(givers.len() * takers.len());
    for giver in givers {
        for taker in takers {
            match graph.sequence(*giver, *taker, place) {
                Some(step) => merged.push(step),
                None => return false,
            }
        }
    }
    graph.use_room(takers.len(), givers.len());
    for number in givers.iter().chain(takers) {
        graph.steps[*number as usize] = None;
    }
    graph.remove_place(place);
    merged.into_iter().for_each(|step| graph.add(step));
    true
}

/// True if one of the places is watched.
fn watches(graph: &Graph, arcs: &[(u32, Weight)]) -> bool {
    arcs.iter().any(|(place, _)| graph.watched[*place as usize])
}

/// True if one of the places may inhibit a step.
fn inhibits(graph: &Graph, arcs: &[(u32, Weight)]) -> bool {
    arcs.iter()
        .any(|(place, _)| graph.inhibits[*place as usize])
}

/// Post-agglomeration: the consumers of the place take nothing else.
///
/// A token in the place enables its consumers, so in a deadlock the place is empty, and every
/// producer has been followed by a consumer. That consumer can as well fire at once: it needs
/// nothing else, nothing inhibits it, and tokens that come earlier disable nothing, since no place that
/// inhibits gets any. Tokens that are there from the
/// beginning are moved on if there is one consumer only, which has to fire for each of them.
/// Where places are watched, the consumers must not touch them: then the tokens that wait in
/// the place make no difference to what is seen.
fn post_agglomeration(graph: &mut Graph, place: u32, kept: Kept) -> bool {
    let Some((givers, takers)) = between(graph, place) else {
        return false;
    };
    let takes_only_this = |n: &u32| {
        let step = graph.steps[*n as usize].as_ref();
        step.is_some_and(|step| {
            step.pre.len() == 1
                && step.inhibitors.is_empty()
                && !watches(graph, &step.post)
                && !inhibits(graph, &step.post)
        })
    };
    if !takers.iter().all(takes_only_this) || kept == Kept::Branching && takers.len() > 1 {
        return false;
    }
    let tokens = graph.places[place as usize].unwrap_or(0);
    if tokens == 0 {
        return merge_around(graph, place, &givers, &takers);
    }
    let (&[taker], true) = (takers.as_slice(), tokens <= 1 << 10) else {
        return false;
    };
    let Some(step) = graph.steps[taker as usize].clone() else {
        return false;
    };
    // Nothing is moved before it is certain that all of it can be.
    let mut moved = Vec::new();
    for (target, weight) in &step.post {
        let Some(Some(now)) = graph.places.get(*target as usize) else {
            return false;
        };
        let more = Tokens::from(*weight)
            .checked_mul(tokens)
            .and_then(|n| n.checked_add(*now));
        let Some(more) = more else { return false };
        moved.push((*target, more));
    }
    if !merge_around(graph, place, &givers, &takers) {
        return false;
    }
    for (target, now) in moved {
        graph.places[target as usize] = Some(now);
    }
    graph
        .prefix
        .extend(std::iter::repeat_n(step.origin, tokens as usize));
    true
}

/// Pre-agglomeration: the producers of the place give nothing else, and nobody else takes from
/// their inputs. The producers' sequences, if the rule was applied.
///
/// A producer can then wait until a consumer needs its token: waiting keeps nobody from firing,
/// because only the producer looks at its inputs and only consumers look at the place. (So neither the place
/// nor the inputs may inhibit anything; nor may anything inhibit the producer, or it might wait too long.) A deadlock
/// with tokens in the place is one with those producers still waiting, and the other way round:
/// where the merged net stops, the producers that can fire are fired, and nothing becomes enabled,
/// or a merged transition would have been. Where places are watched, the inputs of the
/// producers must not be: then it makes no difference to what is seen whether they waited.
fn pre_agglomeration(graph: &mut Graph, place: u32) -> Option<Vec<u32>> {
    let (givers, takers) = between(graph, place)?;
    if graph.places[place as usize] != Some(0) {
        return None;
    }
    let mut sequences = Vec::with_capacity(givers.len());
    for giver in &givers {
        let step = graph.steps[*giver as usize].as_ref()?;
        let is_free = step.inhibitors.is_empty() && !inhibits(graph, &step.pre);
        if step.post.len() != 1 || step.pre.is_empty() || !is_free || watches(graph, &step.pre) {
            return None;
        }
        sequences.push(step.origin);
        for input in step.pre.iter().map(|(p, _)| *p).collect::<Vec<_>>() {
            if graph.around(input).0 != [*giver] {
                return None;
            }
        }
    }
    merge_around(graph, place, &givers, &takers).then_some(sequences)
}
