//! A concurrent hash index: finds the number of an item in an arena by the
//! item's hash.
//!
//! The items themselves stay in an append-only arena under stable numbers
//! (which is what makes numbers usable in tree nodes and handles); the index
//! only holds numbers and eight bits of each hash. A bucket is one cache line of
//! twelve entries; a full bucket overflows into the next. Nearly every lookup
//! reads one line of the index and, if the item is there, one of the arena.
//!
//! Lookups are lock-free; an insertion locks its bucket for a few stores. The
//! index grows by being built again from the arena: the transient is the old
//! index, without the items.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::hash::place;
use crate::quotient::NoRoom;
use crate::region::{Region, Zeroed, prefetch};
use crate::sync::{AtomicU8, AtomicU32, Backoff, Ordering};
use std::sync::Arc;

/// Entries of a bucket.
const ENTRIES: usize = 12;
/// The most full an index gets.
const FULLEST: f64 = 0.88;
/// Bit of a bucket's header: somebody is inserting.
const LOCKED: u32 = 1 << 31;

/// One cache line: a count and a lock, hash bits, and numbers of items.
#[repr(C, align(64))]
struct Bucket {
    header: AtomicU32,
    tags: [AtomicU8; ENTRIES],
    numbers: [AtomicU32; ENTRIES],
}

// SAFETY: made of atomic integers only.
unsafe impl Zeroed for Bucket {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            header: AtomicU32::new(0),
            tags: std::array::from_fn(|_| AtomicU8::new(0)),
            numbers: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 64);

impl Bucket {
    /// Finds or adds an item; `Ok(None)` if the bucket is full without it.
    #[inline]
    fn find_or_add(
        &self,
        tag: u8,
        is_it: &impl Fn(u32) -> bool,
        create: &impl Fn() -> Result<u32, NoRoom>,
    ) -> Result<Option<(u32, bool)>, NoRoom> {
        let mut scanned = 0;
        let mut backoff = Backoff::default();
        loop {
            let header = self.header.load(Ordering::Acquire);
            let count = ((header & !LOCKED) as usize).min(ENTRIES);
            for entry in scanned..count {
                if self.tags[entry].load(Ordering::Relaxed) == tag {
                    let number = self.numbers[entry].load(Ordering::Relaxed);
                    if is_it(number) {
                        return Ok(Some((number, false)));
                    }
                }
            }
            scanned = count;
            if count == ENTRIES {
                return Ok(None);
            }
            if header & LOCKED != 0 {
                backoff.wait();
                continue;
            }
            // The count is part of the word: success means that nothing was
            // added since the scan.
            let lock = self.header.compare_exchange_weak(
                header,
                header | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if lock.is_ok() {
                let created = create();
                if let Ok(number) = created {
                    self.tags[count].store(tag, Ordering::Relaxed);
                    self.numbers[count].store(number, Ordering::Relaxed);
                }
                self.header
                    .store(header + u32::from(created.is_ok()), Ordering::Release);
                return created.map(|number| Some((number, true)));
            }
        }
    }
}

/// A concurrent hash index over an arena of numbered items.
pub(crate) struct Index {
    buckets: Region<Bucket>,
}

impl Index {
    /// An index for up to `capacity` items.
    pub(crate) fn new(budget: &Arc<MemoryBudget>, capacity: usize) -> Result<Self, OutOfMemory> {
        let buckets = (capacity as f64 / (ENTRIES as f64 * FULLEST)) as usize + 1;
        Ok(Self {
            buckets: Region::new(budget, buckets)?,
        })
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    /// Starts to fetch the home of `hash`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.buckets[place(hash, self.buckets.len() as u64)]);
    }

    /// Finds the item with this hash that `is_it` recognises, or makes it with
    /// `create`. The contents that `create` writes are visible to whoever finds
    /// the number here. Tells the number, and whether it is new.
    #[inline]
    pub(crate) fn find_or_add(
        &self,
        hash: u64,
        is_it: impl Fn(u32) -> bool,
        create: impl Fn() -> Result<u32, NoRoom>,
    ) -> Result<(u32, bool), NoRoom> {
        let home = place(hash, self.buckets.len() as u64);
        let tag = hash as u8;
        // From home to the end, then from the beginning: there are more entries
        // than items, so that some bucket has room or has the item.
        for bucket in self.buckets[home..].iter().chain(&self.buckets[..home]) {
            if let Some(found) = bucket.find_or_add(tag, &is_it, &create)? {
                return Ok(found);
            }
        }
        Err(NoRoom)
    }

    /// An index for `capacity` items with the items `0..count` in it.
    pub(crate) fn rebuilt(
        budget: &Arc<MemoryBudget>,
        capacity: usize,
        count: u32,
        hash_of: impl Fn(u32) -> u64,
    ) -> Result<Self, OutOfMemory> {
        /// Items whose buckets are fetched together.
        const AHEAD: u32 = 16;
        let index = Self::new(budget, capacity)?;
        let mut start = 0;
        while start < count {
            let end = count.min(start + AHEAD);
            let mut hashes = [0; AHEAD as usize];
            for (hash, number) in hashes.iter_mut().zip(start..end) {
                *hash = hash_of(number);
                index.prefetch(*hash);
            }
            for (hash, number) in hashes.iter().zip(start..end) {
                let added = index.find_or_add(*hash, |_| false, || Ok(number));
                debug_assert_eq!(added, Ok((number, true)));
            }
            start = end;
        }
        Ok(index)
    }
}
