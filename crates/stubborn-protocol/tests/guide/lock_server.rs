use stubborn_protocol::{Protocol, assert_holds, kind};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message { Request, Grant, Release }

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client { Idle, Waiting, Working }

pub(crate) fn nobody_works_twice() {
    let mut p = Protocol::new("lock server");
    let server = p.process("server", true); // is the lock free?
    let clients = p.processes("client", 3, Client::Idle);
    for client in &clients {
        p.action(*client, "asks")
            .when(|c| *c == Client::Idle)
            .then(move |c, step| {
                *c = Client::Waiting;
                step.send(server, Message::Request);
            });
        p.on(*client, kind!(Message::Grant)).then(|c, _, _| *c = Client::Working);
        p.action(*client, "is done")
            .when(|c| *c == Client::Working)
            .then(move |c, step| {
                *c = Client::Idle;
                step.send(server, Message::Release);
            });
    }
    p.on(server, kind!(Message::Request)).only_if(|free| *free).then(|free, m, step| {
        *free = false;
        step.send(m.from, Message::Grant);
    });
    p.on(server, kind!(Message::Release)).then(|free, _, _| *free = true);
    p.invariant_over(
        "mutual exclusion",
        &clients,
        |c| *c == Client::Working,
        |working| working.iter().filter(|w| **w).count() <= 1,
    );
    assert_holds!(p.build().unwrap());
}
