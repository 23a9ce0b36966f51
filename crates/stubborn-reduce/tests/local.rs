//! The library form of local partial-order reduction on random systems: deadlocks and, in
//! acyclic ones, verdicts are kept; and invariants are refused where cycles are possible.

use std::collections::{BTreeMap, HashSet};

use stubborn_reduce::lpor::{
    ConditionId, Cycles, ForwardSets, Keep, Lpor, Relations, Situation, TransitionId, Unconditional,
};
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{Shape, system};
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, Successors, System};

/// Relations of a system in the library's terms.
struct Of<'s> {
    tiny: &'s Tiny,
    relations: &'s stubborn_system::Relations,
    visible: Option<LabelId>,
    /// For each transition its guards, if they are told.
    guards: Vec<Vec<ConditionId>>,
}

impl Relations for Of<'_> {
    fn transitions(&self) -> usize {
        self.tiny.structure().transitions.len()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        let guards = &self.tiny.structure().transition(u).guards;
        let enable = &self.relations.may_enable.0;
        guards.iter().any(|g| enable.contains(*g, t))
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        t != u && self.relations.do_not_accord.0.contains(t, u)
    }

    fn reorders(&self, t: TransitionId, u: TransitionId) -> bool {
        t != u && self.relations.do_not_left_accord.0.contains(u, t)
    }

    fn conditions(&self) -> usize {
        self.tiny.structure().labels.len()
    }

    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        self.guards.get(t.index()).map_or(&[], Vec::as_slice)
    }

    fn can_satisfy(&self, t: TransitionId, condition: ConditionId) -> bool {
        let label = LabelId::new(condition.index());
        self.relations.may_enable.0.contains(label, t)
    }

    fn process_of(&self, t: TransitionId) -> Option<usize> {
        let processes = &self.tiny.structure().transition(t).processes;
        processes.first().map(|p| p.index())
    }

    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.is_some_and(|label| {
            self.relations.may_enable.0.contains(label, t)
                || self.relations.may_disable.0.contains(label, t)
        })
    }
}

/// What the guards say in one state.
struct Here<'s> {
    of: &'s Of<'s>,
    holds: Vec<bool>,
}

impl Situation for Here<'_> {
    fn holds(&self, condition: ConditionId) -> bool {
        self.holds[condition.index()]
    }

    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        for guard in &self.of.tiny.structure().transition(t).guards {
            if !self.holds[guard.index()] {
                let set: Vec<_> = self.of.relations.may_enable.0.row(*guard).collect();
                visit(&set);
            }
        }
    }
}

struct Explored {
    states: HashSet<Vec<u32>>,
    deadlocks: HashSet<Vec<u32>>,
    acyclic: bool,
}

/// Explores by the sets of `lpor`, or everything.
fn explore(tiny: &Tiny, lpor: Option<(&Lpor<Of<'_>>, bool)>) -> Explored {
    let mut executor = tiny.executor();
    let initial = tiny.initial_states();
    let mut found = Explored {
        states: HashSet::from([initial.clone()]),
        deadlocks: HashSet::new(),
        acyclic: true,
    };
    let mut edges = Vec::new();
    let mut open = vec![initial];
    while let Some(state) = open.pop() {
        let mut successors = Successors::new(tiny.layout().words());
        executor.successors(&state, &mut successors);
        let mut enabled = successors.transitions().to_vec();
        enabled.dedup();
        if enabled.is_empty() {
            found.deadlocks.insert(state.clone());
            continue;
        }
        let chosen = match lpor {
            None => enabled,
            Some((lpor, false)) => lpor.set_in(&enabled, &Unconditional),
            Some((lpor, true)) => {
                let labels = tiny.structure().label_ids();
                let here = Here {
                    of: lpor.relations(),
                    holds: labels.map(|l| executor.label(&state, l)).collect(),
                };
                lpor.set_in(&enabled, &here)
            }
        };
        for step in successors.iter().filter(|s| chosen.contains(&s.transition)) {
            edges.push((state.clone(), step.state.to_vec()));
            if found.states.insert(step.state.to_vec()) {
                open.push(step.state.to_vec());
            }
        }
    }
    // Take away states without incoming edges until nothing, or a cycle, is left.
    let mut left = found.states.clone();
    loop {
        let targets: HashSet<_> = edges.iter().map(|(_, to)| to.clone()).collect();
        let before = left.len();
        left.retain(|state| targets.contains(state));
        edges.retain(|(from, _)| left.contains(from));
        if left.len() == before {
            break;
        }
    }
    found.acyclic = left.is_empty();
    found
}

#[test]
fn deadlocks_and_verdicts_are_kept() {
    let (mut fewer, mut fewer_in_state, mut acyclic) = (0, 0, 0);
    for seed in 0..400 {
        let shape = Shape {
            nondeterminism: seed % 3 == 0,
            processes: seed % 2 == 0,
            ..Shape::default()
        };
        let tiny = system(seed, shape);
        let relations = relations_over(&tiny, &tiny.all_states());
        let full = explore(&tiny, None);
        let goal = LabelId::new(tiny.structure().labels.len() - 1);
        let bad = |explored: &Explored| {
            let mut executor = tiny.executor();
            explored.states.iter().any(|s| executor.label(s, goal))
        };
        for sets in [ForwardSets::Precomputed, ForwardSets::OnLine] {
            let id = |g: &LabelId| ConditionId::new(g.index());
            let told = |t: &stubborn_system::Transition| t.guards.iter().map(id).collect();
            let transitions = tiny.structure().transitions.iter();
            let of = |visible| Of {
                tiny: &tiny,
                relations: &relations,
                visible,
                guards: match sets {
                    ForwardSets::Precomputed => Vec::new(),
                    ForwardSets::OnLine => transitions.clone().map(told).collect(),
                },
            };
            let lpor = |keep, visible| Lpor::with_forward_sets(of(visible), keep, sets);
            let deadlocks = lpor(Keep::Deadlocks, None).expect("nothing to refuse");
            for in_state in [false, true] {
                let reduced = explore(&tiny, Some((&deadlocks, in_state)));
                assert_eq!(reduced.deadlocks, full.deadlocks, "seed {seed}");
                let count = usize::from(reduced.states.len() < full.states.len());
                *if in_state {
                    &mut fewer_in_state
                } else {
                    &mut fewer
                } += count;
            }
            if full.acyclic {
                acyclic += 1;
                let keep = Keep::Invariants(Cycles::None);
                let invariants = lpor(keep, Some(goal)).expect("no cycles");
                for in_state in [false, true] {
                    let reduced = explore(&tiny, Some((&invariants, in_state)));
                    assert_eq!(bad(&reduced), bad(&full), "seed {seed}");
                }
            }
        }
    }
    assert!(
        fewer > 20 && fewer_in_state >= fewer,
        "{fewer} {fewer_in_state}"
    );
    assert!(acyclic > 20, "{acyclic}");
}

fn configs() -> Vec<Config> {
    let all = Algorithm::ALL.iter().map(|a| Config::new(*a));
    let weak = all.clone().map(|config| Config {
        weak: true,
        ..config
    });
    all.chain(weak).collect()
}

/// Every algorithm of the crate by the same call, with and without conditions.
#[test]
fn every_algorithm_keeps_deadlocks_and_verdicts() {
    let mut fewer = BTreeMap::<String, usize>::new();
    for seed in 0..250 {
        let shape = Shape {
            nondeterminism: seed % 3 == 0,
            processes: seed % 2 == 0,
            ..Shape::default()
        };
        let tiny = system(seed, shape);
        let structure = tiny.structure();
        // A transition of two processes would have to be told as such.
        if structure.transitions.iter().any(|t| t.processes.len() > 1) {
            continue;
        }
        let relations = relations_over(&tiny, &tiny.all_states());
        let full = explore(&tiny, None);
        let goal = LabelId::new(structure.labels.len() - 1);
        let bad = |explored: &Explored| {
            let mut executor = tiny.executor();
            explored.states.iter().any(|s| executor.label(s, goal))
        };
        for config in configs() {
            for with_guards in [false, true] {
                let guards = structure.transitions.iter().filter(|_| with_guards);
                let id = |g: &LabelId| ConditionId::new(g.index());
                let of = |visible| Of {
                    tiny: &tiny,
                    relations: &relations,
                    visible,
                    guards: guards
                        .clone()
                        .map(|t| t.guards.iter().map(id).collect())
                        .collect(),
                };
                let name = format!("{config:?}, guards {with_guards}, seed {seed}");
                if let Ok(lpor) = Lpor::by(of(None), Keep::Deadlocks, &config) {
                    let reduced = explore(&tiny, Some((&lpor, true)));
                    assert_eq!(reduced.deadlocks, full.deadlocks, "{name}");
                    let key = format!("{} {} {with_guards}", config.algorithm, config.weak);
                    let less = usize::from(reduced.states.len() < full.states.len());
                    *fewer.entry(key).or_default() += less;
                }
                if !full.acyclic {
                    continue;
                }
                let keep = Keep::Invariants(Cycles::None);
                if let Ok(lpor) = Lpor::by(of(Some(goal)), keep, &config) {
                    let reduced = explore(&tiny, Some((&lpor, true)));
                    assert_eq!(bad(&reduced), bad(&full), "{name}");
                }
            }
        }
    }
    assert!(
        fewer.len() >= 24 && fewer.values().all(|n| *n > 0),
        "{fewer:?}"
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let tiny = system(1, Shape::default());
    let relations = relations_over(&tiny, &tiny.all_states());
    let of = || Of {
        tiny: &tiny,
        relations: &relations,
        visible: None,
        guards: Vec::new(),
    };
    let by = |algorithm| Lpor::by(of(), Keep::Deadlocks, &Config::new(algorithm));
    assert!(by(Algorithm::Goal).is_err_and(|e| e.to_string().contains("deadlocks")));
    let processless = tiny.structure().processes.is_empty();
    assert!(processless && by(Algorithm::Ample1).is_err());
    let config = Config::new(Algorithm::Beam);
    let keep = Keep::Invariants(Cycles::Unknown);
    assert!(Lpor::by(of(), keep, &config).is_err_and(|e| e.to_string().contains("cycles")));
}

#[test]
fn invariants_are_refused_where_nothing_is_known_of_cycles() {
    struct Nothing;
    impl Relations for Nothing {
        fn transitions(&self) -> usize {
            1
        }
        fn can_enable(&self, _: TransitionId, _: TransitionId) -> bool {
            false
        }
        fn disturbs(&self, _: TransitionId, _: TransitionId) -> bool {
            false
        }
    }
    let refused = Lpor::new(Nothing, Keep::Invariants(Cycles::Unknown));
    assert!(refused.is_err_and(|e| e.to_string().contains("cycles")));
    let always = Cycles::Proviso(Box::new(|_| true));
    assert!(Lpor::new(Nothing, Keep::Invariants(always)).is_ok());
}

/// `t3` takes what `t1` and `t2` give, and competes with `t0`.
struct Joint;

impl Relations for Joint {
    fn transitions(&self) -> usize {
        4
    }
    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        [1, 2].contains(&t.index()) && u.index() == 3
    }
    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        [(0, 3), (3, 0)].contains(&(t.index(), u.index()))
    }
    fn needs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.can_enable(u, t)
    }
}

/// Nothing was fired so far.
struct Begin;

impl Situation for Begin {
    fn was_fired(&self, _: TransitionId) -> Option<bool> {
        Some(false)
    }
}

#[test]
fn the_search_path_is_for_deadlocks_only() {
    let enabled = [0, 1, 2].map(TransitionId::new);
    let set = |keep| {
        let lpor = Lpor::new(Joint, keep).expect("nothing to refuse");
        lpor.stubborn_set_in(enabled[0], &enabled, &Begin).len()
    };
    assert_eq!(set(Keep::Deadlocks), 2);
    assert_eq!(set(Keep::Invariants(Cycles::None)), 3);
}

/// Relations and a situation as lists of pairs, for the smallest systems that tell two rules apart.
#[derive(Default)]
struct Listed {
    transitions: usize,
    enables: &'static [(usize, usize)],
    disturbs: &'static [(usize, usize)],
    needs: &'static [(usize, usize)],
    visible: &'static [usize],
    /// Of these, the first can only disable the second.
    disables: &'static [(usize, usize)],
    /// Of the last transition, whose only condition does not hold.
    enabling_set: &'static [usize],
}

impl Relations for Listed {
    fn transitions(&self) -> usize {
        self.transitions
    }
    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.enables.contains(&(t.index(), u.index()))
    }
    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs.contains(&(t.index(), u.index()))
    }
    fn reorders(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs(t, u) && !self.disables.contains(&(t.index(), u.index()))
    }
    fn needs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.needs.contains(&(t.index(), u.index()))
    }
    fn conditions(&self) -> usize {
        usize::from(!self.enabling_set.is_empty())
    }
    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        const FIRST: [ConditionId; 1] = [ConditionId::new(0)];
        let has = !self.enabling_set.is_empty() && t.index() + 1 == self.transitions;
        if has { &FIRST } else { &[] }
    }
    fn can_satisfy(&self, t: TransitionId, _: ConditionId) -> bool {
        self.enabling_set.contains(&t.index())
    }
    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.contains(&t.index())
    }
}

/// Nothing was fired, and no condition holds.
struct Nothing;

impl Situation for Nothing {
    fn was_fired(&self, _: TransitionId) -> Option<bool> {
        Some(false)
    }
    fn holds(&self, _: ConditionId) -> bool {
        false
    }
}

fn grown(relations: Listed, keep: Keep, enabled: &[usize]) -> Vec<usize> {
    let enabled: Vec<_> = enabled.iter().map(|t| TransitionId::new(*t)).collect();
    let lpor = Lpor::new(relations, keep).expect("nothing to refuse");
    let set = lpor.stubborn_set_in(enabled[0], &enabled, &Nothing);
    set.iter().map(|t| t.index()).collect()
}

/// A transition is left out only if no chain from it leads to what disturbs a member: not one with
/// other needs, and not one through what half an enabling set can still enable.
#[test]
fn every_chain_to_a_member_counts() {
    // From 0 by 1 or by 2, later 7, to 3, and on to 8, which disturbs 4; 5 and 6 are members.
    let chain = &[(0, 1), (0, 2), (1, 3), (2, 7), (7, 3), (3, 8)];
    let shorter = &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 8)];
    // The way by 7 replaces another one to 3 while the one by 9 is still to be followed.
    let replacing = &[(0, 1), (0, 2), (1, 3), (2, 7), (2, 9), (7, 3), (9, 8)];
    for (enables, needs, enabled) in [
        // One of the ways waits for a member.
        (&shorter[..], &[(1, 5)][..], [4, 5, 0]),
        (shorter, &[(2, 5)], [4, 5, 0]),
        (chain, &[(1, 5)], [4, 5, 0]),
        (replacing, &[(1, 5)], [4, 5, 0]),
        // The other one waits for what is no member.
        (shorter, &[(1, 5), (2, 6)], [4, 5, 0]),
        (shorter, &[(1, 5), (2, 6)], [4, 6, 0]),
    ] {
        let relations = Listed {
            transitions: 10,
            enables,
            disturbs: &[(8, 4), (5, 4), (6, 4)],
            needs,
            ..Listed::default()
        };
        let set = grown(relations, Keep::Deadlocks, &enabled);
        assert_eq!(set, enabled, "{enables:?} {needs:?}");
    }
    // 3 competes with 0, and waits for 1, a member, or for 2.
    let half = |enabling_set| Listed {
        transitions: 4,
        enables: &[(1, 3), (2, 3)],
        disturbs: &[(3, 0), (1, 0)],
        enabling_set,
        ..Listed::default()
    };
    assert_eq!(grown(half(&[1, 2]), Keep::Deadlocks, &[0, 1, 2]), [0, 1, 2]);
    assert_eq!(grown(half(&[1]), Keep::Deadlocks, &[0, 1, 2]), [0, 1]);
}

/// What is visible comes with everything, and so does what the caller's search asks for.
#[test]
fn sets_for_invariants_are_all_or_invisible() {
    let relations = |visible| Listed {
        transitions: 3,
        disturbs: &[(0, 1), (1, 0)],
        visible,
        ..Listed::default()
    };
    let proviso = |ask: bool| Keep::Invariants(Cycles::Proviso(Box::new(move |_| ask)));
    for (visible, ask, expected) in [
        (&[][..], false, 2),
        (&[2], false, 2),
        (&[1], false, 3),
        (&[0, 1], false, 3),
        (&[], true, 3),
    ] {
        let set = grown(relations(visible), proviso(ask), &[0, 1, 2]);
        assert_eq!(set.len(), expected, "{visible:?} {ask}");
    }
    let deadlocks = grown(relations(&[0, 1, 2]), Keep::Deadlocks, &[0, 1, 2]);
    assert_eq!(deadlocks, [0, 1]);
}

/// Whoever is disturbed brings who disturbs it, though not the other way round.
#[test]
fn disturbance_has_a_direction() {
    for disturbs in [&[(0, 1)], &[(1, 0)]] {
        for config in configs() {
            let relations = Listed {
                transitions: 2,
                disturbs,
                ..Listed::default()
            };
            if let Ok(lpor) = Lpor::by(relations, Keep::Deadlocks, &config) {
                let set = lpor.set_in(&[0, 1].map(TransitionId::new), &Unconditional);
                let disturbing = TransitionId::new(disturbs[0].0);
                assert!(set.contains(&disturbing), "{disturbs:?} {config:?}");
            }
        }
    }
}

/// A member of a weak set that is no key may be disabled from outside, by 2, but who enables it again, 3, is
/// as good as a member, and so is what that waits for.
#[test]
fn who_enables_a_member_again_belongs_to_a_weak_set() {
    for config in configs().into_iter().filter(|config| config.weak) {
        let relations = Listed {
            transitions: 4,
            enables: &[(2, 3), (3, 1)],
            disturbs: &[(0, 1), (1, 0), (2, 1)],
            disables: &[(2, 1)],
            ..Listed::default()
        };
        if let Ok(lpor) = Lpor::by(relations, Keep::Deadlocks, &config) {
            let set = lpor.set_in(&[0, 1, 2].map(TransitionId::new), &Unconditional);
            let has = |t| set.contains(&TransitionId::new(t));
            assert!(!has(1) || has(2), "{config:?}");
        }
    }
}

#[test]
fn figure_2_of_the_paper() {
    // The program asserts the sets of the paper.
    #[path = "../examples/figure2.rs"]
    mod figure2;
    figure2::main();
}
