//! Temporal properties on the command line: reading them, and telling what came out.

use std::fmt::Write;

use serde_json::{Value, json};
use stubborn::emptiness::{CheckResult, CheckVerdict, Counterexample, Property};
use stubborn::record::TraceRecord;
use stubborn::{
    EvaluationFailure, Limit, LoadedModel, RunExplanation, TemporalAnswer, TemporalText, Trace,
    Verdict, story,
};

use super::shortened;
use crate::commands::{Figures, Incomplete, read_file, why_ended};
use crate::exit::Failure;
use crate::json;
use crate::options::FormulaArgs;
use crate::terminal::counted;

/// The properties that the flags add.
pub(in crate::commands) fn texts(args: &FormulaArgs) -> Result<Vec<TemporalText>, Failure> {
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
pub(in crate::commands) fn trace_of(answer: &TemporalAnswer) -> Option<&Trace> {
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
    let evaluated = answer.evaluated.as_deref().map(Figures::of_temporal);
    let branching = answer.branching.as_ref().map(Figures::of_branching);
    let all = product.into_iter().chain(evaluated).chain(branching);
    all.collect()
}

/// The limit that kept a property from being decided.
pub(super) fn limit(answer: &TemporalAnswer) -> Option<Limit> {
    if let Some(found) = &answer.branching {
        return found.limit;
    }
    let of = |result: &CheckResult| match result.verdict {
        CheckVerdict::Unknown(limit) => Some(limit),
        CheckVerdict::Holds | CheckVerdict::Violated => None,
    };
    let product = answer.result.as_ref().and_then(of);
    product.or_else(|| of(answer.evaluated.as_deref()?))
}

/// Why a property was not decided, in words.
pub(super) fn why_unknown(model: &LoadedModel, answer: &TemporalAnswer) -> Option<String> {
    let branching = answer.branching.as_ref().and_then(|b| b.reason.clone());
    branching.or_else(|| limit(answer).map(|limit| why_ended(model, limit)))
}

/// For scripts.
pub(super) fn json(model: &LoadedModel, answer: &TemporalAnswer, traces: bool) -> Value {
    let trace = trace_of(answer).filter(|_| traces);
    let mut fields = json::fields(json!({
        "name": answer.name,
        "title": answer.title,
        "kind": if answer.branching.is_some() { "ctl" } else { "ltl" },
        "verdict": answer.verdict.name(),
        "trace": trace.map(|trace| json!(TraceRecord::new(model, trace))),
        "por": answer.reduction,
        "notice": answer.notice,
    }));
    let property = model.temporal().iter().find(|t| t.name == answer.name);
    if let Some(span) = property.and_then(|property| property.span) {
        fields.insert("place".into(), json!(model.text().range(span)));
    }
    if answer.verdict == Verdict::Unknown {
        let branching = answer.branching.as_ref().and_then(|b| b.reason.clone());
        let incomplete = limit(answer).map(|limit| Incomplete::limit(model, limit));
        let reason = branching.or_else(|| answer.notice.clone());
        let unknown = incomplete.or(reason.map(|reason| Incomplete {
            reason,
            limit: None,
        }));
        if let Some(unknown) = unknown {
            unknown.put_into(&mut fields);
        }
    }
    if !answer.vacuous.is_empty() {
        fields.insert("vacuous".into(), json!(answer.vacuous));
    }
    let searches = figures(answer);
    if let Some((first, rest)) = searches.split_first() {
        fields.extend(rest.iter().fold(first.clone(), Figures::add).json());
    }
    let run = counterexample(answer).filter(|_| traces && answer.failure.is_none());
    if let (Some(run), Some(property)) = (run, property_of(model, answer)) {
        let why = RunExplanation::new(model.reference(), property, &run.trace);
        let why = json!({
            "lost_after": why.lost_after,
            "starving": why.starving,
            "passed_over": why.passed_over,
            "fair": !why.is_unfair(),
        });
        fields.insert("explanation".into(), why);
    }
    if let Some(failure) = &answer.failure {
        let failure = json!({
            "proposition": failure.proposition,
            "message": failure.message,
        });
        fields.insert("failure".into(), failure);
    }
    Value::Object(fields)
}

/// The property that an answer is about.
fn property_of<'m>(model: &'m LoadedModel, answer: &TemporalAnswer) -> Option<&'m Property> {
    let mut properties = model.temporal().iter();
    let found = properties.find(|property| property.name == answer.name)?;
    found.property.as_ref().ok()
}

/// The story of a violation.
pub(in crate::commands) fn told(
    full: bool,
    model: &LoadedModel,
    answer: &TemporalAnswer,
) -> String {
    let what = format!("A violation of: {}", answer.title);
    if let Some(failure) = &answer.failure {
        return failed(full, model, answer, failure);
    }
    if let Some(found) = &answer.branching {
        let what = match answer.verdict {
            Verdict::Violated => what,
            _ => format!("A witness of: {}", answer.title),
        };
        return format!("{what}\n{}", shortened(full, &found.story));
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
    out += &shortened(full, &story::steps(system, trace));
    if let Some(property) = property_of(model, answer) {
        out += &story::truths(system, property, trace);
        out += &story::reasons(system, &RunExplanation::new(system, property, trace), trace);
    }
    if found.ends {
        out += "  The run ends there, and counts as repeating its last state for ever.\n";
        out += &story::why_over(system, trace.last_state());
    }
    out
}

/// The story of an evaluation that fails.
fn failed(
    full: bool,
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
    out += &shortened(full, &story::steps(system, trace));
    let message = &failure.message;
    let why = story::why_undefined(system, failure.label, trace.last_state(), message);
    let _ = writeln!(out, "  {} {why}", failure.proposition);
    out + &story::source_line(model, failure.span)
}
