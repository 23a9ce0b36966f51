//! Names in the text as it is written, before the preprocessor.

use std::collections::HashSet;

use stubborn_diagnostics::Span;
use stubborn_promela::KEYWORDS;
use stubborn_promela::token::{Kind as Token, Token as Word, tokens};

use crate::index::{Index, Kind, Symbol};

/// The tokens of all files.
pub(super) struct Written {
    files: Vec<Vec<Word>>,
    /// Where names are declared, or are no names: `define`, `include`.
    settled: HashSet<Span>,
}

impl Written {
    /// Declares macros and inlines with their parameters.
    pub(super) fn scan(index: &mut Index) -> Self {
        let read = |file: &crate::index::File| tokens(&file.text, file.base);
        let files: Vec<Vec<Word>> = index.files.iter().map(read).collect();
        let mut written = Written {
            files,
            settled: HashSet::new(),
        };
        for at in 0..written.files.len() {
            let tokens = std::mem::take(&mut written.files[at]);
            for (place, token) in tokens.iter().enumerate() {
                if token.kind == Token::Hash && token.line_start {
                    written.directive(index, &tokens[place + 1..]);
                } else if token.is_name("inline") {
                    written.inline(index, &tokens[place..]);
                }
            }
            written.files[at] = tokens;
        }
        written
    }

    fn directive(&mut self, index: &mut Index, rest: &[Word]) {
        let end = rest.iter().position(|t| t.kind == Token::Newline);
        let line = &rest[..end.unwrap_or(rest.len())];
        let Some(word) = line.first() else { return };
        self.settled.insert(word.span);
        if !word.is_name("define") {
            return;
        }
        let Some(name) = line.get(1).filter(|t| t.kind == Token::Name) else {
            return;
        };
        let extent = line.last().map_or(name.span, |t| name.span.to(t.span));
        let body = extent;
        let id = index.declare(Symbol {
            name: name.text.to_string(),
            kind: Kind::Macro,
            span: name.span,
            extent,
            scope: None,
            parent: None,
            detail: format!("#define {}", index.slice(extent)),
        });
        self.settled.insert(name.span);
        let has_parameters = |t: &Word| t.kind == Token::OpenParen && !t.spaced;
        if line.get(2).is_some_and(has_parameters) {
            let inside = line[3..].iter();
            self.parameters(
                index,
                inside.take_while(|t| t.kind != Token::CloseParen),
                id,
                body,
            );
        }
    }

    fn parameters<'t>(
        &mut self,
        index: &mut Index,
        tokens: impl Iterator<Item = &'t Word>,
        parent: usize,
        scope: Span,
    ) {
        for token in tokens.filter(|t| t.kind == Token::Name) {
            self.settled.insert(token.span);
            index.declare(Symbol {
                name: token.text.to_string(),
                kind: Kind::Parameter,
                span: token.span,
                extent: token.span,
                scope: Some(scope),
                parent: Some(parent),
                detail: token.text.to_string(),
            });
        }
    }

    fn inline(&mut self, index: &mut Index, tokens: &[Word]) {
        let mut words = tokens.iter().filter(|t| t.kind != Token::Newline).skip(1);
        let (Some(name), Some(open)) = (words.next(), words.next()) else {
            return;
        };
        if name.kind != Token::Name || open.kind != Token::OpenParen {
            return;
        }
        let formals: Vec<&Word> = words
            .by_ref()
            .take_while(|t| t.kind != Token::CloseParen)
            .collect();
        let mut extent = name.span;
        let mut depth = 0usize;
        for token in words {
            extent = extent.to(token.span);
            match token.kind {
                Token::OpenBrace => depth += 1,
                Token::CloseBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let formal_names: Vec<&str> = formals
            .iter()
            .filter(|t| t.kind == Token::Name)
            .map(|t| &*t.text)
            .collect();
        let id = index.declare(Symbol {
            name: name.text.to_string(),
            kind: Kind::Inline,
            span: name.span,
            extent,
            scope: None,
            parent: None,
            detail: format!("inline {}({})", name.text, formal_names.join(", ")),
        });
        self.settled.insert(name.span);
        self.parameters(index, formals.into_iter(), id, extent);
    }

    /// Looks up names that nobody has noted.
    pub(super) fn complete(self, index: &mut Index) {
        let mut known = self.settled;
        known.extend(index.symbols.iter().map(|s| s.span));
        let name_of = |id: usize| index.symbols[id].name.as_str();
        let uses = index.uses.iter();
        known.extend(
            uses.filter(|u| index.is_written(u.span, name_of(u.symbol)))
                .map(|u| u.span),
        );
        let mut found = Vec::new();
        for tokens in &self.files {
            for (at, token) in tokens.iter().enumerate() {
                let is_name = token.kind == Token::Name && !KEYWORDS.contains(&&*token.text);
                if is_name && !known.contains(&token.span) {
                    let before = at.checked_sub(1).map(|at| &tokens[at]);
                    let back = &tokens[at.saturating_sub(12)..at];
                    for id in look_up(index, token, before, back) {
                        found.push((token.span, id));
                    }
                }
            }
        }
        for (span, id) in found {
            let by = index.symbols.iter().position(|s| {
                s.kind == Kind::Process && s.extent.start <= span.start && span.end <= s.extent.end
            });
            index.note(span, id, false, by);
        }
    }
}

fn look_up(index: &Index, token: &Word, before: Option<&Word>, back: &[Word]) -> Vec<usize> {
    let named = |kind: Kind| {
        let named = index.named(&token.text).iter().copied();
        named.filter(move |id| index.symbols[*id].kind == kind)
    };
    match before {
        Some(dot) if dot.kind == Token::Dot => {
            let fields: Vec<usize> = named(Kind::Field).collect();
            match fields.len() {
                1 => fields,
                _ => Vec::new(),
            }
        }
        Some(at) if at.kind == Token::At || at.is_name("goto") => {
            let labels: Vec<usize> = named(Kind::Label).collect();
            let of = |id: &usize| {
                let parent = index.symbols[*id].parent.map(|p| &index.symbols[p]);
                parent.is_some_and(|p| back.iter().rev().any(|t| *t.text == *p.name))
            };
            match labels.len() {
                0 | 1 => labels,
                _ => labels.into_iter().filter(of).collect(),
            }
        }
        _ => {
            let found = index.resolve(&token.text, token.span.start);
            match found.is_empty() {
                false => found,
                // In the text of a macro or of an inline, locals of whoever uses it.
                true => {
                    let outside = !index.symbols.iter().any(|s| {
                        s.kind == Kind::Process
                            && s.extent.start <= token.span.start
                            && token.span.start < s.extent.end
                    });
                    let mut locals: Vec<usize> = named(Kind::Variable)
                        .chain(named(Kind::Parameter))
                        .chain(named(Kind::Channel))
                        .collect();
                    locals.retain(|id| {
                        let parent = index.symbols[*id].parent.map(|p| &index.symbols[p]);
                        outside && parent.is_some_and(|p| p.kind == Kind::Process)
                    });
                    locals
                }
            }
        }
    }
}
