//! Did it check what the user thinks? What no run does, and what nobody has asked.

use std::collections::BTreeSet;
use std::fmt::Write;

use stubborn::system::BitSet;
use stubborn::{End, Language, LoadedModel, Origin, QuestionKind, spin};

use super::Results;
use crate::options::{CheckArgs, StoreName};
use crate::terminal::counted;

/// More than this is counted, not listed.
const LISTED: usize = 8;

/// The transitions that some run takes, if a search has seen all runs: one without reduction, to
/// its end, with a store that keeps states apart.
fn fired<'r>(args: &CheckArgs, results: &'r Results) -> Option<&'r BitSet> {
    let is_exact = matches!(args.search.store, StoreName::Tree | StoreName::Plain);
    let is_plain = args.net.structural.is_none()
        && args.checkpoint.checkpoint.is_none()
        && args.checkpoint.spill.is_none();
    if !is_exact || !is_plain {
        return None;
    }
    let mut runs = results.report.runs.iter();
    // (A graphics card does not tell.)
    let knows = |run: &&stubborn::Run| run.engine != "gpu" && run.reduction == "none";
    let run = runs.find(|run| knows(run) && run.result.end == End::Complete)?;
    Some(&run.result.fired)
}

/// What no run does, in a few lines; nothing where everything is done by some run, or where nobody
/// knows.
pub(super) fn unreached(args: &CheckArgs, model: &LoadedModel, results: &Results) -> String {
    if args.belief.no_coverage || args.spin.coverage {
        return String::new();
    }
    let Some(fired) = fired(args, results) else {
        return String::new();
    };
    let missing = match spin::unreached_by(model, fired) {
        Some(processes) => {
            let all = processes.iter().flat_map(|process| {
                let statements = process.statements.iter();
                statements.map(|one| {
                    let note = match one.is_reached_elsewhere {
                        true => "  (in one use of it; in another, some run does)",
                        false => "",
                    };
                    format!("{}: {}{note}", one.place, one.text)
                })
            });
            all.collect::<Vec<_>>()
        }
        None => {
            let structure = model.system().structure();
            let never = structure
                .transition_ids()
                .filter(|t| !fired.contains(t.index()));
            never
                .map(|t| structure.transition(t).name.clone())
                .collect()
        }
    };
    if missing.is_empty() {
        return String::new();
    }
    let what = match model.language() {
        Language::Promela => "statement",
        _ => "transition",
    };
    let mut out = format!("no run executes {}:\n", counted(missing.len() as u64, what));
    for one in missing.iter().take(LISTED) {
        let _ = writeln!(out, "  {one}");
    }
    if missing.len() > LISTED {
        let list = match model.language() {
            Language::Promela => "check --coverage",
            _ => "explore --unused",
        };
        let _ = writeln!(
            out,
            "  and {} more ({list} shows them)",
            missing.len() - LISTED
        );
    }
    out
}

/// One line about what nobody has asked; nothing if everything was.
pub(super) fn not_asked(model: &LoadedModel, results: &Results) -> String {
    let mut all: Vec<String> = Vec::new();
    let names: BTreeSet<&str> = results.temporal.iter().map(|a| a.name.as_str()).collect();
    let questions = stubborn::questions(model);
    let left_out = questions
        .iter()
        .filter(|q| !results.report.answers.iter().any(|a| a.question == **q))
        .count();
    let is_stated = |t: &&stubborn::Temporal| t.origin == Origin::Model;
    let stated = model.temporal().iter().filter(is_stated);
    let left_out = left_out + stated.filter(|t| !names.contains(t.name.as_str())).count();
    if left_out > 0 {
        all.push(format!(
            "{} of the model",
            counted(left_out as u64, "stated question")
        ));
    }
    let has_state_property = results.report.answers.iter().any(|answer| {
        matches!(
            answer.question.kind,
            QuestionKind::Assertion | QuestionKind::Invariant | QuestionKind::Reach
        )
    });
    if !has_state_property && results.temporal.is_empty() {
        all.push("what states should be like (no assertion; --invariant, --reach)".into());
    }
    if results.temporal.is_empty() {
        all.push("what should happen at last (no temporal property; --ltl, --ctl)".into());
    }
    match all.is_empty() {
        true => String::new(),
        false => format!("not asked: {}\n", all.join("; ")),
    }
}
