//! What the reduced search finds must be what the full search finds.

use stubborn_system::{LabelId, Reduction, System, TransitionId};

use super::explore::explore;
use super::report::{Fault, Report, Violation};
use crate::aim::{Aim, NeededProviso, Plan};

/// Explores fully and reduced, and compares what is kept: the set of deadlocks;
/// whether goals are reachable and, with goal-driven sets, in how many steps.
pub fn compare(system: &dyn System, reduction: &dyn Reduction, plan: &Plan, report: &mut Report) {
    let goals: Vec<Vec<LabelId>> = match &plan.aim {
        Aim::Deadlocks => Vec::new(),
        Aim::Goals(goals) => goals.any_of.clone(),
        Aim::Traces { labels, .. } => labels.iter().map(|l| vec![*l]).collect(),
    };
    let full = explore(system, None, NeededProviso::None, &goals, usize::MAX);
    let reduced = explore(system, Some(reduction), plan.proviso, &goals, usize::MAX);
    report.outcomes_compared = true;
    let mut tell = |fault: Fault, state: &[u32]| {
        report.violations.push(Violation {
            fault,
            state: state.to_vec(),
            set: Vec::new(),
            sequence: Vec::new(),
        });
    };
    if plan.keeps_deadlocks() {
        for state in full.deadlocks.symmetric_difference(&reduced.deadlocks) {
            tell(Fault::Deadlock, state);
        }
    }
    let initial = &full.states[0];
    let exact = plan.proviso == NeededProviso::None;
    for (goal, (f, r)) in full.distances.iter().zip(&reduced.distances).enumerate() {
        let same = if exact {
            f == r
        } else {
            f.is_some() == r.is_some()
        };
        if !same {
            tell(Fault::Distance(goal, *f, *r), initial);
        }
    }
    if let Aim::Goals(wanted) = &plan.aim
        && !wanted.transitions.is_empty()
    {
        // Others may fail, too; who is not asked about them may lose them.
        let is_wanted = |t: TransitionId| wanted.transitions.contains(&t);
        let (f, r) = (full.failure(is_wanted), reduced.failure(is_wanted));
        let same = if exact {
            f == r
        } else {
            f.is_some() == r.is_some()
        };
        if !same {
            tell(Fault::Distance(goals.len(), f, r), initial);
        }
    }
}
