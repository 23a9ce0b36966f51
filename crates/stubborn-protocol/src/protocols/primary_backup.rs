//! A primary and its backup: requests are written down at both before they are acknowledged.
//! Messages get lost and are sent again, and the primary may crash, upon which the backup takes over
//! (Alsberg and Day, *A principle for resilient sharing of distributed resources*, 1976).

use crate::{Protocol, kind};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the protocol's own words
pub enum Message {
    Write(u8),
    Copy(u8),
    Copied(u8),
    Done(u8),
    TakeOver,
}

/// A client: what it writes, how often it has asked for it, and what it knows to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    value: u8,
    tries: u8,
    done: bool,
}

/// A server: what is written down, and what is not acknowledged yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    leads: bool,
    log: Vec<u8>,
    /// Values that the backup does not have, with how often they were sent to it.
    waiting: Vec<(u8, u8)>,
}

/// What may go wrong, and whether the protocol is prepared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// How many clients write a value each.
    pub clients: usize,
    /// How often a message is sent.
    pub tries: u8,
    /// Messages get lost.
    pub lossy: bool,
    /// The primary may crash.
    pub crashes: bool,
    /// The primary acknowledges what the backup has not got yet.
    pub hasty: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            clients: 2,
            tries: 2,
            lossy: true,
            crashes: true,
            hasty: false,
        }
    }
}

/// The protocol. What a client knows to be written is written at whoever leads.
pub fn protocol(setting: Setting) -> Protocol<Message> {
    let mut p = Protocol::new("primary and backup");
    if setting.lossy {
        p.lossy();
    }
    let server = |leads| Server {
        leads,
        log: Vec::new(),
        waiting: Vec::new(),
    };
    let primary = p.process("primary", server(true));
    let backup = p.process("backup", server(false));
    let detector = p.process("detector", false);
    let mut clients = Vec::new();
    for number in 0..setting.clients {
        let client = Client {
            value: number as u8 + 1,
            tries: 0,
            done: false,
        };
        clients.push(p.process(format!("client {}", number + 1), client));
    }
    for client in &clients {
        let tries = setting.tries;
        p.action(*client, "writes")
            .when(move |c| !c.done && c.tries < tries)
            .then(move |c, step| {
                c.tries += 1;
                // It does not know who leads.
                step.broadcast(&[primary, backup], Message::Write(c.value));
            });
        p.on(*client, kind!(Message::Done))
            .then(|c, _, _| c.done = true);
    }
    let all = clients.clone();
    let client_of = move |value: u8| all[usize::from(value) - 1];
    let answers = client_of.clone();
    p.on(primary, kind!(Message::Write))
        .then(move |s, m, step| {
            let Message::Write(value) = m.message else {
                return;
            };
            if !s.log.contains(&value) {
                s.log.push(value);
                s.waiting.push((value, 1));
                step.send(backup, Message::Copy(value));
            }
            if setting.hasty || !s.waiting.iter().any(|(v, _)| *v == value) {
                step.send(answers(value), Message::Done(value));
            }
        });
    p.action(primary, "copies again")
        .when(move |s| s.waiting.iter().any(|(_, sent)| *sent < setting.tries))
        .then(move |s, step| {
            for (value, sent) in &mut s.waiting {
                if *sent < setting.tries {
                    *sent += 1;
                    step.send(backup, Message::Copy(*value));
                }
            }
        });
    let answers = client_of.clone();
    p.on(primary, kind!(Message::Copied))
        .then(move |s, m, step| {
            let Message::Copied(value) = m.message else {
                return;
            };
            if let Some(at) = s.waiting.iter().position(|(v, _)| *v == value) {
                s.waiting.remove(at);
                step.send(answers(value), Message::Done(value));
            }
        });
    p.on(backup, kind!(Message::Copy)).then(move |s, m, step| {
        let Message::Copy(value) = m.message else {
            return;
        };
        if !s.log.contains(&value) {
            s.log.push(value);
        }
        step.send(primary, Message::Copied(value));
    });
    p.on(backup, kind!(Message::Write)).then(move |s, m, step| {
        let Message::Write(value) = m.message else {
            return;
        };
        if s.leads {
            if !s.log.contains(&value) {
                s.log.push(value);
            }
            step.send(client_of(value), Message::Done(value));
        }
    });
    if setting.crashes {
        p.may_crash(&[primary], 1);
        // Somebody notices at any time; it is nobody's mistake to notice too early, because the
        // primary never leads again then.
        p.action(detector, "suspects")
            .when(|seen| !*seen)
            .then(move |seen, step| {
                *seen = true;
                step.send(primary, Message::TakeOver);
                step.send(backup, Message::TakeOver);
            });
        p.on(primary, kind!(Message::TakeOver))
            .then(|s, _, _| s.leads = false);
        p.on(backup, kind!(Message::TakeOver))
            .then(|s, _, _| s.leads = true);
    }
    p.invariant_across(
        "what is done is written",
        (
            crate::over(&clients, |c: &Client| c.done.then_some(c.value)),
            crate::over(&[backup], |s: &Server| s.log.clone()),
        ),
        |(done, log)| done.iter().flatten().all(|value| log[0].contains(value)),
    );
    p
}
