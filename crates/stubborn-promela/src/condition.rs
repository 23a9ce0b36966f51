//! Conditions of `#if` and `#elif`: constant expressions over integers.

use crate::token::{Kind, Token};

/// Parentheses and signs nest at most this deep.
const MAX_DEPTH: usize = 100;

/// The value of an expanded condition. Names that are no macros count as 0.
pub(crate) fn evaluate(tokens: &[Token]) -> Result<i64, String> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let value = parser.ternary()?;
    match parser.peek() {
        None => Ok(value),
        Some(extra) => Err(format!("unexpected `{}`", extra.text)),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

/// Binary operators with their binding strength.
fn strength(kind: Kind) -> Option<u8> {
    Some(match kind {
        Kind::Or => 1,
        Kind::And => 2,
        Kind::Pipe => 3,
        Kind::Caret => 4,
        Kind::Ampersand => 5,
        Kind::Equal | Kind::NotEqual => 6,
        Kind::Less | Kind::LessEqual | Kind::Greater | Kind::GreaterEqual => 7,
        Kind::ShiftLeft | Kind::ShiftRight => 8,
        Kind::Plus | Kind::Minus => 9,
        Kind::Star | Kind::Slash | Kind::Percent => 10,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.peek().is_some_and(|t| t.kind == kind);
        self.at += usize::from(found);
        found
    }

    fn ternary(&mut self) -> Result<i64, String> {
        let condition = self.binary(1)?;
        if !self.take(Kind::Question) {
            return Ok(condition);
        }
        let yes = self.nested(Self::ternary)?;
        if !self.take(Kind::Colon) {
            return Err("`:` is missing".into());
        }
        let no = self.nested(Self::ternary)?;
        Ok(if condition != 0 { yes } else { no })
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<i64, String>) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deeply".into());
        }
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn binary(&mut self, least: u8) -> Result<i64, String> {
        let mut left = self.unary()?;
        while let Some(operator) = self.peek().map(|t| t.kind) {
            let Some(level) = strength(operator).filter(|level| *level >= least) else {
                break;
            };
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, String> {
        let Some(token) = self.peek() else {
            return Err("a value is missing".into());
        };
        self.at += 1;
        match token.kind {
            Kind::Bang => Ok(i64::from(self.nested(Self::unary)? == 0)),
            Kind::Minus => Ok(self.nested(Self::unary)?.wrapping_neg()),
            Kind::Plus => self.nested(Self::unary),
            Kind::Tilde => Ok(!self.nested(Self::unary)?),
            Kind::OpenParen => {
                let value = self.nested(Self::ternary)?;
                if self.take(Kind::CloseParen) {
                    Ok(value)
                } else {
                    Err("`)` is missing".into())
                }
            }
            Kind::Number => {
                let digits = token.text.trim_end_matches(['u', 'U', 'l', 'L']);
                digits
                    .parse()
                    .map_err(|_| format!("`{}` is no number", token.text))
            }
            Kind::Character => Ok(token.text.chars().nth(1).map_or(0, |c| c as i64)),
            Kind::Name => Ok(0),
            _ => Err(format!("unexpected `{}`", token.text)),
        }
    }
}

fn apply(operator: Kind, a: i64, b: i64) -> Result<i64, String> {
    Ok(match operator {
        Kind::Or => i64::from(a != 0 || b != 0),
        Kind::And => i64::from(a != 0 && b != 0),
        Kind::Pipe => a | b,
        Kind::Caret => a ^ b,
        Kind::Ampersand => a & b,
        Kind::Equal => i64::from(a == b),
        Kind::NotEqual => i64::from(a != b),
        Kind::Less => i64::from(a < b),
        Kind::LessEqual => i64::from(a <= b),
        Kind::Greater => i64::from(a > b),
        Kind::GreaterEqual => i64::from(a >= b),
        Kind::ShiftLeft => a.checked_shl(b as u32).unwrap_or(0),
        Kind::ShiftRight => a.checked_shr(b as u32).unwrap_or(0),
        Kind::Plus => a.wrapping_add(b),
        Kind::Minus => a.wrapping_sub(b),
        Kind::Star => a.wrapping_mul(b),
        Kind::Slash => a.checked_div(b).ok_or("division by zero")?,
        _ => a.checked_rem(b).ok_or("division by zero")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        evaluate(&crate::token::tokens(text, 0))
    }

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(value("1 + 2 * 3 == 7 && !0"), Ok(1));
        assert_eq!(value("10 - 2 - 3"), Ok(5));
        assert_eq!(value("1 ? 2 : 3"), Ok(2));
        assert_eq!(value("UNKNOWN || -1 < 0"), Ok(1));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "1 +", "(1", "1 / 0", "1 2"] {
            assert!(value(text).is_err(), "{text}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"!".repeat(100_000)).is_err());
    }
}
