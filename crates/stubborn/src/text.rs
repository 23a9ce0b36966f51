//! The text of a model: one file, or one with what it includes.

use serde::{Deserialize, Serialize};
use stubborn_diagnostics::{Diagnostic, SourceFile, Span, render};
use stubborn_promela::source::Sources;

/// A range of characters in a file. Lines and columns count from 1, and the end is the first
/// character after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRecord {
    /// The file, as the user named it.
    pub file: String,
    /// The line it starts in.
    pub line: u32,
    /// The column it starts in.
    pub column: u32,
    /// The line it ends in.
    pub end_line: u32,
    /// The column it ends before.
    pub end_column: u32,
}

/// The files of a model, for messages and for places.
#[derive(Clone, Debug)]
pub enum ModelText {
    /// All in one file.
    One(SourceFile),
    /// A file and what it includes; the first one is the model.
    Several(Sources),
}

impl ModelText {
    /// The model's file as the user gave it.
    pub fn name(&self) -> &str {
        self.main().name()
    }

    /// The model's file itself.
    pub fn main(&self) -> &SourceFile {
        match self {
            Self::One(source) => source,
            Self::Several(sources) => sources.file(0),
        }
    }

    /// Which file, and line and column in it, counted from 1.
    fn find(&self, span: Span) -> (&SourceFile, u32, u32) {
        match self {
            Self::One(source) => {
                let (line, column) = source.line_column(span.start);
                (source, line, column)
            }
            Self::Several(sources) => {
                let place = sources.place(span.start);
                let mut files = (0..sources.len()).map(|at| sources.file(at));
                let file = files.find(|file| file.name() == place.file);
                (
                    file.unwrap_or_else(|| sources.file(0)),
                    place.line,
                    place.column,
                )
            }
        }
    }

    /// `file:line:column`.
    pub fn place(&self, span: Span) -> String {
        let (file, line, column) = self.find(span);
        format!("{}:{line}:{column}", file.name())
    }

    /// The same in parts, to the end of the span.
    pub fn range(&self, span: Span) -> PlaceRecord {
        let (file, line, column) = self.find(span);
        let end = span.end.max(span.start);
        let (_, end_line, end_column) = self.find(Span { start: end, end });
        // A span may reach into another file, by an include or a macro.
        let is_after = (end_line, end_column) >= (line, column);
        let (end_line, end_column) = if is_after {
            (end_line, end_column)
        } else {
            (line, column)
        };
        PlaceRecord {
            file: file.name().to_owned(),
            line,
            column,
            end_line,
            end_column,
        }
    }

    /// The number of the line.
    pub fn line_number(&self, span: Span) -> u32 {
        self.find(span).1
    }

    /// The line, without blanks around it.
    pub fn line(&self, span: Span) -> &str {
        let (file, line, _) = self.find(span);
        let at = (line as usize).saturating_sub(1);
        file.text().lines().nth(at).unwrap_or("").trim()
    }

    /// Messages as text, each with its source line.
    pub fn render(&self, diagnostics: &[Diagnostic], colour: bool) -> String {
        match self {
            Self::One(source) => render(source, diagnostics, colour),
            Self::Several(sources) => sources.render(diagnostics, colour),
        }
    }
}
