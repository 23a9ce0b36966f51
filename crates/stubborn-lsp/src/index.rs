//! What the names of a model stand for, where they are declared, and where they are used.
//!
//! An index is made from whatever a parser understood, so that it is there while a text is
//! being typed. It knows nothing of editors.

use std::collections::HashMap;
use std::path::PathBuf;

use stubborn_diagnostics::Span;

use crate::position::Lines;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Variable,
    Parameter,
    Channel,
    Constant,
    Process,
    State,
    Label,
    Type,
    Field,
    Macro,
    Inline,
    Formula,
}

impl Kind {
    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Parameter => "parameter",
            Self::Channel => "channel",
            Self::Constant => "constant",
            Self::Process => "process",
            Self::State => "state",
            Self::Label => "label",
            Self::Type => "type",
            Self::Field => "field",
            Self::Macro => "macro",
            Self::Inline => "inline",
            Self::Formula => "formula",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The name where it is declared.
    pub(crate) span: Span,
    /// The whole declaration.
    pub(crate) extent: Span,
    /// Where the name can be used; everywhere if there is nothing.
    pub(crate) scope: Option<Span>,
    /// The process, type or inline that it belongs to.
    pub(crate) parent: Option<usize>,
    /// Its declaration in the language.
    pub(crate) detail: String,
}

/// A name that is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) span: Span,
    pub(crate) symbol: usize,
    /// Its value changes here.
    pub(crate) write: bool,
    /// The process that does it.
    pub(crate) by: Option<usize>,
}

/// Something that a question can be asked about.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    /// For `--property`; nothing for all of them.
    pub(crate) name: Option<String>,
    pub(crate) span: Span,
}

/// One of the files of a model.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) lines: Lines,
    /// The offset of its first byte among all files.
    pub(crate) base: u32,
}

/// Everything about a model that can be asked by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pub(crate) files: Vec<File>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) uses: Vec<Use>,
    pub(crate) properties: Vec<Property>,
    declared: HashMap<(Span, String), usize>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Index {
    pub(crate) fn add_file(&mut self, path: PathBuf, text: &str, base: u32) {
        self.files.push(File {
            path,
            text: text.to_owned(),
            lines: Lines::new(text),
            base,
        });
    }

    /// Declares a name; one that is declared here before (an inline is used several times) is
    /// the same.
    pub(crate) fn declare(&mut self, symbol: Symbol) -> usize {
        let key = (symbol.span, symbol.name.clone());
        if let Some(known) = self.declared.get(&key) {
            return *known;
        }
        let id = self.symbols.len();
        self.declared.insert(key, id);
        let named = self.by_name.entry(symbol.name.clone()).or_default();
        named.push(id);
        self.symbols.push(symbol);
        id
    }

    pub(crate) fn note(&mut self, span: Span, symbol: usize, write: bool, by: Option<usize>) {
        self.uses.push(Use {
            span,
            symbol,
            write,
            by,
        });
    }

    /// Sorts what was collected; each use stays once.
    pub(crate) fn finish(&mut self) {
        self.uses
            .sort_by_key(|u| (u.span.start, u.span.end, u.symbol, u.by, !u.write));
        self.uses
            .dedup_by_key(|u| (u.span.start, u.span.end, u.symbol, u.by));
    }

    /// The file of an offset.
    pub(crate) fn file_of(&self, offset: u32) -> Option<(usize, &File)> {
        let after = self.files.partition_point(|f| f.base <= offset);
        let at = after.checked_sub(1)?;
        Some((at, &self.files[at]))
    }

    /// A span within its own file.
    pub(crate) fn local(&self, span: Span) -> Option<(usize, Span)> {
        let (at, file) = self.file_of(span.start)?;
        let length = file.text.len() as u32;
        Some((
            at,
            Span {
                start: (span.start - file.base).min(length),
                end: span.end.saturating_sub(file.base).min(length),
            },
        ))
    }

    /// The text of a span.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.local(span).map_or("", |(file, local)| {
            let text = &self.files[file].text;
            text.get(local.start as usize..local.end as usize)
                .unwrap_or("")
        })
    }

    /// Whether a name is written there as it is called: not so where a macro wrote it.
    pub(crate) fn is_written(&self, span: Span, name: &str) -> bool {
        self.slice(span) == name
    }

    /// What the name at an offset stands for, and where the name is. In the text of an inline
    /// or macro it may be several things.
    pub(crate) fn at(&self, offset: u32) -> Option<(Span, Vec<usize>)> {
        let touches = |span: Span| span.start <= offset && offset <= span.end;
        let declared = self
            .symbols
            .iter()
            .enumerate()
            .filter(|(_, s)| touches(s.span) && self.is_written(s.span, &s.name))
            .map(|(id, s)| (s.span, id));
        let used = self
            .uses
            .iter()
            .filter(|u| touches(u.span) && self.is_written(u.span, &self.symbols[u.symbol].name))
            .map(|u| (u.span, u.symbol));
        let mut found: Vec<(Span, usize)> = declared.chain(used).collect();
        // Between two names without a blank it is the one that begins.
        let first = found.iter().map(|(span, _)| *span).max()?;
        found.retain(|(span, _)| *span == first);
        found.sort_unstable_by_key(|(_, id)| *id);
        found.dedup();
        Some((first, found.into_iter().map(|(_, id)| id).collect()))
    }

    /// Where a symbol is written, its declaration first.
    pub(crate) fn occurrences(&self, symbol: usize) -> Vec<Span> {
        let declared = &self.symbols[symbol];
        let mut spans = vec![declared.span];
        let uses = self.uses.iter().filter(|u| u.symbol == symbol);
        for used in uses {
            if self.is_written(used.span, &declared.name) && !spans.contains(&used.span) {
                spans.push(used.span);
            }
        }
        spans
    }

    /// Everything of this name.
    pub(crate) fn named(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The symbols that a name can stand for at an offset: the innermost ones. Labels and fields
    /// have names of their own.
    pub(crate) fn resolve(&self, name: &str, offset: u32) -> Vec<usize> {
        let inside = |span: &Span| span.start <= offset && offset < span.end.max(span.start + 1);
        let size = |id: &usize| {
            let scope = self.symbols[*id].scope;
            scope.map_or(u32::MAX, |s| s.end.saturating_sub(s.start))
        };
        let fits = |s: &Symbol| {
            !matches!(s.kind, Kind::Label | Kind::Field) && s.scope.as_ref().is_none_or(inside)
        };
        let named = self.named(name).iter().copied();
        let found: Vec<usize> = named.filter(|id| fits(&self.symbols[*id])).collect();
        let smallest = found.iter().map(size).min();
        found
            .into_iter()
            .filter(|id| Some(size(id)) == smallest)
            .collect()
    }
}
