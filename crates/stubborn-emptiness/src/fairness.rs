//! Weak fairness: a process that can always move moves at some time.
//!
//! Runs in which a process is able to step from some point on and never does are often not
//! meant. They are left out by more acceptance sets, one for each process: an edge belongs to
//! it if the process moves, or has no step in the state that the edge leaves (a
//! [partner](Structure::passive_partners) that can only be met has none). An emptiness check
//! for generalised automata does the rest. Where there are more processes than marks, and for
//! nested searches, which want one set, the sets are counted off one after the other in the
//! product (Choueka, *Theories of automata on ω-tapes*, 1974): a node also knows the set it waits
//! for, and an edge that completes the round is accepting.
//!
//! A process that can only take steps that fail is not able to move.
//!
//! Which steps a process has depends on interleavings, so partial-order reduction does not go
//! with it.

use stubborn_ltl::automaton::Marks;
use stubborn_search::{SearchError, Trace};
use stubborn_system::{ProcessId, Structure, Successors, System, TransitionId};

use crate::walk::Emptiness;

/// How fair runs are told from others.
#[derive(Clone, Debug)]
pub(crate) enum Fair {
    /// By marks.
    Marked(FairMarks),
    /// By counting.
    Counted(FairRounds),
}

impl Fair {
    /// For a product with an automaton of so many acceptance sets.
    pub(crate) fn new(
        system: &dyn System,
        automaton_sets: u32,
        emptiness: Emptiness,
    ) -> Result<Self, SearchError> {
        let structure = system.structure();
        // (Processes that never move are processes.)
        if structure.processes.is_empty() {
            return Err(SearchError::Mismatch(
                "fairness is between processes, and this model has none".into(),
            ));
        }
        let marked = FairMarks::new(structure, automaton_sets);
        match (emptiness, marked) {
            (Emptiness::Components, Some(marks)) => Ok(Self::Marked(marks)),
            _ => Ok(Self::Counted(FairRounds::new(structure, automaton_sets))),
        }
    }

    /// The marks that an accepting cycle has to collect, given those of the automaton.
    pub(crate) fn all_marks(&self, automaton: Marks) -> Marks {
        match self {
            Self::Marked(marks) => automaton.union(marks.all),
            Self::Counted(_) => Marks::all(1),
        }
    }

    /// How many levels the automaton's states come in.
    pub(crate) fn levels(&self) -> u32 {
        match self {
            Self::Marked(_) => 1,
            Self::Counted(rounds) => rounds.levels(),
        }
    }

    /// Notes who has a step.
    pub(crate) fn look_at(&mut self, steps: impl Iterator<Item = TransitionId>) {
        match self {
            Self::Marked(marks) => marks.look_at(steps),
            Self::Counted(rounds) => rounds.look_at(steps),
        }
    }

    /// The level after an edge, and its marks. Without a transition the system stands still.
    pub(crate) fn advance(
        &self,
        level: u32,
        marks: Marks,
        transition: Option<TransitionId>,
    ) -> (u32, Marks) {
        match self {
            Self::Marked(sets) => (level, marks.union(sets.of_step(transition))),
            Self::Counted(rounds) => {
                let (level, is_complete) = rounds.advance(level, marks, transition);
                (level, Marks::all(u32::from(is_complete)))
            }
        }
    }
}

/// Acceptance sets of processes as marks.
#[derive(Clone, Debug)]
pub(crate) struct FairMarks {
    of_transition: Vec<Marks>,
    /// The same for those whose own step it is.
    of_movers: Vec<Marks>,
    all: Marks,
    /// The sets of processes without a step in the state in hand.
    idle: Marks,
}

impl FairMarks {
    /// Sets for all processes that have transitions, numbered from `first` on; `None` if there
    /// are too many.
    fn new(structure: &Structure, first: u32) -> Option<Self> {
        let mut set_of = vec![None; structure.processes.len()];
        let mut sets = first;
        let mut of_transition = Vec::with_capacity(structure.transitions.len());
        let mut of_movers = Vec::with_capacity(structure.transitions.len());
        let mut all = Marks::NONE;
        for id in structure.transition_ids() {
            let (mut marks, mut moving) = (Marks::NONE, Marks::NONE);
            for process in &structure.transition(id).processes {
                let set = *set_of[process.index()].get_or_insert_with(|| {
                    sets += 1;
                    sets - 1
                });
                if set >= Marks::MAX_SETS {
                    return None;
                }
                marks = marks.union(Marks(1 << set));
                if structure.movers(id).contains(process) {
                    moving = marks;
                }
            }
            of_transition.push(marks);
            of_movers.push(moving);
            all = all.union(marks);
        }
        Some(Self {
            of_transition,
            of_movers,
            all,
            idle: Marks::NONE,
        })
    }

    fn look_at(&mut self, steps: impl Iterator<Item = TransitionId>) {
        let able = steps.fold(0, |able, transition| {
            able | self.of_movers[transition.index()].0
        });
        self.idle = Marks(self.all.0 & !able);
    }

    fn of_step(&self, transition: Option<TransitionId>) -> Marks {
        let moved = transition.map_or(Marks::NONE, |t| self.of_transition[t.index()]);
        self.idle.union(moved)
    }
}

/// The sets that a fair run has to visit, and the level of the count.
#[derive(Clone, Debug)]
pub(crate) struct FairRounds {
    automaton_sets: u32,
    processes: u32,
    /// The processes of each transition, those whose own step it is first, and their number.
    of_transition: Vec<(Vec<u32>, usize)>,
    /// In the state in hand, processes that have a step.
    able: Vec<bool>,
}

impl FairRounds {
    fn new(structure: &Structure, automaton_sets: u32) -> Self {
        let of_transition = structure.transition_ids().map(|id| {
            let processes = structure.transition(id).processes.iter();
            let processes = processes.map(|process| process.index() as u32);
            (processes.collect(), structure.movers(id).len())
        });
        Self {
            automaton_sets,
            processes: structure.processes.len() as u32,
            of_transition: of_transition.collect(),
            able: vec![false; structure.processes.len()],
        }
    }

    /// Number of levels.
    fn levels(&self) -> u32 {
        (self.automaton_sets + self.processes).max(1)
    }

    /// Notes who has a step.
    fn look_at(&mut self, steps: impl Iterator<Item = TransitionId>) {
        self.able.fill(false);
        for transition in steps {
            let (processes, movers) = &self.of_transition[transition.index()];
            for process in &processes[..*movers] {
                self.able[*process as usize] = true;
            }
        }
    }

    /// The level after an edge, and whether it completes a round. Without a transition the
    /// system stands still.
    fn advance(
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
                    self.of_transition[transition.index()].0.contains(&process)
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
    Neglected::on(system, cycle).always_able.is_empty()
}

/// The processes that never move on a cycle although they could.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neglected {
    /// They have a step in every state of the cycle: the cycle is not weakly fair.
    pub always_able: Vec<ProcessId>,
    /// They have one in some: only strong fairness would leave the cycle out.
    pub sometimes_able: Vec<ProcessId>,
}

impl Neglected {
    /// Of the cycle of a run; nobody is neglected by a run that ends.
    pub fn by(system: &dyn System, run: &Trace) -> Self {
        let Some(first) = run.cycle_start() else {
            return Self::default();
        };
        let cycle = (first..=run.len()).map(|at| run.state(at));
        Self::on(system, &cycle.collect::<Vec<_>>())
    }

    /// Of the states of a cycle, the first one also at its end.
    fn on(system: &dyn System, cycle: &[&[u32]]) -> Self {
        let structure = system.structure();
        let mut executor = system.executor();
        let count = structure.processes.len();
        let (mut moves, mut idle, mut able) =
            (vec![false; count], vec![false; count], vec![false; count]);
        let mut successors = Successors::new(system.layout().words());
        for pair in cycle.windows(2) {
            successors.clear();
            executor.successors(pair[0], &mut successors);
            let mut able_here = vec![false; count];
            let error = structure.error_state.as_deref();
            for successor in successors.iter().filter(|s| error != Some(s.state)) {
                for process in structure.movers(successor.transition) {
                    able_here[process.index()] = true;
                }
                for process in &structure.transition(successor.transition).processes {
                    moves[process.index()] |= successor.state == pair[1];
                }
            }
            for (process, able_here) in able_here.into_iter().enumerate() {
                able[process] |= able_here;
                idle[process] |= !able_here;
            }
        }
        let mut neglected = Self::default();
        for process in (0..count).filter(|process| able[*process] && !moves[*process]) {
            match idle[process] {
                true => neglected.sometimes_able.push(ProcessId::new(process)),
                false => neglected.always_able.push(ProcessId::new(process)),
            }
        }
        neglected
    }
}
