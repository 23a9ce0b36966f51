//! A concurrent set of integer keys that stores less than the keys: the
//! position of an entry stands for the high bits of its hash.
//!
//! It follows Cleary ("Compact hash tables using bidirectional linear probing",
//! 1984) and its parallel use for tree roots by Laarman ("Optimal compression of
//! combinatorial state vectors", 2019), with two deviations. Probing goes in one
//! direction over buckets of one cache line, and an entry says by how many
//! buckets it is displaced, so no order has to be maintained: entries never
//! move, and a lookup is a scan of, almost always, one line. And the home bucket
//! is monotone in the hash for any number of buckets, so that growing by any
//! factor is one pass from right to left, in place.
//!
//! Layout: the top four bits of the hash choose a segment (tables grow segment
//! by segment), the others the home bucket. A bucket has entries of the low bits
//! of the hash, 6 bits of displacement and 6 flags. The more homes there are, the
//! fewer bits tell the keys of one home apart: with 28, twelve entries fit into
//! a bucket, with 36 ten.
//!
//! Lookups are lock-free. An insertion locks its bucket for the few stores it
//! takes, and publishes the entry with the bucket's new count.

mod segment;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::boxed;
use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::hash::{Permutation, place};
use crate::region::{prefetch, prefetch_to_write};
use crate::sync::{AtomicU8, Ordering};
use segment::{Bucket, FLAGS, Rows, Segment, either};
use std::sync::Arc;

pub(crate) use segment::FLAG_BITS;

#[cfg(not(loom))]
const SEGMENT_BITS: u32 = 4;
#[cfg(loom)]
const SEGMENT_BITS: u32 = 1;
/// Growth uses more than one thread from this many bytes on.
const PARALLEL_FROM: usize = if cfg!(all(test, not(loom))) {
    1
} else {
    2 << 20
};

/// The table could not take a key before it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// A concurrent, growing set of keys of an even number of bits, with flags.
pub(crate) struct QuotientTable {
    permutation: Permutation,
    segments: Box<[Segment; 1 << SEGMENT_BITS]>,
    budget: Arc<MemoryBudget>,
    /// Entries from which on it should grow.
    limit: u64,
}

impl QuotientTable {
    /// The most full a table gets before it asks to grow. In simulations with a
    /// million buckets the first displacement beyond 63 came at a load of 0.855
    /// (beyond 31 at 0.805), so not much more would fit; the speed hardly changed
    /// between 0.70 and 0.86.
    const FULLEST: f64 = 0.82;

    /// A table for keys of `bits` bits (even), with room for `capacity` keys.
    pub(crate) fn new(
        budget: &Arc<MemoryBudget>,
        bits: u32,
        capacity: u64,
    ) -> Result<Self, OutOfMemory> {
        let permutation = Permutation::new(bits);
        let entries = capacity as f64 / Self::FULLEST / f64::from(1 << SEGMENT_BITS);
        let (bits, entries) = (bits - SEGMENT_BITS, entries.ceil() as u64);
        let is_narrow = Segment::should_be_narrow(bits, entries);
        let segments = (0..1 << SEGMENT_BITS)
            .map(|_| Segment::new(budget, bits, entries, is_narrow))
            .collect::<Result<Vec<_>, _>>()?;
        segments.iter().for_each(Segment::touch);
        let mut table = Self {
            permutation,
            segments: boxed(segments),
            budget: Arc::clone(budget),
            limit: 0,
        };
        table.set_limit();
        Ok(table)
    }

    fn set_limit(&mut self) {
        let entries = self.least_entries() << SEGMENT_BITS;
        self.limit = (entries as f64 * Self::FULLEST) as u64;
    }

    /// Entries of the smallest segment, which is full first.
    fn least_entries(&self) -> u64 {
        let entries = self.segments.iter().map(Segment::entries);
        entries.min().unwrap_or(0)
    }

    /// The width of keys.
    pub(crate) fn bits(&self) -> u32 {
        self.permutation.bits()
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.segments.iter().map(Segment::bytes).sum()
    }

    /// The hash under which the other functions know `key`.
    #[inline(always)]
    pub(crate) fn hash(&self, key: u64) -> u64 {
        self.permutation.apply(key)
    }

    #[inline(always)]
    fn segment_of(&self, hash: u64) -> usize {
        (hash >> (self.permutation.bits() - SEGMENT_BITS)) as usize
    }

    #[inline(always)]
    fn locate(&self, hash: u64) -> (&Segment, u64) {
        let aligned = hash << (64 - self.permutation.bits());
        (
            &self.segments[self.segment_of(hash)],
            aligned << SEGMENT_BITS,
        )
    }

    /// Starts to fetch the home of `hash`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        let (segment, position) = self.locate(hash);
        either!(segment, rows => prefetch(&rows.buckets[place(position, rows.homes)]));
    }

    /// The home of a hash, which is in the high bits, in a segment of a kind; it is being fetched.
    #[inline(always)]
    fn fetch<'t, const ENTRIES: usize, const BETWEEN: usize>(
        &'t self,
        high: u64,
        rows_of: impl Fn(&'t Segment) -> Option<&'t Rows<ENTRIES, BETWEEN>>,
    ) -> Option<&'t Bucket<ENTRIES, BETWEEN>> {
        let rows = rows_of(&self.segments[(high >> (64 - SEGMENT_BITS)) as usize])?;
        let bucket = &rows.buckets[place(high << SEGMENT_BITS, rows.homes)];
        prefetch_to_write(bucket);
        Some(bucket)
    }

    /// Finds or adds the keys of all pairs, in order; `tell` hears of their flags, and of whether
    /// they are new. Says for how many there was room. The low 32 bits of a pair are the first half of its
    /// key, the others the second.
    #[inline]
    pub(crate) fn insert_pairs(&self, pairs: &[u64], tell: impl FnMut(u64, u8, bool)) -> usize {
        match self.segments.first() {
            Some(Segment::Narrow(_)) => self.insert_as(pairs, tell, |segment| match segment {
                Segment::Narrow(rows) => Some(rows),
                Segment::Wide(_) => None,
            }),
            _ => self.insert_as(pairs, tell, |segment| match segment {
                Segment::Wide(rows) => Some(rows),
                Segment::Narrow(_) => None,
            }),
        }
    }

    /// The same where most segments are of a kind.
    #[inline(always)]
    fn insert_as<'t, const ENTRIES: usize, const BETWEEN: usize>(
        &'t self,
        pairs: &[u64],
        mut tell: impl FnMut(u64, u8, bool),
        rows_of: impl Fn(&'t Segment) -> Option<&'t Rows<ENTRIES, BETWEEN>>,
    ) -> usize {
        let below = 64 - self.permutation.bits();
        let (mut hashes, mut homes) = ([0; Self::TOGETHER], [None; Self::TOGETHER]);
        let mut done = 0;
        for pairs in pairs.chunks(Self::TOGETHER) {
            // All are fetched before any is looked at.
            for (at, pair) in pairs.iter().enumerate() {
                let high = self.permutation.apply_to_pair(*pair);
                hashes[at % Self::TOGETHER] = high >> below;
                homes[at % Self::TOGETHER] = self.fetch(high, &rows_of);
            }
            for (at, pair) in pairs.iter().enumerate() {
                // Where a home that comes soon is full, what is not there is in the next bucket. (Behind the
                // last one there is none, or one that does not matter.)
                if let Some(soon) = homes[(at + Self::SOON) % Self::TOGETHER] {
                    soon.prefetch_next_if_full();
                }
                let hash = hashes[at % Self::TOGETHER];
                let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, 0);
                let home = homes[at % Self::TOGETHER];
                let found = match home.map(|home| home.find_or_add(entry)) {
                    Some(Some(found)) => Some(found),
                    Some(None) => self.find_or_add_displaced(hash),
                    None => self.find_or_add(hash),
                };
                let Some((flags, is_new)) = found else {
                    return done;
                };
                tell(*pair, flags.load(Ordering::SeqCst) & FLAGS, is_new);
                done += 1;
            }
        }
        done
    }

    /// Segments that a thread lets grow, one after the other, at most, where there are several threads.
    const EACH_GROWS: usize = 4;

    /// So many keys before its turn a home is looked at for the first time.
    const SOON: usize = 16;

    /// Keys that are fetched together.
    const TOGETHER: usize = 128;

    /// Finds a hash or adds it; `None` when there is no room within reach.
    fn find_or_add(&self, hash: u64) -> Option<(&AtomicU8, bool)> {
        let (segment, position) = self.locate(hash);
        either!(segment, rows => rows.find_or_add(place(position, rows.homes), hash))
    }

    /// The same for a hash whose home is full without it.
    #[inline(never)]
    fn find_or_add_displaced(&self, hash: u64) -> Option<(&AtomicU8, bool)> {
        let (segment, position) = self.locate(hash);
        either!(segment, rows => rows.find_or_add_displaced(place(position, rows.homes), hash))
    }

    /// Finds the key with this hash or adds it; tells its flags and whether it is new.
    #[inline]
    pub(crate) fn insert(&self, hash: u64) -> Result<(u8, bool), NoRoom> {
        let (flags, is_new) = self.find_or_add(hash).ok_or(NoRoom)?;
        Ok((flags.load(Ordering::SeqCst) & FLAGS, is_new))
    }

    /// The flags, with other bits, of the key with this hash.
    #[inline]
    fn entry(&self, hash: u64) -> Option<&AtomicU8> {
        let (segment, position) = self.locate(hash);
        either!(segment, rows => rows.find(place(position, rows.homes), hash))
    }

    /// The flags of the key with this hash, if it is there.
    #[inline]
    pub(crate) fn flags(&self, hash: u64) -> Option<u8> {
        Some(self.entry(hash)?.load(Ordering::SeqCst) & FLAGS)
    }

    /// Sets flags, and returns those before.
    #[inline]
    pub(crate) fn set_flags(&self, hash: u64, flags: u8) -> Option<u8> {
        let entry = self.entry(hash)?;
        Some(entry.fetch_or(flags & FLAGS, Ordering::SeqCst) & FLAGS)
    }

    /// Clears flags, and returns those before.
    #[inline]
    pub(crate) fn clear_flags(&self, hash: u64, flags: u8) -> Option<u8> {
        let entry = self.entry(hash)?;
        Some(entry.fetch_and(!(flags & FLAGS), Ordering::SeqCst) & FLAGS)
    }

    /// The number of entries from which on the table should grow. It can take
    /// some more, until [`insert`](Self::insert) finds no room.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Lets its smallest segments grow by `factor`, some at a time for each of the threads that may help.
    ///
    /// The segments have about the same number of entries and, except where all of them grow
    /// together, sizes that are spread between one and `factor`: the table as a whole becomes larger
    /// little by little, and its free space is the same at any time.
    ///
    /// On failure some segments may have grown; the table stays as it was
    /// otherwise, and can be used on.
    pub(crate) fn grow(&mut self, factor: f64, helpers: Helpers<'_>) -> Result<(), OutOfMemory> {
        let bits = self.permutation.bits() - SEGMENT_BITS;
        let budget = Arc::clone(&self.budget);
        let helpers = match self.bytes() < PARALLEL_FROM {
            true => Helpers::none_of(1),
            false => helpers,
        };
        let threads = helpers.threads();
        // Whoever waits for a growth, or helps with it, has to be woken: several threads have fewer growths,
        // if the table does not get larger by much more than a tenth each time.
        let tenths = (factor.ln() / 1.1_f64.ln()).round().max(1.0) as usize;
        let together = match threads {
            1 => 1,
            _ => (self.segments.len() / tenths).clamp(threads, Self::EACH_GROWS * threads),
        };
        let steps = self.segments.len().div_ceil(together) as i32;
        let step = factor.powf(1.0 / f64::from(steps));
        let least = self.least_entries() as f64;
        // Lookups are best at segments of one kind: if it changes, all of them grow.
        let is_narrow = Segment::should_be_narrow(bits, (least * step) as u64);
        let mut smallest: Vec<&mut Segment> = self.segments.iter_mut().collect();
        // What is less than half a step larger is as large.
        smallest.retain(|segment| {
            segment.is_narrow() != is_narrow || segment.entries() as f64 <= least * step.sqrt()
        });
        let mut groups: Vec<&mut [&mut Segment]> = smallest.chunks_mut(together).collect();
        let mut wanted = least * step.powi(steps - groups.len() as i32);
        let result = groups.iter_mut().try_for_each(|group| {
            wanted *= step;
            // Who maps memory keeps all others from getting pages of theirs: all segments that grow
            // together get their room before any of them uses it. Otherwise 16 threads were no faster than
            // four.
            let grow = |group: &mut [&mut Segment]| {
                for segment in group.iter_mut() {
                    let entries = (wanted as u64).max(segment.entries() + 1);
                    segment.reserve(&budget, bits, entries, is_narrow)?;
                }
                helpers.each(group, |segment| {
                    segment.use_reserve(bits);
                    Ok(())
                })
            };
            match grow(group) {
                // One after the other takes less.
                Err(_) if group.len() > 1 => group.chunks_mut(1).try_for_each(grow),
                result => result,
            }
        });
        self.set_limit();
        result
    }

    /// Calls `visit` with the hashes of all keys and their flags, until it says no.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u64, u8) -> bool) {
        let inner = self.permutation.bits() - SEGMENT_BITS;
        for (number, segment) in self.segments.iter().enumerate() {
            let goes_on = segment.for_each(inner, |hash, flags| {
                visit((number as u64) << inner | hash, flags)
            });
            if !goes_on {
                return;
            }
        }
    }

    /// The key with a hash.
    pub(crate) fn key(&self, hash: u64) -> u64 {
        self.permutation.invert(hash)
    }

    /// Adds a key with flags, with nobody else around; false if it is there.
    pub(crate) fn add(&mut self, hash: u64, flags: u8) -> Result<bool, OutOfMemory> {
        let is_new = loop {
            match self.insert(hash) {
                Ok((_, is_new)) => break is_new,
                Err(NoRoom) => self.grow(1.1, Helpers::none_of(1))?,
            }
        };
        self.set_flags(hash, flags);
        Ok(is_new)
    }

    /// Changes the width of keys, with the help of others. `rewrite` turns an old key into a new one.
    ///
    /// Old and new table exist together for the time of this pass. It is rare:
    /// a tree does it when its node ids outgrow 22 bits, and again a few times.
    pub(crate) fn widen(
        &mut self,
        bits: u32,
        helpers: Helpers<'_>,
        rewrite: impl Fn(u64) -> u64 + Sync,
    ) -> Result<(), OutOfMemory> {
        let inner = self.permutation.bits() - SEGMENT_BITS;
        let mut capacity = self.limit;
        loop {
            let wider = Self::new(&self.budget, bits, capacity)?;
            let mut segments: Vec<(usize, &Segment)> = self.segments.iter().enumerate().collect();
            let copied = helpers.each(&mut segments, |(number, segment)| {
                let mut waiting = Vec::with_capacity(Self::TOGETHER);
                let fits = segment.for_each(inner, |hash, flags| {
                    let key = self.permutation.invert((*number as u64) << inner | hash);
                    let hash = wider.hash(rewrite(key));
                    wider.prefetch(hash);
                    waiting.push((hash, flags));
                    waiting.len() < Self::TOGETHER || wider.take(&mut waiting)
                });
                let fits = fits && wider.take(&mut waiting);
                fits.then_some(()).ok_or(NoRoom)
            });
            if copied.is_ok() {
                *self = wider;
                return Ok(());
            }
            capacity += capacity / 8 + 1;
        }
    }

    /// Adds hashes that are not there; says whether there was room.
    fn take(&self, hashes: &mut Vec<(u64, u8)>) -> bool {
        hashes.drain(..).all(|(hash, flags)| {
            let added = self.find_or_add(hash);
            added.is_some_and(|(entry, _)| {
                entry.fetch_or(flags, Ordering::Relaxed);
                true
            })
        })
    }
}
