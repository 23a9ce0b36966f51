//! Answers to temporal properties.
//!
//! Each property is a check of its own, of the product with its automaton. With `auto`, it begins
//! without reduction, and most are done so. After some states it waits. If a reduction leaves few
//! states of the system, the check starts anew with it. Otherwise a reduced one is tried with a part
//! of the states: if it ends, that is the answer, and if not, the check goes on where it was, and
//! tries again later. So reduction costs a fraction of the unreduced check at most.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use stubborn_emptiness::{
    Check, CheckResult, FiniteRuns, Fitting, Property, ReductionOff, ReductionRequest,
    ReductionUse, SteeringMode,
};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Plan, StubbornReduction};
use stubborn_search::{Beyond, Limit, Limits, Reached, Stop, Target, Trace};
use stubborn_system::Relations;

use super::branching::CtlResult;
use super::evaluation::{EvaluationFailure, Evaluations};
use super::{Obstacle, Temporal};
use crate::auto::{LARGEST_SHARE, state_share};
use crate::check::{self as safety, CheckError, CheckOptions, Run, Verdict};
use crate::load::LoadedModel;
use crate::reduction::{Por, ProvisoChoice};

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
    /// What was done besides to find evaluations that fail, if anything.
    pub evaluated: Option<Evaluated>,
    /// The evaluation that failed, if that is the violation.
    pub failure: Option<EvaluationFailure>,
    /// What was found about a property of branching time.
    pub branching: Option<CtlResult>,
}

/// How evaluations that fail were looked for.
#[derive(Clone, Debug)]
pub enum Evaluated {
    /// By a search of the system.
    System(Box<Run>),
    /// In the product with the claim.
    Product(Box<CheckResult>),
}

/// Answers temporal properties of a model, one after the other.
///
/// Every counterexample was replayed by the reference execution of the model.
pub fn check_temporal(
    model: &LoadedModel,
    properties: &[&Temporal],
    options: &CheckOptions<'_>,
) -> Result<Vec<TemporalAnswer>, CheckError> {
    if let Some(proviso) = options.reduction.cycle_proviso.filter(|p| !p.is_sound()) {
        return Err(CheckError::Reduction(ConfigError::new(format!(
            "`{proviso}` loses violations: it is for `explore`, to measure what provisos cost"
        ))));
    }
    let checker = Checker {
        model,
        options,
        started: Instant::now(),
        relations: OnceLock::new(),
    };
    properties.iter().map(|p| checker.answer(p)).collect()
}

/// A property, and what runs that end mean for it.
#[derive(Clone, Copy)]
struct Question<'q> {
    property: &'q Property,
    finite_runs: FiniteRuns,
}

fn verdict_of(result: &CheckResult) -> Verdict {
    match result.verdict {
        stubborn_emptiness::Verdict::Holds => Verdict::Holds,
        stubborn_emptiness::Verdict::Violated => Verdict::Violated,
        stubborn_emptiness::Verdict::Unknown(_) => Verdict::Unknown,
    }
}

struct Checker<'a, 'o> {
    model: &'a LoadedModel,
    options: &'a CheckOptions<'o>,
    started: Instant,
    relations: OnceLock<Relations>,
}

impl<'o> Checker<'_, 'o> {
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
        };
        let property = match &temporal.property {
            Ok(property) => property,
            Err(Obstacle::Branching(property)) => {
                let partial = temporal.evaluations.partial();
                let result = property.check(self.model, &self.limits(), partial)?;
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
        let question = Question {
            property,
            finite_runs: self.options.temporal.finite_runs,
        };
        let (result, unpaid) = self.run(question)?;
        answer.verdict = verdict_of(&result);
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
        answer.result = Some(result);
        if !temporal.evaluations.is_empty() {
            self.evaluate(temporal, question.finite_runs, &mut answer)?;
        }
        Ok(answer)
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
        let (verdict, failure, evaluated) = match evaluations.of_claim_alone() {
            None => {
                let run = self.search_failures(evaluations)?;
                let violations = run.result.violations.iter();
                let failure = violations.filter_map(|v| v.trace.as_ref()).find_map(along);
                let verdict = crate::check::verdict(&run.result, run.result.violations.first());
                (verdict, failure, Evaluated::System(Box::new(run)))
            }
            // Where all runs count, the product has shown it.
            // (What is reached is on a fair run, too.)
            Some(_) if finite_runs == FiniteRuns::Stutter => return Ok(()),
            Some(property) => {
                let (result, _) = self.run(Question {
                    property,
                    finite_runs: FiniteRuns::Stutter,
                })?;
                let found = result.counterexample.as_ref();
                let failure = found.and_then(|found| along(&found.trace));
                (
                    verdict_of(&result),
                    failure,
                    Evaluated::Product(Box::new(result)),
                )
            }
        };
        if verdict == Verdict::Violated || answer.verdict == Verdict::Holds {
            answer.verdict = verdict;
        }
        if verdict == Verdict::Violated && failure.is_none() {
            answer.notice = Some("in some state a proposition cannot be evaluated".into());
        }
        (answer.failure, answer.evaluated) = (failure, Some(evaluated));
        Ok(())
    }

    /// A search for states in which an evaluation fails, as for any other safety question.
    fn search_failures(&self, evaluations: &Evaluations) -> Result<Run, CheckError> {
        let questions: Vec<safety::Question> = evaluations
            .labels()
            .map(|label| safety::Question {
                name: String::new(),
                kind: safety::QuestionKind::Invariant,
                target: Target::Label(label),
                span: None,
            })
            .collect();
        let mut options = self.options.clone();
        options.limits = self.limits();
        // What users say about provisos is about cycles here.
        options.reduction.proviso = ProvisoChoice::Auto;
        let search = |options: &CheckOptions<'_>| {
            safety::check_until(self.model, &questions, options, Stop::FirstViolation)
        };
        let mut report = match search(&options) {
            // As for products: a reduction that does not go with the question is left out.
            Err(CheckError::Reduction(_)) => {
                options.reduction.por = Por::None;
                search(&options)?
            }
            report => report?,
        };
        Ok(report.runs.swap_remove(0))
    }

    /// The check, and whether a reduction was left aside because it would not pay.
    fn run(&self, question: Question<'_>) -> Result<(CheckResult, bool), CheckError> {
        let mut unreduced = self.check(question);
        match &self.options.reduction.por {
            Por::None => Ok((self.finish(unreduced)?, false)),
            Por::Chosen(config) => {
                let reduced = self.reduced(question, config.clone(), None)?;
                Ok((self.finish(reduced)?, false))
            }
            Por::Auto => {
                let asked = Mutex::new(Asked::default());
                let most = self.options.limits.states.unwrap_or(u64::MAX);
                let beyond = |reached: &Reached<'_>| {
                    let asked = &mut *asked.lock().unwrap_or_else(PoisonError::into_inner);
                    self.ask(question, most, reached.states, asked)
                };
                unreduced.limits.states = Some(most.min(self.options.reduction.patience));
                unreduced.limits.beyond = Some(Beyond(&beyond));
                let result = self.finish(unreduced)?;
                let asked = asked.into_inner().unwrap_or_else(PoisonError::into_inner);
                let out_of_memory = matches!(
                    result.verdict,
                    stubborn_emptiness::Verdict::Unknown(Limit::Memory | Limit::StoreFull)
                );
                match asked.answer {
                    Some(answer) => Ok((answer?, false)),
                    // Fewer states may fit.
                    None if (out_of_memory || asked.reduce) && !self.is_over() => {
                        let config = Config::new(Algorithm::Beam);
                        let reduced = self.reduced(question, config, None)?;
                        Ok((self.finish(reduced)?, false))
                    }
                    None => Ok((result, asked.share.is_some())),
                }
            }
        }
    }

    /// Whether to go on without reduction, for a check that waits: the new limit of states, or
    /// `None` to end it.
    fn ask(
        &self,
        question: Question<'_>,
        most: u64,
        states: u64,
        asked: &mut Asked,
    ) -> Option<u64> {
        if asked.answer.is_some() || asked.reduce {
            return None;
        }
        if asked.limit > states {
            // Another thread has asked.
            return Some(asked.limit);
        }
        let share = match asked.share {
            Some(share) => Ok(share),
            None => self.share(question.property),
        };
        if self.is_over() {
            return None;
        }
        match share {
            Ok(share) => {
                asked.share = Some(share);
                // At the user's limit, nothing is lost by trying.
                asked.reduce = share <= LARGEST_SHARE || states >= most;
            }
            Err(error) => asked.answer = Some(Err(error)),
        }
        if asked.answer.is_none() && !asked.reduce {
            // Only trying tells how small sets for the automaton's state make the product.
            asked.answer = self.trial(question, states / TRIAL).transpose();
        }
        if asked.answer.is_some() || asked.reduce || states >= most {
            return None;
        }
        asked.limit = states.saturating_mul(NEXT_TRIAL).min(most);
        Some(asked.limit)
    }

    /// The answer of a reduced check, if it takes few states.
    fn trial(
        &self,
        question: Question<'_>,
        states: u64,
    ) -> Result<Option<CheckResult>, CheckError> {
        if self.options.temporal.steering == SteeringMode::Off {
            return Ok(None);
        }
        let config = Config::new(Algorithm::Beam);
        let result = self.finish(self.reduced(question, config, Some(states))?)?;
        let unknown = matches!(result.verdict, stubborn_emptiness::Verdict::Unknown(_));
        let reduced = matches!(result.reduction, ReductionUse::On { .. });
        Ok((reduced && !unknown).then_some(result))
    }

    fn reduced<'c>(
        &'c self,
        question: Question<'c>,
        config: Config,
        states: Option<u64>,
    ) -> Result<Check<'c>, CheckError> {
        let config = Config {
            visibility: self.options.temporal.visibility,
            ..config
        };
        let check = self.check(question);
        Ok(Check {
            reduction: Some(ReductionRequest {
                config,
                relations: self.relations()?,
                proviso: self.options.reduction.cycle_proviso.unwrap_or_default(),
                fitting: Fitting::default(),
            }),
            limits: Limits {
                states: states.or(check.limits.states),
                ..check.limits
            },
            ..check
        })
    }

    fn check<'c>(&'c self, question: Question<'c>) -> Check<'c> {
        let options = self.options;
        Check {
            replay: Some(self.model.reference()),
            emptiness: options.temporal.emptiness,
            steering: options.temporal.steering,
            expansion: options.temporal.expansion,
            relaxed_visibility: options.temporal.relaxed_visibility,
            finite_runs: question.finite_runs,
            weak_fairness: options.temporal.weak_fairness,
            threads: options.threads.min(Check::MOST_THREADS),
            store: options.store.clone(),
            limits: self.limits(),
            observer: options.observer,
            ..Check::new(self.model.system(), question.property)
        }
    }

    /// With what is left of the time.
    fn limits(&self) -> Limits<'o> {
        let left = |time: Duration| time.saturating_sub(self.started.elapsed());
        Limits {
            time: self.options.limits.time.map(left),
            ..self.options.limits
        }
    }

    fn finish(&self, check: Check<'_>) -> Result<CheckResult, CheckError> {
        let result = check.run();
        if self.model.is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        Ok(result?)
    }

    /// Whether the budget is spent: nothing begins any more.
    fn is_over(&self) -> bool {
        self.model.system().budget().spent().is_some()
    }

    fn relations(&self) -> Result<&Relations, CheckError> {
        if let Some(known) = self.relations.get() {
            return Ok(known);
        }
        let relations = self.options.reduction.fixed_relations(self.model)?;
        Ok(self.relations.get_or_init(|| relations))
    }

    /// Which share of the system's states a reduction leaves that keeps stutter-invariant
    /// properties; 1 for others.
    fn share(&self, property: &Property) -> Result<f64, CheckError> {
        if property.is_stutter_invariant() != Some(true) {
            return Ok(1.0);
        }
        let aim = Aim::Traces {
            labels: property.used_labels(),
            infinite: true,
        };
        let system = self.model.system();
        let plan = Plan::new(&Config::new(Algorithm::Beam), aim)?;
        let reduction = StubbornReduction::new(system, self.relations()?, plan)?;
        Ok(state_share(system, &reduction, None, &[]))
    }
}

/// A check without reduction tries a reduced one with this part of its states...
const TRIAL: u64 = 8;
/// ... and again when it has this many times more.
const NEXT_TRIAL: u64 = 4;

/// What came out when a check without reduction was asked to wait.
#[derive(Default)]
struct Asked {
    /// Of the system's states, left by a reduction.
    share: Option<f64>,
    /// The check is to be reduced.
    reduce: bool,
    /// The answer, found on the way.
    answer: Option<Result<CheckResult, CheckError>>,
    /// The last answer.
    limit: u64,
}
