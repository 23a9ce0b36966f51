//! Every algorithm of this crate for transitions that are known by their relations alone.
//!
//! The relations of the paper become those of the seam: a transition has its conditions as
//! guards, and one guard that says whether it is enabled. What can enable it is the necessary
//! enabling set of that guard, what disturbs it or is disturbed by it does not accord with it, and
//! what can enable it or keeps it from coming first cannot be passed on the left. Badness is one
//! more label, which visible transitions change.

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    BitSet, Executor, Expansion, Label, LabelId, Layout, Matrix, May, Must, Outcome, Process,
    ProcessId, Reducer, Reduction, Structure, Successors, System, Transition, TransitionId,
};

use super::{ConditionId, Keep, Relations, Situation};
use crate::aim::{Aim, Goals, Plan};
use crate::config::{Config, ConfigError};
use crate::reducer::StubbornReduction;

/// A reduction by one of the algorithms.
#[derive(Debug)]
pub(super) struct Any {
    reduction: StubbornReduction,
    /// What labels mean.
    labels: Vec<Meaning>,
    transitions: usize,
}

/// What a label means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Condition(ConditionId),
    Enabled(TransitionId),
    Bad,
}

/// Transitions behind the seam, as far as a reduction looks at it.
struct Behind {
    layout: Layout,
    structure: Structure,
}

impl System for Behind {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        Vec::new()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        // There is no state to execute anything in.
        Box::new(Answers(BitSet::new(self.structure.labels.len())))
    }
}

impl Any {
    pub(super) fn new<R: Relations>(
        relations: &R,
        keep: &Keep,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let count = relations.transitions();
        let all = || (0..count).map(TransitionId::new);
        let mut labels: Vec<Meaning> = (0..relations.conditions())
            .map(|c| Meaning::Condition(ConditionId::new(c)))
            .collect();
        let mut transitions = Vec::new();
        let mut processes = 0;
        for t in all() {
            let mut guards: Vec<LabelId> = relations
                .conditions_of(t)
                .iter()
                .map(|c| LabelId::new(c.index()))
                .collect();
            guards.push(LabelId::new(labels.len()));
            labels.push(Meaning::Enabled(t));
            let process = relations.process_of(t);
            processes = processes.max(process.map_or(0, |p| p + 1));
            transitions.push(Transition {
                name: format!("t{}", t.index()),
                guards,
                processes: process.map(ProcessId::new).into_iter().collect(),
                sources: process.map(|_| None).into_iter().collect(),
                ..Transition::default()
            });
        }
        let bad = LabelId::new(labels.len());
        labels.push(Meaning::Bad);
        let text = |m: &Meaning| Label {
            text: format!("{m:?}"),
            tests: Vec::new(),
        };
        let process = |number: usize| Process {
            name: format!("P{number}"),
            location: None,
            locations: Vec::new(),
        };
        let behind = Behind {
            layout: LayoutBuilder::new().finish(),
            structure: Structure {
                transitions,
                labels: labels.iter().map(text).collect(),
                processes: (0..processes).map(process).collect(),
                ..Structure::default()
            },
        };
        let aim = match keep {
            Keep::Deadlocks => Aim::Deadlocks,
            Keep::Invariants(_) => Aim::Goals(Goals::labels([bad])),
        };
        let plan = Plan::new(config, aim)?;
        let relations = seam(relations, &labels);
        Ok(Self {
            reduction: StubbornReduction::new(&behind, &relations, plan)?,
            labels,
            transitions: count,
        })
    }

    pub(super) fn worker(&self) -> Worker<'_> {
        Worker {
            any: self,
            reducer: self.reduction.reducer(),
            kept: BitSet::new(self.transitions),
        }
    }
}

/// The relations of the seam from those of the paper.
fn seam<R: Relations>(relations: &R, labels: &[Meaning]) -> stubborn_system::Relations {
    let count = relations.transitions();
    let row = |is_in: &dyn Fn(TransitionId) -> bool| -> Vec<u32> {
        let all = (0..count).map(TransitionId::new);
        let chosen = all.filter(|t| is_in(*t));
        chosen.map(|t| t.index() as u32).collect()
    };
    let enables = |meaning: &Meaning| match *meaning {
        Meaning::Condition(c) => row(&|t| relations.can_satisfy(t, c)),
        Meaning::Enabled(u) => row(&|t| relations.can_enable(t, u)),
        Meaning::Bad => row(&|t| relations.is_visible(t)),
    };
    let disables = |meaning: &Meaning| match *meaning {
        // What makes a condition false need not disturb anybody, and is not asked for.
        Meaning::Condition(_) => row(&|_| true),
        Meaning::Enabled(u) => row(&|t| t == u || relations.disturbs(t, u)),
        Meaning::Bad => row(&|t| relations.is_visible(t)),
    };
    let conflict = |t, u| t == u || relations.disturbs(t, u) || relations.disturbs(u, t);
    // Whether `t` cannot be moved left over `u`.
    let stays = |t, u| t == u || relations.reorders(u, t) || relations.can_enable(u, t);
    let pairs = |related: &dyn Fn(TransitionId, TransitionId) -> bool| {
        let rows = (0..count).map(TransitionId::new);
        let rows = rows.map(|t| row(&|u| related(t, u)));
        May(Matrix::<TransitionId, TransitionId>::from_rows(count, rows))
    };
    let of_labels =
        |of: &dyn Fn(&Meaning) -> Vec<u32>| May(Matrix::from_rows(count, labels.iter().map(of)));
    stubborn_system::Relations {
        may_enable: of_labels(&enables),
        may_disable: of_labels(&disables),
        never_together: Must(Matrix::empty(labels.len(), labels.len())),
        do_not_accord: pairs(&conflict),
        // Who is not disturbed has outcomes that meet those of the other again.
        do_not_meet: Some(pairs(&|t, u| {
            t == u || relations.disturbs(t, u) && relations.disturbs(u, t)
        })),
        do_not_left_accord: pairs(&stays),
        must_disable: Must(Matrix::empty(count, count)),
        may_change_outcome: None,
    }
}

/// Computes sets, keeping its buffers from state to state.
pub(super) struct Worker<'a> {
    any: &'a Any,
    reducer: Box<dyn Reducer + 'a>,
    kept: BitSet,
}

impl Worker<'_> {
    /// The members among these enabled transitions, in their order.
    pub(super) fn set(
        &mut self,
        enabled: &[TransitionId],
        here: &dyn Situation,
    ) -> Vec<TransitionId> {
        let mut sorted = enabled.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut bits = BitSet::new(self.any.transitions);
        for t in &sorted {
            bits.insert(t.index());
        }
        let halves = |word: &u64| [*word as u32, (*word >> 32) as u32];
        // What is enabled is all that is known of the state.
        let state: Vec<u32> = bits.words().iter().flat_map(halves).collect();
        // Where they lead is asked for by nobody.
        let mut successors = Successors::new(0);
        for t in &sorted {
            successors.push(*t, &[], &[], Outcome::FINE);
        }
        let mut holds = BitSet::new(self.any.labels.len());
        for (label, meaning) in self.any.labels.iter().enumerate() {
            let value = match *meaning {
                Meaning::Condition(condition) => here.holds(condition),
                Meaning::Enabled(t) => bits.contains(t.index()),
                // The search goes on, so there was nothing bad so far.
                Meaning::Bad => false,
            };
            holds.assign(label, value);
        }
        let mut answers = Answers(holds);
        let mut expansion = Expansion {
            state: &state,
            executor: &mut answers,
            successors: &successors,
            is_known: None,
        };
        self.reducer.reduce(&mut expansion, &mut self.kept);
        let members = enabled.iter().filter(|t| self.kept.contains(t.index()));
        members.copied().collect()
    }
}

/// Labels in one state.
struct Answers(BitSet);

impl Executor for Answers {
    fn successors(&mut self, _: &[u32], _: &mut Successors) {}

    fn fire(&mut self, _: &[u32], _: TransitionId, _: &mut Successors) {}

    fn label(&mut self, _: &[u32], label: LabelId) -> bool {
        self.0.contains(label.index())
    }
}
