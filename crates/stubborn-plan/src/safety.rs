//! Questions about states and steps: one search, or several.

use stubborn_search::proviso::SafetyProviso;
use stubborn_search::{Engine, Explore, Search, SearchResult, Stop, Target, Violation, Visitor};

use crate::auto::{Decider, Decision};
use crate::keeping::Next;
use crate::options::Por;
use crate::reduction::{Made, PlannedSearch, SearchPlan};
use crate::{CheckError, Planner, Verdict};

/// What is known of a target.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it can be hit.
    pub verdict: Verdict,
    /// How, if it can.
    pub violation: Option<Violation>,
    /// Which of the [runs](Report::runs) gave the answer.
    pub run: usize,
}

/// One search.
#[derive(Clone, Debug)]
pub struct Run {
    /// The reduction, `none` if there was none.
    pub reduction: String,
    /// Who ran it.
    pub engine: &'static str,
    /// What it learnt.
    pub result: SearchResult,
}

impl Run {
    /// What follows for a target.
    fn answer(&self, target: Target, run: usize) -> Answer {
        let violation = self.result.violation(target).cloned();
        Answer {
            verdict: match violation {
                Some(_) => Verdict::Violated,
                None if self.result.is_complete() => Verdict::Holds,
                None => Verdict::Unknown,
            },
            violation,
            run,
        }
    }
}

/// Searches that were run.
pub(crate) type Runs<'m> = Vec<(PlannedSearch<'m>, Run)>;

/// The answers to all questions.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the targets.
    pub answers: Vec<Answer>,
    /// The searches that gave them.
    pub runs: Vec<Run>,
}

impl<'m> Planner<'m> {
    /// Looks for targets, by one search or by several.
    ///
    /// # Errors
    /// If the chosen reduction does not go with the targets, if no engine takes a search, if a
    /// counterexample cannot be repeated, or if the model turned out to be too small.
    pub fn check(&self, targets: &[Target], stop: Stop) -> Result<Report, CheckError> {
        let plan = match &self.options.reduction.por {
            Por::Auto => {
                let mut decider = Decider::new(self, targets).trying(stop);
                let unreduced = PlannedSearch::unreduced(targets);
                let search = self.search(&unreduced, targets, stop);
                let first = self.run(search, unreduced.name(), Some(&mut decider))?;
                match decider.plan(&first.result) {
                    Some(plan) => plan?,
                    None => return Ok(report(targets, decider.runs((unreduced, first))?)),
                }
            }
            Por::None => vec![PlannedSearch::unreduced(targets)],
            Por::Chosen(config) => self.chosen(targets, config)?,
        };
        Ok(report(targets, self.run_all(plan, targets, stop)?))
    }

    /// Runs all searches of a plan.
    pub(crate) fn run_all(
        &self,
        plan: SearchPlan<'m>,
        targets: &[Target],
        stop: Stop,
    ) -> Result<Runs<'m>, CheckError> {
        // Searches that follow each other share what is left of the time; one that is kept when
        // its time is over has all of it.
        let run_one_of = |planned: &PlannedSearch<'_>, parts: usize| {
            let mut search = self.search(planned, targets, stop);
            if let (Some(left), 2.., None) = (self.time_left(), parts, self.options.keeping) {
                search.limits.time = Some(left / u32::try_from(parts).unwrap_or(u32::MAX));
            }
            self.run(search, planned.name(), None)
        };
        let mut runs = Vec::new();
        let parts = plan.len();
        for (at, mut planned) in plan.into_iter().enumerate() {
            let mut found = run_one_of(&planned, parts - at)?;
            if planned.made.is_some() && self.is_defeated()? {
                planned.made = None;
                found = run_one_of(&planned, parts - at)?;
            }
            runs.push((planned, found));
        }
        Ok(runs)
    }

    /// Looks for targets by one search that was planned elsewhere.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_by(
        &self,
        planned: PlannedSearch<'_>,
        targets: &[Target],
        stop: Stop,
    ) -> Result<Report, CheckError> {
        let run = self.run(self.search(&planned, targets, stop), planned.name(), None)?;
        Ok(report(targets, vec![(planned, run)]))
    }

    /// Explores the whole state space, reduced so that every deadlock is kept.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn explore(&self) -> Result<Run, CheckError> {
        // The question decides what is kept; nothing is looked for.
        let question = [Target::Deadlock];
        let run = |planned: &PlannedSearch<'_>, decider: Option<&mut Decider<'_, '_>>| {
            let full = self.search(planned, &[], Stop::Never);
            self.run(full, planned.name(), decider)
        };
        let unreduced = PlannedSearch::unreduced(&question);
        let plan = match &self.options.reduction.por {
            Por::Auto => {
                let mut decider = Decider::new(self, &question);
                let first = run(&unreduced, Some(&mut decider))?;
                match decider.plan(&first.result) {
                    Some(plan) => plan?,
                    None => return Ok(first),
                }
            }
            Por::None => Vec::new(),
            Por::Chosen(config) => self.chosen(&question, config)?,
        };
        let found = run(plan.first().unwrap_or(&unreduced), None)?;
        match !plan.is_empty() && self.is_defeated()? {
            true => run(&unreduced, None),
            false => Ok(found),
        }
    }

    /// Shows every state to a visitor, until it has seen enough; with a reduction, every state that
    /// is left. Whoever reads what the visitor saw knows what the reduction keeps.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn visit(
        &self,
        made: Option<&Made<'_>>,
        visitor: &Visitor<'_>,
    ) -> Result<SearchResult, CheckError> {
        let unreduced = PlannedSearch::unreduced(&[]);
        let search = Search {
            reduction: made.map(Made::reduction),
            proviso: made.and_then(|made| self.proviso(made)),
            visitor: Some(visitor),
            ..self.search(&unreduced, &[], Stop::Never)
        };
        Ok(self.run(search, String::new(), None)?.result)
    }

    /// What must be added to a search with a reduction.
    fn proviso(&self, made: &Made<'_>) -> Option<&'static dyn SafetyProviso> {
        let options = self.options;
        made.proviso(options.reduction.proviso, options.order, options.threads)
    }

    /// One of the searches, with what is left of the time.
    fn search<'s>(
        &'s self,
        planned: &'s PlannedSearch<'_>,
        targets: &[Target],
        stop: Stop,
    ) -> Search<'s> {
        let mut wanted: Vec<Target> = Vec::new();
        for target in planned.targets.iter().filter_map(|at| targets.get(*at)) {
            if !wanted.contains(target) {
                wanted.push(*target);
            }
        }
        let options = self.options;
        let made = planned.made.as_ref();
        Search {
            replay: self.replay,
            reduction: made.map(|made| made.reduction()),
            proviso: made.and_then(|made| self.proviso(made)),
            order: options.order,
            threads: options.threads,
            store: options.store.clone(),
            limits: self.limits(),
            targets: wanted,
            stop,
            seed: options.seed,
            observer: options.observer,
            ..Search::new(self.system)
        }
    }

    /// The first engine that takes a search.
    fn engine(&self, search: &Search<'_>) -> Result<&'m dyn Engine, CheckError> {
        let mut reasons = Vec::new();
        for engine in self.options.engines {
            match engine.takes(search) {
                Ok(()) => return Ok(*engine),
                Err(reason) => reasons.push((engine.name(), reason)),
            }
        }
        Err(CheckError::NoEngine(reasons))
    }

    /// Runs a search, in several goes if somebody decides after each whether it goes on, or keeps
    /// checkpoints; or recalls what it learnt, if it is done.
    fn run(
        &self,
        search: Search<'_>,
        reduction: String,
        mut decider: Option<&mut Decider<'_, '_>>,
    ) -> Result<Run, CheckError> {
        let engine = self.engine(&search)?;
        let run = |result| Run {
            reduction,
            engine: engine.name(),
            result,
        };
        let mut begun: Option<Box<dyn Explore + '_>> = None;
        if let Some(keeping) = self.options.keeping {
            if let Some((result, decision)) = keeping.recall(&search)? {
                if let Some(decider) = &mut decider {
                    decider.recall(decision, &result.level_sizes);
                }
                return Ok(run(result));
            }
            if let Some((exploration, decision)) = keeping.resume(engine, &search)? {
                if let Some(decider) = &mut decider {
                    decider.recall(decision, exploration.level_sizes());
                }
                begun = Some(exploration);
            }
        }
        let mut exploration = match begun {
            Some(exploration) => exploration,
            None => engine.begin(&search)?,
        };
        self.explore_in_goes(&mut *exploration, &search, decider.as_deref_mut());
        let result = exploration.finish();
        // A search of too small a model ends early, and may not make sense.
        if self.system.budget().is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        let result = result?;
        if let Some(keeping) = self.options.keeping {
            keeping.done(&search, &result, &decision_of(decider.as_deref()));
        }
        Ok(run(result))
    }

    fn explore_in_goes(
        &self,
        exploration: &mut dyn Explore,
        search: &Search<'_>,
        mut decider: Option<&mut Decider<'_, '_>>,
    ) {
        let mut most = match &decider {
            None => search.limits.states,
            Some(decider) => Some(decider.next_pause()),
        };
        let keeper = self.options.keeping.map(|keeping| keeping.keeper);
        loop {
            keeper.inspect(|keeper| keeper.is_exploring(true));
            exploration.explore(most);
            keeper.inspect(|keeper| keeper.is_exploring(false));
            if exploration.is_paused() {
                match self.keep(exploration, decider.as_deref()) {
                    Some(Next::GoOn) => continue,
                    Some(Next::End(why)) => self.system.budget().end(why),
                    None => {}
                }
                return;
            }
            if !exploration.is_waiting() {
                return;
            }
            most = match (&mut decider, most) {
                (Some(decider), Some(states)) => decider.ask(states, exploration.level_sizes()),
                _ => None,
            };
            if most.is_none() {
                // The user's limit of states: another run may go beyond it.
                if !decision_of(decider.as_deref()).reduces() {
                    self.keep(exploration, decider.as_deref());
                }
                return;
            }
        }
    }

    /// Keeps a checkpoint, if somebody keeps any.
    fn keep(&self, exploration: &dyn Explore, decider: Option<&Decider<'_, '_>>) -> Option<Next> {
        let keeping = self.options.keeping?;
        Some(keeping.keep(self, exploration, &decision_of(decider)))
    }
}

fn decision_of(decider: Option<&Decider<'_, '_>>) -> Decision {
    decider.map_or_else(Decision::nobodys, |decider| decider.decision().clone())
}

/// The answers of all searches, in the order of the targets. The first violation of a target counts.
fn report(targets: &[Target], runs: Runs<'_>) -> Report {
    let mut answers: Vec<Option<Answer>> = vec![None; targets.len()];
    let mut report = Report::default();
    for (planned, run) in runs {
        for at in &planned.targets {
            if answers[*at]
                .as_ref()
                .is_none_or(|answer| answer.violation.is_none())
            {
                answers[*at] = Some(run.answer(targets[*at], report.runs.len()));
            }
        }
        report.runs.push(run);
    }
    report.answers = answers.into_iter().flatten().collect();
    report
}
