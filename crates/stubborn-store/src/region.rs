//! Zeroed memory for tables and arenas, taken from the [`MemoryBudget`].
//!
//! Large regions come from `mmap`: anonymous, committed page by page when they
//! are first touched, and extended by `mremap` where the system has it (Linux:
//! pages move, bytes do not). Regions of several megabytes ask for huge pages.
//! Small regions, and all of them on systems without `mmap`, come from the
//! allocator; extending those copies, so that both sizes exist for a moment.
//!
//! This is the only module that deals in raw memory.

use crate::budget::{MemoryBudget, OutOfMemory};
use std::ops::Deref;
use std::sync::Arc;

/// Marks types for which all-zero bytes are a value, and which need no drop.
///
/// # Safety
/// Zeroed memory must be a valid value, the type must not implement `Drop`, and
/// must not have size zero.
pub(crate) unsafe trait Zeroed: Send + Sync {
    /// The all-zero value (loom's atomics cannot be made from zeroed memory).
    #[cfg(loom)]
    fn zeroed() -> Self;
}

macro_rules! zeroed_atomics {
    ($($atomic:ident),*) => { $(
        // SAFETY: an atomic integer has the layout of its integer, and no drop.
        unsafe impl Zeroed for crate::sync::$atomic {
            #[cfg(loom)]
            fn zeroed() -> Self { Self::new(0) }
        }
    )* };
}
zeroed_atomics!(AtomicU8, AtomicU32, AtomicU64);

/// Compares the first twelve 32-bit lanes of a cache line of atomic integers with `value`: a
/// bit for each that is equal. Each is read as by a relaxed load.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
#[inline(always)]
pub(crate) fn equal_lanes<T: Zeroed>(line: &T, value: u32) -> u32 {
    const { assert!(size_of::<T>() >= 48 && align_of::<T>() >= 16) }
    let equal: u32;
    // SAFETY: reads the first 48 bytes of `line`, which are there and aligned. Other threads may
    // write them, by atomic stores of aligned integers of at most 32 bits: aligned vector loads
    // read each of those whole. The compiler sees neither a race nor what is read.
    unsafe {
        std::arch::asm!(
            "movd {wanted}, {value:e}",
            "pshufd {wanted}, {wanted}, 0",
            "movdqa {first}, [{line}]",
            "movdqa {second}, [{line} + 16]",
            "movdqa {third}, [{line} + 32]",
            "pcmpeqd {first}, {wanted}",
            "pcmpeqd {second}, {wanted}",
            "pcmpeqd {third}, {wanted}",
            "packssdw {first}, {second}",
            "packssdw {third}, {third}",
            "packsswb {first}, {third}",
            "pmovmskb {equal:e}, {first}",
            line = in(reg) line,
            value = in(reg) value,
            wanted = out(xmm_reg) _,
            first = out(xmm_reg) _,
            second = out(xmm_reg) _,
            third = out(xmm_reg) _,
            equal = lateout(reg) equal,
            options(nostack, readonly, preserves_flags),
        );
    }
    equal & 0xFFF
}

#[cfg(not(loom))]
pub(crate) use real::Region;

#[cfg(not(loom))]
mod real {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    /// Below this many bytes the allocator is used.
    const MAP_FROM: usize = 128 << 10;
    /// From this many bytes on, huge pages are asked for.
    #[cfg(target_os = "linux")]
    const HUGE_FROM: usize = 2 << 20;
    const PAGE: usize = 4096;

    /// A zeroed slice of shared memory that counts against a budget.
    pub(crate) struct Region<T: Zeroed> {
        start: NonNull<T>,
        len: usize,
        bytes: usize,
        mapped: bool,
        budget: Arc<MemoryBudget>,
    }

    // SAFETY: a region owns its memory as a `Box<[T]>` would.
    unsafe impl<T: Zeroed> Send for Region<T> {}
    // SAFETY: as above; `T: Sync` by the bound on `Zeroed`.
    unsafe impl<T: Zeroed> Sync for Region<T> {}

    impl<T: Zeroed> Region<T> {
        /// `len` zeroed elements, at least one.
        pub(crate) fn new(budget: &Arc<MemoryBudget>, len: usize) -> Result<Self, OutOfMemory> {
            let len = len.max(1);
            let (bytes, mapped) = Self::footprint(len);
            budget.reserve(bytes)?;
            let start = if mapped {
                system::map(bytes)
            } else {
                layout_for::<T>(bytes).and_then(allocate)
            };
            match start {
                Some(start) => Ok(Self {
                    start: start.cast(),
                    len,
                    bytes,
                    mapped,
                    budget: Arc::clone(budget),
                }),
                None => {
                    budget.release(bytes);
                    Err(budget.refused_by_system(bytes))
                }
            }
        }

        /// Makes the pages of some elements be there, of a table that is about to be filled all over.
        ///
        /// Who looks before he writes gets the system's page of zeros first and a page
        /// of his own with the write; taking the first one away interrupts all other
        /// threads. That was a quarter of the time of two threads.
        pub(crate) fn touch_range(&self, elements: std::ops::Range<usize>) {
            let page_of = |element: usize| element.min(self.len) * size_of::<T>() / PAGE * PAGE;
            let end = match elements.end < self.len {
                true => page_of(elements.end),
                false => self.bytes,
            };
            let begin = page_of(elements.start);
            if self.mapped && begin < end {
                // SAFETY: this is a part, of whole pages, of a live mapping made by `map`.
                unsafe { system::touch(self.start.cast().add(begin), end - begin) };
            }
        }

        /// Makes the pages be there.
        pub(crate) fn touch(&self) {
            self.touch_range(0..self.len);
        }

        /// Makes the pages of elements from `first` on be there.
        pub(crate) fn touch_from(&self, first: usize) {
            self.touch_range(first..self.len);
        }

        /// Bytes a region of `len` elements takes from the budget.
        fn footprint(len: usize) -> (usize, bool) {
            let exact = len.saturating_mul(size_of::<T>());
            let mapped = system::CAN_MAP && exact >= MAP_FROM;
            let bytes = if mapped {
                exact.checked_next_multiple_of(PAGE).unwrap_or(exact)
            } else {
                exact
            };
            (bytes, mapped)
        }

        /// Extends the region to `len` elements; the old ones keep their values.
        pub(crate) fn extend(&mut self, len: usize) -> Result<(), OutOfMemory> {
            if len <= self.len {
                return Ok(());
            }
            let (bytes, mapped) = Self::footprint(len);
            if self.mapped && mapped && system::CAN_REMAP {
                self.budget.reserve(bytes - self.bytes)?;
                // SAFETY: `start` and `bytes` describe a live mapping made by `map`.
                match unsafe { system::remap(self.start.cast(), self.bytes, bytes) } {
                    Some(start) => {
                        (self.start, self.len, self.bytes) = (start.cast(), len, bytes);
                        Ok(())
                    }
                    None => {
                        self.budget.release(bytes - self.bytes);
                        Err(self.budget.refused_by_system(bytes))
                    }
                }
            } else {
                let larger = Self::new(&self.budget, len)?;
                // SAFETY: both regions are live, distinct, and at least
                // `self.len` long; `&mut self` excludes other accesses.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        self.start.as_ptr(),
                        larger.start.as_ptr(),
                        self.len,
                    );
                }
                *self = larger;
                Ok(())
            }
        }

        /// Bytes taken from the budget.
        pub(crate) fn bytes(&self) -> usize {
            self.bytes
        }
    }

    impl<T: Zeroed> Deref for Region<T> {
        type Target = [T];

        #[inline(always)]
        fn deref(&self) -> &[T] {
            // SAFETY: `start` points at `len` elements, zeroed at first (valid by
            // `Zeroed`) and only written through shared `T`s since.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
        }
    }

    impl<T: Zeroed> Drop for Region<T> {
        fn drop(&mut self) {
            if self.mapped {
                // SAFETY: a live mapping of exactly this extent, dropped once.
                unsafe { system::unmap(self.start.cast(), self.bytes) };
            } else {
                if let Some(layout) = layout_for::<T>(self.bytes) {
                    // SAFETY: allocated with the same layout, dropped once.
                    unsafe { dealloc(self.start.as_ptr().cast(), layout) };
                }
            }
            self.budget.release(self.bytes);
        }
    }

    /// Cache-line alignment, so that a bucket is one line.
    fn layout_for<T>(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes, align_of::<T>().max(64)).ok()
    }

    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the layout has non-zero size: at least one element that is
        // not of size zero by `Zeroed`.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    #[cfg(unix)]
    mod system {
        use std::ptr::NonNull;

        pub(super) const CAN_MAP: bool = true;
        pub(super) const CAN_REMAP: bool = cfg!(target_os = "linux");

        /// Fresh zeroed pages.
        pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
            // SAFETY: an anonymous private mapping at an address of the
            // system's choice touches no existing memory.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return None;
            }
            advise(start, bytes);
            NonNull::new(start.cast())
        }

        /// Asks for huge pages where the region is large; failure is harmless.
        fn advise(start: *mut libc::c_void, bytes: usize) {
            #[cfg(target_os = "linux")]
            if bytes >= super::HUGE_FROM {
                // SAFETY: advice on a mapping of our own changes no contents.
                unsafe { libc::madvise(start, bytes, libc::MADV_HUGEPAGE) };
            }
            #[cfg(not(target_os = "linux"))]
            let _ = (start, bytes);
        }

        /// Commits the pages of a mapping; failure is harmless.
        ///
        /// # Safety
        /// `start` and `bytes` describe a live mapping made by [`map`].
        pub(super) unsafe fn touch(start: NonNull<u8>, bytes: usize) {
            #[cfg(target_os = "linux")]
            // SAFETY: guaranteed by the caller; it changes no contents.
            unsafe {
                libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE)
            };
            #[cfg(not(target_os = "linux"))]
            let _ = (start, bytes);
        }

        /// Extends a mapping, moving it if need be.
        ///
        /// # Safety
        /// `start` and `old` describe a live mapping made by [`map`], which must
        /// not be used under its old address any more if this succeeds.
        pub(super) unsafe fn remap(
            start: NonNull<u8>,
            old: usize,
            new: usize,
        ) -> Option<NonNull<u8>> {
            #[cfg(target_os = "linux")]
            {
                // SAFETY: guaranteed by the caller.
                let moved =
                    unsafe { libc::mremap(start.as_ptr().cast(), old, new, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED {
                    return None;
                }
                advise(moved, new);
                NonNull::new(moved.cast())
            }
            #[cfg(not(target_os = "linux"))]
            {
                let _ = (start, old, new);
                None
            }
        }

        /// Gives a mapping back.
        ///
        /// # Safety
        /// `start` and `bytes` describe a live mapping that is not used again.
        pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
            // SAFETY: guaranteed by the caller. It cannot fail for a whole mapping.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    }

    #[cfg(not(unix))]
    mod system {
        use std::ptr::NonNull;

        pub(super) const CAN_MAP: bool = false;
        pub(super) const CAN_REMAP: bool = false;

        pub(super) fn map(_bytes: usize) -> Option<NonNull<u8>> {
            None
        }

        /// # Safety
        /// Never called: nothing is mapped.
        pub(super) unsafe fn touch(_start: NonNull<u8>, _bytes: usize) {}

        /// # Safety
        /// Never called: nothing is mapped.
        pub(super) unsafe fn remap(
            _start: NonNull<u8>,
            _old: usize,
            _new: usize,
        ) -> Option<NonNull<u8>> {
            None
        }

        /// # Safety
        /// Never called: nothing is mapped.
        pub(super) unsafe fn unmap(_start: NonNull<u8>, _bytes: usize) {}
    }
}

/// Under loom a region is a boxed slice of loom's own atomics.
#[cfg(loom)]
pub(crate) struct Region<T: Zeroed> {
    elements: Vec<T>,
    bytes: usize,
    budget: Arc<MemoryBudget>,
}

#[cfg(loom)]
impl<T: Zeroed> Region<T> {
    pub(crate) fn new(budget: &Arc<MemoryBudget>, len: usize) -> Result<Self, OutOfMemory> {
        let bytes = len * size_of::<T>();
        budget.reserve(bytes)?;
        let elements = (0..len).map(|_| T::zeroed()).collect();
        Ok(Self {
            elements,
            bytes,
            budget: Arc::clone(budget),
        })
    }

    pub(crate) fn touch_range(&self, _elements: std::ops::Range<usize>) {}

    pub(crate) fn touch(&self) {}

    pub(crate) fn touch_from(&self, _first: usize) {}

    pub(crate) fn extend(&mut self, len: usize) -> Result<(), OutOfMemory> {
        let more = len.saturating_sub(self.elements.len());
        self.budget.reserve(more * size_of::<T>())?;
        self.bytes += more * size_of::<T>();
        self.elements.extend((0..more).map(|_| T::zeroed()));
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(loom)]
impl<T: Zeroed> Deref for Region<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

#[cfg(loom)]
impl<T: Zeroed> Drop for Region<T> {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

/// Brings the cache line of `element`, which need not be one, closer, for a later access.
#[inline(always)]
pub fn prefetch<T>(element: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a prefetch has no architectural effect, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(element.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = element;
}

/// The same for a line that is likely to be written: no other processor has it then. A line that was
/// fetched to be read and is written afterwards goes to and fro between processors once more, and the
/// second time nothing hides that.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(element: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a prefetch has no architectural effect, whatever the address; a processor that does not
    // know the instruction takes it for one that does nothing. (The intrinsic function becomes the other
    // prefetch where nobody promises that the processor knows it.)
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) element,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = element;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn extending_keeps_values_and_zeroes_the_rest() {
        let budget = MemoryBudget::unlimited();
        let mut region = Region::<AtomicU32>::new(&budget, 10).unwrap();
        // Crosses from the allocator to mapped memory, to remapped, to huge pages.
        for len in [10usize, 1_000, 40_000, 100_000, 3_000_000] {
            region.extend(len).unwrap();
            assert_eq!(region.len(), len);
            assert_eq!(budget.used(), region.bytes());
            for index in [0, len / 3, len - 1] {
                region[index].fetch_add(1, Ordering::Relaxed);
            }
        }
        assert_eq!(region[0].load(Ordering::Relaxed), 5);
        assert_eq!(region[9].load(Ordering::Relaxed), 1);
        assert_eq!(region[1_000_001].load(Ordering::Relaxed), 0);
        drop(region);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_refused_extension_leaves_the_region_as_it_was() {
        let budget = MemoryBudget::new(1 << 20);
        let mut region = Region::<AtomicU32>::new(&budget, 100_000).unwrap();
        region[99_999].store(7, Ordering::Relaxed);
        assert!(region.extend(1 << 20).is_err());
        assert_eq!(region.len(), 100_000);
        assert_eq!(region[99_999].load(Ordering::Relaxed), 7);
        assert!(Region::<AtomicU32>::new(&budget, usize::MAX).is_err());
    }
}
