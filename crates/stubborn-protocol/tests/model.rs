//! What handlers, networks, timers and crashes do; and what is said about mistakes.

use stubborn_protocol::{Network, Protocol, Reduction};
use stubborn_search::{Search, SearchResult};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Ping(u8),
}

fn explore(p: Protocol<Message>) -> SearchResult {
    let model = p.build().expect("a model");
    Search::new(&model).run().expect("a search")
}

/// A pinger that sends numbers to a ponger, which notes them in order.
fn sequence(network: Network) -> Protocol<Message> {
    let mut p = Protocol::new("sequence");
    p.network(network);
    let pinger = p.process("pinger", 0_u8);
    let ponger = p.process("ponger", Vec::<u8>::new());
    p.action(pinger, "pings")
        .when(|n| *n < 3)
        .then(move |n, step| {
            *n += 1;
            step.send(ponger, Message::Ping(*n));
        });
    p.on(ponger, "Ping")
        .only_if(|seen| seen.len() < 3)
        .then(|seen, m, _| {
            let Message::Ping(n) = m.message;
            seen.push(n);
        });
    p.invariant_of_each("in order", &[ponger], |seen| seen.is_sorted());
    p.invariant_of_each("once", &[ponger], |seen| {
        seen.iter()
            .all(|n| seen.iter().filter(|m| *m == n).count() == 1)
    });
    p
}

#[test]
fn networks_keep_their_promises() {
    let violated = |network| -> Vec<String> {
        let model = sequence(network).build().expect("a model");
        let report = model.check().all_violations().run().expect("a report");
        report.failures.iter().map(|f| f.property.clone()).collect()
    };
    assert_eq!(violated(Network::Ordered), [""; 0]);
    assert_eq!(violated(Network::Unordered), ["in order"]);
    assert_eq!(violated(Network::Duplicating), ["in order", "once"]);
}

#[test]
fn messages_get_lost_only_where_they_may() {
    let mut p = sequence(Network::Ordered);
    assert_eq!(explore(p).deadlocks, 1);
    p = sequence(Network::Ordered);
    p.lossy();
    // Any of the three may be missing at the end.
    assert_eq!(explore(p).deadlocks, 8);
}

#[test]
fn charts_show_who_told_whom() {
    let model = sequence(Network::Unordered).build().expect("a model");
    let report = model.check().all_violations().run().expect("a report");
    let failure = report.failure("in order").expect("it is violated");
    let chart = failure.chart.as_ref().expect("a chart");
    let text = chart.to_string();
    assert!(text.contains("Ping(2)"), "{text}");
    assert!(text.contains("ponger: Ping, now [2, 1]"), "{text}");
    let svg = chart.svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let failed = std::panic::catch_unwind(|| report.assert_holds());
    let message = failed
        .expect_err("a panic")
        .downcast::<String>()
        .expect("a text");
    assert!(
        message.contains("sequence: `in order` is violated"),
        "{message}"
    );
}

#[test]
fn undeclared_effects_are_reported_by_name() {
    for wrong in 0..3 {
        let mut p = Protocol::<Message>::new("liar");
        let a = p.process("a", 0_u8);
        let b = p.process("b", 0_u8);
        let action = p.action(a, "lies").when(|s| *s == 0);
        match wrong {
            0 => action.sends("Pong", &[b]).then(move |s, step| {
                *s = 1;
                step.send(b, Message::Ping(1));
            }),
            1 => action.only_reads().then(|s, _| *s = 1),
            _ => action.then(|s, step| {
                *s = 1;
                step.set_timer("tea");
            }),
        }
        let model = p.build().expect("a model");
        for reduction in [Reduction::None, Reduction::Auto] {
            let report = model.check().reduction(reduction).run().expect("a report");
            assert!(!report.holds());
            let text = report.to_string();
            assert!(text.contains("the handler `lies` of `a`"), "{text}");
        }
    }
}

#[test]
fn timers_run_out_once() {
    let mut p = Protocol::<Message>::new("alarm");
    let clock = p.process("clock", 0_u8);
    p.on_timeout(clock, "alarm").then(|rings, step| {
        *rings += 1;
        if *rings < 3 {
            step.set_timer("alarm");
        }
    });
    p.set_timer_initially(clock, "alarm");
    p.invariant_of_each("three times", &[clock], |rings| *rings <= 3);
    let model = p.build().expect("a model");
    assert_eq!(Search::new(&model).run().expect("a search").states, 4);
    stubborn_protocol::assert_holds!(model);
}

#[test]
fn crashes_are_counted_and_survived() {
    let mut p = Protocol::<Message>::new("fragile");
    let all = p.processes("p", 2, 1_u8);
    p.may_crash(&all, 1);
    for process in &all {
        p.recovers(*process, |_| 0);
    }
    p.invariant("not both", move |view| {
        !(view.is_crashed(all[0]) && view.is_crashed(all[1]))
    });
    let model = p.build().expect("a model");
    // Nobody has crashed; one of two is down; one of two is back.
    assert_eq!(Search::new(&model).run().expect("a search").states, 5);
    stubborn_protocol::assert_holds!(model);
}

#[test]
fn choices_are_all_tried_and_impossible_ones_do_not_happen() {
    let mut p = Protocol::<Message>::new("dice");
    let player = p.process("player", (0_usize, 0_usize));
    p.action(player, "rolls")
        .when(|s| s.0 == 0)
        .then(|s, step| {
            s.0 = 1 + step.choose(6);
            s.1 = 1 + step.choose(6);
            if s.0 == s.1 {
                step.ignore();
            }
        });
    assert_eq!(explore(p).states, 31);
}

#[test]
fn formulas_are_checked() {
    let mut p = Protocol::<Message>::new("light");
    let light = p.process("light", false);
    p.action(light, "flips").then(|on, _| *on = !*on);
    p.proposition("on", &[light], |on| *on, |all| all[0]);
    let model = p.build().expect("a model");
    assert!(
        model
            .check()
            .formula("[] <> on")
            .expect("an answer")
            .is_none()
    );
    assert!(
        model
            .check()
            .formula("<> [] on")
            .expect("an answer")
            .is_some()
    );
    assert!(model.check().formula("[] off").is_err());
}

#[test]
fn threads_count_the_same() {
    let model = stubborn_protocol::protocols::two_phase_commit::protocol(5)
        .0
        .build();
    let model = model.expect("a model");
    let search = Search {
        threads: 3,
        ..Search::new(&model)
    };
    assert_eq!(search.run().expect("a search").states, 8_832);
}
