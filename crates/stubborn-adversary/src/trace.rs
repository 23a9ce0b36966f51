//! Follows the counterexamples of answers in the graph of the system.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::reference::automaton::Valuation;
use crate::reference::graph::{Graph, Step};

/// The parts of a state by the names that answers give them.
pub type Named = BTreeMap<String, String>;

/// A run through a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The states of the stem, the initial one first.
    pub stem: Vec<usize>,
    /// The states of the cycle after it, which begins and ends in the last state of the stem;
    /// that one is the last of these. Empty if there is none.
    pub cycle: Vec<usize>,
    /// Whether the last step fails.
    pub failed: bool,
}

/// Finds the run that a trace of an answer describes; `named` gives the parts of a state.
/// Parts whose names contain `[` after the name of a channel in `channels` are the messages
/// in it: what is left in empty slots is nobody's business.
pub fn follow<S>(
    graph: &Graph<S>,
    trace: &Value,
    channels: &[String],
    named: impl Fn(&S) -> Named,
) -> Result<Followed, String> {
    let steps = |part: &str| trace[part].as_array().cloned().unwrap_or_default();
    let mut at = 0;
    let mut failed = false;
    let mut walk = |steps: Vec<Value>, states: &mut Vec<usize>| {
        for (number, step) in steps.iter().enumerate() {
            let empty = serde_json::Map::new();
            let changes = step["changes"].as_object().unwrap_or(&empty);
            if failed {
                return Err(format!("step {} comes after a failure", number + 1));
            }
            if changes.contains_key("failed") {
                let mut out = graph.steps[at].iter();
                if !out.any(|step| step.target.is_none()) {
                    return Err(format!("step {} does not fail", number + 1));
                }
                failed = true;
                continue;
            }
            let before = named(&graph.states[at]);
            let targets = graph.steps[at].iter().filter_map(|step| step.target);
            let mut targets = targets.filter(|target| {
                is_change(&before, &named(&graph.states[*target]), changes, channels)
            });
            at = targets
                .next()
                .ok_or_else(|| format!("no step with the changes of step {}", number + 1))?;
            states.push(at);
        }
        Ok(())
    };
    let mut stem = vec![0];
    let mut cycle = Vec::new();
    walk(steps("stem"), &mut stem).map_err(|problem| format!("stem: {problem}"))?;
    walk(steps("cycle"), &mut cycle).map_err(|problem| format!("cycle: {problem}"))?;
    if cycle.last().is_some_and(|last| Some(last) != stem.last()) {
        return Err("the cycle does not end where it began".into());
    }
    Ok(Followed {
        stem,
        cycle,
        failed,
    })
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether the changes are those from one state to the other.
fn is_change(
    before: &Named,
    after: &Named,
    changes: &serde_json::Map<String, Value>,
    channels: &[String],
) -> bool {
    let is_slot = |name: &str| {
        let channel = name.split_once('[').map(|(channel, _)| channel);
        channel.is_some_and(|channel| channels.iter().any(|other| other == channel))
    };
    let known = changes
        .keys()
        .all(|name| before.contains_key(name) || after.contains_key(name) || is_slot(name));
    known
        && after.iter().all(|(name, value)| {
            let old = before.get(name);
            match changes.get(name) {
                None => old.is_none_or(|old| old == value),
                Some(change) => {
                    plain(&change[1]) == *value && old.is_none_or(|old| plain(&change[0]) == *old)
                }
            }
        })
}

impl Followed {
    /// The last state.
    pub fn last(&self) -> usize {
        self.stem[self.stem.len() - 1]
    }

    /// The run alone, as a graph, with what propositions say of it. A run without a cycle
    /// repeats its last state.
    pub fn alone(&self, valuation: &Valuation) -> (Graph<usize>, Valuation) {
        let mut states = self.stem.clone();
        states.extend(&self.cycle);
        let back = match self.cycle.is_empty() {
            true => states.len() - 1,
            false => self.stem.len(),
        };
        let count = states.len();
        let graph = Graph {
            steps: (0..count)
                .map(|at| {
                    vec![Step {
                        target: Some(if at + 1 < count { at + 1 } else { back }),
                        movers: 0,
                    }]
                })
                .collect(),
            depths: (0..count).collect(),
            ends_at_failures: true,
            states: (0..count).collect(),
        };
        let of = |bits: &[u64]| states.iter().map(|state| bits[*state]).collect();
        let valuation = Valuation {
            holds: of(&valuation.holds),
            fails: of(&valuation.fails),
        };
        (graph, valuation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A counter modulo 3, which may fail at 2.
    fn counter() -> Graph<u32> {
        Graph::explore(0, 10, |state| {
            let next = Step {
                target: Some((state + 1) % 3),
                movers: 1,
            };
            let failing = Step {
                target: None,
                movers: 1,
            };
            match state {
                2 => vec![next, failing],
                _ => vec![next],
            }
        })
        .unwrap()
    }

    fn named(state: &u32) -> Named {
        Named::from([("x".to_owned(), state.to_string())])
    }

    fn step(from: u32, to: u32) -> Value {
        json!({"changes": {"x": [from, to]}})
    }

    #[test]
    fn runs_are_followed_and_inventions_are_not() {
        let graph = counter();
        let follow = |trace: Value| follow(&graph, &trace, &[], named);
        let lasso = json!({"stem": [step(0, 1)], "cycle": [step(1, 2), step(2, 0), step(0, 1)]});
        let found = follow(lasso).unwrap();
        assert_eq!((&found.stem, &found.cycle), (&vec![0, 1], &vec![2, 0, 1]));
        let (alone, _) = found.alone(&Valuation {
            holds: vec![0; 3],
            fails: vec![0; 3],
        });
        assert_eq!(alone.steps[4][0].target, Some(2));
        assert!(follow(json!({"stem": [step(0, 2)], "cycle": []})).is_err());
        assert!(follow(json!({"stem": [step(1, 2)], "cycle": []})).is_err());
        assert!(follow(json!({"stem": [], "cycle": [step(0, 1)]})).is_err());
        let failure = json!({"changes": {"failed": [0, 1]}});
        assert!(follow(json!({"stem": [failure.clone()], "cycle": []})).is_err());
        let fails = json!({"stem": [step(0, 1), step(1, 2), failure], "cycle": []});
        assert!(follow(fails).unwrap().failed);
    }
}
