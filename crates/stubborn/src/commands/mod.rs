//! The commands, one a file, and what several of them share: loading, and setting up a
//! search.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod explore;
pub(crate) mod hunt;
pub(crate) mod inspect;
#[cfg(feature = "lab")]
pub(crate) mod lab;
#[cfg(feature = "lsp")]
pub(crate) mod lsp;
pub(crate) mod ltl;
pub(crate) mod man;
#[cfg(feature = "contest")]
pub(crate) mod mcc;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "protocols")]
pub(crate) mod protocol;
mod race;
pub(crate) mod reproduce;
pub(crate) mod resume;
mod scratch;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod trace_check;
pub(crate) mod validate;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use stubborn::diagnostics::SourceFile;
use stubborn::emptiness::{CheckResult, ExplorationResult};
use stubborn::plan::Keeper;
use stubborn::search::{Disk, Engine, SharedMemory, peak_resident_bytes};
use stubborn::system::Budget;
use stubborn::{
    CheckError, CheckOptions, CtlResult, End, Language, Limit, Limits, LoadOptions, LoadedModel,
    SearchResult, StoreOptions, Verdict, load_file,
};

use self::race::Use;
use crate::checkpoint::Checkpoints;
use crate::cluster::{Team, TeamKeeper};
use crate::exit::{self, Failure, Status};
use crate::options::{
    CheckpointArgs, ClusterArgs, EngineName, MemoryLimit, ModelArgs, NetArgs, OrderName,
    ReductionArgs, SearchArgs, StoreName,
};
use crate::terminal::{bytes, counted, grouped, print_error, show_warnings};
use crate::watch::{self, LastWords};

/// Bytes of a bitstate store where the user names no limit.
const BITSTATE_BYTES: usize = 256 << 20;
/// Below so many states, memory per state is not shown to people.
const SMALL_MODEL: u64 = 10_000;

/// Loads a model without its temporal properties, and says how long that took.
fn load(
    args: &ModelArgs,
    invariants: &[String],
    quiet: bool,
    budget: &Arc<Budget>,
) -> Result<(LoadedModel, Duration), Failure> {
    let options = LoadOptions {
        invariants: invariants.to_vec(),
        ignore_temporal: true,
        promela: args.promela.options(),
        budget: Arc::clone(budget),
        ..LoadOptions::default()
    };
    load_with(args, options, quiet)
}

/// Loads a model, and says how long that took.
fn load_with(
    args: &ModelArgs,
    options: LoadOptions,
    quiet: bool,
) -> Result<(LoadedModel, Duration), Failure> {
    let started = Instant::now();
    let options = LoadOptions {
        engine: args.engine.into(),
        shuffle: args.shuffle,
        ..options
    };
    let model = load_file(&args.model, args.language.map(Into::into), &options)?;
    if !quiet {
        show_warnings(&model);
        // Whoever compiles SPIN's verifiers with -DNP means something else than a macro.
        for (name, hint) in args.promela.verifier_flags() {
            if !model.text().main().text().contains(name) {
                print_error(&format!(
                    "warning: -D{name} defines a macro that the model does not use; {hint}\n"
                ));
            }
        }
    }
    Ok((model, started.elapsed()))
}

/// Refuses the engines for graphics cards where it is of no use.
fn no_card(engine: EngineName) -> Result<(), Failure> {
    match engine {
        EngineName::Gpu | EngineName::Auto => Err(Failure::wrong(
            "--engine gpu and auto are for check and explore",
        )),
        EngineName::Compiled | EngineName::Interpreted => Ok(()),
    }
}

/// Asks on the processor, and on a graphics card if that takes longer than a moment.
fn race_with_card<T: Send>(
    model: &LoadedModel,
    options: &CheckOptions<'_>,
    judge: impl Fn(&T) -> Use + Sync,
    ask: &(dyn Fn(&CheckOptions<'_>) -> Result<T, CheckError> + Sync),
) -> Result<T, CheckError> {
    let card = stubborn::GraphicsCard::new(model);
    race::race(
        |stop| {
            let mut options = options.clone();
            options.limits.interrupt = Some(stop);
            ask(&options)
        },
        |stop| {
            let mut options = options.clone();
            options.limits.interrupt = Some(stop);
            options.observer = None;
            ask(&CheckOptions {
                engines: &[&card],
                ..options
            })
        },
        judge,
    )
}

/// Whether an end is one for lack of memory, after others.
fn spoilt(others: Use, end: End) -> Use {
    match end {
        End::Limit(Limit::Memory | Limit::StoreFull) => Use::OutOfMemory,
        _ => others,
    }
}

/// The engine that goes on on disk, if that was asked for.
fn disk(
    model: &ModelArgs,
    search: &SearchArgs,
    args: &CheckpointArgs,
) -> Result<Option<Disk>, Failure> {
    let Some(folder) = &args.spill else {
        return Ok(None);
    };
    let obstacle = match (search.order, search.store, model.engine) {
        (OrderName::Dfs, ..) => "breadth-first search",
        (_, StoreName::Bitstate | StoreName::Compact, _) => "exact stores",
        (.., EngineName::Gpu | EngineName::Auto) => "searches in the memory of the processor",
        _ => return Ok(Some(Disk::new(folder.clone()))),
    };
    Err(Failure::wrong(format!("--spill is for {obstacle}")))
}

/// Who runs searches: the first one that takes a search does.
fn engines<'e>(only: Option<&'e dyn Engine>, disk: Option<&'e Disk>) -> Vec<&'e dyn Engine> {
    match only {
        Some(only) => vec![only],
        None => {
            let disk = disk.map(|disk| disk as &dyn Engine);
            disk.into_iter()
                .chain([&SharedMemory as &dyn Engine])
                .collect()
        }
    }
}

/// All processes find each other, if there are several; what they cannot do is refused.
fn team(
    args: &ClusterArgs,
    model_args: &ModelArgs,
    (search, net): (&SearchArgs, &NetArgs),
    checkpoint: &CheckpointArgs,
    model: &LoadedModel,
) -> Result<Option<Team>, Failure> {
    if !args.is_asked_for() {
        return Ok(None);
    }
    let obstacle = if model_args.model.as_os_str() == "-" {
        "models from standard input"
    } else if matches!(model_args.engine, EngineName::Gpu | EngineName::Auto) {
        "--engine gpu and auto"
    } else if net.structural.is_some() {
        "--structural"
    } else if checkpoint.spill.is_some() {
        "--spill"
    } else {
        let arguments = checkpoint.command();
        return Team::begin(args, search, &arguments, model);
    };
    Err(Failure::wrong(format!(
        "several processes are not for {obstacle}"
    )))
}

/// Who keeps checkpoints of several processes, if anybody does; the models become alike.
fn together<'t>(
    args: &ClusterArgs,
    team: Option<&'t Team>,
    keeper: Option<&'t dyn Keeper>,
    (growth, model): (Vec<Vec<u64>>, &mut LoadedModel),
) -> Result<Option<TeamKeeper<'t>>, Failure> {
    match team {
        Some(team) if args.keeps => {
            team.grow_alike(&growth, model)?;
            team.keeper(keeper).map(Some)
        }
        _ => Ok(None),
    }
}

/// If nothing came out, the last checkpoint is the one to go on from.
fn or_resume<T>(
    checkpoints: Option<&Checkpoints>,
    result: Result<T, Failure>,
) -> Result<T, Failure> {
    if let (Some(checkpoints), Err(failure)) = (checkpoints, &result)
        && failure.is_no_answer()
    {
        checkpoints.end();
        checkpoints.conclude(false);
    }
    result
}

/// Refuses checkpoints where there are none.
fn refuse_checkpoints(model: &ModelArgs, net: &NetArgs) -> Result<(), Failure> {
    let obstacle = if model.model.as_os_str() == "-" {
        "models from standard input"
    } else if matches!(model.engine, EngineName::Gpu | EngineName::Auto) {
        "--engine gpu and auto"
    } else if net.structural.is_some() {
        "--structural"
    } else {
        return Ok(());
    };
    Err(Failure::wrong(format!(
        "--checkpoint is not for {obstacle}"
    )))
}

/// Asks, and asks again with a larger model as long as it turns out to be too small.
fn growing<T>(
    model: &mut LoadedModel,
    ask: impl Fn(&LoadedModel) -> Result<T, CheckError>,
) -> Result<T, Failure> {
    growing_together(model, None, ask)
}

/// The same in several processes: what any of them misses, all make room for.
fn growing_together<T>(
    model: &mut LoadedModel,
    team: Option<&Team>,
    ask: impl Fn(&LoadedModel) -> Result<T, CheckError>,
) -> Result<T, Failure> {
    loop {
        match ask(model) {
            Err(CheckError::Outgrown) => {
                let budget = model.system().budget();
                budget.has_grown();
                if let Some(spent) = budget.poll() {
                    return Err(Failure::no_answer(format!(
                        "{spent} when the model still started more and more processes"
                    )));
                }
                match team {
                    None => model.grow()?,
                    Some(team) => {
                        let missing = team.missing(model)?;
                        model.grow_for(&missing)?;
                    }
                }
            }
            answer => return Ok(answer?),
        }
    }
}

/// The budget of a command, which begins now; and what it says if that is spent before there is
/// an answer. Memory that nobody limits is shared with other processes.
fn budget(
    model: &ModelArgs,
    search: &SearchArgs,
    (command, json): (&'static str, bool),
    more: &[(&'static str, Value)],
    sharing: usize,
) -> Result<Arc<Budget>, Failure> {
    let memory = memory_limit(search.memory_limit, sharing);
    let language = model.language.map(Into::into);
    let language = language.or_else(|| Language::of_path(&model.model));
    let started = Instant::now();
    let head = head_json(&model.model.display().to_string(), language, search, "none");
    let more = more.to_vec();
    watch::begin(search.timeout, memory, move |reason| {
        let figures = Figures {
            peak_memory: peak_resident_bytes().unwrap_or(0),
            ..Figures::default()
        };
        let mut object = with_figures(head.clone(), &figures, started.elapsed());
        let more = more.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
        object.extend(more);
        object.insert("reason".into(), json!(reason));
        match json == exit::is_scripted() {
            true => LastWords::unknown(command, object, reason),
            // A comparison prints an object for each proviso, and none for all.
            false => LastWords {
                text: format!("no answer: {reason}\n"),
                object: String::new(),
                status: Status::Unknown,
            },
        }
    })
}

/// What the flags say about the search.
fn search_options(
    args: &SearchArgs,
    reduction: &ReductionArgs,
    default_reduction: &str,
    model: &LoadedModel,
) -> Result<CheckOptions<'static>, Failure> {
    let mut store = StoreOptions::new(args.store.into());
    store.bitstate_bytes = args.memory_limit.is_none().then_some(BITSTATE_BYTES);
    Ok(CheckOptions {
        order: args.order.into(),
        threads: usize::from(args.threads),
        store,
        limits: Limits {
            states: args.max_states,
            ..Limits::default()
        },
        reduction: reduction.options(args.seed.unwrap_or(0), default_reduction, model)?,
        seed: args.seed,
        ..CheckOptions::default()
    })
}

/// Most bytes for the program: what the user says, or a part of what is free.
pub(crate) fn memory_limit(given: Option<MemoryLimit>, sharing: usize) -> Option<usize> {
    match given {
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        Some(MemoryLimit::Unlimited) => None,
        None => free_memory().map(|free| free / 5 * 4 / sharing.max(1)),
    }
}

/// Memory that is free without pushing others out, if the system tells.
fn free_memory() -> Option<usize> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The numbers of one search, or of several together.
#[derive(Clone, Debug, Default)]
struct Figures {
    states: u64,
    transitions: u64,
    /// Unknown in a product with an automaton.
    deadlocks: Option<u64>,
    invalid_ends: Option<u64>,
    depth: u64,
    complete: bool,
    explore_seconds: f64,
    peak_memory: u64,
    store_bytes: u64,
}

impl Figures {
    fn of(result: &SearchResult) -> Self {
        let peak = result.memory.process_peak;
        Self {
            states: result.states,
            transitions: result.transitions,
            deadlocks: Some(result.deadlocks),
            invalid_ends: result.invalid_ends,
            depth: result.depth,
            complete: matches!(result.end, End::Complete | End::Lossy),
            explore_seconds: result.time.explore.as_secs_f64(),
            peak_memory: peak.unwrap_or(result.memory.peak as u64),
            store_bytes: result.memory.store as u64,
        }
    }

    fn of_temporal(result: &CheckResult) -> Self {
        Self {
            states: result.counts.states,
            transitions: result.counts.transitions,
            deadlocks: None,
            invalid_ends: None,
            depth: result.counts.depth,
            complete: result.verdict == stubborn::emptiness::CheckVerdict::Holds,
            explore_seconds: (result.prepare_time + result.time).as_secs_f64(),
            peak_memory: peak_resident_bytes().unwrap_or(result.peak_bytes as u64),
            store_bytes: result.store_bytes as u64,
        }
    }

    fn of_branching(result: &CtlResult) -> Self {
        Self {
            states: result.states,
            transitions: result.transitions,
            complete: result.verdict != Verdict::Unknown,
            explore_seconds: result.time.as_secs_f64(),
            peak_memory: peak_resident_bytes().unwrap_or(result.bytes as u64),
            store_bytes: result.bytes as u64,
            ..Self::default()
        }
    }

    fn of_exploration(result: &ExplorationResult) -> Self {
        Self {
            states: result.counts.states,
            transitions: result.counts.transitions,
            deadlocks: Some(result.deadlocks),
            invalid_ends: result.invalid_ends,
            depth: result.counts.depth,
            complete: result.limit.is_none(),
            explore_seconds: result.time.as_secs_f64(),
            peak_memory: peak_resident_bytes().unwrap_or(result.peak_bytes as u64),
            store_bytes: result.store_bytes as u64,
        }
    }

    /// Sums what adds up, takes the greatest of depth and memory.
    fn add(mut self, other: &Figures) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (known, None) | (None, known) => known,
        };
        self.states += other.states;
        self.transitions += other.transitions;
        self.deadlocks = sum(self.deadlocks, other.deadlocks);
        self.invalid_ends = sum(self.invalid_ends, other.invalid_ends);
        self.depth = self.depth.max(other.depth);
        self.complete &= other.complete;
        self.explore_seconds += other.explore_seconds;
        self.peak_memory = self.peak_memory.max(other.peak_memory);
        self.store_bytes += other.store_bytes;
        self
    }

    fn bytes_per_state(&self) -> f64 {
        self.store_bytes as f64 / self.states.max(1) as f64
    }

    /// `states` to `bytes_per_state` of the JSON contract, without `load_seconds`.
    fn json(&self) -> Map<String, Value> {
        let fields = [
            ("states", json!(self.states)),
            ("transitions", json!(self.transitions)),
            ("deadlocks", json!(self.deadlocks)),
            ("invalid_ends", json!(self.invalid_ends)),
            ("depth", json!(self.depth)),
            ("complete", json!(self.complete)),
            ("explore_seconds", json!(self.explore_seconds)),
            ("peak_memory_bytes", json!(self.peak_memory)),
            ("bytes_per_state", json!(self.bytes_per_state())),
        ];
        fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// The line for people; users of SPIN look for other words.
    fn line(&self, reduction: &str, language: Language) -> String {
        let reduced = if reduction == "none" {
            String::new()
        } else {
            format!(", reduced by {reduction}")
        };
        let states = match language {
            Language::Promela => {
                // SPIN counts the initial state as a transition.
                let matched = (self.transitions + 1).saturating_sub(self.states);
                format!(
                    "{} stored, {} matched",
                    counted(self.states, "state"),
                    grouped(matched)
                )
            }
            _ => counted(self.states, "state"),
        };
        format!(
            "{states}, {}, depth {}{reduced}",
            counted(self.transitions, "transition"),
            self.depth,
        )
    }

    /// Time and memory for people.
    fn costs(&self, load: Duration) -> String {
        let mut text = format!(
            "{:.2} s ({:.2} s to load), {}",
            self.explore_seconds + load.as_secs_f64(),
            load.as_secs_f64(),
            bytes(self.peak_memory),
        );
        // The free space of fresh tables says nothing about small models.
        if self.states >= SMALL_MODEL {
            text += &format!(" ({:.1} bytes a state)", self.bytes_per_state());
        }
        text
    }
}

/// The whole object of the JSON contract.
fn figures_json(
    model: &LoadedModel,
    search: &SearchArgs,
    reduction: &str,
    figures: &Figures,
    load: Duration,
) -> Map<String, Value> {
    let head = head_json(model.name(), Some(model.language()), search, reduction);
    with_figures(head, figures, load)
}

/// Why there is no answer, or not the whole one.
#[derive(Clone, Debug)]
struct Incomplete {
    /// In words.
    reason: String,
    /// One word for scripts, if a limit is the reason.
    limit: Option<&'static str>,
}

impl Incomplete {
    /// What a search has not seen, if anything.
    fn of(model: &LoadedModel, result: &SearchResult, store: StoreName) -> Option<Self> {
        match result.end {
            End::Limit(limit) => Some(Self::limit(model, limit)),
            End::Lossy => Some(Self {
                reason: why_lossy(store),
                limit: Some("lossy store"),
            }),
            End::Complete | End::Violation => None,
        }
    }

    fn limit(model: &LoadedModel, limit: Limit) -> Self {
        Self {
            reason: why_stopped(model, limit),
            limit: match limit {
                Limit::States => Some("states"),
                Limit::Memory => Some("memory"),
                Limit::StoreFull => Some("store full"),
                Limit::Time => Some("time"),
                Limit::Interrupted => Some("interrupted"),
                Limit::Depth => Some("depth"),
                Limit::Outgrown | Limit::LeftOut => None,
            },
        }
    }

    /// As fields of an object.
    fn put_into(self, object: &mut Map<String, Value>) {
        object.insert("reason".into(), json!(self.reason));
        if let Some(limit) = self.limit {
            object.insert("limit".into(), json!(limit));
        }
    }
}

/// What it begins with.
fn head_json(
    model: &str,
    language: Option<Language>,
    search: &SearchArgs,
    reduction: &str,
) -> Map<String, Value> {
    let head = [
        ("model", json!(model)),
        ("language", json!(language.map(Language::name))),
        ("por", json!(reduction)),
        ("order", json!(search.order.name())),
        ("threads", json!(search.threads)),
        ("store", json!(search.store.name())),
    ];
    head.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn with_figures(
    mut object: Map<String, Value>,
    figures: &Figures,
    load: Duration,
) -> Map<String, Value> {
    for (key, value) in figures.json() {
        if key == "explore_seconds" {
            object.insert("load_seconds".into(), json!(load.as_secs_f64()));
        }
        object.insert(key, value);
    }
    object
}

/// What to say where a search has not seen everything.
fn why_incomplete(model: &LoadedModel, result: &SearchResult, store: StoreName) -> Option<String> {
    match result.end {
        End::Limit(limit) => Some(why_ended(model, limit)),
        End::Lossy => Some(why_lossy(store)),
        End::Complete | End::Violation => None,
    }
}

fn why_lossy(store: StoreName) -> String {
    let store = store.name();
    format!("the {store} store may have taken different states for equal")
}

/// What ended a search too early, and what the figures are then.
fn why_ended(model: &LoadedModel, limit: Limit) -> String {
    let reason = why_stopped(model, limit);
    format!("{reason}; this is what was seen until then")
}

/// What ended a search too early, in words.
fn why_stopped(model: &LoadedModel, limit: Limit) -> String {
    let reason = model.system().budget().reason();
    reason.unwrap_or_else(|| match limit {
        // The run as a whole goes on.
        Limit::Time => "the time limit was reached (its share of it)".into(),
        Limit::LeftOut => (model.system().left_out()).unwrap_or_else(|| limit.to_string()),
        limit => limit.to_string(),
    })
}

/// The text of a file that the user names.
fn read_file(path: &std::path::Path) -> Result<String, Failure> {
    /// Longest file that is read.
    const LARGEST: u64 = 256 << 20;
    let unreadable = |error| Failure::unreadable(path, &error);
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST {
        return Err(Failure::wrong(format!("{} is too large", path.display())));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// What a file of the user's says in TOML.
fn read_toml<T: serde::de::DeserializeOwned>(path: &std::path::Path) -> Result<T, Failure> {
    let source = SourceFile::new(path.display().to_string(), read_file(path)?);
    toml::from_str(source.text()).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let (line, column) = source.line_column(u32::try_from(start).unwrap_or(u32::MAX));
        Failure::wrong(format!("{}:{line}:{column}: {error}", source.name()))
    })
}

/// Writes a file that the user asked for.
pub(crate) fn write_file(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    write_completely(path, text).map_err(|error| unwritable(path, &error))
}

/// A file is written beside its place and renamed, so that it is never there in part. What is no plain file
/// (a link, a pipe, a device) is written where it is.
fn write_completely(path: &std::path::Path, text: &str) -> io::Result<()> {
    let is_plain = std::fs::symlink_metadata(path).is_ok_and(|is| is.is_file());
    if path.exists() && !is_plain {
        return std::fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    let written = std::fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Refuses a place that cannot be written, before a search whose results it is for.
pub(crate) fn is_writable(path: &std::path::Path) -> Result<(), Failure> {
    let is_new = std::fs::symlink_metadata(path).is_err();
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    if is_new && opened.is_ok() {
        let _ = std::fs::remove_file(path);
    }
    opened.map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::wrong(format!("cannot write {}: {error}", path.display()))
}
