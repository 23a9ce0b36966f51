//! Source positions and readable error messages, shared by every front-end.
//!
//! A front-end never fails half-way: it parses what it can and returns what it
//! understood together with a list of [`Diagnostic`]s. Each has a stable code
//! (`DVE012`), a message, the place in the source, and where possible a line
//! that says what to do. [`render`] shows them the way `rustc` does, with file,
//! line, column and the source line.
//!
//! ```
//! use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
//!
//! let source = SourceFile::new("demo.dve", "byte x = 300;\n");
//! let error = Diagnostic::error("DVE001", "300 does not fit into a byte", Span::new(9, 12))
//!     .help("a byte holds 0 to 255; use `int` for larger values");
//! let text = stubborn_diagnostics::render(&source, &[error], false);
//! assert!(text.contains("demo.dve:1:10"));
//! assert!(text.contains("byte x = 300;"));
//! ```

#![forbid(unsafe_code)]

mod report;
mod suggest;

pub use report::Reporter;
pub use suggest::closest;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A half-open range of byte offsets into a [`SourceFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A text with the name it is shown under.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Wraps `text`; `name` is what messages call it, usually the path as the user gave it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(i, _)| (i + 1) as u32),
        );
        Self {
            name: name.into(),
            text,
            line_starts,
        }
    }

    /// The name messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of one span (empty where the span lies outside the text).
    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column of a byte offset, both counted from 1, columns in characters.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|s| *s <= offset).max(1) - 1;
        let start = self.line_starts[line] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(0, |s| s.chars().count());
        (line as u32 + 1, column as u32 + 1)
    }
}

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The model cannot be used.
    Error,
    /// The model can be used, but probably does not mean what its author thinks.
    Warning,
}

/// One message about one place in the source.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Stable code, such as `DVE012`; scripts may rely on it.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line without a final stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Other places that matter, each with a few words ("first declared here").
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        let message = message.into();
        Self {
            code,
            severity: Severity::Error,
            message,
            span,
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message, span)
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds the advice to write the name that looks most like this one, if there is one.
    #[must_use]
    pub fn did_you_mean<'n>(self, name: &str, names: impl Iterator<Item = &'n str>) -> Self {
        match closest(name, names) {
            Some(similar) => self.help(format!("did you mean `{similar}`?")),
            None => self,
        }
    }

    /// Points at a second place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }
}

/// True if any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Puts messages into the order of the text, each once: what is written once may be looked at several
/// times, and is wrong once.
pub fn in_order(diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = std::collections::HashSet::new();
    diagnostics.retain(|d| seen.insert((d.code, d.span, d.message.clone())));
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
}

/// Longest run of source text shown around a place: lines of generated or hostile
/// files can be megabytes long, and a message must stay readable.
const SHOWN: usize = 240;

/// All messages as text, each with file, line, column and its source line;
/// `colour` adds terminal colours.
pub fn render(source: &SourceFile, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render_one(&renderer, source, diagnostic));
        out.push_str("\n\n");
    }
    out
}

fn render_one(renderer: &Renderer, source: &SourceFile, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code);
    let primary = Window::around(source, diagnostic.span);
    let mut group = Group::with_title(title);
    if primary.whole_lines {
        let mut snippet = Snippet::source(source.text())
            .path(source.name())
            .line_start(1)
            .fold(true)
            .annotation(AnnotationKind::Primary.span(clamp(source.text(), diagnostic.span)));
        for (span, text) in &diagnostic.related {
            snippet = snippet.annotation(
                AnnotationKind::Context
                    .span(clamp(source.text(), *span))
                    .label(text.as_str()),
            );
        }
        group = group.element(snippet);
    } else {
        // A line too long to show whole: cut it, and say where in the file it was.
        let (line, column) = source.line_column(diagnostic.span.start);
        group = group.element(
            Snippet::source(&source.text()[primary.start..primary.end])
                .path(format!(
                    "{}:{line}:{column}, line shortened,",
                    source.name()
                ))
                .line_start(line as usize)
                .annotation(
                    AnnotationKind::Primary
                        .span(primary.mark_start - primary.start..primary.mark_end - primary.start),
                ),
        );
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// The stretch of text shown for a span.
struct Window {
    start: usize,
    end: usize,
    mark_start: usize,
    mark_end: usize,
    whole_lines: bool,
}

impl Window {
    fn around(source: &SourceFile, span: Span) -> Self {
        let text = source.text();
        let mark = clamp(text, span);
        let line_start = text[..mark.start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[mark.start..]
            .find('\n')
            .map_or(text.len(), |i| mark.start + i);
        if line_end - line_start <= 2 * SHOWN && mark.end - mark.start <= 8 * SHOWN {
            return Self {
                start: line_start,
                end: line_end,
                mark_start: mark.start,
                mark_end: mark.end,
                whole_lines: true,
            };
        }
        let start = floor_boundary(text, line_start.max(mark.start.saturating_sub(SHOWN)));
        let end = floor_boundary(text, line_end.min(mark.start + SHOWN)).max(mark.start);
        let mark_end = mark.end.clamp(mark.start, end);
        Self {
            start,
            end,
            mark_start: mark.start,
            mark_end,
            whole_lines: false,
        }
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn clamp(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = floor_boundary(text, (span.start as usize).min(text.len()));
    let end = floor_boundary(text, (span.end as usize).min(text.len()));
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let source = SourceFile::new("m", "ab\nçd\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(4), (2, 1));
        assert_eq!(source.line_column(5), (2, 2));
        assert_eq!(source.line_column(99), (3, 1));
    }

    #[test]
    fn a_megabyte_line_is_cut() {
        let source = SourceFile::new("m", "x".repeat(1 << 20));
        let error = Diagnostic::error("T1", "bad", Span::new(500_000, 500_003));
        let text = render(&source, &[error], false);
        assert!(text.len() < 2_000, "{} bytes", text.len());
        assert!(text.contains("m:1:500001"), "{text}");
    }

    #[test]
    fn related_places_and_help_are_shown() {
        let source = SourceFile::new("m.dve", "byte x;\nint y;\nbyte x;\n");
        let error = Diagnostic::error("T2", "x is declared twice", Span::new(20, 21))
            .related(Span::new(5, 6), "first declared here")
            .help("rename one of them");
        let text = render(&source, &[error], false);
        for part in [
            "m.dve:3:6",
            "first declared here",
            "rename one of them",
            "error[T2]",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }

    #[test]
    fn spans_outside_the_text_do_not_panic() {
        let source = SourceFile::new("m", "ab");
        for span in [Span::new(2, 2), Span::new(7, 9), Span::new(1, 0)] {
            assert!(!render(&source, &[Diagnostic::error("T3", "end", span)], false).is_empty());
        }
    }
}
