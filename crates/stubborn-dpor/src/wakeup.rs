//! Wakeup trees: sequences that are still to be tried from a state.
//!
//! Each leaf is a sequence that leads to some execution unlike all others, so that nothing is
//! tried in vain. Definition 6.1 and the insertion of section 6.2 of *Source sets* (2017).

use crate::order::{Event, Fits, fits};

/// A step to be tried, and what is to be tried after it. Without any, whatever comes.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) event: Event,
    pub(super) after: Vec<Branch>,
}

/// Adds a sequence, unless one that is there leads to an execution that is a continuation of
/// both. Depth is bounded by the length of the sequence.
pub(super) fn insert(tree: &mut Vec<Branch>, mut sequence: Vec<Event>) {
    let mut branches = tree;
    loop {
        let fitting = branches.iter().enumerate().find_map(|(at, branch)| {
            match fits(&branch.event, &sequence) {
                Fits::Not => None,
                fit => Some((at, fit)),
            }
        });
        let Some((at, fit)) = fitting else {
            break;
        };
        if let Fits::At(position) = fit {
            sequence.remove(position);
        }
        branches = &mut branches[at].after;
        if branches.is_empty() {
            return;
        }
    }
    let mut chain = Vec::new();
    for event in sequence.into_iter().rev() {
        chain = vec![Branch {
            event,
            after: chain,
        }];
    }
    branches.append(&mut chain);
}
