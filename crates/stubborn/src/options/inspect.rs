//! Options of `inspect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stubborn::reduce::Algorithm;

use super::{MeasuringArgs, ModelArgs, RelationsChoice, names};

/// Look inside a model: transitions, guards, fields, relations
///
/// Without a choice, shows a summary and all transitions.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn inspect examples/peterson.dve
  stubborn inspect examples/peterson.dve --fields --guards
  stubborn inspect examples/philosophers.dve --relations exact --transition hungry
  stubborn inspect examples/philosophers.dve --state start --por deletion
  stubborn inspect examples/philosophers.dve --relations full --write-relations full.json
  stubborn inspect examples/peterson.dve --format dot --process P_0 | dot -Tsvg > p0.svg")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Transitions with their guards
    #[arg(long, help_heading = "What to show")]
    pub(crate) transitions: bool,

    /// Guards and other labels
    #[arg(long, help_heading = "What to show")]
    pub(crate) guards: bool,

    /// Fields of the state, with ranges and places
    #[arg(long, help_heading = "What to show")]
    pub(crate) fields: bool,

    /// Which fields each transition tests, reads and writes
    #[arg(long, help_heading = "What to show")]
    pub(crate) sets: bool,

    /// Relations between transitions and guards: `sets`, `syntax`, `exact`, `reach`, `full`, or
    /// a file
    ///
    /// The levels are those of `check`; `full` computes them from all reachable states. A file
    /// is one that --write-relations wrote.
    #[arg(long, value_name = "LEVEL|FILE", help_heading = "What to show")]
    pub(crate) relations: Option<RelationsChoice>,

    #[command(flatten)]
    pub(crate) measuring: MeasuringArgs,

    /// Also relations of this invariant; may be repeated
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "What to show"
    )]
    pub(crate) invariant: Vec<String>,

    /// The stubborn set at the end of a saved trace, and why each transition is in it
    ///
    /// `start` is the initial state. Traces are written by `check --trace` and
    /// `simulate --save`.
    #[arg(long, value_name = "TRACE", help_heading = "What to show")]
    pub(crate) state: Option<PathBuf>,

    /// How the set of --state is computed
    #[arg(long, value_name = "NAME", requires = "state", help_heading = "What to show",
          value_parser = names(Algorithm::ALL, Algorithm::name))]
    pub(crate) por: Option<String>,

    /// As text, as one JSON object, or as control-flow graphs for Graphviz
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    pub(crate) format: InspectFormat,

    /// Draw the model for Graphviz: the same as --format dot
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(crate) dot: bool,

    /// Only transitions of processes whose name contains this
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    pub(crate) process: Option<String>,

    /// Only transitions whose name contains this
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    pub(crate) transition: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum, PartialEq, Eq)]
pub(crate) enum InspectFormat {
    #[default]
    Text,
    Json,
    Dot,
}
