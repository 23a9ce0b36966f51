//! Expressions and references.

use stubborn_diagnostics::{Diagnostic, Span};

use super::{KEYWORDS, Parser};
use crate::ast::{Binary, Expr, ExprKind, Part, Probe, ReceiveArgument, Reference, Run, Unary};
use crate::token::Kind;

/// Binary operators with their binding strength.
fn binary(kind: Kind) -> Option<(u8, Binary)> {
    Some(match kind {
        Kind::Or => (1, Binary::Or),
        Kind::And => (2, Binary::And),
        Kind::Pipe => (3, Binary::BitOr),
        Kind::Caret => (4, Binary::BitXor),
        Kind::Ampersand => (5, Binary::BitAnd),
        Kind::Equal => (6, Binary::Equal),
        Kind::NotEqual => (6, Binary::NotEqual),
        Kind::Greater => (7, Binary::Greater),
        Kind::Less => (7, Binary::Less),
        Kind::GreaterEqual => (7, Binary::GreaterEqual),
        Kind::LessEqual => (7, Binary::LessEqual),
        Kind::ShiftLeft => (8, Binary::ShiftLeft),
        Kind::ShiftRight => (8, Binary::ShiftRight),
        Kind::Plus => (9, Binary::Add),
        Kind::Minus => (9, Binary::Subtract),
        Kind::Star => (10, Binary::Multiply),
        Kind::Slash => (10, Binary::Divide),
        Kind::Percent => (10, Binary::Remainder),
        _ => return None,
    })
}

/// Trees of expressions are no higher: every pass over one may recurse.
const MAX_HEIGHT: usize = 1_500;

fn low(expr: Expr) -> Tall {
    Tall { expr, height: 1 }
}

pub(super) fn error_at(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Error,
        span,
    }
}

/// Operands of one operator in a row from which on they are balanced: `((a + b) + (c + d))` has the value of
/// `(((a + b) + c) + d)`, evaluates its operands in the same order, and is not so high.
const LONG: usize = 64;

/// Whether operands may be grouped in any way.
fn is_associative(operator: Binary) -> bool {
    matches!(
        operator,
        Binary::Or
            | Binary::And
            | Binary::BitOr
            | Binary::BitXor
            | Binary::BitAnd
            | Binary::Add
            | Binary::Multiply
    )
}

/// An expression with the height of its tree.
struct Tall {
    expr: Expr,
    height: usize,
}

/// What waits for an operand to end, the innermost last. There is no native stack that parentheses could
/// exhaust.
enum Open {
    /// `(`, where it stands.
    Parenthesis(Span),
    /// `( a ->`
    Then(Span, Tall),
    /// `( a -> b :`
    Otherwise(Span, Tall, Tall),
    /// An operator before its operand. (`!!` is two of them.)
    Prefix(Unary, Span),
    /// Operands of one operator in a row, with how tightly it binds.
    Chain(u8, Binary, Vec<Tall>),
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Expr {
        let mut open = Vec::new();
        let first = self.prefixed(&mut open);
        self.operation(open, first, true)
    }

    /// Goes on with an expression whose first operand is known.
    pub(super) fn expression_after(&mut self, left: Expr) -> Expr {
        self.operation(Vec::new(), low(left), true)
    }

    /// A single operand with the operators before it.
    fn unary(&mut self) -> Expr {
        let mut open = Vec::new();
        let operand = self.prefixed(&mut open);
        self.operation(open, operand, false)
    }

    /// Everything before an operand, and the operand.
    fn prefixed(&mut self, open: &mut Vec<Open>) -> Tall {
        loop {
            let span = self.peek().span;
            let operator = match self.kind() {
                Kind::Bang => Unary::Not,
                Kind::Minus => Unary::Minus,
                Kind::Tilde => Unary::Complement,
                // `!!x` is two negations here, not a sorted send.
                Kind::BangBang => {
                    open.push(Open::Prefix(Unary::Not, span));
                    Unary::Not
                }
                Kind::OpenParen => {
                    self.open_paren();
                    open.push(Open::Parenthesis(span));
                    continue;
                }
                _ => return low(self.primary()),
            };
            self.next();
            open.push(Open::Prefix(operator, span));
        }
    }

    /// Goes on after an operand until all is closed that is open, and, for a whole expression, no operator
    /// follows.
    fn operation(&mut self, mut open: Vec<Open>, mut operand: Tall, whole: bool) -> Expr {
        loop {
            while let Some(Open::Prefix(operator, span)) = open.last() {
                operand = self.applied(*operator, *span, operand);
                open.pop();
            }
            if open.is_empty() && !whole {
                return operand.expr;
            }
            let next = binary(self.kind());
            // Outside parentheses a line that starts with a sign is a new statement.
            let starts = self.parens == 0 && self.peek().line_start && self.kind() == Kind::Minus;
            if let Some((level, operator)) = next.filter(|_| !starts) {
                self.next();
                let row = loop {
                    match open.pop() {
                        Some(Open::Chain(above, other, mut row)) if above >= level => {
                            row.push(operand);
                            if other == operator && is_associative(operator) {
                                break row;
                            }
                            operand = self.joined(other, row);
                        }
                        outer => {
                            open.extend(outer);
                            break vec![operand];
                        }
                    }
                };
                open.push(Open::Chain(level, operator, row));
                operand = self.prefixed(&mut open);
                continue;
            }
            match open.pop() {
                None => return operand.expr,
                Some(Open::Chain(_, operator, mut row)) => {
                    row.push(operand);
                    operand = self.joined(operator, row);
                }
                Some(Open::Prefix(operator, span)) => {
                    operand = self.applied(operator, span, operand);
                }
                Some(Open::Parenthesis(start)) if self.take(Kind::Arrow) => {
                    open.push(Open::Then(start, operand));
                    operand = self.prefixed(&mut open);
                }
                Some(Open::Parenthesis(start)) => self.closed(start, &mut operand),
                Some(Open::Then(start, condition)) => {
                    self.expect(Kind::Colon, "`:`");
                    open.push(Open::Otherwise(start, condition, operand));
                    operand = self.prefixed(&mut open);
                }
                Some(Open::Otherwise(start, condition, yes)) => {
                    let height = condition.height.max(yes.height).max(operand.height) + 1;
                    let span = condition.expr.span;
                    let parts = [condition, yes, operand].map(|part| Box::new(part.expr));
                    let [condition, yes, no] = parts;
                    let kind = ExprKind::Conditional(condition, yes, no);
                    operand = self.tall(Expr { kind, span }, height);
                    self.closed(start, &mut operand);
                }
            }
        }
    }

    /// The parenthesis that closes an operand.
    fn closed(&mut self, start: Span, operand: &mut Tall) {
        if self.close_paren() {
            operand.expr.span = start.to(self.previous_span);
        }
    }

    fn applied(&mut self, operator: Unary, start: Span, operand: Tall) -> Tall {
        let span = start.to(operand.expr.span);
        let kind = ExprKind::Unary(operator, Box::new(operand.expr));
        self.tall(Expr { kind, span }, operand.height + 1)
    }

    /// Operands with the operator between them: to the left, or balanced if they are many.
    fn joined(&mut self, operator: Binary, mut row: Vec<Tall>) -> Tall {
        let mut join = |left: Tall, right: Tall| {
            let span = left.expr.span.to(right.expr.span);
            let height = left.height.max(right.height) + 1;
            let kind = ExprKind::Binary(operator, Box::new(left.expr), Box::new(right.expr));
            self.tall(Expr { kind, span }, height)
        };
        while row.len() > LONG {
            let mut pairs = row.into_iter();
            let mut joined = Vec::new();
            while let Some(left) = pairs.next() {
                joined.push(match pairs.next() {
                    Some(right) => join(left, right),
                    None => left,
                });
            }
            row = joined;
        }
        let joined = row.into_iter().reduce(join);
        joined.unwrap_or_else(|| low(error_at(Span::default())))
    }

    /// An expression of some height, unless that is more than passes over expressions may recurse.
    fn tall(&mut self, expr: Expr, height: usize) -> Tall {
        if height <= MAX_HEIGHT {
            return Tall { expr, height };
        }
        let message = "this expression is too long or nested too deeply";
        self.give_up("PML022", message, expr.span);
        low(error_at(expr.span))
    }

    pub(super) fn primary(&mut self) -> Expr {
        let span = self.peek().span;
        self.deeper(Self::primary_inside)
            .unwrap_or_else(|| error_at(span))
    }

    fn primary_inside(&mut self) -> Expr {
        let token = self.peek().clone();
        match token.kind {
            Kind::Number => {
                self.next();
                match token.text.parse::<i64>() {
                    Ok(value) => {
                        // One more than the largest number is what a minus makes the smallest.
                        if value > 1 << 31 {
                            let kept = value as i32;
                            let message =
                                format!("{value} does not fit into 32 bits: it is {kept}");
                            self.report(Diagnostic::warning("PML032", message, token.span));
                        }
                        Expr {
                            kind: ExprKind::Number(value as i32),
                            span: token.span,
                        }
                    }
                    Err(_) => {
                        let message = format!("`{}` is no decimal number", token.text);
                        self.error("PML032", message, token.span);
                        error_at(token.span)
                    }
                }
            }
            Kind::Character => {
                self.next();
                let mut characters = token.text.chars().skip(1);
                let value = match characters.next() {
                    Some('\\') => match characters.next() {
                        Some('n') => 10,
                        Some('r') => 13,
                        Some('t') => 9,
                        Some('f') => 12,
                        other => other.map_or(0, |c| c as i32),
                    },
                    other => other.map_or(0, |c| c as i32),
                };
                Expr {
                    kind: ExprKind::Number(value),
                    span: token.span,
                }
            }
            Kind::OpenParen => self.unary(),
            Kind::Name => self.word(),
            _ => {
                self.unexpected("an expression");
                error_at(token.span)
            }
        }
    }

    /// `( inside )` after a word.
    fn operand<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.open_paren();
        let value = inside(self);
        self.close_paren();
        value
    }

    fn word(&mut self) -> Expr {
        let token = self.peek().clone();
        let number = |value| Expr {
            kind: ExprKind::Number(value),
            span: token.span,
        };
        let kind = match &*token.text {
            "true" | "skip" => {
                self.next();
                return number(1);
            }
            "false" => {
                self.next();
                return number(0);
            }
            "timeout" => {
                self.next();
                ExprKind::Timeout
            }
            "np_" => {
                self.next();
                ExprKind::NonProgress
            }
            "run" => {
                self.next();
                self.run()
            }
            "len" => {
                self.next();
                match self.operand(Self::reference) {
                    Some(channel) => ExprKind::Len(channel),
                    None => ExprKind::Error,
                }
            }
            "full" | "nfull" | "empty" | "nempty" => {
                self.next();
                let probe = match &*token.text {
                    "full" => Probe::Full,
                    "nfull" => Probe::NotFull,
                    "empty" => Probe::Empty,
                    _ => Probe::NotEmpty,
                };
                match self.operand(Self::reference) {
                    Some(channel) => ExprKind::Probe(probe, channel),
                    None => ExprKind::Error,
                }
            }
            "enabled" => {
                self.next();
                ExprKind::Enabled(Box::new(self.operand(Self::expression)))
            }
            "pc_value" => {
                self.next();
                ExprKind::PcValue(Box::new(self.operand(Self::expression)))
            }
            "get_priority" => {
                self.next();
                ExprKind::GetPriority(Box::new(self.operand(Self::expression)))
            }
            "c_expr" | "c_code" => {
                self.embedded_c();
                ExprKind::Error
            }
            word if KEYWORDS.contains(&word) => {
                self.unexpected("an expression");
                return error_at(token.span);
            }
            _ if self.names.constants.contains(&token.text) => {
                self.next();
                ExprKind::Constant(token.text.clone())
            }
            _ if self.at_remote() => return self.remote(),
            _ => {
                let Some(reference) = self.reference() else {
                    return error_at(token.span);
                };
                return self.after_reference(reference);
            }
        };
        Expr {
            kind,
            span: token.span.to(self.previous_span),
        }
    }

    /// A variable, a poll of a channel, or a remote reference to a label.
    pub(super) fn after_reference(&mut self, reference: Reference) -> Expr {
        let span = reference.span;
        let random = self.kind() == Kind::QuestionQuestion;
        if (random || self.kind() == Kind::Question) && self.peek_at(1).kind == Kind::OpenBracket {
            self.next();
            self.next();
            let arguments = self.receive_arguments();
            self.expect(Kind::CloseBracket, "`]`");
            let kind = ExprKind::Poll {
                channel: reference,
                arguments,
                random,
            };
            return Expr {
                kind,
                span: span.to(self.previous_span),
            };
        }
        Expr {
            kind: ExprKind::Reference(reference),
            span,
        }
    }

    /// `name[pid]@label`, `name@label`, `name[pid]:variable`, `name:variable`
    pub(super) fn remote(&mut self) -> Expr {
        let name = self.next();
        let mut pid = None;
        if self.take(Kind::OpenBracket) {
            pid = Some(Box::new(self.expression()));
            self.expect(Kind::CloseBracket, "`]`");
        }
        let kind = if self.take(Kind::At) {
            match self.name("a label") {
                Some((label, _)) => {
                    self.remote_labels.push((name.text.clone(), label.clone()));
                    ExprKind::RemoteLabel {
                        process: name.text,
                        pid,
                        label,
                    }
                }
                None => ExprKind::Error,
            }
        } else if self.take(Kind::Colon) {
            match self.reference() {
                Some(variable) => ExprKind::RemoteVariable {
                    process: name.text,
                    pid,
                    variable,
                },
                None => ExprKind::Error,
            }
        } else {
            self.unexpected("`@label` or `:variable`");
            ExprKind::Error
        };
        Expr {
            kind,
            span: name.span.to(self.previous_span),
        }
    }

    fn run(&mut self) -> ExprKind {
        let Some((process, span)) = self.name("a process type") else {
            return ExprKind::Error;
        };
        self.open_paren();
        let mut arguments = Vec::new();
        if self.kind() != Kind::CloseParen {
            arguments.push(self.expression());
            while self.take(Kind::Comma) {
                arguments.push(self.expression());
            }
        }
        self.close_paren();
        let priority = self.take_word("priority").then(|| Box::new(self.primary()));
        ExprKind::Run(Run {
            process,
            span,
            arguments,
            priority,
        })
    }

    /// `a.b[i].c`
    pub(super) fn reference(&mut self) -> Option<Reference> {
        let mut parts = Vec::new();
        loop {
            let (name, span) = self.name("a variable")?;
            let mut index = None;
            if self.take(Kind::OpenBracket) {
                index = Some(Box::new(self.expression()));
                self.expect(Kind::CloseBracket, "`]`");
            }
            parts.push(Part { name, span, index });
            if !self.take(Kind::Dot) {
                break;
            }
        }
        let span = parts[0].span.to(self.previous_span);
        Some(Reference { parts, span })
    }

    /// Arguments of a send: `a, b` or `a(b)`.
    pub(super) fn send_arguments(&mut self) -> Vec<Expr> {
        let mut arguments = vec![self.expression()];
        loop {
            if self.take(Kind::Comma) {
                arguments.push(self.expression());
            } else if self.kind() == Kind::OpenParen && !self.peek().line_start {
                self.open_paren();
                arguments.push(self.expression());
                while self.take(Kind::Comma) {
                    arguments.push(self.expression());
                }
                self.close_paren();
            } else {
                return arguments;
            }
        }
    }

    /// Arguments of a receive: `a, b`, `a(b)`, `(a, b)`.
    pub(super) fn receive_arguments(&mut self) -> Vec<ReceiveArgument> {
        let mut arguments = Vec::new();
        // The number of open parentheses: they only group.
        let mut open = 0usize;
        loop {
            while self.kind() == Kind::OpenParen {
                self.open_paren();
                open += 1;
            }
            if let Some(argument) = self.receive_argument() {
                arguments.push(argument);
            } else {
                self.parens = self.parens.saturating_sub(open);
                return arguments;
            }
            while open > 0 && self.kind() == Kind::CloseParen {
                self.close_paren();
                open -= 1;
            }
            if self.take(Kind::Comma) {
                continue;
            }
            if self.kind() == Kind::OpenParen && !self.peek().line_start {
                continue;
            }
            break;
        }
        if open > 0 {
            self.unexpected("`)`");
            self.parens = self.parens.saturating_sub(open);
        }
        arguments
    }

    fn receive_argument(&mut self) -> Option<ReceiveArgument> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Number | Kind::Character => Some(ReceiveArgument::Match(self.primary())),
            Kind::Minus => Some(ReceiveArgument::Match(self.unary())),
            Kind::Name => match &*token.text {
                "eval" => {
                    self.next();
                    Some(ReceiveArgument::Match(self.operand(Self::expression)))
                }
                "true" | "false" | "skip" => Some(ReceiveArgument::Match(self.primary())),
                _ if self.names.constants.contains(&token.text) => {
                    Some(ReceiveArgument::Match(self.primary()))
                }
                _ => self.reference().map(ReceiveArgument::Variable),
            },
            _ => {
                self.unexpected("a variable, a constant or eval(…)");
                None
            }
        }
    }
}
