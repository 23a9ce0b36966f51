//! Shortest runs to deadlocks are as short with stubborn sets as without: `auto` relies on that where it
//! tries a reduction early.

use stubborn_ir::Model;
use stubborn_ir::testing::{dining_philosophers, random_program};
use stubborn_plan::{CheckOptions, Planner, Por, ReductionOptions};
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::{Stop, Target};
use stubborn_system::System;

/// How long the shortest run to a deadlock is, and how many states were seen to know that; `None` if the
/// reduction is not for such systems.
fn shortest(system: &dyn System, por: Por) -> Option<(Option<u64>, u64)> {
    let reduction = ReductionOptions {
        por,
        ..ReductionOptions::default()
    };
    let options = CheckOptions {
        reduction,
        ..CheckOptions::default()
    };
    let report = Planner::new(system, &options).check(&[Target::Deadlock], Stop::Never);
    let report = report.ok()?;
    let violation = report.answers[0].violation.as_ref();
    let states = report.runs.iter().map(|run| run.result.states).sum();
    Some((violation.map(|found| found.length), states))
}

#[test]
fn reduced_searches_find_shortest_runs_to_deadlocks() {
    let mut systems: Vec<Box<dyn System>> = Vec::new();
    for seed in 0..300_u64 {
        systems.push(Box::new(random::system(seed, Shape::in_turn(seed))));
        let program = random_program(seed);
        systems.push(Box::new(Model::new(program).expect("a sound program")));
    }
    let philosophers = Model::new(dining_philosophers(5));
    systems.push(Box::new(philosophers.expect("a sound program")));
    let (mut deep, mut reduced) = (0, 0);
    for (number, system) in systems.iter().enumerate() {
        let Some((expected, all)) = shortest(&**system, Por::None) else {
            panic!("an unreduced search is always possible");
        };
        for algorithm in Algorithm::ALL {
            let por = Por::Chosen(Config::new(*algorithm));
            let Some((length, left)) = shortest(&**system, por) else {
                continue;
            };
            assert_eq!(length, expected, "system {number}, {algorithm:?}");
            deep += usize::from(length > Some(2));
            reduced += usize::from(left < all);
        }
    }
    assert!(deep > 80 && reduced > 120, "{deep} {reduced}");
}
