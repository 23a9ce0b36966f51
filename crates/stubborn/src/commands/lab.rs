//! `stubborn lab`: experiments of papers, our figures beside theirs.
//!
//! All the work is done by `stubborn-lab`; here are the terminal, files and signals.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stubborn_lab::compare::{self, Comparison};
use stubborn_lab::corpus::Corpus;
use stubborn_lab::execute::Bench;
use stubborn_lab::experiment::Experiment;
use stubborn_lab::plan::{self, Mode};
use stubborn_lab::record::{Log, Results};
use stubborn_lab::report::{Report, html, markdown};
use stubborn_lab::schedule::{self, Budget, Progress, Summary};
use stubborn_lab::table::{self, Lookup, Table};
use stubborn_lab::{machine, shipped};

use super::write_file;
use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::MemoryLimit;
use crate::options::lab::{
    ChosenArgs, LabArgs, LabCommand, LabListArgs, LabReportArgs, LabRunArgs,
};
use crate::terminal::{bytes, counted, print};

/// So many of the worst figures are shown after a run.
const WORST: usize = 15;

pub(crate) fn run(args: &LabArgs) -> Result<Status, Failure> {
    match &args.command {
        LabCommand::List(args) => list(args),
        LabCommand::Run(args) => run_experiments(args),
        LabCommand::Report(args) => report(args),
    }
}

/// The experiments that a command line names.
fn experiments(chosen: &ChosenArgs) -> Result<Vec<Experiment>, Failure> {
    let all = shipped::experiments().map_err(Failure::wrong)?;
    let (files, names): (Vec<&String>, Vec<&String>) = chosen
        .experiments
        .iter()
        .partition(|name| Path::new(name).extension().is_some_and(|e| e == "toml"));
    let names: Vec<String> = names.into_iter().cloned().collect();
    let mut found: Vec<Experiment> = Vec::new();
    if !names.is_empty() || files.is_empty() {
        let shipped = shipped::chosen(&all, &names).map_err(Failure::wrong)?;
        found.extend(shipped.into_iter().cloned());
    }
    for file in files {
        found.push(own_experiment(Path::new(file))?);
    }
    Ok(found)
}

/// An experiment in a file; its printed table lies beside it, or is a shipped one.
fn own_experiment(path: &Path) -> Result<Experiment, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let beside = |name: &str| {
        let file = path.with_file_name(name).with_extension("tsv");
        std::fs::read_to_string(file).ok()
    };
    let printed = |name: &str| beside(name).or_else(|| shipped::printed(name));
    Experiment::parse(&name, &text, &printed).map_err(Failure::wrong)
}

fn mode(chosen: &ChosenArgs) -> Mode {
    Mode {
        quick: chosen.quick,
        relations: chosen.relations.clone(),
    }
}

fn list(args: &LabListArgs) -> Result<Status, Failure> {
    let experiments = experiments(&args.chosen)?;
    let corpus = Corpus::find();
    let mode = mode(&args.chosen);
    let mut text = String::new();
    for experiment in &experiments {
        let runs = plan::plan(&[experiment], &corpus, &mode);
        let number = counted(runs.len() as u64, "run");
        let _ = writeln!(
            text,
            "{:<18} {number:>13}  {}",
            experiment.id, experiment.title
        );
        if args.runs {
            for run in runs {
                let _ = writeln!(text, "    {}", run.key);
            }
        }
    }
    if corpus.root().is_none() {
        text += "\nThere is no corpus here: STUBBORN_CORPUS names its folder; docs/lab.md says where its \
                 models come from.\n";
    }
    print(&text);
    Ok(Status::Fine)
}

fn run_experiments(args: &LabRunArgs) -> Result<Status, Failure> {
    let experiments = experiments(&args.chosen)?;
    let chosen: Vec<&Experiment> = experiments.iter().collect();
    let corpus = Corpus::find();
    let mode = mode(&args.chosen);
    let runs = plan::plan(&chosen, &corpus, &mode);
    let binary = binary(args)?;
    let bench = Bench::new(&binary)
        .map_err(|error| Failure::wrong(format!("cannot run {}: {error}", binary.display())))?;
    let path = &args.results.results;
    let log = Log::open(path).map_err(Failure::wrong)?;
    let mut results = Results::read(path).map_err(Failure::wrong)?;
    let stop = interrupt::listen()?;
    let budget = budget(args);
    let line = progress_line(runs.len());
    let show = |progress: &Progress<'_>| show(&line, progress);
    let summary = schedule::run(&runs, &bench, log, &mut results, budget, stop, &show)
        .map_err(Failure::wrong)?;
    line.finish_and_clear();

    let lookup = Lookup {
        results: &results,
        corpus: &corpus,
        mode: &mode,
    };
    let tables: Vec<Table> = chosen.iter().map(|e| table::table(e, lookup)).collect();
    let mut text = summary_text(&summary, path);
    text += &standing(&tables);
    if mode.relations.is_some() {
        let usual = Mode {
            relations: None,
            ..mode.clone()
        };
        let usual = Lookup {
            mode: &usual,
            ..lookup
        };
        let before: Vec<Table> = chosen.iter().map(|e| table::table(e, usual)).collect();
        text += &worse_than_usual(&before, &tables);
    }
    print(&text);
    let mut missing: Vec<_> = chosen
        .iter()
        .flat_map(|experiment| plan::missing(experiment, &corpus))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let why = missing.first().and_then(|first| corpus.path(first).err());
    let why =
        why.unwrap_or_else(|| "no corpus here: docs/lab.md says where its models come from".into());
    if runs.is_empty() {
        print(&format!("None of the models was found: {why}.\n"));
    } else if let Some(first) = missing.first() {
        let models = counted(missing.len() as u64, "model");
        print(&format!(
            "Not found: {models}, among them {}: {why}.\n",
            first.name()
        ));
    }
    let is_whole = summary.left == 0 && !runs.is_empty() && missing.is_empty();
    Ok(if is_whole {
        Status::Fine
    } else {
        Status::Unknown
    })
}

fn binary(args: &LabRunArgs) -> Result<PathBuf, Failure> {
    match &args.binary {
        Some(path) => Ok(path.clone()),
        None => std::env::current_exe()
            .map_err(|error| Failure::wrong(format!("cannot find this program: {error}"))),
    }
}

fn budget(args: &LabRunArgs) -> Budget {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let free = || machine::free_memory().map_or(8 << 30, |free| free / 5 * 4);
    Budget {
        jobs: args.jobs.map_or(cores, usize::from),
        bytes: match args.memory {
            Some(MemoryLimit::Bytes(bytes)) => bytes as u64,
            Some(MemoryLimit::Unlimited) => u64::MAX,
            None => free(),
        },
        time: args.time,
    }
}

/// A line on a terminal; elsewhere nothing.
fn progress_line(total: usize) -> ProgressBar {
    let line = if std::io::stderr().is_terminal() {
        ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr())
    } else {
        ProgressBar::hidden()
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}");
    line.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(line: &ProgressBar, progress: &Progress<'_>) {
    let left = progress.left.map_or_else(String::new, |left| {
        let minutes = left.as_secs() / 60;
        match minutes {
            0 => format!("{} s left", left.as_secs()),
            1..120 => format!("{minutes} min left"),
            _ => format!("{} h {} min left", minutes / 60, minutes % 60),
        }
    });
    line.set_message(format!("{left}, {}", progress.last.model));
    line.set_position(progress.done as u64);
}

fn summary_text(summary: &Summary, path: &Path) -> String {
    let mut text = format!(
        "{} made, {} found, {} left; results in {}\n",
        counted(summary.made as u64, "run"),
        summary.found,
        summary.left,
        path.display()
    );
    for (outcome, count) in &summary.trouble {
        let _ = writeln!(text, "  {count} {}", outcome.text());
    }
    text
}

/// How tables compare with the papers, and the worst figures.
fn standing(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let (better, equal, worse) = compare::tally(table);
        let absent: usize = table.absent.values().sum();
        let _ = writeln!(
            text,
            "{:<18} {better:>4} better {equal:>4} equal {worse:>4} worse {absent:>4} missing  {}",
            table.id, table.title
        );
    }
    let worse = compare::worse(tables);
    if !worse.is_empty() {
        let _ = writeln!(text, "\nworse than printed:");
    }
    let line = |c: &&Comparison| {
        format!(
            "  {:<16} {:<24} {:<18} paper {:>12}  ours {:>12}  × {:.2}\n",
            c.experiment,
            c.row,
            c.column,
            c.paper_text,
            c.ours_text,
            c.factor()
        )
    };
    text.extend(worse.iter().take(WORST).map(line));
    if worse.len() > WORST {
        let _ = writeln!(text, "  and {} more", worse.len() - WORST);
    }
    text
}

fn worse_than_usual(before: &[Table], after: &[Table]) -> String {
    let changes = compare::got_worse(before, after);
    let number = counted(changes.len() as u64, "figure");
    let mut text = format!("\nworse than with the usual relations: {number}\n");
    for change in changes {
        let _ = writeln!(
            text,
            "  {:<16} {:<24} {:<18} {:>12.2} → {:>12.2}",
            change.experiment, change.row, change.column, change.before, change.after
        );
    }
    text
}

fn report(args: &LabReportArgs) -> Result<Status, Failure> {
    let experiments = experiments(&args.chosen)?;
    let chosen: Vec<&Experiment> = experiments.iter().collect();
    let corpus = Corpus::find();
    let path = &args.results.results;
    let results = Results::read(path).map_err(Failure::wrong)?;
    if results.is_empty() {
        let path = path.display();
        let message = format!("there are no results in {path}; `stubborn lab run` makes them");
        return Err(Failure::wrong(message));
    }
    let mode = mode(&args.chosen);
    let weaker = mode.relations.clone();
    let usual = Mode {
        relations: None,
        ..mode
    };
    let lookup = Lookup {
        results: &results,
        corpus: &corpus,
        mode: &usual,
    };
    let report = Report::new(&chosen, lookup, weaker.as_deref());
    let page = html::page(&report);
    write_file(&args.html, &page)?;
    let mut text = format!("{} ({})\n", args.html.display(), bytes(page.len() as u64));
    let folder = args.markdown.clone().or_else(|| {
        let usual = PathBuf::from("docs/results");
        usual.is_dir().then_some(usual)
    });
    if let Some(folder) = folder {
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::wrong(format!("cannot make {}: {error}", folder.display()))
        })?;
        let mut files = markdown::files(&report);
        if !args.chosen.experiments.is_empty() && folder.join("README.md").exists() {
            // The first page is about all of them.
            files.remove("README.md");
        }
        let _ = writeln!(
            text,
            "{} in {}",
            counted(files.len() as u64, "file"),
            folder.display()
        );
        for (name, contents) in files {
            write_file(&folder.join(name), &contents)?;
        }
    }
    text += &standing(&report.tables());
    print(&text);
    Ok(Status::Fine)
}
