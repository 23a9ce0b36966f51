//! Several models side by side, each checked by a process of its own: what one of them takes or
//! does wrong is no concern of the others. Each hands over the object that scripts would get, from
//! which summary and reports are made.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::suite_file::{self, Expectation};
use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::CheckArgs;
use crate::reports::{self, Tested};
use crate::terminal::{Paint, counted, print, print_error};

/// How often a process is asked whether it is done.
const ROUND: Duration = Duration::from_millis(5);
/// How long processes may take to say what they have learnt when somebody wants to stop.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the command line asks for.
pub(super) enum Wanted {
    One(PathBuf),
    Several(Vec<Job>),
}

/// One model, to be checked by a process.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) model: PathBuf,
    /// Of the process, with its subcommand; the model comes on top.
    pub(super) arguments: Vec<OsString>,
    /// Of the suite, if there is one: options may name files in it.
    pub(super) folder: Option<PathBuf>,
    pub(super) expectation: Option<Expectation>,
}

/// Models, patterns and folders as the user gave them.
pub(super) fn wanted(args: &CheckArgs) -> Result<Wanted, Failure> {
    reports::are_known(&args.suite.report)?;
    let folders: Vec<&PathBuf> = args.models.iter().filter(|path| path.is_dir()).collect();
    if args.models.is_empty() || !folders.is_empty() {
        if folders.len() != args.models.len() {
            return Err(Failure::wrong(
                "models and folders of suites (with a stubborn.toml) do not go together",
            ));
        }
        return of_suites(args, &folders).map(Wanted::Several);
    }
    let is_alone = args.suite.report.iter().all(|file| reports::is_page(file));
    if let ([one], true) = (args.models.as_slice(), is_alone)
        && !is_pattern(one)
    {
        return Ok(Wanted::One(one.clone()));
    }
    let mut models: Vec<PathBuf> = Vec::new();
    for given in &args.models {
        let found = expanded(given)?;
        if found.is_empty() {
            let given = given.display();
            return Err(Failure::wrong(format!("no file is called `{given}`")));
        }
        for path in found {
            if !models.contains(&path) {
                models.push(path);
            }
        }
    }
    if models.len() > 1 && (args.trace.is_some() || args.spin.trail.is_some()) {
        let is_trail = |path: &&PathBuf| path.extension().is_some_and(|e| e == "trail");
        let trail = models.iter().find(is_trail).map(|path| path.display());
        return Err(Failure::wrong(match (&args.spin.trail, trail) {
            (Some(None), Some(file)) => format!("write --trail={file}, or it is taken for a model"),
            _ => "--trace and --trail are for one model: every model would write the same file"
                .to_owned(),
        }));
    }
    if models.len() > 1 {
        refuse_pages(args)?;
    }
    // Every process gets the whole command line, and is told which of the models is its own.
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let job = |model| Job {
        model,
        arguments: arguments.clone(),
        folder: None,
        expectation: None,
    };
    Ok(Wanted::Several(models.into_iter().map(job).collect()))
}

fn refuse_pages(args: &CheckArgs) -> Result<(), Failure> {
    match args.suite.report.iter().find(|file| reports::is_page(file)) {
        None => Ok(()),
        Some(file) => Err(Failure::wrong(format!(
            "{} would be a page of several models; a page is about one",
            file.display()
        ))),
    }
}

fn of_suites(args: &CheckArgs, folders: &[&PathBuf]) -> Result<Vec<Job>, Failure> {
    refuse_pages(args)?;
    let here = PathBuf::from(".");
    let folders = if folders.is_empty() {
        &[&here][..]
    } else {
        folders
    };
    let mut jobs = Vec::new();
    for folder in folders {
        if !folder.join(suite_file::NAME).is_file() {
            let folder = folder.display();
            return Err(Failure::wrong(format!(
                "there is no {} in {folder}: name a model, or write that file (docs/suites.md)",
                suite_file::NAME
            )));
        }
        jobs.extend(suite_file::jobs(folder)?);
    }
    // Everything else would be ignored.
    let given = std::env::args_os().skip(2);
    let own = ["--jobs", "--report", "--json", "--quiet", "-q"];
    let mut is_value = false;
    for argument in given {
        let is_folder = Path::new(&argument).is_dir();
        let argument = argument.to_string_lossy();
        let name = argument.split('=').next().unwrap_or("");
        let is_known = is_value || own.contains(&name) || is_folder;
        is_value = !is_value && ["--jobs", "--report"].contains(&&*argument);
        if !is_known {
            return Err(Failure::wrong(format!(
                "`{argument}` belongs into `options` of {}, which says how models are checked",
                suite_file::NAME
            )));
        }
    }
    // As everywhere, verdicts are printed as they are asked for.
    let more = [(args.output.json, "--json"), (args.output.quiet, "--quiet")];
    for job in &mut jobs {
        let flags = more.iter().filter(|(wanted, _)| *wanted);
        job.arguments
            .extend(flags.map(|(_, flag)| OsString::from(flag)));
    }
    Ok(jobs)
}

fn is_pattern(path: &Path) -> bool {
    // A file that is called so is meant as it is.
    path.to_string_lossy().contains(['*', '?', '[']) && !path.exists()
}

/// The files that a path or a pattern stands for, in order.
pub(super) fn expanded(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !is_pattern(path) {
        return Ok(vec![path.to_owned()]);
    }
    let text = path.to_string_lossy();
    let wrong = |error: String| Failure::wrong(format!("the pattern `{text}`: {error}"));
    let found = glob::glob(&text).map_err(|error| wrong(error.to_string()))?;
    let mut files = Vec::new();
    for entry in found {
        let path = entry.map_err(|error| wrong(error.to_string()))?;
        if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// Checks all, says what came out, and writes reports.
pub(super) fn run(args: &CheckArgs, jobs: Vec<Job>) -> Result<Status, Failure> {
    (args.suite.report.iter()).try_for_each(|file| crate::commands::is_writable(file))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = cores.div_ceil(usize::from(args.search.threads));
    let workers = args.suite.jobs.map_or(most, usize::from).min(jobs.len());
    let scratch = Scratch::new()?;
    let interrupted = interrupt::listen()?;
    let paint = Paint::for_stdout();
    let next = AtomicUsize::new(0);
    let is_alone = jobs.len() == 1 && jobs[0].expectation.is_none();
    let shown = Mutex::new(Shown::default());
    let results = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { break };
                let report = scratch.0.join(format!("{at}.json"));
                let stop = || interrupted.load(Ordering::Relaxed);
                let output = process(job, &report, workers, &stop);
                let tested = output.map(|output| {
                    let tested = judged(job, &output, &report);
                    let text = match is_alone {
                        true => String::from_utf8_lossy(&output.stdout).into_owned(),
                        false => told(args, &tested, &output, paint),
                    };
                    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                    let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.show(at, text, errors, args.output.json && !is_alone);
                    tested
                });
                own.push((at, tested));
            }
            own
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().flat_map(|thread| match thread.join() {
            Ok(own) => own,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect::<BTreeMap<usize, Result<Tested, Failure>>>()
    });
    let results: Result<Vec<Tested>, Failure> = results.into_values().collect();
    let results = results?;
    let written = reports::write(&args.suite.report, &results);
    if !is_alone {
        print(&match args.output.json {
            true => reports::object(&results),
            false => summary(&results, paint),
        });
    }
    let status = reports::status(&results);
    Ok(match written {
        Ok(()) => status,
        Err(failure) => failure.say_beside(status),
    })
}

/// What was printed so far: results appear in the order of the models.
#[derive(Default)]
struct Shown {
    next: usize,
    waiting: BTreeMap<usize, (String, String)>,
}

impl Shown {
    fn show(&mut self, at: usize, text: String, errors: String, errors_only: bool) {
        self.waiting.insert(at, (text, errors));
        while let Some((text, errors)) = self.waiting.remove(&self.next) {
            print_error(&errors);
            if !errors_only {
                print(&text);
            }
            self.next += 1;
        }
    }
}

/// A folder for what processes hand over; gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("stubborn-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| {
            Failure::wrong(format!(
                "cannot make the folder {}: {error}",
                path.display()
            ))
        })?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the process of a job until it ends, or until somebody wants to stop.
fn process(
    job: &Job,
    report: &Path,
    workers: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Output, Failure> {
    let failed = |error: std::io::Error| Failure::wrong(format!("cannot start a process: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let (subcommand, rest) = job
        .arguments
        .split_first()
        .map_or((OsStr::new("check"), &[][..]), |(first, rest)| {
            (first.as_os_str(), rest)
        });
    let mut command = Command::new(program);
    command.arg(subcommand);
    // Before everything that may be an end of options. What a suite names is in its folder.
    let folder = job.folder.as_deref().unwrap_or(Path::new("."));
    let model = job.model.strip_prefix(folder).unwrap_or(&job.model);
    command.current_dir(folder).arg("--job").arg(model);
    command.arg("--job-report").arg(report);
    command.arg("--job-of").arg(workers.to_string());
    command.args(rest);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(failed)?;
    // Whoever does not read what is printed makes the process wait.
    let readers = [
        child.stdout.take().map(|pipe| reader(Box::new(pipe))),
        child.stderr.take().map(|pipe| reader(Box::new(pipe))),
    ];
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if stop() {
            if waited.is_zero() {
                interrupt::pass_on(child.id());
            } else if waited > LAST_WORDS {
                let _ = Child::kill(&mut child);
            }
            waited += ROUND;
        }
        std::thread::sleep(ROUND);
    };
    let [stdout, stderr] = readers.map(|reader| {
        let text = reader.and_then(|reader| reader.join().ok());
        text.unwrap_or_default()
    });
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

fn reader(mut pipe: Box<dyn std::io::Read + Send>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        text
    })
}

/// What came out of a process, and how it differs from what was expected. An exit status alone is no result:
/// something else may have ended the process.
fn judged(job: &Job, output: &Output, report: &Path) -> Tested {
    let mut status = match output.status.code() {
        Some(0) => Status::Fine,
        Some(1) => Status::Violated,
        Some(2) => Status::Wrong,
        Some(3) => Status::Unknown,
        // By a signal that nobody can refuse, be it ours.
        None => Status::Unknown,
        Some(_) => Status::InternalError,
    };
    let object = std::fs::read_to_string(report);
    if !object.as_ref().is_ok_and(|object| tells(object, status)) && is_answer(status) {
        let code = status.code();
        status = Status::InternalError;
        let message = format!(
            "the process ended with exit status {code}, and gave no result of every property"
        );
        let object = crate::exit::failed("check", status, "internal", &message, &[]);
        return expected_of(
            job,
            Tested::new(&job.model.display().to_string(), &object, status, None),
        );
    }
    let object = object.unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&output.stderr);
        let message = match text.trim() {
            "" => "the process was ended",
            text => text,
        };
        crate::exit::failed("check", status, "internal", message, &[])
    });
    expected_of(
        job,
        Tested::new(&job.model.display().to_string(), &object, status, None),
    )
}

/// Whether something was said about every property.
fn is_answer(status: Status) -> bool {
    matches!(status, Status::Fine | Status::Violated)
}

/// Whether an object gives the verdicts that an exit status stands for.
fn tells(object: &str, status: Status) -> bool {
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let empty = Vec::new();
    let properties = object["properties"].as_array().unwrap_or(&empty);
    let is_so = |verdict: &str| {
        let mut is = properties
            .iter()
            .map(|property| property["verdict"] == *verdict);
        match verdict {
            "holds" => !properties.is_empty() && is.all(|is| is),
            _ => is.any(|is| is),
        }
    };
    let verdict = match status {
        Status::Fine => "holds",
        _ => "violated",
    };
    object["verdict"] == *verdict && is_so(verdict)
}

fn expected_of(job: &Job, mut tested: Tested) -> Tested {
    let expectation = job.expectation.as_ref();
    tested.differences = expectation.map(|e| e.differences(tested.verdict(), &tested.object));
    tested
}

/// What is said about one of several models: a line, and what is violated or has no answer.
fn told(args: &CheckArgs, tested: &Tested, output: &Output, paint: Paint) -> String {
    let is_fine = tested.judged() == Status::Fine;
    let label = match tested.verdict() {
        verdict if is_fine => paint.good(&format!("{verdict:<8}")),
        "violated" => paint.bad("VIOLATED"),
        "holds" => paint.bad("HOLDS   "),
        "unknown" => paint.unsure("unknown "),
        verdict => paint.bad(&format!("{:<8}", verdict.to_uppercase())),
    };
    let mut out = format!("{label}  {}\n", tested.model);
    for difference in tested.differences.iter().flatten() {
        out += &format!("          not as expected: {difference}\n");
    }
    if !is_fine && !args.output.quiet {
        let text = String::from_utf8_lossy(&output.stdout);
        out.extend(text.lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("    {line}\n"),
        }));
    }
    out
}

fn summary(all: &[Tested], paint: Paint) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for tested in all {
        *counts.entry(tested.verdict()).or_default() += 1;
    }
    let words = [
        ("holds", "hold"),
        ("violated", "violated"),
        ("unknown", "without an answer"),
        ("error", "wrong"),
    ];
    let parts = words.iter().filter_map(|(verdict, word)| {
        let count = counts.get(verdict)?;
        Some(format!("{count} {word}"))
    });
    let parts: Vec<String> = parts.collect();
    let models = counted(all.len() as u64, "model");
    let mut out = format!("\n{models}: {}", parts.join(", "));
    if all.iter().any(|tested| tested.differences.is_some()) {
        let fine = all.iter().filter(|t| t.judged() == Status::Fine).count();
        out += &match fine == all.len() {
            true => paint.good("; all as expected"),
            false => paint.bad(&format!("; {} not as expected", all.len() - fine)),
        };
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exit status is no verdict: somebody else may have ended the process, and a list of properties may be
    /// empty, or say something else.
    #[test]
    fn only_a_result_of_every_property_is_an_answer() {
        let object = |verdict: &str, properties: &[&str]| {
            let all = properties
                .iter()
                .map(|v| serde_json::json!({ "verdict": v }));
            let all: Vec<Value> = all.collect();
            serde_json::json!({"verdict": verdict, "properties": all}).to_string()
        };
        for (object, is_fine, is_violated) in [
            (object("holds", &["holds", "holds"]), true, false),
            (object("violated", &["holds", "violated"]), false, true),
            (object("holds", &["holds", "unknown"]), false, false),
            (object("holds", &["violated"]), false, false),
            (object("holds", &[]), false, false),
            (object("violated", &[]), false, false),
            ("{\"verdict\": \"holds\"}".into(), false, false),
            ("usage: stubborn".into(), false, false),
            (String::new(), false, false),
        ] {
            assert_eq!(tells(&object, Status::Fine), is_fine, "{object}");
            assert_eq!(tells(&object, Status::Violated), is_violated, "{object}");
        }
    }
}
