//! A folder for files that nobody wants afterwards.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own, made when it is first asked for, and gone when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Workshop(OnceLock<PathBuf>);

impl Workshop {
    /// The folder.
    pub(crate) fn folder(&self) -> std::io::Result<&Path> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if let Some(folder) = self.0.get() {
            return Ok(folder);
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("stubborn-lab-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(self.0.get_or_init(|| folder))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if let Some(folder) = self.0.get() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_behind() {
        let workshop = Workshop::default();
        let folder = workshop.folder().unwrap().to_owned();
        std::fs::write(folder.join("x"), "x").unwrap();
        assert_eq!(workshop.folder().unwrap(), folder);
        drop(workshop);
        assert!(!folder.exists());
    }
}
