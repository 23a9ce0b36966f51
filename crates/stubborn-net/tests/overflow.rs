//! More tokens than fit: an error outcome, never a wrong marking.

use stubborn_net::{
    Atom, CompareOp, Formula, IntExpr, NetBuilder, NetOptions, NetSystem, Nupn, UnitId,
};
use stubborn_pnml::Model;
use stubborn_system::{FieldKind, Outcome, Successors, System, TransitionId};

/// Fires the transition with the given number in the initial state.
fn fire(system: &NetSystem, transition: usize) -> (Vec<u32>, Outcome) {
    let mut out = Successors::new(system.layout().words());
    let initial = system.initial_states();
    system
        .executor()
        .fire(&initial, TransitionId::new(transition), &mut out);
    assert_eq!(out.len(), 1);
    (out.state(0).to_vec(), out.outcome(0))
}

fn check_failure(system: &NetSystem, part_of_message: &str) {
    let (state, outcome) = fire(system, 0);
    let site = outcome
        .sites(system.structure())
        .next()
        .expect("the step fails");
    assert!(site.message.contains(part_of_message), "{}", site.message);
    assert_eq!(Some(&state), system.structure().error_state.as_ref());
    let mut out = Successors::new(system.layout().words());
    system.executor().successors(&state, &mut out);
    assert!(out.is_empty(), "the error state has no successors");
    let failed = system.layout().fields().last().unwrap();
    assert_eq!(
        (failed.kind.clone(), failed.get(&state)),
        (FieldKind::Failed, 1)
    );
}

#[test]
fn a_place_that_runs_full_is_an_error() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", u64::from(u32::MAX));
    let t = builder.transition("t");
    builder.output(t, p, 1);
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    check_failure(&system, "`p` gets more than 4294967295 tokens");
}

#[test]
fn a_heavy_arc_into_a_full_place_is_an_error() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", 5);
    let t = builder.transition("t");
    builder.output(t, p, u32::MAX);
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    check_failure(&system, "more than 4294967295 tokens");
}

#[test]
fn a_wrong_promise_of_safeness_is_an_error() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", 1);
    let q = builder.place("q", 0);
    let t = builder.transition("t");
    builder.output(t, p, 1);
    builder.output(t, q, 1);
    builder.units(Nupn::new(true, vec![UnitId(0), UnitId(1)], vec![None, None]).unwrap());
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    assert_eq!(system.layout().words(), 1);
    check_failure(
        &system,
        "`p` gets more than one token, though the file says it is safe",
    );
}

#[test]
fn the_largest_numbers_that_fit_are_exact() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", u64::from(u32::MAX));
    let q = builder.place("q", 0);
    let constant = builder.place("constant", 1 << 40);
    let t = builder.transition("t");
    builder.input(p, t, u32::MAX);
    builder.output(t, q, u32::MAX);
    builder.input(constant, t, 7);
    builder.output(t, constant, 7);
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    assert!(
        system.structure().error_state.is_none(),
        "an invariant bounds both places"
    );
    let (state, outcome) = fire(&system, 0);
    assert_eq!(outcome, Outcome::FINE);
    let tokens = [p, q, constant].map(|place| system.tokens(&state, place));
    assert_eq!(tokens, [0, u64::from(u32::MAX), 1 << 40]);
}

#[test]
fn a_sum_beyond_the_field_is_not_taken_for_a_bound() {
    // The invariant p + q allows 2^33 tokens in q, which its field does not hold.
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", u64::from(u32::MAX));
    let q = builder.place("q", u64::from(u32::MAX) - 1);
    let t = builder.transition("t");
    builder.input(p, t, 2);
    builder.output(t, q, 2);
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    check_failure(&system, "`q` gets more than 4294967295 tokens");
}

#[test]
fn too_many_initial_tokens_are_refused() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", 1 << 32);
    let t = builder.transition("t");
    builder.input(p, t, 1);
    let model = Model::from_net(builder.build().unwrap());
    assert_eq!(
        NetSystem::new(model.net).err().map(|d| d.code),
        Some("PNM070")
    );
}

#[test]
fn narrow_fields_for_unknown_places_overflow_early() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", 3);
    let t = builder.transition("t");
    builder.output(t, p, 1);
    let net = builder.build().unwrap();
    let options = NetOptions {
        unknown_bits: 2,
        ..NetOptions::default()
    };
    let system = NetSystem::with_options(net.clone(), options).unwrap();
    check_failure(&system, "`p` gets more than 3 tokens");
    let options = NetOptions {
        unknown_bits: 3,
        ..options
    };
    let system = NetSystem::with_options(net, options).unwrap();
    let (state, outcome) = fire(&system, 0);
    assert_eq!((system.tokens(&state, p), outcome), (4, Outcome::FINE));
}

#[test]
fn formulas_are_false_in_the_error_state() {
    let mut builder = NetBuilder::new("n");
    let p = builder.place("p", u64::from(u32::MAX));
    let t = builder.transition("t");
    builder.output(t, p, 1);
    let mut system = NetSystem::new(builder.build().unwrap()).unwrap();
    let empty = Formula::Atom(Atom::Compare(
        CompareOp::Equal,
        IntExpr::tokens(vec![p]),
        IntExpr::constant(0),
    ));
    let labels = [
        system.add_label(empty.clone()).unwrap(),
        system.add_label(empty.negated()).unwrap(),
        system
            .add_label(Formula::Atom(Atom::Fireable(vec![t])))
            .unwrap(),
        system.add_label(Formula::Atom(Atom::Deadlock)).unwrap(),
    ];
    let error = system.structure().error_state.clone().unwrap();
    let mut executor = system.executor();
    assert!(labels.iter().all(|label| !executor.label(&error, *label)));
    let initial = system.initial_states();
    let holds = labels.map(|label| executor.label(&initial, label));
    assert_eq!(holds, [false, true, true, false]);
}
