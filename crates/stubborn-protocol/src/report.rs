//! What a check found out, for programs and for people.

use std::fmt;

use stubborn_search::{SearchResult, Trace};

use crate::chart::Chart;
use crate::coverage::Coverage;

/// Something that should not happen, and how it does.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The property.
    pub property: String,
    /// The way there, if there is one and it could be found again.
    pub trace: Option<Trace>,
    /// The same for people.
    pub chart: Option<Chart>,
    /// No way there has fewer steps.
    pub shortest: bool,
}

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The protocol.
    pub protocol: String,
    /// Properties that do not hold: the first one, or [all](crate::Checker::all_violations).
    pub failures: Vec<Failure>,
    /// Handlers that panicked or did what their declarations exclude, and kinds that are misspelt.
    /// Nothing else of the report can be relied on then.
    pub misuses: Vec<String>,
    /// How a handler came to misbehave.
    pub misuse_chart: Option<Chart>,
    /// Everything was explored.
    pub complete: bool,
    /// Why not everything was.
    pub limit: Option<String>,
    /// Each search: its reduction, and what it counted.
    pub searches: Vec<(String, SearchResult)>,
    /// What never happened, and what is known of handlers.
    pub coverage: Coverage,
}

impl Report {
    /// Everything was explored, and nothing bad found.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.misuses.is_empty() && self.complete
    }

    /// The way to a violation of a property.
    pub fn failure(&self, property: &str) -> Option<&Failure> {
        self.failures.iter().find(|f| f.property == property)
    }

    /// States of all searches.
    pub fn states(&self) -> u64 {
        self.searches.iter().map(|(_, result)| result.states).sum()
    }

    /// Panics with charts unless everything holds: what [`assert_holds!`](crate::assert_holds)
    /// does. Writes charts as SVG into the directory that the environment variable
    /// `STUBBORN_SVG` names, if it is set. Warnings go to the standard error, which `cargo test`
    /// shows with `--nocapture`.
    ///
    /// # Panics
    /// If anything does not hold, or not everything was explored.
    #[track_caller]
    pub fn assert_holds(&self) {
        if self.holds() {
            eprint!("{}", self.coverage);
            return;
        }
        let mut text = self.to_string();
        if let Some(directory) = std::env::var_os("STUBBORN_SVG") {
            for failure in &self.failures {
                let Some(chart) = &failure.chart else {
                    continue;
                };
                let words = |c: char| if c.is_alphanumeric() { c } else { '-' };
                let name: String = format!("{}-{}", self.protocol, failure.property)
                    .chars()
                    .map(words)
                    .collect();
                let path = std::path::Path::new(&directory).join(format!("{name}.svg"));
                match std::fs::write(&path, chart.svg()) {
                    Ok(()) => text.push_str(&format!("written: {}\n", path.display())),
                    Err(error) => text.push_str(&format!("{}: {error}\n", path.display())),
                }
            }
        }
        panic!("{text}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for misuse in &self.misuses {
            writeln!(f, "{}: {misuse}", self.protocol)?;
        }
        if let Some(chart) = &self.misuse_chart {
            writeln!(f, "\n{chart}")?;
        }
        for failure in &self.failures {
            write!(f, "{}: `{}` is violated", self.protocol, failure.property)?;
            match (&failure.chart, failure.shortest) {
                (Some(chart), true) => writeln!(f, ", by the shortest way\n\n{chart}")?,
                (Some(chart), false) => {
                    writeln!(f, " (there may be shorter ways)\n\n{chart}")?;
                }
                (None, true) => writeln!(f, ": no way leads there")?,
                (None, false) => writeln!(f, "\n(the way could not be found again)")?,
            }
        }
        if self.failures.is_empty() && self.misuses.is_empty() {
            let verdict = if self.complete {
                "all properties hold"
            } else {
                "nothing bad was found, but not everything was explored"
            };
            write!(f, "{}: {verdict}", self.protocol)?;
            match &self.limit {
                Some(limit) => writeln!(f, ": {limit}")?,
                None => writeln!(f)?,
            }
        }
        for (reduction, result) in &self.searches {
            writeln!(
                f,
                "{} states, {} transitions, reduction: {reduction}",
                result.states, result.transitions
            )?;
        }
        // What never happened says something only if everything did.
        match self.complete {
            true => self.coverage.fmt(f),
            false => Ok(()),
        }
    }
}
