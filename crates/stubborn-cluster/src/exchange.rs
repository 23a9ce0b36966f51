//! Rounds in which every process sends records of words to the others, in large batches.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Cluster, Lost};

/// Bytes of a batch for another process.
const BATCH: usize = 64 << 10;
/// How long a process waits for records before it may look at the clock.
const PATIENCE: Duration = Duration::from_millis(100);

/// Records.
const RECORDS: u8 = 20;
/// Nothing more of this round will come.
const END: u8 = 21;
/// The work must stop.
const HALT: u8 = 22;

/// What comes in.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The words of some records.
    Records(Vec<u32>),
    /// Nothing yet.
    Nothing,
    /// Nothing more in this round.
    Over,
}

/// Records on their way between processes.
///
/// In a round everybody [puts](Self::put) records and takes those that [arrive](Self::poll). Who has
/// nothing more to send [ends](Self::end) the round, and [waits](Self::wait) until it is over. Between
/// two rounds all must [agree](Cluster::agree) on something, so that nobody is a round ahead.
#[derive(Debug)]
pub struct Exchange {
    batches: Vec<Vec<u8>>,
    arrived: VecDeque<Vec<u8>>,
    /// How many others have ended the round.
    ended: usize,
    is_halted: bool,
}

impl Exchange {
    /// Between so many processes.
    pub fn new(size: usize) -> Self {
        Self {
            batches: vec![Vec::new(); size],
            arrived: VecDeque::new(),
            ended: 0,
            is_halted: false,
        }
    }

    /// Whether anybody has said that the work must stop.
    pub fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// Tells everybody that the work must stop. The round goes on until it is over.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn halt(&mut self, cluster: &mut Cluster) -> Result<(), Lost> {
        if !self.is_halted {
            self.is_halted = true;
            for other in cluster.others() {
                cluster.send(other, HALT, &[])?;
            }
        }
        Ok(())
    }

    /// Sends a record of two parts, soon.
    ///
    /// # Errors
    /// If somebody is lost.
    #[inline]
    pub fn put(
        &mut self,
        cluster: &mut Cluster,
        to: usize,
        record: &[u32],
        more: &[u32],
    ) -> Result<(), Lost> {
        let batch = &mut self.batches[to];
        append_words(batch, record);
        append_words(batch, more);
        match batch.len() >= BATCH {
            true => self.send(cluster, to),
            false => Ok(()),
        }
    }

    /// Sends what is about to be sent. Where too much is on its way, first takes what has come.
    fn send(&mut self, cluster: &mut Cluster, to: usize) -> Result<(), Lost> {
        while cluster.is_congested(to) {
            self.receive(cluster, PATIENCE)?;
        }
        let batch = &mut self.batches[to];
        let sent = match batch.is_empty() {
            true => Ok(()),
            false => cluster.send(to, RECORDS, batch),
        };
        batch.clear();
        sent
    }

    fn receive(&mut self, cluster: &mut Cluster, wait: Duration) -> Result<(), Lost> {
        if let Some(message) = cluster.receive(wait)? {
            match message.kind {
                RECORDS => self.arrived.push_back(message.body),
                END => self.ended += 1,
                HALT => self.is_halted = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// What has come, without waiting for it.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn poll(&mut self, cluster: &mut Cluster) -> Result<Arrival, Lost> {
        self.receive(cluster, Duration::ZERO)?;
        Ok(self.next())
    }

    /// Says that nothing more comes from here in this round.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn end(&mut self, cluster: &mut Cluster) -> Result<(), Lost> {
        for other in cluster.others() {
            self.send(cluster, other)?;
            cluster.send(other, END, &[])?;
        }
        cluster.flush();
        Ok(())
    }

    /// What comes after the [end](Self::end), waiting a moment for it. After
    /// [`Over`](Arrival::Over) the next round begins.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn wait(&mut self, cluster: &mut Cluster) -> Result<Arrival, Lost> {
        if self.arrived.is_empty() {
            if self.ended + 1 == cluster.size() {
                self.ended = 0;
                return Ok(Arrival::Over);
            }
            self.receive(cluster, PATIENCE)?;
        }
        Ok(self.next())
    }

    fn next(&mut self) -> Arrival {
        match self.arrived.pop_front() {
            None => Arrival::Nothing,
            Some(bytes) => {
                let (words, _) = bytes.as_chunks();
                Arrival::Records(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
            }
        }
    }
}

/// Appends words as they travel. (One loop over whole words, which is a copy.)
#[inline]
pub fn append_words(bytes: &mut Vec<u8>, words: &[u32]) {
    let begin = bytes.len();
    bytes.resize(begin + size_of_val(words), 0);
    let (places, _) = bytes[begin..].as_chunks_mut();
    for (place, word) in places.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}

/// A hash of words, for [`owner_of`]; its lower half is good for other things.
#[inline]
pub fn hash_of(words: impl IntoIterator<Item = u32>) -> u64 {
    // Another function than that of tables, in which the states of one process would
    // otherwise lie side by side.
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for word in words {
        hash = (hash ^ u64::from(word)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^= hash >> 32;
    }
    // Once more: the parts of a lattice in one word would be more even than by chance, and so
    // regular.
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// To whom something with such a hash belongs: as even as by chance.
#[inline]
pub fn owner_of(hash: u64, size: u64) -> usize {
    (((hash >> 32) * size) >> 32) as usize
}
