//! Collects diagnostics up to a limit, so that hostile inputs end in a short list.

use crate::codes;
use stubborn_diagnostics::{Diagnostic, Severity, Span};

/// More diagnostics than this help nobody.
const LIMIT: usize = 64;

/// A list of diagnostics that stops growing.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    list: Vec<Diagnostic>,
    full: bool,
}

impl Reporter {
    /// Adds a diagnostic, unless the list is full.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.full {
            return;
        }
        if self.list.len() == LIMIT {
            self.full = true;
            let message = format!("more than {LIMIT} problems, the rest is not shown");
            let last = Diagnostic::error(codes::TOO_MANY_ERRORS, message, diagnostic.span);
            self.list.push(last);
            return;
        }
        self.list.push(diagnostic);
    }

    /// Adds an error and hands it out for a help line or a second place.
    pub(crate) fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.push(Diagnostic::error(code, message, span));
    }

    /// Whether nothing more will be recorded: time to stop looking for errors.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether any of them is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// The list, in the order of the text.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        let keep_last = usize::from(self.full);
        let sorted = self.list.len() - keep_last;
        self.list[..sorted].sort_by_key(|d| (d.span.start, d.span.end));
        self.list
    }
}
