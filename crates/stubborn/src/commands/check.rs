//! `stubborn check`: verdicts first, then the runs that show what is violated, then numbers.

pub(super) mod asked;
mod belief;
mod merged;
mod rounds;
mod suite;
mod suite_file;
pub(super) mod temporal;
mod trail;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stubborn::emptiness::{CycleProviso, Emptiness};
use stubborn::plan::{Keeper, Keeping, TemporalEngine};
use stubborn::record::{SavedTrace, TraceRecord};
use stubborn::search::Engine;
use stubborn::{
    Answer, CheckOptions, End, Language, LoadOptions, LoadedModel, Obstacle, PromelaOptions,
    Question, QuestionKind, Report, Target, Temporal, TemporalAnswer, Trace, Verdict, Violation,
    spin, story,
};

use self::asked::Asked;
use super::race::Use;
use super::{
    Figures, Incomplete, budget, figures_json, growing_together, search_options, why_incomplete,
    write_file,
};
use crate::checkpoint::Checkpoints;
use crate::cluster::Team;
use crate::exit::{self, Failure, Status};
use crate::json;
use crate::options::trail_file;
use crate::options::{CheckArgs, EngineName, ModelArgs};
use crate::progress::Line;
use crate::reports::is_page;
use crate::terminal::{Paint, counted, print};
use crate::watch::{self, LastWords};

/// Counterexamples with more steps are shown by their beginning and end.
const LONG_TRACE: usize = 200;
/// So many steps of a long counterexample are shown at either end.
const SHOWN_STEPS: usize = 40;
/// More verdicts of one kind that hold are counted, not listed.
const LISTED: usize = 6;

pub(crate) fn run(args: &CheckArgs) -> Result<Status, Failure> {
    let model = |path: &Path| ModelArgs {
        model: path.to_owned(),
        load: args.load.clone(),
    };
    if let Some(path) = &args.suite.job {
        return run_one(args, &model(path));
    }
    match suite::wanted(args)? {
        suite::Wanted::One(path) => run_one(args, &model(&path)),
        suite::Wanted::Several(_) if args.checkpoint.checkpoint.is_some() => {
            Err(Failure::wrong("--checkpoint is for one model"))
        }
        suite::Wanted::Several(_) if args.cluster.is_asked_for() => {
            Err(Failure::wrong("several processes are for one model"))
        }
        suite::Wanted::Several(jobs) => suite::run(args, jobs),
    }
}

/// What is worth waiting for a graphics card.
fn judge(report: &Report) -> Use {
    let limits = report.runs.iter().map(|run| run.result.end);
    match report.answers.iter().all(|a| a.verdict != Verdict::Unknown) {
        true => Use::Answer,
        false => limits.fold(Use::Nothing, super::spoilt),
    }
}

fn run_one(args: &CheckArgs, model_args: &ModelArgs) -> Result<Status, Failure> {
    are_writable(args, &model_args.model)?;
    let quiet = args.output.quiet || args.output.json;
    let nothing = [("verdict", json!("unknown")), ("properties", json!([]))];
    let sharing = args.suite.job_of;
    let head = ("check", args.output.json);
    let budget = budget(model_args, &args.search, head, &nothing, sharing)?;
    let load_options = LoadOptions {
        invariants: args.properties.invariant.clone(),
        reachable: args.belief.reach.clone(),
        temporal: temporal::texts(&args.temporal.formulas)?,
        promela: PromelaOptions {
            // A page shows it, too.
            coverage: args.spin.coverage || args.suite.report.iter().any(|file| is_page(file)),
            acceptance: args.spin.acceptance,
            ..args.load.promela.options()
        },
        budget: Arc::clone(&budget),
        ..LoadOptions::default()
    };
    let loading = Instant::now();
    let (mut model, is_merged) = merged::load(args, model_args, &load_options, quiet)?;
    let load_time = loading.elapsed();
    // What a reduction leaves out would look as if it could not be reached.
    let default_reduction = if args.spin.coverage { "none" } else { "auto" };
    let mut options = search_options(&args.search, &args.reduction, default_reduction, &model)?;
    options.temporal = args.temporal.options();
    options.temporal.vacuity = !args.belief.no_vacuity;
    let line = Line::new(
        args.output.quiet,
        args.search.max_states,
        args.search.timeout,
    );
    let show = |progress: &stubborn::Progress| line.show(progress);
    options.observer = Some(&show);
    let asked = Asked::new(&args.properties, &model)?;
    let on_card = args.load.engine == EngineName::Gpu;
    let with_card = args.load.engine == EngineName::Auto;
    if (on_card || with_card) && (args.net.structural.is_some() || args.spin.coverage) {
        return Err(Failure::wrong(
            "--engine gpu and auto have no --structural and --coverage",
        ));
    }
    if args.checkpoint.checkpoint.is_some() {
        refuse_checkpoints(args, model_args, &asked, &options)?;
    }
    let is_branching = |one: &&Temporal| matches!(one.property, Err(Obstacle::Branching(_)));
    let has_obstacle = args.spin.coverage || asked.temporal.iter().any(is_branching);
    if args.cluster.is_asked_for() && has_obstacle {
        return Err(Failure::wrong(
            "several processes are not for properties of branching time and --coverage; \
             --property names the others",
        ));
    }
    drop(asked);
    let (search, net) = (&args.search, &args.net);
    let team = super::team(
        &args.cluster,
        model_args,
        (search, net),
        &args.checkpoint,
        &model,
    )?;
    let disk = super::disk(model_args, &args.search, &args.checkpoint)?;
    let checkpoints = Checkpoints::begin(&args.checkpoint, &args.output, &mut model, &budget)?;
    let keeper = checkpoints.as_deref().map(|keeper| keeper as &dyn Keeper);
    let together = super::together(&args.cluster, team.as_ref(), keeper, {
        let growth = checkpoints.as_ref().map(|kept| kept.growth());
        (growth.unwrap_or_default(), &mut model)
    })?;
    let keeper = match &together {
        Some(together) => Some(together as &dyn Keeper),
        None => keeper,
    };
    let several = team.as_ref().map(Team::engine);
    let several = several.as_ref().map(|engine| engine as &dyn Engine);
    let engines: Vec<&dyn Engine> = several.into_iter().collect();
    if several.is_some() {
        options.engines = &engines;
    }
    let started = Instant::now();
    let results = growing_together(&mut model, team.as_ref(), |model| {
        let asked = Asked::again(&args.properties, model)?;
        if let Some(checkpoints) = &checkpoints {
            checkpoints.is_about(model);
        }
        let card = stubborn::GraphicsCard::new(model);
        // A larger model begins anew.
        let keeping = keeper.map(Keeping::new);
        let mut options = CheckOptions {
            keeping: keeping.as_ref(),
            ..options.clone()
        };
        options.temporal_engine = on_card.then_some(&card as &dyn TemporalEngine);
        let on_its_own = [&card as &dyn Engine];
        if on_card {
            options.engines = &on_its_own;
        }
        let safety = |questions: &[Question], options: &CheckOptions<'_>| {
            if with_card {
                return super::race_with_card(model, options, judge, &|options| {
                    stubborn::check(model, questions, options)
                });
            }
            let only = on_card.then_some(&card as &dyn Engine).or(several);
            let engines = super::engines(only, disk.as_ref());
            let options = CheckOptions {
                engines: &engines,
                ..options.clone()
            };
            match args.net.structural {
                None => stubborn::check(model, questions, &options),
                Some(rules) => stubborn::check_smaller(model, questions, rules, &options),
            }
        };
        let results = rounds::answer(model, &asked, &options, &safety);
        let mut results = Checkpoints::about(checkpoints.as_ref(), model, results)?;
        results.time = started.elapsed();
        Ok(results)
    });
    let mut results = super::or_resume(checkpoints.as_deref(), results)?;
    results.unreached = belief::unreached(args, &model, &results);
    results.is_merged = is_merged;
    if is_merged && results.has_found_something() {
        know_already(args, &model, &results, load_time);
        let written = merged::retell(args, model_args, load_options, &options, &mut results)?;
        if let Some(written) = written {
            model = written;
        }
        results.time = started.elapsed();
    }
    drop(line);
    results.traffic = team.as_ref().and_then(Team::traffic);
    if team.as_ref().is_some_and(Team::is_worker) {
        watch::conclude();
        return Ok(Status::Fine);
    }
    if let Some(checkpoints) = &checkpoints {
        checkpoints.end();
    }

    know_already(args, &model, &results, load_time);
    let object = |traces| json_text(args, &model, &results, load_time, traces);
    let output = match args.output.json {
        true => object(true),
        false => text(args, &model, &results, load_time),
    };
    watch::conclude();
    if args.suite.job_report.is_some() {
        exit::hand_over(&object(true));
    }
    // The verdict is said whatever becomes of the files.
    print(&output);
    if let Some(checkpoints) = &checkpoints {
        // What is open can be gone on with, even if something else is violated.
        checkpoints.conclude(results.verdicts().all(|one| one != Verdict::Unknown));
    }
    match save(args, model_args, &model, &results) {
        // The object of the failure would be a second one.
        Err(failure) => Ok(failure.say_beside(results.verdict().into())),
        Ok(()) => Ok(results.verdict().into()),
    }
}

/// Writes the files that are asked for; of those that cannot be written, the first is told.
fn save(
    args: &CheckArgs,
    model_args: &ModelArgs,
    model: &LoadedModel,
    results: &Results,
) -> Result<(), Failure> {
    let mut written = Vec::new();
    if let Some(path) = &args.trace {
        written.push(save_first(model, results, path));
    }
    if let Some(file) = &args.spin.trail {
        let file = trail_file(file, &model_args.model);
        written.push(trail::save(model, results, model_args, &file));
    }
    #[cfg(feature = "page")]
    for file in args.suite.report.iter().filter(|file| is_page(file)) {
        let page = super::page::report(model, &results.report, &results.temporal);
        written.push(write_file(file, &page));
    }
    written.into_iter().collect()
}

/// Refuses places of files that cannot be written, before anything is loaded.
fn are_writable(args: &CheckArgs, model: &Path) -> Result<(), Failure> {
    let trail = args.spin.trail.as_ref();
    let trail = trail.map(|file| trail_file(file, model));
    let mut files = args
        .trace
        .iter()
        .chain(trail.iter())
        .chain(&args.suite.report);
    files.try_for_each(|file| super::is_writable(file))
}

/// From now on, what is violated is said even if there is no time for more.
fn know_already(args: &CheckArgs, model: &LoadedModel, results: &Results, load: Duration) {
    if results.verdict() != Verdict::Violated {
        return;
    }
    let object = json_text(args, model, results, load, false);
    let brief = brief(results, Paint::for_stdout());
    let is_object = args.output.json;
    watch::know(move |reason| LastWords {
        text: match is_object {
            true => object.clone(),
            false => format!("{brief}\n(no steps to show: {reason})\n"),
        },
        object: object.clone(),
        status: Status::Violated,
    });
}

/// What can be answered without checkpoints only.
fn refuse_checkpoints(
    args: &CheckArgs,
    model: &ModelArgs,
    asked: &Asked<'_>,
    options: &CheckOptions<'_>,
) -> Result<(), Failure> {
    let is_branching = |one: &&Temporal| matches!(one.property, Err(Obstacle::Branching(_)));
    let has_runs = asked.temporal.iter().any(|one| one.property.is_ok());
    let is_alone = !args.cluster.is_asked_for();
    let goes_ahead = |proviso: CycleProviso| proviso.goes_ahead();
    let obstacle = if asked.temporal.iter().any(is_branching) {
        "properties of branching time (`--property` names the others)"
    } else if has_runs && is_alone && options.threads > 1 {
        "temporal properties on several threads: they follow one run each"
    } else if has_runs && is_alone && options.temporal.emptiness != Emptiness::Components {
        "`--emptiness ndfs`"
    } else if has_runs && is_alone && options.reduction.cycle_proviso.is_some_and(goes_ahead) {
        "cycle provisos that look ahead"
    } else if args.spin.coverage {
        "--coverage"
    } else {
        return super::refuse_checkpoints(model, &args.net);
    };
    Err(Failure::wrong(format!(
        "--checkpoint is not for {obstacle}"
    )))
}

/// Everything that came out.
#[derive(Default)]
struct Results {
    report: Report,
    temporal: Vec<TemporalAnswer>,
    /// Of all searches, with relations and everything else that they needed first.
    time: Duration,
    /// What several processes have exchanged.
    traffic: Option<String>,
    /// What no run does, in words.
    unreached: String,
    /// Steps that nobody notices were left out, see [`merged`].
    is_merged: bool,
    /// So are they in the runs that are told.
    is_told_merged: bool,
    /// The titles of what a hunt has found, with how.
    hunted: Vec<(String, String)>,
}

impl Results {
    /// How a hunt has found a violation, if one has.
    fn hunted(&self, title: &str) -> Option<&str> {
        let mut hunted = self.hunted.iter();
        let found = hunted.find(|(one, _)| one == title);
        found.map(|(_, how)| how.as_str())
    }

    fn verdicts(&self) -> impl Iterator<Item = Verdict> + '_ {
        let temporal = self.temporal.iter().map(|answer| answer.verdict);
        let others = self.report.answers.iter().map(|answer| answer.verdict);
        others.chain(temporal)
    }

    /// Violated if anything is; else unknown if anything is.
    fn verdict(&self) -> Verdict {
        Verdict::of_all(self.verdicts())
    }

    /// Whether there is a run to tell.
    fn has_found_something(&self) -> bool {
        let mut answers = self.report.answers.iter();
        answers.any(|answer| answer.violation.is_some()) || self.verdict() == Verdict::Violated
    }

    /// The numbers of all searches, those of temporal properties last.
    fn figures(&self) -> Vec<Figures> {
        let searches = self.report.runs.iter().map(|run| Figures::of(&run.result));
        let checks = self.temporal.iter().flat_map(temporal::figures);
        searches.chain(checks).collect()
    }

    /// All of these together, with the time of everything.
    fn total(&self, searches: &[Figures]) -> Figures {
        let sum = match searches.split_first() {
            None => Figures::default(),
            Some((first, rest)) => rest.iter().fold(first.clone(), Figures::add),
        };
        Figures {
            explore_seconds: self.time.as_secs_f64(),
            ..sum
        }
    }

    /// The reductions of all searches, as one word where they are the same.
    fn reductions(&self) -> String {
        let searches = self.report.runs.iter().map(|run| run.reduction.as_str());
        let checks = self.temporal.iter().map(|a| a.reduction.as_str());
        let mut once: Vec<&str> = Vec::new();
        for name in searches.chain(checks) {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        once.join(", ")
    }

    /// The traces of what is violated, with what they show, and whether following them does not show it.
    fn traces(&self) -> impl Iterator<Item = (String, &Trace, bool)> {
        // Counterexamples before witnesses.
        let with = |is_violated: bool| {
            let answers = self.report.answers.iter();
            answers.filter(move |a| (a.verdict == Verdict::Violated) == is_violated)
        };
        let answers = with(true).chain(with(false));
        let others = answers.filter_map(|a| {
            let is_own = a.question.kind == QuestionKind::Invariant;
            Some((headline(&a.question), trace_of(a)?, is_own))
        });
        let temporal = self.temporal.iter().filter_map(|a| {
            let is_violated = a.verdict == Verdict::Violated;
            Some((a.title.clone(), temporal::trace_of(a)?, is_violated))
        });
        others.chain(temporal)
    }
}

fn trace_of(answer: &Answer) -> Option<&Trace> {
    answer.violation.as_ref()?.trace.as_ref()
}

fn save_first(model: &LoadedModel, results: &Results, path: &Path) -> Result<(), Failure> {
    if let Some((title, trace, violates)) = results.traces().next() {
        let saved = SavedTrace::new(model, trace, title).violating(violates);
        write_file(path, &saved.to_json())?;
    }
    Ok(())
}

// ---- for scripts ----

fn json_text(
    args: &CheckArgs,
    model: &LoadedModel,
    results: &Results,
    load: Duration,
    traces: bool,
) -> String {
    let runs = results.figures();
    let total = results.total(&runs);
    let mut object = figures_json(model, &args.search, &results.reductions(), &total, load);
    object.insert("verdict".into(), json!(results.verdict().name()));
    if model.language() == Language::Promela {
        object.insert("merged".into(), json!(results.is_merged));
    }
    let report = &results.report;
    let properties = report.answers.iter().map(|answer| {
        let trace = trace_of(answer).filter(|_| traces);
        let question = &answer.question;
        let mut fields = json::fields(json!({
            "name": question.name,
            "title": headline(question),
            "kind": question.kind.name(),
            "verdict": answer.verdict.name(),
            "trace": trace.map(|trace| json!(TraceRecord::new(model, trace))),
            "por": report.runs[answer.run].reduction,
        }));
        if let Some(how) = results.hunted(&headline(question)) {
            fields.insert("notice".into(), json!(how));
        }
        if let Some(span) = question.span {
            fields.insert("place".into(), json!(model.text().range(span)));
        }
        let result = &report.runs[answer.run].result;
        let incomplete = Incomplete::of(model, result, args.search.store);
        if let (Verdict::Unknown, Some(incomplete)) = (answer.verdict, incomplete) {
            incomplete.put_into(&mut fields);
        }
        fields.extend(runs[answer.run].json());
        Value::Object(fields)
    });
    let temporal = results.temporal.iter();
    let temporal = temporal.map(|answer| temporal::json(model, answer, traces));
    let properties: Vec<Value> = properties.chain(temporal).collect();
    // The first reason stands for all.
    for name in ["reason", "limit"] {
        if let Some(value) = properties.iter().find_map(|property| property.get(name)) {
            object.insert(name.into(), value.clone());
        }
    }
    object.insert("properties".into(), properties.into());
    if !model.warnings().is_empty() {
        let warnings = json::diagnostics(model.text(), model.warnings());
        object.insert("warnings".into(), warnings.into());
    }
    if let Some(unreached) = spin::unreached(model).filter(|_| args.spin.coverage) {
        object.insert("coverage".into(), coverage_json(&unreached));
    }
    json::line("check", object)
}

fn coverage_json(all: &[spin::Unreached]) -> Value {
    let process = |process: &spin::Unreached| {
        let statements = process.statements.iter();
        let statements = statements
            .map(|one| json!({"location": one.place, "state": one.state, "text": one.text}));
        json!({
            "process": process.process,
            "statements": process.all,
            "unreached": statements.collect::<Vec<_>>(),
        })
    };
    all.iter().map(process).collect()
}

// ---- for people ----

fn text(args: &CheckArgs, model: &LoadedModel, results: &Results, load: Duration) -> String {
    let paint = Paint::for_stdout();
    let report = &results.report;
    let mut out = verdicts(report, paint);
    for answer in &results.temporal {
        let _ = writeln!(out, "{}", temporal_verdict(answer, paint));
        if let Some(notice) = answer.notice.as_ref().filter(|_| !args.output.quiet) {
            let _ = writeln!(out, "          ({notice})");
        }
        if !answer.vacuous.is_empty() && !args.output.quiet {
            let parts = answer.vacuous.join("; ");
            let _ = writeln!(
                out,
                "          (vacuous: it holds whatever this is: {parts})"
            );
        }
    }
    for answer in &report.answers {
        if let Some(violation) = &answer.violation {
            out.push('\n');
            out += &told(args.full_trace, model, &answer.question, violation);
        }
        if let (Some(how), false) = (
            results.hunted(&headline(&answer.question)),
            args.output.quiet,
        ) {
            let _ = writeln!(out, "  ({how})");
        }
    }
    for answer in &results.temporal {
        let witness = answer.branching.as_ref().is_some_and(|b| b.trace.is_some());
        if answer.verdict == Verdict::Violated || witness && !args.output.quiet {
            out.push('\n');
            out += &temporal::told(args.full_trace, model, answer);
        }
    }
    if let Some(path) = &args.trace
        && results.traces().next().is_some()
    {
        let _ = writeln!(out, "\nsaved as {}", path.display());
    }
    if let Some(file) = &args.spin.trail
        && results.traces().next().is_some()
    {
        let path = trail_file(file, Path::new(model.name()));
        let _ = writeln!(out, "\ntrail saved as {}", path.display());
    }
    if args.spin.coverage {
        out += &coverage(model, report);
    }
    if !args.output.quiet {
        if results.is_told_merged {
            out += "\n(steps that nobody else notices are left out; --as-written shows them)\n";
        }
        if !results.unreached.is_empty() {
            let _ = write!(out, "\n{}", results.unreached);
        }
        out.push('\n');
        out += &belief::not_asked(model, results);
        out += &statistics(args, model, results, load);
    }
    if results
        .verdicts()
        .any(|verdict| verdict == Verdict::Unknown)
    {
        let searches = report.runs.iter();
        let store = args.search.store;
        let mut reasons = searches.filter_map(|run| why_incomplete(model, &run.result, store));
        let why = |answer: &TemporalAnswer| temporal::why_unknown(model, answer);
        let mut limits = results.temporal.iter().filter_map(why);
        if let Some(reason) = reasons.next().or_else(|| limits.next()) {
            let _ = writeln!(out, "{}: {reason}", paint.unsure("no answer"));
        }
    }
    out
}

/// The verdicts alone.
fn brief(results: &Results, paint: Paint) -> String {
    let temporal = results.temporal.iter();
    let temporal = temporal.map(|answer| temporal_verdict(answer, paint) + "\n");
    verdicts(&results.report, paint) + &temporal.collect::<String>()
}

fn temporal_verdict(answer: &TemporalAnswer, paint: Paint) -> String {
    format!("{}  {}", labelled(answer.verdict, paint), answer.title)
}

/// A verdict as it begins a line.
pub(super) fn labelled(verdict: Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Holds => paint.good("holds   "),
        Verdict::Violated => paint.bad("VIOLATED"),
        Verdict::Unknown => paint.unsure("unknown "),
    }
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
        let label = labelled(verdict, paint);
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
pub(super) fn headline(question: &Question) -> String {
    match question.target {
        Target::Deadlock => "no deadlock".into(),
        Target::InvalidEnd => "no invalid end state".into(),
        Target::Errors => "no step fails".into(),
        Target::Assertions => "assertions".into(),
        Target::Label(_) => match question.kind {
            QuestionKind::Invariant => format!("invariant {}", question.name),
            QuestionKind::Reach => format!("reach {}", question.name),
            _ => question.name.clone(),
        },
    }
}

/// The story of a violation.
pub(super) fn told(
    full: bool,
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
        Target::Label(label) if question.kind == QuestionKind::Reach => {
            let has_value = model.why_label_fails(label, &violation.state).is_none();
            let what = if has_value {
                "A witness of"
            } else {
                "No value of"
            };
            format!("{what}: {}", headline(question))
        }
        Target::Label(_) => format!("A violation of: {}", headline(question)),
    };
    let is_told = violation.trace.is_some() || !violation.state.is_empty();
    let _ = match violation.length {
        _ if !is_told => writeln!(out, "{what}:"),
        0 => writeln!(out, "{what}, in the initial state"),
        steps => writeln!(out, "{what}, after {}:", counted(steps, "step")),
    };
    match &violation.trace {
        Some(trace) => out += &shortened(full, &story::steps(system, trace)),
        None => {
            let reason = violation
                .trace_missing
                .map_or(String::new(), |why| why.to_string());
            let _ = writeln!(out, "  (no steps to show: {reason})");
        }
    }
    if is_told {
        out += &explanation(model, question, violation);
    }
    out
}

fn explanation(model: &LoadedModel, question: &Question, violation: &Violation) -> String {
    let system = model.reference();
    let structure = system.structure();
    match (question.target, violation.step) {
        (Target::Deadlock | Target::InvalidEnd, _) => story::why_stuck(system, &violation.state),
        (Target::Label(label), _) => {
            let place = story::source_line(model, question.span);
            let state = &violation.state;
            let why = match model.why_label_fails(label, state) {
                None if question.kind == QuestionKind::Reach => {
                    format!("holds there{}", story::why_bad(system, label, state))
                }
                None => format!(
                    "does not hold there{}",
                    story::why_bad(system, label, state)
                ),
                Some(site) => story::why_undefined(system, label, state, &site.message),
            };
            format!("  It {why}\n{place}")
        }
        (target, Some((_, outcome))) => {
            let site = match target {
                Target::Assertions => outcome.violated(),
                _ => outcome.failed(),
            };
            let span = site.and_then(|site| structure.failures[site].span);
            match story::source_line(model, span) {
                place if place.is_empty() => String::new(),
                place => format!("  It fails here:\n{place}"),
            }
        }
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
        for one in &process.statements {
            let _ = writeln!(
                out,
                "  {}, state {}, \"{}\"",
                one.place, one.state, one.text
            );
        }
        let _ = writeln!(
            out,
            "  ({} of {} statements)",
            process.statements.len(),
            process.all
        );
    }
    if report
        .runs
        .iter()
        .any(|r| !matches!(r.result.end, End::Complete | End::Lossy))
    {
        out += "(the search ended before it had seen everything)\n";
    }
    out
}

/// Long stories lose their middle.
fn shortened(full: bool, steps: &str) -> String {
    let lines: Vec<&str> = steps.lines().collect();
    if full || lines.len() <= LONG_TRACE {
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

fn statistics(args: &CheckArgs, model: &LoadedModel, results: &Results, load: Duration) -> String {
    let runs = results.figures();
    let total = results.total(&runs);
    let mut out = String::new();
    if model.language() == Language::Promela {
        let errors = results.verdicts().filter(|v| *v == Verdict::Violated);
        let _ = write!(out, "errors: {}, ", errors.count());
    }
    out += &total.line(&results.reductions(), model.language());
    if results.is_merged {
        out += ", statements merged";
    }
    if runs.len() > 1 {
        let _ = write!(out, ", in {} searches", runs.len());
    }
    if args.search.threads > 1 {
        let _ = write!(out, ", {} threads", args.search.threads);
    }
    if let Some(traffic) = &results.traffic {
        let _ = write!(out, ", {traffic}");
    }
    let _ = write!(out, "\n{}\n", total.costs(load));
    out
}
