//! Random lassos: walks through the product with an automaton that look whether they have come
//! back to where they were, with all marks on the way (Grosu, Smolka, *Monte Carlo model checking*,
//! 2005).
//!
//! The run that is found is handed to an ordinary check, which sees its states only: that makes it
//! short, and replays it.

use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

use rapidhash::{RapidHashMap, fast::RandomState};
use stubborn_emptiness::{Check, CheckResult, CheckVerdict, FiniteRuns};
use stubborn_ltl::automaton::{Marks, StateId};
use stubborn_plan::CheckError;
use stubborn_system::{Patience, Successors};

use crate::walk::{Chooser, Style};
use crate::within::Within;
use crate::{Caught, Hunt, Shared, Turn};

/// The first walk of a turn has so many steps; the next ones are longer.
const SHORT: u64 = 256;
/// No walk has more steps.
const LONG: u64 = 1 << 15;

/// Walks of so many steps together.
pub(crate) fn walk(
    shared: &Shared<'_, '_>,
    property: usize,
    size: u64,
    seed: u64,
) -> Result<Turn, CheckError> {
    let hunt = shared.hunt;
    let system = hunt.system;
    let words = system.layout().words();
    let (automaton, labels) = (
        hunt.temporal[property].automaton(),
        hunt.temporal[property].labels(),
    );
    let all_marks = automaton.all_marks();
    let accepts_all = |place: StateId| {
        let mut edges = automaton.edges(place).iter();
        edges.any(|e| e.guard.is_true() && e.target == place && e.marks == all_marks)
    };
    let initial = system.initial_states();
    let hasher = RandomState::new();
    let styles = [Style::Steps, Style::Processes, Style::Priorities];
    let style = styles[seed as usize % styles.len()];
    let mut chooser = Chooser::new(style, system.structure(), seed);
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut patience = Patience::new(system.budget(), 64);
    let mut valuation = vec![0u64; labels.len().div_ceil(64)];
    let mut path: Vec<u32> = Vec::new();
    // For each step, which marks were collected last when.
    let mut last_seen: Vec<u64> = Vec::new();
    let mut visited: RapidHashMap<u64, u64> = RapidHashMap::default();
    let (mut left, mut length, mut deepest) = (size, SHORT, 0);
    let mut closed = false;
    'turn: while left > 0 {
        chooser.restart();
        let start = chooser.random.below(initial.len() / words);
        path.clear();
        path.extend_from_slice(&initial[start * words..][..words]);
        visited.clear();
        last_seen.clear();
        last_seen.resize(automaton.acceptance_sets() as usize, 0);
        let mut place: StateId = automaton.initial();
        for number in 1..=length.min(left) {
            if patience.spent().is_some() || shared.over.load(Ordering::Relaxed) {
                break 'turn;
            }
            let state = path[path.len() - words..].to_vec();
            // Everything since the last visit, if there was one, is a cycle.
            let key = hasher.hash_one((&state, place.0));
            let before = visited.insert(key, number);
            if before.is_some_and(|before| last_seen.iter().all(|at| *at >= before)) {
                closed = true;
                break 'turn;
            }
            deepest = deepest.max(number);
            left = left.saturating_sub(1);
            valuation.fill(0);
            for (bit, label) in labels.iter().enumerate() {
                if executor.label(&state, *label) {
                    valuation[bit / 64] |= 1 << (bit % 64);
                }
            }
            let edges: Vec<(StateId, Marks)> = automaton
                .successors(place, &valuation)
                .map(|edge| (edge.target, edge.marks))
                .collect();
            // A run that the automaton refuses cannot violate the property.
            if edges.is_empty() {
                break;
            }
            let (target, marks) = edges[chooser.random.below(edges.len())];
            place = target;
            for (set, at) in last_seen.iter_mut().enumerate() {
                if marks.has(set as u32) {
                    *at = number;
                }
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            // After a prefix that no good run has, any cycle will do.
            if accepts_all(place) {
                let mut all = successors.iter();
                if all.any(|next| visited.contains_key(&hasher.hash_one((next.state, place.0)))) {
                    closed = true;
                    break 'turn;
                }
            }
            match chooser.choose(&successors) {
                Some(next) => path.extend_from_slice(successors.state(next)),
                // The run ends, and counts as standing still.
                None if hunt.options.finite_runs == FiniteRuns::Stutter => {}
                None => break,
            }
        }
        left = left.saturating_sub(1);
        length = (length * 2).min(LONG);
    }
    shared.steps.fetch_add(size - left, Ordering::Relaxed);
    shared.depth.fetch_max(deepest, Ordering::Relaxed);
    if !closed || system.budget().void().is_some() {
        return Ok(Turn::Nothing);
    }
    let result = inside(hunt, property, &path)?;
    Ok(result.map_or(Turn::Nothing, |result| {
        Turn::Caught(Caught::Temporal(property, Box::new(result)))
    }))
}

/// A violation among the states of a path, if there is one.
pub(crate) fn inside(
    hunt: &Hunt<'_>,
    property: usize,
    path: &[u32],
) -> Result<Option<CheckResult>, CheckError> {
    let within = Within::new(hunt.system, path, false);
    let check = Check {
        replay: Some(hunt.reference),
        finite_runs: hunt.options.finite_runs,
        weak_fairness: hunt.options.weak_fairness,
        ..Check::new(&within, hunt.temporal[property])
    };
    let result = check.run()?;
    Ok((result.verdict == CheckVerdict::Violated).then_some(result))
}
