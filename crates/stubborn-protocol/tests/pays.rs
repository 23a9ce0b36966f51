//! Reduction pays on registers and replication, and says the same as without.

use std::time::Instant;

use stubborn_protocol::protocols::primary_backup::{self, Setting};
use stubborn_protocol::protocols::shared_register;
use stubborn_protocol::{Limits, Network, Protocol, Reduction, Report, Value, kind};

fn run<M: Value>(name: &str, protocol: Protocol<M>, reduction: Reduction) -> (Report, f64) {
    let model = protocol.build().expect("a model");
    let limits = Limits {
        states: Some(12_000_000),
        ..Limits::default()
    };
    let started = Instant::now();
    let report = model
        .check()
        .limits(limits)
        .reduction(reduction.clone())
        .run();
    let seconds = started.elapsed().as_secs_f64();
    let report = report.expect("a report");
    let (how, result) = &report.searches[0];
    eprintln!(
        "{name}, {reduction:?}: {} states, {seconds:.2} s, {how}",
        result.states
    );
    (report, seconds)
}

/// The share of states that is left.
fn share<M: Value>(name: &str, protocol: impl Fn() -> Protocol<M>) -> f64 {
    let (full, _) = run(name, protocol(), Reduction::None);
    let (reduced, _) = run(name, protocol(), Reduction::Messages);
    assert_eq!(full.holds(), reduced.holds(), "{name}");
    reduced.searches[0].1.states as f64 / full.searches[0].1.states as f64
}

#[test]
fn replication_shrinks() {
    let setting = |clients, tries, crashes| Setting {
        clients,
        tries,
        crashes,
        ..Setting::default()
    };
    let with = |s: Setting| share(&format!("{s:?}"), || primary_backup::protocol(s));
    assert!(with(setting(1, 2, true)) < 0.04);
    assert!(with(setting(2, 1, true)) < 0.02);
    assert!(with(setting(1, 2, false)) < 0.15);
    assert!(with(setting(2, 2, false)) < 0.03);
}

#[test]
fn hasty_primaries_lose_writes() {
    let setting = Setting {
        hasty: true,
        ..Setting::default()
    };
    for reduction in [Reduction::None, Reduction::Messages, Reduction::Auto] {
        let (report, _) = run("hasty", primary_backup::protocol(setting), reduction);
        let failure = report
            .failure("what is done is written")
            .expect("it is lost");
        assert!(failure.shortest && failure.chart.is_some());
    }
}

#[test]
fn registers_shrink() {
    use shared_register::Script::{Read, Write};

    // Two servers need each other's answers: there is little to leave out.
    assert!(share("register 2", || shared_register::protocol(2, 2)) < 0.8);
    let three =
        |scripts: &'static [_]| share("register 3", || shared_register::scripted(3, scripts));
    assert!(three(&[Write, Read]) < 0.12);
    assert!(three(&[Write, Write]) < 0.12);
}

#[test]
#[ignore = "long: a million states"]
fn larger_registers_shrink() {
    use shared_register::Script::{Read, Write, WriteAndRead};

    let three =
        |scripts: &'static [_]| share("register 3", || shared_register::scripted(3, scripts));
    assert!(three(&[WriteAndRead, Read]) < 0.06);
    assert!(three(&[WriteAndRead, Write]) < 0.11);
}

#[test]
fn reports_say_why_nothing_is_reduced() {
    // Every step is seen.
    let mut p = Protocol::<u32>::new("counters");
    let counters = p.processes("counter", 3, 0_u32);
    for counter in &counters {
        p.action(*counter, "counts")
            .when(|n| *n < 69)
            .then(|n, _| *n += 1);
    }
    p.invariant("nothing", |_| true);
    let (report, _) = run("counters", p, Reduction::Auto);
    assert!(report.holds());
    assert_eq!(report.searches[0].1.states, 70 * 70 * 70);
    assert_eq!(report.searches[0].0, "none: it would not pay");
}

/// Each turn of the token writes something new to a disk that need not listen: there is no end of messages,
/// nor of what the disk may have made of them, and relating all of it took a hundred times as long as the search.
#[test]
fn what_is_too_much_is_not_related() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Message {
        Token,
        Write(u32),
    }
    let mut p = Protocol::<Message>::new("ring");
    let disk = p.process("disk", 0_u32);
    let nodes = p.processes("node", 3, 0_u32);
    for (at, node) in nodes.iter().enumerate() {
        let next = nodes[(at + 1) % nodes.len()];
        if at == 0 {
            p.action(*node, "starts")
                .when(|turn| *turn == 0)
                .then(move |turn, step| {
                    *turn = 1;
                    step.send(next, Message::Token);
                });
        }
        p.on(*node, kind!(Message::Token))
            .then(move |turn, _, step| {
                *turn += 1;
                step.send(disk, Message::Write(*turn));
                step.send(next, Message::Token);
            });
    }
    let written = |message: &Message| match message {
        Message::Token => 0,
        Message::Write(turn) => *turn,
    };
    p.on(disk, kind!(Message::Write))
        .when(move |seen, message| written(message) >= *seen % 3)
        .then(move |seen, message, _| *seen = (*seen * 31 + written(message)) % 5_000);
    p.invariant("nothing", |_| true);
    let model = p.build().expect("a model");
    let limits = Limits {
        states: Some(201_000),
        ..Limits::default()
    };
    let report = model.check().limits(limits).run().expect("a report");
    assert!(!report.complete);
    assert_eq!(
        report.searches[0].0,
        "none: there is too much to be related"
    );
}

#[test]
fn what_pays_is_reduced_without_being_asked_for() {
    let mut p = Protocol::<u32>::new("workers");
    let collector = p.process("collector", 0_u32);
    for worker in p.processes("worker", 4, 0_u32) {
        p.action(worker, "works")
            .when(|n| *n < 25)
            .then(move |n, step| {
                *n += 1;
                if *n == 25 {
                    step.send(collector, 1);
                }
            });
    }
    p.on_any(collector).then(|n, m, _| *n += m.message);
    p.invariant_over("four", &[collector], |n| *n, |all| all[0] <= 4);
    let (report, _) = run("workers", p, Reduction::Auto);
    assert!(report.holds());
    let (how, result) = &report.searches[0];
    assert!(
        how.starts_with("messages") && result.states < 1_000,
        "{how}"
    );
}

/// At the beginning nothing speaks against letting the taker act first: the message that it would
/// take otherwise is sent much later, by a sender that forgets where it was at every wrong step, so
/// that no random walk gets there either.
#[test]
fn what_is_met_later_revises_earlier_choices() {
    const LENGTH: u8 = 40;
    let mut p = Protocol::<u8>::new("late");
    let taker = p.process("taker", 0_u8);
    let sender = p.process("sender", 0_u8);
    p.action(taker, "closes")
        .when(|s| *s == 0)
        .then(|s, _| *s = 1);
    p.on_any(taker).only_if(|s| *s == 0).then(|s, _, _| *s = 9);
    p.action(sender, "goes on")
        .when(|s| *s < LENGTH)
        .then(|s, _| *s += 1);
    p.action(sender, "forgets")
        .when(|s| *s < LENGTH)
        .then(|s, _| *s = 0);
    p.action(sender, "sends")
        .when(|s| *s == LENGTH)
        .then(move |s, step| {
            *s = LENGTH + 1;
            step.send(taker, 7);
        });
    p.invariant_over("never taken", &[taker], |s| *s == 9, |taken| !taken[0]);
    let (report, _) = run("late", p, Reduction::Messages);
    assert!(report.failure("never taken").is_some(), "{report}");
    assert_ne!(
        report.searches[0].0, "messages",
        "it takes several searches"
    );
}

/// Losses and crashes are left out only where nobody can tell.
#[test]
fn faults_that_matter_stay() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Message {
        First,
        Second,
    }
    let holds = |p: Protocol<Message>, ends: bool| {
        let model = p.build().expect("a model");
        let [full, reduced] = [Reduction::None, Reduction::Messages].map(|reduction| {
            let check = model.check().reduction(reduction);
            let check = if ends { check.ends_too() } else { check };
            let report = check.run().expect("a report");
            assert!(report.complete || !report.failures.is_empty());
            report
        });
        assert_eq!(full.holds(), reduced.holds(), "{full}{reduced}");
        (full.holds(), full.states(), reduced.states())
    };
    // The first message is in the way of the second, unless it is lost.
    let queue = |network, lossy| {
        let mut p = Protocol::new("queue");
        p.network(network);
        if lossy {
            p.lossy();
        }
        let sender = p.process("sender", ());
        let taker = p.process("taker", 0_u8);
        p.send_initially(sender, taker, Message::First);
        p.send_initially(sender, taker, Message::Second);
        p.on(taker, kind!(Message::Second)).then(|s, _, _| *s = 1);
        p.on(taker, kind!(Message::First))
            .only_if(|s| *s == 7)
            .then(|_, _, _| ());
        p.invariant_over("never", &[taker], |s| *s, |all| all[0] == 0);
        p
    };
    assert!(!holds(queue(Network::Ordered, true), false).0);
    assert!(holds(queue(Network::Ordered, false), false).0);
    assert!(!holds(queue(Network::Unordered, false), false).0);

    // Who comes back begins again.
    let twice = |recovers: bool| {
        let mut p = Protocol::new("twice");
        let worker = p.process("worker", false);
        let counter = p.process("counter", 0_u8);
        p.action(worker, "works")
            .when(|done| !*done)
            .then(move |done, step| {
                *done = true;
                step.send(counter, Message::First);
            });
        p.on(counter, kind!(Message::First)).then(|n, _, _| *n += 1);
        p.may_crash(&[worker], 1);
        if recovers {
            p.recovers(worker, |_| false);
        }
        p.invariant_over("once", &[counter], |n| *n, |all| all[0] < 2);
        p
    };
    assert!(!holds(twice(true), false).0);
    assert!(holds(twice(false), false).0);

    // Somebody asks who has crashed.
    let mut p = Protocol::new("crash");
    let worker = p.process("worker", false);
    p.may_crash(&[worker], 1);
    p.invariant("nobody has crashed", move |view| !view.is_crashed(worker));
    assert!(!holds(p, false).0);

    // An answer that is lost is waited for, and an end.
    let answer = |lossy: bool, crashes: bool| {
        let mut p = Protocol::new("answer");
        let asks = p.process("asks", false);
        let answers = p.process("answers", ());
        if lossy {
            p.lossy();
        }
        if crashes {
            p.may_crash(&[answers], 1);
        }
        p.send_initially(asks, answers, Message::First);
        p.on(answers, kind!(Message::First))
            .then(move |(), _, step| step.send(asks, Message::Second));
        p.on(asks, kind!(Message::Second)).then(|s, _, _| *s = true);
        p.may_stop_when(move |view| *view.state(asks));
        p.invariant_over("nothing", &[asks], |s| *s, |_| true);
        p
    };
    assert!(holds(answer(false, false), true).0);
    assert!(!holds(answer(true, false), true).0);
    assert!(!holds(answer(false, true), true).0);
    // Without that question, there is nothing but the steps themselves.
    let (_, full, reduced) = holds(answer(true, true), false);
    let (_, _, calm) = holds(answer(false, false), false);
    assert!(full > reduced && reduced == calm, "{full} {reduced} {calm}");
}
