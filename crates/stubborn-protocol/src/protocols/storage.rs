//! A regular storage register, in the style of Attiya, Bar-Noy, Dolev, *Sharing memory robustly in
//! message-passing systems* (1995): one writer, some readers, and objects that store the last
//! value. Writes and reads ask all objects and wait for a majority.
//!
//! Regularity: a read returns a value that is not older than that of the last write that was over
//! when the read began. To know that, the writer tells readers when a write is over; a read that
//! begins after such a message must return that value or a newer one. (A reader may begin before
//! it listens, so all real orders are among those that are explored.)

use crate::{Envelope, Protocol};

/// What is sent. The value of a write is its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Store this.
    Write(u8),
    /// It is stored.
    WriteAck(u8),
    /// The write is over.
    Over(u8),
    /// What do you have?
    Read,
    /// This.
    ReadReply(u8),
}

/// The writer: the number of its last write, and whether it waits for objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    last: u8,
    waiting: bool,
}

/// A reader: the last write that it knows to be over, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    over: u8,
    phase: Phase,
}

/// How far a reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Has not begun.
    Idle,
    /// Waits for objects.
    Reading,
    /// Has read this.
    Done(u8),
}

/// What must a read return at least?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specification {
    /// The last write that is over when the read begins: regularity.
    #[default]
    Regular,
    /// The last write that has begun. Wrong: nothing promises that.
    Wrong,
}

/// The protocol, with two writes and one read for each reader.
pub fn protocol(readers: usize, objects: usize, specification: Specification) -> Protocol<Message> {
    let mut p = Protocol::new("regular storage");
    let idle = Writer {
        last: 0,
        waiting: false,
    };
    let writer = p.process("writer", idle);
    let idle = Reader {
        over: 0,
        phase: Phase::Idle,
    };
    let readers = p.processes("reader", readers, idle);
    let objects = p.processes("object", objects, 0_u8);
    let quorum = objects.len() / 2 + 1;

    let wrong = specification == Specification::Wrong;
    let (to, told) = (objects.clone(), readers.clone());
    p.action(writer, "writes")
        .when(|w| !w.waiting && w.last < 2)
        .sends("Write", &objects)
        .sends("Over", &readers)
        .then(move |w, step| {
            w.last += 1;
            w.waiting = true;
            step.broadcast(&to, Message::Write(w.last));
            if wrong {
                step.broadcast(&told, Message::Over(w.last));
            }
        });
    let told = readers.clone();
    p.on_quorum(writer, "WriteAck", quorum)
        .only_if(|w| w.waiting)
        .from(&objects)
        .when(|w, acks| acks.iter().all(|m| m.message == Message::WriteAck(w.last)))
        .sends("Over", &readers)
        .then(move |w, _, step| {
            w.waiting = false;
            if !wrong {
                step.broadcast(&told, Message::Over(w.last));
            }
        });
    p.on(writer, "WriteAck")
        .named("late WriteAck")
        .from(&objects)
        .when(|w, m| match m.message {
            Message::WriteAck(number) => number < w.last || !w.waiting,
            _ => false,
        })
        .sends_nothing()
        .only_reads()
        .then(|_, _, _| {});
    for object in &objects {
        p.on(*object, "Write")
            .from(&[writer])
            .sends("WriteAck", &[writer])
            .then(|stored, m, step| {
                if let Message::Write(number) = m.message {
                    *stored = (*stored).max(number);
                    step.send(m.from, Message::WriteAck(number));
                }
            });
        p.on(*object, "Read")
            .from(&readers)
            .sends("ReadReply", &readers)
            .only_reads()
            .then(|stored, m, step| step.send(m.from, Message::ReadReply(*stored)));
    }
    for reader in &readers {
        let to = objects.clone();
        p.on(*reader, "Over")
            .from(&[writer])
            .sends_nothing()
            .then(|r, m, _| {
                // Once the read has begun, it does not matter any more.
                if let (Message::Over(number), Phase::Idle) = (&m.message, r.phase) {
                    r.over = r.over.max(*number);
                }
            });
        p.action(*reader, "reads")
            .when(|r| r.phase == Phase::Idle)
            .sends("Read", &objects)
            .then(move |r, step| {
                r.phase = Phase::Reading;
                step.broadcast(&to, Message::Read);
            });
        p.on_quorum(*reader, "ReadReply", quorum)
            .only_if(|r| r.phase == Phase::Reading)
            .from(&objects)
            .sends_nothing()
            .then(|r, replies, _| {
                r.phase = Phase::Done(replies.iter().map(value).max().unwrap_or(0));
            });
        p.on(*reader, "ReadReply")
            .named("late ReadReply")
            .only_if(|r| matches!(r.phase, Phase::Done(_)))
            .from(&objects)
            .sends_nothing()
            .only_reads()
            .then(|_, _, _| {});
    }
    let fails = |r: &Reader| matches!(r.phase, Phase::Done(value) if value < r.over);
    p.invariant_over("regularity", &readers, fails, |all| !all.contains(&true));
    p
}

fn value(envelope: &Envelope<Message>) -> u8 {
    match envelope.message {
        Message::ReadReply(number) => number,
        _ => 0,
    }
}
