//! Models of the corpus, loaded.

use std::path::Path;

use stubborn::{LoadOptions, LoadedModel};

/// Loads a model that must be right.
pub(crate) fn load(path: &Path) -> LoadedModel {
    let loaded = stubborn::load_file(path, None, &LoadOptions::default());
    loaded.unwrap_or_else(|error| panic!("{error}"))
}
