//! Random automata.

use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::guard::Guard;
use stubborn_ltl::random::Random;

/// An automaton of any shape: nondeterministic, sensitive to stuttering, with marks anywhere.
pub(crate) fn random_automaton(random: &mut Random, propositions: usize) -> Automaton {
    let names = (0..propositions).map(|p| format!("p{p}")).collect();
    let sets = random.below(3) as u32;
    let mut draft = Draft::new(names, sets);
    let states = 1 + random.below(4);
    while draft.edges.len() < states {
        draft.add_state();
    }
    for state in 0..states {
        for number in 0..1 + random.below(4) {
            let mut guard = Guard::TRUE;
            for _ in 0..random.below(3) {
                let variable = random.below(propositions) as u32;
                let literal = draft.guards.literal(variable, random.below(2) == 0);
                guard = match random.below(4) {
                    0 => draft.guards.or(guard, literal),
                    _ => draft.guards.and(guard, literal),
                };
            }
            // Mostly states that can wait.
            let target = match number == 0 && random.below(4) > 0 {
                true => state,
                false => random.below(states),
            };
            let marks = random.below(4) & random.below(4);
            draft.edges[state].push(Edge {
                guard,
                target: StateId(target as u32),
                marks: Marks(marks as u32 & Marks::all(sets).0),
            });
        }
    }
    draft.finish()
}
