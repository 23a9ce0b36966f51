//! The adversary's command line.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use stubborn_adversary::arena::Arena;
use stubborn_adversary::campaign::{Campaign, Event, Finding, Outcome};
use stubborn_adversary::coverage::Coverage;
use stubborn_adversary::subject::Subject;

/// Attacks the model checker with random systems in random configurations, and compares its
/// answers with those of a naive checker and of SPIN.
#[derive(Parser)]
#[command(
    name = "stubborn-adversary",
    after_help = "Exit status: 0 no mismatch, 1 mismatches, 2 wrong usage, 3 interrupted without a mismatch."
)]
struct Options {
    /// What to attack with: dve, nets, automata, promela, spin; all by default. They share the
    /// time; what is named twice gets twice as much
    kinds: Vec<String>,

    /// For how long; for a minute, if there is no number of cases
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// So many cases of every kind, if there is time
    #[arg(long, value_name = "N")]
    cases: Option<u64>,

    /// All cases are a function of it; by default from the clock
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// On so many threads; by default as many as there are cores
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// The program to attack; by default `stubborn` beside this one
    #[arg(long, value_name = "PATH")]
    subject: Option<PathBuf>,

    /// Where mismatches are written
    #[arg(long, value_name = "DIR", default_value = "target/adversary")]
    out: PathBuf,

    /// Promela programs without this feature of the language; may be repeated
    #[arg(long, value_name = "FEATURE")]
    without: Vec<String>,

    /// Make mismatches small for at most so many seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    minimise: u64,

    /// Go on after a mismatch
    #[arg(long)]
    keep_going: bool,

    /// Only this case, as a mismatch names it
    #[arg(long, value_name = "KIND:SEED", conflicts_with_all = ["kinds", "cases", "seed"])]
    case: Option<String>,
}

/// How long cases may go on when the time is over.
const GRACE: Duration = Duration::from_secs(5);

/// How often it tells what was compared so far.
const TELLING: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The exit status, or how it was used wrongly.
fn run(options: &Options) -> Result<u8, String> {
    let program = match &options.subject {
        Some(program) => program.clone(),
        None => std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name("stubborn"),
    };
    let mut subject =
        Subject::new(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    subject.minimising = Duration::from_secs(options.minimise);
    let all = stubborn_adversary::arenas(&options.without);
    let named = |name: &str| {
        let arena = all.iter().find(|arena| arena.name() == name);
        arena.map(|arena| &**arena).ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|arena| arena.name()).collect();
            format!("there is no kind `{name}`, only {}", names.join(", "))
        })
    };
    if let Some(case) = &options.case {
        return one_case(case, &named, &subject, options).map(u8::from);
    }
    let mut arenas: Vec<(&dyn Arena, u32)> = Vec::new();
    for name in &options.kinds {
        let arena = named(name)?;
        arena
            .available()
            .map_err(|missing| format!("`{name}` is not possible here: {missing}"))?;
        match arenas.iter_mut().find(|(other, _)| other.name() == name) {
            Some((_, weight)) => *weight += 1,
            None => arenas.push((arena, 1)),
        }
    }
    if arenas.is_empty() {
        for arena in &all {
            match arena.available() {
                Ok(()) => arenas.push((&**arena, 1)),
                Err(missing) => eprintln!("{}: skipped, {missing}", arena.name()),
            }
        }
    }
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = options
        .seed
        .unwrap_or_else(|| now().map_or(1, |now| now.as_micros() as u64));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        seed,
        time: match (options.seconds, options.cases) {
            (None, Some(_)) => None,
            (seconds, _) => Some(Duration::from_secs(seconds.unwrap_or(60))),
        },
        cases: options.cases,
        threads: options.threads.unwrap_or(cores),
        keep_going: options.keep_going,
        telling: TELLING,
    };
    // No case begins after its time; those that have begun get a little more.
    subject.end = campaign.time.map(|time| Instant::now() + time + GRACE);
    eprintln!("--seed {seed}, against {}", subject.program().display());
    let interrupted = Arc::new(AtomicBool::new(false));
    let (stop, again) = (subject.stopper(), Arc::clone(&interrupted));
    let handler = move || {
        stop();
        if again.swap(true, Ordering::Relaxed) {
            std::process::exit(3);
        }
    };
    ctrlc::set_handler(handler).map_err(|error| error.to_string())?;
    let outcome = campaign.run(&arenas, &subject, &|event| match event {
        Event::Found(finding) => report(finding, &subject, options),
        Event::Progress(outcome, time) => {
            eprintln!(
                "{:.0} s, --seed {seed}: {}",
                time.as_secs_f64(),
                outcome.line()
            );
        }
    });
    print(&outcome, &subject);
    let is_cut = interrupted.load(Ordering::Relaxed);
    if is_cut {
        eprintln!("interrupted; --seed {seed}: {}", outcome.line());
    }
    Ok(match outcome.findings.is_empty() {
        true if is_cut => 3,
        found_none => u8::from(!found_none),
    })
}

/// Whether it is a mismatch.
fn one_case<'a>(
    case: &str,
    named: &dyn Fn(&str) -> Result<&'a dyn Arena, String>,
    subject: &Subject,
    options: &Options,
) -> Result<bool, String> {
    let wrong = || format!("`{case}` is not of the form KIND:SEED");
    let (kind, seed) = case.split_once(':').ok_or_else(wrong)?;
    let seed = seed.parse().map_err(|_| wrong())?;
    let arena = named(kind)?;
    let round = arena.round(seed, subject, &mut Coverage::default());
    eprintln!("{case}: {} comparisons", round.comparisons);
    let Some(mismatch) = round.mismatch else {
        return Ok(false);
    };
    let finding = Finding {
        kind: arena.name(),
        number: 0,
        seed,
        after: Duration::ZERO,
        mismatch,
    };
    report(&finding, subject, options);
    Ok(true)
}

/// Prints a mismatch and writes it into a folder.
fn report(finding: &Finding, subject: &Subject, options: &Options) {
    let mismatch = &finding.mismatch;
    let mut text = format!(
        "\nMISMATCH {} (--case {}, after {} cases and {:.1} s)\n",
        mismatch.what,
        finding.case(),
        finding.number,
        finding.after.as_secs_f64()
    );
    for (name, content) in &mismatch.files {
        text.push_str(&format!("--- {name}\n{}\n", content.trim_end()));
    }
    text.push_str(&format!("--- command\n{}\n", mismatch.command_line()));
    text.push_str(&format!("--- expected\n{}\n", mismatch.expected.trim_end()));
    text.push_str(&format!("--- got\n{}\n", mismatch.got.trim_end()));
    match finding.write(&options.out) {
        Ok(folder) => text.push_str(&format!("--- in {}\n", folder.display())),
        Err(error) => text.push_str(&format!("--- not written: {error}\n")),
    }
    text.push_str(&format!("--- against {}\n", subject.program().display()));
    say(&text);
}

fn print(outcome: &Outcome, subject: &Subject) {
    let mut text = String::new();
    for (kind, account) in &outcome.accounts {
        let seconds = account.time.as_secs_f64();
        text.push_str(&format!(
            "\n{kind}: {} cases, {} comparisons, {:.0} a second of a thread\n",
            account.cases,
            account.comparisons,
            account.comparisons as f64 / seconds.max(0.001)
        ));
        text.push_str(&outcome.coverage[kind].table());
    }
    text.push_str(&format!(
        "\n{} runs, {} of them without an answer in time, {} mismatches\n",
        subject.runs(),
        subject.timeouts(),
        outcome.findings.len()
    ));
    say(&text);
}

fn say(text: &str) {
    // Who does not listen any more has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
