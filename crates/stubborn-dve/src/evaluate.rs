//! The value of an expression in the initial state.
//!
//! DVE computes initial values from those of variables declared before. This is
//! the arithmetic of the language in one place: 32-bit and wrapping, `/` and `%`
//! truncate toward zero, shifts use the low five bits of their right operand, and
//! the right operand of `and`, `or` and `imply` counts as true only if it is
//! positive (as DiVinE computes it), while the left one only has to be non-zero.

use crate::model::{BinaryOp, Expr, Model, UnaryOp};

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// `/` or `%` with 0 on the right.
    DivisionByZero,
    /// An index outside its array.
    IndexOutOfRange,
}

impl EvaluationError {
    /// What happened, for a message.
    pub fn describe(self) -> &'static str {
        match self {
            EvaluationError::DivisionByZero => "it divides by zero",
            EvaluationError::IndexOutOfRange => "it uses an index outside its array",
        }
    }
}

/// Applies an operator with one operand.
pub fn unary(operator: UnaryOp, value: i32) -> i32 {
    match operator {
        UnaryOp::Negate => value.wrapping_neg(),
        UnaryOp::Complement => !value,
        UnaryOp::Not => i32::from(value == 0),
    }
}

/// Applies an operator with two operands, both already computed.
///
/// # Errors
/// Division by zero.
pub fn binary(operator: BinaryOp, left: i32, right: i32) -> Result<i32, EvaluationError> {
    Ok(match operator {
        BinaryOp::Imply => i32::from(left == 0 || right > 0),
        BinaryOp::Or => i32::from(left != 0 || right > 0),
        BinaryOp::And => i32::from(left != 0 && right > 0),
        BinaryOp::BitOr => left | right,
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::Equal => i32::from(left == right),
        BinaryOp::NotEqual => i32::from(left != right),
        BinaryOp::Less => i32::from(left < right),
        BinaryOp::LessEqual => i32::from(left <= right),
        BinaryOp::Greater => i32::from(left > right),
        BinaryOp::GreaterEqual => i32::from(left >= right),
        BinaryOp::ShiftLeft => left.wrapping_shl(right as u32),
        BinaryOp::ShiftRight => left.wrapping_shr(right as u32),
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Subtract => left.wrapping_sub(right),
        BinaryOp::Multiply => left.wrapping_mul(right),
        BinaryOp::Divide | BinaryOp::Remainder if right == 0 => {
            return Err(EvaluationError::DivisionByZero);
        }
        BinaryOp::Divide => left.wrapping_div(right),
        BinaryOp::Remainder => left.wrapping_rem(right),
    })
}

/// The value that the left operand alone decides, if it does: the right one must
/// then not be evaluated.
pub fn short_circuit(operator: BinaryOp, left: i32) -> Option<i32> {
    match operator {
        BinaryOp::And if left == 0 => Some(0),
        BinaryOp::Or if left != 0 => Some(1),
        BinaryOp::Imply if left == 0 => Some(1),
        _ => None,
    }
}

/// The value of an expression in the initial state of `model`.
///
/// # Errors
/// Division by zero, or an index out of range.
pub fn initial_value(model: &Model, expression: &Expr) -> Result<i32, EvaluationError> {
    match expression {
        Expr::Constant(value) => Ok(*value),
        Expr::Read(place) => {
            let index = match &place.index {
                None => 0,
                Some(index) => initial_value(model, index)?,
            };
            let values = &model.variable(place.variable).initial;
            usize::try_from(index)
                .ok()
                .and_then(|i| values.get(i).copied())
                .ok_or(EvaluationError::IndexOutOfRange)
        }
        Expr::At(process, location) => Ok(i32::from(model.process(*process).init == *location)),
        Expr::Unary(operator, inner) => Ok(unary(*operator, initial_value(model, inner)?)),
        Expr::Binary(operator, operands) => {
            let left = initial_value(model, &operands[0])?;
            match short_circuit(*operator, left) {
                Some(value) => Ok(value),
                None => binary(*operator, left, initial_value(model, &operands[1])?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_operand_of_logic_must_be_positive() {
        assert_eq!(binary(BinaryOp::And, 1, -1), Ok(0));
        assert_eq!(binary(BinaryOp::And, -1, 1), Ok(1));
        assert_eq!(binary(BinaryOp::Or, 0, -1), Ok(0));
        assert_eq!(binary(BinaryOp::Imply, 1, -1), Ok(0));
        assert_eq!(binary(BinaryOp::Imply, 0, -1), Ok(1));
    }

    #[test]
    fn division_truncates_and_never_panics() {
        assert_eq!(binary(BinaryOp::Divide, -7, 2), Ok(-3));
        assert_eq!(binary(BinaryOp::Remainder, -7, 2), Ok(-1));
        assert_eq!(binary(BinaryOp::Divide, i32::MIN, -1), Ok(i32::MIN));
        assert_eq!(
            binary(BinaryOp::Remainder, 1, 0),
            Err(EvaluationError::DivisionByZero)
        );
        assert_eq!(binary(BinaryOp::ShiftLeft, 1, 33), Ok(2));
        assert_eq!(binary(BinaryOp::ShiftRight, -8, 1), Ok(-4));
    }
}
