//! One state of each orbit, exactly.

use stubborn_protocol::protocols::two_phase_commit;
use stubborn_protocol::{Limits, Model, Network, Pid, Protocol, Reduction, Step, renames};
use stubborn_system::Random;

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
    let refused = model.check().symmetric().reduction(Reduction::lpor()).run();
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

/// Of representatives, only one of those who may get the token ever has it.
#[test]
fn what_happened_to_one_of_them_may_happen_to_each() {
    let model = || {
        let mut p = Protocol::<Token>::new("one token");
        let server = p.process("server", 0_u16);
        let workers = p.processes("worker", 3, 0_u8);
        let to = workers.clone();
        // Longer than anybody looks at all exchanges.
        p.action(server, "waits")
            .when(|n| *n < 500)
            .then(|n, _| *n += 1);
        p.action(server, "gives")
            .when(|n| *n == 500)
            .then(move |n, step| {
                *n += 1;
                let lucky = to[step.choose(to.len())];
                step.send(lucky, Token::Pass);
            });
        for worker in &workers {
            p.on(*worker, "Pass").then(|s, _, _| *s = 1);
            p.action(*worker, "ends")
                .when(|s| *s == 1)
                .then(|s, _| *s = 2);
            p.action(*worker, "never")
                .when(|s| *s == 3)
                .then(|s, _| *s = 2);
        }
        p.invariant_of_each("few", &workers, |s| *s < 3);
        p.interchangeable(&workers);
        p.build().expect("a model")
    };
    let full = model().check().run().expect("a report");
    let model = model();
    let symmetric = model.check().symmetric();
    let both = symmetric.clone().reduction(Reduction::Messages);
    for check in [symmetric, both] {
        let report = check.run().expect("a report");
        assert!(report.holds() && report.states() < full.states());
        assert_eq!(report.coverage, full.coverage);
    }
    let never = full.coverage.handlers.iter().filter(|h| !h.ran).count();
    assert_eq!(never, 3);
}

/// Workers prepare on their own, then tell the server.
#[test]
fn both_reductions_keep_less_than_either() {
    let mut p = Protocol::<Token>::new("workers");
    let server = p.process("server", 0_u8);
    let workers = p.processes("worker", 3, 0_u8);
    for worker in &workers {
        p.action(*worker, "prepares")
            .when(|n| *n < 3)
            .then(|n, _| *n += 1);
        p.action(*worker, "tells")
            .when(|n| *n == 3)
            .then(move |n, step| {
                *n += 1;
                step.send(server, Token::Pass);
            });
    }
    p.on(server, "Pass").then(|told, _, _| *told += 1);
    p.invariant_over("not too many", &[server], |n| *n, |n| n[0] <= 3);
    p.interchangeable(&workers);
    let model = p.build().expect("a model");
    let states = |check: stubborn_protocol::Checker<'_, _>| {
        let report = check.run().expect("a report");
        assert!(report.holds(), "{report}");
        report.searches[0].1.states
    };
    let symmetric = states(model.check().symmetric());
    let reduced = states(model.check().reduction(Reduction::Messages));
    let both = states(model.check().symmetric().reduction(Reduction::Messages));
    assert!(both < symmetric, "{both} of {symmetric}");
    assert!(both <= reduced, "{both} of {reduced}");
}

/// Who is left when the other worker has gone gets far, and then warns a listener. Where representatives
/// get far, the one who does is always the second worker; where they decide whether the listener
/// may close first, it is the first one, who must be known to get as far.
#[test]
fn what_one_process_does_others_may_do() {
    // Farther than what is looked at to see whether the protocol is symmetric.
    const LENGTH: u8 = 180;
    const GONE: u8 = 200;
    let mut p = Protocol::<Token>::new("left alone");
    let workers = p.processes("worker", 2, 0_u8);
    let listener = p.process("listener", 'o');
    p.action(listener, "closes")
        .when(|s| *s == 'o')
        .then(|s, _| *s = 'c');
    p.on(listener, "Pass")
        .only_if(|s| *s == 'o')
        .then(|s, _, _| *s = 'w');
    for (at, worker) in workers.iter().enumerate() {
        let other = workers[1 - at];
        p.action(*worker, "goes")
            .when(|n| *n == 0)
            .then(move |n, step| {
                *n = GONE;
                step.send(other, Token::Pass);
            });
        p.on(*worker, "Pass")
            .only_if(|n| *n == 0)
            .then(|n, _, _| *n = 1);
        // Random walks do not get far.
        p.action(*worker, "goes on")
            .when(|n| (1..LENGTH).contains(n))
            .then(|n, _| *n += 1);
        p.action(*worker, "forgets")
            .when(|n| (1..LENGTH).contains(n))
            .then(|n, _| *n = 1);
        p.action(*worker, "warns")
            .when(|n| *n == LENGTH)
            .then(move |n, step| {
                *n += 1;
                step.send(listener, Token::Pass);
            });
    }
    p.invariant_over("not warned", &[listener], |s| *s == 'w', |w| !w[0]);
    p.interchangeable(&workers);
    let model = p.build().expect("a model");
    let check = model.check().symmetric().reduction(Reduction::Messages);
    let report = check.run().expect("a report");
    assert!(report.failure("not warned").is_some(), "{report}");
}

/// Queues of different senders must not show who sent them: this was called not symmetric.
#[test]
fn queues_are_symmetric() {
    let mut p = Protocol::<u8>::new("queues");
    p.network(Network::Ordered);
    let server = p.process("server", 0_u8);
    let workers = p.processes("worker", 3, 0_u8);
    for worker in &workers {
        p.action(*worker, "tells")
            .when(|n| *n < 2)
            .then(move |n, step| {
                step.send(server, *n);
                *n += 1;
            });
    }
    p.on_any(server)
        .then(|told, m, _| *told = (*told + m.message).min(3));
    p.invariant_over("few", &[server], |n| *n, |n| n[0] <= 3);
    p.interchangeable(&workers);
    let model = p.build().expect("a model");
    let full = model.check().unreduced().run().expect("a report");
    let report = model.check().symmetric().run().expect("a report");
    assert!(report.holds() && full.holds());
    let (orbits, states) = (report.states(), full.states());
    assert!(orbits * 3 < states, "{orbits} of {states}");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Ask(u8),
    Tell(u8),
    /// Mentions a process.
    Name(Pid),
}

renames! {
    enum Message { Ask(value), Tell(value), Name(who) }
    struct Server { value, last }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Server {
    value: u8,
    last: Option<Pid>,
}

const KINDS: [&str; 3] = ["Ask", "Tell", "Name"];

fn message(kind: usize, value: u8, who: Pid) -> Message {
    match kind {
        0 => Message::Ask(value),
        1 => Message::Tell(value),
        _ => Message::Name(who),
    }
}

/// Equal workers around a server, that do random things.
fn random_protocol(seed: u64) -> Model<Message> {
    let mut random = Random::new(seed);
    let mut p = Protocol::new(format!("random {seed}"));
    let networks = [Network::Unordered, Network::Duplicating, Network::Ordered];
    p.network(networks[random.below(3)]);
    let count = 2 + random.below(2);
    let first = Server {
        value: 0,
        last: None,
    };
    let server = p.process("server", first);
    let workers = p.processes("worker", count, 0_u8);
    if random.percent(20) {
        p.may_crash(&workers, 1);
    }
    if random.percent(20) {
        p.lossy();
    }
    for _ in 0..1 + random.below(3) {
        let (needs, next) = (random.below(3) as u8, random.below(3) as u8);
        let (kind, out, value) = (random.below(3), random.below(3), random.below(2) as u8);
        let (sends, acts, to_peers) = (random.percent(80), random.percent(50), random.percent(30));
        for worker in &workers {
            let me = *worker;
            let peers: Vec<_> = workers
                .iter()
                .filter(|w| w.pid() != me.pid())
                .copied()
                .collect();
            let effect = move |state: &mut u8, step: &mut Step<Message>| {
                *state = next;
                if sends && to_peers {
                    step.broadcast(&peers, message(out, value, me.pid()));
                } else if sends {
                    step.send(server, message(out, value, me.pid()));
                }
            };
            match acts {
                true => {
                    p.action(me, "acts")
                        .when(move |s| *s == needs.min(1))
                        .then(move |s, step| {
                            effect(s, step);
                            *s = 2;
                        })
                }
                false => p
                    .on(me, KINDS[kind])
                    .only_if(move |s| *s != needs)
                    .then(move |s, _, step| effect(s, step)),
            }
        }
    }
    for kind in KINDS {
        let (needs, out) = (random.below(3) as u8, random.below(3));
        let (remembers, forwards) = (random.percent(60), random.percent(50));
        p.on(server, kind)
            .only_if(move |s| s.value != needs)
            .then(move |s, m, step| {
                s.value = (s.value + 1).min(3);
                let named = match m.message {
                    Message::Name(who) => who,
                    _ => m.from,
                };
                let answered = if forwards {
                    s.last.unwrap_or(named)
                } else {
                    named
                };
                if remembers {
                    s.last = Some(named);
                }
                if s.value < 3 {
                    step.send(answered, message(out, s.value.min(1), named));
                }
            });
    }
    // What is seen of a state is little, so that there is something to leave out.
    let (bad, many) = (random.below(4) as u8, 1 + random.below(count));
    p.invariant_over(
        "not so many",
        &workers,
        move |s| *s == bad,
        move |all| all.iter().filter(|bad| **bad).count() < many,
    );
    let full = 1 + random.below(4) as u8;
    p.invariant_over(
        "not full",
        &[server],
        move |s| s.value >= full,
        |full| !full[0],
    );
    p.interchangeable(&workers);
    p.mentions_processes(server);
    p.messages_mention_processes();
    p.build().expect("a model")
}

fn both_agree(seeds: std::ops::Range<u64>, most: u64) {
    let (mut checked, mut reduced, mut violated) = (0, 0, 0);
    for seed in seeds {
        let model = random_protocol(seed);
        let check = |ends: bool| {
            let check = model.check().all_violations();
            if ends { check.ends_too() } else { check }
        };
        let all = |r: &stubborn_protocol::Report| -> Vec<String> {
            r.failures.iter().map(|f| f.property.clone()).collect()
        };
        for ends in [false, true] {
            let limits = Limits {
                states: Some(most),
                ..Limits::default()
            };
            let full = check(ends).unreduced().limits(limits).run();
            let full = full.expect("a report");
            if !full.complete {
                break;
            }
            let one = check(ends).symmetric().run().expect("a report");
            let both = check(ends).symmetric().reduction(Reduction::Messages);
            for both in [both.clone(), both.depth_first()] {
                let both = both.run().expect("a report");
                assert_eq!(all(&one), all(&full), "seed {seed}, ends: {ends}");
                assert_eq!(all(&both), all(&full), "seed {seed}, ends: {ends}");
                assert!(
                    both.failures.iter().all(|f| f.chart.is_some()),
                    "seed {seed}"
                );
                let states = |r: &stubborn_protocol::Report| r.searches[0].1.states;
                reduced +=
                    usize::from(both.searches[0].1.is_complete() && states(&both) < states(&one));
            }
            checked += 1;
            violated += usize::from(!full.failures.is_empty());
        }
    }
    eprintln!("{checked} checked, {reduced} reduced, {violated} violated");
    assert!(checked > 50 && reduced > 5 && violated > 20 && violated < checked);
}

#[test]
fn symmetry_and_sets_of_messages_agree() {
    both_agree(0..150, 1_000);
}

#[test]
#[ignore = "long: several thousand random protocols"]
fn symmetry_and_sets_of_messages_agree_at_length() {
    both_agree(1_000..4_000, 4_000);
}

/// Two workers, one of which goes round and one of which will be done. Representatives exchange them
/// on the way round, so that both seem to act; who is to be done does all the same, if runs are fair.
#[test]
fn exchanges_are_not_fairness() {
    use stubborn_protocol::Protocol;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Role {
        Run,
        Wait,
    }
    stubborn_protocol::mentions_no_process!(Role);

    let mut p = Protocol::new("two workers");
    let boss = p.process("boss", false);
    let workers = p.processes("worker", 2, 0_u8);
    let all = workers.clone();
    p.action(boss, "chooses")
        .when(|chosen| !chosen)
        .then(move |chosen, step| {
            *chosen = true;
            let first = step.choose(2);
            step.send(all[first], Role::Run);
            step.send(all[1 - first], Role::Wait);
        });
    for worker in &workers {
        p.on(*worker, "Run").then(|w, _, _| *w = 1);
        p.on(*worker, "Wait").then(|w, _, _| *w = 2);
        p.action(*worker, "goes")
            .when(|w| *w == 1)
            .then(|w, _| *w = 3);
        p.action(*worker, "comes")
            .when(|w| *w == 3)
            .then(|w, _| *w = 1);
        p.action(*worker, "ends")
            .when(|w| *w == 2)
            .then(|w, _| *w = 4);
    }
    let all = workers.clone();
    p.eventually("done", move |view| all.iter().any(|w| *view.state(*w) == 4));
    p.interchangeable(&workers);
    let model = p.build().expect("a model");
    let check = || model.check().fair();
    assert!(check().run().expect("a report").holds());
    let report = check().symmetric().run().expect("a report");
    assert!(report.holds(), "{report}");
    assert!(!model.check().symmetric().run().expect("a report").holds());
}

/// What must happen must not tell interchangeable processes apart, either.
#[test]
fn good_things_are_symmetric() {
    use stubborn_protocol::{CheckError, Protocol};

    for eventually in [false, true] {
        let mut p = Protocol::<()>::new("two workers");
        let workers = p.processes("worker", 2, 0_u8);
        for worker in &workers {
            p.action(*worker, "works")
                .when(|w| *w == 0)
                .then(|w, _| *w = 1);
        }
        let first = workers[0];
        match eventually {
            true => p.eventually("first", move |view| *view.state(first) == 1),
            false => p.sometimes("first", move |view| *view.state(first) == 1),
        }
        p.interchangeable(&workers);
        let model = p.build().expect("a model");
        assert!(model.check().run().expect("a report").holds());
        let refused = model.check().symmetric().run();
        assert!(
            matches!(&refused, Err(CheckError::NotSymmetric(why)) if why.contains("`first`")),
            "{refused:?}"
        );
    }
}
