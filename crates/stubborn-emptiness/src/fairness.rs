//! Weak fairness: a process that can always move moves at some time.
//!
//! Runs in which a process is able to step from some point on and never does are often not
//! meant. They are left out by more acceptance sets, one for each process: an edge belongs to
//! it if the process moves, or has no step in the state that the edge leaves. There may be more
//! processes than marks, and nested searches want one set, so the sets are counted off one after
//! the other in the product (Choueka, *Theories of automata on ω-tapes*, 1974): a node also
//! knows the set it waits for, and an edge that completes the round is accepting.
//!
//! Which steps a process has depends on interleavings, so partial-order reduction does not go
//! with it.

use stubborn_system::{Successors, System, TransitionId};

use stubborn_ltl::automaton::Marks;

/// The sets that a fair run has to visit, and the level of the count.
#[derive(Clone, Debug)]
pub(crate) struct FairRounds {
    automaton_sets: u32,
    processes: u32,
    /// The processes of each transition.
    of_transition: Vec<Vec<u32>>,
    /// In the state in hand, processes that have a step.
    able: Vec<bool>,
}

impl FairRounds {
    pub(crate) fn new(system: &dyn System, automaton_sets: u32) -> Self {
        let structure = system.structure();
        let of_transition = structure.transitions.iter().map(|transition| {
            let processes = transition.processes.iter();
            processes.map(|process| process.index() as u32).collect()
        });
        Self {
            automaton_sets,
            processes: structure.processes.len() as u32,
            of_transition: of_transition.collect(),
            able: vec![false; structure.processes.len()],
        }
    }

    /// Number of levels.
    pub(crate) fn levels(&self) -> u32 {
        (self.automaton_sets + self.processes).max(1)
    }

    /// Notes who has a step.
    pub(crate) fn look_at(&mut self, successors: &Successors) {
        self.able.fill(false);
        for transition in successors.transitions() {
            for process in &self.of_transition[transition.index()] {
                self.able[*process as usize] = true;
            }
        }
    }

    /// The level after an edge, and whether it completes a round. Without a transition the
    /// system stands still.
    pub(crate) fn advance(
        &self,
        mut level: u32,
        marks: Marks,
        transition: Option<TransitionId>,
    ) -> (u32, bool) {
        let sets = self.automaton_sets + self.processes;
        let is_in = |set: u32| match set.checked_sub(self.automaton_sets) {
            None => marks.has(set),
            Some(process) => {
                let moves = transition.is_some_and(|transition| {
                    self.of_transition[transition.index()].contains(&process)
                });
                moves || !self.able[process as usize]
            }
        };
        while level < sets && is_in(level) {
            level += 1;
        }
        match level == sets {
            true => (0, true),
            false => (level, false),
        }
    }
}

/// Whether the cycle of a lasso of states is fair: every process moves in it, or is once
/// without a step.
pub(crate) fn is_fair(system: &dyn System, cycle: &[&[u32]]) -> bool {
    let structure = system.structure();
    let mut executor = system.executor();
    let mut satisfied = vec![false; structure.processes.len()];
    let mut successors = Successors::new(system.layout().words());
    for pair in cycle.windows(2) {
        successors.clear();
        executor.successors(pair[0], &mut successors);
        let mut able = vec![false; structure.processes.len()];
        for successor in successors.iter() {
            for process in &structure.transition(successor.transition).processes {
                able[process.index()] = true;
                satisfied[process.index()] |= successor.state == pair[1];
            }
        }
        for (satisfied, able) in satisfied.iter_mut().zip(able) {
            *satisfied |= !able;
        }
    }
    satisfied.into_iter().all(|is_satisfied| is_satisfied)
}
