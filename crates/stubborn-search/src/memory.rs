//! Memory of queues and stacks, counted against the same budget as the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stubborn_store::{MemoryBudget, OutOfMemory};

/// What queues, stacks and logs take from the budget, and the most they ever took.
#[derive(Debug)]
pub(crate) struct Ledger {
    budget: Arc<MemoryBudget>,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Ledger {
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Arc<Self> {
        Arc::new(Self {
            budget,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }

    /// The most that was ever in use at once, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// What is in use, in bytes.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Asks the budget for memory that is not in [`Words`].
    pub(crate) fn take(&self, bytes: usize) -> Result<(), OutOfMemory> {
        self.budget.reserve(bytes)?;
        let now = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        Ok(())
    }

    /// Returns such memory.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.release(bytes);
    }

    /// Bytes that are left, as far as is known.
    pub(crate) fn room(&self) -> usize {
        self.budget.remaining()
    }

    /// Whether there is room for so many bytes that are taken for a short while only.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        /// What there always is.
        const SMALL: usize = 8 << 20;
        let taken = bytes <= SMALL || self.budget.reserve(bytes).is_ok();
        if taken && bytes > SMALL {
            self.budget.release(bytes);
        }
        taken
    }

    /// The error for memory that the budget granted and the system refused.
    fn refused(&self, requested: usize) -> OutOfMemory {
        OutOfMemory {
            requested,
            used: self.budget.used(),
            limit: usize::MAX,
        }
    }
}

/// A vector of 64-bit words that asks the budget before it grows.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<u64>,
    granted: usize,
    ledger: Arc<Ledger>,
}

impl Words {
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Self {
        Self {
            words: Vec::new(),
            granted: 0,
            ledger: Arc::clone(ledger),
        }
    }

    /// With room for exactly so many words from the start.
    pub(crate) fn with_capacity(ledger: &Arc<Ledger>, words: usize) -> Result<Self, OutOfMemory> {
        let mut this = Self::new(ledger);
        this.grow_to(words)?;
        Ok(this)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many more words fit without asking.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.words.capacity() - self.words.len()
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.words
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub(crate) fn push(&mut self, word: u64) -> Result<(), OutOfMemory> {
        if self.room() == 0 {
            self.grow(1)?;
        }
        self.words.push(word);
        Ok(())
    }

    #[inline]
    pub(crate) fn extend(&mut self, words: &[u64]) -> Result<(), OutOfMemory> {
        if self.room() < words.len() {
            self.grow(words.len())?;
        }
        self.words.extend_from_slice(words);
        Ok(())
    }

    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.words.truncate(len);
    }

    #[cold]
    fn grow(&mut self, extra: usize) -> Result<(), OutOfMemory> {
        let needed = self.words.len() + extra;
        let wanted = needed.max(self.words.capacity() / 2 * 3).max(64);
        match self.grow_to(wanted) {
            // Near the limit, take only what is needed now and a little more.
            Err(_) => self.grow_to(needed + needed / 64),
            done => done,
        }
    }

    fn grow_to(&mut self, capacity: usize) -> Result<(), OutOfMemory> {
        let more = (capacity * 8).saturating_sub(self.granted);
        self.ledger.take(more)?;
        self.granted += more;
        let extra = capacity - self.words.len();
        if self.words.try_reserve_exact(extra).is_err() {
            self.granted -= more;
            self.ledger.give_back(more);
            return Err(self.ledger.refused(more));
        }
        Ok(())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.ledger.give_back(self.granted);
    }
}

/// The most memory that this process ever had resident, if the system tells.
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_within_the_budget_and_give_it_back() {
        let budget = MemoryBudget::new(10_000);
        let ledger = Ledger::new(Arc::clone(&budget));
        let mut words = Words::new(&ledger);
        let refused_at = (0..).find(|i| words.push(*i).is_err());
        // Not much is lost to growing by half.
        assert!(
            refused_at.is_some_and(|n| n > 1000 && n <= 1250),
            "{refused_at:?}"
        );
        assert_eq!(words.as_slice()[700], 700);
        drop(words);
        assert_eq!(budget.used(), 0);
        assert!(ledger.peak() <= 10_000);
    }
}
