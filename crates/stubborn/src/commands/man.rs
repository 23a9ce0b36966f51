//! `stubborn man`: manual pages, from the same definition as everything else.

use clap::CommandFactory;

use crate::exit::{Failure, Status};
use crate::options::{Cli, ManArgs};
use crate::terminal::print;

pub(crate) fn run(args: &ManArgs) -> Result<Status, Failure> {
    let failed =
        |error: std::io::Error| Failure::wrong(format!("cannot write manual pages: {error}"));
    let command = Cli::command();
    match &args.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(command, folder).map_err(failed)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut page)
                .map_err(failed)?;
            print(&String::from_utf8_lossy(&page));
        }
    }
    Ok(Status::Fine)
}
