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
//! helps), the others the home bucket. A bucket has ten entries of 48 bits: 36
//! low bits of the hash, 6 bits of displacement, 6 flags. All keys of a bucket
//! lie in an interval no longer than 2^36, so 36 low bits tell them apart.
//!
//! Lookups are lock-free. An insertion locks its bucket for the few stores it
//! takes, and publishes the entry with the bucket's new count.

use crate::budget::{MemoryBudget, OutOfMemory};
use crate::hash::{Permutation, place};
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
use crate::region::equal_lanes;
use crate::region::{Region, Zeroed, prefetch};
use crate::sync::{AtomicU16, AtomicU32, Backoff, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Entries of a bucket.
#[cfg(not(loom))]
const ENTRIES: usize = 10;
#[cfg(loom)]
const ENTRIES: usize = 2;
/// Flag bits of an entry.
pub(crate) const FLAG_BITS: u32 = 6;
const FLAGS: u16 = (1 << FLAG_BITS) - 1;
/// The largest displacement; segments have this many buckets after the last home.
const FARTHEST: usize = (1 << DISPLACEMENT_BITS) - 1;
#[cfg(not(loom))]
const DISPLACEMENT_BITS: u32 = 6;
#[cfg(loom)]
const DISPLACEMENT_BITS: u32 = 1;
/// Low bits of the hash that an entry keeps.
const REMAINDER_BITS: u32 = 36;
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

/// One cache line: a count and a lock, the low 32 bits of the entries, and
/// their high 16 bits (remainder, displacement, flags).
#[repr(C, align(64))]
struct Bucket {
    header: AtomicU32,
    low: [AtomicU32; ENTRIES],
    high: [AtomicU16; ENTRIES],
}

// SAFETY: made of atomic integers only.
unsafe impl Zeroed for Bucket {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            header: AtomicU32::new(0),
            low: std::array::from_fn(|_| AtomicU32::new(0)),
            high: std::array::from_fn(|_| AtomicU16::new(0)),
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 64);

/// The part of a hash that an entry keeps, without displacement and flags.
#[derive(Clone, Copy)]
struct Remainder {
    low: u32,
    high: u16,
}

impl Remainder {
    #[inline(always)]
    fn of(hash: u64) -> Self {
        let above = (hash >> 32) as u16 & ((1 << (REMAINDER_BITS - 32)) - 1);
        Self {
            low: hash as u32,
            high: above << (FLAG_BITS + DISPLACEMENT_BITS),
        }
    }

    /// The high half of an entry `displacement` buckets from its home.
    #[inline(always)]
    fn displaced(self, displacement: usize) -> u16 {
        self.high | (displacement as u16) << FLAG_BITS
    }
}

impl Bucket {
    /// The entry with these halves among the first `count`.
    #[inline(always)]
    fn find(&self, count: usize, low: u32, high: u16) -> Option<&AtomicU16> {
        // All low halves are compared, without a branch that depends on where
        // the entry is: such a branch is mispredicted most of the time.
        let mut candidates = self.equal_lows(low) & ((1 << count) - 1);
        while candidates != 0 {
            let entry = self.high.get(candidates.trailing_zeros() as usize)?;
            if entry.load(Ordering::Relaxed) & !FLAGS == high {
                return Some(entry);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// A bit for each entry whose low half is `low`, and any above them.
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    #[inline(always)]
    fn equal_lows(&self, low: u32) -> u32 {
        let equal = equal_lanes(self, low);
        // The first lane is the header.
        equal >> 1
    }

    #[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
    #[inline(always)]
    fn equal_lows(&self, low: u32) -> u32 {
        let lows = self.low.iter().enumerate();
        lows.fold(0, |equal, (entry, stored)| {
            equal | u32::from(stored.load(Ordering::Relaxed) == low) << entry
        })
    }

    /// Adds an entry with nobody else around; says whether there was room.
    fn append(&self, low: u32, high: u16) -> bool {
        let count = self.header.load(Ordering::Relaxed) as usize;
        if count == ENTRIES {
            return false;
        }
        self.low[count].store(low, Ordering::Relaxed);
        self.high[count].store(high, Ordering::Relaxed);
        self.header.store(count as u32 + 1, Ordering::Relaxed);
        true
    }

    /// Finds the entry or adds it; `None` if the bucket is full without it.
    #[inline]
    fn find_or_add(&self, low: u32, high: u16) -> Option<(&AtomicU16, bool)> {
        let mut backoff = Backoff::default();
        loop {
            let header = self.header.load(Ordering::Acquire);
            let count = (header & !LOCKED) as usize;
            if let Some(entry) = self.find(count, low, high) {
                return Some((entry, false));
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
                self.low[count].store(low, Ordering::Relaxed);
                self.high[count].store(high, Ordering::Relaxed);
                self.header.store(header + 1, Ordering::Release);
                return Some((&self.high[count], true));
            }
        }
    }
}

/// A contiguous range of hashes.
struct Segment {
    /// Buckets that are a home; the region has [`FARTHEST`] more.
    homes: u64,
    buckets: Region<Bucket>,
}

impl Segment {
    fn new(budget: &Arc<MemoryBudget>, homes: u64) -> Result<Self, OutOfMemory> {
        Ok(Self {
            homes,
            buckets: Region::new_touched(budget, homes as usize + FARTHEST)?,
        })
    }

    /// Finds or adds a hash at home in the bucket `home`; `None` when there is no room
    /// within reach.
    #[inline(always)]
    fn find_or_add(&self, home: usize, remainder: Remainder) -> Option<(&AtomicU16, bool)> {
        let first = self.buckets[home].find_or_add(remainder.low, remainder.high);
        match first {
            Some(found) => Some(found),
            None => self.find_or_add_displaced(home, remainder),
        }
    }

    #[inline(never)]
    fn find_or_add_displaced(
        &self,
        home: usize,
        remainder: Remainder,
    ) -> Option<(&AtomicU16, bool)> {
        (1..=FARTHEST).find_map(|displacement| {
            let high = remainder.displaced(displacement);
            self.buckets[home + displacement].find_or_add(remainder.low, high)
        })
    }

    /// Adds a hash that is not there, with nobody else around; says whether
    /// there was room within reach.
    fn add(&self, position: u64, remainder: Remainder, flags: u16) -> bool {
        let home = place(position, self.homes);
        (0..=FARTHEST).any(|displacement| {
            let high = remainder.displaced(displacement) | flags;
            self.buckets[home + displacement].append(remainder.low, high)
        })
    }

    /// Calls `visit` with all hashes and their flags, in the order of buckets,
    /// until it says no.
    fn for_each(&self, bits: u32, mut visit: impl FnMut(u64, u16) -> bool) -> bool {
        // The least hash of a home is `home * 2^bits / homes`, rounded up. It is
        // kept up by addition, and remembered for as many homes as entries may
        // be displaced.
        let (step, step_rest) = (
            (1u128 << bits) / u128::from(self.homes),
            (1u128 << bits) % u128::from(self.homes),
        );
        let (mut least, mut rest) = (0u128, 0u128);
        let mut least_of = [0u64; FARTHEST + 1];
        for (at, bucket) in self.buckets.iter().enumerate() {
            least_of[at & FARTHEST] = (least + u128::from(rest > 0)) as u64;
            (least, rest) = (least + step, rest + step_rest);
            if rest >= u128::from(self.homes) {
                (least, rest) = (least + 1, rest - u128::from(self.homes));
            }
            let count = bucket.header.load(Ordering::Relaxed) as usize;
            for entry in 0..count.min(ENTRIES) {
                let high = bucket.high[entry].load(Ordering::Relaxed);
                let displacement = usize::from(high >> FLAG_BITS) & FARTHEST;
                let kept = u64::from(high >> (FLAG_BITS + DISPLACEMENT_BITS)) << 32
                    | u64::from(bucket.low[entry].load(Ordering::Relaxed));
                // From the least hash of its home, the first one that ends in
                // the bits that were kept.
                let first = least_of[(at - displacement) & FARTHEST];
                let offset = kept.wrapping_sub(first) & ((1 << REMAINDER_BITS) - 1);
                if !visit(first + offset, high & FLAGS) {
                    return false;
                }
            }
        }
        true
    }

    /// A copy with more homes.
    fn resized(
        &self,
        budget: &Arc<MemoryBudget>,
        bits: u32,
        homes: u64,
    ) -> Result<Self, OutOfMemory> {
        let mut homes = homes;
        loop {
            let larger = Self::new(budget, homes)?;
            let fits = self.for_each(bits, |hash, flags| {
                larger.add(hash << (64 - bits), Remainder::of(hash), flags)
            });
            if fits {
                return Ok(larger);
            }
            homes += homes / 8 + 1;
        }
    }
}

/// Where a hash is looked for first, and what is looked for there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Home {
    low: u32,
    high: u16,
    segment: u16,
    bucket: usize,
}

/// The table could not take a key before it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// A concurrent, growing set of keys of an even number of bits, with flags.
pub(crate) struct QuotientTable {
    permutation: Permutation,
    segments: Vec<Segment>,
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
        let homes = Self::homes_for(bits, capacity);
        let segments = (0..1 << SEGMENT_BITS)
            .map(|_| Segment::new(budget, homes))
            .collect::<Result<_, _>>()?;
        let mut table = Self {
            permutation,
            segments,
            budget: Arc::clone(budget),
            limit: 0,
        };
        table.set_limit();
        Ok(table)
    }

    /// Homes of a segment, such that 36 bits tell the keys of a bucket apart.
    fn homes_for(bits: u32, capacity: u64) -> u64 {
        let fewest = 1u64 << bits.saturating_sub(SEGMENT_BITS + REMAINDER_BITS);
        let wanted =
            capacity as f64 / (ENTRIES as f64 * Self::FULLEST) / f64::from(1 << SEGMENT_BITS);
        fewest.max(wanted.ceil() as u64)
    }

    fn set_limit(&mut self) {
        let homes: u64 = self.segments.iter().map(|segment| segment.homes).sum();
        self.limit = (homes as f64 * ENTRIES as f64 * Self::FULLEST) as u64;
    }

    /// The width of keys.
    pub(crate) fn bits(&self) -> u32 {
        self.permutation.bits()
    }

    /// Bytes of memory, with free space.
    pub(crate) fn bytes(&self) -> usize {
        self.segments
            .iter()
            .map(|segment| segment.buckets.bytes())
            .sum()
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
        prefetch(&segment.buckets[place(position, segment.homes)]);
    }

    /// Where `hash` is at home.
    #[inline(always)]
    pub(crate) fn home(&self, hash: u64) -> Home {
        let (segment, position) = self.locate(hash);
        let Remainder { low, high } = Remainder::of(hash);
        Home {
            low,
            high,
            segment: self.segment_of(hash) as u16,
            bucket: place(position, segment.homes),
        }
    }

    /// Tells where keys are at home, and starts to fetch that.
    #[inline(always)]
    pub(crate) fn fetcher(&self) -> impl Fn(u64) -> Home + '_ {
        // Copies that nobody writes to.
        let (permutation, segments) = (self.permutation, &self.segments[..]);
        move |key| {
            let hash = permutation.apply(key);
            let aligned = hash << (64 - permutation.bits());
            let number = (aligned >> (64 - SEGMENT_BITS)) as usize;
            let segment = &segments[number];
            let bucket = place(aligned << SEGMENT_BITS, segment.homes);
            prefetch(&segment.buckets[bucket]);
            let Remainder { low, high } = Remainder::of(hash);
            Home {
                low,
                high,
                segment: number as u16,
                bucket,
            }
        }
    }

    /// Finds the key that belongs here, as was found out after the last growth, or adds it;
    /// tells its flags and whether it is new.
    #[inline(always)]
    pub(crate) fn insert(&self, home: Home) -> Result<(u8, bool), NoRoom> {
        let Home { low, high, .. } = home;
        let segment = &self.segments[usize::from(home.segment)];
        let (entry, new) = segment
            .find_or_add(home.bucket, Remainder { low, high })
            .ok_or(NoRoom)?;
        Ok(((entry.load(Ordering::SeqCst) & FLAGS) as u8, new))
    }

    /// The flags' word of the key with this hash.
    #[inline]
    fn entry(&self, hash: u64) -> Option<&AtomicU16> {
        let (segment, position) = self.locate(hash);
        let home = place(position, segment.homes);
        let remainder = Remainder::of(hash);
        for displacement in 0..=FARTHEST {
            let bucket = &segment.buckets[home + displacement];
            let count = (bucket.header.load(Ordering::Acquire) & !LOCKED) as usize;
            let found = bucket.find(count, remainder.low, remainder.displaced(displacement));
            if found.is_some() || count < ENTRIES {
                return found;
            }
        }
        None
    }

    /// The flags of the key with this hash, if it is there.
    #[inline]
    pub(crate) fn flags(&self, hash: u64) -> Option<u8> {
        Some((self.entry(hash)?.load(Ordering::SeqCst) & FLAGS) as u8)
    }

    /// Sets flags, and returns those before.
    #[inline]
    pub(crate) fn set_flags(&self, hash: u64, flags: u8) -> Option<u8> {
        let before = self
            .entry(hash)?
            .fetch_or(u16::from(flags) & FLAGS, Ordering::SeqCst);
        Some((before & FLAGS) as u8)
    }

    /// Clears flags, and returns those before.
    #[inline]
    pub(crate) fn clear_flags(&self, hash: u64, flags: u8) -> Option<u8> {
        let before = self
            .entry(hash)?
            .fetch_and(!(u16::from(flags) & FLAGS), Ordering::SeqCst);
        Some((before & FLAGS) as u8)
    }

    /// The number of entries from which on the table should grow. It can take
    /// some more, until [`insert`](Self::insert) finds no room.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Grows by `factor`, with the help of `threads` threads.
    ///
    /// On failure some segments may have grown; the table stays as it was
    /// otherwise, and can be used on.
    pub(crate) fn grow(&mut self, factor: f64, threads: usize) -> Result<(), OutOfMemory> {
        let bits = self.permutation.bits() - SEGMENT_BITS;
        let budget = Arc::clone(&self.budget);
        let threads = if self.bytes() < PARALLEL_FROM {
            1
        } else {
            threads
        };
        let grow = |segment: &mut Segment| {
            let homes = ((segment.homes as f64 * factor) as u64).max(segment.homes + 1);
            *segment = segment.resized(&budget, bits, homes)?;
            Ok(())
        };
        let result = each_in_parallel(&mut self.segments, threads, grow);
        self.set_limit();
        result
    }

    /// Calls `visit` with the hashes of all keys and their flags, until it says no.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u64, u8) -> bool) {
        let inner = self.permutation.bits() - SEGMENT_BITS;
        for (number, segment) in self.segments.iter().enumerate() {
            let goes_on = segment.for_each(inner, |hash, flags| {
                visit((number as u64) << inner | hash, flags as u8)
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
            match self.insert(self.home(hash)) {
                Ok((_, is_new)) => break is_new,
                Err(NoRoom) => self.grow(1.1, 1)?,
            }
        };
        self.set_flags(hash, flags);
        Ok(is_new)
    }

    /// Changes the width of keys. `rewrite` turns an old key into a new one.
    ///
    /// Old and new table exist together for the time of this pass. It is rare:
    /// a tree does it when its node ids outgrow 24 bits, and again a few times.
    pub(crate) fn widen(
        &mut self,
        bits: u32,
        rewrite: impl Fn(u64) -> u64,
    ) -> Result<(), OutOfMemory> {
        let mut capacity = self.limit;
        loop {
            let wider = Self::new(&self.budget, bits, capacity)?;
            let mut fits = true;
            for (number, segment) in self.segments.iter().enumerate() {
                let inner = self.permutation.bits() - SEGMENT_BITS;
                fits &= segment.for_each(inner, |hash, flags| {
                    let key = rewrite(self.permutation.invert((number as u64) << inner | hash));
                    let hash = wider.hash(key);
                    let (target, position) = wider.locate(hash);
                    target.add(position, Remainder::of(hash), flags)
                });
            }
            if fits {
                *self = wider;
                return Ok(());
            }
            capacity += capacity / 8;
        }
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
        let budget = MemoryBudget::unlimited();
        let mut table = QuotientTable::new(&budget, 48, 0).unwrap();
        let mut model: HashMap<u64, u8> = HashMap::new();
        let mut random = numbers(7);
        for step in 0..60_000u64 {
            let key = (random.next().unwrap() % 40_000) | ((random.next().unwrap() % 3) << 45);
            let (flags, new) = loop {
                match table.insert(table.home(table.hash(key))) {
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
                table.widen(56, |key| key).unwrap();
            }
        }
        for (key, flags) in &model {
            assert_eq!(table.flags(table.hash(*key)), Some(*flags));
        }
        let mut random = numbers(8);
        for _ in 0..10_000 {
            let key = random.next().unwrap() >> 8;
            assert_eq!(table.flags(table.hash(key)), model.get(&key).copied());
        }
        let count: usize = table
            .segments
            .iter()
            .map(|segment| {
                let mut count = 0;
                segment.for_each(56 - SEGMENT_BITS, |_, _| {
                    count += 1;
                    true
                });
                count
            })
            .sum();
        assert_eq!(count, model.len());
    }

    #[test]
    fn fills_to_the_stated_load_before_it_runs_out_of_room() {
        let budget = MemoryBudget::unlimited();
        let table = QuotientTable::new(&budget, 48, 100_000).unwrap();
        assert!(table.limit() >= 99_000, "{}", table.limit());
        for key in 0..table.limit() {
            table.insert(table.home(table.hash(key * 3))).unwrap();
        }
    }

    #[test]
    fn a_refused_growth_keeps_everything() {
        let budget = MemoryBudget::new(600_000);
        let mut table = QuotientTable::new(&budget, 48, 10_000).unwrap();
        for key in 0..9_000u64 {
            table.insert(table.home(table.hash(key))).unwrap();
            table.set_flags(table.hash(key), key as u8 & 63);
        }
        assert!(table.grow(4.0, 1).is_err());
        for key in 0..9_000u64 {
            assert_eq!(table.flags(table.hash(key)), Some(key as u8 & 63));
        }
    }
}
