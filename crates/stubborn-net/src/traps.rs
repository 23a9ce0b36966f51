//! Traps as cuts of the state equation.
//!
//! A *trap* is a set of places to which every transition that takes from it gives back. One that
//! was marked in the beginning never becomes empty, which the state equation does not know: it
//! may have solutions in which the trap is empty. Where it has one, that such a trap holds a token is
//! one more linear constraint, and the equation is asked again (Esparza and Melzer, "Verification of
//! safety properties using integer programming: beyond the state equation", 2000). Many proofs of
//! mutual exclusion need nothing else.

use std::time::{Duration, Instant};

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::equation::{Linear, StateEquation};
use crate::ids::PlaceId;
use crate::net::Net;

/// Traps that are tried before a question is given up.
const MOST_TRAPS: usize = 24;

/// Solutions have places that are nearly empty.
const EMPTY: f64 = 1e-7;

impl StateEquation<'_> {
    /// As [`excludes`](Self::excludes), and traps that were marked keep a token. Those that were
    /// found are remembered.
    pub fn excludes_with_traps(&self, constraints: &[Linear], time: Duration) -> bool {
        let Some(end) = Instant::now().checked_add(time) else {
            return false;
        };
        let left = || end.saturating_duration_since(Instant::now());
        for _ in 0..MOST_TRAPS {
            if left().is_zero() {
                return false;
            }
            if self.excludes(constraints, left()) {
                return true;
            }
            let empty = self.empty_places(constraints, left());
            let Some(trap) = empty.and_then(|empty| marked_trap(self.net, empty)) else {
                return false;
            };
            let Some(cut) = Linear::new(trap.into_iter().map(|place| (place, 1)), 1) else {
                return false;
            };
            // A solution that leaves out what it was told is none.
            if self.traps.borrow().contains(&cut) {
                return false;
            }
            self.traps.borrow_mut().push(cut);
        }
        false
    }

    /// The places that are empty in a solution of the state equation and the constraints, if there is
    /// one.
    fn empty_places(&self, constraints: &[Linear], time: Duration) -> Option<Vec<bool>> {
        if !self.usable.get() {
            return None;
        }
        let net = self.net;
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let firings: Vec<_> = self
            .columns
            .iter()
            .map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)))
            .collect();
        let mut rows: Vec<Vec<(usize, i64)>> = vec![Vec::new(); net.place_count()];
        for (number, column) in self.columns.iter().enumerate() {
            for (place, effect) in column {
                rows[place.index()].push((number, *effect));
            }
        }
        let traps = self.traps.borrow();
        let weighted = constraints.iter().chain(traps.iter()).map(Linear::parts);
        let single = net.places().map(|place| (vec![(place, 1)], 0));
        for (weights, at_least) in single.chain(weighted) {
            let mut factors = vec![0.0; self.columns.len()];
            let mut least = at_least as f64;
            for (place, weight) in &weights {
                least -= *weight as f64 * net.initial(*place) as f64;
                for (number, effect) in &rows[place.index()] {
                    factors[*number] += (weight * effect) as f64;
                }
            }
            let used = factors.iter().enumerate().filter(|(_, f)| **f != 0.0);
            let used: Vec<_> = used.map(|(at, factor)| (firings[at], *factor)).collect();
            if !used.is_empty() {
                problem.add_constraint(used, ComparisonOp::Ge, least);
            }
        }
        let solution = self.solution(problem, time)?;
        let tokens = |place: PlaceId| {
            let steps = rows[place.index()].iter();
            let change = steps.map(|(at, e)| solution.var_value(firings[*at]) * *e as f64);
            net.initial(place) as f64 + change.sum::<f64>()
        };
        Some(net.places().map(|place| tokens(place) < EMPTY).collect())
    }
}

/// A small trap inside a set of places that was marked in the beginning, if there is one.
pub(crate) fn marked_trap(net: &Net, mut inside: Vec<bool>) -> Option<Vec<PlaceId>> {
    if !shrink_to_trap(net, &mut inside) {
        return None;
    }
    // Leave out what can be left out: a small trap excludes more.
    for place in net.places() {
        if inside[place.index()] {
            let mut without = inside.clone();
            without[place.index()] = false;
            if shrink_to_trap(net, &mut without) {
                inside = without;
            }
        }
    }
    Some(net.places().filter(|p| inside[p.index()]).collect())
}

/// Removes places until the rest is a trap, the largest inside; true if it was marked in
/// the beginning.
fn shrink_to_trap(net: &Net, inside: &mut [bool]) -> bool {
    let is_marked = |inside: &[bool]| {
        net.places()
            .any(|p| inside[p.index()] && net.initial(p) > 0)
    };
    if !is_marked(inside) {
        return false;
    }
    let gives_back = |t: crate::ids::TransitionId, inside: &[bool]| {
        net.post(t).iter().any(|arc| inside[arc.node.index()])
    };
    let mut open: Vec<PlaceId> = net.places().filter(|p| inside[p.index()]).collect();
    while let Some(place) = open.pop() {
        if !inside[place.index()] {
            continue;
        }
        let mut takers = net.consumers(place).iter();
        if takers.all(|arc| gives_back(arc.node, inside)) {
            continue;
        }
        inside[place.index()] = false;
        // Those that gave to it may give back to nothing now.
        for arc in net.producers(place) {
            let inputs = net.pre(arc.node).iter().map(|arc| arc.node);
            open.extend(inputs.filter(|p| inside[p.index()]));
        }
    }
    is_marked(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    const TIME: Duration = Duration::from_secs(10);

    /// Two processes that raise a flag, look at the flag of the other, and go on if it is down
    /// (Dekker's first idea). That not both go on follows from traps, not from sums.
    #[test]
    fn what_no_sum_excludes_a_trap_may() {
        let mut builder = NetBuilder::new("flags");
        let down = ["down0", "down1"].map(|name| builder.place(name, 1));
        let up = ["up0", "up1"].map(|name| builder.place(name, 0));
        let critical = [0, 1].map(|i| {
            let [idle, ready, critical] = [("idle", 1), ("ready", 0), ("critical", 0)]
                .map(|(name, tokens)| builder.place(&format!("{name}{i}"), tokens));
            let steps = [
                (vec![idle, down[i]], vec![ready, up[i]]),
                (vec![ready, down[1 - i]], vec![critical, down[1 - i]]),
                (vec![critical, up[i]], vec![idle, down[i]]),
            ];
            for (inputs, outputs) in steps {
                let t = builder.transition("t");
                inputs.iter().for_each(|p| builder.input(*p, t, 1));
                outputs.iter().for_each(|p| builder.output(t, *p, 1));
            }
            critical
        });
        let net = builder.build().unwrap();
        let both = critical.map(|place| Linear::new([(place, 1)], 1).unwrap());
        let equation = StateEquation::new(&net);
        assert!(!equation.excludes(&both, TIME), "no sum");
        assert!(equation.excludes_with_traps(&both, TIME));
        for one in &both {
            assert!(!equation.excludes_with_traps(std::slice::from_ref(one), TIME));
        }
    }
}
