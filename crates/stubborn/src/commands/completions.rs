//! `stubborn completions`: scripts for shells, from the same definition as everything else.

use clap::CommandFactory;

use crate::exit::{Failure, Status};
use crate::options::{Cli, CompletionsArgs};
use crate::terminal::print;

pub(crate) fn run(args: &CompletionsArgs) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stubborn", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(Status::Fine)
}
