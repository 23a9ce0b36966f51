//! Small expressions that simplify themselves.

pub(crate) use stubborn_ir::simplify::{and, not, or, truth};
use stubborn_ir::simplify::{is_truth, may_fail};
use stubborn_ir::{BinaryOp, Expr};

/// A binary operation, done at once on constants.
pub(crate) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    match (&left, &right) {
        (Expr::Const(a), Expr::Const(b)) => Expr::Const(op.apply(*a, *b)),
        // `comparison == 0` and the like.
        (_, Expr::Const(0)) if op == BinaryOp::Equal && is_truth(&left) => not(left),
        (_, Expr::Const(0)) if op == BinaryOp::NotEqual && is_truth(&left) => left,
        (_, Expr::Const(1)) if op == BinaryOp::Equal && is_truth(&left) => left,
        (_, Expr::Const(1)) if op == BinaryOp::NotEqual && is_truth(&left) => not(left),
        _ => Expr::binary(op, left, right),
    }
}

/// The one or the other.
pub(crate) fn choose(condition: Expr, yes: Expr, no: Expr) -> Expr {
    match condition {
        Expr::Const(0) => no,
        Expr::Const(_) => yes,
        // What may fail is evaluated first, and stays.
        condition if yes == no && !may_fail(&condition) => yes,
        condition => Expr::If(Box::new(condition), Box::new(yes), Box::new(no)),
    }
}

/// A value is the given constant.
pub(crate) fn is(value: Expr, constant: i32) -> Expr {
    binary(BinaryOp::Equal, value, Expr::Const(constant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_with_truths_vanish() {
        let x = || is(Expr::Temp(stubborn_ir::TempId(0)), 3);
        assert_eq!(binary(BinaryOp::Equal, x(), Expr::Const(0)), not(x()));
        assert_eq!(binary(BinaryOp::Equal, x(), Expr::Const(1)), x());
    }
}
