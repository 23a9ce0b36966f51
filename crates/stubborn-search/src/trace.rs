//! Traces: runs that a person can follow, step by step.

use stubborn_system::{FieldId, Layout, Outcome, TransitionId};

/// A run of the unreduced system, from an initial state on.
///
/// The states lie one after the other in one buffer, because depth-first searches find
/// traces of millions of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    words: usize,
    states: Vec<u32>,
    steps: Vec<(TransitionId, Outcome)>,
    cycle_start: Option<usize>,
}

impl Trace {
    /// The run without steps that starts, and ends, in `initial`.
    pub fn new(initial: &[u32]) -> Self {
        Self {
            words: initial.len(),
            states: initial.to_vec(),
            steps: Vec::new(),
            cycle_start: None,
        }
    }

    /// From its parts: one state more than steps.
    pub(crate) fn from_parts(
        words: usize,
        states: Vec<u32>,
        steps: Vec<(TransitionId, Outcome)>,
    ) -> Self {
        debug_assert_eq!(states.len(), (steps.len() + 1) * words);
        Self {
            words,
            states,
            steps,
            cycle_start: None,
        }
    }

    /// Appends a step.
    ///
    /// # Panics
    /// If the state has not as many words as the initial one.
    pub fn push(&mut self, transition: TransitionId, outcome: Outcome, state: &[u32]) {
        assert_eq!(state.len(), self.words, "a state of another system");
        self.states.extend_from_slice(state);
        self.steps.push((transition, outcome));
    }

    /// Declares the run infinite: after its last step it is in the state with number
    /// `state` again, and goes on from there for ever.
    ///
    /// # Panics
    /// If that is not the last state, or the cycle would be empty.
    pub fn close_cycle(&mut self, state: usize) {
        assert!(state < self.len(), "an empty cycle");
        assert_eq!(self.state(state), self.last_state(), "no cycle");
        self.cycle_start = Some(state);
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True if the initial state is all there is.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The state after `number` steps.
    pub fn state(&self, number: usize) -> &[u32] {
        &self.states[number * self.words..][..self.words]
    }

    /// Where the run starts.
    pub fn initial_state(&self) -> &[u32] {
        self.state(0)
    }

    /// Where the run ends (or closes its cycle).
    pub fn last_state(&self) -> &[u32] {
        self.state(self.len())
    }

    /// One step, counted from 0.
    pub fn step(&self, number: usize) -> TraceStep<'_> {
        let (transition, outcome) = self.steps[number];
        TraceStep {
            number,
            transition,
            outcome,
            before: self.state(number),
            after: self.state(number + 1),
        }
    }

    /// All steps.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = TraceStep<'_>> {
        (0..self.len()).map(|number| self.step(number))
    }

    /// For an infinite run, the number of the state where its cycle starts and ends. The
    /// steps from that number on are the cycle.
    pub fn cycle_start(&self) -> Option<usize> {
        self.cycle_start
    }

    /// The steps before the cycle; all of them if there is none.
    pub fn stem(&self) -> impl ExactSizeIterator<Item = TraceStep<'_>> {
        (0..self.cycle_start.unwrap_or(self.len())).map(|number| self.step(number))
    }

    /// The steps of the cycle; none if there is none.
    pub fn cycle(&self) -> impl ExactSizeIterator<Item = TraceStep<'_>> {
        (self.cycle_start.unwrap_or(self.len())..self.len()).map(|number| self.step(number))
    }
}

/// One step of a [`Trace`].
#[derive(Clone, Copy, Debug)]
pub struct TraceStep<'a> {
    /// Counted from 0.
    pub number: usize,
    /// What moved.
    pub transition: TransitionId,
    /// Whether something went wrong.
    pub outcome: Outcome,
    /// The state before.
    pub before: &'a [u32],
    /// The state after.
    pub after: &'a [u32],
}

/// A field that a step changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which field.
    pub field: FieldId,
    /// Its value before the step.
    pub old: i64,
    /// Its value after the step.
    pub new: i64,
}

impl TraceStep<'_> {
    /// The fields that differ before and after, in the order of the layout.
    pub fn changes(&self, layout: &Layout) -> Vec<Change> {
        let fields = layout.fields().iter().enumerate();
        fields
            .map(|(at, field)| Change {
                field: FieldId::new(at),
                old: field.get(self.before),
                new: field.get(self.after),
            })
            .filter(|change| change.old != change.new)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_system::FieldKind;
    use stubborn_system::layout::LayoutBuilder;

    #[test]
    fn a_lasso_splits_into_stem_and_cycle() {
        let mut builder = LayoutBuilder::new();
        let x = builder.field("x", (0, 9), FieldKind::Integer, None);
        let layout = builder.finish();
        let mut trace = Trace::new(&[0]);
        for value in [1, 2, 3, 1] {
            trace.push(TransitionId::new(value), Outcome::FINE, &[value as u32]);
        }
        trace.close_cycle(1);
        assert_eq!((trace.stem().len(), trace.cycle().len()), (1, 3));
        let change = trace.step(3).changes(&layout);
        assert_eq!(
            change,
            [Change {
                field: x,
                old: 3,
                new: 1
            }]
        );
    }
}
