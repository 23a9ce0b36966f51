//! Other programs, run where their files are in nobody's way.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for the files that a program writes, gone when dropped.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Option<Self> {
        let name = format!("stubborn-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).ok()?;
        Some(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a program here; what it prints, if it ends well.
    pub(super) fn run(&self, command: &mut Command) -> Option<String> {
        let output = command.current_dir(&self.0).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that stay behind in the system's folder for such files harm nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
