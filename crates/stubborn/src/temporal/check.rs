//! Answers to temporal properties.
//!
//! Each property is a check of its own, of the product with its automaton. With `auto`, a
//! small product is explored without reduction, as for other questions; a larger one is
//! reduced where that is sound and leaves something out.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use stubborn_emptiness::{
    Check, CheckResult, FiniteRuns, Fitting, Property, ReductionOff, ReductionRequest,
    ReductionUse, SteeringMode,
};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Plan, StubbornReduction};
use stubborn_search::{Limit, Limits, StoreKind};
use stubborn_system::Relations;

use super::{Obstacle, Temporal};
use crate::check::{CheckError, CheckOptions, SMALL, Verdict};
use crate::load::LoadedModel;
use crate::reduction::{LARGEST_KEPT_SHARE, Por, kept_share};

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
        relations: OnceCell::new(),
    };
    properties.iter().map(|p| checker.answer(p)).collect()
}

struct Checker<'a, 'o> {
    model: &'a LoadedModel,
    options: &'a CheckOptions<'o>,
    started: Instant,
    relations: OnceCell<Relations>,
}

impl Checker<'_, '_> {
    fn answer(&self, temporal: &Temporal) -> Result<TemporalAnswer, CheckError> {
        let mut answer = TemporalAnswer {
            name: temporal.name.clone(),
            title: temporal.title.clone(),
            verdict: Verdict::Unknown,
            reduction: "none".into(),
            notice: None,
            result: None,
        };
        let property = match &temporal.property {
            Ok(property) => property,
            Err(Obstacle::TooLarge(why) | Obstacle::Wrong(why)) => {
                answer.notice = Some(why.clone());
                return Ok(answer);
            }
        };
        if matches!(
            self.options.store.kind,
            StoreKind::Bitstate | StoreKind::Compact
        ) {
            answer.notice = Some(
                "not checked: temporal properties need a store that keeps states apart, `tree` \
                 or `plain`"
                    .into(),
            );
            return Ok(answer);
        }
        let finite_runs = temporal.finite_runs;
        let finite_runs = finite_runs.unwrap_or(self.options.temporal.finite_runs);
        let (result, unpaid) = self.run(property, finite_runs)?;
        answer.verdict = match result.verdict {
            stubborn_emptiness::Verdict::Holds => Verdict::Holds,
            stubborn_emptiness::Verdict::Violated => Verdict::Violated,
            stubborn_emptiness::Verdict::Unknown(_) => Verdict::Unknown,
        };
        answer.notice = match &result.reduction {
            ReductionUse::On { name, .. } => {
                // Its variants are left out, as for other questions.
                answer.reduction = name.split_whitespace().next().unwrap_or("none").into();
                None
            }
            ReductionUse::Off(ReductionOff::NotAsked) => unpaid.then(|| {
                "checked without reduction: a sample of states had nothing to leave out".into()
            }),
            ReductionUse::Off(why) => Some(format!("checked without reduction: {why}")),
        };
        answer.result = Some(result);
        Ok(answer)
    }

    /// The check, and whether a reduction was left aside because it would not pay.
    fn run(
        &self,
        property: &Property,
        finite_runs: FiniteRuns,
    ) -> Result<(CheckResult, bool), CheckError> {
        let unreduced = self.check(property, finite_runs);
        let config = match &self.options.reduction.por {
            Por::None => return Ok((self.finish(unreduced)?, false)),
            Por::Chosen(config) => config.clone(),
            Por::Auto => {
                let mut small = unreduced.clone();
                let most = self.options.limits.states.map_or(SMALL, |n| n.min(SMALL));
                small.limits.states = Some(most);
                let result = self.finish(small)?;
                let by_size = stubborn_emptiness::Verdict::Unknown(Limit::States);
                if result.verdict != by_size || self.options.limits.states == Some(most) {
                    return Ok((result, false));
                }
                let config = Config::new(Algorithm::Beam);
                let temporal = &self.options.temporal;
                // Sets for the automaton's state differ from state to state: no sample tells.
                if temporal.steering == SteeringMode::Off
                    && !temporal.weak_fairness
                    && !self.pays(property, &config)?
                {
                    return Ok((self.finish(unreduced)?, true));
                }
                config
            }
        };
        let config = Config {
            visibility: self.options.temporal.visibility,
            ..config
        };
        let reduced = Check {
            reduction: Some(ReductionRequest {
                config,
                relations: self.relations()?,
                proviso: self.options.reduction.cycle_proviso.unwrap_or_default(),
                fitting: Fitting::default(),
            }),
            ..self.check(property, finite_runs)
        };
        Ok((self.finish(reduced)?, false))
    }

    fn check<'c>(&'c self, property: &'c Property, finite_runs: FiniteRuns) -> Check<'c> {
        let options = self.options;
        let left = |time: Duration| time.saturating_sub(self.started.elapsed());
        Check {
            replay: Some(self.model.reference()),
            emptiness: options.temporal.emptiness,
            steering: options.temporal.steering,
            expansion: options.temporal.expansion,
            relaxed_visibility: options.temporal.relaxed_visibility,
            finite_runs,
            weak_fairness: options.temporal.weak_fairness,
            threads: options.threads.min(Check::MOST_THREADS),
            store: options.store.clone(),
            limits: Limits {
                time: options.limits.time.map(left),
                ..options.limits
            },
            observer: options.observer,
            ..Check::new(self.model.system(), property)
        }
    }

    fn finish(&self, check: Check<'_>) -> Result<CheckResult, CheckError> {
        let result = check.run();
        if self.model.is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        Ok(result?)
    }

    fn relations(&self) -> Result<&Relations, CheckError> {
        if let Some(known) = self.relations.get() {
            return Ok(known);
        }
        let relations = self.options.reduction.fixed_relations(self.model)?;
        Ok(self.relations.get_or_init(|| relations))
    }

    /// Whether the reduction leaves something out. Where there will be none, that is not
    /// for this to say.
    fn pays(&self, property: &Property, config: &Config) -> Result<bool, CheckError> {
        if property.is_stutter_invariant() != Some(true) {
            return Ok(true);
        }
        let aim = Aim::Traces {
            labels: property.used_labels(),
            infinite: true,
        };
        let system = self.model.system();
        let reduction = StubbornReduction::new(system, self.relations()?, Plan::new(config, aim)?)?;
        Ok(kept_share(system, &reduction) <= LARGEST_KEPT_SHARE)
    }
}
