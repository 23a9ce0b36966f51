//! Every algorithm and strategy on random guarded systems: no deadlock lost, no verdict
//! changed, and the sets satisfy their definition.

use crate::common;

use stubborn_reduce::testing::exact::{relations_over, weaken};
use stubborn_reduce::testing::random::{Shape, circles, padded_system, system};
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::validate::explore::explore;
use stubborn_reduce::validate::{Limits, validate};
use stubborn_reduce::{
    Aim, Algorithm, Config, Goals, NeededProviso, Plan, StubbornReduction, Visibility,
};
use stubborn_system::{
    BitSet, Expansion, LabelId, Random, Reason, Reducer, Reduction, Relations, Successors, System,
    TransitionId,
};

/// Right relations of different strength.
fn relations(tiny: &Tiny, random: &mut Random) -> Relations {
    match random.below(4) {
        0 => relations_over(tiny, &tiny.all_states()),
        1 => {
            let reachable = explore(tiny, None, NeededProviso::None, &[], usize::MAX);
            relations_over(tiny, &reachable.states)
        }
        2 => weaken(&relations_over(tiny, &tiny.all_states()), random, 10),
        _ => Relations::from_sets(tiny.structure()),
    }
}

fn goals(tiny: &Tiny, random: &mut Random) -> Goals {
    let labels = tiny.structure().labels.len();
    // Those in front may be padding.
    let any = |random: &mut Random| LabelId::new(labels - 1 - random.below(labels.min(20)));
    let mut goals = match random.below(3) {
        0 => Goals::labels([LabelId::new(labels - 1)]),
        1 => Goals::labels([any(random), any(random)]),
        _ => Goals {
            any_of: vec![vec![any(random), any(random)]],
            transitions: Vec::new(),
        },
    };
    if random.percent(30) {
        let fails = |t: &stubborn_system::TransitionId| tiny.structure().transition(*t).may_fail;
        goals.transitions = tiny.structure().transition_ids().filter(fails).collect();
    }
    goals
}

fn check(tiny: &Tiny, relations: &Relations, config: &Config, aim: Aim, seed: u64) -> bool {
    let Ok(plan) = Plan::new(config, aim) else {
        return false;
    };
    let limits = Limits {
        random_states: 0,
        ..Limits::default()
    };
    match validate(tiny, relations, &plan, &limits) {
        Ok(report) => {
            assert!(report.exhaustive);
            if let Some(violation) = report.violations.first() {
                panic!(
                    "seed {seed}, {}, {:?}: {}",
                    plan.settings,
                    plan.aim,
                    violation.describe(tiny)
                );
            }
            report.states_reduced > 0
        }
        // Ample sets of systems without processes.
        Err(error) => {
            assert!(tiny.structure().processes.is_empty(), "{error}");
            false
        }
    }
}

fn run(seeds: std::ops::Range<u64>, per_seed: usize, padding: (usize, usize)) {
    run_with(&common::all_configs(), seeds, per_seed, padding);
}

fn run_with(
    configs: &[Config],
    seeds: impl IntoIterator<Item = u64>,
    per_seed: usize,
    (labels, transitions): (usize, usize),
) {
    let algorithms: Vec<Algorithm> = Algorithm::ALL
        .iter()
        .copied()
        .filter(|a| configs.iter().any(|c| c.algorithm == *a))
        .collect();
    let mut reduced = 0;
    for seed in seeds {
        let tiny = padded_system(seed, Shape::in_turn(seed), labels, transitions);
        let mut random = Random::new(seed ^ 0xabcd);
        let relations = relations(&tiny, &mut random);
        for _ in 0..per_seed {
            // Algorithms with few combinations would hardly ever be picked among all.
            let algorithm = algorithms[random.below(algorithms.len())];
            let mine: Vec<_> = configs
                .iter()
                .filter(|c| c.algorithm == algorithm)
                .collect();
            let mut config = mine[random.below(mine.len())].clone();
            config.seed = random.bits();
            if random.percent(30) && algorithm != Algorithm::Lpor {
                config.visibility = Visibility::C2;
            }
            let aim = match random.below(4) {
                _ if algorithm == Algorithm::Goal => Aim::Goals(goals(&tiny, &mut random)),
                0 | 2 => Aim::Goals(goals(&tiny, &mut random)),
                1 => Aim::Traces {
                    labels: vec![LabelId::new(tiny.structure().labels.len() - 1)],
                    infinite: random.percent(50),
                },
                _ => Aim::Deadlocks,
            };
            reduced += usize::from(check(&tiny, &relations, &config, aim, seed));
        }
    }
    assert!(reduced > 0);
}

#[test]
fn every_algorithm_keeps_what_it_must() {
    run(0..1_000, 12, (0, 0));
}

#[test]
#[ignore = "long: many more random systems"]
fn every_algorithm_keeps_what_it_must_at_length() {
    run(10_000..20_000, 40, (0, 0));
    run(20_000..20_500, 40, (70, 70));
}

/// Steps with several outcomes on circles: what is put off until after a step must be possible after
/// each of its outcomes, and the relations say of which pairs that is so.
fn follow_any_step(seeds: std::ops::Range<u64>) {
    let mut configs: Vec<Config> = Algorithm::ALL.iter().map(|a| Config::new(*a)).collect();
    for algorithm in [Algorithm::Beam, Algorithm::Deletion, Algorithm::Lpor] {
        configs.push(Config {
            weak: true,
            ..Config::new(algorithm)
        });
    }
    let mut reduced = 0;
    for seed in seeds {
        let tiny = circles(seed);
        let mut random = Random::new(seed);
        let mut relations = relations(&tiny, &mut random);
        if random.percent(20) {
            relations.do_not_meet = None;
        }
        let last = LabelId::new(tiny.structure().labels.len() - 1);
        let aims = [
            Aim::Goals(Goals::labels([last])),
            Aim::Traces {
                labels: vec![last],
                infinite: random.percent(50),
            },
            Aim::Deadlocks,
        ];
        for config in &configs {
            for aim in &aims {
                reduced += usize::from(check(&tiny, &relations, config, aim.clone(), seed));
            }
        }
    }
    assert!(reduced > 0);
}

#[test]
fn whatever_comes_of_a_step_leaves_possible_what_was_put_off() {
    follow_any_step(0..120);
}

#[test]
#[ignore = "long: many more random systems"]
fn whatever_comes_of_a_step_leaves_possible_what_was_put_off_at_length() {
    follow_any_step(10_000..20_000);
}

/// Of what waits for everything else to be disabled, nothing is known, whatever its guards say,
/// except that it waits for the key of a set.
#[test]
fn nobody_relies_on_low_priorities() {
    use Algorithm::{Beam, Deletion, Lpor};
    let mut configs = common::all_configs();
    configs.retain(|c| matches!(c.algorithm, Lpor | Deletion | Beam));
    let with_priorities = (0..3_500).filter(|seed| Shape::in_turn(*seed).priorities);
    run_with(&configs, with_priorities, 8, (0, 0));
}

/// Whole processes: transitions that belong to none, that start anywhere, or that wait for all others.
#[test]
fn ample_sets_keep_what_they_must() {
    let mut configs = common::all_configs();
    configs.retain(|c| matches!(c.algorithm, Algorithm::Ample1 | Algorithm::Ample2));
    let odd = |seed: &u64| {
        Shape::in_turn(*seed).loose
            || Shape::in_turn(*seed).processes && Shape::in_turn(*seed).priorities
    };
    run_with(&configs, (0..4_000).filter(odd), 4, (0, 0));
}

/// Deletion that starts from a set that a closure has left.
#[test]
fn deletion_from_a_closure_keeps_what_it_must() {
    let mut configs = common::all_configs();
    configs.retain(|config| config.algorithm == Algorithm::Clodel);
    run_with(&configs, 0..500, 8, (0, 0));
}

/// Most systems in here have numbers that fit into one word.
#[test]
fn more_labels_and_transitions_change_nothing() {
    run(0..60, 12, (70, 70));
    run(0..4, 24, (1_030, 0));
}

#[test]
fn every_combination_of_strategies_runs() {
    let configs = common::all_configs();
    let tiny = system(3, Shape::in_turn(3));
    let relations = relations_over(&tiny, &tiny.all_states());
    for config in &configs {
        let aim = match config.algorithm {
            Algorithm::Goal => Aim::Goals(Goals::labels([LabelId::new(
                tiny.structure().labels.len() - 1,
            )])),
            _ => Aim::Deadlocks,
        };
        check(&tiny, &relations, config, aim, 3);
    }
}

/// Every member of an explained set has a reason that holds in the state.
#[test]
fn reasons_are_true() {
    let mut explained = 0;
    for seed in 0..60 {
        let tiny = system(seed, Shape::in_turn(seed));
        let structure = tiny.structure();
        let relations = relations_over(&tiny, &tiny.all_states());
        for algorithm in Algorithm::ALL {
            let aim = match algorithm {
                Algorithm::Goal => {
                    Aim::Goals(Goals::labels([LabelId::new(structure.labels.len() - 1)]))
                }
                _ => Aim::Deadlocks,
            };
            let plan = Plan::new(&Config::new(*algorithm), aim).expect("a plan");
            let Ok(reduction) = StubbornReduction::new(&tiny, &relations, plan) else {
                continue;
            };
            let mut reducer = reduction.reducer();
            let mut executor = tiny.executor();
            for state in tiny.all_states() {
                let mut successors = Successors::new(tiny.layout().words());
                executor.successors(&state, &mut successors);
                let mut kept = BitSet::new(structure.transitions.len());
                let mut expansion = Expansion {
                    state: &state,
                    executor: executor.as_mut(),
                    successors: &successors,
                    is_known: None,
                };
                reducer.reduce(&mut expansion, &mut kept);
                let set = reducer.last_set();
                let is_member = |t: TransitionId| set.iter().any(|m| m.transition == t);
                let is_enabled = |t: TransitionId| successors.transitions().contains(&t);
                for member in &set {
                    let new = member.transition;
                    match member.reason {
                        Reason::DoesNotAccord(by) => {
                            assert!(is_member(by) && is_enabled(by));
                            assert!(relations.do_not_accord.0.contains(by, new));
                        }
                        Reason::MayEnable(by, label) => {
                            assert!(is_member(by) && !is_enabled(by));
                            let relation = if executor.label(&state, label) {
                                &relations.may_disable.0
                            } else {
                                &relations.may_enable.0
                            };
                            assert!(relation.contains(label, new));
                        }
                        Reason::NeededByGoal(_) => assert_eq!(*algorithm, Algorithm::Goal),
                        Reason::Start | Reason::Visibility | Reason::NotExcluded => {}
                    }
                    explained += 1;
                }
            }
        }
    }
    assert!(explained > 1_000);
}

/// What a thread is told by another is what it would have computed, and it knows why.
#[test]
fn threads_choose_alike() {
    let mut reduced = 0;
    for seed in 0..40 {
        let tiny = system(seed, Shape::in_turn(seed));
        let relations = relations(&tiny, &mut Random::new(seed));
        for algorithm in Algorithm::ALL {
            let aim = match algorithm {
                Algorithm::Goal => Aim::Goals(goals(&tiny, &mut Random::new(seed))),
                _ => Aim::Deadlocks,
            };
            let plan = Plan::new(&Config::new(*algorithm), aim).expect("a plan");
            let Ok(reduction) = StubbornReduction::new(&tiny, &relations, plan) else {
                continue;
            };
            let mut threads = [reduction.reducer(), reduction.reducer()];
            let mut forgetful = reduction.forgetful_reducer();
            let mut executor = tiny.executor();
            for (at, state) in tiny.all_states().iter().enumerate() {
                let mut successors = Successors::new(tiny.layout().words());
                executor.successors(state, &mut successors);
                let mut choose = |reducer: &mut dyn Reducer| {
                    let mut kept = BitSet::new(tiny.structure().transitions.len());
                    let mut expansion = Expansion {
                        state,
                        executor: executor.as_mut(),
                        successors: &successors,
                        is_known: None,
                    };
                    let leaves_out = reducer.reduce(&mut expansion, &mut kept);
                    (kept, leaves_out, reducer.last_set())
                };
                let expected = choose(&mut *forgetful);
                reduced += usize::from(expected.1);
                for thread in [at % 2, 1 - at % 2] {
                    let chosen = choose(&mut *threads[thread]);
                    assert_eq!(chosen, expected, "seed {seed}, {algorithm:?}");
                }
            }
        }
    }
    assert!(reduced > 1_000, "{reduced}");
}

/// After a member of a weak set that is no key, what was left out may be impossible: a safety
/// proviso alone lost a goal that is one step away.
#[test]
fn weak_sets_and_a_safety_proviso_do_not_lose_goals() {
    let seed = 19_615;
    let tiny = system(seed, Shape::in_turn(seed));
    let relations = relations(&tiny, &mut Random::new(seed ^ 0xabcd));
    for config in common::all_configs().iter().filter(|c| c.weak) {
        let aim = Aim::Goals(Goals::labels([LabelId::new(12), LabelId::new(19)]));
        check(&tiny, &relations, config, aim, seed);
    }
}
