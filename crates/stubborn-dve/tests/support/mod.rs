//! What several test files need: where the corpus is, and loading of models.
#![allow(dead_code)] // each test file uses a part of it

pub(crate) mod explore;
pub(crate) mod properties;

use std::path::{Path, PathBuf};
use stubborn_diagnostics::{Severity, SourceFile};
use stubborn_system::LabelId;

/// The folder with the BEEM models, or `None` (with a plain message) where it is absent.
pub(crate) fn beem() -> Option<PathBuf> {
    stubborn_corpus::folder("beem")
}

/// All DVE files of a folder, sorted by name.
pub(crate) fn models_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is readable");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the entry is readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "dve"))
        .collect();
    files.sort();
    files
}

/// A file as a source text.
pub(crate) fn read(path: &Path) -> SourceFile {
    let bytes = std::fs::read(path).expect("the file is readable");
    SourceFile::new(path.display().to_string(), String::from_utf8_lossy(&bytes))
}

/// The small models of this crate.
pub(crate) fn own_models() -> Vec<PathBuf> {
    models_in(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/models"
    )))
}

/// A model lowered without any diagnostic.
pub(crate) fn lowered(source: &SourceFile) -> stubborn_dve::Lowered {
    let (lowered, diagnostics) = stubborn_dve::compile(source);
    let errors: Vec<_> = diagnostics
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    lowered.unwrap_or_else(|| panic!("{}", stubborn_diagnostics::render(source, &errors, false)))
}

/// The label of a stand-alone expression over a model's names.
pub(crate) fn proposition(lowered: &mut stubborn_dve::Lowered, text: &str) -> LabelId {
    let source = SourceFile::new("expression", text);
    let (expression, diagnostics) = stubborn_dve::load_expression(lowered.model(), &source);
    let expression = expression.unwrap_or_else(|| {
        panic!(
            "{}",
            stubborn_diagnostics::render(&source, &diagnostics, false)
        )
    });
    let condition = lowered.condition(&expression);
    lowered.program_mut().label(condition)
}
