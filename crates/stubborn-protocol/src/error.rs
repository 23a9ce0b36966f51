//! What can be wrong with a protocol, and why a check has no answer.

use std::fmt;

/// Why a protocol cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// There is no process.
    NoProcess,
    /// There are more processes than numbers for them.
    TooManyProcesses,
    /// Two processes, or two properties, have the same name.
    DuplicateName {
        /// `process` or `property`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A process was declared, and never defined.
    Undefined {
        /// Its name.
        process: String,
    },
    /// A process was defined twice.
    DefinedTwice {
        /// Its name.
        process: String,
    },
    /// A quorum of no messages.
    EmptyQuorum {
        /// The handler.
        handler: String,
    },
    /// A process has more than 32 timers.
    TooManyTimers {
        /// Its name.
        process: String,
    },
    /// Two different limits for crashes.
    TwoCrashLimits,
    /// A process of another protocol.
    ForeignProcess {
        /// Where it is mentioned.
        at: String,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProcess => f.write_str("a protocol needs at least one process"),
            Self::TooManyProcesses => f.write_str("there are too many processes"),
            Self::DuplicateName { what, name } => {
                write!(
                    f,
                    "there are two {} called `{name}`: give each its own name",
                    match *what {
                        "process" => "processes",
                        _ => "properties",
                    }
                )
            }
            Self::Undefined { process } => {
                write!(
                    f,
                    "`{process}` is declared and has no first state: call `define`"
                )
            }
            Self::DefinedTwice { process } => write!(f, "`{process}` is defined twice"),
            Self::EmptyQuorum { handler } => write!(f, "the quorum of `{handler}` is empty"),
            Self::TooManyTimers { process } => write!(f, "`{process}` has more than 32 timers"),
            Self::TwoCrashLimits => f.write_str(
                "there are two limits for crashes: name all processes that may crash in one call",
            ),
            Self::ForeignProcess { at } => {
                write!(f, "{at} mentions a process of another protocol")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// The chosen reduction does not exist, or not for this question.
    Reduction(String),
    /// The search cannot be run, or cannot be trusted.
    Search(stubborn_plan::CheckError),
    /// A formula that cannot be read, or that names something unknown.
    Formula(String),
    /// A handler did what it must not, so that nothing follows.
    Misuse(String),
    /// A limit was reached before there was an answer.
    Limit(String),
    /// The protocol declares no interchangeable processes.
    NoSymmetry,
    /// Processes that are said to be interchangeable are not.
    NotSymmetric(String),
    /// Symmetry and partial-order reduction were asked for together.
    SymmetryAndReduction,
    /// A search without a store is not possible here.
    Stateless(String),
    /// A search without a store would go round for ever.
    Cyclic,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reduction(why) | Self::Formula(why) | Self::Misuse(why) | Self::Limit(why) => {
                f.write_str(why)
            }
            Self::Search(error) => error.fmt(f),
            Self::NoSymmetry => f.write_str("the protocol declares no interchangeable processes"),
            Self::NotSymmetric(why) => write!(f, "the protocol is not symmetric: {why}"),
            Self::SymmetryAndReduction => {
                f.write_str("symmetry is combined with `Reduction::Messages` only: choose one")
            }
            Self::Stateless(why) => write!(
                f,
                "dynamic partial-order reduction is not possible here: {why}"
            ),
            Self::Cyclic => stubborn_dpor::ExploreError::Cyclic.fmt(f),
        }
    }
}

impl std::error::Error for CheckError {}

impl From<stubborn_dpor::ExploreError> for CheckError {
    fn from(error: stubborn_dpor::ExploreError) -> Self {
        match error {
            stubborn_dpor::ExploreError::Cyclic => Self::Cyclic,
            error => Self::Stateless(error.to_string()),
        }
    }
}

impl From<stubborn_plan::CheckError> for CheckError {
    fn from(error: stubborn_plan::CheckError) -> Self {
        Self::Search(error)
    }
}

impl From<stubborn_reduce::ConfigError> for CheckError {
    fn from(error: stubborn_reduce::ConfigError) -> Self {
        Self::Reduction(error.to_string())
    }
}
