//! A line on the terminal that says how far a search is. Elsewhere, nothing.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget};
use stubborn::Progress;

use crate::terminal::{bytes, grouped};

/// The line; gone when dropped.
pub(crate) struct Line {
    bar: ProgressBar,
}

impl Line {
    /// Shown only if standard error is a terminal and the user does not mind.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        };
        Self { bar }
    }

    /// Shows where the search is.
    pub(crate) fn show(&self, progress: &Progress) {
        if self.bar.is_hidden() {
            return;
        }
        let rate = grouped(progress.states_per_second as u64);
        self.bar.set_message(format!(
            "{} states, {rate} a second, {} waiting, depth {}, {}",
            grouped(progress.states),
            grouped(progress.queue),
            grouped(progress.depth),
            bytes(progress.memory as u64),
        ));
        self.bar.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
