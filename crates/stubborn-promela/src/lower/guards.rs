//! Small expressions that simplify themselves.

use stubborn_ir::{BinaryOp, Expr, UnaryOp};

/// Both hold.
pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), _) | (_, Expr::Const(0)) => Expr::Const(0),
        (Expr::Const(_), other) => truth(other),
        (other, Expr::Const(_)) => truth(other),
        (left, right) => Expr::and(left, right),
    }
}

/// One of them holds.
pub(crate) fn or(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), other) | (other, Expr::Const(0)) => truth(other),
        (Expr::Const(_), _) | (_, Expr::Const(_)) => Expr::Const(1),
        (left, right) => Expr::or(left, right),
    }
}

/// 0 or 1: whether the value is not 0.
pub(crate) fn truth(value: Expr) -> Expr {
    match value {
        Expr::Const(value) => Expr::Const(i32::from(value != 0)),
        Expr::And(..) | Expr::Or(..) | Expr::Unary(UnaryOp::Not, _) => value,
        Expr::Binary(op, ..) if op.is_comparison() => value,
        other => Expr::binary(BinaryOp::NotEqual, other, Expr::Const(0)),
    }
}

/// It does not hold. Conjunctions and comparisons are turned around, so that the result falls
/// into conjuncts again where possible.
pub(crate) fn not(value: Expr) -> Expr {
    match value {
        Expr::Const(value) => Expr::Const(i32::from(value == 0)),
        Expr::And(left, right) => or(not(*left), not(*right)),
        Expr::Or(left, right) => and(not(*left), not(*right)),
        Expr::Unary(UnaryOp::Not, inner) => truth(*inner),
        Expr::Binary(op, left, right) if op.is_comparison() => {
            let turned = match op {
                BinaryOp::Equal => BinaryOp::NotEqual,
                BinaryOp::NotEqual => BinaryOp::Equal,
                BinaryOp::Less => BinaryOp::GreaterEqual,
                BinaryOp::LessEqual => BinaryOp::Greater,
                BinaryOp::Greater => BinaryOp::LessEqual,
                _ => BinaryOp::Less,
            };
            Expr::Binary(turned, left, right)
        }
        other => Expr::equal(other, Expr::Const(0)),
    }
}

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

fn is_truth(value: &Expr) -> bool {
    match value {
        Expr::And(..) | Expr::Or(..) | Expr::Unary(UnaryOp::Not, _) => true,
        Expr::Binary(op, ..) => op.is_comparison(),
        _ => false,
    }
}

/// The one or the other.
pub(crate) fn choose(condition: Expr, yes: Expr, no: Expr) -> Expr {
    match condition {
        Expr::Const(0) => no,
        Expr::Const(_) => yes,
        _ if yes == no => yes,
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
    fn negation_splits_into_conjuncts() {
        let x = || Expr::Temp(stubborn_ir::TempId(0));
        let either = or(is(x(), 1), is(x(), 2));
        assert!(matches!(not(either), Expr::And(..)));
        assert_eq!(not(not(is(x(), 1))), is(x(), 1));
    }

    #[test]
    fn constants_vanish() {
        let x = || is(Expr::Temp(stubborn_ir::TempId(0)), 3);
        assert_eq!(and(Expr::Const(7), x()), x());
        assert_eq!(or(x(), Expr::Const(7)), Expr::Const(1));
        assert_eq!(binary(BinaryOp::Equal, x(), Expr::Const(0)), not(x()));
    }
}
