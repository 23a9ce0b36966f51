//! A syntactic test for implication between normalised formulas.
//!
//! "Yes" is always right; "no" means "not seen". Each case follows from the
//! definition of the operators; letters are compared exactly. Used by the rewriting
//! rules only, so a weaker test costs states, never answers.

use crate::normal::{Kind, Normal, Normals};

impl Normals {
    /// Whether `f` is seen to imply `g`.
    pub fn implies(&mut self, f: Normal, g: Normal) -> bool {
        if f == g || f == Self::FALSE || g == Self::TRUE {
            return true;
        }
        if f == Self::TRUE || g == Self::FALSE {
            return false;
        }
        if let Some(known) = self.implications.get(&(f, g)) {
            return *known;
        }
        let result = self.implies_by_shape(f, g);
        self.implications.insert((f, g), result);
        result
    }

    fn implies_by_shape(&mut self, f: Normal, g: Normal) -> bool {
        let (left, right) = (self.kind(f).clone(), self.kind(g).clone());
        // Cases that split, exact for the operator concerned.
        match (&left, &right) {
            (Kind::Letter(a), Kind::Letter(b)) => return self.guards.implies(*a, *b),
            (Kind::Or(parts), _) => return parts.iter().all(|part| self.implies(*part, g)),
            (_, Kind::And(parts)) => return parts.iter().all(|part| self.implies(f, *part)),
            _ => {}
        }
        // Operand by operand: all these operators are monotone.
        let monotone = match (&left, &right) {
            (Kind::Next(a), Kind::Next(b))
            | (Kind::Finally(a), Kind::Finally(b))
            | (Kind::Globally(a), Kind::Globally(b)) => self.implies(*a, *b),
            (Kind::Until(a, b), Kind::Until(c, d) | Kind::WeakUntil(c, d))
            | (Kind::WeakUntil(a, b), Kind::WeakUntil(c, d))
            | (Kind::StrongRelease(a, b), Kind::StrongRelease(c, d) | Kind::Release(c, d))
            | (Kind::Release(a, b), Kind::Release(c, d)) => {
                self.implies(*a, *c) && self.implies(*b, *d)
            }
            // b M a reads "a until both": compare with c U d, and the weak pair alike.
            (Kind::StrongRelease(b, a), Kind::Until(c, d) | Kind::WeakUntil(c, d))
            | (Kind::Release(b, a), Kind::WeakUntil(c, d)) => {
                self.implies(*a, *c) && (self.implies(*b, *d) || self.implies(*a, *d))
            }
            // a U b and c R d: d must hold in front of b and with it, and b must release.
            (Kind::Until(a, b), Kind::Release(c, d) | Kind::StrongRelease(c, d))
            | (Kind::WeakUntil(a, b), Kind::Release(c, d)) => {
                self.implies(*a, *d) && self.implies(*b, *d) && self.implies(*b, *c)
            }
            _ => false,
        };
        if monotone {
            return true;
        }
        // What g needs, given f at this position.
        let enough = match &right {
            Kind::Or(parts) => parts.iter().any(|part| self.implies(f, *part)),
            Kind::Finally(b) => self.implies(f, *b),
            Kind::Until(_, b) => self.implies(f, *b),
            Kind::WeakUntil(a, b) => {
                self.implies(f, *b) || self.is_universal(f) && self.implies(f, *a)
            }
            Kind::Globally(b) => self.is_universal(f) && self.implies(f, *b),
            Kind::Release(a, b) => {
                self.implies(f, *b) && (self.is_universal(f) || self.implies(f, *a))
            }
            Kind::StrongRelease(a, b) => self.implies(f, *a) && self.implies(f, *b),
            Kind::Next(b) => self.is_universal(f) && self.implies(f, *b),
            Kind::Letter(_) | Kind::And(_) => false,
        };
        if enough {
            return true;
        }
        // What f gives.
        match &left {
            Kind::And(parts) => parts.iter().any(|part| self.implies(*part, g)),
            Kind::Globally(a) => self.implies(*a, g),
            Kind::Release(_, b) => self.implies(*b, g),
            Kind::StrongRelease(a, b) => {
                self.implies(*b, g) || self.is_eventual(g) && self.implies(*a, g)
            }
            Kind::Until(a, b) => {
                self.implies(*b, g) && (self.is_eventual(g) || self.implies(*a, g))
            }
            Kind::WeakUntil(a, b) => self.implies(*a, g) && self.implies(*b, g),
            Kind::Finally(a) => self.is_eventual(g) && self.implies(*a, g),
            Kind::Next(a) => self.is_eventual(g) && self.implies(*a, g),
            Kind::Letter(_) | Kind::Or(_) => false,
        }
    }
}
