//! Reductions that would choose something else another time: the first choice stays.

use stubborn_emptiness::{CycleProviso, Exploration};
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::{Aim, Algorithm, Config, Delete, Plan, StubbornReduction};
use stubborn_system::{BitSet, Expansion, Reducer, Reduction, SetMember};

use loose::loose_system;

use crate::loose;

/// Keeps one transition, and the next one when it is asked again.
struct Fickle;

struct FickleReducer {
    asked: usize,
}

impl Reduction for Fickle {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(FickleReducer { asked: 0 })
    }

    fn name(&self) -> String {
        "fickle".into()
    }

    fn is_function_of_state(&self) -> bool {
        false
    }
}

impl Reducer for FickleReducer {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        let enabled: Vec<_> = expansion.enabled().collect();
        self.asked += 1;
        kept.insert(enabled[self.asked % enabled.len()].index());
        enabled.len() > 1
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}

#[test]
fn what_was_left_out_first_is_put_back() {
    for seed in 0..25 {
        let system = loose_system(&mut Random::new(seed + 1));
        let everything = Exploration::new(&system).run().expect("no limits");
        let exploration = Exploration {
            reduction: Some(&Fickle),
            proviso: "full".parse().expect("it is a name"),
            ..Exploration::new(&system)
        };
        let result = exploration.run().expect("no limits");
        let size = |counts: stubborn_emptiness::space::Counts| (counts.states, counts.transitions);
        assert_eq!(
            size(result.counts),
            size(everything.counts),
            "system {seed}"
        );
    }
}

#[test]
fn sets_that_ask_the_search_keep_deadlocks_with_every_proviso() {
    let mut smaller = 0;
    for seed in 0..25 {
        let system = loose_system(&mut Random::new(seed + 1));
        let relations = relations_over(&system, &system.all_states());
        let everything = Exploration::new(&system).run().expect("no limits");
        let mut config = Config::new(Algorithm::Deletion);
        config.delete = Some(Delete::MaxF);
        let plan = Plan::new(&config, Aim::Deadlocks).expect("allowed for deadlocks");
        let reduction = StubbornReduction::new(&system, &relations, plan).expect("it is simple");
        for proviso in CycleProviso::all() {
            let exploration = Exploration {
                reduction: Some(&reduction),
                relations: Some(&relations),
                proviso,
                ..Exploration::new(&system)
            };
            let result = exploration.run().expect("no limits");
            let about = format!("system {seed}, {proviso}");
            assert_eq!(result.deadlocks, everything.deadlocks, "{about}");
            assert!(result.counts.states <= everything.counts.states, "{about}");
            smaller += u32::from(result.counts.states < everything.counts.states);
        }
    }
    assert!(smaller > 0);
}

#[test]
fn such_sets_are_not_compared() {
    let system = loose_system(&mut Random::new(1));
    let exploration = Exploration {
        reduction: Some(&Fickle),
        ..Exploration::new(&system)
    };
    let refused = exploration.compare(&[CycleProviso::NONE], &[None], &mut |_| {});
    assert!(refused.is_err());
}
