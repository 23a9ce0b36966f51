//! What every protocol is put through.

use stubborn_protocol::{Model, Reduction, Value};
use stubborn_reduce::validate::{Limits, validate};
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan};
use stubborn_system::{RelationLevel, System};

fn configs() -> Vec<Config> {
    let weak = |algorithm| Config {
        weak: true,
        ..Config::new(algorithm)
    };
    vec![
        Config::new(Algorithm::Goal),
        weak(Algorithm::Goal),
        Config::new(Algorithm::Beam),
        weak(Algorithm::Beam),
        Config::new(Algorithm::Lpor),
        weak(Algorithm::Lpor),
        Config::new(Algorithm::Deletion),
    ]
}

/// Relations and sets at all states, or at some of many.
pub(crate) fn validate_all<M: Value>(model: &Model<M>) {
    let limits = Limits {
        exhaustive_states: 1_500,
        sampled_states: 60,
        states_around: 2_000,
        ..Limits::default()
    };
    let bad = model.structure().properties.iter().map(|p| p.violated_by);
    let goals = Aim::Goals(Goals::labels(bad));
    for level in [
        RelationLevel::Sets,
        RelationLevel::Syntax,
        RelationLevel::Reach,
    ] {
        let relations = model.relations(level);
        for config in configs() {
            for aim in [goals.clone(), Aim::Deadlocks] {
                let Ok(plan) = Plan::new(&config, aim) else {
                    continue;
                };
                let report = validate(model, &relations, &plan, &limits).expect("a report");
                let first = report.violations.first();
                let text = first.map(|v| v.describe(model)).unwrap_or_default();
                assert!(report.is_clean(), "{level:?}, {}: {text}", plan.settings);
            }
        }
    }
}

/// The same verdicts with and without reduction; gives the numbers of states.
pub(crate) fn compare<M: Value>(model: &Model<M>) -> Vec<(String, u64)> {
    let full = model
        .check()
        .unreduced()
        .all_violations()
        .ends_too()
        .run()
        .expect("a report");
    let verdicts = |report: &stubborn_protocol::Report| -> Vec<String> {
        report.failures.iter().map(|f| f.property.clone()).collect()
    };
    let mut counts = vec![("none".to_owned(), full.states())];
    let mut reductions = vec![Reduction::Auto, Reduction::Messages];
    reductions.extend(configs().into_iter().map(Reduction::Chosen));
    reductions.extend([false, true].map(|net| Reduction::Printed { net }));
    for reduction in reductions {
        for level in [RelationLevel::Syntax, RelationLevel::Reach] {
            let checker = model.check().relations(level).all_violations();
            let checker = checker.reduction(reduction.clone());
            let by_goal =
                matches!(&reduction, Reduction::Chosen(c) if c.algorithm == Algorithm::Goal);
            // What is driven by goals does not look for ends.
            let checker = if by_goal { checker } else { checker.ends_too() };
            let report = checker.run().expect("a report");
            let mut expected = verdicts(&full);
            expected.retain(|name| !by_goal || name != "no end");
            assert_eq!(verdicts(&report), expected, "{reduction:?} {level:?}");
            assert!(report.misuses.is_empty(), "{:?}", report.misuses);
            let (name, result) = &report.searches[0];
            counts.push((format!("{name} {level:?}"), result.states));
        }
    }
    for (name, count) in &counts {
        eprintln!("{count:>8} {name}");
    }
    counts
}
