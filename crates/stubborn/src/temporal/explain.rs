//! What a run has to do with the formula that it violates.

use std::collections::BTreeSet;

use stubborn_emptiness::{LabelledFormula, Neglected, Property};
use stubborn_ltl::automaton::StateId;
use stubborn_search::Trace;
use stubborn_system::{ProcessId, System};

/// Why a run violates a property, and whether fairness would leave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunExplanation {
    /// After so many steps the formula cannot hold any more, whatever follows; `None` if no
    /// finite part of the run decides (or if there is no formula, or one that is too large).
    pub lost_after: Option<usize>,
    /// Whether that was found out.
    pub is_decided: bool,
    /// Processes that could move all the time on the cycle, and never do: the run is not weakly
    /// fair.
    pub starving: Vec<String>,
    /// Processes that could move now and then on the cycle, and never do.
    pub passed_over: Vec<String>,
}

impl RunExplanation {
    /// Of a run that violates a property.
    pub fn new(system: &dyn System, property: &Property, run: &Trace) -> Self {
        let lost = property
            .formula()
            .and_then(|formula| lost_after(system, formula, run));
        let neglected = Neglected::by(system, run);
        let names = |processes: &[ProcessId]| {
            let all = &system.structure().processes;
            let names = processes.iter().map(|p| all[p.index()].name.clone());
            names.collect()
        };
        Self {
            lost_after: lost.flatten(),
            is_decided: lost.is_some(),
            starving: names(&neglected.always_able),
            passed_over: names(&neglected.sometimes_able),
        }
    }

    /// Whether `--fairness` would leave the run out.
    pub fn is_unfair(&self) -> bool {
        !self.starving.is_empty()
    }
}

/// The steps after which no run satisfies a formula any more that begins like this one: after its
/// shortest bad prefix (Kupferman, Vardi, *Model checking of safety properties*, 2001). The
/// automaton of the formula, in which something is accepted from every state, has no way to go on.
fn lost_after(
    system: &dyn System,
    violated: &LabelledFormula,
    run: &Trace,
) -> Option<Option<usize>> {
    let mut formulas = violated.formulas.clone();
    let negation = formulas.not(violated.formula);
    let labels = violated.labels.clone();
    // Of the runs that violate the negation.
    let good = Property::from_formula(formulas, negation, labels, &Default::default()).ok()?;
    let mut draft = good.automaton().draft();
    draft.trim();
    let automaton = draft.finish();
    let mut executor = system.executor();
    let mut states = BTreeSet::from([automaton.initial()]);
    for at in 0..=run.len() {
        let mut letter = vec![0; good.labels().len().div_ceil(64)];
        for (bit, label) in good.labels().iter().enumerate() {
            if executor.label(run.state(at), *label) {
                letter[bit / 64] |= 1 << (bit % 64);
            }
        }
        let next = |state: &StateId| {
            let edges = automaton.successors(*state, &letter);
            edges.map(|edge| edge.target).collect::<Vec<_>>()
        };
        states = states.iter().flat_map(next).collect();
        if states.is_empty() {
            return Some(Some(at));
        }
    }
    Some(None)
}
