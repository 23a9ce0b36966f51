//! Expressions: operator precedence as DiVinE has it.
//!
//! Two levels surprise people: `and` and `or` bind equally strongly, and so do
//! `|`, `&` and `^`. All binary operators associate to the left, and every unary
//! operator binds tighter than any binary one, so `not x == 0` is `(not x) == 0`.

use super::{Dialect, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, Member, UnaryOp};
use crate::token::Token;
use crate::{MAX_EXPRESSION_HEIGHT, codes};
use stubborn_diagnostics::{Diagnostic, Span};

/// The operator that a token stands for, and how tightly it binds.
fn binary_operator(token: Token) -> Option<(BinaryOp, u8)> {
    Some(match token {
        Token::Imply => (BinaryOp::Imply, 1),
        Token::Or => (BinaryOp::Or, 2),
        Token::And => (BinaryOp::And, 2),
        Token::BitOr => (BinaryOp::BitOr, 3),
        Token::BitAnd => (BinaryOp::BitAnd, 3),
        Token::BitXor => (BinaryOp::BitXor, 3),
        Token::Equal => (BinaryOp::Equal, 4),
        Token::NotEqual => (BinaryOp::NotEqual, 4),
        Token::Less => (BinaryOp::Less, 5),
        Token::LessEqual => (BinaryOp::LessEqual, 5),
        Token::Greater => (BinaryOp::Greater, 5),
        Token::GreaterEqual => (BinaryOp::GreaterEqual, 5),
        Token::ShiftLeft => (BinaryOp::ShiftLeft, 6),
        Token::ShiftRight => (BinaryOp::ShiftRight, 6),
        Token::Plus => (BinaryOp::Add, 7),
        Token::Minus => (BinaryOp::Subtract, 7),
        Token::Star => (BinaryOp::Multiply, 8),
        Token::Slash => (BinaryOp::Divide, 8),
        Token::Percent => (BinaryOp::Remainder, 8),
        _ => return None,
    })
}

impl<'src> Parser<'src, '_> {
    /// An expression. On a syntax error the caller skips to where it can go on.
    pub(super) fn expression(&mut self) -> Option<Expr<'src>> {
        self.binary(1)
    }

    /// Operands joined by operators that bind at least as tightly as `level`.
    fn binary(&mut self, level: u8) -> Option<Expr<'src>> {
        self.deeper(|parser| parser.binary_chain(level))
    }

    fn binary_chain(&mut self, level: u8) -> Option<Expr<'src>> {
        let mut left = self.operand()?;
        while let Some((operator, tightness)) = binary_operator(self.token) {
            if tightness < level {
                break;
            }
            self.advance();
            let right = self.binary(tightness + 1)?;
            let span = left.span.to(right.span);
            let height = left.height.max(right.height) + 1;
            if height > MAX_EXPRESSION_HEIGHT {
                self.too_deep(span);
                return None;
            }
            left = Expr {
                kind: ExprKind::Binary(operator, self.arena.alloc([left, right])),
                span,
                height,
            };
        }
        Some(left)
    }

    /// Runs a rule one level deeper, unless that is too deep. All recursion of
    /// the grammar goes through here.
    fn deeper(&mut self, rule: impl FnOnce(&mut Self) -> Option<Expr<'src>>) -> Option<Expr<'src>> {
        if self.depth >= MAX_EXPRESSION_HEIGHT {
            self.too_deep(self.span);
            return None;
        }
        self.depth += 1;
        let expression = rule(self);
        self.depth -= 1;
        expression
    }

    /// An operand with the unary operators before it.
    fn operand(&mut self) -> Option<Expr<'src>> {
        let start = self.span;
        let operator = match self.token {
            Token::Minus => UnaryOp::Negate,
            Token::Tilde => UnaryOp::Complement,
            Token::Not => UnaryOp::Not,
            Token::Exclamation => {
                if self.dialect == Dialect::Model {
                    self.complain(
                        Diagnostic::error(
                            codes::EXCLAMATION_NEGATION,
                            "`!` is not a negation in DVE",
                            start,
                        )
                        .help("write `not`; mind that it binds tighter than any comparison"),
                    );
                }
                UnaryOp::Not
            }
            _ => return self.primary(),
        };
        self.advance();
        let inner = self.deeper(Self::operand)?;
        let span = start.to(inner.span);
        let height = inner.height + 1;
        Some(Expr {
            kind: ExprKind::Unary(operator, self.arena.alloc(inner)),
            span,
            height,
        })
    }

    fn primary(&mut self) -> Option<Expr<'src>> {
        let start = self.span;
        match self.token {
            Token::Number => {
                let number = self.number()?;
                Some(leaf(ExprKind::Number(number.value), start))
            }
            Token::True | Token::False => {
                let value = i32::from(self.token == Token::True);
                self.advance();
                Some(leaf(ExprKind::Number(value), start))
            }
            Token::LeftParenthesis => {
                self.advance();
                let inner = self.expression()?;
                let end = self.expect(Token::RightParenthesis)?;
                Some(Expr {
                    span: start.to(end),
                    ..inner
                })
            }
            Token::Identifier => {
                let name = self.ident()?;
                self.named(name)
            }
            _ => {
                self.expected("an expression");
                None
            }
        }
    }

    /// What may follow a name: an index, or a member of the process it names.
    fn named(&mut self, name: Ident<'src>) -> Option<Expr<'src>> {
        match self.token {
            Token::LeftBracket => {
                let (index, end) = self.index()?;
                let height = index.height + 1;
                let span = name.span.to(end);
                Some(Expr {
                    kind: ExprKind::Index(name, self.arena.alloc(index)),
                    span,
                    height,
                })
            }
            Token::Dot | Token::Arrow => {
                let arrow = self.token == Token::Arrow;
                self.advance();
                let member = self.ident_for(if arrow {
                    "the name of a variable"
                } else {
                    "the name of a state"
                })?;
                let mut span = name.span.to(member.span);
                let mut height = 1;
                let mut index = None;
                if self.token == Token::LeftBracket {
                    let (expression, end) = self.index()?;
                    height = expression.height + 1;
                    span = span.to(end);
                    index = Some(expression);
                }
                let member = Member {
                    process: name,
                    arrow,
                    name: member,
                    index,
                };
                Some(Expr {
                    kind: ExprKind::Member(self.arena.alloc(member)),
                    span,
                    height,
                })
            }
            _ => Some(leaf(ExprKind::Name(name), name.span)),
        }
    }

    /// `[expression]`, with the span of the closing bracket.
    fn index(&mut self) -> Option<(Expr<'src>, Span)> {
        self.expect(Token::LeftBracket)?;
        let index = self.expression()?;
        let end = self.expect(Token::RightBracket)?;
        Some((index, end))
    }

    fn too_deep(&mut self, span: Span) {
        let message =
            format!("this expression is nested more than {MAX_EXPRESSION_HEIGHT} levels deep");
        self.complain(
            Diagnostic::error(codes::TOO_DEEP, message, Span { start: span.start, end: span.start + 1 })
                .help("a chain of operators counts one level for each; add parentheses to balance it, or split the guard"),
        );
    }
}

fn leaf(kind: ExprKind<'_>, span: Span) -> Expr<'_> {
    Expr {
        kind,
        span,
        height: 1,
    }
}
