//! Other model checkers in the same tables, where they are installed: SPIN and Rumur.
//!
//! Both turn a model into a C program. Its processor time is what counts; the time to make
//! and compile it is noted apart. Nothing here is required: a program that is not on the
//! path gives a result that says so.

use std::path::{Path, PathBuf};

use crate::child::{self, Finished};
use crate::execute::{Shown, first_line};
use crate::experiment::Tool;
use crate::machine::Program;
use crate::plan::PlannedRun;
use crate::record::{Limits, Outcome};
use crate::workshop::Workshop;

/// Time and memory to make and compile a program.
const BUILD: Limits = Limits {
    seconds: 120.0,
    bytes: 4 << 30,
};

/// A peer on the path.
pub(crate) fn find(tool: Tool) -> Option<Program> {
    let flag = match tool {
        Tool::Spin => "-V",
        Tool::Rumur => "--version",
        Tool::Stubborn => return None,
    };
    Program::at(&on_path(tool.name())?, flag).ok()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// SPIN. Words that begin with `-o` are for SPIN itself, those with `-D` for the compiler,
/// and the rest for the program that it makes.
pub(crate) fn run_spin(run: &PlannedRun) -> Shown {
    let (spin, rest): (Vec<String>, Vec<String>) =
        run.words.iter().cloned().partition(|w| w.starts_with("-o"));
    let (compiler, pan): (Vec<String>, Vec<String>) =
        rest.into_iter().partition(|w| w.starts_with("-D"));
    let path = absolute(&run.path);
    let mut generate = vec!["-a".to_owned()];
    generate.extend(spin);
    generate.push(path);
    let mut compile = words("-O2 -w -o pan");
    compile.extend(compiler);
    compile.push("pan.c".into());
    let steps = [("spin", generate), ("cc", compile)];
    compiled(run, &steps, "pan", &pan, PanReport::parse)
}

/// Rumur: the words are for Rumur itself.
pub(crate) fn run_rumur(run: &PlannedRun) -> Shown {
    let mut generate = words("--output model.c --threads 1 --color off");
    generate.extend(run.words.iter().cloned());
    generate.push(absolute(&run.path));
    let mut compile = words("-O3 -march=native -std=c11 -w -o model model.c -lpthread");
    if cfg!(target_arch = "x86_64") {
        compile.insert(0, "-mcx16".into());
    }
    let steps = [("rumur", generate), ("cc", compile)];
    compiled(run, &steps, "model", &[], PanReport::rumur)
}

fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_string_lossy().into_owned()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Makes a program by steps, runs it, and reads its report.
fn compiled(
    run: &PlannedRun,
    steps: &[(&str, Vec<String>)],
    program: &str,
    args: &[String],
    read: impl Fn(&str) -> PanReport,
) -> Shown {
    let crashed = |message: String| Shown::nothing(Outcome::Crashed, message);
    let workshop = Workshop::default();
    let folder = match workshop.folder() {
        Ok(folder) => folder,
        Err(error) => return crashed(error.to_string()),
    };
    let mut build = 0.0;
    for (name, args) in steps {
        let Some(tool) = on_path(name) else {
            let message = format!("`{name}` not found on the path");
            return Shown::nothing(Outcome::NotInstalled, message);
        };
        match child::run(&tool, args, Some(folder), BUILD) {
            Ok(done) if done.code == Some(0) => build += done.cpu_seconds,
            Ok(done) => {
                let text = if done.stderr.trim().is_empty() {
                    &done.stdout
                } else {
                    &done.stderr
                };
                let message = format!("{name}: {}", first_line(text));
                return Shown::nothing(Outcome::Unsupported, message);
            }
            Err(error) => return crashed(format!("{name}: {error}")),
        }
    }
    match child::run(&folder.join(program), args, Some(folder), run.limits) {
        Ok(done) => report(&done, build, &read(&done.stdout)),
        Err(error) => crashed(error.to_string()),
    }
}

fn report(done: &Finished, build: f64, report: &PanReport) -> Shown {
    let outcome = if done.out_of_memory {
        Outcome::MemoryLimit
    } else if done.out_of_time {
        Outcome::TimeLimit
    } else if report.states.is_none() {
        Outcome::Crashed
    } else if report.incomplete {
        Outcome::MemoryLimit
    } else {
        Outcome::Done
    };
    Shown {
        message: (outcome == Outcome::Crashed).then(|| first_line(&done.stderr)),
        states: report.states,
        transitions: report.transitions,
        cpu_seconds: done.cpu_seconds,
        wall_seconds: done.wall_seconds,
        build_seconds: Some(build),
        peak_bytes: done.peak_bytes,
        ..Shown::nothing(outcome, "")
    }
}

/// What the programs of SPIN and Rumur print at the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct PanReport {
    states: Option<u64>,
    transitions: Option<u64>,
    incomplete: bool,
}

impl PanReport {
    fn parse(text: &str) -> Self {
        let number = |line: &str| -> Option<u64> {
            let word = line.split_whitespace().next()?;
            // Large numbers are printed as 4.1054188e+08.
            let number: f64 = word.parse().ok()?;
            Some(number as u64)
        };
        let mut report = Self::default();
        for line in text.lines() {
            if line.contains("states, stored") {
                report.states = number(line);
            } else if line.contains("transitions (= stored+matched") {
                // SPIN counts the step into the initial state.
                report.transitions = number(line).map(|n| n.saturating_sub(1));
            } else if line.contains("Search not completed")
                || line.contains("max search depth too small")
            {
                report.incomplete = true;
            }
        }
        report
    }

    fn rumur(text: &str) -> Self {
        let mut report = Self::default();
        // `123 states, 456 rules fired in 0s.`
        for line in text.lines().filter(|line| line.contains("rules fired")) {
            let mut numbers = line
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|word| word.parse().ok());
            report.states = numbers.next();
            report.transitions = numbers.next();
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_peers_are_read() {
        let text = "Full statespace search for:\n\
            State-vector 36 byte, depth reached 4194, errors: 0\n\
            \x20   36970 states, stored\n   126089 states, matched\n\
            \x20  163059 transitions (= stored+matched)\n";
        let report = PanReport::parse(text);
        assert_eq!(
            (report.states, report.transitions),
            (Some(36_970), Some(163_058))
        );
        assert!(!report.incomplete);
        let large = "4.1054188e+08 states, stored\nmax search depth too small\n";
        let report = PanReport::parse(large);
        assert_eq!(
            (report.states, report.incomplete),
            (Some(410_541_880), true)
        );
        let rumur = "Status:\n\tNo error found.\n\n12 states, 34 rules fired in 0s.\n";
        let report = PanReport::rumur(rumur);
        assert_eq!((report.states, report.transitions), (Some(12), Some(34)));
    }
}
