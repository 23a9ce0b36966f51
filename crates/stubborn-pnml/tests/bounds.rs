//! Bounds and invariants of the corpus: they hold, and they are found.
mod common;

use common::{corpus, instances, load_instance};
use stubborn_pnml::{BoundSource, Bounds, InvariantBudget, Invariants};

#[test]
fn invariants_of_the_corpus_are_invariants() {
    let Some(corpus) = corpus() else { return };
    for instance in instances(&corpus) {
        let net = load_instance(&corpus, &instance).net;
        let start = std::time::Instant::now();
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let took = start.elapsed();
        assert!(invariants.check(&net), "{instance}");
        let bounds = Bounds::new(&net, &invariants);
        let unknown = net
            .places()
            .filter(|p| bounds.source(*p) == BoundSource::Unknown)
            .count();
        println!(
            "{instance} {} {} unknown {unknown} {:?}",
            net.place_count(),
            invariants.all().len(),
            start.elapsed()
        );
    }
}
