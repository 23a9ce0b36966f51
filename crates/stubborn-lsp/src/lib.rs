//! A language server for Promela and DVE, for any editor that speaks the Language Server Protocol
//! (Microsoft, "Language Server Protocol Specification 3.17", 2022).
//!
//! Everything that is shown while a text is typed comes from the parsers of the front-ends, which
//! understand what they can of any text (`dve`, `promela`, both of which make an `index` of names).
//! What takes longer, an [`Analyst`] does on a thread of its own, whenever the typing pauses: the
//! messages of later stages, and the ranges of values that hovers show. While a text is wrong, the
//! ranges of the last good one stay.
//!
//! [`serve`] speaks on standard input and output, [`serve_streams`] on any pair of streams (by
//! [`transport`]), [`serve_on`] on any connection. Commands behind code lenses run the program that this is
//! part of, as the analyst says.

#![forbid(unsafe_code)]

mod answers;
mod completion;
mod documents;
mod dve;
mod format;
mod index;
mod lenses;
mod position;
mod promela;
mod server;
pub mod transport;
mod uri;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use stubborn_diagnostics::Diagnostic;

pub use lsp_server::Connection;

/// A language that the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// DVE.
    Dve,
    /// Promela.
    Promela,
}

impl Language {
    /// By the name that editors call it, or by the ending of a file.
    fn of(id: &str, path: &Path) -> Option<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match (id, ending) {
            ("dve", _) | (_, Some("dve")) => Some(Self::Dve),
            ("promela", _) | (_, Some("pml" | "prm" | "promela" | "spin" | "pr")) => {
                Some(Self::Promela)
            }
            _ => None,
        }
    }

    /// How editors mark code of the language.
    fn name(self) -> &'static str {
        match self {
            Self::Dve => "dve",
            Self::Promela => "promela",
        }
    }
}

/// The values that a variable of the model has in all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The variable, as traces call it: `x`, `P.x`, `P[1].x`.
    pub variable: String,
    /// Smallest value.
    pub min: i32,
    /// Largest value.
    pub max: i32,
}

/// What takes too long to be done while somebody types.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What is wrong with the model's own file, by offsets into it.
    pub diagnostics: Vec<Diagnostic>,
    /// Ranges of variables; `None` if the model is wrong or there was no time.
    pub ranges: Option<Vec<ValueRange>>,
}

/// Knows more than the parsers do.
pub trait Analyst: Send + Sync + 'static {
    /// Looks at a model; `definitions` are macros from outside.
    fn analyse(
        &self,
        path: &Path,
        text: &str,
        language: Language,
        definitions: &[(String, String)],
    ) -> Findings;

    /// The program that commands run.
    fn program(&self) -> PathBuf;

    /// Whether it has a command `serve`, which shows a model in a browser.
    fn has_page(&self) -> bool;
}

/// Serves one editor on standard input and output until it says goodbye; false if it went
/// without.
///
/// # Errors
/// If the connection breaks.
pub fn serve(analyst: impl Analyst) -> Result<bool, String> {
    let input = std::io::BufReader::new(std::io::stdin());
    serve_streams(input, std::io::stdout(), analyst)
}

/// Serves one editor at the other ends of two streams.
///
/// # Errors
/// As [`serve`].
pub fn serve_streams<R, W>(input: R, output: W, analyst: impl Analyst) -> Result<bool, String>
where
    R: BufRead + Send + 'static,
    W: Write + Send + 'static,
{
    let threads = transport::connect(input, output);
    let (connection, threads) = threads.map_err(|error| error.to_string())?;
    let orderly = serve_on(connection, analyst)?;
    // The thread that reads waits for an editor that may never say more.
    if orderly {
        threads.join().map_err(|error| error.to_string())?;
    }
    Ok(orderly)
}

/// Serves the editor at the other end of a connection.
///
/// # Errors
/// As [`serve`].
pub fn serve_on(connection: Connection, analyst: impl Analyst) -> Result<bool, String> {
    server::run(connection, std::sync::Arc::new(analyst))
}
