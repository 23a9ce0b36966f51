//! Where the benchmark models are, and how to read their tables of known results.
//!
//! Tests compare with models that others wrote, and with what other tools have found out
//! about them. These lie outside of the repository: in the folder that `STUBBORN_CORPUS`
//! names, else in `shared/corpus` beside the repository. Nothing needs them: a test that does
//! not find them says so and passes.

#![forbid(unsafe_code)]

pub mod tsv;

use std::path::PathBuf;

/// A folder of the corpus, such as `beem`; none, said on standard error, where it is absent.
pub fn folder(part: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var_os("STUBBORN_CORPUS").map_or_else(|| beside.into(), PathBuf::from);
    let folder = root.join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "skipped: no corpus at {} (set STUBBORN_CORPUS)",
        folder.display()
    );
    None
}
