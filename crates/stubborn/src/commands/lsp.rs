//! `stubborn lsp`: a language server for editors, with what only a loaded model tells.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::CommandFactory;
use stubborn::diagnostics::Diagnostic;
use stubborn::ir::narrow::narrow;
use stubborn::system::Budget;
use stubborn::{
    Engine, LoadError, LoadOptions, LoadedModel, ModelText, Obstacle, PromelaOptions, load_text,
};
use stubborn_lsp::{Analyst, Findings, Language, ValueRange};

use crate::exit::{Failure, Status};
use crate::options::Cli;

/// How long an analysis may take while somebody types.
const PATIENCE: Duration = Duration::from_secs(2);

/// The code of a message about a formula of the model.
const WRONG_FORMULA: &str = "LTL000";

pub(crate) fn run() -> Result<Status, Failure> {
    match stubborn_lsp::serve(Loading) {
        Ok(true) => Ok(Status::Fine),
        Ok(false) => Err(Failure::wrong("the editor went without a word")),
        Err(error) => Err(Failure::wrong(error)),
    }
}

/// Loads models as every other command does.
struct Loading;

impl Analyst for Loading {
    fn analyse(
        &self,
        path: &Path,
        text: &str,
        language: Language,
        definitions: &[(String, String)],
    ) -> Findings {
        let budget = Arc::new(Budget::unlimited().with_time(Some(PATIENCE)));
        let options = LoadOptions {
            engine: Engine::Interpreted,
            promela: PromelaOptions {
                definitions: definitions.to_vec(),
                ..PromelaOptions::default()
            },
            budget: Arc::clone(&budget),
            ..LoadOptions::default()
        };
        let language = match language {
            Language::Dve => stubborn::Language::Dve,
            Language::Promela => stubborn::Language::Promela,
        };
        let name = path.display().to_string();
        match load_text(&name, text, language, &options) {
            Ok(model) => Findings {
                diagnostics: [
                    own(model.text(), model.warnings().to_vec()),
                    obstacles(&model),
                ]
                .concat(),
                ranges: ranges(&model, &budget),
            },
            Err(LoadError::Wrong { text, diagnostics }) => Findings {
                diagnostics: own(&text, diagnostics),
                ranges: None,
            },
            Err(_) => Findings::default(),
        }
    }

    fn program(&self) -> PathBuf {
        std::env::current_exe().unwrap_or_else(|_| "stubborn".into())
    }

    fn has_page(&self) -> bool {
        Cli::command().find_subcommand("serve").is_some()
    }
}

/// Messages about the model's own file.
fn own(text: &ModelText, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let length = text.main().text().len() as u32;
    diagnostics.retain(|d| d.span.start <= length);
    diagnostics
}

/// Formulas of the model that nobody can check, and why.
fn obstacles(model: &LoadedModel) -> Vec<Diagnostic> {
    let broken = model.temporal().iter().filter_map(|temporal| {
        let why = match temporal.property.as_ref().err()? {
            Obstacle::Branching(_) => return None,
            Obstacle::Wrong(text) => text,
            Obstacle::TooLarge(text) | Obstacle::CountsSteps(text) => text,
        };
        let span = temporal.span.unwrap_or_default();
        // The messages show the formula, which the editor does, too.
        let words = |line: &str| {
            let line = line.trim();
            let title = line
                .strip_prefix("error[")
                .and_then(|l| l.split_once("]: "));
            match (title, line.split_once("help: ")) {
                (Some((_, title)), _) => Some(title.to_owned()),
                (None, Some((_, help))) => Some(format!("help: {help}")),
                (None, None) => None,
            }
        };
        let mut lines: Vec<String> = why.lines().filter_map(words).collect();
        if lines.is_empty() {
            lines.push(why.trim().to_owned());
        }
        let message = lines.remove(0);
        let diagnostic = Diagnostic::error(WRONG_FORMULA, message, span);
        let help = lines.iter().find_map(|l| l.strip_prefix("help: "));
        Some(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        })
    });
    broken.collect()
}

/// The values that variables have in all runs, as far as intervals tell.
fn ranges(model: &LoadedModel, budget: &Budget) -> Option<Vec<ValueRange>> {
    let mut program = model.commands()?.program().clone();
    narrow(&mut program, budget);
    if budget.poll().is_some() {
        return None;
    }
    let range = |variable: &stubborn::ir::Variable| ValueRange {
        variable: variable.name.clone(),
        min: variable.item.min,
        max: variable.item.max,
    };
    Some(program.variables.iter().map(range).collect())
}
