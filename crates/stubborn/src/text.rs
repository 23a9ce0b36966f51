//! The text of a model: one file, or one with what it includes.

use stubborn_diagnostics::{Diagnostic, SourceFile, Span, render};
use stubborn_promela::source::Sources;

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
