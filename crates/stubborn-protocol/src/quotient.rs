//! Executors of quotients: successors of a system, each replaced by what stands for it.

use stubborn_system::{Executor, LabelId, Outcome, Successors, TransitionId};

/// Puts what stands for a state in its place.
pub(crate) trait Represent: Send {
    /// A state is about to be expanded.
    fn expand(&mut self, state: &[u32]) {
        let _ = state;
    }

    /// Replaces a successor of a state, and marks the words that change.
    fn represent(&mut self, from: &[u32], state: &mut [u32], changed: &mut [u64]);
}

/// Takes the steps of another executor.
pub(crate) struct QuotientExecutor<'q, R> {
    plain: Box<dyn Executor + 'q>,
    represent: R,
}

impl<'q, R: Represent> QuotientExecutor<'q, R> {
    pub(crate) fn new(plain: Box<dyn Executor + 'q>, represent: R) -> Self {
        Self { plain, represent }
    }

    /// Replaces all successors from a number on.
    fn represent(&mut self, state: &[u32], first: usize, out: &mut Successors) {
        self.represent.expand(state);
        for at in first..out.len() {
            if out.outcome(at) == Outcome::FINE {
                let (words, changed) = out.get_mut(at);
                self.represent.represent(state, words, changed);
            }
        }
    }
}

impl<R: Represent> Executor for QuotientExecutor<'_, R> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        let first = out.len();
        self.plain.successors(state, out);
        self.represent(state, first, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let first = out.len();
        self.plain.fire(state, transition, out);
        self.represent(state, first, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.plain.label(state, label)
    }
}
