//! Checkpoints of a command: when they are written, what they say of the command, and taking it
//! up again.
//!
//! The search is asked to pause at a moment at which everything it needs can be written down; after
//! that it goes on, or ends for the reason why it was asked. A time limit and Ctrl-C ask first and
//! end the budget later: once that is spent, nobody knows what was explored.

use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stubborn::plan::{Keeper, Next};
use stubborn::system::{Budget, Outcome, Spent};
use stubborn::{CheckError, LoadedModel, fingerprint};
use stubborn_checkpoint::{Checkpoint, Folder, FolderError};

use crate::exit::Failure;
use crate::options::{CheckpointArgs, OutputArgs};
use crate::terminal::print_error;
use crate::{interrupt, watch};

/// How often somebody looks whether it is time.
const ROUND: Duration = Duration::from_millis(10);
/// So much before the end of the time the last one begins; as long as the last one took comes on
/// top of it.
const MARGIN: Duration = Duration::from_millis(100);
/// Between two there is at least so many times what one takes: what they cost is at most 3% of a
/// run, however large the tables are.
const BETWEEN: u32 = 33;
/// A search that does not pause within this time is somewhere where it cannot.
const PATIENCE: Duration = Duration::from_secs(5);
/// Parts of the memory limit, in percent, at which there is one beside the schedule: tables grow by
/// leaps, and one that is refused ends the search.
const SCARCE: [usize; 3] = [70, 80, 90];

/// What a checkpoint says of its command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    program: String,
    /// As it was given.
    arguments: Vec<String>,
    /// Where it was given.
    folder: PathBuf,
    /// Of the model.
    fingerprint: String,
    /// What the model was made larger for, one time after the other.
    growth: Vec<Vec<u64>>,
    /// Whether a search has begun.
    begun: bool,
}

/// The plan and the format of what is explored belong to one version.
fn program() -> String {
    format!("stubborn {}", env!("CARGO_PKG_VERSION"))
}

/// A checkpoint to go on from.
#[derive(Debug)]
pub(crate) struct TakenUp {
    folder: Folder,
    checkpoint: Checkpoint,
    head: Head,
}

impl TakenUp {
    /// The latest checkpoint of a folder that is whole.
    pub(crate) fn open(path: &std::path::Path) -> Result<Self, Failure> {
        let about = |what: &dyn std::fmt::Display| {
            Failure::wrong(format!("cannot resume {}: {what}", path.display()))
        };
        let path = path.canonicalize().map_err(|error| about(&error))?;
        let folder = Folder::open(&path).map_err(|error| about(&error))?;
        let found = folder.latest().map_err(|all| about(&all.join("\n")))?;
        for problem in &found.problems {
            print_error(&format!("warning: {problem}; the one before it is taken\n"));
        }
        let checkpoint = found.into_checkpoint();
        let head: Head = serde_json::from_slice(&checkpoint.head)
            .map_err(|error| about(&format!("the checkpoint does not say of what: {error}")))?;
        if head.program != program() {
            return Err(about(&format!(
                "it was written by {}, and this is {}",
                head.program,
                program()
            )));
        }
        Ok(Self {
            folder,
            checkpoint,
            head,
        })
    }

    /// The command as it was given.
    pub(crate) fn given(&self) -> &[String] {
        &self.head.arguments
    }

    /// The command as it was given; file names in it are meant from here on.
    pub(crate) fn arguments(&self) -> Result<&[String], Failure> {
        let folder = &self.head.folder;
        std::env::set_current_dir(folder).map_err(|error| {
            let folder = folder.display();
            Failure::wrong(format!("the command was given in {folder}: {error}"))
        })?;
        Ok(&self.head.arguments)
    }
}

/// Keeps the checkpoints of a command.
pub(crate) struct Checkpoints {
    folder: Folder,
    every: Duration,
    is_silent: bool,
    budget: Arc<Budget>,
    pause: AtomicBool,
    is_exploring: AtomicBool,
    is_over: AtomicBool,
    schedule: Mutex<Schedule>,
    head: Mutex<Head>,
    taken_up: Mutex<Option<Checkpoint>>,
}

struct Schedule {
    /// When the next one is due.
    next: Instant,
    /// How long the last one took.
    took: Duration,
    /// Parts of [`SCARCE`] that were reached.
    scarce: usize,
    /// Somebody was asked to pause, and since when.
    asked: Option<Instant>,
    /// Why it is the last one.
    reason: Option<Spent>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checkpoints {
    /// Begins to keep them, if that was asked for: writes the first one, or prepares the model for
    /// going on.
    pub(crate) fn begin(
        args: &CheckpointArgs,
        output: &OutputArgs,
        model: &mut LoadedModel,
        budget: &Arc<Budget>,
    ) -> Result<Option<Arc<Self>>, Failure> {
        let Some(path) = &args.checkpoint else {
            return Ok(None);
        };
        let taken_up = lock(&args.taken_up).take();
        let (folder, head, checkpoint) = match taken_up {
            Some(taken_up) => {
                grow_again(model, &taken_up.head)?;
                (taken_up.folder, taken_up.head, Some(taken_up.checkpoint))
            }
            None => {
                let folder = Folder::create(path).map_err(|error| unusable(path, &error))?;
                (folder, new_head(model)?, None)
            }
        };
        let this = Arc::new(Self {
            folder,
            every: args.checkpoint_every,
            is_silent: output.quiet || output.json,
            budget: Arc::clone(budget),
            pause: AtomicBool::new(false),
            is_exploring: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            schedule: Mutex::new(Schedule {
                next: Instant::now() + args.checkpoint_every,
                took: Duration::ZERO,
                scarce: 0,
                asked: None,
                reason: None,
            }),
            taken_up: Mutex::new(checkpoint.filter(|_| head.begun)),
            head: Mutex::new(head),
        });
        if lock(&this.taken_up).is_none() {
            this.write_first()
                .map_err(|error| unusable(path, &FolderError::Io(error)))?;
        }
        interrupt::defer(true);
        let watching = Arc::clone(&this);
        let thread = std::thread::Builder::new().name("checkpoints".into());
        let started = thread.spawn(move || watching.watch());
        started.map_err(|error| Failure::wrong(format!("cannot start a thread: {error}")))?;
        Ok(Some(this))
    }

    /// A checkpoint of a command that has just begun.
    fn write_first(&self) -> io::Result<()> {
        let mut head = lock(&self.head);
        head.begun = false;
        let text = serde_json::to_vec(&*head)?;
        self.folder.write(&text, |_| Ok(())).map(|_| ())
    }

    /// Passes on an answer. If it is that the model is too small, what was kept is of no use.
    pub(crate) fn about<T>(
        this: Option<&Arc<Self>>,
        model: &LoadedModel,
        answer: Result<T, CheckError>,
    ) -> Result<T, CheckError> {
        if let (Some(this), Err(CheckError::Outgrown)) = (this, &answer) {
            let missing = model.missing();
            let missing = missing.into_iter().map(Outcome::to_bits).collect();
            lock(&this.head).growth.push(missing);
            this.warn_of(this.write_first());
        }
        answer
    }

    /// The model is the one that the answers are about.
    pub(crate) fn is_about(&self, model: &LoadedModel) {
        lock(&self.head).fingerprint = fingerprint(model);
    }

    /// What the model was made larger for, one time after the other.
    pub(crate) fn growth(&self) -> Vec<Vec<u64>> {
        lock(&self.head).growth.clone()
    }

    /// Nothing is explored any more.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        interrupt::defer(false);
    }

    /// Everything was said; with an answer, nobody needs to go on.
    pub(crate) fn conclude(&self, is_answered: bool) {
        if is_answered {
            self.folder.clear();
        } else if !self.is_silent {
            let folder = self.folder.path().display();
            print_error(&format!("`stubborn resume {folder}` goes on from there\n"));
        }
    }

    fn warn_of<T>(&self, written: io::Result<T>) {
        match written {
            Err(error) if error.kind() != ErrorKind::Unsupported => {
                let folder = self.folder.path().display();
                print_error(&format!(
                    "warning: no checkpoint was written to {folder}: {error}\n"
                ));
            }
            _ => {}
        }
    }

    /// Looks now and then whether it is time for one.
    fn watch(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(ROUND);
            self.look(&mut lock(&self.schedule));
        }
    }

    fn look(&self, schedule: &mut Schedule) {
        let now = Instant::now();
        let is_exploring = self.is_exploring.load(Ordering::Relaxed);
        if interrupt::was_interrupted() {
            let asked = schedule.asked.get_or_insert(now);
            if !is_exploring || now.saturating_duration_since(*asked) > PATIENCE {
                // The last one counts.
                self.budget.stop();
            }
            schedule.reason = Some(Spent::Interrupted);
        }
        let margin = MARGIN + schedule.took;
        let is_late = |end: Instant| now + margin >= end;
        if schedule.reason.is_none() && self.budget.deadline().is_some_and(is_late) {
            schedule.reason = Some(Spent::Time);
        }
        let mut is_due = schedule.reason.is_some() || now >= schedule.next;
        if let Some((most, gauge)) = self.budget.memory() {
            let used = gauge();
            let reached = SCARCE.iter().filter(|part| used > most / 100 * **part);
            let reached = reached.count();
            is_due |= reached > schedule.scarce;
            schedule.scarce = schedule.scarce.max(reached);
        }
        if is_due && is_exploring {
            self.pause.store(true, Ordering::Relaxed);
        } else if is_due && schedule.reason.is_none() {
            schedule.next = now;
        }
    }
}

impl Keeper for Checkpoints {
    fn pause(&self) -> &AtomicBool {
        &self.pause
    }

    fn is_exploring(&self, now: bool) {
        self.is_exploring.store(now, Ordering::Relaxed);
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Next {
        watch::hold(true);
        let started = Instant::now();
        let text = {
            let mut head = lock(&self.head);
            head.begun = true;
            serde_json::to_vec(&*head)
        };
        let written = text.map_err(io::Error::from);
        let written = written.and_then(|text| self.folder.write(&text, |body| write(body)));
        self.warn_of(written);
        watch::hold(false);
        let mut schedule = lock(&self.schedule);
        self.pause.store(false, Ordering::Relaxed);
        schedule.took = started.elapsed();
        schedule.next = Instant::now() + self.every.max(schedule.took * BETWEEN);
        schedule.reason.map_or(Next::GoOn, Next::End)
    }

    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)> {
        let checkpoint = lock(&self.taken_up).take()?;
        Some((Box::new(checkpoint.body), checkpoint.bytes))
    }
}

fn unusable(path: &std::path::Path, error: &FolderError) -> Failure {
    let shown = path.display();
    let advice = match error {
        FolderError::Taken => {
            format!("; `stubborn resume {shown}` goes on from there, or name another folder")
        }
        _ => String::new(),
    };
    Failure::wrong(format!(
        "cannot keep checkpoints in {shown}: {error}{advice}"
    ))
}

fn new_head(model: &LoadedModel) -> Result<Head, Failure> {
    let arguments = std::env::args_os().map(|argument| argument.into_string());
    let arguments = arguments.collect::<Result<_, _>>();
    let arguments = arguments.map_err(|argument| {
        let argument = argument.display();
        Failure::wrong(format!(
            "--checkpoint needs arguments in UTF-8, not `{argument}`"
        ))
    })?;
    let folder = std::env::current_dir();
    let folder = folder.map_err(|error| Failure::wrong(format!("no working folder: {error}")))?;
    Ok(Head {
        program: program(),
        arguments,
        folder,
        fingerprint: fingerprint(model),
        growth: Vec::new(),
        begun: false,
    })
}

/// Makes the model as large as it was, and looks whether it is the same.
fn grow_again(model: &mut LoadedModel, head: &Head) -> Result<(), Failure> {
    let changed = || {
        Failure::wrong(format!(
            "{} is not the model that the checkpoint was made of: it has changed",
            model_name(head)
        ))
    };
    for missing in &head.growth {
        let failures = model.system().structure().failures.len();
        let missing = missing
            .iter()
            .map(|bits| Outcome::from_bits(*bits, failures));
        let missing: Vec<Outcome> = missing.collect::<Option<_>>().ok_or_else(changed)?;
        if !model.grow_for(&missing)? {
            return Err(changed());
        }
    }
    match fingerprint(model) == head.fingerprint {
        true => Ok(()),
        false => Err(changed()),
    }
}

fn model_name(head: &Head) -> String {
    let of_file = |argument: &&String| PathBuf::from(argument).is_file();
    let name = head.arguments.iter().skip(2).find(of_file);
    name.map_or_else(|| "the model".into(), |name| format!("`{name}`"))
}
