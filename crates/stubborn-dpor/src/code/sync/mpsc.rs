//! Channels: [`std::sync::mpsc`].

use std::sync::mpsc;

pub use std::sync::mpsc::{RecvError, SendError, TryRecvError, TrySendError};

use crate::code::operation::{GONE, Operation, YES};
use crate::code::runtime::{new_object, perform};

/// Sends messages.
#[derive(Debug)]
pub struct Sender<T> {
    number: u32,
    room: u32,
    values: mpsc::Sender<T>,
}

/// Sends messages, and waits where there is no room: the same type with a bound.
pub type SyncSender<T> = Sender<T>;

/// Receives them.
#[derive(Debug)]
pub struct Receiver<T> {
    number: u32,
    values: mpsc::Receiver<T>,
}

/// A channel with any room.
///
/// # Panics
/// Outside of a check.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    bounded(u32::MAX)
}

/// A channel with room for so many messages.
///
/// # Panics
/// Outside of a check, and without any room: that is not covered.
pub fn sync_channel<T>(room: usize) -> (SyncSender<T>, Receiver<T>) {
    assert!(room > 0, "channels without room are not covered");
    bounded(u32::try_from(room).unwrap_or(u32::MAX - 1))
}

fn bounded<T>(room: u32) -> (Sender<T>, Receiver<T>) {
    let number = new_object();
    let (sender, values) = mpsc::channel();
    let sender = Sender {
        number,
        room,
        values: sender,
    };
    (sender, Receiver { number, values })
}

impl<T> Sender<T> {
    /// Sends a message, as soon as there is room.
    ///
    /// # Errors
    /// If there is no receiver any more.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match perform(Operation::Send(self.number, self.room)) {
            YES => self.values.send(value),
            _ => Err(SendError(value)),
        }
    }
}

impl<T> Sender<T> {
    /// Sends a message if there is room.
    ///
    /// # Errors
    /// If there is none, or no receiver any more.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match perform(Operation::TrySend(self.number, self.room)) {
            YES => self
                .values
                .send(value)
                .map_err(|SendError(value)| TrySendError::Disconnected(value)),
            GONE => Err(TrySendError::Disconnected(value)),
            _ => Err(TrySendError::Full(value)),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        perform(Operation::CloneSender(self.number));
        Self {
            number: self.number,
            room: self.room,
            values: self.values.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        perform(Operation::DropSender(self.number));
    }
}

impl<T> Receiver<T> {
    /// Waits for a message.
    ///
    /// # Errors
    /// If there is none, and nobody to send one.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn recv(&self) -> Result<T, RecvError> {
        match perform(Operation::Receive(self.number)) {
            YES => self.values.try_recv().map_err(|_| RecvError),
            _ => Err(RecvError),
        }
    }

    /// Takes a message if there is one.
    ///
    /// # Errors
    /// If there is none.
    ///
    /// # Panics
    /// Outside of a check.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match perform(Operation::TryReceive(self.number)) {
            YES => self.values.try_recv(),
            GONE => Err(TryRecvError::Disconnected),
            _ => Err(TryRecvError::Empty),
        }
    }

    /// Messages, as long as there are some.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok())
    }

    /// All messages, until nobody is left to send one.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        perform(Operation::DropReceiver(self.number));
    }
}

/// All messages of a channel.
#[derive(Debug)]
pub struct Iter<'r, T>(&'r Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'r, T> IntoIterator for &'r Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'r, T>;

    fn into_iter(self) -> Iter<'r, T> {
        self.iter()
    }
}
