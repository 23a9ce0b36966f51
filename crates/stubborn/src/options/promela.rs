//! What the command line says about Promela models only.

use std::path::{Path, PathBuf};

use clap::Args;
use stubborn::PromelaOptions;

/// How a Promela model is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct PromelaArgs {
    /// Define a macro, as if the model started with `#define NAME TEXT`; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME[=TEXT]", help_heading = "Promela",
          value_parser = definition)]
    definitions: Vec<(String, String)>,

    /// Sending to a full channel loses the message instead of waiting
    #[arg(long, help_heading = "Promela")]
    message_loss: bool,

    /// Most processes at a time; starting more is an error
    #[arg(long, value_name = "N", default_value = "255", help_heading = "Promela",
          value_parser = clap::value_parser!(u16).range(1..=255))]
    max_processes: u16,

    /// Every statement is a step of its own, as SPIN counts with -o1 -o2 -o3
    ///
    /// Where no flag says otherwise, `check` does what --merge, --dead-variables and
    /// --dead-locations do; other commands do not. Counterexamples are the same.
    #[arg(long, help_heading = "Promela",
          conflicts_with_all = ["merge", "dead_variables", "dead_locations"])]
    as_written: bool,

    /// Run statements that nobody else notices in one step with those before them
    ///
    /// As SPIN does without its -o3: fewer states, the same verdicts.
    #[arg(long, help_heading = "Promela")]
    merge: bool,

    /// Treat states as equal that differ only in local variables nobody will read
    #[arg(long, help_heading = "Promela")]
    dead_variables: bool,

    /// Leave out control states at which a process does nothing but leave
    ///
    /// A `skip` or a jump that nobody can see is no step then: fewer states, the same verdicts.
    #[arg(long, help_heading = "Promela")]
    dead_locations: bool,
}

/// What SPIN's users look for in a verification.
#[derive(Args, Debug)]
pub(crate) struct SpinArgs {
    /// Save the first counterexample as a trail that `spin -t` replays; MODEL.trail by default
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          help_heading = "Promela", conflicts_with = "dead_locations")]
    pub(crate) trail: Option<Option<PathBuf>>,

    /// List the statements that were not reached; nothing is reduced unless --por says so
    #[arg(long, help_heading = "Promela", conflicts_with = "dead_locations")]
    pub(crate) coverage: bool,

    /// Check, too, that no run comes to `accept` labels again and again
    ///
    /// As SPIN's -a for models without a claim; the property is called `accept`. A run that ends
    /// at such a label stays there, see --finite-runs.
    #[arg(long, help_heading = "Promela")]
    pub(crate) acceptance: bool,
}

/// What simulations of Promela models can do besides.
#[derive(Args, Debug)]
pub(crate) struct DrawingArgs {
    /// Follow a trail that `check --trail` or SPIN wrote; MODEL.trail by default
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["steps", "replay", "runs"])]
    pub(crate) trail: Option<Option<PathBuf>>,

    /// The same with a blank before it: `simulate MODEL --trail FILE`
    #[arg(value_name = "TRAIL", hide = true, requires = "trail")]
    pub(crate) trail_apart: Option<PathBuf>,

    /// Draw the run as a message sequence chart, in SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) msc: Option<PathBuf>,
}

/// The file of a trail: as given, else next to the model.
pub(crate) fn trail_file(given: &Option<PathBuf>, model: &Path) -> PathBuf {
    given.clone().unwrap_or_else(|| {
        let mut name = model.as_os_str().to_owned();
        name.push(".trail");
        name.into()
    })
}

impl PromelaArgs {
    /// Definitions that look like those of SPIN's verifiers, with what they are called here.
    pub(crate) fn verifier_flags(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let names = self.definitions.iter().map(|(name, _)| name.as_str());
        names.filter_map(|name| Some((name, super::spin::defined(name)?)))
    }

    /// Whether no flag says which steps there are.
    pub(crate) fn leaves_it_open(&self) -> bool {
        !(self.as_written || self.merge || self.dead_variables || self.dead_locations)
    }

    /// As the library takes it.
    pub(crate) fn options(&self) -> PromelaOptions {
        PromelaOptions {
            definitions: self.definitions.clone(),
            message_loss: self.message_loss,
            max_processes: usize::from(self.max_processes),
            merge: self.merge,
            dead_variables: self.dead_variables,
            dead_locations: self.dead_locations,
            ..PromelaOptions::default()
        }
    }
}

/// `NAME` or `NAME=TEXT`.
fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let mut letters = name.chars();
    let starts = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{name}` is no name of a macro"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_have_a_name_and_a_text() {
        assert_eq!(definition("N=3"), Ok(("N".into(), "3".into())));
        assert_eq!(definition("LOSS"), Ok(("LOSS".into(), "1".into())));
        assert_eq!(definition("T=a=b"), Ok(("T".into(), "a=b".into())));
        assert!(definition("3N=1").is_err() && definition("=1").is_err());
    }
}
