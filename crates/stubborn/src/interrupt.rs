//! Ctrl-C: the first one asks the search to stop with what it has learnt, the second one
//! ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Starts listening; the flag is set when somebody presses Ctrl-C.
pub(crate) fn listen() -> Result<&'static AtomicBool, Failure> {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            // 128 + SIGINT, as shells report it.
            std::process::exit(130);
        }
    };
    match ctrlc::set_handler(handler) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(&INTERRUPTED),
        Err(error) => Err(Failure::wrong(format!("cannot listen for Ctrl-C: {error}"))),
    }
}
