//! What is written is read back as the same net.

use crate::common;

use stubborn_diagnostics::SourceFile;
use stubborn_net::Net;
use stubborn_pnml::{load, pnml};
use stubborn_system::Random;

fn check(net: &Net, what: &str) {
    let text = pnml(net).to_string();
    let source = SourceFile::new(what, text);
    let (model, messages) = load(&source);
    let shown = stubborn_diagnostics::render(&source, &messages, false);
    assert!(messages.is_empty(), "{what}: {shown}");
    let again = model.unwrap().net;
    assert_eq!(again.name(), net.name());
    assert_eq!(again.initial_marking(), net.initial_marking(), "{what}");
    for place in net.places() {
        assert_eq!(again.place_name(place), net.place_name(place), "{what}");
        assert_eq!(again.place_label(place), net.place_label(place), "{what}");
    }
    assert_eq!(again.transition_count(), net.transition_count());
    for t in net.transitions() {
        assert_eq!(again.transition_name(t), net.transition_name(t), "{what}");
        assert_eq!(
            (again.pre(t), again.post(t), again.inhibitors(t)),
            (net.pre(t), net.post(t), net.inhibitors(t)),
            "{what}"
        );
    }
    assert_eq!(again.units().is_some(), net.units().is_some());
    if let (Some(again), Some(units)) = (again.units(), net.units()) {
        assert_eq!(again.is_safe(), units.is_safe());
        for place in net.places() {
            let around = |units: &stubborn_net::Nupn| units.parent(units.unit_of(place));
            assert_eq!(again.unit_of(place), units.unit_of(place), "{what}");
            assert_eq!(around(again), around(units), "{what}");
        }
    }
}

#[test]
fn random_nets_survive() {
    let mut random = Random::new(0x5eed_0000_1111_2222);
    for _ in 0..300 {
        check(&common::random_net(&mut random), "random");
    }
}

#[test]
fn odd_names_survive() {
    let mut builder = stubborn_net::NetBuilder::new("a<b>&\"c\"");
    let p = builder.place("p(1,\"x\")", u64::MAX);
    builder.label_place(p, "5 < 6 & 'so on'");
    let t = builder.transition("t->u");
    builder.input(p, t, u32::MAX);
    builder.output(t, p, 1);
    check(&builder.build().unwrap(), "odd");
}

#[test]
fn the_corpus_survives() {
    let Some(corpus) = common::corpus() else {
        return;
    };
    for instance in common::instances(&corpus) {
        let net = common::load_instance(&corpus, &instance).net;
        if net.transition_count() < 5_000 {
            check(&net, &instance);
        }
    }
}
