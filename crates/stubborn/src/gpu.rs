//! Searches on a graphics card: safety questions, without reduction.
//!
//! The card counts, and finds what is violated; ways and outcomes are those of the reference
//! execution, as with any other search.

use std::time::Instant;

use stubborn_gpu::{Compiled, Device, Engine, Failure, Hit, Options};
use stubborn_search::{
    Limits, MemoryUse, Order, SearchError, SearchResult, Stop, StoreKind, Target, TimeUse,
    TraceMissing, Violation, peak_resident_bytes, replay,
};
use stubborn_system::{BitSet, FailureKind, Outcome, Successors, TransitionId};

use crate::check::{Answer, CheckError, CheckOptions, Question, Report, Run, verdict};
use crate::load::LoadedModel;
use crate::reduction::Por;

/// Answers safety questions about a model by a search on a graphics card.
pub fn check_on_card(
    model: &LoadedModel,
    questions: &[Question],
    options: &CheckOptions<'_>,
) -> Result<Report, CheckError> {
    let mut targets: Vec<Target> = Vec::new();
    for question in questions {
        if !targets.contains(&question.target) {
            targets.push(question.target);
        }
    }
    let result = search(model, &targets, Stop::AllViolated, options)?;
    let answer = |question: &Question| {
        let violation = result.violation(question.target).cloned();
        Answer {
            verdict: verdict(&result, violation.as_ref()),
            question: question.clone(),
            violation,
            run: 0,
        }
    };
    Ok(Report {
        answers: questions.iter().map(answer).collect(),
        runs: vec![Run {
            reduction: "none".into(),
            result,
        }],
    })
}

/// Explores the whole state space on a graphics card.
pub fn explore_on_card(model: &LoadedModel, options: &CheckOptions<'_>) -> Result<Run, CheckError> {
    Ok(Run {
        reduction: "none".into(),
        result: search(model, &[], Stop::Never, options)?,
    })
}

/// What the options ask for that a card cannot do.
fn refused(options: &CheckOptions<'_>) -> Option<&'static str> {
    if matches!(options.reduction.por, Por::Chosen(_)) || options.reduction.cycle_proviso.is_some()
    {
        return Some("searches on a graphics card are not reduced yet (--por none)");
    }
    if options.order != Order::BreadthFirst {
        return Some("searches on a graphics card are breadth-first (--order bfs)");
    }
    if !options.store.kind.is_exact() {
        return Some("searches on a graphics card store all states (--store tree)");
    }
    None
}

fn search(
    model: &LoadedModel,
    asked: &[Target],
    stop: Stop,
    options: &CheckOptions<'_>,
) -> Result<SearchResult, CheckError> {
    if let Some(reason) = refused(options) {
        return Err(CheckError::Refused(reason.into()));
    }
    let Some(commands) = model.commands() else {
        let reason = "a graphics card explores DVE and Promela models, not Petri nets";
        return Err(CheckError::Refused(reason.into()));
    };
    let budget = model.system().budget();
    budget.begin("exploring on the graphics card");
    let structure = model.system().structure();
    // Steps that fail are always looked at: the model may have been too small.
    let mut targets = asked.to_vec();
    let watches = !targets.contains(&Target::Errors) && structure.error_state.is_some();
    targets.extend(watches.then_some(Target::Errors));
    let device = Device::open().map_err(|error| CheckError::Refused(error.to_string()))?;
    let compiled = Engine::new(&device)
        .takes(commands, &targets)
        .map_err(failed)?;
    let card = Options {
        // What is only watched is no reason to stop.
        stop: match watches {
            true => Stop::Never,
            false => stop,
        },
        limits: Limits { ..options.limits },
        observer: options.observer,
        ..Options::default()
    };
    let found = compiled.run(&device, &card).map_err(failed)?;
    let errors = found.hits.iter().find(|hit| hit.target == Target::Errors);
    let failed_at = errors.map_or_else(
        || Ok(BitSet::new(structure.failures.len())),
        |hit| failures(model, hit),
    )?;
    let explored = Instant::now();
    let mut violations = Vec::new();
    for hit in found.hits.iter().filter(|hit| asked.contains(&hit.target)) {
        violations.push(violation(model, &device, &compiled, hit, &card)?);
    }
    let figures = &found.figures;
    let mut fired = BitSet::new(structure.transitions.len());
    (0..structure.transitions.len()).for_each(|at| {
        fired.insert(at);
    });
    Ok(SearchResult {
        states: found.states,
        transitions: found.transitions,
        deadlocks: found.deadlocks,
        invalid_ends: found.invalid_ends,
        depth: (found.level_sizes.len() as u64).saturating_sub(1),
        bfs_levels: Some(found.level_sizes.len() as u64),
        level_sizes: found
            .level_sizes
            .iter()
            .copied()
            .take(SearchResult::LEVEL_SIZES)
            .collect(),
        expanded_by_proviso: 0,
        end: found.end,
        violations,
        fired,
        failed: failed_at,
        store: StoreKind::Tree,
        memory: MemoryUse {
            store: figures.tables as usize,
            queue_peak: figures.queues as usize,
            peak: (figures.tables + figures.queues) as usize,
            process_peak: peak_resident_bytes(),
        },
        time: TimeUse {
            explore: compiled.compile_time() + figures.prepare + figures.explore,
            traces: explored.elapsed(),
        },
    })
}

fn failed(failure: Failure) -> CheckError {
    match failure {
        Failure::Refused(reason) => {
            CheckError::Refused(format!("this model is not for a graphics card: {reason}"))
        }
        other => CheckError::NoAnswer(other.to_string()),
    }
}

/// Where the steps failed that a search has met. Also notes, by executing them, whether the model
/// was too small.
fn failures(model: &LoadedModel, hit: &Hit) -> Result<BitSet, CheckError> {
    let mut failed = BitSet::new(model.system().structure().failures.len());
    let mut executor = model.system().executor();
    let mut successors = Successors::new(model.system().layout().words());
    for state in &hit.kept {
        successors.clear();
        executor.successors(state, &mut successors);
        for step in successors.iter() {
            if let Some(site) = step.outcome.failed() {
                failed.insert(site);
            }
        }
    }
    if model.is_outgrown() {
        return Err(CheckError::Outgrown);
    }
    // Of those that were not kept, some may say that the model was too small.
    if model.may_outgrow() && hit.count > hit.kept.len() as u64 {
        let reason = "more steps fail than the graphics card can tell about";
        return Err(CheckError::NoAnswer(reason.into()));
    }
    Ok(failed)
}

/// A violation with its trace.
fn violation(
    model: &LoadedModel,
    device: &Device,
    compiled: &Compiled,
    hit: &Hit,
    options: &Options<'_>,
) -> Result<Violation, CheckError> {
    let step = bad_step(model, hit)?;
    let way = compiled.way(device, hit, options).map_err(failed)?;
    let trace = match way {
        Some(states) => Some(replay(model.reference(), states, step)?),
        None => None,
    };
    let missing = trace.is_none().then(|| {
        let spent = model.system().budget().spent();
        spent.map_or(TraceMissing::Time, TraceMissing::from)
    });
    Ok(Violation {
        target: hit.target,
        count: hit.count,
        length: hit.depth + u64::from(step.is_some()),
        state: hit.state.clone(),
        step,
        trace,
        trace_missing: missing,
    })
}

/// The step that goes wrong from the state of a hit, by the reference execution.
fn bad_step(model: &LoadedModel, hit: &Hit) -> Result<Option<(TransitionId, Outcome)>, CheckError> {
    let assertion = match hit.target {
        Target::Errors => false,
        Target::Assertions => true,
        Target::Deadlock | Target::InvalidEnd | Target::Label(_) => return Ok(None),
    };
    let structure = model.reference().structure();
    let mut successors = Successors::new(hit.state.len());
    model
        .reference()
        .executor()
        .successors(&hit.state, &mut successors);
    let is_it = |step: &stubborn_system::Successor<'_>| {
        let mut sites = step.outcome.sites(structure);
        sites.any(|site| (site.kind == FailureKind::Assertion) == assertion)
    };
    let found = successors.iter().find(is_it);
    found
        .map(|step| Some((step.transition, step.outcome)))
        .ok_or_else(|| {
            let text = "no step goes wrong where the graphics card has seen one".into();
            CheckError::Search(SearchError::ReplayFailed(text))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_cannot_do_is_refused() {
        let fine = CheckOptions::default();
        assert_eq!(refused(&fine), None);
        let deep = CheckOptions {
            order: Order::DepthFirst,
            ..CheckOptions::default()
        };
        assert!(refused(&deep).is_some());
    }
}
