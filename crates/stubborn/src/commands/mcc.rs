//! `stubborn mcc`: an examination of the Model Checking Contest, by its calling convention.
//!
//! The contest starts a tool in the folder of an instance and says in the environment what is
//! asked and how long it may take. Answers go to standard output, one a line, each flushed at
//! once: what was said before the time is over counts. Searches keep their time by themselves;
//! for everything else (a large file, an unfolding, relations, a linear program) there is a
//! watchman, who ends the program in time and says of what is open that it could not be
//! computed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stubborn::contest::{Examination, Line, Options, examine, fitting};
use stubborn::diagnostics::{Diagnostic, Severity, SourceFile, render};
use stubborn::net::ReductionRules;
use stubborn::pnml::{ContestProperty, Model, UnfoldLimits, is_about_one_property};
use stubborn::system::Budget;

use super::free_memory;
use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::{MccArgs, MemoryLimit};
use crate::terminal::{print, print_error, stderr_has_colour};

/// Longest file of formulas.
const MOST_BYTES: u64 = 1 << 30;

/// The time that the contest allows where nobody says how much.
const CONFINEMENT: Duration = Duration::from_secs(3600);

/// Time to look for colours that behave alike.
const FOLDING: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &MccArgs) -> Result<Status, Failure> {
    let started = Instant::now();
    let name = match &args.examination {
        Some(name) => name.clone(),
        None => std::env::var("BK_EXAMINATION").map_err(|_| {
            Failure::wrong("no examination: give --examination, or set BK_EXAMINATION")
        })?,
    };
    let examination = match name.parse::<Examination>() {
        Ok(examination) => examination,
        Err(error) => {
            print("DO_NOT_COMPETE\n");
            // The contest asks everybody everything, and wants to hear just that.
            if args.examination.is_none() {
                eprintln!("note: {error}");
                return Ok(Status::Fine);
            }
            return Err(Failure::wrong(error.to_string()));
        }
    };
    let confined = || number("BK_TIME_CONFINEMENT").map(|time| time.map(Duration::from_secs));
    let time = match args.time {
        Some(time) => Some(time),
        None => Some(confined()?.unwrap_or(CONFINEMENT)),
    };
    let answers = Answers::default();
    if let Some(time) = time {
        answers.watch(started, time)?;
    }
    let memory = match args.memory_limit {
        Some(MemoryLimit::Unlimited) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        None => memory()?,
    };
    let (model, properties) = match load(args, examination, memory) {
        Ok(loaded) => loaded,
        Err(failure) => {
            answers.give_up();
            return Err(failure);
        }
    };
    answers.expect(examination, &properties);
    let options = Options {
        time: time.map(|time| within(time).saturating_sub(started.elapsed())),
        memory,
        interrupt: Some(interrupt::listen()?),
        stubborn_sets: !args.no_por,
        structural: match args.no_structural {
            true => ReductionRules::NONE,
            false => ReductionRules::WITHOUT_RUNS,
        },
        equation: !args.no_equation,
        traps: !args.no_traps,
        walks: !args.no_walks,
    };
    examine(examination, &model, &properties, &options, &mut |line| {
        answers.give(&line);
    });
    Ok(answers.finish())
}

/// What was said, and what is still to be said; shared with the watchman.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    /// The formulas without an answer, if they are known yet.
    open: Option<Vec<String>>,
    /// Something could not be computed.
    unknown: bool,
    /// There is nothing to be said any more.
    over: bool,
}

impl Said {
    fn say(&mut self, line: &str) {
        self.unknown |= line.contains("CANNOT_COMPUTE");
        print(&format!("{line}\n"));
    }

    /// Says of everything that is open that it could not be computed.
    fn give_up(&mut self) {
        match self.open.take() {
            Some(open) => {
                for id in open {
                    self.say(&format!("FORMULA {id} CANNOT_COMPUTE"));
                }
            }
            None => self.say("CANNOT_COMPUTE"),
        }
        self.over = true;
    }
}

impl Answers {
    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of which answers are expected.
    fn expect(&self, examination: Examination, properties: &[ContestProperty]) {
        let open = match (examination, examination.has_formulas()) {
            (Examination::StateSpace, _) => return,
            (_, true) => properties.iter().map(|p| p.id.clone()).collect(),
            (_, false) => vec![examination.name().to_owned()],
        };
        self.said().open = Some(open);
    }

    fn give(&self, line: &Line) {
        let mut said = self.said();
        if let (Line::Formula { id, .. }, Some(open)) = (line, &mut said.open) {
            open.retain(|other| other != id);
        }
        said.say(&line.to_string());
    }

    fn give_up(&self) {
        self.said().give_up();
    }

    fn finish(&self) -> Status {
        let mut said = self.said();
        said.over = true;
        match said.unknown {
            true => Status::Unknown,
            false => Status::Fine,
        }
    }

    /// Ends the program shortly before the time is over.
    fn watch(&self, started: Instant, time: Duration) -> Result<(), Failure> {
        // Leaving takes a moment, too, where there is much memory to give back.
        let margin = time.saturating_sub(within(time)) * 2 / 3;
        let end = time.saturating_sub(margin);
        let answers = self.clone();
        let watchman = move || {
            std::thread::sleep(end.saturating_sub(started.elapsed()));
            let mut said = answers.said();
            if !said.over {
                said.give_up();
                // Nobody can say anything any more: the lock is held.
                std::process::exit(Status::Unknown.code().into());
            }
        };
        let thread = std::thread::Builder::new().name("watchman".into());
        match thread.spawn(watchman) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::wrong(format!("cannot start a thread: {error}"))),
        }
    }
}

/// Searches look at the clock every few dozen states, and the program has to end as well.
fn within(time: Duration) -> Duration {
    let margin = time
        .mul_f64(0.03)
        .clamp(Duration::from_millis(200), Duration::from_secs(10));
    time.saturating_sub(margin)
}

/// Memory for states: what the contest allows, less what the net and the searches need
/// besides, or most of what is free.
fn memory() -> Result<Option<usize>, Failure> {
    let allowed = number("BK_MEMORY_CONFINEMENT")?;
    let megabytes = allowed.and_then(|mb| usize::try_from(mb).ok());
    let of_contest = megabytes.map(|mb| mb.saturating_mul(1 << 20) / 4 * 3);
    let free = free_memory().map(|free| free / 5 * 4);
    Ok(match (of_contest, free) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    })
}

/// A number in the environment.
fn number(variable: &str) -> Result<Option<u64>, Failure> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(None);
    };
    match text.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(Failure::wrong(format!(
            "{variable} is `{text}`, which is no number"
        ))),
    }
}

/// The net, and the formulas of the examination if it has some.
fn load(
    args: &MccArgs,
    examination: Examination,
    memory: Option<usize>,
) -> Result<(Model, Vec<ContestProperty>), Failure> {
    let source = read(&args.folder.join("model.pnml"))?;
    let (model, messages) = stubborn::pnml::load_with(&source, &limits(memory));
    let Some(model) = model else {
        return Err(wrong(&source, &messages));
    };
    // Worth some of the time; the watchman keeps the whole of it.
    let budget = Budget::unlimited().with_time(Some(FOLDING));
    let model = fitting(examination, model, &budget);
    let mut properties = Vec::new();
    if examination.has_formulas() {
        let file = read(&args.folder.join(format!("{examination}.xml")))?;
        let (found, messages) = stubborn::pnml::read_properties(&file, &model);
        let is_fatal = |message: &Diagnostic| {
            message.severity == Severity::Error && !is_about_one_property(message)
        };
        if messages.iter().any(is_fatal) {
            return Err(wrong(&file, &messages));
        }
        // What is wrong about one formula takes no answer away from the others.
        print_error(&render(&file, &messages, stderr_has_colour()));
        properties = found;
    }
    Ok((model, properties))
}

/// How far a net is unfolded: an arc takes some dozen bytes, more than once while nets are made
/// smaller and relations are built.
fn limits(memory: Option<usize>) -> UnfoldLimits {
    const BYTES_PER_ARC: usize = 256;
    let usual = UnfoldLimits::default();
    let most = memory.map_or(usize::MAX, |bytes| bytes / BYTES_PER_ARC);
    UnfoldLimits {
        arcs: usual.arcs.min(most),
        transitions: usual.transitions.min(most),
        places: usual.places.min(most),
        ..usual
    }
}

fn wrong(source: &SourceFile, messages: &[Diagnostic]) -> Failure {
    Failure::shown(render(source, messages, stderr_has_colour()))
}

fn read(path: &Path) -> Result<SourceFile, Failure> {
    let shown = path.display().to_string();
    let unreadable = |why: String| Failure::wrong(format!("cannot read {shown}: {why}"));
    let metadata = std::fs::metadata(path).map_err(|e| Failure::unreadable(path, &e))?;
    if metadata.len() > MOST_BYTES {
        return Err(unreadable("it is too large".into()));
    }
    let bytes = std::fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    match stubborn::pnml::decode(bytes) {
        Ok(text) => Ok(SourceFile::new(shown, text)),
        Err(problem) => {
            let empty = SourceFile::new(shown, "");
            Err(wrong(&empty, &[problem]))
        }
    }
}
