//! What could be typed here.

use lsp_types::{CompletionItem, CompletionItemKind, CompletionResponse, Position};

use crate::documents::{Document, Shallow};
use crate::index::{Index, Kind, Symbol};
use crate::position::Encoding;
use crate::{Language, answers, dve};

pub(crate) fn complete(
    document: &Document,
    shallow: &Shallow,
    position: Position,
    encoding: Encoding,
) -> CompletionResponse {
    let index = &shallow.index;
    let at = answers::offset(index, position, encoding).unwrap_or(0);
    let before = document.text.get(..at as usize).unwrap_or("");
    let before = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let mut items: Vec<CompletionItem> = Vec::new();
    match context(document.language, before) {
        Context::Member { owner, kinds } => {
            let owners: Vec<usize> = index.named(owner).to_vec();
            let of_owner = |s: &&Symbol| s.parent.is_some_and(|p| owners.contains(&p));
            let members: Vec<&Symbol> = index.symbols.iter().filter(of_owner).collect();
            // A variable of a typedef, whose type is not looked up: all fields.
            let members = match members.is_empty() && kinds.contains(&Kind::Field) {
                true => index.symbols.iter().collect(),
                false => members,
            };
            let fitting = members.into_iter().filter(|s| kinds.contains(&s.kind));
            items.extend(fitting.map(item));
        }
        Context::Only(kinds) => {
            let visible = visible(index, at).filter(|s| kinds.contains(&s.kind));
            items.extend(visible.map(item));
        }
        Context::Anything => {
            let no_member = |s: &&Symbol| !matches!(s.kind, Kind::Field | Kind::Label);
            items.extend(visible(index, at).filter(no_member).map(item));
            let (keywords, predefined): (&[&str], &[&str]) = match document.language {
                Language::Dve => (dve::KEYWORDS, &[]),
                Language::Promela => (
                    stubborn_promela::KEYWORDS,
                    &["_pid", "_nr_pr", "_last", "_priority"],
                ),
            };
            for word in keywords.iter().chain(predefined) {
                items.push(CompletionItem {
                    label: (*word).to_owned(),
                    kind: Some(CompletionItemKind::KEYWORD),
                    // After names.
                    sort_text: Some(format!("~{word}")),
                    ..CompletionItem::default()
                });
            }
        }
    }
    items.sort_by(|a, b| a.label.cmp(&b.label));
    items.dedup_by(|a, b| a.label == b.label);
    CompletionResponse::Array(items)
}

/// What the text before a word asks for.
enum Context<'t> {
    Anything,
    Only(&'static [Kind]),
    Member {
        owner: &'t str,
        kinds: &'static [Kind],
    },
}

fn context(language: Language, before: &str) -> Context<'_> {
    let trimmed = before.trim_end();
    let word = |text: &'static str| {
        let rest = trimmed.strip_suffix(text);
        rest.is_some_and(|r| !r.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    match language {
        Language::Promela => {
            if word("goto") {
                return Context::Only(&[Kind::Label]);
            }
            if word("run") {
                return Context::Only(&[Kind::Process]);
            }
            if let Some(rest) = trimmed.strip_suffix('@') {
                let owner = last_name(without_index(rest));
                return Context::Member {
                    owner,
                    kinds: &[Kind::Label],
                };
            }
            // `1..` is a range.
            if let Some(rest) = before.strip_suffix('.')
                && !rest.ends_with('.')
            {
                let owner = last_name(without_index(rest));
                return Context::Member {
                    owner,
                    kinds: &[Kind::Field],
                };
            }
        }
        Language::Dve => {
            if word("init") || word("commit") || word("assert") || word("trans") {
                return Context::Only(&[Kind::State]);
            }
            if word("process") || word("property") {
                return Context::Only(&[Kind::Process]);
            }
            if word("sync") {
                return Context::Only(&[Kind::Channel]);
            }
            if let Some(rest) = before.strip_suffix('.') {
                return Context::Member {
                    owner: last_name(rest),
                    kinds: &[Kind::State],
                };
            }
            // In a list of transitions an arrow leads to a state.
            if let Some(rest) = before.strip_suffix("->") {
                return Context::Member {
                    owner: last_name(rest),
                    kinds: &[Kind::Variable],
                };
            }
            if trimmed.ends_with("->") {
                return Context::Only(&[Kind::State]);
            }
        }
    }
    Context::Anything
}

/// `a[i]` without its index.
fn without_index(text: &str) -> &str {
    let text = text.trim_end();
    match text.ends_with(']') {
        true => text.rfind('[').map_or(text, |at| &text[..at]),
        false => text,
    }
}

fn last_name(text: &str) -> &str {
    let text = text.trim_end();
    let start = text
        .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    &text[start..]
}

/// What can be seen from a place.
fn visible(index: &Index, at: u32) -> impl Iterator<Item = &Symbol> {
    index.symbols.iter().filter(move |s| {
        s.scope
            .is_none_or(|scope| scope.start <= at && at <= scope.end)
    })
}

fn item(symbol: &Symbol) -> CompletionItem {
    CompletionItem {
        label: symbol.name.clone(),
        detail: Some(symbol.detail.clone()),
        kind: Some(match symbol.kind {
            Kind::Variable | Kind::Parameter => CompletionItemKind::VARIABLE,
            Kind::Channel => CompletionItemKind::INTERFACE,
            Kind::Constant | Kind::Macro => CompletionItemKind::CONSTANT,
            Kind::Process => CompletionItemKind::CLASS,
            Kind::State => CompletionItemKind::ENUM_MEMBER,
            Kind::Label => CompletionItemKind::REFERENCE,
            Kind::Type => CompletionItemKind::STRUCT,
            Kind::Field => CompletionItemKind::FIELD,
            Kind::Inline => CompletionItemKind::FUNCTION,
            Kind::Formula => CompletionItemKind::VALUE,
        }),
        ..CompletionItem::default()
    }
}
