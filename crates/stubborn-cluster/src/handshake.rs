//! How processes find each other.
//!
//! All others come to the leader, and show that they know the token and what is to be done. When
//! all are there, they get their numbers and the addresses of each other, and each connects to
//! those before it.
//!
//! Whoever connects is greeted by a thread of its own, and has [a deadline](PATIENCE) for all that it says:
//! connections that say nothing, or a byte now and then, keep nobody else waiting.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::link::Link;
use crate::{Cluster, LEADER, Token, Traffic};

/// What connections begin with; the number is that of the language that is spoken.
const GREETING: &str = "stubborn cluster 2";
/// The longest text of a handshake.
const LONGEST: usize = 1 << 16;
/// How long somebody may take to introduce himself.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many may do so at a time; more wait until one is done.
const MOST_GREETED: usize = 256;
/// Bytes of the stack of a thread that greets.
const STACK: usize = 256 << 10;
/// How long a process tries to reach another one.
const CONNECT: Duration = Duration::from_secs(30);
/// Between two looks whether somebody has come.
const ROUND: Duration = Duration::from_millis(5);
/// Messages that wait to be received, at most.
const INBOX: usize = 256;

/// Where and why the leader waits for others.
#[derive(Debug)]
pub struct Meeting<'m> {
    /// Where the others come to.
    pub listener: TcpListener,
    /// How many there will be, with the leader.
    pub size: usize,
    /// What they must know.
    pub token: Token,
    /// What is to be done; it must be the same for all.
    pub purpose: &'m str,
}

/// Why processes did not find each other.
#[derive(Debug)]
pub enum JoinError {
    /// The network refuses.
    Io(io::Error),
    /// The other side refuses; why.
    Refused(String),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<io::Error> for JoinError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A connection on which texts are exchanged.
struct Talk {
    stream: TcpStream,
    /// Nothing is heard or said after it; `None`: the other side may take any time.
    end: Option<Instant>,
}

impl Talk {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            end: Some(Instant::now() + PATIENCE),
        })
    }

    /// The connection, from now on without a deadline.
    fn into_stream(self) -> io::Result<TcpStream> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)?;
        Ok(self.stream)
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let left = match self.end {
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    Some(left).filter(|left| !left.is_zero())
                }
                None => None,
            };
            if left.is_none() && self.end.is_some() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(left)?;
            match self.stream.read(bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        self.stream.write_all(&bytes)
    }

    fn hear(&mut self) -> io::Result<String> {
        let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "that makes no sense");
        let mut length = [0; 4];
        self.fill(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(nonsense());
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| nonsense())
    }

    fn hear_number(&mut self) -> io::Result<u32> {
        let nonsense = |_| io::Error::new(io::ErrorKind::InvalidData, "that is no number");
        self.hear()?.parse().map_err(nonsense)
    }

    /// Shows that this process may come.
    fn introduce(&mut self, token: &Token) -> io::Result<()> {
        self.say(GREETING)?;
        self.say(token.as_str())
    }

    /// Whether the other one may come.
    fn is_welcome(&mut self, token: &Token) -> io::Result<bool> {
        Ok(self.hear()? == GREETING && token.is(&self.hear()?))
    }
}

/// Those who introduce themselves, all at once.
struct Greetings<T> {
    listener: TcpListener,
    /// Whoever has come, or nothing if it was a stranger or did not talk.
    heard: Receiver<Option<T>>,
    tell: SyncSender<Option<T>>,
    open: usize,
}

impl<T: Send + 'static> Greetings<T> {
    fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (tell, heard) = sync_channel(MOST_GREETED);
        Ok(Self {
            listener,
            heard,
            tell,
            open: 0,
        })
    }

    /// The next one who has said everything, if there is one by now. `hear` listens to a new connection, in
    /// a thread of its own.
    fn next(
        &mut self,
        hear: impl FnOnce(Talk, SocketAddr) -> io::Result<Option<T>> + Clone + Send + 'static,
    ) -> io::Result<Option<T>> {
        while self.open < MOST_GREETED {
            let (stream, address) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A peer that has gone again is not worth a word.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let (tell, hear) = (self.tell.clone(), hear.clone());
            let greet = move || {
                let heard = Talk::new(stream).and_then(|talk| hear(talk, address));
                // After the meeting nobody listens.
                let _ = tell.send(heard.ok().flatten());
            };
            // Where no thread can be had, the connection is closed, and may be tried again.
            let greeted = std::thread::Builder::new().stack_size(STACK).spawn(greet);
            self.open += usize::from(greeted.is_ok());
        }
        while let Ok(heard) = self.heard.try_recv() {
            self.open -= 1;
            if heard.is_some() {
                return Ok(heard);
            }
        }
        Ok(None)
    }
}

/// What somebody says who comes to the leader.
struct Visit {
    talk: Talk,
    address: SocketAddr,
    purpose: String,
    port: u32,
    process: u32,
}

/// Somebody who has come to the leader.
struct Guest {
    talk: Talk,
    name: String,
    /// Where others reach him.
    address: SocketAddr,
}

impl Cluster {
    /// Waits until all others have come. `look` is called now and then, and may end it.
    ///
    /// # Errors
    /// If the network refuses, if somebody comes for something else, or what `look` says.
    pub fn lead(
        meeting: Meeting<'_>,
        mut look: impl FnMut() -> Result<(), String>,
    ) -> Result<Self, JoinError> {
        let mut guests: Vec<Guest> = Vec::new();
        let mut greetings = Greetings::new(meeting.listener)?;
        while guests.len() + 1 < meeting.size {
            look().map_err(JoinError::Refused)?;
            let token = meeting.token.clone();
            match greetings.next(move |talk, address| hear(talk, address, &token))? {
                Some(visit) => guests.push(receive(visit, meeting.purpose, guests.len() + 1)?),
                None => std::thread::sleep(ROUND),
            }
        }
        drop(greetings);
        let addresses: Vec<String> = guests.iter().map(|g| g.address.to_string()).collect();
        let (inbox, messages) = sync_channel(INBOX);
        let mut links = vec![None];
        for (at, mut guest) in guests.into_iter().enumerate() {
            let rank = at + 1;
            guest.talk.say("welcome")?;
            guest.talk.say(&rank.to_string())?;
            guest.talk.say(&meeting.size.to_string())?;
            for address in &addresses {
                guest.talk.say(address)?;
            }
            let stream = guest.talk.into_stream()?;
            let link = Link::start(rank, guest.name, stream, inbox.clone())?;
            links.push(Some(link));
        }
        drop(inbox);
        Ok(Self::new(LEADER, links, messages))
    }

    /// Comes to a leader at this address.
    ///
    /// # Errors
    /// If the network refuses, or the leader does.
    pub fn join(leader: &str, token: &Token, purpose: &str) -> Result<Self, JoinError> {
        let refused = |what: &str| JoinError::Refused(what.to_owned());
        let stream = connect(leader)?;
        let listener = TcpListener::bind((stream.local_addr()?.ip(), 0))?;
        let mut talk = Talk::new(stream)?;
        talk.introduce(token)?;
        talk.say(purpose)?;
        talk.say(&listener.local_addr()?.port().to_string())?;
        talk.say(&std::process::id().to_string())?;
        // The others may take long to come.
        talk.end = None;
        let answer = talk.hear();
        let answer = answer.map_err(|_| refused("the leader does not know this token"))?;
        if answer != "welcome" {
            return Err(refused(&answer));
        }
        let (rank, size) = (talk.hear_number()? as usize, talk.hear_number()? as usize);
        if rank >= size {
            return Err(refused("the leader makes no sense"));
        }
        let addresses = (1..size).map(|_| talk.hear());
        let addresses = addresses.collect::<io::Result<Vec<String>>>()?;
        let (inbox, messages) = sync_channel(INBOX);
        let mut links: Vec<Option<Link>> = (0..size).map(|_| None).collect();
        let link = |other: usize, talk: Talk| {
            let name = name(other, talk.stream.peer_addr()?, None);
            Link::start(other, name, talk.into_stream()?, inbox.clone())
        };
        links[LEADER] = Some(link(LEADER, talk)?);
        for (at, address) in addresses.iter().enumerate().take(rank - 1) {
            let mut talk = Talk::new(connect(address)?)?;
            talk.introduce(token)?;
            talk.say(&rank.to_string())?;
            links[at + 1] = Some(link(at + 1, talk)?);
        }
        let end = Instant::now() + CONNECT;
        let mut greetings = Greetings::new(listener)?;
        while links.iter().skip(rank + 1).any(Option::is_none) {
            let token = token.clone();
            let heard = greetings.next(move |mut talk, _| {
                Ok(match talk.is_welcome(&token)? {
                    true => Some((talk.hear_number()?, talk)),
                    false => None,
                })
            })?;
            match heard {
                Some((other, talk)) => {
                    let is_later = other as usize > rank;
                    if let Some(place) = links.get_mut(other as usize)
                        && is_later
                        && place.is_none()
                    {
                        *place = Some(link(other as usize, talk)?);
                    }
                }
                None if Instant::now() > end => {
                    return Err(refused("not all workers can reach each other"));
                }
                None => std::thread::sleep(ROUND),
            }
        }
        drop(greetings);
        drop(inbox);
        Ok(Self::new(rank, links, messages))
    }

    fn new(
        rank: usize,
        links: Vec<Option<Link>>,
        inbox: std::sync::mpsc::Receiver<crate::link::Delivery>,
    ) -> Self {
        Self {
            rank,
            links,
            inbox,
            early: std::collections::VecDeque::new(),
            agreements: std::collections::VecDeque::new(),
            left: Vec::new(),
            lost: None,
            has_blamed: false,
            traffic: Traffic::default(),
        }
    }
}

/// Tries for a while: the other one may not listen yet.
fn connect(address: &str) -> io::Result<TcpStream> {
    let end = Instant::now() + CONNECT;
    loop {
        match TcpStream::connect(address) {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused && Instant::now() < end =>
            {
                std::thread::sleep(20 * ROUND);
            }
            connected => return connected,
        }
    }
}

fn name(rank: usize, address: SocketAddr, process: Option<u32>) -> String {
    let process = process.map_or_else(String::new, |process| format!("process {process} at "));
    format!("worker {rank} ({process}{})", address.ip())
}

/// Hears what somebody wants who has come to the leader; strangers are not told anything.
fn hear(mut talk: Talk, address: SocketAddr, token: &Token) -> io::Result<Option<Visit>> {
    if !talk.is_welcome(token)? {
        return Ok(None);
    }
    let purpose = talk.hear()?;
    let (port, process) = (talk.hear_number()?, talk.hear_number()?);
    Ok(Some(Visit {
        talk,
        address,
        purpose,
        port,
        process,
    }))
}

/// Somebody who belongs here. It is an error if he came for something else.
fn receive(visit: Visit, expected: &str, rank: usize) -> Result<Guest, JoinError> {
    let Visit {
        mut talk,
        address,
        purpose,
        port,
        process,
    } = visit;
    let name = name(rank, address, Some(process));
    if purpose != expected {
        let why = format!(
            "{name} is there for something else: another model, version or command line \
             ({purpose}; the leader has {expected})"
        );
        let _ = talk.say(&why);
        return Err(JoinError::Refused(why));
    }
    let address = SocketAddr::new(address.ip(), u16::try_from(port).unwrap_or(0));
    Ok(Guest {
        talk,
        name,
        address,
    })
}
