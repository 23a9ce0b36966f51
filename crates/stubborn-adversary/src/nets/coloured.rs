//! Small symmetric nets with one sort of colours, and their unfolding.

use crate::minimise::without_some;
use crate::random::Random;
use crate::reference::net::{Arcs, Net, NetTransition};

/// A term of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// What a variable is bound to.
    Variable(usize),
    /// The next colour; the first one after the last.
    Successor(usize),
    /// The colour before; the last one before the first.
    Predecessor(usize),
    /// This colour.
    Constant(usize),
    /// One of each; not in guards.
    All,
}

/// So many tokens of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inscription {
    /// How many.
    pub times: u64,
    /// Which.
    pub term: Term,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ColouredTransition {
    /// Whether the two terms must be equal, or different.
    pub guard: Option<(bool, Term, Term)>,
    /// What it takes, a place once.
    pub takes: Vec<(usize, Vec<Inscription>)>,
    /// What it gives, a place once.
    pub gives: Vec<(usize, Vec<Inscription>)>,
}

/// A net with places of one sort.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Coloured {
    /// How many colours there are.
    pub colours: usize,
    /// The tokens of each colour in each place at the start.
    pub initial: Vec<Vec<u64>>,
    /// What can fire.
    pub transitions: Vec<ColouredTransition>,
}

impl Coloured {
    /// The colour of a term.
    fn colour(&self, term: Term, binding: &[usize]) -> Option<usize> {
        let count = self.colours;
        Some(match term {
            Term::Variable(number) => binding[number],
            Term::Successor(number) => (binding[number] + 1) % count,
            Term::Predecessor(number) => (binding[number] + count - 1) % count,
            Term::Constant(colour) => colour,
            Term::All => return None,
        })
    }

    fn arcs(&self, side: &[(usize, Vec<Inscription>)], binding: &[usize]) -> Arcs {
        let mut tokens = vec![0; self.initial.len() * self.colours];
        for (place, inscription) in side {
            for part in inscription {
                match self.colour(part.term, binding) {
                    Some(colour) => tokens[place * self.colours + colour] += part.times,
                    None => {
                        for colour in 0..self.colours {
                            tokens[place * self.colours + colour] += part.times;
                        }
                    }
                }
            }
        }
        let tokens = tokens.into_iter().enumerate();
        tokens.filter(|(_, weight)| *weight > 0).collect()
    }

    /// The variables that a transition uses: only they are bound.
    fn variables(transition: &ColouredTransition) -> Vec<usize> {
        let inscriptions = transition.takes.iter().chain(&transition.gives);
        let mut terms: Vec<Term> = inscriptions
            .flat_map(|(_, parts)| parts.iter().map(|part| part.term))
            .collect();
        if let Some((_, left, right)) = transition.guard {
            terms.extend([left, right]);
        }
        let mut used: Vec<usize> = terms
            .into_iter()
            .filter_map(|term| match term {
                Term::Variable(number) | Term::Successor(number) | Term::Predecessor(number) => {
                    Some(number)
                }
                Term::Constant(_) | Term::All => None,
            })
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The same net without colours: a place for every place and colour, and a transition for
    /// every binding that the guard allows. Also which transition each comes from.
    pub fn unfold(&self) -> (Net, Vec<usize>) {
        let mut net = Net {
            initial: self.initial.concat(),
            transitions: Vec::new(),
        };
        let mut origins = Vec::new();
        for (number, transition) in self.transitions.iter().enumerate() {
            let mut bindings = vec![[0; 2]];
            for variable in Self::variables(transition) {
                bindings = bindings
                    .iter()
                    .flat_map(|binding| {
                        (0..self.colours).map(move |colour| {
                            let mut bound = *binding;
                            bound[variable] = colour;
                            bound
                        })
                    })
                    .collect();
            }
            for binding in bindings {
                let allowed = transition.guard.is_none_or(|(is_equal, left, right)| {
                    let same = self.colour(left, &binding) == self.colour(right, &binding);
                    same == is_equal
                });
                if allowed {
                    net.transitions.push(NetTransition {
                        takes: self.arcs(&transition.takes, &binding),
                        gives: self.arcs(&transition.gives, &binding),
                    });
                    origins.push(number);
                }
            }
        }
        (net, origins)
    }

    /// A random net.
    pub fn random(random: &mut Random) -> Self {
        let colours = 1 + random.below(3);
        let places = 1 + random.below(3);
        let term = |random: &mut Random, guard: bool| match random.below(10) {
            0..=4 => Term::Variable(random.below(2)),
            5 => Term::Successor(random.below(2)),
            6 => Term::Predecessor(random.below(2)),
            7 if !guard => Term::All,
            _ => Term::Constant(random.below(colours)),
        };
        let side = |random: &mut Random| {
            let mut side = Vec::new();
            for place in 0..places {
                if random.chance(1, 2) {
                    let parts = [1, 1, 1, 2][random.below(4)];
                    let parts = (0..parts).map(|_| Inscription {
                        times: [1, 1, 1, 1, 2][random.below(5)],
                        term: term(random, false),
                    });
                    side.push((place, parts.collect()));
                }
            }
            side
        };
        let mut net = Self {
            colours,
            initial: (0..places)
                .map(|_| {
                    (0..colours)
                        .map(|_| [0, 1, 1, 2][random.below(4)])
                        .collect()
                })
                .collect(),
            transitions: Vec::new(),
        };
        for _ in 0..1 + random.below(3) {
            let guard = random
                .chance(1, 3)
                .then(|| (random.chance(1, 2), term(random, true), term(random, true)));
            net.transitions.push(ColouredTransition {
                guard,
                takes: side(random),
                gives: side(random),
            });
        }
        net
    }

    /// Smaller nets.
    pub fn candidates(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for transitions in without_some(&self.transitions) {
            all.push(Self {
                transitions,
                ..self.clone()
            });
        }
        for (number, transition) in self.transitions.iter().enumerate() {
            let mut with = |transition: ColouredTransition| {
                let mut smaller = self.clone();
                smaller.transitions[number] = transition;
                all.push(smaller);
            };
            if transition.guard.is_some() {
                with(ColouredTransition {
                    guard: None,
                    ..transition.clone()
                });
            }
            for takes in without_some(&transition.takes) {
                with(ColouredTransition {
                    takes,
                    ..transition.clone()
                });
            }
            for gives in without_some(&transition.gives) {
                with(ColouredTransition {
                    gives,
                    ..transition.clone()
                });
            }
        }
        for (place, tokens) in self.initial.iter().enumerate() {
            for colour in (0..self.colours).filter(|colour| tokens[*colour] > 0) {
                let mut smaller = self.clone();
                smaller.initial[place][colour] -= 1;
                all.push(smaller);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binding_becomes_a_transition() {
        let part = |term| Inscription { times: 1, term };
        let net = Coloured {
            colours: 3,
            initial: vec![vec![1, 0, 0]],
            transitions: vec![
                // Round and round.
                ColouredTransition {
                    guard: None,
                    takes: vec![(0, vec![part(Term::Variable(0))])],
                    gives: vec![(0, vec![part(Term::Successor(0))])],
                },
                // From the last colour only.
                ColouredTransition {
                    guard: Some((true, Term::Variable(1), Term::Constant(2))),
                    takes: vec![(0, vec![part(Term::Variable(1))])],
                    gives: vec![],
                },
            ],
        };
        let (unfolded, origins) = net.unfold();
        assert_eq!(origins, [0, 0, 0, 1]);
        let graph = unfolded.explore(10).unwrap();
        assert_eq!((graph.state_count(), graph.step_count()), (4, 4));
        assert_eq!(graph.deadlocks().count(), 1);
    }
}
