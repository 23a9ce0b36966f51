//! Temporal formulas on random nets: the same answers with and without structural reductions and
//! stubborn sets.

use std::time::Duration;

use stubborn_contest::{Examination, Line, Options, Value, examine};
use stubborn_net::{
    Atom, CompareOp, Formula, IntExpr, NetBuilder, PlaceId, ReductionRules, TransitionId,
};
use stubborn_pnml::{ContestProperty, Model, Question};
use stubborn_system::Random;

/// Chains of places with a few connections: something to agglomerate, and cycles.
fn random_model(random: &mut Random) -> Model {
    let mut builder = NetBuilder::new("random");
    let places: Vec<_> = (0..4 + random.below(5))
        .map(|i| builder.place(&format!("p{i}"), [0, 0, 0, 1, 1, 2][random.below(6)]))
        .collect();
    for i in 0..3 + random.below(7) {
        let t = builder.transition(&format!("t{i}"));
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

fn values(model: &Model, properties: &[ContestProperty], options: &Options<'_>) -> Vec<Value> {
    let mut found = vec![Value::Unknown; properties.len()];
    let examination = Examination::LtlCardinality;
    examine(examination, model, properties, options, &mut |line| {
        if let Line::Formula { id, value, .. } = line {
            found[id.parse::<usize>().unwrap()] = value;
        }
    });
    found
}

#[test]
fn reductions_keep_temporal_answers() {
    let mut random = Random::new(0x7e3a_11ad_0fff_0001);
    let plain = Options {
        stubborn_sets: false,
        structural: ReductionRules::NONE,
        equation: false,
        traps: false,
        walks: false,
        time: Some(Duration::from_secs(60)),
        memory: Some(2 << 20),
        ..Options::default()
    };
    let structural = Options {
        structural: ReductionRules::ALL,
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
        let expected = values(&model, &properties, &plain);
        for options in [&structural, &both] {
            let found = values(&model, &properties, options);
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
