//! LTL formulas, by a tableau on the graph of the system: a node is a state with a guess of
//! what will hold next, an edge makes the guesses true, and an until must come to its end
//! (Clarke, Grumberg, Hamaguchi, *Another look at LTL model checking*, 1994).

use super::automaton::{Runs, Valuation, fair_step};
use super::cycles::has_marked_cycle;
use super::graph::Graph;

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the operators
pub enum Formula {
    True,
    False,
    Proposition(usize),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    Equivalent(Box<Formula>, Box<Formula>),
    Next(Box<Formula>),
    Finally(Box<Formula>),
    Globally(Box<Formula>),
    Until(Box<Formula>, Box<Formula>),
    WeakUntil(Box<Formula>, Box<Formula>),
    Release(Box<Formula>, Box<Formula>),
    StrongRelease(Box<Formula>, Box<Formula>),
}

impl Formula {
    /// The operands.
    pub fn operands(&self) -> Vec<&Formula> {
        match self {
            Self::True | Self::False | Self::Proposition(_) => vec![],
            Self::Not(a) | Self::Next(a) | Self::Finally(a) | Self::Globally(a) => vec![a],
            Self::And(a, b)
            | Self::Or(a, b)
            | Self::Implies(a, b)
            | Self::Equivalent(a, b)
            | Self::Until(a, b)
            | Self::WeakUntil(a, b)
            | Self::Release(a, b)
            | Self::StrongRelease(a, b) => vec![a, b],
        }
    }
}

/// The same with fewer operators.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Core {
    True,
    Proposition(usize),
    Not(Box<Core>),
    And(Box<Core>, Box<Core>),
    /// The number of its guess.
    Next(usize, Box<Core>),
    /// The number of the guess that it holds next, and its own number.
    Until(usize, usize, Box<Core>, Box<Core>),
}

/// Hands out numbers of guesses and untils.
#[derive(Default)]
struct Numbers {
    guesses: usize,
    untils: usize,
}

fn not(a: Core) -> Core {
    Core::Not(Box::new(a))
}

fn and(a: Core, b: Core) -> Core {
    Core::And(Box::new(a), Box::new(b))
}

fn or(a: Core, b: Core) -> Core {
    not(and(not(a), not(b)))
}

impl Numbers {
    fn until(&mut self, a: Core, b: Core) -> Core {
        self.guesses += 1;
        self.untils += 1;
        Core::Until(self.guesses - 1, self.untils - 1, Box::new(a), Box::new(b))
    }

    fn core(&mut self, formula: &Formula) -> Core {
        match formula {
            Formula::True => Core::True,
            Formula::False => not(Core::True),
            Formula::Proposition(number) => Core::Proposition(*number),
            Formula::Not(a) => not(self.core(a)),
            Formula::And(a, b) => and(self.core(a), self.core(b)),
            Formula::Or(a, b) => or(self.core(a), self.core(b)),
            Formula::Implies(a, b) => or(not(self.core(a)), self.core(b)),
            Formula::Equivalent(a, b) => {
                let both = and(self.core(a), self.core(b));
                let none = and(not(self.core(a)), not(self.core(b)));
                or(both, none)
            }
            Formula::Next(a) => {
                let a = self.core(a);
                self.guesses += 1;
                Core::Next(self.guesses - 1, Box::new(a))
            }
            Formula::Finally(a) => {
                let a = self.core(a);
                self.until(Core::True, a)
            }
            Formula::Globally(a) => {
                let a = self.core(a);
                not(self.until(Core::True, not(a)))
            }
            Formula::Until(a, b) => {
                let (a, b) = (self.core(a), self.core(b));
                self.until(a, b)
            }
            // a W b = not (not b U (not a and not b))
            Formula::WeakUntil(a, b) => {
                let (a, b) = (self.core(a), self.core(b));
                not(self.until(not(b.clone()), and(not(a), not(b))))
            }
            // a R b = not (not a U not b)
            Formula::Release(a, b) => {
                let (a, b) = (self.core(a), self.core(b));
                not(self.until(not(a), not(b)))
            }
            // a M b = b U (a and b)
            Formula::StrongRelease(a, b) => {
                let (a, b) = (self.core(a), self.core(b));
                self.until(b.clone(), and(a, b))
            }
        }
    }
}

impl Core {
    /// Whether it holds, given the letter of the state and the guesses.
    fn holds(&self, letter: u64, guesses: usize) -> bool {
        match self {
            Self::True => true,
            Self::Proposition(number) => letter >> number & 1 == 1,
            Self::Not(a) => !a.holds(letter, guesses),
            Self::And(a, b) => a.holds(letter, guesses) && b.holds(letter, guesses),
            Self::Next(guess, _) => guesses >> guess & 1 == 1,
            Self::Until(guess, _, a, b) => {
                b.holds(letter, guesses) || a.holds(letter, guesses) && guesses >> guess & 1 == 1
            }
        }
    }

    /// The guesses that would have been right before this letter and these guesses.
    fn guesses_before(&self, letter: u64, guesses: usize) -> usize {
        let here = match self {
            Self::Next(guess, a) => usize::from(a.holds(letter, guesses)) << guess,
            Self::Until(guess, ..) => usize::from(self.holds(letter, guesses)) << guess,
            _ => 0,
        };
        let below = self.operands().into_iter();
        below.fold(here, |sum, operand| {
            sum | operand.guesses_before(letter, guesses)
        })
    }

    /// The untils that have come to their end here, or do not hold.
    fn fulfilled(&self, letter: u64, guesses: usize) -> u64 {
        let here = match self {
            Self::Until(_, number, _, b) => {
                let done = b.holds(letter, guesses) || !self.holds(letter, guesses);
                u64::from(done) << number
            }
            _ => 0,
        };
        let below = self.operands().into_iter();
        below.fold(here, |sum, operand| {
            sum | operand.fulfilled(letter, guesses)
        })
    }

    fn operands(&self) -> Vec<&Core> {
        match self {
            Self::True | Self::Proposition(_) => vec![],
            Self::Not(a) | Self::Next(_, a) => vec![a],
            Self::And(a, b) | Self::Until(_, _, a, b) => vec![a, b],
        }
    }
}

/// How many guesses a formula needs: the tableau has two to that power nodes for every state.
pub fn guesses(formula: &Formula) -> usize {
    let mut numbers = Numbers::default();
    numbers.core(formula);
    numbers.guesses
}

/// Whether a formula is about one state only.
pub fn is_state_formula(formula: &Formula) -> bool {
    let is_temporal = matches!(
        formula,
        Formula::Next(_)
            | Formula::Finally(_)
            | Formula::Globally(_)
            | Formula::Until(..)
            | Formula::WeakUntil(..)
            | Formula::Release(..)
            | Formula::StrongRelease(..)
    );
    !is_temporal && formula.operands().into_iter().all(is_state_formula)
}

/// The value of a formula about one state, from left to right and no further than needed;
/// `None` if a proposition on the way cannot be evaluated.
fn value(formula: &Formula, holds: u64, fails: u64) -> Option<bool> {
    let value = |formula: &Formula| value(formula, holds, fails);
    Some(match formula {
        Formula::True => true,
        Formula::False => false,
        Formula::Proposition(number) if fails >> number & 1 == 1 => return None,
        Formula::Proposition(number) => holds >> number & 1 == 1,
        Formula::Not(a) => !value(a)?,
        Formula::And(a, b) => value(a)? && value(b)?,
        Formula::Or(a, b) => value(a)? || value(b)?,
        Formula::Implies(a, b) => !value(a)? || value(b)?,
        Formula::Equivalent(a, b) => value(a)? == value(b)?,
        _ => return None,
    })
}

/// Whether a part of the formula without temporal operators cannot be evaluated in some
/// state.
pub fn looks_at_failure(formula: &Formula, valuation: &Valuation) -> bool {
    if is_state_formula(formula) {
        let mut states = valuation.holds.iter().zip(&valuation.fails);
        return states.any(|(holds, fails)| value(formula, *holds, *fails).is_none());
    }
    let mut operands = formula.operands().into_iter();
    operands.any(|operand| looks_at_failure(operand, valuation))
}

/// Whether some run of the graph violates the formula. What cannot be evaluated counts as
/// false.
pub fn is_violated<S>(
    graph: &Graph<S>,
    valuation: &Valuation,
    formula: &Formula,
    runs: Runs,
) -> bool {
    let mut numbers = Numbers::default();
    let bad = not(numbers.core(formula));
    let variants = 1 << numbers.guesses;
    let letters = &valuation.holds;
    // A node is a state with guesses.
    let starts: Vec<usize> = (0..variants)
        .filter(|guess| bad.holds(letters[0], *guess))
        .collect();
    let untils = numbers.untils;
    let all = ((1 << untils) - 1) | runs.fair_marks(graph) << untils;
    // For every state and its guesses, the guesses that were right before.
    let before: Vec<Vec<usize>> = letters
        .iter()
        .map(|letter| {
            let guesses = 0..variants;
            guesses
                .map(|guess| bad.guesses_before(*letter, guess))
                .collect()
        })
        .collect();
    has_marked_cycle(&starts, all, |from| {
        let (state, guess) = (from / variants, from % variants);
        let fulfilled = bad.fulfilled(letters[state], guess);
        let mut out = Vec::new();
        for (target, movers) in graph.moves(state, runs.finite) {
            let marks = fulfilled | fair_step(graph, state, movers) << untils;
            for (next, right) in before[target].iter().enumerate() {
                if *right == guess {
                    out.push((target * variants + next, marks));
                }
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::super::graph::{FiniteRuns, Step};
    use super::*;
    use crate::random::Random;

    const ALL: Runs = Runs {
        finite: FiniteRuns::Stutter,
        fair: false,
    };

    /// A single run: the letters in a row, then back to `back`.
    fn lasso(letters: &[u64], back: usize) -> (Graph<usize>, Valuation) {
        let graph = Graph::explore(0, 100, |state| {
            let next = state + 1;
            vec![Step {
                target: Some(if next < letters.len() { next } else { back }),
                movers: 1,
            }]
        });
        let valuation = Valuation {
            holds: letters.to_vec(),
            fails: vec![0; letters.len()],
        };
        (graph.unwrap(), valuation)
    }

    /// Whether a formula holds at a place of a lasso, by the definition.
    fn holds(formula: &Formula, letters: &[u64], back: usize, at: usize) -> bool {
        let next = |at: usize| match at + 1 < letters.len() {
            true => at + 1,
            false => back,
        };
        let value = |formula: &Formula, at: usize| holds(formula, letters, back, at);
        // All places from here on, in order; each once is enough.
        let mut places = vec![at];
        while !places.contains(&next(places[places.len() - 1])) {
            places.push(next(places[places.len() - 1]));
        }
        let until = |a: &dyn Fn(usize) -> bool, b: &dyn Fn(usize) -> bool| {
            for place in &places {
                if b(*place) {
                    return true;
                }
                if !a(*place) {
                    return false;
                }
            }
            false
        };
        match formula {
            Formula::True => true,
            Formula::False => false,
            Formula::Proposition(number) => letters[at] >> number & 1 == 1,
            Formula::Not(a) => !value(a, at),
            Formula::And(a, b) => value(a, at) && value(b, at),
            Formula::Or(a, b) => value(a, at) || value(b, at),
            Formula::Implies(a, b) => !value(a, at) || value(b, at),
            Formula::Equivalent(a, b) => value(a, at) == value(b, at),
            Formula::Next(a) => value(a, next(at)),
            Formula::Finally(a) => places.iter().any(|place| value(a, *place)),
            Formula::Globally(a) => places.iter().all(|place| value(a, *place)),
            Formula::Until(a, b) => until(&|p| value(a, p), &|p| value(b, p)),
            Formula::WeakUntil(a, b) => {
                until(&|p| value(a, p), &|p| value(b, p)) || places.iter().all(|p| value(a, *p))
            }
            Formula::Release(a, b) => {
                until(&|p| value(b, p), &|p| value(a, p) && value(b, p))
                    || places.iter().all(|p| value(b, *p))
            }
            Formula::StrongRelease(a, b) => {
                until(&|p| value(b, p), &|p| value(a, p) && value(b, p))
            }
        }
    }

    fn random_formula(random: &mut Random, depth: usize) -> Formula {
        let kind = if depth == 0 { 0 } else { random.below(13) };
        let mut operand = || Box::new(random_formula(random, depth - 1));
        match kind {
            0 => match random.below(8) {
                0 => Formula::True,
                1 => Formula::False,
                _ => Formula::Proposition(random.below(2)),
            },
            1 => Formula::Not(operand()),
            2 => Formula::And(operand(), operand()),
            3 => Formula::Or(operand(), operand()),
            4 => Formula::Implies(operand(), operand()),
            5 => Formula::Equivalent(operand(), operand()),
            6 => Formula::Next(operand()),
            7 => Formula::Finally(operand()),
            8 => Formula::Globally(operand()),
            9 => Formula::Until(operand(), operand()),
            10 => Formula::WeakUntil(operand(), operand()),
            11 => Formula::Release(operand(), operand()),
            _ => Formula::StrongRelease(operand(), operand()),
        }
    }

    #[test]
    fn the_tableau_agrees_with_the_definition_on_lassos() {
        let (mut violated, mut compared) = (0, 0);
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let length = 1 + random.below(5);
            let letters: Vec<u64> = (0..length).map(|_| random.below(4) as u64).collect();
            let back = random.below(length);
            let formula = random_formula(&mut random, 3);
            if guesses(&formula) > 6 {
                continue;
            }
            let (graph, valuation) = lasso(&letters, back);
            let expected = !holds(&formula, &letters, back, 0);
            let got = is_violated(&graph, &valuation, &formula, ALL);
            assert_eq!(got, expected, "{formula:?} on {letters:?} back to {back}");
            violated += usize::from(expected);
            compared += 1;
        }
        assert!(
            violated > 500 && compared - violated > 500,
            "{violated} of {compared}"
        );
    }

    #[test]
    fn an_until_must_come_to_its_end() {
        let p = || Box::new(Formula::Proposition(0));
        let q = || Box::new(Formula::Proposition(1));
        let (graph, valuation) = lasso(&[1, 1], 0);
        let until = Formula::Until(p(), q());
        assert!(is_violated(&graph, &valuation, &until, ALL));
        let weak = Formula::WeakUntil(p(), q());
        assert!(!is_violated(&graph, &valuation, &weak, ALL));
    }

    #[test]
    fn what_is_not_needed_is_not_evaluated() {
        let p = |number| Box::new(Formula::Proposition(number));
        // 0 holds in the first state, and 1 cannot be evaluated there.
        let valuation = Valuation {
            holds: vec![1, 2],
            fails: vec![2, 0],
        };
        let fails = |formula: &Formula| looks_at_failure(formula, &valuation);
        assert!(!fails(&Formula::Or(p(0), p(1))));
        assert!(fails(&Formula::Or(p(1), p(0))));
        assert!(fails(&Formula::Implies(p(0), p(1))));
        assert!(fails(&Formula::Or(p(0), Box::new(Formula::Finally(p(1))))));
        assert!(!fails(&Formula::Globally(Box::new(Formula::Or(
            p(0),
            p(1)
        )))));
    }
}
