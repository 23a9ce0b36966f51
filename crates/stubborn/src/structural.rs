//! Nets made smaller before the search, and runs of the small net told as runs of the net.
//!
//! Which rules are right depends on what is asked, so each kind of question gets a net of its
//! own: one with the same deadlocks, and one where the invariants' places have the same
//! markings. Whether a place overflows is asked of the net as it is. Every counterexample is
//! replayed on the net as it is, step by step.

use std::sync::Arc;

use stubborn_net::{Formula, NetOptions, NetSystem, PlaceId, Preserve, Reduced, ReductionRules};
use stubborn_search::{SearchError, Target, Trace, TraceMissing, Violation};
use stubborn_system::{LabelId, Outcome, Spent, Successors, System, TransitionId};

use stubborn_plan::{CheckError, CheckOptions, Run};
use stubborn_reduce::ConfigError;

use crate::check::{Answer, Question, Report};
use crate::load::{LoadedModel, Parts};

/// The size of a net before and after reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetSizes {
    /// Places of the net.
    pub places: usize,
    /// Transitions of the net.
    pub transitions: usize,
    /// Places that are left.
    pub places_left: usize,
    /// Transitions that are left.
    pub transitions_left: usize,
}

/// A smaller net in place of a model's.
struct Smaller {
    original: Arc<NetSystem>,
    reduced: Reduced,
    model: LoadedModel,
}

impl Smaller {
    /// The model's net, reduced; with an invariant for each formula, which must not be true.
    fn new(
        model: &LoadedModel,
        preserve: &Preserve,
        rules: ReductionRules,
        bad: &[Formula],
    ) -> Option<Self> {
        let original = Arc::clone(model.net()?);
        let budget = original.shared_budget();
        let reduced = Reduced::within(original.net(), preserve, rules, budget);
        let (net, options) = (reduced.net.clone(), NetOptions::default());
        let known = reduced.invariants(original.invariants());
        let mut system = NetSystem::knowing(net, known, options, Arc::clone(budget)).ok()?;
        for formula in bad {
            system.add_label(reduced.translate(formula, original.net())?)?;
        }
        let system = Arc::new(system);
        let parts = Parts {
            warnings: Vec::new(),
            reference: Arc::clone(&system) as Arc<dyn System>,
            system: Arc::clone(&system) as Arc<dyn System>,
            program: None,
            temporal: Vec::new(),
            expressions: Vec::new(),
            text: None,
            promela: None,
            growth: None,
            stop_compiling: None,
            net: Some(system),
        };
        let text = model.text().main().clone();
        Some(Self {
            original,
            reduced,
            model: LoadedModel::new(model.language(), text, parts),
        })
    }

    fn sizes(&self) -> NetSizes {
        NetSizes {
            places: self.original.net().place_count(),
            transitions: self.original.net().transition_count(),
            places_left: self.reduced.net.place_count(),
            transitions_left: self.reduced.net.transition_count(),
        }
    }

    /// The label of the `number`th formula.
    fn label(&self, number: usize, count: usize) -> LabelId {
        let all = self.model.system().structure().labels.len();
        LabelId::new(all - count + number)
    }

    /// A violation in the small net as one in the net.
    fn told(&self, violation: &Violation, target: Target) -> Result<Violation, CheckError> {
        let untold = |why| {
            Ok(Violation {
                target,
                // The state of the small net says nothing to people, and another one is not known.
                state: Vec::new(),
                step: None,
                trace: None,
                trace_missing: why,
                ..violation.clone()
            })
        };
        let Some(trace) = &violation.trace else {
            return untold(violation.trace_missing);
        };
        let run: Vec<stubborn_net::TransitionId> = trace
            .steps()
            .map(|step| stubborn_net::TransitionId::new(step.transition.index()))
            .collect();
        let Some(run) = self.reduced.original_run(self.original.net(), &run) else {
            return untold(Some(TraceMissing::Long));
        };
        let trace = match self.replayed(&run) {
            Err(CheckError::Search(SearchError::GaveUp(spent))) => {
                return untold(Some(spent.into()));
            }
            replayed => replayed?,
        };
        let last = trace.last_state();
        let mut executor = self.original.executor();
        let is_bad = match target {
            Target::Label(label) => executor.label(last, label),
            _ => {
                let mut successors = Successors::new(last.len());
                executor.successors(last, &mut successors);
                successors.is_empty()
            }
        };
        if !is_bad {
            return Err(failed("the end of the run is not what was looked for"));
        }
        Ok(Violation {
            target,
            length: trace.len() as u64,
            state: last.to_vec(),
            step: None,
            trace: Some(trace),
            ..violation.clone()
        })
    }

    /// Fires a sequence of transitions of the net.
    fn replayed(&self, run: &[stubborn_net::TransitionId]) -> Result<Trace, CheckError> {
        let mut trace = Trace::new(&self.original.initial_states());
        let mut executor = self.original.executor();
        let mut successors = Successors::new(trace.last_state().len());
        let budget = self.original.budget();
        for (number, transition) in run.iter().enumerate() {
            if number % 64 == 63 && budget.is_overdrawn() {
                let spent = budget.poll().unwrap_or(Spent::Time);
                return Err(CheckError::Search(SearchError::GaveUp(spent)));
            }
            let transition = TransitionId::new(transition.index());
            successors.clear();
            executor.fire(trace.last_state(), transition, &mut successors);
            let fired = (!successors.is_empty()).then(|| successors.outcome(0));
            if fired != Some(Outcome::FINE) {
                return Err(failed("a transition of the run cannot fire"));
            }
            trace.push(transition, Outcome::FINE, successors.state(0));
        }
        Ok(trace)
    }
}

fn failed(why: &str) -> CheckError {
    CheckError::Search(SearchError::ReplayFailed(format!(
        "a run of the reduced net: {why}"
    )))
}

/// Relations from a state space are about the net as it is.
fn refuse_measured(options: &CheckOptions<'_>) -> Result<(), CheckError> {
    match options.reduction.measured {
        None => Ok(()),
        Some(_) => Err(CheckError::Reduction(ConfigError::new(
            "relations from a file are those of the net as it is, not of a smaller one: leave out \
             --structural",
        ))),
    }
}

/// As [`check`](crate::check), of smaller nets with the same answers; a model that is no net is
/// checked as it is.
pub fn check_smaller(
    model: &LoadedModel,
    questions: &[Question],
    rules: ReductionRules,
    options: &CheckOptions<'_>,
) -> Result<Report, CheckError> {
    let Some(net) = model.net() else {
        return crate::check(model, questions, options);
    };
    refuse_measured(options)?;
    let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
    let mut runs: Vec<Run> = Vec::new();
    let mut rest: Vec<usize> = Vec::new();
    let (mut deadlocks, mut labels): (Vec<usize>, Vec<(usize, Formula)>) = Default::default();
    for (at, question) in questions.iter().enumerate() {
        match question.target {
            Target::Deadlock | Target::InvalidEnd => deadlocks.push(at),
            Target::Label(label) => match net.formula(label) {
                Some(formula) => labels.push((at, formula.clone())),
                None => rest.push(at),
            },
            Target::Errors | Target::Assertions => rest.push(at),
        }
    }
    let formulas: Vec<Formula> = labels.iter().map(|(_, formula)| formula.clone()).collect();
    let watched = formulas.iter().flat_map(|f| f.places(net.net()));
    let mut watched: Vec<PlaceId> = watched.collect();
    watched.sort_unstable();
    watched.dedup();
    let groups = [
        (Preserve::Deadlocks, deadlocks, Vec::new()),
        (
            Preserve::Places(watched),
            labels.iter().map(|(at, _)| *at).collect(),
            formulas,
        ),
    ];
    for (preserve, group, formulas) in groups {
        if group.is_empty() {
            continue;
        }
        let Some(smaller) = Smaller::new(model, &preserve, rules, &formulas) else {
            rest.extend(group);
            continue;
        };
        let own = |(number, at): (usize, &usize)| Question {
            target: match questions[*at].target {
                Target::Label(_) => Target::Label(smaller.label(number, formulas.len())),
                target => target,
            },
            ..questions[*at].clone()
        };
        let asked: Vec<Question> = group.iter().enumerate().map(own).collect();
        let report = crate::check(&smaller.model, &asked, options)?;
        let told = report.answers.into_iter().zip(&group).map(|(answer, at)| {
            let question = questions[*at].clone();
            let told = |v: &Violation| smaller.told(v, question.target);
            Ok(Answer {
                violation: answer.violation.as_ref().map(told).transpose()?,
                verdict: answer.verdict,
                run: runs.len() + answer.run,
                question,
            })
        });
        let told: Result<Vec<Answer>, CheckError> = told.collect();
        // The rules know of no limit to tokens: where one is met, the net is asked as it is.
        let defeated = |model: &LoadedModel| model.system().defeats_reduction();
        if defeated(&smaller.model) || told.is_err() && defeated(model) {
            rest.extend(group);
            continue;
        }
        for (answer, at) in told?.into_iter().zip(&group) {
            answers[*at] = Some(answer);
        }
        runs.extend(report.runs);
    }
    if !rest.is_empty() {
        rest.sort_unstable();
        let asked: Vec<Question> = rest.iter().map(|at| questions[*at].clone()).collect();
        let report = crate::check(model, &asked, options)?;
        for (answer, at) in report.answers.into_iter().zip(&rest) {
            answers[*at] = Some(Answer {
                run: runs.len() + answer.run,
                ..answer
            });
        }
        runs.extend(report.runs);
    }
    Ok(Report {
        answers: answers.into_iter().flatten().collect(),
        runs,
    })
}

/// As [`explore`](crate::explore), of a smaller net that has a deadlock if and only if the
/// model's has one; none if the model is no net.
pub fn explore_smaller(
    model: &LoadedModel,
    rules: ReductionRules,
    options: &CheckOptions<'_>,
) -> Option<Result<(Run, NetSizes), CheckError>> {
    let smaller = Smaller::new(model, &Preserve::Deadlocks, rules, &[]);
    if let Some(spent) = model.net()?.budget().poll() {
        return Some(Err(CheckError::Search(SearchError::GaveUp(spent))));
    }
    let smaller = smaller?;
    let run = refuse_measured(options).and_then(|()| crate::explore(&smaller.model, options));
    Some(run.map(|run| (run, smaller.sizes())))
}
