//! Deletion is minimal: no set that satisfies lemma 1 of Laarman et al. (2014) has fewer of
//! the same enabled transitions. By trying all sets.

use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{Shape, system};
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::validate::sets::ask;
use stubborn_reduce::{Aim, Algorithm, Config, Delete, Plan, StubbornReduction};
use stubborn_system::{BitSet, Reduction, Relations, Successors, System, TransitionId};

/// What lemma 1 says about a set, given as bits, where `enabled` are enabled.
struct Lemma<'a> {
    tiny: &'a Tiny,
    relations: &'a Relations,
    labels: BitSet,
    enabled: u32,
    weak: bool,
    disabling_sets: bool,
}

impl Lemma<'_> {
    fn holds(&self, set: u32) -> bool {
        let relations = self.relations;
        let inside = |row: &[u32]| row.iter().all(|t| set >> t & 1 == 1);
        let mut key = false;
        for t in self.tiny.structure().transition_ids() {
            if set >> t.index() & 1 == 0 {
                continue;
            }
            if self.enabled >> t.index() & 1 == 1 {
                let accords = inside(relations.do_not_accord.0.row_indices(t));
                let moves = self.weak && inside(relations.do_not_left_accord.0.row_indices(t));
                if !accords && !moves {
                    return false;
                }
                key |= accords;
            } else if !self.has_enabling_set(t, &inside) {
                return false;
            }
        }
        key
    }

    fn has_enabling_set(&self, t: TransitionId, inside: &dyn Fn(&[u32]) -> bool) -> bool {
        let guards = &self.tiny.structure().transition(t).guards;
        guards.iter().any(|g| {
            let excluding = self.relations.never_together.0.row(*g);
            !self.labels.contains(g.index())
                && (inside(self.relations.may_enable.0.row_indices(*g))
                    || self.disabling_sets
                        && excluding.into_iter().any(|h| {
                            self.labels.contains(h.index())
                                && inside(self.relations.may_disable.0.row_indices(h))
                        }))
        })
    }
}

#[test]
fn no_smaller_set_satisfies_the_lemma() {
    let mut states_checked = 0;
    let mut least_found = 0;
    let mut least_after_minimising = 0;
    for seed in 0..120 {
        let tiny = system(
            seed,
            Shape {
                processes: seed % 2 == 1,
                ..Shape::default()
            },
        );
        let relations = if seed % 3 == 0 {
            Relations::from_sets(tiny.structure())
        } else {
            relations_over(&tiny, &tiny.all_states())
        };
        let n = tiny.structure().transitions.len();
        for (which, delete) in Delete::ALL.iter().enumerate() {
            let config = Config {
                weak: (seed + which as u64).is_multiple_of(2),
                disabling_sets: seed % 5 != 0,
                delete: Some(*delete),
                ..Config::new(Algorithm::Deletion)
            };
            let mut minimising = config.clone();
            minimising.minimise = true;
            let make = |config: &Config| {
                let plan = Plan::new(config, Aim::Deadlocks).expect("a plan");
                StubbornReduction::new(&tiny, &relations, plan).expect("a reduction")
            };
            let (plain, smaller) = (make(&config), make(&minimising));
            let (mut plain, mut smaller) = (plain.reducer(), smaller.reducer());
            let mut executor = tiny.executor();
            for state in tiny.all_states().iter().step_by(11) {
                let mut successors = Successors::new(tiny.layout().words());
                executor.successors(state, &mut successors);
                let enabled = successors
                    .transitions()
                    .iter()
                    .fold(0, |e, t| e | 1 << t.index());
                let mut labels = BitSet::new(tiny.structure().labels.len());
                executor.labels(state, &mut labels);
                let lemma = Lemma {
                    tiny: &tiny,
                    relations: &relations,
                    labels,
                    enabled,
                    weak: config.weak,
                    disabling_sets: config.disabling_sets,
                };
                if enabled.count_ones() < 2 {
                    continue;
                }
                let (kept, _) = ask(&tiny, executor.as_mut(), plain.as_mut(), state);
                let kept = kept.words()[0] as u32;
                let (fewer, _) = ask(&tiny, executor.as_mut(), smaller.as_mut(), state);
                let fewer = fewer.words()[0] as u32;
                let sets: Vec<u32> = (1..1 << n).filter(|set| lemma.holds(*set)).collect();
                let parts = || sets.iter().map(|set| set & enabled);
                for part in [kept, fewer] {
                    assert!(
                        part == enabled || parts().any(|p| p == part),
                        "not stubborn"
                    );
                    let smaller = parts().find(|p| p & !part == 0 && *p != part);
                    assert_eq!(smaller, None, "seed {seed} {delete}: kept {part:b}");
                }
                assert!(fewer.count_ones() <= kept.count_ones());
                let least = parts().map(u32::count_ones).min().unwrap_or(u32::MAX);
                states_checked += 1;
                least_found += usize::from(kept.count_ones() <= least);
                least_after_minimising += usize::from(fewer.count_ones() <= least);
            }
        }
    }
    assert!(states_checked > 1_000, "{states_checked}");
    assert!(least_after_minimising >= least_found);
}
