//! Constructors of normalised formulas, with the rewriting rules.
//!
//! The rules are those of Somenzi and Bloem, "Efficient Büchi automata from LTL
//! formulae" (2000), Etessami and Holzmann, "Optimizing Büchi automata" (2000), and
//! Babiak et al. (2012): basic identities, rules for eventual (written `e`) and
//! universal (`u`) operands and those that are both (`q`, constant in time), and rules
//! that ask whether one operand implies another ([`crate::implication`]). Every rule
//! makes the formula smaller or moves an operator that stays in place afterwards, so
//! rewriting ends.

use crate::normal::{Kind, Normal, Normals};

/// Beyond this many operands pairs are not compared any more.
const MAX_COMPARED: usize = 40;

impl Normals {
    /// Conjunction.
    pub fn and(&mut self, parts: Vec<Normal>) -> Normal {
        self.many(parts, true)
    }

    /// Disjunction.
    pub fn or(&mut self, parts: Vec<Normal>) -> Normal {
        self.many(parts, false)
    }

    /// Conjunction or disjunction: the comments name the conjunction's rules, the
    /// disjunction has the dual ones.
    fn many(&mut self, parts: Vec<Normal>, conjunction: bool) -> Normal {
        let (neutral, zero) = if conjunction {
            (Self::TRUE, Self::FALSE)
        } else {
            (Self::FALSE, Self::TRUE)
        };
        let mut parts = match self.flatten(parts, conjunction) {
            Some(parts) => parts,
            None => return zero,
        };
        // Merging two operands can make room for further merging.
        while let Some((first, second, merged)) = self.find_merge(&parts, conjunction) {
            parts.swap_remove(second);
            parts.swap_remove(first);
            parts.push(merged);
            parts = match self.flatten(parts, conjunction) {
                Some(parts) => parts,
                None => return zero,
            };
        }
        match parts.len() {
            0 => neutral,
            1 => parts[0],
            _ if conjunction => self.intern(Kind::And(parts.into())),
            _ => self.intern(Kind::Or(parts.into())),
        }
    }

    /// Sorted operands without nested conjunctions, with one letter at most; `None` if
    /// the letters contradict each other.
    fn flatten(&mut self, parts: Vec<Normal>, conjunction: bool) -> Option<Vec<Normal>> {
        let mut letter = if conjunction { Self::TRUE } else { Self::FALSE };
        let (neutral, zero) = (letter, self.constant(!conjunction));
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            let nested: &[Normal] = match (self.kind(part), conjunction) {
                (Kind::And(inner), true) | (Kind::Or(inner), false) => &inner.clone(),
                _ => &[part],
            };
            for part in nested {
                match (self.as_letter(*part), self.as_letter(letter)) {
                    (Some(new), Some(old)) => {
                        let guard = if conjunction {
                            self.guards.and(new, old)
                        } else {
                            self.guards.or(new, old)
                        };
                        letter = self.letter(guard);
                    }
                    _ => flat.push(*part),
                }
            }
        }
        if letter == zero {
            return None;
        }
        if letter != neutral {
            flat.push(letter);
        }
        flat.sort_unstable();
        flat.dedup();
        Some(flat)
    }

    fn constant(&self, value: bool) -> Normal {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Two operands (indices ascending) and the one formula that can replace both.
    fn find_merge(
        &mut self,
        parts: &[Normal],
        conjunction: bool,
    ) -> Option<(usize, usize, Normal)> {
        for second in 1..parts.len().min(MAX_COMPARED) {
            for first in 0..second {
                let merged = if conjunction {
                    self.merge_and(parts[first], parts[second])
                } else {
                    self.merge_or(parts[first], parts[second])
                };
                if let Some(merged) = merged {
                    return Some((first, second, merged));
                }
            }
        }
        None
    }

    fn merge_and(&mut self, f: Normal, g: Normal) -> Option<Normal> {
        if self.implies(f, g) {
            return Some(f);
        }
        if self.implies(g, f) {
            return Some(g);
        }
        let not_g = self.negate(g);
        if self.implies(f, not_g) {
            return Some(Self::FALSE);
        }
        let found = self.merge_and_shapes(f, g);
        if found.is_some() {
            found
        } else {
            self.merge_and_shapes(g, f)
        }
    }

    fn merge_and_shapes(&mut self, f: Normal, g: Normal) -> Option<Normal> {
        match (self.kind(f).clone(), self.kind(g).clone()) {
            // X a & X b = X(a & b)
            (Kind::Next(a), Kind::Next(b)) => {
                let both = self.and(vec![a, b]);
                Some(self.next(both))
            }
            // G a & G b = G(a & b)
            (Kind::Globally(a), Kind::Globally(b)) => {
                let both = self.and(vec![a, b]);
                Some(self.globally(both))
            }
            // F u & F u' = F(u & u')
            (Kind::Finally(a), Kind::Finally(b))
                if self.is_universal(a) && self.is_universal(b) =>
            {
                let both = self.and(vec![a, b]);
                Some(self.finally(both))
            }
            // (a U c) & (b U c) = (a & b) U c
            (Kind::Until(a, c), Kind::Until(b, d)) if c == d => {
                let both = self.and(vec![a, b]);
                Some(self.until(both, c))
            }
            // (a W c) & (b W c) = (a & b) W c
            (Kind::WeakUntil(a, c), Kind::WeakUntil(b, d)) if c == d => {
                let both = self.and(vec![a, b]);
                Some(self.weak_until(both, c))
            }
            // (a U c) & (b W c) = (a & b) U c
            (Kind::Until(a, c), Kind::WeakUntil(b, d)) if c == d => {
                let both = self.and(vec![a, b]);
                Some(self.until(both, c))
            }
            // (a R b) & (a R c) = a R (b & c)
            (Kind::Release(a, b), Kind::Release(c, d)) if a == c => {
                let both = self.and(vec![b, d]);
                Some(self.release(a, both))
            }
            // (a M b) & (a R c) = (a M b) & (a M c) = a M (b & c)
            (Kind::StrongRelease(a, b), Kind::StrongRelease(c, d) | Kind::Release(c, d))
                if a == c =>
            {
                let both = self.and(vec![b, d]);
                Some(self.strong_release(a, both))
            }
            // (a W b) & F b = a U b
            (Kind::WeakUntil(a, b), Kind::Finally(c)) if b == c => Some(self.until(a, b)),
            // (a R b) & F a = a M b
            (Kind::Release(a, b), Kind::Finally(c)) if a == c => Some(self.strong_release(a, b)),
            _ => None,
        }
    }

    fn merge_or(&mut self, f: Normal, g: Normal) -> Option<Normal> {
        if self.implies(f, g) {
            return Some(g);
        }
        if self.implies(g, f) {
            return Some(f);
        }
        let not_g = self.negate(g);
        if self.implies(not_g, f) {
            return Some(Self::TRUE);
        }
        let found = self.merge_or_shapes(f, g);
        if found.is_some() {
            found
        } else {
            self.merge_or_shapes(g, f)
        }
    }

    fn merge_or_shapes(&mut self, f: Normal, g: Normal) -> Option<Normal> {
        match (self.kind(f).clone(), self.kind(g).clone()) {
            (Kind::Next(a), Kind::Next(b)) => {
                let either = self.or(vec![a, b]);
                Some(self.next(either))
            }
            (Kind::Finally(a), Kind::Finally(b)) => {
                let either = self.or(vec![a, b]);
                Some(self.finally(either))
            }
            (Kind::Globally(a), Kind::Globally(b))
                if self.is_eventual(a) && self.is_eventual(b) =>
            {
                let either = self.or(vec![a, b]);
                Some(self.globally(either))
            }
            // F a | q = F(a | q): the choice can wait
            (Kind::Finally(a), _) if self.is_constant_in_time(g) => {
                let either = self.or(vec![a, g]);
                Some(self.finally(either))
            }
            // (a R c) | (b R c) = (a | b) R c
            (Kind::Release(a, c), Kind::Release(b, d)) if c == d => {
                let either = self.or(vec![a, b]);
                Some(self.release(either, c))
            }
            (Kind::StrongRelease(a, c), Kind::StrongRelease(b, d)) if c == d => {
                let either = self.or(vec![a, b]);
                Some(self.strong_release(either, c))
            }
            (Kind::Release(a, c), Kind::StrongRelease(b, d)) if c == d => {
                let either = self.or(vec![a, b]);
                Some(self.release(either, c))
            }
            // (a U b) | (a U c) = a U (b | c)
            (Kind::Until(a, b), Kind::Until(c, d)) if a == c => {
                let either = self.or(vec![b, d]);
                Some(self.until(a, either))
            }
            (Kind::WeakUntil(a, b), Kind::WeakUntil(c, d) | Kind::Until(c, d)) if a == c => {
                let either = self.or(vec![b, d]);
                Some(self.weak_until(a, either))
            }
            // (a U b) | G a = a W b
            (Kind::Until(a, b), Kind::Globally(c)) if a == c => Some(self.weak_until(a, b)),
            // (a M b) | G b = a R b
            (Kind::StrongRelease(a, b), Kind::Globally(c)) if b == c => Some(self.release(a, b)),
            _ => None,
        }
    }

    /// Splits the operands of a conjunction (or disjunction) in those that satisfy
    /// `test` and the rest, if there are any of the former.
    fn split(
        &mut self,
        formula: Normal,
        conjunction: bool,
        test: impl Fn(&Self, Normal) -> bool,
    ) -> Option<(Normal, Normal)> {
        let parts = match (self.kind(formula), conjunction) {
            (Kind::And(parts), true) | (Kind::Or(parts), false) => parts.clone(),
            _ => return None,
        };
        let (chosen, rest): (Vec<Normal>, Vec<Normal>) =
            parts.iter().partition(|part| test(self, **part));
        if chosen.is_empty() {
            return None;
        }
        Some((self.many(chosen, conjunction), self.many(rest, conjunction)))
    }

    /// Replaces the operands of a conjunction (or disjunction), or the formula itself if
    /// it is none, by what `rewrite` makes of them; `None` if nothing changes.
    fn rewrite_parts(
        &mut self,
        formula: Normal,
        conjunction: bool,
        rewrite: impl Fn(&mut Self, Normal) -> Option<Normal>,
    ) -> Option<Normal> {
        let parts = match (self.kind(formula), conjunction) {
            (Kind::And(parts), true) | (Kind::Or(parts), false) => parts.clone(),
            _ => return rewrite(self, formula),
        };
        let mut changed = false;
        let mut result = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            let new = rewrite(self, *part);
            changed |= new.is_some();
            result.push(new.unwrap_or(*part));
        }
        changed.then(|| self.many(result, conjunction))
    }

    /// A simpler formula with the same value below `G`, where conjunctions distribute.
    fn below_globally(&mut self, part: Normal) -> Option<Normal> {
        match *self.kind(part) {
            // G X e = X G e = G e
            Kind::Next(a) if self.is_eventual(a) => Some(a),
            // G F(a & e) = G(F a & e)
            Kind::Finally(a) => {
                let (eventual, rest) = self.split(a, true, Self::is_eventual)?;
                let comes = self.finally(rest);
                Some(self.and(vec![comes, eventual]))
            }
            // G(a R b) = G b
            Kind::Release(_, b) => Some(b),
            // G(a W b) = G(a | b)
            Kind::WeakUntil(a, b) => Some(self.or(vec![a, b])),
            // G(a M b) = G(b & F a)
            Kind::StrongRelease(a, b) => {
                let comes = self.finally(a);
                Some(self.and(vec![b, comes]))
            }
            // G(a U b) = G((a | b) & F b)
            Kind::Until(a, b) => {
                let comes = self.finally(b);
                let either = self.or(vec![a, b]);
                Some(self.and(vec![either, comes]))
            }
            _ => None,
        }
    }

    /// A simpler formula with the same value below `F`, where disjunctions distribute.
    fn below_finally(&mut self, part: Normal) -> Option<Normal> {
        match *self.kind(part) {
            // F X u = X F u = F u
            Kind::Next(a) if self.is_universal(a) => Some(a),
            // F G(a | u) = F(G a | u)
            Kind::Globally(a) => {
                let (universal, rest) = self.split(a, false, Self::is_universal)?;
                let always = self.globally(rest);
                Some(self.or(vec![always, universal]))
            }
            // F(a U b) = F b
            Kind::Until(_, b) => Some(b),
            // F(a M b) = F(a & b)
            Kind::StrongRelease(a, b) => Some(self.and(vec![a, b])),
            // F(a W b) = F(b | G a)
            Kind::WeakUntil(a, b) => {
                let always = self.globally(a);
                Some(self.or(vec![b, always]))
            }
            // F(a R b) = F((a & b) | G b)
            Kind::Release(a, b) => {
                let always = self.globally(b);
                let both = self.and(vec![a, b]);
                Some(self.or(vec![both, always]))
            }
            _ => None,
        }
    }

    /// In the next position.
    pub fn next(&mut self, f: Normal) -> Normal {
        // X q = q
        if self.is_constant_in_time(f) {
            return f;
        }
        // X(a & q) = X a & q, and likewise for |
        for conjunction in [true, false] {
            if let Some((same, rest)) = self.split(f, conjunction, Self::is_constant_in_time) {
                let rest = self.next(rest);
                return self.many(vec![same, rest], conjunction);
            }
        }
        self.intern(Kind::Next(f))
    }

    /// Now or later.
    pub fn finally(&mut self, f: Normal) -> Normal {
        if self.is_eventual(f) {
            return f;
        }
        // F(a | e) = F a | e, but what is constant in time stays inside (see `merge_or_shapes`)
        let moves_out =
            |normals: &Self, part| normals.is_eventual(part) && !normals.is_universal(part);
        if let Some((eventual, rest)) = self.split(f, false, moves_out) {
            let rest = self.finally(rest);
            return self.or(vec![eventual, rest]);
        }
        if let Some(weaker) = self.rewrite_parts(f, false, Self::below_finally) {
            return self.finally(weaker);
        }
        // F(a & q) = F a & q
        if let Some((same, rest)) = self.split(f, true, Self::is_constant_in_time) {
            let rest = self.finally(rest);
            return self.and(vec![same, rest]);
        }
        match *self.kind(f) {
            // F X a = X F a
            Kind::Next(a) => {
                let inner = self.finally(a);
                self.next(inner)
            }
            _ => self.intern(Kind::Finally(f)),
        }
    }

    /// Now and always.
    pub fn globally(&mut self, f: Normal) -> Normal {
        if self.is_universal(f) {
            return f;
        }
        // G(a & u) = G a & u
        if let Some((universal, rest)) = self.split(f, true, Self::is_universal) {
            let rest = self.globally(rest);
            return self.and(vec![universal, rest]);
        }
        if let Some(stronger) = self.rewrite_parts(f, true, Self::below_globally) {
            return self.globally(stronger);
        }
        // G(a | q) = G a | q
        if let Some((same, rest)) = self.split(f, false, Self::is_constant_in_time) {
            let rest = self.globally(rest);
            return self.or(vec![same, rest]);
        }
        match *self.kind(f) {
            // G X a = X G a
            Kind::Next(a) => {
                let inner = self.globally(a);
                self.next(inner)
            }
            _ => self.intern(Kind::Globally(f)),
        }
    }

    /// Left until right, and right comes.
    pub fn until(&mut self, f: Normal, g: Normal) -> Normal {
        // a U e = e; a U b = b if a implies b
        if self.is_eventual(g) || self.implies(f, g) {
            return g;
        }
        // a U b = F b if one of them always holds
        let not_f = self.negate(f);
        if self.implies(not_f, g) {
            return self.finally(g);
        }
        // a U (b | e) = (a U b) | e
        if let Some((eventual, rest)) = self.split(g, false, Self::is_eventual) {
            let rest = self.until(f, rest);
            return self.or(vec![eventual, rest]);
        }
        // a U (b & q) = (a U b) & q
        if let Some((same, rest)) = self.split(g, true, Self::is_constant_in_time) {
            let rest = self.until(f, rest);
            return self.and(vec![same, rest]);
        }
        // a U (b | G a) = a W b
        let always = self.globally(f);
        if let Some((_, rest)) = self.split(g, false, |_, part| part == always) {
            return self.weak_until(f, rest);
        }
        // u U b = b | (u & F b)
        if self.is_universal(f) {
            let comes = self.finally(g);
            let later = self.and(vec![f, comes]);
            return self.or(vec![g, later]);
        }
        match (self.kind(f).clone(), self.kind(g).clone()) {
            // X a U X b = X(a U b)
            (Kind::Next(a), Kind::Next(b)) => {
                let inner = self.until(a, b);
                self.next(inner)
            }
            // a U (b U c) = b U c if a implies b
            (_, Kind::Until(b, _)) if self.implies(f, b) => g,
            _ => self.intern(Kind::Until(f, g)),
        }
    }

    /// Right up to and including the first left, or for ever.
    pub fn release(&mut self, f: Normal, g: Normal) -> Normal {
        // a R u = u; a R b = b if b implies a
        if self.is_universal(g) || self.implies(g, f) {
            return g;
        }
        // a R b = G b if both never hold together
        let not_f = self.negate(f);
        if self.implies(g, not_f) {
            return self.globally(g);
        }
        // a R (b & u) = (a R b) & u
        if let Some((universal, rest)) = self.split(g, true, Self::is_universal) {
            let rest = self.release(f, rest);
            return self.and(vec![universal, rest]);
        }
        // a R (b | q) = (a R b) | q
        if let Some((same, rest)) = self.split(g, false, Self::is_constant_in_time) {
            let rest = self.release(f, rest);
            return self.or(vec![same, rest]);
        }
        // a R (b & F a) = a M b
        let comes = self.finally(f);
        if let Some((_, rest)) = self.split(g, true, |_, part| part == comes) {
            return self.strong_release(f, rest);
        }
        // e R b = b & (e | G b)
        if self.is_eventual(f) {
            let always = self.globally(g);
            let either = self.or(vec![f, always]);
            return self.and(vec![g, either]);
        }
        match (self.kind(f).clone(), self.kind(g).clone()) {
            (Kind::Next(a), Kind::Next(b)) => {
                let inner = self.release(a, b);
                self.next(inner)
            }
            // a R (b R c) = b R c if b implies a
            (_, Kind::Release(b, _)) if self.implies(b, f) => g,
            _ => self.intern(Kind::Release(f, g)),
        }
    }

    /// Left until right, or left for ever.
    pub fn weak_until(&mut self, f: Normal, g: Normal) -> Normal {
        // a W b = b if a implies b
        if self.implies(f, g) {
            return g;
        }
        let not_f = self.negate(f);
        if self.implies(not_f, g) {
            return Self::TRUE;
        }
        if g == Self::FALSE {
            return self.globally(f);
        }
        // u W b = u | b
        if self.is_universal(f) {
            return self.or(vec![f, g]);
        }
        // a W e = G a | e
        if self.is_eventual(g) {
            let always = self.globally(f);
            return self.or(vec![always, g]);
        }
        // a W (b | G a) = a W b
        let always = self.globally(f);
        if let Some((_, rest)) = self.split(g, false, |_, part| part == always) {
            return self.weak_until(f, rest);
        }
        // a W (b | e) = (a W b) | e
        if let Some((eventual, rest)) = self.split(g, false, Self::is_eventual) {
            let rest = self.weak_until(f, rest);
            return self.or(vec![eventual, rest]);
        }
        match (self.kind(f).clone(), self.kind(g).clone()) {
            (Kind::Next(a), Kind::Next(b)) => {
                let inner = self.weak_until(a, b);
                self.next(inner)
            }
            // a W (b W c) = b W c if a implies b
            (_, Kind::WeakUntil(b, _)) if self.implies(f, b) => g,
            _ => self.intern(Kind::WeakUntil(f, g)),
        }
    }

    /// Right up to and including the first left, which comes.
    pub fn strong_release(&mut self, f: Normal, g: Normal) -> Normal {
        // a M b = b if b implies a
        if self.implies(g, f) {
            return g;
        }
        let not_f = self.negate(f);
        if self.implies(g, not_f) {
            return Self::FALSE;
        }
        if g == Self::TRUE {
            return self.finally(f);
        }
        // e M b = e & b
        if self.is_eventual(f) {
            return self.and(vec![f, g]);
        }
        // a M u = F a & u
        if self.is_universal(g) {
            let comes = self.finally(f);
            return self.and(vec![comes, g]);
        }
        // a M (b & F a) = a M b
        let comes = self.finally(f);
        if let Some((_, rest)) = self.split(g, true, |_, part| part == comes) {
            return self.strong_release(f, rest);
        }
        // a M (b & u) = (a M b) & u
        if let Some((universal, rest)) = self.split(g, true, Self::is_universal) {
            let rest = self.strong_release(f, rest);
            return self.and(vec![universal, rest]);
        }
        match (self.kind(f).clone(), self.kind(g).clone()) {
            (Kind::Next(a), Kind::Next(b)) => {
                let inner = self.strong_release(a, b);
                self.next(inner)
            }
            // a M (b M c) = b M c if b implies a
            (_, Kind::StrongRelease(b, _)) if self.implies(b, f) => g,
            _ => self.intern(Kind::StrongRelease(f, g)),
        }
    }
}
