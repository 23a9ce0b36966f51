//! Asking a model questions: what it states, what the user adds, and the answers.

use std::fmt;
use std::time::{Duration, Instant};

use stubborn_diagnostics::Span;
use stubborn_reduce::ConfigError;
use stubborn_search::{
    Limits, Order, Progress, Search, SearchError, SearchResult, Stop, StoreOptions, Target,
    Violation,
};
use stubborn_system::{FailureKind, PropertyKind};

use crate::auto::Decider;
use crate::load::LoadedModel;
use crate::reduction::{PlannedRun, Por, ReductionOptions, chosen, unreduced};
use crate::temporal::TemporalOptions;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// States without any step.
    Deadlock,
    /// An assertion of the model.
    Assertion,
    /// An invariant of the user.
    Invariant,
    /// Steps that fail: indices, ranges, divisions.
    Error,
}

impl QuestionKind {
    /// As results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Assertion => "assertion",
            Self::Invariant => "invariant",
            Self::Error => "error",
        }
    }
}

/// A property that should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// For people, and for `--property`.
    pub name: String,
    /// What it is about.
    pub kind: QuestionKind,
    /// What must not happen.
    pub target: Target,
    /// Where it stands in the model's text.
    pub span: Option<Span>,
}

impl Question {
    /// No state without any step, not even a valid end.
    pub fn no_deadlock() -> Self {
        Self {
            name: "deadlock".into(),
            kind: QuestionKind::Deadlock,
            target: Target::Deadlock,
            span: None,
        }
    }
}

/// Everything that a model states, and the invariants it was loaded with: no deadlock (no
/// invalid end in a language with end states), no failing step, no violated assertion.
pub fn questions(model: &LoadedModel) -> Vec<Question> {
    let structure = model.system().structure();
    let deadlock = match structure.valid_end {
        None => Question::no_deadlock(),
        Some(_) => Question {
            name: "invalid end".into(),
            target: Target::InvalidEnd,
            ..Question::no_deadlock()
        },
    };
    let mut all = vec![deadlock];
    if structure.error_state.is_some() {
        all.push(Question {
            name: "errors".into(),
            kind: QuestionKind::Error,
            target: Target::Errors,
            span: None,
        });
    }
    let is_assertion = |f: &stubborn_system::FailureSite| f.kind == FailureKind::Assertion;
    if structure.failures.iter().any(is_assertion) {
        all.push(Question {
            name: "assertions".into(),
            kind: QuestionKind::Assertion,
            target: Target::Assertions,
            span: None,
        });
    }
    all.extend(structure.properties.iter().map(|property| Question {
        name: property.name.clone(),
        kind: match property.kind {
            PropertyKind::Assertion => QuestionKind::Assertion,
            PropertyKind::Invariant => QuestionKind::Invariant,
        },
        target: Target::Label(property.violated_by),
        span: property.span,
    }));
    all
}

/// How to look for answers.
#[derive(Clone)]
pub struct CheckOptions<'a> {
    /// In which order states are visited. Breadth-first gives shortest counterexamples.
    pub order: Order,
    /// On how many threads.
    pub threads: usize,
    /// How states are stored.
    pub store: StoreOptions,
    /// When to give up.
    pub limits: Limits<'a>,
    /// What may be left out.
    pub reduction: ReductionOptions,
    /// Shuffles depth-first searches.
    pub seed: Option<u64>,
    /// How temporal properties are checked.
    pub temporal: TemporalOptions,
    /// Told how far the search is.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

impl Default for CheckOptions<'_> {
    fn default() -> Self {
        Self {
            order: Order::default(),
            threads: 1,
            store: StoreOptions::default(),
            limits: Limits::default(),
            reduction: ReductionOptions::default(),
            seed: None,
            temporal: TemporalOptions::default(),
            observer: None,
        }
    }
}

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything was explored, and nothing bad found.
    Holds,
    /// It can happen.
    Violated,
    /// A limit was reached, or the store is lossy, and nothing bad was found.
    Unknown,
}

impl Verdict {
    /// As results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A question with its verdict.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The answer.
    pub verdict: Verdict,
    /// How it happens, if it does.
    pub violation: Option<Violation>,
    /// Which of the [runs](Report::runs) gave the answer.
    pub run: usize,
}

/// One search.
#[derive(Clone, Debug)]
pub struct Run {
    /// The reduction, `none` if there was none.
    pub reduction: String,
    /// What it learnt.
    pub result: SearchResult,
}

/// The answers to all questions.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the questions.
    pub answers: Vec<Answer>,
    /// The searches that gave them.
    pub runs: Vec<Run>,
}

impl Report {
    /// Violated if anything is; else unknown if anything is.
    pub fn verdict(&self) -> Verdict {
        let has = |verdict| self.answers.iter().any(|a| a.verdict == verdict);
        if has(Verdict::Violated) {
            Verdict::Violated
        } else if has(Verdict::Unknown) {
            Verdict::Unknown
        } else {
            Verdict::Holds
        }
    }
}

/// Why no answers can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// The chosen reduction does not exist, or not for these questions.
    Reduction(ConfigError),
    /// The search cannot be run, or not be trusted.
    Search(SearchError),
    /// The model starts more processes than it was prepared for: [`LoadedModel::grow`] it,
    /// and ask again.
    Outgrown,
    /// The engine does not take it; why.
    Refused(String),
    /// The engine turned out not to be able to answer; why.
    NoAnswer(String),
}

impl From<ConfigError> for CheckError {
    fn from(error: ConfigError) -> Self {
        Self::Reduction(error)
    }
}

impl From<SearchError> for CheckError {
    fn from(error: SearchError) -> Self {
        Self::Search(error)
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reduction(error) => error.fmt(f),
            Self::Search(error) => error.fmt(f),
            Self::Outgrown => f.write_str("the model starts more processes than it has room for"),
            Self::Refused(reason) | Self::NoAnswer(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for CheckError {}

/// Answers questions about a model, by one search or by several.
///
/// Every counterexample was replayed by the reference execution of the model.
pub fn check(
    model: &LoadedModel,
    questions: &[Question],
    options: &CheckOptions<'_>,
) -> Result<Report, CheckError> {
    check_until(model, questions, options, Stop::AllViolated)
}

/// The same, until enough is known.
pub(crate) fn check_until(
    model: &LoadedModel,
    questions: &[Question],
    options: &CheckOptions<'_>,
    stop: Stop,
) -> Result<Report, CheckError> {
    let started = Instant::now();
    let run = |planned: &PlannedRun<'_>, decider: Option<&mut Decider<'_, '_>>| {
        let search = Search {
            stop,
            ..search(model, questions, planned, options, started)
        };
        run(model, search, decider)
    };
    let plan = match options.reduction.por {
        Por::Auto => {
            let most = options.limits.states;
            let mut decider = Decider::new(model, questions, &options.reduction, most);
            let unreduced = unreduced(questions);
            let result = run(&unreduced, Some(&mut decider))?;
            match decider.plan(&result) {
                Some(plan) => plan,
                None => return Ok(report(questions, vec![(unreduced, result)])),
            }
        }
        Por::None => Ok(vec![unreduced(questions)]),
        Por::Chosen(ref config) => chosen(model, questions, config, &options.reduction),
    };
    let mut runs = Vec::new();
    for planned in plan? {
        let result = run(&planned, None)?;
        runs.push((planned, result));
    }
    Ok(report(questions, runs))
}

/// Runs a search, in several goes if somebody decides after each whether it goes on.
fn run(
    model: &LoadedModel,
    search: Search<'_>,
    decider: Option<&mut Decider<'_, '_>>,
) -> Result<SearchResult, CheckError> {
    let result = match decider {
        None => search.run(),
        Some(decider) => search.begin().and_then(|mut exploration| {
            let mut most = Some(decider.first_pause());
            while let Some(states) = most {
                exploration.explore(most);
                most = match exploration.is_waiting() {
                    true => decider.ask(states, exploration.level_sizes()),
                    false => None,
                };
            }
            exploration.finish()
        }),
    };
    // A search of too small a model ends early, and may not make sense.
    if model.is_outgrown() {
        return Err(CheckError::Outgrown);
    }
    Ok(result?)
}

/// The answers of all searches, in the order of the questions.
fn report(questions: &[Question], runs: Vec<(PlannedRun<'_>, SearchResult)>) -> Report {
    let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
    let mut report = Report::default();
    for (planned, result) in runs {
        for at in &planned.questions {
            let question = questions[*at].clone();
            let violation = result.violation(question.target).cloned();
            answers[*at] = Some(Answer {
                verdict: verdict(&result, violation.as_ref()),
                question,
                violation,
                run: report.runs.len(),
            });
        }
        report.runs.push(Run {
            reduction: planned.name(),
            result,
        });
    }
    report.answers = answers.into_iter().flatten().collect();
    report
}

/// Explores the whole state space, reduced so that every deadlock is kept.
pub fn explore(model: &LoadedModel, options: &CheckOptions<'_>) -> Result<Run, CheckError> {
    let started = Instant::now();
    // The question decides what is kept; nothing is looked for.
    let question = [Question::no_deadlock()];
    let run = |planned: &PlannedRun<'_>, decider: Option<&mut Decider<'_, '_>>| {
        let full = Search {
            targets: Vec::new(),
            stop: Stop::Never,
            ..search(model, &question, planned, options, started)
        };
        run(model, full, decider)
    };
    let unreduced = unreduced(&question);
    let plan = match options.reduction.por {
        Por::Auto => {
            let most = options.limits.states;
            let mut decider = Decider::new(model, &question, &options.reduction, most);
            let result = run(&unreduced, Some(&mut decider))?;
            match decider.plan(&result) {
                Some(plan) => plan,
                None => {
                    return Ok(Run {
                        reduction: unreduced.name(),
                        result,
                    });
                }
            }
        }
        Por::None => Ok(Vec::new()),
        Por::Chosen(ref config) => chosen(model, &question, config, &options.reduction),
    }?;
    let planned = plan.first().unwrap_or(&unreduced);
    Ok(Run {
        result: run(planned, None)?,
        reduction: planned.name(),
    })
}

/// One of the searches, with what is left of the time.
fn search<'r>(
    model: &'r LoadedModel,
    questions: &[Question],
    planned: &'r PlannedRun<'r>,
    options: &CheckOptions<'r>,
    started: Instant,
) -> Search<'r> {
    let mut targets: Vec<Target> = Vec::new();
    for question in planned.questions.iter().filter_map(|at| questions.get(*at)) {
        if !targets.contains(&question.target) {
            targets.push(question.target);
        }
    }
    let reduction = planned.reduction.as_ref();
    let left = |time: Duration| time.saturating_sub(started.elapsed());
    Search {
        replay: Some(model.reference()),
        reduction: reduction.map(|r| r.as_dyn()),
        proviso: planned.proviso(options.reduction.proviso, options.order, options.threads),
        order: options.order,
        threads: options.threads,
        store: options.store.clone(),
        limits: Limits {
            time: options.limits.time.map(left),
            ..options.limits
        },
        targets,
        stop: Stop::AllViolated,
        seed: options.seed,
        observer: options.observer,
        ..Search::new(model.system())
    }
}

pub(crate) fn verdict(result: &SearchResult, violation: Option<&Violation>) -> Verdict {
    match violation {
        Some(_) => Verdict::Violated,
        None if result.is_complete() => Verdict::Holds,
        None => Verdict::Unknown,
    }
}
