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
        let states = 0..space.len() as u32;
        let target = |state: u32, step: usize| Some(space.steps(StateId(state)).get(step)?.1.0);
        stubborn_graph::for_each_component(space.len(), states, target, |component| {
            gave_up(patience)?;
            let mut own = Evidence::new(shape);
            seen.clear();
            for state in component {
                for (_, target) in space.steps(StateId(*state)) {
                    let context = found.of_state[target.index()];
                    if context != u32::MAX && !seen.contains(&context) {
                        seen.push(context);
                        own.add(&found.evidence[context as usize]);
                    }
                }
            }
            for state in component {
                own.observe(space, StateId(*state), parts);
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
                found.of_state[*state as usize] = context;
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
