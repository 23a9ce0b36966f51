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
//! factor is one pass from left to right over old and new memory.
//!
//! Layout: the top four bits of the hash choose a segment (tables grow segment
//! by segment, so the transient is a sixteenth of the table for each thread that
//! helps), the others the home bucket. A bucket has entries of the low bits of
//! the hash, 6 bits of displacement and 6 flags. The more homes there are, the
//! fewer bits tell the keys of one home apart: with 28, twelve entries fit into
//! a bucket, with 36 ten.
//!
//! Lookups are lock-free. An insertion locks its bucket for the few stores it
//! takes, and publishes the entry with the bucket's new count.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::hash::{Permutation, place};
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
use crate::region::equal_lanes;
use crate::region::{Region, Zeroed, prefetch};
use crate::sync::{AtomicU8, AtomicU32, Backoff, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Entries of a bucket.
#[cfg(not(loom))]
const NARROW: usize = 12;
#[cfg(not(loom))]
const WIDE: usize = 10;
#[cfg(loom)]
const NARROW: usize = 2;
#[cfg(loom)]
const WIDE: usize = 2;
/// Flag bits of an entry.
pub(crate) const FLAG_BITS: u32 = 6;
const FLAGS: u8 = (1 << FLAG_BITS) - 1;
/// The largest displacement; segments have this many buckets after the last home.
const FARTHEST: usize = (1 << DISPLACEMENT_BITS) - 1;
#[cfg(not(loom))]
const DISPLACEMENT_BITS: u32 = 6;
#[cfg(loom)]
const DISPLACEMENT_BITS: u32 = 1;
#[cfg(not(loom))]
const SEGMENT_BITS: u32 = 4;
#[cfg(loom)]
const SEGMENT_BITS: u32 = 1;
/// Bit of a bucket's header: somebody is inserting.
const LOCKED: u32 = 1 << 31;
/// Growth uses more than one thread from this many bytes on.
const PARALLEL_FROM: usize = if cfg!(all(test, not(loom))) {
    1
} else {
    2 << 20
};

/// One cache line: the low 32 bits of the entries, their highest two bits with the flags, the
/// eight bits between if there are such, and a count with a lock.
#[repr(C, align(64))]
struct Bucket<const ENTRIES: usize, const BETWEEN: usize> {
    low: [AtomicU32; ENTRIES],
    high: [AtomicU8; ENTRIES],
    between: [AtomicU8; BETWEEN],
    header: AtomicU32,
}

// SAFETY: made of atomic integers only.
unsafe impl<const ENTRIES: usize, const BETWEEN: usize> Zeroed for Bucket<ENTRIES, BETWEEN> {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            low: std::array::from_fn(|_| AtomicU32::new(0)),
            high: std::array::from_fn(|_| AtomicU8::new(0)),
            between: std::array::from_fn(|_| AtomicU8::new(0)),
            header: AtomicU32::new(0),
        }
    }
}

#[cfg(not(loom))]
const _: () =
    assert!(size_of::<Bucket<NARROW, 0>>() == 64 && size_of::<Bucket<WIDE, WIDE>>() == 64);

/// What a bucket has of an entry, without flags: a remainder of the hash, and above it the
/// displacement.
#[derive(Clone, Copy)]
struct Entry {
    low: u32,
    between: u8,
    high: u8,
}

impl<const ENTRIES: usize, const BETWEEN: usize> Bucket<ENTRIES, BETWEEN> {
    /// Low bits of the hash that an entry keeps.
    const REMAINDER_BITS: u32 = 34 - 6 + Self::BETWEEN_BITS;
    const BETWEEN_BITS: u32 = if BETWEEN == 0 { 0 } else { 8 };

    #[inline(always)]
    fn entry(hash: u64, displacement: usize) -> Entry {
        let remainder = hash & ((1 << Self::REMAINDER_BITS) - 1);
        let all = remainder | (displacement as u64) << Self::REMAINDER_BITS;
        Entry {
            low: all as u32,
            between: if BETWEEN == 0 { 0 } else { (all >> 32) as u8 },
            high: ((all >> (32 + Self::BETWEEN_BITS)) as u8) << FLAG_BITS,
        }
    }

    /// The displacement of an entry, its remainder and its flags.
    #[inline(always)]
    fn read(&self, at: usize) -> (usize, u64, u8) {
        let high = self.high[at].load(Ordering::Relaxed);
        let between = self.between.get(at);
        let between = between.map_or(0, |bits| bits.load(Ordering::Relaxed));
        let all = u64::from(high >> FLAG_BITS) << (32 + Self::BETWEEN_BITS)
            | u64::from(between) << 32
            | u64::from(self.low[at].load(Ordering::Relaxed));
        let remainder = all & ((1 << Self::REMAINDER_BITS) - 1);
        let displacement = all >> Self::REMAINDER_BITS;
        (displacement as usize, remainder, high & FLAGS)
    }

    #[inline(always)]
    fn write(&self, at: usize, entry: Entry, flags: u8) {
        self.low[at].store(entry.low, Ordering::Relaxed);
        if let Some(between) = self.between.get(at) {
            between.store(entry.between, Ordering::Relaxed);
        }
        self.high[at].store(entry.high | flags, Ordering::Relaxed);
    }

    /// The flags of this entry, if it is among the first `count`.
    #[inline(always)]
    fn find(&self, count: usize, wanted: Entry) -> Option<&AtomicU8> {
        // All low parts are compared, without a branch that depends on where
        // the entry is: such a branch is mispredicted most of the time.
        let mut candidates = self.equal_lows(wanted.low);
        while candidates != 0 {
            let at = candidates.trailing_zeros() as usize;
            let high = self.high.get(at).filter(|_| at < count)?;
            let is_between = |bits: &AtomicU8| bits.load(Ordering::Relaxed) == wanted.between;
            if high.load(Ordering::Relaxed) & !FLAGS == wanted.high
                && self.between.get(at).is_none_or(is_between)
            {
                return Some(high);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// A bit for each entry whose low part is `low`, and any above them.
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    #[inline(always)]
    fn equal_lows(&self, low: u32) -> u32 {
        equal_lanes(self, low)
    }

    #[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
    #[inline(always)]
    fn equal_lows(&self, low: u32) -> u32 {
        let lows = self.low.iter().enumerate();
        lows.fold(0, |equal, (entry, stored)| {
            equal | u32::from(stored.load(Ordering::Relaxed) == low) << entry
        })
    }

    /// Starts to fetch the bucket behind this one, if this one is full. (Without a branch: it could
    /// not be predicted.)
    #[inline(always)]
    fn prefetch_next_if_full(&self) {
        let is_full = self.header.load(Ordering::Relaxed) == ENTRIES as u32;
        prefetch(std::ptr::from_ref(self).wrapping_add(usize::from(is_full)));
    }

    /// Adds an entry with nobody else around; says whether there was room.
    #[inline(always)]
    fn append(&self, entry: Entry, flags: u8) -> bool {
        let count = self.header.load(Ordering::Relaxed) as usize;
        if count >= ENTRIES {
            return false;
        }
        self.write(count, entry, flags);
        self.header.store(count as u32 + 1, Ordering::Relaxed);
        true
    }

    /// Finds the entry or adds it; `None` if the bucket is full without it.
    #[inline]
    fn find_or_add(&self, entry: Entry) -> Option<(&AtomicU8, bool)> {
        let mut backoff = Backoff::default();
        loop {
            let header = self.header.load(Ordering::Acquire);
            let count = (header & !LOCKED) as usize;
            if let Some(found) = self.find(count, entry) {
                return Some((found, false));
            }
            if count == ENTRIES {
                return None;
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
                self.write(count, entry, 0);
                self.header.store(header + 1, Ordering::Release);
                return Some((&self.high[count], true));
            }
        }
    }
}

/// The buckets of a segment.
struct Rows<const ENTRIES: usize, const BETWEEN: usize> {
    /// Buckets that are a home; the region has [`FARTHEST`] more.
    homes: u64,
    buckets: Region<Bucket<ENTRIES, BETWEEN>>,
}

impl<const ENTRIES: usize, const BETWEEN: usize> Rows<ENTRIES, BETWEEN> {
    fn new(budget: &Arc<MemoryBudget>, homes: u64) -> Result<Self, OutOfMemory> {
        Ok(Self {
            homes,
            buckets: Region::new(budget, homes as usize + FARTHEST)?,
        })
    }

    /// Homes for so many entries, such that remainders tell the keys of one home apart.
    fn homes_for(bits: u32, entries: u64) -> u64 {
        let kept = Bucket::<ENTRIES, BETWEEN>::REMAINDER_BITS;
        let fewest = 1u64 << bits.saturating_sub(kept);
        fewest.max(entries.div_ceil(ENTRIES as u64))
    }

    /// Finds or adds a hash at home in the bucket `home`; `None` when there is no room
    /// within reach.
    fn find_or_add(&self, home: usize, hash: u64) -> Option<(&AtomicU8, bool)> {
        let first = self.buckets[home].find_or_add(Bucket::<ENTRIES, BETWEEN>::entry(hash, 0));
        match first {
            Some(found) => Some(found),
            None => self.find_or_add_displaced(home, hash),
        }
    }

    /// Finds or adds a hash whose home is full without it.
    fn find_or_add_displaced(&self, home: usize, hash: u64) -> Option<(&AtomicU8, bool)> {
        let reach = &self.buckets[home..home + FARTHEST + 1];
        for (displacement, bucket) in reach.iter().enumerate().skip(1) {
            let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, displacement);
            if let Some(found) = bucket.find_or_add(entry) {
                return Some(found);
            }
        }
        None
    }

    /// The flags of a hash at home in the bucket `home`, if it is there.
    #[inline]
    fn find(&self, home: usize, hash: u64) -> Option<&AtomicU8> {
        for displacement in 0..=FARTHEST {
            let bucket = &self.buckets[home + displacement];
            let count = (bucket.header.load(Ordering::Acquire) & !LOCKED) as usize;
            let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, displacement);
            let found = bucket.find(count, entry);
            if found.is_some() || count < ENTRIES {
                return found;
            }
        }
        None
    }

    /// Adds a hash that is not there, with nobody else around; says whether
    /// there was room within reach.
    #[inline(always)]
    fn add(&self, home: usize, hash: u64, flags: u8) -> bool {
        let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, 0);
        self.buckets[home].append(entry, flags) || self.add_displaced(home, hash, flags)
    }

    #[inline(never)]
    fn add_displaced(&self, home: usize, hash: u64, flags: u8) -> bool {
        (1..FARTHEST + 1).any(|displacement| {
            let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, displacement);
            self.buckets[home + displacement].append(entry, flags)
        })
    }

    /// Calls `visit` with all hashes and their flags, in the order of buckets,
    /// until it says no.
    #[inline(always)]
    fn for_each(&self, bits: u32, mut visit: impl FnMut(u64, u8) -> bool) -> bool {
        // The least hash of a home is `home * 2^bits / homes`, rounded up. It is
        // kept up by addition, and remembered for as many homes as entries may
        // be displaced.
        let (step, step_rest) = ((1 << bits) / self.homes, (1 << bits) % self.homes);
        let kept = (1 << Bucket::<ENTRIES, BETWEEN>::REMAINDER_BITS) - 1;
        let (mut least, mut rest) = (0u64, 0u64);
        let mut least_of = [0u64; FARTHEST + 1];
        for (at, bucket) in self.buckets.iter().enumerate() {
            least_of[at & FARTHEST] = least + u64::from(rest > 0);
            (least, rest) = (least + step, rest + step_rest);
            if rest >= self.homes {
                (least, rest) = (least + 1, rest - self.homes);
            }
            let count = bucket.header.load(Ordering::Relaxed) as usize;
            for entry in 0..count.min(ENTRIES) {
                let (displacement, remainder, flags) = bucket.read(entry);
                // From the least hash of its home, the first one that ends in
                // the bits that were kept.
                let first = least_of[(at - displacement) & FARTHEST];
                let offset = remainder.wrapping_sub(first) & kept;
                if !visit(first + offset, flags) {
                    return false;
                }
            }
        }
        true
    }
}

/// A contiguous range of hashes.
enum Segment {
    Narrow(Rows<NARROW, 0>),
    Wide(Rows<WIDE, WIDE>),
}

/// The same for both kinds of segments.
macro_rules! either {
    ($segment:expr, $rows:ident => $what:expr) => {
        match $segment {
            Segment::Narrow($rows) => $what,
            Segment::Wide($rows) => $what,
        }
    };
}

impl Segment {
    /// Whether narrow buckets take less for so many entries, all of them full, of hashes of `bits`
    /// bits.
    fn should_be_narrow(bits: u32, entries: u64) -> bool {
        let narrow = Rows::<NARROW, 0>::homes_for(bits, entries);
        narrow <= Rows::<WIDE, WIDE>::homes_for(bits, entries)
    }

    /// For so many entries. It is to be [touched](Self::touch) before it is used.
    fn new(
        budget: &Arc<MemoryBudget>,
        bits: u32,
        entries: u64,
        is_narrow: bool,
    ) -> Result<Self, OutOfMemory> {
        match is_narrow {
            true => {
                let homes = Rows::<NARROW, 0>::homes_for(bits, entries);
                Ok(Self::Narrow(Rows::new(budget, homes)?))
            }
            false => {
                let homes = Rows::<WIDE, WIDE>::homes_for(bits, entries);
                Ok(Self::Wide(Rows::new(budget, homes)?))
            }
        }
    }

    fn is_narrow(&self) -> bool {
        matches!(self, Self::Narrow(_))
    }

    /// Entries of all buckets that are a home.
    fn entries(&self) -> u64 {
        match self {
            Self::Narrow(rows) => rows.homes * NARROW as u64,
            Self::Wide(rows) => rows.homes * WIDE as u64,
        }
    }

    fn bytes(&self) -> usize {
        either!(self, rows => rows.buckets.bytes())
    }

    fn for_each(&self, bits: u32, visit: impl FnMut(u64, u8) -> bool) -> bool {
        either!(self, rows => rows.for_each(bits, visit))
    }

    /// Makes the pages be there.
    fn touch(&self) {
        either!(self, rows => rows.buckets.touch());
    }

    /// Fills another segment, which has more room and was not touched, with the same; if that has not
    /// room enough, a larger one.
    fn copied_into(
        &self,
        mut larger: Self,
        budget: &Arc<MemoryBudget>,
        bits: u32,
    ) -> Result<Self, OutOfMemory> {
        loop {
            larger.touch();
            let fits = either!(&larger, rows => self.for_each(bits, |hash, flags| {
                rows.add(place(hash << (64 - bits), rows.homes), hash, flags)
            }));
            if fits {
                return Ok(larger);
            }
            let entries = larger.entries() + larger.entries() / 8 + 1;
            let is_narrow = larger.is_narrow();
            drop(larger);
            larger = Self::new(budget, bits, entries, is_narrow)?;
        }
    }
}

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
            .collect::<Result<Box<[_]>, _>>()?;
        segments.iter().for_each(Segment::touch);
        let Ok(segments) = segments.try_into() else {
            unreachable!("there are as many as were made");
        };
        let mut table = Self {
            permutation,
            segments,
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
        prefetch(bucket);
        Some(bucket)
    }

    /// Finds or adds the keys of all items, in order; `tell` hears of their flags, and of whether
    /// they are new. Says for how many there was room. Keys are in the high bits, with zeros below.
    #[inline]
    pub(crate) fn insert_all<K>(
        &self,
        items: &[K],
        key: impl Fn(&K) -> u64,
        tell: impl FnMut(&K, u8, bool),
    ) -> usize {
        match self.segments.first() {
            Some(Segment::Narrow(_)) => self.insert_as(items, key, tell, |segment| match segment {
                Segment::Narrow(rows) => Some(rows),
                Segment::Wide(_) => None,
            }),
            _ => self.insert_as(items, key, tell, |segment| match segment {
                Segment::Wide(rows) => Some(rows),
                Segment::Narrow(_) => None,
            }),
        }
    }

    /// The same where most segments are of a kind.
    #[inline(always)]
    fn insert_as<'t, K, const ENTRIES: usize, const BETWEEN: usize>(
        &'t self,
        items: &[K],
        key: impl Fn(&K) -> u64,
        mut tell: impl FnMut(&K, u8, bool),
        rows_of: impl Fn(&'t Segment) -> Option<&'t Rows<ENTRIES, BETWEEN>>,
    ) -> usize {
        let below = 64 - self.permutation.bits();
        let mut fetched = [(0, None); Self::TOGETHER];
        let mut done = 0;
        for items in items.chunks(Self::TOGETHER) {
            let fetched = &mut fetched[..items.len()];
            // All are fetched before any is looked at.
            for (place, item) in fetched.iter_mut().zip(items) {
                let high = self.permutation.apply_high(key(item));
                *place = (high >> below, self.fetch(high, &rows_of));
            }
            for (at, ((hash, bucket), item)) in fetched.iter().copied().zip(items).enumerate() {
                // Where a home that comes soon is full, what is not there is in the next bucket.
                if let Some((_, Some(soon))) = fetched.get(at + Self::SOON) {
                    soon.prefetch_next_if_full();
                }
                let entry = Bucket::<ENTRIES, BETWEEN>::entry(hash, 0);
                let at_home = bucket.map(|bucket| bucket.find_or_add(entry));
                let found = match at_home {
                    Some(Some(found)) => Some(found),
                    Some(None) => self.find_or_add_displaced(hash),
                    None => self.find_or_add(hash),
                };
                let Some((flags, is_new)) = found else {
                    return done;
                };
                tell(item, flags.load(Ordering::SeqCst) & FLAGS, is_new);
                done += 1;
            }
        }
        done
    }

    /// So many keys before its turn a home is looked at for the first time.
    const SOON: usize = 6;

    /// Keys that are fetched together.
    const TOGETHER: usize = 64;

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

    /// Lets its smallest segments grow by `factor`, as many at a time as there are `threads` to help.
    ///
    /// The segments have about the same number of entries and, except where all of them grow
    /// together, sizes that are spread between one and `factor`: the table as a whole becomes larger
    /// little by little, and its free space is the same at any time.
    ///
    /// On failure some segments may have grown; the table stays as it was
    /// otherwise, and can be used on.
    pub(crate) fn grow(&mut self, factor: f64, threads: usize) -> Result<(), OutOfMemory> {
        let bits = self.permutation.bits() - SEGMENT_BITS;
        let budget = Arc::clone(&self.budget);
        let threads = if self.bytes() < PARALLEL_FROM {
            1
        } else {
            threads.max(1)
        };
        let steps = self.segments.len().div_ceil(threads) as i32;
        let step = factor.powf(1.0 / f64::from(steps));
        let least = self.least_entries() as f64;
        // Lookups are best at segments of one kind: if it changes, all of them grow.
        let is_narrow = Segment::should_be_narrow(bits, (least * step) as u64);
        let mut smallest: Vec<&mut Segment> = self.segments.iter_mut().collect();
        // What is less than half a step larger is as large.
        smallest.retain(|segment| {
            segment.is_narrow() != is_narrow || segment.entries() as f64 <= least * step.sqrt()
        });
        let mut groups: Vec<&mut [&mut Segment]> = smallest.chunks_mut(threads).collect();
        let mut wanted = least * step.powi(steps - groups.len() as i32);
        let result = groups.iter_mut().try_for_each(|group| {
            wanted *= step;
            let larger = |segment: &Segment| {
                let entries = (wanted as u64).max(segment.entries() + 1);
                Segment::new(&budget, bits, entries, is_narrow)
            };
            // Who maps or unmaps memory keeps all others from getting pages of theirs: all segments that
            // grow together are mapped before, and given back after, any of them is filled. Otherwise 16
            // threads were no faster than four.
            let grow = |group: &mut [&mut Segment]| {
                let pairs = group.iter().map(|old| Ok((&**old, Some(larger(old)?))));
                let mut pairs = pairs.collect::<Result<Vec<_>, OutOfMemory>>()?;
                each_in_parallel(&mut pairs, threads, |(old, new)| {
                    if let Some(larger) = new.take() {
                        *new = Some(old.copied_into(larger, &budget, bits)?);
                    }
                    Ok(())
                })?;
                let grown: Vec<Option<Segment>> = pairs.into_iter().map(|(_, new)| new).collect();
                for (old, new) in group.iter_mut().zip(grown) {
                    if let Some(new) = new {
                        **old = new;
                    }
                }
                Ok(())
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
                Err(NoRoom) => self.grow(1.1, 1)?,
            }
        };
        self.set_flags(hash, flags);
        Ok(is_new)
    }

    /// Changes the width of keys, with the help of `threads` threads. `rewrite` turns an old key
    /// into a new one.
    ///
    /// Old and new table exist together for the time of this pass. It is rare:
    /// a tree does it when its node ids outgrow 22 bits, and again a few times.
    pub(crate) fn widen(
        &mut self,
        bits: u32,
        threads: usize,
        rewrite: impl Fn(u64) -> u64 + Sync,
    ) -> Result<(), OutOfMemory> {
        let inner = self.permutation.bits() - SEGMENT_BITS;
        let mut capacity = self.limit;
        loop {
            let wider = Self::new(&self.budget, bits, capacity)?;
            let mut segments: Vec<(usize, &Segment)> = self.segments.iter().enumerate().collect();
            let copied = each_in_parallel(&mut segments, threads, |(number, segment)| {
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

/// Applies `work` to all items, on several threads if asked to. Stops at the
/// first error.
fn each_in_parallel<T: Send, E: Send>(
    items: &mut [T],
    threads: usize,
    work: impl Fn(&mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if threads <= 1 {
        return items.iter_mut().try_for_each(work);
    }
    let queue = Mutex::new(items.iter_mut());
    let run = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            match next {
                Some(item) => work(item)?,
                None => return Ok(()),
            }
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let own = run();
        helpers
            .into_iter()
            .fold(own, |result, helper| match helper.join() {
                Ok(outcome) => result.and(outcome),
                Err(panic) => std::panic::resume_unwind(panic),
            })
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            crate::hash::hash_pair(state)
        })
    }

    #[test]
    fn behaves_like_a_map_while_it_grows_and_widens() {
        // Wide entries only; wide and narrow ones in turn.
        for (bits, wider) in [(48, 56), (36, 40)] {
            let kinds = grow_and_widen(bits, wider);
            assert_eq!(kinds, [bits == 36, true], "of {bits} bits");
        }
    }

    /// Says whether there were ever narrow entries, and wide ones.
    fn grow_and_widen(bits: u32, wider: u32) -> [bool; 2] {
        let budget = MemoryBudget::unlimited();
        let mut table = QuotientTable::new(&budget, bits, 0).unwrap();
        let mut kinds = [false; 2];
        let mut model: HashMap<u64, u8> = HashMap::new();
        let mut random = numbers(7);
        for step in 0..60_000u64 {
            let key =
                (random.next().unwrap() % 40_000) | ((random.next().unwrap() % 3) << (bits - 3));
            kinds[usize::from(matches!(table.segments[0], Segment::Wide(_)))] = true;
            let (flags, new) = loop {
                match table.insert(table.hash(key)) {
                    Ok(found) => break found,
                    Err(NoRoom) => table.grow(1.2, 1).unwrap(),
                }
            };
            let known = model.get(&key);
            assert_eq!((flags, new), (known.copied().unwrap_or(0), known.is_none()));
            let bits = (random.next().unwrap() % 64) as u8;
            let before = table.set_flags(table.hash(key), bits).unwrap();
            assert_eq!(before, flags);
            model.insert(key, flags | bits);
            if model.len() as u64 > table.limit() {
                table
                    .grow([1.05, 1.2, 2.0][(step % 3) as usize], 2)
                    .unwrap();
            }
            if step == 30_000 {
                table.widen(wider, 2, |key| key).unwrap();
            }
        }
        for (key, flags) in &model {
            assert_eq!(table.flags(table.hash(*key)), Some(*flags));
        }
        let mut random = numbers(8);
        for _ in 0..10_000 {
            let key = random.next().unwrap() >> (64 - wider);
            assert_eq!(table.flags(table.hash(key)), model.get(&key).copied());
        }
        let count: usize = table
            .segments
            .iter()
            .map(|segment| {
                let mut count = 0;
                segment.for_each(wider - SEGMENT_BITS, |_, _| {
                    count += 1;
                    true
                });
                count
            })
            .sum();
        assert_eq!(count, model.len());
        kinds
    }

    /// Segments grow one after the other, so that the table is about as full at any time; those of
    /// one table are of one kind.
    #[test]
    fn free_space_is_the_same_at_any_time() {
        let budget = MemoryBudget::unlimited();
        let mut table = QuotientTable::new(&budget, 36, 10_000).unwrap();
        let mut kinds = [false; 2];
        for len in 1..=200_000_u64 {
            while table.insert(table.hash(len * 3)).is_err() || len > table.limit() {
                table.grow(1.25, 1).unwrap();
            }
            if len > 20_000 && len % 1_000 == 0 {
                let is_narrow = table.segments[0].is_narrow();
                assert!(table.segments.iter().all(|s| s.is_narrow() == is_narrow));
                kinds[usize::from(is_narrow)] = true;
                let entries: u64 = table.segments.iter().map(Segment::entries).sum();
                let load = len as f64 / entries as f64;
                assert!((0.70..0.80).contains(&load), "{load} at {len}");
            }
        }
        assert_eq!(kinds, [false, true]);
    }

    #[test]
    fn fills_to_the_stated_load_before_it_runs_out_of_room() {
        let budget = MemoryBudget::unlimited();
        for bits in [36, 48] {
            let table = QuotientTable::new(&budget, bits, 100_000).unwrap();
            assert!(table.limit() >= 99_000, "{}", table.limit());
            for key in 0..table.limit() {
                table.insert(table.hash(key * 3)).unwrap();
            }
        }
    }

    #[test]
    fn a_refused_growth_keeps_everything() {
        let budget = MemoryBudget::new(600_000);
        let mut table = QuotientTable::new(&budget, 48, 10_000).unwrap();
        for key in 0..9_000u64 {
            table.insert(table.hash(key)).unwrap();
            table.set_flags(table.hash(key), key as u8 & 63);
        }
        assert!(table.grow(4.0, 1).is_err());
        for key in 0..9_000u64 {
            assert_eq!(table.flags(table.hash(key)), Some(key as u8 & 63));
        }
    }
}
