//! A comparison of provisos has the counts of separate explorations.

use stubborn_emptiness::{CycleProviso, Exploration};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};

use loose::loose_system;

use crate::loose;

#[test]
fn comparisons_have_the_counts_of_separate_explorations() {
    let mut provisos = CycleProviso::all();
    provisos.retain(|proviso| *proviso != CycleProviso::STICKY);
    let seeds = [None, Some(1), Some(2)];
    let strong: CycleProviso = "opt-scp".parse().expect("it is a name");
    let weak: CycleProviso = "opt-wcp".parse().expect("it is a name");
    let (mut compared, mut by_strong, mut by_weak) = (0, 0, 0);
    for seed in 0..25 {
        let system = loose_system(&mut Random::new(seed + 1));
        let relations = relations_over(&system, &system.all_states());
        let aim = Aim::Traces {
            labels: Vec::new(),
            infinite: true,
        };
        let plan = Plan::new(&Config::new(Algorithm::Beam), aim).expect("it goes with LTL");
        let reduction = StubbornReduction::new(&system, &relations, plan).expect("it is simple");
        let exploration = Exploration {
            reduction: Some(&reduction),
            ..Exploration::new(&system)
        };
        let compare = exploration.compare(&provisos, &seeds, &mut |one| {
            let alone = Exploration {
                proviso: one.proviso,
                seed: one.seed,
                ..exploration.clone()
            };
            let alone = alone.run().expect("there are no limits");
            assert_eq!(
                one.counts, alone.counts,
                "system {seed}, {}, order {:?}",
                one.proviso, one.seed
            );
            assert_eq!(one.limit, None);
            compared += 1;
            if one.proviso == strong {
                by_strong += one.counts.expanded_by_proviso;
            } else if one.proviso == weak {
                by_weak += one.counts.expanded_by_proviso;
            }
        });
        compare.expect("there are no limits");
    }
    assert_eq!(compared, 25 * provisos.len() * seeds.len());
    // The strong proviso asks for no more.
    assert!(by_strong <= by_weak, "{by_strong} {by_weak}");
    assert!(by_strong > 0);
}

#[test]
fn sticky_transitions_are_not_compared() {
    let system = loose_system(&mut Random::new(1));
    let exploration = Exploration::new(&system);
    let refused = exploration.compare(&[CycleProviso::STICKY], &[None], &mut |_| {});
    assert!(refused.is_err());
}
