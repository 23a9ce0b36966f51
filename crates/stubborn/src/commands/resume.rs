//! `stubborn resume`: goes on with a command that wrote checkpoints.

use std::sync::Mutex;

use clap::Parser;

use super::{check, explore};
use crate::checkpoint::TakenUp;
use crate::exit::{self, Failure, Status};
use crate::options::{Cli, Command, ResumeArgs};

pub(crate) fn run(args: &ResumeArgs) -> Result<Status, Failure> {
    let taken_up = TakenUp::open(&args.folder)?;
    let given = Cli::try_parse_from(taken_up.arguments()?);
    let given = given.map_err(|error| {
        Failure::wrong(format!(
            "the checkpoint is of a command that is none:\n{error}"
        ))
    })?;
    let taken_up = Mutex::new(Some(taken_up));
    match given.command {
        Command::Check(mut given) => {
            given.checkpoint.taken_up = taken_up;
            args.apply(
                &mut given.search,
                &mut given.checkpoint,
                &mut given.output,
                &mut given.cluster,
            )?;
            if given.output.json {
                exit::report_to_scripts("check");
            }
            check::run(&given)
        }
        Command::Explore(mut given) => {
            given.checkpoint.taken_up = taken_up;
            args.apply(
                &mut given.search,
                &mut given.checkpoint,
                &mut given.output,
                &mut given.cluster,
            )?;
            if given.output.json {
                exit::report_to_scripts("explore");
            }
            explore::run(&given)
        }
        _ => Err(Failure::wrong(
            "the checkpoint is neither of `check` nor of `explore`",
        )),
    }
}
