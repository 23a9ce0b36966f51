//! Statements and blocks.

use stubborn_diagnostics::{Diagnostic, Span};

use super::expressions::error_at;
use super::{Call, KEYWORDS, Parser};
use crate::ast::{Binary, Block, Expr, ExprKind, Name, Reference, Statement, StatementKind};
use crate::source::Expansion;
use crate::token::{Kind, Token};

fn statement(kind: StatementKind, span: Span) -> Statement {
    Statement { kind, span }
}

impl Parser<'_> {
    /// `{ … }` as the body of a process.
    pub(super) fn braced_block(&mut self) -> Option<Block> {
        if self.kind() != Kind::OpenBrace {
            self.unexpected("`{`");
            return None;
        }
        Some(self.block())
    }

    /// `{ … }`; the brace is there.
    fn block(&mut self) -> Block {
        let outer = std::mem::take(&mut self.parens);
        let open = self.next();
        let mut block = self.sequence();
        if self.expect(Kind::CloseBrace, "`}` or a statement") {
            block.span = open.span.to(self.previous_span);
        } else {
            block.span = open.span;
            self.recover();
            self.take(Kind::CloseBrace);
        }
        if block.statements.is_empty() {
            self.error(
                "PML033",
                "there must be at least one statement here",
                block.span,
            );
        }
        self.parens = outer;
        block
    }

    fn at_sequence_end(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::End | Kind::CloseBrace | Kind::Option => true,
            Kind::Name => matches!(&*token.text, "fi" | "od"),
            _ => false,
        }
    }

    /// Statements up to `}`, `::`, `fi` or `od`.
    fn sequence(&mut self) -> Block {
        let mut block = Block {
            statements: Vec::new(),
            span: self.peek().span,
        };
        loop {
            while matches!(self.kind(), Kind::Semicolon | Kind::Arrow) {
                self.next();
            }
            if self.at_sequence_end() {
                return block;
            }
            let before = self.rest.len();
            let errors = self.errors;
            let step = self.step();
            let after_else = matches!(step.kind, StatementKind::Else);
            let after_brace = self.previous == Kind::CloseBrace;
            block.span = block.span.to(self.origin(step.span));
            block.statements.push(step);
            if self.errors > errors {
                if self.rest.len() == before {
                    self.next();
                }
                if !self.at_sequence_end() && !matches!(self.kind(), Kind::Semicolon | Kind::Arrow)
                {
                    self.recover();
                }
                continue;
            }
            let separated = matches!(self.kind(), Kind::Semicolon | Kind::Arrow)
                || self.at_sequence_end()
                || after_else
                || after_brace
                || self.peek().line_start;
            if !separated {
                self.not_separated(&block);
                self.recover();
            }
        }
    }

    /// Says that a statement does not end where it should; two names in a row are a declaration of
    /// a type that is not there.
    fn not_separated(&mut self, block: &Block) {
        let last = block.statements.last().map(|s| &s.kind);
        if self.kind() == Kind::Name
            && let Some(StatementKind::Condition(condition)) = last
            && let ExprKind::Reference(reference) = &condition.kind
            && let [part] = reference.parts.as_slice()
            && part.index.is_none()
        {
            let message = format!("expected `;`, found `{}`", self.peek().text);
            let error = Diagnostic::error("PML020", message, self.peek().span);
            let error = self.did_you_mean(error, &part.name);
            return self.report(error);
        }
        self.unexpected("`;`");
    }

    /// A declaration, an `xr`/`xs` claim, or a statement with an optional `unless`.
    fn step(&mut self) -> Statement {
        let span = self.peek().span;
        if self.at_declaration() {
            return match self.declaration() {
                Some(declaration) => {
                    let span = span.to(self.previous_span);
                    statement(StatementKind::Declaration(declaration), span)
                }
                None => statement(StatementKind::Error, span),
            };
        }
        if self.at_word("xr") || self.at_word("xs") {
            let receive = &*self.next().text == "xr";
            let mut channels: Vec<Reference> = self.reference().into_iter().collect();
            while self.take(Kind::Comma) {
                channels.extend(self.reference());
            }
            let span = span.to(self.previous_span);
            return statement(StatementKind::Exclusive { receive, channels }, span);
        }
        let main = self.statement();
        if self.take_word("unless") {
            let escape = self.statement();
            let span = self.origin(main.span).to(self.origin(escape.span));
            return statement(
                StatementKind::Unless(Box::new(main), Box::new(escape)),
                span,
            );
        }
        main
    }

    fn statement(&mut self) -> Statement {
        let first = self.taken.len();
        let before = self.previous_span;
        let kind = self
            .deeper(Self::statement_inside)
            .unwrap_or(StatementKind::Error);
        let is_loop = matches!(
            kind,
            StatementKind::ForRange { .. } | StatementKind::ForIn { .. }
        );
        let last = match self.header.take() {
            // Its steps are those of its head; its body has its own.
            Some(header) if is_loop => header,
            _ => self.taken.len(),
        };
        let is_compound = matches!(
            kind,
            StatementKind::If(_)
                | StatementKind::Do(_)
                | StatementKind::Block(..)
                | StatementKind::Atomic(_)
                | StatementKind::Labelled(..)
                | StatementKind::Error
        );
        let span = self.statement_span(first, last, before, !is_compound);
        if self.depth == 0 {
            self.taken.clear();
        }
        statement(kind, span)
    }

    /// Where the statement stands that consists of some of the tokens taken, after a token at
    /// `before`; with a text of its own if it is not written anywhere in this form.
    fn statement_span(&mut self, first: usize, last: usize, before: Span, with_text: bool) -> Span {
        let tokens = &self.taken[first.min(last)..last];
        let (Some(head), Some(tail)) = (tokens.first(), tokens.last()) else {
            return self.peek().span;
        };
        let origin = head.site.to(tail.site);
        let after = match self.taken.get(last) {
            Some(token) => token.span,
            None => self.peek().span,
        };
        // A part of what a macro stands for.
        let is_part =
            |token: &Token, neighbour: Span| token.written.is_some() && token.span == neighbour;
        let (starts_inside, ends_inside) = (is_part(head, before), is_part(tail, after));
        let has_arguments = tokens.iter().any(|token| token.site != token.span);
        if !with_text || !starts_inside && !ends_inside && !has_arguments {
            return origin;
        }
        let mut text = String::new();
        let mut known: Option<Span> = None;
        for token in tokens {
            let is_cut = (starts_inside && token.span == head.span)
                || (ends_inside && token.span == tail.span);
            let written = token.written.as_ref().filter(|_| !is_cut);
            if written.is_some() && known == Some(token.span) {
                continue;
            }
            known = written.is_some().then_some(token.span);
            if !text.is_empty() && (token.spaced || token.line_start) {
                text.push(' ');
            }
            text += written.map_or(&*token.text, |written| &**written);
        }
        let start = match self.expansions.last() {
            Some(expansion) => expansion.span.end as usize + 1,
            None => self.first_expansion,
        };
        if start + text.len() > u32::MAX as usize {
            return origin;
        }
        let span = Span::new(start, start + text.len());
        self.expansions.push(Expansion { span, text, origin });
        span
    }

    /// Where a statement comes from.
    fn origin(&self, span: Span) -> Span {
        let found = self
            .expansions
            .binary_search_by(|e| e.span.start.cmp(&span.start));
        found.map_or(span, |at| self.expansions[at].origin)
    }

    fn statement_inside(&mut self) -> StatementKind {
        let token = self.peek().clone();
        match token.kind {
            Kind::OpenBrace => return StatementKind::Block(self.block(), None),
            Kind::Name => {}
            _ => return StatementKind::Condition(self.expression()),
        }
        let is_name = !KEYWORDS.contains(&&*token.text);
        if self.peek_at(1).kind == Kind::Colon && is_name && !self.at_remote() {
            return self.labelled(&token.text);
        }
        match &*token.text {
            "if" | "do" => {
                let options = self.options();
                if &*token.text == "if" {
                    StatementKind::If(options)
                } else {
                    StatementKind::Do(options)
                }
            }
            "atomic" | "d_step" => {
                self.next();
                match self.braced_block() {
                    Some(block) if &*token.text == "atomic" => StatementKind::Atomic(block),
                    Some(block) => StatementKind::DStep(block),
                    None => StatementKind::Error,
                }
            }
            "for" => self.for_loop(),
            "select" => self.select(),
            "break" => {
                self.next();
                StatementKind::Break
            }
            "else" => {
                self.next();
                StatementKind::Else
            }
            "goto" => {
                self.next();
                match self.name("a label") {
                    Some((label, _)) => StatementKind::Goto(label),
                    None => StatementKind::Error,
                }
            }
            "assert" => {
                self.next();
                StatementKind::Assert(self.expression())
            }
            "printf" => self.print(),
            "printm" => {
                self.next();
                self.open_paren();
                let value = self.expression();
                self.close_paren();
                StatementKind::PrintMtype(value)
            }
            "set_priority" => {
                self.next();
                self.open_paren();
                let pid = self.expression();
                self.expect(Kind::Comma, "`,`");
                let priority = self.expression();
                self.close_paren();
                StatementKind::SetPriority(pid, priority)
            }
            "return" => {
                self.next();
                let value = self.expression();
                match self.calls.last().and_then(|c| c.result.clone()) {
                    Some(result) => StatementKind::Assign(result, value),
                    None => {
                        let message = "`return` belongs into an inline whose value is used";
                        self.error("PML034", message, token.span);
                        StatementKind::Error
                    }
                }
            }
            "c_code" | "c_decl" | "c_state" | "c_track" => {
                self.embedded_c();
                StatementKind::Error
            }
            name if self.inlines.contains_key(name) && self.peek_at(1).kind == Kind::OpenParen => {
                self.call(None)
            }
            name if !is_name || self.names.constants.contains(name) || self.at_remote() => {
                StatementKind::Condition(self.expression())
            }
            _ => self.reference_statement(),
        }
    }

    fn labelled(&mut self, label: &Name) -> StatementKind {
        let place = self.next().span;
        self.next();
        let nothing =
            matches!(self.kind(), Kind::Semicolon | Kind::Arrow) || self.at_sequence_end();
        if nothing {
            return StatementKind::Labelled(label.clone(), None);
        }
        if self.at_declaration() || self.at_word("xr") || self.at_word("xs") {
            let error =
                Diagnostic::error("PML035", "a label cannot stand before a declaration", place)
                    .help("put the declaration before the label");
            self.report(error);
            return StatementKind::Error;
        }
        let inner = self.statement();
        StatementKind::Labelled(label.clone(), Some(Box::new(inner)))
    }

    /// What starts with a variable: assignment, send, receive, or a condition.
    fn reference_statement(&mut self) -> StatementKind {
        let Some(reference) = self.reference() else {
            return StatementKind::Error;
        };
        let span = reference.span;
        match self.kind() {
            Kind::OpenParen if reference.parts.len() == 1 && !self.peek().line_start => {
                let name = &reference.parts[0].name;
                let message = format!("there is no inline {name} before this place");
                let error = Diagnostic::error("PML036", message, span);
                let error = self.did_you_mean(error, name);
                self.report(error);
                self.inline_arguments();
                StatementKind::Error
            }
            Kind::Assign => {
                self.next();
                let token = self.peek().clone();
                if token.kind == Kind::Name
                    && self.inlines.contains_key(&token.text)
                    && self.peek_at(1).kind == Kind::OpenParen
                {
                    return self.call(Some(reference));
                }
                StatementKind::Assign(reference, self.expression())
            }
            Kind::Increment | Kind::Decrement => {
                let operator = match self.next().kind {
                    Kind::Increment => Binary::Add,
                    _ => Binary::Subtract,
                };
                let old = Expr {
                    kind: ExprKind::Reference(reference.clone()),
                    span,
                };
                let one = Expr {
                    kind: ExprKind::Number(1),
                    span: self.previous_span,
                };
                let kind = ExprKind::Binary(operator, Box::new(old), Box::new(one));
                StatementKind::Assign(
                    reference,
                    Expr {
                        kind,
                        span: span.to(self.previous_span),
                    },
                )
            }
            Kind::Bang | Kind::BangBang => {
                let sorted = self.next().kind == Kind::BangBang;
                let arguments = self.send_arguments();
                StatementKind::Send {
                    channel: reference,
                    arguments,
                    sorted,
                }
            }
            Kind::Question | Kind::QuestionQuestion
                if self.peek_at(1).kind != Kind::OpenBracket =>
            {
                let random = self.next().kind == Kind::QuestionQuestion;
                let keep = self.take(Kind::Less);
                let arguments = self.receive_arguments();
                if keep {
                    self.expect(Kind::Greater, "`>`");
                }
                StatementKind::Receive {
                    channel: reference,
                    arguments,
                    random,
                    keep,
                }
            }
            _ => {
                let first = self.after_reference(reference);
                StatementKind::Condition(self.expression_after(first))
            }
        }
    }

    /// A call of an inline, expanded.
    fn call(&mut self, result: Option<Reference>) -> StatementKind {
        let token = self.next();
        if !self.expand_inline(&token.text, token.span) || self.kind() != Kind::OpenBrace {
            return StatementKind::Error;
        }
        self.calls.push(Call {
            name: token.text.clone(),
            result,
        });
        let block = self.deeper(Self::block).unwrap_or_default();
        self.calls.pop();
        StatementKind::Block(block, Some(token.text))
    }

    /// `if :: … fi` or `do :: … od`
    fn options(&mut self) -> Vec<Block> {
        let outer = std::mem::take(&mut self.parens);
        let open = self.next();
        let close = if &*open.text == "if" { "fi" } else { "od" };
        let mut options = Vec::new();
        while self.kind() == Kind::Option {
            self.next();
            let option = self.sequence();
            if option.statements.is_empty() {
                self.error("PML033", "this option has no statement", option.span);
            }
            options.push(option);
        }
        if !self.take_word(close) {
            self.unexpected(&format!("`::` or `{close}`"));
            self.recover();
            self.take_word(close);
        } else if options.is_empty() {
            self.error(
                "PML033",
                format!("this `{}` has no options", open.text),
                open.span,
            );
        }
        self.parens = outer;
        options
    }

    fn for_loop(&mut self) -> StatementKind {
        self.next();
        self.open_paren();
        let Some(variable) = self.reference() else {
            self.parens = self.parens.saturating_sub(1);
            return StatementKind::Error;
        };
        if self.take_word("in") {
            let collection = self.reference();
            self.close_paren();
            let header = self.taken.len();
            self.take(Kind::Semicolon);
            let body = self.braced_block();
            self.header = Some(header);
            return match (collection, body) {
                (Some(collection), Some(body)) => StatementKind::ForIn {
                    variable,
                    collection,
                    body,
                },
                _ => StatementKind::Error,
            };
        }
        let Some((from, to)) = self.range() else {
            return StatementKind::Error;
        };
        let header = self.taken.len();
        self.take(Kind::Semicolon);
        let body = self.braced_block();
        self.header = Some(header);
        match body {
            Some(body) => StatementKind::ForRange {
                variable,
                from,
                to,
                body,
            },
            None => StatementKind::Error,
        }
    }

    /// `: a .. b )`
    fn range(&mut self) -> Option<(Expr, Expr)> {
        if !self.expect(Kind::Colon, "`:`") {
            self.parens = self.parens.saturating_sub(1);
            return None;
        }
        let from = self.expression();
        self.expect(Kind::Range, "`..`");
        let to = self.expression();
        self.close_paren().then_some((from, to))
    }

    fn select(&mut self) -> StatementKind {
        self.next();
        self.open_paren();
        let Some(variable) = self.reference() else {
            self.parens = self.parens.saturating_sub(1);
            return StatementKind::Error;
        };
        let simple = match variable.parts.as_slice() {
            [part] => part.index.is_none() && part.name.chars().all(char::is_alphanumeric),
            _ => false,
        };
        let written_plainly = self.peek_at(1).kind == Kind::Number
            && self.peek_at(2).kind == Kind::Range
            && self.peek_at(3).kind == Kind::Number
            && self.peek_at(4).kind == Kind::CloseParen;
        let plain = simple && written_plainly && self.calls.is_empty();
        match self.range() {
            Some((from, to)) => StatementKind::Select {
                variable,
                from,
                to,
                plain,
            },
            None => StatementKind::Error,
        }
    }

    fn print(&mut self) -> StatementKind {
        self.next();
        self.open_paren();
        let format = self.peek().clone();
        if !self.expect(Kind::Text, "a text in double quotes") {
            self.parens = self.parens.saturating_sub(1);
            return StatementKind::Error;
        }
        let mut arguments = Vec::new();
        while self.take(Kind::Comma) {
            arguments.push(self.expression());
        }
        if !self.close_paren() {
            arguments.push(error_at(format.span));
        }
        StatementKind::Print(format.text.trim_matches('"').into(), arguments)
    }
}
