//! Processes that work together: who they are, messages between them, and what happens when one
//! dies.
//!
//! Every two processes have a TCP connection. It keeps the order of what is sent, which is all that
//! is needed to know that a step is over: whoever has nothing more to send says so to everybody,
//! and who has heard that from everybody has everything (the flush of K. M. Chandy and L. Lamport,
//! *Distributed snapshots*, 1985). Between two steps the processes [agree](Cluster::agree) on how to
//! go on. So nobody needs to guess whether messages are still under way, as the algorithms for
//! detecting termination do (F. Mattern, *Algorithms for distributed termination detection*, 1987).
//!
//! A process that dies is noticed by all others, since its connections break, or since nothing is
//! heard of it for a while. Nothing goes on without it: whoever uses a [`Cluster`] gets [`Lost`],
//! which says who it was.
//!
//! Who wants to take part must know a token. Messages are not encrypted, nor is anything in them
//! believed to be meant well: they are for networks whose users trust each other, or for tunnels.
//!
//! ```
//! use std::net::TcpListener;
//! use stubborn_cluster::{Cluster, Meeting, Token};
//!
//! let token = Token::random();
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?.to_string();
//! let other = token.clone();
//! let worker = std::thread::spawn(move || {
//!     let mut cluster = Cluster::join(&address, &other, "adding").expect("it works");
//!     let sum = cluster.agree(1, vec![2], |_| Vec::new()).expect("nobody dies");
//!     assert_eq!(sum, [5]);
//! });
//! let meeting = Meeting { listener, size: 2, token, purpose: "adding" };
//! let mut cluster = Cluster::lead(meeting, || Ok(()))?;
//! let sum = cluster.agree(1, vec![3], |all| vec![all.iter().map(|one| one[0]).sum()])?;
//! assert_eq!(sum, [5]);
//! worker.join().expect("it works");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod exchange;
mod gather;
mod handshake;
mod link;
mod token;

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

pub use exchange::{Arrival, Exchange, append_words, hash_of, owner_of};
pub use handshake::{JoinError, Meeting};
pub use token::Token;

use link::{Delivery, Event, Link};

/// The first process: it has whatever is there once.
pub const LEADER: usize = 0;

/// Kinds of messages from here on are taken.
const FIRST_OWN_KIND: u8 = 250;
/// The parts of an agreement.
const AGREE: u8 = 250;
/// Somebody else is lost; the body is who.
const BLAME: u8 = 251;
/// Nothing more will come.
const GOODBYE: u8 = 252;
/// A sign of life.
const ALIVE: u8 = 253;

/// How long the leader waits for others to say whom they have lost.
const BLAME_TIME: Duration = Duration::from_millis(300);

/// What one process has sent to another.
#[derive(Debug)]
pub struct Message {
    /// Who has sent it.
    pub from: usize,
    /// Whoever uses the cluster knows what that is.
    pub kind: u8,
    /// The same.
    pub body: Vec<u8>,
}

/// A process is lost: nothing goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    who: String,
    why: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is lost: {}", self.who, self.why)
    }
}

impl std::error::Error for Lost {}

/// What was sent and received, for measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that this process has sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// This process among those that work together.
pub struct Cluster {
    rank: usize,
    /// `None` for this process.
    links: Vec<Option<Link>>,
    inbox: Receiver<Delivery>,
    /// What came while something else was waited for.
    early: VecDeque<Message>,
    /// Parts of agreements that nobody has asked for yet.
    agreements: VecDeque<Message>,
    /// Who has said goodbye.
    left: Vec<usize>,
    lost: Option<Lost>,
    has_blamed: bool,
    traffic: Traffic,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("rank", &self.rank)
            .field("size", &self.links.len())
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Which one this is, from 0 on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.links.len()
    }

    /// Whether this is the one that decides.
    pub fn is_leader(&self) -> bool {
        self.rank == LEADER
    }

    /// All others.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.links.len()).filter(move |other| *other != rank)
    }

    /// What this process has sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Whether so much is on its way to another process that it is better to
    /// [receive](Self::receive) first. Who only sends may wait for one who does the same.
    pub fn is_congested(&self, to: usize) -> bool {
        self.links[to].as_ref().is_some_and(Link::is_congested)
    }

    /// Sends a message, now or when this process [receives](Self::receive) the next time. Kinds are below
    /// 250.
    ///
    /// # Errors
    /// If somebody is lost.
    ///
    /// # Panics
    /// If it is for this very process.
    pub fn send(&mut self, to: usize, kind: u8, body: &[u8]) -> Result<(), Lost> {
        debug_assert!(kind < FIRST_OWN_KIND);
        self.transmit(to, kind, body)
    }

    fn transmit(&mut self, to: usize, kind: u8, body: &[u8]) -> Result<(), Lost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        self.traffic.messages += 1;
        self.traffic.bytes += body.len() as u64;
        let link = self.links[to].as_mut();
        let link = link.expect("nobody writes to himself");
        // If it is broken, the other side of it says so.
        link.send(kind, body);
        Ok(())
    }

    /// The next message, if there is one within this time.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn receive(&mut self, wait: Duration) -> Result<Option<Message>, Lost> {
        match self.early.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.next(wait),
        }
    }

    /// Sends what was put off, for one who will not receive soon.
    pub fn flush(&mut self) {
        self.links.iter_mut().flatten().for_each(Link::flush);
    }

    /// The next message that comes in.
    fn next(&mut self, wait: Duration) -> Result<Option<Message>, Lost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        self.flush();
        let delivery = match wait.is_zero() {
            true => self.inbox.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
            false => self.inbox.recv_timeout(wait),
        };
        match delivery {
            Ok(Delivery { from, event }) => match event {
                Event::Message(kind, body) if kind < FIRST_OWN_KIND => {
                    Ok(Some(Message { from, kind, body }))
                }
                Event::Message(AGREE, body) => {
                    let kind = AGREE;
                    self.agreements.push_back(Message { from, kind, body });
                    Ok(None)
                }
                // Whoever is done may go, as long as nobody waits for him.
                Event::Message(GOODBYE, _) => {
                    self.left.push(from);
                    Ok(None)
                }
                Event::Broken(_) if self.left.contains(&from) => Ok(None),
                event => Err(self.investigate(from, event)),
            },
            Err(error) => match self.left.first().copied() {
                Some(who) if !wait.is_zero() => Err(self.has_left(who)),
                _ if error == RecvTimeoutError::Timeout => Ok(None),
                // Nobody is there who could say anything.
                _ if self.links.len() == 1 => Ok(None),
                _ => {
                    let (who, why) = ("everybody".into(), "all connections are closed".into());
                    Err(self.lose(Lost { who, why }))
                }
            },
        }
    }

    /// Everybody says something about a topic, the leader makes something of it, and everybody hears
    /// that. Other messages that come meanwhile are received afterwards.
    ///
    /// # Errors
    /// If somebody is lost, or talks about something else: then processes that should do the same
    /// do not.
    pub fn agree(
        &mut self,
        topic: u8,
        own: Vec<u8>,
        decide: impl FnOnce(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Vec<u8>, Lost> {
        if !self.is_leader() {
            self.transmit(LEADER, AGREE, &about(topic, &own))?;
            let agreement = self.agreement(topic, LEADER);
            self.has_agreed();
            return agreement;
        }
        let mut all = vec![own];
        for other in 1..self.size() {
            all.push(self.agreement(topic, other)?);
        }
        let decision = decide(all);
        self.has_agreed();
        for other in self.others() {
            self.transmit(other, AGREE, &about(topic, &decision))?;
        }
        self.flush();
        Ok(decision)
    }

    /// Nobody agrees to anything before he has everything that was sent until then.
    fn has_agreed(&mut self) {
        let links = self.links.iter_mut().flatten();
        links.for_each(Link::is_empty_again);
    }

    /// The next part of an agreement from somebody.
    fn agreement(&mut self, topic: u8, from: usize) -> Result<Vec<u8>, Lost> {
        loop {
            let is_it = |message: &Message| message.from == from;
            if let Some(at) = self.agreements.iter().position(is_it)
                && let Some(message) = self.agreements.remove(at)
            {
                return match message.body.split_first() {
                    Some((about, body)) if *about == topic => Ok(body.to_vec()),
                    _ => {
                        let why = "it is somewhere else in the work".into();
                        let who = self.name(from);
                        Err(self.lose(Lost { who, why }))
                    }
                };
            }
            if self.left.contains(&from) {
                return Err(self.has_left(from));
            }
            let next = self.next(Duration::from_secs(1))?;
            self.early.extend(next);
        }
    }

    /// What somebody has sent makes no sense to whoever uses the cluster: nothing goes on.
    pub fn distrust(&mut self, who: usize) -> Lost {
        let (who, why) = (self.name(who), "what it sends makes no sense".into());
        self.lose(Lost { who, why })
    }

    fn has_left(&mut self, who: usize) -> Lost {
        let (who, why) = (self.name(who), "it has left".into());
        self.lose(Lost { who, why })
    }

    /// Who is called what.
    pub fn name(&self, rank: usize) -> String {
        match self.links.get(rank) {
            Some(Some(link)) => link.name().to_owned(),
            _ => format!("worker {rank}"),
        }
    }

    /// Somebody has gone, or says that somebody else has: who was the first?
    fn investigate(&mut self, from: usize, event: Event) -> Lost {
        let mut broken: Vec<(usize, String)> = Vec::new();
        let mut blamed: Vec<usize> = Vec::new();
        let mut innocent: Vec<usize> = Vec::new();
        let mut note = |from: usize, event: Event| match event {
            Event::Message(BLAME, body) => {
                innocent.push(from);
                let who = body.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
                blamed.extend(who.map(|who| who as usize));
            }
            Event::Message(..) => {}
            Event::Broken(why) => broken.push((from, why)),
        };
        note(from, event);
        if self.is_leader() {
            // Whoever loses somebody leaves as well, and that may be heard of first.
            let end = Instant::now() + BLAME_TIME;
            while let Ok(next) =
                (self.inbox).recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                note(next.from, next.event);
            }
        }
        let culprit = broken.iter().find(|(who, _)| !innocent.contains(who));
        let suspect = blamed.iter().find(|who| !innocent.contains(who));
        let (who, why) = match (culprit, suspect) {
            (Some((who, why)), _) => (*who, why.clone()),
            (None, Some(who)) => (*who, format!("{} says so", self.name(from))),
            (None, None) => (from, "it has left".into()),
        };
        if !self.is_leader() && who != LEADER {
            let _ = self.transmit(LEADER, BLAME, &(who as u32).to_le_bytes());
            self.flush();
            self.has_blamed = true;
        }
        let who = self.name(who);
        self.lose(Lost { who, why })
    }

    fn lose(&mut self, lost: Lost) -> Lost {
        self.lost = Some(lost.clone());
        lost
    }
}

/// A message with its topic.
fn about(topic: u8, body: &[u8]) -> Vec<u8> {
    [&[topic], body].concat()
}

impl Drop for Cluster {
    /// Says goodbye, and waits until everything is sent.
    fn drop(&mut self) {
        if self.lost.is_none() {
            for other in self.others() {
                let _ = self.transmit(other, GOODBYE, &[]);
            }
        } else if self.has_blamed {
            // A connection that is closed before everything was read on this side may take back
            // what was said.
            std::thread::sleep(BLAME_TIME);
        }
        for link in self.links.iter_mut().flatten() {
            link.close();
        }
    }
}

#[cfg(test)]
mod tests;
