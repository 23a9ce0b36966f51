//! Evidence of the future: for each state, what the states that can be reached from it show.
//!
//! States of one strongly connected component have the same future. Tarjan's algorithm gives
//! components in an order in which a component comes after all that can be reached from it, so
//! that its evidence is that of its states and of the components it leads to. Equal evidence is
//! kept once.

use std::collections::HashMap;

use stubborn_system::Patience;

use super::evidence::{Evidence, Parts, Shape};
use super::space::{StateId, StateSpace};
use super::{MeasureError, gave_up};

/// Most memory for evidence.
const MEMORY: usize = 1 << 30;

/// The different pieces of evidence, and which one each state has.
pub(super) struct Contexts {
    evidence: Vec<Evidence>,
    of_state: Vec<u32>,
}

impl Contexts {
    pub(super) fn find(
        space: &StateSpace,
        shape: Shape,
        parts: Parts,
        patience: &mut Patience<'_>,
    ) -> Result<Self, MeasureError> {
        let mut found = Self {
            evidence: Vec::new(),
            of_state: vec![u32::MAX; space.len()],
        };
        let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut seen = Vec::new();
        for_each_component(space, |component| {
            gave_up(patience)?;
            let mut own = Evidence::new(shape);
            seen.clear();
            for state in component {
                for (_, target) in space.steps(*state) {
                    let context = found.of_state[target.index()];
                    if context != u32::MAX && !seen.contains(&context) {
                        seen.push(context);
                        own.add(&found.evidence[context as usize]);
                    }
                }
            }
            for state in component {
                own.observe(space, *state, parts);
            }
            let alike = known.entry(own.fingerprint()).or_default();
            let equal = |c: &&u32| found.evidence[**c as usize].equals(&own);
            let context = match alike.iter().find(equal) {
                Some(context) => *context,
                None => {
                    let count = found.evidence.len();
                    if count.saturating_mul(own.size()) > MEMORY {
                        return Err(MeasureError::TooManyContexts(count));
                    }
                    alike.push(count as u32);
                    found.evidence.push(own);
                    count as u32
                }
            };
            for state in component {
                found.of_state[state.index()] = context;
            }
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter()
    }

    pub(super) fn of_state(&self, state: StateId) -> u32 {
        self.of_state[state.index()]
    }
}

/// Tarjan's algorithm, with a stack of its own: state graphs are deep.
fn for_each_component<E>(
    space: &StateSpace,
    mut visit: impl FnMut(&[StateId]) -> Result<(), E>,
) -> Result<(), E> {
    const NEW: u32 = 0;
    const DONE: u32 = u32::MAX;
    // The number by which a state was found, and the lowest one it leads back to.
    let mut low = vec![NEW; space.len()];
    let mut next = 1;
    let mut open: Vec<StateId> = Vec::new();
    // State, its own number, and its next step.
    let mut calls: Vec<(StateId, u32, usize)> = Vec::new();
    for root in space.states() {
        if low[root.index()] != NEW {
            continue;
        }
        calls.push((root, next, space.step_range(root).start));
        low[root.index()] = next;
        open.push(root);
        next += 1;
        while let Some((state, number, step)) = calls.pop() {
            if step < space.step_range(state).end {
                calls.push((state, number, step + 1));
                let target = space.target(step);
                match low[target.index()] {
                    NEW => {
                        calls.push((target, next, space.step_range(target).start));
                        low[target.index()] = next;
                        open.push(target);
                        next += 1;
                    }
                    DONE => {}
                    back => low[state.index()] = low[state.index()].min(back),
                }
                continue;
            }
            let lowest = low[state.index()];
            if lowest == number {
                let start = open.iter().rposition(|s| *s == state).unwrap_or(0);
                visit(&open[start..])?;
                for member in open.drain(start..) {
                    low[member.index()] = DONE;
                }
            } else if let Some((caller, ..)) = calls.last() {
                low[caller.index()] = low[caller.index()].min(lowest);
            }
        }
    }
    Ok(())
}
