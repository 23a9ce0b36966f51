//! Answers to temporal properties, one after the other, with what users should know of them.

use stubborn_emptiness::{CheckResult, FiniteRuns, Property, ReductionOff, ReductionUse};
use stubborn_plan::{CheckError, CheckOptions, Planner, Por, TemporalQuestion, Verdict};
use stubborn_search::Trace;

use super::branching::CtlResult;
use super::evaluation::EvaluationFailure;
use super::vacuity::irrelevant_parts;
use super::{Obstacle, Temporal};
use crate::check::planner;
use crate::load::LoadedModel;

/// So many states may be looked at to find parts of a formula that do not matter.
const FEW_STATES: u64 = 20_000;
/// A check may take so long for that, and twice as long as the first one took.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(100);

/// A temporal property with its verdict.
#[derive(Clone, Debug)]
pub struct TemporalAnswer {
    /// Of the property.
    pub name: String,
    /// What should hold, in words.
    pub title: String,
    /// The answer.
    pub verdict: Verdict,
    /// The reduction, `none` if there was none.
    pub reduction: String,
    /// What the user should know about how the answer was found.
    pub notice: Option<String>,
    /// What the check found, a counterexample too; `None` if there was no check.
    pub result: Option<CheckResult>,
    /// What was done besides to find evaluations that fail, if anything: where not all runs count.
    pub evaluated: Option<Box<CheckResult>>,
    /// The evaluation that failed, if that is the violation.
    pub failure: Option<EvaluationFailure>,
    /// What was found about a property of branching time.
    pub branching: Option<CtlResult>,
    /// Parts of a formula that holds, as text: it holds whatever they are. (Looked for within
    /// limits, and if [that](stubborn_plan::TemporalOptions::vacuity) is asked for.)
    pub vacuous: Vec<String>,
}

/// Answers temporal properties of a model, one after the other. Each gets its fair share of the
/// time that is left.
///
/// Every counterexample was replayed by the reference execution of the model.
pub fn check_temporal(
    model: &LoadedModel,
    properties: &[&Temporal],
    options: &CheckOptions<'_>,
) -> Result<Vec<TemporalAnswer>, CheckError> {
    let checker = Checker {
        model,
        options,
        planner: planner(model, options),
    };
    let parts = properties.len();
    let answers = properties.iter().enumerate().map(|(at, property)| {
        checker.planner.allot(None);
        // (What is kept goes on where it was, and so with the same property.)
        if let (Some(left), 2.., None) = (checker.planner.time_left(), parts - at, options.keeping)
        {
            let share = left / u32::try_from(parts - at).unwrap_or(u32::MAX);
            checker.planner.allot(Some(share));
        }
        checker.answer(property)
    });
    let mut answers: Vec<TemporalAnswer> = answers.collect::<Result<_, _>>()?;
    if options.temporal.vacuity {
        checker.planner.allot(None);
        for (answer, temporal) in answers.iter_mut().zip(properties) {
            if let (Verdict::Holds, Ok(property)) = (answer.verdict, &temporal.property) {
                answer.vacuous = checker.vacuous_parts(property, answer.result.as_ref());
            }
        }
    }
    Ok(answers)
}

struct Checker<'a> {
    model: &'a LoadedModel,
    options: &'a CheckOptions<'a>,
    planner: Planner<'a>,
}

impl Checker<'_> {
    fn answer(&self, temporal: &Temporal) -> Result<TemporalAnswer, CheckError> {
        let mut answer = TemporalAnswer {
            name: temporal.name.clone(),
            title: temporal.title.clone(),
            verdict: Verdict::Unknown,
            reduction: "none".into(),
            notice: None,
            result: None,
            evaluated: None,
            failure: None,
            branching: None,
            vacuous: Vec::new(),
        };
        let property = match &temporal.property {
            Ok(property) => property,
            Err(Obstacle::Branching(property)) => {
                let partial = temporal.evaluations.partial();
                let result = property.check(self.model, &self.planner.limits(), partial)?;
                answer.verdict = result.verdict;
                answer.branching = Some(result);
                return Ok(answer);
            }
            Err(Obstacle::TooLarge(why) | Obstacle::Wrong(why) | Obstacle::CountsSteps(why)) => {
                answer.notice = Some(why.clone());
                return Ok(answer);
            }
        };
        if !self.options.store.kind.is_exact() {
            answer.notice = Some(
                "not checked: temporal properties need a store that keeps states apart, `tree` \
                 or `plain`"
                    .into(),
            );
            return Ok(answer);
        }
        let question = TemporalQuestion {
            property,
            finite_runs: self.options.temporal.finite_runs,
        };
        let elsewhere = self.options.temporal_engine;
        let elsewhere = elsewhere.map(|engine| engine.takes(question, &self.options.temporal));
        let found = self.planner.check_temporal(question)?;
        let (result, unpaid) = (found.result, found.unpaid);
        answer.verdict = result.verdict.into();
        answer.notice = match &result.reduction {
            ReductionUse::On { name, .. } => {
                // Its variants are left out, as for other questions.
                answer.reduction = name.split_whitespace().next().unwrap_or("none").into();
                None
            }
            ReductionUse::Off(ReductionOff::NotAsked) => unpaid.then(|| {
                "checked without reduction: a sample of states had too little to leave out".into()
            }),
            ReductionUse::Off(why) => Some(format!("checked without reduction: {why}")),
        };
        if let Some(Err(why)) = elsewhere {
            answer.notice = Some(format!("checked on the processor: {why}"));
        }
        answer.result = Some(result);
        if !temporal.evaluations.is_empty() {
            self.evaluate(temporal, question.finite_runs, &mut answer)?;
        }
        Ok(answer)
    }

    /// Parts that do not matter to a formula that holds, as far as they are found in about as many
    /// states as the check took.
    fn vacuous_parts(&self, property: &Property, result: Option<&CheckResult>) -> Vec<String> {
        let (Some(formula), Some(result)) = (property.formula(), result) else {
            return Vec::new();
        };
        let mut left = result.counts.states.max(FEW_STATES);
        irrelevant_parts(formula, |property| {
            let mut options = self.options.clone();
            options.temporal_engine = None;
            options.temporal.counterexample = false;
            // It is not worth going on with, and has limits that no other run has.
            options.keeping = None;
            options.limits = self.planner.limits();
            options.limits.pause = None;
            let most = options.limits.states.unwrap_or(u64::MAX);
            options.limits.states = Some(left.min(most));
            // Nobody waits much longer for what he has not asked for, nor has less time for others.
            let longest = (result.prepare_time + result.time) * 2 + MOMENT;
            let spare = options.limits.time.map_or(longest, |time| time / 8);
            options.limits.time = Some(longest.min(spare));
            let changed = TemporalQuestion {
                property,
                finite_runs: self.options.temporal.finite_runs,
            };
            if matches!(options.reduction.por, Por::Auto) && !self.planner.knows_relations() {
                options.reduction.por = Por::None;
            }
            // (What goes wrong here is about a question that nobody has asked.)
            let found = planner(self.model, &options).check_temporal(changed).ok()?;
            left = left.checked_sub(found.result.counts.states)?;
            Some(found.result.verdict)
        })
    }

    /// Looks for evaluations that fail: along the run that was found, or everywhere.
    fn evaluate(
        &self,
        temporal: &Temporal,
        finite_runs: FiniteRuns,
        answer: &mut TemporalAnswer,
    ) -> Result<(), CheckError> {
        let evaluations = &temporal.evaluations;
        let along = |run: &Trace| evaluations.first_failure(self.model, run);
        if answer.verdict == Verdict::Violated {
            let found = answer
                .result
                .as_ref()
                .and_then(|r| r.counterexample.as_ref());
            answer.failure = found.and_then(|found| along(&found.trace));
            return Ok(());
        }
        // Where all runs count, the product has shown it.
        // (What is reached is on a fair run, too.)
        let alone = evaluations.alone();
        let Some(property) = alone.filter(|_| finite_runs != FiniteRuns::Stutter) else {
            return Ok(());
        };
        let question = TemporalQuestion {
            property,
            finite_runs: FiniteRuns::Stutter,
        };
        let result = self.planner.check_temporal(question)?.result;
        let found = result.counterexample.as_ref();
        let failure = found.and_then(|found| along(&found.trace));
        let verdict: Verdict = result.verdict.into();
        if verdict == Verdict::Violated || answer.verdict == Verdict::Holds {
            answer.verdict = verdict;
        }
        if verdict == Verdict::Violated && failure.is_none() {
            answer.notice = Some("in some state a proposition cannot be evaluated".into());
        }
        (answer.failure, answer.evaluated) = (failure, Some(Box::new(result)));
        Ok(())
    }
}
