//! What the page shows of a loaded model.

use std::collections::BTreeSet;
use std::time::Duration;

use stubborn::diagnostics::Span;
use stubborn::promela::ast::ProcessKind;
use stubborn::promela::flow::Action;
use stubborn::record::SavedTrace;
use stubborn::search::Limits;
use stubborn::{
    CheckOptions, Language, LoadOptions, LoadedModel, ModelText, Report, RunExplanation,
    TemporalAnswer, Trace, load_text, questions, story,
};
use stubborn_page::{Answer, File, Place, Question, Session, Subject, Temporal};

use super::check::{headline, temporal};
use super::growing;

/// Most states in which an expression is looked for.
const SEARCHED_STATES: u64 = 20_000_000;
/// The longest time for it.
const SEARCH_TIME: Duration = Duration::from_secs(60);

/// A model to be looked at.
pub(super) fn subject(model: &LoadedModel) -> Subject<'_> {
    let all = match model.text() {
        ModelText::One(source) => vec![source],
        ModelText::Several(sources) => (0..sources.len()).map(|at| sources.file(at)).collect(),
    };
    let names: Vec<String> = all.iter().map(|file| file.name().to_owned()).collect();
    let files = all.iter().map(|file| File {
        name: file.name().to_owned(),
        text: file.text().to_owned(),
    });
    let asked = questions(model).into_iter().map(|question| Question {
        name: headline(&question),
        kind: question.kind.name().into(),
        target: question.target,
    });
    let temporal = model.temporal().iter().filter_map(|temporal| {
        Some(Temporal {
            name: temporal.name.clone(),
            title: temporal.title.clone(),
            property: temporal.property.as_ref().ok()?,
        })
    });
    let place = move |span| {
        let range = model.text().range(span);
        Some(Place {
            file: names.iter().position(|name| *name == range.file)?,
            start: (range.line, range.column),
            end: (range.end_line, range.end_column),
        })
    };
    let replay = |text: &str| {
        let saved = SavedTrace::from_json(text).map_err(|error| error.to_string())?;
        saved.replay(model).map_err(|error| error.to_string())
    };
    Subject {
        language: model.language().name().into(),
        searched: model.system(),
        files: files.collect(),
        questions: asked.collect(),
        temporal: temporal.collect(),
        place: Some(Box::new(place)),
        why_over: Some(Box::new(|state| story::why_stuck(model.reference(), state))),
        find: Some(Box::new(|text| find(model, text))),
        replay: Some(Box::new(replay)),
        save: Some(Box::new(|trace| {
            SavedTrace::new(model, trace, "a run by hand").to_json()
        })),
        statements: model
            .promela()
            .is_some()
            .then_some(Box::new(move || statements(model))
                as Box<dyn Fn() -> Vec<(Span, bool)> + Send + Sync>),
        ..Subject::new(model.name(), model.reference())
    }
}

/// The statements of a Promela model: a step may be several of them, of several processes.
fn statements(model: &LoadedModel) -> Vec<(Span, bool)> {
    let Some(promela) = model.promela() else {
        return Vec::new();
    };
    let loaded = promela.loaded();
    let mut reached: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (command, info) in loaded.lowered.steps.iter().enumerate() {
        if promela.is_reached(command) == Some(true) {
            reached.extend(info.parts.iter().map(|(_, kind, step)| (kind.0, *step)));
        }
    }
    let mut all = Vec::new();
    for (at, process) in loaded.program.processes.iter().enumerate() {
        if !matches!(process.kind, ProcessKind::Init | ProcessKind::Proctype) {
            continue;
        }
        for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
            let is_one = !matches!(*step.action, Action::Jump | Action::Blocked);
            if is_one && loaded.sources.slice(step.span) != "}" {
                all.push((step.span, reached.contains(&(at, step.number))));
            }
        }
    }
    all
}

/// A shortest run to a state in which an expression holds.
fn find(model: &LoadedModel, text: &str) -> Result<Option<Trace>, String> {
    if model.language() == Language::Module {
        return Err("a module has no expressions to search by".into());
    }
    let options = LoadOptions {
        reachable: vec![text.to_owned()],
        ignore_temporal: true,
        ..LoadOptions::default()
    };
    let source = model.text().main();
    let larger = load_text(source.name(), source.text(), model.language(), &options);
    let larger = larger.map_err(|error| error.to_string().replace("--reach", "expression"));
    let mut larger = larger?;
    let trace = growing(&mut larger, |larger| {
        let options = CheckOptions {
            limits: Limits {
                states: Some(SEARCHED_STATES),
                time: Some(SEARCH_TIME),
                ..Limits::default()
            },
            ..CheckOptions::default()
        };
        let mut asked = questions(larger);
        let asked = asked.split_off(asked.len() - 1);
        stubborn::check(larger, &asked, &options)
    });
    let report = trace.map_err(|failure| failure.to_string())?;
    let answer = report.answers.into_iter().next();
    let answer = answer.ok_or("nothing was asked")?;
    match answer.violation.and_then(|violation| violation.trace) {
        Some(trace) => {
            let saved = SavedTrace::new(&larger, &trace, text);
            saved
                .replay(model)
                .map(Some)
                .map_err(|error| error.to_string())
        }
        None if answer.verdict == stubborn::Verdict::Violated => Ok(None),
        None => Err("not found before a limit was reached".into()),
    }
}

/// Puts what a check found on the page.
pub(super) fn conclude(
    session: &Session<'_>,
    report: &Report,
    temporal_answers: &[TemporalAnswer],
) {
    let subject = session.subject();
    let mut answers = Vec::new();
    for answer in &report.answers {
        let same = |q: &Question| q.target == answer.question.target;
        let at = subject.questions.iter().position(same);
        let title = headline(&answer.question);
        let trace = answer.violation.as_ref().and_then(|v| v.trace.clone());
        let run = &report.runs[answer.run];
        answers.push(Answer {
            trace: trace.map(|trace| session.add_trace(&title, trace, at)),
            title,
            verdict: answer.verdict.name().into(),
            note: format!("reduction {}, {} states", run.reduction, run.result.states),
            why: String::new(),
        });
    }
    for answer in temporal_answers {
        let same = |t: &Temporal<'_>| t.name == answer.name;
        let at = subject.temporal.iter().position(same);
        let at = at.map(|at| subject.questions.len() + at);
        // What shows that a property of branching time holds is as interesting as what shows the contrary.
        let branching = answer.branching.as_ref();
        let witness = || branching.and_then(|found| found.trace.as_ref());
        let trace = temporal::trace_of(answer).or_else(witness).cloned();
        let property = subject.temporal.iter().find(|t| same(t));
        let found = answer
            .result
            .as_ref()
            .and_then(|r| r.counterexample.as_ref());
        let why = property.zip(found).map(|(property, found)| {
            let why = RunExplanation::new(subject.system, property.property, &found.trace);
            story::reasons(subject.system, &why, &found.trace)
        });
        let told = || branching.map(|found| found.story.trim_end().to_owned());
        answers.push(Answer {
            why: why.or_else(told).unwrap_or_default(),
            trace: trace.map(|trace| session.add_trace(&answer.title, trace, at)),
            title: answer.title.clone(),
            verdict: answer.verdict.name().into(),
            note: answer.notice.clone().unwrap_or_default(),
        });
    }
    let searches = report.runs.iter().map(|run| &run.result);
    let mut check = session.check();
    check.states = searches.clone().map(|result| result.states).sum();
    let levels = searches.map(|result| result.level_sizes.clone()).next();
    check.levels = levels.unwrap_or_default();
    check.answers = answers;
    check.running = false;
}

/// The report of a check.
pub(super) fn report(model: &LoadedModel, report: &Report, temporal: &[TemporalAnswer]) -> String {
    let session = Session::new(subject(model));
    conclude(&session, report, temporal);
    session.survey(stubborn_page::SURVEYED, stubborn_page::SURVEY_TIME, None);
    stubborn_page::report(&session)
}
