//! OneSafe, QuasiLiveness and StableMarking: questions about all places or transitions.
//!
//! They are about those of the file: a place of a coloured net is one-safe if its colours never
//! hold two tokens together; a transition is quasi-live if any of its instances can fire.
//!
//! QuasiLiveness and StableMarking both come down to which transitions can fire: the tokens of a
//! place stay the same if and only if no transition that changes them can ever fire. So both look
//! for transitions of a set of *candidates*, and stop when what was found, or what was excluded,
//! decides. Stubborn sets that contain all candidates keep every way to each of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stubborn_net::{
    Atom, BoundSource, CompareOp, Formula, IntExpr, Linearise, NetSystem, PlaceId, Relaxed,
    StateEquation, TransitionId,
};
use stubborn_plan::reduction::Made;
use stubborn_reduce::{Aim, Goals};
use stubborn_system::{Outcome, Successors, System};

use crate::answer::{Technique, Value};
use crate::best_first::best_first;
use crate::examiner::{Coverage, Examiner, Way};
use crate::guided::Guide;
use crate::reachability;
use crate::walk::walk;

/// What can fire, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fires {
    Sometime,
    Never,
    Unknown,
}

/// For each transition of the net, whether it can fire.
pub(crate) struct Firing {
    pub(crate) of: Vec<Fires>,
    /// Groups of a question of which some transition can fire, whichever it is.
    groups: BTreeSet<usize>,
}

impl Firing {
    pub(crate) fn new(system: &NetSystem) -> Self {
        let relaxed = Relaxed::new(system.net());
        let known = |t| match relaxed.can_fire(t) {
            true => Fires::Unknown,
            false => Fires::Never,
        };
        Self {
            of: system.net().transitions().map(known).collect(),
            groups: BTreeSet::new(),
        }
    }

    /// Takes note of the steps from a state; true if one of them is new.
    pub(crate) fn see(&mut self, successors: &Successors) -> bool {
        let mut new = false;
        // A step that fails is possible all the same: only its result does not fit.
        for transition in successors.transitions() {
            let known = &mut self.of[transition.index()];
            new |= std::mem::replace(known, Fires::Sometime) != Fires::Sometime;
        }
        new
    }

    /// After a complete search: what was not seen does not happen.
    fn close(&mut self) {
        for known in self.of.iter_mut().filter(|k| **k == Fires::Unknown) {
            *known = Fires::Never;
        }
    }
}

/// A question that is decided by which transitions can fire.
pub(crate) trait ByFiring: Sync {
    /// The answer, once what is known decides.
    fn decide(&self, firing: &Firing) -> Option<bool>;

    /// Groups of transitions of which it is worth knowing whether they can fire: of one candidate
    /// for an early end, or of all. Each with its number.
    fn candidates(&self, firing: &Firing) -> Vec<(usize, Vec<TransitionId>)>;

    /// What can be reached if and only if some transition of a group can fire.
    fn goal(&self, group: usize, candidates: &[TransitionId]) -> Formula;
}

/// Every transition of the file can fire.
pub(crate) struct QuasiLive {
    groups: Vec<Range<u32>>,
}

impl QuasiLive {
    pub(crate) fn new(examiner: &Examiner<'_>) -> Self {
        let groups = examiner.model.transition_groups();
        Self {
            groups: groups.map(|(_, range)| range).collect(),
        }
    }

    fn is_known(&self, group: &Range<u32>, firing: &Firing, fires: Fires) -> bool {
        let mut states = group.clone().map(|t| firing.of[t as usize]);
        match fires {
            Fires::Sometime => states.any(|s| s == Fires::Sometime),
            Fires::Never => states.all(|s| s == Fires::Never),
            Fires::Unknown => false,
        }
    }
}

impl ByFiring for QuasiLive {
    fn decide(&self, firing: &Firing) -> Option<bool> {
        let groups = self.groups.iter().enumerate();
        let mut open = groups.filter(|(number, _)| !firing.groups.contains(number));
        if open
            .clone()
            .any(|(_, g)| self.is_known(g, firing, Fires::Never))
        {
            return Some(false);
        }
        open.all(|(_, g)| self.is_known(g, firing, Fires::Sometime))
            .then_some(true)
    }

    fn candidates(&self, firing: &Firing) -> Vec<(usize, Vec<TransitionId>)> {
        let open = |(number, g): &(usize, &Range<u32>)| {
            !firing.groups.contains(number) && !self.is_known(g, firing, Fires::Sometime)
        };
        let unknown = |(number, g): (usize, &Range<u32>)| {
            let members = g.clone().map(TransitionId);
            let unknown = members.filter(|t| firing.of[t.index()] == Fires::Unknown);
            (number, unknown.collect())
        };
        let groups = self.groups.iter().enumerate();
        groups.filter(open).map(unknown).collect()
    }

    fn goal(&self, _: usize, candidates: &[TransitionId]) -> Formula {
        Formula::Atom(Atom::Fireable(candidates.to_vec()))
    }
}

/// Some place of the file always has the same number of tokens.
pub(crate) struct Stable {
    /// For each place of the file, the transitions that change its tokens.
    changers: Vec<Vec<TransitionId>>,
    /// For each place of the file, those of the net, and how many tokens they have in the beginning.
    tokens: Vec<(Vec<PlaceId>, u64)>,
}

impl Stable {
    pub(crate) fn new(examiner: &Examiner<'_>) -> Self {
        let net = &examiner.model.net;
        let mut group_of = vec![0usize; net.place_count()];
        let mut groups = 0;
        let mut tokens = Vec::new();
        for (_, range) in examiner.model.place_groups() {
            let places: Vec<PlaceId> = range.map(PlaceId).collect();
            for place in &places {
                group_of[place.index()] = groups;
            }
            let initial = places.iter().map(|place| net.initial(*place));
            let sum = initial.fold(0, u64::saturating_add);
            tokens.push((places, sum));
            groups += 1;
        }
        let mut changers = vec![Vec::new(); groups];
        let mut change: Vec<(usize, i64)> = Vec::new();
        for transition in net.transitions() {
            change.clear();
            change.extend(
                net.effects(transition)
                    .map(|(place, effect)| (group_of[place.index()], effect)),
            );
            change.sort_unstable();
            for of_group in change.chunk_by(|a, b| a.0 == b.0) {
                let total: i128 = of_group.iter().map(|(_, c)| i128::from(*c)).sum();
                if total != 0 {
                    changers[of_group[0].0].push(transition);
                }
            }
        }
        Self { changers, tokens }
    }
}

impl ByFiring for Stable {
    fn decide(&self, firing: &Firing) -> Option<bool> {
        let fires = |t: &TransitionId, wanted| firing.of[t.index()] == wanted;
        let groups = self.changers.iter().enumerate();
        let mut open = groups.filter(|(number, _)| !firing.groups.contains(number));
        if open
            .clone()
            .any(|(_, changers)| changers.iter().all(|t| fires(t, Fires::Never)))
        {
            return Some(true);
        }
        open.all(|(_, changers)| changers.iter().any(|t| fires(t, Fires::Sometime)))
            .then_some(false)
    }

    fn candidates(&self, firing: &Firing) -> Vec<(usize, Vec<TransitionId>)> {
        let is = |t: &&TransitionId, wanted| firing.of[t.index()] == wanted;
        let groups = self.changers.iter().enumerate();
        groups
            .filter(|(number, _)| !firing.groups.contains(number))
            .filter(|(_, changers)| !changers.iter().any(|t| is(&t, Fires::Sometime)))
            .map(|(number, changers)| {
                let unknown = changers.iter().filter(|t| is(t, Fires::Unknown));
                (number, unknown.copied().collect())
            })
            .collect()
    }

    fn goal(&self, group: usize, _: &[TransitionId]) -> Formula {
        let (places, initial) = &self.tokens[group];
        let now = IntExpr::tokens(places.clone());
        let other = IntExpr::constant(*initial);
        Formula::Atom(Atom::Compare(CompareOp::NotEqual, now, other))
    }
}

/// Answers a question by which transitions can fire.
pub(crate) fn by_firing(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    name: &str,
    question: &dyn ByFiring,
) {
    let mut firing = Firing::new(system);
    let answer = decide(examiner, system, question, &mut firing);
    match answer {
        Some((value, techniques)) => examiner.answer(name, Value::Truth(value), &techniques),
        None => examiner.answer(name, Value::Unknown, &[]),
    }
}

pub(crate) fn decide(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    question: &dyn ByFiring,
    firing: &mut Firing,
) -> Option<(bool, Vec<Technique>)> {
    if let Some(value) = question.decide(firing) {
        return Some((value, vec![Technique::Topological]));
    }
    let walked = Some(vec![Technique::RandomWalk]);
    let walks = examiner.slice(0.03, Duration::from_secs(2));
    let glance = examiner.glance();
    for (searching, walking) in [(4 * glance, 4 * glance), (examiner.short(), walks)] {
        if let Some(value) = search(examiner, system, question, firing, None, searching) {
            return Some((value, SEARCHED.to_vec()));
        }
        if let Some(value) = by_walks(examiner, system, question, firing, walking) {
            return Some(value).zip(walked);
        }
    }
    // What is easy to find first: the state equation tells nothing about what can fire.
    for share in [0.05, 0.3] {
        for how in [How::Walks, How::BestFirst, How::Smaller] {
            let value = one_by_one(examiner, system, question, firing, how, share);
            if let Some(value) = value {
                return Some((value, how.techniques()));
            }
        }
        if share < 0.1
            && examiner.options.equation
            && let Some(value) = exclude(examiner, system, question, firing)
        {
            return Some((value, vec![Technique::LinearProgramming]));
        }
    }
    let long = |share| examiner.left().mul_f64(share);
    if let Some(value) = search(examiner, system, question, firing, None, long(0.4)) {
        return Some((value, SEARCHED.to_vec()));
    }
    if !examiner.is_over()
        && let Some(reduction) = for_candidates(examiner, system, question, firing)
        && let Some(value) = search(
            examiner,
            system,
            question,
            firing,
            Some(&reduction),
            long(1.0),
        )
    {
        let mut techniques = SEARCHED.to_vec();
        techniques.push(Technique::StubbornSets);
        return Some((value, techniques));
    }
    // Walks have no end of their own.
    examiner.options.time?;
    by_walks(examiner, system, question, firing, examiner.left()).zip(walked)
}

/// Walks at random for a time.
fn by_walks(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    question: &dyn ByFiring,
    firing: &mut Firing,
    time: Duration,
) -> Option<bool> {
    if !examiner.options.walks || examiner.is_over() {
        return None;
    }
    let mut decided = None;
    let interrupt = examiner.options.interrupt;
    walk(system, time, &mut |_: &[u32], successors: &Successors| {
        if firing.see(successors) {
            decided = question.decide(firing);
        }
        decided.is_none() && !interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    });
    decided
}

/// How a group of candidates is looked for.
#[derive(Clone, Copy, Debug)]
enum How {
    /// By walks towards it.
    Walks,
    /// By distance.
    BestFirst,
    /// In a net made smaller for it.
    Smaller,
}

impl How {
    fn techniques(self) -> Vec<Technique> {
        match self {
            Self::Walks => vec![Technique::RandomWalk],
            Self::BestFirst => SEARCHED.to_vec(),
            Self::Smaller => [&SEARCHED[..], &[Technique::StructuralReduction]].concat(),
        }
    }
}

/// Asks of each group of candidates whether some transition of it can fire, in a part of the time.
fn one_by_one(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    question: &dyn ByFiring,
    firing: &mut Firing,
    how: How,
    share: f64,
) -> Option<bool> {
    if matches!(how, How::Walks) && !examiner.options.walks {
        return None;
    }
    let mut executor = system.executor();
    let mut successors = Successors::new(system.layout().words());
    let mut guide = matches!(how, How::Walks).then(|| Guide::new(system));
    let until = examiner.left().mul_f64(1.0 - share);
    let mut tried = BTreeSet::new();
    loop {
        let mut groups = question.candidates(firing);
        groups.retain(|(number, group)| !group.is_empty() && !tried.contains(number));
        let open = groups.len();
        let (number, group) = groups.into_iter().next()?;
        let left = examiner.left().saturating_sub(until);
        if examiner.is_over() || left.is_zero() {
            return None;
        }
        tried.insert(number);
        let time = left.mul_f64(2.0 / (open + 1) as f64);
        let enabled = || Formula::Atom(Atom::Fireable(group.clone()));
        match (how, &mut guide) {
            (How::Walks, Some(guide)) => {
                let visitor = &mut |_: &[u32], successors: &Successors| {
                    // What was found by the way may decide.
                    !firing.see(successors) || question.decide(firing).is_none()
                };
                guide.walk(&enabled(), &examiner.limits(time), visitor);
            }
            (How::Smaller, _) => {
                let goal = question.goal(number, &group);
                match reachability::search_alone(examiner, system, &goal, time) {
                    Some(true) => {
                        firing.groups.insert(number);
                    }
                    Some(false) => {
                        for t in group {
                            firing.of[t.index()] = Fires::Never;
                        }
                    }
                    None => continue,
                }
            }
            (How::BestFirst | How::Walks, _) => {
                let limits = examiner.limits(time);
                let Some(state) = best_first(system, &enabled(), &limits) else {
                    continue;
                };
                successors.clear();
                executor.successors(&state, &mut successors);
                firing.see(&successors);
            }
        }
        if let Some(value) = question.decide(firing) {
            return Some(value);
        }
    }
}

/// Sets that keep every way to the question's candidates.
fn for_candidates<'s>(
    examiner: &Examiner<'_>,
    system: &'s NetSystem,
    question: &dyn ByFiring,
    firing: &Firing,
) -> Option<Made<'s>> {
    let candidates = question.candidates(firing).into_iter();
    let wanted = candidates.flat_map(|(_, group)| group);
    let mut goals = Goals {
        any_of: Vec::new(),
        transitions: wanted
            .map(|t| stubborn_system::TransitionId::new(t.index()))
            .collect(),
    };
    goals.transitions.sort_unstable();
    goals.transitions.dedup();
    examiner.reduction(system, Aim::Goals(goals))
}

const SEARCHED: [Technique; 2] = [Technique::Explicit, Technique::StateCompression];

/// Searches for a time; with a reduction for the question's candidates, which are
/// all that is open.
fn search(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    question: &dyn ByFiring,
    firing: &mut Firing,
    reduction: Option<&Made<'_>>,
    time: Duration,
) -> Option<bool> {
    if examiner.is_over() {
        return None;
    }
    let mut decided = None;
    let mut look = |_: &[u32], successors: &Successors| {
        if firing.see(successors) {
            decided = question.decide(firing);
        }
        decided.is_none()
    };
    let way = Way::breadth_first(time);
    let coverage = examiner.explore(system, reduction, way, &mut look);
    if decided.is_none() && coverage == Coverage::Complete {
        firing.close();
        decided = question.decide(firing);
    }
    decided
}

/// Excludes candidates by the state equation until that decides, or time is over.
fn exclude(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    question: &dyn ByFiring,
    firing: &mut Firing,
) -> Option<bool> {
    let equation = StateEquation::new(system.net());
    let linear = Linearise::new(system.net(), system.bounds()).with_traps(examiner.options.traps);
    let until = examiner.left().mul_f64(0.8);
    let each = examiner.slice(0.05, Duration::from_secs(5));
    let mut groups = question.candidates(firing);
    // Small ones decide soonest.
    groups.sort_by_key(|(_, group)| group.len());
    for (_, group) in groups {
        for transition in group {
            if examiner.is_over() || examiner.left() < until {
                return None;
            }
            let fireable = Formula::Atom(Atom::Fireable(vec![transition]));
            if !linear.never(&equation, &fireable, each) {
                // One that may fire keeps its group open.
                break;
            }
            firing.of[transition.index()] = Fires::Never;
        }
        if let Some(value) = question.decide(firing) {
            return Some(value);
        }
    }
    None
}

/// OneSafe: no place of the file ever holds more than one token.
pub(crate) fn one_safe(examiner: &mut Examiner<'_>, system: &NetSystem, name: &str) {
    match is_one_safe(examiner, system) {
        Some((value, techniques)) => examiner.answer(name, Value::Truth(value), &techniques),
        None => examiner.answer(name, Value::Unknown, &[]),
    }
}

fn is_one_safe(examiner: &Examiner<'_>, system: &NetSystem) -> Option<(bool, Vec<Technique>)> {
    let bounds = system.bounds();
    let proved = |range: &Range<u32>| {
        let mut places = range.clone().map(PlaceId);
        let sure = |p: PlaceId| match bounds.source(p) {
            BoundSource::Claimed | BoundSource::Unknown => None,
            BoundSource::Constant | BoundSource::Invariant | BoundSource::Firings => {
                bounds.bound(p)
            }
        };
        places
            .try_fold(0u64, |sum, p| sum.checked_add(sure(p)?))
            .is_some_and(|sum| sum <= 1)
    };
    let groups = examiner.model.place_groups().map(|(_, range)| range);
    let mut open: Vec<Range<u32>> = groups.filter(|range| !proved(range)).collect();
    if open.is_empty() {
        return Some((true, vec![Technique::Topological]));
    }
    let unsafe_in = |state: &[u32], open: &[Range<u32>]| {
        open.iter().any(|range| {
            let tokens = range.clone().map(|p| system.tokens(state, PlaceId(p)));
            tokens.fold(0u64, u64::saturating_add) > 1
        })
    };
    if unsafe_in(&system.initial_states(), &open) {
        return Some((false, vec![Technique::Topological]));
    }
    // Steps that overflow a place that the file calls safe are more than one token.
    let overflows = |successors: &Successors| {
        (0..successors.len()).any(|number| successors.outcome(number) != Outcome::FINE)
    };
    let search = |open: &[Range<u32>], time: Duration| {
        let mut found = false;
        let mut look = |state: &[u32], successors: &Successors| {
            found |= overflows(successors) || unsafe_in(state, open);
            !found
        };
        let way = Way::breadth_first(time);
        let coverage = examiner.explore(system, None, way, &mut look);
        (found || coverage == Coverage::Complete).then_some(!found)
    };
    let glance = examiner.glance();
    let usual = (
        examiner.short(),
        examiner.slice(0.03, Duration::from_secs(2)),
        examiner.slice(0.05, Duration::from_secs(5)),
    );
    for (searching, walking, each) in [(2 * glance, 2 * glance, 5 * glance), usual] {
        if let Some(value) = search(&open, searching) {
            return Some((value, SEARCHED.to_vec()));
        }
        if examiner.options.walks {
            let mut found = false;
            let mut look = |state: &[u32], successors: &Successors| {
                found |= overflows(successors) || unsafe_in(state, &open);
                !found
            };
            walk(system, walking, &mut look);
            if found {
                return Some((false, vec![Technique::RandomWalk]));
            }
        }
        if examiner.options.equation {
            let equation = StateEquation::new(system.net());
            let until = examiner.left().saturating_sub(6 * each);
            open.retain(|range| {
                let late = examiner.is_over() || examiner.left() < until;
                let weights: Vec<(PlaceId, i64)> = range.clone().map(|p| (PlaceId(p), 1)).collect();
                late || equation.bound(&weights, each).is_none_or(|bound| bound > 1)
            });
            if open.is_empty() {
                return Some((true, vec![Technique::LinearProgramming]));
            }
        }
    }
    if let Some(value) = search(&open, examiner.left().mul_f64(0.9)) {
        return Some((value, SEARCHED.to_vec()));
    }
    // The contest vouches for what its files say of nested units.
    let units = system.net().units().is_some_and(|units| units.is_safe());
    (units && !examiner.model.coloured).then(|| (true, vec![Technique::Nupn]))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use stubborn_pnml::Model;
    use stubborn_system::Random;

    use super::*;
    use crate::examiner::Options;

    use crate::testing::cyclic_net;

    /// By a search of everything, and by sets for all transitions.
    fn both_ways(question: &dyn ByFiring, examiner: &Examiner<'_>) -> Option<(bool, bool)> {
        let system = NetSystem::new(examiner.model.net.clone()).unwrap();
        let full = search(
            examiner,
            &system,
            question,
            &mut Firing::new(&system),
            None,
            examiner.left() / 2,
        );
        let mut firing = Firing::new(&system);
        if let Some(value) = question.decide(&firing) {
            return Some((full?, value));
        }
        let reduction = for_candidates(examiner, &system, question, &firing).unwrap();
        let reduced = search(
            examiner,
            &system,
            question,
            &mut firing,
            Some(&reduction),
            examiner.left() / 2,
        );
        // Group by group, in nets made for them and in the net, and by walks.
        for (how, share) in [
            (How::Smaller, 0.3),
            (How::BestFirst, 0.3),
            (How::Walks, 1e-5),
        ] {
            let mut firing = Firing::new(&system);
            let value = one_by_one(examiner, &system, question, &mut firing, how, share);
            assert!(
                value.is_none() || full.is_none() || value == full,
                "{how:?}"
            );
        }
        Some((full?, reduced?))
    }

    #[test]
    fn sets_for_candidates_keep_the_answers() {
        let mut random = Random::new(0x0951_0951_0951_0951);
        let (mut yes, mut no) = ([0, 0], [0, 0]);
        for number in 0..400 {
            let model = Model::from_net(cyclic_net(&mut random));
            let options = Options {
                // A net that is not bounded ends at the limit.
                memory: Some(2 << 20),
                time: Some(Duration::from_secs(600)),
                ..Options::default()
            };
            let mut out = |_| {};
            let examiner = Examiner::new(&model, &options, Instant::now(), &mut out);
            let questions: [&dyn ByFiring; 2] =
                [&QuasiLive::new(&examiner), &Stable::new(&examiner)];
            for (at, question) in questions.into_iter().enumerate() {
                if let Some((full, reduced)) = both_ways(question, &examiner) {
                    assert_eq!(full, reduced, "net {number} question {at}");
                    yes[at] += usize::from(full);
                    no[at] += usize::from(!full);
                }
            }
        }
        assert!(yes.iter().chain(&no).all(|n| *n > 12), "{yes:?} {no:?}");
    }
}
