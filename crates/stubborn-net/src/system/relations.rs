//! The relations of a net, derived from its arcs place by place.
//!
//! All conditions below are exact for the tokens of one place: a pair is left out only if no
//! number of tokens in any place makes it possible. The do-not-accord relation is `D_s` of
//! Evangelista, "Experimenting with Stubborn Sets on Petri Nets" (definition 7): `t` and `u`
//! conflict if some place has `min(W(t,p), W(u,p)) < min(W(p,t), W(p,u))`. The others follow from
//! the same kind of reasoning; the tests try all small weights and markings. Where inhibitor arcs
//! bound the tokens of a place from above, a transition is possible in a range of numbers, and everything is
//! decided at the ends of ranges.
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
            // It becomes true where the opposite becomes false.
            Meaning::Below(place, threshold) => {
                around[place.index()].crossing(*threshold, &mut down, &mut up);
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
    /// The weight of an inhibitor arc: it needs fewer tokens. 0 if there is none.
    pub(super) below: Weight,
}

/// More tokens than there ever are.
const MANY: i64 = 1 << 40;

impl Neighbour {
    /// The fewest tokens with which it can fire.
    fn least(&self) -> i64 {
        self.takes.into()
    }

    /// The most tokens with which it can fire.
    fn most(&self) -> i64 {
        match self.below {
            0 => MANY,
            below => i64::from(below) - 1,
        }
    }

    /// How many tokens it leaves more.
    fn change(&self) -> i64 {
        i64::from(self.gives) - i64::from(self.takes)
    }

    /// Whether it cannot fire with some numbers of tokens from `least` to `most`, in each of which
    /// something can that needs at least as many tokens or as few.
    fn fails_between(&self, least: i64, most: i64) -> bool {
        least < self.least() || self.below != 0 && most > self.most()
    }
}

/// The places that a transition touches or that inhibit it.
fn places_of(net: &Net, t: TransitionId) -> impl Iterator<Item = (PlaceId, Neighbour)> {
    let here = move |place, takes, gives, below| {
        let transition = t;
        let here = Neighbour {
            transition,
            takes,
            gives,
            below,
        };
        (place, here)
    };
    let touched = net.touched(t).map(move |(place, takes, gives)| {
        here(place, takes, gives, net.inhibitor_weight(place, t))
    });
    let apart = move |place| net.input_weight(place, t) == 0 && net.output_weight(t, place) == 0;
    let inhibitors = net.inhibitors(t).iter().filter(move |arc| apart(arc.node));
    touched.chain(inhibitors.map(move |arc| here(arc.node, 0, 0, arc.weight)))
}

/// All transitions that touch one place.
pub(super) struct Around {
    neighbours: Vec<Neighbour>,
    /// Positions of those that may disable others: those that leave fewer tokens; where the place inhibits
    /// somebody, all that leave another number.
    takers: Vec<u32>,
    /// Positions of those that leave another number of tokens.
    changers: Vec<u32>,
    /// Whether the place inhibits somebody.
    inhibits: bool,
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
                below: 0,
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
        let touching = neighbours.len();
        for arc in net.inhibited(place) {
            let known = &mut neighbours[..touching];
            match known.binary_search_by_key(&arc.node, |n| n.transition) {
                Ok(at) => known[at].below = arc.weight,
                Err(_) => neighbours.push(Neighbour {
                    transition: arc.node,
                    takes: 0,
                    gives: 0,
                    below: arc.weight,
                }),
            }
        }
        Self::from_neighbours(neighbours)
    }

    fn from_neighbours(neighbours: Vec<Neighbour>) -> Self {
        let inhibits = neighbours.iter().any(|n| n.below != 0);
        let positions = |wanted: &dyn Fn(&Neighbour) -> bool| {
            let all = neighbours.iter().enumerate();
            all.filter(|(_, n)| wanted(n))
                .map(|(i, _)| i as u32)
                .collect()
        };
        let takers = positions(&|n| may_disable(n, inhibits));
        let changers = positions(&|n| n.gives != n.takes);
        Self {
            neighbours,
            takers,
            changers,
            inhibits,
        }
    }

    /// The transitions that can make `p >= threshold` true, and those that can make it false.
    fn crossing(&self, threshold: Weight, up: &mut Vec<u32>, down: &mut Vec<u32>) {
        let threshold = i64::from(threshold);
        for n in &self.neighbours {
            let change = n.change();
            // With as many tokens it is below before, and not after; or the other way round.
            if change > 0 && n.least().max(threshold - change) <= n.most().min(threshold - 1) {
                up.push(n.transition.0);
            }
            if change < 0 && n.least().max(threshold) <= n.most().min(threshold - change - 1) {
                down.push(n.transition.0);
            }
        }
    }

    /// The transitions that increase the place, and those that decrease it, with the change.
    fn changes(&self) -> impl Iterator<Item = (TransitionId, i64)> + '_ {
        self.neighbours
            .iter()
            .map(|n| (n.transition, n.change()))
            .filter(|(_, change)| *change != 0)
    }
}

/// Whether a transition at a place may disable another one there.
fn may_disable(n: &Neighbour, inhibits: bool) -> bool {
    n.gives < n.takes || inhibits && n.gives > n.takes
}

/// `t` disables `u` or the other way round, for some number of tokens that enables both.
fn conflict(t: &Neighbour, u: &Neighbour) -> bool {
    let (least, most) = (t.least().max(u.least()), t.most().min(u.most()));
    let after = |one: &Neighbour, other: &Neighbour| {
        other.fails_between(least + one.change(), most + one.change())
    };
    least <= most && (after(t, u) || after(u, t))
}

/// For some number of tokens `u t` can be fired and `t u` cannot: `u` makes `t` possible, or
/// `t` takes what `u` needs and puts back later, or gives what inhibits it and takes it back.
fn cannot_move_left(t: &Neighbour, u: &Neighbour) -> bool {
    let least = u.least().max(t.least() - u.change());
    let most = u.most().min(t.most() - u.change());
    least <= most
        && (t.fails_between(least, most) || u.fails_between(least + t.change(), most + t.change()))
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
        |place, n| may_disable(n, place.inhibits),
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
        |_, n| n.gives != n.takes,
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
    is_active: impl Fn(&Around, &Neighbour) -> bool,
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
        for (place, here) in places_of(net, t) {
            let place = &around[place.index()];
            let mut look = |other: &Neighbour| {
                let seen = &mut last_row[other.transition.index()];
                if *seen != t.0 && related(&here, other) {
                    *seen = t.0;
                    row.push(other.transition.0);
                }
            };
            if is_active(place, &here) {
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

/// After `t`, the bound of a place leaves too few tokens for `u`, or there are enough to inhibit it.
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
        for (place, here) in places_of(net, t) {
            let there = &around[place.index()];
            let neighbours = there.neighbours.iter();
            if there.inhibits {
                let inhibited = |n: &&Neighbour| n.below != 0 && n.below <= here.gives;
                row.extend(neighbours.clone().filter(inhibited).map(|n| n.transition.0));
            }
            let bound = system
                .bounds
                .bound(place)
                .filter(|_| here.takes > here.gives);
            let Some(bound) = bound else {
                continue;
            };
            let left = i128::from(bound) + i128::from(here.change());
            let blocked = |n: &&Neighbour| i128::from(n.takes) > left;
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
                for arc in net.inhibitors(*t) {
                    around[arc.node.index()].crossing(arc.weight, down, up);
                }
            }
        }
        Formula::Atom(Atom::Deadlock) => {
            for t in net.transitions() {
                for arc in net.pre(t) {
                    // A deadlock is the end of every transition's enabledness.
                    around[arc.node.index()].crossing(arc.weight, down, up);
                }
                for arc in net.inhibitors(t) {
                    around[arc.node.index()].crossing(arc.weight, up, down);
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

    fn fire(tokens: i64, t: &Neighbour) -> Option<i64> {
        let enabled = tokens >= t.least() && (t.below == 0 || tokens < i64::from(t.below));
        enabled.then(|| tokens + t.change())
    }

    /// Every transition with weights up to 3 and inhibitor arcs up to 4.
    fn neighbours() -> Vec<Neighbour> {
        let mut all = Vec::new();
        for (takes, gives, below) in
            (0..4).flat_map(|t| (0..4).flat_map(move |g| (0..5).map(move |b| (t, g, b))))
        {
            all.push(Neighbour {
                transition: TransitionId(0),
                takes,
                gives,
                below,
            });
        }
        all
    }

    /// Every pair and every marking up to 12, against the definition.
    #[test]
    fn conditions_on_one_place_are_exact() {
        for t in neighbours() {
            for u in neighbours() {
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
                // Only those that may disable others are compared with all.
                let inhibits = t.below != 0 || u.below != 0;
                let looked_at = may_disable(&t, inhibits) || may_disable(&u, inhibits);
                assert!(looked_at || !disables, "{t:?} {u:?}");
            }
        }
    }

    #[test]
    fn crossing_a_threshold_is_exact() {
        for threshold in 1..5 {
            for t in neighbours() {
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
