//! Expressions that are evaluated in every state, not only where a command is enabled:
//! propositions of formulas, guards of claims.

use super::{Env, Ranges};
use crate::intervals::Known;
use crate::{Expr, Program, UnaryOp};

/// For each expression, whether evaluating it can fail in a state that some run reaches. What
/// is said to be impossible is: an answer errs on the side of failure.
pub fn may_fail_somewhere(program: &Program, expressions: &[Expr]) -> Vec<bool> {
    let declared = expressions.iter().map(|expr| program.may_fail(expr));
    let mut fails: Vec<bool> = declared.collect();
    // Looking closer costs as much as narrowing the program.
    if fails.contains(&true)
        && let Some(ranges) = Ranges::stable(program)
    {
        for (fails, expr) in fails.iter_mut().zip(expressions) {
            *fails = *fails && ranges.may_fail(&Env::default(), &Known::default(), expr);
        }
    }
    fails
}

impl Ranges<'_> {
    /// Whether evaluating an expression can fail in these ranges, where this is known of channels.
    fn may_fail(&self, env: &Env, known: &Known, expr: &Expr) -> bool {
        // The right side is evaluated only after the left one decided nothing.
        let after = |left: &Expr, holds: bool, right: &Expr| {
            let mut env = env.clone();
            self.assume(&mut env, left, holds)
                && self.may_fail(&env, &known.and(left, holds), right)
        };
        match expr {
            Expr::Unary(UnaryOp::Not, operand) => self.may_fail(env, known, operand),
            Expr::And(left, right) => self.may_fail(env, known, left) || after(left, true, right),
            Expr::Or(left, right) => self.may_fail(env, known, left) || after(left, false, right),
            Expr::If(condition, then, otherwise) => {
                self.may_fail(env, known, condition)
                    || after(condition, true, then)
                    || after(condition, false, otherwise)
            }
            leaf => {
                let known = known.within(self.all(env.clone()));
                self.program.may_fail_given(leaf, &known)
            }
        }
    }
}
