//! Collects messages while reading; a damaged file must not produce a million of them.

use stubborn_diagnostics::{Diagnostic, Span, has_errors};
use stubborn_system::{Budget, Spent};

use crate::xml::{Fatal, Step};

/// Reading stops after this many messages.
pub(crate) const MAX_MESSAGES: usize = 50;

/// The messages so far.
#[derive(Default)]
pub(crate) struct Report {
    messages: Vec<Diagnostic>,
}

impl Report {
    /// Adds a message; fails once there are so many that reading on is of no use.
    pub(crate) fn add(&mut self, message: Diagnostic) -> Step<()> {
        let span = message.span;
        self.messages.push(message);
        if self.messages.len() < MAX_MESSAGES {
            return Ok(());
        }
        Err(Box::new(Diagnostic::error(
            "PNM019",
            format!("more than {MAX_MESSAGES} messages, the rest of the file was not read"),
            span,
        )))
    }

    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
    ) -> Step<()> {
        self.add(Diagnostic::error(code, message, span))
    }

    /// Adds the message that ended the reading.
    pub(crate) fn fatal(&mut self, message: Diagnostic) {
        self.messages.push(message);
    }

    /// True if any message is an error.
    pub(crate) fn has_errors(&self) -> bool {
        has_errors(&self.messages)
    }

    /// All messages in the order they were found.
    pub(crate) fn into_messages(self) -> Vec<Diagnostic> {
        self.messages
    }
}

/// The message that ends the reading when the budget is spent.
pub(crate) fn gave_up(spent: Spent) -> Fatal {
    let message = spent.to_string();
    Box::new(Diagnostic::error("PNM051", message, Span::default()))
}

/// Ends the reading if the budget is spent.
pub(crate) fn poll(budget: &Budget) -> Step<()> {
    match budget.poll() {
        None => Ok(()),
        Some(spent) => Err(gave_up(spent)),
    }
}

/// Text of unknown length for use in a message, cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}
