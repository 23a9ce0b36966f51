//! One memory limit for the whole search.
//!
//! Every arena and table asks the [`MemoryBudget`] before it maps memory. A
//! refusal is an ordinary error that ends the search with what it knows; it is
//! never an abort.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory limit was reached, or the system has no more memory to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that were asked for in vain.
    pub requested: usize,
    /// Bytes already handed out.
    pub used: usize,
    /// The limit, or `usize::MAX` when there is none (then the system refused).
    pub limit: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebi = |bytes: usize| bytes.div_ceil(1 << 20);
        write!(
            formatter,
            "{} MiB more were needed, {} MiB are in use",
            mebi(self.requested),
            mebi(self.used)
        )?;
        if self.limit == usize::MAX {
            write!(formatter, ", and the system has no more")
        } else {
            write!(formatter, " of a limit of {} MiB", mebi(self.limit))
        }
    }
}

impl std::error::Error for OutOfMemory {}

/// Counts the bytes that stores, queues and stacks have mapped, against a limit.
///
/// It is shared by reference counting and safe to use from all threads.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }

    /// A budget that only counts.
    pub fn unlimited() -> Arc<Self> {
        Self::new(usize::MAX)
    }

    /// Takes `bytes` from the budget, or refuses and takes nothing.
    pub fn reserve(&self, bytes: usize) -> Result<(), OutOfMemory> {
        let taken = self
            .used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.limit)
            });
        match taken {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(OutOfMemory {
                requested: bytes,
                used,
                limit: self.limit,
            }),
        }
    }

    /// Gives back `bytes` that [`reserve`](Self::reserve) granted.
    pub fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "more memory released than reserved");
    }

    /// The limit in bytes; `usize::MAX` when there is none.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes in use now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most that was ever in use.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Bytes that can still be reserved.
    pub fn remaining(&self) -> usize {
        self.limit - self.used().min(self.limit)
    }

    /// The error for a request that the budget granted but the system refused.
    #[cfg(not(loom))]
    pub(crate) fn refused_by_system(&self, requested: usize) -> OutOfMemory {
        OutOfMemory {
            requested,
            used: self.used(),
            limit: usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_takes_nothing() {
        let budget = MemoryBudget::new(100);
        budget.reserve(60).unwrap();
        let refusal = budget.reserve(41).unwrap_err();
        assert_eq!(
            (refusal.requested, refusal.used, refusal.limit),
            (41, 60, 100)
        );
        budget.reserve(40).unwrap();
        assert_eq!(budget.remaining(), 0);
        budget.release(100);
        assert_eq!((budget.used(), budget.peak()), (0, 100));
        assert!(budget.reserve(usize::MAX).is_err());
    }
}
