//! Published and home-made counterexamples to plausible theorems.

use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::formula::{Formulas, Node};
use stubborn_ltl::guard::Guard;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};
use stubborn_system::{LabelId, System, Transition};

use crate::check::Reductions;
use crate::prepare::Prepared;
use crate::{
    Check, CheckVerdict, CycleProviso, Emptiness, Fitting, Property, ReductionRequest,
    ReductionUse, SteeringMode,
};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Closure,
    Algorithm::Beam,
    Algorithm::Clostar,
    Algorithm::Deletion,
    Algorithm::Clodel,
    Algorithm::Inc,
];

fn all_ways() -> impl Iterator<Item = (CycleProviso, Fitting, SteeringMode)> {
    let all = CycleProviso::all_sound().into_iter();
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
                    assert_eq!(result.verdict, CheckVerdict::Violated, "{what}");
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

/// The same for any automaton, with or without sets for its state, and for what it can still see.
fn violated_in_every_mode(system: &Tiny, property: &Property) {
    let relations = relations_over(system, &system.all_states());
    let modes = [SteeringMode::Off, SteeringMode::Mixed, SteeringMode::Only];
    let modes = modes.iter().flat_map(|m| [(*m, false), (*m, true)]);
    for ((steering, relaxed), emptiness) in modes.flat_map(|m| Emptiness::ALL.map(|e| (m, e))) {
        let check = Check {
            emptiness,
            steering,
            relaxed_visibility: relaxed,
            reduction: Some(ReductionRequest {
                config: Config::new(Algorithm::Beam),
                relations: &relations,
                proviso: CycleProviso::default(),
                fitting: Fitting::default(),
            }),
            ..Check::new(system, property)
        };
        let result = check.run().expect("counterexamples are real");
        let what = format!("{emptiness:?} {steering:?} {relaxed}");
        assert_eq!(result.verdict, CheckVerdict::Violated, "{what}");
    }
}

/// An automaton on these labels. Of an edge: from where, the literals of its guard (their numbers
/// from 1 on, negative to be false), where to, its marks.
fn automaton_of(labels: &[LabelId], sets: u32, edges: &[(usize, &[i32], usize, u32)]) -> Property {
    let names = (0..labels.len()).map(|p| format!("p{p}")).collect();
    let mut draft = Draft::new(names, sets);
    for (from, literals, to, marks) in edges {
        while draft.edges.len() <= *from.max(to) {
            draft.add_state();
        }
        let mut guard = Guard::TRUE;
        for literal in *literals {
            let variable = literal.unsigned_abs() - 1;
            let literal = draft.guards.literal(variable, *literal > 0);
            guard = draft.guards.and(guard, literal);
        }
        draft.edges[*from].push(Edge {
            guard,
            target: StateId(*to as u32),
            marks: Marks(*marks),
        });
    }
    Property::from_automaton(draft.finish(), labels.to_vec())
}

/// A transition that sets variables from 0 to 1, if a label holds.
fn set(system: &mut Tiny, variables: &'static [usize], guard: Option<LabelId>) {
    let first = variables[0];
    let not_yet = system.label("not yet", &[first], move |v| v[first] == 0);
    let guards: Vec<LabelId> = [not_yet].into_iter().chain(guard).collect();
    system.simple("set", &guards, (&[], variables), move |v| {
        variables.iter().for_each(|at| v[*at] = 1);
    });
}

/// Labels that say of each variable that it is 1.
fn ones<const N: usize>(system: &mut Tiny) -> [LabelId; N] {
    std::array::from_fn(|at| system.label("one", &[at], move |v| v[at] == 1))
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
    let reduced = check.search(&as_is, &classic, CycleProviso::SOURCE, None);
    assert_eq!(reduced.map(|r| r.verdict), Ok(CheckVerdict::Holds));
    let full = check.search(&as_is, &Reductions::default(), CycleProviso::NONE, None);
    assert_eq!(full.map(|r| r.verdict), Ok(CheckVerdict::Violated));
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
    let edges: &[(usize, &[i32], usize, u32)] = &[
        (0, &[], 0, 0),
        (0, &[1, 2], 1, 0),
        (1, &[2], 1, 0),
        (1, &[3], 2, 0),
        (2, &[], 2, 1),
    ];
    let property = automaton_of(&[c_is_0, b_is_not_1, both], 1, edges);
    violated_in_every_mode(&system, &property);
}

/// Two states of the automaton enter each other while `x` is 0, with a mark each way, and wait
/// at any time. `x` is set once; `y` changes for ever, unseen. Only runs that leave `x` alone are
/// accepted: on them short cuts never end, and a set that has the step of `x` as its key and nothing
/// else loses them all. With two sets of states instead of marks on edges it is the same.
#[test]
fn a_key_does_not_end_what_goes_round_for_ever() {
    let mut system = Tiny::new(&[2, 2]);
    set(&mut system, &[0], None);
    system.simple("n", &[], (&[1], &[1]), |v| v[1] = 1 - v[1]);
    let labels = ones::<1>(&mut system);
    for loops in [[0, 0], [1, 2]] {
        let edges: &[(usize, &[i32], usize, u32)] = &[
            (0, &[-1], 1, 0),
            (1, &[-1], 2, 0),
            (1, &[-1], 3, 0),
            (2, &[], 2, loops[0]),
            (2, &[-1], 3, 1),
            (3, &[], 3, loops[1]),
            (3, &[-1], 2, 2),
        ];
        violated_in_every_mode(&system, &automaton_of(&labels, 2, edges));
    }
}

/// The automaton waits while `x` is 0 or `y` is 1, for `z`, which can be set when `x` is. A set with
/// the step of `x` must have that of `y`, too: `x` first is the end of waiting.
#[test]
fn who_ends_waiting_brings_who_lets_wait() {
    let mut system = Tiny::new(&[2, 2, 2]);
    let labels = ones::<3>(&mut system);
    set(&mut system, &[0], None);
    set(&mut system, &[1], None);
    set(&mut system, &[2], Some(labels[0]));
    let edges: &[(usize, &[i32], usize, u32)] = &[
        (0, &[-1], 0, 0),
        (0, &[2], 0, 0),
        (0, &[3], 1, 0),
        (1, &[], 1, 1),
    ];
    violated_in_every_mode(&system, &automaton_of(&labels, 1, edges));
}

/// The automaton waits while `x` is 0, for `x` and `y` at once. A set with the step of `x` must have
/// those of `y`, too: nothing waits for `y` when `x` comes first.
#[test]
fn an_event_that_ends_waiting_comes_as_a_whole() {
    let mut system = Tiny::new(&[2, 2]);
    let labels = ones::<2>(&mut system);
    set(&mut system, &[0], None);
    // Two steps, so that the one of `x` is the cheaper way to both.
    set(&mut system, &[1], None);
    set(&mut system, &[1], None);
    let edges: &[(usize, &[i32], usize, u32)] =
        &[(0, &[-1], 0, 0), (0, &[1, 2], 1, 0), (1, &[], 1, 1)];
    violated_in_every_mode(&system, &automaton_of(&labels, 1, edges));
}

/// Two states wait on `x` and on its negation, with a mark each; `x` changes at any time, and so does
/// `y`, unseen. Who always changes `x` never waits, and collects nothing.
#[test]
fn an_event_comes_early_only_if_waiting_collects_nothing() {
    let mut system = Tiny::new(&[2, 2]);
    let labels = ones::<1>(&mut system);
    system.simple("x", &[], (&[0], &[0]), |v| v[0] = 1 - v[0]);
    system.simple("y", &[], (&[1], &[1]), |v| v[1] = 1 - v[1]);
    let edges: &[(usize, &[i32], usize, u32)] = &[
        (0, &[-1], 0, 1),
        (0, &[1], 1, 0),
        (1, &[1], 1, 2),
        (1, &[-1], 0, 0),
    ];
    violated_in_every_mode(&system, &automaton_of(&labels, 2, edges));
}

/// An event that can be taken now is no short cut if its target does not wait. Here the event is that
/// `a` is 0, and its target wants `b` and `c` at the next letter; but `b` is set together with
/// `a`. So `c` must come first, while the first state waits.
#[test]
fn short_cuts_lead_to_states_that_wait() {
    let mut system = Tiny::new(&[2, 2, 2]);
    let labels = ones::<3>(&mut system);
    set(&mut system, &[0, 1], None);
    // Two steps, so that the other one is the cheaper way to both.
    set(&mut system, &[2], None);
    set(&mut system, &[2], None);
    let edges: &[(usize, &[i32], usize, u32)] = &[
        (0, &[-1], 1, 0),
        (0, &[-1], 2, 0),
        (1, &[], 1, 0),
        (1, &[-1], 2, 0),
        (2, &[2, 3], 3, 0),
        (3, &[], 3, 1),
    ];
    violated_in_every_mode(&system, &automaton_of(&labels, 1, edges));
    // It does not wait either if it only has somewhere else to go.
    let elsewhere: &[(usize, &[i32], usize, u32)] = &[
        (0, &[-1], 4, 0),
        (2, &[], 4, 0),
        (4, &[], 4, 0),
        (4, &[1, -2], 3, 0),
    ];
    let edges = [edges, elsewhere].concat();
    violated_in_every_mode(&system, &automaton_of(&labels, 1, &edges));
}

/// What the automaton looks at much later is visible now: `y` must not pass by before `x` has.
#[test]
fn what_is_looked_at_later_is_visible() {
    let mut system = Tiny::new(&[3, 3]);
    for variable in 0..2 {
        for from in 0..2 {
            let here = system.label("here", &[variable], move |v| v[variable] == from);
            let step = move |v: &mut [i64]| v[variable] = from + 1;
            system.simple("step", &[here], (&[], &[variable]), step);
        }
    }
    let is_1 = |variable: usize| system.label("is 1", &[variable], move |v| v[variable] == 1);
    let labels = [0, 1].map(is_1);
    let edges: &[(usize, &[i32], usize, u32)] = &[
        (0, &[], 0, 0),
        (0, &[1], 1, 0),
        (1, &[], 1, 0),
        (1, &[-1, 2], 2, 0),
        (2, &[], 2, 1),
    ];
    violated_in_every_mode(&system, &automaton_of(&labels, 1, edges));
}

/// A step that fails counts as disabled in relations, and must not be taken for one that is enabled:
/// alone, it is the end of all runs.
#[test]
fn a_step_that_fails_is_no_set() {
    for first in [false, true] {
        let mut system = Tiny::new(&[2]);
        let fails = |system: &mut Tiny| {
            let description = Transition {
                may_fail: true,
                ..Transition::default()
            };
            system.transition(description, |_| vec![None]);
        };
        if first {
            fails(&mut system);
        }
        system.simple("goes on", &[], (&[0], &[0]), |v| v[0] = 1 - v[0]);
        if !first {
            fails(&mut system);
        }
        violated_in_every_mode(&system, &automaton_of(&[], 1, &[(0, &[], 0, 1)]));
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
