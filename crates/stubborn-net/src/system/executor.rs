//! Successors and labels of a net, straight from the tables.

use stubborn_system::{BitSet, Executor, LabelId, Outcome, Successors, TransitionId};

use crate::formula::{Atom, Formula, IntExpr};
use crate::net::Tokens;
use crate::system::tables::{Overflow, Tables};
use crate::system::{FirstOverflow, Meaning};

/// The worker of one thread.
pub(super) struct NetExecutor<'s> {
    tables: &'s Tables,
    meanings: &'s [Meaning],
    error_state: Option<&'s [u32]>,
    /// Told when a step fails.
    overflow: &'s FirstOverflow,
    enabled: Vec<u32>,
}

impl<'s> NetExecutor<'s> {
    pub(super) fn new(
        tables: &'s Tables,
        meanings: &'s [Meaning],
        error_state: Option<&'s [u32]>,
        overflow: &'s FirstOverflow,
    ) -> Self {
        Self {
            tables,
            meanings,
            error_state,
            overflow,
            enabled: Vec::new(),
        }
    }

    fn push(&self, state: &[u32], transition: u32, out: &mut Successors) {
        let id = TransitionId::new(transition as usize);
        if let (Some(Overflow(site)), Some(error)) = (
            self.tables.overflow(state, transition as usize),
            self.error_state,
        ) {
            self.overflow.note(transition, site);
            out.push(id, state, error, Outcome::failure(site as usize));
            return;
        }
        let (words, changed) = out.push_copy(id, state);
        self.tables.apply(transition as usize, words, changed);
    }

    fn holds(&mut self, state: &[u32], meaning: &Meaning) -> bool {
        match meaning {
            Meaning::AtLeast(place, threshold) => {
                self.tables.tokens(state, *place) >= Tokens::from(*threshold)
            }
            Meaning::Below(place, threshold) => {
                !self.tables.is_failed(state)
                    && self.tables.tokens(state, *place) < Tokens::from(*threshold)
            }
            // The state that stands for a failed step has no marking to speak of.
            Meaning::Formula(formula) => {
                !self.tables.is_failed(state) && self.formula(state, formula)
            }
        }
    }

    fn formula(&mut self, state: &[u32], formula: &Formula) -> bool {
        match formula {
            Formula::Atom(atom) => self.atom(state, atom),
            Formula::Not(inner) => !self.formula(state, inner),
            Formula::And(parts) => parts.iter().all(|part| self.formula(state, part)),
            Formula::Or(parts) => parts.iter().any(|part| self.formula(state, part)),
            // Labels are state formulas, see `NetSystem::add_label`.
            Formula::Next(_) | Formula::Globally(_) | Formula::Finally(_) | Formula::Until(..) => {
                false
            }
        }
    }

    fn atom(&mut self, state: &[u32], atom: &Atom) -> bool {
        let tables = self.tables;
        let value = |number: &IntExpr| number.value(&|place| tables.tokens(state, place));
        match atom {
            Atom::Constant(value) => *value,
            Atom::Compare(op, left, right) => op.holds(value(left), value(right)),
            Atom::Fireable(transitions) => transitions
                .iter()
                .any(|t| tables.is_enabled(state, t.index())),
            Atom::Deadlock => {
                tables.enabled(state, &mut self.enabled);
                self.enabled.is_empty()
            }
        }
    }
}

impl Executor for NetExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.tables.is_failed(state) {
            return;
        }
        let mut enabled = std::mem::take(&mut self.enabled);
        self.tables.enabled(state, &mut enabled);
        for &transition in &enabled {
            self.push(state, transition, out);
        }
        self.enabled = enabled;
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if !self.tables.is_failed(state) && self.tables.is_enabled(state, transition.index()) {
            self.push(state, transition.index() as u32, out);
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        let meanings = self.meanings;
        self.holds(state, &meanings[label.index()])
    }

    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        let meanings = self.meanings;
        for (index, meaning) in meanings.iter().enumerate() {
            let holds = self.holds(state, meaning);
            out.assign(index, holds);
        }
    }
}
