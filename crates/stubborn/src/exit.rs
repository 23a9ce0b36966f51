//! How a command ends.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use stubborn::reduce::ConfigError;
use stubborn::{CheckError, LoadError, SearchError, Verdict};

use crate::terminal;

/// The exit status, a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Everything that was asked holds.
    Fine,
    /// Something is violated.
    Violated,
    /// The command or the model is wrong.
    Wrong,
    /// No answer.
    Unknown,
    /// A bug in this program (`EX_SOFTWARE` of sysexits).
    InternalError,
}

impl Status {
    /// The number that the program ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Fine => 0,
            Status::Violated => 1,
            Status::Wrong => 2,
            Status::Unknown => 3,
            Status::InternalError => 70,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

impl From<Verdict> for Status {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Holds => Status::Fine,
            Verdict::Violated => Status::Violated,
            Verdict::Unknown => Status::Unknown,
        }
    }
}

/// Why a command could not do its work: a text for standard error, and a status.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    status: Status,
}

impl Failure {
    /// The user can do something about it.
    pub(crate) fn wrong(message: impl fmt::Display) -> Self {
        Self {
            text: format!("error: {message}\n"),
            status: Status::Wrong,
        }
    }

    /// A limit was reached before anything is known.
    pub(crate) fn no_answer(message: impl fmt::Display) -> Self {
        Self {
            text: format!("no answer: {message}\n"),
            status: Status::Unknown,
        }
    }

    /// The user can do something about it; the whole text is given.
    pub(crate) fn shown(text: String) -> Self {
        Self {
            text,
            status: Status::Wrong,
        }
    }

    /// Tells the user; gives the status to exit with.
    pub(crate) fn report(self) -> Status {
        let _ = std::io::stderr().write_all(self.text.as_bytes());
        self.status
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self {
            text: error.text(terminal::stderr_has_colour()),
            status: Status::Wrong,
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        let status = match error {
            CheckError::Search(SearchError::ReplayFailed(_)) => Status::InternalError,
            CheckError::Search(SearchError::Mismatch(_))
            | CheckError::Reduction(_)
            | CheckError::Outgrown => Status::Wrong,
        };
        Self {
            text: format!("error: {error}\n"),
            status,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::wrong(error)
    }
}

/// Panics are bugs: say so, and what to do, instead of a bare backtrace.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let place = info
            .location()
            .map_or_else(String::new, |l| format!(" ({l})"));
        let _ = writeln!(
            std::io::stderr(),
            "internal error: {message}{place}\n\
             This is a bug in stubborn, not in your model. No result of this run can be trusted.\n\
             Please report it with the model and the command line.",
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            let trace = std::backtrace::Backtrace::force_capture();
            let _ = writeln!(std::io::stderr(), "{trace}");
        }
    }));
}
