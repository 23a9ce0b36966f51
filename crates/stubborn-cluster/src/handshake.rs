//! How processes find each other.
//!
//! All others come to the leader, and show that they know the token and what is to be done. When
//! all are there, they get their numbers and the addresses of each other, and each connects to
//! those before it.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use crate::link::Link;
use crate::{Cluster, LEADER, Token, Traffic};

/// What connections begin with; the number is that of the language that is spoken.
const GREETING: &str = "stubborn cluster 2";
/// The longest text of a handshake.
const LONGEST: usize = 1 << 16;
/// How long somebody may take to introduce himself.
const PATIENCE: Duration = Duration::from_secs(10);
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
struct Talk(TcpStream);

impl Talk {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        self.0.write_all(&bytes)
    }

    fn hear(&mut self) -> io::Result<String> {
        let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "that makes no sense");
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(nonsense());
        }
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
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
        meeting.listener.set_nonblocking(true)?;
        while guests.len() + 1 < meeting.size {
            match meeting.listener.accept() {
                Ok((stream, address)) => {
                    // Strangers, and those who do not talk, are not told anything.
                    if let Ok(Some(guest)) = receive(stream, address, &meeting, guests.len() + 1)? {
                        guests.push(guest);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    look().map_err(JoinError::Refused)?;
                    std::thread::sleep(ROUND);
                }
                Err(error) => return Err(error.into()),
            }
        }
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
            let link = Link::start(rank, guest.name, guest.talk.0, inbox.clone())?;
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
        talk.0.set_read_timeout(None)?;
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
            let name = name(other, talk.0.peer_addr()?, None);
            Link::start(other, name, talk.0, inbox.clone())
        };
        links[LEADER] = Some(link(LEADER, talk)?);
        for (at, address) in addresses.iter().enumerate().take(rank - 1) {
            let mut talk = Talk::new(connect(address)?)?;
            talk.introduce(token)?;
            talk.say(&rank.to_string())?;
            links[at + 1] = Some(link(at + 1, talk)?);
        }
        let end = Instant::now() + CONNECT;
        listener.set_nonblocking(true)?;
        while links.iter().skip(rank + 1).any(Option::is_none) {
            match listener.accept() {
                Ok((stream, _)) => {
                    let mut talk = Talk::new(stream)?;
                    if let Ok(true) = talk.is_welcome(token)
                        && let Ok(other) = talk.hear_number()
                        && let Some(place) = links.get_mut(other as usize)
                        && other as usize > rank
                        && place.is_none()
                    {
                        *place = Some(link(other as usize, talk)?);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > end {
                        return Err(refused("not all workers can reach each other"));
                    }
                    std::thread::sleep(ROUND);
                }
                Err(error) => return Err(error.into()),
            }
        }
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

/// Hears what somebody wants who has come to the leader. Inside: an error, or nobody, if he is a
/// stranger. Outside: he belongs here, but something is wrong.
fn receive(
    stream: TcpStream,
    address: SocketAddr,
    meeting: &Meeting<'_>,
    rank: usize,
) -> Result<io::Result<Option<Guest>>, JoinError> {
    let hear = || -> io::Result<Option<(Talk, String, u32, u32)>> {
        let mut talk = Talk::new(stream)?;
        if !talk.is_welcome(&meeting.token)? {
            return Ok(None);
        }
        let purpose = talk.hear()?;
        let (port, process) = (talk.hear_number()?, talk.hear_number()?);
        Ok(Some((talk, purpose, port, process)))
    };
    let (mut talk, purpose, port, process) = match hear() {
        Ok(Some(heard)) => heard,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    };
    let name = name(rank, address, Some(process));
    if purpose != meeting.purpose {
        let why = format!(
            "{name} is there for something else: another model, version or command line \
             ({purpose}; the leader has {})",
            meeting.purpose
        );
        let _ = talk.say(&why);
        return Err(JoinError::Refused(why));
    }
    let address = SocketAddr::new(address.ip(), u16::try_from(port).unwrap_or(0));
    Ok(Ok(Some(Guest {
        talk,
        name,
        address,
    })))
}
