//! A time limit is shared: no property takes what the others need.
//!
//! What needs one search is asked first, then each temporal property. Without a time limit, that is all.
//! Otherwise a first round with a part of the time answers what is quick. For what is left after it there is a
//! [hunt](stubborn::hunt), because where states are too many for the time, walks and searches in depth may
//! still find violations; then it gets a fair share each of all the rest. Whenever one needs less than its share,
//! the others have more; what is too little to search again is hunted for, too.
//!
//! Where one search is to answer everything, it has all the time, and pauses now and then for a hunt: for moments,
//! so that what ends in time still does, and longer once it looks as if it would not.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use stubborn::emptiness::CheckResult;
use stubborn::hunt::{Caught, Hunt};
use stubborn::{
    Answer, CheckError, CheckOptions, End, Limit, LoadedModel, Order, Progress, Question,
    QuestionKind, Report, Target, Temporal, TemporalAnswer, Verdict, Violation,
};

use super::asked::Asked;
use super::{Results, headline, temporal};

/// The first round has this part of the time.
const FIRST_ROUND: u32 = 4;
/// The hunt has this part of what the first round left. (Less than half, or it would not be worthwhile to
/// search again.)
const HUNT: u32 = 4;
/// A hunt for what one search was to answer has this part of what is left, before temporal properties are
/// asked.
const EARLY_HUNT: u32 = 16;
/// When a single search pauses, and for how long, in parts of the time; and whether only if it will not end in time.
const PAUSES: [(u32, u32, bool); 4] = [(8, 1, false), (16, 4, true), (34, 2, false), (36, 8, true)];
/// So many of these are all of it.
const PARTS: u32 = 64;
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
    // What is kept is where a list of searches is: it must be the same one when it is taken up.
    // And of several processes only one knows the time.
    let is_alone = options.engines.iter().all(|one| one.cluster().is_none());
    let may_pause = options.keeping.is_none() && is_alone;
    // What is asked of a graphics card alone is not hunted here.
    let hunts = options.temporal_engine.is_none();
    let is_first = Cell::new(true);
    let left = |part: u32| budget.time_left().unwrap_or_default() / part;
    let round = |asked: &Asked<'_>, options: &CheckOptions<'_>, time: Option<Duration>| {
        let started = Instant::now();
        let mut results = Results::default();
        let mut options = options.clone();
        options.limits.time = time;
        if !asked.questions.is_empty() {
            if !asked.temporal.is_empty() {
                options.limits.time = time.map(|time| time / parts(asked));
            }
            results.report = safety(&asked.questions, &options)?;
            if hunts && is_first.take() && time.is_some() && !asked.temporal.is_empty() {
                hunt_open(model, asked, &options, left(EARLY_HUNT), &mut results)?;
            }
            options.limits.time = time.map(|time| time.saturating_sub(started.elapsed()));
        }
        results.temporal = stubborn::check_temporal(model, &asked.temporal, &options)?;
        Ok(results)
    };
    let Some(time) = budget.time_left().filter(|_| may_pause) else {
        return round(asked, options, None);
    };
    if parts(asked) == 1 && hunts {
        return with_pauses(model, asked, options, time, &|options| {
            round(asked, options, None)
        });
    }
    let mut share = time / FIRST_ROUND / parts(asked);
    let mut results = round(asked, options, Some(time / FIRST_ROUND))?;
    if hunts {
        hunt_open(model, asked, options, left(HUNT), &mut results)?;
    }
    loop {
        let again = unanswered(&results, asked);
        if again.is_empty() || budget.poll().is_some() {
            return Ok(results);
        }
        let next = left(parts(&again));
        if next < share * WORTHWHILE {
            if hunts {
                hunt_open(model, asked, options, left(1), &mut results)?;
            }
            return Ok(results);
        }
        share = next;
        merge(&mut results, round(&again, options, Some(left(1)))?);
    }
}

/// A single search with all the time, which pauses now and then for a hunt.
fn with_pauses(
    model: &LoadedModel,
    asked: &Asked<'_>,
    options: &CheckOptions<'_>,
    time: Duration,
    search: &dyn Fn(&CheckOptions<'_>) -> Result<Results, CheckError>,
) -> Result<Results, CheckError> {
    let started = Instant::now();
    let enough = AtomicBool::new(false);
    // Where not all that waits has to be expanded, nobody knows how much is left.
    let by_levels = options.order == Order::BreadthFirst && asked.temporal.is_empty();
    let hunted: Mutex<(Pauses, Result<Vec<Catch<'_>>, CheckError>)> =
        Mutex::new((Pauses::default(), Ok(Vec::new())));
    // (It is called by the search, which waits for it.)
    let observer = |progress: &Progress| {
        if let Some(observer) = options.observer {
            observer(progress);
        }
        let Ok(mut hunted) = hunted.try_lock() else {
            return;
        };
        let (pauses, caught) = &mut *hunted;
        let Ok(known) = caught else {
            return;
        };
        let waiting = if by_levels { progress.queue } else { 0 };
        let Some(long) = pauses.next(started.elapsed(), time, progress.states, waiting) else {
            return;
        };
        let is_open = |title: &str| !known.iter().any(|catch| catch.title() == title);
        let mut open = asked.clone();
        open.questions.retain(|q| is_open(&headline(q)));
        open.temporal.retain(|t| is_open(&t.title));
        let options = CheckOptions {
            // Another one each time.
            seed: Some(options.seed.unwrap_or_default() + pauses.number as u64),
            ..options.clone()
        };
        let before = Instant::now();
        match hunt(model, open, &options, long) {
            Ok(new) => known.extend(new),
            Err(error) => *caught = Err(error),
        }
        pauses.hunted += before.elapsed();
        let number = caught.as_ref().map_or(usize::MAX, Vec::len);
        if number >= asked.questions.len() + asked.temporal.len() {
            enough.store(true, Ordering::Relaxed);
        }
    };
    let mut options = options.clone();
    options.observer = Some(&observer);
    options.limits.interrupt = options.limits.interrupt.or(Some(&enough));
    let mut results = search(&options)?;
    let (_, caught) = hunted.into_inner().unwrap_or_else(PoisonError::into_inner);
    for catch in caught? {
        catch.put_into(model, &mut results);
    }
    Ok(results)
}

/// The pauses of a single search.
#[derive(Debug, Default)]
struct Pauses {
    /// How many are over.
    number: usize,
    /// How long they took.
    hunted: Duration,
    /// The most states that ever waited.
    most: u64,
}

impl Pauses {
    /// Whether it is time for one, and how long it may be: so much of the `time` is over, so many states were
    /// found, and so many of them wait to be expanded.
    fn next(
        &mut self,
        elapsed: Duration,
        time: Duration,
        states: u64,
        waiting: u64,
    ) -> Option<Duration> {
        self.most = self.most.max(waiting);
        let &(after, long, only_if_late) = PAUSES.get(self.number)?;
        if elapsed < time * after / PARTS {
            return None;
        }
        self.number += 1;
        let searched = elapsed.saturating_sub(self.hunted).as_secs_f64();
        let left = time.saturating_sub(elapsed).as_secs_f64();
        // What waits has to be expanded, whatever else is found.
        let expanded = states.saturating_sub(waiting) as f64;
        let too_many = waiting as f64 * searched > expanded * left;
        // Levels grow, and then shrink: as long as they grow, half of it is still to come.
        let grows = waiting > 0 && waiting >= self.most - self.most / 16;
        let is_late = too_many || grows && searched > left;
        (is_late || !only_if_late).then(|| time * long / PARTS)
    }
}

/// What a hunt has caught, and how.
enum Catch<'m> {
    Question(Question, Box<Violation>, String),
    Temporal(&'m Temporal, Box<CheckResult>, String),
}

impl Catch<'_> {
    fn title(&self) -> String {
        match self {
            Self::Question(question, ..) => headline(question),
            Self::Temporal(temporal, ..) => temporal.title.clone(),
        }
    }

    /// Answers what has no answer.
    fn put_into(self, model: &LoadedModel, results: &mut Results) {
        let title = self.title();
        match self {
            Self::Question(question, violation, notice) => {
                let mut answers = results.report.answers.iter_mut();
                let open =
                    |a: &&mut Answer| a.question == question && a.verdict == Verdict::Unknown;
                if let Some(answer) = answers.find(open) {
                    answer.verdict = match question.kind {
                        QuestionKind::Reach => Verdict::Holds,
                        _ => Verdict::Violated,
                    };
                    answer.violation = Some(*violation);
                    results.hunted.push((title, notice));
                }
            }
            Self::Temporal(temporal, found, notice) => {
                let run = found.counterexample.as_ref().map(|found| &found.trace);
                let failure = run.and_then(|run| temporal.evaluations.first_failure(model, run));
                let mut answers = results.temporal.iter_mut();
                let open = |a: &&mut TemporalAnswer| {
                    a.name == temporal.name && a.verdict == Verdict::Unknown
                };
                if let Some(answer) = answers.find(open) {
                    answer.verdict = Verdict::Violated;
                    answer.failure = failure;
                    answer.result = Some(*found);
                    answer.notice = Some(notice.clone());
                    results.hunted.push((title, notice));
                }
            }
        }
    }
}

/// Hunts for violations of what has no answer for lack of time.
fn hunt_open(
    model: &LoadedModel,
    asked: &Asked<'_>,
    options: &CheckOptions<'_>,
    time: Duration,
    results: &mut Results,
) -> Result<(), CheckError> {
    for catch in hunt(model, unanswered(results, asked), options, time)? {
        catch.put_into(model, results);
    }
    Ok(())
}

/// Hunts for violations, one after the other.
fn hunt<'m>(
    model: &LoadedModel,
    mut left: Asked<'m>,
    options: &CheckOptions<'_>,
    time: Duration,
) -> Result<Vec<Catch<'m>>, CheckError> {
    let started = Instant::now();
    let mut all = Vec::new();
    left.temporal.retain(|temporal| temporal.property.is_ok());
    loop {
        let time = time.saturating_sub(started.elapsed());
        if left.is_empty() || time.is_zero() {
            return Ok(all);
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
        all.push(match report.caught {
            None => return Ok(all),
            Some(Caught::Target(at, violation)) => {
                let question = left.questions.remove(at);
                let (kind, target) = (question.kind, question.target);
                // Where it cannot be evaluated, nobody knows whether it is reached.
                if let (QuestionKind::Reach, Target::Label(label)) = (kind, target)
                    && model.why_label_fails(label, &violation.state).is_some()
                {
                    continue;
                }
                Catch::Question(question, violation, notice)
            }
            Some(Caught::Temporal(at, found)) => {
                Catch::Temporal(left.temporal.remove(at), found, notice)
            }
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a search of 1,000 states a second hunts in 1,000 seconds, of which so many wait after so many
    /// seconds of searching.
    fn hunted(waiting: impl Fn(u64) -> u64) -> f64 {
        let time = Duration::from_secs(1000);
        let mut pauses = Pauses::default();
        let mut now = Duration::ZERO;
        while now < time {
            now += Duration::from_secs(1);
            let searched = (now - pauses.hunted).as_secs();
            let long = pauses.next(now, time, searched * 1000, waiting(searched));
            let long = long.unwrap_or_default();
            pauses.hunted += long;
            now += long;
        }
        pauses.hunted.as_secs_f64()
    }

    #[test]
    fn a_search_that_can_end_in_time_hardly_pauses() {
        for hunted in [
            hunted(|_| 0),
            // Levels grow until the middle of its 950 seconds.
            hunted(|at| 100 * at.min(950u64.saturating_sub(at))),
        ] {
            assert!(hunted > 0.0 && hunted < 50.0, "{hunted}");
        }
    }

    #[test]
    fn a_search_that_cannot_end_in_time_hunts() {
        // One state in ten waits, always: levels grow.
        let grows = hunted(|at| 100 * at);
        assert!(grows > 150.0 && grows < 180.0, "{grows}");
        // There is more to do than time, early on.
        let early = hunted(|at| 900 * at);
        assert!(early > 220.0 && early < 250.0, "{early}");
    }
}
