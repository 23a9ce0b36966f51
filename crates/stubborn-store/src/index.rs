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
//! index grows by one pass over its buckets, on several threads if it is large:
//! homes are monotone in the hash, so that the pass writes the new buckets from
//! left to right, too. The transient is the old index, without the items.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::hash::place;
use crate::quotient::NoRoom;
use crate::region::{Region, Zeroed, prefetch};
use crate::sync::{AtomicU32, AtomicU64, Backoff, Ordering};
use std::sync::Arc;

/// Entries of a bucket.
const ENTRIES: usize = 12;
/// The most full an index gets.
const FULLEST: f64 = 0.88;
/// Tags of the first word of a bucket.
const TAGS_IN_FIRST: usize = 8;
/// In the second word of a bucket, above its tags: the count, and a bit that
/// says that somebody is inserting.
const COUNT_SHIFT: u32 = 32;
const LOCKED: u64 = 1 << 63;
/// Growth uses more than one thread from this many buckets on.
const PARALLEL_FROM: usize = if cfg!(all(test, not(loom))) {
    8
} else {
    (2 << 20) / 64
};

/// One cache line: sixteen bytes with the tags (eight bits of each hash), the
/// count and a lock, then the numbers of the items.
#[repr(C, align(64))]
struct Bucket {
    tags: [AtomicU64; 2],
    numbers: [AtomicU32; ENTRIES],
}

// SAFETY: made of atomic integers only.
unsafe impl Zeroed for Bucket {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            tags: std::array::from_fn(|_| AtomicU64::new(0)),
            numbers: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 64);

/// Marks the bytes of `tags` that equal `tag` by their highest bit. A byte above
/// a true match may be marked wrongly; candidates are verified anyway.
#[inline(always)]
fn matches(tags: u64, tag: u8) -> u64 {
    let zero_where_equal = tags ^ (u64::from(tag) * 0x0101_0101_0101_0101);
    zero_where_equal.wrapping_sub(0x0101_0101_0101_0101) & !zero_where_equal & 0x8080_8080_8080_8080
}

/// The highest bits of the first `count` bytes, at most eight.
#[inline(always)]
fn first_bytes(count: usize) -> u64 {
    0x8080_8080_8080_8080
        & 1u64
            .checked_shl(8 * count as u32)
            .unwrap_or(0)
            .wrapping_sub(1)
}

impl Bucket {
    /// The item that `is_it` recognises among the first `count`.
    #[inline(always)]
    fn find(&self, count: usize, second: u64, tag: u8, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.tags[0].load(Ordering::Relaxed);
        let mut marks = matches(first, tag) & first_bytes(count.min(TAGS_IN_FIRST));
        let mut entry = 0;
        loop {
            while marks != 0 {
                let number = self.numbers[entry + marks.trailing_zeros() as usize / 8]
                    .load(Ordering::Relaxed);
                if is_it(number) {
                    return Some(number);
                }
                marks &= marks - 1;
            }
            if entry != 0 || count <= TAGS_IN_FIRST {
                return None;
            }
            entry = TAGS_IN_FIRST;
            marks = matches(second, tag) & first_bytes(count - TAGS_IN_FIRST);
        }
    }

    /// Finds or adds an item; `Ok(None)` if the bucket is full without it.
    #[inline]
    fn find_or_add(
        &self,
        tag: u8,
        is_it: &impl Fn(u32) -> bool,
        create: &mut impl FnMut() -> Result<u32, NoRoom>,
    ) -> Result<Option<(u32, bool)>, NoRoom> {
        let mut backoff = Backoff::default();
        loop {
            let second = self.tags[1].load(Ordering::Acquire);
            let count = (((second & !LOCKED) >> COUNT_SHIFT) as usize).min(ENTRIES);
            if let Some(number) = self.find(count, second, tag, is_it) {
                return Ok(Some((number, false)));
            }
            if count == ENTRIES {
                return Ok(None);
            }
            if second & LOCKED != 0 {
                backoff.wait();
                continue;
            }
            // The count is part of the word: success means that nothing was
            // added since the scan.
            let lock = self.tags[1].compare_exchange_weak(
                second,
                second | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if lock.is_err() {
                continue;
            }
            let created = create();
            let mut released = second;
            if let Ok(number) = created {
                self.numbers[count].store(number, Ordering::Relaxed);
                if count < TAGS_IN_FIRST {
                    let tags = self.tags[0].load(Ordering::Relaxed) | u64::from(tag) << (8 * count);
                    self.tags[0].store(tags, Ordering::Relaxed);
                } else {
                    released |= u64::from(tag) << (8 * (count - TAGS_IN_FIRST));
                }
                released += 1 << COUNT_SHIFT;
            }
            self.tags[1].store(released, Ordering::Release);
            return created.map(|number| Some((number, true)));
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
        let index = Self::untouched(budget, capacity)?;
        index.buckets.touch();
        Ok(index)
    }

    /// The same, to be [touched](Region::touch) before it is used.
    fn untouched(budget: &Arc<MemoryBudget>, capacity: usize) -> Result<Self, OutOfMemory> {
        let buckets = (capacity as f64 / (ENTRIES as f64 * FULLEST)) as usize + 1;
        Ok(Self {
            buckets: Region::new(budget, buckets)?,
        })
    }

    /// A growth has so many parts for each thread: who comes late does fewer.
    const PARTS_EACH: usize = 4;

    /// The items that there is room for.
    pub(crate) fn capacity(&self) -> usize {
        (self.buckets.len() as f64 * ENTRIES as f64 * FULLEST) as usize
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

    /// A number of an item that may have this hash, if there is one; else any.
    #[inline(always)]
    pub(crate) fn candidate(&self, hash: u64) -> u32 {
        let bucket = &self.buckets[place(hash, self.buckets.len() as u64)];
        let marks = matches(bucket.tags[0].load(Ordering::Relaxed), hash as u8);
        // (Without a branch, which could not be predicted.)
        let at = (marks.trailing_zeros() as usize / 8).min(ENTRIES - 1);
        bucket.numbers[at].load(Ordering::Relaxed)
    }

    /// Finds the item with this hash that `is_it` recognises, or makes it with
    /// `create`. The contents that `create` writes are visible to whoever finds
    /// the number here. Tells the number, and whether it is new.
    #[inline]
    pub(crate) fn find_or_add(
        &self,
        hash: u64,
        is_it: impl Fn(u32) -> bool,
        mut create: impl FnMut() -> Result<u32, NoRoom>,
    ) -> Result<(u32, bool), NoRoom> {
        let home = place(hash, self.buckets.len() as u64);
        let tag = hash as u8;
        // From home to the end, then from the beginning: there are more entries
        // than items, so that some bucket has room or has the item.
        for bucket in self.buckets[home..].iter().chain(&self.buckets[..home]) {
            if let Some(found) = bucket.find_or_add(tag, &is_it, &mut create)? {
                return Ok(found);
            }
        }
        Err(NoRoom)
    }

    /// A copy with room for `capacity` items, made with the help of others.
    pub(crate) fn resized(
        &self,
        budget: &Arc<MemoryBudget>,
        capacity: usize,
        helpers: Helpers<'_>,
        hash_of: impl Fn(u32) -> u64 + Sync,
    ) -> Result<Self, OutOfMemory> {
        let larger = Self::untouched(budget, capacity)?;
        let helpers = match self.buckets.len() < PARALLEL_FROM {
            true => Helpers::none_of(1),
            false => helpers,
        };
        let parts = match helpers.threads() {
            1 => 1,
            threads => Self::PARTS_EACH * threads,
        };
        let (old, new) = (self.buckets.len(), larger.buckets.len());
        let mut parts: Vec<usize> = (0..parts).collect();
        let count = parts.len();
        let copy = |part: &mut usize| {
            let of = |len: usize| *part * len / count..(*part + 1) * len / count;
            // (What a part overflows into belongs to the next.)
            larger.buckets.touch_range(of(new));
            larger.copy_from(&self.buckets[of(old)], &hash_of);
            Ok::<(), OutOfMemory>(())
        };
        helpers.each(&mut parts, copy)?;
        Ok(larger)
    }

    /// Adds the items of another index, none of which is here.
    fn copy_from(&self, buckets: &[Bucket], hash_of: &impl Fn(u32) -> u64) {
        /// Buckets whose items are fetched together.
        const TOGETHER: usize = 4;
        let mut pending: Vec<(u64, u32)> = Vec::with_capacity(TOGETHER * ENTRIES);
        for group in buckets.chunks(TOGETHER) {
            pending.clear();
            for bucket in group {
                let second = bucket.tags[1].load(Ordering::Relaxed);
                let count = ((second >> COUNT_SHIFT) as usize).min(ENTRIES);
                let numbers = bucket.numbers[..count].iter();
                pending.extend(numbers.map(|number| (0, number.load(Ordering::Relaxed))));
            }
            // Hashing waits for the items; all of them at once, with nothing in
            // between that would order the reads.
            for (hash, number) in &mut pending {
                *hash = hash_of(*number);
            }
            for (hash, number) in &pending {
                let added = self.find_or_add(*hash, |_| false, || Ok(*number));
                debug_assert_eq!(added, Ok((*number, true)));
            }
        }
    }
}
