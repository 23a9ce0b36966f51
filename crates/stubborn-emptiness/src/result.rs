//! What comes out of a check.

use std::time::Duration;

use stubborn_search::Limit;

use crate::lasso::Counterexample;
use crate::prepare::{Prepared, ReductionOff, Soundness};
use crate::proviso::CycleProviso;
use crate::space::Counts;

/// What a check found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckVerdict {
    /// No run violates the property.
    Holds,
    /// Some run does.
    Violated,
    /// A limit was reached before.
    Unknown(Limit),
}

/// Whether a check was reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionUse {
    /// It was.
    On {
        /// The reduction, as the command line would say it.
        name: String,
        /// The proviso.
        proviso: CycleProviso,
        /// Why that is sound.
        soundness: Soundness,
    },
    /// It was not.
    Off(ReductionOff),
}

impl std::fmt::Display for ReductionUse {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::On {
                name,
                soundness: Soundness::Steered,
                ..
            } => out.write_str(name),
            Self::On { name, proviso, .. } => write!(out, "{name} --proviso {proviso}"),
            Self::Off(why) => write!(out, "none: {why}"),
        }
    }
}

/// What a check found out, and what it took.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// The answer.
    pub verdict: CheckVerdict,
    /// A violating run, replayed on the unreduced system and checked against the property.
    /// Missing for a violated property only if a limit left no room to find it again.
    pub counterexample: Option<Counterexample>,
    /// States and transitions of the product, as far as they were looked at.
    pub counts: Counts,
    /// States of the automaton in the product.
    pub automaton_states: usize,
    /// Whether there was a reduction, and why not.
    pub reduction: ReductionUse,
    /// Tables of the store at the end, with free space.
    pub store_bytes: usize,
    /// The most that store and search took at once.
    pub peak_bytes: usize,
    /// Preparing the automaton and the reduction.
    pub prepare_time: Duration,
    /// Searching.
    pub time: Duration,
    /// How often the product was walked; the counts are those of the last time.
    pub walks: u32,
}

impl CheckResult {
    /// Before anything was found out.
    pub(crate) fn unknown(prepared: &Prepared, limit: Limit) -> Self {
        Self {
            verdict: CheckVerdict::Unknown(limit),
            counterexample: None,
            counts: Counts::default(),
            automaton_states: prepared.automaton.state_count(),
            reduction: ReductionUse::Off(ReductionOff::NotAsked),
            store_bytes: 0,
            peak_bytes: 0,
            prepare_time: Duration::ZERO,
            time: Duration::ZERO,
            walks: 1,
        }
    }
}
