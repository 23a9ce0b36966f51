//! The two lossy stores: they may take a new state for an old one, so a search
//! that finds nothing with them has proved nothing.
//!
//! [`Bitstate`] (Holzmann, "An analysis of bitstate hashing", 1998) sets a few
//! bits for each state in one array that never grows. [`Compact`] (Wolper and
//! Leroy, "Reliable hashing without collision detection", 1993) keeps a
//! fingerprint of 54 bits for each state, by quotienting in about eight bytes;
//! among `n` states about `n² / 2^55` are lost.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::hash::{hash_pair, hash_words, place};
use crate::quotient::{NoRoom, QuotientTable};
use crate::region::{Region, prefetch};
use crate::saved::{Sink, Source, damaged, read_entries, refused, write_entries};
use crate::store::{Inserted, StateHandle};
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// More states than anybody has told a store of.
const MOST: u64 = 1 << 48;

/// An array of bits, several for each state.
pub(crate) struct Bitstate {
    width: usize,
    bits: Region<AtomicU64>,
    per_state: u32,
}

impl Bitstate {
    /// An array of `bytes` bytes; each state sets `per_state` bits.
    pub(crate) fn new(
        budget: &Arc<MemoryBudget>,
        width: usize,
        bytes: usize,
        per_state: u32,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            width,
            bits: Region::new(budget, bytes / 8)?,
            per_state: per_state.max(1),
        })
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bits.bytes()
    }

    /// The places of a state's bits, by double hashing.
    fn places(&self, hash: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let stride = hash_pair(hash) | 1;
        (0..u64::from(self.per_state)).map(move |turn| {
            let hash = hash_pair(hash.wrapping_add(turn.wrapping_mul(stride)));
            (
                &self.bits[place(hash, self.bits.len() as u64)],
                1 << (hash & 63),
            )
        })
    }

    /// Whether a vector would be taken for a stored one.
    pub(crate) fn contains(&self, words: &[u32]) -> bool {
        self.places(hash_words(words))
            .all(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Writes the array.
    pub(crate) fn save(&self, len: u64, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.number(len)?;
        sink.number(self.per_state.into())?;
        sink.number(self.bits.len() as u64)?;
        sink.numbers(self.bits.iter().map(|word| word.load(Ordering::Relaxed)))
    }

    /// The array that [`save`](Self::save) wrote, and how many states it was told of.
    pub(crate) fn restore(
        budget: &Arc<MemoryBudget>,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::io::Result<(Self, u64)> {
        let len = source.at_most(MOST, "more states than can be")?;
        let per_state = source.at_most(64, "too many bits a state")? as u32;
        let words = source.count(8)?;
        let restored = Self::new(budget, width, words.max(1) * 8, per_state).map_err(refused)?;
        let mut places = restored.bits.iter();
        source.numbers(words, |word| {
            if let Some(place) = places.next() {
                place.store(word, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok((restored, len))
    }

    /// Inserts all vectors of a batch.
    pub(crate) fn insert(
        &self,
        vectors: &[u32],
        hashes: &mut Vec<u64>,
        inserted: &mut Vec<Inserted>,
    ) {
        hashes.clear();
        hashes.extend(
            vectors
                .chunks_exact(self.width)
                .skip(inserted.len())
                .map(|words| {
                    let hash = hash_words(words);
                    self.places(hash).for_each(|(word, _)| prefetch(word));
                    hash
                }),
        );
        inserted.extend(hashes.iter().map(|hash| {
            let mut is_new = false;
            for (word, bit) in self.places(*hash) {
                if word.load(Ordering::Relaxed) & bit == 0 {
                    // Of two threads that insert the same state at once, at
                    // least one finds a bit that it was the first to set. Both
                    // may: then the state is expanded, and counted, twice.
                    is_new |= word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
                }
            }
            Inserted {
                handle: StateHandle::from_bits(*hash),
                is_new,
                flags: 0,
            }
        }));
    }
}

/// A set of fingerprints.
pub(crate) struct Compact {
    width: usize,
    prints: QuotientTable,
}

impl Compact {
    #[cfg(not(loom))]
    const BITS: u32 = 54;
    #[cfg(loom)]
    const BITS: u32 = 32;

    /// Room for about `capacity` states.
    pub(crate) fn new(
        budget: &Arc<MemoryBudget>,
        width: usize,
        capacity: u64,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            width,
            prints: QuotientTable::new(budget, Self::BITS, capacity)?,
        })
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.prints.bytes()
    }

    /// The number of states from which on the table should grow.
    pub(crate) fn limit(&self) -> u64 {
        self.prints.limit()
    }

    /// Does all insertions of a batch that are not done yet, in order.
    pub(crate) fn insert(
        &self,
        vectors: &[u32],
        hashes: &mut Vec<u64>,
        inserted: &mut Vec<Inserted>,
    ) -> Result<(), NoRoom> {
        hashes.clear();
        hashes.extend(
            vectors
                .chunks_exact(self.width)
                .skip(inserted.len())
                .map(|words| {
                    let print = hash_words(words) >> (64 - Self::BITS);
                    self.prints.prefetch(print);
                    print
                }),
        );
        for print in hashes.iter() {
            let (flags, is_new) = self.prints.insert(*print)?;
            inserted.push(Inserted {
                handle: StateHandle::from_bits(*print),
                is_new,
                flags,
            });
        }
        Ok(())
    }

    /// Writes all fingerprints with their flags.
    pub(crate) fn save(&self, len: u64, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.number(len)?;
        write_entries(sink, &self.prints, |print| print)
    }

    /// The table that [`save`](Self::save) wrote, and how many states it has.
    pub(crate) fn restore(
        budget: &Arc<MemoryBudget>,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::io::Result<(Self, u64)> {
        let count = source.count(9)?;
        let mut restored = Self::new(budget, width, count as u64).map_err(refused)?;
        read_entries(source, count, |print, flags| {
            let is_print = print >> Self::BITS == 0;
            let is_new = is_print && restored.prints.add(print, flags).map_err(refused)?;
            is_new
                .then_some(())
                .ok_or_else(|| damaged("a fingerprint is none"))
        })?;
        Ok((restored, count as u64))
    }

    /// Whether a vector would be taken for a stored one.
    pub(crate) fn contains(&self, words: &[u32]) -> bool {
        let print = hash_words(words) >> (64 - Self::BITS);
        self.prints.flags(print).is_some()
    }

    /// The table of fingerprints; a handle's bits are the hash it knows.
    pub(crate) fn prints(&self) -> &QuotientTable {
        &self.prints
    }

    /// Makes room.
    pub(crate) fn grow(&mut self, factor: f64, helpers: Helpers<'_>) -> Result<(), OutOfMemory> {
        self.prints.grow(factor, helpers)
    }
}
