//! All states of a system and all steps between them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A step of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<S> {
    /// Where it leads; `None` if it fails.
    pub target: Option<S>,
    /// The processes that move, as bits.
    pub movers: u64,
}

/// A graph of numbered states; the first one is the initial one.
#[derive(Clone, Debug)]
pub struct Graph<S> {
    /// The states that can be reached, in breadth-first order.
    pub states: Vec<S>,
    /// The steps of each, one entry for every way to make them.
    pub steps: Vec<Vec<Step<usize>>>,
    /// How many steps each is away.
    pub depths: Vec<usize>,
    /// Whether a run ends where all steps fail, as it does where there is none. Otherwise
    /// nothing is known of what happens there.
    pub ends_at_failures: bool,
}

/// What happens to a run in a state without steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiniteRuns {
    /// The state is repeated for ever.
    Stutter,
    /// It does not count.
    Ignore,
}

impl<S: Clone + Eq + Hash> Graph<S> {
    /// Everything that can be reached from a state; `None` if there are more than `limit`
    /// states.
    pub fn explore(
        initial: S,
        limit: usize,
        steps_of: impl FnMut(&S) -> Vec<Step<S>>,
    ) -> Option<Self> {
        let (graph, is_complete) = Self::explore_some(initial, limit, steps_of);
        is_complete.then_some(graph)
    }

    /// What can be reached from a state, and whether that is all. If there are more than
    /// `limit` states, those that were not looked at any more have one step, which fails.
    pub fn explore_some(
        initial: S,
        limit: usize,
        mut steps_of: impl FnMut(&S) -> Vec<Step<S>>,
    ) -> (Self, bool) {
        let mut numbers = HashMap::from([(initial.clone(), 0)]);
        let mut states = vec![initial];
        let mut depths = vec![0];
        let mut steps = Vec::new();
        while steps.len() < states.len() {
            let from = steps.len();
            let mut out = Vec::new();
            for step in steps_of(&states[from]) {
                let target = step.target.map(|target| {
                    *numbers.entry(target).or_insert_with_key(|target| {
                        states.push(target.clone());
                        depths.push(depths[from] + 1);
                        states.len() - 1
                    })
                });
                out.push(Step {
                    target,
                    movers: step.movers,
                });
            }
            steps.push(out);
            if states.len() > limit {
                break;
            }
        }
        let is_complete = states.len() == steps.len();
        let unknown = Step {
            target: None,
            movers: 0,
        };
        steps.resize(states.len(), vec![unknown]);
        let graph = Self {
            states,
            steps,
            depths,
            ends_at_failures: is_complete,
        };
        (graph, is_complete)
    }
}

impl<S> Graph<S> {
    /// How many states there are; the state in which a failing step ends is one of them.
    pub fn state_count(&self) -> usize {
        self.states.len() + usize::from(self.has_failure())
    }

    /// How many steps there are, each way counted.
    pub fn step_count(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// The states without any step.
    pub fn deadlocks(&self) -> impl Iterator<Item = usize> {
        let ends = self.steps.iter().enumerate();
        ends.filter(|(_, steps)| steps.is_empty())
            .map(|(state, _)| state)
    }

    /// Whether some step fails.
    pub fn has_failure(&self) -> bool {
        self.steps
            .iter()
            .flatten()
            .any(|step| step.target.is_none())
    }

    /// The fewest steps to one of these states, if there is any.
    pub fn distance(&self, states: impl Iterator<Item = usize>) -> Option<usize> {
        states.map(|state| self.depths[state]).min()
    }

    /// The fewest steps to the end of a failing step.
    pub fn distance_of_failure(&self) -> Option<usize> {
        let failing = self.steps.iter().enumerate().filter(|(_, steps)| {
            let mut steps = steps.iter();
            steps.any(|step| step.target.is_none())
        });
        failing.map(|(state, _)| self.depths[state] + 1).min()
    }

    /// Whether a run ends in a state: there is no step, or none that does not fail.
    pub fn is_end(&self, state: usize) -> bool {
        let steps = &self.steps[state];
        let goes_on = steps.iter().any(|step| step.target.is_some());
        !goes_on && (steps.is_empty() || self.ends_at_failures)
    }

    /// The steps that runs take from a state. A state in which runs end is repeated, or not.
    pub fn moves(&self, state: usize, finite_runs: FiniteRuns) -> Vec<(usize, u64)> {
        if self.is_end(state) && finite_runs == FiniteRuns::Stutter {
            return vec![(state, 0)];
        }
        let moves = self.steps[state].iter();
        moves
            .filter_map(|step| Some((step.target?, step.movers)))
            .collect()
    }

    /// The processes with a step that does not fail, as bits.
    pub fn able(&self, state: usize) -> u64 {
        let steps = self.steps[state].iter();
        let steps = steps.filter(|step| step.target.is_some());
        steps.fold(0, |able, step| able | step.movers)
    }

    /// The processes that have a step somewhere, as bits.
    pub fn ever_able(&self) -> u64 {
        (0..self.states.len()).fold(0, |able, state| able | self.able(state))
    }

    /// For each state, whether one of these can be reached from it.
    pub fn can_reach(&self, goals: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut before = vec![Vec::new(); self.states.len()];
        for (from, steps) in self.steps.iter().enumerate() {
            for target in steps.iter().filter_map(|step| step.target) {
                before[target].push(from);
            }
        }
        let mut queue: VecDeque<usize> = goals.collect();
        let mut reaches = vec![false; self.states.len()];
        for goal in &queue {
            reaches[*goal] = true;
        }
        while let Some(state) = queue.pop_front() {
            for from in &before[state] {
                if !reaches[*from] {
                    reaches[*from] = true;
                    queue.push_back(*from);
                }
            }
        }
        reaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that goes up by 1 or 2, fails above 4, and stops at 4.
    fn counter() -> Graph<u32> {
        let steps = |state: &u32| match state {
            4 => vec![],
            _ => [1, 2]
                .map(|by| Step {
                    target: Some(state + by).filter(|sum| *sum <= 4),
                    movers: u64::from(by),
                })
                .to_vec(),
        };
        Graph::explore(0, 100, steps).unwrap()
    }

    #[test]
    fn states_steps_and_depths_are_counted() {
        let graph = counter();
        assert_eq!(graph.states, [0, 1, 2, 3, 4]);
        assert_eq!(graph.state_count(), 6);
        assert_eq!(graph.step_count(), 8);
        assert_eq!(graph.depths, [0, 1, 1, 2, 2]);
        assert_eq!(graph.deadlocks().collect::<Vec<_>>(), [4]);
        assert_eq!(graph.distance(graph.deadlocks()), Some(2));
        assert_eq!(graph.distance_of_failure(), Some(3));
        assert_eq!(graph.ever_able(), 3);
        let reaches = graph.can_reach([3].into_iter());
        assert_eq!(reaches, [true, true, true, true, false]);
    }

    #[test]
    fn runs_avoid_failures_and_repeat_ends() {
        let mut graph = counter();
        assert_eq!(graph.moves(3, FiniteRuns::Stutter), [(4, 1)]);
        graph.steps[3].remove(0);
        assert_eq!(graph.moves(3, FiniteRuns::Stutter), [(3, 0)]);
        graph.ends_at_failures = false;
        assert_eq!(graph.moves(3, FiniteRuns::Stutter), []);
        assert_eq!(graph.moves(4, FiniteRuns::Stutter), [(4, 0)]);
        assert_eq!(graph.moves(4, FiniteRuns::Ignore), []);
    }

    #[test]
    fn too_many_states_are_given_up() {
        let endless = |state: &u32| {
            vec![Step {
                target: Some(state + 1),
                movers: 1,
            }]
        };
        assert!(Graph::explore(0, 100, endless).is_none());
        let (graph, is_complete) = Graph::explore_some(0, 100, endless);
        assert!(!is_complete);
        assert_eq!(graph.states.len(), 101);
        assert_eq!(graph.deadlocks().count(), 0);
        assert_eq!(graph.moves(100, FiniteRuns::Stutter), []);
    }
}
