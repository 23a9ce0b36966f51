//! Language modules of LTSmin: not a text but code, with the user's properties added to what it exports.

use std::path::Path;
use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_pins::{Module, ModuleError};
use stubborn_system::System;

use crate::load::{BuildError, LoadOptions, Parts, TRANSLATING};
use crate::temporal::read::{Draft, drafts};

const DISTRUSTED: &str = "the guards of this module do not say what is enabled: they are not used, and \
                          reductions know less";

/// Why a file is no model of this kind, or what is wrong with the user's expressions.
pub(crate) enum Problem {
    Module(ModuleError),
    Build(BuildError),
}

impl From<BuildError> for Problem {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

pub(crate) fn build(path: &Path, options: &LoadOptions) -> Result<Parts, Problem> {
    let budget = Arc::clone(&options.budget);
    let mut module = Module::load(path, budget).map_err(Problem::Module)?;
    let wrong = |flag, text: &String, error| {
        let problems = vec![shown(&error, text)];
        let source = SourceFile::new(flag, text.as_str());
        Problem::Build(BuildError::Expression(Box::new(source), problems))
    };
    for text in &options.invariants {
        let stated = module.invariant(text);
        stated.map_err(|error| wrong("--invariant", text, error))?;
    }
    for text in &options.reachable {
        let asked = module.reachable(text);
        asked.map_err(|error| wrong("--reach", text, error))?;
    }
    let mut temporal = Vec::new();
    if !options.ignore_temporal {
        options.budget.begin(TRANSLATING);
        if let Some(accepting) = module.accepting() {
            let file = path.display().to_string();
            let draft =
                Draft::stated("acceptance", &file, "!([] (<> accepting))", Span::default())?;
            temporal.push(draft.finish(|_| Ok(accepting))?);
        }
        for draft in drafts(&options.temporal)? {
            let property =
                draft.finish(|text| module.condition(text).map_err(|error| shown(&error, text)));
            temporal.push(property?);
        }
    }
    let warnings = match module.distrusted() {
        true => vec![Diagnostic::warning("PIN002", DISTRUSTED, Span::default())],
        false => Vec::new(),
    };
    // There is only this one execution of it.
    let system: Arc<dyn System> = Arc::new(module);
    Ok(Parts {
        warnings,
        reference: Arc::clone(&system),
        system,
        program: None,
        temporal,
        expressions: Vec::new(),
        text: None,
        promela: None,
        growth: None,
        stop_compiling: None,
        net: None,
    })
}

fn shown(error: &ModuleError, text: &str) -> Diagnostic {
    Diagnostic::error("PIN001", error.to_string(), Span::new(0, text.len()))
}
