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

/// Requests of so many bytes are checked against what the whole process uses.
const LARGE: usize = 1 << 20;

/// Counts the bytes that stores, queues and stacks have mapped, against a limit.
///
/// It is shared by reference counting and safe to use from all threads.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    /// Most bytes of the whole process, and how many it uses.
    process: Option<(usize, fn() -> usize)>,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            process: None,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }

    /// A budget of at most `limit` bytes, and of no more than are left when the whole process
    /// may have `most`: what it has now is not to be had, and whatever it takes beside, as
    /// `gauge` tells, is seen before a table grows.
    pub fn within_process(limit: usize, most: usize, gauge: fn() -> usize) -> Arc<Self> {
        if gauge() > most / 8 {
            trim();
        }
        Arc::new(Self {
            limit: limit.min(most.saturating_sub(gauge())),
            process: Some((most, gauge)),
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
        if bytes >= LARGE
            && let Some((most, gauge)) = self.process
        {
            let mut used = gauge();
            if used.saturating_add(bytes) > most {
                trim();
                used = gauge();
            }
            if used.saturating_add(bytes) > most {
                return Err(OutOfMemory {
                    requested: bytes,
                    used,
                    limit: most,
                });
            }
        }
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
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

    /// Bytes that can still be reserved, as far as is known.
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

/// Makes the allocator give back what it keeps for later: after a large analysis that is much, and
/// a table needs it more.
#[cfg(all(target_os = "linux", target_env = "gnu", not(loom)))]
fn trim() {
    // SAFETY: it may be called at any time, on any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(loom))))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_uses_beside_counts() {
        use std::sync::atomic::AtomicUsize;

        static PROCESS: AtomicUsize = AtomicUsize::new(30 << 20);
        let gauge = || PROCESS.load(Ordering::Relaxed);
        let budget = MemoryBudget::within_process(usize::MAX, 100 << 20, gauge);
        assert_eq!(budget.limit(), 70 << 20);
        assert!(budget.reserve(71 << 20).is_err());
        budget.reserve(20 << 20).unwrap();
        PROCESS.store(90 << 20, Ordering::Relaxed);
        let refusal = budget.reserve(11 << 20).unwrap_err();
        assert_eq!((refusal.used, refusal.limit), (90 << 20, 100 << 20));
        assert_eq!(budget.used(), 20 << 20, "a refusal takes nothing");
        budget.reserve(10 << 20).unwrap();
        let small = MemoryBudget::within_process(5, 100 << 20, gauge);
        assert_eq!(small.limit(), 5);
        let none = MemoryBudget::within_process(usize::MAX, 1, gauge);
        assert!(none.reserve(1).is_err());
    }

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
