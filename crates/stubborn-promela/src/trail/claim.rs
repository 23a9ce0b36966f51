//! How a never claim follows a run.
//!
//! A claim may have to go around the cycle of a run several times before it is where it was, and
//! may choose among ways that end. So a run of the product is looked for: of the claim with the
//! positions of the run, of which there are few.

use std::collections::VecDeque;

use stubborn_system::{Executor, System};

use super::Step;
use crate::Loaded;
use crate::hir::ProcId;
use crate::lower::{Claim, ClaimEdge};

/// A never claim that follows a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRun {
    /// Its number among the process types.
    pub(super) process: ProcId,
    /// In the order of time: the statements of the claim, and the step of the run after them; `None`
    /// where the run has ended, or the claim has.
    pub(super) moves: Vec<(Vec<usize>, Option<usize>)>,
    /// The number of moves before those that repeat; `None` if the claim comes to its end.
    pub(super) cycle: Option<usize>,
}

impl Loaded {
    /// How a claim (an index into [`claims`](crate::lower::Lowered::claims)) comes to its end along a run,
    /// or accepts it; `cycle` is the number of steps before the part of the run that repeats. `None` if
    /// it does neither.
    pub fn follow_claim(
        &self,
        claim: usize,
        run: &[Step],
        cycle: Option<usize>,
    ) -> Option<ClaimRun> {
        let claim = &self.lowered.claims[claim];
        let initial = self.model.initial_states();
        let states = std::iter::once(&initial).chain(run.iter().map(|step| &step.state));
        // Where a run repeats, its last state is one that was there before.
        let positions = run.len() + usize::from(cycle.is_none());
        let mut executor = self.model.executor();
        let enabled = states
            .take(positions)
            .map(|state| enabled(claim, &mut *executor, state))
            .collect();
        let product = Product {
            claim,
            steps: run.len(),
            repeats: cycle.unwrap_or(run.len()),
            enabled,
        };
        product.run()
    }
}

/// By state of the claim: the edges that it can take where the system is in this state.
fn enabled<'c>(
    claim: &'c Claim,
    executor: &mut dyn Executor,
    state: &[u32],
) -> Vec<Vec<&'c ClaimEdge>> {
    let states = claim.states.iter();
    states
        .map(|from| {
            let edges = from.edges.iter();
            edges.filter(|e| executor.label(state, e.guard)).collect()
        })
        .collect()
}

/// A position of the run, and a state of the claim; whether something accepting was seen on the way.
type Node = (usize, usize, bool);

struct Product<'c> {
    claim: &'c Claim,
    /// Of the run.
    steps: usize,
    /// The position that comes after the last one.
    repeats: usize,
    /// By position.
    enabled: Vec<Vec<Vec<&'c ClaimEdge>>>,
}

impl<'c> Product<'c> {
    fn run(&self) -> Option<ClaimRun> {
        let start = (0, self.claim.start, false);
        let is_end = |node: Node| self.claim.states[node.1].end;
        if let Some(path) = self.shortest(start, false, is_end) {
            return Some(self.found(path, None));
        }
        // Every cycle comes through where the run repeats.
        (0..self.claim.states.len()).find_map(|state| {
            let here = (self.repeats, state, false);
            let to = match here == start {
                true => Vec::new(),
                false => self.shortest(start, false, |node| node == here)?,
            };
            let is_back = |node: Node| node == (here.0, here.1, true);
            let around = self.shortest(here, true, is_back)?;
            let cycle = Some(to.len());
            Some(self.found([to, around].concat(), cycle))
        })
    }

    fn found(&self, path: Vec<(usize, &'c ClaimEdge)>, cycle: Option<usize>) -> ClaimRun {
        let mut moves: Vec<(Vec<usize>, Option<usize>)> = path
            .into_iter()
            .map(|(position, edge)| {
                let step = (position < self.steps).then_some(position);
                (edge.statements.clone(), step)
            })
            .collect();
        // What comes to its end does so before the system moves.
        if let (None, Some(last)) = (cycle, moves.last_mut()) {
            last.1 = None;
        }
        ClaimRun {
            process: self.claim.process,
            moves,
            cycle,
        }
    }

    /// A shortest way of at least one move to where `is_goal` says so: positions, and the edges that the
    /// claim takes there. If it `notes` so, nodes remember whether they have seen an accepting state.
    fn shortest(
        &self,
        from: Node,
        notes: bool,
        is_goal: impl Fn(Node) -> bool,
    ) -> Option<Vec<(usize, &'c ClaimEdge)>> {
        let states = self.claim.states.len();
        let place = |node: Node| (node.0 * states + node.1) * 2 + usize::from(node.2);
        let mut came: Vec<Option<(Node, &'c ClaimEdge)>> =
            vec![None; self.enabled.len() * states * 2];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            let (position, state, seen) = node;
            let next = match position + 1 {
                next if next < self.enabled.len() => next,
                _ => self.repeats,
            };
            let seen = notes && (seen || self.claim.states[state].accepting);
            for edge in &self.enabled[position][state] {
                let target = (next, edge.target, seen);
                if came[place(target)].is_some() {
                    continue;
                }
                came[place(target)] = Some((node, edge));
                if is_goal(target) {
                    return Some(way(target, from, |node| came[place(node)]));
                }
                queue.push_back(target);
            }
        }
        None
    }
}

/// The way from a node to another, backwards along where each one came from.
fn way<'c>(
    to: Node,
    from: Node,
    came: impl Fn(Node) -> Option<(Node, &'c ClaimEdge)>,
) -> Vec<(usize, &'c ClaimEdge)> {
    let mut path = Vec::new();
    let mut at = to;
    while let Some((before, edge)) = came(at) {
        path.push((before.0, edge));
        at = before;
        if at == from {
            break;
        }
    }
    path.reverse();
    path
}
