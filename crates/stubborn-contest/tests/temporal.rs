//! Temporal formulas on random nets: the same answers with and without structural reductions and
//! stubborn sets.

use std::time::Duration;

use stubborn_contest::{Examination, Line, Options, Value, examine};
use stubborn_net::{
    Atom, Branching, CompareOp, Formula, IntExpr, NetBuilder, Paths, PlaceId, ReductionRules,
    TransitionId,
};
use stubborn_pnml::{ContestProperty, Model, Question};
use stubborn_system::Random;

/// Chains of places with a few connections: something to agglomerate, and cycles.
fn random_model(random: &mut Random) -> Model {
    let mut builder = NetBuilder::new("random");
    let places: Vec<_> = (0..4 + random.below(5))
        .map(|i| builder.place(&format!("p{i}"), [0, 0, 0, 1, 1, 2][random.below(6)]))
        .collect();
    let inhibitors = random.below(2) == 0;
    for i in 0..3 + random.below(7) {
        let t = builder.transition(&format!("t{i}"));
        if inhibitors && random.below(3) == 0 {
            let place = places[random.below(places.len())];
            builder.inhibitor(place, t, 1 + random.below(2) as u32);
        }
        let mut place = || places[random.below(places.len())];
        let (from, to, other) = (place(), place(), place());
        builder.input(from, t, 1);
        if random.below(8) > 0 {
            builder.output(t, to, 1);
        }
        match random.below(8) {
            0 => builder.input(other, t, 1),
            1 => {
                builder.input(other, t, 1);
                builder.output(t, other, 1);
            }
            _ => {}
        }
    }
    Model::from_net(builder.build().unwrap())
}

fn random_atom(random: &mut Random, model: &Model) -> Formula {
    let place = |random: &mut Random| PlaceId(random.below(model.net.place_count()) as u32);
    Formula::Atom(match random.below(3) {
        0 => Atom::Fireable(vec![TransitionId(
            random.below(model.net.transition_count()) as u32,
        )]),
        1 => Atom::Compare(
            CompareOp::LessOrEqual,
            IntExpr::constant(1 + random.below(2) as u64),
            IntExpr::tokens(vec![place(random)]),
        ),
        _ => Atom::Compare(
            CompareOp::LessOrEqual,
            IntExpr::tokens(vec![place(random)]),
            IntExpr::tokens(vec![place(random)]),
        ),
    })
}

fn random_formula(random: &mut Random, model: &Model, depth: usize) -> Formula {
    if depth == 0 {
        return random_atom(random, model);
    }
    let mut part = || Box::new(random_formula(random, model, depth - 1));
    let (left, right) = (part(), part());
    match random.below(7) {
        0 => Formula::Not(left),
        1 => Formula::And(vec![*left, *right]),
        2 => Formula::Or(vec![*left, *right]),
        3 => Formula::Globally(left),
        4 => Formula::Finally(left),
        5 => Formula::Until(left, right),
        _ => match random.below(4) {
            0 => Formula::Next(left),
            _ => Formula::Globally(Box::new(Formula::Finally(left))),
        },
    }
}

/// A formula of branching time; one without next now and then.
fn random_branching(random: &mut Random, model: &Model, depth: usize, next: bool) -> Branching {
    if depth == 0 {
        let atom = random_atom(random, model);
        let other = random_atom(random, model);
        return Branching::State(match random.below(5) {
            0 => Formula::And(vec![atom, other.negated()]),
            1 => Formula::Or(vec![atom, other]),
            2 => atom.negated(),
            _ => atom,
        });
    }
    let paths = if random.below(2) == 0 {
        Paths::All
    } else {
        Paths::Some
    };
    let mut part = || Box::new(random_branching(random, model, depth - 1, next));
    let (left, right) = (part(), part());
    match random.below(8) {
        0 => Branching::Not(left),
        1 => Branching::And(vec![*left, *right]),
        2 => Branching::Or(vec![*left, *right]),
        3 if next => Branching::Next(paths, left),
        3 | 4 => Branching::Globally(paths, left),
        5 => Branching::Finally(paths, left),
        6 => Branching::Finally(paths, Box::new(Branching::And(vec![*left, *right]))),
        _ => Branching::Until(paths, left, right),
    }
}

fn values(
    examination: Examination,
    model: &Model,
    properties: &[ContestProperty],
    options: &Options<'_>,
) -> Vec<Value> {
    let mut found = vec![Value::Unknown; properties.len()];
    examine(examination, model, properties, options, &mut |line| {
        if let Line::Formula { id, value, .. } = line {
            found[id.parse::<usize>().unwrap()] = value;
        }
    });
    found
}

/// No technique but plain search.
fn plain() -> Options<'static> {
    Options {
        stubborn_sets: false,
        structural: ReductionRules::NONE,
        equation: false,
        traps: false,
        walks: false,
        time: Some(Duration::from_secs(60)),
        memory: Some(2 << 20),
        ..Options::default()
    }
}

/// Compares answers about branching time with every technique and without any; how many do not hold and
/// hold.
fn compare_branching(nets: usize, seed: u64) -> [usize; 2] {
    let mut random = Random::new(seed);
    let plain = plain();
    let all = Options {
        time: plain.time,
        memory: plain.memory,
        ..Options::default()
    };
    let equation = Options {
        equation: true,
        ..plain.clone()
    };
    let mut verdicts = [0, 0];
    for number in 0..nets {
        let model = random_model(&mut random);
        let properties: Vec<ContestProperty> = (0..4)
            .map(|i| {
                let (depth, next) = (1 + random.below(3), random.below(2) == 0);
                let formula = random_branching(&mut random, &model, depth, next);
                ContestProperty {
                    id: i.to_string(),
                    question: Question::Ctl(formula),
                    span: stubborn_diagnostics::Span::default(),
                }
            })
            .collect();
        let examination = Examination::CtlCardinality;
        let expected = values(examination, &model, &properties, &plain);
        for options in [&all, &equation] {
            let found = values(examination, &model, &properties, options);
            for ((found, expected), property) in found.iter().zip(&expected).zip(&properties) {
                if let (Value::Truth(found), Value::Truth(expected)) = (found, expected) {
                    assert_eq!(found, expected, "net {number}: {:?}", property.question);
                    verdicts[usize::from(*found)] += 1;
                }
            }
        }
    }
    verdicts
}

#[test]
fn techniques_keep_answers_about_branching_time() {
    let verdicts = compare_branching(150, 0x7e3a_11ad_0fff_0002);
    assert!(verdicts.iter().all(|n| *n > 300), "{verdicts:?}");
}

#[test]
#[ignore = "long: 10,000 nets with four formulas each"]
fn techniques_keep_many_answers_about_branching_time() {
    let verdicts = compare_branching(10_000, 0x7e3a_11ad_0fff_0003);
    assert!(verdicts.iter().all(|n| *n > 20_000), "{verdicts:?}");
}

#[test]
fn reductions_keep_temporal_answers() {
    let mut random = Random::new(0x7e3a_11ad_0fff_0001);
    let plain = plain();
    let structural = Options {
        structural: ReductionRules::WITHOUT_RUNS,
        ..plain.clone()
    };
    let both = Options {
        stubborn_sets: true,
        ..structural.clone()
    };
    let (mut holds, mut fails) = (0, 0);
    for number in 0..250 {
        let model = random_model(&mut random);
        let properties: Vec<ContestProperty> = (0..6)
            .map(|i| {
                let depth = 1 + random.below(3);
                ContestProperty {
                    id: i.to_string(),
                    question: Question::Ltl(random_formula(&mut random, &model, depth)),
                    span: stubborn_diagnostics::Span::default(),
                }
            })
            .collect();
        let examination = Examination::LtlCardinality;
        let expected = values(examination, &model, &properties, &plain);
        for options in [&structural, &both] {
            let found = values(examination, &model, &properties, options);
            for ((found, expected), property) in found.iter().zip(&expected).zip(&properties) {
                if *found == Value::Unknown || *expected == Value::Unknown {
                    continue;
                }
                assert_eq!(found, expected, "net {number}: {:?}", property.question);
                holds += usize::from(*found == Value::Truth(true));
                fails += usize::from(*found == Value::Truth(false));
            }
        }
    }
    assert!(holds > 300 && fails > 300, "{holds} {fails}");
}
