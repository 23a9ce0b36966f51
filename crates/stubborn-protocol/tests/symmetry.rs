//! One state of each orbit, exactly.

use stubborn_protocol::protocols::two_phase_commit;
use stubborn_protocol::{Protocol, Reduction};

#[test]
fn two_phase_commit_has_920_orbits() {
    // As other tools find by trying all exchanges.
    for (resources, orbits) in [(3, 80), (7, 920)] {
        let (protocol, _) = two_phase_commit::protocol(resources);
        let model = protocol.build().expect("a model");
        let report = model.check().symmetric().run().expect("a report");
        assert!(report.holds(), "{report}");
        assert_eq!(report.states(), orbits);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Pass,
}

/// A ring is symmetric under rotations only: exchanging two neighbours changes it.
fn ring(count: usize) -> Protocol<Token> {
    let mut p = Protocol::new("ring");
    let all = p.processes("p", count, false);
    for (at, process) in all.iter().enumerate() {
        let next = all[(at + 1) % count];
        p.on(*process, "Pass").then(move |had, _, step| {
            *had = true;
            step.send(next, Token::Pass);
        });
    }
    p.send_initially(all[0], all[1], Token::Pass);
    p.invariant_of_each("never", &all, |had| !*had);
    p.interchangeable(&all);
    p
}

#[test]
fn what_is_not_symmetric_is_refused() {
    let model = ring(4).build().expect("a model");
    let refused = model.check().symmetric().run();
    assert!(refused.is_err_and(|e| e.to_string().contains("not symmetric")));
    let refused = model.check().symmetric().reduction(Reduction::Auto).run();
    assert!(refused.is_err_and(|e| e.to_string().contains("choose one")));
}

#[test]
fn counterexamples_are_runs_of_the_protocol_itself() {
    let mut p = Protocol::<Token>::new("election");
    let all = p.processes("p", 4, false);
    for process in &all {
        p.action(*process, "wins")
            .when(|won| !*won)
            .then(|won, _| *won = true);
    }
    p.invariant_over(
        "one winner",
        &all,
        |w| *w,
        |all| all.iter().filter(|w| **w).count() < 3,
    );
    p.interchangeable(&all);
    let model = p.build().expect("a model");
    let report = model.check().symmetric().run().expect("a report");
    let failure = report.failure("one winner").expect("it is violated");
    assert_eq!(failure.trace.as_ref().map(|t| t.len()), Some(3));
    assert!(report.states() <= 5);
}
