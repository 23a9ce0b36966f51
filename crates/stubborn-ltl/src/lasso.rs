//! Ultimately periodic words, and the value of a formula on one.
//!
//! The evaluator follows the definition of LTL and shares nothing with the
//! translation: it is the oracle for automata, and it checks counterexamples.

use crate::formula::{Formula, Formulas, Node};

/// The propositions that hold in one position: bit `i % 64` of word `i / 64` is
/// proposition `i`, missing words are zero.
pub type Letter = Vec<u64>;

/// The value of one proposition in a letter.
pub fn letter_holds(letter: &[u64], proposition: u32) -> bool {
    letter
        .get(proposition as usize / 64)
        .is_some_and(|w| w >> (proposition % 64) & 1 == 1)
}

/// The word `stem cycle cycle cycle …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The letters before the cycle; may be empty.
    pub stem: Vec<Letter>,
    /// The letters repeated for ever; never empty.
    pub cycle: Vec<Letter>,
}

impl Lasso {
    /// Number of distinct positions.
    pub fn len(&self) -> usize {
        self.stem.len() + self.cycle.len()
    }

    /// Whether the word has no position at all (then it is no word).
    pub fn is_empty(&self) -> bool {
        self.cycle.is_empty()
    }

    /// The letter of a position below [`Lasso::len`].
    pub fn letter(&self, position: usize) -> &Letter {
        match self.stem.get(position) {
            Some(letter) => letter,
            None => &self.cycle[position - self.stem.len()],
        }
    }

    /// The position after this one.
    pub fn next(&self, position: usize) -> usize {
        if position + 1 < self.len() {
            position + 1
        } else {
            self.stem.len()
        }
    }

    /// Whether the word satisfies the formula; bit `i` of a letter is proposition `i` of `formulas`.
    pub fn satisfies(&self, formulas: &Formulas, formula: Formula) -> bool {
        let length = self.len();
        let parts = formulas.subformulas(formula);
        let index = |f: Formula| parts.binary_search(&f).expect("operands are subformulas");
        let mut values: Vec<Vec<bool>> = Vec::with_capacity(parts.len());
        for part in &parts {
            let at = |f: Formula, i: usize| values[index(f)][i];
            let pointwise = |value: &dyn Fn(usize) -> bool| (0..length).map(value).collect();
            let row: Vec<bool> = match formulas.node(*part) {
                Node::True => vec![true; length],
                Node::False => vec![false; length],
                Node::Atom(p) => pointwise(&|i| letter_holds(self.letter(i), p.0)),
                Node::Not(f) => pointwise(&|i| !at(f, i)),
                Node::And(f, g) => pointwise(&|i| at(f, i) && at(g, i)),
                Node::Or(f, g) => pointwise(&|i| at(f, i) || at(g, i)),
                Node::Implies(f, g) => pointwise(&|i| !at(f, i) || at(g, i)),
                Node::Iff(f, g) => pointwise(&|i| at(f, i) == at(g, i)),
                Node::Xor(f, g) => pointwise(&|i| at(f, i) != at(g, i)),
                Node::Next(f) => pointwise(&|i| at(f, self.next(i))),
                Node::Finally(f) => self.fixpoint(false, |i, later| at(f, i) || later),
                Node::Globally(f) => self.fixpoint(true, |i, later| at(f, i) && later),
                Node::Until(f, g) => self.fixpoint(false, |i, later| at(g, i) || at(f, i) && later),
                Node::WeakUntil(f, g) => {
                    self.fixpoint(true, |i, later| at(g, i) || at(f, i) && later)
                }
                Node::Release(f, g) => {
                    self.fixpoint(true, |i, later| at(g, i) && (at(f, i) || later))
                }
                Node::StrongRelease(f, g) => {
                    self.fixpoint(false, |i, later| at(g, i) && (at(f, i) || later))
                }
            };
            values.push(row);
        }
        values[parts.len() - 1][0]
    }

    /// The least (`start` false) or greatest (`start` true) solution of `x(i) = step(i, x(next(i)))`:
    /// two rounds from the back suffice, the second one with the right value behind the end.
    fn fixpoint(&self, start: bool, step: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        let mut row = vec![start; self.len()];
        for _ in 0..2 {
            for i in (0..self.len()).rev() {
                row[i] = step(i, row[self.next(i)]);
            }
        }
        row
    }
}
