//! Published and home-made counterexamples to plausible theorems.

use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_ltl::guard::Guard;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};
use stubborn_system::{LabelId, System};

use crate::check::Reductions;
use crate::prepare::Prepared;
use crate::{
    Check, Emptiness, Fitting, Property, Proviso, ReductionRequest, ReductionUse, SteeringMode,
    Verdict,
};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Closure,
    Algorithm::Beam,
    Algorithm::Clostar,
    Algorithm::Deletion,
    Algorithm::Clodel,
    Algorithm::Inc,
];

const STEERED: [SteeringMode; 2] = [SteeringMode::Only, SteeringMode::Mixed];

fn all_ways() -> impl Iterator<Item = (Proviso, Fitting, SteeringMode)> {
    let all = Proviso::all_sound().into_iter();
    all.flat_map(|proviso| {
        [
            (proviso, Fitting::ByState, SteeringMode::Off),
            (proviso, Fitting::Normalise, SteeringMode::Off),
            (proviso, Fitting::ByState, SteeringMode::Mixed),
            (proviso, Fitting::ByState, SteeringMode::Only),
        ]
    })
}

/// The verdict must be "violated" with every reduction, proviso and emptiness check.
fn always_violated(system: &Tiny, property: &Property) {
    let relations = relations_over(system, &system.all_states());
    for algorithm in ALGORITHMS {
        for weak in [false, true] {
            for (proviso, fitting, steering) in all_ways() {
                for emptiness in Emptiness::ALL {
                    let mut config = Config::new(algorithm);
                    config.weak = weak;
                    if config.settings().is_err() || weak && proviso.needs_strong_sets() {
                        continue;
                    }
                    let check = Check {
                        emptiness,
                        steering,
                        reduction: Some(ReductionRequest {
                            config,
                            relations: &relations,
                            proviso,
                            fitting,
                        }),
                        ..Check::new(system, property)
                    };
                    let result = check.run().expect("counterexamples are real");
                    let what = format!("{algorithm} {weak} {proviso} {emptiness:?} {steering:?}");
                    assert_eq!(result.verdict, Verdict::Violated, "{what}");
                    assert!(
                        matches!(result.reduction, ReductionUse::On { .. }),
                        "{what}: {:?}",
                        result.reduction
                    );
                }
            }
        }
    }
}

/// Ten states on which the usual conditions for weak stubborn sets hold of `{a, k}` at the
/// start, and the trace "first q, then r" is lost with it (Neele, Valmari, Willemse, *The
/// inconsistent labelling problem of stutter-preserving partial-order reduction*, 2020).
#[test]
fn labels_between_the_ends_are_kept() {
    // s0 s1{q} s2 s2' e{r}, a first: s0' s1', the key first: k0 k1{q} k2
    let [s0, s1, s2, t0, t1, t2, e, k0, k1, k2] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let mut system = Tiny::new(&[10]);
    let steps = [
        ("a1", vec![(s0, s1), (t0, t1), (k0, k1)]),
        ("a2", vec![(s1, s2), (t1, t2), (k1, k2)]),
        ("a", vec![(s0, t0), (s2, t2)]),
        ("v", vec![(t2, e)]),
        ("k", vec![(s0, k0), (s1, k1), (s2, k2)]),
    ];
    for (name, pairs) in steps {
        let from: Vec<i64> = pairs.iter().map(|p| p.0).collect();
        let enabled = system.label(name, &[0], move |v| from.contains(&v[0]));
        system.simple(name, &[enabled], (&[0], &[0]), move |v| {
            if let Some(pair) = pairs.iter().find(|p| p.0 == v[0]) {
                v[0] = pair.1;
            }
        });
    }
    let q = system.label("q", &[0], move |v| v[0] == s1 || v[0] == k1);
    let r = system.label("r", &[0], move |v| v[0] == e);
    let mut formulas = Formulas::new();
    let (atom_q, atom_r) = (formulas.atom("q"), formulas.atom("r"));
    let ever_r = formulas.make(Node::Finally(atom_r));
    let then = formulas.make(Node::And(atom_q, ever_r));
    let both = formulas.make(Node::Finally(then));
    let never = formulas.not(both);
    let property = Property::from_formula(formulas, never, vec![q, r], &Default::default())
        .expect("the formula is small");
    always_violated(&system, &property);
}

/// `a` flips a bit that nobody sees, `b` flips `p`.
fn two_bits() -> (Tiny, LabelId) {
    let mut system = Tiny::new(&[2, 2]);
    system.simple("a", &[], (&[0], &[0]), |v| v[0] = 1 - v[0]);
    system.simple("b", &[], (&[1], &[1]), |v| v[1] = 1 - v[1]);
    let p = system.label("p", &[1], |v| v[1] == 1);
    (system, p)
}

/// "p changes infinitely often", by an automaton that guesses for each block of equal
/// letters whether its length is even or odd.
fn parity_automaton() -> Automaton {
    let mut draft = Draft::new(vec!["p".into()], 1);
    let p = draft.guards.variable(0);
    let not_p = draft.guards.not(p);
    // For each letter: even1 even2 odd1 odd2 odd3; and two start states in one.
    let block: Vec<Vec<_>> = (0..2)
        .map(|_| (0..5).map(|_| draft.add_state()).collect())
        .collect();
    let letter = [not_p, p];
    let plain = |guard, target| Edge {
        guard,
        target,
        marks: Marks::NONE,
    };
    for value in 0..2 {
        let [even1, even2, odd1, odd2, odd3] = block[value][..] else {
            unreachable!("there are five");
        };
        let own = letter[value];
        for (from, to) in [
            (even1, even2),
            (even2, even1),
            (odd1, odd2),
            (odd2, odd3),
            (odd3, odd2),
        ] {
            draft.edges[from.index()].push(plain(own, to));
        }
        for from in [even2, odd1, odd3] {
            for to in [block[1 - value][0], block[1 - value][2]] {
                draft.edges[from.index()].push(Edge {
                    marks: Marks(1),
                    ..plain(letter[1 - value], to)
                });
            }
        }
        let start = draft.initial;
        draft.edges[start.index()].push(plain(own, even1));
        draft.edges[start.index()].push(plain(own, odd1));
    }
    draft.finish()
}

/// Reduction in the product with a stutter-invariant automaton that is neither
/// deterministic nor in stutter normal form loses a violation (Siegel, *What's wrong with
/// on-the-fly partial order reduction*, 2019, has others).
#[test]
fn automata_are_made_fit_for_reduction() {
    let (system, p) = two_bits();
    let property = Property::from_automaton(parity_automaton(), vec![p]);
    assert_eq!(property.is_stutter_invariant(), Some(true));
    always_violated(&system, &property);
}

/// The same, with the automaton as it is: the violation is lost indeed.
#[test]
fn the_parity_automaton_as_it_is_loses_the_violation() {
    let (system, p) = two_bits();
    let property = Property::from_automaton(parity_automaton(), vec![p]);
    let relations = relations_over(&system, &system.all_states());
    let aim = Aim::Traces {
        labels: vec![p],
        infinite: true,
    };
    let plan = Plan::new(&Config::new(Algorithm::Beam), aim).expect("beam goes with LTL");
    let reduction = StubbornReduction::new(&system, &relations, plan).expect("it is simple");
    let check = Check::new(&system, &property);
    let as_is = Prepared::as_is(property.automaton().clone());
    let classic = Reductions {
        classic: vec![reduction],
        ..Reductions::default()
    };
    let reduced = check.search(&as_is, &classic, Proviso::SOURCE);
    assert_eq!(reduced.map(|r| r.verdict), Ok(Verdict::Holds));
    let full = check.search(&as_is, &Reductions::default(), Proviso::NONE);
    assert_eq!(full.map(|r| r.verdict), Ok(Verdict::Violated));
}

/// While the automaton can take an event now, what makes its guard false must be in a set for its
/// state. Here `b` goes from 0 to 2, and `c` from 0 to 1 at any time. The only violating run
/// has `b` at 2 when the event is taken, because waiting for the second event allows no step of
/// `b`, and `c` at 0, which is the guard; then `c` moves, and that is the second event. A set
/// with the step of `c` alone serves the second event, and loses the first.
#[test]
fn an_event_that_can_be_taken_now_can_be_taken_later() {
    let mut system = Tiny::new(&[3, 2]);
    for from in 0..2 {
        let here = system.label("here", &[0], move |v| v[0] == from);
        system.simple("b", &[here], (&[], &[0]), move |v| v[0] = from + 1);
    }
    let c_is_0 = system.label("c = 0", &[1], |v| v[1] == 0);
    system.simple("c", &[c_is_0], (&[], &[1]), |v| v[1] = 1);
    let b_is_not_1 = system.label("b != 1", &[0], |v| v[0] != 1);
    let both = system.label("both", &[0, 1], |v| v[0] == 2 && v[1] == 1);
    let names = ["c0", "b1", "both"].map(String::from).to_vec();
    let mut draft = Draft::new(names, 1);
    let (c0, b1, end) = (
        draft.guards.variable(0),
        draft.guards.variable(1),
        draft.guards.variable(2),
    );
    let event = draft.guards.and(c0, b1);
    let states = [draft.initial, draft.add_state(), draft.add_state()];
    let edges = [
        (0, Guard::TRUE, 0, Marks::NONE),
        (0, event, 1, Marks::NONE),
        (1, b1, 1, Marks::NONE),
        (1, end, 2, Marks::NONE),
        (2, Guard::TRUE, 2, Marks(1)),
    ];
    for (from, guard, to, marks) in edges {
        draft.edges[states[from].index()].push(Edge {
            guard,
            target: states[to],
            marks,
        });
    }
    let property = Property::from_automaton(draft.finish(), vec![c_is_0, b_is_not_1, both]);
    let relations = relations_over(&system, &system.all_states());
    for steering in STEERED {
        for emptiness in Emptiness::ALL {
            let check = Check {
                emptiness,
                steering,
                reduction: Some(ReductionRequest {
                    config: Config::new(Algorithm::Beam),
                    relations: &relations,
                    proviso: Proviso::default(),
                    fitting: Fitting::default(),
                }),
                ..Check::new(&system, &property)
            };
            let result = check.run().expect("counterexamples are real");
            assert_eq!(
                result.verdict,
                Verdict::Violated,
                "{emptiness:?} {steering:?}"
            );
        }
    }
}

/// Two states of the automaton enter each other while `x` is 0, with a mark each way, and wait
/// at any time. `k` sets `x`, once; `n` goes on for ever, unseen. Only runs without `k` are accepted:
/// on them short cuts never end, and a set that has `k` as its key and nothing else loses them all.
/// With two sets of states instead of marks on edges it is the same.
#[test]
fn a_key_does_not_end_what_goes_round_for_ever() {
    let mut system = Tiny::new(&[2, 2]);
    let x_is_0 = system.label("x = 0", &[0], |v| v[0] == 0);
    system.simple("k", &[x_is_0], (&[], &[0]), |v| v[0] = 1);
    system.simple("n", &[], (&[1], &[1]), |v| v[1] = 1 - v[1]);
    let relations = relations_over(&system, &system.all_states());
    // How many states are left at once, and the marks of loops and of events.
    for (before, loops, events) in [
        (1, [0, 0], [1, 2]),
        (2, [0, 0], [1, 2]),
        (2, [1, 2], [1, 2]),
    ] {
        let mut draft = Draft::new(vec!["x0".into()], 2);
        let x0 = draft.guards.variable(0);
        let mut last = draft.initial;
        let add = |draft: &mut Draft, from: StateId, guard, target, marks: u32| {
            let marks = Marks(marks);
            draft.edges[from.index()].push(Edge {
                guard,
                target,
                marks,
            });
        };
        for _ in 1..before {
            let next = draft.add_state();
            add(&mut draft, last, x0, next, 0);
            last = next;
        }
        let states = [draft.add_state(), draft.add_state()];
        for at in 0..2 {
            add(&mut draft, last, x0, states[at], 0);
            add(&mut draft, states[at], Guard::TRUE, states[at], loops[at]);
            add(&mut draft, states[at], x0, states[1 - at], events[at]);
        }
        let property = Property::from_automaton(draft.finish(), vec![x_is_0]);
        for (steering, emptiness) in STEERED.iter().flat_map(|m| Emptiness::ALL.map(|e| (*m, e))) {
            let check = Check {
                emptiness,
                steering,
                reduction: Some(ReductionRequest {
                    config: Config::new(Algorithm::Beam),
                    relations: &relations,
                    proviso: Proviso::default(),
                    fitting: Fitting::default(),
                }),
                ..Check::new(&system, &property)
            };
            let result = check.run().expect("counterexamples are real");
            let what = format!("{before} {loops:?} {emptiness:?} {steering:?}");
            assert_eq!(result.verdict, Verdict::Violated, "{what}");
        }
    }
}

/// A run that ends is extended by repeating its last state; the trace has no cycle then.
#[test]
fn finite_runs_are_extended() {
    let mut system = Tiny::new(&[3]);
    let before = system.label("x0 < 2", &[0], |v| v[0] < 2);
    system.simple("count", &[before], (&[0], &[0]), |v| v[0] += 1);
    let last = system.label("x0 = 2", &[0], |v| v[0] == 2);
    let mut formulas = Formulas::new();
    let atom = formulas.atom("last");
    let negated = formulas.not(atom);
    let again_and_again = formulas.make(Node::Finally(negated));
    let always = formulas.make(Node::Globally(again_and_again));
    let property = Property::from_formula(formulas, always, vec![last], &Default::default())
        .expect("the formula is small");
    for emptiness in Emptiness::ALL {
        let check = Check {
            emptiness,
            ..Check::new(&system, &property)
        };
        let result = check.run().expect("counterexamples are real");
        let counterexample = result.counterexample.expect("it is violated");
        assert!(counterexample.ends);
        assert_eq!(counterexample.trace.len(), 2);
        assert_eq!(counterexample.trace.cycle_start(), None);
        assert_eq!(counterexample.trace.last_state(), system.pack(&[2]));
    }
    assert_eq!(system.structure().labels.len(), 2);
}
