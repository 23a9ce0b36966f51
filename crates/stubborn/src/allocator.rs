//! A setting of the system's allocator that makes loading large models faster.

/// Lets all threads allocate from the heap of the first one, which grows in large steps.
///
/// All work is done on another thread than the first (it needs a larger stack). The GNU
/// allocator would give that thread a heap of its own, which grows page by page, with a
/// system call each: a quarter of the time to load a model of two megabytes. Threads of a
/// search hardly allocate, so that sharing costs them nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share_one_heap() {
    const STEP: libc::c_int = 4 << 20;
    // SAFETY: parameters of the allocator, set while there is only one thread. Failure is
    // harmless: the allocator keeps its defaults.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}

/// Other allocators need nothing.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_one_heap() {}
