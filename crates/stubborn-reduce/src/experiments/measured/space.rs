//! The whole state graph of a small model. Steps that fail are left out.

use std::collections::HashMap;
use std::ops::Range;

use stubborn_system::{BitSet, Patience, Successors, System};

use super::{LOOK_EVERY, MeasureError, gave_up};

/// A state of a [`StateSpace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StateId(pub(super) u32);

impl StateId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All states, their labels, and their steps by increasing transition.
pub(super) struct StateSpace {
    words: usize,
    states: Vec<u32>,
    /// Words of the labels of a state.
    label_words: usize,
    labels: Vec<u64>,
    /// Where the steps of each state start; one more at the end.
    starts: Vec<usize>,
    /// Transition and target; the targets of one transition are sorted and distinct.
    steps: Vec<(u32, StateId)>,
}

impl StateSpace {
    pub(super) fn explore(system: &dyn System, limit: usize) -> Result<Self, MeasureError> {
        let structure = system.structure();
        let words = system.layout().words();
        let error = structure.error_state.as_deref();
        let mut executor = system.executor();
        let mut numbers: HashMap<Box<[u32]>, StateId> = HashMap::new();
        let mut space = Self {
            words,
            states: Vec::new(),
            label_words: structure.labels.len().div_ceil(64),
            labels: Vec::new(),
            starts: vec![0],
            steps: Vec::new(),
        };
        let mut number = |states: &mut Vec<u32>, state: &[u32]| {
            if let Some(id) = numbers.get(state) {
                return *id;
            }
            let id = StateId(numbers.len() as u32);
            numbers.insert(state.into(), id);
            states.extend_from_slice(state);
            id
        };
        for state in system.initial_states().chunks_exact(words) {
            if error != Some(state) {
                number(&mut space.states, state);
            }
        }
        let mut labels = BitSet::new(structure.labels.len());
        let mut successors = Successors::new(words);
        let mut own = Vec::new();
        let mut state = vec![0; words];
        let mut at = 0;
        let mut patience = Patience::new(system.budget(), LOOK_EVERY);
        while at * words < space.states.len() {
            if space.len() > limit {
                return Err(MeasureError::TooManyStates(limit));
            }
            state.copy_from_slice(&space.states[at * words..][..words]);
            executor.labels(&state, &mut labels);
            space.labels.extend_from_slice(labels.words());
            successors.clear();
            executor.successors(&state, &mut successors);
            gave_up(&mut patience)?;
            own.clear();
            for successor in successors.iter().filter(|s| error != Some(s.state)) {
                let target = number(&mut space.states, successor.state);
                own.push((successor.transition.index() as u32, target));
            }
            own.sort_unstable();
            own.dedup();
            space.steps.extend_from_slice(&own);
            space.starts.push(space.steps.len());
            at += 1;
        }
        Ok(space)
    }

    pub(super) fn len(&self) -> usize {
        self.states.len().checked_div(self.words).unwrap_or(0)
    }

    pub(super) fn states(&self) -> impl Iterator<Item = StateId> + use<> {
        (0..self.len() as u32).map(StateId)
    }

    pub(super) fn words_of(&self, state: StateId) -> &[u32] {
        &self.states[state.index() * self.words..][..self.words]
    }

    /// The labels of a state as bits.
    pub(super) fn labels(&self, state: StateId) -> &[u64] {
        &self.labels[state.index() * self.label_words..][..self.label_words]
    }

    pub(super) fn step_range(&self, state: StateId) -> Range<usize> {
        self.starts[state.index()]..self.starts[state.index() + 1]
    }

    /// All steps of a state by increasing transition.
    pub(super) fn steps(&self, state: StateId) -> &[(u32, StateId)] {
        &self.steps[self.step_range(state)]
    }

    /// The steps of a state by one transition; none if it is not enabled.
    pub(super) fn ends(&self, state: StateId, transition: u32) -> &[(u32, StateId)] {
        let steps = self.steps(state);
        let from = steps.partition_point(|(t, _)| *t < transition);
        let count = steps[from..].partition_point(|(t, _)| *t == transition);
        &steps[from..from + count]
    }
}
