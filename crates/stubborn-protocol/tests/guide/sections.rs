//! Sections 2 to 5: each sentence that promises something, and a small protocol that keeps it.

use stubborn_protocol::protocols::{primary_backup, shared_register, two_phase_commit};
use stubborn_protocol::{
    Limits, Network, Protocol, Reduction, Report, Stateless, Value, kind, over,
};

use super::promises;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Ping(u8),
    Pong,
}

fn check<M: Value>(p: Protocol<M>) -> Report {
    let model = p.build().expect("a model");
    model.check().unreduced().run().expect("a report")
}

/// Local states that one process has in some state.
fn reaches<M: Value, S: Value>(
    make: impl Fn() -> (Protocol<M>, stubborn_protocol::ProcessRef<S>),
    state: S,
) -> bool {
    let (mut p, process) = make();
    p.sometimes("there", move |view| *view.state(process) == state);
    check(p).holds()
}

#[test]
fn processes_do_what_section_2_says() {
    assert!(promises(
        "| `p.action(process, \"name\")` | whenever its guard holds |"
    ));
    assert!(promises(
        "with one message of that kind; `.or(\"Other\")`, `p.on_any(process)` for more"
    ));
    let make = |how: u8| {
        move || {
            let mut p = Protocol::new("kinds");
            let a = p.process("a", false);
            let b = p.process("b", 0_u8);
            p.action(a, "sends")
                .when(|sent| !sent)
                .then(move |sent, step| {
                    *sent = true;
                    step.send(b, Message::Ping(1));
                    step.send(b, Message::Pong);
                });
            match how {
                0 => p.on(b, kind!(Message::Ping)).then(|n, _, _| *n += 1),
                1 => p.on(b, "Ping").or("Pong").then(|n, _, _| *n += 1),
                _ => p.on_any(b).then(|n, _, _| *n += 1),
            }
            (p, b)
        }
    };
    for (how, most) in [(0, 1), (1, 2), (2, 2)] {
        assert!(reaches(make(how), most) && !reaches(make(how), most + 1));
    }

    assert!(promises(
        "with `n` messages from different senders, consumed at once"
    ));
    let quorum = |size: usize, twice: bool| {
        move || {
            let mut p = Protocol::new("quorum");
            let judge = p.process("judge", 0_usize);
            let voters = p.processes("voter", 2, ());
            for voter in &voters {
                p.send_initially(*voter, judge, Message::Pong);
            }
            if twice {
                p.send_initially(voters[0], judge, Message::Ping(0));
            }
            let kinds = p.on_quorum(judge, kind!(Message::Pong), size);
            kinds
                .or(kind!(Message::Ping))
                .then(|n, votes, _| *n += votes.len());
            (p, judge)
        }
    };
    assert!(reaches(quorum(2, false), 2) && !reaches(quorum(2, false), 1));
    // Three messages, but two senders.
    assert!(!reaches(quorum(3, true), 3));

    assert!(promises(
        "| `p.on_timeout(process, \"name\")` | when a timer that was set runs out |"
    ));
    let timer = |is_set: bool| {
        move || {
            let mut p = Protocol::<Message>::new("timer");
            let a = p.process("a", 0_u8);
            if is_set {
                p.set_timer_initially(a, "alarm");
            }
            p.on_timeout(a, "alarm").then(|n, _| *n += 1);
            (p, a)
        }
    };
    assert!(reaches(timer(true), 1) && !reaches(timer(true), 2));
    assert!(!reaches(timer(false), 1));
}

#[test]
fn handlers_do_what_section_2_says() {
    assert!(promises(
        "`.only_if(|state| …)` is a guard on the local state, `.when(|state, m| …)` one on both; all of \
         them must hold."
    ));
    assert!(promises("compare it with a process: `m.from == server`"));
    let guarded = |open: bool, number: u8| {
        move || {
            let mut p = Protocol::new("guards");
            let server = p.process("server", ());
            let a = p.process("a", (open, false));
            p.send_initially(server, a, Message::Ping(number));
            p.on(a, kind!(Message::Ping))
                .only_if(|s| s.0)
                .when(|_, m| m.message == Message::Ping(1))
                .then(move |s, m, _| s.1 = m.from == server);
            (p, a)
        }
    };
    for (open, number) in [(true, 1), (true, 2), (false, 1)] {
        let both = open && number == 1;
        assert_eq!(reaches(guarded(open, number), (open, true)), both);
    }

    assert!(promises(
        "`step.choose(3)` is 0, 1 and 2, each in a run of its own."
    ));
    assert!(promises(
        "`step.ignore()` takes it all back: the step does not happen."
    ));
    let chooses = || {
        let mut p = Protocol::<Message>::new("choices");
        let a = p.process("a", 9_usize);
        p.action(a, "chooses").when(|n| *n == 9).then(|n, step| {
            *n = step.choose(3);
            if *n == 1 {
                step.ignore();
            }
        });
        (p, a)
    };
    let found: Vec<usize> = (0..4).filter(|n| reaches(chooses, *n)).collect();
    assert_eq!(found, [0, 2]);
    assert_eq!(check(chooses().0).states(), 3);
}

/// A number that each network delivers in its way.
fn two_numbers(network: Network) -> Protocol<Message> {
    let mut p = Protocol::new("network");
    p.network(network);
    let from = p.process("from", ());
    let to = p.process("to", Vec::new());
    for n in [1, 2] {
        p.send_initially(from, to, Message::Ping(n));
    }
    p.on(to, kind!(Message::Ping))
        .only_if(|seen: &Vec<u8>| seen.len() < 3)
        .then(|seen, m, _| {
            if let Message::Ping(n) = m.message {
                seen.push(n);
            }
        });
    p.invariant_of_each("in order", &[to], |seen| seen.is_sorted());
    p.invariant_of_each("once", &[to], |seen| seen.len() < 3);
    p.sometimes("all", move |view| view.state(to).len() >= 2);
    p
}

#[test]
fn networks_do_what_section_3_says() {
    assert!(promises(
        "`Unordered` (the default: each message once, in any order), `Duplicating` (again and again), \
         `Ordered` (queues between each two processes)."
    ));
    let violated = |p: Protocol<Message>| -> Vec<String> {
        let model = p.build().expect("a model");
        let report = model.check().all_violations().run().expect("a report");
        report.failures.iter().map(|f| f.property.clone()).collect()
    };
    assert_eq!(violated(two_numbers(Network::Ordered)), [""; 0]);
    assert_eq!(violated(two_numbers(Network::Unordered)), ["in order"]);
    assert_eq!(violated(two_numbers(Network::default())), ["in order"]);
    let again = violated(two_numbers(Network::Duplicating));
    assert_eq!(again, ["in order", "once"]);

    assert!(promises("`p.lossy()` loses messages"));
    let ends = |lossy: bool| {
        let mut p = two_numbers(Network::Ordered);
        if lossy {
            p.lossy();
        }
        let model = p.build().expect("a model");
        let report = model.check().unreduced().run().expect("a report");
        report.searches[0].1.deadlocks
    };
    assert_eq!((ends(false), ends(true)), (1, 4));
}

#[test]
fn crashes_do_what_section_3_says() {
    assert!(promises(
        "`p.may_crash(&processes, n)` lets at most `n` crashes happen, `p.may_be_down(&processes, n)` at \
         most `n` be down at a time; `p.recovers(process, |state| …)` says what is left afterwards"
    ));
    // Whether two can be down together, and whether one can crash a second time.
    let crashes = |returns: bool, n: u32| {
        let mut p = Protocol::<Message>::new("crashes");
        let all = p.processes("p", 2, (0_u8, 7_u8));
        match returns {
            true => p.may_be_down(&all, n),
            false => p.may_crash(&all, n),
        }
        for one in &all {
            // How often it came back; what was in memory is gone.
            p.recovers(*one, |(times, _)| (2.min(times + 1), 0));
        }
        let (a, b) = (all[0], all[1]);
        p.invariant("one is up", move |view| {
            !(view.is_crashed(a) && view.is_crashed(b))
        });
        p.invariant("once", move |view| view.state(a).0 < 2);
        p.invariant("forgets", move |view| {
            view.state(a).0 == 0 || view.state(a).1 == 0
        });
        let model = p.build().expect("a model");
        let report = model.check().all_violations().run().expect("a report");
        let names: Vec<String> = report.failures.iter().map(|f| f.property.clone()).collect();
        names
    };
    assert_eq!(crashes(false, 1), [""; 0]);
    assert_eq!(crashes(false, 2), ["one is up", "once"]);
    assert_eq!(crashes(true, 1), ["once"]);

    assert!(promises(
        "`p.declare(name)` gives the process, `p.define(process, state)` its state."
    ));
    let mut p = Protocol::<Message>::new("ring");
    let (a, b) = (p.declare("a"), p.declare("b"));
    p.define(a, Some(b.pid()));
    p.define(b, Some(a.pid()));
    p.invariant_across(
        "ring",
        (over(&[a], |n| *n), over(&[b], |n| *n)),
        move |(x, y)| x[0] == Some(b.pid()) && y[0] == Some(a.pid()),
    );
    assert!(check(p).holds());
}

#[test]
fn properties_do_what_section_4_says() {
    assert!(promises(
        "`p.sometimes(name, |view| …)` must hold somewhere, `p.eventually(name, |view| …)` somewhere on \
         every run (`model.check().fair()`: on every run in which nobody waits for ever who could act;"
    ));
    let light = || {
        let mut p = Protocol::<Message>::new("light");
        let light = p.process("light", false);
        let fly = p.process("fly", false);
        p.action(light, "goes on")
            .when(|on| !on)
            .then(|on, _| *on = true);
        p.action(fly, "flies").then(|left, _| *left = !*left);
        (p, light)
    };
    let (mut p, lamp) = light();
    p.sometimes("on", move |view| *view.state(lamp));
    assert!(check(p).holds());
    let (mut p, lamp) = light();
    p.eventually("on", move |view| *view.state(lamp));
    let model = p.build().expect("a model");
    // The fly may fly for ever, but not where everybody has a turn.
    assert!(!model.check().run().expect("a report").holds());
    assert!(model.check().fair().run().expect("a report").holds());

    assert!(promises(
        "`p.proposition(…)` and `model.check().formula(\"[] <> served\")` for temporal formulas."
    ));
    let (mut p, lamp) = light();
    p.proposition("served", &[lamp], |on| *on, |all| all[0]);
    let model = p.build().expect("a model");
    let failure = model.check().formula("[] <> served").expect("a verdict");
    assert!(failure.is_some());
    assert!(
        model
            .check()
            .fair()
            .formula("[] <> served")
            .expect("a verdict")
            .is_none()
    );

    assert!(promises(
        "`model.check().ends_too()` also looks for states where nothing can happen any more; \
         `p.may_stop_when(…)` says where that is fine."
    ));
    let once = |fine: bool| {
        let mut p = Protocol::<Message>::new("once");
        let a = p.process("a", false);
        p.action(a, "acts")
            .when(|done| !done)
            .then(|done, _| *done = true);
        if fine {
            p.may_stop_when(move |view| *view.state(a));
        }
        let model = p.build().expect("a model");
        let ends = model.check().ends_too().run().expect("a report");
        (model.check().run().expect("a report").holds(), ends.holds())
    };
    assert_eq!((once(false), once(true)), ((true, false), (true, true)));
}

#[test]
fn large_checks_do_what_section_5_says() {
    assert!(promises(
        "(two-phase commit with seven managers: 920 instead of 296,448)"
    ));
    let model = two_phase_commit::protocol(7).0.build().expect("a model");
    let symmetric = model.check().symmetric().run().expect("a report");
    assert!(symmetric.holds() && symmetric.states() == 920);

    assert!(promises("of a register on three servers 6% to 11%"));
    use shared_register::Script::{Read, Write};
    let share = |reduced: &Report, full: &Report| reduced.states() as f64 / full.states() as f64;
    let model = shared_register::scripted(3, &[Write, Read])
        .build()
        .expect("a model");
    let by = |reduction| model.check().reduction(reduction).run().expect("a report");
    let (full, reduced) = (by(Reduction::None), by(Reduction::Messages));
    assert!(full.holds() && reduced.holds());
    let found = share(&reduced, &full);
    assert!((0.105..0.115).contains(&found), "{found}");
    assert!(promises(
        "of a primary and a backup that lose messages and crash 0.7% to 4%"
    ));
    let setting = primary_backup::Setting {
        clients: 1,
        ..primary_backup::Setting::default()
    };
    let model = primary_backup::protocol(setting).build().expect("a model");
    let by = |reduction| model.check().reduction(reduction).run().expect("a report");
    let found = share(&by(Reduction::Messages), &by(Reduction::None));
    assert!((0.007..0.04).contains(&found), "{found}");

    assert!(promises(
        "`.within(|view| …)` takes no step outside a boundary"
    ));
    assert!(promises(
        "`.depth(n)` looks no further than `n` steps (and says that this is no answer"
    ));
    assert!(promises("`.limits(…)` gives up in time"));
    let mut p = Protocol::<Message>::new("counter");
    let a = p.process("a", 0_u32);
    p.action(a, "counts").then(|n, _| *n += 1);
    p.invariant_of_each("small", &[a], |n| *n < 1_000);
    let model = p.build().expect("a model");
    let within = model.check().within(move |view| *view.state(a) < 50);
    assert_eq!(within.run().expect("a report").states(), 51);
    let near = model.check().depth(10).run().expect("a report");
    assert!(near.failures.is_empty() && !near.complete);
    let limits = Limits {
        states: Some(100),
        ..Limits::default()
    };
    let limited = model.check().limits(limits).run().expect("a report");
    assert!(limited.failures.is_empty() && !limited.complete);

    assert!(promises(
        "`model.simulate().seed(7).walks(1_000).steps(500).run()` takes random walks"
    ));
    assert!(promises("with a chart and the seed to see it again"));
    let walks = model.simulate().seed(7).walks(3).steps(1_100).run();
    let failure = walks.failure.as_ref().expect("a violation");
    assert!(failure.chart.is_some() && walks.seed.is_some());
    assert!(
        model
            .simulate()
            .seed(7)
            .walks(10)
            .steps(500)
            .run()
            .is_clean()
    );

    assert!(promises(
        "it remembers no states, and needs a protocol without cycles."
    ));
    assert!(
        model
            .stateless(Stateless::Optimal)
            .most_visits(50)
            .run()
            .is_ok()
    );
    let mut p = Protocol::<Message>::new("cycle");
    let a = p.process("a", false);
    p.action(a, "flips").then(|on, _| *on = !*on);
    let cycle = p.build().expect("a model");
    assert!(cycle.stateless(Stateless::Optimal).run().is_err());
}
