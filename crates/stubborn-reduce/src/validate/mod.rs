//! Checks reductions by their definition, not by how they are computed.
//!
//! A model checker that misses a bug is worthless, and partial-order reduction is where they
//! do. So what the algorithms claim is tested on the model itself, with its real code:
//!
//! - [`sets`]: at a state, all paths of transitions outside the chosen set are explored, and
//!   the conditions that the question asks for are checked on them (Laarman et al. 2014,
//!   section 7.9, extended by D1' of Neele, Valmari, Willemse 2020, by V and I, and by goals);
//! - [`claims`]: every relation is an approximation that a state can refute: both orders are
//!   run, labels are compared before and after;
//! - [`outcomes`]: what the reduced search finds must be what the full one finds.
//!
//! [`validate`] does all of it, on all states of a small model, on a sample of a large one.

pub mod claims;
pub mod explore;
mod graph;
pub mod outcomes;
pub mod report;
pub mod sets;

use stubborn_system::{Reducer, Reduction, Relations, System};

use crate::aim::Plan;
use crate::config::ConfigError;
use crate::reducer::StubbornReduction;

pub use report::{Fault, Report, Violation};

/// A reduction that can be told not to remember sets, so that both ways can be compared.
pub trait Forgetful: Reduction {
    /// A worker that computes every set anew; chooses what any other worker chooses.
    fn forgetful(&self) -> Box<dyn Reducer + '_>;
}

impl Forgetful for StubbornReduction {
    fn forgetful(&self) -> Box<dyn Reducer + '_> {
        self.forgetful_reducer()
    }
}

/// How much to check.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A model with at most this many states is checked everywhere.
    pub exhaustive_states: usize,
    /// Of a larger one, this many states.
    pub sampled_states: usize,
    /// At one state, look at no more than this many states around it.
    pub states_around: usize,
    /// Beside reachable states, so many random ones to refute relations in. Only for relations
    /// that do not argue with what is reachable.
    pub random_states: usize,
    /// Stop after so many violations.
    pub violations: usize,
    /// For the sample.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            exhaustive_states: 3_000,
            sampled_states: 1_000,
            states_around: 20_000,
            random_states: 0,
            violations: 10,
            seed: 0,
        }
    }
}

/// Checks relations, sets and outcomes of a reduction.
pub fn validate(
    system: &dyn System,
    relations: &Relations,
    plan: &Plan,
    limits: &Limits,
) -> Result<Report, ConfigError> {
    let reduction = StubbornReduction::new(system, relations, plan.clone())?;
    let mut report = Report::default();
    let states = explore::sample(system, limits);
    report.exhaustive = states.complete;
    claims::refute(system, relations, &states.states, limits, &mut report);
    let visible = reduction.visible();
    sets::check(
        system,
        &reduction,
        plan,
        &visible,
        &states.states,
        limits,
        &mut report,
    );
    if states.complete {
        outcomes::compare(system, &reduction, plan, &mut report);
    }
    Ok(report)
}
