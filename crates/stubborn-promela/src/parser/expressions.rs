//! Expressions and references.

use stubborn_diagnostics::{Diagnostic, Span};

use super::{KEYWORDS, MAX_OPERATORS, Parser};
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

pub(super) fn error_at(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Error,
        span,
    }
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Expr {
        let outer = std::mem::take(&mut self.operators);
        let left = self.unary();
        let result = self.operation(left, 1);
        self.operators = outer;
        result
    }

    /// Goes on with an expression whose first operand is known.
    pub(super) fn expression_after(&mut self, left: Expr) -> Expr {
        let outer = std::mem::take(&mut self.operators);
        let result = self.operation(left, 1);
        self.operators = outer;
        result
    }

    fn operation(&mut self, mut left: Expr, least: u8) -> Expr {
        while let Some((level, operator)) = binary(self.kind()) {
            if level < least {
                break;
            }
            // Outside parentheses a line that starts with a sign is a new statement.
            if self.parens == 0 && self.peek().line_start && self.kind() == Kind::Minus {
                break;
            }
            self.next();
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                if !self.too_long {
                    self.too_long = true;
                    let span = left.span;
                    self.error("PML022", "this expression is too long", span);
                }
                self.rest.clear();
                return error_at(left.span);
            }
            let mut right = self.unary();
            while let Some((next, _)) = binary(self.kind()) {
                if next <= level {
                    break;
                }
                let before = self.rest.len();
                right = self.operation(right, next);
                if self.rest.len() == before {
                    break;
                }
            }
            let span = left.span.to(right.span);
            left = Expr {
                kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)),
                span,
            };
        }
        left
    }

    fn unary(&mut self) -> Expr {
        let operator = match self.kind() {
            Kind::Bang => Unary::Not,
            Kind::Minus => Unary::Minus,
            Kind::Tilde => Unary::Complement,
            // `!!x` is two negations here, not a sorted send.
            Kind::BangBang => {
                let token = self.next();
                let inner = self
                    .deeper(Self::unary)
                    .unwrap_or_else(|| error_at(token.span));
                let span = token.span.to(inner.span);
                let once = Expr {
                    kind: ExprKind::Unary(Unary::Not, Box::new(inner)),
                    span,
                };
                return Expr {
                    kind: ExprKind::Unary(Unary::Not, Box::new(once)),
                    span,
                };
            }
            _ => return self.primary(),
        };
        let token = self.next();
        let inner = self
            .deeper(Self::unary)
            .unwrap_or_else(|| error_at(token.span));
        let span = token.span.to(inner.span);
        Expr {
            kind: ExprKind::Unary(operator, Box::new(inner)),
            span,
        }
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
            Kind::OpenParen => self.parenthesised(),
            Kind::Name => self.word(),
            _ => {
                self.unexpected("an expression");
                error_at(token.span)
            }
        }
    }

    fn parenthesised(&mut self) -> Expr {
        let start = self.peek().span;
        self.open_paren();
        let mut inner = self.expression();
        if self.kind() == Kind::Arrow {
            self.next();
            let yes = self.expression();
            self.expect(Kind::Colon, "`:`");
            let no = self.expression();
            inner.kind = ExprKind::Conditional(
                Box::new(Expr {
                    kind: inner.kind,
                    span: inner.span,
                }),
                Box::new(yes),
                Box::new(no),
            );
        }
        if self.close_paren() {
            inner.span = start.to(self.previous_span);
        }
        inner
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
            _ if self.names.proctypes.contains(&token.text)
                && matches!(
                    self.peek_at(1).kind,
                    Kind::OpenBracket | Kind::At | Kind::Colon
                ) =>
            {
                return self.remote();
            }
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
