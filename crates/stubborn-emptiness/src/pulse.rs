//! What every space does while it is walked: look at limits, and report progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stubborn_search::{Limit, Limits, Progress};
use stubborn_store::{MemoryBudget, Store, StoreError};
use stubborn_system::Budget;

use crate::gate::Gate;
use crate::space::{Counts, Edge};

/// How often limits are looked at, in nodes.
const LOOK_EVERY: u64 = 64;

/// How often the observer is called.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// What the store and the clock are for one walk.
pub(crate) struct Surroundings<'a> {
    pub(crate) store: &'a Store,
    pub(crate) memory: &'a Arc<MemoryBudget>,
    /// Of the system.
    pub(crate) budget: &'a Budget,
    pub(crate) limits: Limits<'a>,
    /// Where to wait for more states, instead of ending at their limit.
    pub(crate) gate: Option<&'a Gate>,
    /// When the walk began, or the first of several.
    pub(crate) started: Instant,
    pub(crate) observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// Keeps a walk within its limits.
pub(crate) struct Pulse<'a> {
    surroundings: Surroundings<'a>,
    last_report: (Duration, u64),
    /// At the moment.
    most_states: u64,
    /// When limits were looked at last, by states.
    looked: u64,
    granted: usize,
    /// With more states than these the walk stops once, as at a limit.
    pub(crate) stop_once: Option<u64>,
    /// Set when the walk should pause; only of one that can.
    pub(crate) pause: Option<&'a AtomicBool>,
}

impl<'a> Pulse<'a> {
    pub(crate) fn new(surroundings: Surroundings<'a>) -> Self {
        Self {
            // At a gate, one asks at once.
            most_states: match surroundings.gate {
                Some(_) => 0,
                None => surroundings.limits.states.unwrap_or(u64::MAX),
            },
            looked: 0,
            surroundings,
            last_report: Default::default(),
            granted: 0,
            stop_once: None,
            pause: None,
        }
    }

    /// Another thread reports progress.
    pub(crate) fn forget_observer(&mut self) {
        self.surroundings.observer = None;
    }

    /// Called for every node, with the bytes that are taken besides the store.
    #[inline]
    pub(crate) fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        // Several nodes may be entered at once.
        let now = counts.states.saturating_sub(1) / LOOK_EVERY;
        match counts.states % LOOK_EVERY == 1 || now != self.looked {
            true => self.look_around(bytes, counts),
            false => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn look_around(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        self.looked = counts.states.saturating_sub(1) / LOOK_EVERY;
        let around = &self.surroundings;
        let limits = &around.limits;
        if counts.states > self.most_states {
            let gate = around.gate.ok_or(Limit::States)?;
            self.most_states = gate.pass(counts.states)?;
        }
        if self.stop_once.is_some_and(|most| counts.states > most) {
            self.stop_once = None;
            return Err(Limit::States);
        }
        if self.pause.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Limit::Interrupted);
        }
        let interrupt = limits.interrupt;
        if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Limit::Interrupted);
        }
        if bytes > self.granted {
            let more = bytes - self.granted;
            around.memory.reserve(more).map_err(|_| Limit::Memory)?;
            self.granted = bytes;
        }
        let now = Instant::now();
        if let Some(spent) = around.budget.poll_at(now) {
            return Err(spent.into());
        }
        let elapsed = now.saturating_duration_since(around.started);
        if limits.time.is_some_and(|longest| elapsed > longest) {
            return Err(Limit::Time);
        }
        if let Some(observer) = around.observer
            && elapsed - self.last_report.0 >= REPORT_EVERY
        {
            let seconds = (elapsed - self.last_report.0).as_secs_f64();
            let new = counts.states.saturating_sub(self.last_report.1);
            self.last_report = (elapsed, counts.states);
            observer(&Progress {
                states: counts.states,
                transitions: counts.transitions,
                queue: around.store.len().saturating_sub(counts.states),
                depth: counts.depth,
                memory: around.memory.used(),
                elapsed,
                states_per_second: new as f64 / seconds,
            });
        }
        Ok(())
    }
}

impl Drop for Pulse<'_> {
    fn drop(&mut self) {
        self.surroundings.memory.release(self.granted);
    }
}

/// What it means for a walk that a store takes no more.
pub(crate) fn limit_of(error: StoreError) -> Limit {
    match error {
        StoreError::OutOfMemory(_) => Limit::Memory,
        StoreError::Full => Limit::StoreFull,
    }
}

/// Among how many neighbours equal edges are looked for.
pub(crate) const SAME: usize = 32;

/// Appends an edge of the node whose edges begin at `first`, and says whether it was not
/// there yet.
///
/// Some provisos take the second of two equal edges for a new danger. Only neighbours are
/// compared: long lists of edges must not cost their square.
#[inline]
pub(crate) fn append_once(edge: Edge, first: usize, out: &mut Vec<Edge>) -> bool {
    let recent = out.len().saturating_sub(SAME).max(first);
    let is_new = !out[recent..].contains(&edge);
    if is_new {
        out.push(edge);
    }
    is_new
}
