//! Ctrl-C, and SIGTERM and SIGHUP, which schedulers and terminals send: the first one asks everybody
//! to stop with what was learnt, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stubborn::system::Budget;

use crate::exit::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Somebody looks at the flag, and stops the budget when the time has come.
static IS_DEFERRED: AtomicBool = AtomicBool::new(false);
/// What to stop.
static BUDGET: OnceLock<Arc<Budget>> = OnceLock::new();

/// Starts listening; the flag is set when somebody presses Ctrl-C.
pub(crate) fn listen() -> Result<&'static AtomicBool, Failure> {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            // 128 + SIGINT, as shells report it.
            std::process::exit(130);
        }
        if let Some(budget) = BUDGET.get()
            && !IS_DEFERRED.load(Ordering::Relaxed)
        {
            budget.stop();
        }
    };
    match ctrlc::set_handler(handler) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(&INTERRUPTED),
        Err(error) => Err(Failure::wrong(format!("cannot listen for Ctrl-C: {error}"))),
    }
}

/// How long what waits for others may take to end after Ctrl-C.
const GRACE: Duration = Duration::from_millis(700);

/// The program does something that may be lost.
static ENDS_SOON: AtomicBool = AtomicBool::new(false);

/// Starts listening; until [`take_time`] is called, the program ends soon after somebody has pressed Ctrl-C,
/// whatever it does then: who serves or waits for others has nothing to lose.
pub(crate) fn end_soon() -> Result<&'static AtomicBool, Failure> {
    let interrupted = listen()?;
    ENDS_SOON.store(true, Ordering::Relaxed);
    let watch = || {
        while !was_interrupted() && ENDS_SOON.load(Ordering::Relaxed) {
            std::thread::sleep(GRACE / 10);
        }
        if ENDS_SOON.load(Ordering::Relaxed) {
            std::thread::sleep(GRACE);
            std::process::exit(130);
        }
    };
    match std::thread::Builder::new().spawn(watch) {
        Ok(_) => Ok(interrupted),
        Err(error) => Err(Failure::wrong(format!("cannot start a thread: {error}"))),
    }
}

/// From now on, an end may take as long as it takes to save what was learnt.
pub(crate) fn take_time() {
    ENDS_SOON.store(false, Ordering::Relaxed);
}

/// Whether somebody has pressed Ctrl-C.
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// From now on, or not any more, the caller looks whether somebody has pressed Ctrl-C, and stops
/// the budget himself.
pub(crate) fn defer(yes: bool) {
    IS_DEFERRED.store(yes, Ordering::Relaxed);
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
