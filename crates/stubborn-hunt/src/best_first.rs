//! Best-first search: states that look nearest to the goal come first (Edelkamp, Leue,
//! Lluch-Lafuente, *Directed explicit-state model checking in the validation of communication
//! protocols*, 2004).
//!
//! How near a state is comes from the relations that reductions use anyway. A transition that may
//! make the goal true is one step away; one that may enable a guard of a transition at distance
//! `d` has distance `d + 1`. The distance of a state is the least among its enabled transitions.
//! For deadlocks it is the number of steps that are possible.
//!
//! States are remembered by a fingerprint: a hunt may overlook some.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

use rapidhash::{RapidHashSet, fast::RandomState};
use stubborn_plan::CheckError;
use stubborn_plan::reduction::{asserting_steps, failing_steps};
use stubborn_search::Target;
use stubborn_system::{BitSet, Patience, Random, Relations, Structure, Successors, TransitionId};

use crate::walk::confirmed;
use crate::watch::Watch;
use crate::{Shared, Turn};

/// Most words of states that are kept for the way back.
const MOST_WORDS: usize = 1 << 28;

/// A distance that no way has.
const FAR: u32 = u32::MAX;

/// Steps from each transition to a goal, as far as relations tell.
fn distances(structure: &Structure, relations: &Relations, target: Target) -> Vec<u32> {
    let mut distance = vec![FAR; structure.transitions.len()];
    let mut queue: VecDeque<TransitionId> = match target {
        Target::Label(label) => relations.may_enable.0.row(label).collect(),
        Target::Assertions => asserting_steps(structure).transitions.into(),
        Target::Errors => failing_steps(structure).transitions.into(),
        Target::Deadlock | Target::InvalidEnd => VecDeque::new(),
    };
    for transition in &queue {
        distance[transition.index()] = 1;
    }
    while let Some(transition) = queue.pop_front() {
        let next = distance[transition.index()] + 1;
        for guard in &structure.transition(transition).guards {
            for enabling in relations.may_enable.0.row(*guard) {
                if distance[enabling.index()] == FAR {
                    distance[enabling.index()] = next;
                    queue.push_back(enabling);
                }
            }
        }
    }
    distance
}

/// A search of so many states for one target.
pub(crate) fn search(
    shared: &Shared<'_, '_>,
    target: Target,
    size: u64,
    seed: u64,
) -> Result<Turn, CheckError> {
    let system = shared.hunt.system;
    let (structure, words) = (system.structure(), system.layout().words());
    let distance = match target {
        Target::Deadlock | Target::InvalidEnd => Vec::new(),
        _ => match shared.relations() {
            Some(relations) => distances(structure, relations, target),
            None => return Ok(Turn::Nothing),
        },
    };
    let most = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .min(MOST_WORDS / words);
    let watch = Watch::new(structure, shared.hunt.targets);
    let hasher = RandomState::new();
    let mut random = Random::new(seed);
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut patience = Patience::new(system.budget(), 64);
    let mut taken = BitSet::new(structure.transitions.len());
    let mut seen: RapidHashSet<u64> = RapidHashSet::default();
    // States, each with the number of the one that it comes from.
    let (mut states, mut from): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut queue: BinaryHeap<Reverse<(u32, u64, u32)>> = BinaryHeap::new();
    for initial in system.initial_states().chunks_exact(words) {
        if seen.insert(hasher.hash_one(initial)) {
            queue.push(Reverse((0, 0, from.len() as u32)));
            states.extend_from_slice(initial);
            from.push(u32::MAX);
        }
    }
    let mut hit = None;
    while let Some(Reverse((_, _, number))) = queue.pop() {
        if patience.spent().is_some() || shared.over.load(Ordering::Relaxed) {
            break;
        }
        let state = &states[number as usize * words..][..words];
        successors.clear();
        executor.successors(state, &mut successors);
        if let Some(found) = watch.look(&mut *executor, state, &successors) {
            hit = Some((found, number));
            break;
        }
        let here = match target {
            Target::Deadlock | Target::InvalidEnd => successors.len() as u32,
            _ => {
                let enabled = successors.transitions().iter();
                enabled.map(|t| distance[t.index()]).min().unwrap_or(FAR)
            }
        };
        for step in successors
            .iter()
            .filter(|step| step.outcome.failed().is_none())
        {
            if from.len() < most && seen.insert(hasher.hash_one(step.state)) {
                taken.insert(step.transition.index());
                // A step of the right kind leads nearer; among equals, chance decides.
                let own = distance
                    .get(step.transition.index())
                    .copied()
                    .unwrap_or(here);
                let key = here.min(FAR - 1).saturating_add(u32::from(own > here));
                queue.push(Reverse((key, random.bits(), from.len() as u32)));
                states.extend_from_slice(step.state);
                from.push(number);
            }
        }
    }
    shared
        .states
        .fetch_add(from.len() as u64, Ordering::Relaxed);
    shared.report().covered.taken.union_with(&taken);
    let Some((hit, mut number)) = hit.filter(|_| system.budget().void().is_none()) else {
        return Ok(Turn::Nothing);
    };
    let mut numbers = Vec::new();
    while number != u32::MAX {
        numbers.push(number);
        number = from[number as usize];
    }
    let path = numbers.iter().rev();
    let path = path.flat_map(|number| &states[*number as usize * words..][..words]);
    confirmed(shared, &watch, hit, path.copied().collect())
}
