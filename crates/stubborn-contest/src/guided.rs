//! Walks that know where they want to go.
//!
//! In each marking a step is taken that a way to the goal begins with, if tokens were never taken
//! away ([`Helpful`]); now and then any step, for what is taken away may matter. Walks start where
//! something was possible for the first time as often as in the beginning, so that what lies behind a
//! long way is not lost again. What they see is reachable, whatever they miss. The numbers depend on
//! nothing but the net, so that a run can be repeated.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stubborn_net::{Formula, Helpful, NetSystem, Target, Tokens, TransitionId};
use stubborn_search::Limits;
use stubborn_system::{Executor, Outcome, Random, Successors, System};

use crate::examiner::Visitor;

/// The first walks to a goal have so many steps.
const SHORT: usize = 64;
/// No walk has more steps.
const LONG: usize = 1 << 13;
/// All walks to a goal together have not many more steps: where there is no way, they should not take the
/// time of those that find that out.
const MOST: usize = 1 << 15;
/// The clock is looked at after so many steps.
const PATIENCE: u32 = 8;
/// One of so many steps is any.
const STRAY: usize = 8;
/// So many markings are remembered where something new was possible.
const STARTS: usize = 512;

/// Walks in one net, which remember where they have been.
pub(crate) struct Guide<'s> {
    system: &'s NetSystem,
    executor: Box<dyn Executor + 's>,
    helpful: Helpful<'s>,
    random: Random,
    successors: Successors,
    /// Whether a transition was ever enabled.
    seen: Vec<bool>,
    starts: Vec<Vec<u32>>,
    /// How often a transition was fired in this walk.
    fired: Vec<u32>,
}

impl<'s> Guide<'s> {
    pub(crate) fn new(system: &'s NetSystem) -> Self {
        let words = system.layout().words();
        let transitions = system.net().transition_count();
        Self {
            system,
            executor: system.executor(),
            helpful: Helpful::new(system.net()),
            random: Random::new(0x5851_f42d_4c95_7f2d),
            successors: Successors::new(words),
            seen: vec![false; transitions],
            starts: vec![system.initial_states()[..words].to_vec()],
            fired: vec![0; transitions],
        }
    }

    /// Walks towards markings that satisfy a state formula, until one is found, the time is over, many
    /// steps led nowhere, or the visitor has seen enough. It is shown every state with its successors.
    pub(crate) fn walk(
        &mut self,
        goal: &Formula,
        limits: &Limits<'_>,
        visitor: &mut Visitor<'_>,
    ) -> Option<Vec<u32>> {
        let started = Instant::now();
        let time = limits.time.unwrap_or(Duration::MAX);
        let is_over = || {
            let asked = limits.interrupt.is_some_and(|i| i.load(Ordering::Relaxed));
            asked || started.elapsed() >= time
        };
        let net = self.system.net();
        let target = Target::new(net, goal);
        let mut marking: Vec<Tokens> = Vec::with_capacity(net.place_count());
        let (mut length, mut patience, mut steps) = (SHORT, 0, 0);
        while steps < MOST && !is_over() {
            steps += length;
            self.helpful.vary(&mut self.random);
            self.fired.fill(0);
            let start = match self.random.one_in(2) {
                true => 0,
                false => self.random.below(self.starts.len()),
            };
            let mut state = self.starts[start].clone();
            for _ in 0..length {
                patience += 1;
                if patience % PATIENCE == 0 && is_over() {
                    return None;
                }
                marking.clear();
                marking.extend(net.places().map(|p| self.system.tokens(&state, p)));
                self.successors.clear();
                self.executor.successors(&state, &mut self.successors);
                self.remember(&state);
                if goal.holds(net, &|p| marking[p.index()]) == Some(true) {
                    visitor(&state, &self.successors);
                    return Some(state);
                }
                if !visitor(&state, &self.successors) {
                    return None;
                }
                let Some(next) = self.choose(&marking, &target) else {
                    break;
                };
                state.copy_from_slice(self.successors.state(next));
            }
            length = (length * 2).min(LONG);
        }
        None
    }

    /// Takes note of a marking where something is possible that was not before.
    fn remember(&mut self, state: &[u32]) {
        let mut new = false;
        for t in self.successors.transitions() {
            new |= !std::mem::replace(&mut self.seen[t.index()], true);
        }
        if new && self.starts.len() < STARTS {
            self.starts.push(state.to_vec());
        }
    }

    /// One of the steps that do not fail: a helpful one that was taken least often, or any; none where
    /// there is no way to the target.
    fn choose(&mut self, marking: &[Tokens], target: &Target) -> Option<usize> {
        let enabled = self.successors.transitions();
        if enabled.is_empty() {
            return None;
        }
        let steps = self.helpful.steps(marking, target);
        if steps.is_empty() {
            return None;
        }
        let chosen = match self.random.one_in(STRAY) {
            true => self.random.below(enabled.len()),
            false => {
                let first = self.random.below(steps.len());
                let (after, before) = steps.split_at(first);
                let in_turn = before.iter().chain(after);
                let step: &TransitionId = in_turn.min_by_key(|t| self.fired[t.index()])?;
                enabled.iter().position(|t| t.index() == step.index())?
            }
        };
        let times = &mut self.fired[enabled[chosen].index()];
        *times = times.saturating_add(1);
        (self.successors.outcome(chosen) == Outcome::FINE).then_some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use stubborn_net::{Atom, CompareOp, IntExpr, NetBuilder};

    use super::*;
    use crate::best_first::best_first;

    /// Chains on which most steps of a walk by chance lead back to the beginning, and a goal behind
    /// the ends of all of them.
    #[test]
    fn what_lies_behind_a_long_way_is_found() {
        let mut builder = NetBuilder::new("chains");
        let mut ends = Vec::new();
        for chain in 0..6 {
            let at: Vec<_> = (0..12)
                .map(|n| builder.place(&format!("at{chain}.{n}"), u64::from(n == 0)))
                .collect();
            for n in 1..12 {
                let on = builder.transition(&format!("on{chain}.{n}"));
                builder.input(at[n - 1], on, 1);
                builder.output(on, at[n], 1);
                let back = builder.transition(&format!("back{chain}.{n}"));
                builder.input(at[n], back, 1);
                builder.output(back, at[0], 1);
            }
            ends.push(at[11]);
        }
        let open = builder.place("open", 0);
        let unlock = builder.transition("unlock");
        ends.iter().for_each(|end| builder.input(*end, unlock, 1));
        builder.output(unlock, open, 1);
        let system = NetSystem::new(builder.build().unwrap()).unwrap();
        let (tokens, one) = (IntExpr::tokens(vec![open]), IntExpr::constant(1));
        let goal = Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, tokens, one));
        let limits = Limits {
            time: Some(Duration::from_secs(30)),
            ..Limits::default()
        };
        let mut seen = 0;
        let found = Guide::new(&system).walk(&goal, &limits, &mut |_: &[u32], _: &Successors| {
            seen += 1;
            seen < 20_000
        });
        assert_eq!(system.tokens(&found.unwrap(), open), 1);
    }

    /// What is found satisfies the goal, and what is found can be reached.
    #[test]
    fn what_is_found_is_reachable() {
        let mut random = Random::new(0x6d1d_6d1d_6d1d_6d1d);
        let mut found = 0;
        for number in 0..300 {
            let system = NetSystem::new(crate::testing::cyclic_net(&mut random)).unwrap();
            let net = system.net();
            let place = stubborn_net::PlaceId(random.below(net.place_count()) as u32);
            let ops = [CompareOp::Equal, CompareOp::NotEqual, CompareOp::Greater];
            let (op, value) = (ops[random.below(3)], random.below(3) as u64);
            let (tokens, value) = (IntExpr::tokens(vec![place]), IntExpr::constant(value));
            let goal = Formula::Atom(Atom::Compare(op, tokens, value));
            let few = Limits {
                states: Some(3_000),
                time: Some(Duration::from_millis(4)),
                ..Limits::default()
            };
            let mut visit = |_: &[u32], _: &Successors| true;
            if let Some(state) = Guide::new(&system).walk(&goal, &few, &mut visit) {
                assert_eq!(goal.holds(net, &|p| system.tokens(&state, p)), Some(true));
                let more = Limits {
                    states: Some(20_000),
                    ..Limits::default()
                };
                assert!(best_first(&system, &goal, &more).is_some(), "net {number}");
                found += 1;
            }
        }
        assert!(found > 100, "{found}");
    }
}
