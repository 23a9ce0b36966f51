//! The buckets of a [`QuotientTable`](super::QuotientTable), and contiguous ranges of them.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::hash::place;
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
use crate::region::equal_lanes;
use crate::region::{Region, Zeroed, prefetch_to_write};
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
        prefetch_to_write(std::ptr::from_ref(self).wrapping_add(usize::from(is_full)));
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

    /// Gets buckets for so many entries, and does not use them.
    fn reserve(&mut self, bits: u32, entries: u64) -> Result<(), OutOfMemory> {
        let homes = Self::homes_for(bits, entries);
        self.buckets.extend(homes as usize + FARTHEST)
    }

    /// Uses all buckets that it got. Returns what [`stretch`](Self::stretch) does.
    fn use_reserve(&mut self, bits: u32) -> Vec<(u64, u8)> {
        let used = self.homes as usize + FARTHEST;
        let homes = (self.buckets.len() - FARTHEST) as u64;
        if homes <= self.homes {
            return Vec::new();
        }
        self.buckets.touch_from(used);
        self.stretch(bits, homes)
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
        for displacement in 1..FARTHEST + 1 {
            let bucket = &self.buckets[home + displacement];
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
        let mut least = LeastHashes::from_the_start(bits, self.homes);
        for (at, bucket) in self.buckets.iter().enumerate() {
            least.go_on_to(at);
            let count = bucket.header.load(Ordering::Relaxed) as usize;
            for entry in 0..count.min(ENTRIES) {
                let (displacement, remainder, flags) = bucket.read(entry);
                let hash = least.hash::<ENTRIES, BETWEEN>(at, displacement, remainder);
                if !visit(hash, flags) {
                    return false;
                }
            }
        }
        true
    }

    /// Spreads all entries over more homes, for which there are buckets. Returns those for which there
    /// is no room within reach of their home, which is next to impossible.
    ///
    /// It goes from the last bucket to the first. Homes never lie before the old ones, so that an entry
    /// moves to where everything is done, or into its own bucket, which is empty then. Only what was
    /// displaced by more than its home moves on, near the beginning, has to wait.
    fn stretch(&mut self, bits: u32, homes: u64) -> Vec<(u64, u8)> {
        let mut least = LeastHashes::from_the_end(bits, self.homes);
        let mut waiting = Vec::new();
        for at in (0..self.homes as usize + FARTHEST).rev() {
            least.go_back_to(at);
            // (Other threads may have written to it last, and processors foresee less well who goes back.)
            if let Some(soon) = at.checked_sub(16) {
                prefetch_to_write(&self.buckets[soon]);
            }
            let bucket = &self.buckets[at];
            let count = bucket.header.load(Ordering::Relaxed) as usize;
            bucket.header.store(0, Ordering::Relaxed);
            // What stays in the bucket is written where it was, or where one before it was.
            for entry in 0..count.min(ENTRIES) {
                let (displacement, remainder, flags) = bucket.read(entry);
                let hash = least.hash::<ENTRIES, BETWEEN>(at, displacement, remainder);
                let home = place(hash << (64 - bits), homes);
                if home < at || !self.add(home, hash, flags) {
                    waiting.push((hash, flags));
                }
            }
        }
        self.homes = homes;
        waiting.retain(|(hash, flags)| !self.add(place(hash << (64 - bits), homes), *hash, *flags));
        waiting
    }
}

/// The least hashes of as many neighbouring homes as entries may be displaced. That of a home is
/// `home * 2^bits / homes`, rounded up; it is kept up by addition or subtraction.
struct LeastHashes {
    homes: u64,
    /// From one home to the next, and the rest of that division.
    step: (u64, u64),
    /// Of the last home, rounded down, and the rest.
    last: (u64, u64),
    known: [u64; FARTHEST + 1],
}

impl LeastHashes {
    /// For buckets from the first one on.
    fn from_the_start(bits: u32, homes: u64) -> Self {
        Self {
            homes,
            step: ((1 << bits) / homes, (1 << bits) % homes),
            last: (0, 0),
            known: [0; FARTHEST + 1],
        }
    }

    /// For buckets from the last one back.
    fn from_the_end(bits: u32, homes: u64) -> Self {
        Self {
            last: (1 << bits, 0),
            ..Self::from_the_start(bits, homes)
        }
    }

    #[inline(always)]
    fn note(&mut self, home: usize) {
        self.known[home & FARTHEST] = self.last.0 + u64::from(self.last.1 > 0);
    }

    /// Goes on to the next bucket.
    #[inline(always)]
    fn go_on_to(&mut self, bucket: usize) {
        if bucket > 0 {
            let (least, rest) = (self.last.0 + self.step.0, self.last.1 + self.step.1);
            self.last = match rest >= self.homes {
                true => (least + 1, rest - self.homes),
                false => (least, rest),
            };
        }
        self.note(bucket);
    }

    /// Goes back to the bucket before. The first home of its entries comes into view.
    #[inline(always)]
    fn go_back_to(&mut self, bucket: usize) {
        let Some(home) = bucket.checked_sub(FARTHEST) else {
            return;
        };
        let (least, rest) = (self.last.0 - self.step.0, self.last.1);
        self.last = match rest < self.step.1 {
            true => (least - 1, rest + self.homes - self.step.1),
            false => (least, rest - self.step.1),
        };
        self.note(home);
    }

    /// The hash of an entry: from the least one of its home, the first that ends in the bits that were kept.
    #[inline(always)]
    fn hash<const ENTRIES: usize, const BETWEEN: usize>(
        &self,
        bucket: usize,
        displacement: usize,
        remainder: u64,
    ) -> u64 {
        let kept = (1 << Bucket::<ENTRIES, BETWEEN>::REMAINDER_BITS) - 1;
        let first = self.known[(bucket - displacement) & FARTHEST];
        first + (remainder.wrapping_sub(first) & kept)
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

    /// Gets room for so many entries, in buckets of a kind, which [`use_reserve`](Self::use_reserve) uses
    /// then. On failure, all is as before.
    pub(super) fn reserve(
        &mut self,
        budget: &Arc<MemoryBudget>,
        bits: u32,
        entries: u64,
        is_narrow: bool,
    ) -> Result<(), OutOfMemory> {
        if self.is_narrow() == is_narrow {
            return either!(self, rows => rows.reserve(bits, entries));
        }
        let other = Self::new(budget, bits, entries, is_narrow)?;
        *self = self.copied_into(other, budget, bits, &[])?;
        Ok(())
    }

    /// Uses the room that it got.
    pub(super) fn use_reserve(&mut self, bits: u32) {
        let left = either!(self, rows => rows.use_reserve(bits));
        if !left.is_empty() {
            self.take_left(bits, &left);
        }
    }

    /// Takes entries for which there was no room within reach of their homes: all of it is copied. Nothing
    /// is lost for want of memory. What this takes counts in no budget; it has not happened yet.
    #[cold]
    fn take_left(&mut self, bits: u32, left: &[(u64, u8)]) {
        let budget = MemoryBudget::unlimited();
        let entries = self.entries() + self.entries() / 8 + 1;
        let larger = Self::new(&budget, bits, entries, self.is_narrow());
        match larger.and_then(|larger| self.copied_into(larger, &budget, bits, left)) {
            Ok(larger) => *self = larger,
            Err(_) => std::alloc::handle_alloc_error(std::alloc::Layout::new::<Self>()),
        }
    }

    /// Fills another segment, which has more room and was not touched, with the same and some hashes and
    /// flags that are left; if that has not room enough, a larger one.
    fn copied_into(
        &self,
        mut larger: Self,
        budget: &Arc<MemoryBudget>,
        bits: u32,
        left: &[(u64, u8)],
    ) -> Result<Self, OutOfMemory> {
        loop {
            larger.touch();
            let fits = either!(&larger, rows => {
                let add = |hash: u64, flags: u8| {
                    rows.add(place(hash << (64 - bits), rows.homes), hash, flags)
                };
                self.for_each(bits, add) && left.iter().all(|(hash, flags)| add(*hash, *flags))
            });
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
