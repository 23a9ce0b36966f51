//! How a command ends.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::error::{ContextKind, ErrorKind};
use serde_json::{Value, json};
use stubborn::reduce::ConfigError;
use stubborn::{CheckError, LoadError, SearchError, Verdict};

use crate::options::spin;
use crate::{json, terminal, watch};

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

/// The command whose results are for scripts, if they are.
static SCRIPTED: OnceLock<&'static str> = OnceLock::new();

/// From now on failures are objects, too.
pub(crate) fn report_to_scripts(command: &'static str) {
    let _ = SCRIPTED.set(command);
}

/// Whether results are for scripts.
pub(crate) fn is_scripted() -> bool {
    SCRIPTED.get().is_some()
}

/// The file in which the process that started this one reads the object.
static HANDED_OVER: OnceLock<PathBuf> = OnceLock::new();

/// From now on objects are written to a file, whatever is printed.
pub(crate) fn report_to_file(file: &Path) {
    let _ = HANDED_OVER.set(file.to_owned());
}

/// Writes an object to that file, if there is one.
pub(crate) fn hand_over(object: &str) {
    if let Some(file) = HANDED_OVER.get() {
        // Whoever reads it sees if it is missing.
        let _ = std::fs::write(file, object);
    }
}

/// Says what is wrong with the command line, or what was asked of it, and ends.
pub(crate) fn wrong_command(error: &clap::Error) -> ! {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    if error.use_stderr() && arguments.any(|argument| argument == "--json") {
        let command = command.to_string_lossy();
        let text = error.to_string();
        let message = text.trim_start_matches("error: ").trim_end();
        terminal::print(&failed(&command, Status::Wrong, "command", message, &[]));
    }
    let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(hint) = unknown.as_deref().and_then(spin::hint)
    {
        // The library's own advice would be to write `-- -a`.
        let argument = unknown.unwrap_or_default();
        terminal::print_error(&format!(
            "error: unexpected argument '{argument}' found\n\nfor users of SPIN: {hint} (docs/promela.md)\n"
        ));
        std::process::exit(Status::Wrong.code().into());
    }
    let is_number = unknown
        .as_ref()
        .is_some_and(|text| text.parse::<f64>().is_ok());
    if error.kind() == ErrorKind::UnknownArgument && is_number {
        // Nor is a negative number meant to be the name of a model.
        let argument = unknown.unwrap_or_default();
        terminal::print_error(&format!(
            "error: unexpected argument '{argument}' found: numbers are 0 or more\n\nFor more information, try '--help'.\n"
        ));
        std::process::exit(Status::Wrong.code().into());
    }
    if error.use_stderr() {
        error.exit();
    }
    // Help and versions are results.
    terminal::said(error.print().and_then(|()| std::io::stdout().flush()));
    let status = if terminal::is_lost() {
        Status::Wrong
    } else {
        Status::Fine
    };
    std::process::exit(status.code().into())
}

/// An object that says why there is no result.
pub(crate) fn failed(
    command: &str,
    status: Status,
    kind: &str,
    message: &str,
    diagnostics: &[Value],
) -> String {
    let error = json!({"kind": kind, "message": message, "diagnostics": diagnostics});
    let object = json!({"exit_status": status.code(), "error": error});
    json::line(command, json::fields(object))
}

/// Why a command could not do its work: a text for standard error, and a status.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    status: Status,
    /// Why there is no answer, if that is all.
    reason: Option<String>,
    /// For scripts, where the model is wrong.
    diagnostics: Vec<Value>,
}

impl Failure {
    fn new(text: String, status: Status) -> Self {
        Self {
            text,
            status,
            reason: None,
            diagnostics: Vec::new(),
        }
    }

    /// The user can do something about it.
    pub(crate) fn wrong(message: impl fmt::Display) -> Self {
        Self::new(format!("error: {message}\n"), Status::Wrong)
    }

    /// A file that the user names cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".into(),
            std::io::ErrorKind::IsADirectory => "it is a folder".into(),
            std::io::ErrorKind::InvalidData => "it is no text in UTF-8".into(),
            std::io::ErrorKind::PermissionDenied => "it may not be read (permissions)".into(),
            _ => error.to_string(),
        };
        Self::wrong(format!("cannot read {}: {why}", path.display()))
    }

    /// A limit was reached before anything is known.
    pub(crate) fn no_answer(message: impl fmt::Display) -> Self {
        Self {
            reason: Some(message.to_string()),
            ..Self::new(format!("no answer: {message}\n"), Status::Unknown)
        }
    }

    /// Whether a limit was reached, or somebody was lost, and nothing is wrong.
    pub(crate) fn is_no_answer(&self) -> bool {
        self.reason.is_some()
    }

    /// The user can do something about it; the whole text is given.
    pub(crate) fn shown(text: String) -> Self {
        Self::new(text, Status::Wrong)
    }

    /// Tells the user beside a result, which stands. Gives the status to exit with.
    pub(crate) fn say_beside(self, result: Status) -> Status {
        terminal::print_error(&self.text);
        match result {
            Status::Violated => Status::Violated,
            _ => self.status,
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
            if let Some(command) = SCRIPTED.get() {
                terminal::print(&self.object(command));
            }
            hand_over(&self.object("check"));
            terminal::print_error(&self.text);
            self.status
        })
    }

    fn object(&self, command: &str) -> String {
        let kind = match self.status {
            Status::Unknown => "limit",
            Status::InternalError => "internal",
            _ if self.diagnostics.is_empty() => "command",
            _ => "model",
        };
        let first = self.diagnostics.first().and_then(|d| d["message"].as_str());
        let message = match (first, &self.reason) {
            (Some(first), _) => first,
            (None, Some(reason)) => reason,
            (None, None) => self.text.trim_start_matches("error: ").trim_end(),
        };
        failed(command, self.status, kind, message, &self.diagnostics)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text.trim_end();
        f.write_str(text.strip_prefix("error: ").unwrap_or(text))
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let diagnostics = match &error {
            LoadError::GaveUp(reason) => return Self::no_answer(reason),
            LoadError::Wrong { text, diagnostics } => json::diagnostics(text, diagnostics),
            _ => Vec::new(),
        };
        Self {
            diagnostics,
            ..Self::shown(error.text(terminal::stderr_has_colour()))
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
        Self::new(format!("error: {error}\n"), status)
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
