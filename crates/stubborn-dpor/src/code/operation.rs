//! What threads do to what they share: when it is possible, what it touches, what it changes.

use std::fmt;

/// An operation that others may notice. Numbers are those of objects and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Start,
    Finish,
    Panic,
    Spawn(u16),
    Join(u16),
    Yield,
    Lock(u32),
    TryLock(u32),
    Unlock(u32),
    /// Looks whether a lock is poisoned.
    IsPoisoned(u32),
    ClearPoison(u32),
    Read(u32),
    Write(u32),
    TryRead(u32),
    TryWrite(u32),
    EndRead(u32),
    EndWrite(u32),
    /// Gives the mutex back and waits.
    Wait {
        condvar: u32,
        mutex: u32,
    },
    /// Takes the mutex again, after somebody was notified.
    Relock {
        condvar: u32,
        mutex: u32,
    },
    NotifyOne(u32),
    NotifyAll(u32),
    Load(u32),
    Store(u32),
    /// With room for so many messages.
    Send(u32, u32),
    TrySend(u32, u32),
    Receive(u32),
    TryReceive(u32),
    CloneSender(u32),
    DropSender(u32),
    DropReceiver(u32),
    /// Waits to be unparked.
    Park,
    Unpark(u16),
    CloneArc(u32),
    /// Whether it matters who is the last.
    DropArc(u32, bool),
    /// Takes the value out, if nobody else has it.
    UnwrapArc(u32),
    CountArc(u32),
    UpgradeWeak(u32),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("starts"),
            Self::Finish => f.write_str("is done"),
            Self::Panic => f.write_str("panics"),
            Self::Spawn(thread) => write!(f, "spawns thread {thread}"),
            Self::Join(thread) => write!(f, "joins thread {thread}"),
            Self::Yield => f.write_str("yields"),
            Self::Lock(object) => write!(f, "locks mutex {object}"),
            Self::TryLock(object) => write!(f, "tries to lock mutex {object}"),
            Self::Unlock(object) => write!(f, "unlocks mutex {object}"),
            Self::IsPoisoned(object) => write!(f, "looks whether {object} is poisoned"),
            Self::ClearPoison(object) => write!(f, "makes {object} not poisoned any more"),
            Self::Read(object) => write!(f, "locks {object} for reading"),
            Self::Write(object) => write!(f, "locks {object} for writing"),
            Self::TryRead(object) => write!(f, "tries to lock {object} for reading"),
            Self::TryWrite(object) => write!(f, "tries to lock {object} for writing"),
            Self::EndRead(object) | Self::EndWrite(object) => write!(f, "unlocks {object}"),
            Self::Wait { condvar, mutex } => {
                write!(f, "unlocks mutex {mutex} and waits for condition {condvar}")
            }
            Self::Relock { condvar, mutex } => {
                write!(
                    f,
                    "is notified of condition {condvar} and locks mutex {mutex}"
                )
            }
            Self::NotifyOne(object) => write!(f, "notifies one of condition {object}"),
            Self::NotifyAll(object) => write!(f, "notifies all of condition {object}"),
            Self::Load(object) => write!(f, "loads atomic {object}"),
            Self::Store(object) => write!(f, "changes atomic {object}"),
            Self::Send(object, _) => write!(f, "sends to channel {object}"),
            Self::TrySend(object, _) => write!(f, "tries to send to channel {object}"),
            Self::Receive(object) => write!(f, "receives from channel {object}"),
            Self::TryReceive(object) => write!(f, "looks into channel {object}"),
            Self::CloneSender(object) => write!(f, "clones a sender of channel {object}"),
            Self::DropSender(object) => write!(f, "drops a sender of channel {object}"),
            Self::DropReceiver(object) => write!(f, "drops the receiver of channel {object}"),
            Self::Park => f.write_str("parks"),
            Self::Unpark(thread) => write!(f, "unparks thread {thread}"),
            Self::CloneArc(object) => write!(f, "clones a reference to {object}"),
            Self::DropArc(object, _) => write!(f, "drops a reference to {object}"),
            Self::UnwrapArc(object) => write!(f, "tries to unwrap its reference to {object}"),
            Self::CountArc(object) => write!(f, "counts references to {object}"),
            Self::UpgradeWeak(object) => write!(f, "upgrades a weak reference to {object}"),
        }
    }
}

/// Anything that is shared, as far as it decides who can do what.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// A mutex, or a lock for writing, is taken.
    taken: bool,
    readers: u16,
    /// Threads that wait for a condition.
    waiting: Vec<u16>,
    sent: u32,
    received: u32,
    /// Of a channel; or strong references.
    senders: u32,
    receiver_gone: bool,
}

impl Object {
    const fn new() -> Self {
        Self {
            taken: false,
            readers: 0,
            waiting: Vec::new(),
            sent: 0,
            received: 0,
            senders: 1,
            receiver_gone: false,
        }
    }
}

/// A part of an object that operations touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Whole(u32),
    /// Where messages come in.
    Tail(u32),
    /// Where they go out.
    Head(u32),
    Senders(u32),
    Receiver(u32),
    /// One message.
    Slot(u32, u32),
    Thread(u16),
    /// Whether a thread was unparked.
    Token(u16),
}

/// What an operation answers: yes, and two kinds of no.
pub(crate) const YES: u32 = 1;
pub(crate) const EMPTY: u32 = 0;
pub(crate) const GONE: u32 = 2;

/// The choice of a notification that finds nobody; others are the thread to be notified.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Everything that decides who can do what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    all: Vec<Object>,
    /// Threads that are done.
    done: Vec<bool>,
    /// Threads that were unparked, and have not parked since.
    unparked: Vec<u16>,
}

impl Objects {
    fn get(&self, number: u32) -> &Object {
        static NEW: Object = Object::new();
        self.all.get(number as usize).unwrap_or(&NEW)
    }

    fn get_mut(&mut self, number: u32) -> &mut Object {
        let at = number as usize;
        if self.all.len() <= at {
            self.all.resize_with(at + 1, Object::new);
        }
        &mut self.all[at]
    }

    pub(crate) fn is_done(&self, thread: u16) -> bool {
        self.done.get(usize::from(thread)).copied().unwrap_or(false)
    }

    /// The choices of a thread that is about to do something.
    pub(crate) fn choices(&self, thread: u16, operation: Operation) -> Vec<u32> {
        let possible = match operation {
            Operation::Lock(m) => !self.get(m).taken,
            Operation::Write(l) => !self.get(l).taken && self.get(l).readers == 0,
            Operation::Read(l) => !self.get(l).taken,
            Operation::Relock { condvar, mutex } => {
                !self.get(mutex).taken && !self.get(condvar).waiting.contains(&thread)
            }
            Operation::Join(other) => self.is_done(other),
            Operation::Send(c, room) => {
                let channel = self.get(c);
                channel.receiver_gone || channel.sent - channel.received < room
            }
            Operation::Receive(c) => {
                let channel = self.get(c);
                channel.received < channel.sent || channel.senders == 0
            }
            Operation::NotifyOne(c) => {
                let waiting = &self.get(c).waiting;
                return match waiting.is_empty() {
                    true => vec![NOBODY],
                    false => waiting.iter().map(|t| u32::from(*t)).collect(),
                };
            }
            Operation::Park => self.unparked.contains(&thread),
            Operation::Panic => false,
            _ => true,
        };
        if possible { vec![0] } else { Vec::new() }
    }

    /// Does it: the answer, and what was touched (true: written).
    pub(crate) fn apply(
        &mut self,
        thread: u16,
        operation: Operation,
        choice: u32,
    ) -> (u32, Vec<(Part, bool)>) {
        use Part::{Head, Receiver, Senders, Slot, Tail, Whole};
        let whole = |n: u32, writes: bool| vec![(Whole(n), writes)];
        match operation {
            Operation::Start => (YES, vec![(Part::Thread(thread), false)]),
            Operation::Finish => {
                let at = usize::from(thread);
                if self.done.len() <= at {
                    self.done.resize(at + 1, false);
                }
                self.done[at] = true;
                (YES, vec![(Part::Thread(thread), true)])
            }
            Operation::Spawn(child) => (YES, vec![(Part::Thread(child), true)]),
            Operation::Join(other) => (YES, vec![(Part::Thread(other), false)]),
            Operation::Yield | Operation::Panic => (YES, Vec::new()),
            Operation::Lock(m) | Operation::Write(m) => {
                self.get_mut(m).taken = true;
                (YES, whole(m, true))
            }
            Operation::Unlock(m) | Operation::EndWrite(m) => {
                self.get_mut(m).taken = false;
                (YES, whole(m, true))
            }
            Operation::TryLock(m) => {
                let mutex = self.get_mut(m);
                let answer = if mutex.taken { EMPTY } else { YES };
                mutex.taken = true;
                (answer, whole(m, true))
            }
            Operation::Read(l) => {
                self.get_mut(l).readers += 1;
                (YES, whole(l, false))
            }
            Operation::TryRead(l) => {
                let lock = self.get_mut(l);
                lock.readers += u16::from(!lock.taken);
                let answer = if lock.taken { EMPTY } else { YES };
                (answer, whole(l, false))
            }
            Operation::TryWrite(l) => {
                let lock = self.get_mut(l);
                let is_free = !lock.taken && lock.readers == 0;
                lock.taken |= is_free;
                let answer = if is_free { YES } else { EMPTY };
                (answer, whole(l, true))
            }
            Operation::EndRead(l) => {
                self.get_mut(l).readers -= 1;
                (YES, whole(l, false))
            }
            Operation::Wait { condvar, mutex } => {
                self.get_mut(mutex).taken = false;
                let waiting = &mut self.get_mut(condvar).waiting;
                waiting.push(thread);
                waiting.sort_unstable();
                (YES, vec![(Whole(condvar), true), (Whole(mutex), true)])
            }
            Operation::Relock { condvar, mutex } => {
                self.get_mut(mutex).taken = true;
                (YES, vec![(Whole(condvar), false), (Whole(mutex), true)])
            }
            Operation::NotifyOne(c) => {
                self.get_mut(c).waiting.retain(|t| u32::from(*t) != choice);
                (YES, whole(c, true))
            }
            Operation::NotifyAll(c) => {
                self.get_mut(c).waiting.clear();
                (YES, whole(c, true))
            }
            Operation::Load(a) | Operation::IsPoisoned(a) => (YES, whole(a, false)),
            Operation::Store(a) | Operation::ClearPoison(a) => (YES, whole(a, true)),
            Operation::Send(c, room) | Operation::TrySend(c, room) => {
                let channel = self.get_mut(c);
                if channel.receiver_gone {
                    return (GONE, vec![(Receiver(c), false)]);
                }
                if channel.sent - channel.received >= room {
                    return (
                        EMPTY,
                        vec![(Receiver(c), false), (Head(c), false), (Tail(c), false)],
                    );
                }
                let slot = channel.sent;
                channel.sent += 1;
                let mut touched =
                    vec![(Tail(c), true), (Slot(c, slot), true), (Receiver(c), false)];
                if room != u32::MAX {
                    touched.push((Head(c), false));
                }
                (YES, touched)
            }
            Operation::Receive(c) | Operation::TryReceive(c) => {
                let channel = self.get_mut(c);
                if channel.received < channel.sent {
                    let slot = channel.received;
                    channel.received += 1;
                    return (YES, vec![(Slot(c, slot), true), (Head(c), true)]);
                }
                // Those who drop senders do not disturb each other, only who looks.
                let touched = vec![(Tail(c), false), (Senders(c), true)];
                let answer = if channel.senders == 0 { GONE } else { EMPTY };
                (answer, touched)
            }
            Operation::CloneSender(c) => {
                self.get_mut(c).senders += 1;
                (YES, vec![(Senders(c), false)])
            }
            Operation::DropSender(c) => {
                self.get_mut(c).senders -= 1;
                (YES, vec![(Senders(c), false)])
            }
            Operation::DropReceiver(c) => {
                self.get_mut(c).receiver_gone = true;
                // What is left in it is dropped, too.
                (YES, vec![(Receiver(c), true), (Tail(c), false)])
            }
            Operation::Park => {
                self.unparked.retain(|t| *t != thread);
                (YES, vec![(Part::Token(thread), true)])
            }
            Operation::Unpark(other) => {
                if !self.unparked.contains(&other) {
                    self.unparked.push(other);
                }
                (YES, vec![(Part::Token(other), true)])
            }
            // Those who clone and drop references do not disturb each other, only who looks, and who
            // has to know whether it is the last one.
            Operation::CloneArc(a) => {
                self.get_mut(a).senders += 1;
                (YES, vec![(Senders(a), false)])
            }
            Operation::DropArc(a, matters) => {
                self.get_mut(a).senders -= 1;
                let is_last = matters && self.get(a).senders == 0;
                let answer = if is_last { YES } else { EMPTY };
                (answer, vec![(Senders(a), matters)])
            }
            Operation::UnwrapArc(a) => {
                let is_only = self.get(a).senders == 1;
                self.get_mut(a).senders -= u32::from(is_only);
                let answer = if is_only { YES } else { EMPTY };
                (answer, vec![(Senders(a), true)])
            }
            Operation::CountArc(a) => (self.get(a).senders, vec![(Senders(a), true)]),
            Operation::UpgradeWeak(a) => {
                let is_there = self.get(a).senders > 0;
                self.get_mut(a).senders += u32::from(is_there);
                let answer = if is_there { YES } else { EMPTY };
                (answer, vec![(Senders(a), true)])
            }
        }
    }
}
