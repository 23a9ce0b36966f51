//! Büchi automata over propositions, and whether one accepts a run of a graph.

use super::cycles::{Marked, has_marked_cycle};
use super::graph::{FiniteRuns, Graph};

/// A condition on propositions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Always.
    True,
    /// Never.
    False,
    /// Where this proposition holds.
    Proposition(usize),
    /// Where the other one does not.
    Not(Box<Label>),
    /// Where both do.
    And(Box<Label>, Box<Label>),
    /// Where one does.
    Or(Box<Label>, Box<Label>),
}

impl Label {
    /// Whether it holds for a set of propositions, as bits.
    pub fn holds(&self, letter: u64) -> bool {
        match self {
            Self::True => true,
            Self::False => false,
            Self::Proposition(number) => letter >> number & 1 == 1,
            Self::Not(inner) => !inner.holds(letter),
            Self::And(left, right) => left.holds(letter) && right.holds(letter),
            Self::Or(left, right) => left.holds(letter) || right.holds(letter),
        }
    }
}

impl Label {
    /// The propositions in it, as bits.
    pub fn propositions(&self) -> u64 {
        match self {
            Self::True | Self::False => 0,
            Self::Proposition(number) => 1 << number,
            Self::Not(inner) => inner.propositions(),
            Self::And(left, right) | Self::Or(left, right) => {
                left.propositions() | right.propositions()
            }
        }
    }
}

/// An edge of an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// From this state.
    pub source: usize,
    /// To this one.
    pub target: usize,
    /// On these letters.
    pub label: Label,
    /// The acceptance sets it belongs to, as bits.
    pub marks: u64,
}

/// An automaton with generalised Büchi acceptance: a run is accepted if it takes edges of
/// every acceptance set again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// How many states there are.
    pub states: usize,
    /// Where runs start.
    pub starts: Vec<usize>,
    /// How many acceptance sets there are.
    pub sets: usize,
    /// The edges.
    pub edges: Vec<Edge>,
}

/// What propositions say in each state: those that hold and those that cannot be evaluated,
/// as bits.
#[derive(Clone, Debug, Default)]
pub struct Valuation {
    /// By state.
    pub holds: Vec<u64>,
    /// By state.
    pub fails: Vec<u64>,
}

impl Valuation {
    /// Whether some proposition cannot be evaluated in some state.
    pub fn has_failure(&self) -> bool {
        self.fails.iter().any(|fails| *fails != 0)
    }
}

/// What is asked about runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// What runs that end are worth.
    pub finite: FiniteRuns,
    /// Whether only weakly fair runs count: each process moves again and again, or has no
    /// step again and again.
    pub fair: bool,
}

impl Runs {
    /// All marks of fairness, one for every process that matters.
    pub(super) fn fair_marks<S>(self, graph: &Graph<S>) -> u64 {
        match self.fair {
            true => graph.ever_able(),
            false => 0,
        }
    }
}

/// The marks of fairness on a step from a state: of those who move and those who cannot.
pub(super) fn fair_step<S>(graph: &Graph<S>, state: usize, movers: u64) -> u64 {
    movers | !graph.able(state)
}

/// Whether the automaton accepts some run of the graph. The letter of an edge is that of the
/// state that it leaves; what cannot be evaluated counts as false.
pub fn accepts_some_run<S>(
    graph: &Graph<S>,
    valuation: &Valuation,
    automaton: &Automaton,
    runs: Runs,
) -> bool {
    let sets = automaton.sets;
    let own = (1 << sets) - 1;
    let all = own | runs.fair_marks(graph) << sets;
    let starts = &automaton.starts;
    has_marked_cycle(starts, all, |node| {
        edges_of(graph, valuation, automaton, runs, node)
    })
}

/// The edges of a node of the product: a state of the graph with one of the automaton.
fn edges_of<S>(
    graph: &Graph<S>,
    valuation: &Valuation,
    automaton: &Automaton,
    runs: Runs,
    node: usize,
) -> Vec<Marked> {
    let (state, at) = (node / automaton.states, node % automaton.states);
    let mut out = Vec::new();
    for edge in automaton.edges.iter().filter(|edge| edge.source == at) {
        if edge.label.holds(valuation.holds[state]) {
            for (target, movers) in graph.moves(state, runs.finite) {
                let marks = edge.marks | fair_step(graph, state, movers) << automaton.sets;
                out.push((target * automaton.states + edge.target, marks));
            }
        }
    }
    out
}

/// Whether the automaton comes into a state together with the system where a proposition of
/// one of its edges cannot be evaluated.
pub fn looks_at_failure<S>(
    graph: &Graph<S>,
    valuation: &Valuation,
    automaton: &Automaton,
    runs: Runs,
) -> bool {
    let mut found = false;
    // Who comes by looks.
    has_marked_cycle(&automaton.starts, 0, |node| {
        let (state, at) = (node / automaton.states, node % automaton.states);
        let mut edges = automaton.edges.iter().filter(|edge| edge.source == at);
        found |= edges.any(|edge| edge.label.propositions() & valuation.fails[state] != 0);
        edges_of(graph, valuation, automaton, runs, node)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::graph::Step;
    use super::*;

    const ALL: Runs = Runs {
        finite: FiniteRuns::Stutter,
        fair: false,
    };

    /// State 0 loops by process 0, and process 1 leads to 1, where everything ends.
    fn graph() -> Graph<u32> {
        Graph::explore(0, 10, |state| match state {
            0 => [(0, 1), (1, 2)]
                .map(|(target, movers)| Step {
                    target: Some(target),
                    movers,
                })
                .to_vec(),
            _ => vec![],
        })
        .unwrap()
    }

    /// Proposition 0 holds in state 0.
    fn valuation() -> Valuation {
        Valuation {
            holds: vec![1, 0],
            fails: vec![0, 0],
        }
    }

    /// Accepts runs on which the label holds for ever.
    fn always(label: Label) -> Automaton {
        Automaton {
            states: 1,
            starts: vec![0],
            sets: 1,
            edges: vec![Edge {
                source: 0,
                target: 0,
                label,
                marks: 1,
            }],
        }
    }

    #[test]
    fn runs_that_end_and_unfair_runs_count_or_not() {
        let stays = always(Label::Proposition(0));
        assert!(accepts_some_run(&graph(), &valuation(), &stays, ALL));
        let fair = Runs { fair: true, ..ALL };
        assert!(!accepts_some_run(&graph(), &valuation(), &stays, fair));
        let mut leaves = always(Label::Not(Box::new(Label::Proposition(0))));
        leaves.edges.push(Edge {
            source: 0,
            target: 0,
            label: Label::True,
            marks: 0,
        });
        assert!(accepts_some_run(&graph(), &valuation(), &leaves, fair));
        let infinite = Runs {
            finite: FiniteRuns::Ignore,
            ..ALL
        };
        assert!(!accepts_some_run(&graph(), &valuation(), &leaves, infinite));
    }

    #[test]
    fn only_what_an_automaton_comes_to_is_looked_at() {
        // It waits for state 1 and then looks.
        let mut automaton = always(Label::Proposition(0));
        automaton.states = 2;
        automaton.edges.push(Edge {
            source: 0,
            target: 1,
            label: Label::Not(Box::new(Label::Proposition(0))),
            marks: 0,
        });
        automaton.edges.push(Edge {
            source: 1,
            target: 1,
            label: Label::Proposition(1),
            marks: 0,
        });
        let looks = |fails: [u64; 2]| {
            let valuation = Valuation {
                fails: fails.to_vec(),
                ..valuation()
            };
            looks_at_failure(&graph(), &valuation, &automaton, ALL)
        };
        assert!(!looks([0, 0]));
        assert!(!looks([2, 0]), "nobody looks there");
        assert!(looks([0, 2]));
        assert!(looks([1, 0]));
    }
}
