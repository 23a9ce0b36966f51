//! The command line: reads options, runs one command, and turns its outcome into an exit
//! status. Results go to standard output, everything else to standard error.

mod allocator;
mod checkpoint;
mod cluster;
mod commands;
mod exit;
mod interrupt;
mod json;
mod options;
mod progress;
mod reports;
mod terminal;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::exit::{Failure, Status};
use crate::options::{Cli, Command};

fn main() -> ExitCode {
    exit::install_panic_hook();
    allocator::share_one_heap();
    let cli = Cli::try_parse().unwrap_or_else(|error| exit::wrong_command(&error));
    if let Command::Check(args) = &cli.command
        && let Some(file) = &args.suite.job_report
    {
        exit::report_to_file(file);
    }
    if let Some(command) = cli.command.json() {
        exit::report_to_scripts(command);
    }
    // Expressions may nest deeply, and traces of depth-first searches are long: a roomy
    // stack costs nothing until it is used.
    let worker = std::thread::Builder::new()
        .name("stubborn".into())
        .stack_size(256 << 20)
        .spawn(move || run(cli));
    let outcome = match worker.map(|thread| thread.join()) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => return Status::InternalError.into(),
        Err(error) => Err(Failure::wrong(format!("cannot start a thread: {error}"))),
    };
    match outcome {
        Ok(Status::Fine | Status::Unknown) if terminal::is_lost() => Status::Wrong.into(),
        Ok(status) => status.into(),
        Err(failure) => failure.report().into(),
    }
}

fn run(cli: Cli) -> Result<Status, Failure> {
    match cli.command {
        Command::Check(mut args) => {
            (args.cluster).prepare(&mut args.search, &mut args.checkpoint, &mut args.output)?;
            commands::check::run(&args)
        }
        Command::Hunt(args) => commands::hunt::run(&args),
        Command::Explore(mut args) => {
            (args.cluster).prepare(&mut args.search, &mut args.checkpoint, &mut args.output)?;
            commands::explore::run(&args)
        }
        Command::Resume(args) => commands::resume::run(&args),
        Command::TraceCheck(args) => commands::trace_check::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Ltl(args) => commands::ltl::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        #[cfg(feature = "lsp")]
        Command::Lsp(_) => commands::lsp::run(),
        #[cfg(feature = "contest")]
        Command::Mcc(args) => commands::mcc::run(&args),
        #[cfg(feature = "lab")]
        Command::Lab(args) => commands::lab::run(&args),
        #[cfg(feature = "protocols")]
        Command::Protocol(args) => commands::protocol::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::Schema(_) => {
            terminal::print(json::SCHEMA);
            Ok(Status::Fine)
        }
    }
}
