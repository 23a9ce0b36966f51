//! Random walks with restarts: the cheapest way to see much of a system, and the only one that
//! needs no memory.
//!
//! Walks differ in how they choose. A uniform choice among *steps* favours whoever has many of
//! them; one among *processes* gives each its share. *Priorities* let one process run until it
//! waits or is lowered at a random moment, which finds errors that need few preemptions
//! (Burckhardt, Kothari, Musuvathi, Nagarakatte, *A randomized scheduler with probabilistic
//! guarantees of finding bugs*, 2010).

use std::sync::atomic::Ordering;

use stubborn_plan::CheckError;
use stubborn_search::Search;
use stubborn_system::{BitSet, Outcome, Patience, Random, Structure, Successors};

use crate::watch::Watch;
use crate::{Caught, Shared, Turn};

/// The first walk of a turn has so many steps; the next ones are longer.
const SHORT: u64 = 256;
/// No walk has more steps: the way to a violation is kept.
const LONG: u64 = 1 << 16;
/// So often the running process is lowered: once in so many steps.
const LOWERED_EVERY: usize = 50;

/// How steps are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Steps,
    Processes,
    Priorities,
}

/// Chooses steps.
pub(crate) struct Chooser<'a> {
    style: Style,
    structure: &'a Structure,
    pub(crate) random: Random,
    /// Of each process; the highest one runs.
    priorities: Vec<u64>,
    candidates: Vec<usize>,
}

impl<'a> Chooser<'a> {
    pub(crate) fn new(style: Style, structure: &'a Structure, seed: u64) -> Self {
        Self {
            style,
            structure,
            random: Random::new(seed),
            priorities: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// A new walk begins.
    pub(crate) fn restart(&mut self) {
        let random = &mut self.random;
        let processes = self.structure.processes.len();
        self.priorities = (0..processes).map(|_| random.bits() >> 1).collect();
    }

    /// The process that moves; none where there are no processes.
    fn mover(&self, successors: &Successors, at: usize) -> Option<usize> {
        let movers = self.structure.movers(successors.transitions()[at]);
        movers.first().map(|process| process.index())
    }

    /// One of the steps that do not fail.
    pub(crate) fn choose(&mut self, successors: &Successors) -> Option<usize> {
        let fails = |at: &usize| {
            let outcome = successors.outcome(*at);
            outcome != Outcome::FINE && outcome.failed().is_some()
        };
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend((0..successors.len()).filter(|at| !fails(at)));
        if self.style != Style::Steps && !candidates.is_empty() {
            let first = candidates[self.random.below(candidates.len())];
            let mover = match self.style {
                Style::Steps => None,
                Style::Processes => {
                    let mut movers: Vec<Option<usize>> = candidates
                        .iter()
                        .map(|at| self.mover(successors, *at))
                        .collect();
                    movers.sort_unstable();
                    movers.dedup();
                    movers[self.random.below(movers.len())]
                }
                Style::Priorities => {
                    let movers = candidates.iter().map(|at| self.mover(successors, *at));
                    let highest = movers.max_by_key(|m| m.map(|m| self.priorities[m]));
                    let highest = highest.unwrap_or_else(|| self.mover(successors, first));
                    if let Some(mover) = highest
                        && self.random.one_in(LOWERED_EVERY)
                    {
                        self.priorities[mover] = self.random.bits() >> 32;
                    }
                    highest
                }
            };
            candidates.retain(|at| self.mover(successors, *at) == mover);
        }
        let chosen = match candidates.len() {
            0 => None,
            count => Some(candidates[self.random.below(count)]),
        };
        self.candidates = candidates;
        chosen
    }
}

/// Walks of so many steps together.
pub(crate) fn walk(
    shared: &Shared<'_, '_>,
    style: Style,
    size: u64,
    seed: u64,
) -> Result<Turn, CheckError> {
    let hunt = shared.hunt;
    let system = hunt.system;
    let (structure, words) = (system.structure(), system.layout().words());
    let watch = Watch::new(structure, hunt.targets);
    let initial = system.initial_states();
    let mut chooser = Chooser::new(style, structure, seed);
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut patience = Patience::new(system.budget(), 64);
    let mut taken = BitSet::new(structure.transitions.len());
    let mut path: Vec<u32> = Vec::new();
    let (mut left, mut length, mut deepest) = (size, SHORT, 0);
    let mut hit = None;
    'turn: while left > 0 {
        chooser.restart();
        let start = chooser.random.below(initial.len() / words);
        path.clear();
        path.extend_from_slice(&initial[start * words..][..words]);
        for number in 0..length.min(left) {
            if patience.spent().is_some() || shared.over.load(Ordering::Relaxed) {
                break 'turn;
            }
            let state = &path[path.len() - words..];
            successors.clear();
            executor.successors(state, &mut successors);
            hit = watch.look(&mut *executor, state, &successors);
            if hit.is_some() && system.budget().void().is_none() {
                break 'turn;
            }
            deepest = deepest.max(number);
            left = left.saturating_sub(1);
            let Some(next) = chooser.choose(&successors) else {
                break;
            };
            taken.insert(successors.transitions()[next].index());
            path.extend_from_slice(successors.state(next));
        }
        // A system that stops at once ends, too.
        left = left.saturating_sub(1);
        length = (length * 2).min(LONG);
    }
    shared.steps.fetch_add(size - left, Ordering::Relaxed);
    shared.depth.fetch_max(deepest, Ordering::Relaxed);
    shared.report().covered.taken.union_with(&taken);
    match hit {
        Some(hit) if system.budget().void().is_none() => confirmed(shared, &watch, hit, path),
        _ => Ok(Turn::Nothing),
    }
}

/// The violation at the end of a path, replayed.
pub(crate) fn confirmed(
    shared: &Shared<'_, '_>,
    watch: &Watch<'_>,
    hit: (usize, Option<(stubborn_system::TransitionId, Outcome)>),
    path: Vec<u32>,
) -> Result<Turn, CheckError> {
    let hunt = shared.hunt;
    let words = hunt.system.layout().words();
    let length = path.len() / words - 1 + usize::from(hit.1.is_some());
    let found = watch.found(hit, length, &path[path.len() - words..]);
    let search = Search {
        replay: Some(hunt.reference),
        ..Search::new(hunt.system)
    };
    let mut violations = search.confirm(vec![found], Ok(vec![path]))?;
    let violation = violations.pop().map(Box::new);
    Ok(violation.map_or(Turn::Nothing, |v| Turn::Caught(Caught::Target(hit.0, v))))
}
