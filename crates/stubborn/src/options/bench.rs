//! Options of `stubborn bench`.

use std::path::PathBuf;

use clap::Args;

use super::{EngineName, StoreName};

/// Measure speed and memory on models, as a Markdown table
///
/// Every model is explored completely, once for every number of threads. Speed is in states
/// per second of processor time (of all threads together), so that a busy machine does not
/// spoil it. Promela models are explored by SPIN as well, without its reduction, where `spin`
/// and a C compiler are installed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn bench examples/*.dve
  stubborn bench models/*.dve --threads 1,2 --output table.md")]
pub(crate) struct BenchArgs {
    /// The models' files
    #[arg(value_name = "MODEL", required = true)]
    pub(crate) models: Vec<PathBuf>,

    /// Numbers of threads to try
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,

    /// How states are stored
    #[arg(long, value_name = "STORE", value_enum, default_value_t)]
    pub(crate) store: StoreName,

    /// How successors are computed
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t)]
    pub(crate) engine: EngineName,

    /// Leave out models with more states
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<u64>,

    /// Leave out models with fewer states
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) min_states: u64,

    /// Write the table to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
