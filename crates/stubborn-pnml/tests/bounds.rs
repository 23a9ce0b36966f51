//! Place invariants and bounds of the corpus: they hold, and most places have one.

mod common;

use common::{corpus, instances, load_instance};
use stubborn_pnml::{BoundSource, Bounds, InvariantBudget, Invariants};

#[test]
fn invariants_of_the_corpus_are_invariants() {
    let Some(corpus) = corpus() else { return };
    let (mut places, mut unknown) = (0, 0);
    for instance in instances(&corpus) {
        // Mostly unbounded in truth, and larger than all others together.
        if instance.starts_with("VehicularWifi") {
            continue;
        }
        let net = load_instance(&corpus, &instance).net;
        let invariants = Invariants::find(
            &net,
            InvariantBudget {
                operations: 1_000_000,
            },
        );
        assert!(invariants.check(&net), "{instance}");
        let bounds = Bounds::new(&net, &invariants);
        places += net.place_count();
        unknown += net
            .places()
            .filter(|p| bounds.source(*p) == BoundSource::Unknown)
            .count();
    }
    assert!(
        unknown * 5 < places,
        "{unknown} of {places} places have no bound"
    );
}
