//! Conditions that simplify themselves while they are built.

use crate::{BinaryOp, Expr, UnaryOp};

/// Both hold.
pub fn and(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), _) | (_, Expr::Const(0)) => Expr::Const(0),
        (Expr::Const(_), other) | (other, Expr::Const(_)) => truth(other),
        (left, right) => Expr::and(left, right),
    }
}

/// One of them holds.
pub fn or(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), other) | (other, Expr::Const(0)) => truth(other),
        (Expr::Const(_), _) | (_, Expr::Const(_)) => Expr::Const(1),
        (left, right) => Expr::or(left, right),
    }
}

/// Whether a value is 0 or 1 by its form.
pub fn is_truth(value: &Expr) -> bool {
    match value {
        Expr::Const(value) => matches!(value, 0 | 1),
        Expr::And(..) | Expr::Or(..) | Expr::Unary(UnaryOp::Not, _) => true,
        Expr::Binary(op, ..) => op.is_comparison(),
        _ => false,
    }
}

/// 0 or 1: whether the value is not 0.
pub fn truth(value: Expr) -> Expr {
    match value {
        Expr::Const(value) => Expr::Const(i32::from(value != 0)),
        value if is_truth(&value) => value,
        other => Expr::binary(BinaryOp::NotEqual, other, Expr::Const(0)),
    }
}

/// It does not hold. Conjunctions and comparisons are turned around, so that the result falls
/// into conjuncts again where possible.
pub fn not(value: Expr) -> Expr {
    match value {
        Expr::Const(value) => Expr::Const(i32::from(value == 0)),
        Expr::And(left, right) => or(not(*left), not(*right)),
        Expr::Or(left, right) => and(not(*left), not(*right)),
        Expr::Unary(UnaryOp::Not, inner) => truth(*inner),
        Expr::Binary(op, left, right) => match op.opposite() {
            Some(opposite) => Expr::Binary(opposite, left, right),
            None => Expr::equal(Expr::Binary(op, left, right), Expr::Const(0)),
        },
        other => Expr::equal(other, Expr::Const(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TempId;

    fn is(constant: i32) -> Expr {
        Expr::equal(Expr::Temp(TempId(0)), Expr::Const(constant))
    }

    #[test]
    fn negation_splits_into_conjuncts() {
        assert!(matches!(not(or(is(1), is(2))), Expr::And(..)));
        assert_eq!(not(not(is(1))), is(1));
    }

    #[test]
    fn constants_vanish() {
        assert_eq!(and(Expr::Const(7), is(3)), is(3));
        assert_eq!(or(is(3), Expr::Const(7)), Expr::Const(1));
        assert_eq!(truth(Expr::Const(7)), Expr::Const(1));
    }

    #[test]
    fn opposites_differ_everywhere() {
        use BinaryOp::*;
        for op in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
            let opposite = op.opposite().expect("it is a comparison");
            for (a, b) in [(1, 2), (2, 2), (3, 2)] {
                assert_ne!(op.apply(a, b), opposite.apply(a, b), "{op:?}");
            }
        }
    }
}
