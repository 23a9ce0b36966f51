//! One program, run under limits: a crash or a kill hurts this run only.
//!
//! The limit of time counts processor time, so that a busy machine changes nothing: at the
//! limit the program is interrupted, as a person would do with control-C, and may still say
//! what it has learnt; when it does not end soon, it is killed. Memory is watched, too.
//! Should the lab itself be killed, its children die with it (on Linux).

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::record::Limits;

/// Most text that is kept of what a program prints.
const MOST_OUTPUT: u64 = 64 << 20;
/// A program that was interrupted has so long to end.
const GRACE: Duration = Duration::from_secs(5);
/// Even a program that waits for ever, without using the processor, ends: after so many
/// times its limit.
const WALL_FACTOR: f64 = 20.0;

/// What became of a program.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit status; none if a signal ended it.
    pub code: Option<i32>,
    /// Whether it was stopped at the limit of time.
    pub out_of_time: bool,
    /// Whether it was stopped at the limit of memory.
    pub out_of_memory: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// Processor time, of user and system.
    pub cpu_seconds: f64,
    /// Time on the wall.
    pub wall_seconds: f64,
    /// Most memory at any time.
    pub peak_bytes: Option<u64>,
}

/// Runs a program to its end, or to a limit's.
pub fn run(
    program: &Path,
    args: &[String],
    folder: Option<&Path>,
    limits: Limits,
) -> std::io::Result<Finished> {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    system::obey_the_lab(&mut command);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let mut watch = Watch::new(child.id(), limits, started);
    let ended = system::wait(&mut child, &mut || watch.look())?;
    Ok(Finished {
        code: ended.code,
        out_of_time: watch.out_of_time,
        out_of_memory: watch.out_of_memory,
        stdout: stdout.map(join).unwrap_or_default(),
        stderr: stderr.map(join).unwrap_or_default(),
        cpu_seconds: ended.cpu_seconds,
        wall_seconds: started.elapsed().as_secs_f64(),
        peak_bytes: ended.peak_bytes.or(watch.peak_bytes),
    })
}

type Reader = std::thread::JoinHandle<String>;

fn reader(mut pipe: impl Read + Send + 'static) -> Reader {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
        // The rest is thrown away, but read, lest the program wait for ever.
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn join(reader: Reader) -> String {
    reader.join().unwrap_or_default()
}

/// What to do to a program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    Interrupt,
    Kill,
}

/// Looks after a running program.
struct Watch {
    process: u32,
    limits: Limits,
    started: Instant,
    interrupted: Option<Instant>,
    out_of_time: bool,
    out_of_memory: bool,
    peak_bytes: Option<u64>,
}

impl Watch {
    fn new(process: u32, limits: Limits, started: Instant) -> Self {
        Self {
            process,
            limits,
            started,
            interrupted: None,
            out_of_time: false,
            out_of_memory: false,
            peak_bytes: None,
        }
    }

    fn look(&mut self) -> Act {
        if let Some(bytes) = system::memory(self.process) {
            self.peak_bytes = self.peak_bytes.max(Some(bytes));
            // Our own program knows its limit and keeps to it; this is for the others, and
            // for its bugs.
            if bytes > self.limits.bytes + self.limits.bytes / 2 + (256 << 20) {
                self.out_of_memory = true;
                return Act::Kill;
            }
        }
        if let Some(at) = self.interrupted {
            let patience = at.elapsed() > GRACE;
            return if patience { Act::Kill } else { Act::Nothing };
        }
        let wall = self.started.elapsed().as_secs_f64();
        let used = system::processor_time(self.process).unwrap_or(wall);
        if used > self.limits.seconds || wall > self.limits.seconds * WALL_FACTOR + 10.0 {
            self.out_of_time = true;
            self.interrupted = Some(Instant::now());
            return Act::Interrupt;
        }
        Act::Nothing
    }
}

/// How a program ended, as the system tells it.
struct Ended {
    code: Option<i32>,
    cpu_seconds: f64,
    peak_bytes: Option<u64>,
}

/// Short runs are many: look often at first, then less.
fn pause(turn: u32) -> Duration {
    Duration::from_millis(u64::from(1 + turn / 4).min(100))
}

#[cfg(unix)]
mod system {
    //! Unix: times and memory of a child come from `wait4`, signals from `kill`.

    use std::process::{Child, Command};

    use super::{Act, Ended, pause};

    /// Waits, and looks now and then.
    pub(super) fn wait(child: &mut Child, look: &mut dyn FnMut() -> Act) -> std::io::Result<Ended> {
        let process = child.id().cast_signed();
        for turn in 0.. {
            let mut status = 0;
            // SAFETY: an all-zero `rusage` is valid, it has only numbers.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: both pointers are to live locals; the process is our child and was not
            // waited for, because this is the only place that does.
            let got =
                unsafe { libc::wait4(process, &raw mut status, libc::WNOHANG, &raw mut usage) };
            if got == process {
                let exited = libc::WIFEXITED(status);
                let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
                let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
                return Ok(Ended {
                    code: exited.then(|| libc::WEXITSTATUS(status)),
                    cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
                    peak_bytes: u64::try_from(usage.ru_maxrss).ok().map(|m| m * unit),
                });
            }
            if got < 0 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            let signal = match look() {
                Act::Nothing => None,
                Act::Interrupt => Some(libc::SIGINT),
                Act::Kill => Some(libc::SIGKILL),
            };
            if let Some(signal) = signal {
                // SAFETY: a plain system call; the process is our child and not yet waited
                // for, so that its number cannot have been given to another.
                unsafe { libc::kill(process, signal) };
            }
            std::thread::sleep(pause(turn));
        }
        Err(std::io::Error::other("the program never ended"))
    }

    /// The child can be interrupted, also if the lab cannot (shells start programs in the
    /// background that way). When the lab is killed, so is the child.
    pub(super) fn obey_the_lab(command: &mut Command) {
        use std::os::unix::process::CommandExt;
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; these are
        // plain system calls and touch no memory.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                #[cfg(target_os = "linux")]
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
    }

    /// Memory of a process, where `/proc` tells.
    pub(super) fn memory(process: u32) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * 4096)
    }

    /// Processor time of a process in seconds, where `/proc` tells.
    pub(super) fn processor_time(process: u32) -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let ticks: u64 = fields.next()?.parse().ok()?;
        let more: u64 = fields.next()?.parse().ok()?;
        Some((ticks + more) as f64 / 100.0)
    }
}

#[cfg(not(unix))]
mod system {
    //! Elsewhere, only what the standard library offers: no processor time, no memory.

    use std::process::{Child, Command};
    use std::time::Instant;

    use super::{Act, Ended, pause};

    pub(super) fn wait(child: &mut Child, look: &mut dyn FnMut() -> Act) -> std::io::Result<Ended> {
        let started = Instant::now();
        for turn in 0.. {
            if let Some(status) = child.try_wait()? {
                return Ok(Ended {
                    code: status.code(),
                    cpu_seconds: started.elapsed().as_secs_f64(),
                    peak_bytes: None,
                });
            }
            if look() != Act::Nothing {
                child.kill()?;
            }
            std::thread::sleep(pause(turn));
        }
        Err(std::io::Error::other("the program never ended"))
    }

    pub(super) fn obey_the_lab(_: &mut Command) {}

    pub(super) fn memory(_: u32) -> Option<u64> {
        None
    }

    pub(super) fn processor_time(_: u32) -> Option<f64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn shell(text: &str, seconds: f64) -> Finished {
        let limits = Limits {
            seconds,
            bytes: 1 << 30,
        };
        run(
            Path::new("/bin/sh"),
            &["-c".into(), text.into()],
            None,
            limits,
        )
        .unwrap()
    }

    #[test]
    fn output_and_status_are_kept() {
        let done = shell("echo out; echo complaint >&2; exit 3", 10.0);
        assert_eq!((done.code, done.out_of_time), (Some(3), false));
        assert_eq!(
            (done.stdout.as_str(), done.stderr.as_str()),
            ("out\n", "complaint\n")
        );
    }

    #[test]
    fn a_busy_program_is_interrupted_and_may_say_a_word() {
        let done = shell("trap 'echo enough; exit 0' INT; while :; do :; done", 1.0);
        assert!(done.out_of_time);
        assert_eq!(done.stdout, "enough\n");
        assert!(done.cpu_seconds > 0.1 && done.cpu_seconds < 10.0);
    }

    #[test]
    fn a_crash_is_no_exit() {
        assert_eq!(shell("kill -SEGV $$", 10.0).code, None);
    }
}
