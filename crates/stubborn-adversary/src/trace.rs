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

/// Most attempts to follow a trace.
const MOST_TRIES: usize = 100_000;

/// Finds the runs that a trace of an answer may describe; `named` gives the parts of a state.
/// Parts whose names contain `[` after the name of a channel in `channels` are the messages
/// in it: what is left in empty slots is nobody's business, so there is more than one run where
/// different messages are sent with the same changes.
pub fn follow<S>(
    graph: &Graph<S>,
    trace: &Value,
    channels: &[String],
    named: impl Fn(&S) -> Named,
) -> Result<Vec<Followed>, String> {
    let steps = |part: &str| trace[part].as_array().cloned().unwrap_or_default();
    let (stem, cycle) = (steps("stem"), steps("cycle"));
    let all: Vec<&Value> = stem.iter().chain(&cycle).collect();
    let mut found = Vec::new();
    // The furthest that something goes wrong.
    let mut problem = (0, String::new());
    // A run, and for each of its states the others that it could have come to instead.
    let (mut run, mut untried) = (Vec::new(), vec![vec![0]]);
    for _ in 0..MOST_TRIES {
        let Some(level) = untried.last_mut() else {
            break;
        };
        let Some(at) = level.pop() else {
            untried.pop();
            continue;
        };
        run.truncate(untried.len() - 1);
        run.push(at);
        let number = run.len() - 1;
        let mut failed = false;
        let wrong = match all.get(number) {
            Some(step) if step["changes"].get("failed").is_some() => {
                failed = true;
                let fails = graph.steps[at].iter().any(|step| step.target.is_none());
                let is_last = number + 1 == all.len();
                (!fails || !is_last).then(|| format!("step {} cannot fail", number + 1))
            }
            Some(step) => {
                let empty = serde_json::Map::new();
                let changes = step["changes"].as_object().unwrap_or(&empty);
                let before = named(&graph.states[at]);
                let targets = graph.steps[at].iter().filter_map(|step| step.target);
                let mut targets: Vec<usize> = targets
                    .filter(|target| {
                        is_change(&before, &named(&graph.states[*target]), changes, channels)
                    })
                    .collect();
                targets.sort_unstable();
                targets.dedup();
                let none = format!("no step with the changes of step {}", number + 1);
                let wrong = targets.is_empty().then_some(none);
                untried.push(targets);
                if wrong.is_none() {
                    continue;
                }
                wrong
            }
            None => (!cycle.is_empty() && at != run[stem.len()])
                .then(|| "the cycle does not end where it began".to_owned()),
        };
        match wrong {
            Some(wrong) if number >= problem.0 => problem = (number, wrong),
            Some(_) => {}
            None => {
                let (stem, cycle) = run.split_at(run.len().min(stem.len() + 1));
                found.push(Followed {
                    stem: stem.to_vec(),
                    cycle: cycle.to_vec(),
                    failed,
                });
            }
        }
    }
    match found.is_empty() {
        true => Err(problem.1),
        false => Ok(found),
    }
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
        let found = follow(lasso).unwrap().remove(0);
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
        assert!(follow(fails).unwrap()[0].failed);
        let on = json!({"stem": [step(0, 1), step(1, 2), failure, step(2, 0)], "cycle": []});
        assert!(follow(on).is_err());
    }

    /// Sending 0 or 1 into an empty slot that has 0 in it changes the same: what is received then
    /// tells which it was.
    #[test]
    fn of_several_runs_that_are_possible_the_right_one_is_found() {
        type Channel = (u32, Option<u32>);
        let graph: Graph<Channel> = Graph::explore((2, None), 10, |(last, message)| {
            let to = |target| Step {
                target: Some(target),
                movers: 1,
            };
            match message {
                None => vec![to((*last, Some(0))), to((*last, Some(1)))],
                Some(message) => vec![to((*message, None))],
            }
        })
        .unwrap();
        let named = |(last, message): &Channel| {
            let mut all = Named::from([
                ("x".to_owned(), last.to_string()),
                (
                    "len(c)".to_owned(),
                    u32::from(message.is_some()).to_string(),
                ),
            ]);
            all.extend(message.map(|message| ("c[0].0".to_owned(), message.to_string())));
            all
        };
        for received in [0, 1] {
            let send = json!({"changes": {"len(c)": [0, 1]}});
            let receive = json!({"changes": {"len(c)": [1, 0], "x": [2, received]}});
            let trace = json!({"stem": [send, receive], "cycle": []});
            let runs = follow(&graph, &trace, &["c".to_owned()], named).unwrap();
            assert_eq!(runs.len(), 1);
            assert_eq!(graph.states[runs[0].last()], (received, None));
        }
        let send = json!({"stem": [{"changes": {"len(c)": [0, 1]}}], "cycle": []});
        assert_eq!(
            follow(&graph, &send, &["c".to_owned()], named)
                .unwrap()
                .len(),
            2
        );
    }
}
