//! `stubborn hunt`: the first violation that one of many short searches finds.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use stubborn::hunt::{Caught, Covered, Hunt, Report};
use stubborn::record::{SavedTrace, TraceRecord};
use stubborn::{
    Language, LoadOptions, LoadedModel, QuestionKind, Target, Temporal, TemporalAnswer, Trace,
    Verdict,
};

use super::check::asked::Asked;
use super::check::{self, headline, labelled};
use super::{growing, load_with, memory_limit, no_card, write_file};
use crate::exit::{Failure, Status};
use crate::json;
use crate::options::HuntArgs;
use crate::progress::Line;
use crate::terminal::{Paint, counted, grouped, print};
use crate::watch::{self, LastWords};

/// One of the things that were asked.
struct Hunted {
    name: String,
    title: String,
    kind: &'static str,
    verdict: Verdict,
}

/// What is caught, ready to be shown.
struct Prey {
    /// Which of the things that were asked.
    at: usize,
    trace: Option<Trace>,
    story: String,
}

pub(crate) fn run(args: &HuntArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let started = Instant::now();
    let memory = memory_limit(args.memory_limit, 1);
    let head = head(args);
    let budget = watch::begin(Some(args.timeout), memory, move |reason| {
        let mut object = head.clone();
        object.insert("verdict".into(), json!("unknown"));
        object.insert("properties".into(), json!([]));
        object.insert("reason".into(), json!(reason));
        LastWords::unknown("hunt", object, reason)
    })?;
    let load_options = LoadOptions {
        invariants: args.properties.invariant.clone(),
        temporal: check::temporal::texts(&args.formulas)?,
        promela: args.model.promela.options(),
        budget: Arc::clone(&budget),
        ..LoadOptions::default()
    };
    let quiet = args.output.quiet || args.output.json;
    let (mut model, _) = load_with(&args.model, load_options, quiet)?;
    Asked::new(&args.properties, &model)?;
    let line = Line::new(args.output.quiet, None, Some(args.timeout));
    let show = |progress: &stubborn::Progress| line.show(progress);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let report = growing(&mut model, |model| {
        let asked = Asked::again(&args.properties, model)?;
        let targets: Vec<Target> = asked.questions.iter().map(|q| q.target).collect();
        let properties = asked
            .temporal
            .iter()
            .filter_map(|t| t.property.as_ref().ok());
        Hunt {
            system: model.system(),
            reference: model.reference(),
            targets: &targets,
            temporal: &properties.collect::<Vec<_>>(),
            options: args.formulas.options(),
            threads: args.threads.map_or(cores, usize::from),
            seed: args.seed,
            time: None,
            observer: Some(&show),
        }
        .run()
    })?;
    drop(line);
    watch::conclude();
    let asked = Asked::new(&args.properties, &model)?;
    let (hunted, prey) = judged(args, &model, &asked, &report);
    let verdict = Verdict::of_all(hunted.iter().map(|one| one.verdict));
    if let (Some(path), Some(trace)) = (&args.trace, prey.as_ref().and_then(|p| p.trace.as_ref())) {
        let at = prey.as_ref().map_or(0, |prey| prey.at);
        let of_model = [
            QuestionKind::Deadlock,
            QuestionKind::Assertion,
            QuestionKind::Error,
        ];
        let violates = !of_model.map(QuestionKind::name).contains(&hunted[at].kind);
        let saved = SavedTrace::new(&model, trace, &hunted[at].title).violating(violates);
        write_file(path, &saved.to_json())?;
    }
    let reason = budget.reason().or_else(|| model.system().left_out());
    let reason = reason.filter(|_| verdict == Verdict::Unknown);
    let seconds = started.elapsed().as_secs_f64();
    print(&match args.output.json {
        true => {
            let mut object = self::head(args);
            object.extend(json(
                &model,
                &hunted,
                prey.as_ref(),
                &report,
                verdict,
                seconds,
            ));
            if let Some(reason) = reason {
                object.insert("reason".into(), json!(reason));
            }
            json::line("hunt", object)
        }
        false => text(args, &model, &hunted, prey.as_ref(), &report, seconds),
    });
    Ok(verdict.into())
}

fn head(args: &HuntArgs) -> Map<String, Value> {
    let language = args.model.language.map(Into::into);
    let language = language.or_else(|| Language::of_path(&args.model.model));
    json::fields(json!({
        "model": args.model.model.display().to_string(),
        "language": language.map(Language::name),
        "seed": args.seed,
    }))
}

/// Everything that was asked with its verdict, and what was caught.
fn judged(
    args: &HuntArgs,
    model: &LoadedModel,
    asked: &Asked<'_>,
    report: &Report,
) -> (Vec<Hunted>, Option<Prey>) {
    let mut hunted = Vec::new();
    let mut prey = None;
    let held = |holds: bool| {
        if holds {
            Verdict::Holds
        } else {
            Verdict::Unknown
        }
    };
    for (at, question) in asked.questions.iter().enumerate() {
        let mut one = Hunted {
            name: question.name.clone(),
            title: headline(question),
            kind: question.kind.name(),
            verdict: held(report.targets_hold[at]),
        };
        if let Some(Caught::Target(caught, violation)) = &report.caught
            && *caught == at
        {
            one.verdict = Verdict::Violated;
            prey = Some(Prey {
                at: hunted.len(),
                trace: violation.trace.clone(),
                story: check::told(args.full_trace, model, question, violation),
            });
        }
        hunted.push(one);
    }
    // Those that can be hunted have their own numbers.
    let mut number = 0;
    for property in &asked.temporal {
        let mut one = of_temporal(property);
        if property.property.is_ok() {
            // What cannot be evaluated everywhere may fail where nobody looked.
            let holds = report.temporal_hold[number] && property.evaluations.is_empty();
            one.verdict = held(holds);
            let first_failure = |run: &Trace| property.evaluations.first_failure(model, run);
            let caught = match &report.caught {
                Some(Caught::Temporal(caught, result)) if *caught == number => Some(result),
                _ => None,
            };
            if let Some(result) = caught {
                let found = result.counterexample.as_ref();
                let failure = found.and_then(|found| first_failure(&found.trace));
                one.verdict = Verdict::Violated;
                let answer = TemporalAnswer {
                    name: property.name.clone(),
                    title: property.title.clone(),
                    verdict: Verdict::Violated,
                    reduction: "none".into(),
                    notice: None,
                    result: Some((**result).clone()),
                    evaluated: None,
                    failure,
                    branching: None,
                    vacuous: Vec::new(),
                };
                prey = Some(Prey {
                    at: hunted.len(),
                    trace: check::temporal::trace_of(&answer).cloned(),
                    story: check::temporal::told(args.full_trace, model, &answer),
                });
            }
            number += 1;
        }
        hunted.push(one);
    }
    (hunted, prey)
}

fn of_temporal(property: &Temporal) -> Hunted {
    Hunted {
        name: property.name.clone(),
        title: property.title.clone(),
        kind: match &property.property {
            Err(stubborn::Obstacle::Branching(_)) => "ctl",
            _ => "ltl",
        },
        verdict: Verdict::Unknown,
    }
}

fn json(
    model: &LoadedModel,
    hunted: &[Hunted],
    prey: Option<&Prey>,
    report: &Report,
    verdict: Verdict,
    seconds: f64,
) -> Map<String, Value> {
    let properties = hunted.iter().enumerate().map(|(at, one)| {
        let prey = prey.filter(|prey| prey.at == at);
        let trace = prey.and_then(|prey| prey.trace.as_ref());
        json!({
            "name": one.name,
            "title": one.title,
            "kind": one.kind,
            "verdict": one.verdict.name(),
            "trace": trace.map(|trace| json!(TraceRecord::new(model, trace))),
        })
    });
    let covered = &report.covered;
    let turns: Map<String, Value> = covered
        .turns
        .iter()
        .map(|(name, turns)| (name.clone(), json!(turns)))
        .collect();
    let mut object = json::fields(json!({
        "verdict": verdict.name(),
        "seconds": seconds,
        "properties": properties.collect::<Vec<_>>(),
        "covered": {
            "turns": turns,
            "steps": covered.steps,
            "states": covered.states,
            "depth": covered.depth,
            "transitions": covered.taken.len(),
            "transitions_taken": covered.taken.count(),
        },
    }));
    if let (Some(strategy), Some(after)) = (&report.strategy, report.found_after) {
        let found = json!({
            "by": strategy,
            "after_seconds": after.as_secs_f64(),
            "steps": report.length_found,
        });
        object.insert("found".into(), found);
    }
    object
}

fn text(
    args: &HuntArgs,
    model: &LoadedModel,
    hunted: &[Hunted],
    prey: Option<&Prey>,
    report: &Report,
    seconds: f64,
) -> String {
    let paint = Paint::for_stdout();
    let mut out = String::new();
    for one in hunted {
        // What was not caught is no news when something else was.
        if prey.is_none() || one.verdict != Verdict::Unknown {
            let _ = writeln!(out, "{}  {}", labelled(one.verdict, paint), one.title);
        }
    }
    if let Some(prey) = prey {
        let _ = write!(out, "\n{}", prey.story);
        if let Some(path) = args.trace.as_ref().filter(|_| prey.trace.is_some()) {
            let _ = writeln!(out, "\nsaved as {}", path.display());
        }
    }
    if args.output.quiet {
        return out;
    }
    out.push('\n');
    if let (Some(strategy), Some(after)) = (&report.strategy, report.found_after) {
        let _ = write!(
            out,
            "found by {strategy} after {:.2} s",
            after.as_secs_f64()
        );
        let length = report.caught.as_ref().and_then(Caught::length);
        if let (Some(found), Some(now)) = (report.length_found, length)
            && found > now
        {
            let found = counted(found as u64, "step");
            let _ = write!(out, "; {found} were made {}", grouped(now as u64));
        }
        out.push('\n');
    }
    out += &covered(&report.covered, seconds);
    if prey.is_none() && hunted.iter().any(|one| one.verdict == Verdict::Unknown) {
        let system = model.system();
        let reason = system.budget().reason().or_else(|| system.left_out());
        let reason = reason.unwrap_or_else(|| "nothing was left to look at".into());
        let _ = writeln!(out, "{}: {reason}", paint.unsure("no answer"));
    }
    out
}

fn covered(covered: &Covered, seconds: f64) -> String {
    let turns = covered.turns.iter();
    let turns: Vec<String> = turns
        .map(|(name, turns)| format!("{name} {}", grouped(*turns)))
        .collect();
    format!(
        "{}\n{} of searches, {} of walks, depth {}, {} of {} taken, {seconds:.2} s\n",
        turns.join(", "),
        counted(covered.states, "state"),
        counted(covered.steps, "step"),
        grouped(covered.depth),
        grouped(covered.taken.count() as u64),
        counted(covered.taken.len() as u64, "transition"),
    )
}
