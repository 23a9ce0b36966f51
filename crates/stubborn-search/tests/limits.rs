//! Limits end a search cleanly, with what was learnt.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::models::{counters, counters_with_sum};
use common::run;
use stubborn_search::{
    End, Limit, Limits, Order, Progress, Search, StoreKind, StoreOptions, Target, TraceMissing,
};
use stubborn_system::{
    BitSet, Budget, Executor, Expansion, LabelId, Layout, Reducer, Reduction, SetMember, Structure,
    Successors, System, TransitionId,
};

fn in_all_ways(check: impl Fn(Order, usize, StoreOptions)) {
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2, 4] {
            for kind in [StoreKind::Tree, StoreKind::Plain, StoreKind::Compact] {
                check(order, threads, StoreOptions::new(kind));
            }
        }
    }
}

#[test]
fn states_are_limited() {
    let model = counters(5, 9);
    in_all_ways(|order, threads, store| {
        let result = run(&Search {
            order,
            threads,
            store,
            limits: Limits {
                states: Some(10_000),
                ..Limits::default()
            },
            ..Search::new(&model)
        });
        assert_eq!(result.end, End::Limit(Limit::States));
        assert!(
            (10_001..12_000).contains(&result.states),
            "{}",
            result.states
        );
    });
}

#[test]
fn a_search_that_waits_goes_on_where_it_was() {
    let model = counters(5, 9);
    let full = run(&Search::new(&model));
    in_all_ways(|order, threads, store| {
        let search = Search {
            order,
            threads,
            store,
            ..Search::new(&model)
        };
        let mut exploration = search.begin().expect("everything fits");
        for most in [10_000, 20_000, 40_000] {
            exploration.explore(Some(most));
            assert!(exploration.is_waiting());
            // The level that is being expanded was complete, and so were those before it.
            let levels: u64 = exploration.level_sizes().iter().sum();
            assert!(levels <= most && (levels > 0) == (order == Order::BreadthFirst));
        }
        exploration.explore(None);
        assert!(!exploration.is_waiting());
        let states = exploration.level_sizes().to_vec();
        exploration.explore(None);
        assert_eq!(exploration.level_sizes(), states, "it had ended");
        let result = exploration.finish().expect("traces replay");
        assert_eq!(
            (result.states, result.transitions),
            (full.states, full.transitions)
        );
        assert!(matches!(result.end, End::Complete | End::Lossy));
        let once = run(&search);
        if threads == 1 {
            assert_eq!(result.depth, once.depth);
        }
        if order == Order::BreadthFirst {
            assert_eq!(result.level_sizes, once.level_sizes);
        }
    });
}

#[test]
fn a_search_that_waits_often_misses_nothing() {
    let model = counters(3, 6);
    let full = run(&Search::new(&model));
    in_all_ways(|order, threads, store| {
        let search = Search {
            order,
            threads,
            store,
            ..Search::new(&model)
        };
        let mut exploration = search.begin().expect("everything fits");
        let mut most = 0;
        while {
            exploration.explore(Some(most));
            exploration.is_waiting()
        } {
            most += 7;
        }
        let result = exploration.finish().expect("traces replay");
        assert_eq!(
            (result.states, result.transitions),
            (full.states, full.transitions)
        );
    });
}

#[test]
fn a_limit_that_is_just_enough_is_no_limit() {
    let model = counters(3, 9);
    let limits = Limits {
        states: Some(729),
        ..Limits::default()
    };
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        let result = run(&Search {
            order,
            limits,
            ..Search::new(&model)
        });
        assert!(result.is_complete());
    }
}

#[test]
fn memory_is_limited() {
    let model = counters(6, 12);
    for megabytes in [0, 1, 4] {
        in_all_ways(|order, threads, store| {
            let limit = megabytes << 20;
            let search = Search {
                order,
                threads,
                store,
                targets: vec![Target::Deadlock],
                limits: Limits {
                    memory: Some(limit),
                    ..Limits::default()
                },
                ..Search::new(&model)
            };
            let result = run(&search);
            assert_eq!(result.end, End::Limit(Limit::Memory));
            assert!(result.memory.peak <= limit);
            // Fingerprints need a table of some size to begin with.
            let learns = megabytes >= 4 && search.store.kind != StoreKind::Compact;
            let states = result.states;
            assert!(!learns || states > 10_000, "{states}, {search:?}");
        });
    }
}

#[test]
fn time_is_limited() {
    let model = counters(7, 20);
    in_all_ways(|order, threads, store| {
        let result = run(&Search {
            order,
            threads,
            store,
            limits: Limits {
                time: Some(Duration::from_millis(20)),
                ..Limits::default()
            },
            ..Search::new(&model)
        });
        assert_eq!(result.end, End::Limit(Limit::Time));
        assert!(result.time.explore < Duration::from_secs(5));
    });
}

#[test]
fn a_flag_interrupts_and_progress_is_seen() {
    let model = counters(7, 20);
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2] {
            let interrupt = AtomicBool::new(false);
            let seen = Mutex::new(Vec::<Progress>::new());
            let observer = |progress: &Progress| {
                let mut seen = seen.lock().unwrap();
                seen.push(*progress);
                if seen.len() == 2 {
                    interrupt.store(true, Ordering::Relaxed);
                }
            };
            let result = run(&Search {
                order,
                threads,
                observer: Some(&observer),
                limits: Limits {
                    interrupt: Some(&interrupt),
                    ..Limits::default()
                },
                ..Search::new(&model)
            });
            assert_eq!(result.end, End::Limit(Limit::Interrupted));
            let seen = seen.lock().unwrap();
            assert_eq!(seen.len(), 2);
            assert!(seen[0].states < seen[1].states && seen[1].states <= result.states);
            assert!(seen[1].transitions > 0 && seen[1].depth > 0 && seen[1].memory > 0);
            assert!(seen[1].states_per_second > 0.0 && seen[1].queue > 0);
        }
    }
}

/// Counters whose executor, or whose reduction, has a bug.
struct Panicking<'a> {
    inner: &'a dyn System,
}

struct PanickingExecutor<'a> {
    inner: Box<dyn Executor + 'a>,
    states: u32,
}

impl System for Panicking<'_> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(PanickingExecutor {
            inner: self.inner.executor(),
            states: 0,
        })
    }
}

impl Executor for PanickingExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.states += 1;
        assert!(self.states < 20_000, "a bug in the executor");
        self.inner.successors(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.inner.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }
}

#[test]
fn a_panic_of_one_thread_stops_all_and_is_passed_on() {
    let model = counters(5, 12);
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2, 4] {
            let system = Panicking { inner: &model };
            let search = Search {
                order,
                threads,
                ..Search::new(&system)
            };
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| search.run()));
            let panic = caught.expect_err("the panic is passed on");
            let text = panic.downcast_ref::<&str>().copied();
            assert_eq!(text, Some("a bug in the executor"));
        }
    }
}

/// Keeps everything, one transition at a time, and says so.
struct KeepsAll;

impl Reduction for KeepsAll {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(KeepsAll)
    }

    fn name(&self) -> String {
        "all".into()
    }
}

impl Reducer for KeepsAll {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        expansion.enabled().for_each(|t| {
            kept.insert(t.index());
        });
        false
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}

#[test]
fn a_reduction_that_keeps_everything_changes_nothing() {
    let model = counters(4, 6);
    let full = common::facts(&model);
    in_all_ways(|order, threads, store| {
        let search = Search {
            reduction: Some(&KeepsAll),
            order,
            threads,
            store,
            ..Search::new(&model)
        };
        common::assert_same(&full, &run(&search), &format!("{search:?}"));
    });
}

/// A system with a budget. After some calls its executors stop the budget, and give up.
struct Limited<'a> {
    inner: &'a dyn System,
    budget: Budget,
    calls: AtomicU64,
    most_calls: u64,
    /// How long a call takes.
    pause: Duration,
}

impl<'a> Limited<'a> {
    fn new(inner: &'a dyn System, budget: Budget) -> Self {
        Self {
            inner,
            budget,
            calls: AtomicU64::new(0),
            most_calls: u64::MAX,
            pause: Duration::ZERO,
        }
    }
}

struct LimitedExecutor<'a> {
    inner: Box<dyn Executor + 'a>,
    system: &'a Limited<'a>,
}

impl System for Limited<'_> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(LimitedExecutor {
            inner: self.inner.executor(),
            system: self,
        })
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Executor for LimitedExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.system.calls.fetch_add(1, Ordering::Relaxed) >= self.system.most_calls {
            self.system.budget.stop();
            return;
        }
        if !self.system.pause.is_zero() {
            std::thread::sleep(self.system.pause);
        }
        self.inner.successors(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.inner.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }
}

#[test]
fn the_budget_of_the_system_ends_a_search() {
    let model = counters(7, 20);
    let budgets = [
        (
            Limit::Time,
            (|| Budget::unlimited().with_time(Some(Duration::from_millis(20)))) as fn() -> Budget,
        ),
        (Limit::Time, || {
            Budget::unlimited().with_time(Some(Duration::ZERO))
        }),
        (Limit::Memory, || {
            Budget::unlimited().with_memory(Some(1 << 20), || 1 << 21)
        }),
    ];
    in_all_ways(|order, threads, store| {
        for (limit, budget) in &budgets {
            let system = Limited::new(&model, budget());
            let result = run(&Search {
                order,
                threads,
                store: store.clone(),
                ..Search::new(&system)
            });
            assert_eq!(result.end, End::Limit(*limit), "{order:?}, {threads}");
            assert!(result.time.explore < Duration::from_secs(5));
        }
    });
}

/// Memory that somebody else takes ends the search when it is noticed, not only at the start.
#[test]
fn memory_is_looked_at_while_searching() {
    static USED: AtomicU64 = AtomicU64::new(0);
    let model = counters(7, 20);
    for (order, threads) in [(Order::BreadthFirst, 2), (Order::DepthFirst, 1)] {
        USED.store(0, Ordering::Relaxed);
        let gauge = || USED.load(Ordering::Relaxed) as usize;
        let budget = Budget::unlimited().with_memory(Some(1 << 30), gauge);
        let system = Limited::new(&model, budget);
        let observer = |_: &Progress| USED.store(1 << 31, Ordering::Relaxed);
        let result = run(&Search {
            order,
            threads,
            observer: Some(&observer),
            ..Search::new(&system)
        });
        assert_eq!(result.end, End::Limit(Limit::Memory), "{order:?}");
        assert!(result.states > 1000);
    }
}

/// Successors that were cut short are no deadlock, and a search that has nothing left because
/// of them has not seen everything.
#[test]
fn who_gives_up_says_nothing() {
    let model = counters(3, 6);
    for most_calls in [0, 1, 33, 215] {
        in_all_ways(|order, threads, store| {
            let system = Limited {
                most_calls,
                ..Limited::new(&model, Budget::unlimited())
            };
            let result = run(&Search {
                order,
                threads,
                store,
                targets: vec![Target::Deadlock],
                ..Search::new(&system)
            });
            let what = format!("{order:?}, {threads} threads, {most_calls} calls");
            assert_eq!(result.end, End::Limit(Limit::Interrupted), "{what}");
            assert!(result.violations.is_empty(), "{what}");
            assert_eq!(result.deadlocks, 0, "{what}");
        });
    }
    let all = Limited::new(&model, Budget::unlimited());
    assert!(run(&Search::new(&all)).is_complete());
}

/// What was found in time stays found; its trace gets some more time, but not for ever.
#[test]
fn violations_outlive_the_budget() {
    let (model, reached) = counters_with_sum(7, 20, 30);
    let timed = |pause: Duration| Limited {
        pause,
        ..Limited::new(
            &model,
            Budget::unlimited().with_time(Some(Duration::from_millis(300))),
        )
    };
    for (pause, missing) in [
        (Duration::ZERO, None),
        // Thirty steps of this take longer than anybody waits.
        (Duration::from_millis(60), Some(TraceMissing::Time)),
    ] {
        let (system, replay) = (timed(Duration::ZERO), timed(pause));
        let started = Instant::now();
        let result = run(&Search {
            order: Order::DepthFirst,
            targets: vec![Target::Label(reached), Target::Errors],
            replay: Some(&replay),
            ..Search::new(&system)
        });
        assert_eq!(result.end, End::Limit(Limit::Time));
        let violation = result.violation(Target::Label(reached));
        let violation = violation.expect("the first path leads there");
        assert_eq!(violation.trace_missing, missing);
        assert_eq!(violation.trace.is_none(), missing.is_some());
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}
