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

/// Wherever a state or a message mentions a process, texts say its name.
#[test]
fn charts_name_who_is_mentioned() {
    use stubborn_protocol::Pid;

    let mut p = Protocol::<Vec<Pid>>::new("gossip");
    let (a, b) = (p.process("Anna", None), p.process("Bert", None::<Pid>));
    p.action(a, "tells")
        .when(|known| known.is_none())
        .then(move |known, step| {
            *known = Some(step.me());
            step.send(b, vec![a.pid(), b.pid()]);
        });
    p.on_any(b)
        .then(|known, m, _| *known = m.message.first().copied());
    p.invariant_over(
        "nothing is told",
        &[b],
        |known| known.is_some(),
        |known| !known[0],
    );
    let model = p.build().expect("a model");
    let report = model.check().run().expect("a report").to_string();
    for text in ["now Some(Anna)", "[Anna, Bert]"] {
        assert!(report.contains(text), "{report}");
    }
    assert_eq!(format!("{:?}", a.pid()), "#0");
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

mod ready_made {
    use stubborn_protocol::clients::{Consistency, Service, add_clients};
    use stubborn_protocol::linearizability::{KeyValue, KeyValueAnswer, KeyValueOperation, Object};
    use stubborn_protocol::{Model, Protocol};

    type Map = KeyValue<u8, char>;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Message {
        Ask(u32, KeyValueOperation<u8, char>),
        Found(u32, Option<char>),
        Done(u32),
    }

    impl Service<Map> for Message {
        const ANSWERS: &'static [&'static str] = &["Found", "Done"];

        fn ask(number: u32, operation: &KeyValueOperation<u8, char>) -> Self {
            Message::Ask(number, operation.clone())
        }

        fn answer(&self) -> Option<(u32, KeyValueAnswer<char>)> {
            match self {
                Message::Found(number, value) => Some((*number, KeyValueAnswer::Value(*value))),
                Message::Done(number) => Some((*number, KeyValueAnswer::Done)),
                Message::Ask(..) => None,
            }
        }
    }

    /// Servers that do not know of each other.
    fn servers(
        count: usize,
        scripts: &[Vec<KeyValueOperation<u8, char>>],
        consistency: Consistency,
    ) -> Model<Message> {
        let mut p = Protocol::new("maps");
        let servers = p.processes("server", count, Map::default());
        for server in &servers {
            p.on(*server, "Ask").then(|map, m, step| {
                if let Message::Ask(number, operation) = &m.message {
                    let answer = match map.apply(operation) {
                        KeyValueAnswer::Value(value) => Message::Found(*number, value),
                        KeyValueAnswer::Done => Message::Done(*number),
                    };
                    step.send(m.from, answer);
                }
            });
        }
        add_clients(&mut p, Map::default(), &servers, scripts, consistency);
        p.build().expect("a model")
    }

    #[test]
    fn one_map_is_linearizable() {
        use KeyValueOperation::{Delete, Get, Put};
        let scripts = [vec![Put(1, 'A'), Delete(1)], vec![Get(1), Get(2)]];
        let model = servers(1, &scripts, Consistency::Linearizable);
        // Clients whose scripts are over may stop.
        let report = model.check().ends_too().run().expect("a report");
        assert!(report.holds(), "{report}");
    }

    #[test]
    fn clients_who_wait_in_vain_are_no_end() {
        let mut p = Protocol::<Message>::new("mute");
        let servers = p.processes("server", 2, Map::default());
        assert!(servers[0] != servers[1] && servers[0].pid() == servers[0]);
        let mute = servers[0];
        for server in &servers {
            p.on(*server, "Ask")
                .then(move |_, m, step| match &m.message {
                    Message::Ask(number, _) if m.to != mute => {
                        step.send(m.from, Message::Done(*number))
                    }
                    _ => {}
                });
        }
        let scripts = [0, 1].map(|key| vec![KeyValueOperation::Put(key, 'A')]);
        let consistency = Consistency::Linearizable;
        add_clients(&mut p, Map::default(), &servers, &scripts, consistency);
        let model = p.build().expect("a model");
        assert!(model.check().run().expect("a report").holds());
        let report = model.check().ends_too().run().expect("a report");
        assert!(report.failure("no end").is_some(), "{report}");
    }

    #[test]
    fn two_maps_have_a_history_that_is_drawn() {
        use KeyValueOperation::{Get, Put};
        // The second client asks the other server.
        let scripts = [vec![Put(1, 'A')], vec![Get(1)]];
        let model = servers(2, &scripts, Consistency::Linearizable);
        let report = model.check().run().expect("a report");
        let failure = report.failure("linearizable").expect("a stale answer");
        let chart = failure.chart.as_ref().expect("a chart").to_string();
        assert!(
            chart.contains("client 1  .[=]...  Put(1, 'A') gives Done")
                && chart.contains("client 2  ....[=]  Get(1) gives Value(None)"),
            "{chart}"
        );
        let model = servers(2, &scripts, Consistency::Sequential);
        assert!(model.check().run().expect("a report").holds());
        // Its own write, forgotten: nobody can explain that.
        let model = servers(2, &[vec![Put(1, 'A'), Get(1)]], Consistency::Sequential);
        let report = model.check().run().expect("a report");
        assert!(report.failure("sequentially consistent").is_some());
    }

    #[test]
    fn walks_find_what_goes_wrong_and_find_it_again() {
        use KeyValueOperation::{Get, Put};
        let scripts = [vec![Put(1, 'A')], vec![Get(1)]];
        let model = servers(2, &scripts, Consistency::Linearizable);
        let report = model.simulate().seed(1).run();
        let failure = report.failure.as_ref().expect("a violation");
        assert!(
            report
                .to_string()
                .contains("`linearizable` is violated, seed")
        );
        let seed = report.seed.expect("a seed");
        let again = model.simulate().seed(seed).walks(1).run();
        let trace = |f: &stubborn_protocol::Failure| f.trace.as_ref().map(|t| t.len());
        assert_eq!(again.failure.as_ref().map(trace), Some(trace(failure)));
        // Every walk ends after six steps; three are no more than three.
        let model = servers(1, &scripts, Consistency::Linearizable);
        let report = model.simulate().walks(10).run();
        assert!(report.is_clean() && report.walks == 10 && report.steps == 60);
        let report = model.simulate().walks(10).steps(3).run();
        assert!(report.is_clean() && report.steps == 30);
    }

    #[test]
    fn walks_name_who_panics() {
        let mut p = Protocol::<u8>::new("clumsy");
        let clumsy = p.process("clumsy", 0_u8);
        p.action(clumsy, "stumbles").then(|n, _| {
            assert!(*n < 3, "too far");
            *n += 1;
        });
        p.on(clumsy, "Never").then(|_, _, _| {});
        let report = p.build().expect("a model").simulate().run();
        assert!(!report.is_clean() && report.walks == 1);
        assert!(report.misuses[0].contains("too far"), "{report}");
        assert!(report.coverage.handlers.iter().any(|h| !h.ran));
    }
}
