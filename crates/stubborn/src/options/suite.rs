//! What the command line says about several models, and about reports.

use std::path::PathBuf;

use clap::Args;

/// Several models, and what is written about them.
#[derive(Args, Debug)]
pub(crate) struct SuiteArgs {
    /// Check so many models at a time; by default one on each core
    #[arg(long, value_name = "N", help_heading = "Search",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Write results to a file, too: JUnit (.xml), SARIF (.sarif), JSON (.json), or a page to look
    /// at for any browser (.html, of one model); may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Vec<PathBuf>,

    /// Check this model of all, for a process that checks several.
    #[arg(long, hide = true, value_name = "MODEL", requires = "job_report")]
    pub(crate) job: Option<PathBuf>,

    /// Where that process reads the object.
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) job_report: Option<PathBuf>,

    /// How many share the memory.
    #[arg(long, hide = true, value_name = "N", default_value_t = 1)]
    pub(crate) job_of: usize,
}
