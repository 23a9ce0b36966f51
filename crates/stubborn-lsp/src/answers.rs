//! Answers about the name at a place: what it is, where it is declared and used, another name.

use std::collections::{BTreeMap, HashMap};

use lsp_types::{
    Diagnostic, DiagnosticSeverity, DiagnosticTag, DocumentHighlight, DocumentHighlightKind,
    DocumentSymbol, DocumentSymbolResponse, FormattingOptions, GotoDefinitionResponse, Hover,
    HoverContents, Location, MarkupContent, MarkupKind, NumberOrString, Position, Range,
    SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use stubborn_diagnostics::Span;

use crate::documents::{Document, Shallow};
use crate::index::{Index, Kind, Symbol};
use crate::position::{Encoding, Lines};
use crate::uri::uri_of;
use crate::{Language, ValueRange, dve, format};

/// The changes that indent a document as the editor wants it.
pub(crate) fn formatting(
    document: &Document,
    options: &FormattingOptions,
    encoding: Encoding,
) -> Vec<TextEdit> {
    let unit = match options.insert_spaces {
        true => " ".repeat(options.tab_size.clamp(1, 16) as usize),
        false => "\t".to_owned(),
    };
    let lines = Lines::new(&document.text);
    let edits = format::edits(&document.text, document.language, &unit).into_iter();
    let edit = |(span, by)| TextEdit::new(lines.range(&document.text, span, encoding), by);
    edits.map(edit).collect()
}

/// The place in the index of a position in the model's own file.
pub(crate) fn offset(index: &Index, position: Position, encoding: Encoding) -> Option<u32> {
    let file = index.files.first()?;
    Some(file.lines.offset(&file.text, position, encoding) as u32)
}

fn range(index: &Index, span: Span, encoding: Encoding) -> Option<(usize, Range)> {
    let (at, span) = index.local(span)?;
    let file = &index.files[at];
    Some((at, file.lines.range(&file.text, span, encoding)))
}

fn location(
    document: &Document,
    index: &Index,
    span: Span,
    encoding: Encoding,
) -> Option<Location> {
    let (at, range) = range(index, span, encoding)?;
    let uri = match at {
        0 => document.uri.clone(),
        at => uri_of(&index.files[at].path)?,
    };
    Some(Location { uri, range })
}

pub(crate) fn hover(
    document: &Document,
    shallow: &Shallow,
    position: Position,
    encoding: Encoding,
) -> Option<Hover> {
    let index = &shallow.index;
    let (span, symbols) = index.at(offset(index, position, encoding)?)?;
    let texts: Vec<String> = symbols
        .iter()
        .map(|id| describe(document, index, *id))
        .collect();
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: texts.join("\n\n---\n\n"),
        }),
        range: range(index, span, encoding).map(|(_, range)| range),
    })
}

/// A symbol in words: declaration, owner, values, who writes and reads it.
fn describe(document: &Document, index: &Index, id: usize) -> String {
    let symbol = &index.symbols[id];
    let mut text = format!("```{}\n{}\n```\n", document.language.name(), symbol.detail);
    let parent = symbol.parent.map(|p| &index.symbols[p]);
    text += &match (symbol.kind, parent) {
        (kind, Some(parent)) => format!(
            "{} of {} `{}`",
            kind.word(),
            parent.kind.word(),
            parent.name
        ),
        (Kind::Variable | Kind::Channel, None) => format!("global {}", symbol.kind.word()),
        (kind, None) => kind.word().to_owned(),
    };
    let has_values = matches!(
        symbol.kind,
        Kind::Variable | Kind::Parameter | Kind::Channel
    ) && parent.is_none_or(|p| p.kind == Kind::Process);
    if !has_values && symbol.kind != Kind::Field {
        return text;
    }
    if symbol.kind != Kind::Channel
        && let Some((min, max)) = values(&document.ranges, symbol, parent)
    {
        text += &match min == max {
            true => format!("\n\nalways {min} in every run"),
            false => format!("\n\n{min} to {max} in every run"),
        };
    }
    let uses: Vec<_> = index.uses.iter().filter(|u| u.symbol == id).collect();
    let writes = by_whom(
        index,
        uses.iter().filter(|u| u.write).map(|u| (u.by, u.span)),
    );
    let reads = by_whom(
        index,
        uses.iter().filter(|u| !u.write).map(|u| (u.by, u.span)),
    );
    let (written, never, read) = match symbol.kind {
        Kind::Channel => ("used by", "never used", "asked by"),
        _ => ("written by", "never written", "read by"),
    };
    text += &match (writes.is_empty(), symbol.kind) {
        (true, Kind::Parameter) => String::new(),
        (true, _) => format!("\n\n{never}"),
        (false, _) => format!("\n\n{written} {writes}"),
    };
    if !reads.is_empty() {
        text += &format!("\n\n{read} {reads}");
    }
    text
}

/// `P (lines 3, 7), Q (line 9)`
fn by_whom(index: &Index, places: impl Iterator<Item = (Option<usize>, Span)>) -> String {
    let mut lines: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (by, span) in places {
        if let Some((at, local)) = index.local(span) {
            let line = index.files[at].lines.line(local.start as usize) + 1;
            let known = lines.entry(by).or_default();
            if !known.contains(&line) {
                known.push(line);
            }
        }
    }
    let one = |(by, lines): (Option<usize>, Vec<usize>)| {
        let who = by.map_or("declarations and formulas".to_owned(), |id| {
            format!("`{}`", index.symbols[id].name)
        });
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        format!("{who} ({word} {})", lines.join(", "))
    };
    let all: Vec<String> = lines.into_iter().map(one).collect();
    all.join(", ")
}

/// The values of a variable: of all processes of a type together.
fn values(ranges: &[ValueRange], symbol: &Symbol, parent: Option<&Symbol>) -> Option<(i32, i32)> {
    let is_it = |name: &str| match parent {
        None => name == symbol.name,
        Some(parent) => {
            // `P.x`, `P[1].x`, `:init:[0].x`
            let owner = name
                .strip_suffix(symbol.name.as_str())
                .and_then(|rest| rest.strip_suffix('.'));
            owner.is_some_and(|owner| {
                let end = owner.find('[').unwrap_or(owner.len());
                owner[..end].trim_matches(':') == parent.name
            })
        }
    };
    let fitting = ranges.iter().filter(|r| is_it(&r.variable));
    fitting.fold(None, |known, r| match known {
        None => Some((r.min, r.max)),
        Some((min, max)) => Some((r.min.min(min), r.max.max(max))),
    })
}

/// Variables that nobody reads and channels that nobody uses, which SPIN tells with `-v`: shown in
/// grey.
pub(crate) fn unused(index: &Index, encoding: Encoding) -> Vec<Diagnostic> {
    let mut read = vec![false; index.symbols.len()];
    for used in &index.uses {
        let is_channel = index.symbols[used.symbol].kind == Kind::Channel;
        read[used.symbol] |= is_channel || !used.write;
    }
    let mut found = Vec::new();
    for (symbol, read) in index.symbols.iter().zip(read) {
        let parent = symbol.parent.map(|p| index.symbols[p].kind);
        let holds_values = match symbol.kind {
            Kind::Variable | Kind::Channel => true,
            Kind::Parameter => parent == Some(Kind::Process),
            _ => false,
        };
        if read || !holds_values || !index.is_written(symbol.span, &symbol.name) {
            continue;
        }
        let word = match symbol.kind {
            Kind::Channel => "used",
            _ => "read",
        };
        if let Some((0, range)) = range(index, symbol.span, encoding) {
            found.push(Diagnostic {
                range,
                severity: Some(DiagnosticSeverity::HINT),
                code: Some(NumberOrString::String("unused".into())),
                source: Some("stubborn".into()),
                message: format!("{} is never {word}", symbol.name),
                tags: Some(vec![DiagnosticTag::UNNECESSARY]),
                ..Diagnostic::default()
            });
        }
    }
    found
}

pub(crate) fn definition(
    document: &Document,
    shallow: &Shallow,
    position: Position,
    encoding: Encoding,
) -> Option<GotoDefinitionResponse> {
    let index = &shallow.index;
    let (_, symbols) = index.at(offset(index, position, encoding)?)?;
    let places = symbols.iter().filter_map(|id| {
        let span = index.symbols[*id].span;
        location(document, index, span, encoding)
    });
    Some(GotoDefinitionResponse::Array(places.collect()))
}

pub(crate) fn references(
    document: &Document,
    shallow: &Shallow,
    position: Position,
    declaration: bool,
    encoding: Encoding,
) -> Option<Vec<Location>> {
    let index = &shallow.index;
    let (_, symbols) = index.at(offset(index, position, encoding)?)?;
    let mut spans: Vec<Span> = Vec::new();
    for id in symbols {
        let all = index.occurrences(id);
        spans.extend(all.into_iter().skip(usize::from(!declaration)));
    }
    spans.sort_unstable();
    spans.dedup();
    let places = spans.into_iter();
    Some(
        places
            .filter_map(|span| location(document, index, span, encoding))
            .collect(),
    )
}

pub(crate) fn highlights(
    _: &Document,
    shallow: &Shallow,
    position: Position,
    encoding: Encoding,
) -> Option<Vec<DocumentHighlight>> {
    let index = &shallow.index;
    let (_, symbols) = index.at(offset(index, position, encoding)?)?;
    let mut found = Vec::new();
    for id in symbols {
        for span in index.occurrences(id) {
            let write = index
                .uses
                .iter()
                .any(|u| u.span == span && u.symbol == id && u.write);
            if let Some((0, range)) = range(index, span, encoding) {
                found.push(DocumentHighlight {
                    range,
                    kind: Some(match write {
                        true => DocumentHighlightKind::WRITE,
                        false => DocumentHighlightKind::READ,
                    }),
                });
            }
        }
    }
    Some(found)
}

/// What can be renamed as one thing, and where the name is; or why it cannot.
fn rename_target(index: &Index, offset: u32) -> Result<(Span, usize), String> {
    let Some((span, symbols)) = index.at(offset) else {
        return Err("there is no name here".into());
    };
    let &[id] = symbols.as_slice() else {
        let name = &index.symbols[symbols[0]].name;
        return Err(format!("`{name}` stands for several things here"));
    };
    let symbol = &index.symbols[id];
    if !index.is_written(symbol.span, &symbol.name) {
        return Err(format!("`{}` is not declared by this name", symbol.name));
    }
    // A place that stands for something else, too, cannot have two names.
    let shared = index.uses.iter().find(|other| {
        let same_place = |u: &&crate::index::Use| u.symbol == id && u.span == other.span;
        other.symbol != id
            && index.symbols[other.symbol].name == symbol.name
            && index.uses.iter().any(|u| same_place(&u))
    });
    if let Some(shared) = shared {
        let line = index.local(shared.span).map_or(0, |(at, local)| {
            index.files[at].lines.line(local.start as usize) + 1
        });
        return Err(format!(
            "in line {line}, `{}` stands for other things as well",
            symbol.name
        ));
    }
    Ok((span, id))
}

pub(crate) fn renamable(
    _: &Document,
    shallow: &Shallow,
    position: Position,
    encoding: Encoding,
) -> Result<Range, String> {
    let index = &shallow.index;
    let offset = offset(index, position, encoding).unwrap_or(0);
    let (span, _) = rename_target(index, offset)?;
    let found = range(index, span, encoding);
    found
        .map(|(_, range)| range)
        .ok_or_else(|| "there is no name here".into())
}

pub(crate) fn rename(
    document: &Document,
    shallow: &Shallow,
    position: Position,
    name: &str,
    encoding: Encoding,
) -> Result<WorkspaceEdit, String> {
    let index = &shallow.index;
    let offset = offset(index, position, encoding).unwrap_or(0);
    let (_, id) = rename_target(index, offset)?;
    check_name(document.language, name)?;
    check_free(index, id, name)?;
    #[allow(clippy::mutable_key_type)] // the protocol's own type
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for span in index.occurrences(id) {
        if let Some(place) = location(document, index, span, encoding) {
            changes.entry(place.uri).or_default().push(TextEdit {
                range: place.range,
                new_text: name.to_owned(),
            });
        }
    }
    Ok(WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    })
}

/// Refuses what is no name.
fn check_name(language: Language, name: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let first = bytes.next();
    let starts = first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let goes_on = |b: u8| {
        b.is_ascii_alphanumeric()
            || b == b'_'
            || language == Language::Dve && matches!(b, b'$' | b'#')
    };
    if !starts || !bytes.all(goes_on) {
        return Err(format!("`{name}` is no name: letters, digits and `_` are"));
    }
    let keywords = match language {
        Language::Dve => dve::KEYWORDS,
        Language::Promela => stubborn_promela::KEYWORDS,
    };
    match keywords.contains(&name) {
        true => Err(format!("`{name}` is a keyword")),
        false => Ok(()),
    }
}

/// Refuses a name that would mean something else somewhere.
fn check_free(index: &Index, id: usize, name: &str) -> Result<(), String> {
    let symbol = &index.symbols[id];
    let spaces = |kind: Kind| matches!(kind, Kind::Label) as u8 + 2 * (kind == Kind::Field) as u8;
    let overlap = |other: &Symbol| match (symbol.scope, other.scope) {
        (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
        _ => true,
    };
    let taken = index.named(name).iter().find(|other| {
        let other = &index.symbols[**other];
        let same_parent = symbol.kind != Kind::Field || symbol.parent == other.parent;
        spaces(other.kind) == spaces(symbol.kind) && overlap(other) && same_parent
            || other.kind == Kind::Macro
    });
    match taken {
        Some(other) => {
            let other = &index.symbols[*other];
            let line = index.local(other.span).map_or(0, |(at, local)| {
                index.files[at].lines.line(local.start as usize) + 1
            });
            let kind = other.kind.word();
            Err(format!("`{name}` is already a {kind} (line {line})"))
        }
        None => Ok(()),
    }
}

pub(crate) fn symbols(shallow: &Shallow, encoding: Encoding) -> DocumentSymbolResponse {
    let index = &shallow.index;
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (id, symbol) in index.symbols.iter().enumerate() {
        let own_file = index.local(symbol.span).is_some_and(|(at, _)| at == 0);
        let hidden = symbol.parent.is_some_and(|p| {
            symbol.kind == Kind::Parameter && index.symbols[p].kind != Kind::Process
        });
        if !own_file || hidden {
            continue;
        }
        match symbol.parent {
            Some(parent) => children.entry(parent).or_default().push(id),
            None => roots.push(id),
        }
    }
    let in_order = |ids: &mut Vec<usize>| ids.sort_by_key(|id| index.symbols[*id].span.start);
    in_order(&mut roots);
    children.values_mut().for_each(in_order);
    let nested = roots
        .into_iter()
        .filter_map(|id| symbol(index, id, &children, encoding));
    DocumentSymbolResponse::Nested(nested.collect())
}

fn symbol(
    index: &Index,
    id: usize,
    children: &HashMap<usize, Vec<usize>>,
    encoding: Encoding,
) -> Option<DocumentSymbol> {
    let found = &index.symbols[id];
    let (at, selection_range) = range(index, found.span, encoding)?;
    // The selection lies inside, whatever an include or a macro made of the extent.
    let (whole_at, whole) = range(index, found.extent, encoding)?;
    let inside = whole_at == at && whole.start <= selection_range.start;
    let range = match inside && selection_range.end <= whole.end {
        true => whole,
        false => selection_range,
    };
    let inner = children.get(&id).into_iter().flatten();
    let inner: Vec<DocumentSymbol> = inner
        .filter_map(|id| symbol(index, *id, &HashMap::new(), encoding))
        .collect();
    #[allow(deprecated)] // a field that must be there
    Some(DocumentSymbol {
        name: match found.name.is_empty() {
            true => found.kind.word().to_owned(),
            false => found.name.clone(),
        },
        detail: Some(found.detail.clone()),
        kind: symbol_kind(found.kind),
        tags: None,
        deprecated: None,
        range,
        selection_range,
        children: (!inner.is_empty()).then_some(inner),
    })
}

fn symbol_kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Variable | Kind::Parameter => SymbolKind::VARIABLE,
        Kind::Channel => SymbolKind::INTERFACE,
        Kind::Constant => SymbolKind::CONSTANT,
        Kind::Process => SymbolKind::CLASS,
        Kind::State => SymbolKind::ENUM_MEMBER,
        Kind::Label => SymbolKind::KEY,
        Kind::Type => SymbolKind::STRUCT,
        Kind::Field => SymbolKind::FIELD,
        Kind::Macro => SymbolKind::CONSTANT,
        Kind::Inline => SymbolKind::FUNCTION,
        Kind::Formula => SymbolKind::BOOLEAN,
    }
}
