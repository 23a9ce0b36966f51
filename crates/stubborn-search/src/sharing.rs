//! How the threads of a depth-first search share work.
//!
//! A thread that has nothing left says that it is hungry. A busy one then hands over copies
//! of the successors that wait at the bottom of its stack, where the largest parts of the
//! graph are still to be explored, with the way to them. It does not take them off its own
//! stack: whoever enters a state first marks it in the store, and the other one will find
//! the mark. So stacks stay private, and nothing is locked while there is work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::control::{Control, Halt};
use crate::memory::Words;

/// Work for another thread.
pub(crate) struct Packet {
    /// Entries of states, maybe entered meanwhile.
    pub(crate) entries: Words,
    /// Steps to them.
    pub(crate) depth: u64,
    /// The way to their common predecessor; `None` for initial states.
    pub(crate) origin: Option<Arc<Origin>>,
}

/// The way to a state: that of the packet it was found from, then entries of a stack.
pub(crate) struct Origin {
    parent: Option<Arc<Origin>>,
    path: Words,
}

impl Origin {
    pub(crate) fn new(parent: Option<Arc<Origin>>, path: Words) -> Arc<Self> {
        Arc::new(Self { parent, path })
    }

    /// Entries from an initial state on.
    pub(crate) fn collect(origin: Option<&Arc<Origin>>) -> Vec<u64> {
        let mut parts = Vec::new();
        let mut at = origin;
        while let Some(origin) = at {
            parts.push(origin.path.as_slice());
            at = origin.parent.as_ref();
        }
        parts.into_iter().rev().flatten().copied().collect()
    }
}

impl Drop for Origin {
    /// Not recursively: chains can be long.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(origin) = parent {
            parent = Arc::into_inner(origin).and_then(|mut last| last.parent.take());
        }
    }
}

/// Where packets change hands.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
    /// Threads that wait and for which there is no packet.
    hungry: AtomicUsize,
}

#[derive(Default)]
struct State {
    packets: Vec<Packet>,
    /// Threads that take part.
    threads: usize,
    /// Threads that have nothing to do.
    waiting: usize,
    is_over: bool,
}

impl Pool {
    /// Called by a thread before it takes or gives: it takes part.
    pub(crate) fn join(&self) {
        self.lock().threads += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread waits in vain.
    #[inline]
    pub(crate) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    fn publish(&self, state: &State) {
        let hungry = state.waiting.saturating_sub(state.packets.len());
        self.hungry.store(hungry, Ordering::Relaxed);
    }

    /// Hands over a packet.
    pub(crate) fn give(&self, packet: Packet) {
        let mut state = self.lock();
        state.packets.push(packet);
        self.publish(&state);
        self.changed.notify_one();
    }

    /// Waits for a packet; `None` when all threads that take part wait, or must stop.
    /// Meanwhile `look_around` is called now and then.
    pub(crate) fn take(
        &self,
        control: &Control<'_>,
        mut look_around: impl FnMut() -> Result<(), Halt>,
    ) -> Option<Packet> {
        let mut state = self.lock();
        state.waiting += 1;
        loop {
            if state.is_over || look_around().is_err() || control.go_on().is_err() {
                break;
            }
            if let Some(packet) = state.packets.pop() {
                state.waiting -= 1;
                self.publish(&state);
                return Some(packet);
            }
            if state.waiting == state.threads {
                break;
            }
            self.publish(&state);
            let waited = self.changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_over = true;
        self.changed.notify_all();
        None
    }
}
