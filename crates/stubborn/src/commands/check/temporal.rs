//! Temporal properties on the command line: reading them, and telling what came out.

use std::fmt::Write;

use serde_json::{Value, json};
use stubborn::emptiness::{CheckResult, CheckVerdict, Counterexample};
use stubborn::record::TraceRecord;
use stubborn::{
    Evaluated, EvaluationFailure, LoadedModel, TemporalAnswer, TemporalText, Trace, Verdict, story,
};

use super::shortened;
use crate::commands::{Figures, read_file, why_ended, why_incomplete};
use crate::exit::Failure;
use crate::options::{CheckArgs, StoreName, TemporalArgs};
use crate::terminal::counted;

/// The properties that the flags add.
pub(super) fn texts(args: &TemporalArgs) -> Result<Vec<TemporalText>, Failure> {
    let mut texts: Vec<TemporalText> = args
        .ltl
        .iter()
        .map(|text| TemporalText::Formula {
            text: text.clone(),
            syntax: args.syntax.into(),
        })
        .collect();
    texts.extend(
        args.ctl
            .iter()
            .map(|text| TemporalText::Branching { text: text.clone() }),
    );
    for path in &args.hoa {
        texts.push(TemporalText::Automaton {
            name: path.display().to_string(),
            text: read_file(path)?,
        });
    }
    for path in &args.properties {
        texts.push(TemporalText::Contest {
            name: path.display().to_string(),
            text: read_file(path)?,
        });
    }
    Ok(texts)
}

fn counterexample(answer: &TemporalAnswer) -> Option<&Counterexample> {
    answer.result.as_ref()?.counterexample.as_ref()
}

/// The run that violates a property.
pub(super) fn trace_of(answer: &TemporalAnswer) -> Option<&Trace> {
    match &answer.failure {
        Some(failure) => Some(&failure.trace),
        None => match &answer.branching {
            Some(found) if answer.verdict == Verdict::Violated => found.trace.as_ref(),
            Some(_) => None,
            None => counterexample(answer).map(|found| &found.trace),
        },
    }
}

/// The numbers of all searches for a property.
pub(super) fn figures(answer: &TemporalAnswer) -> Vec<Figures> {
    let product = answer.result.as_ref().map(Figures::of_temporal);
    let evaluated = answer.evaluated.as_ref().map(|evaluated| match evaluated {
        Evaluated::System(run) => Figures::of(&run.result),
        Evaluated::Product(result) => Figures::of_temporal(result),
    });
    let branching = answer.branching.as_ref().map(Figures::of_branching);
    let all = product.into_iter().chain(evaluated).chain(branching);
    all.collect()
}

/// The limit that kept a property from being decided.
pub(super) fn why_unknown(
    model: &LoadedModel,
    answer: &TemporalAnswer,
    store: StoreName,
) -> Option<String> {
    if let Some(found) = &answer.branching {
        return found.reason.clone();
    }
    let of = |result: &CheckResult| match result.verdict {
        CheckVerdict::Unknown(limit) => Some(why_ended(model, limit)),
        CheckVerdict::Holds | CheckVerdict::Violated => None,
    };
    let product = answer.result.as_ref().and_then(of);
    product.or_else(|| match answer.evaluated.as_ref()? {
        Evaluated::System(run) => why_incomplete(model, &run.result, store),
        Evaluated::Product(result) => of(result),
    })
}

/// For scripts.
pub(super) fn json(model: &LoadedModel, answer: &TemporalAnswer, traces: bool) -> Value {
    let trace = trace_of(answer).filter(|_| traces);
    let mut property = json!({
        "name": answer.name,
        "kind": if answer.branching.is_some() { "ctl" } else { "ltl" },
        "verdict": answer.verdict.name(),
        "trace": trace.map(|trace| json!(TraceRecord::new(model, trace))),
        "por": answer.reduction,
        "notice": answer.notice,
    });
    let searches = figures(answer);
    if let (Value::Object(fields), Some((first, rest))) = (&mut property, searches.split_first()) {
        fields.extend(rest.iter().fold(first.clone(), Figures::add).json());
    }
    if let (Value::Object(fields), Some(failure)) = (&mut property, &answer.failure) {
        let failure = json!({
            "proposition": failure.proposition,
            "message": failure.message,
        });
        fields.insert("failure".into(), failure);
    }
    property
}

/// The story of a violation.
pub(super) fn told(args: &CheckArgs, model: &LoadedModel, answer: &TemporalAnswer) -> String {
    let what = format!("A violation of: {}", answer.title);
    if let Some(failure) = &answer.failure {
        return failed(args, model, answer, failure);
    }
    if let Some(found) = &answer.branching {
        let what = match answer.verdict {
            Verdict::Violated => what,
            _ => format!("A witness of: {}", answer.title),
        };
        return format!("{what}\n{}", shortened(args, &found.story));
    }
    let Some(found) = counterexample(answer) else {
        return format!(
            "{what}\n  (no steps to show: there was no time or memory left for them)\n"
        );
    };
    let system = model.reference();
    let trace = &found.trace;
    let mut out = String::new();
    let steps = counted(trace.stem().len() as u64, "step");
    let _ = match trace.cycle_start() {
        Some(0) => writeln!(out, "{what}, by a cycle from the start:"),
        Some(_) => writeln!(out, "{what}, by a cycle after {steps}:"),
        None if trace.is_empty() => writeln!(out, "{what}, in the initial state"),
        None => writeln!(out, "{what}, by a run that ends after {steps}:"),
    };
    out += &shortened(args, &story::steps(system, trace));
    let properties = model.temporal().iter();
    let named = properties.filter(|property| property.name == answer.name);
    for property in named.filter_map(|found| found.property.as_ref().ok()) {
        out += &story::truths(system, property, trace);
    }
    if found.ends {
        out += "  The run ends there, and counts as repeating its last state for ever.\n";
        out += &story::why_over(system, trace.last_state());
    }
    out
}

/// The story of an evaluation that fails.
fn failed(
    args: &CheckArgs,
    model: &LoadedModel,
    answer: &TemporalAnswer,
    failure: &EvaluationFailure,
) -> String {
    let system = model.reference();
    let trace = &failure.trace;
    let mut out = match trace.len() {
        0 => format!("A violation of: {}, in the initial state\n", answer.title),
        steps => {
            let steps = counted(steps as u64, "step");
            format!("A violation of: {}, after {steps}:\n", answer.title)
        }
    };
    out += &shortened(args, &story::steps(system, trace));
    let message = &failure.message;
    let why = story::why_undefined(system, failure.label, trace.last_state(), message);
    let _ = writeln!(out, "  {} {why}", failure.proposition);
    out + &story::source_line(model, failure.span)
}
