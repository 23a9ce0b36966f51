//! The buckets of a [`QuotientTable`](super::QuotientTable), and contiguous ranges of them.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::hash::place;
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
use crate::region::equal_lanes;
use crate::region::{Region, Zeroed, prefetch};
use crate::sync::{AtomicU8, AtomicU32, Backoff, Ordering};
use std::sync::Arc;

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
pub(super) const FLAGS: u8 = (1 << FLAG_BITS) - 1;
/// The largest displacement; segments have this many buckets after the last home.
const FARTHEST: usize = (1 << DISPLACEMENT_BITS) - 1;
#[cfg(not(loom))]
const DISPLACEMENT_BITS: u32 = 6;
#[cfg(loom)]
const DISPLACEMENT_BITS: u32 = 1;
/// Bit of a bucket's header: somebody is inserting.
const LOCKED: u32 = 1 << 31;

/// One cache line: the low 32 bits of the entries, their highest two bits with the flags, the
/// eight bits between if there are such, and a count with a lock.
#[repr(C, align(64))]
pub(super) struct Bucket<const ENTRIES: usize, const BETWEEN: usize> {
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
pub(super) struct Entry {
    low: u32,
    between: u8,
    high: u8,
}

impl<const ENTRIES: usize, const BETWEEN: usize> Bucket<ENTRIES, BETWEEN> {
    /// Low bits of the hash that an entry keeps.
    const REMAINDER_BITS: u32 = 34 - 6 + Self::BETWEEN_BITS;
    const BETWEEN_BITS: u32 = if BETWEEN == 0 { 0 } else { 8 };

    #[inline(always)]
    pub(super) fn entry(hash: u64, displacement: usize) -> Entry {
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
    pub(super) fn prefetch_next_if_full(&self) {
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
    pub(super) fn find_or_add(&self, entry: Entry) -> Option<(&AtomicU8, bool)> {
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
pub(super) struct Rows<const ENTRIES: usize, const BETWEEN: usize> {
    /// Buckets that are a home; the region has [`FARTHEST`] more.
    pub(super) homes: u64,
    pub(super) buckets: Region<Bucket<ENTRIES, BETWEEN>>,
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
    pub(super) fn find_or_add(&self, home: usize, hash: u64) -> Option<(&AtomicU8, bool)> {
        let first = self.buckets[home].find_or_add(Bucket::<ENTRIES, BETWEEN>::entry(hash, 0));
        match first {
            Some(found) => Some(found),
            None => self.find_or_add_displaced(home, hash),
        }
    }

    /// Finds or adds a hash whose home is full without it.
    pub(super) fn find_or_add_displaced(
        &self,
        home: usize,
        hash: u64,
    ) -> Option<(&AtomicU8, bool)> {
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
    pub(super) fn find(&self, home: usize, hash: u64) -> Option<&AtomicU8> {
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
pub(super) enum Segment {
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

pub(super) use either;

impl Segment {
    /// Whether narrow buckets take less for so many entries, all of them full, of hashes of `bits`
    /// bits.
    pub(super) fn should_be_narrow(bits: u32, entries: u64) -> bool {
        let narrow = Rows::<NARROW, 0>::homes_for(bits, entries);
        narrow <= Rows::<WIDE, WIDE>::homes_for(bits, entries)
    }

    /// For so many entries. It is to be [touched](Self::touch) before it is used.
    pub(super) fn new(
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

    pub(super) fn is_narrow(&self) -> bool {
        matches!(self, Self::Narrow(_))
    }

    /// Entries of all buckets that are a home.
    pub(super) fn entries(&self) -> u64 {
        match self {
            Self::Narrow(rows) => rows.homes * NARROW as u64,
            Self::Wide(rows) => rows.homes * WIDE as u64,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        either!(self, rows => rows.buckets.bytes())
    }

    pub(super) fn for_each(&self, bits: u32, visit: impl FnMut(u64, u8) -> bool) -> bool {
        either!(self, rows => rows.for_each(bits, visit))
    }

    /// Makes the pages be there.
    pub(super) fn touch(&self) {
        either!(self, rows => rows.buckets.touch());
    }

    /// Fills another segment, which has more room and was not touched, with the same; if that has not
    /// room enough, a larger one.
    pub(super) fn copied_into(
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
