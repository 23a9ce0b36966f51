//! The philosophers' banquet of Geldenhuys, Hansen, Valmari, *Exploring the scope for partial
//! order reduction* (2009), figure 3: two tables of four dining philosophers each, which have
//! nothing to do with each other. Its figures are facts.

use crate::philosophers;

use philosophers::banquet;
use stubborn_ir::Model;
use stubborn_reduce::validate::explore::{Explored, explore};
use stubborn_reduce::validate::{Limits, validate};
use stubborn_reduce::{Aim, Algorithm, Choice, Config, NeededProviso, Plan, StubbornReduction};
use stubborn_system::{
    BitSet, Expansion, Reducer, Reduction, RelationLevel, Relations, Successors, System,
};

fn reduced(model: &Model, config: &Config) -> Explored {
    let relations = Relations::from_sets(model.structure());
    let plan = Plan::new(config, Aim::Deadlocks).expect("a plan");
    let reduction = StubbornReduction::new(model, &relations, plan).expect("a reduction");
    explore(
        model,
        Some(&reduction),
        NeededProviso::None,
        &[],
        usize::MAX,
    )
}

fn counts(explored: &Explored) -> (usize, usize) {
    (explored.states.len(), explored.transitions)
}

#[test]
fn one_table() {
    let model = banquet(1, 4);
    let full = explore(&model, None, NeededProviso::None, &[], usize::MAX);
    assert_eq!(counts(&full), (80, 212));
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample1))),
        (80, 212)
    );
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample2))),
        (48, 76)
    );
}

#[test]
fn two_tables() {
    let model = banquet(2, 4);
    let full = explore(&model, None, NeededProviso::None, &[], usize::MAX);
    assert_eq!(counts(&full), (6_400, 33_920));
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample1))),
        (6_400, 33_920)
    );
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample2))),
        (95, 152)
    );
    for choice in Choice::ALL {
        for algorithm in [Algorithm::Ample1, Algorithm::Ample2] {
            let mut config = Config::new(algorithm);
            config.choice = Some(*choice);
            assert_eq!(reduced(&model, &config).deadlocks, full.deadlocks);
        }
    }
}

#[test]
fn all_algorithms_are_valid_at_one_table() {
    let model = banquet(1, 5);
    let levels = [
        RelationLevel::Sets,
        RelationLevel::Exact,
        RelationLevel::Reach,
    ];
    let algorithms = Algorithm::ALL.iter().filter(|a| **a != Algorithm::Goal);
    for (level, algorithm) in levels
        .iter()
        .flat_map(|l| algorithms.clone().map(move |a| (l, a)))
    {
        let relations = model.relations(*level);
        let plan = Plan::new(&Config::new(*algorithm), Aim::Deadlocks).expect("a plan");
        let report = validate(&model, &relations, &plan, &Limits::default()).expect("a report");
        assert!(report.is_clean(), "{algorithm}: {:?}", report.violations);
        assert!(report.exhaustive);
    }
}

/// What a worker remembers is there for those that come after it, and they choose what one that remembers
/// nothing does.
#[test]
fn the_next_worker_goes_on_with_what_was_remembered() {
    let model = banquet(2, 3);
    let relations = Relations::from_sets(model.structure());
    let states = explore(&model, None, NeededProviso::None, &[], 500);
    let plan = Plan::new(&Config::new(Algorithm::Beam), Aim::Deadlocks).expect("a plan");
    let reduction = StubbornReduction::new(&model, &relations, plan).expect("a reduction");
    let choose = |mut reducer: Box<dyn Reducer + '_>| -> (Vec<BitSet>, u64) {
        let mut executor = model.executor();
        let mut successors = Successors::new(model.layout().words());
        let before = reduction.work();
        let sets = states.states.iter().map(|state| {
            successors.clear();
            executor.successors(state, &mut successors);
            let mut kept = BitSet::new(model.structure().transitions.len());
            let mut expansion = Expansion {
                state,
                executor: executor.as_mut(),
                successors: &successors,
                is_known: None,
            };
            reducer.reduce(&mut expansion, &mut kept);
            kept
        });
        let sets = sets.collect();
        drop(reducer);
        (sets, reduction.work() - before)
    };
    let (computed, _) = choose(reduction.forgetful_reducer());
    let (first, much) = choose(reduction.reducer());
    let (second, little) = choose(reduction.reducer());
    assert!(computed == first && first == second);
    assert!(little < much, "{little} {much}");
}

/// Sets that are explained grow member by member, others in rows of constant length where there are few words of
/// transitions, and those that are remembered do not grow: all three are the same.
#[test]
fn explained_sets_are_the_chosen_ones() {
    for (tables, seats) in [(1, 5), (2, 10), (3, 12), (4, 15), (5, 16)] {
        let model = banquet(tables, seats);
        let relations = Relations::from_sets(model.structure());
        let plan = Plan::new(&Config::new(Algorithm::Beam), Aim::Deadlocks).expect("a plan");
        let reduction = StubbornReduction::new(&model, &relations, plan).expect("a reduction");
        let mut reducers = [
            reduction.forgetful_reducer(),
            reduction.reducer(),
            reduction.reducer(),
        ];
        let mut executor = model.executor();
        let mut state = model.initial_states();
        let mut left_out = 0;
        for step in 0..300_u64 {
            let mut successors = Successors::new(model.layout().words());
            executor.successors(&state, &mut successors);
            for (at, reducer) in reducers.iter_mut().enumerate() {
                // (The last one sees each state twice.)
                for _ in 0..at.max(1) {
                    let mut kept = BitSet::new(model.structure().transitions.len());
                    let mut expansion = Expansion {
                        state: &state,
                        executor: executor.as_mut(),
                        successors: &successors,
                        is_known: None,
                    };
                    left_out += usize::from(reducer.reduce(&mut expansion, &mut kept));
                    let set = reducer.last_set();
                    for t in successors.transitions() {
                        let is_member = set.iter().any(|m| m.transition == *t);
                        assert_eq!(
                            kept.contains(t.index()),
                            is_member,
                            "{tables} tables, {step}"
                        );
                    }
                }
            }
            let Some(last) = successors.len().checked_sub(1) else {
                break;
            };
            let next = (stubborn_system::random::mix(step) % (last as u64 + 1)) as usize;
            state = successors.state(next).to_vec();
        }
        assert!(left_out > 50, "{tables} tables: {left_out}");
    }
}
