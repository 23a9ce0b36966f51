//! Weak fairness: a process that could move all the time moves again and again.
//!
//! It is said with acceptance sets. Each process has one: the steps that it takes part in,
//! and all steps from states in which it cannot move. An infinite run sees all these sets
//! infinitely often exactly if it is weakly fair, and an emptiness check for generalised
//! automata does the rest.
//!
//! Whether a process can always move depends on how independent steps are ordered, so a
//! partial-order reduction does not preserve it: there is none with fairness.

use stubborn_ltl::automaton::Marks;
use stubborn_search::SearchError;
use stubborn_system::{Structure, Successors, System, TransitionId};

/// The acceptance sets of the processes of a system.
#[derive(Clone, Debug)]
pub(crate) struct FairMarks {
    of_transition: Vec<Marks>,
    all: Marks,
}

impl FairMarks {
    /// Sets for all processes that have transitions, numbered from `first` on.
    pub(crate) fn new(structure: &Structure, first: u32) -> Result<Self, SearchError> {
        let mut set_of = vec![None; structure.processes.len()];
        let mut sets = first;
        let mut of_transition = Vec::with_capacity(structure.transitions.len());
        let mut all = Marks::NONE;
        for transition in &structure.transitions {
            let mut marks = Marks::NONE;
            for process in &transition.processes {
                let set = *set_of[process.index()].get_or_insert_with(|| {
                    sets += 1;
                    sets - 1
                });
                if set >= Marks::MAX_SETS {
                    let most = Marks::MAX_SETS - first;
                    return Err(SearchError::Mismatch(format!(
                        "weak fairness is available for up to {most} processes; this model has \
                         more"
                    )));
                }
                marks = marks.union(Marks(1 << set));
            }
            of_transition.push(marks);
            all = all.union(marks);
        }
        if all == Marks::NONE {
            return Err(SearchError::Mismatch(
                "fairness is between processes, and this model has none".into(),
            ));
        }
        Ok(Self { of_transition, all })
    }

    /// All of them.
    pub(crate) fn all(&self) -> Marks {
        self.all
    }

    /// The sets that a step belongs to for who takes it.
    pub(crate) fn of(&self, transition: TransitionId) -> Marks {
        self.of_transition[transition.index()]
    }

    /// The sets that every step of a state belongs to, for who cannot move there.
    pub(crate) fn idle(&self, successors: &Successors) -> Marks {
        let able = successors.iter().fold(Marks::NONE, |able, step| {
            able.union(self.of(step.transition))
        });
        Marks(self.all.0 & !able.0)
    }

    /// Whether going round these states for ever can be fair. The first state is repeated at
    /// the end.
    pub(crate) fn is_fair(&self, system: &dyn System, cycle: &[u32]) -> bool {
        let words = system.layout().words();
        let mut executor = system.executor();
        let mut successors = Successors::new(words);
        let mut seen = Marks::NONE;
        let states: Vec<&[u32]> = cycle.chunks_exact(words).collect();
        for pair in states.windows(2) {
            successors.clear();
            executor.successors(pair[0], &mut successors);
            seen = seen.union(self.idle(&successors));
            for step in successors.iter().filter(|step| step.state == pair[1]) {
                seen = seen.union(self.of(step.transition));
            }
        }
        seen.contains(self.all)
    }
}
