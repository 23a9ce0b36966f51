//! A budget that is spent, noticed or not, never lets a wrong answer out: by systems that forget
//! steps once it is spent, with every reduction.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use stubborn::reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};
use stubborn::search::proviso::{ClosedSet, OnStack, Proviso, TerminalComponents};
use stubborn::system::{
    Budget, Executor, LabelId, Layout, Random, RelationLevel, Relations, Structure, Successors,
    System, TransitionId,
};
use stubborn::{End, Limit, LoadOptions, Order, Search, Target, load_file};

/// After some calls its executors stop the budget, and forget some steps.
struct Forgetful<'s> {
    inner: &'s dyn System,
    budget: Budget,
    calls: AtomicU64,
    most_calls: u64,
}

impl System for Forgetful<'_> {
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
        Box::new(ForgetfulExecutor {
            inner: self.inner.executor(),
            system: self,
            all: Successors::new(self.layout().words()),
            random: Random::new(self.most_calls),
        })
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.inner.relations(level)
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }
}

struct ForgetfulExecutor<'s> {
    inner: Box<dyn Executor + 's>,
    system: &'s Forgetful<'s>,
    all: Successors,
    random: Random,
}

impl ForgetfulExecutor<'_> {
    fn forget(&mut self, out: &mut Successors) {
        if self.system.calls.fetch_add(1, Ordering::Relaxed) >= self.system.most_calls {
            self.system.budget.stop();
        }
        for successor in self.all.iter() {
            if self.system.budget.spent().is_none() || self.random.below(2) == 0 {
                out.append(successor);
            }
        }
    }
}

impl Executor for ForgetfulExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.all.clear();
        self.inner.successors(state, &mut self.all);
        self.forget(out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.all.clear();
        self.inner.fire(state, transition, &mut self.all);
        self.forget(out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }
}

/// No reduction stumbles over steps that are missing, none takes what is left for everything,
/// and nobody takes a state whose steps were forgotten for a deadlock.
#[test]
fn reduced_searches_of_forgetful_systems_have_no_answer() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    for name in ["cache_coherence.dve", "peterson.dve", "workshop.pnml"] {
        let path = examples.join(name);
        let model = load_file(&path, None, &LoadOptions::default()).expect("an example");
        let relations = model.system().relations(RelationLevel::Reach);
        let full = Search::new(model.system()).run().expect("it runs");
        let stops = full.deadlocks > 0;
        for algorithm in Algorithm::ALL {
            let Ok(plan) = Plan::new(&Config::new(*algorithm), Aim::Deadlocks) else {
                continue;
            };
            let ways: [(Order, usize, Option<&dyn Proviso>); 5] = [
                (Order::BreadthFirst, 1, None),
                (Order::BreadthFirst, 1, Some(&TerminalComponents)),
                (Order::BreadthFirst, 2, Some(&ClosedSet)),
                (Order::DepthFirst, 1, Some(&OnStack)),
                (Order::DepthFirst, 2, None),
            ];
            for (order, threads, proviso) in ways {
                for most_calls in [0, 1, 7, 40] {
                    let system = Forgetful {
                        inner: model.system(),
                        budget: Budget::unlimited(),
                        calls: AtomicU64::new(0),
                        most_calls,
                    };
                    let reduction = StubbornReduction::new(&system, &relations, plan.clone());
                    let Ok(reduction) = reduction else { continue };
                    let search = Search {
                        reduction: Some(&reduction),
                        proviso,
                        order,
                        threads,
                        targets: vec![Target::Deadlock],
                        ..Search::new(&system)
                    };
                    let Ok(result) = search.run() else { continue };
                    let what = format!("{name}, {algorithm:?}, {order:?}, {most_calls}");
                    assert!(stops || result.violations.is_empty(), "{what}");
                    // The trace of a deadlock that was found is replayed after the search.
                    if system.budget.spent().is_some() && result.violations.is_empty() {
                        assert_eq!(result.end, End::Limit(Limit::Interrupted), "{what}");
                    }
                }
            }
        }
    }
}
