//! A check that reaches a limit says so, and never more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stubborn_emptiness::{
    Check, CheckVerdict, CycleProviso, Emptiness, Exploration, Fitting, Property, ReductionRequest,
};
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::{Limit, Limits, SearchError, StoreKind, StoreOptions};
use stubborn_system::{
    Budget, Executor, LabelId, Layout, Relations, Structure, Successors, System, TransitionId,
};

/// Four counters modulo 8, and the property that the first one is 0 again and again.
fn counters() -> (Tiny, Property) {
    let mut system = Tiny::new(&[8; 4]);
    for at in 0..4 {
        system.simple("count", &[], (&[at], &[at]), move |v| {
            v[at] = (v[at] + 1) % 8
        });
    }
    let impossible = system.label("x0 = 8", &[0], |v| v[0] == 8);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("p");
    let ever = formulas.make(Node::Finally(atom));
    let never = formulas.not(ever);
    let labels = vec![impossible];
    let property = Property::from_formula(formulas, never, labels, &Default::default());
    (system, property.expect("the formula is small"))
}

fn verdict(limits: Limits<'_>, emptiness: Emptiness, threads: usize) -> CheckVerdict {
    let (system, property) = counters();
    let check = Check {
        limits,
        emptiness,
        threads,
        ..Check::new(&system, &property)
    };
    check.run().expect("the parts fit together").verdict
}

#[test]
fn limits_end_a_check_without_answer() {
    let interrupted = AtomicBool::new(true);
    let ways = Emptiness::ALL.map(|emptiness| [(emptiness, 1), (emptiness, 3)]);
    for (emptiness, threads) in ways.into_iter().flatten() {
        let none = Limits::default();
        assert_eq!(verdict(none, emptiness, threads), CheckVerdict::Holds);
        let cases = [
            (
                Limits {
                    states: Some(500),
                    ..none
                },
                Limit::States,
            ),
            (
                Limits {
                    memory: Some(20_000),
                    ..none
                },
                Limit::Memory,
            ),
            (
                Limits {
                    time: Some(Duration::ZERO),
                    ..none
                },
                Limit::Time,
            ),
            (
                Limits {
                    interrupt: Some(&interrupted),
                    ..none
                },
                Limit::Interrupted,
            ),
        ];
        for (limits, limit) in cases {
            let result = verdict(limits, emptiness, threads);
            assert_eq!(
                result,
                CheckVerdict::Unknown(limit),
                "{emptiness:?}, {threads}"
            );
        }
    }
}

#[test]
fn lossy_stores_are_refused() {
    let (system, property) = counters();
    let check = Check {
        store: StoreOptions::new(StoreKind::Compact),
        ..Check::new(&system, &property)
    };
    assert!(matches!(check.run(), Err(SearchError::Mismatch(_))));
}

/// A system whose executors stop its budget after some calls, and give up.
struct GivesUp {
    inner: Tiny,
    budget: Budget,
    calls: AtomicU64,
    most_calls: u64,
}

impl System for GivesUp {
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
        Box::new(GivesUpLater(self.inner.executor(), self))
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }
}

struct GivesUpLater<'s>(Box<dyn Executor + 's>, &'s GivesUp);

impl Executor for GivesUpLater<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.1.calls.fetch_add(1, Ordering::Relaxed) >= self.1.most_calls {
            self.1.budget.stop();
            return;
        }
        self.0.successors(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.0.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.0.label(state, label)
    }
}

/// Every run is infinite and comes to `p` again and again. If steps are cut short, a run seems
/// to end where `p` does not hold, and to stay there for ever.
#[test]
fn who_gives_up_says_nothing() {
    let always_again = || {
        let mut system = Tiny::new(&[5; 3]);
        for at in 0..3 {
            system.simple("count", &[], (&[at], &[at]), move |v| {
                v[at] = (v[at] + 1) % 5
            });
        }
        let moved = system.label("sum is even", &[0, 1, 2], |v| {
            v.iter().sum::<i64>() % 2 == 0
        });
        (system, moved)
    };
    let property = |label: LabelId| {
        let mut formulas = Formulas::new();
        let atom = formulas.atom("p");
        let finally = formulas.make(Node::Finally(atom));
        let again = formulas.make(Node::Globally(finally));
        let property = Property::from_formula(formulas, again, vec![label], &Default::default());
        property.expect("the formula is small")
    };
    let ways = Emptiness::ALL.map(|emptiness| [(emptiness, 1), (emptiness, 3)]);
    for (emptiness, threads) in ways.into_iter().flatten() {
        for reduced in [false, true] {
            for most_calls in [0, 1, 2, 3, 10, 50, 100, 124, u64::MAX] {
                let (inner, label) = always_again();
                let property = property(label);
                let relations = Relations::from_sets(inner.structure());
                let system = GivesUp {
                    inner,
                    budget: Budget::unlimited(),
                    calls: AtomicU64::new(0),
                    most_calls,
                };
                let check = Check {
                    emptiness,
                    threads,
                    reduction: reduced.then(|| ReductionRequest {
                        config: Config::new(Algorithm::Beam),
                        relations: &relations,
                        proviso: CycleProviso::default(),
                        fitting: Fitting::default(),
                    }),
                    ..Check::new(&system, &property)
                };
                let expected = match most_calls {
                    u64::MAX => CheckVerdict::Holds,
                    _ => CheckVerdict::Unknown(Limit::Interrupted),
                };
                let verdict = check.run().expect("the parts fit together").verdict;
                let what = format!("{emptiness:?}, {threads}, {reduced}, {most_calls}");
                assert_eq!(verdict, expected, "{what}");
            }
        }
    }
}

#[test]
fn an_exploration_that_gives_up_has_not_seen_everything() {
    for proviso in CycleProviso::all_of_graphs() {
        for most_calls in [0, 1, 60, 4095] {
            let system = GivesUp {
                inner: counters().0,
                budget: Budget::unlimited(),
                calls: AtomicU64::new(0),
                most_calls,
            };
            let exploration = Exploration {
                proviso,
                ..Exploration::new(&system)
            };
            let result = exploration.run().expect("the parts fit together");
            assert_eq!(result.limit, Some(Limit::Interrupted), "{proviso}");
            assert_eq!(result.deadlocks, 0);
        }
    }
}

/// A cycle of many steps that every search finds first, and one of two steps after one other step.
#[test]
fn counterexamples_are_short() {
    let mut system = Tiny::new(&[200, 2, 2]);
    system.simple("count", &[], (&[0], &[0]), |v| v[0] = (v[0] + 1) % 200);
    let off = system.label("x1 = 0", &[1], |v| v[1] == 0);
    system.simple("begin", &[off], (&[1], &[1]), |v| v[1] = 1);
    let on = system.label("x1 = 1", &[1], |v| v[1] == 1);
    system.simple("flip", &[on], (&[1, 2], &[2]), |v| v[2] = 1 - v[2]);
    let up = system.label("x2 = 1", &[2], |v| v[2] == 1);
    // It happens at last that x2 never is 1 any more.
    let mut formulas = Formulas::new();
    let atom = formulas.atom("p");
    let ever = formulas.make(Node::Finally(atom));
    let again = formulas.make(Node::Globally(ever));
    let formula = formulas.not(again);
    let property = Property::from_formula(formulas, formula, vec![up], &Default::default());
    let property = property.expect("the formula is small");
    let ways = Emptiness::ALL.map(|emptiness| [(emptiness, 1), (emptiness, 3)]);
    for (emptiness, threads) in ways.into_iter().flatten() {
        let check = Check {
            emptiness,
            threads,
            ..Check::new(&system, &property)
        };
        let length = |check: &Check<'_>| {
            let result = check.run().expect("the parts fit together");
            assert_eq!(result.verdict, CheckVerdict::Violated);
            let trace = result.counterexample.expect("there is memory").trace;
            (trace.stem().len(), trace.cycle().len())
        };
        assert_eq!(length(&check), (1, 2), "{emptiness:?} {threads}");
    }
}
