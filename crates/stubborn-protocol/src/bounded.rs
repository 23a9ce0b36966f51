//! A protocol for one check: with a budget of its own, and within a boundary.
//!
//! Values of local states, messages and inboxes are kept outside the store of states, so limits on
//! memory are those of the process: what the check may add to what is in use when it begins.

use std::sync::atomic::{AtomicBool, Ordering};

use stubborn_search::Limits;
use stubborn_system::budget::resident_bytes;
use stubborn_system::{
    BitSet, Budget, Executor, FieldId, LabelId, Layout, Outcome, RelationLevel, Relations,
    Structure, Successors, System, TransitionId,
};

use crate::model::Core;
use crate::property::Holds;
use crate::symmetry::Symmetric;

/// See the [module](self).
pub(crate) struct Bounded<'m> {
    pub(crate) model: &'m Core,
    pub(crate) symmetric: Option<&'m Symmetric<'m>>,
    pub(crate) boundary: Option<&'m Holds>,
    /// Whether anything was cut off.
    pub(crate) cut: AtomicBool,
    budget: Budget,
}

/// Of the memory that is free, for checks that say nothing about it.
const SHARE_OF_MEMORY: f64 = 0.75;

fn gauge() -> usize {
    resident_bytes().unwrap_or(0)
}

/// Memory that is free without pushing others out, if the system tells.
fn free_memory() -> Option<usize> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

impl<'m> Bounded<'m> {
    pub(crate) fn new(
        model: &'m Core,
        symmetric: Option<&'m Symmetric<'m>>,
        boundary: Option<&'m Holds>,
        limits: &Limits<'_>,
    ) -> Self {
        let outer = model.budget();
        let time = [limits.time, outer.time_left()].into_iter().flatten().min();
        let free = || free_memory().map(|free| (free as f64 * SHARE_OF_MEMORY) as usize);
        let own = limits.memory.or_else(|| match outer.memory() {
            Some(_) => None,
            None => free(),
        });
        let own = own.map(|most| gauge().saturating_add(most));
        let most = [own, outer.memory().map(|(most, _)| most)];
        let most = most.into_iter().flatten().min();
        let budget = Budget::unlimited().with_time(time).with_memory(most, gauge);
        if outer.spent().is_some() {
            budget.stop();
        }
        Self {
            model,
            symmetric,
            boundary,
            cut: AtomicBool::new(false),
            budget,
        }
    }

    /// Whether steps are taken from a state.
    pub(crate) fn is_inside(&self, state: &[u32]) -> bool {
        let is_error = || self.model.structure().error_state.as_deref() == Some(state);
        self.boundary
            .is_none_or(|boundary| boundary(&self.model.inner, state) || is_error())
    }

    fn system(&self) -> &dyn System {
        match self.symmetric {
            Some(symmetric) => symmetric,
            None => self.model,
        }
    }
}

impl System for Bounded<'_> {
    fn layout(&self) -> &Layout {
        self.system().layout()
    }

    fn structure(&self) -> &Structure {
        self.system().structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.system().initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let executor = self.system().executor();
        match self.boundary {
            None => executor,
            Some(_) => Box::new(Within {
                executor,
                bounded: self,
            }),
        }
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        match self.symmetric {
            Some(symmetric) => symmetric.relations(level),
            None => self.model.relations_within(level, &self.budget),
        }
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.system().value_text(field, value)
    }
}

/// Takes no step outside the boundary but one that changes nothing: what is there is no end of a run.
struct Within<'b> {
    executor: Box<dyn Executor + 'b>,
    bounded: &'b Bounded<'b>,
}

/// The step that is taken outside, whatever it would do.
const STAYS: usize = 0;

impl Within<'_> {
    fn is_inside(&self, state: &[u32]) -> bool {
        let inside = self.bounded.is_inside(state);
        if !inside {
            self.bounded.cut.store(true, Ordering::Relaxed);
        }
        inside
    }
}

impl Executor for Within<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        match self.is_inside(state) {
            true => self.executor.successors(state, out),
            false => out.push(TransitionId::new(STAYS), state, state, Outcome::FINE),
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        match self.is_inside(state) {
            true => self.executor.fire(state, transition, out),
            false if transition.index() == STAYS => {
                out.push(TransitionId::new(STAYS), state, state, Outcome::FINE)
            }
            false => {}
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.executor.label(state, label)
    }

    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        self.executor.labels(state, out);
    }
}
