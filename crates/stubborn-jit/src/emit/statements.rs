//! Statements of a command's body, and where paths through it meet.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use stubborn_ir::effects::Effects;
use stubborn_ir::intervals::Interval;
use stubborn_ir::{Expr, Item, Overflow, Place, Site, Statement, TempId, VariablePlace};

use stubborn_system::Outcome;

use super::Emitter;
use crate::runtime;

impl Emitter<'_, '_> {
    pub(super) fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign {
                target,
                value,
                site,
            } => self.assign(target, value, *site),
            Statement::Let(temp, value) => {
                let value = self.value(value);
                if let Some(variable) = self.temporary(*temp) {
                    self.b.def_var(variable, value);
                }
            }
            Statement::Send {
                channel,
                values,
                order,
                site,
            } => {
                let changed = self.words_written(statement);
                self.for_target(channel, &changed, |e, c| e.send(c, values, *order, *site));
            }
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                site,
            } => {
                let changed = self.words_written(statement);
                self.for_target(channel, &changed, |e, c| {
                    e.receive(c, position.as_ref(), targets, *remove, *site);
                });
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let changed = self.words_written(statement);
                self.save();
                let (yes, no, done) = (
                    self.b.create_block(),
                    self.b.create_block(),
                    self.b.create_block(),
                );
                let marks = self.branch(condition, yes, no);
                let known = marks.0.min(marks.1);
                for (block, body) in [(yes, then), (no, otherwise)] {
                    self.words.restore(known);
                    self.enter(block);
                    self.path(done, |e| e.body(body));
                }
                self.meet(known, &changed, done);
            }
            Statement::While {
                condition,
                body,
                site,
            } => self.repeat(statement, condition, body, *site),
            Statement::Assert { condition, site } => {
                let holds = self.condition(condition);
                self.report_violation(holds, *site);
            }
            Statement::Fail(site) => self.fail(*site),
            Statement::Print { .. } => {}
        }
    }

    /// One of several paths that meet in `done`: what it changes is saved at its end.
    pub(super) fn path(&mut self, done: Block, emit: impl FnOnce(&mut Self)) {
        self.open_mask();
        emit(self);
        self.save();
        self.close_mask();
        self.jump(done);
    }

    /// Continues where paths meet: only what was known before them, and that none of them
    /// changed, is still known.
    pub(super) fn meet(&mut self, known: usize, changed: &[u32], done: Block) {
        self.words.restore(known);
        for word in changed {
            self.words.forget(*word);
        }
        self.enter(done);
    }

    /// The words that a statement may write, in order.
    fn words_written(&self, statement: &Statement) -> Vec<u32> {
        let straight = match statement {
            Statement::Send { channel, .. } | Statement::Receive { channel, .. } => {
                matches!(channel, stubborn_ir::ChannelRef::Fixed(_))
            }
            _ => false,
        };
        if straight {
            return Vec::new();
        }
        let mut effects = Effects::new(self.unit.program(), self.unit.model.encoding());
        effects.body(std::slice::from_ref(statement));
        let mut words: Vec<u32> = effects
            .finish()
            .1
            .into_iter()
            .map(|id| self.unit.field(id))
            .filter(|field| field.bits > 0)
            .map(|field| field.word)
            .collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    fn repeat(&mut self, statement: &Statement, condition: &Expr, body: &[Statement], site: Site) {
        let changed = self.words_written(statement);
        self.save();
        for word in &changed {
            self.words.forget(*word);
        }
        let rounds = self.zero_variable(types::I64);
        let (head, round, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        let before = self.words.mark();
        self.jump(head);
        self.b.switch_to_block(head);
        let marks = self.branch(condition, round, done);
        let known = marks.0.min(marks.1);
        self.words.restore(known);
        self.enter(round);
        let count = self.b.use_var(rounds);
        let one = self.b.ins().iconst(types::I64, 1);
        let next = self.b.ins().iadd(count, one);
        self.b.def_var(rounds, next);
        let many = self.b.ins().iconst(types::I64, runtime::MANY_ROUNDS as i64);
        let many = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, next, many);
        let (ask, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(ask);
        self.branch_if(many, ask, go_on);
        self.enter(ask);
        self.ask_whether_endless(next, site);
        self.jump(go_on);
        self.enter(go_on);
        self.loops += 1;
        self.path(head, |e| e.body(body));
        self.loops -= 1;
        self.b.seal_block(head);
        // The head was passed at least once, but its words were loaded anew in each round.
        self.words.restore(before);
        self.enter(done);
    }

    /// In a loop that takes many rounds: asks whether it is endless, or takes too long. All that
    /// the loop changes is in memory here, except temporaries.
    fn ask_whether_endless(&mut self, rounds: Value, site: Site) {
        let Some(step) = &self.step else { return };
        let target = step.target;
        let mut temporaries: Vec<(u8, Variable)> =
            step.temporaries.iter().map(|(t, v)| (*t, *v)).collect();
        temporaries.sort_unstable_by_key(|(number, _)| *number);
        let values = temporaries.iter().map(|(_, v)| self.b.use_var(*v));
        let values: Vec<Value> = values.collect();
        let arguments = [
            self.address(self.unit.runtime),
            self.unsigned(self.loops),
            rounds,
            target,
            self.on_stack(&values),
            self.unsigned(values.len() as u32),
            self.outcome(Outcome::failure(site.index())),
        ];
        let again = runtime::again as *const u8;
        let Some(answer) = self.call(again, &[types::I64], &arguments) else {
            return;
        };
        let goes_on = self.outcome(runtime::GOES_ON);
        let stops = self.b.ins().icmp(IntCC::NotEqual, answer, goes_on);
        let failure = self.failure_block();
        let fine = self.b.create_block();
        let argument = [BlockArg::Value(answer)];
        self.b.ins().brif(stops, failure, &argument, fine, &[]);
        self.enter(fine);
    }

    fn assign(&mut self, target: &Place, value: &Expr, site: Site) {
        let unit = self.unit;
        let item = &unit.program().variables[target.variable().index()].item;
        let range = unit.program().interval(value);
        let fixed = match target {
            Place::Var(variable) => Some(unit.model.encoding().first_field(*variable)),
            Place::Element(variable, index, _) => unit.fixed_element(*variable, index),
        };
        if let (Expr::Const(constant), Some(id)) = (value, fixed)
            && item.contains(*constant)
        {
            let field = unit.field(id);
            let raw = (i64::from(*constant) - field.min) as u32;
            self.set_raw_constant(field, raw);
            return;
        }
        let value = self.value(value);
        self.assign_value(target, value, range, site);
    }

    /// Stores a value whose declared range is known.
    pub(super) fn assign_value(
        &mut self,
        target: &Place,
        value: Value,
        range: Interval,
        site: Site,
    ) {
        let unit = self.unit;
        let item = &unit.program().variables[target.variable().index()].item;
        let first = unit.field(unit.model.encoding().first_field(target.variable()));
        match target {
            Place::Var(_) => {
                let raw = self.fitting_raw(item, value, range, site);
                self.set_raw(first, raw);
            }
            Place::Element(variable, index, index_site) => {
                if let Some(id) = unit.fixed_element(*variable, index) {
                    let raw = self.fitting_raw(item, value, range, site);
                    return self.set_raw(unit.field(id), raw);
                }
                let index = self.checked_index(*variable, index, *index_site);
                let raw = self.fitting_raw(item, value, range, site);
                match unit.model.encoding().variables[variable.index()] {
                    VariablePlace::Scalar(_) => self.set_raw(first, raw),
                    VariablePlace::Array(place) => {
                        self.set_element(&place, first.bits, index, raw);
                    }
                }
            }
        }
    }

    /// The raw bits of a value for an item: checked or wrapped if it may not fit.
    pub(super) fn fitting_raw(
        &mut self,
        item: &Item,
        value: Value,
        range: Interval,
        site: Site,
    ) -> Value {
        let raw = if item.min == 0 {
            value
        } else {
            let min = self.constant(item.min);
            self.b.ins().isub(value, min)
        };
        if range.within(item.min, item.max) {
            return raw;
        }
        let span = item.max.wrapping_sub(item.min) as u32;
        let largest = self.unsigned(span);
        match item.overflow {
            Overflow::Wrap => self.b.ins().band(raw, largest),
            Overflow::Fits => {
                let (min, max) = (self.constant(item.min), self.constant(item.max));
                let below = self.b.ins().icmp(IntCC::SignedLessThan, value, min);
                let raised = self.b.ins().select(below, min, value);
                let above = self.b.ins().icmp(IntCC::SignedGreaterThan, raised, max);
                let nearest = self.b.ins().select(above, max, raised);
                self.b.ins().isub(nearest, min)
            }
            Overflow::Fail => {
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, raw, largest);
                self.fail_if(outside, site);
                raw
            }
        }
    }

    /// The variable for a temporary of the current body.
    pub(super) fn temporary(&mut self, temp: TempId) -> Option<Variable> {
        let step = self.step.as_ref()?;
        step.temporaries.get(&temp.0).copied()
    }
}
