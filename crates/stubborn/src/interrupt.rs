//! Ctrl-C, and SIGTERM and SIGHUP, which schedulers and terminals send: the first one asks everybody
//! to stop with what was learnt, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use stubborn::system::Budget;

use crate::exit::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// What to stop.
static BUDGET: OnceLock<Arc<Budget>> = OnceLock::new();

/// Starts listening; the flag is set when somebody presses Ctrl-C.
pub(crate) fn listen() -> Result<&'static AtomicBool, Failure> {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            // 128 + SIGINT, as shells report it.
            std::process::exit(130);
        }
        if let Some(budget) = BUDGET.get() {
            budget.stop();
        }
    };
    match ctrlc::set_handler(handler) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(&INTERRUPTED),
        Err(error) => Err(Failure::wrong(format!("cannot listen for Ctrl-C: {error}"))),
    }
}

/// Starts listening; the budget ends when somebody presses Ctrl-C.
pub(crate) fn stop(budget: &Arc<Budget>) -> Result<(), Failure> {
    let budget = BUDGET.get_or_init(|| Arc::clone(budget));
    if listen()?.load(Ordering::Relaxed) {
        budget.stop();
    }
    Ok(())
}

/// Asks another process to stop with what it has learnt.
pub(crate) fn pass_on(process: u32) {
    // `kill` is a program wherever signals are: no foreign code is needed.
    let mut kill = std::process::Command::new("kill");
    let _ = kill.args(["-TERM", &process.to_string()]).status();
}
