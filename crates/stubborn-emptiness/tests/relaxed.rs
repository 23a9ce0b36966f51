//! Relaxed visibility: what is visible depends on the state that the automaton is in.

use stubborn_emptiness::{
    Check, CheckVerdict, CycleProviso, Fitting, Property, ReductionRequest, ReductionUse,
    SteeringMode,
};
use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::guard::Guard;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::{Algorithm, Config};

/// Runs on which `p0` is seen, then `p1` then or later, then `p2` then or later: deterministic, and
/// numbered such that who looks at `p2` only comes before who looks at `p1`, too.
fn one_after_the_other() -> Automaton {
    let mut draft = Draft::new((0..3).map(|p| format!("p{p}")).collect(), 1);
    while draft.edges.len() < 4 {
        draft.add_state();
    }
    let [start, third, second, end] = [0_u32, 1, 2, 3];
    let stages = [start, second, third, end];
    for (from, state) in stages.into_iter().enumerate() {
        // So many more are seen at once.
        let mut seen = Guard::TRUE;
        for (to, target) in stages.into_iter().enumerate().skip(from) {
            let here = match to < 3 {
                true => draft.guards.literal(to as u32, false),
                false => Guard::TRUE,
            };
            let guard = draft.guards.and(seen, here);
            draft.edges[state as usize].push(Edge {
                guard,
                target: StateId(target),
                marks: Marks(u32::from(from == 3)),
            });
            if to < 3 {
                let literal = draft.guards.literal(to as u32, true);
                seen = draft.guards.and(seen, literal);
            }
        }
    }
    draft.finish()
}

/// Each state of the automaton has sets of its own: only who takes the first of two independent
/// steps first sees what is between them.
#[test]
fn states_of_automata_keep_to_their_own_sets() {
    let automaton = one_after_the_other();
    assert!(automaton.is_deterministic());
    for first in [0, 1] {
        let mut system = Tiny::new(&[2; 4]);
        // A first step, so that the automaton is in its second state when there is a choice.
        let [before, after] = [0, 1].map(|w| system.label("begun", &[3], move |s| s[3] == w));
        system.simple("begin", &[before], (&[], &[3]), |s| s[3] = 1);
        for variable in 0..3 {
            let open = system.label("open", &[variable], move |s| s[variable] == 0);
            let guards = [after, open];
            system.simple("step", &guards, (&[], &[variable]), move |s| {
                s[variable] = 1
            });
        }
        let always = system.label("always", &[], |_| true);
        let between = system.label("between", &[0, 1], move |s| {
            s[first] == 1 && s[1 - first] == 0
        });
        let last = system.label("last", &[2], |s| s[2] == 1);
        let labels = vec![always, between, last];
        let property = Property::from_automaton(automaton.clone(), labels);
        let relations = relations_over(&system, &system.all_states());
        for algorithm in [Algorithm::Beam, Algorithm::Closure, Algorithm::Deletion] {
            for relaxed_visibility in [false, true] {
                let check = Check {
                    steering: SteeringMode::Off,
                    relaxed_visibility,
                    reduction: Some(ReductionRequest {
                        config: Config::new(algorithm),
                        relations: &relations,
                        proviso: CycleProviso::default(),
                        fitting: Fitting::default(),
                    }),
                    ..Check::new(&system, &property)
                };
                let result = check.run().expect("counterexamples are real");
                assert!(matches!(result.reduction, ReductionUse::On { .. }));
                assert_eq!(
                    result.verdict,
                    CheckVerdict::Violated,
                    "{algorithm} {first}"
                );
            }
        }
    }
}
