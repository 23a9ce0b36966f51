//! Why a formula holds or not, as a tree of runs.
//!
//! That something can happen is shown by a run, that it need not by a run as well; that it
//! cannot, or must, is a statement about all runs, of which there is nothing to show. So a tree has
//! runs inside and such statements, or propositions, at its leaves.

use rapidhash::RapidHashSet;

use crate::evaluate::Evaluation;
use crate::formula::{Formula, Node};
use crate::graph::{Graph, StateNumber, Stop};

/// Longer runs are not told.
const LONGEST: usize = 1_000_000;

/// Why a formula has its value in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What is explained.
    pub formula: Formula,
    /// Whether it holds.
    pub holds: bool,
    /// In which state.
    pub state: StateNumber,
    /// Why.
    pub reason: Reason,
}

/// A reason for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The state says so.
    Here,
    /// All runs are so: there is none to show.
    All,
    /// These parts of the formula, in the same state.
    Parts(Vec<Explanation>),
    /// A run that begins in the state.
    Run {
        /// The states after it.
        states: Vec<StateNumber>,
        /// How it ends.
        ending: Ending,
    },
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In its last state, because of what holds or does not hold there.
    Because(Box<Explanation>),
    /// There is no successor.
    Deadlock,
    /// It goes on from the state before the `from`th of the run, for ever; 0 is where it began.
    Cycle {
        /// Where the cycle begins.
        from: usize,
    },
}

impl Evaluation<'_> {
    /// Why the formula does not hold in an initial state, or holds in the first one.
    pub fn explain(&mut self, graph: &mut Graph<'_>) -> Result<Explanation, Stop> {
        let formula = self.formula();
        let initial = graph.initial()?;
        let mut state = initial[0];
        for other in initial {
            if !self.holds_in(graph, formula, other)? {
                state = other;
                break;
            }
        }
        self.explain_in(graph, formula, state)
    }

    fn explain_in(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
    ) -> Result<Explanation, Stop> {
        let holds = self.holds_in(graph, formula, state)?;
        let reason = match (self.formulas().node(formula), holds) {
            (Node::Constant(_) | Node::Atom(_), _) => Reason::Here,
            (Node::Not(inner), _) => Reason::Parts(vec![self.explain_in(graph, inner, state)?]),
            (Node::And(a, b), _) | (Node::Or(a, b), _) => {
                let decisive = matches!(self.formulas().node(formula), Node::Or(..));
                if holds == decisive {
                    // One is enough; the simpler one says it better.
                    let simple = self.formulas().depth(a) <= self.formulas().depth(b);
                    let (a, b) = if simple { (a, b) } else { (b, a) };
                    let first = self.holds_in(graph, a, state)? == decisive;
                    let part = if first { a } else { b };
                    Reason::Parts(vec![self.explain_in(graph, part, state)?])
                } else {
                    let first = self.explain_in(graph, a, state)?;
                    Reason::Parts(vec![first, self.explain_in(graph, b, state)?])
                }
            }
            (Node::ExistsNext(inner), true) => {
                let mut next = state;
                for number in 0..graph.degree(state)? {
                    next = graph.successor(state, number);
                    if self.holds_in(graph, inner, next)? {
                        break;
                    }
                }
                self.run_to(graph, vec![next], inner)?
            }
            (Node::ExistsNext(_) | Node::ExistsUntil(..), false) | (Node::AllUntil(..), true) => {
                self.settled_here(graph, formula, state)?
            }
            (Node::ExistsUntil(_, reach), true) if self.holds_in(graph, reach, state)? => {
                Reason::Parts(vec![self.explain_in(graph, reach, state)?])
            }
            (Node::ExistsUntil(before, reach), true) => {
                let states = self.shortest(graph, before, reach, state)?;
                self.run_to(graph, states, reach)?
            }
            (Node::AllUntil(before, reach), false) => {
                self.escape(graph, formula, (before, reach), state)?
            }
        };
        Ok(Explanation {
            formula,
            holds,
            state,
            reason,
        })
    }

    /// A value for all runs; the state alone may decide it.
    fn settled_here(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
    ) -> Result<Reason, Stop> {
        if let Node::AllUntil(_, reach) = self.formulas().node(formula)
            && self.holds_in(graph, reach, state)?
        {
            return Ok(Reason::Parts(vec![self.explain_in(graph, reach, state)?]));
        }
        Ok(Reason::All)
    }

    fn run_to(
        &mut self,
        graph: &mut Graph<'_>,
        states: Vec<StateNumber>,
        end: Formula,
    ) -> Result<Reason, Stop> {
        let Some(last) = states.last().copied() else {
            return Ok(Reason::All);
        };
        let ending = Ending::Because(Box::new(self.explain_in(graph, end, last)?));
        Ok(Reason::Run { states, ending })
    }

    /// The states after the first of a shortest run to `reach` through `before`.
    fn shortest(
        &mut self,
        graph: &mut Graph<'_>,
        before: Formula,
        reach: Formula,
        from: StateNumber,
    ) -> Result<Vec<StateNumber>, Stop> {
        let mut queue: Vec<(StateNumber, u32)> = vec![(from, 0)];
        let mut seen: RapidHashSet<StateNumber> = [from].into_iter().collect();
        let mut at = 0;
        while at < queue.len() {
            let (state, _) = queue[at];
            if self.holds_in(graph, reach, state)? {
                let mut run = Vec::new();
                let mut way = at;
                while way != 0 {
                    run.push(queue[way].0);
                    way = queue[way].1 as usize;
                }
                run.reverse();
                return Ok(run);
            }
            if self.holds_in(graph, before, state)? {
                for number in 0..graph.degree(state)? {
                    let next = graph.successor(state, number);
                    if seen.insert(next) {
                        queue.push((next, at as u32));
                    }
                }
            }
            at += 1;
        }
        Ok(Vec::new())
    }

    /// A run that ends, goes round or leaves `before` without `reach`.
    fn escape(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        (before, _): (Formula, Formula),
        from: StateNumber,
    ) -> Result<Reason, Stop> {
        let mut states: Vec<StateNumber> = Vec::new();
        let mut state = from;
        let mut seen: RapidHashSet<StateNumber> = RapidHashSet::default();
        loop {
            if !self.holds_in(graph, before, state)? {
                if states.is_empty() {
                    return Ok(Reason::Parts(vec![self.explain_in(graph, before, state)?]));
                }
                return self.run_to(graph, states, before);
            }
            if !seen.insert(state) || states.len() > LONGEST {
                let mut all = std::iter::once(&from).chain(&states);
                let start = all.position(|s| *s == state).unwrap_or(0);
                let ending = Ending::Cycle { from: start };
                return Ok(Reason::Run { states, ending });
            }
            let mut next = None;
            for number in 0..graph.degree(state)? {
                let successor = graph.successor(state, number);
                if !self.holds_in(graph, formula, successor)? {
                    next = Some(successor);
                    break;
                }
            }
            match next {
                Some(successor) => {
                    states.push(successor);
                    state = successor;
                }
                None => {
                    let ending = Ending::Deadlock;
                    return Ok(Reason::Run { states, ending });
                }
            }
        }
    }
}
