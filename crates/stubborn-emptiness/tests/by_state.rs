//! Automata that are neither deterministic nor in stutter normal form: what is expanded in one
//! place of the product is expanded wherever its state occurs, and what was walked before that is
//! walked again.

use stubborn_emptiness::{
    Check, CheckVerdict, CycleProviso, Fitting, Property, ReductionRequest, ReductionUse,
    Soundness, SteeringMode,
};
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::random::Random;
use stubborn_ltl::stutter::normalise_stutter;
use stubborn_ltl::translate::translate;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{LabelId, System};

use loose::loose_system;

use crate::loose;

/// The words that are stutter-equivalent to one that satisfies a random formula.
fn closure(random: &mut Random, labels: &[LabelId]) -> Option<Property> {
    let mut formulas = Formulas::new();
    let names = ["p0", "p1"];
    for name in &names[..labels.len()] {
        formulas.proposition(name);
    }
    let size = 3 + random.below(6);
    let formula = random.formula(&mut formulas, labels.len(), size);
    let automaton = translate(&formulas, formula, &Default::default()).ok()?;
    if automaton.state_count() > 5 {
        return None;
    }
    let mut draft = normalise_stutter(&automaton)?.automaton.draft();
    draft.reduce();
    let closed = draft.finish();
    let of = |name: &String| names.iter().position(|known| known == name);
    let own = closed.propositions().iter().map(of);
    let own: Option<Vec<usize>> = own.collect();
    let own = own?.into_iter().map(|number| labels[number]).collect();
    Some(Property::from_automaton(closed, own))
}

#[test]
fn what_is_expanded_is_expanded_wherever_it_occurs() {
    let mut provisos = CycleProviso::all_sound();
    provisos.retain(|proviso| *proviso != CycleProviso::STICKY);
    let (mut by_state, mut repeated) = (0, 0);
    for seed in 0..500 {
        let random = &mut Random::new(seed + 1);
        let system = loose_system(random);
        let last = system.structure().labels.len();
        let labels: Vec<LabelId> = (last - 1 - random.below(2)..last)
            .map(LabelId::new)
            .collect();
        let Some(property) = closure(random, &labels) else {
            continue;
        };
        let relations = relations_over(&system, &system.all_states());
        let plain = Check {
            steering: SteeringMode::Off,
            ..Check::new(&system, &property)
        };
        let proviso = provisos[random.below(provisos.len())];
        let check = Check {
            reduction: Some(ReductionRequest {
                config: Config::new(Algorithm::Beam),
                relations: &relations,
                proviso,
                fitting: Fitting::ByState,
            }),
            ..plain.clone()
        };
        let result = check.run().expect("counterexamples are real");
        let ReductionUse::On {
            soundness: Soundness::ByState,
            ..
        } = result.reduction
        else {
            continue;
        };
        let expected = plain.run().expect("counterexamples are real").verdict;
        assert_eq!(result.verdict, expected, "system {seed}, {proviso}");
        by_state += 1;
        repeated += u32::from(result.walks > 1 && expected == CheckVerdict::Holds);
    }
    eprintln!("{by_state} by state, {repeated} walked again");
    assert!(by_state > 30 && repeated > 0, "{by_state} {repeated}");
}
