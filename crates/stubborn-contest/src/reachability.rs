//! ReachabilityCardinality and ReachabilityFireability: can a marking be reached?
//!
//! `exists-path finally φ` asks whether `φ` can be reached, `all-paths globally φ` whether `¬φ`
//! cannot. All questions of a file are looked at together as long as that pays: random walks see
//! witnesses of any of them, and one exploration of a small net answers all. What is left is
//! answered one by one: the state equation excludes a formula; or the net is made smaller around
//! the formula's places and searched, for a while by walks towards the goal and best-first by distance to
//! it, then with stubborn sets that know the goal.

use std::time::{Duration, Instant};

use stubborn_net::{Formula, Linearise, NetSystem, PlaceId, Preserve, StateEquation};
use stubborn_reduce::{Aim, Goals};
use stubborn_system::{LabelId, Successors, System};

use crate::answer::{Technique, Value};
use crate::best_first::best_first;
use crate::examiner::{Coverage, Examiner, Way};
use crate::guided::Guide;
use crate::walk::walk;

/// The part of the time of a search for one goal that is for walks towards it, and the part that goes by
/// distance.
const GUIDED: (f64, f64) = (0.1, 0.2);

/// Most conjunctions that a goal is taken apart into, and most parts of one.
const MOST_CUBES: usize = 16;
const LONGEST_CUBE: usize = 24;

/// A question whether a formula can become true.
pub(crate) struct Goal {
    pub(crate) id: String,
    /// What is looked for.
    pub(crate) formula: Formula,
    /// The answer if it is found.
    pub(crate) if_found: bool,
    /// Whether the state equation may tell more in more time.
    is_unsure: bool,
}

impl Goal {
    pub(crate) fn new(id: String, formula: Formula, if_found: bool) -> Self {
        Self {
            id,
            formula,
            if_found,
            is_unsure: false,
        }
    }

    fn value(&self, found: bool) -> Value {
        Value::Truth(self.if_found == found)
    }
}

/// Goals that the system has labels for.
fn labelled(
    examiner: &mut Examiner<'_>,
    system: &mut NetSystem,
    goals: Vec<Goal>,
) -> Vec<(Goal, LabelId)> {
    let mut open: Vec<(Goal, LabelId)> = Vec::new();
    for goal in goals {
        match system.add_label(goal.formula.clone()) {
            Some(label) => open.push((goal, label)),
            None => examiner.answer(&goal.id, Value::Unknown, &[]),
        }
    }
    open
}

/// Answers what is easy to answer; the others.
pub(crate) fn first_look(
    examiner: &mut Examiner<'_>,
    system: &mut NetSystem,
    goals: Vec<Goal>,
) -> Vec<Goal> {
    let mut open = labelled(examiner, system, goals);
    first_look_at(examiner, system, &mut open);
    open.into_iter().map(|(goal, _)| goal).collect()
}

fn first_look_at(examiner: &mut Examiner<'_>, system: &NetSystem, open: &mut Vec<(Goal, LabelId)>) {
    let glance = examiner.glance();
    // Tiny nets, and what is everywhere: a linear program takes longer.
    look_around(examiner, system, open, Look::Everything(glance / 8));
    look_around(examiner, system, open, Look::Walk(glance / 4));
    exclude(examiner, system, open, 20 * glance, |_| true);
    look_around(examiner, system, open, Look::Everything(glance));
    look_around(examiner, system, open, Look::Walk(glance));
    one_by_one(examiner, system, open, |_, _| 20 * glance);
}

/// Answers all goals that a [first look](first_look) left; what cannot be answered is said so.
pub(crate) fn examine(examiner: &mut Examiner<'_>, system: &mut NetSystem, goals: Vec<Goal>) {
    let open = labelled(examiner, system, goals);
    search(examiner, system, open);
}

/// Answers all goals, which have labels; what cannot be answered is said so.
pub(crate) fn search_all(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    mut open: Vec<(Goal, LabelId)>,
) {
    first_look_at(examiner, system, &mut open);
    search(examiner, system, open);
}

/// Longer and longer searches.
fn search(examiner: &mut Examiner<'_>, system: &NetSystem, mut open: Vec<(Goal, LabelId)>) {
    let glance = examiner.glance();
    let short = Look::Everything(examiner.short());
    look_around(examiner, system, &mut open, short);
    // With fewer places to watch, the nets made for them are smaller, and so are their sets.
    for (goal, _) in &mut open {
        let simple = examiner.by_equation(system, &[&goal.formula], 100 * glance);
        goal.formula = simple.into_iter().next().unwrap_or(goal.formula.clone());
    }
    one_by_one(examiner, system, &mut open, |_, _| 100 * glance);
    let walks = Look::Walk(examiner.slice(0.03, Duration::from_secs(2)));
    look_around(examiner, system, &mut open, walks);
    let each = examiner.slice(0.2 / open.len().max(1) as f64, Duration::from_secs(20));
    exclude(examiner, system, &mut open, each, |goal| goal.is_unsure);
    walk_towards(examiner, system, &mut open, 0.1);
    look_around(
        examiner,
        system,
        &mut open,
        Look::Everything(examiner.left().mul_f64(0.3)),
    );
    for share in [0.1, 0.6] {
        one_by_one(examiner, system, &mut open, |examiner, open| {
            examiner.left().mul_f64(share / open as f64)
        });
    }
    look_around(examiner, system, &mut open, Look::Walk(examiner.left()));
    for (goal, _) in open {
        examiner.answer(&goal.id, Value::Unknown, &[]);
    }
}

/// How to look at many states.
#[derive(Clone, Copy)]
enum Look {
    Walk(Duration),
    Everything(Duration),
}

/// Looks at states and answers what is found there; everything, if everything was seen.
fn look_around(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<(Goal, LabelId)>,
    look: Look,
) {
    let walks = matches!(look, Look::Walk(_));
    if open.is_empty() || examiner.is_over() || (walks && !examiner.options.walks) {
        return;
    }
    let mut found = vec![false; open.len()];
    let mut wanted: Vec<(usize, LabelId)> = open
        .iter()
        .enumerate()
        .map(|(at, (_, l))| (at, *l))
        .collect();
    let mut executor = system.executor();
    let mut visit = |state: &[u32], _: &Successors| {
        wanted.retain(|(at, label)| {
            found[*at] |= executor.label(state, *label);
            !found[*at]
        });
        !wanted.is_empty()
    };
    let coverage = match look {
        Look::Walk(time) => {
            walk(system, time, &mut visit);
            Coverage::Partial
        }
        Look::Everything(time) => {
            examiner.explore(system, None, Way::breadth_first(time), &mut visit)
        }
    };
    let techniques: &[Technique] = match look {
        Look::Walk(_) => &[Technique::RandomWalk, Technique::CollateralProcessing],
        Look::Everything(_) => &[
            Technique::Explicit,
            Technique::StateCompression,
            Technique::CollateralProcessing,
        ],
    };
    let mut found = found.into_iter();
    open.retain(|(goal, _)| {
        let found = found.next().unwrap_or(false);
        let known = found || coverage == Coverage::Complete;
        if known {
            examiner.answer(&goal.id, goal.value(found), techniques);
        }
        !known
    });
}

/// Walks towards each open goal, in a share of the time.
fn walk_towards(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<(Goal, LabelId)>,
    share: f64,
) {
    if open.is_empty() || !examiner.options.walks {
        return;
    }
    let mut guide = Guide::new(system);
    let time = examiner.slice(share / open.len() as f64, Duration::from_secs(10));
    open.retain(|(goal, _)| {
        let limits = examiner.limits(time);
        let visitor = &mut |_: &[u32], _: &Successors| true;
        let found = !examiner.is_over() && guide.walk(&goal.formula, &limits, visitor).is_some();
        if found {
            examiner.answer(&goal.id, goal.value(true), &[Technique::RandomWalk]);
        }
        !found
    });
}

/// Answers what the state equation excludes, of those that are to be tried, each in this time.
fn exclude(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<(Goal, LabelId)>,
    time: Duration,
    is_to_be_tried: impl Fn(&Goal) -> bool,
) {
    if !examiner.options.equation || open.is_empty() {
        return;
    }
    let summed = examiner.summed();
    let equation = StateEquation::new(system.net());
    let linear = Linearise::new(system.net(), system.bounds()).with_traps(examiner.options.traps);
    open.retain_mut(|(goal, _)| {
        if examiner.is_over() || !is_to_be_tried(goal) {
            return true;
        }
        let started = Instant::now();
        let by_sums = summed
            .as_ref()
            .is_some_and(|s| s.excludes(&goal.formula, time / 2));
        let excluded = by_sums || linear.never(&equation, &goal.formula, time);
        if excluded {
            examiner.answer(&goal.id, goal.value(false), &[Technique::LinearProgramming]);
        }
        goal.is_unsure = started.elapsed() >= time;
        !excluded
    });
}

/// Gives each open goal a search of its own, in a time by how many are open.
fn one_by_one(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<(Goal, LabelId)>,
    time: impl Fn(&Examiner<'_>, usize) -> Duration,
) {
    let mut left = open.len();
    open.retain(|entry| {
        let goal = &entry.0;
        let time = time(examiner, left.max(1));
        left -= 1;
        if examiner.is_over() {
            return true;
        }
        match search_one(examiner, system, entry, time) {
            Some((found, techniques)) => {
                examiner.answer(&goal.id, goal.value(found), &techniques);
                false
            }
            None => true,
        }
    });
}

/// Looks for one goal in a net made for it, or in the net itself.
fn search_one(
    examiner: &Examiner<'_>,
    whole: &NetSystem,
    (goal, label): &(Goal, LabelId),
    time: Duration,
) -> Option<(bool, Vec<Technique>)> {
    let mut techniques = vec![Technique::Explicit, Technique::StateCompression];
    let own = made_for(examiner, whole, &goal.formula);
    if own.is_some() {
        techniques.push(Technique::StructuralReduction);
    }
    let (system, label, formula, goals) = match &own {
        Some(own) => (&own.system, own.label, &own.formula, own.goals.clone()),
        None => (whole, *label, &goal.formula, Goals::labels([*label])),
    };
    if own.is_some() && is_excluded(examiner, system, formula, time.mul_f64(GUIDED.1)) {
        let techniques = vec![Technique::StructuralReduction, Technique::LinearProgramming];
        return Some((false, techniques));
    }
    let (found, with_sets) = search_in(examiner, system, label, goals, formula, time)?;
    techniques.extend(with_sets.then_some(Technique::StubbornSets));
    Some((found, techniques))
}

/// Whether a state formula can become true, by a search in a net made for it; none if there is no such
/// net, or no answer within the time.
pub(crate) fn search_alone(
    examiner: &Examiner<'_>,
    whole: &NetSystem,
    formula: &Formula,
    time: Duration,
) -> Option<bool> {
    let own = made_for(examiner, whole, formula)?;
    if is_excluded(examiner, &own.system, &own.formula, time.mul_f64(GUIDED.1)) {
        return Some(false);
    }
    let found = search_in(
        examiner,
        &own.system,
        own.label,
        own.goals,
        &own.formula,
        time,
    );
    Some(found?.0)
}

/// Whether the state equation of a net that was made for a formula excludes it: that is a small one.
fn is_excluded(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    formula: &Formula,
    time: Duration,
) -> bool {
    let equation = || StateEquation::new(system.net());
    let linear = Linearise::new(system.net(), system.bounds());
    examiner.options.equation && linear.never(&equation(), formula, time)
}

/// A net that was made for a formula, the formula in terms of it, its label, and its parts.
struct Made {
    system: NetSystem,
    formula: Formula,
    label: LabelId,
    goals: Goals,
}

/// A net made smaller around the places of a state formula.
fn made_for(examiner: &Examiner<'_>, whole: &NetSystem, formula: &Formula) -> Option<Made> {
    let original = &examiner.model.net;
    let watched: Vec<PlaceId> = formula.places(original);
    let reduced = examiner.reduced(original, &Preserve::Places(watched))?;
    let formula = reduced.translate(formula, original)?;
    let mut system = examiner.smaller(whole, &reduced)?;
    let label = system.add_label(formula.clone())?;
    let goals = in_parts(&mut system, &formula).unwrap_or_else(|| Goals::labels([label]));
    Some(Made {
        system,
        formula,
        label,
        goals,
    })
}

/// A state formula as conjunctions of labels: a set for a goal needs to care for one part of each
/// that does not hold. None if the formula cannot be taken apart.
fn in_parts(system: &mut NetSystem, formula: &Formula) -> Option<Goals> {
    let cubes = cubes(formula, true);
    let useful = |cube: &Vec<Formula>| (1..=LONGEST_CUBE).contains(&cube.len());
    if cubes.is_empty() || !cubes.iter().all(useful) {
        return None;
    }
    let mut known: Vec<(Formula, LabelId)> = Vec::new();
    let mut any_of = Vec::with_capacity(cubes.len());
    for cube in cubes {
        let mut labels = Vec::with_capacity(cube.len());
        for part in cube {
            let label = match known.iter().find(|(other, _)| *other == part) {
                Some((_, label)) => *label,
                None => system.add_label(part.clone())?,
            };
            known.push((part, label));
            labels.push(label);
        }
        any_of.push(labels);
    }
    Some(Goals {
        any_of,
        transitions: Vec::new(),
    })
}

/// That a state formula has a value, as a disjunction of conjunctions; what would become very
/// many stays in one part.
fn cubes(formula: &Formula, value: bool) -> Vec<Vec<Formula>> {
    let whole = |formula: &Formula| match value {
        true => formula.clone(),
        false => formula.clone().negated(),
    };
    match (formula, value) {
        (Formula::Not(inner), _) => cubes(inner, !value),
        (Formula::Or(parts), true) | (Formula::And(parts), false) => {
            let all: Vec<_> = parts.iter().flat_map(|part| cubes(part, value)).collect();
            match all.len() <= MOST_CUBES {
                true => all,
                false => vec![vec![whole(formula)]],
            }
        }
        (Formula::And(parts), true) | (Formula::Or(parts), false) => {
            parts.iter().fold(vec![Vec::new()], |product, part| {
                let mut next = cubes(part, value);
                if product.len() * next.len() > MOST_CUBES {
                    next = vec![vec![whole(part)]];
                }
                let with = |cube: &Vec<Formula>| {
                    let cube = cube.clone();
                    next.iter().map(move |more| [&cube[..], more].concat())
                };
                product.iter().flat_map(with).collect()
            })
        }
        _ => vec![vec![whole(formula)]],
    }
}

/// Looks for a goal; whether it is there, and whether stubborn sets were used to find out.
fn search_in(
    examiner: &Examiner<'_>,
    system: &NetSystem,
    label: LabelId,
    goals: Goals,
    formula: &Formula,
    time: Duration,
) -> Option<(bool, bool)> {
    let started = Instant::now();
    if examiner.options.walks {
        let limits = examiner.limits(time.mul_f64(GUIDED.0));
        let visitor = &mut |_: &[u32], _: &Successors| true;
        if Guide::new(system).walk(formula, &limits, visitor).is_some() {
            return Some((true, false));
        }
    }
    if best_first(system, formula, &examiner.limits(time.mul_f64(GUIDED.1))).is_some() {
        return Some((true, false));
    }
    let time = time.saturating_sub(started.elapsed());
    let reduction = examiner.reduction(system, Aim::Goals(goals));
    let mut found = false;
    let mut executor = system.executor();
    let mut look = |state: &[u32], _: &Successors| {
        found |= executor.label(state, label);
        !found
    };
    let way = Way::breadth_first(time);
    let coverage = examiner.explore(system, reduction.as_ref(), way, &mut look);
    let known = found || coverage == Coverage::Complete;
    known.then_some((found, reduction.is_some()))
}

#[cfg(test)]
mod tests {
    use stubborn_net::{Atom, CompareOp, IntExpr, NetBuilder};
    use stubborn_system::Random;

    use super::*;

    fn random_formula(random: &mut Random, depth: usize) -> Formula {
        if depth == 0 {
            let tokens = IntExpr::tokens(vec![PlaceId(random.below(4) as u32)]);
            let least = IntExpr::constant(random.below(3) as u64);
            return Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, tokens, least));
        }
        let count = 1 + random.below(4);
        let parts = |random: &mut Random| {
            let part = |_| random_formula(random, depth - 1);
            (0..count).map(part).collect()
        };
        match random.below(3) {
            0 => Formula::And(parts(random)),
            1 => Formula::Or(parts(random)),
            _ => random_formula(random, depth - 1).negated(),
        }
    }

    /// A formula holds where all parts of some conjunction do.
    #[test]
    fn formulas_taken_apart_are_the_same() {
        let mut builder = NetBuilder::new("n");
        for place in ["a", "b", "c", "d"] {
            builder.place(place, 0);
        }
        let net = builder.build().unwrap();
        let mut random = Random::new(0x0c0b_e500_0000_0001);
        let (mut several, mut truths) = (0, [0, 0]);
        for _ in 0..2_000 {
            let formula = random_formula(&mut random, 3);
            let apart = cubes(&formula, true);
            assert!(apart.len() <= MOST_CUBES);
            several += usize::from(apart.len() > 1);
            for _ in 0..8 {
                let marking: Vec<u64> = (0..4).map(|_| random.below(4) as u64).collect();
                let holds = |f: &Formula| f.holds(&net, &|p| marking[p.index()]).unwrap();
                let found = apart.iter().any(|cube| cube.iter().all(holds));
                assert_eq!(found, holds(&formula), "{formula:?}");
                truths[usize::from(found)] += 1;
            }
        }
        assert!(several > 500 && truths.iter().all(|n| *n > 2_000));
    }
}
