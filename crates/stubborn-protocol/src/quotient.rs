//! Executors of quotients: successors of a system, each replaced by what stands for it.

use stubborn_system::{Executor, LabelId, Outcome, Successors, TransitionId};

/// Puts what stands for a state in its place.
pub(crate) trait Represent: Send {
    /// A state is about to be expanded.
    fn expand(&mut self, state: &[u32]) {
        let _ = state;
    }

    /// Replaces a successor of a state.
    fn represent(&mut self, from: &[u32], state: &mut [u32]);
}

/// Takes the steps of another executor.
pub(crate) struct QuotientExecutor<'q, R> {
    plain: Box<dyn Executor + 'q>,
    represent: R,
    found: Successors,
    scratch: Vec<u32>,
}

impl<'q, R: Represent> QuotientExecutor<'q, R> {
    /// For states of so many words.
    pub(crate) fn new(plain: Box<dyn Executor + 'q>, represent: R, words: usize) -> Self {
        Self {
            plain,
            represent,
            found: Successors::new(words),
            scratch: Vec::new(),
        }
    }

    fn pass_on(&mut self, state: &[u32], out: &mut Successors) {
        self.represent.expand(state);
        for at in 0..self.found.len() {
            let successor = self.found.get(at);
            self.scratch.clear();
            self.scratch.extend_from_slice(successor.state);
            if successor.outcome == Outcome::FINE {
                self.represent.represent(state, &mut self.scratch);
            }
            out.push(
                successor.transition,
                state,
                &self.scratch,
                successor.outcome,
            );
        }
    }
}

impl<R: Represent> Executor for QuotientExecutor<'_, R> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.found.clear();
        self.plain.successors(state, &mut self.found);
        self.pass_on(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.found.clear();
        self.plain.fire(state, transition, &mut self.found);
        self.pass_on(state, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.plain.label(state, label)
    }
}
