//! Runs that one child process can make together.
//!
//! An experiment about cycle provisos asks for the same model and the same reduction again and
//! again, with another proviso and another order of the transitions each time. `explore
//! --compare` computes successors and sets once for all of them. Each run keeps its own key and
//! its own line in the file of results; of the child's processor time it gets the share that its
//! walk has of the time of all walks.

use serde_json::Value;

use crate::child::Finished;
use crate::execute::{Shown, first_line};
use crate::experiment::Tool;
use crate::plan::PlannedRun;
use crate::record::Outcome;

/// A run as part of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// What all runs of the batch have in common, without the model.
    pub(crate) words: Vec<String>,
    proviso: String,
    seed: u64,
}

impl Member {
    /// Of a run that differs from others by its proviso and its seed only.
    pub(crate) fn of(run: &PlannedRun) -> Option<Self> {
        let is_alone = run.tool != Tool::Stubborn || run.prepare.is_some();
        if is_alone || run.words.first().map(String::as_str) != Some("explore") {
            return None;
        }
        let mut words = run.words.clone();
        let mut take = |flag: &str| {
            let at = words.iter().position(|word| word == flag)?;
            (at + 1 < words.len()).then(|| words.drain(at..at + 2).nth(1))?
        };
        let proviso = take("--proviso")?;
        let seed = take("--seed")?.parse().ok()?;
        // Those that need another reduction, or none, are explored alone.
        (!["auto", "sticky", "opt-scp"].contains(&proviso.as_str())).then_some(Self {
            words,
            proviso,
            seed,
        })
    }
}

/// The words of the child for these runs, without the model.
pub(crate) fn words(members: &[Member]) -> Vec<String> {
    let mut provisos: Vec<&str> = Vec::new();
    for member in members {
        if !provisos.contains(&member.proviso.as_str()) {
            provisos.push(&member.proviso);
        }
    }
    let first = members.iter().map(|member| member.seed).min().unwrap_or(1);
    let last = members.iter().map(|member| member.seed).max().unwrap_or(1);
    let mut words = members.first().map_or_else(Vec::new, |m| m.words.clone());
    words.extend(["--compare".to_owned(), provisos.join(",")]);
    words.extend(["--seed".to_owned(), first.to_string()]);
    words.extend(["--orders".to_owned(), (last - first + 1).to_string()]);
    words
}

/// What the child has shown for each run.
pub(crate) fn judge(members: &[Member], finished: &Finished) -> Vec<Shown> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).ok();
    let lines: Vec<Value> = finished.stdout.lines().filter_map(parse).collect();
    let seconds_of = |line: &Value| line["explore_seconds"].as_f64().unwrap_or(0.0);
    let all_seconds: f64 = lines.iter().map(seconds_of).sum();
    let show = |member: &Member| {
        let is_it = |line: &&Value| {
            line["proviso"].as_str() == Some(&member.proviso)
                && line["seed"].as_u64() == Some(member.seed)
        };
        // A model that was too small at first is explored again.
        let Some(line) = lines.iter().rev().find(is_it) else {
            return without_line(finished);
        };
        let seconds = seconds_of(line);
        let numbers = line["expanded"].as_f64();
        Shown {
            outcome: match line["complete"].as_bool() {
                Some(true) => Outcome::Done,
                _ => Outcome::MemoryLimit,
            },
            message: None,
            states: line["states"].as_u64(),
            transitions: line["transitions"].as_u64(),
            numbers: numbers
                .map(|n| ("expanded".to_owned(), n))
                .into_iter()
                .collect(),
            cpu_seconds: finished.cpu_seconds * seconds / all_seconds.max(f64::MIN_POSITIVE),
            wall_seconds: seconds,
            peak_bytes: finished.peak_bytes,
            ..Shown::nothing(Outcome::Done, "")
        }
    };
    members.iter().map(show).collect()
}

fn without_line(finished: &Finished) -> Shown {
    let outcome = match finished.code {
        Some(2) => Outcome::Unsupported,
        _ if finished.out_of_time => Outcome::TimeLimit,
        _ if finished.out_of_memory => Outcome::MemoryLimit,
        _ => Outcome::Crashed,
    };
    Shown::nothing(outcome, first_line(&finished.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::tests::planned;

    #[test]
    fn runs_with_provisos_go_together() {
        let member = |words: &str| Member::of(&planned(words));
        let a = member("explore --por beam --proviso source --order dfs --seed 2").unwrap();
        let b = member("explore --por beam --proviso stab --order dfs --seed 4").unwrap();
        assert_eq!(a.words, b.words);
        assert_eq!(
            words(&[a.clone(), b.clone(), a.clone()]).join(" "),
            "explore --por beam --order dfs --compare source,stab --seed 2 --orders 3"
        );
        assert_eq!(member("explore --por beam --proviso source"), None);
        assert_eq!(member("explore --por beam --proviso sticky --seed 1"), None);
        assert_eq!(member("check --por beam --proviso source --seed 1"), None);

        let line = r#"{"proviso":"stab","seed":4,"states":7,"transitions":9,"expanded":1,
            "complete":true,"explore_seconds":0.5}"#
            .replace('\n', "");
        let finished = Finished {
            code: None,
            out_of_time: true,
            out_of_memory: false,
            stdout: format!("{line}\n{{\"prov"),
            stderr: String::new(),
            cpu_seconds: 1.0,
            wall_seconds: 1.0,
            peak_bytes: None,
        };
        let shown = judge(&[a, b], &finished);
        assert_eq!(shown[0].outcome, Outcome::TimeLimit);
        assert_eq!(shown[1].outcome, Outcome::Done);
        assert_eq!((shown[1].states, shown[1].transitions), (Some(7), Some(9)));
        // All of the child's processor time, and the walk's own time on the wall.
        assert_eq!((shown[1].cpu_seconds, shown[1].wall_seconds), (1.0, 0.5));
    }
}
