//! A line on the terminal that says how far a search is. Elsewhere, nothing.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stubborn::Progress;

use crate::terminal::{bytes, grouped};

/// The line; gone when dropped.
pub(crate) struct Line {
    bar: ProgressBar,
    ends: Ends,
}

/// What a search will not go beyond: the only thing that is known of its end.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    states: Option<u64>,
    time: Option<Duration>,
}

impl Line {
    /// Shown only if standard error is a terminal and the user does not mind.
    pub(crate) fn new(quiet: bool, states: Option<u64>, time: Option<Duration>) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        };
        // Without a template there would be a bar of nothing, and no message.
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        Self {
            bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner())),
            ends: Ends { states, time },
        }
    }

    /// Shows where the search is.
    pub(crate) fn show(&self, progress: &Progress) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(self.ends.text(progress));
        self.bar.tick();
    }
}

impl Ends {
    fn text(self, progress: &Progress) -> String {
        let mut text = format!(
            "{} states, {} a second, {} waiting, level {}, {}, {} s",
            grouped(progress.states),
            grouped(progress.states_per_second as u64),
            grouped(progress.queue),
            grouped(progress.depth),
            bytes(progress.memory as u64),
            grouped(progress.elapsed.as_secs()),
        );
        // How many states there are is known at the end; limits are known from the start.
        if let Some(time) = self.time {
            text += &format!(" of at most {}", time.as_secs());
        }
        if let Some(most) = self.states {
            let percent = progress.states.saturating_mul(100) / most;
            text += &format!(", {percent}% of --max-states");
        }
        text
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_it_is() {
        let progress = Progress {
            states: 1_200_000,
            transitions: 3_000_000,
            queue: 4_000,
            depth: 17,
            memory: 3 << 20,
            elapsed: Duration::from_millis(2_400),
            states_per_second: 500_000.4,
        };
        assert_eq!(
            Ends::default().text(&progress),
            "1,200,000 states, 500,000 a second, 4,000 waiting, level 17, 3.0 MiB, 2 s"
        );
        let ends = Ends {
            states: Some(4_800_000),
            time: Some(Duration::from_secs(20)),
        };
        let text = ends.text(&progress);
        assert!(
            text.ends_with("2 s of at most 20, 25% of --max-states"),
            "{text}"
        );
    }
}
