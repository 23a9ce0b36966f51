//! Reduction on the card: stubborn sets by closure over static rows of bits.
//!
//! Each state is looked at twice: once to see what is enabled, and once to take what a set keeps. A set is
//! grown from every enabled transition, and the smallest wins; sets are a function of the state. What
//! fails, or may fail later in the same step, keeps everything.
//!
//! Deadlocks need no more. For other questions, a state from which something was left out must lead on to
//! one that it has stored itself: one of the next level. So from everywhere a state is reached from which
//! nothing was left out, because levels end: the safety proviso that fits levels. The other
//! states are looked at a third time, when their level is through, and what was left out is taken.

use stubborn_system::ClosureRows;

use crate::Refusal;

/// Most transitions of a model that is reduced: a set lies in registers.
const MOST_TRANSITIONS: usize = 512;

/// A reduction for a card.
#[derive(Clone, Debug)]
pub struct Sets {
    /// All rows: of enabled transitions, then of labels.
    rows: Vec<u64>,
    words: usize,
    proviso: bool,
}

impl Sets {
    /// By these rows, and with a safety proviso or not.
    ///
    /// # Errors
    /// If there are too many transitions.
    pub fn new(closure: &ClosureRows, proviso: bool) -> Result<Self, Refusal> {
        let transitions = closure.enabled.len();
        if transitions > MOST_TRANSITIONS {
            return Err(Refusal::new(format!(
                "{transitions} transitions are too many for sets on a card (--por none)"
            )));
        }
        let rows = closure.enabled.iter().chain(&closure.disabled);
        Ok(Self {
            rows: rows.flat_map(|row| row.words()).copied().collect(),
            words: transitions.div_ceil(64).max(1),
            proviso,
        })
    }

    pub(crate) fn rows(&self) -> &[u64] {
        &self.rows
    }

    pub(crate) fn words(&self) -> usize {
        self.words
    }

    pub(crate) fn has_proviso(&self) -> bool {
        self.proviso
    }
}
