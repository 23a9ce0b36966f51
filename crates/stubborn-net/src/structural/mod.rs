//! Smaller nets with the same answers.
//!
//! Agglomeration is a partial-order reduction that is done once, before the search: a place that
//! only stands between two steps disappears, and the two become one. It multiplies with stubborn
//! sets, which would have to walk the chain in every state. The rules go back to Berthelot,
//! "Transformations and decompositions of nets" (1987), and Haddad and Pradat-Peyre, "New
//! efficient Petri nets reductions for parallel programs verification" (2006); each is described
//! in its function with the reason why it is right, also where there are inhibitor arcs. All rules together run to a fixed point.
//!
//! What is kept is said by [`Preserve`], and nothing else is: no counts, no other property.
//! [`Reduced::original_run`] turns a run of the reduced net into one of the original.

mod graph;
mod rules;

use stubborn_system::Budget;
use stubborn_system::budget::UNLIMITED;

use crate::formula::{Atom, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::invariants::Invariants;
use crate::net::{Net, Tokens};
use crate::structural::graph::{Built, Graph};

/// The longest run that is told.
const MAX_RUN: usize = 10_000_000;

/// Which rules are used; all by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionRules {
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
    /// Transitions that can be left out of every run to some marking of the watched places are
    /// removed.
    pub irrelevant_transitions: bool,
    /// Places between which tokens move to and fro become one. Runs of the reduced net are then no
    /// runs of the original any more: this is for questions that want an answer and no run.
    pub shared_places: bool,
}

impl ReductionRules {
    /// All rules after which a run of the reduced net is one of the original.
    pub const ALL: Self = Self {
        dead_transitions: true,
        redundant_transitions: true,
        redundant_places: true,
        post_agglomeration: true,
        pre_agglomeration: true,
        irrelevant_transitions: true,
        shared_places: false,
    };

    /// All rules, for questions that want no run.
    pub const WITHOUT_RUNS: Self = Self {
        shared_places: true,
        ..Self::ALL
    };

    /// No rule: the starting point for trying one alone.
    pub const NONE: Self = Self {
        dead_transitions: false,
        redundant_transitions: false,
        redundant_places: false,
        post_agglomeration: false,
        pre_agglomeration: false,
        irrelevant_transitions: false,
        shared_places: false,
    };
}

impl Default for ReductionRules {
    fn default() -> Self {
        Self::ALL
    }
}

/// What the reduced net has in common with the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preserve {
    /// It has a reachable deadlock if and only if the original has one.
    Deadlocks,
    /// These places stay, and the same combinations of their markings are reachable. So a state
    /// formula over them holds somewhere, or everywhere, in both or in none.
    Places(Vec<PlaceId>),
    /// These places stay, and the same sequences of their markings occur on maximal runs, up
    /// to repetition. So a temporal formula over them that cannot see stuttering holds on all
    /// runs of both or of none.
    Runs(Vec<PlaceId>),
    /// These places stay, and the initial markings are bisimilar as far as these places show it, up
    /// to steps that nobody sees. So a formula of branching time over them without next holds
    /// in both or in none.
    Branching(Vec<PlaceId>),
}

/// What the rules have to keep, besides watched places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Deadlocks,
    Markings,
    Runs,
    Branching,
}

/// A reduced net, and how its runs are runs of the original.
pub struct Reduced {
    /// The smaller net.
    pub net: Net,
    /// For each of its transitions, the sequence it stands for.
    origins: Vec<u32>,
    /// For each place of the original, where it went.
    places: Vec<Option<PlaceId>>,
    graph: Graph,
    /// For each pre-agglomeration, in the order they were done, the sequences that were
    /// delayed; they still have to be fired where the reduced net stops.
    delayed: Vec<Vec<u32>>,
}

impl Reduced {
    /// Applies the rules to a net until none fits.
    pub fn new(net: &Net, preserve: &Preserve, rules: ReductionRules) -> Self {
        Self::within(net, preserve, rules, &UNLIMITED)
    }

    /// As [`new`](Self::new), until none fits or the budget is spent.
    pub fn within(net: &Net, preserve: &Preserve, rules: ReductionRules, budget: &Budget) -> Self {
        budget.begin("making the net smaller");
        let (watched, kept): (&[PlaceId], Kept) = match preserve {
            Preserve::Deadlocks => (&[], Kept::Deadlocks),
            Preserve::Places(places) => (places, Kept::Markings),
            Preserve::Runs(places) => (places, Kept::Runs),
            Preserve::Branching(places) => (places, Kept::Branching),
        };
        let mut graph = Graph::new(net, watched);
        let mut delayed = Vec::new();
        rules::apply(&mut graph, rules, kept, &mut delayed, budget);
        if kept != Kept::Deadlocks {
            // Nobody sees whether what was delayed is fired at the end.
            delayed.clear();
        }
        match graph.build(net) {
            Some(Built {
                net,
                origins,
                places,
            }) => Self {
                net,
                origins,
                places,
                graph,
                delayed,
            },
            // Too large numbers: the net as it was is always right.
            None => Self {
                net: net.clone(),
                origins: net.transitions().map(|t| t.0).collect(),
                places: net.places().map(Some).collect(),
                graph: Graph::new(net, watched),
                delayed: Vec::new(),
            },
        }
    }

    /// Where a place of the original went; none if it is gone.
    pub fn place(&self, original: PlaceId) -> Option<PlaceId> {
        self.places[original.index()]
    }

    /// What invariants of the original say about the reduced net: each of its markings is one of
    /// the original without some places. A place that others were merged with has their tokens,
    /// too, and these have its weight in each invariant, or moving tokens would increase the sum.
    pub fn invariants(&self, of_original: &Invariants) -> Invariants {
        of_original.restricted(|place| self.place(place), self.net.place_count())
    }

    /// A formula over the original in terms of the reduced net; none if it speaks of places that
    /// are gone, or of deadlocks. That a transition is fireable becomes a statement about its
    /// inputs, which [`Formula::places`] counts among the places of the formula.
    pub fn translate(&self, formula: &Formula, original: &Net) -> Option<Formula> {
        let all = |parts: &[Formula]| -> Option<Vec<Formula>> {
            parts
                .iter()
                .map(|part| self.translate(part, original))
                .collect()
        };
        let boxed = |inner: &Formula| Some(Box::new(self.translate(inner, original)?));
        let number = |number: &IntExpr| {
            let places: Option<Vec<PlaceId>> = number
                .places
                .iter()
                .map(|place| self.place(*place))
                .collect();
            Some(IntExpr {
                places: places?,
                constant: number.constant,
            })
        };
        Some(match formula {
            Formula::Atom(Atom::Constant(value)) => Formula::Atom(Atom::Constant(*value)),
            Formula::Atom(Atom::Compare(op, left, right)) => {
                Formula::Atom(Atom::Compare(*op, number(left)?, number(right)?))
            }
            Formula::Atom(Atom::Fireable(transitions)) => {
                let enabled =
                    |t: &TransitionId| self.translate(&Formula::enabled(original, *t), original);
                let any: Option<Vec<Formula>> = transitions.iter().map(enabled).collect();
                Formula::Or(any?)
            }
            Formula::Atom(Atom::Deadlock) => return None,
            Formula::Not(inner) => Formula::Not(boxed(inner)?),
            Formula::And(parts) => Formula::And(all(parts)?),
            Formula::Or(parts) => Formula::Or(all(parts)?),
            Formula::Next(inner) => Formula::Next(boxed(inner)?),
            Formula::Globally(inner) => Formula::Globally(boxed(inner)?),
            Formula::Finally(inner) => Formula::Finally(boxed(inner)?),
            Formula::Until(left, right) => Formula::Until(boxed(left)?, boxed(right)?),
        })
    }

    /// The transitions of the original net that a run of the reduced net stands for. Where
    /// deadlocks are preserved and the run leads to one, so does the run of the original; where
    /// places are preserved, they have the same tokens at the end. Nothing, if there are more than
    /// anybody could use.
    pub fn original_run(&self, original: &Net, run: &[TransitionId]) -> Option<Vec<TransitionId>> {
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
                loop {
                    let mut next = marking.clone();
                    if !sequence.iter().all(|t| fire(original, *t, &mut next)) {
                        break;
                    }
                    if out.len() >= MAX_RUN {
                        return None;
                    }
                    marking = next;
                    out.extend_from_slice(&sequence);
                }
            }
        }
        Some(out)
    }
}

/// Fires a transition in a marking; false, and nothing useful in the marking, if it cannot.
fn fire(net: &Net, transition: TransitionId, marking: &mut [Tokens]) -> bool {
    if !net.is_enabled(transition, |place| marking[place.index()]) {
        return false;
    }
    for (place, change) in net.effects(transition) {
        let tokens = &mut marking[place.index()];
        *tokens = tokens.saturating_add_signed(change);
    }
    true
}
