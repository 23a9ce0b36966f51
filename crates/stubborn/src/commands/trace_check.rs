//! `stubborn trace-check`: logs of programs against models.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stubborn::conformance::{Allowed, Event, Explainer, Mapping, Refusal};
use stubborn::record::state_values;
use stubborn::system::Spent;
use stubborn::{CheckError, Language, LoadOptions, LoadedModel, Verdict, story};

use super::{growing, load_with, memory_limit, no_card, read_toml};
use crate::exit::{Failure, Status};
use crate::json;
use crate::options::TraceCheckArgs;
use crate::terminal::{Paint, counted, print};
use crate::watch::{self, LastWords};

/// More steps that the model allows are counted, not listed.
const LISTED: usize = 20;

/// How far a log is explained.
struct Outcome {
    /// Events that are.
    explained: usize,
    /// The line and the text of the first that is not, and why.
    stopped: Option<(usize, Event, String)>,
    /// One of the states after the last explained event, and how many there are.
    state: Vec<u32>,
    states: usize,
    allowed: Vec<Allowed>,
}

pub(crate) fn run(args: &TraceCheckArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let head = head(args);
    let memory = memory_limit(args.memory_limit, 1);
    let budget = watch::begin(args.timeout, memory, move |reason| {
        let mut object = head.clone();
        object.insert("verdict".into(), json!("unknown"));
        object.insert("reason".into(), json!(reason));
        LastWords::unknown("trace-check", object, reason)
    })?;
    let mapping = mapping(args)?;
    let options = LoadOptions {
        ignore_temporal: true,
        promela: args.model.promela.options(),
        budget: Arc::clone(&budget),
        ..LoadOptions::default()
    };
    let quiet = args.output.quiet || args.output.json;
    let (mut model, _) = load_with(&args.model, options, quiet)?;
    // A model of processes that are started is made larger, and asked again.
    let outcome = growing(&mut model, |model| match follow(args, model, &mapping) {
        Ok(Some(outcome)) => Ok(Ok(outcome)),
        Ok(None) => Err(CheckError::Outgrown),
        Err(failure) => Ok(Err(failure)),
    })??;
    watch::conclude();
    let verdict = match outcome.stopped {
        None => Verdict::Holds,
        Some(_) => Verdict::Violated,
    };
    print(&match args.output.json {
        true => {
            let mut object = self::head(args);
            object.extend(json(&model, &outcome, verdict));
            json::line("trace-check", object)
        }
        false => text(args, &model, &outcome),
    });
    Ok(verdict.into())
}

fn head(args: &TraceCheckArgs) -> Map<String, Value> {
    let language = args.model.language.map(Into::into);
    let language = language.or_else(|| Language::of_path(&args.model.model));
    json::fields(json!({
        "model": args.model.model.display().to_string(),
        "language": language.map(Language::name),
        "log": args.log.display().to_string(),
    }))
}

fn mapping(args: &TraceCheckArgs) -> Result<Mapping, Failure> {
    let mut mapping = match &args.map {
        None => Mapping::default(),
        Some(path) => read_toml(path)?,
    };
    if let Some(hidden) = args.hidden {
        mapping.hidden = hidden;
    }
    Ok(mapping)
}

/// Follows the log; `None` if the model was found to be too small.
fn follow(
    args: &TraceCheckArgs,
    model: &LoadedModel,
    mapping: &Mapping,
) -> Result<Option<Outcome>, Failure> {
    let shown = args.log.display();
    let unreadable = |error| Failure::unreadable(&args.log, &error);
    let file = std::fs::File::open(&args.log).map_err(unreadable)?;
    let system = model.system();
    system.budget().begin("following the log");
    let mut explainer = Explainer::new(system, mapping);
    let mut stopped = None;
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let at = number + 1;
        let wrong = |why: &dyn std::fmt::Display| Failure::wrong(format!("{shown}:{at}: {why}"));
        let event: Event = serde_json::from_str(&line).map_err(|error| {
            // (The place within the one line is said with that of the line.)
            let (text, column) = (error.to_string(), error.column().max(1));
            let why = text.rsplit_once(" at line ").map_or(&*text, |(why, _)| why);
            Failure::wrong(format!(
                "{shown}:{at}:{column}: this is no JSON object: {why}"
            ))
        })?;
        match explainer.take(&event) {
            Ok(()) => {}
            Err(Refusal::Wrong(error)) => return Err(wrong(&error)),
            Err(Refusal::GaveUp(Spent::Outgrown)) => return Ok(None),
            Err(Refusal::GaveUp(spent)) => {
                let reason = system.budget().reason().or_else(|| system.left_out());
                let reason = reason.unwrap_or_else(|| spent.to_string());
                let explained = counted(explainer.explained() as u64, "event");
                return Err(Failure::no_answer(format!(
                    "{reason}; {explained} until then can be explained"
                )));
            }
            Err(Refusal::Unexplained(why)) => {
                stopped = Some((at, event, why));
                break;
            }
        }
    }
    let state = explainer.states().next().map(<[u32]>::to_vec);
    let allowed = match stopped {
        None => Vec::new(),
        Some(_) => explainer.allowed(),
    };
    Ok(Some(Outcome {
        explained: explainer.explained(),
        stopped,
        state: state.unwrap_or_default(),
        states: explainer.states().len(),
        allowed,
    }))
}

fn json(model: &LoadedModel, outcome: &Outcome, verdict: Verdict) -> Map<String, Value> {
    let mut object = json::fields(json!({
        "verdict": verdict.name(),
        "explained": outcome.explained,
        "states": outcome.states,
        "state": state_values(model.system(), &outcome.state),
    }));
    if let Some((line, event, why)) = &outcome.stopped {
        let allowed = outcome.allowed.iter();
        let allowed = allowed.map(|a| json!({"transition": a.transition, "changes": a.changes}));
        let unexplained = json!({
            "line": line,
            "event": event,
            "why": why,
            "allowed": allowed.collect::<Vec<_>>(),
        });
        object.insert("unexplained".into(), unexplained);
    }
    object
}

fn text(args: &TraceCheckArgs, model: &LoadedModel, outcome: &Outcome) -> String {
    let paint = Paint::for_stdout();
    let events = counted(outcome.explained as u64, "event");
    let Some((line, event, why)) = &outcome.stopped else {
        let label = paint.good("explained");
        let mut out = format!("{label}  {events}, by a run of {}\n", model.name());
        if outcome.explained == 0 {
            out += "(the log has no events)\n";
        }
        return out;
    };
    let mut out = format!(
        "{}  {}:{line}: {}\n",
        paint.bad("UNEXPLAINED"),
        args.log.display(),
        Value::Object(event.clone())
    );
    let _ = writeln!(out, "  {why}");
    let _ = writeln!(
        out,
        "\n{events} before it can be explained. Then the model is in {}{}",
        match outcome.states {
            1 => "the state".to_owned(),
            states => format!("one of {}", counted(states as u64, "state")),
        },
        if outcome.states > 1 {
            ", for example"
        } else {
            ""
        },
    );
    out += &story::state(model.system(), &outcome.state, false);
    out += match outcome.allowed.is_empty() {
        true => "and nothing could happen there.\n",
        false => "and this could have happened:\n",
    };
    for allowed in outcome.allowed.iter().take(LISTED) {
        let line = format!("  {}  {}", allowed.transition, allowed.changes.join(", "));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if outcome.allowed.len() > LISTED {
        let _ = writeln!(out, "  and {} more", outcome.allowed.len() - LISTED);
    }
    out
}
