//! The executor: interprets until there is code, then runs the code.

use std::sync::Arc;

use stubborn_ir::chain;
use stubborn_ir::interpreter::Interpreter;
use stubborn_system::{Executor, LabelId, Successors, System, TransitionId};

use crate::code::{LabelCode, SuccessorCode};
use crate::{CompiledModel, Workshop};

/// So many calls are interpreted before code is worth its making, which takes as long as interpreting
/// some ten thousand states.
const WORTH_COMPILING: u32 = 1_000;

/// Executes a [`CompiledModel`] on one thread.
pub(crate) struct CompiledExecutor<'m> {
    workshop: &'m Arc<Workshop>,
    interpreter: Interpreter<'m>,
    /// Code found so far; asked for again until it is there.
    successor_code: Option<&'m SuccessorCode>,
    label_code: Option<&'m LabelCode>,
    /// Calls for all successors of a state, and for labels, that were interpreted.
    interpreted: (u32, u32),
    /// Word and mask of the field that is set in the error state.
    failed: (usize, u32),
    /// Some commands are not the end of their transition.
    has_chains: bool,
    runner: chain::Runner,
}

impl<'m> CompiledExecutor<'m> {
    pub(crate) fn new(compiled: &'m CompiledModel) -> Self {
        let model = &*compiled.workshop.model;
        let failed = model.encoding().failed.map_or((0, 0), |id| {
            let field = model.layout().field(id);
            (field.word as usize, field.low_mask() << field.shift)
        });
        Self {
            workshop: &compiled.workshop,
            interpreter: Interpreter::new(model),
            successor_code: None,
            label_code: None,
            interpreted: (0, 0),
            failed,
            has_chains: model
                .program()
                .commands
                .iter()
                .any(|c| c.continues.is_some()),
            runner: chain::Runner::new(model.layout().words()),
        }
    }

    #[inline]
    fn is_error(&self, state: &[u32]) -> bool {
        state[self.failed.0] & self.failed.1 != 0
    }

    #[inline]
    fn successor_code(&mut self) -> Option<&'m SuccessorCode> {
        if self.successor_code.is_none() {
            if is_worth_it(&mut self.interpreted.0) {
                self.workshop.want_successors();
            }
            self.successor_code = self
                .workshop
                .successors
                .get()
                .and_then(|made| made.as_ref().ok());
        }
        self.successor_code
    }

    #[inline]
    fn label_code(&mut self) -> Option<&'m LabelCode> {
        if self.label_code.is_none() {
            if is_worth_it(&mut self.interpreted.1) {
                self.workshop.want_labels();
            }
            self.label_code = self
                .workshop
                .labels
                .get()
                .and_then(|made| made.as_ref().ok());
        }
        self.label_code
    }

    /// Runs the [chains](stubborn_ir::chain) that begin with the successors from `from` on.
    #[inline]
    fn finish_chains(&mut self, state: &[u32], from: usize, out: &mut Successors) {
        if self.has_chains {
            self.run_chains(state, from, out);
        }
    }

    #[inline(never)]
    fn run_chains(&mut self, state: &[u32], from: usize, out: &mut Successors) {
        let code = self.successor_code();
        let Self {
            workshop,
            interpreter,
            runner,
            ..
        } = self;
        let model = &workshop.model;
        match code {
            Some(code) => runner.finish(model, state, from, out, &mut |process, state, out| {
                code.chain_steps(process, state, out);
            }),
            None => {
                let once = &mut |state: &[u32], t: TransitionId, out: &mut Successors| {
                    interpreter.fire_once(state, t, out);
                };
                let steps = &mut chain::one_by_one(model, once);
                runner.finish(model, state, from, out, steps);
            }
        }
    }
}

/// Counts a call; whether there were enough for code to be made.
fn is_worth_it(calls: &mut u32) -> bool {
    *calls = calls.saturating_add(1);
    *calls > WORTH_COMPILING
}

impl Executor for CompiledExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        match self.successor_code() {
            Some(_) if self.is_error(state) => {}
            Some(code) => {
                let from = out.len();
                code.successors(state, out);
                self.finish_chains(state, from, out);
            }
            None => self.interpreter.successors(state, out),
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        // Who wants the steps of a single transition wants few.
        self.interpreter.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        match self.label_code() {
            Some(code) => code.label(state, label),
            None => self.interpreter.label(state, label),
        }
    }
}
