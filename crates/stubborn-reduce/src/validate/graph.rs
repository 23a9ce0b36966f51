//! The full state graph as far as anybody asked for it; states as small numbers. Steps that fail
//! are left out: relations and conditions are about runs in which none does.

use std::collections::HashMap;

use stubborn_system::{Executor, Successors, System, TransitionId};

/// A state of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node(pub(crate) u32);

/// States and their steps, remembered.
pub(crate) struct Graph<'s> {
    system: &'s dyn System,
    executor: Box<dyn Executor + 's>,
    numbers: HashMap<Vec<u32>, Node>,
    states: Vec<Vec<u32>>,
    /// Steps by increasing transition, once asked for.
    steps: Vec<Option<Vec<(u32, Node)>>>,
    successors: Successors,
}

impl<'s> Graph<'s> {
    pub(crate) fn new(system: &'s dyn System) -> Self {
        Self {
            system,
            executor: system.executor(),
            numbers: HashMap::new(),
            states: Vec::new(),
            steps: Vec::new(),
            successors: Successors::new(system.layout().words()),
        }
    }

    pub(crate) fn system(&self) -> &'s dyn System {
        self.system
    }

    pub(crate) fn executor(&mut self) -> &mut dyn Executor {
        self.executor.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    pub(crate) fn node(&mut self, state: &[u32]) -> Node {
        if let Some(node) = self.numbers.get(state) {
            return *node;
        }
        let node = Node(self.states.len() as u32);
        self.numbers.insert(state.to_vec(), node);
        self.states.push(state.to_vec());
        self.steps.push(None);
        node
    }

    pub(crate) fn state(&self, node: Node) -> &[u32] {
        &self.states[node.0 as usize]
    }

    /// All steps from a state that do not fail.
    pub(crate) fn steps(&mut self, node: Node) -> &[(u32, Node)] {
        let at = node.0 as usize;
        if self.steps[at].is_none() {
            let state = self.states[at].clone();
            let mut successors = std::mem::replace(&mut self.successors, Successors::new(0));
            successors.clear();
            self.executor.successors(&state, &mut successors);
            let error = self.system.structure().error_state.as_deref();
            let steps = (0..successors.len())
                .filter(|i| error != Some(successors.state(*i)))
                .map(|i| {
                    let transition = successors.transitions()[i].index() as u32;
                    (transition, self.node(successors.state(i)))
                });
            let steps: Vec<_> = steps.collect();
            self.successors = successors;
            self.steps[at] = Some(steps);
        }
        self.steps[at].as_deref().unwrap_or_default()
    }

    /// Where one transition leads, sorted; empty if it is not enabled.
    pub(crate) fn ends(&mut self, node: Node, transition: u32) -> Vec<Node> {
        let steps = self.steps(node).iter();
        let mut ends: Vec<Node> = steps
            .filter(|(t, _)| *t == transition)
            .map(|(_, n)| *n)
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Whether a step by this transition fails or violates an assertion.
    pub(crate) fn goes_wrong(&mut self, node: Node, transition: TransitionId) -> bool {
        let outcomes = self.outcomes(node);
        (outcomes.iter()).any(|(t, violates, fails)| *t == transition && (*violates || *fails))
    }

    /// Enabled transitions in order, with whether a step of each violates an assertion, and whether
    /// one fails.
    pub(crate) fn outcomes(&mut self, node: Node) -> Vec<(TransitionId, bool, bool)> {
        self.successors.clear();
        let state = &self.states[node.0 as usize];
        self.executor.successors(state, &mut self.successors);
        let mut all: Vec<(TransitionId, bool, bool)> = Vec::new();
        for step in self.successors.iter() {
            let (violates, fails) = (step.outcome.violated(), step.outcome.failed());
            let (violates, fails) = (violates.is_some(), fails.is_some());
            match all.iter_mut().find(|(t, ..)| *t == step.transition) {
                Some(known) => (known.1, known.2) = (known.1 | violates, known.2 | fails),
                None => all.push((step.transition, violates, fails)),
            }
        }
        all
    }

    pub(crate) fn is_enabled(&mut self, node: Node, transition: u32) -> bool {
        self.steps(node).iter().any(|(t, _)| *t == transition)
    }
}
