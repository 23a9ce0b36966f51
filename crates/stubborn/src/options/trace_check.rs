//! What the command line says about logs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{MemoryLimit, ModelArgs, OutputArgs, seconds};

/// Does a run of the model explain this log?
///
/// A log is a file of JSON objects, one an event and a line. A mapping file says what events mean:
/// which transitions may have happened, and which values were observed (see docs/logs.md). Without
/// one, each event names its transition. Steps may be missing from a log, and values may be left
/// out of events: all states in which the model may be are followed at once.
///
/// Exit status: 0 if the whole log is explained, 1 if not: then the longest explained prefix is
/// shown, the state there, and what the model would have allowed next.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn trace-check examples/peterson.dve run.jsonl --map peterson.toml
  stubborn trace-check model.pml run.jsonl --map map.toml --hidden 5 --json")]
pub(crate) struct TraceCheckArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// The log
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// What events mean, in TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Most steps that are missing before each event, instead of what the mapping says
    #[arg(long, value_name = "N")]
    pub(crate) hidden: Option<usize>,

    /// Most memory for the whole program, such as 500M or 8G
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Stop so many seconds after the start of the program
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
