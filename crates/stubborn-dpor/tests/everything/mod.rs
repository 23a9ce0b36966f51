//! Trying everything.

use std::collections::BTreeSet;

const MOST_STATES: usize = 60_000;

/// What is seen at the ends, and whether somebody may get stuck: states without successors of which `end`
/// tells nothing. `None` if it is too much.
pub(crate) fn try_everything<S: Clone + Ord, E: Ord>(
    start: S,
    successors: impl Fn(&S) -> Vec<S>,
    end: impl Fn(&S) -> Option<E>,
) -> Option<(BTreeSet<E>, bool)> {
    let (mut known, mut ends, mut stuck) = (BTreeSet::new(), BTreeSet::new(), false);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        if known.len() > MOST_STATES {
            return None;
        }
        let next = successors(&state);
        if next.is_empty() {
            match end(&state) {
                Some(seen) => drop(ends.insert(seen)),
                None => stuck = true,
            }
        }
        open.extend(next);
    }
    Some((ends, stuck))
}
