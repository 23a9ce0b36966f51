//! Ready-made clients of a register, a map, or any other [object](Object), and the record that says
//! whether they can be content.
//!
//! A client asks for one operation after the other, each time the next server, and waits for the
//! answer. What was asked and answered is kept by a [`Tester`].
//!
//! ```
//! use stubborn_protocol::clients::{Consistency, Service, add_clients};
//! use stubborn_protocol::linearizability::{Register, RegisterAnswer, RegisterOperation};
//! use stubborn_protocol::{Protocol, assert_holds};
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! enum Message {
//!     Ask(u32, RegisterOperation<char>),
//!     Answer(u32, RegisterAnswer<char>),
//! }
//!
//! impl Service<Register<char>> for Message {
//!     const ANSWERS: &'static [&'static str] = &["Answer"];
//!
//!     fn ask(number: u32, operation: &RegisterOperation<char>) -> Self {
//!         Message::Ask(number, operation.clone())
//!     }
//!
//!     fn answer(&self) -> Option<(u32, RegisterAnswer<char>)> {
//!         match self {
//!             Message::Answer(number, answer) => Some((*number, answer.clone())),
//!             Message::Ask(..) => None,
//!         }
//!     }
//! }
//!
//! let mut p = Protocol::new("one register");
//! let server = p.process("server", ' ');
//! p.on(server, "Ask").then(|value, m, step| {
//!     if let Message::Ask(number, operation) = &m.message {
//!         let answer = match operation {
//!             RegisterOperation::Read => RegisterAnswer::Value(*value),
//!             RegisterOperation::Write(new) => {
//!                 *value = *new;
//!                 RegisterAnswer::Written
//!             }
//!         };
//!         step.send(m.from, Message::Answer(*number, answer));
//!     }
//! });
//! let writes = RegisterOperation::Write('A');
//! let scripts = [vec![writes, RegisterOperation::Read], vec![RegisterOperation::Read]];
//! add_clients(&mut p, Register(' '), &[server], &scripts, Consistency::Linearizable);
//! assert_holds!(p.build()?);
//! # Ok::<(), stubborn_protocol::ProtocolError>(())
//! ```

use crate::linearizability::{Object, Tester};
use crate::value::{Pid, ProcessRef, Value, kind_of};
use crate::{Envelope, Protocol};

/// Messages with which clients can use an object.
pub trait Service<T: Object>: Value {
    /// Kinds of the messages that are answers.
    const ANSWERS: &'static [&'static str];

    /// A request; its number comes back with the answer.
    fn ask(number: u32, operation: &T::Operation) -> Self;

    /// What an answer says; `None` if it is none.
    fn answer(&self) -> Option<(u32, T::Answer)>;
}

/// What clients may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// What is over was there before what begins.
    Linearizable,
    /// Each client sees its own operations in their order, and all see one order.
    Sequential,
}

/// The local state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// Operations that are over.
    pub over: u32,
    /// It waits for the next one.
    pub waiting: bool,
}

/// Adds a client for each script, called `client 1`, `client 2` and so on, and an invariant over what
/// they are answered. The protocol's [record](Protocol::record) is theirs. Where all scripts are over,
/// the protocol [may stop](Protocol::may_stop_when), unless it says itself where it may.
pub fn add_clients<M: Service<T>, T: Object, S: Value>(
    p: &mut Protocol<M>,
    object: T,
    servers: &[ProcessRef<S>],
    scripts: &[Vec<T::Operation>],
    consistency: Consistency,
) -> Vec<ProcessRef<Client>> {
    let first = Client {
        over: 0,
        waiting: false,
    };
    let clients = p.processes("client", scripts.len(), first);
    let all = scripts.len() as u32;
    // Requests of different clients have different numbers.
    let number = move |client: usize, over: u32| over * all + client as u32;
    let mut requests: Vec<(Pid, M, T::Operation)> = Vec::new();
    for (at, (client, script)) in clients.iter().zip(scripts).enumerate() {
        let asked: Vec<(Pid, M)> = script
            .iter()
            .zip(0_u32..)
            .filter_map(|(operation, over)| {
                let server = servers.get((at + over as usize) % servers.len().max(1))?;
                Some((server.pid(), M::ask(number(at, over), operation)))
            })
            .collect();
        let request = asked.iter().zip(script);
        requests.extend(request.map(|((_, m), o)| (client.pid(), m.clone(), o.clone())));
        let length = asked.len();
        p.action(*client, "asks")
            .when(move |c| !c.waiting && (c.over as usize) < length)
            .then(move |c, step| {
                let (to, message) = &asked[c.over as usize];
                c.waiting = true;
                step.send(*to, message.clone());
            });
        let awaited = move |c: &Client, m: &Envelope<M>| {
            let answered = m.message.answer().map(|(answered, _)| answered);
            c.waiting && answered == Some(number(at, c.over))
        };
        let mut answers = M::ANSWERS.iter();
        if let Some(kind) = answers.next() {
            let on = p.on(*client, *kind).named("is answered");
            answers
                .fold(on, |on, kind| on.or(*kind))
                .when(awaited)
                .sends_nothing()
                .then(|c, _, _| {
                    c.over += 1;
                    c.waiting = false;
                });
        }
    }
    if !p.says_where_it_may_stop() {
        let (all, lengths) = (clients.clone(), scripts.iter().map(Vec::len));
        let lengths: Vec<usize> = lengths.collect();
        p.may_stop_when(move |view| {
            let mut each = all.iter().zip(&lengths);
            each.all(|(client, length)| view.state(*client).over as usize == *length)
        });
    }
    let mut kinds: Vec<String> = requests.iter().map(|(_, m, _)| kind_of(m)).collect();
    kinds.sort();
    kinds.dedup();
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let pids: Vec<Pid> = clients.iter().map(|c| c.pid()).collect();
    let record = p
        .record(Tester::new(object))
        .on_send(&kinds, move |tester, m| {
            let is_it = |(client, request, _): &&(Pid, M, T::Operation)| {
                *client == m.from && *request == m.message
            };
            if let Some((client, _, operation)) = requests.iter().find(is_it) {
                tester.begin(*client, operation.clone());
            }
        })
        .on_delivery(M::ANSWERS, move |tester: &mut Tester<T>, m| {
            if let (true, Some((_, answer))) = (pids.contains(&m.to), m.message.answer()) {
                tester.end(m.to, answer);
            }
        })
        .drawn(Tester::operations);
    match consistency {
        Consistency::Linearizable => record.invariant("linearizable", Tester::is_linearizable),
        Consistency::Sequential => record.invariant(
            "sequentially consistent",
            Tester::is_sequentially_consistent,
        ),
    };
    clients
}
