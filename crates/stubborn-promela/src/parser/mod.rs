//! A hand-written recursive-descent parser that never gives up.
//!
//! It returns what it understood and a list of diagnostics. `inline` calls are expanded here,
//! on tokens, as the language defines them: each call becomes a block of its own with the
//! actual arguments in place of the formal ones. Nesting is bounded, so that no text can
//! overflow the stack.
//!
//! Semicolons: as in SPIN 6.5 a line end between two statements stands for one, and so do `}`
//! and `else` before a statement.

mod declarations;
mod expressions;
mod statements;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Patience};

use crate::ast::{Expr, Model, Name, Reference};
use crate::source::{Expansion, Sources};
use crate::token::{Kind, Token};

/// Blocks, choices and indices nest at most this deep.
const MAX_DEPTH: usize = 160;
/// After this many errors the rest of the text is not looked at.
const MAX_ERRORS: usize = 40;
/// More tokens than this out of inlines are refused.
const MAX_PRODUCED: usize = 2_000_000;

/// Words that cannot be names.
pub const KEYWORDS: &[&str] = &[
    "active",
    "assert",
    "atomic",
    "bit",
    "bool",
    "break",
    "byte",
    "c_code",
    "c_decl",
    "c_expr",
    "c_state",
    "c_track",
    "D_proctype",
    "do",
    "chan",
    "else",
    "empty",
    "enabled",
    "eval",
    "false",
    "fi",
    "for",
    "full",
    "get_priority",
    "goto",
    "hidden",
    "if",
    "init",
    "inline",
    "int",
    "len",
    "local",
    "ltl",
    "mtype",
    "nempty",
    "never",
    "nfull",
    "notrace",
    "np_",
    "od",
    "of",
    "pc_value",
    "pid",
    "printf",
    "printm",
    "priority",
    "proctype",
    "provided",
    "return",
    "run",
    "d_step",
    "select",
    "set_priority",
    "short",
    "skip",
    "timeout",
    "trace",
    "true",
    "show",
    "typedef",
    "unless",
    "unsigned",
    "xr",
    "xs",
];

/// Understands as much as possible of `tokens`.
pub(crate) fn parse(
    tokens: Vec<Token>,
    sources: &Sources,
    (diagnostics, budget): (&mut Vec<Diagnostic>, &Budget),
) -> Read {
    let names = Names::scan(&tokens);
    let end = tokens.last().map_or(0, |t| t.span.end);
    let last = "the end of the model";
    let mut parser = Parser::new(tokens, names, (last, end), (diagnostics, budget));
    parser.first_expansion = sources.free() as usize;
    let mut model = parser.model();
    model.remote_labels = parser.remote_labels;
    Read {
        model,
        expansions: parser.expansions,
        names: parser.names,
        is_whole: !parser.gave_up,
    }
}

/// What was understood of a model.
pub(crate) struct Read {
    pub(crate) model: Model,
    /// Texts of statements that stand nowhere.
    pub(crate) expansions: Vec<Expansion>,
    /// What expressions about the model may be made of.
    pub(crate) names: Names,
    /// All of the text was looked at.
    pub(crate) is_whole: bool,
}

/// Reads one expression about a model, which must use all of `tokens`. Also returns the labels that it
/// refers to, each with its process type. The text ends at `end`. `diagnostics` has an error if anything
/// is wrong.
pub(crate) fn parse_expression(
    tokens: Vec<Token>,
    names: &Names,
    end: u32,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Expr, Vec<(Name, Name)>) {
    let last = "the end of the expression";
    let limits = (diagnostics, &UNLIMITED as &Budget);
    let mut parser = Parser::new(tokens, names.clone(), (last, end), limits);
    // Line ends mean nothing here.
    parser.parens = 1;
    let expr = parser.expression();
    if parser.kind() != Kind::End {
        parser.unexpected("an operator or the end of the expression");
    }
    (expr, parser.remote_labels)
}

/// Names that change how the text around them is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    proctypes: HashSet<Name>,
    typedefs: HashSet<Name>,
    constants: HashSet<Name>,
}

impl Names {
    /// Finds process types, typedefs and mtype constants before parsing.
    fn scan(tokens: &[Token]) -> Self {
        let mut names = Names {
            proctypes: HashSet::new(),
            typedefs: HashSet::new(),
            constants: HashSet::new(),
        };
        for (at, token) in tokens.iter().enumerate() {
            let Some(next) = tokens.get(at + 1) else {
                break;
            };
            if (token.is_name("proctype") || token.is_name("D_proctype")) && next.kind == Kind::Name
            {
                names.proctypes.insert(next.text.clone());
            } else if token.is_name("typedef") && next.kind == Kind::Name {
                names.typedefs.insert(next.text.clone());
            } else if token.is_name("mtype") {
                names.scan_constants(&tokens[at + 1..]);
            }
        }
        names
    }

    fn scan_constants(&mut self, mut after: &[Token]) {
        if let [colon, name, rest @ ..] = after
            && colon.kind == Kind::Colon
            && name.kind == Kind::Name
        {
            after = rest;
        }
        if let [equals, rest @ ..] = after
            && equals.kind == Kind::Assign
        {
            after = rest;
        }
        if let [brace, rest @ ..] = after
            && brace.kind == Kind::OpenBrace
        {
            let listed = rest
                .iter()
                .take_while(|t| matches!(t.kind, Kind::Name | Kind::Comma));
            self.constants.extend(
                listed
                    .filter(|t| t.kind == Kind::Name)
                    .map(|t| t.text.clone()),
            );
        }
    }
}

/// The text of an inline.
struct Inline {
    parameters: Vec<Name>,
    /// With its braces.
    body: Vec<Token>,
    /// Tokens that a call becomes, those of the calls inside included, so far as they were known before
    /// it.
    size: usize,
}

/// An inline that is being expanded.
struct Call {
    name: Name,
    /// Where `return` puts its value.
    result: Option<Reference>,
}

struct Parser<'a> {
    /// The tokens still to come, the next one last.
    rest: Vec<Token>,
    end: Token,
    previous: Kind,
    previous_span: Span,
    diagnostics: &'a mut Vec<Diagnostic>,
    errors: usize,
    depth: usize,
    parens: usize,
    names: Names,
    /// Process types whose bodies were read.
    known_types: HashSet<Name>,
    /// Variables that were declared so far, in any scope.
    variables: HashSet<Name>,
    inlines: HashMap<Name, Inline>,
    calls: Vec<Call>,
    formulas: usize,
    remote_labels: Vec<(Name, Name)>,
    /// How many tokens came out of inlines.
    produced: usize,
    /// The rest of the text was not looked at.
    gave_up: bool,
    patience: Patience<'a>,
    /// The tokens of the statements that are not complete yet.
    taken: Vec<Token>,
    /// So many of them are the head of the loop that was read last.
    header: Option<usize>,
    /// Texts of statements that stand nowhere.
    expansions: Vec<Expansion>,
    /// The offset of the first of them.
    first_expansion: usize,
}

impl<'a> Parser<'a> {
    /// `last` is what messages call the end of the tokens, which is at `end`.
    fn new(
        tokens: Vec<Token>,
        names: Names,
        (last, end): (&str, u32),
        (diagnostics, budget): (&'a mut Vec<Diagnostic>, &'a Budget),
    ) -> Self {
        let end = Span { start: end, end };
        Self {
            names,
            produced: 0,
            rest: tokens.into_iter().rev().collect(),
            end: Token {
                kind: Kind::End,
                text: Arc::from(last),
                span: end,
                site: end,
                written: None,
                line_start: true,
                spaced: true,
            },
            previous: Kind::End,
            previous_span: Span::default(),
            diagnostics,
            errors: 0,
            depth: 0,
            parens: 0,
            known_types: HashSet::new(),
            variables: HashSet::new(),
            inlines: HashMap::new(),
            calls: Vec::new(),
            formulas: 0,
            remote_labels: Vec::new(),
            gave_up: false,
            patience: Patience::new(budget, 1024),
            taken: Vec::new(),
            header: None,
            expansions: Vec::new(),
            first_expansion: 0,
        }
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        match self.rest.len().checked_sub(ahead + 1) {
            Some(at) => &self.rest[at],
            None => &self.end,
        }
    }

    fn kind(&self) -> Kind {
        self.peek().kind
    }

    fn next(&mut self) -> Token {
        let token = self.rest.pop().unwrap_or_else(|| self.end.clone());
        if self.patience.spent().is_some() {
            // Nobody wants to know the rest.
            self.rest.clear();
        }
        self.previous = token.kind;
        self.previous_span = token.span;
        if self.depth > 0 {
            self.taken.push(token.clone());
        }
        token
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.next();
        }
        found
    }

    fn at_word(&self, word: &str) -> bool {
        self.peek().is_name(word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.next();
        }
        found
    }

    fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.report(Diagnostic::error(code, message, span));
    }

    /// Says why the rest of the text is not looked at. What would seem to be wrong because of that is not told.
    fn give_up(&mut self, code: &'static str, message: &str, span: Span) {
        self.error(code, message, span);
        self.gave_up = true;
        self.rest.clear();
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.gave_up {
            return;
        }
        self.errors += 1;
        if self.errors <= MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
        if self.errors == MAX_ERRORS {
            self.rest.clear();
        }
    }

    /// Whether a label or variable of another process is named here: `P@label`, `P[0]:variable`. A
    /// variable may be called like a process type that comes later.
    fn at_remote(&self) -> bool {
        let name = &self.peek().text;
        if !self.names.proctypes.contains(name) {
            return false;
        }
        if self.known_types.contains(name) || !self.variables.contains(name) {
            let next = self.peek_at(1).kind;
            return matches!(next, Kind::OpenBracket | Kind::At | Kind::Colon);
        }
        // Of what may follow, only `@` cannot follow a variable.
        let mut ahead = 1;
        let mut nested = 0usize;
        loop {
            match self.peek_at(ahead).kind {
                Kind::OpenBracket => nested += 1,
                Kind::CloseBracket => nested = nested.saturating_sub(1),
                Kind::At if nested == 0 => return true,
                Kind::End => return false,
                _ if nested == 0 => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    /// Says that something else was expected here.
    fn unexpected(&mut self, wanted: &str) {
        let token = self.peek();
        let message = match token.kind {
            Kind::End => format!("expected {wanted}, found {}", token.text),
            Kind::Unknown => format!("`{}` has no meaning here", token.text),
            _ => format!("expected {wanted}, found `{}`", token.text),
        };
        let error = Diagnostic::error("PML020", message, token.span);
        let error = match token.kind {
            Kind::Name => self.did_you_mean(error, &token.text.clone()),
            _ => error,
        };
        self.report(error);
    }

    /// Adds what a misspelt word may have been: a keyword, a type, an inline.
    fn did_you_mean(&self, error: Diagnostic, word: &str) -> Diagnostic {
        if KEYWORDS.contains(&word) {
            return error;
        }
        let names = self.names.typedefs.iter().chain(self.inlines.keys());
        let words = KEYWORDS.iter().copied().chain(names.map(|name| &**name));
        error.did_you_mean(word, words)
    }

    fn expect(&mut self, kind: Kind, wanted: &str) -> bool {
        let found = self.take(kind);
        if !found {
            self.unexpected(wanted);
        }
        found
    }

    /// `(`, which also tells that line ends are no statement ends for a while.
    fn open_paren(&mut self) -> bool {
        let found = self.expect(Kind::OpenParen, "`(`");
        self.parens += 1;
        found
    }

    fn close_paren(&mut self) -> bool {
        self.parens = self.parens.saturating_sub(1);
        self.expect(Kind::CloseParen, "`)`")
    }

    /// A name that is no keyword.
    fn name(&mut self, what: &str) -> Option<(Name, Span)> {
        let token = self.peek();
        if token.kind != Kind::Name {
            self.unexpected(what);
            return None;
        }
        if KEYWORDS.contains(&&*token.text) {
            let message = format!("expected {what}, found the keyword `{}`", token.text);
            let span = token.span;
            self.error("PML021", message, span);
            return None;
        }
        let token = self.next();
        Some((token.text, token.span))
    }

    /// Runs `inner` one level deeper; None if that is too deep.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.peek().span;
            self.give_up("PML022", "this is nested too deeply", span);
            return None;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        Some(result)
    }

    /// Skips to something that may start a new statement or unit.
    fn recover(&mut self) {
        let mut nested = 0usize;
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return,
                Kind::OpenBrace => nested += 1,
                Kind::CloseBrace if nested == 0 => return,
                Kind::CloseBrace => nested -= 1,
                Kind::Semicolon | Kind::Arrow | Kind::Option if nested == 0 => return,
                Kind::Name if nested == 0 && matches!(&*token.text, "fi" | "od") => return,
                Kind::Name
                    if nested == 0
                        && matches!(&*token.text, "proctype" | "active" | "init" | "typedef") =>
                {
                    return;
                }
                _ => {}
            }
            self.next();
        }
    }

    /// Replaces `name ( arguments )` (the name is already taken) by the body of the inline.
    /// False if that cannot be done.
    fn expand_inline(&mut self, name: &Name, span: Span) -> bool {
        let arguments = self.inline_arguments();
        if self.calls.iter().any(|c| c.name == *name) {
            let message = format!("inline {name} calls itself");
            self.error("PML023", message, span);
            return false;
        }
        let Some(inline) = self.inlines.get(name) else {
            return false;
        };
        if arguments.len() != inline.parameters.len() {
            let message = format!(
                "inline {name} takes {} arguments, {} given",
                inline.parameters.len(),
                arguments.len()
            );
            self.error("PML024", message, span);
            return false;
        }
        let mut body = Vec::with_capacity(inline.body.len());
        for token in &inline.body {
            let place = (token.kind == Kind::Name)
                .then(|| inline.parameters.iter().position(|p| *p == token.text))
                .flatten();
            match place {
                Some(at) => {
                    let start = body.len();
                    body.extend(arguments[at].iter().cloned());
                    for (i, made) in body[start..].iter_mut().enumerate() {
                        made.line_start = i == 0 && token.line_start;
                        made.spaced = if i == 0 { token.spaced } else { made.spaced };
                        made.site = token.site;
                    }
                }
                None => body.push(token.clone()),
            }
        }
        let produced = self.produced.saturating_add(body.len().max(inline.size));
        if produced > MAX_PRODUCED {
            let message = "the model is too long after inline expansion";
            self.give_up("PML009", message, span);
            return false;
        }
        self.produced += body.len();
        self.rest.extend(body.into_iter().rev());
        true
    }

    /// `( tokens , tokens )`
    fn inline_arguments(&mut self) -> Vec<Vec<Token>> {
        let mut arguments = vec![Vec::new()];
        if !self.expect(Kind::OpenParen, "`(`") {
            return Vec::new();
        }
        let mut nested = 0usize;
        loop {
            let token = self.next();
            match token.kind {
                Kind::OpenParen => nested += 1,
                Kind::CloseParen if nested == 0 => break,
                Kind::CloseParen => nested -= 1,
                Kind::Comma if nested == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                Kind::End => {
                    self.error("PML020", "the arguments are not closed by `)`", token.span);
                    break;
                }
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        if arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        arguments
    }

    /// `{ … }` as tokens, braces included.
    fn braced_tokens(&mut self) -> Vec<Token> {
        let mut body = Vec::new();
        let mut nested = 0usize;
        loop {
            let token = self.next();
            match token.kind {
                Kind::OpenBrace => nested += 1,
                Kind::CloseBrace => nested -= 1,
                Kind::End => {
                    self.error("PML020", "this is not closed by `}`", token.span);
                    break;
                }
                _ => {}
            }
            body.push(token);
            if nested == 0 {
                break;
            }
        }
        body
    }

    /// Reports embedded C code at `word` and steps over it.
    fn embedded_c(&mut self) {
        let token = self.next();
        let message = format!("`{}`: embedded C code is not supported", token.text);
        let error = Diagnostic::error("PML025", message, token.span)
            .help("express this in Promela, or check this model with a tool that compiles C");
        self.report(error);
        while matches!(
            self.kind(),
            Kind::Text | Kind::OpenBracket | Kind::OpenBrace
        ) {
            match self.kind() {
                Kind::Text => {
                    self.next();
                }
                Kind::OpenBracket => {
                    while !matches!(self.next().kind, Kind::CloseBracket | Kind::End) {}
                }
                _ => {
                    let mut nested = 0usize;
                    loop {
                        match self.next().kind {
                            Kind::OpenBrace => nested += 1,
                            Kind::CloseBrace => nested -= 1,
                            Kind::End => return,
                            _ => {}
                        }
                        if nested == 0 {
                            return;
                        }
                    }
                }
            }
        }
    }
}
