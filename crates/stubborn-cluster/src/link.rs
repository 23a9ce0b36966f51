//! A connection with another process: a thread that writes, and one that reads.
//!
//! What is sent waits until whoever sends waits himself, or there is much of it. A little is then
//! written at once, without waking the thread: at the ends of small levels, that is all there is.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::ALIVE;

/// How often a process that has nothing to say says that it is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// Who is not heard of for so long is lost.
const SILENCE: Duration = Duration::from_secs(60);
/// Bytes on their way at which a connection is congested.
const CONGESTED: usize = 4 << 20;
/// The longest message; what claims to be longer is none.
const LONGEST: usize = 64 << 20;
/// Bytes of length and kind.
const HEAD: usize = 5;
/// Short messages that wait are written together, up to so many bytes.
const TOGETHER: usize = 64 << 10;
/// Bytes that are written without the thread between two agreements, by which everything has been
/// read: so few that any system takes them at once, even if nobody reads.
const AT_ONCE: usize = 8 << 10;

/// What a connection delivers.
pub(crate) struct Delivery {
    pub(crate) from: usize,
    pub(crate) event: Event,
}

pub(crate) enum Event {
    Message(u8, Vec<u8>),
    /// Nothing more will come; why.
    Broken(String),
}

pub(crate) struct Link {
    name: String,
    /// What waits to be sent.
    waiting: Vec<u8>,
    stream: Arc<Mutex<TcpStream>>,
    /// Bytes that may be written without the thread.
    at_once: usize,
    outbox: Option<Sender<Vec<u8>>>,
    under_way: Arc<AtomicUsize>,
    writer: Option<JoinHandle<()>>,
}

impl Link {
    /// Starts to read and to write.
    pub(crate) fn start(
        from: usize,
        name: String,
        stream: TcpStream,
        inbox: SyncSender<Delivery>,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let reading = stream.try_clone()?;
        let thread = |what: &str| std::thread::Builder::new().name(format!("{what} {from}"));
        thread("from").spawn(move || {
            let why = read(from, reading, &inbox);
            let event = Event::Broken(why);
            let _ = inbox.send(Delivery { from, event });
        })?;
        let (outbox, messages) = channel();
        let under_way = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&under_way);
        let stream = Arc::new(Mutex::new(stream));
        let writing = Arc::clone(&stream);
        let writer = thread("to").spawn(move || {
            // If that fails, reading fails as well, and says why.
            let _ = write(&writing, &messages, &written);
            let _ = lock(&writing).shutdown(Shutdown::Write);
        })?;
        Ok(Self {
            name,
            waiting: Vec::new(),
            stream,
            at_once: AT_ONCE,
            outbox: Some(outbox),
            under_way,
            writer: Some(writer),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > CONGESTED
    }

    /// Sends a message soon, or drops it if the connection is broken.
    pub(crate) fn send(&mut self, kind: u8, body: &[u8]) {
        self.waiting.reserve(HEAD + body.len());
        self.waiting
            .extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.waiting.push(kind);
        self.waiting.extend_from_slice(body);
        if self.waiting.len() >= TOGETHER {
            self.hand_over();
        }
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) {
        let length = self.waiting.len();
        if length == 0 {
            return;
        }
        // Nothing may overtake what the thread has.
        if length > self.at_once || self.under_way.load(Ordering::Acquire) > 0 {
            return self.hand_over();
        }
        self.at_once -= length;
        // If that fails, reading fails as well, and says why.
        let _ = lock(&self.stream).write_all(&self.waiting);
        self.waiting.clear();
    }

    /// The other side has read everything.
    pub(crate) fn is_empty_again(&mut self) {
        self.at_once = AT_ONCE;
    }

    /// Lets the thread send what waits.
    fn hand_over(&mut self) {
        let frame = std::mem::take(&mut self.waiting);
        let length = frame.len();
        self.under_way.fetch_add(length, Ordering::Relaxed);
        let sent = self.outbox.as_ref().map(|outbox| outbox.send(frame));
        if !matches!(sent, Some(Ok(()))) {
            self.under_way.fetch_sub(length, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written.
    pub(crate) fn close(&mut self) {
        self.hand_over();
        drop(self.outbox.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn lock(stream: &Mutex<TcpStream>) -> std::sync::MutexGuard<'_, TcpStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(
    stream: &Mutex<TcpStream>,
    messages: &Receiver<Vec<u8>>,
    under_way: &AtomicUsize,
) -> io::Result<()> {
    let alive = [0, 0, 0, 0, ALIVE];
    loop {
        match messages.recv_timeout(SIGN_OF_LIFE) {
            Ok(mut frame) => {
                while frame.len() < TOGETHER
                    && let Ok(next) = messages.try_recv()
                {
                    frame.extend_from_slice(&next);
                }
                let written = lock(stream).write_all(&frame);
                under_way.fetch_sub(frame.len(), Ordering::Release);
                written?;
            }
            Err(RecvTimeoutError::Timeout) => lock(stream).write_all(&alive)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Reads until there is nothing more; says why.
fn read(from: usize, stream: TcpStream, inbox: &SyncSender<Delivery>) -> String {
    let mut stream = BufReader::with_capacity(TOGETHER, stream);
    loop {
        let mut head = [0; HEAD];
        if let Err(error) = stream.read_exact(&mut head) {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => "it has closed the connection".into(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    format!("nothing was heard of it for {} seconds", SILENCE.as_secs())
                }
                _ => error.to_string(),
            };
        }
        let [a, b, c, d, kind] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > LONGEST {
            return "what it sends makes no sense".into();
        }
        let mut body = vec![0; length];
        if let Err(error) = stream.read_exact(&mut body) {
            return error.to_string();
        }
        let event = Event::Message(kind, body);
        if kind != ALIVE && inbox.send(Delivery { from, event }).is_err() {
            return String::new();
        }
    }
}
