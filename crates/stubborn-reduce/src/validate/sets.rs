//! Checks the conditions on sets at states, by exploring what lies outside the set.
//!
//! For every member `t` the paths `σ` of transitions outside the set are walked in parallel
//! from the state and from its successors by `t`. Whenever `t` is enabled after `σ`, what it
//! leads to must be what `t σ` leads to. States, not paths, are enumerated: a position is a
//! state reached by some `σ`, the states that `t σ` can be in, and whether the two walks were
//! joined by `t` at every step so far.

use std::collections::{HashMap, HashSet};

use stubborn_system::{
    BitSet, Executor, Expansion, LabelId, Reducer, Successors, System, TransitionId,
};

use super::graph::{Graph, Node};
use super::report::{Fault, Report, Violation};
use super::{Forgetful, Limits};
use crate::aim::{Aim, Goals, NeededProviso, Plan};
use crate::config::Algorithm;

/// The conditions that a set has to satisfy.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// D1' beside D1.
    pub squares: bool,
    /// D2: a key transition.
    pub key: bool,
    /// Every enabled member is a key.
    pub strong: bool,
    /// After every outcome of every enabled member, what can be done outside the set can be done as
    /// before.
    pub every_outcome: bool,
    /// V, with these visible transitions.
    pub visible: Option<BitSet>,
    /// I.
    pub invisible_key: bool,
    /// No path outside the set reaches a state where all labels of one of these hold, or takes
    /// one of the transitions.
    pub goals: Option<Goals>,
    /// G: goals that a path outside the set reaches are reached by it after every enabled member
    /// as well; and the outcome of a member does not change outside the set.
    pub kept_goals: Option<Goals>,
}

impl Conditions {
    /// What a plan asks for.
    pub fn of(plan: &Plan, visible: &[TransitionId], transitions: usize) -> Self {
        let by_goal = plan.settings.algorithm == Algorithm::Goal;
        let mut bits = BitSet::new(transitions);
        visible.iter().for_each(|t| {
            bits.insert(t.index());
        });
        let sees_order = plan.proviso != NeededProviso::None && plan.kept_goals().is_none();
        Self {
            squares: sees_order,
            key: !by_goal,
            strong: !by_goal && !plan.settings.weak,
            every_outcome: plan.follows_any_step(),
            visible: sees_order.then_some(bits),
            invisible_key: plan.needs_invisible_key(),
            goals: match &plan.aim {
                Aim::Goals(goals) if by_goal => Some(goals.clone()),
                _ => None,
            },
            kept_goals: plan.kept_goals().cloned(),
        }
    }
}

/// Checks the sets that a reduction chooses at `states`.
pub fn check(
    system: &dyn System,
    reduction: &dyn Forgetful,
    plan: &Plan,
    visible: &[TransitionId],
    states: &[Vec<u32>],
    limits: &Limits,
    report: &mut Report,
) {
    let transitions = system.structure().transitions.len();
    let conditions = Conditions::of(plan, visible, transitions);
    let mut reducer = reduction.forgetful();
    let mut chosen = Vec::with_capacity(states.len());
    let mut graph = Graph::new(system);
    let mut executor = system.executor();
    for state in states {
        let (kept, set) = ask(system, executor.as_mut(), reducer.as_mut(), state);
        let enabled = enabled_at(system, executor.as_mut(), state);
        let mut members = BitSet::new(transitions);
        set.iter().for_each(|t| {
            members.insert(t.index());
        });
        report.states_checked += 1;
        if graph.len() > 50 * limits.states_around {
            // Remembering everything would take too much memory on large models.
            graph = Graph::new(system);
        }
        let node = graph.node(state);
        let mut checker = Checker {
            graph: &mut graph,
            set: &members,
            limit: limits.states_around,
            cut_short: false,
        };
        let mut faults = Vec::new();
        report.states_reduced += usize::from(kept != enabled);
        let mut expected = members.clone();
        expected.intersect_with(&enabled);
        if expected != kept {
            faults.push((Fault::KeptDiffers, Vec::new()));
        }
        checker.check(node, &conditions, &mut faults);
        report.states_cut_short += usize::from(checker.cut_short);
        for (fault, sequence) in faults {
            report.violations.push(Violation {
                fault,
                state: state.clone(),
                set: set.clone(),
                sequence,
            });
        }
        chosen.push(kept);
        if report.violations.len() >= limits.violations {
            return;
        }
    }
    if !reduction.is_function_of_state() {
        return;
    }
    // Workers that see the states in another order must choose the same: one that computes
    // every set, and one that remembers them (asked twice, so that it does).
    let mut computing = reduction.forgetful();
    let mut remembering = reduction.reducer();
    for (state, kept) in states.iter().zip(&chosen).rev() {
        let mut tell = |fault: Fault| {
            report.violations.push(Violation {
                fault,
                state: state.clone(),
                set: Vec::new(),
                sequence: Vec::new(),
            });
        };
        if ask(system, executor.as_mut(), computing.as_mut(), state).0 != *kept {
            tell(Fault::NotDeterministic);
        }
        for _ in 0..2 {
            if ask(system, executor.as_mut(), remembering.as_mut(), state).0 != *kept {
                tell(Fault::CacheDiffers);
            }
        }
    }
}

/// The enabled transitions, failing ones included.
fn enabled_at(system: &dyn System, executor: &mut dyn Executor, state: &[u32]) -> BitSet {
    let mut successors = Successors::new(system.layout().words());
    executor.successors(state, &mut successors);
    let mut enabled = BitSet::new(system.structure().transitions.len());
    for transition in successors.transitions() {
        enabled.insert(transition.index());
    }
    enabled
}

/// What a reducer keeps at a state, and the set behind it.
pub fn ask(
    system: &dyn System,
    executor: &mut dyn Executor,
    reducer: &mut dyn Reducer,
    state: &[u32],
) -> (BitSet, Vec<TransitionId>) {
    let mut successors = Successors::new(system.layout().words());
    executor.successors(state, &mut successors);
    let mut kept = BitSet::new(system.structure().transitions.len());
    let mut expansion = Expansion {
        state,
        executor,
        successors: &successors,
        is_known: None,
    };
    reducer.reduce(&mut expansion, &mut kept);
    let mut set: Vec<_> = reducer.last_set().iter().map(|m| m.transition).collect();
    set.sort_unstable();
    set.dedup();
    (kept, set)
}

/// Checks one set given as bits at one state; for tests of sets that no algorithm computed.
pub fn check_set(
    system: &dyn System,
    state: &[u32],
    set: &BitSet,
    conditions: &Conditions,
) -> Vec<(Fault, Vec<TransitionId>)> {
    let mut graph = Graph::new(system);
    let node = graph.node(state);
    let mut faults = Vec::new();
    let mut checker = Checker {
        graph: &mut graph,
        set,
        limit: usize::MAX,
        cut_short: false,
    };
    checker.check(node, conditions, &mut faults);
    faults
}

type Faults = Vec<(Fault, Vec<TransitionId>)>;

/// How a state or position was first reached: from which other, by which transition.
type Origin = Option<(usize, u32)>;

struct Checker<'g, 's> {
    graph: &'g mut Graph<'s>,
    set: &'g BitSet,
    limit: usize,
    cut_short: bool,
}

/// Where a walk and its shifted twin are.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Position {
    /// After the sequence.
    here: Node,
    /// After the member and the sequence; empty if the sequence got stuck.
    twin: Vec<Node>,
    /// So far, the member led from each state of the walk to its twin.
    joined: bool,
}

impl Checker<'_, '_> {
    fn is_member(&self, transition: u32) -> bool {
        self.set.contains(transition as usize)
    }

    fn check(&mut self, node: Node, conditions: &Conditions, faults: &mut Faults) {
        let enabled: Vec<u32> = {
            let mut list: Vec<u32> = self.graph.steps(node).iter().map(|(t, _)| *t).collect();
            list.dedup();
            list
        };
        let outside = self.outside(node);
        self.check_keys(&enabled, &outside, conditions, faults);
        if let Some(goals) = &conditions.goals {
            self.check_goals(&outside, goals, faults);
        }
        if let Some(goals) = &conditions.kept_goals {
            self.check_outcomes(&outside, goals, faults);
        }
        if let Some(visible) = &conditions.visible {
            let seen = |t: &&u32| self.is_member(**t) && visible.contains(**t as usize);
            if let Some(t) = enabled.iter().find(seen)
                && !visible.is_subset(self.set)
            {
                let t = TransitionId::new(*t as usize);
                faults.push((Fault::Visibility(t), Vec::new()));
            }
        }
        for t in self.set.iter() {
            self.check_commutation(node, t as u32, conditions, faults);
            if conditions.every_outcome {
                for outcome in self.graph.ends(node, t as u32) {
                    self.check_outcome(node, (t as u32, outcome), faults);
                }
            }
        }
    }

    /// All states reached by transitions outside the set, each with how it was reached.
    fn outside(&mut self, from: Node) -> Vec<(Node, Origin)> {
        let mut reached = vec![(from, None)];
        let mut seen = HashMap::from([(from, ())]);
        let mut at = 0;
        while at < reached.len() {
            let steps = self.graph.steps(reached[at].0).to_vec();
            for (t, next) in steps {
                if self.is_member(t) {
                    continue;
                }
                if reached.len() >= self.limit {
                    self.cut_short = true;
                    return reached;
                }
                if seen.insert(next, ()).is_none() {
                    reached.push((next, Some((at, t))));
                }
            }
            at += 1;
        }
        reached
    }

    fn check_keys(
        &mut self,
        enabled: &[u32],
        outside: &[(Node, Origin)],
        conditions: &Conditions,
        faults: &mut Faults,
    ) {
        if enabled.is_empty() || !conditions.key {
            return;
        }
        let members: Vec<u32> = (enabled.iter().copied())
            .filter(|t| self.is_member(*t))
            .collect();
        if members.is_empty() {
            faults.push((Fault::Empty, Vec::new()));
            return;
        }
        let mut keys = Vec::new();
        let mut witness = Vec::new();
        for t in &members {
            let disabled = (0..outside.len()).find(|at| !self.graph.is_enabled(outside[*at].0, *t));
            match disabled {
                None => keys.push(*t),
                Some(at) => {
                    witness = path(outside.iter().map(|(_, origin)| *origin), at);
                    if conditions.strong {
                        let t = TransitionId::new(*t as usize);
                        faults.push((Fault::NotStrong(t), witness.clone()));
                    }
                }
            }
        }
        if keys.is_empty() {
            faults.push((Fault::NoKey, witness));
            return;
        }
        if let (true, Some(visible)) = (conditions.invisible_key, &conditions.visible) {
            let invisible = |t: &u32| !visible.contains(*t as usize);
            if enabled.iter().any(invisible) && !keys.iter().any(invisible) {
                faults.push((Fault::Invisibility, Vec::new()));
            }
        }
    }

    fn check_goals(&mut self, outside: &[(Node, Origin)], goals: &Goals, faults: &mut Faults) {
        let here = self.graph.state(outside[0].0).to_vec();
        for disjunct in &goals.any_of {
            if self.all_hold(&here, disjunct) {
                continue;
            }
            for at in 1..outside.len() {
                let state = self.graph.state(outside[at].0).to_vec();
                if self.all_hold(&state, disjunct) {
                    let path = path(outside.iter().map(|(_, origin)| *origin), at);
                    faults.push((Fault::GoalOutside, path));
                    return;
                }
            }
        }
        for t in &goals.transitions {
            if !self.set.contains(t.index()) {
                faults.push((Fault::GoalOutside, vec![*t]));
                return;
            }
        }
    }

    /// G for members whose outcome is a goal: outside the set nothing makes it go wrong.
    fn check_outcomes(&mut self, outside: &[(Node, Origin)], goals: &Goals, faults: &mut Faults) {
        let members = goals.transitions.iter();
        for t in members.filter(|t| self.set.contains(t.index())) {
            let wrong = (0..outside.len()).find(|at| self.graph.goes_wrong(outside[*at].0, *t));
            // If it is so at once, it is found at once.
            if let Some(at) = wrong.filter(|at| *at > 0) {
                let path = path(outside.iter().map(|(_, origin)| *origin), at);
                faults.push((Fault::GoalLost(*t), path));
            }
        }
    }

    /// Whether some goal is reached at the end of a walk, and not at the end of its twin: at one
    /// of its ends, where steps have several.
    fn loses_goal(&mut self, start: Node, position: &Position, goals: &Goals) -> bool {
        let start = self.graph.state(start).to_vec();
        let here = self.graph.state(position.here).to_vec();
        for labels in &goals.any_of {
            if !self.all_hold(&start, labels) && self.all_hold(&here, labels) {
                let twins = position.twin.iter();
                let states: Vec<_> = twins.map(|t| self.graph.state(*t).to_vec()).collect();
                if !states.iter().any(|state| self.all_hold(state, labels)) {
                    return true;
                }
            }
        }
        let mut outside = goals.transitions.iter();
        outside.any(|t| {
            !self.set.contains(t.index())
                && self.graph.goes_wrong(position.here, *t)
                && !(position.twin.iter()).any(|twin| self.graph.goes_wrong(*twin, *t))
        })
    }

    fn all_hold(&mut self, state: &[u32], labels: &[LabelId]) -> bool {
        labels
            .iter()
            .all(|l| self.graph.executor().label(state, *l))
    }

    /// Whether the paths outside the set can be taken after one outcome of a member as well, so that
    /// the member leads from each of their states to its twin.
    fn check_outcome(&mut self, node: Node, (t, outcome): (u32, Node), faults: &mut Faults) {
        let start = (node, vec![outcome]);
        let mut seen = HashSet::from([start.clone()]);
        let mut positions: Vec<((Node, Vec<Node>), Origin)> = vec![(start, None)];
        let mut at = 0;
        while at < positions.len() {
            let (here, twins) = positions[at].0.clone();
            for (u, next) in self.graph.steps(here).to_vec() {
                if self.is_member(u) {
                    continue;
                }
                let across = self.graph.ends(next, t);
                let mut twin: Vec<Node> = (twins.iter())
                    .flat_map(|twin| self.graph.ends(*twin, u))
                    .filter(|end| across.contains(end))
                    .collect();
                twin.sort_unstable();
                twin.dedup();
                if twin.is_empty() {
                    let mut path = path(positions.iter().map(|(_, origin)| *origin), at);
                    path.push(TransitionId::new(u as usize));
                    faults.push((Fault::OutcomeLost(TransitionId::new(t as usize)), path));
                    return;
                }
                if positions.len() >= self.limit {
                    self.cut_short = true;
                    return;
                }
                let position = (next, twin);
                if seen.insert(position.clone()) {
                    positions.push((position, Some((at, u))));
                }
            }
            at += 1;
        }
    }

    /// D1 and D1' for one member.
    fn check_commutation(
        &mut self,
        node: Node,
        t: u32,
        conditions: &Conditions,
        faults: &mut Faults,
    ) {
        let seen = |v: &BitSet| v.contains(t as usize);
        let invisible = !conditions.visible.as_ref().is_some_and(seen);
        let start = Position {
            here: node,
            twin: self.graph.ends(node, t),
            joined: true,
        };
        let is_enabled = !start.twin.is_empty();
        let mut numbers = HashMap::from([(start.clone(), 0)]);
        let mut positions = vec![(start, None)];
        let mut at = 0;
        while at < positions.len() {
            let (position, _) = positions[at].clone();
            let ends = self.graph.ends(position.here, t);
            let id = TransitionId::new(t as usize);
            let origins = || {
                positions
                    .iter()
                    .map(|(_, origin): &(Position, Origin)| *origin)
            };
            if ends.iter().any(|end| !position.twin.contains(end)) {
                faults.push((Fault::Commutation(id), path(origins(), at)));
                return;
            }
            if conditions.squares && invisible && !ends.is_empty() && !position.joined {
                faults.push((Fault::Squares(id), path(origins(), at)));
                return;
            }
            if let Some(goals) = &conditions.kept_goals
                && is_enabled
                && self.loses_goal(node, &position, goals)
            {
                faults.push((Fault::GoalLost(id), path(origins(), at)));
                return;
            }
            let joined = position.joined && !ends.is_empty();
            for (u, next) in self.graph.steps(position.here).to_vec() {
                if self.is_member(u) {
                    continue;
                }
                let mut twin = Vec::new();
                for node in &position.twin {
                    twin.extend(self.graph.ends(*node, u));
                }
                twin.sort_unstable();
                twin.dedup();
                let next = Position {
                    here: next,
                    twin,
                    joined,
                };
                if positions.len() >= self.limit {
                    self.cut_short = true;
                    return;
                }
                if !numbers.contains_key(&next) {
                    numbers.insert(next.clone(), positions.len());
                    positions.push((next, Some((at, u))));
                }
            }
            at += 1;
        }
    }
}

/// The transitions on the way to entry `at`.
fn path(origins: impl Iterator<Item = Origin>, at: usize) -> Vec<TransitionId> {
    let origins: Vec<Origin> = origins.collect();
    let mut path = Vec::new();
    let mut at = at;
    while let Some((from, by)) = origins[at] {
        path.push(TransitionId::new(by as usize));
        at = from;
    }
    path.reverse();
    path
}
