//! One command: its guards, its step, and the entry that the step makes in the buffer.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use cranelift_frontend::Variable;
use stubborn_ir::{Expr, Place, Site, Statement};
use stubborn_system::{LabelId, Outcome};

use super::{Emitter, inside};
use crate::runtime;

/// Where successors go.
#[derive(Clone, Copy)]
pub(super) struct Output {
    /// Address of the description of the buffer, for helpers.
    pub(super) room: Value,
    pub(super) masks: Value,
    pub(super) transitions: Value,
    pub(super) outcomes: Value,
    /// Number of entries so far.
    pub(super) count: Variable,
    /// Address of the words of the next entry.
    pub(super) target: Variable,
}

/// A step in the making.
pub(super) struct Step {
    /// Address of the successor's words.
    pub(super) target: Value,
    pub(super) temporaries: HashMap<u8, Variable>,
    /// Words known to be changed: on the whole path, and on each branch of it that is open.
    masks: Vec<Vec<u64>>,
    computed: ComputedMask,
    /// The outcome, where assertions may be violated.
    violated: Option<Variable>,
}

/// Where bits of the mask go that depend on values or branches.
#[derive(Clone, Copy)]
enum ComputedMask {
    /// There are none.
    None,
    /// The mask has one word.
    Register(Variable),
    /// At this address, in the buffer.
    Memory(Value),
}

/// What the body of a command needs room for.
#[derive(Default)]
struct Needs {
    temporaries: Vec<u8>,
    assertions: bool,
    computed_mask: bool,
}

impl Needs {
    fn of(body: &[Statement]) -> Self {
        let mut needs = Self::default();
        needs.add(body);
        needs
    }

    fn add(&mut self, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Assign {
                    target: Place::Element(_, Expr::Const(_), _),
                    ..
                } => {}
                Statement::Assign {
                    target: Place::Element(..),
                    ..
                }
                | Statement::Send { .. }
                | Statement::Receive { .. } => self.computed_mask = true,
                Statement::Let(temp, _) => self.temporaries.push(temp.0),
                Statement::If {
                    then, otherwise, ..
                } => {
                    self.computed_mask = true;
                    self.add(then);
                    self.add(otherwise);
                }
                Statement::While { body, .. } => {
                    self.computed_mask = true;
                    self.add(body);
                }
                Statement::Assert { .. } => self.assertions = true,
                Statement::Assign { .. } | Statement::Fail(_) | Statement::Print { .. } => {}
            }
        }
    }
}

impl Emitter<'_, '_> {
    /// Emits a command and continues behind it. The guards `known` hold already.
    pub(super) fn command(&mut self, at: u32, known: &[LabelId], output: &Output) {
        let next = self.b.create_block();
        let command = &self.unit.program().commands[at as usize];
        let (mut words_at_next, mut guards_at_next) = (self.words.mark(), self.guards.len());
        let mut first = true;
        let mut pending: Option<Variable> = None;
        for guard in command.guards.iter().filter(|g| !known.contains(g)) {
            let marks = self.guard(*guard, next, &mut pending);
            if first {
                // What the first guard computes before it branches holds behind the command.
                (words_at_next, guards_at_next) = marks;
                first = false;
            }
        }
        self.failure = None;
        if let Some(pending) = pending {
            let failure = self.failure_block();
            let outcome = self.b.use_var(pending);
            let zero = self.outcome(Outcome::FINE);
            let failed = self.b.ins().icmp(IntCC::NotEqual, outcome, zero);
            let fine = self.b.create_block();
            let argument = [outcome.into()];
            self.b.ins().brif(failed, failure, &argument, fine, &[]);
            self.enter(fine);
        }
        self.run(at, &command.body, output, next);
        self.words.restore(words_at_next);
        self.guards.truncate(guards_at_next);
        self.enter(next);
    }

    /// Continues if a guard holds, else goes to `next`. A failure is noted in `pending` if it
    /// is the first. Returns how much of what is known holds at `next`.
    fn guard(
        &mut self,
        guard: LabelId,
        next: Block,
        pending: &mut Option<Variable>,
    ) -> (usize, usize) {
        let holds = self.b.create_block();
        if let Some((_, value)) = self.guards.iter().find(|(label, _)| *label == guard) {
            let value = *value;
            self.branch_if(value, holds, next);
            self.enter(holds);
            return (self.words.mark(), self.guards.len());
        }
        let expr = &self.unit.program().labels[guard.index()].expr;
        let before = (self.words.mark(), self.guards.len());
        self.failure = None;
        let may_fail = self.unit.may_fail(expr);
        if may_fail && pending.is_none() {
            *pending = Some(self.zero_variable(types::I64));
        }
        let branches = may_fail || matches!(expr, Expr::And(..) | Expr::Or(..));
        let marks = if branches {
            self.branch(expr, holds, next)
        } else {
            let value = self.condition(expr);
            self.guards.push((guard, value));
            self.branch_if(value, holds, next);
            (self.words.mark(), self.words.mark())
        };
        let guards_known = self.guards.len();
        if let Some(failure) = self.failure.take() {
            // Where the guard was thought not to fail, no path but this one sets the outcome.
            let variable = *pending.get_or_insert_with(|| self.b.declare_var(types::I64));
            self.enter(failure);
            let outcome = self.b.block_params(failure)[0];
            let earlier = self.b.use_var(variable);
            let zero = self.outcome(Outcome::FINE);
            let none = self.b.ins().icmp(IntCC::Equal, earlier, zero);
            let kept = self.b.ins().select(none, outcome, earlier);
            self.b.def_var(variable, kept);
            self.jump(holds);
            self.words.restore(before.0);
        } else {
            self.words.restore(marks.0);
        }
        self.enter(holds);
        (marks.1.min(self.words.mark()).max(before.0), guards_known)
    }

    /// Emits the step itself.
    fn run(&mut self, at: u32, body: &[Statement], output: &Output, next: Block) {
        let target = self.b.use_var(output.target);
        self.copy_state(target);
        let needs = Needs::of(body);
        let computed = match (needs.computed_mask, self.unit.mask_words()) {
            (false, _) => ComputedMask::None,
            (true, 1) => ComputedMask::Register(self.zero_variable(types::I64)),
            (true, _) => ComputedMask::Memory(self.zeroed_mask(output)),
        };
        let violated = needs.assertions.then(|| self.zero_variable(types::I64));
        let temporaries = needs
            .temporaries
            .iter()
            .map(|temp| (*temp, self.zero_variable(types::I32)))
            .collect();
        self.words.start_step();
        self.step = Some(Step {
            target,
            temporaries,
            masks: vec![vec![0; self.unit.mask_words() as usize]],
            computed,
            violated,
        });
        self.body(body);
        self.save();
        if let Some(step) = self.step.take() {
            self.commit(at, &step, output);
        }
        self.jump(next);
        if let Some(failure) = self.failure.take() {
            self.enter(failure);
            self.report_failure(at, failure, violated, output);
            self.jump(next);
        }
    }

    pub(super) fn zero_variable(&mut self, kind: Type) -> Variable {
        let variable = self.b.declare_var(kind);
        let zero = self.b.ins().iconst(kind, 0);
        self.b.def_var(variable, zero);
        variable
    }

    /// Writes what is left of the entry, and moves on to the next.
    fn commit(&mut self, at: u32, step: &Step, output: &Output) {
        let count = self.b.use_var(output.count);
        let transition = self.unsigned(at);
        let address = self.indexed(output.transitions, count, 4);
        self.b.ins().store(inside(), transition, address, 0);
        let outcome = match step.violated {
            Some(variable) => self.b.use_var(variable),
            None => self.outcome(Outcome::FINE),
        };
        let address = self.indexed(output.outcomes, count, 8);
        self.b.ins().store(inside(), outcome, address, 0);
        self.commit_mask(step, output, count);
        let one = self.b.ins().iconst(self.unit.pointer, 1);
        let more = self.b.ins().iadd(count, one);
        self.b.def_var(output.count, more);
        let bytes = 4 * i64::from(self.unit.words());
        let bytes = self.b.ins().iconst(self.unit.pointer, bytes);
        let target = self.b.ins().iadd(step.target, bytes);
        self.b.def_var(output.target, target);
    }

    fn commit_mask(&mut self, step: &Step, output: &Output, count: Value) {
        let known = &step.masks[0];
        if let ComputedMask::Memory(address) = step.computed {
            return self.add_to_memory_mask(address, known);
        }
        let address = self.indexed(output.masks, count, 8 * self.unit.mask_words());
        for (at, bits) in known.iter().enumerate() {
            let mut mask = self.b.ins().iconst(types::I64, *bits as i64);
            if let ComputedMask::Register(variable) = step.computed {
                let computed = self.b.use_var(variable);
                mask = self.b.ins().bor(mask, computed);
            }
            self.b.ins().store(inside(), mask, address, 8 * at as i32);
        }
    }

    fn add_to_memory_mask(&mut self, address: Value, bits: &[u64]) {
        for (at, bits) in bits.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let offset = 8 * at as i32;
            let old = self.b.ins().load(types::I64, inside(), address, offset);
            let more = self.b.ins().iconst(types::I64, *bits as i64);
            let mask = self.b.ins().bor(old, more);
            self.b.ins().store(inside(), mask, address, offset);
        }
    }

    fn zeroed_mask(&mut self, output: &Output) -> Value {
        let count = self.b.use_var(output.count);
        let mask_words = self.unit.mask_words();
        let address = self.indexed(output.masks, count, 8 * mask_words);
        let zero = self.b.ins().iconst(types::I64, 0);
        for at in 0..mask_words {
            self.b.ins().store(inside(), zero, address, 8 * at as i32);
        }
        address
    }

    /// The step failed: its entry becomes the step to the error state.
    fn report_failure(
        &mut self,
        at: u32,
        failure: Block,
        violated: Option<Variable>,
        output: &Output,
    ) {
        let outcome = self.b.block_params(failure)[0];
        let violated = match violated {
            Some(variable) => self.b.use_var(variable),
            None => self.outcome(Outcome::FINE),
        };
        let count = self.b.use_var(output.count);
        let runtime = self.address(self.unit.runtime);
        let transition = self.unsigned(at);
        let arguments = [
            runtime,
            output.room,
            count,
            self.source,
            violated,
            outcome,
            transition,
        ];
        let pointer = self.unit.pointer;
        let more = self.call(runtime::fail as *const u8, &[pointer], &arguments);
        let more = more.unwrap_or(count);
        self.b.def_var(output.count, more);
        let entries = self.b.ins().isub(more, count);
        let target = self.b.use_var(output.target);
        let target = self.indexed(target, entries, 4 * self.unit.words());
        self.b.def_var(output.target, target);
    }

    /// A word of the successor may differ from the source.
    pub(super) fn touch(&mut self, word: u32) {
        if let Some(mask) = self.step.as_mut().and_then(|step| step.masks.last_mut()) {
            mask[word as usize / 64] |= 1 << (word % 64);
        }
    }

    /// The same for a word whose number is computed.
    pub(super) fn touch_computed(&mut self, word: Value) {
        let Some(computed) = self.step.as_ref().map(|step| step.computed) else {
            return;
        };
        let one = self.b.ins().iconst(types::I64, 1);
        let bit = self.b.ins().ishl(one, word);
        match computed {
            ComputedMask::None => {}
            ComputedMask::Register(variable) => {
                let old = self.b.use_var(variable);
                let mask = self.b.ins().bor(old, bit);
                self.b.def_var(variable, mask);
            }
            ComputedMask::Memory(address) => {
                let six = self.unsigned(6);
                let at = self.b.ins().ushr(word, six);
                let address = self.indexed(address, at, 8);
                let old = self.b.ins().load(types::I64, inside(), address, 0);
                let mask = self.b.ins().bor(old, bit);
                self.b.ins().store(inside(), mask, address, 0);
            }
        }
    }

    /// From here on, changed words count only on the current branch.
    pub(super) fn open_mask(&mut self) {
        let words = self.unit.mask_words() as usize;
        if let Some(step) = &mut self.step {
            step.masks.push(vec![0; words]);
        }
    }

    /// The end of a branch.
    pub(super) fn close_mask(&mut self) {
        let Some((bits, computed)) = self
            .step
            .as_mut()
            .and_then(|step| Some((step.masks.pop()?, step.computed)))
        else {
            return;
        };
        match computed {
            ComputedMask::None => {}
            ComputedMask::Register(variable) => {
                if bits[0] != 0 {
                    let old = self.b.use_var(variable);
                    let more = self.b.ins().iconst(types::I64, bits[0] as i64);
                    let mask = self.b.ins().bor(old, more);
                    self.b.def_var(variable, mask);
                }
            }
            ComputedMask::Memory(address) => self.add_to_memory_mask(address, &bits),
        }
    }

    /// Notes the first violated assertion.
    pub(super) fn report_violation(&mut self, holds: Value, site: Site) {
        let Some(variable) = self.step.as_ref().and_then(|step| step.violated) else {
            return;
        };
        let earlier = self.b.use_var(variable);
        let outcome = self.outcome(Outcome::violation(site.index()));
        let zero = self.outcome(Outcome::FINE);
        let none = self.b.ins().icmp(IntCC::Equal, earlier, zero);
        let first = self.b.ins().select(none, outcome, earlier);
        let violated = self.b.ins().select(holds, earlier, first);
        self.b.def_var(variable, violated);
    }
}
