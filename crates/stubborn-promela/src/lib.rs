//! Promela front-end.
pub mod ast;
mod condition;
pub mod flow;
pub mod hir;
mod parser;
mod preprocess;
mod resolve;
pub mod source;
pub mod token;

use std::path::Path;

use stubborn_diagnostics::Diagnostic;

use crate::source::{Loader, Sources};

/// A parsed model.
#[derive(Debug)]
pub struct Parsed {
    /// The model as far as it was understood.
    pub model: ast::Model,
    /// The same with every name resolved.
    pub program: hir::Program,
    /// Its files.
    pub sources: Sources,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a model.
pub fn parse(path: &Path, text: &str, definitions: &[(String, String)], loader: &dyn Loader) -> Parsed {
    let mut sources = Sources::default();
    let mut diagnostics = Vec::new();
    sources.add(path, text.to_string());
    let tokens = preprocess::preprocess(&mut sources, definitions, loader, &mut diagnostics);
    let model = parser::parse(tokens, &mut diagnostics);
    let program = resolve::resolve(&model, &mut diagnostics);
    Parsed { model, program, sources, diagnostics }
}
