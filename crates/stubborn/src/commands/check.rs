//! `stubborn check`: verdicts first, then the runs that show what is violated, then numbers.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use stubborn::record::{SavedTrace, TraceRecord};
use stubborn::{
    Answer, End, Language, LoadedModel, PromelaOptions, Question, QuestionKind, Report, Target,
    Trace, Verdict, Violation, spin, story,
};

use super::{Figures, figures_json, growing, load_as, search_options, why_incomplete, write_file};
use crate::exit::{Failure, Status};
use crate::options::CheckArgs;
use crate::progress::Line;
use crate::promela_options::trail_file;
use crate::terminal::{Paint, counted, print};

/// Counterexamples with more steps are shown by their beginning and end.
const LONG_TRACE: usize = 200;
/// So many steps of a long counterexample are shown at either end.
const SHOWN_STEPS: usize = 40;
/// More verdicts of one kind that hold are counted, not listed.
const LISTED: usize = 6;

pub(crate) fn run(args: &CheckArgs) -> Result<Status, Failure> {
    let quiet = args.output.quiet || args.output.json;
    let promela = PromelaOptions {
        coverage: args.spin.coverage,
        ..args.model.promela.options()
    };
    let (mut model, load_time) = load_as(&args.model, &args.invariant, quiet, promela)?;
    // What a reduction leaves out would look as if it could not be reached.
    let default_reduction = if args.spin.coverage { "none" } else { "auto" };
    let mut options = search_options(&args.search, &args.reduction, default_reduction)?;
    let line = Line::new(args.output.quiet);
    let show = |progress: &stubborn::Progress| line.show(progress);
    options.observer = Some(&show);
    questions(args, &model)?;
    let report = growing(&mut model, |model| {
        let questions = questions(args, model).unwrap_or_default();
        stubborn::check(model, &questions, &options)
    })?;
    drop(line);

    if let Some(path) = &args.trace {
        save_first(&model, &report, path)?;
    }
    if let Some(file) = &args.spin.trail {
        save_trail(&model, &report, &trail_file(file, &args.model.model))?;
    }
    if args.output.json {
        print(&json_text(args, &model, &report, load_time));
    } else {
        print(&text(args, &model, &report, load_time));
    }
    let everything_was_checked = skipped(args, &model).is_empty();
    Ok(match report.verdict() {
        Verdict::Holds if !everything_was_checked => Status::Unknown,
        verdict => verdict.into(),
    })
}

/// Properties of the model that were asked for and cannot be checked.
fn skipped<'m>(args: &CheckArgs, model: &'m LoadedModel) -> &'m [String] {
    if args.only || !args.property.is_empty() {
        &[]
    } else {
        model.unchecked()
    }
}

/// What to ask, from the model and the flags.
fn questions(args: &CheckArgs, model: &LoadedModel) -> Result<Vec<Question>, Failure> {
    let all = stubborn::questions(model);
    let mut chosen: Vec<Question> = Vec::new();
    for name in &args.property {
        let named: Vec<&Question> = all.iter().filter(|q| q.name == *name).collect();
        if named.is_empty() {
            let names: Vec<String> = all.iter().map(|q| format!("  {}", q.name)).collect();
            return Err(Failure::wrong(format!(
                "there is no property `{name}`; there are\n{}",
                names.join("\n")
            )));
        }
        chosen.extend(named.into_iter().cloned());
    }
    if args.property.is_empty() && !args.only {
        chosen = all;
    } else {
        chosen.extend(
            all.into_iter()
                .filter(|q| q.kind == QuestionKind::Invariant),
        );
    }
    if args.deadlock {
        chosen.push(Question::no_deadlock());
    }
    let mut once: Vec<Question> = Vec::new();
    for question in chosen {
        if !once.contains(&question) {
            once.push(question);
        }
    }
    if once.is_empty() {
        return Err(Failure::wrong(
            "nothing to check: --only needs --deadlock, --invariant or --property",
        ));
    }
    Ok(once)
}

fn trace_of(answer: &Answer) -> Option<&Trace> {
    answer.violation.as_ref()?.trace.as_ref()
}

fn save_first(model: &LoadedModel, report: &Report, path: &std::path::Path) -> Result<(), Failure> {
    let first = report.answers.iter().find_map(|a| Some((a, trace_of(a)?)));
    if let Some((answer, trace)) = first {
        let saved = SavedTrace::new(model, trace, headline(&answer.question));
        write_file(path, &saved.to_json())?;
    }
    Ok(())
}

/// Writes the first counterexample as a trail; without one there is no file.
fn save_trail(model: &LoadedModel, report: &Report, path: &std::path::Path) -> Result<(), Failure> {
    if model.promela().is_none() {
        return Err(Failure::wrong("--trail is for Promela models; try --trace"));
    }
    let first = report.answers.iter().find_map(trace_of);
    match first.and_then(|trace| spin::trail(model, trace)) {
        Some(text) => write_file(path, &text),
        None => Ok(()),
    }
}

// ---- for scripts ----

fn json_text(args: &CheckArgs, model: &LoadedModel, report: &Report, load: Duration) -> String {
    let runs: Vec<Figures> = report
        .runs
        .iter()
        .map(|run| Figures::of(&run.result))
        .collect();
    let total = sum(&runs);
    let names: Vec<&str> = report
        .runs
        .iter()
        .map(|run| run.reduction.as_str())
        .collect();
    let mut object = figures_json(model, &args.search, &reductions(&names), &total, load);
    let properties = report.answers.iter().map(|answer| {
        let mut property = json!({
            "name": answer.question.name,
            "kind": answer.question.kind.name(),
            "verdict": answer.verdict.name(),
            "trace": trace_of(answer).map(|trace| json!(TraceRecord::new(model, trace))),
            "por": report.runs[answer.run].reduction,
        });
        if let Value::Object(fields) = &mut property {
            fields.extend(runs[answer.run].json());
        }
        property
    });
    let skipped = skipped(args, model).iter().map(|name| {
        json!({"name": name, "kind": "ltl", "verdict": Verdict::Unknown.name(), "trace": null})
    });
    object.insert("properties".into(), properties.chain(skipped).collect());
    format!("{}\n", Value::Object(object))
}

fn sum(runs: &[Figures]) -> Figures {
    match runs.split_first() {
        None => Figures::default(),
        Some((first, rest)) => rest.iter().fold(first.clone(), Figures::add),
    }
}

/// The reductions of several runs as one word where they are the same.
fn reductions(names: &[&str]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(name) {
            once.push(name);
        }
    }
    once.join(", ")
}

// ---- for people ----

fn text(args: &CheckArgs, model: &LoadedModel, report: &Report, load: Duration) -> String {
    let paint = Paint::for_stdout();
    let mut out = verdicts(report, paint);
    for name in skipped(args, model) {
        let label = paint.unsure("unknown ");
        let _ = writeln!(
            out,
            "{label}  {name}: temporal properties are not checked yet"
        );
    }
    for answer in &report.answers {
        if let Some(violation) = &answer.violation {
            out.push('\n');
            out += &told(args, model, &answer.question, violation);
        }
    }
    if let Some(path) = &args.trace
        && report.answers.iter().any(|a| trace_of(a).is_some())
    {
        let _ = writeln!(out, "\nsaved as {}", path.display());
    }
    if let Some(file) = &args.spin.trail
        && report.answers.iter().any(|a| trace_of(a).is_some())
    {
        let path = trail_file(file, &args.model.model);
        let _ = writeln!(out, "\ntrail saved as {}", path.display());
    }
    if args.spin.coverage {
        out += &coverage(model, report);
    }
    if !args.output.quiet {
        out.push('\n');
        out += &statistics(args, model, report, load);
    }
    for run in &report.runs {
        let unsure = report.answers.iter().any(|a| a.verdict == Verdict::Unknown);
        if let Some(reason) = why_incomplete(&run.result, args.search.store).filter(|_| unsure) {
            let _ = writeln!(out, "{}: {reason}", paint.unsure("no answer"));
            break;
        }
    }
    out
}

/// One line a verdict; many of a kind that hold are counted.
fn verdicts(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    let mut counted_kinds: Vec<(QuestionKind, Verdict)> = Vec::new();
    for answer in &report.answers {
        let (kind, verdict) = (answer.question.kind, answer.verdict);
        let alike = report
            .answers
            .iter()
            .filter(|a| (a.question.kind, a.verdict) == (kind, verdict));
        let number = alike.count();
        let label = match verdict {
            Verdict::Holds => paint.good("holds   "),
            Verdict::Violated => paint.bad("VIOLATED"),
            Verdict::Unknown => paint.unsure("unknown "),
        };
        if verdict == Verdict::Violated || number <= LISTED {
            let _ = writeln!(out, "{label}  {}", headline(&answer.question));
        } else if !counted_kinds.contains(&(kind, verdict)) {
            counted_kinds.push((kind, verdict));
            let _ = writeln!(out, "{label}  {}", counted(number as u64, kind.name()));
        }
    }
    out
}

/// What should hold, in words.
fn headline(question: &Question) -> String {
    match question.target {
        Target::Deadlock => "no deadlock".into(),
        Target::InvalidEnd => "no invalid end state".into(),
        Target::Errors => "no step fails".into(),
        Target::Assertions => "assertions".into(),
        Target::Label(_) => match question.kind {
            QuestionKind::Invariant => format!("invariant {}", question.name),
            _ => question.name.clone(),
        },
    }
}

/// The story of a violation.
fn told(
    args: &CheckArgs,
    model: &LoadedModel,
    question: &Question,
    violation: &Violation,
) -> String {
    let system = model.reference();
    let mut out = String::new();
    let what = match question.target {
        Target::Deadlock | Target::InvalidEnd => "A deadlock".into(),
        Target::Errors => "A failing step".into(),
        Target::Assertions => "A violated assertion".into(),
        Target::Label(_) => format!("A violation of: {}", headline(question)),
    };
    let _ = match violation.length {
        0 => writeln!(out, "{what}, in the initial state"),
        steps => writeln!(out, "{what}, after {}:", counted(steps, "step")),
    };
    match &violation.trace {
        Some(trace) => out += &shortened(args, &story::steps(system, trace)),
        None => {
            let reason = violation
                .trace_missing
                .map_or(String::new(), |why| why.to_string());
            let _ = writeln!(out, "  (no steps to show: {reason})");
        }
    }
    out += &explanation(model, question, violation);
    out
}

fn explanation(model: &LoadedModel, question: &Question, violation: &Violation) -> String {
    let system = model.reference();
    let structure = system.structure();
    match (question.target, violation.step) {
        (Target::Deadlock | Target::InvalidEnd, _) => story::why_stuck(system, &violation.state),
        (Target::Label(label), _) => {
            let place = story::source_line(model, question.span);
            let values = story::why_bad(system, label, &violation.state);
            format!("  It does not hold there{values}\n{place}")
        }
        (_, Some((_, outcome))) => match outcome.site(structure) {
            Some(site) => match story::source_line(model, site.span) {
                place if place.is_empty() => String::new(),
                place => format!("  It fails here:\n{place}"),
            },
            None => String::new(),
        },
        (_, None) => String::new(),
    }
}

/// The statements that were not reached, as SPIN lists them.
fn coverage(model: &LoadedModel, report: &Report) -> String {
    let Some(all) = spin::unreached(model) else {
        return "\n--coverage is for Promela models; explore --unused is for all\n".into();
    };
    let mut out = String::new();
    for process in all {
        let _ = writeln!(out, "\nunreached in {}", process.process);
        for (place, state, text) in &process.statements {
            let _ = writeln!(out, "  {place}, state {state}, \"{text}\"");
        }
        let _ = writeln!(
            out,
            "  ({} of {} statements)",
            process.statements.len(),
            process.all
        );
    }
    if report.runs.iter().any(|r| r.result.end != End::Complete) {
        out += "(the search ended before it had seen everything)\n";
    }
    out
}

/// Long stories lose their middle.
fn shortened(args: &CheckArgs, steps: &str) -> String {
    let lines: Vec<&str> = steps.lines().collect();
    if args.full_trace || lines.len() <= LONG_TRACE {
        return steps.to_owned();
    }
    let left_out = lines.len() - 2 * SHOWN_STEPS;
    let mut out = lines[..SHOWN_STEPS].join("\n");
    let _ = write!(
        out,
        "\n  ... {left_out} lines left out, see them with --full-trace ...\n"
    );
    out + &lines[lines.len() - SHOWN_STEPS..].join("\n") + "\n"
}

fn statistics(args: &CheckArgs, model: &LoadedModel, report: &Report, load: Duration) -> String {
    let runs: Vec<Figures> = report
        .runs
        .iter()
        .map(|run| Figures::of(&run.result))
        .collect();
    let total = sum(&runs);
    let names: Vec<&str> = report
        .runs
        .iter()
        .map(|run| run.reduction.as_str())
        .collect();
    let mut out = String::new();
    if model.language() == Language::Promela {
        let is_violated = |a: &&Answer| a.verdict == Verdict::Violated;
        let errors = report.answers.iter().filter(is_violated).count();
        let _ = write!(out, "errors: {errors}, ");
    }
    out += &total.line(&reductions(&names), model.language());
    if runs.len() > 1 {
        let _ = write!(out, ", in {} searches", runs.len());
    }
    if args.search.threads > 1 {
        let _ = write!(out, ", {} threads", args.search.threads);
    }
    let _ = write!(out, "\n{}\n", total.costs(load));
    out
}
