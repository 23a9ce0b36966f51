//! What the unfolder knows of one transition before it looks for bindings.
//!
//! *Patterns* are input tuples that a colour of the place can be matched with; they restrict
//! bindings to colours that can occur at all. *Conjuncts* are the parts of the guard, each with
//! the mask of variables it needs, so that it is evaluated as soon as those have values, and an
//! equality binds a variable instead of testing every colour. Conjuncts over one variable are
//! evaluated once and leave a list of *allowed* colours.

use crate::coloured::ColouredTransition;
use crate::coloured::terms::{Atom, Base, Comparison, Component, Guard};

/// An input tuple of single colours.
pub(super) struct Pattern {
    pub(super) place: usize,
    pub(super) atoms: Vec<Atom>,
    pub(super) mask: u64,
}

/// A part of the guard.
pub(super) struct Conjunct {
    pub(super) guard: Guard,
    pub(super) mask: u64,
}

/// The plan of one transition.
pub(super) struct Plan {
    pub(super) patterns: Vec<Pattern>,
    pub(super) conjuncts: Vec<Conjunct>,
    /// The colours each variable may take.
    pub(super) allowed: Vec<Vec<u32>>,
    /// The mask of all variables.
    pub(super) all: u64,
    /// False if the guard is false for every binding.
    pub(super) possible: bool,
}

impl Plan {
    pub(super) fn new(transition: &ColouredTransition) -> Self {
        let count = transition.slots.len();
        let all = if count == 64 {
            u64::MAX
        } else {
            (1 << count) - 1
        };
        let mut possible = true;
        let mut single: Vec<Vec<&Guard>> = vec![Vec::new(); count];
        let mut conjuncts = Vec::new();
        for guard in &transition.guard {
            let mut mask = 0u64;
            guard.variables(&mut |v| mask |= 1 << v);
            match mask.count_ones() {
                0 => possible &= guard.holds(&|_| 0),
                1 => single[mask.trailing_zeros() as usize].push(guard),
                _ => conjuncts.push(Conjunct {
                    guard: guard.clone(),
                    mask,
                }),
            }
        }
        let allowed: Vec<Vec<u32>> = transition
            .slots
            .iter()
            .zip(&single)
            .map(|(slot, guards)| {
                (0..slot.size)
                    .filter(|c| guards.iter().all(|g| g.holds(&|_| *c)))
                    .collect()
            })
            .collect();
        // Values also come from patterns and equalities, so the single-variable parts stay.
        for (slot, guards) in single.into_iter().enumerate() {
            let mask = 1 << slot;
            conjuncts.extend(guards.into_iter().map(|g| Conjunct {
                guard: g.clone(),
                mask,
            }));
        }
        Self {
            patterns: patterns(transition),
            conjuncts,
            allowed,
            all,
            possible,
        }
    }
}

fn patterns(transition: &ColouredTransition) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for arc in &transition.inputs {
        // A subtraction may take away what a tuple asks for.
        if arc.summands.iter().any(|summand| summand.coefficient < 0) {
            continue;
        }
        for summand in &arc.summands {
            let atoms: Option<Vec<Atom>> = summand
                .components
                .iter()
                .map(|component| match component {
                    Component::One(atom) => Some(*atom),
                    Component::All(_) => None,
                })
                .collect();
            if let Some(atoms) = atoms {
                let mask = atoms.iter().fold(0, |mask, atom| mask | bit(atom));
                patterns.push(Pattern {
                    place: arc.place,
                    atoms,
                    mask,
                });
            }
        }
    }
    patterns
}

/// The mask of the variable in an atom.
pub(super) fn bit(atom: &Atom) -> u64 {
    match atom.base {
        Base::Constant(_) => 0,
        Base::Variable(v) => 1 << v,
    }
}

/// The two sides of an equality.
pub(super) fn equality(guard: &Guard) -> Option<(&Atom, &Atom)> {
    match guard {
        Guard::Compare(Comparison::Equal, left, right) => Some((left, right)),
        _ => None,
    }
}
