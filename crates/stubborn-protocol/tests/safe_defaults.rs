//! What a check does when nobody tells it how: it ends, it says what it did, and mistakes in the
//! protocol itself do not pass for properties that hold.

use std::time::{Duration, Instant};

use stubborn_protocol::{
    CheckError, Checker, Knowledge, Limits, Protocol, ProtocolError, Reduction, RelationLevel,
    kind, over,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Request,
    Grant,
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Idle,
    Waiting,
    Working,
}

/// A lock server; a careless one grants to everybody, and then infinitely many releases may be on
/// their way.
fn lock_server(careless: bool) -> Protocol<Message> {
    let mut p = Protocol::new("lock server");
    let server = p.process("server", true);
    let clients = p.processes("client", 3, Client::Idle);
    for client in &clients {
        p.action(*client, "asks")
            .when(|c| *c == Client::Idle)
            .then(move |c, step| {
                *c = Client::Waiting;
                step.send(server, Message::Request);
            });
        p.on(*client, "Grant").then(|c, _, _| *c = Client::Working);
        p.action(*client, "is done")
            .when(|c| *c == Client::Working)
            .then(move |c, step| {
                *c = Client::Idle;
                step.send(server, Message::Release);
            });
    }
    p.on(server, "Request")
        .only_if(|free| *free)
        .then(move |free, m, step| {
            *free = careless;
            step.send(m.from, Message::Grant);
        });
    p.on(server, "Release").then(|free, _, _| *free = true);
    p.invariant_over(
        "mutual exclusion",
        &clients,
        |c| *c == Client::Working,
        |working| working.iter().filter(|w| **w).count() <= 1,
    );
    p
}

/// The chart's last numbered line.
fn steps(report: &stubborn_protocol::Report, property: &str) -> usize {
    let failure = report.failure(property).expect("a violation");
    failure.trace.as_ref().expect("a trace").steps().count()
}

#[test]
fn an_infinite_state_space_does_not_hide_a_near_violation() {
    let mut p = lock_server(true);
    // Holds for ever, so that a search that waits for its violation never ends.
    p.invariant("nothing", |_| true);
    let model = p.build().expect("a model");
    let report = model.check().run().expect("a report");
    assert_eq!(steps(&report, "mutual exclusion"), 6);
    assert!(report.failure("mutual exclusion").expect("it").shortest);
    assert!(report.states() < 1_000, "{}", report.states());
    assert!(report.to_string().contains("by the shortest way"));
}

#[test]
fn the_shortest_way_is_the_shortest_with_every_reduction() {
    let model = lock_server(true).build().expect("a model");
    for reduction in [Reduction::None, Reduction::Auto, Reduction::lpor()] {
        let report = model.check().reduction(reduction.clone()).run();
        let report = report.expect("a report");
        let failure = report.failure("mutual exclusion").expect("it");
        assert!(failure.shortest, "{reduction:?}");
        assert_eq!(steps(&report, "mutual exclusion"), 6, "{reduction:?}");
    }
    let deep = model.check().depth_first().limits(Limits {
        states: Some(20_000),
        ..Limits::default()
    });
    for failure in deep.run().expect("a report").failures {
        assert!(failure.shortest, "it was looked for again");
    }
}

/// Sends numbers that nobody takes: every state has a longer inbox.
fn flood() -> Protocol<u32> {
    let mut p = Protocol::new("flood");
    let source = p.process("source", 0_u32);
    let sink = p.process("sink", 0_u32);
    p.action(source, "sends").then(move |n, step| {
        *n += 1;
        step.send(sink, *n);
    });
    p.invariant_of_each("small", &[sink], |n| *n == 0);
    p
}

#[test]
fn limits_hold_also_for_what_the_store_does_not_see() {
    let limited = |limits: Limits<'static>, depth_first: bool, reduction: Reduction| {
        let model = flood().build().expect("a model");
        let check = model.check().limits(limits).reduction(reduction);
        let check = match depth_first {
            true => check.depth_first(),
            false => check,
        };
        let started = Instant::now();
        let report = check.run().expect("a report");
        assert!(!report.complete && report.failures.is_empty());
        assert!(report.limit.is_some(), "{report}");
        let elapsed = started.elapsed();
        eprintln!("{depth_first} {} states, {elapsed:?}", report.states());
        assert!(elapsed < Duration::from_secs(60));
        report
    };
    for (depth_first, reduction) in [
        (false, Reduction::None),
        (true, Reduction::lpor()),
        (false, Reduction::Auto),
    ] {
        // Inboxes of 20,000 states take nearly 2 GB, and no state of the store is large.
        let memory = Limits {
            memory: Some(60 << 20),
            ..Limits::default()
        };
        let report = limited(memory, depth_first, reduction.clone());
        assert!(report.states() < 20_000, "{}", report.states());
        let time = Limits {
            time: Some(Duration::from_millis(50)),
            ..Limits::default()
        };
        limited(time, depth_first, reduction);
    }
}

#[test]
fn misspelt_kinds_are_noticed() {
    let misspelt = |kind: &'static str| {
        let mut p = Protocol::new("ping");
        let a = p.process("a", false);
        let b = p.process("b", false);
        p.action(a, "asks")
            .when(|sent| !*sent)
            .then(move |sent, step| {
                *sent = true;
                step.send(b, Message::Request);
            });
        p.on(b, kind).then(|served, _, _| *served = true);
        p.invariant_of_each("never served", &[b], |served| !*served);
        let model = p.build().expect("a model");
        model.check().run().expect("a report")
    };
    assert!(!misspelt("Request").failures.is_empty());
    let report = misspelt("Requst");
    assert!(!report.holds());
    let text = report.to_string();
    let expected = "`b` waits for `Requst`, which nobody sends: is `Request` meant?";
    assert!(text.contains(expected), "{text}");
    // Something else entirely may be on purpose.
    let report = misspelt("Grant");
    assert!(report.holds());
    let text = report.to_string();
    assert!(
        text.contains("`b` waits for `Grant`, which nobody sends"),
        "{text}"
    );
    assert!(
        text.contains("`b` got `Request`, and never took it"),
        "{text}"
    );
}

#[test]
fn misspelt_kinds_of_a_record_are_noticed() {
    let mut p = Protocol::new("record");
    let a = p.process("a", 0_u8);
    p.send_initially(a, a, Message::Request);
    p.on(a, "Request").then(|n, _, _| *n = 1);
    p.record(0_u8)
        .on_delivery(&["Reqest"], |seen, _| *seen += 1)
        .invariant("none", |seen| *seen == 0);
    let report = p.build().expect("a model").check().run().expect("a report");
    assert!(
        report.misuses[0].contains("the record waits for `Reqest`"),
        "{report}"
    );
}

#[test]
fn reports_say_what_was_done() {
    let mut p = lock_server(false);
    let idle = p.process("idle", 0_u8);
    p.action(idle, "wakes up").when(|n| *n > 0).then(|_, _| {});
    let model = p.build().expect("a model");
    let report = model
        .check()
        .reduction(Reduction::lpor())
        .run()
        .expect("a report");
    assert!(report.holds());
    let text = report.to_string();
    assert!(
        text.contains("states") && text.contains("reduction: lpor"),
        "{text}"
    );
    assert!(
        text.contains("the handler `wakes up` of `idle` never ran"),
        "{text}"
    );
    let (ran, not): (Vec<_>, Vec<_>) = report.coverage.handlers.iter().partition(|h| h.ran);
    assert_eq!((ran.len(), not.len()), (11, 1));
    let mut known = report.coverage.handlers.iter();
    assert!(known.all(|h| h.knowledge == Some(Knowledge::Analysed)));
    let unreduced = model.check().unreduced().run().expect("a report");
    assert!(unreduced.to_string().contains("reduction: none"));
}

#[test]
fn an_analysis_that_gives_up_says_so() {
    let mut p = Protocol::<u64>::new("counter");
    let a = p.process("a", 0_u64);
    // Run in advance, every answer may come again, and counts on: there is no end to it.
    p.action(a, "asks").when(|n| *n == 0).then(move |n, step| {
        *n = 1;
        step.send(a, 1);
    });
    p.on_any(a).sends_nothing().then(|n, m, _| *n += m.message);
    p.invariant_of_each("small", &[a], |n| *n < 3);
    let model = p.build().expect("a model");
    let report = model
        .check()
        .reduction(Reduction::lpor())
        .run()
        .expect("a report");
    assert!(report.holds());
    let knowledge: Vec<_> = report
        .coverage
        .handlers
        .iter()
        .map(|h| h.knowledge)
        .collect();
    assert_eq!(
        knowledge,
        [Some(Knowledge::Nothing), Some(Knowledge::Declared)]
    );
    assert!(report.to_string().contains("took too long"), "{report}");
}

#[test]
fn names_are_unique_and_processes_are_ones_own() {
    let error = |p: Protocol<Message>| p.build().expect_err("a mistake");
    let mut p = Protocol::<Message>::new("twins");
    p.process("a", 0_u8);
    p.process("a", 1_u8);
    assert!(matches!(
        error(p),
        ProtocolError::DuplicateName {
            what: "process",
            ..
        }
    ));

    let mut p = lock_server(false);
    p.invariant("mutual exclusion", |_| true);
    assert!(matches!(
        error(p),
        ProtocolError::DuplicateName {
            what: "property",
            ..
        }
    ));

    let mut other = Protocol::<Message>::new("other");
    let stranger = other.processes("stranger", 9, 0_u8)[8];
    let own_number = other.process("with a number of ours", 'x');
    let foreign = |p: Protocol<Message>| {
        assert!(matches!(error(p), ProtocolError::ForeignProcess { .. }));
    };
    let base = || {
        let mut p = Protocol::<Message>::new("base");
        let a = p.process("a", 0_u8);
        (p, a)
    };
    let (mut p, _) = base();
    p.on(stranger, "Grant").then(|_, _, _| {});
    foreign(p);
    let (mut p, _) = base();
    // The number fits, the type does not.
    let first = other.process("late", 'y');
    p.action(first, "acts").then(|_, _| {});
    p.action(own_number, "acts").then(|_, _| {});
    foreign(p);
    let (mut p, _) = base();
    p.on_timeout(stranger, "tea").then(|_, _| {});
    foreign(p);
    let (mut p, _) = base();
    p.set_timer_initially(stranger, "tea");
    foreign(p);
    let (mut p, _) = base();
    p.may_crash(&[stranger], 1);
    foreign(p);
    let (mut p, _) = base();
    p.recovers(stranger, |s| *s);
    foreign(p);
    let (mut p, a) = base();
    p.on(a, "Grant").from(&[stranger]).then(|_, _, _| {});
    foreign(p);
    let (mut p, a) = base();
    p.action(a, "acts")
        .sends("Grant", &[stranger])
        .then(|_, _| {});
    foreign(p);
    let (mut p, _) = base();
    p.invariant_of_each("strange", &[stranger], |_| true);
    foreign(p);
    let (mut p, a) = base();
    p.send_initially(stranger, a, Message::Grant);
    foreign(p);
}

#[test]
fn processes_can_be_declared_first() {
    let mut p = Protocol::<Message>::new("pair");
    let a = p.declare::<Option<stubborn_protocol::Pid>>("a");
    let b = p.process("b", Some(a.pid()));
    p.define(a, Some(b.pid()));
    p.invariant("they know each other", move |view| {
        *view.state(a) == Some(b.pid()) && *view.state(b) == Some(a.pid())
    });
    stubborn_protocol::assert_holds!(p.build().expect("a model"));

    let mut p = Protocol::<Message>::new("pair");
    p.declare::<u8>("a");
    assert_eq!(
        p.build().expect_err("a mistake"),
        ProtocolError::Undefined {
            process: "a".into()
        }
    );
    let mut p = Protocol::<Message>::new("pair");
    let a = p.process("a", 0_u8);
    p.define(a, 1);
    assert_eq!(
        p.build().expect_err("a mistake"),
        ProtocolError::DefinedTwice {
            process: "a".into()
        }
    );
}

#[test]
fn panicking_handlers_are_named_and_shown() {
    for at in 0..4 {
        let mut p = Protocol::<Message>::new("fragile");
        let a = p.process("a", 0_u8);
        let b = p.process("b", 0_u8);
        p.action(a, "asks").when(|n| *n < 2).then(move |n, step| {
            *n += 1;
            step.send(b, Message::Request);
        });
        p.on(b, "Request")
            .only_if(move |n| at != 1 || *n < 1 || panic!("twice is too often"))
            .when(move |n, _| at != 2 || *n < 1 || panic!("twice is too often"))
            .then(move |n, _, _| {
                assert!(at != 0 || *n < 1, "twice is too often");
                *n += 1;
            });
        p.invariant_of_each("fine", &[b], move |n| {
            at != 3 || *n < 2 || panic!("twice is too often")
        });
        let model = p.build().expect("a model");
        for reduction in [Reduction::None, Reduction::Auto] {
            let report = model.check().reduction(reduction).run().expect("a report");
            assert!(!report.holds());
            let text = report.to_string();
            let who = match at {
                3 => "the property `fine`",
                _ => "the handler `Request` of `b`",
            };
            assert!(text.contains(who), "{text}");
            assert!(text.contains("twice is too often"), "{text}");
            if at < 3 {
                assert!(report.misuse_chart.is_some(), "{text}");
            }
        }
    }
}

#[test]
fn invariants_look_at_processes_of_different_types() {
    let mut p = Protocol::<Message>::new("types");
    let number = p.process("number", 0_u8);
    let words = p.processes("word", 2, String::new());
    p.action(number, "counts")
        .when(|n| *n < 2)
        .then(|n, _| *n += 1);
    p.action(words[1], "grows")
        .when(|w| w.len() < 2)
        .then(|w, _| w.push('x'));
    p.invariant_across(
        "not both",
        (over(&[number], |n| *n), over(&words, |w: &String| w.len())),
        |(number, words)| !(number[0] == 2 && words[1] == 1),
    );
    let model = p.build().expect("a model");
    for reduction in [Reduction::None, Reduction::lpor()] {
        let report = model.check().reduction(reduction).run().expect("a report");
        assert_eq!(steps(&report, "not both"), 3);
    }
}

#[test]
fn errors_can_be_told_apart() {
    let model = lock_server(false).build().expect("a model");
    assert!(matches!(
        model.check().formula("[] nonsense"),
        Err(CheckError::Formula(_))
    ));
    let symmetric = model.check().symmetric();
    assert!(matches!(symmetric.run(), Err(CheckError::NoSymmetry)));
    let both = model.check().symmetric().reduction(Reduction::Auto);
    assert!(matches!(both.run(), Err(CheckError::SymmetryAndReduction)));
    let limited = model.check().relations(RelationLevel::Syntax);
    assert!(limited.run().is_ok_and(|r| r.holds()));
}

#[test]
fn good_things_must_happen() {
    let mut p = lock_server(false);
    p.sometimes("everybody waits", |_| false);
    let model = p.build().expect("a model");
    let report = model.check().run().expect("a report");
    let failure = report.failure("everybody waits").expect("it never happens");
    assert!(failure.trace.is_none());
    assert!(
        report.to_string().contains("no way leads there"),
        "{report}"
    );

    let worker = |stops: bool| {
        let mut p = Protocol::<Message>::new("worker");
        let worker = p.process("worker", 0_u8);
        let other = p.process("other", false);
        p.action(worker, "works")
            .when(|n| *n < 2)
            .then(|n, _| *n += 1);
        p.action(other, "flips").then(|on, _| *on = !*on);
        p.sometimes("done", move |view| *view.state(worker) == 2);
        p.eventually("is done", move |view| *view.state(worker) == 2 && !stops);
        p.build().expect("a model")
    };
    // The other process may flip for ever, unless runs are fair.
    let model = worker(false);
    let unfair = model.check().run().expect("a report");
    assert!(unfair.failure("is done").is_some_and(|f| f.chart.is_some()));
    assert!(unfair.failure("done").is_none());
    assert!(model.check().fair().run().expect("a report").holds());
    assert!(!worker(true).check().fair().run().expect("a report").holds());
}

#[test]
fn checks_stay_within_a_boundary() {
    let mut p = Protocol::<u32>::new("counter");
    let a = p.process("a", 0_u32);
    p.action(a, "counts").then(|n, _| *n += 1);
    p.invariant_of_each("small", &[a], |n| *n < 100);
    let model = p.build().expect("a model");
    let within = |most: u32| {
        model
            .check()
            .within(move |view| *view.state(a) < most)
            .run()
    };
    let report = within(50).expect("a report");
    assert!(report.holds());
    assert_eq!(report.states(), 51);
    assert!(!within(200).expect("a report").holds());
}

#[test]
fn checks_stay_within_so_many_steps() {
    let mut p = Protocol::<u32>::new("counter");
    let a = p.process("a", 0_u32);
    p.action(a, "counts")
        .when(|n| *n < 500)
        .then(|n, _| *n += 1);
    p.invariant_of_each("small", &[a], |n| *n < 100);
    p.sometimes("large", move |view| *view.state(a) == 60);
    p.eventually("at last", move |view| *view.state(a) == 60);
    let model = p.build().expect("a model");
    let to = |steps| model.check().depth(steps).run().expect("a report");
    let report = to(99);
    // No answer, and the way to what would be one is not cut off too early.
    assert!(report.failures.is_empty() && !report.complete && !report.holds());
    assert!(report.to_string().contains("number of steps"), "{report}");
    assert!(to(100).failure("small").is_some());
    // A bound that cuts nothing off.
    let mut p = Protocol::<u32>::new("steps");
    let a = p.process("a", 0_u32);
    p.action(a, "counts").when(|n| *n < 5).then(|n, _| *n += 1);
    p.sometimes("all", move |view| *view.state(a) == 5);
    let model = p.build().expect("a model");
    assert!(model.check().depth(5).run().expect("a report").holds());
    let report = model.check().depth(4).run().expect("a report");
    assert!(report.failures.is_empty() && !report.complete);
    let deep = model.check().depth(4).depth_first();
    assert!(matches!(deep.run(), Err(CheckError::Reduction(_))));
    let reduced = model.check().depth(4).reduction(Reduction::Messages);
    assert!(matches!(reduced.run(), Err(CheckError::Reduction(_))));
}

/// A process that somebody talks to all the time is not neglected if it never listens to another, but
/// the other's channel is.
#[test]
fn channels_are_treated_fairly() {
    let listener = |lossy: bool| {
        let mut p = Protocol::<Message>::new("listener");
        if lossy {
            p.lossy();
        }
        let listener = p.process("listener", 0_u8);
        let talker = p.process("talker", ());
        let shy = p.process("shy", ());
        p.send_initially(talker, listener, Message::Request);
        p.send_initially(shy, listener, Message::Grant);
        p.on(talker, kind!(Message::Release))
            .then(move |(), _, step| step.send(listener, Message::Request));
        p.on(listener, kind!(Message::Request))
            .then(move |_, _, step| step.send(talker, Message::Release));
        p.on(listener, kind!(Message::Grant)).then(|n, _, _| *n = 1);
        p.eventually("heard", move |view| *view.state(listener) == 1);
        p.build().expect("a model")
    };
    let model = listener(false);
    let holds = |check: Checker<'_, _>| check.run().expect("a report").holds();
    assert!(!holds(model.check()));
    assert!(!holds(model.check().fair()));
    assert!(holds(model.check().fair_channels()));
    assert!(!holds(listener(true).check().fair_channels()));
    let formula = |check: Checker<'_, _>| check.formula("<> heard").expect("a verdict");
    assert!(formula(model.check().fair()).is_some());
    assert!(formula(model.check().fair_channels()).is_none());
}

#[test]
fn at_most_so_many_are_down_at_a_time_and_what_is_on_disk_stays() {
    let crashing = |returns: bool| {
        let mut p = Protocol::<Message>::new("replicas");
        // What is on disk, and what is in memory.
        let all = p.processes("replica", 3, (0_u8, 0_u8));
        match returns {
            true => p.may_be_down(&all, 1),
            false => p.may_crash(&all, 1),
        }
        for replica in &all {
            p.recovers(*replica, |(disk, _)| (*disk, 0));
            p.action(*replica, "writes")
                .when(|(disk, _)| *disk == 0)
                .then(|s, _| *s = (1, 1));
        }
        let one = all[0];
        p.invariant("one at a time", move |view| {
            all.iter().filter(|r| view.is_crashed(**r)).count() <= 1
        });
        p.invariant("disks are written first", move |view| {
            let (disk, memory) = *view.state(one);
            disk >= memory
        });
        p.sometimes("it has forgotten and not lost", move |view| {
            *view.state(one) == (1, 0)
        });
        p.build().expect("a model")
    };
    let states = |model: &stubborn_protocol::Model<Message>, reduction| {
        let report = model.check().reduction(reduction).ends_too().run();
        let report = report.expect("a report");
        let names: Vec<_> = report.failures.iter().map(|f| f.property.clone()).collect();
        // Crashes that come back never end; others do.
        (names, report.searches[0].1.states)
    };
    let (_, ever) = states(&crashing(true), Reduction::None);
    let (_, once) = states(&crashing(false), Reduction::None);
    // Each replica has written or not and has or has not forgotten, with one down or none:
    // 3 local states up, 3 ways to be down (as before the crash).
    assert_eq!(ever, 27 + 3 * 3 * 9);
    assert!(once < ever);
    let (names, _) = states(&crashing(true), Reduction::lpor());
    assert_eq!(names, [""; 0]);
}

/// The way that a reduction would choose leaves the boundary, and the bad state lies inside.
#[test]
fn boundaries_are_not_reduced() {
    let mut p = Protocol::<u8>::new("boundary");
    let walker = p.process("walker", 0_u8);
    let other = p.process("other", 0_u8);
    p.action(walker, "leaves")
        .when(|n| *n == 0)
        .then(|n, _| *n = 1);
    p.action(other, "breaks")
        .when(|n| *n == 0)
        .then(|n, _| *n = 1);
    p.invariant_over("whole", &[other], |n| *n, |n| n[0] == 0);
    let model = p.build().expect("a model");
    let within = || {
        let check = model.check().all_violations();
        check.within(move |view| *view.state(walker) == 0)
    };
    let report = within().run().expect("a report");
    assert!(report.failure("whole").is_some(), "{report}");
    for reduction in [Reduction::Messages, Reduction::Auto, Reduction::lpor()] {
        let refused = within().reduction(reduction).run();
        assert!(refused.is_err_and(|e| e.to_string().contains("boundary")));
    }
}

/// Nobody sees where runs go behind a boundary: they do not end there, and what is not met before it may come.
#[test]
fn a_boundary_is_no_end() {
    let build = |most: u32| {
        let mut p = Protocol::<u32>::new("counter");
        let a = p.process("a", 0_u32);
        p.action(a, "counts")
            .when(move |n| *n < most)
            .then(|n, _| *n += 1);
        p.action(a, "stays")
            .when(move |n| *n == most)
            .then(|_, _| ());
        p.sometimes("far", move |view| *view.state(a) == 20);
        p.eventually("at last", move |view| *view.state(a) == 20);
        (p.build().expect("a model"), a)
    };
    // Both are reached, behind the boundary.
    let (model, a) = build(30);
    let within = |most| {
        model
            .check()
            .ends_too()
            .within(move |view| *view.state(a) < most)
    };
    let report = within(10).run().expect("a report");
    assert!(report.failures.is_empty() && !report.complete, "{report}");
    assert!(within(25).run().expect("a report").failures.is_empty());
    // Neither is reached, and nothing is cut off.
    let (model, a) = build(15);
    let report = model
        .check()
        .within(move |view| *view.state(a) < 20)
        .all_violations();
    let report = report.run().expect("a report");
    assert!(
        report.failure("far").is_some() && report.failure("at last").is_some(),
        "{report}"
    );
}

/// Guards add up: nobody means to take one back by writing another.
#[test]
fn all_guards_of_a_handler_count() {
    let mut p = Protocol::new("guards");
    let counter = p.process("counter", 0_u8);
    let other = p.process("other", 0_u8);
    p.action(counter, "counts")
        .only_if(|n| *n < 3)
        .when(|n| *n != 1)
        .then(|n, _| *n += 1);
    p.send_initially(counter, other, 1_u8);
    p.send_initially(counter, other, 2_u8);
    p.on_any(other)
        .when(|_, m| m.message != 1)
        .when(|_, m| m.message != 2)
        .then(|n, _, _| *n += 1);
    p.invariant_of_each("one step", &[counter, other], |n| *n < 2);
    p.invariant_of_each("no message", &[other], |n| *n == 0);
    let report = p.build().expect("a model").check().run();
    let report = report.expect("a report");
    assert!(report.holds() && report.states() == 2, "{report}");
}

/// Who takes any message and names a kind besides still takes any.
#[test]
fn any_kind_or_another_is_any() {
    let mut p = Protocol::new("any");
    let server = p.process("server", 0_u8);
    p.send_initially(server, server, Message::Request);
    p.send_initially(server, server, Message::Grant);
    p.on_any(server)
        .or(kind!(Message::Release))
        .then(|n, _, _| *n += 1);
    p.sometimes("both", move |view| *view.state(server) == 2);
    let report = p.build().expect("a model").check().run();
    assert!(report.expect("a report").holds());
}

/// What a user wrote may panic anywhere: the report says where.
#[test]
fn panicking_recoveries_and_records_are_named() {
    for reduction in [Reduction::None, Reduction::Messages, Reduction::lpor()] {
        let mut p = Protocol::<Message>::new("restless");
        let server = p.process("server", 0_u8);
        p.action(server, "counts")
            .when(|n| *n < 2)
            .then(|n, _| *n += 1);
        p.may_crash(&[server], 1);
        p.recovers(server, |n| if *n == 2 { panic!("no disk") } else { 0 });
        p.invariant_of_each("few", &[server], |n| *n < 3);
        let model = p.build().expect("a model");
        let report = model.check().reduction(reduction.clone()).run();
        let report = report.expect("a report");
        let expected = "the recovery of `server` panics: no disk";
        assert_eq!(report.misuses, [expected], "{report}");
        assert!(!report.holds());

        let mut p = Protocol::new("forgetful");
        let server = p.process("server", 0_u8);
        p.send_initially(server, server, Message::Request);
        p.on(server, "Request").then(|n, _, _| *n += 1);
        p.record(0_u8)
            .on_delivery(&["Request"], |_, _| panic!("no paper"))
            .invariant("few", |n| *n < 3);
        let model = p.build().expect("a model");
        let report = model.check().reduction(reduction).run();
        let report = report.expect("a report");
        assert_eq!(report.misuses, ["the record panics: no paper"], "{report}");
        assert!(!report.holds());
    }
}

#[test]
fn crashes_have_one_limit() {
    let build = |limits: &[u32], at_a_time: bool| {
        let mut p = Protocol::<Message>::new("crashes");
        let all = p.processes("server", 2, 0_u8);
        for (process, limit) in all.iter().zip(limits) {
            p.may_crash(&[*process], *limit);
        }
        if at_a_time {
            p.may_be_down(&all, 1);
        }
        p.build()
    };
    assert!(build(&[1, 1], false).is_ok());
    let error = build(&[1, 2], false).expect_err("two limits");
    assert_eq!(error, ProtocolError::TwoCrashLimits);
    assert!(build(&[1], true).is_err());
    assert!(error.to_string().contains("in one call"), "{error}");
}

#[test]
fn too_many_timers_are_an_error() {
    let mut p = Protocol::<Message>::new("clocks");
    let server = p.process("server", 0_u8);
    for timer in 0..300 {
        let name = format!("timer {timer}");
        p.set_timer_initially(server, &name);
        p.on_timeout(server, &name).then(|_, _| {});
    }
    let error = p.build().expect_err("too many");
    let expected = ProtocolError::TooManyTimers {
        process: "server".into(),
    };
    assert_eq!(error, expected);
}

/// What a sample of the states says about the rest may be wrong: a process that does nothing at first does a
/// lot at the end.
#[test]
fn processes_that_wake_up_late_are_counted() {
    let late = |limit: u32| {
        let mut p = Protocol::<u32>::new("late");
        let late = p.process("late", 0_u32);
        let last = p.process("last", 0_u32);
        for process in p.processes("early", 2, 0_u32) {
            p.action(process, "counts")
                .when(|n| *n < 149)
                .then(move |n, step| {
                    *n += 1;
                    if *n == 149 {
                        step.send(late, 1);
                    }
                });
        }
        p.on(late, "1").then(|n, _, _| *n += 1);
        p.action(late, "counts")
            .when(|n| (2..3_000).contains(n))
            .then(move |n, step| {
                *n += 1;
                if *n == 3_000 {
                    step.send(last, 1);
                }
            });
        p.on(last, "1").then(|n, _, _| *n += 1);
        p.invariant_over("few", &[late], |n| *n, move |all| all[0] < limit);
        p.build().expect("a model")
    };
    // Nobody has sent, one has, both have; then one after the other.
    let states = 149 * 149 + 4 * 149 + 4 + 2_998 + 1;
    for threads in [1, 2] {
        let model = late(u32::MAX);
        let report = model.check().unreduced().threads(threads).run();
        let report = report.expect("a report");
        assert!(report.holds());
        assert_eq!(report.states(), states);
    }
    let report = late(2_500).check().unreduced().run().expect("a report");
    let failure = report.failure("few").expect("it counts further");
    let trace = failure.trace.as_ref().expect("a way");
    assert!(failure.shortest);
    // Both count, are heard of, and the late one counts from two on.
    assert_eq!(trace.steps().count(), 2 * 149 + 2 + 2_498);
}
