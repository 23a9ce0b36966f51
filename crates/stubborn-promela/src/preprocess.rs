//! The C preprocessor, as far as Promela models use it.
//!
//! Works on tokens, so that every token keeps its place in the original text: `#define` with
//! and without parameters (`#` and `##` included), `#undef`, `#include "file"` next to the
//! including file, `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif`, `#error`.
//! Expansion follows the usual rule that a macro is not expanded inside itself, and is
//! bounded: a few lines of macros can describe more tokens than any memory holds.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Patience};

use crate::condition;
use crate::source::{Loader, NoIncludes, Sources};
use crate::token::{self, Kind, Token};

/// More tokens than this are refused.
const MAX_TOKENS: usize = 4_000_000;
/// More tokens than this out of macros are refused.
const MAX_PRODUCED: usize = 2_000_000;
/// More text than this, over all files, is refused.
const MAX_TEXT: usize = 64 << 20;
/// Includes nest at most this deep.
const MAX_INCLUDES: usize = 64;
/// Macros nest at most this deep.
const MAX_EXPANSIONS: usize = 256;

/// What can stand behind `#`.
const DIRECTIVES: &[&str] = &[
    "if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "include", "error",
];

/// The macros that a model defines, and those from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Macros {
    known: HashMap<Arc<str>, Arc<Macro>>,
    /// The names in the `#define`s of the text.
    places: HashMap<String, Span>,
}

impl Macros {
    /// Where the text defines a macro.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        self.places.get(name).copied()
    }
}

/// The body of a macro.
#[derive(Clone, Debug)]
struct Macro {
    /// None for a macro without parameter list.
    parameters: Option<Vec<Arc<str>>>,
    /// The last parameter stands for all further arguments, their commas included.
    variadic: bool,
    body: Vec<Token>,
}

/// A token on its way, with the macros it may not expand any more.
#[derive(Clone, Debug)]
struct Pending {
    token: Token,
    hidden: Option<Arc<Hidden>>,
}

/// The macros a token came out of, innermost first.
#[derive(Debug)]
struct Hidden {
    name: Arc<str>,
    outer: Option<Arc<Hidden>>,
    depth: usize,
}

impl Hidden {
    fn contains(list: Option<&Arc<Hidden>>, name: &str) -> bool {
        let mut at = list;
        while let Some(entry) = at {
            if *entry.name == *name {
                return true;
            }
            at = entry.outer.as_ref();
        }
        false
    }
}

/// One `#if` that is still open.
struct Branch {
    /// This part of the text counts.
    active: bool,
    /// A branch of this `#if` was taken before.
    taken: bool,
    /// The text around counts.
    outer: bool,
    span: Span,
}

/// Turns the main file (already in `sources`) into tokens. Also returns the macros that are defined at its
/// end.
pub(crate) fn preprocess(
    sources: &mut Sources,
    definitions: &[(String, String)],
    loader: &dyn Loader,
    (diagnostics, budget): (&mut Vec<Diagnostic>, &Budget),
) -> (Vec<Token>, Macros) {
    let mut macros = Macros::default();
    let mut state = Preprocessor::new(sources, loader, &mut macros, (diagnostics, budget));
    for (name, value) in definitions {
        let body = token::in_lines(value, 0);
        state.macros.known.insert(
            Arc::from(name.as_str()),
            Arc::new(Macro {
                parameters: None,
                variadic: false,
                body,
            }),
        );
    }
    if state.sources.total() > MAX_TEXT {
        let error = Diagnostic::error("PML001", "the model's text is too long", Span::new(0, 1));
        state.diagnostics.push(error);
    } else {
        state.file(0, 0);
    }
    // Half a text has mistakes that its author did not make.
    let tokens = match state.overflow {
        true => Vec::new(),
        false => state.out,
    };
    (tokens, macros)
}

/// Turns a text that stands apart from the model into tokens. It is the file at `index` of the sources,
/// and defines nothing: a `#` in it is a token like any other.
pub(crate) fn expand(
    sources: &mut Sources,
    index: usize,
    macros: &mut Macros,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Token> {
    let tokens = token::in_lines(sources.file(index).text(), sources.base(index));
    Preprocessor::new(sources, &NoIncludes, macros, (diagnostics, &UNLIMITED)).expand(tokens)
}

struct Preprocessor<'a> {
    sources: &'a mut Sources,
    loader: &'a dyn Loader,
    diagnostics: &'a mut Vec<Diagnostic>,
    macros: &'a mut Macros,
    out: Vec<Token>,
    /// How many tokens came out of macros.
    produced: usize,
    overflow: bool,
    patience: Patience<'a>,
}

impl<'a> Preprocessor<'a> {
    fn new(
        sources: &'a mut Sources,
        loader: &'a dyn Loader,
        macros: &'a mut Macros,
        (diagnostics, budget): (&'a mut Vec<Diagnostic>, &'a Budget),
    ) -> Self {
        Self {
            sources,
            loader,
            diagnostics,
            macros,
            out: Vec::new(),
            produced: 0,
            overflow: false,
            patience: Patience::new(budget, 1024),
        }
    }

    fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.diagnostics
            .push(Diagnostic::error(code, message, span));
    }

    fn file(&mut self, index: usize, depth: usize) {
        let tokens = token::tokens(self.sources.file(index).text(), self.sources.base(index));
        let mut branches: Vec<Branch> = Vec::new();
        let mut text: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && self.patience.spent().is_none() {
            let end = tokens[at..]
                .iter()
                .position(|t| t.kind == Kind::Newline)
                .map_or(tokens.len(), |n| at + n);
            let line = &tokens[at..end];
            at = end + 1;
            let active = branches.last().is_none_or(|b| b.active);
            match line.first() {
                Some(first) if first.kind == Kind::Hash => {
                    self.flush(&mut text);
                    self.directive(&line[1..], first.span, index, depth, &mut branches);
                }
                Some(_) if active => text.extend_from_slice(line),
                _ => {}
            }
        }
        self.flush(&mut text);
        if let Some(open) = branches.last() {
            self.error("PML007", "this #if is never closed by #endif", open.span);
        }
    }

    fn directive(
        &mut self,
        line: &[Token],
        hash: Span,
        file: usize,
        depth: usize,
        branches: &mut Vec<Branch>,
    ) {
        let Some(name) = line.first() else { return };
        let active = branches.last().is_none_or(|b| b.active);
        let rest = &line[1..];
        match &*name.text {
            "if" | "ifdef" | "ifndef" => {
                let condition = active
                    && match &*name.text {
                        "if" => self.condition(rest, name.span),
                        "ifdef" => self.is_defined(rest, name.span),
                        _ => !self.is_defined(rest, name.span),
                    };
                branches.push(Branch {
                    active: condition,
                    taken: condition,
                    outer: active,
                    span: hash.to(name.span),
                });
            }
            "elif" | "else" => {
                let Some(Branch { outer, taken, .. }) = branches.last() else {
                    let message = format!("#{} without #if", name.text);
                    return self.error("PML007", message, name.span);
                };
                let open = *outer && !*taken;
                let now = open && (&*name.text == "else" || self.condition(rest, name.span));
                if let Some(branch) = branches.last_mut() {
                    branch.active = now;
                    branch.taken |= now;
                }
            }
            "endif" => {
                if branches.pop().is_none() {
                    self.error("PML007", "#endif without #if", name.span);
                }
            }
            _ if !active => {}
            "define" => self.define(rest, name.span),
            "undef" => {
                if let Some(target) = rest.first() {
                    self.macros.known.remove(&target.text);
                }
            }
            "include" => self.include(rest, name.span, file, depth),
            "error" => {
                let words: Vec<&str> = rest.iter().map(|t| &*t.text).collect();
                let span = rest.last().map_or(name.span, |t| name.span.to(t.span));
                self.error("PML008", format!("#error {}", words.join(" ")), span);
            }
            "pragma" | "line" | "warning" | "ident" => {}
            // The `# 12 "file"` marks of text that went through a preprocessor before.
            _ if name.kind == Kind::Number => {}
            other => {
                let message = format!("unknown preprocessor directive #{other}");
                let error = Diagnostic::error("PML006", message, name.span);
                self.diagnostics
                    .push(error.did_you_mean(other, DIRECTIVES.iter().copied()));
            }
        }
    }

    fn is_defined(&mut self, rest: &[Token], span: Span) -> bool {
        match rest.first() {
            Some(name) if name.kind == Kind::Name => self.macros.known.contains_key(&name.text),
            _ => {
                self.error("PML005", "a macro's name is missing here", span);
                false
            }
        }
    }

    fn condition(&mut self, rest: &[Token], span: Span) -> bool {
        // `defined X` is decided before macros are expanded.
        let mut ready = Vec::new();
        let mut at = 0;
        while at < rest.len() {
            let mut token = rest[at].clone();
            if token.is_name("defined") {
                let open = rest.get(at + 1).is_some_and(|t| t.kind == Kind::OpenParen);
                let name = rest.get(at + 1 + usize::from(open));
                let known = name.is_some_and(|n| self.macros.known.contains_key(&n.text));
                token.kind = Kind::Number;
                token.text = Arc::from(if known { "1" } else { "0" });
                at += if open { 3 } else { 1 };
            }
            ready.push(token);
            at += 1;
        }
        let expanded = self.expand(ready);
        match condition::evaluate(&expanded) {
            Ok(value) => value != 0,
            Err(message) => {
                self.error(
                    "PML005",
                    format!("bad preprocessor condition: {message}"),
                    span,
                );
                false
            }
        }
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().filter(|t| t.kind == Kind::Name) else {
            return self.error("PML005", "#define needs a name", span);
        };
        let mut body = &rest[1..];
        let mut parameters = None;
        let mut variadic = false;
        if body
            .first()
            .is_some_and(|t| t.kind == Kind::OpenParen && !t.spaced)
        {
            let Some(close) = body.iter().position(|t| t.kind == Kind::CloseParen) else {
                return self.error("PML005", "the parameter list is not closed", name.span);
            };
            // `...` is called `__VA_ARGS__`, and `name...` has a name.
            let list = &body[1..close];
            variadic = list.last().is_some_and(|t| t.kind == Kind::Ellipsis);
            let names = list.iter().filter(|t| t.kind == Kind::Name);
            let mut names: Vec<Arc<str>> = names.map(|t| t.text.clone()).collect();
            let before = list.len().checked_sub(2).map(|at| list[at].kind);
            if variadic && before != Some(Kind::Name) {
                names.push(Arc::from("__VA_ARGS__"));
            }
            parameters = Some(names);
            body = &body[close + 1..];
        }
        let place = &mut self.macros.places;
        place.insert(name.text.to_string(), name.span);
        self.macros.known.insert(
            name.text.clone(),
            Arc::new(Macro {
                parameters,
                variadic,
                body: body.to_vec(),
            }),
        );
    }

    fn include(&mut self, rest: &[Token], span: Span, file: usize, depth: usize) {
        let expanded = self.expand(rest.to_vec());
        let Some(name) = expanded.first().filter(|t| t.kind == Kind::Text) else {
            let message = "#include needs a file name in double quotes";
            return self.error("PML003", message, span);
        };
        let wanted = name.text.trim_matches('"').to_string();
        if depth >= MAX_INCLUDES {
            let message = format!("\"{wanted}\" is included {depth} files deep");
            return self.error("PML004", message, name.span);
        }
        let folder = self
            .sources
            .path(file)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        let path = folder.join(&wanted);
        match self.loader.load(&path) {
            Ok(text) if self.sources.total() + text.len() <= MAX_TEXT => {
                let index = self.sources.add(&path, text);
                self.file(index, depth + 1);
            }
            Ok(_) => self.error("PML001", "the model's text is too long", name.span),
            Err(why) => {
                let message = format!("cannot read \"{wanted}\": {why}");
                let error = Diagnostic::error("PML002", message, name.span)
                    .help("included files are looked for next to the file that includes them");
                self.diagnostics.push(error);
            }
        }
    }

    /// Expands the collected text lines and appends them to the output.
    fn flush(&mut self, text: &mut Vec<Token>) {
        if !text.is_empty() {
            let expanded = self.expand(std::mem::take(text));
            if self.out.len() + expanded.len() > MAX_TOKENS {
                self.too_long(expanded.first().map_or(Span::default(), |t| t.span));
            } else {
                self.out.extend(expanded);
            }
        }
    }

    fn too_long(&mut self, span: Span) {
        if !self.overflow {
            self.overflow = true;
            self.error(
                "PML009",
                "the model is too long after macro expansion",
                span,
            );
        }
    }

    /// All macros of `tokens` replaced.
    fn expand(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        // A stack with the next token on top.
        let mut rest: Vec<Pending> = tokens
            .into_iter()
            .rev()
            .map(|token| Pending {
                token,
                hidden: None,
            })
            .collect();
        let mut out = Vec::new();
        while let Some(next) = rest.pop() {
            if self.patience.spent().is_some() {
                break;
            }
            if self.produced > MAX_PRODUCED {
                self.too_long(next.token.span);
                break;
            }
            if next.token.kind != Kind::Name {
                out.push(next.token);
                continue;
            }
            let found = self.macros.known.get(&next.token.text).cloned();
            let depth = next.hidden.as_ref().map_or(0, |h| h.depth);
            match found {
                Some(found)
                    if depth < MAX_EXPANSIONS
                        && !Hidden::contains(next.hidden.as_ref(), &next.token.text) =>
                {
                    self.replace(next, &found, &mut rest, &mut out);
                }
                _ => out.push(next.token),
            }
        }
        out
    }

    /// Replaces one use of a macro: the body goes back onto the stack.
    fn replace(
        &mut self,
        used: Pending,
        found: &Macro,
        rest: &mut Vec<Pending>,
        out: &mut Vec<Token>,
    ) {
        let mut extent = used.token.span;
        let arguments = match &found.parameters {
            None => Vec::new(),
            Some(parameters) => {
                if rest.last().is_none_or(|t| t.token.kind != Kind::OpenParen) {
                    out.push(used.token);
                    return;
                }
                let last = found.variadic.then_some(parameters.len());
                match take_arguments(rest, last) {
                    Some((mut arguments, close)) => {
                        if close.start >= extent.start {
                            extent = extent.to(close);
                        }
                        if parameters.is_empty() && arguments.len() == 1 && arguments[0].is_empty()
                        {
                            arguments.clear();
                        }
                        if found.variadic && arguments.len() + 1 == parameters.len() {
                            arguments.push(Vec::new());
                        }
                        if arguments.len() != parameters.len() {
                            let message = format!(
                                "macro {} takes {} arguments, {} given",
                                used.token.text,
                                parameters.len(),
                                arguments.len()
                            );
                            self.error("PML010", message, used.token.span);
                            arguments.resize(parameters.len(), Vec::new());
                        }
                        arguments
                    }
                    None => {
                        let message =
                            format!("the arguments of macro {} are not closed", used.token.text);
                        self.error("PML010", message, used.token.span);
                        return;
                    }
                }
            }
        };
        let depth = used.hidden.as_ref().map_or(1, |h| h.depth + 1);
        let hidden = Some(Arc::new(Hidden {
            name: used.token.text.clone(),
            outer: used.hidden.clone(),
            depth,
        }));
        let parameters = found.parameters.as_deref().unwrap_or(&[]);
        let given = (parameters, arguments.as_slice());
        let mut replaced = substitute(&found.body, given, found.variadic, &hidden);
        // Inside of another macro, that one is what is written.
        let written = match &used.token.written {
            Some(written) => written.clone(),
            None => Arc::from(self.sources.slice(extent)),
        };
        // (To come to nothing is work as well.)
        self.produced += replaced.len() + 1;
        for (i, pending) in replaced.iter_mut().enumerate() {
            (pending.token.span, pending.token.site) = (extent, extent);
            pending.token.written = Some(written.clone());
            pending.token.line_start = i == 0 && used.token.line_start;
            if i == 0 {
                pending.token.spaced = used.token.spaced;
            }
        }
        rest.extend(replaced.into_iter().rev());
    }
}

/// Takes `( … )` off the stack and splits it at its commas, into so many arguments at most; also says where
/// it ends. None if it is not closed.
fn take_arguments(
    rest: &mut Vec<Pending>,
    most: Option<usize>,
) -> Option<(Vec<Vec<Pending>>, Span)> {
    rest.pop();
    let mut arguments = vec![Vec::new()];
    let mut nested = 0usize;
    loop {
        let next = rest.pop()?;
        match next.token.kind {
            Kind::OpenParen => nested += 1,
            Kind::CloseParen if nested == 0 => return Some((arguments, next.token.span)),
            Kind::CloseParen => nested -= 1,
            Kind::Comma if nested == 0 && most != Some(arguments.len()) => {
                arguments.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = arguments.last_mut() {
            last.push(next);
        }
    }
}

/// The body of a macro with its parameters replaced, `#` and `##` done.
fn substitute(
    body: &[Token],
    (parameters, arguments): (&[Arc<str>], &[Vec<Pending>]),
    variadic: bool,
    hidden: &Option<Arc<Hidden>>,
) -> Vec<Pending> {
    let argument = |token: &Token| {
        let at = parameters
            .iter()
            .position(|p| token.kind == Kind::Name && *p == token.text)?;
        arguments.get(at)
    };
    let mut out: Vec<Pending> = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let token = &body[at];
        let next = body.get(at + 1);
        if token.kind == Kind::Hash
            && let Some(words) = next.and_then(argument)
        {
            let mut text = String::from("\"");
            for (i, word) in words.iter().enumerate() {
                if i > 0 && word.token.spaced {
                    text.push(' ');
                }
                text.push_str(&word.token.text.replace('\\', "\\\\").replace('"', "\\\""));
            }
            text.push('"');
            let mut made = token.clone();
            made.kind = Kind::Text;
            made.text = Arc::from(text);
            out.push(Pending {
                token: made,
                hidden: hidden.clone(),
            });
            at += 2;
            continue;
        }
        if token.kind == Kind::Paste && !out.is_empty() {
            let rest = next.filter(|name| variadic && parameters.last() == Some(&name.text));
            let after_comma = out.last().is_some_and(|p| p.token.kind == Kind::Comma);
            if let Some(words) = rest.filter(|_| after_comma).and_then(argument) {
                // GNU's `, ## __VA_ARGS__`: no comma where there is nothing more.
                match words.is_empty() {
                    true => drop(out.pop()),
                    false => out.extend(words.iter().cloned()),
                }
            } else if let Some(right) = next {
                let parts = match argument(right) {
                    Some(words) => words.clone(),
                    None => vec![Pending {
                        token: right.clone(),
                        hidden: hidden.clone(),
                    }],
                };
                paste(&mut out, parts);
            }
            at += 2;
            continue;
        }
        match argument(token) {
            Some(words) => out.extend(words.iter().cloned()),
            None => out.push(Pending {
                token: token.clone(),
                hidden: hidden.clone(),
            }),
        }
        at += 1;
    }
    out
}

/// Glues the first of `parts` to the last of `out`.
fn paste(out: &mut Vec<Pending>, parts: Vec<Pending>) {
    let mut parts = parts.into_iter();
    if let (Some(left), Some(right)) = (out.last_mut(), parts.next()) {
        let text = format!("{}{}", left.token.text, right.token.text);
        let made = token::tokens(&text, 0);
        left.token.kind = match made.as_slice() {
            [one] => one.kind,
            _ => Kind::Unknown,
        };
        left.token.text = Arc::from(text);
    }
    out.extend(parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> (String, Vec<&'static str>) {
        let mut sources = Sources::default();
        sources.add(Path::new("m.pml"), text.to_string());
        let mut diagnostics = Vec::new();
        let defines = [("N".to_string(), "3".to_string())];
        let limits = (&mut diagnostics, &UNLIMITED as &Budget);
        let (out, _) = preprocess(&mut sources, &defines, &NoIncludes, limits);
        let words: Vec<&str> = out.iter().map(|t| &*t.text).collect();
        (
            words.join(" "),
            diagnostics.iter().map(|d| d.code).collect(),
        )
    }

    #[test]
    fn macros_with_and_without_parameters() {
        let text = "#define A 1 + B\n#define B A\n#define F(x,y) x*y\nA; F(F(1,2),(3,4)); F; N";
        assert_eq!(run(text).0, "1 + A ; 1 * 2 * ( 3 , 4 ) ; F ; 3");
    }

    #[test]
    fn conditions_choose_text() {
        let text =
            "#if defined(N) && N > 2\na\n#elif 1\nb\n#else\nc\n#endif\n#ifndef N\nd '\n#endif";
        assert_eq!(run(text), ("a".into(), vec![]));
        assert_eq!(run("#if 0\nx\n#elif N == 3\ny\n#endif").0, "y");
    }

    #[test]
    fn paste_and_quote() {
        assert_eq!(run("#define J(a,b) a##b #a\nJ(x,1)").0, "x1 \"x\"");
    }

    #[test]
    fn an_exploding_macro_is_refused() {
        let mut text = String::from("#define a0 x x\n");
        for i in 1..40 {
            text.push_str(&format!("#define a{i} a{} a{}\n", i - 1, i - 1));
        }
        text.push_str("a39");
        assert_eq!(run(&text).1, ["PML009"]);
    }

    #[test]
    fn positions_survive_macros() {
        let mut sources = Sources::default();
        sources.add(Path::new("m.pml"), "#define F(x) (x)\n  F(q)".to_string());
        let limits = (&mut Vec::new(), &UNLIMITED as &Budget);
        let (out, _) = preprocess(&mut sources, &[], &NoIncludes, limits);
        let place = sources.place(out[0].span.start);
        assert_eq!((place.line, place.column), (2, 3));
    }

    #[test]
    fn wrong_directives_are_reported() {
        assert_eq!(run("#if 1\n").1, ["PML007"]);
        assert_eq!(run("#endif\n#frob\n#error no\n#include \"x\"").1.len(), 4);
    }
}
