//! The validating checker finds errors that are planted in relations.

use stubborn_reduce::testing::exact::{Part, break_one, relations_over};
use stubborn_reduce::testing::random::{Shape, system};
use stubborn_reduce::validate::explore::explore;
use stubborn_reduce::validate::{Fault, Limits, Report, claims, sets, validate};
use stubborn_reduce::{Aim, Algorithm, Config, NeededProviso, Plan, StubbornReduction};
use stubborn_system::{Random, Reduction};

/// One pair less than what really happens is always found.
#[test]
fn every_wrong_pair_is_refuted() {
    let mut tried = [0; Part::ALL.len()];
    for seed in 0..200_u64 {
        let shape = Shape {
            processes: seed.is_multiple_of(2),
            nondeterminism: seed.is_multiple_of(3),
            failures: !seed.is_multiple_of(5),
            priorities: seed.is_multiple_of(4),
            ..Shape::default()
        };
        let tiny = system(seed, shape);
        let states = explore(&tiny, None, NeededProviso::None, &[], usize::MAX).states;
        let exact = relations_over(&tiny, &states);
        let mut clean = Report::default();
        claims::refute(&tiny, &exact, &states, &Limits::default(), &mut clean);
        assert!(clean.is_clean(), "{:?}", clean.violations);
        let mut random = Random::new(seed);
        for (at, part) in Part::ALL.iter().enumerate() {
            let Some(broken) = break_one(&exact, *part, &mut random) else {
                continue;
            };
            let mut report = Report::default();
            claims::refute(&tiny, &broken, &states, &Limits::default(), &mut report);
            assert!(!report.is_clean(), "seed {seed}: {part:?} was not refuted");
            assert!(!report.violations[0].describe(&tiny).is_empty());
            tried[at] += 1;
        }
    }
    assert!(tried.iter().all(|count| *count > 50), "{tried:?}");
}

/// Wrong relations lead to wrong sets, which the checker of sets finds by itself, and names
/// state, set and sequence; whenever a deadlock is lost, it has found the reason.
#[test]
fn wrong_sets_are_found_by_their_definition() {
    let parts = [
        Part::MayEnable,
        Part::MayDisable,
        Part::DoNotAccord,
        Part::DoNotLeftAccord,
    ];
    let mut found = [0; 4];
    let mut lost = 0;
    for seed in 0..400 {
        let tiny = system(seed, Shape::default());
        let states = explore(&tiny, None, NeededProviso::None, &[], usize::MAX).states;
        let exact = relations_over(&tiny, &states);
        let mut random = Random::new(seed);
        for (at, part) in parts.iter().enumerate() {
            let Some(broken) = break_one(&exact, *part, &mut random) else {
                continue;
            };
            let mut config = Config::new(Algorithm::Deletion);
            config.weak = *part == Part::DoNotLeftAccord;
            let plan = Plan::new(&config, Aim::Deadlocks).expect("a plan");
            let reduction = StubbornReduction::new(&tiny, &broken, plan.clone()).expect("valid");
            let mut report = Report::default();
            let limits = Limits::default();
            sets::check(&tiny, &reduction, &plan, &[], &states, &limits, &mut report);
            let wrong = |f: &Fault| {
                matches!(
                    f,
                    Fault::Commutation(_) | Fault::NotStrong(_) | Fault::NoKey
                )
            };
            let wrong = report.violations.iter().find(|v| wrong(&v.fault));
            if let Some(violation) = wrong {
                found[at] += 1;
                assert!(!violation.set.is_empty() && !violation.sequence.is_empty());
            }
            let full = explore(&tiny, None, NeededProviso::None, &[], usize::MAX);
            let dyn_reduction: &dyn Reduction = &reduction;
            let reduced = explore(
                &tiny,
                Some(dyn_reduction),
                NeededProviso::None,
                &[],
                usize::MAX,
            );
            if full.deadlocks != reduced.deadlocks {
                lost += 1;
                assert!(
                    wrong.is_some(),
                    "seed {seed}: a deadlock lost for no reason"
                );
            }
        }
    }
    assert!(found.iter().all(|count| *count > 5), "{found:?}");
    assert!(lost > 0);
}

/// On a model that is too large to be checked everywhere, a sample is.
#[test]
fn large_models_are_sampled() {
    let tiny = system(6, Shape::default());
    let relations = relations_over(&tiny, &tiny.all_states());
    let plan = Plan::new(&Config::new(Algorithm::Beam), Aim::Deadlocks).expect("a plan");
    let limits = Limits {
        exhaustive_states: 3,
        sampled_states: 5,
        states_around: 2,
        random_states: 20,
        ..Limits::default()
    };
    let report = validate(&tiny, &relations, &plan, &limits).expect("a report");
    assert!(report.is_clean(), "{:?}", report.violations);
    assert!(!report.exhaustive && !report.outcomes_compared);
    assert!((1..=5).contains(&report.states_checked));
    assert_eq!(report.states_tried, report.states_checked + 20);
}
