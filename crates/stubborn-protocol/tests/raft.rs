//! Raft elects one leader a term, and its logs agree; with other rules, not.

use stubborn_protocol::protocols::raft::{Setting, protocol};
use stubborn_protocol::{Reduction, Report};

fn check(setting: Setting, reduction: Reduction, most_states: u64) -> Report {
    let model = protocol(setting).build().expect("a model");
    let limits = stubborn_search::Limits {
        states: Some(most_states),
        ..Default::default()
    };
    let checker = model.check().limits(limits).reduction(reduction);
    let report = checker.run().expect("a report");
    assert!(report.misuses.is_empty());
    eprintln!("{setting:?}: {} states", report.states());
    report
}

#[test]
fn one_leader_a_term() {
    let elections = Setting {
        terms: 1,
        entries: 0,
        ..Setting::default()
    };
    for votes_twice in [false, true] {
        let setting = Setting {
            votes_twice,
            ..elections
        };
        for reduction in [Reduction::None, Reduction::Auto] {
            let report = check(setting, reduction, 500_000);
            let names: Vec<_> = report.failures.iter().map(|f| &f.property).collect();
            let expected: &[&str] = if votes_twice {
                &["one leader a term"]
            } else {
                &[]
            };
            assert_eq!(names, expected);
            assert!(report.complete || votes_twice);
        }
    }
}

#[test]
fn one_entry_is_replicated() {
    let one_term = Setting {
        terms: 1,
        ..Setting::default()
    };
    for reduction in [Reduction::None, Reduction::Auto] {
        let report = check(one_term, reduction, 1_000_000);
        assert!(report.holds(), "{report}");
    }
}

#[test]
#[ignore = "long: millions of states"]
fn logs_need_careful_votes() {
    let blind = Setting {
        votes_blindly: true,
        ..Setting::default()
    };
    let report = check(blind, Reduction::Auto, 20_000_000);
    assert!(report.failure("committed logs agree").is_some());
    let report = check(Setting::default(), Reduction::Auto, 5_000_000);
    assert!(report.failures.is_empty());
}
