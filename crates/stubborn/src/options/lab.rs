//! The options of `stubborn lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{MemoryLimit, seconds};

/// Run experiments, and compare with published tables
///
/// An experiment is a small file: models, configurations, seeds, limits, and what to measure.
/// Those of five papers are built in; a file of your own is named by its path. Runs are child
/// processes; every finished one is kept at once, so that the lab can be stopped or killed
/// and continues where it was.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn lab list
  stubborn lab run --quick
  stubborn lab run guard-based/5 scope --jobs 2
  stubborn lab run guard-based/5 --relations sets
  stubborn lab report --html report.html

The benchmark models are looked for in the folder that STUBBORN_CORPUS names, else in
../shared/corpus.")]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    List(LabListArgs),
    Run(LabRunArgs),
    Report(LabReportArgs),
}

/// Name the experiments, and how many runs each asks for
#[derive(Args, Debug)]
pub(crate) struct LabListArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    /// Name every run
    #[arg(long)]
    pub(crate) runs: bool,
}

/// Which experiments, and how much of them.
#[derive(Args, Debug)]
pub(crate) struct ChosenArgs {
    /// `guard-based/5`, a group such as `guard-based`, or a file; all by default
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,

    /// Small models, few seeds, short limits: all experiments within minutes
    #[arg(long)]
    pub(crate) quick: bool,

    /// Reduce with relations of this precision, where an experiment does not choose its own
    #[arg(long, value_name = "LEVEL",
          value_parser = ["sets", "syntax", "exact", "reach", "located"])]
    pub(crate) relations: Option<String>,
}

/// Where results are.
#[derive(Args, Debug)]
pub(crate) struct ResultsArgs {
    /// The file of results, a line of JSON for each run
    #[arg(long, value_name = "FILE", default_value = "lab-results.jsonl")]
    pub(crate) results: PathBuf,
}

/// Make the runs that are not yet among the results
///
/// A run is made again if the program has changed since, or if it had reached a limit that is
/// now wider. With --relations, the figures that are worse than with the usual relations are
/// listed at the end.
#[derive(Args, Debug)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    #[command(flatten)]
    pub(crate) results: ResultsArgs,

    /// So many runs at once; by default one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Memory for all runs together; by default 80% of what is free at the start
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemoryLimit>,

    /// Start no run after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time: Option<Duration>,

    /// The program to measure; by default this one
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
}

/// Make a page and Markdown of the results
#[derive(Args, Debug)]
pub(crate) struct LabReportArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    #[command(flatten)]
    pub(crate) results: ResultsArgs,

    /// Where the page goes: one file that needs no other
    #[arg(long, value_name = "FILE", default_value = "lab-report.html")]
    pub(crate) html: PathBuf,

    /// The folder for Markdown; by default docs/results, if there is one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) markdown: Option<PathBuf>,
}
