//! `stubborn bench`: speed and memory on models, as a Markdown table.
//!
//! Speed is counted in states per second of processor time, which other programs on the
//! machine hardly disturb; the speed-up of several threads needs the clock on the wall, and
//! an idle machine. Promela models are explored by SPIN too, where it is installed.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use stubborn::{
    CheckOptions, Language, Limits, LoadOptions, ReductionOptions, SearchResult, StoreOptions,
    load_file,
};

mod spin;

use super::{growing, no_card, write_file};
use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::BenchArgs;
use crate::progress::Line;
use crate::terminal::{grouped, print};

pub(crate) fn run(args: &BenchArgs) -> Result<Status, Failure> {
    no_card(args.engine)?;
    let interrupt = interrupt::listen()?;
    let mut rows: Vec<Row> = Vec::new();
    let mut status = Status::Fine;
    for path in &args.models {
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        match measure(args, path) {
            Ok(Some(row)) => {
                print(&format!("{}\n", row.name));
                rows.push(row);
            }
            Ok(None) => {}
            // One bad model does not cost the table of the others.
            Err(failure) => status = failure.report(),
        }
    }
    let table = table(args, &rows);
    print(&format!("\n{table}"));
    if let Some(path) = &args.output {
        write_file(path, &table)?;
    }
    Ok(status)
}

/// One model.
struct Row {
    name: String,
    states: u64,
    transitions: u64,
    load: Duration,
    bytes_per_state: f64,
    /// One for each number of threads.
    speeds: Vec<Speed>,
    spin: Option<spin::Peer>,
}

impl Row {
    /// States per second of processor time, with the number of threads at this place; `None` if
    /// that was less than can be measured.
    fn rate(&self, at: usize) -> Option<f64> {
        let seconds = self.speeds[at].processor;
        (seconds > 0.0).then(|| self.states as f64 / seconds)
    }
}

#[derive(Clone, Copy)]
struct Speed {
    wall: f64,
    processor: f64,
}

/// Explores a model with every number of threads; `None` if it is too large or too small.
fn measure(args: &BenchArgs, path: &Path) -> Result<Option<Row>, Failure> {
    let started = Instant::now();
    let options = LoadOptions {
        engine: args.engine.into(),
        ignore_temporal: true,
        ..LoadOptions::default()
    };
    let mut model = load_file(path, None, &options)?;
    let load = started.elapsed();
    let line = Line::new(false, args.max_states, None);
    let show = |progress: &stubborn::Progress| line.show(progress);
    let mut speeds = Vec::new();
    let mut last: Option<SearchResult> = None;
    for threads in &args.threads {
        let options = CheckOptions {
            threads: usize::from(*threads),
            store: StoreOptions::new(args.store.into()),
            limits: Limits {
                states: args.max_states,
                interrupt: Some(interrupt::listen()?),
                ..Limits::default()
            },
            observer: Some(&show),
            reduction: ReductionOptions::none(),
            ..CheckOptions::default()
        };
        let before = processor_time();
        let result = growing(&mut model, |model| stubborn::explore(model, &options))?.result;
        let processor = processor_time().saturating_sub(before).as_secs_f64();
        let wall = result.time.explore.as_secs_f64();
        if !result.is_complete() || result.states < args.min_states {
            return Ok(None);
        }
        speeds.push(Speed { wall, processor });
        last = last.or(Some(result));
    }
    let is_promela = Language::of_path(path) == Some(Language::Promela);
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(last.map(|result| Row {
        name,
        states: result.states,
        transitions: result.transitions,
        load,
        bytes_per_state: result.bytes_per_state(),
        speeds,
        spin: is_promela.then(|| spin::explore(path)).flatten(),
    }))
}

fn table(args: &BenchArgs, rows: &[Row]) -> String {
    let mut head = String::from("| model | states | transitions | load ms | bytes/state |");
    let mut rule = String::from("| --- | ---: | ---: | ---: | ---: |");
    for threads in &args.threads {
        let plural = if *threads == 1 { "" } else { "s" };
        let _ = write!(head, " states/CPU s, {threads} thread{plural} | wall s |");
        rule += " ---: | ---: |";
    }
    let with_spin = rows.iter().any(|row| row.spin.is_some());
    if with_spin {
        head += " SPIN's states | its states/CPU s | ours to its | its build CPU s | its MiB |";
        rule += " ---: | ---: | ---: | ---: | ---: |";
    }
    let mut out = format!("{head}\n{rule}\n");
    for row in rows {
        let _ = write!(
            out,
            "| {} | {} | {} | {:.1} | {:.1} |",
            row.name,
            grouped(row.states),
            grouped(row.transitions),
            row.load.as_secs_f64() * 1e3,
            row.bytes_per_state
        );
        for (at, speed) in row.speeds.iter().enumerate() {
            let rate = row.rate(at).map(|rate| grouped(rate as u64));
            let rate = rate.unwrap_or_else(|| "too short".into());
            let _ = write!(out, " {rate} | {:.2} |", speed.wall);
        }
        if let Some(peer) = &row.spin {
            let _ = write!(
                out,
                " {} | {} | {} | {:.2} | {:.0} |",
                grouped(peer.states),
                grouped(peer.rate() as u64),
                row.rate(0)
                    .map_or(String::new(), |rate| format!("{:.2}", rate / peer.rate())),
                peer.build,
                peer.memory
            );
        } else if with_spin {
            out += " | | | | |";
        }
        out.push('\n');
    }
    if rows.is_empty() {
        return out;
    }
    out += &means(rows, args.threads.len());
    if with_spin {
        let pairs = || {
            rows.iter()
                .filter_map(|row| Some((row, row.spin.as_ref()?)))
        };
        let rate = geometric_mean(pairs().map(|(_, peer)| peer.rate()));
        let ratios = pairs().filter_map(|(row, peer)| Some(row.rate(0)? / peer.rate()));
        let ratio = geometric_mean(ratios);
        let rate = rate.map(|rate| grouped(rate as u64));
        let ratio = ratio.map(|ratio| format!("{ratio:.2}"));
        let _ = write!(out, " | {} | {} | | |", or_none(rate), or_none(ratio));
    }
    out.push('\n');
    out
}

/// Means of those runs that were long enough for their figures to say something.
fn means(rows: &[Row], threads: usize) -> String {
    let measured = |at: usize| {
        let long = move |row: &&Row| row.rate(0).and(row.rate(at)).is_some();
        rows.iter().filter(long)
    };
    let bytes = geometric_mean(measured(0).map(|row| row.bytes_per_state));
    let bytes = bytes.map(|bytes| format!("{bytes:.1}"));
    let mut out = format!("| *geometric mean* | | | | {} |", or_none(bytes));
    for at in 0..threads {
        let rate = geometric_mean(measured(at).filter_map(|row| row.rate(at)));
        let speedup = geometric_mean(measured(at).map(|r| r.speeds[0].wall / r.speeds[at].wall));
        let rate = rate.map(|rate| grouped(rate.round() as u64));
        let speedup = speedup.map(|speedup| format!("{speedup:.2} ×"));
        let _ = write!(out, " {} | {} |", or_none(rate), or_none(speedup));
    }
    out
}

fn or_none(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "none".into())
}

/// Nothing has none.
fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| {
        (sum + v.max(1e-12).ln(), count + 1)
    });
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// Processor time of all threads so far, in hundredths of a second.
fn processor_time() -> Duration {
    times_from(14)
}

/// Processor time of all programs that were run so far, in hundredths of a second.
fn children_time() -> Duration {
    times_from(16)
}

/// The sum of two neighbouring fields of what the system says of this process.
fn times_from(field: usize) -> Duration {
    let ticks = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the name in parentheses, which may hold anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let at = field - 3;
        Some(fields.get(at)?.parse::<u64>().ok()? + fields.get(at + 1)?.parse::<u64>().ok()?)
    };
    Duration::from_millis(ticks().unwrap_or(0) * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_no_length_are_not_in_the_mean() {
        let row = |states: u64, processor: f64, bytes_per_state: f64, wall: f64| Row {
            name: String::new(),
            states,
            transitions: 0,
            load: Duration::ZERO,
            bytes_per_state,
            speeds: [0.1, wall].map(|wall| Speed { wall, processor }).to_vec(),
            spin: None,
        };
        let short = row(7, 0.0, 4000.0, 0.0001);
        let rows = [
            row(1000, 0.5, 10.0, 0.05),
            short,
            row(4000, 0.5, 10.0, 0.05),
        ];
        let means = means(&rows, 2);
        assert_eq!(
            means,
            "| *geometric mean* | | | | 10.0 | 4,000 | 1.00 × | 4,000 | 2.00 × |"
        );
        assert_eq!(
            super::means(&rows[1..2], 1),
            "| *geometric mean* | | | | none | none | none |"
        );
    }
}
