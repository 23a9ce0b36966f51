//! Random formulas and words, for tests and experiments; the same seed gives the same.

use crate::formula::{Formula, Formulas, Node};
use crate::lasso::{Lasso, Letter};

/// A small random number generator (xorshift64*, Vigna 2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; any seed will do.
    pub fn new(seed: u64) -> Self {
        // Zero is the one state that xorshift never leaves.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound as u64) as usize
    }

    /// A formula with about `size` operators over the propositions `p0`, `p1`, ….
    pub fn formula(
        &mut self,
        formulas: &mut Formulas,
        propositions: usize,
        size: usize,
    ) -> Formula {
        if size == 0 {
            return match self.below(12) {
                0 => formulas.constant(true),
                1 => formulas.constant(false),
                _ => {
                    let name = format!("p{}", self.below(propositions));
                    formulas.atom(&name)
                }
            };
        }
        let unary = self.below(3) == 0 || size == 1;
        let left_size = if unary { size - 1 } else { self.below(size) };
        let left = self.formula(formulas, propositions, left_size);
        if unary {
            return match self.below(4) {
                0 => formulas.not(left),
                1 => formulas.make(Node::Next(left)),
                2 => formulas.make(Node::Finally(left)),
                _ => formulas.make(Node::Globally(left)),
            };
        }
        let right = self.formula(formulas, propositions, size - 1 - left_size);
        formulas.make(match self.below(11) {
            0 | 1 => Node::And(left, right),
            2 | 3 => Node::Or(left, right),
            4 => Node::Implies(left, right),
            5 => Node::Iff(left, right),
            6 => Node::Xor(left, right),
            7 => Node::Until(left, right),
            8 => Node::WeakUntil(left, right),
            9 => Node::Release(left, right),
            _ => Node::StrongRelease(left, right),
        })
    }

    /// A word with a stem of at most `stem` and a cycle of at most `cycle` letters.
    pub fn lasso(&mut self, propositions: usize, stem: usize, cycle: usize) -> Lasso {
        let stem = self.below(stem + 1);
        let cycle = self.below(cycle) + 1;
        let mut letters = |count: usize| -> Vec<Letter> {
            (0..count)
                .map(|_| {
                    let mut letter = vec![0; propositions.div_ceil(64).max(1)];
                    for proposition in 0..propositions {
                        letter[proposition / 64] |= (self.below(2) as u64) << (proposition % 64);
                    }
                    letter
                })
                .collect()
        };
        Lasso {
            stem: letters(stem),
            cycle: letters(cycle),
        }
    }
}

/// All words with at most `length` distinct positions over so many propositions.
pub fn all_lassos(propositions: u32, length: usize) -> impl Iterator<Item = Lasso> {
    (1..=length).flat_map(move |total| {
        (0..total).flat_map(move |stem| {
            (0..1u64 << (propositions as usize * total)).map(move |code| {
                let mask = (1u64 << propositions) - 1;
                let letter = |i: usize| vec![code >> (propositions as usize * i) & mask];
                Lasso {
                    stem: (0..stem).map(letter).collect(),
                    cycle: (stem..total).map(letter).collect(),
                }
            })
        })
    })
}
