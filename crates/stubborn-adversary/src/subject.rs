//! The program under attack, run as a user runs it: as a child process with a command line.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A program to attack. Runs may be made from several threads at once.
#[derive(Debug)]
pub struct Subject {
    program: PathBuf,
    folders: PathBuf,
    next_folder: AtomicU64,
    runs: AtomicU64,
    timeouts: AtomicU64,
    watchman: Arc<Watchman>,
    /// What C programs begin with, made once; `None` if that is not possible.
    pub(crate) headers: OnceLock<Option<Folder>>,
    /// Most time for making a mismatch small.
    pub minimising: Duration,
    /// When everything ends: what still runs then is killed, and nothing is run any more.
    pub end: Option<Instant>,
}

/// Children that may have to be killed.
#[derive(Debug, Default)]
struct Watchman {
    children: Mutex<Vec<(Instant, Arc<Mutex<Child>>)>>,
    /// All of them.
    is_over: AtomicBool,
}

impl Watchman {
    /// Kills what is over its time, until the subject is gone.
    fn watch(watchman: &Arc<Self>) {
        let weak = Arc::downgrade(watchman);
        std::thread::spawn(move || {
            while let Some(watchman) = weak.upgrade() {
                let now = Instant::now();
                for (end, child) in lock(&watchman.children).iter() {
                    if *end <= now || watchman.is_over.load(Ordering::Relaxed) {
                        // It may have ended by itself: then there is nothing to kill.
                        let _ = lock(child).kill();
                    }
                }
                drop(watchman);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this exit status.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long and was killed.
    Timeout,
    /// The [end](Subject::is_over) came first: nothing is known.
    Over,
}

/// What a run said.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub status: Status,
    /// What it printed.
    pub stdout: String,
    /// What it printed as messages.
    pub stderr: String,
    /// What it printed, if that is one JSON value.
    pub json: Option<Value>,
}

impl Run {
    /// If it ended as no run should, whatever was asked: by a signal, by a panic, or with a
    /// status that does not exist. A timeout is none: the machine may be busy.
    pub fn crash(&self) -> Option<String> {
        match self.status {
            Status::Exit(0..=3) | Status::Timeout | Status::Over => None,
            Status::Exit(status) => Some(format!("exit status {status}: {}", self.stderr.trim())),
            Status::Signal(signal) => Some(format!("signal {signal}: {}", self.stderr.trim())),
        }
    }

    /// Status and output in a few lines, for people.
    pub fn summary(&self) -> String {
        let mut text = format!("{:?}\n{}\n{}", self.status, self.stdout, self.stderr);
        if let Some((end, _)) = text.char_indices().nth(4000) {
            text.truncate(end);
            text.push_str(" ...");
        }
        text.trim().to_owned()
    }
}

/// A folder for one system, which goes with this value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on it; all folders go with the subject.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Subject {
    /// The program at this path.
    pub fn new(program: &Path) -> io::Result<Self> {
        let program = fs::canonicalize(program)?;
        // Memory, where there is such a folder: a run takes a few milliseconds.
        let memory = Path::new("/dev/shm");
        let base = match memory.is_dir() {
            true => memory.to_owned(),
            false => std::env::temp_dir(),
        };
        static SUBJECTS: AtomicU64 = AtomicU64::new(0);
        let number = SUBJECTS.fetch_add(1, Ordering::Relaxed);
        let folders = base.join(format!(
            "stubborn-adversary-{}-{number}",
            std::process::id()
        ));
        fs::create_dir_all(&folders)?;
        let watchman = Arc::default();
        Watchman::watch(&watchman);
        Ok(Self {
            program,
            folders,
            next_folder: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            watchman,
            headers: OnceLock::new(),
            minimising: Duration::from_secs(60),
            end: None,
        })
    }

    /// Where the program is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// How many of them took too long: nothing was compared there.
    pub fn timeouts(&self) -> u64 {
        self.timeouts.load(Ordering::Relaxed)
    }

    /// Whether everything has ended, by time or because somebody stopped it.
    pub fn is_over(&self) -> bool {
        self.watchman.is_over.load(Ordering::Relaxed)
            || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Ends everything when it is called: for signals.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let watchman = Arc::clone(&self.watchman);
        move || watchman.is_over.store(true, Ordering::Relaxed)
    }

    /// A new folder with these files.
    ///
    /// # Panics
    ///
    /// If it cannot be written: no attack is possible then.
    pub fn folder(&self, files: &[(String, String)]) -> Folder {
        let number = self.next_folder.fetch_add(1, Ordering::Relaxed);
        let folder = Folder(self.folders.join(number.to_string()));
        let written = fs::create_dir(&folder.0).and_then(|()| {
            let mut files = files.iter();
            files.try_for_each(|(name, text)| fs::write(folder.0.join(name), text))
        });
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", folder.0.display()));
        folder
    }

    /// One run of the program in a folder.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run<S: AsRef<str>>(&self, folder: &Path, arguments: &[S], timeout: Duration) -> Run {
        let arguments = arguments.iter().map(AsRef::as_ref);
        let mut command = Command::new(&self.program);
        command.args(arguments);
        self.runs.fetch_add(1, Ordering::Relaxed);
        let run = self.child(folder, command, timeout);
        if run.status == Status::Timeout {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        run
    }

    /// One run of any program in a folder.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn child(&self, folder: &Path, mut command: Command, timeout: Duration) -> Run {
        let messages = folder.join(".stderr");
        let left = self.end.map(|end| end.duration_since(Instant::now()));
        let timeout = left.map_or(timeout, |left| left.min(timeout));
        if timeout.is_zero() || self.is_over() {
            return Run {
                status: Status::Over,
                stdout: String::new(),
                stderr: String::new(),
                json: None,
            };
        }
        let mut run = || -> io::Result<Run> {
            command
                .current_dir(folder)
                // Signals are for the adversary: an interrupted run would give no answer.
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(File::create(&messages)?);
            let mut child = command.spawn()?;
            let output = child.stdout.take();
            let child = Arc::new(Mutex::new(child));
            let end = Instant::now() + timeout;
            lock(&self.watchman.children).push((end, Arc::clone(&child)));
            let mut stdout = Vec::new();
            if let Some(mut output) = output {
                output.read_to_end(&mut stdout)?;
            }
            let status = lock(&child).wait()?;
            lock(&self.watchman.children).retain(|(_, other)| !Arc::ptr_eq(other, &child));
            let status = match (status.code(), status.signal()) {
                (Some(code), _) => Status::Exit(code),
                (None, Some(9)) if self.is_over() => Status::Over,
                (None, Some(9)) if Instant::now() >= end => Status::Timeout,
                (None, signal) => Status::Signal(signal.unwrap_or(0)),
            };
            let stdout = String::from_utf8_lossy(&stdout).into_owned();
            let stderr = String::from_utf8_lossy(&fs::read(&messages)?).into_owned();
            let json = serde_json::from_str(&stdout).ok();
            Ok(Run {
                status,
                stdout,
                stderr,
                json,
            })
        };
        run().unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()))
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folders);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Run {
        let subject = Subject::new(Path::new("/bin/sh")).unwrap();
        let folder = subject.folder(&[("a.json".into(), "{\"b\":1}".into())]);
        subject.run(folder.path(), &["-c", script], timeout)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn runs_see_their_files_and_json_is_read() {
        let run = shell("cat a.json; echo c >&2; exit 3", LONG);
        assert_eq!(run.status, Status::Exit(3));
        assert_eq!(run.json.as_ref().unwrap()["b"], 1);
        assert_eq!(run.stderr, "c\n");
        assert_eq!(run.crash(), None);
    }

    #[test]
    fn panics_signals_and_timeouts_are_told_apart() {
        assert!(shell("exit 70", LONG).crash().is_some());
        assert_eq!(shell("kill -11 $$", LONG).status, Status::Signal(11));
        assert_eq!(shell("kill -9 $$", LONG).status, Status::Signal(9));
        let run = shell("exec sleep 60", Duration::from_millis(10));
        assert_eq!(run.status, Status::Timeout);
        assert_eq!(run.crash(), None);
    }

    #[test]
    fn at_the_end_nothing_runs() {
        let mut subject = Subject::new(Path::new("/bin/sh")).unwrap();
        subject.end = Some(Instant::now() + Duration::from_millis(100));
        let folder = subject.folder(&[]);
        for _ in 0..2 {
            let run = subject.run(folder.path(), &["-c", "exec sleep 60"], LONG);
            assert_eq!((run.status, run.crash()), (Status::Over, None));
        }
        assert_eq!(subject.timeouts(), 0);
    }

    #[test]
    fn what_is_stopped_is_over() {
        let subject = Subject::new(Path::new("/bin/sh")).unwrap();
        let folder = subject.folder(&[]);
        let stop = subject.stopper();
        std::thread::scope(|scope| {
            let run = scope.spawn(|| subject.run(folder.path(), &["-c", "exec sleep 60"], LONG));
            std::thread::sleep(Duration::from_millis(100));
            stop();
            assert_eq!(run.join().unwrap().status, Status::Over);
        });
        assert!(subject.is_over());
    }

    #[test]
    fn much_output_is_no_problem() {
        let run = shell(
            "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2",
            LONG,
        );
        assert_eq!((run.stdout.len(), run.stderr.len()), (300_000, 300_000));
    }
}
