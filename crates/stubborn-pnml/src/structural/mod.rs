//! Smaller nets with the same answer to the deadlock question.
//!
//! Agglomeration is a partial-order reduction that is done once, before the search: a place that
//! only stands between two steps disappears, and the two become one. It multiplies with stubborn
//! sets, which would have to walk the chain in every state. The rules go back to Berthelot,
//! "Transformations and decompositions of nets" (1987), and Haddad and Pradat-Peyre, "New
//! efficient Petri nets reductions for parallel programs verification" (2006); each is described
//! in its function with the reason why it keeps deadlocks. All rules together run to a fixed point.
//!
//! What is kept: the reduced net has a reachable deadlock if and only if the original has one, and
//! [`Reduced::original_run`] turns a run to a deadlock of the reduced net into one of the
//! original. Nothing else is kept: no counts, no other property.

mod graph;
mod rules;

use crate::ids::{PlaceId, TransitionId};
use crate::net::{Net, Tokens};
use crate::structural::graph::Graph;

/// The longest run that is told.
const MAX_RUN: usize = 10_000_000;

/// Which rules are used; all by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockRules {
    /// Transitions that can never fire are removed, see [`crate::Relaxed`].
    pub dead_transitions: bool,
    /// A transition that another one can always replace is removed.
    pub redundant_transitions: bool,
    /// A place that never keeps a transition from firing is removed.
    pub redundant_places: bool,
    /// A place whose consumers need nothing else is merged with its producers.
    pub post_agglomeration: bool,
    /// A place whose producers do nothing else is merged with its consumers.
    pub pre_agglomeration: bool,
}

impl DeadlockRules {
    /// All rules.
    pub const ALL: Self = Self {
        dead_transitions: true,
        redundant_transitions: true,
        redundant_places: true,
        post_agglomeration: true,
        pre_agglomeration: true,
    };

    /// No rule: the starting point for trying one alone.
    pub const NONE: Self = Self {
        dead_transitions: false,
        redundant_transitions: false,
        redundant_places: false,
        post_agglomeration: false,
        pre_agglomeration: false,
    };
}

impl Default for DeadlockRules {
    fn default() -> Self {
        Self::ALL
    }
}

/// A reduced net, and how its runs are runs of the original.
pub struct Reduced {
    /// The smaller net.
    pub net: Net,
    /// For each of its transitions, the sequence it stands for.
    origins: Vec<u32>,
    graph: Graph,
    /// For each pre-agglomeration, in the order they were done, the sequences that were
    /// delayed; they still have to be fired where the reduced net stops.
    delayed: Vec<Vec<u32>>,
}

impl Reduced {
    /// Applies the rules to a net until none fits.
    pub fn new(net: &Net, rules: DeadlockRules) -> Self {
        let mut graph = Graph::new(net);
        let mut delayed = Vec::new();
        rules::apply(&mut graph, rules, &mut delayed);
        match graph.build(net) {
            Some((reduced, origins)) => Self {
                net: reduced,
                origins,
                graph,
                delayed,
            },
            // Too large numbers: the net as it was is always right.
            None => {
                let graph = Graph::new(net);
                let origins = net.transitions().map(|t| t.0).collect();
                Self {
                    net: net.clone(),
                    origins,
                    graph,
                    delayed: Vec::new(),
                }
            }
        }
    }

    /// The transitions of the original net that a run of the reduced net to a deadlock stands
    /// for. In the original net they lead from the initial marking to a deadlock.
    pub fn original_run(&self, original: &Net, run: &[TransitionId]) -> Vec<TransitionId> {
        let mut out = Vec::new();
        for origin in &self.graph.prefix {
            self.graph.flatten(*origin, &mut out);
        }
        for step in run {
            self.graph.flatten(self.origins[step.index()], &mut out);
        }
        let mut marking: Vec<Tokens> = original.initial_marking().to_vec();
        for transition in &out {
            fire(original, *transition, &mut marking);
        }
        // What was delayed last was merged into nothing later, so it comes first.
        let mut sequence = Vec::new();
        for origins in self.delayed.iter().rev() {
            for origin in origins {
                sequence.clear();
                self.graph.flatten(*origin, &mut sequence);
                // A run of more steps than this is of no use to anybody.
                while out.len() < MAX_RUN {
                    let mut next = marking.clone();
                    if !sequence.iter().all(|t| fire(original, *t, &mut next)) {
                        break;
                    }
                    marking = next;
                    out.extend_from_slice(&sequence);
                }
            }
        }
        out
    }
}

/// Fires a transition in a marking; false, and nothing useful in the marking, if it cannot.
fn fire(net: &Net, transition: TransitionId, marking: &mut [Tokens]) -> bool {
    let enough =
        |arc: &crate::net::Arc<PlaceId>| marking[arc.node.index()] >= Tokens::from(arc.weight);
    if !net.pre(transition).iter().all(enough) {
        return false;
    }
    for (place, change) in net.effects(transition) {
        let tokens = &mut marking[place.index()];
        *tokens = tokens.saturating_add_signed(change);
    }
    true
}
