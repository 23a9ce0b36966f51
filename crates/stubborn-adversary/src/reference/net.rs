//! Petri nets, and the token game.

use super::graph::{Graph, Step};

/// Arcs of a transition on one side: places and weights, each place once.
pub type Arcs = Vec<(usize, u64)>;

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NetTransition {
    /// What it takes.
    pub takes: Arcs,
    /// What it gives.
    pub gives: Arcs,
    /// Places that must have fewer tokens.
    pub inhibitors: Arcs,
}

impl NetTransition {
    /// The arcs of what it takes and gives back, which may be written as read arcs.
    pub fn read_arcs(&self) -> impl Iterator<Item = &(usize, u64)> {
        self.takes.iter().filter(|arc| self.gives.contains(arc))
    }
}

/// A place/transition net.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Net {
    /// The tokens of each place at the start.
    pub initial: Vec<u64>,
    /// What can fire.
    pub transitions: Vec<NetTransition>,
}

/// The tokens of each place.
pub type Marking = Vec<u64>;

/// The most tokens in a place that everybody can count.
const MOST_TOKENS: u64 = u32::MAX as u64;

impl Net {
    /// Whether a transition can fire.
    pub fn is_enabled(&self, marking: &Marking, transition: usize) -> bool {
        let NetTransition {
            takes, inhibitors, ..
        } = &self.transitions[transition];
        let has = |(place, weight): &(usize, u64)| marking[*place] >= *weight;
        takes.iter().all(has) && !inhibitors.iter().any(has)
    }

    /// The marking after a transition has fired.
    fn fired(&self, marking: &Marking, transition: usize) -> Marking {
        let mut next = marking.clone();
        for (place, weight) in &self.transitions[transition].takes {
            next[*place] -= weight;
        }
        for (place, weight) in &self.transitions[transition].gives {
            next[*place] += weight;
        }
        next
    }

    /// All markings, if there are at most so many.
    pub fn explore(&self, limit: usize) -> Option<Graph<Marking>> {
        let (graph, is_complete) = self.explore_some(limit);
        is_complete.then_some(graph)
    }

    /// So many markings, and whether these are all.
    pub fn explore_some(&self, limit: usize) -> (Graph<Marking>, bool) {
        Graph::explore_some(self.initial.clone(), limit, |marking| {
            (0..self.transitions.len())
                .filter(|transition| self.is_enabled(marking, *transition))
                .map(|transition| Step {
                    target: Some(self.fired(marking, transition)),
                    movers: 0,
                })
                .collect()
        })
    }

    /// Whether some place has more tokens in some marking than everybody can count.
    pub fn is_heavy(graph: &Graph<Marking>) -> bool {
        graph.states.iter().flatten().any(|n| *n > MOST_TOKENS)
    }

    /// Whether one of these transitions can fire.
    fn is_any_enabled(&self, marking: &Marking, transitions: &[usize]) -> bool {
        let mut transitions = transitions.iter();
        transitions.any(|transition| self.is_enabled(marking, *transition))
    }

    /// Whether from everywhere one of each group of transitions can fire again.
    pub fn is_live(&self, graph: &Graph<Marking>, groups: &[Vec<usize>]) -> bool {
        groups.iter().all(|group| {
            let states = graph.states.iter().enumerate();
            let enabled = states.filter(|(_, marking)| self.is_any_enabled(marking, group));
            let reaches = graph.can_reach(enabled.map(|(number, _)| number));
            reaches.into_iter().all(|reaches| reaches)
        })
    }

    /// Whether one of each group of transitions can fire at some time.
    pub fn is_quasi_live(&self, graph: &Graph<Marking>, groups: &[Vec<usize>]) -> bool {
        groups.iter().all(|group| {
            let mut states = graph.states.iter();
            states.any(|marking| self.is_any_enabled(marking, group))
        })
    }

    /// Whether the places of some group always have the same number of tokens together.
    pub fn has_stable_place(graph: &Graph<Marking>, groups: &[Vec<usize>]) -> bool {
        groups.iter().any(|group| {
            let tokens = |marking: &Marking| group.iter().map(|place| marking[*place]).sum::<u64>();
            let first = tokens(&graph.states[0]);
            graph.states.iter().all(|marking| tokens(marking) == first)
        })
    }

    /// Whether no group of places ever has more than one token.
    pub fn is_one_safe(graph: &Graph<Marking>, groups: &[Vec<usize>]) -> bool {
        graph.states.iter().all(|marking| {
            groups.iter().all(|group| {
                let tokens: u64 = group.iter().map(|place| marking[*place]).sum();
                tokens <= 1
            })
        })
    }
}

/// How sums of tokens are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    LessEqual,
    Less,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
}

/// The tokens of places, and a number more.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sum {
    /// Their tokens together.
    pub places: Vec<usize>,
    /// And this.
    pub constant: u64,
}

impl Sum {
    /// Its value.
    pub fn value(&self, marking: &Marking) -> u64 {
        let tokens: u64 = self.places.iter().map(|place| marking[*place]).sum();
        tokens + self.constant
    }
}

/// What can be said of a marking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Always, or never.
    Constant(bool),
    /// Sums compared.
    Compare(Comparison, Sum, Sum),
    /// One of these can fire.
    Fireable(Vec<usize>),
    /// Nothing can fire.
    Deadlock,
    /// The other one does not hold.
    Not(Box<Condition>),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One holds.
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// Whether it holds in a marking.
    pub fn holds(&self, net: &Net, marking: &Marking) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Compare(comparison, left, right) => {
                let (left, right) = (left.value(marking), right.value(marking));
                match comparison {
                    Comparison::LessEqual => left <= right,
                    Comparison::Less => left < right,
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::GreaterEqual => left >= right,
                    Comparison::Greater => left > right,
                }
            }
            Self::Fireable(transitions) => {
                let mut transitions = transitions.iter();
                transitions.any(|transition| net.is_enabled(marking, *transition))
            }
            Self::Deadlock => {
                !(0..net.transitions.len()).any(|transition| net.is_enabled(marking, transition))
            }
            Self::Not(inner) => !inner.holds(net, marking),
            Self::And(left, right) => left.holds(net, marking) && right.holds(net, marking),
            Self::Or(left, right) => left.holds(net, marking) || right.holds(net, marking),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transition(takes: &[(usize, u64)], gives: &[(usize, u64)]) -> NetTransition {
        NetTransition {
            takes: takes.to_vec(),
            gives: gives.to_vec(),
            inhibitors: vec![],
        }
    }

    /// Two tokens go round one by one; a third transition ends everything.
    fn ring() -> Net {
        Net {
            initial: vec![2, 0, 1],
            transitions: vec![
                transition(&[(0, 1)], &[(1, 1)]),
                transition(&[(1, 1), (2, 1)], &[(0, 1), (2, 1)]),
                transition(&[(2, 1), (0, 2)], &[]),
            ],
        }
    }

    #[test]
    fn tokens_move() {
        let net = ring();
        let graph = net.explore(100).unwrap();
        assert_eq!(graph.states.len(), 4);
        assert_eq!(graph.states[1], [1, 1, 1]);
        assert_eq!(graph.deadlocks().count(), 1);
        let each = |count: usize| (0..count).map(|number| vec![number]).collect::<Vec<_>>();
        let (places, transitions) = (each(3), each(3));
        assert!(net.is_quasi_live(&graph, &transitions));
        assert!(!net.is_live(&graph, &transitions));
        assert!(!Net::has_stable_place(&graph, &places));
        assert!(!Net::is_one_safe(&graph, &places));
        assert!(Net::is_one_safe(&graph, &[vec![2]]));
    }

    #[test]
    fn a_ring_alone_is_live() {
        let mut net = ring();
        net.transitions.pop();
        let graph = net.explore(100).unwrap();
        assert!(net.is_live(&graph, &[vec![0], vec![1]]));
        assert!(Net::has_stable_place(&graph, &[vec![2]]), "it is only read");
        assert!(!Net::has_stable_place(&graph, &[vec![2, 0]]));
        assert!(Net::has_stable_place(&graph, &[vec![0, 1]]), "together");
    }

    #[test]
    fn what_inhibits_disables() {
        let mut net = ring();
        net.transitions.pop();
        // No second token in the second place.
        net.transitions[0].inhibitors = vec![(1, 1)];
        let graph = net.explore(100).unwrap();
        assert_eq!(graph.states, [vec![2, 0, 1], vec![1, 1, 1]]);
        assert!(!net.is_enabled(&vec![1, 1, 1], 0) && net.is_enabled(&vec![1, 0, 1], 0));
    }

    #[test]
    fn tokens_have_no_largest_number() {
        let mut net = Net {
            initial: vec![u64::from(u32::MAX) - 1, 1],
            transitions: vec![transition(&[(1, 1)], &[(0, 1)])],
        };
        assert!(!Net::is_heavy(&net.explore(100).unwrap()));
        net.initial[1] = 2;
        let graph = net.explore(100).unwrap();
        assert_eq!((graph.states.len(), graph.has_failure()), (3, false));
        assert!(Net::is_heavy(&graph));
    }

    #[test]
    fn conditions_speak_of_markings() {
        let net = ring();
        let two = Sum {
            places: vec![0, 1],
            constant: 0,
        };
        let number = |constant| Sum {
            places: vec![],
            constant,
        };
        let equal = Condition::Compare(Comparison::Equal, two.clone(), number(2));
        assert!(equal.holds(&net, &vec![1, 1, 0]));
        assert!(!equal.holds(&net, &vec![0, 0, 0]));
        assert!(Condition::Fireable(vec![1, 2]).holds(&net, &vec![2, 0, 1]));
        assert!(!Condition::Fireable(vec![1, 2]).holds(&net, &vec![1, 0, 1]));
        assert!(Condition::Deadlock.holds(&net, &vec![0, 1, 0]));
    }
}
