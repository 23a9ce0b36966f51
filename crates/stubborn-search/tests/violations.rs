//! Violations and their traces: found, nearest, the same on any number of threads.

use crate::common;

use common::models::{
    Builder, counters, counters_with_sum, is, overflow, peterson, philosophers, producer_consumer,
};
use common::protocol::LockProtocol;
use common::{exact_stores, facts, roomy_lossy_stores, run};
use stubborn_ir::{Command, Expr, Variable};
use stubborn_search::{
    End, Limits, Order, Search, SearchError, Stop, StoreKind, StoreOptions, Target, TraceMissing,
    replay,
};
use stubborn_system::System;

fn targets() -> Vec<Target> {
    vec![Target::Deadlock, Target::Errors, Target::Assertions]
}

#[test]
fn philosophers_starve_after_as_many_steps_as_there_are() {
    let model = philosophers(5);
    for threads in [1, 2, 4] {
        for store in exact_stores().into_iter().chain(roomy_lossy_stores()) {
            let search = Search {
                targets: vec![Target::Deadlock],
                threads,
                store,
                ..Search::new(&model)
            };
            let result = run(&search);
            let violation = result.violation(Target::Deadlock).expect("a deadlock");
            assert_eq!(violation.length, 5);
            match &violation.trace {
                Some(trace) => assert_eq!(trace.len(), 5),
                None => assert_eq!(violation.trace_missing, Some(TraceMissing::LossyStore)),
            }
            assert!(threads > 1 || violation.trace.is_some(), "{search:?}");
        }
    }
}

/// Where all goes that fails is no state of the model: whatever is in its bits, nothing holds there.
#[test]
fn nothing_is_said_about_the_state_after_a_failure() {
    let mut b = Builder::new("overflow");
    let x = b.program.variable(Variable::integer("x", -1, 2, 0));
    let body = vec![b.set(x, Expr::plus(Expr::Var(x), Expr::Const(1)))];
    b.program.command(Command {
        name: "count".into(),
        body,
        ..Command::default()
    });
    let targets: Vec<Target> = (-1..=2)
        .map(|value| Target::Label(b.program.label(is(x, value))))
        .collect();
    let model = b.finish();
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        let result = run(&Search {
            targets: targets.clone(),
            order,
            ..Search::new(&model)
        });
        assert_eq!(result.states, 4, "with the one after the failure");
        assert!(result.violation(targets[0]).is_none());
        assert_eq!(result.violations.len(), 3);
    }
}

#[test]
fn peterson_is_right_and_the_broken_one_is_not() {
    let (right, both) = peterson(false);
    let (broken, _) = peterson(true);
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2] {
            let search = |system| Search {
                order,
                threads,
                targets: vec![Target::Label(both)],
                stop: Stop::FirstViolation,
                ..Search::new(system)
            };
            let result = run(&search(&right));
            assert!(result.violations.is_empty() && result.is_complete());
            let result = run(&search(&broken));
            assert_eq!(result.violations.len(), 1);
            let trace = result.violations[0].trace.as_ref().expect("a trace");
            if order == Order::BreadthFirst {
                assert_eq!(trace.len(), 6);
            }
        }
    }
}

#[test]
fn assertions_and_errors_are_steps() {
    let model = producer_consumer(2, 4, true);
    let search = Search {
        targets: targets(),
        ..Search::new(&model)
    };
    let result = run(&search);
    assert!(result.is_complete());
    assert_eq!(result.violations.len(), 1);
    let violation = &result.violations[0];
    assert_eq!(violation.target, Target::Assertions);
    // Four messages sent, four received, four checked: the last check fails.
    assert_eq!(violation.length, 12);
    let trace = violation.trace.as_ref().expect("a trace");
    let last = trace.step(trace.len() - 1);
    assert_eq!(
        last.outcome
            .sites(model.structure())
            .map(|s| s.message.as_str())
            .collect::<Vec<_>>(),
        ["messages in order"]
    );

    let model = overflow(6);
    let result = run(&Search {
        targets: targets(),
        ..Search::new(&model)
    });
    assert_eq!(result.violations.len(), 1, "the error state is no deadlock");
    assert_eq!(
        (result.violations[0].target, result.violations[0].length),
        (Target::Errors, 6)
    );
    assert_eq!(result.deadlocks, 1);
}

#[test]
fn valid_ends_are_told_from_invalid_ones() {
    let mut b = Builder::new("ends");
    let p = b.process("p", &["start", "good", "bad"]);
    b.step(p, (0, 1), None, vec![]);
    b.step(p, (0, 2), None, vec![]);
    let good = stubborn_ir::Expr::at(&b.program, p, 1);
    b.program.valid_end = Some(b.program.label(good));
    let model = b.finish();
    let result = run(&Search {
        targets: vec![Target::Deadlock, Target::InvalidEnd],
        ..Search::new(&model)
    });
    assert_eq!((result.deadlocks, result.invalid_ends), (2, Some(1)));
    let counts: Vec<_> = result.violations.iter().map(|v| v.count).collect();
    assert_eq!(counts, [2, 1]);
    let result = run(&Search::new(&counters(1, 3)));
    assert_eq!(result.invalid_ends, None);
}

#[test]
fn a_system_without_any_language_keeps_its_promise() {
    let system = LockProtocol::new(4);
    let result = run(&Search {
        targets: vec![Target::Deadlock, Target::Label(system.two_inside())],
        threads: 2,
        ..Search::new(&system)
    });
    assert!(result.is_complete() && result.violations.is_empty());
}

#[test]
fn traces_of_random_programs_are_nearest_and_the_same_on_any_number_of_threads() {
    let mut violated = 0;
    for seed in 0..100 {
        let model = common::random::program(seed);
        let facts = facts(&model);
        if facts.states > 20_000 {
            continue;
        }
        for stop in [Stop::Never, Stop::FirstViolation, Stop::AllViolated] {
            let mut first = None;
            for threads in [1, 2, 4] {
                for store in exact_stores() {
                    let search = Search {
                        targets: targets(),
                        stop,
                        threads,
                        store,
                        ..Search::new(&model)
                    };
                    let result = run(&search);
                    let found: Vec<_> = result
                        .violations
                        .iter()
                        .map(|v| (v.target, v.count, v.trace.clone().expect("a trace")))
                        .collect();
                    for (target, _, trace) in &found {
                        let nearest = match target {
                            Target::Deadlock => facts.nearest_deadlock,
                            // Which of the two came first is checked below.
                            _ => facts.nearest_failure.min(Some(trace.len() as u64)),
                        };
                        assert!(Some(trace.len() as u64) >= nearest);
                        if *target == Target::Deadlock {
                            assert_eq!(Some(trace.len() as u64), nearest, "seed {seed}");
                        }
                    }
                    let failure = found.iter().filter(|(t, ..)| *t != Target::Deadlock);
                    let nearest = failure.map(|(.., trace)| trace.len() as u64).min();
                    if stop == Stop::Never || nearest.is_some() {
                        assert_eq!(nearest, facts.nearest_failure, "seed {seed}");
                    }
                    let numbers = (result.states, result.transitions, result.end, found);
                    match &first {
                        None => first = Some(numbers),
                        Some(first) => assert_eq!(*first, numbers, "seed {seed} {search:?}"),
                    }
                }
            }
            violated += usize::from(first.is_some_and(|(.., found)| !found.is_empty()));
        }
    }
    assert!(violated > 60, "only {violated} searches found something");
}

#[test]
fn depth_first_traces_of_random_programs_can_be_replayed() {
    for seed in 0..60 {
        let model = common::random::program(seed);
        let facts = facts(&model);
        if facts.states > 20_000 {
            continue;
        }
        for stop in [Stop::Never, Stop::FirstViolation] {
            for threads in [1, 2, 4] {
                for store in exact_stores().into_iter().chain(roomy_lossy_stores()) {
                    let search = Search {
                        targets: targets(),
                        order: Order::DepthFirst,
                        stop,
                        threads,
                        store,
                        ..Search::new(&model)
                    };
                    // Each trace was replayed and confirmed, or this would fail.
                    let result = run(&search);
                    let deadlock = result.violation(Target::Deadlock);
                    let failures = result.violations.len() - usize::from(deadlock.is_some());
                    if stop == Stop::Never {
                        assert_eq!(deadlock.is_some(), facts.nearest_deadlock.is_some());
                        assert_eq!(failures > 0, facts.nearest_failure.is_some());
                    }
                    assert!(result.violations.iter().all(|v| v.trace.is_some()));
                    let any = facts.nearest_deadlock.or(facts.nearest_failure).is_some();
                    assert_eq!(!result.violations.is_empty(), any, "seed {seed}");
                }
            }
        }
    }
}

#[test]
fn deep_stacks_give_long_traces() {
    let n = 60_000;
    let mut b = Builder::new("long");
    let x = b.integer("x", n);
    let below = stubborn_ir::Expr::less(stubborn_ir::Expr::Var(x), stubborn_ir::Expr::Const(n));
    let below = b.program.label(below);
    let one = stubborn_ir::Expr::Const(1);
    let body = vec![b.set(x, stubborn_ir::Expr::plus(stubborn_ir::Expr::Var(x), one))];
    b.program.command(stubborn_ir::Command {
        name: "count".into(),
        guards: vec![below],
        body,
        ..stubborn_ir::Command::default()
    });
    let end = b.program.label(is(x, n));
    let model = b.finish();
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2] {
            let result = run(&Search {
                order,
                threads,
                targets: vec![Target::Label(end)],
                ..Search::new(&model)
            });
            let trace = result.violations[0].trace.as_ref().expect("a trace");
            assert_eq!(trace.len(), n as usize);
            assert_eq!(result.depth, n as u64);
        }
    }
}

#[test]
fn a_search_that_finds_something_at_the_very_end_is_complete() {
    let mut b = Builder::new("short");
    let p = b.process("p", &["start", "end"]);
    b.step(p, (0, 1), None, vec![]);
    let model = b.finish();
    let search = Search {
        targets: vec![Target::Deadlock],
        stop: Stop::FirstViolation,
        ..Search::new(&model)
    };
    let result = run(&search);
    assert_eq!((result.violations.len(), result.end), (1, End::Complete));
}

#[test]
fn a_path_that_is_none_is_refused_loudly() {
    let model = philosophers(3);
    let initial = model.initial_states();
    assert!(replay(&model, initial.clone(), None).is_ok_and(|trace| trace.is_empty()));
    let twice = [initial.clone(), initial.clone()].concat();
    for path in [vec![], twice, vec![7; initial.len()]] {
        let error = replay(&model, path, None).expect_err("no path");
        assert!(matches!(error, SearchError::ReplayFailed(_)));
        assert!(error.to_string().contains("bug in the checker"));
    }
}

#[test]
fn a_lossy_store_that_is_far_too_small_reports_only_real_violations() {
    let model = philosophers(7);
    let store = StoreOptions {
        bitstate_bytes: Some(64),
        ..StoreOptions::new(StoreKind::Bitstate)
    };
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2] {
            let result = run(&Search {
                order,
                threads,
                store: store.clone(),
                targets: vec![Target::Deadlock],
                ..Search::new(&model)
            });
            assert!(result.states < 3_u64.pow(7));
            for violation in &result.violations {
                assert!(violation.trace.is_some() || violation.trace_missing.is_some());
            }
        }
    }
}

#[test]
fn memory_may_be_enough_for_the_verdict_but_not_for_the_trace() {
    let (model, bad) = counters_with_sum(5, 9, 40);
    let mut seen = [0; 3];
    for step in 0..30 {
        let result = run(&Search {
            targets: vec![Target::Label(bad)],
            limits: Limits {
                memory: Some(500_000 + step * 100_000),
                ..Limits::default()
            },
            ..Search::new(&model)
        });
        match result.violations.first() {
            None => seen[0] += usize::from(!result.is_complete()),
            Some(violation) => match (&violation.trace, violation.trace_missing) {
                (None, Some(TraceMissing::Memory)) => seen[1] += 1,
                (Some(trace), None) => seen[2] += usize::from(trace.len() == 40),
                other => panic!("{other:?}"),
            },
        }
    }
    assert_eq!(seen.iter().sum::<usize>(), 30, "{seen:?}");
    assert!(seen.iter().all(|s| *s > 0), "{seen:?}");
}
