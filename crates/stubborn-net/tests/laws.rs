//! The laws of the seam and every relation, falsified on real state spaces: each pair that a
//! reachable state shows must be in the over-approximations, and no pair of an
//! under-approximation may be shown wrong.

use crate::common;

use common::{corpus, expected, explore_system, instances, load_instance};
use stubborn_net::{NetSystem, Preserve, Reduced, ReductionRules};
use stubborn_system::{
    BitSet, Executor, LabelId, Random, RelationLevel, Relations, Successors, System, TransitionId,
};

struct Checker<'s> {
    system: &'s NetSystem,
    executor: Box<dyn Executor + 's>,
    relations: Vec<(RelationLevel, Relations)>,
    name: String,
}

impl<'s> Checker<'s> {
    fn new(name: &str, system: &'s NetSystem) -> Self {
        let levels = [
            RelationLevel::Sets,
            RelationLevel::Syntax,
            RelationLevel::Reach,
        ];
        Self {
            system,
            executor: system.executor(),
            relations: levels.map(|level| (level, system.relations(level))).into(),
            name: name.to_owned(),
        }
    }

    fn labels(&mut self, state: &[u32]) -> BitSet {
        let mut labels = BitSet::new(self.system.structure().labels.len());
        self.executor.labels(state, &mut labels);
        labels
    }

    fn successors(&mut self, state: &[u32]) -> Successors {
        let mut out = Successors::new(self.system.layout().words());
        self.executor.successors(state, &mut out);
        out
    }

    fn fire(&mut self, state: &[u32], t: TransitionId) -> Option<Vec<u32>> {
        let mut out = Successors::new(self.system.layout().words());
        self.executor.fire(state, t, &mut out);
        (!out.is_empty()).then(|| out.state(0).to_vec())
    }

    fn check_state(&mut self, state: &[u32], successors: &Successors) {
        let name = self.name.clone();
        let structure = self.system.structure();
        let labels = self.labels(state);
        for (index, transition) in structure.transitions.iter().enumerate() {
            let id = TransitionId::new(index);
            let guards = transition.guards.iter().all(|g| labels.contains(g.index()));
            assert_eq!(
                guards,
                successors.transitions().contains(&id),
                "{name}: guards decide"
            );
        }
        assert!(successors.transitions().is_sorted());
        for label in structure.label_ids() {
            assert_eq!(
                labels.contains(label.index()),
                self.executor.label(state, label)
            );
        }
        for (level, relations) in &self.relations {
            for g in labels.iter().map(LabelId::new) {
                for h in relations.never_together.0.row(g) {
                    assert!(
                        !labels.contains(h.index()),
                        "{name} {level:?}: {g:?} {h:?} together"
                    );
                }
            }
        }
        for successor in successors.iter() {
            self.check_step(
                state,
                &labels,
                successor.transition,
                successor.state,
                successor.changed,
            );
        }
        for (i, t) in successors.transitions().iter().enumerate() {
            for (j, u) in successors.transitions().iter().enumerate().skip(i + 1) {
                let one = self.fire(successors.state(i), *u);
                let other = self.fire(successors.state(j), *t);
                if one.is_none() || one != other {
                    for (level, relations) in &self.relations {
                        let related = &relations.do_not_accord.0;
                        assert!(related.contains(*t, *u), "{name} {level:?}: {t:?} {u:?}");
                        assert!(related.contains(*u, *t), "{name} {level:?}: {u:?} {t:?}");
                    }
                }
            }
        }
    }

    fn check_step(
        &mut self,
        state: &[u32],
        before: &BitSet,
        t: TransitionId,
        target: &[u32],
        changed: &[u64],
    ) {
        let name = self.name.clone();
        let writes = &self.system.structure().transition(t).writes;
        for (word, (old, new)) in state.iter().zip(target).enumerate() {
            assert!(
                old == new || changed[word / 64] >> (word % 64) & 1 == 1,
                "{name}: masks"
            );
        }
        for (index, field) in self.system.layout().fields().iter().enumerate() {
            let same = field.raw(state) == field.raw(target);
            let declared = writes.iter().any(|f| f.index() == index);
            assert!(same || declared, "{name}: {t:?} writes {}", field.name);
        }
        let after = self.labels(target);
        let next = self.successors(target);
        for (level, relations) in &self.relations {
            for label in self.system.structure().label_ids() {
                let (was, is) = (
                    before.contains(label.index()),
                    after.contains(label.index()),
                );
                if !was && is {
                    let related = relations.may_enable.0.contains(label, t);
                    assert!(related, "{name} {level:?}: {t:?} enables {label:?}");
                }
                if was && !is {
                    let related = relations.may_disable.0.contains(label, t);
                    assert!(related, "{name} {level:?}: {t:?} disables {label:?}");
                }
            }
            for u in next.transitions() {
                assert!(
                    !relations.must_disable.0.contains(t, *u),
                    "{name} {level:?}"
                );
            }
        }
        // `t` was first, so here the later one must move left over it.
        for (i, later) in next.transitions().iter().enumerate() {
            let moved = self
                .fire(state, *later)
                .and_then(|middle| self.fire(&middle, t));
            if moved.as_deref() != Some(next.state(i)) {
                for (level, relations) in &self.relations {
                    let related = relations.do_not_left_accord.0.contains(*later, t);
                    assert!(related, "{name} {level:?}: {later:?} over {t:?}");
                }
            }
        }
    }
}

/// Checks about `samples` states of every instance of at most `limit` states and
/// `transitions` transitions.
///
/// The structurally reduced net is checked as well: it keeps the nested units.
fn check_instances(limit: usize, samples: usize, transitions: usize) {
    let Some(corpus) = corpus() else { return };
    let state_space = expected(&corpus, "StateSpace");
    for instance in instances(&corpus) {
        let states = state_space.get(&(instance.clone(), "STATES".to_owned()));
        let Some(states) = states.and_then(|v| v.parse::<usize>().ok()) else {
            continue;
        };
        if states > limit {
            continue;
        }
        let net = load_instance(&corpus, &instance).net;
        if net.transition_count() > transitions {
            continue;
        }
        let reduced = Reduced::new(&net, &Preserve::Deadlocks, ReductionRules::ALL).net;
        for (net, what) in [(net, ""), (reduced, " reduced")] {
            let system = NetSystem::new(net).unwrap();
            let mut checker = Checker::new(&format!("{instance}{what}"), &system);
            let step = (states / samples).max(1);
            let mut number = 0;
            explore_system(&system, limit + 1, |state, successors| {
                if number % step == 0 {
                    checker.check_state(state, successors);
                }
                number += 1;
            });
        }
    }
}

#[test]
fn laws_and_relations_hold_on_small_state_spaces() {
    check_instances(8_500, 25, 200);
}

#[test]
#[ignore = "long: checks the relations on many states of larger nets"]
fn laws_and_relations_hold_on_larger_state_spaces() {
    check_instances(65_000, 300, 2_000);
}

#[test]
fn laws_and_relations_hold_on_random_nets() {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    for number in 0..600 {
        let net = common::random_net(&mut random);
        let system = NetSystem::new(net).unwrap();
        let mut checker = Checker::new(&format!("random net {number}"), &system);
        explore_system(&system, 150, |state, successors| {
            checker.check_state(state, successors)
        });
    }
}
