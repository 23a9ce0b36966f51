//! Place invariants and bounds of the corpus: they hold, and most places have one. What they
//! say about a reduced net holds in its markings. What traps exclude is not reachable, and what holds
//! after a step is told before it.

use crate::common;

use std::collections::HashSet;

use common::{corpus, instances, is_enabled, load_instance, random_net};
use stubborn_net::{
    Atom, BoundSource, Bounds, CompareOp, Formula, IntExpr, InvariantBudget, Invariants, Linear,
    Linearise, Net, NetBuilder, PlaceId, Preserve, Reduced, ReductionRules, StateEquation,
    TransitionId,
};
use stubborn_system::Random;

const TIME: std::time::Duration = std::time::Duration::from_secs(10);

#[test]
fn invariants_of_the_corpus_are_invariants() {
    let Some(corpus) = corpus() else { return };
    let (mut places, mut unknown) = (0, 0);
    for instance in instances(&corpus) {
        // Mostly unbounded in truth, and larger than all others together.
        if instance.starts_with("VehicularWifi") {
            continue;
        }
        let net = load_instance(&corpus, &instance).net;
        let invariants = Invariants::find(
            &net,
            InvariantBudget {
                operations: 1_000_000,
            },
        );
        assert!(invariants.check(&net), "{instance}");
        let bounds = Bounds::new(&net, &invariants);
        places += net.place_count();
        unknown += net
            .places()
            .filter(|p| bounds.source(*p) == BoundSource::Unknown)
            .count();
    }
    assert!(
        unknown * 100 < places,
        "{unknown} of {places} places have no bound"
    );
}

/// The reachable markings; none if they are too many.
fn markings(net: &Net, limit: usize) -> Option<Vec<Vec<u64>>> {
    let mut all = vec![net.initial_marking().to_vec()];
    let mut known: HashSet<Vec<u64>> = all.iter().cloned().collect();
    let mut next = 0;
    while next < all.len() {
        for t in net.transitions() {
            let marking = &all[next];
            if is_enabled(net, t, marking) {
                let mut target = marking.clone();
                for (place, change) in net.effects(t) {
                    target[place.index()] = target[place.index()].checked_add_signed(change)?;
                }
                if known.insert(target.clone()) {
                    all.push(target);
                }
            }
        }
        if all.len() > limit {
            return None;
        }
        next += 1;
    }
    Some(all)
}

#[test]
fn what_is_known_of_a_net_holds_in_the_reduced_one() {
    let mut random = Random::new(0x0b0d_0b0d_7777_1234);
    let (mut compared, mut smaller) = (0, 0);
    for number in 0..3_000 {
        let net = random_net(&mut random);
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let watched = vec![PlaceId(random.below(net.place_count()) as u32)];
        for preserve in [
            Preserve::Deadlocks,
            Preserve::Places(watched.clone()),
            Preserve::Runs(watched.clone()),
        ] {
            let reduced = Reduced::new(&net, &preserve, ReductionRules::ALL);
            let known = reduced.invariants(&invariants);
            let bounds = Bounds::new(&reduced.net, &known);
            let Some(markings) = markings(&reduced.net, 300) else {
                continue;
            };
            for marking in &markings {
                for invariant in known.all() {
                    let terms = invariant.weights.iter();
                    let sum: u128 = terms
                        .map(|(p, w)| u128::from(*w) * u128::from(marking[p.index()]))
                        .sum();
                    let fine = if invariant.constant {
                        sum == invariant.total
                    } else {
                        sum <= invariant.total
                    };
                    assert!(fine, "net {number}, {preserve:?}, {invariant:?}");
                    compared += 1;
                }
                for place in reduced.net.places() {
                    let most = bounds.bound(place).unwrap_or(u64::MAX);
                    assert!(marking[place.index()] <= most, "net {number}, {preserve:?}");
                }
            }
            smaller += usize::from(reduced.net.place_count() < net.place_count());
        }
    }
    assert!(compared > 20_000 && smaller > 1_000, "{compared} {smaller}");
}

/// A token passes many stages and takes one of several ways in each: a semiflow for every
/// combination of ways.
#[test]
fn too_many_semiflows_leave_no_place_without_a_bound() {
    let mut builder = NetBuilder::new("stages");
    let mut stage: Vec<PlaceId> = vec![builder.place("start", 3)];
    for number in 0..40 {
        let next: Vec<PlaceId> = (0..6)
            .map(|way| builder.place(&format!("p{number}.{way}"), 0))
            .collect();
        let step = builder.transition(&format!("t{number}"));
        stage
            .iter()
            .for_each(|place| builder.input(*place, step, 1));
        next.iter()
            .for_each(|place| builder.output(step, *place, 1));
        stage = next;
    }
    let back = builder.transition("back");
    stage
        .iter()
        .for_each(|place| builder.input(*place, back, 1));
    builder.output(back, PlaceId(0), 1);
    let net = builder.build().unwrap();
    let invariants = Invariants::find(&net, InvariantBudget::default());
    assert!(invariants.check(&net));
    assert!(net.places().all(|p| invariants.bound(p) == Some(3)));
    // Some megabytes at most.
    let entries: usize = invariants.all().iter().map(|i| i.weights.len()).sum();
    assert!(entries < 100_000, "{entries}");
}

/// Pairs of places, marked or empty: what traps exclude is in no reachable marking, and they exclude
/// more than the state equation alone.
#[test]
fn traps_exclude_nothing_that_is_reachable() {
    let mut random = Random::new(0x07a9_07a9_07a9_0001);
    let (mut alone, mut together) = (0, 0);
    for number in 0..400 {
        let net = random_net(&mut random);
        let Some(all) = markings(&net, 300) else {
            continue;
        };
        let equation = StateEquation::new(&net);
        let with_traps = StateEquation::new(&net);
        let places: Vec<PlaceId> = net.places().collect();
        for _ in 0..12 {
            let wanted = [(); 2].map(|()| (*random.pick(&places), random.one_in(2)));
            let constraint = |(place, marked): (PlaceId, bool)| match marked {
                true => Linear::new([(place, 1)], 1).unwrap(),
                false => Linear::new([(place, -1)], 0).unwrap(),
            };
            let both = wanted.map(constraint);
            let reached = |m: &Vec<u64>| wanted.iter().all(|(p, w)| (m[p.index()] > 0) == *w);
            let excluded = with_traps.excludes_with_traps(&both, TIME);
            assert!(
                !excluded || !all.iter().any(reached),
                "net {number}: {wanted:?}"
            );
            alone += usize::from(equation.excludes(&both, TIME));
            together += usize::from(excluded);
        }
    }
    assert!(alone > 100 && together > alone + 20, "{alone} {together}");
}

/// That transitions are enabled or disabled, for whatever reason, is excluded only where it never is so.
#[test]
fn linear_programs_exclude_nothing_that_is_reachable() {
    let mut random = Random::new(0x11ea_0000_11ea_0003);
    let (mut excluded, mut possible) = (0, 0);
    for number in 0..400 {
        let net = random_net(&mut random);
        let Some(all) = markings(&net, 100) else {
            continue;
        };
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let bounds = Bounds::new(&net, &invariants);
        let equation = StateEquation::new(&net);
        let linear = Linearise::new(&net, &bounds);
        let deadlock = Formula::Atom(Atom::Deadlock);
        let fireable = net
            .transitions()
            .map(|t| Formula::Atom(Atom::Fireable(vec![t])));
        for formula in [deadlock].into_iter().chain(fireable) {
            for formula in [formula.clone(), formula.negated()] {
                let never = linear.never(&equation, &formula, TIME);
                let holds = |m: &Vec<u64>| formula.holds(&net, &|p| m[p.index()]).unwrap();
                assert!(
                    !(never && all.iter().any(holds)),
                    "net {number}, {formula:?}"
                );
                excluded += usize::from(never);
                possible += usize::from(!never);
            }
        }
    }
    assert!(excluded > 300 && possible > 1_000, "{excluded} {possible}");
}

/// What holds after a step is told before it.
#[test]
fn statements_move_backwards_over_steps() {
    let mut random = Random::new(0x07a9_07a9_07a9_0002);
    let mut seen = [0, 0];
    for number in 0..300 {
        let net = random_net(&mut random);
        let Some(all) = markings(&net, 100) else {
            continue;
        };
        let places: Vec<PlaceId> = net.places().collect();
        let transitions: Vec<TransitionId> = net.transitions().collect();
        for marking in &all {
            let mut sum = || {
                let mut sum = IntExpr::tokens(vec![*random.pick(&places), *random.pick(&places)]);
                sum.constant = random.below(3) as u64;
                sum
            };
            let compare = Atom::Compare(CompareOp::LessOrEqual, sum(), sum());
            let fireable = Atom::Fireable(vec![*random.pick(&transitions)]);
            let statement = Formula::And(vec![
                Formula::Atom(compare),
                Formula::Atom(fireable).negated(),
            ]);
            for t in &transitions {
                let tokens = |place: PlaceId| marking[place.index()];
                if !is_enabled(&net, *t, marking) {
                    continue;
                }
                let mut after = marking.clone();
                for (place, change) in net.effects(*t) {
                    let tokens = &mut after[place.index()];
                    *tokens = tokens.checked_add_signed(change).unwrap();
                }
                let value = statement.holds(&net, &|place| after[place.index()]);
                let before = statement.after(&net, *t).unwrap();
                assert_eq!(before.holds(&net, &tokens), value, "net {number}");
                seen[usize::from(value.unwrap())] += 1;
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 400), "{seen:?}");
}
