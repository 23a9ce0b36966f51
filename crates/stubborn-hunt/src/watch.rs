//! Which targets are hit in a state or by a step.

use stubborn_search::{Found, Target};
use stubborn_system::{Executor, FailureKind, Outcome, Structure, Successors, TransitionId};

/// What is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Watch<'a> {
    structure: &'a Structure,
    targets: &'a [Target],
    looks_at_outcomes: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(structure: &'a Structure, targets: &'a [Target]) -> Self {
        let of_steps = |target: &Target| matches!(target, Target::Errors | Target::Assertions);
        Self {
            structure,
            targets,
            looks_at_outcomes: targets.iter().any(of_steps),
        }
    }

    /// The first target that is hit in a state, or by one of its steps; with its number.
    pub(crate) fn look(
        &self,
        executor: &mut dyn Executor,
        state: &[u32],
        successors: &Successors,
    ) -> Option<(usize, Option<(TransitionId, Outcome)>)> {
        let bad_step = match self.looks_at_outcomes && !successors.all_fine() {
            true => self.bad_step(successors),
            false => None,
        };
        if bad_step.is_some() {
            return bad_step;
        }
        let hit = |target: &Target| match target {
            Target::Deadlock => successors.is_empty(),
            Target::InvalidEnd => {
                let valid = self.structure.valid_end;
                successors.is_empty() && !valid.is_some_and(|label| executor.label(state, label))
            }
            Target::Label(label) => executor.label(state, *label),
            Target::Errors | Target::Assertions => false,
        };
        self.targets.iter().position(hit).map(|at| (at, None))
    }

    fn bad_step(
        &self,
        successors: &Successors,
    ) -> Option<(usize, Option<(TransitionId, Outcome)>)> {
        for step in successors.iter() {
            for site in step.outcome.sites(self.structure) {
                let target = match site.kind {
                    FailureKind::Assertion => Target::Assertions,
                    kind if kind.is_error() => Target::Errors,
                    _ => continue,
                };
                if let Some(at) = self.targets.iter().position(|t| *t == target) {
                    return Some((at, Some((step.transition, step.outcome))));
                }
            }
        }
        None
    }

    /// What was hit, as a search describes it.
    pub(crate) fn found(
        &self,
        (at, step): (usize, Option<(TransitionId, Outcome)>),
        length: usize,
        state: &[u32],
    ) -> Found {
        Found {
            target: self.targets[at],
            count: 1,
            length: length as u64,
            state: state.to_vec(),
            step,
        }
    }
}
