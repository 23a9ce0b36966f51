//! Asking a model questions: what it states, what the user adds, and the answers.

use std::fmt;

use stubborn_diagnostics::Span;
use stubborn_search::{
    End, Limits, Order, Progress, Search, SearchError, SearchResult, Stop, StoreKind, StoreOptions,
    Target, Violation,
};
use stubborn_system::{FailureKind, PropertyKind};

use crate::load::LoadedModel;

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
    /// Shuffles depth-first searches.
    pub seed: Option<u64>,
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
            seed: None,
            observer: None,
        }
    }
}

impl<'a> CheckOptions<'a> {
    /// A search of a model with these options, without targets.
    pub fn search<'m>(&self, model: &'m LoadedModel) -> Search<'m>
    where
        'a: 'm,
    {
        Search {
            replay: Some(model.reference()),
            order: self.order,
            threads: self.threads,
            store: self.store.clone(),
            limits: self.limits,
            seed: self.seed,
            observer: self.observer,
            ..Search::new(model.system())
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

/// Answers questions about a model.
///
/// Every counterexample was replayed by the reference execution of the model.
pub fn check(
    model: &LoadedModel,
    questions: &[Question],
    options: &CheckOptions<'_>,
) -> Result<Report, SearchError> {
    let mut targets: Vec<Target> = Vec::new();
    for question in questions {
        if !targets.contains(&question.target) {
            targets.push(question.target);
        }
    }
    let search = Search {
        targets,
        stop: Stop::AllViolated,
        ..options.search(model)
    };
    let result = search.run()?;
    let answers = questions.iter().map(|question| {
        let violation = result.violation(question.target).cloned();
        Answer {
            question: question.clone(),
            verdict: verdict(&result, violation.as_ref()),
            violation,
            run: 0,
        }
    });
    Ok(Report {
        answers: answers.collect(),
        runs: vec![Run {
            reduction: "none".into(),
            result,
        }],
    })
}

fn verdict(result: &SearchResult, violation: Option<&Violation>) -> Verdict {
    let lossy = matches!(result.store, StoreKind::Bitstate | StoreKind::Compact);
    match violation {
        Some(_) => Verdict::Violated,
        None if result.end == End::Complete && !lossy => Verdict::Holds,
        None => Verdict::Unknown,
    }
}
