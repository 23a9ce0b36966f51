//! A check that runs beside the page: how far it is, and what it found.

use serde_json::{Value, json};
use stubborn_search::Progress;

/// Most points of the curve; with more, every second one is dropped.
const MOST_SAMPLES: usize = 400;

/// An answer of the check.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// For people.
    pub title: String,
    /// `holds`, `violated` or `unknown`.
    pub verdict: String,
    /// How it was found, or why it was not.
    pub note: String,
    /// What is wrong with the run that shows it, a line each.
    pub why: String,
    /// Number of the run that shows it.
    pub trace: Option<usize>,
}

/// Where a check is.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// It goes on.
    pub running: bool,
    /// What it found, when it has ended.
    pub answers: Vec<Answer>,
    /// Numbers of states by level of its first search, when it has ended.
    pub levels: Vec<u64>,
    /// States of all its searches, when it has ended.
    pub states: u64,
    /// Why there are no answers.
    pub failure: Option<String>,
    last: Progress,
    /// Seconds, states, level, states a second.
    samples: Vec<(f64, u64, u64, f64)>,
    seen: usize,
    every: usize,
}

impl Check {
    /// Told by the search.
    pub fn observe(&mut self, progress: &Progress) {
        self.last = *progress;
        self.every = self.every.max(1);
        self.seen += 1;
        if !self.seen.is_multiple_of(self.every) {
            return;
        }
        self.samples.push((
            progress.elapsed.as_secs_f64(),
            progress.states,
            progress.depth,
            progress.states_per_second,
        ));
        if self.samples.len() > MOST_SAMPLES {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.every *= 2;
        }
    }

    pub(crate) fn json(&self) -> Value {
        let answers = self.answers.iter().map(|answer| {
            json!({
                "title": answer.title,
                "verdict": answer.verdict,
                "note": answer.note,
                "why": answer.why,
                "trace": answer.trace,
            })
        });
        let last = &self.last;
        json!({
            "running": self.running,
            "answers": answers.collect::<Vec<_>>(),
            "levels": self.levels,
            "states": self.states,
            "failure": self.failure,
            "progress": {
                "states": last.states,
                "transitions": last.transitions,
                "queue": last.queue,
                "depth": last.depth,
                "memory": last.memory,
                "seconds": last.elapsed.as_secs_f64(),
                "speed": last.states_per_second,
            },
            "samples": self.samples.iter()
                .map(|(s, n, d, v)| json!([s, n, d, v])).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_searches_keep_a_curve_of_bounded_length() {
        let mut check = Check::default();
        for states in 0..10_000 {
            check.observe(&Progress {
                states,
                ..Progress::default()
            });
        }
        assert!(check.samples.len() <= MOST_SAMPLES);
        assert!(check.samples.len() >= MOST_SAMPLES / 4);
        assert_eq!(check.json()["progress"]["states"], 9_999);
    }
}
