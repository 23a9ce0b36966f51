//! Options about checkpoints.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;

use super::{ClusterArgs, MemoryLimit, OutputArgs, SearchArgs, seconds};
use crate::checkpoint::TakenUp;
use crate::exit::Failure;

/// Whether checkpoints are written, and how often.
#[derive(Args, Debug)]
pub(crate) struct CheckpointArgs {
    /// Write checkpoints to this folder, for `stubborn resume DIR` to go on from
    ///
    /// One is written every few minutes (less often where that would take more than 3% of the
    /// time), when memory becomes scarce, and when a limit, Ctrl-C or the signal to terminate ends
    /// the run. A run that was killed loses what it did since the last one. When there is an answer,
    /// the checkpoints are removed. Not for properties of branching time, temporal ones on several
    /// threads, --structural, --coverage and --engine gpu.
    #[arg(long, value_name = "DIR", help_heading = "Checkpoints")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// How often, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m",
          requires = "checkpoint", help_heading = "Checkpoints")]
    pub(crate) checkpoint_every: Duration,

    /// When memory is full, go on with sorted files in this folder
    ///
    /// Breadth-first with an exact store, on one thread, in passes over files: exact, but slower.
    #[arg(long, value_name = "DIR", help_heading = "Limits")]
    pub(crate) spill: Option<PathBuf>,

    /// What `resume` goes on with.
    #[arg(skip)]
    pub(crate) taken_up: Mutex<Option<TakenUp>>,
}

impl CheckpointArgs {
    /// The command as it was given, now or when the checkpoint was begun.
    pub(crate) fn command(&self) -> Vec<OsString> {
        let taken_up = self.taken_up.lock().unwrap_or_else(PoisonError::into_inner);
        match taken_up.as_ref().map(TakenUp::given) {
            Some(arguments) => arguments.iter().map(OsString::from).collect(),
            None => std::env::args_os().collect(),
        }
    }
}

/// Go on with a `check` or `explore` that wrote checkpoints
///
/// It ends with the counts, the verdicts and the counterexamples that it would have had without
/// the interruption. The command is the one that was given at first, with the same model, which
/// must not have changed; what is given here replaces limits, the number of threads and the form of
/// the output. Time limits count anew.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn check model.dve --checkpoint night --timeout 28800
  stubborn resume night
  stubborn resume night --memory-limit 64G --threads 16")]
pub(crate) struct ResumeArgs {
    /// The folder of the checkpoints
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// On how many threads
    #[arg(long, value_name = "N", help_heading = "Search",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Share the states among so many processes on this machine, where several had them before
    #[arg(long, value_name = "N", help_heading = "Search",
          value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "hosts")]
    processes: Option<u16>,

    /// Share them among processes on the machines of this list
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    hosts: Option<PathBuf>,

    /// Start no processes, and wait for those that come to this address with --join
    ///
    /// They are started with the command that was given at first.
    #[arg(
        long,
        value_name = "ADDRESS",
        help_heading = "Search",
        requires = "processes"
    )]
    listen: Option<String>,

    /// Stop after so many states
    #[arg(long, value_name = "N", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    max_states: Option<u64>,

    /// Most memory for the whole program, such as 500M or 8G
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    memory_limit: Option<MemoryLimit>,

    /// Stop so many seconds after the start of the program
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    timeout: Option<Duration>,

    /// How often checkpoints are written, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Checkpoints")]
    checkpoint_every: Option<Duration>,

    #[command(flatten)]
    output: OutputArgs,
}

impl ResumeArgs {
    /// Replaces what is given here.
    pub(crate) fn apply(
        &self,
        search: &mut SearchArgs,
        checkpoint: &mut CheckpointArgs,
        output: &mut OutputArgs,
        cluster: &mut ClusterArgs,
    ) -> Result<(), Failure> {
        if self.processes.is_some() || self.hosts.is_some() {
            if !cluster.is_asked_for() {
                return Err(Failure::wrong(
                    "the checkpoint is of one process: several cannot take it up",
                ));
            }
            cluster.processes = self.processes;
            cluster.hosts.clone_from(&self.hosts);
            cluster.listen.clone_from(&self.listen);
        }
        search.threads = self.threads.unwrap_or(search.threads);
        search.max_states = self.max_states.or(search.max_states);
        search.memory_limit = self.memory_limit.or(search.memory_limit);
        search.timeout = self.timeout.or(search.timeout);
        let every = self.checkpoint_every;
        checkpoint.checkpoint_every = every.unwrap_or(checkpoint.checkpoint_every);
        checkpoint.checkpoint = Some(self.folder.clone());
        output.json |= self.output.json;
        output.quiet |= self.output.quiet;
        cluster.prepare(search, checkpoint, output)
    }
}

/// A time with its unit; without one, in seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[number.len()..] {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return Err(format!("`{text}` is no time; write 90s, 10m or 2h")),
    };
    let time = seconds(number).map_err(|_| format!("`{text}` is no time; write 90s, 10m or 2h"))?;
    Ok(time.saturating_mul(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("90s", 90.0), ("10m", 600.0), ("2h", 7200.0), ("0.5", 0.5)] {
            assert_eq!(
                duration(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in ["", "m", "-1s", "3d", "inf", "1 m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
