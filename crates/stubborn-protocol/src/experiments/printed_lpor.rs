//! Local partial-order reduction as printed, for comparison: the library
//! ([`stubborn_reduce::lpor`]) behind the interface that searches use.
//!
//! Without NET, relations are static. With it, each state says what disabled transitions still
//! wait for, which is the state-conditional NET of appendix I of Bokor, Kinder, Serafini, Suri,
//! *Supporting domain-specific state space reductions through local partial-order reduction*
//! (2011), with sets in the place of single transitions. Where the set starts is chosen without
//! NET, so that NET can only make it smaller.

use stubborn_reduce::lpor::{
    ConditionId, Cycles, Keep, Lpor, Relations, Situation, TransitionId, Unconditional,
};
use stubborn_reduce::{Aim, ConfigError};
use stubborn_system::{BitSet, Executor, Expansion, LabelId, Reducer, Reduction, SetMember};
use stubborn_system::{Relations as SystemRelations, Structure};

/// See the [module](self).
pub(crate) struct PrintedReduction {
    lpor: Lpor<Known>,
    with_net: bool,
}

/// The relations of a model in the library's terms.
struct Known {
    can_enable: Vec<BitSet>,
    disturbs: Vec<BitSet>,
    can_satisfy: Vec<BitSet>,
    guards: Vec<Vec<ConditionId>>,
    visible: BitSet,
}

impl Relations for Known {
    fn transitions(&self) -> usize {
        self.guards.len()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.can_enable[t.index()].contains(u.index())
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs[t.index()].contains(u.index())
    }

    fn conditions(&self) -> usize {
        self.can_satisfy.len()
    }

    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        &self.guards[t.index()]
    }

    fn can_satisfy(&self, t: TransitionId, condition: ConditionId) -> bool {
        self.can_satisfy[condition.index()].contains(t.index())
    }

    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.contains(t.index())
    }
}

impl Known {
    fn new(structure: &Structure, relations: &SystemRelations, aim: &Aim) -> Self {
        let count = structure.transitions.len();
        let rows = |related: &dyn Fn(TransitionId, TransitionId) -> bool| -> Vec<BitSet> {
            let row = |t| {
                let mut row = BitSet::new(count);
                for u in structure.transition_ids().filter(|u| related(t, *u)) {
                    row.insert(u.index());
                }
                row
            };
            structure.transition_ids().map(row).collect()
        };
        let guards = |t| &structure.transition(t).guards;
        let enable = &relations.may_enable.0;
        // Does `t` disturb `u`: disable it, or keep it from being moved left? Or has `u` an outcome that
        // does not meet one of `t` again? (That follows from the rest if it has one outcome.)
        let must_meet = *aim != Aim::Deadlocks;
        // (Relations that say nothing of it are those of sets.)
        let apart = relations.do_not_meet.as_ref();
        let apart = &apart.unwrap_or(&relations.do_not_accord).0;
        let may_part = |t, u| must_meet && apart.contains(u, t);
        let disturbs = |t, u| {
            let disables = |g: &LabelId| relations.may_disable.0.contains(*g, t);
            t != u
                && (may_part(t, u)
                    || relations.do_not_accord.0.contains(t, u)
                        && (relations.do_not_left_accord.0.contains(u, t)
                            || guards(u).iter().any(disables)))
        };
        let mut visible = BitSet::new(count);
        let goals = match aim {
            Aim::Goals(goals) => goals.any_of.as_slice(),
            Aim::Deadlocks | Aim::Traces { .. } => &[],
        };
        for label in goals.iter().flatten() {
            let changes = enable.row(*label);
            for t in changes.chain(relations.may_disable.0.row(*label)) {
                visible.insert(t.index());
            }
        }
        let satisfies = |label| {
            let mut row = BitSet::new(count);
            enable.row(label).for_each(|t| {
                row.insert(t.index());
            });
            row
        };
        let condition = |g: &LabelId| ConditionId::new(g.index());
        let transitions = structure.transitions.iter();
        Self {
            can_enable: rows(&|t, u| guards(u).iter().any(|g| enable.contains(*g, t))),
            disturbs: rows(&disturbs),
            can_satisfy: structure.label_ids().map(satisfies).collect(),
            guards: transitions
                .map(|t| t.guards.iter().map(condition).collect())
                .collect(),
            visible,
        }
    }
}

impl PrintedReduction {
    /// For deadlocks and goals. Cycles are left to the search and its proviso.
    pub(crate) fn new(
        structure: &Structure,
        relations: &SystemRelations,
        aim: &Aim,
        with_net: bool,
    ) -> Result<Self, ConfigError> {
        let keep = match aim {
            Aim::Deadlocks => Keep::Deadlocks,
            Aim::Goals(_) => Keep::Invariants(Cycles::Proviso(Box::new(|_| false))),
            Aim::Traces { .. } => {
                return Err(ConfigError::new(
                    "the printed form of local reduction keeps deadlocks and invariants only",
                ));
            }
        };
        let lpor = Lpor::new(Known::new(structure, relations, aim), keep)?;
        Ok(Self { lpor, with_net })
    }
}

impl Reduction for PrintedReduction {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(Worker(self))
    }

    fn name(&self) -> String {
        if self.with_net {
            "LPOR + NET".into()
        } else {
            "LPOR only".into()
        }
    }
}

struct Worker<'r>(&'r PrintedReduction);

/// Which guards hold in one state.
struct Here(BitSet);

impl Situation for Here {
    fn holds(&self, condition: ConditionId) -> bool {
        self.0.contains(condition.index())
    }
}

impl Here {
    fn new(known: &Known, state: &[u32], executor: &mut dyn Executor) -> Self {
        let mut holds = BitSet::new(known.conditions());
        executor.labels(state, &mut holds);
        Self(holds)
    }
}

impl Reducer for Worker<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        let enabled: Vec<TransitionId> = expansion.enabled().collect();
        let lpor = &self.0.lpor;
        let chosen = if self.0.with_net {
            let here = Here::new(lpor.relations(), expansion.state, expansion.executor);
            let sets = enabled.iter().map(|t| {
                let without = lpor.stubborn_set(*t, &enabled).len();
                (lpor.stubborn_set_in(*t, &enabled, &here), without)
            });
            let best = sets.min_by_key(|(set, without)| (*without, set.len()));
            best.map_or(Vec::new(), |(set, _)| set)
        } else {
            lpor.set_in(&enabled, &Unconditional)
        };
        kept.clear();
        for t in &chosen {
            kept.insert(t.index());
        }
        chosen.len() < enabled.len()
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}
