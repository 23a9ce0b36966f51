//! Büchi automata over propositions, and whether one accepts a run of a graph.

use super::cycles::has_marked_cycle;
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
    /// The letters that a state can be read as: a proposition that cannot be evaluated is
    /// read as either truth.
    pub fn letters(&self, state: usize) -> Vec<u64> {
        let (holds, fails) = (self.holds[state], self.fails[state]);
        let mut letters = vec![holds & !fails];
        for bit in (0..64).filter(|bit| fails >> bit & 1 == 1) {
            let more: Vec<u64> = letters.iter().map(|letter| letter | 1 << bit).collect();
            letters.extend(more);
        }
        letters
    }

    /// Whether something cannot be evaluated somewhere.
    pub fn has_failures(&self) -> bool {
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
/// state that it leaves.
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
        let (state, at) = (node / automaton.states, node % automaton.states);
        let mut out = Vec::new();
        let letters = valuation.letters(state);
        for edge in automaton.edges.iter().filter(|edge| edge.source == at) {
            if !letters.iter().any(|letter| edge.label.holds(*letter)) {
                continue;
            }
            for (target, movers) in graph.moves(state, runs.finite) {
                let marks = edge.marks | fair_step(graph, state, movers) << sets;
                out.push((target * automaton.states + edge.target, marks));
            }
        }
        out
    })
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
    fn what_cannot_be_evaluated_is_read_as_either_truth() {
        let mut unknown = valuation();
        unknown.fails = vec![1, 0];
        for label in [
            Label::Proposition(0),
            Label::Not(Box::new(Label::Proposition(0))),
        ] {
            assert!(accepts_some_run(&graph(), &unknown, &always(label), ALL));
        }
        assert_eq!(unknown.letters(0), [0, 1]);
        assert_eq!(unknown.letters(1), [0]);
    }
}
