//! A plain breadth-first search for validation and tests: simple enough to be trusted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stubborn_system::{
    BitSet, Expansion, LabelId, Outcome, Random, Reduction, Successors, System, TransitionId,
};

use super::Limits;
use crate::aim::NeededProviso;

/// Distinct states.
#[derive(Clone, Debug)]
pub struct States {
    /// In the order in which they were found.
    pub states: Vec<Vec<u32>>,
    /// These are all there are.
    pub complete: bool,
}

/// All states of a small model; of a large one, a sample met on random walks.
pub fn sample(system: &dyn System, limits: &Limits) -> States {
    let explored = explore(
        system,
        None,
        NeededProviso::None,
        &[],
        limits.exhaustive_states,
    );
    if explored.complete {
        return States {
            states: explored.states,
            complete: true,
        };
    }
    let mut random = Random::new(limits.seed);
    let words = system.layout().words();
    let initial = system.initial_states();
    let starts = initial.len() / words;
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut seen = BTreeSet::new();
    // Walks of growing length, so that the sample is not all close to the start.
    let mut steps = 0;
    let mut length = 50;
    while seen.len() < limits.sampled_states && steps < 100 * limits.sampled_states {
        let start = random.below(starts) * words;
        let mut state = initial[start..start + words].to_vec();
        for step in 0..length {
            steps += 1;
            // Neighbours on a walk are alike; take some of them.
            if step % 7 == 0 {
                seen.insert(state.clone());
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            if successors.is_empty() || seen.len() >= limits.sampled_states {
                break;
            }
            let pick = random.below(successors.len());
            state.copy_from_slice(successors.state(pick));
        }
        length = (length * 3 / 2).min(20_000);
    }
    States {
        states: seen.into_iter().collect(),
        complete: false,
    }
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// All states, in the order in which they were found.
    pub states: Vec<Vec<u32>>,
    /// Explored edges.
    pub transitions: usize,
    /// States without successors.
    pub deadlocks: BTreeSet<Vec<u32>>,
    /// For each goal, the least number of steps to a state where all its labels hold.
    pub distances: Vec<Option<usize>>,
    /// For each transition that fails or violates an assertion, the least number of steps with that one.
    failures: BTreeMap<TransitionId, usize>,
    /// No limit was reached.
    pub complete: bool,
}

impl Explored {
    /// The least number of steps to a failure, or a violated assertion, of one of these transitions.
    pub fn failure(&self, is_asked_for: impl Fn(TransitionId) -> bool) -> Option<usize> {
        let failures = self.failures.iter();
        let failures = failures.filter(|(transition, _)| is_asked_for(**transition));
        failures.map(|(_, steps)| *steps).min()
    }
}

/// Explores breadth-first, reduced or not. For [`NeededProviso::Safety`], a state all of whose kept
/// successors are closed is expanded fully; for [`NeededProviso::Liveness`], one that has any.
pub fn explore(
    system: &dyn System,
    reduction: Option<&dyn Reduction>,
    proviso: NeededProviso,
    goals: &[Vec<LabelId>],
    limit: usize,
) -> Explored {
    let words = system.layout().words();
    let transitions = system.structure().transitions.len();
    let error = system.structure().error_state.as_deref();
    let mut executor = system.executor();
    let mut reducer = reduction.map(|r| r.reducer());
    let mut found = Explored {
        states: Vec::new(),
        transitions: 0,
        deadlocks: BTreeSet::new(),
        distances: vec![None; goals.len()],
        failures: BTreeMap::new(),
        complete: true,
    };
    let mut numbers: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut depths = Vec::new();
    for state in system.initial_states().chunks(words) {
        if !numbers.contains_key(state) {
            numbers.insert(state.to_vec(), found.states.len());
            found.states.push(state.to_vec());
            depths.push(0);
        }
    }
    let mut successors = Successors::new(words);
    let mut kept = BitSet::new(transitions);
    let mut at = 0;
    while at < found.states.len() {
        if found.states.len() > limit {
            found.complete = false;
            break;
        }
        let state = found.states[at].clone();
        if error != Some(&state[..]) {
            for (goal, distance) in goals.iter().zip(&mut found.distances) {
                if distance.is_none() && goal.iter().all(|l| executor.label(&state, *l)) {
                    *distance = Some(depths[at]);
                }
            }
        }
        successors.clear();
        executor.successors(&state, &mut successors);
        if successors.is_empty() && error != Some(&state[..]) {
            found.deadlocks.insert(state.clone());
        }
        kept.fill();
        if let Some(reducer) = &mut reducer {
            let mut is_known = |index: usize| numbers.contains_key(successors.state(index));
            let mut expansion = Expansion {
                state: &state,
                executor: executor.as_mut(),
                successors: &successors,
                is_known: Some(&mut is_known),
            };
            reducer.reduce(&mut expansion, &mut kept);
            let closed = |index: &usize| {
                let number = numbers.get(successors.state(*index));
                number.is_some_and(|n| *n <= at)
            };
            let mut chosen = (0..successors.len())
                .filter(|i| kept.contains(successors.transitions()[*i].index()));
            let expand = match proviso {
                NeededProviso::None => false,
                NeededProviso::Safety => chosen.all(|i| closed(&i)),
                NeededProviso::Liveness => chosen.any(|i| closed(&i)),
            };
            if expand {
                kept.fill();
            }
        }
        for successor in successors.iter() {
            if !kept.contains(successor.transition.index()) {
                continue;
            }
            found.transitions += 1;
            if successor.outcome != Outcome::FINE {
                let steps = found.failures.entry(successor.transition);
                steps.or_insert(depths[at] + 1);
            }
            if !numbers.contains_key(successor.state) {
                numbers.insert(successor.state.to_vec(), found.states.len());
                found.states.push(successor.state.to_vec());
                depths.push(depths[at] + 1);
            }
        }
        at += 1;
    }
    found
}
