//! Options of the page.

use std::path::PathBuf;

use clap::Args;

use super::{ModelArgs, PropertyArgs, ReductionArgs, SearchArgs, TemporalArgs};

/// Look at a model in a browser: its text, states, runs, graph and stubborn sets
///
/// Serves a page to a browser on this machine, and checks the model meanwhile. At each state the
/// page shows which steps a search would take and which it would leave out, with the reasons;
/// algorithm, relations and question can be switched. The address has a random token: whoever does
/// not know it gets no answers. Ctrl-C ends it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn serve examples/philosophers.dve
  stubborn serve examples/alternating_bit_broken.dve --port 8080 --replay bug.json")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// The port; without one, any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Show a trace that `check --trace` or `simulate --save` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,

    /// Check nothing meanwhile
    #[arg(long)]
    pub(crate) no_check: bool,

    #[command(flatten)]
    pub(crate) properties: PropertyArgs,

    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    #[command(flatten)]
    pub(crate) search: SearchArgs,

    #[command(flatten)]
    pub(crate) reduction: ReductionArgs,
}
