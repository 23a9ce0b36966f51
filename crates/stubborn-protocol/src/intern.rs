//! Values as small numbers: a set that many threads add to and read from.
//!
//! Reading is wait-free, adding takes a lock of one of several shards. Which number a value gets
//! depends on who comes first, so nothing that anybody sees may depend on numbers: they are
//! equal exactly if the values are, and that is all.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rapidhash::fast::SeedableState;

/// Values are stored in blocks of growing size, so that they never move.
const FIRST_BLOCK_BITS: u32 = 8;
const BLOCKS: usize = 33 - FIRST_BLOCK_BITS as usize;
const SHARDS: usize = 16;

type Block<T> = OnceLock<Box<[OnceLock<T>]>>;

/// Numbers by hash: open addressing, never deletes.
#[derive(Default)]
struct Shard {
    /// Half a hash, and the number plus one; 0 where there is none.
    slots: Vec<u64>,
    len: usize,
}

impl Shard {
    /// Where a number with this hash is that fits, or else where it would be.
    fn find(&self, half: u32, fits: impl Fn(u32) -> bool) -> std::result::Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = half as usize & mask;
        loop {
            match self.slots[at] {
                0 => return Err(at),
                slot if slot >> 32 == u64::from(half) && fits(slot as u32 - 1) => {
                    return Ok(slot as u32 - 1);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Room for one more.
    fn grow(&mut self) {
        if self.len * 4 < self.slots.len() * 3 {
            return;
        }
        let larger = (2 * self.slots.len()).max(4);
        let old = std::mem::replace(&mut self.slots, vec![0; larger]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            if let Err(at) = self.find((slot >> 32) as u32, |_| false) {
                self.slots[at] = slot;
            }
        }
    }
}

/// A set of values with numbers from 0 on.
pub(crate) struct Interner<T> {
    blocks: [Block<T>; BLOCKS],
    next: AtomicU32,
    shards: Vec<Mutex<Shard>>,
}

/// The same in every run and on every machine, so that orders made by it are.
pub(crate) fn stable_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    SeedableState::fixed().hash_one(value)
}

/// Which block a number lies in, and where.
fn place(number: u32) -> (usize, usize) {
    let shifted = u64::from(number) + (1 << FIRST_BLOCK_BITS);
    let block = 63 - shifted.leading_zeros() - FIRST_BLOCK_BITS;
    let start = 1_u64 << (block + FIRST_BLOCK_BITS);
    (block as usize, (shifted - start) as usize)
}

impl<T: Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Self {
            blocks: [const { OnceLock::new() }; BLOCKS],
            next: AtomicU32::new(0),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of a value, a new one if the value is.
    pub(crate) fn intern(&self, value: T) -> u32 {
        self.intern_with(stable_hash(&value), value, PartialEq::eq, |value| value)
    }

    /// The same for what a value is made from where there is none yet: with its hash, and what it
    /// is recognised by.
    pub(crate) fn intern_with<S>(
        &self,
        hash: u64,
        source: S,
        is_it: impl Fn(&T, &S) -> bool,
        make: impl FnOnce(S) -> T,
    ) -> u32 {
        let shard = &self.shards[(hash >> 60) as usize % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.grow();
        let slot = match shard.find(hash as u32, |number| is_it(self.get(number), &source)) {
            Ok(number) => return number,
            Err(slot) => slot,
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (block, at) = place(number);
        let size = 1_usize << (block as u32 + FIRST_BLOCK_BITS);
        let block = self.blocks[block].get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        let _ = block[at].set(make(source));
        shard.slots[slot] = (hash & 0xffff_ffff) << 32 | (u64::from(number) + 1);
        shard.len += 1;
        number
    }

    /// The value of a number that this set gave out.
    pub(crate) fn get(&self, number: u32) -> &T {
        let (block, at) = place(number);
        let value = self.blocks[block].get().and_then(|block| block[at].get());
        value.expect("a number of this set")
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.next.load(Ordering::Relaxed) as usize
    }
}

impl<T: Copy + Eq + Hash> Interner<Box<[T]>> {
    /// The number of a slice.
    pub(crate) fn intern_slice(&self, slice: &[T]) -> u32 {
        self.intern_with(
            stable_hash(slice),
            slice,
            |known, slice| **known == **slice,
            |slice| slice.into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_numbers_on_all_threads() {
        let set: Interner<u64> = Interner::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let set = &set;
                scope.spawn(move || {
                    for value in 0..3_000_u64 {
                        let value = (value * 7 + thread * 13) % 2_000;
                        let number = set.intern(value);
                        assert_eq!(*set.get(number), value);
                    }
                });
            }
        });
        assert_eq!(set.len(), 2_000);
    }

    #[test]
    fn blocks_cover_all_numbers() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(255), (0, 255));
        assert_eq!(place(256), (1, 0));
        assert_eq!(place(u32::MAX).0, BLOCKS - 1);
    }
}
