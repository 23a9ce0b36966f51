//! Expressions: values in registers, conditions as branches.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use stubborn_ir::intervals::Known;
use stubborn_ir::{BinaryOp, DivideOp, Expr, Site, UnaryOp, VarId, VariablePlace};

use super::Emitter;
use crate::plan::expr_size;

/// Operands up to this size are computed without asking whether they are needed.
const CHEAP: usize = 8;

fn comparison(op: BinaryOp) -> Option<IntCC> {
    Some(match op {
        BinaryOp::Equal => IntCC::Equal,
        BinaryOp::NotEqual => IntCC::NotEqual,
        BinaryOp::Less => IntCC::SignedLessThan,
        BinaryOp::LessEqual => IntCC::SignedLessThanOrEqual,
        BinaryOp::Greater => IntCC::SignedGreaterThan,
        BinaryOp::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    })
}

impl Emitter<'_, '_> {
    /// Whether an expression may be computed even where the program would not: it cannot
    /// fail and costs less than a branch.
    fn is_harmless(&self, expr: &Expr) -> bool {
        expr_size(expr, CHEAP).is_some_and(|size| size <= CHEAP) && !self.unit.may_fail(expr)
    }

    /// The value of an expression, 32 bits.
    pub(super) fn value(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Const(value) => self.constant(*value),
            Expr::Var(variable) => {
                let unit = self.unit;
                self.get(unit.field(unit.model.encoding().first_field(*variable)))
            }
            Expr::Temp(temp) => match self.temporary(*temp) {
                Some(variable) => self.b.use_var(variable),
                None => self.constant(0),
            },
            Expr::Element(variable, index, site) => self.element(*variable, index, *site),
            Expr::Unary(UnaryOp::Negate, operand) => {
                let operand = self.value(operand);
                self.b.ins().ineg(operand)
            }
            Expr::Unary(UnaryOp::BitNot, operand) => {
                let operand = self.value(operand);
                self.b.ins().bnot(operand)
            }
            Expr::Binary(op, left, right) if comparison(*op).is_none() => {
                let left = self.value(left);
                let right = self.value(right);
                self.arithmetic(*op, left, right)
            }
            Expr::Divide(op, left, right, site) => self.divide(*op, left, right, *site),
            Expr::If(condition, then, otherwise) => {
                if self.is_harmless(then) && self.is_harmless(otherwise) {
                    let holds = self.condition(condition);
                    let then = self.value(then);
                    let otherwise = self.value(otherwise);
                    return self.b.ins().select(holds, then, otherwise);
                }
                self.save();
                let (yes, no, done) = (
                    self.b.create_block(),
                    self.b.create_block(),
                    self.b.create_block(),
                );
                self.b.append_block_param(done, types::I32);
                let marks = self.branch(condition, yes, no);
                let known = marks.0.min(marks.1);
                for (block, expr) in [(yes, then), (no, otherwise)] {
                    self.words.restore(known);
                    self.enter(block);
                    let value = self.value(expr);
                    self.jump_with(done, value);
                }
                self.words.restore(known);
                self.enter(done);
                self.b.block_params(done)[0]
            }
            Expr::Length(channel) => self.length(channel),
            Expr::Peek {
                channel,
                position,
                item,
                site,
            } => self.peek(channel, position, *item, *site),
            // What is left gives 0 or 1.
            _ => {
                let holds = self.condition(expr);
                self.b.ins().uextend(types::I32, holds)
            }
        }
    }

    /// 1 if the expression is not zero, else 0 (8 bits).
    pub(super) fn condition(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Const(value) => self.b.ins().iconst(types::I8, i64::from(*value != 0)),
            Expr::Unary(UnaryOp::Not, operand) => {
                let holds = self.condition(operand);
                let one = self.b.ins().iconst(types::I8, 1);
                self.b.ins().bxor(holds, one)
            }
            Expr::Binary(op, left, right) => match comparison(*op) {
                Some(condition) => self.compare(condition, left, right),
                None => self.value_is_not_zero(expr),
            },
            Expr::And(left, right) | Expr::Or(left, right) if self.is_harmless(right) => {
                let left = self.condition(left);
                let right = self.condition(right);
                match expr {
                    Expr::And(..) => self.b.ins().band(left, right),
                    _ => self.b.ins().bor(left, right),
                }
            }
            Expr::And(..) | Expr::Or(..) => {
                self.save();
                let (yes, no, done) = (
                    self.b.create_block(),
                    self.b.create_block(),
                    self.b.create_block(),
                );
                self.b.append_block_param(done, types::I8);
                let marks = self.branch(expr, yes, no);
                self.words.restore(marks.0.min(marks.1));
                for (block, holds) in [(yes, 1), (no, 0)] {
                    self.enter(block);
                    let holds = self.b.ins().iconst(types::I8, holds);
                    self.jump_with(done, holds);
                }
                self.enter(done);
                self.b.block_params(done)[0]
            }
            _ => self.value_is_not_zero(expr),
        }
    }

    fn value_is_not_zero(&mut self, expr: &Expr) -> Value {
        let value = self.value(expr);
        let zero = self.constant(0);
        self.b.ins().icmp(IntCC::NotEqual, value, zero)
    }

    fn compare(&mut self, condition: IntCC, left: &Expr, right: &Expr) -> Value {
        if let (Some(id), Expr::Const(value)) = (self.unit.fixed_field(left), right)
            && matches!(condition, IntCC::Equal | IntCC::NotEqual)
        {
            return self.field_equals(self.unit.field(id), *value, condition);
        }
        let left = self.value(left);
        let right = self.value(right);
        self.b.ins().icmp(condition, left, right)
    }

    /// Branches on an expression. Returns marks: what is known in `then`, and in `otherwise`.
    /// The smaller one holds in both. Nothing may be unsaved.
    pub(super) fn branch(&mut self, expr: &Expr, then: Block, otherwise: Block) -> (usize, usize) {
        match expr {
            Expr::Unary(UnaryOp::Not, operand) => {
                let (no, yes) = self.branch(operand, otherwise, then);
                (yes, no)
            }
            Expr::And(left, right) if !self.is_harmless(right) => {
                let middle = self.b.create_block();
                let (known, at_no) = self.branch(left, middle, otherwise);
                self.words.restore(known);
                self.enter(middle);
                let (at_yes, _) = self.branch(right, then, otherwise);
                // What is learnt here replaces what only one way to `otherwise` knew.
                (at_yes, at_no.min(known))
            }
            Expr::Or(left, right) if !self.is_harmless(right) => {
                let middle = self.b.create_block();
                let (at_yes, known) = self.branch(left, then, middle);
                self.words.restore(known);
                self.enter(middle);
                let (_, at_no) = self.branch(right, then, otherwise);
                (at_yes.min(known), at_no)
            }
            _ => {
                let holds = self.condition(expr);
                self.branch_if(holds, then, otherwise);
                (self.words.mark(), self.words.mark())
            }
        }
    }

    fn element(&mut self, variable: VarId, index: &Expr, site: Site) -> Value {
        let unit = self.unit;
        let field = unit.field(unit.model.encoding().first_field(variable));
        if let Some(id) = unit.fixed_element(variable, index) {
            return self.get(unit.field(id));
        }
        let VariablePlace::Array(place) = unit.model.encoding().variables[variable.index()] else {
            // A scalar is its own only element, whatever the index.
            self.value(index);
            return self.get(field);
        };
        let index = self.checked_index(variable, index, site);
        let raw = self.element_raw(&place, field.bits, index);
        self.value_of_raw(field, raw)
    }

    /// The value of an index, checked unless it is proven to be fine.
    pub(super) fn checked_index(&mut self, variable: VarId, index: &Expr, site: Site) -> Value {
        let unit = self.unit;
        let VariablePlace::Array(place) = unit.model.encoding().variables[variable.index()] else {
            return self.value(index);
        };
        let value = self.value(index);
        let range = unit.physical_range(index);
        let unchecked = !unit
            .program()
            .index_may_fail(variable, index, &Known::default())
            && range.min >= 0
            && self.index_is_harmless(&place, range.max as u32);
        if !unchecked {
            let len = self.unsigned(place.len);
            let outside = self
                .b
                .ins()
                .icmp(IntCC::UnsignedGreaterThanOrEqual, value, len);
            self.fail_if(outside, site);
        }
        value
    }

    fn arithmetic(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        let ins = self.b.ins();
        match op {
            BinaryOp::Add => ins.iadd(left, right),
            BinaryOp::Subtract => ins.isub(left, right),
            BinaryOp::Multiply => ins.imul(left, right),
            // Shifts take distances modulo the width.
            BinaryOp::ShiftLeft => ins.ishl(left, right),
            BinaryOp::ShiftRight => ins.sshr(left, right),
            BinaryOp::BitAnd => ins.band(left, right),
            BinaryOp::BitOr => ins.bor(left, right),
            BinaryOp::BitXor => ins.bxor(left, right),
            comparison_op => {
                let condition = comparison(comparison_op).unwrap_or(IntCC::Equal);
                let holds = ins.icmp(condition, left, right);
                self.b.ins().uextend(types::I32, holds)
            }
        }
    }

    fn divide(&mut self, op: DivideOp, left: &Expr, right: &Expr, site: Site) -> Value {
        let unit = self.unit;
        let (dividend, divisor) = (unit.physical_range(left), unit.physical_range(right));
        let left = self.value(left);
        if let Expr::Const(by) = right
            && *by > 0
            && dividend.min >= 0
        {
            return self.divide_by_constant(op, left, dividend.max, *by);
        }
        let right = self.value(right);
        if divisor.contains_zero() {
            let zero = self.constant(0);
            let is_zero = self.b.ins().icmp(IntCC::Equal, right, zero);
            self.fail_if(is_zero, site);
        }
        if !(divisor.min <= -1 && -1 <= divisor.max) {
            return match op {
                DivideOp::Quotient => self.b.ins().sdiv(left, right),
                DivideOp::Remainder => self.b.ins().srem(left, right),
            };
        }
        // Division by -1 may overflow, which hardware does not like.
        let (minus_one, one) = (self.constant(-1), self.constant(1));
        let negates = self.b.ins().icmp(IntCC::Equal, right, minus_one);
        let safe = self.b.ins().select(negates, one, right);
        match op {
            DivideOp::Quotient => {
                let quotient = self.b.ins().sdiv(left, safe);
                let negated = self.b.ins().ineg(left);
                self.b.ins().select(negates, negated, quotient)
            }
            // Modulo 1 and modulo -1 are 0.
            DivideOp::Remainder => self.b.ins().srem(left, safe),
        }
    }

    /// Division of a value in `0..=largest` by a positive constant.
    fn divide_by_constant(&mut self, op: DivideOp, left: Value, largest: i32, by: i32) -> Value {
        let divisor = self.constant(by);
        match op {
            DivideOp::Remainder if (by as u32).is_power_of_two() => {
                let mask = self.constant(by - 1);
                self.b.ins().band(left, mask)
            }
            DivideOp::Quotient if (by as u32).is_power_of_two() => {
                let distance = self.unsigned(by.trailing_zeros());
                self.b.ins().ushr(left, distance)
            }
            DivideOp::Remainder if i64::from(largest) < 2 * i64::from(by) => {
                let less = self.b.ins().isub(left, divisor);
                let wraps = self
                    .b
                    .ins()
                    .icmp(IntCC::UnsignedGreaterThanOrEqual, left, divisor);
                self.b.ins().select(wraps, less, left)
            }
            DivideOp::Quotient => self.b.ins().udiv(left, divisor),
            DivideOp::Remainder => self.b.ins().urem(left, divisor),
        }
    }
}
