//! What the command line says about hunting.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{FormulaArgs, MemoryLimit, ModelArgs, OutputArgs, PropertyArgs, seconds};

/// Look for violations by many short searches, where a model is too large to be explored
///
/// Breadth-first and depth-first searches in different orders, random walks, best-first searches
/// towards the goal and, for temporal properties, random lassos and product searches take turns on
/// all cores, and may take twice as much in each round. The first violation ends the hunt; its run
/// is made short. What is asked is said as for `check`.
///
/// Without a violation there is no answer (exit status 3), unless one of the searches happens to
/// see everything. The same --seed with --threads 1 hunts in the same way.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn hunt examples/token_passing.pml
  stubborn hunt examples/leader_ring.dve --only --invariant 'leaders < 1' --timeout 300
  stubborn hunt examples/readers_writers.pml --property idle --seed 7")]
pub(crate) struct HuntArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) properties: PropertyArgs,

    #[command(flatten)]
    pub(crate) formulas: FormulaArgs,

    /// On how many threads; on all cores by default
    #[arg(long, value_name = "N", help_heading = "Search",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// For everything random
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) seed: u64,

    /// Most memory for the whole program, such as 500M or 8G
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Stop so many seconds after the start of the program
    #[arg(long, value_name = "SECONDS", default_value = "60", help_heading = "Limits",
          value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Save the counterexample, to be replayed by `simulate --replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,

    /// Show all steps of a long counterexample
    #[arg(long, help_heading = "Output")]
    pub(crate) full_trace: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
