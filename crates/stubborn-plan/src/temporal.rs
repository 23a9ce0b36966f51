//! Questions about infinite runs.
//!
//! Each property is a check of its own, of the product with its automaton. With `auto`, it begins
//! without reduction, and most are done so. After some states it waits: fewer than a search for states
//! does, since a product has more of them, and each costs more. If a reduction leaves few
//! nodes of the product, the check starts anew with it. Otherwise the check goes on where it was. The
//! first look is a quick one, with relations that cost next to nothing: they tell nearly as well how much would
//! be left. Later ones are with the real relations, and a reduced check is tried with a part
//! of the states: if it ends, that is the answer. So reduction costs a fraction of the unreduced check
//! at most.

use stubborn_emptiness::{
    Check, CheckKeeper, CheckResult, CheckVerdict, Exploration, FiniteRuns, Fitting, Property,
    ReductionRequest, ReductionUse, SteeringMode,
};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Plan, StubbornReduction};
use stubborn_search::{Limit, Limits, Progress, SearchError};
use stubborn_system::{Reduction, RelationLevel, Relations};

use crate::auto::{
    COMPARED_STATES, Decision, LARGEST_SHARE, Share, last_compared, price, share_of, state_share,
};
use crate::keeping::CheckKeeping;
use crate::options::{Por, TemporalOptions};
use crate::{CheckError, Planner};

/// States that a check without reduction has before it is asked, at least.
const FEWEST_STATES: u64 = 25_000;
/// A check without reduction tries a reduced one with this part of its states, of which each may cost
/// three times as much (lamport.5, property 4)...
const TRIAL: u64 = 32;
/// ... and again when it has this many times more.
const NEXT_TRIAL: u64 = 4;
/// The same after a quick look: relations and a trial are a small part of what was done then.
const AFTER_QUICK_LOOK: u64 = 32;
/// Nodes that are compared at first, by a quick look, ...
const FEW_COMPARED: u64 = 2_500;
/// ... between which shares of these they do not tell enough (the first levels of
/// public_subscribe, lifts and pgm_protocol show 0.33 to 0.52, and less than is left out later, those of synapse.6
/// 0.33, and more), ...
const UNCERTAIN: std::ops::Range<f64> = 0.1..0.7;
/// ... how many are compared then, ...
const QUICKLY_COMPARED: u64 = 10_000;
/// ... and with which share reduction pays: little is lost yet by beginning anew.
const LARGEST_QUICK_SHARE: f64 = 0.45;

/// A property, and what runs that end mean for it.
#[derive(Clone, Copy, Debug)]
pub struct TemporalQuestion<'q> {
    /// What should hold on every run.
    pub property: &'q Property,
    /// What runs that end mean.
    pub finite_runs: FiniteRuns,
}

/// What a check of a temporal property found.
#[derive(Clone, Debug)]
pub struct TemporalRun {
    /// The answer.
    pub result: CheckResult,
    /// A reduction was left aside because it would not pay.
    pub unpaid: bool,
}

impl From<CheckResult> for TemporalRun {
    fn from(result: CheckResult) -> Self {
        Self {
            result,
            unpaid: false,
        }
    }
}

/// Answers questions about infinite runs elsewhere than on this processor.
pub trait TemporalEngine: Sync {
    /// Whether it can, or why not: then it is left to others.
    ///
    /// # Errors
    /// The reason, for people.
    fn takes(
        &self,
        question: TemporalQuestion<'_>,
        options: &TemporalOptions,
    ) -> Result<(), String>;

    /// The answer. Its counterexamples were replayed.
    ///
    /// # Errors
    /// As of any other check.
    fn check(
        &self,
        question: TemporalQuestion<'_>,
        limits: Limits<'_>,
        observer: Option<&(dyn Fn(&Progress) + Sync)>,
    ) -> Result<CheckResult, SearchError>;
}

impl<'m> Planner<'m> {
    /// Whether every run satisfies a property.
    ///
    /// # Errors
    /// As for [`check`](Self::check), and if the cycle proviso is one that loses violations.
    pub fn check_temporal(
        &self,
        question: TemporalQuestion<'_>,
    ) -> Result<TemporalRun, CheckError> {
        let proviso = self.options.reduction.cycle_proviso;
        if let Some(proviso) = proviso.filter(|p| !p.is_sound()) {
            return Err(CheckError::Reduction(ConfigError::new(format!(
                "`{proviso}` loses violations: it is for `explore`, to measure what provisos cost"
            ))));
        }
        if let Some(engine) = self.options.temporal_engine
            && engine.takes(question, &self.options.temporal).is_ok()
        {
            let found = engine.check(question, self.limits(), self.options.observer);
            return Ok(self.finish(found)?.into());
        }
        let Some(keeping) = self.options.keeping else {
            return self.check_kept(question, None);
        };
        match keeping.check(self, question)? {
            Ok(done) => Ok(done),
            Err(keeper) => {
                let found = self.check_kept(question, Some(&keeper))?;
                keeper.done(&found);
                Ok(found)
            }
        }
    }

    /// The same, kept by somebody.
    fn check_kept(
        &self,
        question: TemporalQuestion<'_>,
        kept: Option<&CheckKeeping<'_>>,
    ) -> Result<TemporalRun, CheckError> {
        let begun = kept
            .filter(|kept| kept.is_begun)
            .map(CheckKeeping::decision);
        let run = |check: Check<'_>, is_reduced: bool| {
            if let Some(kept) = kept {
                kept.decide(Decision::of_check(u64::MAX, is_reduced));
            }
            let check = Check {
                keeper: kept.map(|kept| kept as &dyn CheckKeeper),
                ..check
            };
            Ok::<TemporalRun, CheckError>(self.finish(check.run())?.into())
        };
        // Something may have defeated the reduction before the check was taken up.
        let is_plain = |begun: &Decision| !begun.reduces() && !begun.is_asked();
        let found = match &self.options.reduction.por {
            _ if begun.as_ref().is_some_and(is_plain) => run(self.unreduced(question), false)?,
            Por::None => run(self.unreduced(question), false)?,
            Por::Chosen(config) => run(self.reduced(question, config.clone(), None)?, true)?,
            // Several processes have no reduction to weigh, and with fairness there is none.
            Por::Auto if self.cluster().is_some() || self.options.temporal.weak_fairness => {
                run(self.unreduced(question), false)?
            }
            Por::Auto => match &begun {
                Some(begun) if begun.reduces() => {
                    let config = Config::new(Algorithm::Beam);
                    run(self.reduced(question, config, None)?, true)?
                }
                begun => self.check_where_it_pays(question, begun.as_ref(), kept, &run)?,
            },
        };
        let is_reduced = matches!(found.result.reduction, ReductionUse::On { .. });
        match is_reduced && self.is_defeated()? {
            true => run(self.unreduced(question), false),
            false => Ok(found),
        }
    }

    /// Without reduction, as long as none pays; `run` runs the reduced check.
    fn check_where_it_pays(
        &self,
        question: TemporalQuestion<'_>,
        begun: Option<&Decision>,
        kept: Option<&CheckKeeping<'_>>,
        run: &dyn Fn(Check<'_>, bool) -> Result<TemporalRun, CheckError>,
    ) -> Result<TemporalRun, CheckError> {
        let most = self.options.limits.states.unwrap_or(u64::MAX);
        let mut asked = Asked::default();
        let first = match begun {
            None => self.first_pause(FEWEST_STATES).min(most),
            Some(begun) => {
                asked.is_unpaid = begun.was_compared();
                begun.next_pause().min(most)
            }
        };
        let decide = |next_pause: u64, is_unpaid: bool| {
            if let Some(kept) = kept {
                // The largest number means that nobody is asked.
                kept.decide(Decision::of_auto(next_pause.min(u64::MAX - 1), is_unpaid));
            }
        };
        decide(first, asked.is_unpaid);
        let check = Check {
            keeper: kept.map(|kept| kept as &dyn CheckKeeper),
            ..self.unreduced(question)
        };
        let result = check.run_in_goes(first, |states| {
            let next = self.ask(question, most, states, &mut asked);
            decide(next.unwrap_or(u64::MAX), asked.is_unpaid);
            next
        });
        let result = self.finish(result)?;
        let out_of_memory = matches!(
            result.verdict,
            CheckVerdict::Unknown(Limit::Memory | Limit::StoreFull)
        );
        match asked.answer {
            Some(answer) => Ok(answer?.into()),
            // Fewer states may fit.
            None if (out_of_memory || asked.reduce) && !self.is_over() => run(
                self.reduced(question, Config::new(Algorithm::Beam), None)?,
                true,
            ),
            None => Ok(TemporalRun {
                result,
                unpaid: asked.is_unpaid,
            }),
        }
    }

    /// Whether to go on without reduction, for a check that waits: the new limit of states, or
    /// `None` to end it.
    fn ask(
        &self,
        question: TemporalQuestion<'_>,
        most: u64,
        states: u64,
        asked: &mut Asked,
    ) -> Option<u64> {
        // Only once, and not by whoever takes the check up again.
        let is_quick = !asked.is_unpaid && !self.knows_relations();
        let share = match asked.share {
            Some(share) => Ok(share),
            None if is_quick => self.quick_share(question),
            None => {
                let relations = self.fixed_relations();
                relations.and_then(|known| self.late_share(question, known))
            }
        };
        if self.is_over() {
            return None;
        }
        match share {
            Ok(share) => {
                asked.share = Some(share).filter(|_| !is_quick);
                asked.is_unpaid = true;
                // At the user's limit, nothing is lost by trying.
                let largest = match is_quick {
                    true => LARGEST_QUICK_SHARE,
                    false => LARGEST_SHARE,
                };
                asked.reduce = share.priced() <= largest || states >= most;
            }
            Err(error) => asked.answer = Some(Err(error)),
        }
        if let (None, false, Some(share)) = (&asked.answer, asked.reduce, asked.share) {
            // Only trying tells how small sets for the automaton's state make the product.
            let few = states as f64 / share.price;
            asked.answer = self.trial(question, few as u64 / TRIAL).transpose();
        }
        if asked.answer.is_some() || asked.reduce || states >= most {
            return None;
        }
        let times = if is_quick {
            AFTER_QUICK_LOOK
        } else {
            NEXT_TRIAL
        };
        Some(states.saturating_mul(times).min(most))
    }

    /// The answer of a reduced check, if it takes few states.
    fn trial(
        &self,
        question: TemporalQuestion<'_>,
        states: u64,
    ) -> Result<Option<CheckResult>, CheckError> {
        if self.options.temporal.steering == SteeringMode::Off {
            return Ok(None);
        }
        let config = Config::new(Algorithm::Beam);
        let result = self.finish(self.reduced(question, config, Some(states))?.run())?;
        let unknown = matches!(result.verdict, CheckVerdict::Unknown(_));
        let reduced = matches!(result.reduction, ReductionUse::On { .. });
        Ok((reduced && !unknown).then_some(result))
    }

    fn reduced<'c>(
        &'c self,
        question: TemporalQuestion<'c>,
        config: Config,
        states: Option<u64>,
    ) -> Result<Check<'c>, CheckError> {
        let relations = self.fixed_relations()?;
        Ok(self.reduced_by(question, config, relations, states))
    }

    fn reduced_by<'c>(
        &'c self,
        question: TemporalQuestion<'c>,
        config: Config,
        relations: &'c Relations,
        states: Option<u64>,
    ) -> Check<'c> {
        let config = Config {
            visibility: self.options.temporal.visibility,
            ..config
        };
        let check = self.unreduced(question);
        Check {
            reduction: Some(ReductionRequest {
                config,
                relations,
                proviso: self.options.reduction.cycle_proviso.unwrap_or_default(),
                fitting: Fitting::default(),
            }),
            limits: Limits {
                states: states.or(check.limits.states),
                ..check.limits
            },
            ..check
        }
    }

    fn unreduced<'c>(&'c self, question: TemporalQuestion<'c>) -> Check<'c> {
        let options = self.options;
        Check {
            replay: self.replay,
            emptiness: options.temporal.emptiness,
            steering: options.temporal.steering,
            expansion: options.temporal.expansion,
            relaxed_visibility: options.temporal.relaxed_visibility,
            finite_runs: question.finite_runs,
            weak_fairness: options.temporal.weak_fairness,
            counterexample: options.temporal.counterexample,
            threads: options.threads.min(Check::MOST_THREADS),
            cluster: self.cluster(),
            store: options.store.clone(),
            limits: self.limits(),
            observer: options.observer,
            ..Check::new(self.system, question.property)
        }
    }

    /// Of a model that turned out to be too small, nothing is said.
    fn finish<T>(&self, result: Result<T, SearchError>) -> Result<T, CheckError> {
        if self.system.budget().is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        Ok(result?)
    }

    /// Which share of the product a reduction leaves with these relations, by so many of its first nodes.
    fn share(
        &self,
        question: TemporalQuestion<'_>,
        relations: &Relations,
        compared: u64,
    ) -> Result<Share, CheckError> {
        let full = self.unreduced(question).levels(compared, None);
        let Some(full) = full.map(|levels| levels.sizes) else {
            return self.finish(Ok(Share::ALL));
        };
        let depth = last_compared(&full) as usize;
        let config = Config::new(Algorithm::Beam);
        let reduced = self.reduced_by(question, config, relations, None);
        let share = share_of(&full, compared, |most| {
            let levels = reduced.levels(most, Some(depth))?;
            let price = price(levels.work, levels.sizes.iter().sum());
            Some((levels.sizes, levels.is_complete, price))
        });
        self.finish(Ok(share))
    }

    /// The same with rough relations, and by few nodes where these tell enough.
    fn quick_share(&self, question: TemporalQuestion<'_>) -> Result<Share, CheckError> {
        let level = self.options.reduction.relations.min(RelationLevel::Syntax);
        let rough = self.system.relations_of_strong_sets(level);
        let share = self.share(question, &rough, FEW_COMPARED)?;
        match UNCERTAIN.contains(&share.priced()) {
            true => self.share(question, &rough, QUICKLY_COMPARED),
            false => Ok(share),
        }
    }

    /// The same with real relations, when much is lost by beginning anew: then the system alone must have as
    /// little left. (Ways of a reduced product are longer, which makes its first levels small:
    /// elevator.4, property 2, has 0.34 of its nodes there, and 0.82 of all.)
    fn late_share(
        &self,
        question: TemporalQuestion<'_>,
        relations: &Relations,
    ) -> Result<Share, CheckError> {
        let share = self.share(question, relations, COMPARED_STATES)?;
        if share.priced() > LARGEST_SHARE {
            return Ok(share);
        }
        if question.property.is_stutter_invariant() != Some(true) {
            return Ok(Share::ALL);
        }
        let aim = Aim::Traces {
            labels: question.property.used_labels(),
            infinite: true,
        };
        let plan = Plan::new(&Config::new(Algorithm::Beam), aim)?;
        let reduction = StubbornReduction::new(self.system, relations, plan)?;
        let alone = state_share(self.system, &reduction, None, &[], COMPARED_STATES);
        Ok(match alone.priced() > share.priced() {
            true => alone,
            false => share,
        })
    }

    /// Sets up an exploration that keeps infinite runs, with a cycle proviso and without a property,
    /// and does something with it. Also says how sets are computed.
    ///
    /// # Errors
    /// As for [`check`](Self::check), and if a proviso does not go with the reduction.
    pub fn explore_runs<T>(
        &self,
        provisos: &[stubborn_emptiness::CycleProviso],
        run: impl FnOnce(&Exploration<'_>) -> Result<T, SearchError>,
    ) -> Result<(String, T), CheckError> {
        let refused = |why: String| Err(CheckError::Reduction(ConfigError::new(why)));
        if self.options.threads > 1 {
            return refused("cycle provisos need a depth-first search on one thread".into());
        }
        let config = match &self.options.reduction.por {
            Por::None => None,
            Por::Auto => Some(Config::new(Algorithm::Beam)),
            Por::Chosen(config) => Some(config.clone()),
        };
        let is_weak = config.as_ref().is_some_and(|config| config.weak);
        if let Some(proviso) = provisos.iter().find(|p| is_weak && p.needs_strong_sets()) {
            return refused(format!("`{proviso}` is not sound with weak sets"));
        }
        let relations = match config {
            None => None,
            Some(_) => Some(self.fixed_relations()?),
        };
        let reduction = match (&config, relations) {
            (None, _) | (_, None) => None,
            (Some(config), Some(relations)) => {
                // Nothing is visible where there is no property. Then sets for infinite runs are
                // those for deadlocks; only these may depend on what the search has seen, and an
                // exploration remembers its choices.
                let aim = match config.settings()?.asks_the_search() {
                    true => Aim::Deadlocks,
                    false => Aim::Traces {
                        labels: Vec::new(),
                        infinite: true,
                    },
                };
                let plan = Plan::new(config, aim)?;
                Some(StubbornReduction::new(self.system, relations, plan)?)
            }
        };
        let result = run(&Exploration {
            reduction: reduction.as_ref().map(|r| r as &dyn Reduction),
            relations,
            seed: self.options.seed,
            store: self.options.store.clone(),
            limits: self.options.limits,
            observer: self.options.observer,
            ..Exploration::new(self.system)
        });
        let name = config.map_or("none", |config| config.algorithm.name());
        Ok((name.into(), self.finish(result)?))
    }
}

/// What came out when a check without reduction was asked to wait.
#[derive(Default)]
struct Asked {
    /// Of the product, left by a reduction.
    share: Option<Share>,
    /// That was looked at, now or before the check was taken up.
    is_unpaid: bool,
    /// The check is to be reduced.
    reduce: bool,
    /// The answer, found on the way.
    answer: Option<Result<CheckResult, CheckError>>,
}

#[cfg(test)]
mod tests {
    use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
    use stubborn_ltl::formula::Formulas;
    use stubborn_ltl::parser::{AnyName, Syntax, parse};

    use super::*;
    use crate::CheckOptions;

    /// Processes that write words of so many letters, and a property of none of them.
    fn words(processes: usize, letters: i32) -> (Model, Property) {
        let mut program = Program::new("words");
        for process in 0..processes {
            let name = format!("word{process}");
            let word = program.variable(Variable::integer(&name, 0, 65_535, 0));
            let short = program.label(Expr::less(Expr::Var(word), Expr::Const(10_000)));
            let site = program.out_of_range_site(&name, None);
            for letter in 1..=letters {
                let shifted =
                    (1..letters).fold(Expr::Var(word), |sum, _| Expr::plus(sum, Expr::Var(word)));
                let longer = Expr::plus(shifted, Expr::Const(letter));
                program.command(Command {
                    name: format!("{name}.{letter}"),
                    guards: vec![short],
                    body: vec![Statement::assign(word, longer, site)],
                    ..Command::default()
                });
            }
        }
        let other = program.variable(Variable::integer("other", 0, 1, 0));
        let label = program.label(Expr::equal(Expr::Var(other), Expr::Const(0)));
        let mut formulas = Formulas::new();
        let (formula, _) = parse(&mut formulas, "[] <> p", Syntax::Spin, &mut AnyName);
        let formula = formula.expect("a formula");
        let property = Property::from_formula(formulas, formula, vec![label], &Default::default());
        let model = Model::new(program).expect("it is small");
        (model, property.expect("a small automaton"))
    }

    /// Few states are compared where they tell enough, and more where they do not; real relations are
    /// not computed for that.
    #[test]
    fn a_quick_look_is_as_long_as_it_has_to_be() {
        // One process that can go ahead of seven others, or of one, and one that is alone.
        for (processes, letters, is_certain) in [(8, 1, true), (2, 4, false), (1, 4, true)] {
            let (model, property) = words(processes, letters);
            // Sets for the automaton's state would leave nothing.
            let mut options = CheckOptions::default();
            options.temporal.steering = SteeringMode::Off;
            let planner = Planner::new(&model, &options);
            let question = TemporalQuestion {
                property: &property,
                finite_runs: FiniteRuns::Stutter,
            };
            let rough = planner
                .system
                .relations_of_strong_sets(RelationLevel::Syntax);
            let share = |compared: u64| {
                let share = planner.share(question, &rough, compared);
                share.expect("it works").priced()
            };
            let (few, many) = (share(FEW_COMPARED), share(QUICKLY_COMPARED));
            assert_eq!(UNCERTAIN.contains(&few), !is_certain, "{few}");
            assert!(processes == 1 || few > many, "{few} {many}");
            let quick = planner.quick_share(question).expect("it works").priced();
            let expected = if is_certain { few } else { many };
            assert_eq!(quick, expected, "{processes} processes");
            assert!(!planner.knows_relations());
        }
    }
}
