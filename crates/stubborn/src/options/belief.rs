//! Whether a check looked at what its user had in mind.

use clap::Args;

/// What else to ask, and what to leave out.
#[derive(Args, Debug)]
pub(crate) struct BeliefArgs {
    /// Check that this expression holds in some state, and show a run that leads there; may be
    /// repeated
    ///
    /// A property that holds is worth little if what it speaks about never happens. The exit status
    /// is 1 if the expression holds nowhere.
    #[arg(
        long,
        value_name = "EXPR",
        help_heading = "Properties",
        allow_hyphen_values = true
    )]
    pub(crate) reach: Vec<String>,

    /// Do not list what no run does
    #[arg(long, help_heading = "Output", conflicts_with = "coverage")]
    pub(crate) no_coverage: bool,

    /// Do not look for parts of formulas that do not matter to whether they hold
    #[arg(long, help_heading = "Temporal properties")]
    pub(crate) no_vacuity: bool,
}
