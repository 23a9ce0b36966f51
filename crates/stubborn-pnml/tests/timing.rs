mod common;
use stubborn_system::*;
#[test]
fn timing() {
    let Some(corpus) = common::corpus() else {
        return;
    };
    for i in common::instances(&corpus) {
        let model = common::load_instance(&corpus, &i);
        let a = std::time::Instant::now();
        let s = stubborn_pnml::NetSystem::new(model.net).unwrap();
        let b = a.elapsed();
        let a = std::time::Instant::now();
        let r = s.relations(RelationLevel::Syntax);
        let c = a.elapsed();
        let a = std::time::Instant::now();
        let q = s.relations(RelationLevel::Reach);
        let d = a.elapsed();
        eprintln!(
            "{i} T {} words {} new {b:?} syntax {c:?} dna {} dnb {} | reach {d:?} dna {} dnb {} never {} must {}",
            s.net().transition_count(),
            s.layout().words(),
            r.do_not_accord.0.count(),
            r.do_not_left_accord.0.count(),
            q.do_not_accord.0.count(),
            q.do_not_left_accord.0.count(),
            q.never_together.0.count(),
            q.must_disable.0.count()
        );
    }
}
