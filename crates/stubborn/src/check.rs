//! Asking a model questions: what it states, what the user adds, and the answers.

use stubborn_diagnostics::Span;
use stubborn_plan::{CheckError, CheckOptions, Planner, Run, Verdict};
use stubborn_search::{Stop, Target, Violation};
use stubborn_system::{FailureKind, PropertyKind, Structure, System};

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
    /// Something that should be reachable: it holds if its target is found.
    Reach,
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
            Self::Reach => "reach",
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
    questions_of(model.system().structure())
}

fn questions_of(structure: &Structure) -> Vec<Question> {
    let deadlock = match structure.valid_end {
        None => Question::no_deadlock(),
        Some(_) => Question {
            name: "invalid end".into(),
            target: Target::InvalidEnd,
            ..Question::no_deadlock()
        },
    };
    let mut all = vec![deadlock];
    let is_error = |f: &stubborn_system::FailureSite| f.kind.is_error();
    if structure.error_state.is_some() && structure.failures.iter().any(is_error) {
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
            PropertyKind::Reachable => QuestionKind::Reach,
        },
        target: Target::Label(property.violated_by),
        span: property.span,
    }));
    all
}

/// A question with its verdict.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The answer.
    pub verdict: Verdict,
    /// How it happens, if it does: the counterexample, or the witness of what is reachable.
    pub violation: Option<Violation>,
    /// Which of the [runs](Report::runs) gave the answer.
    pub run: usize,
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
        Verdict::of_all(self.answers.iter().map(|answer| answer.verdict))
    }
}

/// Answers everything that a system of anybody's own states: no deadlock, no failing step, no
/// violated assertion, its properties. Its laws are those of [`stubborn_system`]; whatever says
/// which fields its transitions read and write is reduced.
///
/// # Errors
/// As [`Planner::check`](stubborn_plan::Planner::check).
pub fn check_system(system: &dyn System, options: &CheckOptions<'_>) -> Result<Report, CheckError> {
    let questions = questions_of(system.structure());
    answer(&Planner::new(system, options), &questions)
}

/// Answers questions about a model, by one search or by several.
///
/// Every counterexample was replayed by the reference execution of the model.
///
/// # Errors
/// As [`Planner::check`](stubborn_plan::Planner::check).
pub fn check(
    model: &LoadedModel,
    questions: &[Question],
    options: &CheckOptions<'_>,
) -> Result<Report, CheckError> {
    let mut report = answer(&planner(model, options), questions)?;
    for answer in &mut report.answers {
        // Where it cannot be evaluated, nobody knows whether it is reached.
        if let (QuestionKind::Reach, Target::Label(label), Some(found)) = (
            answer.question.kind,
            answer.question.target,
            &answer.violation,
        ) && model.why_label_fails(label, &found.state).is_some()
        {
            answer.verdict = Verdict::Unknown;
        }
    }
    Ok(report)
}

fn answer(planner: &Planner<'_>, questions: &[Question]) -> Result<Report, CheckError> {
    let targets: Vec<Target> = questions.iter().map(|question| question.target).collect();
    let found = planner.check(&targets, Stop::AllViolated)?;
    let answers = questions.iter().zip(found.answers);
    Ok(Report {
        answers: answers
            .map(|(question, answer)| Answer {
                question: question.clone(),
                verdict: match question.kind {
                    QuestionKind::Reach => answer.verdict.inverted(),
                    _ => answer.verdict,
                },
                violation: answer.violation,
                run: answer.run,
            })
            .collect(),
        runs: found.runs,
    })
}

/// Explores the whole state space, reduced so that every deadlock is kept.
///
/// # Errors
/// As [`Planner::explore`](stubborn_plan::Planner::explore).
pub fn explore(model: &LoadedModel, options: &CheckOptions<'_>) -> Result<Run, CheckError> {
    planner(model, options).explore()
}

/// Who answers questions about a model.
pub(crate) fn planner<'m>(model: &'m LoadedModel, options: &'m CheckOptions<'m>) -> Planner<'m> {
    Planner::new(model.system(), options)
        .replayed_on(model.reference())
        .sharing_relations(model.relations(options.reduction.relations))
}
