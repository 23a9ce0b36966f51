//! A time limit is shared: no property takes what the others need.
//!
//! What needs one search is asked first, then each temporal property. Without a time limit, or
//! with a single question, that is all. Otherwise a first round with a part of the time answers
//! what is quick. For what is left after it there is a [hunt](stubborn::hunt), because where states are too
//! many for the time, walks and searches in depth may still find violations; then it gets a fair share each
//! of all the rest. Whenever one needs less than its share, the others have more; what is too little to search
//! again is hunted for, too.

use std::time::{Duration, Instant};

use stubborn::hunt::{Caught, Hunt};
use stubborn::{
    Answer, CheckError, CheckOptions, End, Limit, LoadedModel, Question, QuestionKind, Report,
    Target, Temporal, TemporalAnswer, Verdict,
};

use super::asked::Asked;
use super::{Results, headline, temporal};

/// The first round has this part of the time.
const FIRST_ROUND: u32 = 4;
/// The hunt has this part of what the first round left. (Less than half, or it would not be worthwhile to
/// search again.)
const HUNT: u32 = 4;
/// A search that found nothing starts anew if it gets so many times as much.
const WORTHWHILE: u32 = 2;

/// How questions that need no automaton are answered.
type Safety<'s> = dyn Fn(&[Question], &CheckOptions<'_>) -> Result<Report, CheckError> + 's;

/// Answers everything, in rounds if the time is limited.
pub(super) fn answer(
    model: &LoadedModel,
    asked: &Asked<'_>,
    options: &CheckOptions<'_>,
    safety: &Safety<'_>,
) -> Result<Results, CheckError> {
    let budget = model.system().budget();
    let round = |asked: &Asked<'_>, time: Option<Duration>| {
        let started = Instant::now();
        let mut results = Results::default();
        let mut options = options.clone();
        options.limits.time = time;
        if !asked.questions.is_empty() {
            if !asked.temporal.is_empty() {
                options.limits.time = time.map(|time| time / parts(asked));
            }
            results.report = safety(&asked.questions, &options)?;
            options.limits.time = time.map(|time| time.saturating_sub(started.elapsed()));
        }
        results.temporal = stubborn::check_temporal(model, &asked.temporal, &options)?;
        Ok(results)
    };
    // What is kept is where a list of searches is: it must be the same one when it is taken up.
    // And of several processes only one knows the time.
    let is_alone = options.engines.iter().all(|one| one.cluster().is_none());
    let is_shared = parts(asked) > 1 && options.keeping.is_none() && is_alone;
    let Some(time) = budget.time_left().filter(|_| is_shared) else {
        return round(asked, None);
    };
    let mut share = time / FIRST_ROUND / parts(asked);
    let mut results = round(asked, Some(time / FIRST_ROUND))?;
    // What is asked of a graphics card alone is not hunted here.
    let hunts = options.temporal_engine.is_none();
    if hunts {
        let time = budget.time_left().unwrap_or_default() / HUNT;
        hunt(model, asked, options, time, &mut results)?;
    }
    loop {
        let again = unanswered(&results, asked);
        let left = budget.time_left().unwrap_or_default();
        if again.is_empty() || budget.poll().is_some() {
            return Ok(results);
        }
        let next = left / parts(&again);
        if next < share * WORTHWHILE {
            if hunts {
                hunt(model, asked, options, left, &mut results)?;
            }
            return Ok(results);
        }
        share = next;
        merge(&mut results, round(&again, Some(left))?);
    }
}

/// Hunts for violations of what has no answer, one after the other.
fn hunt(
    model: &LoadedModel,
    asked: &Asked<'_>,
    options: &CheckOptions<'_>,
    time: Duration,
    results: &mut Results,
) -> Result<(), CheckError> {
    let started = Instant::now();
    loop {
        let mut left = unanswered(results, asked);
        // (Whether something is reached is no violation.)
        left.questions
            .retain(|question| question.kind != QuestionKind::Reach);
        left.temporal.retain(|temporal| temporal.property.is_ok());
        let time = time.saturating_sub(started.elapsed());
        if left.is_empty() || time.is_zero() {
            return Ok(());
        }
        let targets: Vec<Target> = left.questions.iter().map(|q| q.target).collect();
        let properties = left.temporal.iter();
        let properties = properties.filter_map(|temporal| temporal.property.as_ref().ok());
        let report = Hunt {
            system: model.system(),
            reference: model.reference(),
            targets: &targets,
            temporal: &properties.collect::<Vec<_>>(),
            options: options.temporal,
            threads: options.threads,
            seed: options.seed.unwrap_or_default(),
            time: Some(time),
            observer: options.observer,
        }
        .run()?;
        let how = report.strategy.unwrap_or_default();
        let notice = format!("found by a hunt ({how}): there may be shorter runs");
        match report.caught {
            None => return Ok(()),
            Some(Caught::Target(at, violation)) => {
                let mut answers = results.report.answers.iter_mut();
                if let Some(answer) = answers.find(|a| a.question == left.questions[at]) {
                    answer.verdict = Verdict::Violated;
                    answer.violation = Some(*violation);
                    results.hunted.push((headline(&answer.question), notice));
                }
            }
            Some(Caught::Temporal(at, found)) => {
                let temporal = left.temporal[at];
                let run = found.counterexample.as_ref().map(|found| &found.trace);
                let failure = run.and_then(|run| temporal.evaluations.first_failure(model, run));
                let mut answers = results.temporal.iter_mut();
                if let Some(answer) = answers.find(|a| a.name == temporal.name) {
                    answer.verdict = Verdict::Violated;
                    answer.failure = failure;
                    answer.result = Some(*found);
                    answer.notice = Some(notice.clone());
                    results.hunted.push((answer.title.clone(), notice));
                }
            }
        }
    }
}

/// How many share the time.
fn parts(asked: &Asked<'_>) -> u32 {
    let searches = usize::from(!asked.questions.is_empty()) + asked.temporal.len();
    u32::try_from(searches).unwrap_or(u32::MAX).max(1)
}

/// What had too little time.
fn unanswered<'m>(results: &Results, asked: &Asked<'m>) -> Asked<'m> {
    let report = &results.report;
    let late = |answer: &&Answer| {
        let end = report.runs[answer.run].result.end;
        answer.verdict == Verdict::Unknown && end == End::Limit(Limit::Time)
    };
    let answers = report.answers.iter();
    let is_late = |property: &&&'m Temporal| {
        let answer = results.temporal.iter().find(|a| a.name == property.name);
        answer.is_some_and(is_late)
    };
    Asked {
        questions: answers.filter(late).map(|a| a.question.clone()).collect(),
        temporal: asked.temporal.iter().filter(is_late).copied().collect(),
    }
}

fn is_late(answer: &TemporalAnswer) -> bool {
    answer.verdict == Verdict::Unknown && temporal::limit(answer) == Some(Limit::Time)
}

/// Puts new answers in the place of old ones. Searches that answered nothing are forgotten: others
/// have done their work.
pub(super) fn merge(results: &mut Results, new: Results) {
    let report = &mut results.report;
    let before = report.runs.len();
    for mut answer in new.report.answers {
        answer.run += before;
        let same = |old: &&mut Answer| old.question == answer.question;
        if let Some(old) = report.answers.iter_mut().find(same) {
            *old = answer;
        }
    }
    report.runs.extend(new.report.runs);
    let used: Vec<bool> = (0..report.runs.len())
        .map(|run| report.answers.iter().any(|answer| answer.run == run))
        .collect();
    for answer in &mut report.answers {
        answer.run = used[..answer.run].iter().filter(|used| **used).count();
    }
    let mut used = used.into_iter();
    report.runs.retain(|_| used.next().unwrap_or(true));
    for answer in new.temporal {
        let mut old = results.temporal.iter_mut();
        if let Some(old) = old.find(|old| old.name == answer.name) {
            *old = answer;
        }
    }
}
