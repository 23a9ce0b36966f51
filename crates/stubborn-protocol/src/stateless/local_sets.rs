//! Local partial-order reduction inside dynamic reduction: section VI-B of Bokor, Kinder,
//! Serafini, Suri, *Supporting domain-specific state space reductions through local partial-order
//! reduction* (2011).
//!
//! The relations are those of dynamic reduction, in advance: a process is taken as a whole, it is
//! disturbed by what may send it something, and steps that may change what one property looks at
//! disturb each other. Then every execution from a state has an equivalent one that begins in the
//! set, so that dynamic reduction may turn to the set wherever it has a choice. The finer relations
//! of local reduction itself would not do: they let steps pass each other in one direction only,
//! and what is explored then is not a representative of every trace.

use rapidhash::RapidHashMap;
use stubborn_reduce::lpor::{Keep, Lpor, Relations, Situation};
use stubborn_system::{BitSet, Executor, RelationLevel, System, TransitionId};

use crate::analysis::{Analysis, BUDGET};
use crate::error::CheckError;
use crate::model::Core;
use crate::relations::links;
use crate::value::Pid;

/// Sets that are remembered before all are forgotten.
const MOST_KNOWN: usize = 1 << 18;

/// See the [module](self).
pub(super) struct LocalSets<'m> {
    model: &'m Core,
    lpor: Lpor<Whole>,
    relations: stubborn_system::Relations,
    executor: Box<dyn Executor + 'm>,
    known: RapidHashMap<Vec<u32>, Vec<Pid>>,
}

/// Relations between transitions of processes that are taken as a whole.
struct Whole {
    process: Vec<Pid>,
    /// For each transition, those that may take what it sends.
    feeds: Vec<BitSet>,
    /// For each transition, the properties (and the record) that it may write.
    writes: Vec<BitSet>,
}

impl Whole {
    fn is_one(&self, t: TransitionId, u: TransitionId) -> bool {
        self.process[t.index()] == self.process[u.index()]
    }
}

impl Relations for Whole {
    fn transitions(&self) -> usize {
        self.process.len()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.is_one(t, u) || self.feeds[t.index()].contains(u.index())
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        let common = || self.writes[t.index()].intersects(&self.writes[u.index()]);
        t != u && (self.can_enable(t, u) || common())
    }
}

/// What the guards of disabled transitions wait for in one state.
struct Waiting(Vec<Vec<Vec<TransitionId>>>);

impl Situation for Waiting {
    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        self.0[t.index()].iter().for_each(|set| visit(set));
    }
}

impl<'m> LocalSets<'m> {
    pub(super) fn new(model: &'m Core) -> Result<Self, CheckError> {
        let inner = &model.inner;
        let relations = model.relations(RelationLevel::Reach);
        let analysis = Analysis::run(inner, BUDGET, model.budget());
        let links = links(inner, analysis.as_ref());
        let properties = &model.structure().properties;
        let count = inner.actions.len();
        let mut writes = vec![BitSet::new(properties.len() + 1); count];
        for (number, property) in properties.iter().enumerate() {
            let label = property.violated_by;
            let up = relations.may_enable.0.row(label);
            for t in up.chain(relations.may_disable.0.row(label)) {
                writes[t.index()].insert(number);
            }
        }
        for (t, notes) in links.notes.iter().enumerate() {
            writes[t].assign(properties.len(), *notes);
        }
        let whole = Whole {
            process: inner.actions.iter().map(|a| a.process).collect(),
            feeds: links.feeds,
            writes,
        };
        let lpor = Lpor::new(whole, Keep::Deadlocks)?;
        Ok(Self {
            model,
            lpor,
            relations,
            executor: model.executor(),
            known: RapidHashMap::default(),
        })
    }

    /// Processes of a smallest set in a state.
    pub(super) fn processes(&mut self, state: &[u32]) -> &[Pid] {
        if !self.known.contains_key(state) {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            let processes = self.compute(state);
            self.known.insert(state.to_vec(), processes);
        }
        &self.known[state]
    }

    fn compute(&mut self, state: &[u32]) -> Vec<Pid> {
        let structure = self.model.structure();
        let (mut enabled, mut sets) = (Vec::new(), Vec::new());
        for (id, transition) in structure.transition_ids().zip(&structure.transitions) {
            let guards = transition.guards.iter();
            let waits = guards.filter(|g| !self.executor.label(state, **g));
            let waits: Vec<Vec<TransitionId>> = waits
                .map(|g| self.relations.may_enable.0.row(*g).collect())
                .collect();
            if waits.is_empty() {
                enabled.push(id);
            }
            sets.push(waits);
        }
        let set = self.lpor.set_in(&enabled, &Waiting(sets));
        let process = |t: &TransitionId| self.model.inner.actions[t.index()].process;
        let mut processes: Vec<Pid> = set.iter().map(process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }
}
