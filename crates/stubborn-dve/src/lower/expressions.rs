//! Expressions of DVE as expressions of the IR.
//!
//! The IR's `and` and `or` count every non-zero operand as true. DVE's right operands must
//! be positive, so a comparison with 0 is added where an operand could be negative. Where
//! only truth matters, negations are pushed inwards, so that guards fall apart into small
//! conjuncts: `not (a or b)` is `not a` and `not b`. This changes neither which operands are
//! evaluated nor their order, hence no failure either.

use super::Lowered;
use crate::model::{BinaryOp, Expr, Place, UnaryOp};
use stubborn_ir as ir;
use stubborn_system::FailureKind;

impl Lowered {
    /// An expression with the same value.
    pub(super) fn value(&mut self, expression: &Expr) -> ir::Expr {
        match expression {
            Expr::Constant(value) => ir::Expr::Const(*value),
            Expr::Read(place) => self.read(place),
            Expr::Unary(UnaryOp::Negate, inner) => {
                ir::Expr::Unary(ir::UnaryOp::Negate, Box::new(self.value(inner)))
            }
            Expr::Unary(UnaryOp::Complement, inner) => {
                ir::Expr::Unary(ir::UnaryOp::BitNot, Box::new(self.value(inner)))
            }
            Expr::Binary(operator, operands) if !is_truth_operator(*operator) => {
                let left = self.value(&operands[0]);
                let right = self.value(&operands[1]);
                self.arithmetic(*operator, left, right)
            }
            Expr::At(..) | Expr::Unary(UnaryOp::Not, _) | Expr::Binary(..) => {
                self.zero_or_one(expression, false)
            }
        }
    }

    fn arithmetic(&mut self, operator: BinaryOp, left: ir::Expr, right: ir::Expr) -> ir::Expr {
        let divide = match operator {
            BinaryOp::Divide => Some(ir::DivideOp::Quotient),
            BinaryOp::Remainder => Some(ir::DivideOp::Remainder),
            _ => None,
        };
        if let Some(divide) = divide {
            let site =
                self.program
                    .site(FailureKind::DivisionByZero, "division by zero", self.here);
            return ir::Expr::Divide(divide, Box::new(left), Box::new(right), site);
        }
        let operator = match operator {
            BinaryOp::BitOr => ir::BinaryOp::BitOr,
            BinaryOp::BitAnd => ir::BinaryOp::BitAnd,
            BinaryOp::BitXor => ir::BinaryOp::BitXor,
            BinaryOp::ShiftLeft => ir::BinaryOp::ShiftLeft,
            BinaryOp::ShiftRight => ir::BinaryOp::ShiftRight,
            BinaryOp::Add => ir::BinaryOp::Add,
            BinaryOp::Subtract => ir::BinaryOp::Subtract,
            _ => ir::BinaryOp::Multiply,
        };
        ir::Expr::binary(operator, left, right)
    }

    fn read(&mut self, place: &Place) -> ir::Expr {
        match &place.index {
            None => ir::Expr::Var(self.variable(place.variable)),
            Some(index) => {
                let (variable, index, site) = self.element(place, index);
                ir::Expr::Element(variable, Box::new(index), site)
            }
        }
    }

    /// An expression that is non-zero exactly if this one is (or is not, if `negated`).
    pub(super) fn truth(&mut self, expression: &Expr, negated: bool) -> ir::Expr {
        match expression {
            Expr::Constant(value) => ir::Expr::Const(i32::from((*value != 0) != negated)),
            Expr::At(process, location) => self.location_test(*process, *location, negated),
            Expr::Unary(UnaryOp::Not, inner) => self.truth(inner, !negated),
            Expr::Binary(BinaryOp::And, operands) => {
                let left = self.truth(&operands[0], negated);
                let right = self.positive(&operands[1], negated);
                if negated {
                    ir::Expr::or(left, right)
                } else {
                    ir::Expr::and(left, right)
                }
            }
            Expr::Binary(BinaryOp::Or, operands) => {
                let left = self.truth(&operands[0], negated);
                let right = self.positive(&operands[1], negated);
                if negated {
                    ir::Expr::and(left, right)
                } else {
                    ir::Expr::or(left, right)
                }
            }
            Expr::Binary(BinaryOp::Imply, operands) => {
                let left = self.truth(&operands[0], !negated);
                let right = self.positive(&operands[1], negated);
                if negated {
                    ir::Expr::and(left, right)
                } else {
                    ir::Expr::or(left, right)
                }
            }
            Expr::Binary(operator, operands) => {
                let [left, right] = &**operands;
                match comparison(*operator, negated) {
                    Some(operator) => self.comparison(operator, left, right),
                    None => self.truth_of_value(expression, negated),
                }
            }
            Expr::Read(_) | Expr::Unary(..) => self.truth_of_value(expression, negated),
        }
    }

    fn truth_of_value(&mut self, expression: &Expr, negated: bool) -> ir::Expr {
        let value = self.value(expression);
        if negated {
            ir::Expr::equal(value, ir::Expr::Const(0))
        } else {
            value
        }
    }

    /// An expression that is non-zero exactly if this one is positive (or is not).
    fn positive(&mut self, expression: &Expr, negated: bool) -> ir::Expr {
        if is_truth(expression) {
            return self.truth(expression, negated);
        }
        let value = self.value(expression);
        let zero = ir::Expr::Const(0);
        if self.program.interval(&value).min >= 0 {
            return if negated {
                ir::Expr::equal(value, zero)
            } else {
                value
            };
        }
        let operator = if negated {
            ir::BinaryOp::LessEqual
        } else {
            ir::BinaryOp::Greater
        };
        ir::Expr::binary(operator, value, zero)
    }

    /// A comparison; `P.s == 0` and the like become plain tests.
    fn comparison(&mut self, operator: ir::BinaryOp, left: &Expr, right: &Expr) -> ir::Expr {
        let truth_and_constant = match (left, right) {
            (truth, Expr::Constant(value @ (0 | 1))) if is_truth(truth) => Some((truth, *value)),
            (Expr::Constant(value @ (0 | 1)), truth) if is_truth(truth) => Some((truth, *value)),
            _ => None,
        };
        match (operator, truth_and_constant) {
            (ir::BinaryOp::Equal, Some((truth, value))) => self.zero_or_one(truth, value == 0),
            (ir::BinaryOp::NotEqual, Some((truth, value))) => self.zero_or_one(truth, value == 1),
            _ => {
                let left = self.value(left);
                let right = self.value(right);
                ir::Expr::binary(operator, left, right)
            }
        }
    }

    /// The truth of an expression that is 0 or 1, as 0 or 1.
    fn zero_or_one(&mut self, expression: &Expr, negated: bool) -> ir::Expr {
        ir::simplify::truth(self.truth(expression, negated))
    }
}

/// Whether an operator gives 0 or 1.
fn is_truth_operator(operator: BinaryOp) -> bool {
    matches!(operator, BinaryOp::Imply | BinaryOp::Or | BinaryOp::And)
        || comparison(operator, false).is_some()
}

/// Whether an expression is always 0 or 1 by its form.
fn is_truth(expression: &Expr) -> bool {
    match expression {
        Expr::At(..) | Expr::Unary(UnaryOp::Not, _) => true,
        Expr::Binary(operator, _) => is_truth_operator(*operator),
        _ => false,
    }
}

/// A comparison operator, or its opposite.
fn comparison(operator: BinaryOp, negated: bool) -> Option<ir::BinaryOp> {
    let operator = match operator {
        BinaryOp::Equal => ir::BinaryOp::Equal,
        BinaryOp::NotEqual => ir::BinaryOp::NotEqual,
        BinaryOp::Less => ir::BinaryOp::Less,
        BinaryOp::LessEqual => ir::BinaryOp::LessEqual,
        BinaryOp::Greater => ir::BinaryOp::Greater,
        BinaryOp::GreaterEqual => ir::BinaryOp::GreaterEqual,
        _ => return None,
    };
    match negated {
        true => operator.opposite(),
        false => Some(operator),
    }
}
