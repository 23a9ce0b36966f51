//! The plain store: whole vectors one after the other, and a hash index of
//! their numbers. Fast and exact, at the price of the vectors' full size.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::hash::{hash_each, hash_words};
use crate::index::Index;
use crate::quotient::NoRoom;
use crate::region::{Region, prefetch};
use crate::saved::{Sink, Source, damaged, refused};
use crate::store::{Inserted, StateHandle, StoreError};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering, OwnLine};
use std::sync::Arc;

/// The number of states a plain store can number.
const MOST: usize = u32::MAX as usize;

/// The tables of a plain store. A state's handle is its number, from 0 on.
pub(crate) struct Plain {
    width: usize,
    index: Index,
    words: Region<AtomicU32>,
    flags: Region<AtomicU8>,
    /// The next free number; it may run past the capacity when several threads
    /// find the arena full at once.
    next: OwnLine<AtomicU64>,
    budget: Arc<MemoryBudget>,
}

impl Plain {
    /// Tables for `capacity` vectors of `width` words.
    pub(crate) fn new(
        budget: &Arc<MemoryBudget>,
        width: usize,
        capacity: u64,
    ) -> Result<Self, OutOfMemory> {
        let capacity = (capacity as usize).clamp(1, MOST);
        Ok(Self {
            width,
            index: Index::new(budget, capacity)?,
            words: Region::new(budget, capacity.saturating_mul(width))?,
            flags: Region::new(budget, capacity)?,
            next: OwnLine(AtomicU64::new(0)),
            budget: Arc::clone(budget),
        })
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.index.bytes() + self.words.bytes() + self.flags.bytes()
    }

    #[inline(always)]
    fn row(&self, number: usize) -> &[AtomicU32] {
        &self.words[number * self.width..][..self.width]
    }

    /// Does all insertions of a batch that are not done yet, in order.
    pub(crate) fn insert(
        &self,
        vectors: &[u32],
        hashes: &mut Vec<u64>,
        inserted: &mut Vec<Inserted>,
    ) -> Result<(), NoRoom> {
        let rest = &vectors[inserted.len() * self.width..];
        hashes.clear();
        hashes.extend(rest.chunks_exact(self.width).map(|words| {
            let hash = hash_words(words);
            self.index.prefetch(hash);
            hash
        }));
        for (words, hash) in rest.chunks_exact(self.width).zip(hashes.iter()) {
            inserted.push(self.insert_one(words, *hash)?);
        }
        Ok(())
    }

    #[inline]
    fn insert_one(&self, words: &[u32], hash: u64) -> Result<Inserted, NoRoom> {
        let is_it = |number: u32| {
            let row = self.row(number as usize);
            row.iter()
                .zip(words)
                .all(|(stored, word)| stored.load(Ordering::Relaxed) == *word)
        };
        let create = || {
            let number = self.next.fetch_add(1, Ordering::Relaxed) as usize;
            if number >= self.flags.len() {
                return Err(NoRoom);
            }
            for (place, word) in self.row(number).iter().zip(words) {
                place.store(*word, Ordering::Relaxed);
            }
            Ok(number as u32)
        };
        let (number, is_new) = self.index.find_or_add(hash, is_it, create)?;
        let flags = if is_new {
            0
        } else {
            self.flags[number as usize].load(Ordering::SeqCst)
        };
        Ok(Inserted {
            handle: StateHandle::from_bits(u64::from(number)),
            is_new,
            flags,
        })
    }

    /// Whether a vector is stored.
    pub(crate) fn contains(&self, words: &[u32]) -> bool {
        let is_it = |number: u32| {
            let row = self.row(number as usize).iter();
            row.zip(words)
                .all(|(stored, word)| stored.load(Ordering::Relaxed) == *word)
        };
        let found = self
            .index
            .find_or_add(hash_words(words), is_it, || Err(NoRoom));
        found.is_ok()
    }

    /// Fills `words` with a state.
    pub(crate) fn load(&self, handle: StateHandle, words: &mut [u32]) {
        let row = self.row(handle.to_bits() as usize);
        for (word, stored) in words.iter_mut().zip(row) {
            *word = stored.load(Ordering::Relaxed);
        }
    }

    /// Starts to fetch a state.
    pub(crate) fn prefetch(&self, handle: StateHandle) {
        if let Some(word) = self.words.get(handle.to_bits() as usize * self.width) {
            prefetch(word);
        }
    }

    /// The flags' byte of a state.
    #[inline]
    pub(crate) fn flag_byte(&self, handle: StateHandle) -> Option<&AtomicU8> {
        self.flags.get(handle.to_bits() as usize)
    }

    /// Shows all states with their flags.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(StateHandle, u8) -> bool) {
        let count = (self.next.load(Ordering::Relaxed) as usize).min(self.flags.len());
        let flags = self.flags[..count].iter().enumerate();
        let mut all = flags.map(|(at, flags)| (at as u64, flags.load(Ordering::Relaxed)));
        all.all(|(at, flags)| visit(StateHandle::from_bits(at), flags));
    }

    /// Writes all vectors and flags.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let count = (self.next.load(Ordering::Relaxed) as usize).min(self.flags.len());
        sink.number(count as u64)?;
        let words = &self.words[..count * self.width];
        sink.numbers(words.chunks(2).map(|pair| {
            let word = |at: usize| pair.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
            u64::from(word(0)) | u64::from(word(1)) << 32
        }))?;
        let flags = self.flags[..count].iter();
        let flags: Vec<u8> = flags.map(|f| f.load(Ordering::Relaxed)).collect();
        sink.bytes(&flags)
    }

    /// The tables that [`save`](Self::save) wrote, and how many vectors they have.
    pub(crate) fn restore(
        budget: &Arc<MemoryBudget>,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::io::Result<(Self, u64)> {
        let count = source.count(4 * width)?;
        if count > MOST {
            return Err(damaged("more states than there are numbers"));
        }
        let capacity = count.saturating_add(count / 8 + 64) as u64;
        let mut plain = Self::new(budget, width, capacity).map_err(refused)?;
        plain.next = OwnLine(AtomicU64::new(count as u64));
        let mut places = plain.words[..count * width].iter();
        source.numbers((count * width).div_ceil(2), |pair| {
            for word in [pair as u32, (pair >> 32) as u32] {
                if let Some(place) = places.next() {
                    place.store(word, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        let mut flags = vec![0; count];
        source.bytes(&mut flags)?;
        for (number, flags) in flags.into_iter().enumerate() {
            if flags >> crate::quotient::FLAG_BITS != 0 {
                return Err(damaged("there are no such flags"));
            }
            plain.flags[number].store(flags, Ordering::Relaxed);
            let row = plain.row(number);
            let hash = hash_each(row, |word| word.load(Ordering::Relaxed));
            let is_it = |other: u32| {
                let other = plain.row(other as usize).iter();
                other
                    .zip(row)
                    .all(|(one, two)| one.load(Ordering::Relaxed) == two.load(Ordering::Relaxed))
            };
            let added = plain.index.find_or_add(hash, is_it, || Ok(number as u32));
            if added != Ok((number as u32, true)) {
                return Err(damaged("a state is there twice"));
            }
        }
        Ok((plain, count as u64))
    }

    /// Whether there is a state with this handle.
    pub(crate) fn holds(&self, handle: StateHandle) -> bool {
        handle.to_bits()
            < self
                .next
                .load(Ordering::Relaxed)
                .min(self.flags.len() as u64)
    }

    /// Makes room.
    pub(crate) fn grow(&mut self, factor: f64, helpers: Helpers<'_>) -> Result<(), StoreError> {
        let capacity = self.flags.len();
        if capacity >= MOST {
            return Err(StoreError::Full);
        }
        let count = (self.next.load(Ordering::Relaxed) as usize).min(capacity);
        let larger = ((capacity as f64 * factor) as usize)
            .max(capacity + 1)
            .min(MOST);
        let hash_of = |number: u32| {
            hash_each(self.row(number as usize), |word| {
                word.load(Ordering::Relaxed)
            })
        };
        let index = self.index.resized(&self.budget, larger, helpers, hash_of)?;
        self.words.extend(larger.saturating_mul(self.width))?;
        self.flags.extend(larger)?;
        self.index = index;
        self.next = OwnLine(AtomicU64::new(count as u64));
        Ok(())
    }
}
