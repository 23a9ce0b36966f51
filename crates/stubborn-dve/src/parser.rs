//! A hand-written recursive-descent parser that never gives up.
//!
//! One token of look-ahead is enough for DVE. A rule that cannot go on reports a
//! diagnostic and returns `None`; the rule above it skips to a token where it can
//! start again. Every loop consumes at least one token per round or ends, and the
//! depth of expressions is limited, so that any text whatsoever is done in time
//! linear in its length.

mod expression;
mod process;

use crate::ast::{
    Channels, Declaration, Declarator, Expr, Ident, Initialiser, Model, Number, System, Type,
    Variables,
};
use crate::codes;
use crate::token::{LexError, Lexer, Token};
use bumpalo::Bump;
use stubborn_diagnostics::{Diagnostic, Reporter, Span};
use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Patience};

/// Longest text that is looked at. The largest model of the BEEM benchmark has 2 MB.
pub const MAX_INPUT_BYTES: usize = 16 << 20;

/// Parses a whole model.
pub(crate) fn parse_model<'src>(
    text: &'src str,
    arena: &'src Bump,
    reporter: &mut Reporter,
    budget: &'src Budget,
) -> Model<'src> {
    let Some(mut parser) = Parser::new(text, arena, Dialect::Model, reporter, budget) else {
        return Model::default();
    };
    parser.model()
}

/// Parses one expression that fills the whole text.
pub(crate) fn parse_expression<'src>(
    text: &'src str,
    arena: &'src Bump,
    reporter: &mut Reporter,
) -> Option<Expr<'src>> {
    let mut parser = Parser::new(text, arena, Dialect::Expression, reporter, &UNLIMITED)?;
    let expression = parser.expression()?;
    if parser.token != Token::End {
        parser.expected("an operator or the end of the expression");
        return None;
    }
    Some(expression)
}

/// Whether the text is a model or a stand-alone expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Model,
    /// Expressions from the command line may also negate with `!`.
    Expression,
}

/// The state of a parse.
struct Parser<'src, 'report> {
    text: &'src str,
    /// Holds the parts of expressions. Allocating each by itself took a quarter of the time
    /// to load a large model.
    arena: &'src Bump,
    lexer: Lexer<'src>,
    dialect: Dialect,
    /// The token to be looked at next.
    token: Token,
    /// Its span.
    span: Span,
    /// End of the token before it.
    previous_end: u32,
    /// Start of the token that was complained about last: one message per token.
    complained_at: Option<u32>,
    /// Rules of the expression grammar that are active.
    depth: u32,
    reporter: &'report mut Reporter,
    patience: Patience<'src>,
}

impl<'src, 'report> Parser<'src, 'report> {
    fn new(
        text: &'src str,
        arena: &'src Bump,
        dialect: Dialect,
        reporter: &'report mut Reporter,
        budget: &'src Budget,
    ) -> Option<Self> {
        if text.len() > MAX_INPUT_BYTES {
            let message = format!(
                "the text has {} bytes, more than the {MAX_INPUT_BYTES} that are accepted",
                text.len()
            );
            reporter.error(codes::INPUT_TOO_LARGE, message, Span::default());
            return None;
        }
        let mut parser = Parser {
            text,
            arena,
            lexer: Lexer::new(text),
            dialect,
            token: Token::End,
            span: Span::default(),
            previous_end: 0,
            complained_at: None,
            depth: 0,
            reporter,
            patience: Patience::new(budget, 1024),
        };
        parser.advance();
        Some(parser)
    }

    // ---- tokens ----

    /// Goes to the next token; reports what is no token (a run of strange
    /// characters once) and goes past it.
    fn advance(&mut self) {
        self.previous_end = self.span.end;
        let mut strange: Option<Span> = None;
        loop {
            let next = if self.reporter.is_full() || self.patience.spent().is_some() {
                None
            } else {
                self.lexer.next()
            };
            let range = self.lexer.span();
            let span = Span::new(range.start, range.end);
            match next {
                Some(Err(LexError::UnexpectedCharacter)) => {
                    strange = Some(strange.map_or(span, |s| s.to(span)));
                    continue;
                }
                Some(Err(LexError::OpenComment)) => {
                    self.reporter.push(
                        Diagnostic::error(
                            codes::OPEN_COMMENT,
                            "this comment is never closed",
                            Span::new(range.start, range.start + 2),
                        )
                        .help("close it with `*/`, on a line where no `//` stands before the `*/`"),
                    );
                    continue;
                }
                Some(Ok(token)) => {
                    self.token = token;
                    self.span = span;
                }
                None => {
                    self.token = Token::End;
                    self.span = Span::new(self.text.len(), self.text.len());
                }
            }
            break;
        }
        if let Some(span) = strange {
            let shown: String = self.text[span.start as usize..span.end as usize]
                .chars()
                .take(20)
                .collect();
            let message = format!("`{}` means nothing in DVE", shown.escape_debug());
            self.reporter
                .error(codes::UNEXPECTED_CHARACTER, message, span);
        }
    }

    /// Consumes the token if it is this one.
    fn eat(&mut self, token: Token) -> bool {
        let matches = self.token == token;
        if matches {
            self.advance();
        }
        matches
    }

    /// Consumes this token or complains.
    fn expect(&mut self, token: Token) -> Option<Span> {
        let span = self.span;
        if self.eat(token) {
            return Some(span);
        }
        self.expected(token.describe());
        None
    }

    fn ident(&mut self) -> Option<Ident<'src>> {
        self.ident_for("a name")
    }

    fn ident_for(&mut self, what: &str) -> Option<Ident<'src>> {
        if self.token != Token::Identifier {
            self.expected(what);
            return None;
        }
        let span = self.span;
        let name = &self.text[span.start as usize..span.end as usize];
        self.advance();
        Some(Ident { name, span })
    }

    fn number(&mut self) -> Option<Number> {
        if self.token != Token::Number {
            self.expected("a number");
            return None;
        }
        let span = self.span;
        let digits = &self.text[span.start as usize..span.end as usize];
        let value = digits.parse().unwrap_or_else(|_| {
            self.reporter.push(
                Diagnostic::error(codes::NUMBER_TOO_LARGE, "this number is too large", span)
                    .help("expressions are computed in 32 bits: the largest number is 2147483647"),
            );
            i32::MAX
        });
        self.advance();
        Some(Number { value, span })
    }

    // ---- errors and recovery ----

    /// Complains that something else should stand here, once per token.
    fn expected(&mut self, what: &str) {
        let found = match self.token {
            Token::Identifier | Token::Number => {
                let text = &self.text[self.span.start as usize..self.span.end as usize];
                format!("`{}`", text.chars().take(40).collect::<String>())
            }
            token => token.describe().to_owned(),
        };
        let diagnostic = Diagnostic::error(
            codes::SYNTAX,
            format!("expected {what}, found {found}"),
            self.span,
        );
        let diagnostic = match &self.text[self.span.start as usize..self.span.end as usize] {
            "bool" => diagnostic.help("DVE has no `bool`: use `byte` with 0 and 1"),
            _ if self.token != Token::Identifier
                && is_word(self.token)
                && what.contains("name") =>
            {
                diagnostic.help("this is a reserved word and cannot be a name")
            }
            _ => diagnostic,
        };
        self.complain(diagnostic);
    }

    /// Reports, unless this token already had its message.
    fn complain(&mut self, diagnostic: Diagnostic) {
        if self.complained_at != Some(self.span.start) {
            self.complained_at = Some(self.span.start);
            self.reporter.push(diagnostic);
        }
    }

    /// Skips to one of these tokens, or to one that starts a large part.
    fn skip_to(&mut self, stops: &[Token]) {
        while !stops.contains(&self.token)
            && !matches!(self.token, Token::End | Token::Process | Token::System)
        {
            self.advance();
        }
    }

    /// Skips past the end of a declaration or clause that went wrong.
    fn skip_clause(&mut self) {
        self.skip_to(&[Token::Semicolon, Token::RightBrace]);
        self.eat(Token::Semicolon);
    }

    /// The semicolon after a clause. Where it is missing, the clause before it stands all the
    /// same, and what follows is skipped only if it cannot be the start of something.
    fn end_clause(&mut self) {
        if self.eat(Token::Semicolon) {
            return;
        }
        let end = self.previous_end;
        let after = Span {
            start: end.saturating_sub(1),
            end,
        };
        self.complain(Diagnostic::error(
            codes::SYNTAX,
            "expected `;` after this",
            after,
        ));
        let starts_something = matches!(
            self.token,
            Token::Const
                | Token::Byte
                | Token::Int
                | Token::Channel
                | Token::State
                | Token::Init
                | Token::Commit
                | Token::Accept
                | Token::Assert
                | Token::Trans
                | Token::Guard
                | Token::Sync
                | Token::Effect
                | Token::RightBrace
        );
        if !starts_something {
            self.skip_clause();
        }
    }

    /// `rule {, rule}`
    fn list<T>(&mut self, mut rule: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = vec![rule(self)?];
        while self.eat(Token::Comma) {
            items.push(rule(self)?);
        }
        Some(items)
    }

    // ---- the model ----

    fn model(&mut self) -> Model<'src> {
        let mut model = Model::default();
        loop {
            match self.token {
                Token::Const | Token::Byte | Token::Int | Token::Channel => {
                    if !model.processes.is_empty() {
                        self.complain(
                            Diagnostic::error(
                                codes::OUT_OF_ORDER,
                                "a global declaration after a process",
                                self.span,
                            )
                            .help("declare global variables and channels before the first process"),
                        );
                    }
                    match self.declaration() {
                        Some(declaration) => model.declarations.push(declaration),
                        None => self.skip_clause(),
                    }
                }
                Token::Process => {
                    if let Some(process) = self.process() {
                        model.processes.push(process);
                    }
                }
                Token::System => {
                    model.system = self.system();
                    if self.token != Token::End {
                        self.complain(Diagnostic::error(
                            codes::TRAILING_TEXT,
                            "the `system` line ends the model, nothing may follow it",
                            self.span,
                        ));
                    }
                    return model;
                }
                Token::End => {
                    self.complain(
                        Diagnostic::error(
                            codes::NO_SYSTEM,
                            "the `system` line is missing",
                            self.span,
                        )
                        .help("end the model with `system async;`"),
                    );
                    return model;
                }
                _ => {
                    self.expected("a declaration, a process or the `system` line");
                    self.advance();
                    self.skip_to(&[Token::Const, Token::Byte, Token::Int, Token::Channel]);
                }
            }
        }
    }

    fn declaration(&mut self) -> Option<Declaration<'src>> {
        if self.token == Token::Channel {
            self.channels().map(Declaration::Channels)
        } else {
            self.variables().map(Declaration::Variables)
        }
    }

    fn type_name(&mut self) -> Option<Type> {
        let ty = match self.token {
            Token::Byte => Type::Byte,
            Token::Int => Type::Int,
            _ => {
                self.expected("`byte` or `int`");
                return None;
            }
        };
        self.advance();
        Some(ty)
    }

    fn variables(&mut self) -> Option<Variables<'src>> {
        let is_const = self.eat(Token::Const);
        let ty = self.type_name()?;
        let declarators = self.list(Self::declarator)?;
        self.end_clause();
        Some(Variables {
            is_const,
            ty,
            declarators,
        })
    }

    fn declarator(&mut self) -> Option<Declarator<'src>> {
        let name = self.ident()?;
        let size = if self.token == Token::LeftBracket {
            Some(self.size()?)
        } else {
            None
        };
        let initialiser = if self.eat(Token::Assign) {
            Some(self.initialiser()?)
        } else {
            None
        };
        Some(Declarator {
            name,
            size,
            initialiser,
        })
    }

    /// `[number]`
    fn size(&mut self) -> Option<Number> {
        self.expect(Token::LeftBracket)?;
        let number = self.number()?;
        self.expect(Token::RightBracket)?;
        Some(number)
    }

    fn initialiser(&mut self) -> Option<Initialiser<'src>> {
        let start = self.span;
        if !self.eat(Token::LeftBrace) {
            return self.expression().map(Initialiser::Single);
        }
        let values = self.list(Self::expression)?;
        let end = self.expect(Token::RightBrace)?;
        Some(Initialiser::List(values, start.to(end)))
    }

    fn channels(&mut self) -> Option<Channels<'src>> {
        self.expect(Token::Channel)?;
        let channels = if self.eat(Token::LeftBrace) {
            let types = self.list(Self::type_name)?;
            self.expect(Token::RightBrace)?;
            let channels = self.list(|p| Some((p.ident()?, Some(p.size()?))))?;
            Channels {
                types: Some(types),
                channels,
            }
        } else {
            let channels = self.list(|p| Some((p.ident()?, None)))?;
            Channels {
                types: None,
                channels,
            }
        };
        self.end_clause();
        Some(channels)
    }

    fn system(&mut self) -> Option<System<'src>> {
        self.expect(Token::System)?;
        let kind = self.span;
        if self.eat(Token::Sync) {
            self.reporter.push(
                Diagnostic::error(
                    codes::SYNCHRONOUS_SYSTEM,
                    "synchronous systems are not supported",
                    kind,
                )
                .help(
                    "only `system async` is: processes take turns instead of moving in lock-step",
                ),
            );
        } else if !self.eat(Token::Async) {
            self.expected("`async`");
            self.skip_clause();
            return None;
        }
        let property = if self.eat(Token::Property) {
            self.ident_for("the name of the property process")
        } else {
            None
        };
        self.end_clause();
        Some(System { property })
    }
}

/// Whether a token is a reserved word.
fn is_word(token: Token) -> bool {
    token
        .describe()
        .as_bytes()
        .get(1)
        .is_some_and(u8::is_ascii_alphabetic)
        && token.describe().starts_with('`')
}
