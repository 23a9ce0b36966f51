//! Compiled programs of earlier runs.
//!
//! A file for each program, named by what it depends on: the source, the options, the device and
//! its driver. A file starts with a checksum, so that one that was cut short or changed is no
//! more than a program that has to be compiled again; the driver checks what it is given, too.

use std::io::Write;
use std::path::{Path, PathBuf};

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

const MAGIC: &[u8; 8] = b"stbgpu01";
const HEADER: usize = 16;
/// The largest program that is kept.
const LARGEST: usize = 64 << 20;

/// A folder of compiled programs.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

fn hash(seed: u64, bytes: &[u8]) -> u64 {
    rapidhash_v3_seeded(bytes, &RapidSecrets::seed(seed))
}

impl Cache {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where programs of this user keep such things, if that is known.
    pub(crate) fn of_user() -> Option<Self> {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let folder =
            variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        folder.is_absolute().then(|| Self {
            folder: folder.join("stubborn").join("opencl"),
        })
    }

    fn path(&self, key: &[&str]) -> PathBuf {
        let mut text = Vec::new();
        for part in key {
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        let name = format!("{:016x}{:016x}.bin", hash(1, &text), hash(2, &text));
        self.folder.join(name)
    }

    /// The program with this key, if it is there and whole.
    pub(crate) fn find(&self, key: &[&str]) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(key)).ok()?;
        let (header, binary) = bytes.split_at_checked(HEADER)?;
        let sum = hash(3, binary).to_le_bytes();
        (header[..8] == MAGIC[..] && header[8..] == sum).then(|| binary.to_vec())
    }

    /// Keeps a program; that this fails is no reason to complain.
    pub(crate) fn keep(&self, key: &[&str], binary: &[u8]) {
        if binary.len() <= LARGEST {
            let _ = self.write(&self.path(key), binary);
        }
    }

    /// Writes beside the place and moves there, so that nobody sees half of it.
    fn write(&self, path: &Path, binary: &[u8]) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = std::fs::File::create(&beside)?;
        let written = file
            .write_all(MAGIC)
            .and_then(|()| file.write_all(&hash(3, binary).to_le_bytes()))
            .and_then(|()| file.write_all(binary))
            .and_then(|()| std::fs::rename(&beside, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_not_found() {
        let folder =
            std::env::temp_dir().join(format!("stubborn-gpu-cache-{}", std::process::id()));
        let cache = Cache::new(&folder);
        let key = ["source", "options"];
        assert_eq!(cache.find(&key), None);
        cache.keep(&key, b"code of a program");
        assert_eq!(cache.find(&key).as_deref(), Some(&b"code of a program"[..]));
        assert_eq!(cache.find(&["sourceo", "ptions"]), None);
        let path = cache.path(&key);
        let whole = std::fs::read(&path).expect("it was written");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).expect("it is writable");
            assert_eq!(cache.find(&key), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("it is writable");
            assert_eq!(cache.find(&key), None, "cut at {at}");
        }
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
