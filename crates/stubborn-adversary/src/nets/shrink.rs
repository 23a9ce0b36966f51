//! Smaller nets, conditions and lists of formulas, for minimising.

use super::*;

/// Nets with fewer arcs and tokens. Places and transitions keep their numbers, but those
/// without arcs at the end go.
pub(super) fn smaller_nets(net: &Net) -> Vec<Net> {
    let mut all = Vec::new();
    for transitions in without_some(&net.transitions) {
        all.push(Net {
            transitions,
            ..net.clone()
        });
    }
    let fewer_places = |all: &mut Vec<Net>, place: usize| {
        let mut smaller = net.clone();
        smaller.initial.remove(place);
        for transition in &mut smaller.transitions {
            let NetTransition {
                takes,
                gives,
                inhibitors,
            } = transition;
            for side in [takes, gives, inhibitors] {
                side.retain(|(other, _)| *other != place);
                for (other, _) in side {
                    *other -= usize::from(*other > place);
                }
            }
        }
        all.push(smaller);
    };
    if net.initial.len() > 1 {
        (0..net.initial.len()).for_each(|place| fewer_places(&mut all, place));
    }
    for (number, transition) in net.transitions.iter().enumerate() {
        let mut with = |changed: NetTransition| {
            let mut smaller = net.clone();
            smaller.transitions[number] = changed;
            all.push(smaller);
        };
        let same = || transition.clone();
        for takes in smaller_arcs(&transition.takes) {
            with(NetTransition { takes, ..same() });
        }
        for gives in smaller_arcs(&transition.gives) {
            with(NetTransition { gives, ..same() });
        }
        for inhibitors in smaller_arcs(&transition.inhibitors) {
            with(NetTransition {
                inhibitors,
                ..same()
            });
        }
    }
    for (place, tokens) in net.initial.iter().enumerate() {
        for fewer in [0, tokens / 2, tokens.saturating_sub(1)] {
            if fewer < *tokens {
                let mut smaller = net.clone();
                smaller.initial[place] = fewer;
                all.push(smaller);
            }
        }
    }
    all
}

pub(super) fn smaller_arcs(arcs: &Arcs) -> Vec<Arcs> {
    let mut all = without_some(arcs);
    for (number, (_, weight)) in arcs.iter().enumerate() {
        if *weight > 1 {
            let mut lighter = arcs.clone();
            lighter[number].1 -= 1;
            all.push(lighter);
        }
    }
    all
}

pub(super) fn smaller_conditions(condition: &Condition) -> Vec<Condition> {
    let mut all = match condition {
        Condition::Constant(_) => return vec![],
        _ => vec![Condition::Constant(false), Condition::Constant(true)],
    };
    match condition {
        Condition::Constant(_) | Condition::Deadlock => {}
        Condition::Compare(comparison, left, right) => {
            let smaller = |sum: &Sum| {
                let mut sums: Vec<Sum> = Vec::new();
                if sum.places.len() > 1 {
                    let fewer = without_some(&sum.places).into_iter();
                    sums.extend(fewer.filter(|places| !places.is_empty()).map(|places| Sum {
                        places,
                        ..sum.clone()
                    }));
                }
                if sum.constant > 0 {
                    sums.push(Sum {
                        constant: sum.constant - 1,
                        ..sum.clone()
                    });
                }
                sums
            };
            for left in smaller(left) {
                all.push(Condition::Compare(*comparison, left, right.clone()));
            }
            for right in smaller(right) {
                all.push(Condition::Compare(*comparison, left.clone(), right));
            }
        }
        Condition::Fireable(transitions) => {
            if transitions.len() > 1 {
                let fewer = without_some(transitions).into_iter();
                all.extend(fewer.filter(|t| !t.is_empty()).map(Condition::Fireable));
            }
        }
        Condition::Not(inner) => {
            all.push((**inner).clone());
            let smaller = smaller_conditions(inner).into_iter();
            all.extend(smaller.map(|inner| Condition::Not(Box::new(inner))));
        }
        Condition::And(left, right) | Condition::Or(left, right) => {
            all.extend([(**left).clone(), (**right).clone()]);
            let make = |left: Condition, right: Condition| match condition {
                Condition::And(..) => Condition::And(Box::new(left), Box::new(right)),
                _ => Condition::Or(Box::new(left), Box::new(right)),
            };
            for smaller in smaller_conditions(left) {
                all.push(make(smaller, (**right).clone()));
            }
            for smaller in smaller_conditions(right) {
                all.push(make((**left).clone(), smaller));
            }
        }
    }
    all
}

/// Lists with one condition made smaller.
pub(super) fn with_smaller_conditions(conditions: &[Condition]) -> Vec<Vec<Condition>> {
    let mut all = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        for smaller in smaller_conditions(condition) {
            let mut list = conditions.to_vec();
            list[number] = smaller;
            all.push(list);
        }
    }
    all
}

pub(super) fn smaller_examined(examined: &Examined) -> Vec<Examined> {
    match examined {
        Examined::Reachable(condition) => {
            let smaller = smaller_conditions(condition).into_iter();
            smaller.map(Examined::Reachable).collect()
        }
        Examined::Invariant(condition) => {
            let smaller = smaller_conditions(condition).into_iter();
            smaller.map(Examined::Invariant).collect()
        }
        Examined::Bound(places) => {
            let fewer = without_some(places).into_iter();
            fewer
                .filter(|p| !p.is_empty())
                .map(Examined::Bound)
                .collect()
        }
        Examined::Ltl(formula) => {
            let smaller = formula::candidates(formula).into_iter();
            smaller.map(Examined::Ltl).collect()
        }
        Examined::Ctl(formula, some) => {
            let smaller = formula::candidates(formula).into_iter();
            smaller.map(|f| Examined::Ctl(f, *some)).collect()
        }
    }
}

/// Lists with fewer formulas, or smaller ones.
pub(super) fn smaller_lists(all: &[Examined]) -> Vec<Vec<Examined>> {
    let mut lists = without_some(all);
    for (number, examined) in all.iter().enumerate() {
        for smaller in smaller_examined(examined) {
            let mut list = all.to_vec();
            list[number] = smaller;
            lists.push(list);
        }
    }
    lists
}
