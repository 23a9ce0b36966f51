//! The corpus of models, where it is.

use std::path::{Path, PathBuf};

use stubborn::{LoadOptions, LoadedModel};

/// The corpus, or `None` (with a plain message) where it is absent.
pub(crate) fn corpus() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var_os("STUBBORN_CORPUS").map_or_else(|| default.into(), PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    eprintln!(
        "skipped: no corpus at {} (set STUBBORN_CORPUS)",
        root.display()
    );
    None
}

/// Loads a model that must be right.
pub(crate) fn load(path: &Path) -> LoadedModel {
    let loaded = stubborn::load_file(path, None, &LoadOptions::default());
    loaded.unwrap_or_else(|error| panic!("{error}"))
}
