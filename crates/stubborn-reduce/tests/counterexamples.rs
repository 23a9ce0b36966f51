//! Systems on which published or plausible variants of the theory are wrong. Each test fails
//! if the corresponding repair is taken out.

use crate::common;

use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::validate::explore::explore;
use stubborn_reduce::validate::sets::{Conditions, ask, check_set};
use stubborn_reduce::validate::{Fault, Limits, claims, validate};
use stubborn_reduce::{
    Aim, Algorithm, Config, Goals, NeededProviso, Plan, Start, StubbornReduction,
};
use stubborn_system::{
    BitSet, LabelId, Matrix, May, Reduction, Relations, System, Transition, TransitionId,
};

fn bits(len: usize, members: &[TransitionId]) -> BitSet {
    let mut set = BitSet::new(len);
    for t in members {
        set.insert(t.index());
    }
    set
}

fn reduction(
    system: &dyn System,
    relations: &Relations,
    config: &Config,
    aim: Aim,
) -> StubbornReduction {
    let plan = Plan::new(config, aim).expect("a valid plan");
    StubbornReduction::new(system, relations, plan).expect("a reduction")
}

/// Inconsistent labelling (Neele, Valmari, Willemse 2020): D1, D2, V and I are not enough for
/// weak sets and infinite traces; D1' is.
#[test]
fn inconsistent_labelling_needs_all_squares() {
    let mut tiny = Tiny::new(&[10]);
    let mut step = |name: &str, edges: &[(i64, i64)]| {
        let edges = edges.to_vec();
        let from: Vec<i64> = edges.iter().map(|(from, _)| *from).collect();
        let guard = tiny.label(format!("{name} is possible"), &[0], move |v| {
            from.contains(&v[0])
        });
        tiny.simple(name, &[guard], (&[0], &[0]), move |v| {
            if let Some((_, to)) = edges.iter().find(|(from, _)| *from == v[0]) {
                v[0] = *to;
            }
        })
    };
    // 0 1 2: the upper row; 3 4 5: after `a`; 6: the end; 7 8 9: after `k`.
    let a1 = step("a1", &[(0, 1), (3, 4), (7, 8)]);
    let a2 = step("a2", &[(1, 2), (4, 5), (8, 9)]);
    let v = step("v", &[(5, 6)]);
    let a = step("a", &[(0, 3), (2, 5)]);
    let k = step("k", &[(0, 7), (1, 8), (2, 9)]);
    let visible = bits(5, &[a1, a2, v]);
    let mut conditions = Conditions {
        squares: false,
        key: true,
        strong: false,
        every_outcome: false,
        visible: Some(visible),
        invisible_key: true,
        goals: None,
        kept_goals: None,
    };
    let start = tiny.initial_states();
    let set = bits(5, &[a, k]);
    assert_eq!(check_set(&tiny, &start, &set, &conditions), []);
    conditions.squares = true;
    let faults = check_set(&tiny, &start, &set, &conditions);
    assert_eq!(faults, [(Fault::Squares(a), vec![a1, a2])]);
}

/// The printed estimate of do-not-left-accord removes pairs in the wrong direction.
#[test]
fn left_accordance_has_a_direction() {
    let mut tiny = Tiny::new(&[2, 2, 2]);
    let is_zero =
        |tiny: &mut Tiny, v: usize| tiny.label(format!("x{v} = 0"), &[v], move |s| s[v] == 0);
    let (p, q, r) = (
        is_zero(&mut tiny, 0),
        is_zero(&mut tiny, 1),
        is_zero(&mut tiny, 2),
    );
    tiny.simple("t", &[p, r], (&[], &[0]), |s| s[0] = 1);
    tiny.simple("k", &[p, r], (&[], &[2]), |s| s[2] = 1);
    tiny.simple("u", &[p, q], (&[], &[1]), |s| s[1] = 1);
    let exact = relations_over(&tiny, &tiny.all_states());
    let structure = tiny.structure();
    let may_enable = |t: TransitionId, by: TransitionId| {
        let guards = &structure.transition(t).guards;
        guards.iter().any(|g| exact.may_enable.0.contains(*g, by))
    };
    let estimate = |removed: &dyn Fn(TransitionId, TransitionId) -> bool| {
        let mut relations = exact.clone();
        relations.do_not_left_accord = May(Matrix::from_fn(3, 3, |t, u| {
            (exact.do_not_accord.0.contains(t, u) || may_enable(t, u)) && !removed(t, u)
        }));
        relations
    };
    // Right: `t` is never enabled after `u`. Printed: `t` disables `u`.
    let right = estimate(&|t, u| exact.must_disable.0.contains(u, t));
    let printed = estimate(&|t, u| exact.must_disable.0.contains(t, u));
    let loses = |relations: &Relations| {
        common::all_configs()
            .iter()
            .filter(|c| c.weak && c.algorithm != Algorithm::Goal)
            .any(|config| {
                let reduction = reduction(&tiny, relations, config, Aim::Deadlocks);
                let full = explore(&tiny, None, NeededProviso::None, &[], 100);
                let reduced = explore(&tiny, Some(&reduction), NeededProviso::None, &[], 100);
                full.deadlocks != reduced.deadlocks
            })
    };
    assert!(!loses(&exact));
    assert!(!loses(&right));
    assert!(loses(&printed), "the wrong direction must show");
}

/// Read sets by states that differ in one variable miss reads through a guard that couples two.
#[test]
fn a_guard_that_couples_variables_hides_a_read() {
    let mut tiny = Tiny::new(&[2, 2, 2]);
    let equal = tiny.label("x0 = x1", &[0, 1], |s| s[0] == s[1]);
    let t = tiny.simple("t", &[equal], (&[], &[2]), |s| s[2] = s[0]);
    let u = tiny.simple("u", &[], (&[0, 1], &[0, 1]), |s| {
        s[0] = (s[0] + 1) % 2;
        s[1] = (s[1] + 1) % 2;
    });
    let exact = relations_over(&tiny, &tiny.all_states());
    assert_eq!(exact.may_disable.0.count(), 0, "u never disables t");
    assert!(exact.do_not_accord.0.contains(t, u));
    // Writes are disjoint, and by that definition neither reads what the other writes.
    let mut wrong = exact.clone();
    wrong.do_not_accord = May(Matrix::empty(2, 2));
    let states = explore(&tiny, None, NeededProviso::None, &[], 100).states;
    let mut report = stubborn_reduce::validate::Report::default();
    claims::refute(&tiny, &wrong, &states, &Limits::default(), &mut report);
    assert!(
        report
            .violations
            .iter()
            .any(|v| v.fault == Fault::Accord(t, u))
    );
    // The fallback of the seam counts what guards test, and is right.
    let sets = Relations::from_sets(tiny.structure());
    assert!(sets.do_not_accord.0.contains(t, u));
}

/// Proposition 1 of Geldenhuys et al. must ask that the process has something to do.
#[test]
fn a_process_that_rests_is_no_ample_set() {
    let mut tiny = Tiny::new(&[2, 2, 2]);
    let mut go = |counter: usize, guarded: bool| {
        let process = tiny.process(counter);
        let here = tiny.label(format!("x{counter} = 0"), &[counter], move |s| {
            s[counter] == 0
        });
        let never = tiny.label(format!("x{counter} = 9"), &[counter], move |s| {
            s[counter] == 9
        });
        let description = Transition {
            name: format!("P{counter} goes"),
            processes: vec![process],
            sources: vec![Some(0)],
            guards: if guarded {
                vec![here, never]
            } else {
                vec![here]
            },
            writes: fields(&[counter]),
            ..Transition::default()
        };
        tiny.transition(description, move |s| {
            let mut s = s.to_vec();
            s[counter] = 1;
            vec![Some(s)]
        });
    };
    go(0, true);
    go(1, false);
    go(2, false);
    let exact = relations_over(&tiny, &tiny.all_states());
    for algorithm in [Algorithm::Ample1, Algorithm::Ample2] {
        let reduction = reduction(&tiny, &exact, &Config::new(algorithm), Aim::Deadlocks);
        let reduced = explore(&tiny, Some(&reduction), NeededProviso::None, &[], 100);
        assert_eq!(reduced.states.len(), 3, "one process after the other");
        assert_eq!(reduced.deadlocks.len(), 1);
        assert!(reduced.deadlocks.contains(&tiny.pack(&[0, 1, 1])));
    }
}

/// Proposition 2 of Geldenhuys et al. assumes that nobody moves the counter of another process.
#[test]
fn moving_the_counter_of_another_process_is_a_conflict() {
    // Counters of P0, P1, P2, and a shared variable.
    let mut tiny = Tiny::new(&[3, 2, 2, 2]);
    let shared_is_free = tiny.label("x3 = 0", &[3], |s| s[3] == 0);
    let mut go =
        |counter: usize, from: i64, guards: &[LabelId], changes: &'static [(usize, i64)]| {
            let process = match tiny.structure().processes.get(counter) {
                Some(_) => stubborn_system::ProcessId::new(counter),
                None => tiny.process(counter),
            };
            let here = tiny.label(format!("x{counter} = {from}"), &[counter], move |s| {
                s[counter] == from
            });
            let description = Transition {
                name: format!("P{counter} from {from}"),
                processes: vec![process],
                sources: vec![Some(from as u32)],
                guards: std::iter::once(here)
                    .chain(guards.iter().copied())
                    .collect(),
                writes: fields(&changes.iter().map(|(v, _)| *v).collect::<Vec<_>>()),
                ..Transition::default()
            };
            tiny.transition(description, move |s| {
                let mut s = s.to_vec();
                for (v, value) in changes {
                    s[*v] = *value;
                }
                vec![Some(s)]
            });
        };
    go(0, 1, &[], &[(0, 2), (3, 1)]);
    // P1 can move only as long as the shared variable is free.
    go(1, 0, &[shared_is_free], &[(1, 1)]);
    // P2 moves P0 to where it takes the shared variable.
    go(2, 0, &[], &[(2, 1), (0, 1)]);
    for relations in [
        relations_over(&tiny, &tiny.all_states()),
        Relations::from_sets(tiny.structure()),
    ] {
        let full = explore(&tiny, None, NeededProviso::None, &[], 100);
        assert!(full.deadlocks.contains(&tiny.pack(&[2, 0, 1, 1])));
        for algorithm in [Algorithm::Ample1, Algorithm::Ample2] {
            let reduction = reduction(&tiny, &relations, &Config::new(algorithm), Aim::Deadlocks);
            let reduced = explore(&tiny, Some(&reduction), NeededProviso::None, &[], 100);
            assert_eq!(reduced.deadlocks, full.deadlocks, "{algorithm}");
        }
    }
}

/// Counting only what can change a label *from its current value* as visible loses states.
#[test]
fn visibility_does_not_depend_on_the_current_value() {
    let mut tiny = Tiny::new(&[2, 2]);
    tiny.start_at(&[0, 1]);
    let p = tiny.label("x0 > 0 and x1 > 0", &[0, 1], |s| s[0] > 0 && s[1] > 0);
    let can_raise = tiny.label("x0 = 0", &[0], |s| s[0] == 0);
    let can_lower = tiny.label("x1 = 1", &[1], |s| s[1] == 1);
    let raise = tiny.simple("raise", &[can_raise], (&[], &[0]), |s| s[0] = 1);
    let lower = tiny.simple("lower", &[can_lower], (&[], &[1]), |s| s[1] = 0);
    let exact = relations_over(&tiny, &tiny.all_states());
    assert!(!exact.do_not_accord.0.contains(raise, lower));
    let start = tiny.initial_states();
    let conditions = |visible: &[TransitionId]| Conditions {
        squares: false,
        key: true,
        strong: true,
        every_outcome: false,
        visible: Some(bits(2, visible)),
        invisible_key: false,
        goals: None,
        kept_goals: None,
    };
    // From `false` only `raise` can change p: with that alone visible, {lower} would do.
    let lower_only = bits(2, &[lower]);
    assert_eq!(
        check_set(&tiny, &start, &lower_only, &conditions(&[raise])),
        []
    );
    let faults = check_set(&tiny, &start, &lower_only, &conditions(&[raise, lower]));
    assert_eq!(faults, [(Fault::Visibility(lower), vec![])]);
    // What can only make the goal false needs those that can make it true.
    let kept = Conditions {
        visible: None,
        kept_goals: Some(Goals::labels([p])),
        ..conditions(&[])
    };
    let faults = check_set(&tiny, &start, &lower_only, &kept);
    assert_eq!(faults, [(Fault::GoalLost(lower), vec![raise])]);
    // The other way round it is no harm, and all changes of p in one set would be too much.
    assert_eq!(check_set(&tiny, &start, &bits(2, &[raise]), &kept), []);
    let beam = reduction(
        &tiny,
        &exact,
        &Config::new(Algorithm::Beam),
        Aim::Goals(Goals::labels([p])),
    );
    let mut executor = tiny.executor();
    let (chosen, _) = ask(&tiny, executor.as_mut(), beam.reducer().as_mut(), &start);
    assert_eq!(chosen, bits(2, &[raise]));
    for config in common::all_configs() {
        let Ok(plan) = Plan::new(&config, Aim::Goals(Goals::labels([p]))) else {
            continue;
        };
        let Ok(reduction) = StubbornReduction::new(&tiny, &exact, plan.clone()) else {
            continue;
        };
        let reduced = explore(&tiny, Some(&reduction), plan.proviso, &[vec![p]], 100);
        assert_eq!(reduced.distances, [Some(1)], "{}", plan.settings);
    }
}

/// Two states: an invisible loop must not put the visible step off for ever.
#[test]
fn a_loop_must_not_hide_what_it_postpones() {
    let mut tiny = Tiny::new(&[2, 2]);
    let loop_on = tiny.simple("loop", &[], (&[0], &[0]), |s| s[0] = 1 - s[0]);
    let not_yet = tiny.label("x1 = 0", &[1], |s| s[1] == 0);
    tiny.simple("show", &[not_yet], (&[], &[1]), |s| s[1] = 1);
    let shown = tiny.label("x1 = 1", &[1], |s| s[1] == 1);
    let exact = relations_over(&tiny, &tiny.all_states());
    let aim = || Aim::Goals(Goals::labels([shown]));
    let goal = [vec![shown]];
    let mut config = Config::new(Algorithm::Closure);
    config.start = Some(Start::Fst);
    let closure = reduction(&tiny, &exact, &config, aim());
    let mut executor = tiny.executor();
    let start = tiny.initial_states();
    let (kept, _) = ask(&tiny, executor.as_mut(), closure.reducer().as_mut(), &start);
    assert_eq!(kept, bits(2, &[loop_on]), "the loop alone is a set");
    let ignoring = explore(&tiny, Some(&closure), NeededProviso::None, &goal, 100);
    assert_eq!(ignoring.distances, [None], "without proviso it is ignored");
    assert_eq!(closure.plan().proviso, NeededProviso::Safety);
    let safe = explore(&tiny, Some(&closure), NeededProviso::Safety, &goal, 100);
    assert!(safe.distances[0].is_some());
    let driven = reduction(&tiny, &exact, &Config::new(Algorithm::Goal), aim());
    let driven = explore(&tiny, Some(&driven), NeededProviso::None, &goal, 100);
    assert_eq!(driven.distances, [Some(1)]);
    assert_eq!(driven.states.len(), 2);
}

/// A transition of low priority can be disabled although all its guards hold: no enabling set
/// is known then, and nothing may be left out because of it, unless the set has a key: while that is
/// enabled, the transition is not.
#[test]
fn low_priority_leaves_nothing_but_a_key_to_rely_on() {
    let mut tiny = Tiny::new(&[2, 2, 2]);
    let zero =
        |tiny: &mut Tiny, v: usize| tiny.label(format!("x{v} = 0"), &[v], move |s| s[v] == 0);
    let (a, b, c) = (zero(&mut tiny, 0), zero(&mut tiny, 1), zero(&mut tiny, 2));
    tiny.simple("a", &[a], (&[], &[0]), |s| s[0] = 1);
    tiny.simple("b", &[b], (&[], &[1]), |s| s[1] = 1);
    let late = Transition {
        name: "late".into(),
        guards: vec![c],
        writes: fields(&[2]),
        priority: 1,
        ..Transition::default()
    };
    tiny.transition(late, |s| vec![Some(vec![s[0], s[1], 1])]);
    // That `a` does not accord with the late one pulls it in.
    let mut relations = relations_over(&tiny, &tiny.all_states());
    relations.do_not_accord = May(Matrix::from_fn(3, 3, |t: TransitionId, u: TransitionId| {
        t.index() == 2 || u.index() == 2 || t == u
    }));
    for config in common::all_configs() {
        if matches!(
            config.algorithm,
            Algorithm::Goal | Algorithm::Ample1 | Algorithm::Ample2
        ) {
            continue;
        }
        let plan = Plan::new(&config, Aim::Deadlocks).expect("a plan");
        let report = validate(&tiny, &relations, &plan, &Limits::default()).expect("a report");
        assert!(
            report.is_clean(),
            "{}: {:?}",
            plan.settings,
            report.violations
        );
        // One-sided dependence does not pull in what a transition is only in the way of.
        if !config.weak && config.algorithm != Algorithm::Lpor {
            let reduction = reduction(&tiny, &relations, &config, Aim::Deadlocks);
            let mut executor = tiny.executor();
            let start = tiny.initial_states();
            let (kept, set) = ask(
                &tiny,
                executor.as_mut(),
                reduction.reducer().as_mut(),
                &start,
            );
            let sizes = match config.algorithm {
                Algorithm::Beam => (1, 2),
                _ => (2, 3),
            };
            assert_eq!((kept.count(), set.len()), sizes, "{}", plan.settings);
        }
    }
}

/// A step that can fail somewhere ends everything there, but runs that do not fail are reduced.
#[test]
fn possible_failure_does_not_prevent_reduction() {
    let mut tiny = Tiny::new(&[2, 2, 3]);
    let zero =
        |tiny: &mut Tiny, v: usize| tiny.label(format!("x{v} = 0"), &[v], move |s| s[v] == 0);
    let (a, b, c) = (zero(&mut tiny, 0), zero(&mut tiny, 1), zero(&mut tiny, 2));
    tiny.simple("a", &[a], (&[], &[0]), |s| s[0] = 1);
    let risky = Transition {
        name: "risky".into(),
        guards: vec![b],
        reads: fields(&[2]),
        writes: fields(&[1]),
        may_fail: true,
        ..Transition::default()
    };
    let risky = tiny.transition(risky, |s| match s[2] {
        2 => vec![None],
        _ => vec![Some(vec![s[0], 1, s[2]])],
    });
    let break_it = tiny.simple("break", &[c], (&[], &[2]), |s| s[2] = 2);
    let relations = Relations::from_sets(tiny.structure());
    for config in common::all_configs() {
        let aim = match config.algorithm {
            Algorithm::Ample1 | Algorithm::Ample2 => continue,
            Algorithm::Goal => Aim::Goals(Goals {
                any_of: Vec::new(),
                transitions: vec![risky],
            }),
            _ => Aim::Deadlocks,
        };
        let plan = Plan::new(&config, aim).expect("a plan");
        let report = validate(&tiny, &relations, &plan, &Limits::default()).expect("a report");
        assert!(
            report.is_clean(),
            "{}: {:?}",
            plan.settings,
            report.violations
        );
        assert!(report.states_reduced > 0, "{}", plan.settings);
        // What decides about failure stays a conflict.
        let reduction = StubbornReduction::new(&tiny, &relations, plan).expect("a reduction");
        let mut executor = tiny.executor();
        let start = tiny.initial_states();
        let (_, set) = ask(
            &tiny,
            executor.as_mut(),
            reduction.reducer().as_mut(),
            &start,
        );
        assert_eq!(set.contains(&risky), set.contains(&break_it));
    }
}

/// Whether a step of low priority is taken depends on everything, and so does whether it fails.
/// `late` fails as soon as `show` was taken, but not after `hide`: then `busy` goes first.
#[test]
fn a_sought_step_of_low_priority_looks_at_everything() {
    let mut tiny = Tiny::new(&[2, 2]);
    let hidden = tiny.label("hidden", &[0], |s| s[0] == 1);
    let open = tiny.label("open", &[0], |s| s[0] == 0);
    let shown = tiny.label("shown", &[1], |s| s[1] == 1);
    let not_yet = tiny.label("not yet", &[1], |s| s[1] == 0);
    let mut low = |name: &str, guard, written: usize, may_fail| {
        let description = Transition {
            name: name.into(),
            guards: vec![guard],
            writes: fields(&[written]),
            may_fail,
            priority: 1,
            ..Transition::default()
        };
        tiny.transition(description, move |s| {
            let mut after = s.to_vec();
            after[written] = 1;
            vec![(!may_fail).then_some(after)]
        })
    };
    low("show", not_yet, 1, false);
    let late = low("late", shown, 1, true);
    low("hide", open, 0, false);
    tiny.simple("busy", &[hidden, shown], (&[], &[]), |_| {});
    let relations = relations_over(&tiny, &tiny.all_states());
    let full = explore(&tiny, None, NeededProviso::None, &[], 100);
    assert_eq!(full.failure(|_| true), Some(2));
    for config in common::all_configs() {
        let aim = Aim::Goals(Goals {
            any_of: Vec::new(),
            transitions: vec![late],
        });
        let Ok(plan) = Plan::new(&config, aim) else {
            continue;
        };
        let proviso = plan.proviso;
        let Ok(reduction) = StubbornReduction::new(&tiny, &relations, plan) else {
            continue;
        };
        let reduced = explore(&tiny, Some(&reduction), proviso, &[], 100);
        let name = &reduction.plan().settings;
        assert!(reduced.failure(|_| true).is_some(), "{name}");
    }
}

/// A safety proviso promises that something leads on to where all is taken; what was left out must
/// still be possible there. In a weak set it need not be: `there` or `back` bring `lose` along, and
/// not `win`, which excludes `lose` and so never comes after it.
#[test]
fn weak_sets_do_not_go_with_a_safety_proviso() {
    let mut tiny = Tiny::new(&[2, 2, 2]);
    let at = [0, 1].map(|value| tiny.label("at", &[0], move |s| s[0] == value));
    let free = tiny.label("free", &[1], |s| s[1] == 0);
    tiny.simple("win", &[free], (&[], &[1, 2]), |s| (s[1], s[2]) = (1, 1));
    for (value, name) in [(0, "there"), (1, "back")] {
        let here = at[value as usize];
        tiny.simple("lose", &[here, free], (&[], &[1]), |s| s[1] = 1);
        tiny.simple(name, &[here], (&[], &[0]), move |s| s[0] = 1 - value);
    }
    let won = tiny.label("won", &[2], |s| s[2] == 1);
    let relations = relations_over(&tiny, &tiny.all_states());
    for config in common::all_configs() {
        let Ok(plan) = Plan::new(&config, Aim::Goals(Goals::labels([won]))) else {
            continue;
        };
        let Ok(reduction) = StubbornReduction::new(&tiny, &relations, plan.clone()) else {
            continue;
        };
        let reduced = explore(&tiny, Some(&reduction), plan.proviso, &[vec![won]], 100);
        assert!(reduced.distances[0].is_some(), "{}", plan.settings);
    }
}

/// A variable's value as a label.
fn is(tiny: &mut Tiny, variable: usize, value: i64) -> LabelId {
    let name = format!("x{variable} = {value}");
    tiny.label(name, &[variable], move |s| s[variable] == value)
}

/// All deadlocks stay with every configuration of the given algorithms.
fn deadlocks_stay(tiny: &Tiny, uses: impl Fn(&Config) -> bool) {
    let relations = relations_over(tiny, &tiny.all_states());
    let full = explore(tiny, None, NeededProviso::None, &[], 100);
    let configs = common::all_configs();
    for config in configs.iter().filter(|config| uses(config)) {
        for seed in 0..8 {
            let config = Config {
                seed,
                ..config.clone()
            };
            let plan = Plan::new(&config, Aim::Deadlocks).expect("a valid plan");
            // Some are about processes, which there are none of.
            let Ok(reduction) = StubbornReduction::new(tiny, &relations, plan) else {
                continue;
            };
            let reduced = explore(tiny, Some(&reduction), NeededProviso::None, &[], 100);
            assert_eq!(full.deadlocks, reduced.deadlocks, "{config:?}");
        }
    }
}

fn deletes_from_a_closure(config: &Config) -> bool {
    config.algorithm == Algorithm::Clodel
}

/// `d` needs `a` and `b`, so either is an enabling set. A closure has one of them: deletion must not
/// give that up for the other, which was never there.
#[test]
fn an_enabling_set_outside_of_a_closure_is_not_whole() {
    let mut tiny = Tiny::new(&[3, 2, 2]);
    let free = is(&mut tiny, 0, 0);
    let mut enables = |variable: usize| {
        let (before, after) = (is(&mut tiny, variable, 0), is(&mut tiny, variable, 1));
        let name = format!("sets x{variable}");
        tiny.simple(&name, &[before], (&[], &[variable]), move |s| {
            s[variable] = 1;
        });
        after
    };
    let (a, b) = (enables(1), enables(2));
    tiny.simple("k", &[free], (&[], &[0]), |s| s[0] = 1);
    tiny.simple("d", &[free, a, b], (&[], &[0]), |s| s[0] = 2);
    deadlocks_stay(&tiny, deletes_from_a_closure);
}

/// In a weak closure of `k`, `t` is no key: it competes with `u`, which is not there. So it must not
/// stay alone.
#[test]
fn not_every_member_of_a_weak_closure_is_a_key() {
    let mut tiny = Tiny::new(&[3, 3]);
    let (free, open) = (is(&mut tiny, 0, 0), is(&mut tiny, 1, 0));
    let taken = is(&mut tiny, 1, 1);
    tiny.simple("k", &[free], (&[], &[0]), |s| s[0] = 1);
    tiny.simple("t", &[open], (&[], &[1]), |s| s[1] = 1);
    tiny.simple("u", &[open], (&[], &[1]), |s| s[1] = 2);
    tiny.simple("v", &[free, taken], (&[], &[0]), |s| s[0] = 2);
    deadlocks_stay(&tiny, deletes_from_a_closure);
}

/// Of more than 64 labels: 64 excludes 65, which holds. That 0 holds says nothing about it.
#[test]
fn labels_beyond_a_word_are_excluded_by_their_own_rows() {
    let mut tiny = Tiny::new(&[3, 2, 2]);
    let free = is(&mut tiny, 0, 0);
    let (before, after) = (is(&mut tiny, 1, 0), is(&mut tiny, 1, 1));
    for number in 3..64 {
        tiny.label(format!("padding {number}"), &[], |_| true);
    }
    let (no, yes) = (is(&mut tiny, 2, 1), is(&mut tiny, 2, 0));
    assert_eq!((free.index(), no.index(), yes.index()), (0, 64, 65));
    tiny.simple("k", &[free], (&[], &[0]), |s| s[0] = 1);
    tiny.simple("a", &[before], (&[], &[1]), |s| s[1] = 1);
    // Nobody makes `yes` true, so taken for false it would never be waited for.
    tiny.simple("d", &[free, yes, after], (&[], &[0]), |s| s[0] = 2);
    deadlocks_stay(&tiny, |config| config.algorithm != Algorithm::Goal);
}

/// A step of P0 that starts anywhere does not depend on who moves P0 to where it has another one to choose.
#[test]
fn a_step_at_no_location_does_not_keep_others_from_moving_the_counter() {
    // Counters of P0 and P1, and what P0 does once.
    let mut tiny = Tiny::new(&[2, 2, 3]);
    let processes = [0, 1].map(|counter| tiny.process(counter));
    let (there, start) = (is(&mut tiny, 0, 1), is(&mut tiny, 1, 0));
    let open = is(&mut tiny, 2, 0);
    let mut step =
        |process: usize, source, guards: &[LabelId], changes: &'static [(usize, i64)]| {
            let description = Transition {
                name: format!("P{process}"),
                processes: vec![processes[process]],
                sources: vec![source],
                guards: guards.to_vec(),
                writes: fields(&changes.iter().map(|(v, _)| *v).collect::<Vec<_>>()),
                ..Transition::default()
            };
            tiny.transition(description, move |s| {
                let mut s = s.to_vec();
                changes.iter().for_each(|(v, value)| s[*v] = *value);
                vec![Some(s)]
            });
        };
    step(0, None, &[open], &[(2, 1)]);
    step(0, Some(1), &[there, open], &[(2, 2)]);
    step(1, Some(0), &[start], &[(0, 1), (1, 1)]);
    let is_ample = |c: &Config| matches!(c.algorithm, Algorithm::Ample1 | Algorithm::Ample2);
    deadlocks_stay(&tiny, is_ample);
}

/// Where one step is all that is visible, it is no set for infinite runs: another process may go round for ever.
#[test]
fn sets_for_infinite_runs_have_something_invisible() {
    let mut tiny = Tiny::new(&[2, 2]);
    for counter in [0, 1] {
        let process = tiny.process(counter);
        for from in 0..2 - counter as i64 % 2 {
            let here = is(&mut tiny, counter, from);
            let description = Transition {
                name: format!("P{counter} from {from}"),
                processes: vec![process],
                sources: vec![Some(from as u32)],
                guards: vec![here],
                writes: fields(&[counter]),
                ..Transition::default()
            };
            tiny.transition(description, move |s| {
                let mut s = s.to_vec();
                s[counter] = 1 - from;
                vec![Some(s)]
            });
        }
    }
    let seen = is(&mut tiny, 1, 1);
    let relations = relations_over(&tiny, &tiny.all_states());
    for config in common::all_configs() {
        let aim = Aim::Traces {
            labels: vec![seen],
            infinite: true,
        };
        let Ok(plan) = Plan::new(&config, aim) else {
            continue;
        };
        let report = validate(&tiny, &relations, &plan, &Limits::default()).expect("processes");
        let faults: Vec<_> = report.violations.iter().map(|v| &v.fault).collect();
        assert!(faults.is_empty(), "{config:?}: {faults:?}");
    }
}
