//! Transitions that no run fires for ever.
//!
//! Let weights `w ≥ 0` of the places be such that no transition increases the sum `w·m`. A
//! transition that decreases it fires in every run only so often, since the sum is a natural number.
//! More than that: in a reachable marking where the sum is least, no transition that would
//! decrease it can ever fire again. So none of them is live, nor are they all together: there is one
//! marking after which nothing of them happens.
//!
//! By the lemma of Farkas such weights exist for a transition exactly if it is in no cycle of the
//! state equation, `C·x ≥ 0`, `x ≥ 0`. (That live and bounded nets are repetitive is in Murata,
//! "Petri nets: properties, analysis and applications", 1989.) Weights for several transitions add up,
//! so that one linear program finds all. As everywhere, its word is not taken: weights are rounded
//! to integers and multiplied out.
//!
//! In the same way, some transitions cannot fire for ever *by themselves* if weights `w ≥ 0` make
//! all of them decrease the sum, whatever others do to it: what they take is used up in the end.

use std::time::Duration;

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::equation::{DENOMINATORS, MOST_ROWS, StateEquation, round};
use crate::exact::{self, Row};
use crate::ids::{PlaceId, TransitionId};

impl StateEquation<'_> {
    /// For each transition, whether it is proved that it fires finitely often in every run. There is
    /// a reachable marking from which none of those fires again.
    pub fn exhausted(&self, time: Duration) -> Vec<bool> {
        let decreasing = self.decreasing(time).unwrap_or_default();
        let effects = |t| self.net.effects(t).collect::<Vec<_>>();
        let transitions = self.net.transitions();
        transitions
            .map(|t| {
                let column = self.columns.binary_search(&effects(t));
                column.is_ok_and(|at| decreasing.get(at).is_some_and(|d| *d))
            })
            .collect()
    }

    /// True if it is proved that these transitions alone cannot go on for ever: from every marking,
    /// firing any of them again and again leads to one where none is enabled.
    pub fn run_out(&self, transitions: &[TransitionId], time: Duration) -> bool {
        let effects = |t: &TransitionId| self.net.effects(*t).collect::<Vec<_>>();
        let mut columns: Vec<Vec<(PlaceId, i64)>> = transitions.iter().map(effects).collect();
        columns.sort_unstable();
        columns.dedup();
        // Where nothing is taken, nothing is used up.
        if columns.iter().any(|c| c.iter().all(|(_, e)| *e >= 0)) {
            return false;
        }
        if columns.len() <= 1 {
            return true;
        }
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let mut places: Vec<PlaceId> = columns.iter().flatten().map(|(p, _)| *p).collect();
        places.sort_unstable();
        places.dedup();
        if !self.usable.get() || places.len() + columns.len() > MOST_ROWS {
            return false;
        }
        let variables: Vec<_> = places
            .iter()
            .map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)))
            .collect();
        for column in &columns {
            let factors = column.iter().map(|(place, effect)| {
                let at = places.binary_search(place).unwrap_or_default();
                (variables[at], *effect as f64)
            });
            problem.add_constraint(factors.collect::<Vec<_>>(), ComparisonOp::Le, -1.0);
        }
        let Some(solution) = self.solution(problem, time) else {
            return false;
        };
        let values: Vec<f64> = variables.iter().map(|v| solution.var_value(*v)).collect();
        DENOMINATORS.iter().any(|denominator| {
            let Some(weights) = round(&values, f64::from(*denominator)) else {
                return false;
            };
            let weight = |place: &PlaceId| places.binary_search(place).map_or(0, |at| weights[at]);
            let change = |column: &Vec<(PlaceId, i64)>| -> i128 {
                let products = column.iter();
                let products = products.map(|(p, e)| i128::from(weight(p)) * i128::from(*e));
                products.sum()
            };
            weights.iter().all(|w| *w >= 0) && columns.iter().all(|column| change(column) < 0)
        })
    }

    /// For each column, whether a sum that never grows shrinks by it.
    fn decreasing(&self, time: Duration) -> Option<Vec<bool>> {
        if !self.usable.get() {
            return None;
        }
        let places = self.net.place_count();
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let mut variables: Vec<_> = (0..places)
            .map(|_| problem.add_var(0.0, (0.0, f64::INFINITY)))
            .collect();
        let mut rows = Vec::with_capacity(self.columns.len());
        // How much each one decreases the sum, as far as that is of interest.
        for column in &self.columns {
            let effects = column.iter().map(|(p, e)| (p.index(), i128::from(*e)));
            let mut factors: Vec<(usize, i128)> = effects.collect();
            factors.push((variables.len(), 1));
            variables.push(problem.add_var(1.0, (0.0, 1.0)));
            rows.push(Row { factors, most: 0 });
        }
        for row in &rows {
            let factors = row.factors.iter();
            let factors: Vec<_> = factors.map(|(v, f)| (variables[*v], *f as f64)).collect();
            problem.add_constraint(factors, ComparisonOp::Le, 0.0);
        }
        let solution = self.solution(problem, time)?;
        if solution.objective() < 1e-7 {
            return None;
        }
        let values: Vec<f64> = variables.iter().map(|v| solution.var_value(*v)).collect();
        let wanted = values[places..].iter().filter(|by| **by > 0.5).count();
        let count = |found: &Vec<bool>| found.iter().filter(|shrinks| **shrinks).count();
        let mut best: Option<Vec<bool>> = None;
        for denominator in DENOMINATORS {
            let weights = round(&values[..places], f64::from(denominator));
            let found = weights.and_then(|weights| self.shrinks(&weights));
            if found.as_ref().is_some_and(|found| count(found) >= wanted) {
                return found;
            }
            best = best.into_iter().chain(found).max_by_key(count);
        }
        let mut most = vec![None; places];
        most.resize(values.len(), Some(1));
        let exact = exact::vertex(&rows, &values, &most);
        let exact = exact.and_then(|(values, _)| self.shrinks(&values[..places]));
        best.into_iter().chain(exact).max_by_key(count)
    }

    /// Which columns decrease the sum of these weights; none if one increases it, or none decreases it.
    fn shrinks(&self, weights: &[i64]) -> Option<Vec<bool>> {
        if weights.iter().any(|weight| *weight < 0) {
            return None;
        }
        let mut decreasing = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let products = column
                .iter()
                .map(|(place, effect)| i128::from(weights[place.index()]) * i128::from(*effect));
            let change: i128 = products.sum();
            if change > 0 {
                return None;
            }
            decreasing.push(change < 0);
        }
        decreasing.contains(&true).then_some(decreasing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    const TIME: Duration = Duration::from_secs(10);

    /// `start` happens once and `use` as often as there is stock; what goes round goes on, and so does
    /// what grows.
    #[test]
    fn what_uses_something_up_does_not_go_on() {
        let mut builder = NetBuilder::new("n");
        let [ready, a, b, stock, heap] =
            [("ready", 1), ("a", 0), ("b", 0), ("stock", 7), ("heap", 0)]
                .map(|(name, tokens)| builder.place(name, tokens));
        for (name, inputs, outputs) in [
            ("start", vec![(ready, 1)], vec![(a, 1)]),
            ("there", vec![(a, 1)], vec![(b, 1)]),
            ("back", vec![(b, 1)], vec![(a, 1)]),
            ("use", vec![(a, 1), (stock, 3)], vec![(a, 1), (heap, 2)]),
            ("grow", vec![(b, 1)], vec![(b, 1), (heap, 1)]),
            ("burn", vec![(heap, 1)], vec![]),
            ("idle", vec![(a, 1)], vec![(a, 1)]),
        ] {
            let t = builder.transition(name);
            inputs.iter().for_each(|(p, w)| builder.input(*p, t, *w));
            outputs.iter().for_each(|(p, w)| builder.output(t, *p, *w));
        }
        let net = builder.build().unwrap();
        let equation = StateEquation::new(&net);
        let found = equation.exhausted(TIME);
        assert_eq!(found, [true, false, false, true, false, false, false]);
        let run_out = |numbers: &[u32]| {
            let transitions: Vec<_> = numbers.iter().map(|n| TransitionId(*n)).collect();
            equation.run_out(&transitions, TIME)
        };
        assert!(run_out(&[1]) && run_out(&[0, 1, 3]) && run_out(&[2, 5]));
        assert!(!run_out(&[1, 2]), "there and back");
        assert!(!run_out(&[4]) && !run_out(&[6]), "nothing is used up");
    }
}
