//! CTL formulas, by fixpoints over all states of a graph (Clarke, Emerson, Sistla, *Automatic
//! verification of finite-state concurrent systems using temporal logic specifications*, 1986).
//! Runs are infinite, or end in a state without steps.
//!
//! A formula is one of linear time with a set of numbers: its temporal operators, counted from the
//! outside and from the left, are about some runs if their number is in the set, and about all runs
//! otherwise.

use super::automaton::Valuation;
use super::graph::Graph;
use super::ltl::Formula;

/// Whether a formula holds in the initial state of a graph in which no step fails and every
/// proposition has a value.
pub fn holds<S>(graph: &Graph<S>, valuation: &Valuation, formula: &Formula, some: u64) -> bool {
    let mut checker = Checker {
        graph,
        valuation,
        some,
        next: 0,
    };
    checker.states(formula)[0]
}

struct Checker<'a, S> {
    graph: &'a Graph<S>,
    valuation: &'a Valuation,
    some: u64,
    next: u32,
}

/// The states of a formula.
type States = Vec<bool>;

impl<S> Checker<'_, S> {
    fn states(&mut self, formula: &Formula) -> States {
        let count = self.graph.steps.len();
        let is_temporal = is_temporal(formula);
        let some = is_temporal && self.some >> (self.next % 64) & 1 == 1;
        self.next += u32::from(is_temporal);
        let mut operands = Vec::new();
        for operand in formula.operands() {
            operands.push(self.states(operand));
        }
        let (p, q) = match operands.as_slice() {
            [] => (vec![], vec![]),
            [p] => (p.clone(), vec![]),
            [p, q, ..] => (p.clone(), q.clone()),
        };
        let every = vec![true; count];
        let each = |f: &dyn Fn(usize) -> bool| (0..count).map(f).collect::<States>();
        let both = each(&|at| p.get(at) == Some(&true) && q.get(at) == Some(&true));
        match formula {
            Formula::True => every,
            Formula::False => vec![false; count],
            Formula::Proposition(number) => each(&|at| self.valuation.holds[at] >> number & 1 == 1),
            Formula::Not(_) => each(&|at| !p[at]),
            Formula::And(..) => both,
            Formula::Or(..) => each(&|at| p[at] || q[at]),
            Formula::Implies(..) => each(&|at| !p[at] || q[at]),
            Formula::Equivalent(..) => each(&|at| p[at] == q[at]),
            Formula::Next(_) => each(&|at| match some {
                true => self.successors(at).any(|next| p[next]),
                false => self.successors(at).all(|next| p[next]),
            }),
            Formula::Finally(_) => self.until(&every, &p, some),
            Formula::Globally(_) => self.weak_until(&p, &vec![false; count], some),
            Formula::Until(..) => self.until(&p, &q, some),
            Formula::WeakUntil(..) => self.weak_until(&p, &q, some),
            Formula::Release(..) => self.weak_until(&q, &both, some),
            Formula::StrongRelease(..) => self.until(&q, &both, some),
        }
    }

    fn successors(&self, state: usize) -> impl Iterator<Item = usize> {
        self.graph.steps[state]
            .iter()
            .filter_map(|step| step.target)
    }

    /// Where `q`, or `p` and that after some step, or after all steps and there is one: the least
    /// such set.
    fn until(&self, p: &States, q: &States, some: bool) -> States {
        let mut found = q.clone();
        self.settle(&mut found, &|found, at| {
            let mut next = self.successors(at);
            let goes_on = match some {
                true => next.any(|next| found[next]),
                false => !self.graph.steps[at].is_empty() && next.all(|next| found[next]),
            };
            q[at] || p[at] && goes_on
        });
        found
    }

    /// Where `q`, or `p` and no step, or `p` and that after some step, or after all: the greatest
    /// such set.
    fn weak_until(&self, p: &States, q: &States, some: bool) -> States {
        let mut found = vec![true; p.len()];
        self.settle(&mut found, &|found, at| {
            let mut next = self.successors(at);
            let goes_on = match some {
                true => self.graph.steps[at].is_empty() || next.any(|next| found[next]),
                false => next.all(|next| found[next]),
            };
            q[at] || p[at] && goes_on
        });
        found
    }

    /// Applies a rule until nothing changes.
    fn settle(&self, found: &mut States, rule: &dyn Fn(&States, usize) -> bool) {
        loop {
            let next: States = (0..found.len()).map(|at| rule(found, at)).collect();
            if next == *found {
                return;
            }
            *found = next;
        }
    }
}

/// Whether an operator is about runs.
pub fn is_temporal(formula: &Formula) -> bool {
    !matches!(
        formula,
        Formula::True
            | Formula::False
            | Formula::Proposition(_)
            | Formula::Not(_)
            | Formula::And(..)
            | Formula::Or(..)
            | Formula::Implies(..)
            | Formula::Equivalent(..)
    )
}

#[cfg(test)]
mod tests {
    use super::super::graph::Step;
    use super::*;

    /// From 0 to 1 and 2, from 1 back, nothing from 2; the proposition holds in 0 and 1.
    fn graph() -> (Graph<usize>, Valuation) {
        let steps = |state: &usize| {
            let targets: &[usize] = match state {
                0 => &[1, 2],
                1 => &[0],
                _ => &[],
            };
            let step = |target: &usize| Step {
                target: Some(*target),
                movers: 1,
            };
            targets.iter().map(step).collect()
        };
        let graph = Graph::explore(0, 10, steps).expect("three states");
        let valuation = Valuation {
            holds: vec![1, 1, 0],
            fails: vec![0; 3],
        };
        (graph, valuation)
    }

    #[test]
    fn some_runs_and_all_runs_differ() {
        let (graph, valuation) = graph();
        let p = || Box::new(Formula::Proposition(0));
        let not = || Box::new(Formula::Not(p()));
        let holds = |formula: Formula, some| holds(&graph, &valuation, &formula, some);
        assert!(holds(Formula::Globally(p()), 1) && !holds(Formula::Globally(p()), 0));
        assert!(holds(Formula::Finally(not()), 1) && !holds(Formula::Finally(not()), 0));
        assert!(holds(Formula::Next(p()), 1) && !holds(Formula::Next(p()), 0));
        assert!(holds(Formula::WeakUntil(p(), not()), 0));
        assert!(!holds(Formula::Until(p(), not()), 0) && holds(Formula::Until(p(), not()), 1));
        // On all runs, some run leads back: not from the end.
        let back = || Box::new(Formula::Finally(p()));
        assert!(!holds(Formula::Globally(back()), 0b10));
        assert!(holds(Formula::Globally(back()), 0b01));
        // At the end: all steps lead anywhere, and none does.
        let nowhere = || Box::new(Formula::Next(Box::new(Formula::False)));
        assert!(holds(Formula::Finally(nowhere()), 0b01));
        assert!(!holds(Formula::Finally(nowhere()), 0b11));
    }
}
