//! The names of a Promela model.
//!
//! The syntax tree is what is left after preprocessing and the expansion of inlines: it knows
//! exactly what names stand for, but a token out of a macro only knows where the macro is used,
//! and parameters of inlines are gone. So there are two passes: the tree first (`tree`), and then
//! the tokens as they are written (`text`), in which names that the tree does not know (in texts
//! of macros, arguments of macros, inlines that nobody calls, formulas, text behind `#if 0`) are
//! looked up in the scopes around them.

mod text;
mod tree;

use std::path::Path;

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_promela::source::Loader;

use crate::index::{Index, Kind, Property};

/// What is wrong with a text, and what its names are.
pub(crate) fn read(
    path: &Path,
    text: &str,
    definitions: &[(String, String)],
    loader: &dyn Loader,
) -> (Vec<Diagnostic>, Index) {
    let parsed = stubborn_promela::parse(path, text, definitions, loader);
    let mut index = Index::default();
    for at in 0..parsed.sources.len() {
        let (path, base) = (parsed.sources.path(at), parsed.sources.base(at));
        index.add_file(path.to_path_buf(), parsed.sources.file(at).text(), base);
    }
    let written = text::Written::scan(&mut index);
    tree::walk(&mut index, &parsed.model);
    written.complete(&mut index);
    let formulas = index.symbols.iter().filter(|s| s.kind == Kind::Formula);
    let properties: Vec<Property> = formulas
        .map(|formula| Property {
            name: Some(formula.name.clone()),
            span: formula.span,
        })
        .collect();
    index.properties.extend(properties);
    index.finish();
    (parsed.diagnostics, index)
}

/// The first bytes of a span: a name at its beginning.
fn front(span: Span, name: &str) -> Span {
    Span {
        start: span.start,
        end: span.start.saturating_add(name.len() as u32),
    }
}

/// The last bytes of a span: a name at its end.
fn back(span: Span, name: &str) -> Span {
    Span {
        start: span.end.saturating_sub(name.len() as u32),
        end: span.end,
    }
}
