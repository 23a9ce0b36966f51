//! Where the checkpoints of a run are.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use crate::blocks::{Checkpoint, Writer};

const LATEST: &str = "checkpoint";
const NEW: &str = "checkpoint.new";
const PREVIOUS: &str = "checkpoint.previous";
const LOCK: &str = "lock";

/// A folder with the checkpoints of one run. As long as somebody has it, nobody else can.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked; the lock goes with the process, however it ends.
    _lock: File,
}

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum FolderError {
    /// Checkpoints of another run are in it.
    Taken,
    /// There is no checkpoint in it.
    Empty,
    /// A program that runs uses it.
    InUse,
    /// The system refuses.
    Io(std::io::Error),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("there is a checkpoint in it already"),
            Self::Empty => f.write_str("there is no checkpoint in it"),
            Self::InUse => f.write_str("another run is using it"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FolderError {}

impl From<std::io::Error> for FolderError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl Folder {
    /// For a new run: makes the folder if need be.
    ///
    /// # Errors
    /// If there are checkpoints in it, if somebody uses it, or if the system refuses.
    pub fn create(path: &Path) -> std::result::Result<Self, FolderError> {
        fs::create_dir_all(path)?;
        let folder = Self::lock(path)?;
        match folder.has_any() {
            true => Err(FolderError::Taken),
            false => Ok(folder),
        }
    }

    /// For a run that goes on.
    ///
    /// # Errors
    /// If there is no checkpoint in it, if somebody uses it, or if the system refuses.
    pub fn open(path: &Path) -> std::result::Result<Self, FolderError> {
        let is_there = |name: &&str| path.join(name).exists();
        if fs::metadata(path)?.is_dir() && ![LATEST, NEW, PREVIOUS].iter().any(is_there) {
            return Err(FolderError::Empty);
        }
        Self::lock(path)
    }

    fn lock(path: &Path) -> std::result::Result<Self, FolderError> {
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false);
        let lock = lock.open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse),
            Err(TryLockError::Error(error)) => Err(FolderError::Io(error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn has_any(&self) -> bool {
        let mut names = [LATEST, NEW, PREVIOUS].into_iter();
        names.any(|name| self.file(name).exists())
    }

    /// Writes a checkpoint; the latest one becomes the previous one when it is complete. Tells its
    /// length.
    ///
    /// # Errors
    /// If `body` fails or the system refuses: then everything is as before.
    pub fn write(
        &self,
        head: &[u8],
        body: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<u64> {
        let new = self.file(NEW);
        // It may be the latest one, of a program that was killed between two names.
        if !self.file(LATEST).exists() && Checkpoint::open(&new).is_ok() {
            fs::rename(&new, self.file(LATEST))?;
        }
        let written = self.write_new(&new, head, body);
        if written.is_err() {
            let _ = fs::remove_file(&new);
            return written;
        }
        if self.file(LATEST).exists() {
            fs::rename(self.file(LATEST), self.file(PREVIOUS))?;
        }
        fs::rename(&new, self.file(LATEST))?;
        self.sync()?;
        written
    }

    fn write_new(
        &self,
        new: &Path,
        head: &[u8],
        body: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<u64> {
        let mut writer = Writer::new(File::create(new)?, head)?;
        body(&mut writer)?;
        let (file, bytes) = writer.finish()?;
        file.sync_all()?;
        Ok(bytes)
    }

    /// Makes the names as lasting as the files.
    fn sync(&self) -> Result<()> {
        match cfg!(unix) {
            true => File::open(&self.path)?.sync_all(),
            false => Ok(()),
        }
    }

    /// The latest checkpoint that is whole; the problems of those that are not come with it.
    ///
    /// # Errors
    /// If there is none: what is wrong with each, in words.
    pub fn latest(&self) -> std::result::Result<Found, Vec<String>> {
        let mut problems = Vec::new();
        for name in [LATEST, NEW, PREVIOUS] {
            let path = self.file(name);
            match Checkpoint::open(&path) {
                Ok(checkpoint) => {
                    return Ok(Found {
                        checkpoint,
                        problems,
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        if problems.is_empty() {
            problems.push(format!("{}: {}", self.path.display(), FolderError::Empty));
        }
        Err(problems)
    }

    /// Removes everything: the run is over.
    pub fn clear(&self) {
        for name in [NEW, PREVIOUS, LATEST, LOCK] {
            let _ = fs::remove_file(self.file(name));
        }
    }
}

/// A checkpoint of a folder.
#[derive(Debug)]
pub struct Found {
    /// It.
    checkpoint: Checkpoint,
    /// What is wrong with later ones.
    pub problems: Vec<String>,
}

impl Found {
    /// The checkpoint alone.
    pub fn into_checkpoint(self) -> Checkpoint {
        self.checkpoint
    }
}

impl std::ops::Deref for Found {
    type Target = Checkpoint;

    fn deref(&self) -> &Checkpoint {
        &self.checkpoint
    }
}

impl std::ops::DerefMut for Found {
    fn deref_mut(&mut self) -> &mut Checkpoint {
        &mut self.checkpoint
    }
}
