//! Conditions that simplify themselves while they are built. What may fail is evaluated before what
//! decides without it, as it is written, and stays.

use crate::{BinaryOp, ChannelRef, Expr, UnaryOp};

/// Both hold.
pub fn and(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), _) => Expr::Const(0),
        (left, Expr::Const(0)) if !may_fail(&left) => Expr::Const(0),
        (left, Expr::Const(0)) => Expr::and(left, Expr::Const(0)),
        (Expr::Const(_), other) | (other, Expr::Const(_)) => truth(other),
        (left, right) => Expr::and(left, right),
    }
}

/// One of them holds.
pub fn or(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(0), other) | (other, Expr::Const(0)) => truth(other),
        (Expr::Const(_), _) => Expr::Const(1),
        (left, Expr::Const(_)) if !may_fail(&left) => Expr::Const(1),
        (left, right) => Expr::or(left, right),
    }
}

/// Whether its form leaves room for a failure.
pub fn may_fail(value: &Expr) -> bool {
    match value {
        Expr::Const(_) | Expr::Var(_) | Expr::Temp(_) => false,
        Expr::Length(channel) => matches!(channel, ChannelRef::Denoted { .. }),
        Expr::Element(..) | Expr::Divide(..) | Expr::Peek { .. } => true,
        Expr::Unary(_, inner) => may_fail(inner),
        Expr::Binary(_, left, right) | Expr::And(left, right) | Expr::Or(left, right) => {
            may_fail(left) || may_fail(right)
        }
        Expr::If(condition, then, otherwise) => {
            may_fail(condition) || may_fail(then) || may_fail(otherwise)
        }
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
    fn what_may_fail_stays() {
        use crate::{DivideOp, Site};
        let quotient = |by| {
            let (op, one) = (DivideOp::Quotient, Box::new(Expr::Const(1)));
            Expr::Divide(op, one, Box::new(by), Site(0))
        };
        let fails = || Expr::equal(quotient(Expr::Temp(TempId(0))), Expr::Const(1));
        assert!(matches!(or(fails(), Expr::Const(1)), Expr::Or(..)));
        assert!(matches!(and(fails(), Expr::Const(0)), Expr::And(..)));
        assert!(matches!(not(or(fails(), Expr::Const(1))), Expr::And(..)));
        assert_eq!(or(Expr::Const(1), fails()), Expr::Const(1));
        assert_eq!(and(Expr::Const(0), fails()), Expr::Const(0));
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
