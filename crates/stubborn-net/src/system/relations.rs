//! The relations of a net, derived from its arcs place by place.
//!
//! All conditions below are exact for the tokens of one place: a pair is left out only if no
//! number of tokens in any place makes it possible. The do-not-accord relation is `D_s` of
//! Evangelista, "Experimenting with Stubborn Sets on Petri Nets" (definition 7): `t` and `u`
//! conflict if some place has `min(W(t,p), W(u,p)) < min(W(p,t), W(p,u))`. The others follow from
//! the same kind of reasoning; the tests try all small weights and markings.
//!
//! The strongest level adds what can be known of reachable markings: pairs that are never
//! enabled together, because bounds, nested units or place invariants exclude it, are no conflict,
//! and neither are pairs for which there are always enough tokens.
//!
//! Nothing here looks at all pairs of transitions: pairs come from the two sides of a place.

use stubborn_system::{Matrix, May, Must, Patience, Relations, TransitionId as SystemTransition};

use crate::formula::{Atom, CompareOp, Formula, IntExpr};
use crate::ids::{PlaceId, TransitionId};
use crate::net::{Net, Weight};
use crate::system::enough::Enough;
use crate::system::exclusion::Exclusion;
use crate::system::{Meaning, NetSystem};

/// Rows between two looks at the budget. Rows that were not looked at any more are empty.
const ROWS_PER_LOOK: u32 = 16;

/// The relations of a system; `reachable` adds what is known of reachable markings.
pub(super) fn from_arcs(system: &NetSystem, reachable: bool) -> Relations {
    let net = &system.net;
    let transitions = net.transition_count();
    let around: Vec<Around> = net.places().map(|place| Around::new(net, place)).collect();
    let mut enable = Vec::with_capacity(system.meanings.len());
    let mut disable = Vec::with_capacity(system.meanings.len());
    for meaning in &system.meanings {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        match meaning {
            Meaning::AtLeast(place, threshold) => {
                around[place.index()].crossing(*threshold, &mut up, &mut down);
            }
            Meaning::Formula(formula) => {
                formula_changes(formula, net, &around, &mut up, &mut down);
            }
        }
        enable.push(up);
        disable.push(down);
    }
    let mut exclusion = reachable.then(|| Exclusion::new(system));
    let enough = reachable.then(|| Enough::new(system));
    let do_not_accord = do_not_accord(system, &around, exclusion.as_mut(), enough);
    let do_not_left_accord = do_not_left_accord(system, &around, exclusion.as_mut());
    let (never_together, must_disable) = match &mut exclusion {
        Some(exclusion) => (
            exclusion.labels(&system.meanings),
            must_disable(system, &around),
        ),
        None => (
            Matrix::empty(system.meanings.len(), system.meanings.len()),
            Matrix::empty(transitions, transitions),
        ),
    };
    Relations {
        may_enable: May(Matrix::from_rows(transitions, enable)),
        may_disable: May(Matrix::from_rows(transitions, disable)),
        never_together: Must(never_together),
        do_not_accord: May(do_not_accord),
        // Every transition is deterministic.
        do_not_meet: None,
        do_not_left_accord: May(do_not_left_accord),
        must_disable: Must(must_disable),
        may_change_outcome: None,
    }
}

/// A transition at a place, with `W(p,t)` and `W(t,p)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    pub(super) transition: TransitionId,
    pub(super) takes: Weight,
    pub(super) gives: Weight,
}

/// All transitions that touch one place.
pub(super) struct Around {
    neighbours: Vec<Neighbour>,
    /// Positions of those that leave fewer tokens.
    takers: Vec<u32>,
    /// Positions of those that leave another number of tokens.
    changers: Vec<u32>,
}

impl Around {
    fn new(net: &Net, place: PlaceId) -> Self {
        let (consumers, producers) = (net.consumers(place), net.producers(place));
        let mut neighbours = Vec::with_capacity(consumers.len() + producers.len());
        let (mut i, mut j) = (0, 0);
        while i < consumers.len() || j < producers.len() {
            let left = consumers.get(i).map(|arc| arc.node);
            let right = producers.get(j).map(|arc| arc.node);
            let transition = match (left, right) {
                (Some(t), Some(u)) => t.min(u),
                (Some(t), None) | (None, Some(t)) => t,
                (None, None) => break,
            };
            let mut neighbour = Neighbour {
                transition,
                takes: 0,
                gives: 0,
            };
            if left == Some(transition) {
                neighbour.takes = consumers[i].weight;
                i += 1;
            }
            if right == Some(transition) {
                neighbour.gives = producers[j].weight;
                j += 1;
            }
            neighbours.push(neighbour);
        }
        Self::from_neighbours(neighbours)
    }

    fn from_neighbours(neighbours: Vec<Neighbour>) -> Self {
        let positions = |wanted: fn(&Neighbour) -> bool| {
            let all = neighbours.iter().enumerate();
            all.filter(|(_, n)| wanted(n))
                .map(|(i, _)| i as u32)
                .collect()
        };
        let takers = positions(|n| n.gives < n.takes);
        let changers = positions(|n| n.gives != n.takes);
        Self {
            neighbours,
            takers,
            changers,
        }
    }

    /// The transitions that can make `p >= threshold` true, and those that can make it false.
    fn crossing(&self, threshold: Weight, up: &mut Vec<u32>, down: &mut Vec<u32>) {
        for n in &self.neighbours {
            // Enabled below the threshold and leaves more behind.
            if n.gives > n.takes && n.takes < threshold {
                up.push(n.transition.0);
            }
            // Takes some away and can end below the threshold.
            if n.gives < n.takes && n.gives < threshold {
                down.push(n.transition.0);
            }
        }
    }

    /// The transitions that increase the place, and those that decrease it, with the change.
    fn changes(&self) -> impl Iterator<Item = (TransitionId, i64)> + '_ {
        self.neighbours
            .iter()
            .map(|n| (n.transition, i64::from(n.gives) - i64::from(n.takes)))
            .filter(|(_, change)| *change != 0)
    }
}

/// `t` disables `u` or the other way round, for some number of tokens that enables both.
fn conflict(t: &Neighbour, u: &Neighbour) -> bool {
    t.gives.min(u.gives) < t.takes.min(u.takes)
}

/// For some number of tokens `u t` can be fired and `t u` cannot: `u` makes `t` possible, or
/// `t` takes what `u` needs and puts back later.
fn cannot_move_left(t: &Neighbour, u: &Neighbour) -> bool {
    let enabled_by_u = u.gives > u.takes && u.takes < t.takes;
    let disables_u = t.gives < t.takes.min(u.takes).min(u.gives);
    enabled_by_u || disables_u
}

fn do_not_accord(
    system: &NetSystem,
    around: &[Around],
    exclusion: Option<&mut Exclusion<'_>>,
    enough: Option<Enough<'_>>,
) -> Matrix<SystemTransition, SystemTransition> {
    let mut exclusion = exclusion;
    let mut enough = enough;
    let possible = |t, u| {
        exclusion
            .as_mut()
            .is_none_or(|known| !known.never_both_in_rows(t, u))
            && enough.as_mut().is_none_or(|enough| !enough.for_both(t, u))
    };
    rows(
        system,
        around,
        conflict,
        |n| n.gives < n.takes,
        |place| &place.takers,
        possible,
    )
}

fn do_not_left_accord(
    system: &NetSystem,
    around: &[Around],
    exclusion: Option<&mut Exclusion<'_>>,
) -> Matrix<SystemTransition, SystemTransition> {
    let mut exclusion = exclusion;
    let possible = |t, u| {
        exclusion
            .as_mut()
            .is_none_or(|known| !known.never_after(u, t))
    };
    rows(
        system,
        around,
        cannot_move_left,
        |n| n.gives != n.takes,
        |place| &place.changers,
        possible,
    )
}

/// The relation row by row: for each transition, the neighbours at its places. At every place at
/// least one of a related pair is active, so a place with many readers costs them nothing.
fn rows(
    system: &NetSystem,
    around: &[Around],
    related: impl Fn(&Neighbour, &Neighbour) -> bool,
    is_active: impl Fn(&Neighbour) -> bool,
    active: impl Fn(&Around) -> &[u32],
    mut possible: impl FnMut(TransitionId, TransitionId) -> bool,
) -> Matrix<SystemTransition, SystemTransition> {
    let (net, count) = (&system.net, system.net.transition_count());
    let mut last_row = vec![u32::MAX; count];
    let mut patience = Patience::new(&system.budget, ROWS_PER_LOOK);
    let rows = net.transitions().map(|t| {
        let mut row = Vec::new();
        if patience.spent().is_some() {
            return row;
        }
        for (place, takes, gives) in net.touched(t) {
            let place = &around[place.index()];
            let here = Neighbour {
                transition: t,
                takes,
                gives,
            };
            let mut look = |other: &Neighbour| {
                let seen = &mut last_row[other.transition.index()];
                if *seen != t.0 && related(&here, other) {
                    *seen = t.0;
                    row.push(other.transition.0);
                }
            };
            if is_active(&here) {
                place.neighbours.iter().for_each(&mut look);
            } else {
                active(place)
                    .iter()
                    .for_each(|i| look(&place.neighbours[*i as usize]));
            }
        }
        row.retain(|u| system.budget.spent().is_some() || possible(t, TransitionId(*u)));
        row
    });
    Matrix::from_rows(count, rows)
}

/// After `t`, the bound of a place leaves too few tokens for `u`.
fn must_disable(
    system: &NetSystem,
    around: &[Around],
) -> Matrix<SystemTransition, SystemTransition> {
    let count = system.net.transition_count();
    let net = &system.net;
    let mut patience = Patience::new(&system.budget, ROWS_PER_LOOK);
    let rows = net.transitions().map(|t| {
        let mut row = Vec::new();
        if patience.spent().is_some() {
            return row;
        }
        for (place, takes, gives) in net.touched(t).filter(|(_, takes, gives)| takes > gives) {
            let Some(bound) = system.bounds.bound(place) else {
                continue;
            };
            let left = i128::from(bound) - i128::from(takes) + i128::from(gives);
            let blocked = |n: &&Neighbour| i128::from(n.takes) > left;
            let neighbours = around[place.index()].neighbours.iter();
            row.extend(neighbours.filter(blocked).map(|n| n.transition.0));
        }
        row
    });
    Matrix::from_rows(count, rows)
}

/// The transitions that can make a state formula true (`up`) and false (`down`).
fn formula_changes(
    formula: &Formula,
    net: &Net,
    around: &[Around],
    up: &mut Vec<u32>,
    down: &mut Vec<u32>,
) {
    match formula {
        Formula::Atom(Atom::Constant(_)) => {}
        Formula::Atom(Atom::Compare(op, left, right)) => {
            comparison_changes(*op, left, right, around, up, down);
        }
        Formula::Atom(Atom::Fireable(transitions)) => {
            for t in transitions {
                for arc in net.pre(*t) {
                    around[arc.node.index()].crossing(arc.weight, up, down);
                }
            }
        }
        Formula::Atom(Atom::Deadlock) => {
            for t in net.transitions() {
                for arc in net.pre(t) {
                    // A deadlock is the end of every transition's enabledness.
                    around[arc.node.index()].crossing(arc.weight, down, up);
                }
            }
        }
        Formula::Not(inner) => formula_changes(inner, net, around, down, up),
        Formula::And(parts) | Formula::Or(parts) => {
            parts
                .iter()
                .for_each(|part| formula_changes(part, net, around, up, down));
        }
        // Labels are state formulas.
        Formula::Next(_) | Formula::Globally(_) | Formula::Finally(_) | Formula::Until(..) => {}
    }
    for list in [up, down] {
        list.sort_unstable();
        list.dedup();
    }
}

/// What changes the difference `left - right` upwards can make `left >= right` true, and so on.
fn comparison_changes(
    op: CompareOp,
    left: &IntExpr,
    right: &IntExpr,
    around: &[Around],
    up: &mut Vec<u32>,
    down: &mut Vec<u32>,
) {
    let mut change: Vec<(TransitionId, i128)> = Vec::new();
    for (side, sign) in [(left, 1), (right, -1)] {
        for place in &side.places {
            let changes = around[place.index()].changes();
            change.extend(changes.map(|(t, c)| (t, sign * i128::from(c))));
        }
    }
    change.sort_unstable_by_key(|(t, _)| *t);
    for of_one in change.chunk_by(|a, b| a.0 == b.0) {
        let transition = of_one[0].0.0;
        let total: i128 = of_one.iter().map(|(_, c)| c).sum();
        if total == 0 {
            continue;
        }
        let (can_hold, can_fail) = match op {
            CompareOp::LessOrEqual | CompareOp::Less => (total < 0, total > 0),
            CompareOp::GreaterOrEqual | CompareOp::Greater => (total > 0, total < 0),
            CompareOp::Equal | CompareOp::NotEqual => (true, true),
        };
        if can_hold {
            up.push(transition);
        }
        if can_fail {
            down.push(transition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(takes: Weight, gives: Weight) -> Neighbour {
        Neighbour {
            transition: TransitionId(0),
            takes,
            gives,
        }
    }

    fn fire(tokens: i64, t: &Neighbour) -> Option<i64> {
        (tokens >= i64::from(t.takes)).then(|| tokens - i64::from(t.takes) + i64::from(t.gives))
    }

    /// Every pair of weights up to 3 and every marking up to 12, against the definition.
    #[test]
    fn conditions_on_one_place_are_exact() {
        let weights = || (0..4).flat_map(|takes| (0..4).map(move |gives| neighbour(takes, gives)));
        for t in weights() {
            for u in weights() {
                let (mut disables, mut stuck) = (false, false);
                for tokens in 0..13 {
                    if let (Some(after_t), Some(after_u)) = (fire(tokens, &t), fire(tokens, &u)) {
                        disables |= fire(after_t, &u).is_none() || fire(after_u, &t).is_none();
                    }
                    let u_then_t = fire(tokens, &u).and_then(|m| fire(m, &t));
                    let t_then_u = fire(tokens, &t).and_then(|m| fire(m, &u));
                    stuck |= u_then_t.is_some() && t_then_u.is_none();
                }
                assert_eq!(conflict(&t, &u), disables, "{t:?} {u:?}");
                assert_eq!(cannot_move_left(&t, &u), stuck, "{t:?} {u:?}");
            }
        }
    }

    #[test]
    fn crossing_a_threshold_is_exact() {
        for threshold in 1..5 {
            for (takes, gives) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))) {
                let t = neighbour(takes, gives);
                let (mut rises, mut falls) = (false, false);
                for tokens in 0..16 {
                    if let Some(after) = fire(tokens, &t) {
                        let (before, after) = (
                            tokens >= i64::from(threshold),
                            after >= i64::from(threshold),
                        );
                        rises |= !before && after;
                        falls |= before && !after;
                    }
                }
                let (mut up, mut down) = (Vec::new(), Vec::new());
                Around::from_neighbours(vec![t]).crossing(threshold, &mut up, &mut down);
                assert_eq!((!up.is_empty(), !down.is_empty()), (rises, falls), "{t:?}");
            }
        }
    }
}
