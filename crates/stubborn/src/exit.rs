//! How a command ends.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use stubborn::reduce::ConfigError;
use stubborn::{CheckError, LoadError, SearchError, Verdict};

use crate::{terminal, watch};

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
    /// Why there is no answer, if that is all.
    reason: Option<String>,
}

impl Failure {
    /// The user can do something about it.
    pub(crate) fn wrong(message: impl fmt::Display) -> Self {
        Self {
            text: format!("error: {message}\n"),
            status: Status::Wrong,
            reason: None,
        }
    }

    /// A limit was reached before anything is known.
    pub(crate) fn no_answer(message: impl fmt::Display) -> Self {
        Self {
            text: format!("no answer: {message}\n"),
            status: Status::Unknown,
            reason: Some(message.to_string()),
        }
    }

    /// The user can do something about it; the whole text is given.
    pub(crate) fn shown(text: String) -> Self {
        Self {
            text,
            status: Status::Wrong,
            reason: None,
        }
    }

    /// Tells the user; gives the status to exit with.
    pub(crate) fn report(self) -> Status {
        let said = match &self.reason {
            Some(reason) => watch::give_up(reason),
            None => None,
        };
        watch::conclude();
        said.unwrap_or_else(|| {
            terminal::print_error(&self.text);
            self.status
        })
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::GaveUp(reason) => Self::no_answer(reason),
            error => Self::shown(error.text(terminal::stderr_has_colour())),
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        let status = match error {
            CheckError::Search(SearchError::GaveUp(spent)) => return Self::no_answer(spent),
            CheckError::Search(SearchError::NoAnswer(why)) => return Self::no_answer(why),
            CheckError::Search(SearchError::ReplayFailed(_)) => Status::InternalError,
            CheckError::Search(SearchError::Mismatch(_))
            | CheckError::Reduction(_)
            | CheckError::NoEngine(_)
            | CheckError::Resume(_)
            | CheckError::Outgrown => Status::Wrong,
        };
        Self {
            text: format!("error: {error}\n"),
            status,
            reason: None,
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
