//! Writing a store down, and taking it up again.
//!
//! What is written is what the tables mean, not how they lie in memory: nodes in the order of
//! their ids, so that handles stay valid, then the roots with their flags. Free space and hash
//! indices are made anew. Everything that is read is checked: a store that comes back is
//! consistent in itself (ids are those of nodes, nothing is there twice), whatever the bytes were.

use crate::budget::MemoryBudget;
use crate::lossy::{Bitstate, Compact};
use crate::plain::Plain;
use crate::quotient::QuotientTable;
use crate::store::{Store, StoreError, StoreKind, StoreOptions, Tables};
use crate::tree::Tree;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::sync::Arc;

/// Numbers that are brought into their written form at once.
const AT_ONCE: usize = 1 << 10;

/// What bytes are that were saved: the number that they begin with. No two kinds have one number, as the
/// compiler sees to. What a kind means changes with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    /// A search in memory.
    Search = 2,
    /// A search of several processes.
    DistributedSearch = 1001,
    /// A search on disk, between two levels.
    DiskSearch = 2003,
    /// A check of infinite runs.
    Check = 2004,
    /// A check of infinite runs by several processes.
    DistributedCheck = 2005,
}

impl Kind {
    /// Its number.
    pub const fn number(self) -> u64 {
        self as u64
    }
}

/// Where numbers are written to, least significant byte first.
pub struct Sink<'w>(&'w mut dyn Write);

impl std::fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

impl<'w> Sink<'w> {
    /// Writes to `output`, in pieces of some kilobytes.
    pub fn new(output: &'w mut dyn Write) -> Self {
        Self(output)
    }

    /// Where it goes.
    pub fn output(&mut self) -> &mut dyn Write {
        self.0
    }

    /// One number.
    pub fn number(&mut self, number: u64) -> Result<()> {
        self.0.write_all(&number.to_le_bytes())
    }

    /// Numbers, without how many there are.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
        let mut bytes = [0; 8 * AT_ONCE];
        let mut used = 0;
        for number in numbers {
            bytes[used..used + 8].copy_from_slice(&number.to_le_bytes());
            used += 8;
            if used == bytes.len() {
                self.0.write_all(&bytes)?;
                used = 0;
            }
        }
        self.0.write_all(&bytes[..used])
    }

    /// Bytes, without how many there are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes)
    }

    /// A text, with its length.
    pub fn text(&mut self, text: &str) -> Result<()> {
        self.number(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }
}

/// Where they are read from again. Nothing is believed: a length beyond what can still come is
/// an error before memory is taken for it.
pub struct Source<'r> {
    input: &'r mut dyn Read,
    left: u64,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("left", &self.left).finish()
    }
}

/// The error for bytes that nobody wrote.
pub fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("damaged: {what}"))
}

impl<'r> Source<'r> {
    /// Reads from `input`, of which at most `most` bytes are left.
    pub fn new(input: &'r mut dyn Read, most: u64) -> Self {
        Self { input, left: most }
    }

    /// Fills `bytes`.
    pub fn bytes(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.input
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => damaged("it ends too early"),
                _ => error,
            })?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(())
    }

    /// One number.
    pub fn number(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The number of a kind, and no other.
    pub fn expect(&mut self, kind: Kind, what: &str) -> Result<()> {
        match self.number()? == kind.number() {
            true => Ok(()),
            false => Err(damaged(what)),
        }
    }

    /// One number of at most `most`.
    pub fn at_most(&mut self, most: u64, what: &str) -> Result<u64> {
        let number = self.number()?;
        match number <= most {
            true => Ok(number),
            false => Err(damaged(what)),
        }
    }

    /// How many things of `each` bytes follow.
    pub fn count(&mut self, each: usize) -> Result<usize> {
        let count = self.number()?;
        let fits = count
            .checked_mul(each as u64)
            .is_some_and(|bytes| bytes <= self.left);
        match usize::try_from(count) {
            Ok(count) if fits => Ok(count),
            _ => Err(damaged("a length is too large")),
        }
    }

    /// So many numbers, one after the other.
    pub fn numbers(&mut self, count: usize, mut take: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let mut bytes = [0; 8 * AT_ONCE];
        let mut left = count;
        while left > 0 {
            let now = left.min(AT_ONCE);
            let bytes = &mut bytes[..8 * now];
            self.bytes(bytes)?;
            for number in bytes.as_chunks().0 {
                take(u64::from_le_bytes(*number))?;
            }
            left -= now;
        }
        Ok(())
    }

    /// A text.
    pub fn text(&mut self) -> Result<String> {
        let mut bytes = vec![0; self.count(1)?];
        self.bytes(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| damaged("a text is none"))
    }
}

/// Memory that is refused is an error of its own: with more, the same bytes can be read.
pub(crate) fn refused(error: impl Into<StoreError>) -> Error {
    Error::new(ErrorKind::OutOfMemory, error.into())
}

/// Keys with flags are written in blocks of so many.
const BLOCK: usize = 1 << 12;

/// Writes all keys of a table with their flags, each as what `written` makes of its hash.
pub(crate) fn write_entries(
    sink: &mut Sink<'_>,
    table: &QuotientTable,
    written: impl Fn(u64) -> u64,
) -> Result<()> {
    let mut keys = Vec::with_capacity(BLOCK);
    let mut all_flags = Vec::with_capacity(BLOCK);
    let mut result = Ok(());
    let mut flush = |keys: &mut Vec<u64>, flags: &mut Vec<u8>| {
        let written = sink.numbers(keys.drain(..));
        let written = written.and_then(|()| sink.bytes(flags));
        flags.clear();
        written
    };
    table.for_each(|hash, flags| {
        keys.push(written(hash));
        all_flags.push(flags);
        if keys.len() == BLOCK {
            result = flush(&mut keys, &mut all_flags);
        }
        result.is_ok()
    });
    result?;
    flush(&mut keys, &mut all_flags)
}

/// Reads so many keys with flags.
pub(crate) fn read_entries(
    source: &mut Source<'_>,
    count: usize,
    mut take: impl FnMut(u64, u8) -> Result<()>,
) -> Result<()> {
    let mut keys = Vec::with_capacity(BLOCK);
    let mut flags = [0; BLOCK];
    let mut left = count;
    while left > 0 {
        let now = left.min(BLOCK);
        keys.clear();
        source.numbers(now, |key| {
            keys.push(key);
            Ok(())
        })?;
        source.bytes(&mut flags[..now])?;
        for (key, flags) in keys.iter().zip(&flags) {
            match *flags < 1 << Store::FLAGS {
                true => take(*key, *flags)?,
                false => return Err(damaged("there are no such flags")),
            }
        }
        left -= now;
    }
    Ok(())
}

/// A set of node ids.
pub(crate) struct Ids {
    words: Vec<u64>,
    len: usize,
}

impl Ids {
    /// The empty set of ids below `len`.
    pub(crate) fn new(len: usize) -> Self {
        let words = vec![0; len.div_ceil(64)];
        Self { words, len }
    }

    /// Adds an id; false if it is too large.
    pub(crate) fn insert(&mut self, id: u32) -> bool {
        let fits = (id as usize) < self.len;
        if fits {
            self.words[id as usize / 64] |= 1 << (id % 64);
        }
        fits
    }

    pub(crate) fn is_subset_of(&self, other: &Self) -> bool {
        let mut pairs = self.words.iter().zip(&other.words);
        pairs.all(|(own, other)| own & !other == 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| 64 * at as u32 + bit)
        })
    }
}

impl Store {
    /// Writes all states with their flags. Nobody may insert meanwhile.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, sink: &mut Sink<'_>) -> Result<()> {
        let mut ticket = self.gate.register();
        let saved = match &*self.gate.enter(&mut ticket) {
            Tables::Tree(tree) => tree.save(self.len(), sink),
            Tables::Plain(plain) => plain.save(sink),
            Tables::Bitstate(bitstate) => bitstate.save(self.len(), sink),
            Tables::Compact(compact) => compact.save(self.len(), sink),
        };
        self.gate.leave(&ticket);
        saved
    }

    /// A store as it was written by [`save`](Self::save): the same states under the same
    /// handles. Width and kind must be those of the store that was written.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if the budget is too small, [`ErrorKind::InvalidData`] if these
    /// bytes were not written so, and what the source says.
    pub fn restore(
        width: usize,
        options: &StoreOptions,
        budget: &Arc<MemoryBudget>,
        source: &mut Source<'_>,
    ) -> Result<Self> {
        let small = StoreOptions {
            initial_capacity: 1,
            bitstate_bytes: Some(8),
            ..options.clone()
        };
        // The frame of a store; its tables are replaced.
        let store = Store::new(width, &small, budget).map_err(refused)?;
        let (tables, len) = match store.kind() {
            StoreKind::Tree => {
                Tree::restore(budget, width, source).map(|(t, n)| (Tables::Tree(t), n))
            }
            StoreKind::Plain => {
                Plain::restore(budget, width, source).map(|(t, n)| (Tables::Plain(t), n))
            }
            StoreKind::Bitstate => {
                Bitstate::restore(budget, width, source).map(|(t, n)| (Tables::Bitstate(t), n))
            }
            StoreKind::Compact => {
                Compact::restore(budget, width, source).map(|(t, n)| (Tables::Compact(t), n))
            }
        }?;
        Ok(store.with_tables(tables, len))
    }
}
