//! Small protocols of which a reduction must not lose a violation: what a step leads to is chosen, and
//! only some of its outcomes leave possible what was put off until after it.

use stubborn_protocol::{Model, Network, Protocol, Reduction};
use stubborn_reduce::{Algorithm, Config};

/// Whether a check without reduction, and checks with every reduction in both orders, find that the
/// invariant is violated.
fn every_reduction_finds<M: stubborn_protocol::Value>(model: &Model<M>) {
    let full = model.check().unreduced().run().expect("a report");
    assert!(!full.holds());
    let mut reductions = vec![Reduction::Auto, Reduction::Messages];
    reductions.extend([false, true].map(|net| Reduction::Printed { net }));
    for algorithm in Algorithm::ALL {
        reductions.push(Reduction::Chosen(Config::new(*algorithm)));
        let weak = Config {
            weak: true,
            ..Config::new(*algorithm)
        };
        if weak.settings().is_ok() {
            reductions.push(Reduction::Chosen(weak));
        }
    }
    for reduction in reductions {
        let check = model.check().reduction(reduction.clone());
        for check in [check.clone(), check.clone().threads(2), check.depth_first()] {
            let report = check.run().expect("a report");
            assert!(!report.holds(), "{}: {reduction:?}", model.name());
        }
    }
}

/// `t` may wait as often as it likes, or lose; `u` wins or ends. Neither disables the other, and both
/// orders end in the same states; but after `t` has lost, `u` cannot win.
#[test]
fn equal_ends_are_not_enough() {
    const BEGUN: u8 = 0;
    const LOST: u8 = 1;
    const WON: u8 = 2;
    const OVER: u8 = 3;
    let mut p: Protocol<()> = Protocol::new("equal ends");
    let one = p.process("one", BEGUN);
    p.action(one, "t").then(|s, step| {
        if *s == BEGUN {
            *s = step.pick(&[BEGUN, LOST]);
        }
    });
    p.action(one, "u").when(|s| *s < WON).then(|s, step| {
        *s = match *s {
            BEGUN => step.pick(&[WON, OVER]),
            _ => OVER,
        };
    });
    p.invariant_of_each("nobody wins", &[one], |s| *s != WON);
    every_reduction_finds(&p.build().expect("a model"));
}

/// Who waits may give up, and is not answered any more: being answered does not keep anybody from
/// waiting, but not the other way round.
#[test]
fn one_side_is_not_enough() {
    const WAITING: u8 = 0;
    const GONE: u8 = 1;
    const ANSWERED: u8 = 2;
    let mut p: Protocol<()> = Protocol::new("wait or give up");
    let one = p.process("one", WAITING);
    p.action(one, "waits or gives up").then(|s, step| {
        if *s == WAITING {
            *s = step.pick(&[WAITING, GONE]);
        }
    });
    p.action(one, "is answered")
        .when(|s| *s == WAITING)
        .then(|s, _| *s = ANSWERED);
    p.invariant_of_each("no answer", &[one], |s| *s != ANSWERED);
    every_reduction_finds(&p.build().expect("a model"));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Ping,
    Stop,
    Pong,
}

/// One handler for two messages: one of them may be taken again and again, after the other one nothing
/// else is possible. A set of messages with the first one has to reckon with the second, because steps
/// by one handler are taken together.
#[test]
fn messages_of_one_handler_come_together() {
    let mut p = Protocol::new("ping or stop");
    p.network(Network::Duplicating);
    let one = p.process("one", 0_u8);
    let other = p.process("other", 0_u8);
    p.on_any(one).then(move |s, m, step| match m.message {
        Message::Ping => step.send(other, Message::Pong),
        _ => *s = 2,
    });
    p.action(one, "acts").when(|s| *s == 0).then(|s, _| *s = 1);
    p.on(other, "Pong")
        .when(|s, _| *s == 0)
        .then(|s, _, _| *s = 1);
    p.send_initially(other, one, Message::Ping);
    p.send_initially(other, one, Message::Stop);
    p.invariant_of_each("nobody acts", &[one], |s| *s != 1);
    every_reduction_finds(&p.build().expect("a model"));
}

/// A handler takes one message at first, and another one of the same kind only after `t`. So `t` does not
/// enable it, but opens an outcome, and the handler alone never comes to it.
#[test]
fn what_a_step_opens_for_another_is_not_lost() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Asked {
        Ask(u8),
    }
    let mut p = Protocol::new("opens");
    p.network(Network::Duplicating);
    let one = p.process("one", 0_u8);
    p.action(one, "t").when(|s| *s == 0).then(|s, _| *s = 1);
    p.on(one, "Ask")
        .when(|s, m| m.message == Asked::Ask(0) || *s == 1)
        .then(move |s, m, step| match m.message {
            Asked::Ask(0) => step.send(one, Asked::Ask(1)),
            Asked::Ask(_) => *s = step.pick(&[2, 0]),
        });
    p.send_initially(one, one, Asked::Ask(0));
    p.invariant_of_each("nobody is at the end", &[one], |s| *s != 2);
    every_reduction_finds(&p.build().expect("a model"));
}
