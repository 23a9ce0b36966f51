//! A net that is looked at while somebody searches it.
//!
//! The search loop answers questions about single states by labels. Largest sums, sets of fired
//! transitions and the like want to see every state, so here is a [`System`] around a net whose
//! executors show each state with its successors to a visitor, and notice steps that fail: a place
//! had more tokens than the encoding holds, and then nothing is known of what was not seen.
//!
//! What visitors collect must not depend on order or repetition: a search may expand a state
//! more than once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use stubborn_pnml::NetSystem;
use stubborn_system::{
    BitSet, Budget, Executor, FieldId, LabelId, Layout, Outcome, RelationLevel, Relations,
    Structure, Successors, System, TransitionId,
};

/// Sees a state and its successors; false if it has seen enough.
pub(crate) type Visitor<'v> = dyn FnMut(&[u32], &Successors) -> bool + Send + 'v;

/// A net with a visitor.
pub(crate) struct Watched<'w> {
    system: &'w NetSystem,
    visitor: Option<Mutex<&'w mut Visitor<'w>>>,
    interrupt: Option<&'w AtomicBool>,
    /// Set when the search should stop.
    pub(crate) stop: AtomicBool,
    overflow: AtomicBool,
}

impl<'w> Watched<'w> {
    pub(crate) fn new(
        system: &'w NetSystem,
        visitor: Option<&'w mut Visitor<'w>>,
        interrupt: Option<&'w AtomicBool>,
    ) -> Self {
        Self {
            system,
            visitor: visitor.map(Mutex::new),
            interrupt,
            stop: AtomicBool::new(false),
            overflow: AtomicBool::new(false),
        }
    }

    /// Whether a step failed, so that not everything was seen.
    pub(crate) fn has_overflown(&self) -> bool {
        self.overflow.load(Ordering::Relaxed)
    }

    fn see(&self, state: &[u32], successors: &Successors) {
        if self.system.structure().error_state.as_deref() == Some(state) {
            return;
        }
        if self.system.structure().error_state.is_some() {
            let fails = |number| successors.outcome(number) != Outcome::FINE;
            if (0..successors.len()).any(fails) {
                self.overflow.store(true, Ordering::Relaxed);
            }
        }
        if let Some(visitor) = &self.visitor {
            let mut visitor = visitor.lock().unwrap_or_else(PoisonError::into_inner);
            if !visitor(state, successors) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        if self
            .interrupt
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl System for Watched<'_> {
    fn layout(&self) -> &Layout {
        self.system.layout()
    }

    fn structure(&self) -> &Structure {
        self.system.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.system.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(WatchedExecutor {
            watched: self,
            executor: self.system.executor(),
        })
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.system.relations(level)
    }

    fn budget(&self) -> &Budget {
        self.system.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.system.value_text(field, value)
    }
}

struct WatchedExecutor<'e, 'w> {
    watched: &'e Watched<'w>,
    executor: Box<dyn Executor + 'w>,
}

impl Executor for WatchedExecutor<'_, '_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.executor.successors(state, out);
        self.watched.see(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.executor.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.executor.label(state, label)
    }

    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        self.executor.labels(state, out);
    }
}
