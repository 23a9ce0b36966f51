//! Threads that wait between the levels of a breadth-first search.
//!
//! Not a barrier of fixed size: a thread joins when it is ready, so that the search starts
//! at once, goes on with fewer threads if the system gives no more, and does not hang if one
//! fails to start.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Team {
    state: Mutex<State>,
    /// A level was begun, or there will be no more.
    begun: Condvar,
    /// The last helper is done with a level.
    done: Condvar,
}

#[derive(Default)]
struct State {
    helpers: usize,
    busy: usize,
    /// Levels begun with helpers.
    round: u64,
    is_over: bool,
}

/// A thread's place in the team: the last round it knows of.
pub(crate) struct Place(u64);

impl Team {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by a helper: it takes part from the next level on.
    pub(crate) fn join(&self) -> Place {
        let mut state = self.lock();
        state.helpers += 1;
        Place(state.round)
    }

    /// Called by a helper: waits for a level; false if there are no more.
    pub(crate) fn wait_for_level(&self, place: &mut Place) -> bool {
        let state = self.lock();
        let state = self
            .begun
            .wait_while(state, |s| s.round == place.0 && !s.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        place.0 = state.round;
        !state.is_over
    }

    /// Called by a helper: it is done with the level.
    pub(crate) fn level_done(&self) {
        let mut state = self.lock();
        state.busy -= 1;
        if state.busy == 0 {
            self.done.notify_one();
        }
    }

    /// Called by the leader: wakes the helpers.
    pub(crate) fn begin_level(&self) {
        let mut state = self.lock();
        state.busy = state.helpers;
        state.round += 1;
        self.begun.notify_all();
    }

    /// Called by the leader: waits for the helpers.
    pub(crate) fn end_level(&self) {
        let state = self.lock();
        drop(
            self.done
                .wait_while(state, |s| s.busy > 0)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Called by the leader: there are no more levels.
    pub(crate) fn dismiss(&self) {
        self.lock().is_over = true;
        self.begun.notify_all();
    }
}
