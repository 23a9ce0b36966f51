//! The same handlers for real: a process of a protocol that sends its messages over UDP.
//!
//! A [`Node`] runs one process, in a thread or a program of its own. It takes steps as the model
//! does: an action when it is possible, a handler when a message is there that it takes, a timeout
//! when a timer has run out. Choices are random. What the network loses, delays or repeats is up to
//! the network; what the protocol says about that is checked by its log.
//!
//! A log has a line for each step: the transition as the model calls it, the local state afterwards,
//! and a logical clock (Lamport, *Time, clocks, and the ordering of events in a distributed system*,
//! 1978). Lines of all nodes in the order of their clocks, as [`merge`] puts them, are a run of
//! the model if the model explains them: `stubborn::conformance::Explainer` says whether it does. Steps
//! that no message connects may come in any order, in the log as in the model.
//!
//! Sockets and threads of the standard library are enough: handlers do not wait for anything, so
//! there is nothing for an asynchronous runtime to do, and nobody has to compile one.

use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stubborn_system::{Random, System};

use crate::handler::Takes;
use crate::model::{Core, Inner, Model, Role, first_state, subsets};
use crate::moves::takes_kind;
use crate::network::Network;
use crate::value::{Boxed, Envelope, Local, Pid, ProcessRef, Value, kind_of};

/// Messages as bytes.
pub trait Wire: Sized {
    /// Writes a message.
    fn encode(&self) -> Vec<u8>;

    /// Reads one; `None` if it is none.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// The same for messages whose type is not known.
#[derive(Clone, Copy)]
struct Codec {
    encode: fn(&Boxed) -> Vec<u8>,
    decode: fn(&[u8]) -> Option<Boxed>,
}

impl Codec {
    fn new<M: Value + Wire>() -> Self {
        Self {
            encode: |message| message.get::<M>().map_or(Vec::new(), Wire::encode),
            decode: |bytes| M::decode(bytes).map(Boxed::new),
        }
    }
}

/// Why a node does not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// The process belongs to another protocol.
    ForeignProcess,
    /// There must be one address for each process.
    Addresses {
        /// Processes of the protocol.
        processes: usize,
        /// Addresses given.
        addresses: usize,
    },
    /// The protocol relies on order, which UDP does not keep.
    Unordered,
    /// A handler panicked, or did something else that it must not.
    Misuse(String),
    /// No handler waits for this timer.
    NoTimer(String),
    /// The socket or the log.
    Io(io::Error),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignProcess => f.write_str("the process belongs to another protocol"),
            Self::Addresses {
                processes,
                addresses,
            } => write!(
                f,
                "{addresses} addresses for {processes} processes: each needs one"
            ),
            Self::Unordered => f.write_str(
                "the protocol relies on `Network::Ordered`, and UDP keeps no order: number messages, \
                 and check that",
            ),
            Self::Misuse(text) => f.write_str(text),
            Self::NoTimer(name) => write!(f, "no handler of the process waits for timer `{name}`"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for NodeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What comes before a message in a datagram: sender and clock.
const HEADER: usize = 10;

/// The longest datagram.
const LONGEST: usize = 1 << 16;

/// How long a node waits for messages before it looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(5);

/// Ways to make up a quorum that are tried.
const MOST_QUORUMS: usize = 1_000;

/// One process of a protocol, for real. See the [module](self).
pub struct Node<'m> {
    inner: &'m Inner,
    model: &'m Core,
    codec: Codec,
    process: Pid,
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
    local: Local,
    inbox: Vec<Envelope<Boxed>>,
    clock: u64,
    random: Random,
    log: Option<Box<dyn Write + Send + 'm>>,
    /// How long each timer takes, and when it runs out if it is set.
    timers: Vec<(Duration, Option<Instant>)>,
    /// The least time between two actions of its own, and when the next one may be.
    pace: (Duration, Instant),
    steps: u64,
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("process", &self.process)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl<M: Value + Wire> Model<M> {
    /// One of its processes, to be [run](Node::run): with its own socket, and the address of every
    /// process in the order in which they were added. Timers take 100 ms.
    ///
    /// # Errors
    /// If addresses or protocol do not fit.
    pub fn node<S: Value>(
        &self,
        process: ProcessRef<S>,
        socket: UdpSocket,
        addresses: &[SocketAddr],
    ) -> Result<Node<'_>, NodeError> {
        if process.owner != self.core.inner.protocol.number {
            return Err(NodeError::ForeignProcess);
        }
        Node::new(
            &self.core,
            Codec::new::<M>(),
            process.pid,
            socket,
            addresses,
        )
    }
}

impl<'m> Node<'m> {
    fn new(
        model: &'m Core,
        codec: Codec,
        process: Pid,
        socket: UdpSocket,
        addresses: &[SocketAddr],
    ) -> Result<Self, NodeError> {
        let protocol = &model.inner.protocol;
        let processes = protocol.processes.len();
        if addresses.len() != processes {
            let addresses = addresses.len();
            return Err(NodeError::Addresses {
                processes,
                addresses,
            });
        }
        if protocol.network == Network::Ordered {
            return Err(NodeError::Unordered);
        }
        socket.set_read_timeout(Some(PATIENCE))?;
        let declared = &protocol.processes[process.index()];
        Ok(Node {
            inner: &model.inner,
            model,
            codec,
            process,
            socket,
            addresses: addresses.to_vec(),
            local: Local {
                state: first_state(declared),
                timers: declared.initial_timers,
                crashed: false,
            },
            inbox: Vec::new(),
            clock: 0,
            random: Random::new(u64::from(process.0)),
            log: None,
            timers: vec![(Duration::from_millis(100), None); declared.timers.len()],
            pace: (Duration::from_millis(1), Instant::now()),
            steps: 0,
        })
    }

    /// Writes a line for each step, before its messages are sent.
    #[must_use]
    pub fn log(mut self, to: impl Write + Send + 'm) -> Self {
        self.log = Some(Box::new(to));
        self
    }

    /// Makes other choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.random = Random::new(seed);
        self
    }

    /// The least time between two actions that wait for nothing; a millisecond otherwise. In a model
    /// a client may ask again at any time, for real it had better not do so all the time.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace.0 = pace;
        self
    }

    /// How long a timer takes.
    ///
    /// # Errors
    /// If nobody waits for it.
    pub fn timer(mut self, name: &str, takes: Duration) -> Result<Self, NodeError> {
        let names = &self.inner.protocol.processes[self.process.index()].timers;
        match names.iter().position(|n| n == name) {
            Some(at) => self.timers[at].0 = takes,
            None => return Err(NodeError::NoTimer(name.to_owned())),
        }
        Ok(self)
    }

    /// The local state, if it is of this type.
    pub fn state<S: Value>(&self) -> Option<&S> {
        (*self.local.state.0).as_any().downcast_ref()
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes steps until somebody says to stop.
    ///
    /// # Errors
    /// If a handler misbehaves, or the socket or the log cannot be written.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        if self.steps == 0 {
            let initial = self.inner.protocol.initial_messages.iter();
            let own = initial.filter(|e| e.from == self.process);
            let own: Vec<(Pid, Boxed)> = own.map(|e| (e.to, e.message.clone())).collect();
            self.send(own)?;
        }
        let mut datagram = vec![0; LONGEST];
        while !stop.load(Ordering::Relaxed) {
            self.look_at_timers();
            let acted = self.step()?;
            // What has come meanwhile, without waiting where there is something to do.
            self.socket.set_nonblocking(acted)?;
            match self.socket.recv(&mut datagram) {
                Ok(length) => self.receive(&datagram[..length]),
                Err(error) if is_patience(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Starts the clocks of timers that were set, and stops those of others.
    fn look_at_timers(&mut self) {
        for (bit, (takes, ends)) in self.timers.iter_mut().enumerate() {
            *ends = match (self.local.timers >> bit & 1 == 1, *ends) {
                (true, None) => Some(Instant::now() + *takes),
                (true, ends) => ends,
                (false, _) => None,
            };
        }
    }

    fn receive(&mut self, datagram: &[u8]) {
        let Some((header, body)) = datagram.split_at_checked(HEADER) else {
            return;
        };
        let (from, clock) = header.split_at(2);
        let from = u16::from_le_bytes(from.try_into().unwrap_or_default());
        let clock = u64::from_le_bytes(clock.try_into().unwrap_or_default());
        let Some(message) = (self.codec.decode)(body) else {
            return;
        };
        if usize::from(from) < self.addresses.len() {
            self.clock = self.clock.max(clock);
            self.inbox.push(Envelope {
                from: Pid(from),
                to: self.process,
                message,
            });
        }
    }

    /// Takes a step, if one is possible.
    fn step(&mut self) -> Result<bool, NodeError> {
        let inner = self.inner;
        let all = &inner.protocol.handlers;
        let own: Vec<usize> = (0..all.len())
            .filter(|h| all[*h].process == self.process)
            .collect();
        let first = self.random.below(own.len().max(1));
        for at in 0..own.len() {
            let handler = own[(first + at) % own.len()];
            let ready = match all[handler].takes {
                Takes::Timer(bit) => {
                    let ends = self.timers[usize::from(bit)].1;
                    ends.is_some_and(|ends| Instant::now() >= ends)
                }
                Takes::Nothing => Instant::now() >= self.pace.1,
                Takes::One | Takes::Quorum(_) => true,
            };
            if !ready {
                continue;
            }
            for positions in self.fitting(handler) {
                if self.take(handler, positions)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Positions of messages that a handler may take.
    fn fitting(&self, handler: usize) -> Vec<Vec<usize>> {
        let declared = &self.inner.protocol.handlers[handler];
        let fits = |m: &Envelope<Boxed>| {
            let senders = declared.senders.as_ref();
            senders.is_none_or(|s| s.contains(&m.from))
                && takes_kind(declared, &kind_of(&m.message))
        };
        let positions = || (0..self.inbox.len()).filter(|at| fits(&self.inbox[*at]));
        match declared.takes {
            Takes::Nothing | Takes::Timer(_) => vec![Vec::new()],
            Takes::One => positions().map(|at| vec![at]).collect(),
            Takes::Quorum(size) => {
                // The oldest message of each sender.
                let mut senders: Vec<Pid> = positions().map(|at| self.inbox[at].from).collect();
                senders.sort_unstable();
                senders.dedup();
                let oldest = |from: &Pid| positions().find(|at| self.inbox[*at].from == *from);
                let sets = subsets(&senders, usize::from(size)).into_iter();
                sets.take(MOST_QUORUMS)
                    .map(|set| set.iter().filter_map(oldest).collect())
                    .collect()
            }
        }
    }

    /// Runs a handler on some messages; whether anything happens.
    fn take(&mut self, handler: usize, mut positions: Vec<usize>) -> Result<bool, NodeError> {
        let inner = self.inner;
        let declared = &inner.protocol.handlers[handler];
        let taken = positions.iter().map(|at| self.inbox[*at].as_ref());
        let messages: Vec<Envelope<&Boxed>> = taken.collect();
        let senders: Vec<Pid> = messages.iter().map(|m| m.from).collect();
        let names = &inner.protocol.processes[self.process.index()].timers;
        let edge = inner.protocol.edge;
        let mut results = declared.results(&self.local, &messages, edge, names);
        if results.is_empty() {
            return Ok(false);
        }
        let result = results.swap_remove(self.random.below(results.len()));
        if let Some(text) = &result.misuse {
            let name = inner.process_name(self.process);
            let text = format!("the handler `{}` of `{name}` {text}", declared.name);
            return Err(NodeError::Misuse(text));
        }
        positions.sort_unstable();
        for at in positions.into_iter().rev() {
            self.inbox.remove(at);
        }
        match declared.takes {
            Takes::Timer(bit) => self.timers[usize::from(bit)].1 = None,
            Takes::Nothing => self.pace.1 = Instant::now() + self.pace.0,
            Takes::One | Takes::Quorum(_) => {}
        }
        self.local = Local {
            state: result.state,
            timers: result.timers,
            crashed: false,
        };
        self.steps += 1;
        self.clock += 1;
        self.note(handler, &senders)?;
        self.send(result.sends)?;
        Ok(true)
    }

    /// Writes a line of the log.
    fn note(&mut self, handler: usize, from: &[Pid]) -> Result<(), NodeError> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let is_it = |role: &Role| match role {
            Role::Handler {
                handler: number,
                senders,
            } => {
                let fits = |s: &Vec<Pid>| from.iter().all(|f| s.contains(f));
                *number == handler && senders.as_ref().is_none_or(fits)
            }
            _ => false,
        };
        let at = self.inner.actions.iter().position(|a| is_it(&a.role));
        let structure = self.model.structure();
        let name = at.map_or("", |at| structure.transitions[at].name.as_str());
        let process = self.inner.process_name(self.process);
        let local = self.inner.text_of(self.process, &self.local);
        let line = format!(
            "{{\"clock\": {}, \"node\": {}, \"transition\": {}, \"state\": {{{}: {}}}}}\n",
            self.clock,
            self.process.index(),
            quoted(name),
            quoted(process),
            quoted(&local)
        );
        // In one piece: logs may be shared.
        log.write_all(line.as_bytes())?;
        Ok(log.flush()?)
    }

    fn send(&mut self, messages: Vec<(Pid, Boxed)>) -> Result<(), NodeError> {
        for (to, message) in messages {
            let Some(address) = self.addresses.get(to.index()) else {
                let text = "a message for a process of another protocol";
                return Err(NodeError::Misuse(text.into()));
            };
            let mut datagram = self.process.0.to_le_bytes().to_vec();
            datagram.extend(self.clock.to_le_bytes());
            datagram.extend((self.codec.encode)(&message));
            match self.socket.send_to(&datagram, address) {
                Ok(_) => {}
                // Nobody listens there, or not now: the network loses it.
                Err(error) if is_patience(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Whether it is only that nothing has come in time.
fn is_patience(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, Interrupted, TimedOut, WouldBlock};
    // Refusals and resets are answers to what was sent earlier.
    let kinds = [
        WouldBlock,
        TimedOut,
        Interrupted,
        ConnectionRefused,
        ConnectionReset,
    ];
    kinds.contains(&error.kind())
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The lines of several logs in an order in which they may have happened: by clock.
pub fn merge<'l>(logs: impl IntoIterator<Item = &'l str>) -> String {
    let clock = |line: &&str| -> u64 {
        let digits = line.strip_prefix("{\"clock\": ").unwrap_or_default();
        let end = digits.find(',').unwrap_or(0);
        digits[..end].parse().unwrap_or(u64::MAX)
    };
    let mut lines: Vec<&str> = logs.into_iter().flat_map(str::lines).collect();
    lines.sort_by_key(clock);
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_merged_by_clock() {
        let a = "{\"clock\": 1, \"node\": 0}\n{\"clock\": 10, \"node\": 0}\n";
        let b = "{\"clock\": 2, \"node\": 1}\n";
        let merged = merge([a, b]);
        let nodes: Vec<_> = merged.lines().map(|l| &l[l.len() - 2..]).collect();
        assert_eq!(nodes, ["0}", "1}", "0}"]);
    }

    #[test]
    fn texts_are_json() {
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \u000a""#);
    }
}
