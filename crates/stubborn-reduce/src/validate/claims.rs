//! Tries to refute relations: each is a claim about all reachable states, and running the
//! model's own code in one state can show that it is wrong.

use std::collections::HashSet;

use stubborn_system::{
    BitSet, FieldKind, LabelId, Matrix, May, Random, Relations, System, TransitionId,
};

use super::Limits;
use super::graph::{Graph, Node};
use super::report::{Fault, Report, Violation};

/// Tries every claim in all of `states`, and in random variations of them if `limits` ask for
/// it. Every fault is reported once, with the first state that shows it.
pub fn refute(
    system: &dyn System,
    relations: &Relations,
    states: &[Vec<u32>],
    limits: &Limits,
    report: &mut Report,
) {
    let mut trial = Trial {
        relations,
        apart: relations.may_not_meet(system.structure()),
        graph: Graph::new(system),
        told: HashSet::new(),
        report,
    };
    let mut random = Random::new(limits.seed);
    let varied: Vec<Vec<u32>> = (0..limits.random_states)
        .filter_map(|_| vary(system, states, &mut random))
        .collect();
    for state in states.iter().chain(&varied) {
        if trial.report.violations.len() >= limits.violations {
            return;
        }
        if trial.graph.len() > 50 * limits.states_around {
            trial.graph = Graph::new(system);
        }
        trial.try_state(state);
        trial.report.states_tried += 1;
    }
}

/// A reachable state with some plain fields changed within their ranges. Messages, interned
/// values and the mark of failure are left alone: not every value of theirs is a state.
fn vary(system: &dyn System, states: &[Vec<u32>], random: &mut Random) -> Option<Vec<u32>> {
    if states.is_empty() {
        return None;
    }
    let mut state = random.pick(states).clone();
    for field in system.layout().fields() {
        let plain = matches!(
            field.kind,
            FieldKind::Integer | FieldKind::Location(..) | FieldKind::Named(_)
        );
        if plain && random.percent(40) {
            field.set(&mut state, random.range(field.min, field.max));
        }
    }
    Some(state)
}

struct Trial<'a, 's> {
    relations: &'a Relations,
    /// What follows where nobody says what does not meet.
    apart: May<Matrix<TransitionId, TransitionId>>,
    graph: Graph<'s>,
    told: HashSet<(u8, usize, usize)>,
    report: &'a mut Report,
}

impl Trial<'_, '_> {
    fn try_state(&mut self, state: &[u32]) {
        // In the state of failure, labels mean nothing and nothing is enabled.
        let error = self.graph.system().structure().error_state.as_deref();
        if error == Some(state) {
            return;
        }
        let here = self.graph.node(state);
        let steps = self.graph.steps(here).to_vec();
        let labels = self.labels(here);
        self.try_labels(here, &labels);
        for (t, next) in &steps {
            self.try_changes(here, &labels, *t, *next);
            self.try_what_follows(here, *t, *next);
        }
        self.try_outcomes(here, &steps);
        for pair in steps.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let id = TransitionId::new(pair[0].0 as usize);
            let structure = self.graph.system().structure();
            if structure.transition(id).deterministic && pair[0].1 != pair[1].1 {
                let fault = Fault::SeveralOutcomes(id);
                self.tell(fault, (8, pair[0].0, 0), here, &[]);
            }
        }
        let mut enabled: Vec<u32> = steps.iter().map(|(t, _)| *t).collect();
        enabled.dedup();
        for (at, t) in enabled.iter().enumerate() {
            // What a transition does to itself matters to no set.
            for u in &enabled[at + 1..] {
                let ids = (
                    TransitionId::new(*t as usize),
                    TransitionId::new(*u as usize),
                );
                let listed = &self.relations.do_not_accord.0;
                let listed = listed.contains(ids.0, ids.1) && listed.contains(ids.1, ids.0);
                if !listed && !self.accord(here, *t, *u) {
                    self.tell(Fault::Accord(ids.0, ids.1), (0, *t, *u), here, &[]);
                }
                if self.should_meet(ids.0, ids.1, listed) && !self.meet(here, *t, *u) {
                    self.tell(Fault::Meeting(ids.0, ids.1), (7, *t, *u), here, &[]);
                }
            }
        }
    }

    fn labels(&mut self, node: Node) -> BitSet {
        let mut labels = BitSet::new(self.graph.system().structure().labels.len());
        let state = self.graph.state(node).to_vec();
        self.graph.executor().labels(&state, &mut labels);
        labels
    }

    fn try_labels(&mut self, here: Node, labels: &BitSet) {
        for g in labels.iter() {
            for h in self.relations.never_together.0.row(LabelId::new(g)) {
                if labels.contains(h.index()) {
                    let fault = Fault::Together(LabelId::new(g), h);
                    self.tell(fault, (1, g as u32, h.index() as u32), here, &[]);
                }
            }
        }
    }

    /// Which labels a step turns on or off.
    fn try_changes(&mut self, here: Node, before: &BitSet, t: u32, next: Node) {
        let structure = self.graph.system().structure();
        let after = self.labels(next);
        let id = TransitionId::new(t as usize);
        for g in structure.label_ids() {
            let (was, is) = (before.contains(g.index()), after.contains(g.index()));
            let listed = if is {
                &self.relations.may_enable.0
            } else {
                &self.relations.may_disable.0
            };
            if was != is && !listed.contains(g, id) {
                let kind = if is { 2 } else { 3 };
                let fault = Fault::LabelChange(g, id, is);
                self.tell(fault, (kind, g.index() as u32, t), here, &[id]);
            }
        }
    }

    /// What is enabled after a step, and whether it could have come first.
    fn try_what_follows(&mut self, here: Node, first: u32, next: Node) {
        let id = TransitionId::new(first as usize);
        for (t, end) in self.graph.steps(next).to_vec() {
            let moved = TransitionId::new(t as usize);
            if self.relations.must_disable.0.contains(id, moved) {
                let fault = Fault::MustDisable(id, moved);
                self.tell(fault, (4, first, t), here, &[id, moved]);
            }
            if moved != id && !self.relations.do_not_left_accord.0.contains(moved, id) {
                let mut ends = Vec::new();
                for node in self.graph.ends(here, t) {
                    ends.extend(self.graph.ends(node, first));
                }
                if !ends.contains(&end) {
                    let fault = Fault::LeftAccord(moved, id);
                    self.tell(fault, (5, t, first), here, &[id, moved]);
                }
            }
        }
    }

    /// Whose outcome is another one after a step.
    fn try_outcomes(&mut self, here: Node, steps: &[(u32, Node)]) {
        let relations = self.relations;
        let Some(listed) = &relations.may_change_outcome else {
            return;
        };
        let before = self.graph.outcomes(here);
        for (by, next) in steps {
            let by = TransitionId::new(*by as usize);
            let after = self.graph.outcomes(*next);
            for outcome in &before {
                let t = self.graph.system().structure().transition(outcome.0);
                let matters = outcome.0 != by && (t.may_fail || t.may_violate);
                if matters && !listed.0.contains(outcome.0, by) && !after.contains(outcome) {
                    let key = (6, outcome.0.index() as u32, by.index() as u32);
                    self.tell(Fault::OutcomeChange(outcome.0, by), key, here, &[by]);
                }
            }
        }
    }

    /// Neither disables the other, and both orders have the same ends.
    fn accord(&mut self, here: Node, t: u32, u: u32) -> bool {
        let mut both = |first: u32, second: u32| {
            let mut all = Vec::new();
            for node in self.graph.ends(here, first) {
                let ends = self.graph.ends(node, second);
                if ends.is_empty() {
                    return None;
                }
                all.extend(ends);
            }
            all.sort_unstable();
            all.dedup();
            Some(all)
        };
        let (one, other) = (both(t, u), both(u, t));
        one.is_some() && one == other
    }

    /// Whether the relations say that outcomes of the two meet again.
    fn should_meet(&self, t: TransitionId, u: TransitionId, do_not_accord: bool) -> bool {
        match &self.relations.do_not_meet {
            Some(apart) => !apart.0.contains(t, u) || !apart.0.contains(u, t),
            None => !do_not_accord && !self.apart.0.contains(t, u),
        }
    }

    /// Any outcome of the one and any of the other meet again.
    fn meet(&mut self, here: Node, t: u32, u: u32) -> bool {
        let (after_t, after_u) = (self.graph.ends(here, t), self.graph.ends(here, u));
        after_t.iter().all(|x| {
            let ends = self.graph.ends(*x, u);
            after_u.iter().all(|y| {
                let others = self.graph.ends(*y, t);
                ends.iter().any(|end| others.contains(end))
            })
        })
    }

    fn tell(&mut self, fault: Fault, key: (u8, u32, u32), here: Node, sequence: &[TransitionId]) {
        if self.told.insert((key.0, key.1 as usize, key.2 as usize)) {
            self.report.violations.push(Violation {
                fault,
                state: self.graph.state(here).to_vec(),
                set: Vec::new(),
                sequence: sequence.to_vec(),
            });
        }
    }
}
