//! Collects diagnostics up to a limit, so that hostile inputs end in a short list.

use crate::{Diagnostic, Severity, Span, in_order};

/// More diagnostics than this help nobody.
const LIMIT: usize = 64;

/// A list of diagnostics that stops growing.
#[derive(Debug)]
pub struct Reporter {
    list: Vec<Diagnostic>,
    full: bool,
    too_many: &'static str,
}

impl Reporter {
    /// An empty list; `too_many` is the code of the last message of a full one.
    pub fn new(too_many: &'static str) -> Self {
        Self {
            list: Vec::new(),
            full: false,
            too_many,
        }
    }

    /// Adds a diagnostic, unless the list is full.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.full {
            return;
        }
        if self.list.len() == LIMIT {
            self.full = true;
            let message = format!("more than {LIMIT} problems, the rest is not shown");
            let last = Diagnostic::error(self.too_many, message, diagnostic.span);
            self.list.push(last);
            return;
        }
        self.list.push(diagnostic);
    }

    /// Adds an error.
    pub fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.push(Diagnostic::error(code, message, span));
    }

    /// Whether nothing more will be recorded: time to stop looking for errors.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// The list, in the order of the text.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let last = if self.full { self.list.pop() } else { None };
        in_order(&mut self.list);
        self.list.extend(last);
        self.list
    }
}
