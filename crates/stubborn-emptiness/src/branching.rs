//! Branching time: reductions that CTL* without "next" cannot see.
//!
//! A branching property looks at the choices that are left in a state, so a reduced state must
//! not choose for the others: it keeps everything, or exactly one step, an invisible one by a
//! [deterministic](stubborn_system::Transition::deterministic) transition (that it has one outcome here
//! is not enough: after what is put off it may have several, and leave a choice that comes too early
//! now; see `docs/soundness.md`; Gerth, Kuiper, Peled, Penczek, *A partial order approach to branching time
//! logic model checking*, 1999; Bokor, Kinder, Serafini, Suri, *Efficient model checking of
//! fault-tolerant distributed protocols*, 2011, section III-D). With a cycle proviso the
//! reduced graph is stutter-bisimilar to the full one.

use stubborn_reduce::{Aim, Config, ConfigError, Plan, StubbornReduction};
use stubborn_system::{
    BitSet, Expansion, LabelId, Reason, Reducer, Reduction, Relations, SetMember, System,
    TransitionId,
};

/// A reduction that keeps the branching structure of some labels. The search has to add a
/// [cycle proviso](crate::CycleProviso).
#[derive(Debug)]
pub struct BranchingReduction {
    inner: StubbornReduction,
    /// Transitions that may be taken alone.
    silent: BitSet,
}

impl BranchingReduction {
    /// For properties of these labels.
    ///
    /// # Errors
    /// Where the configuration does not go with temporal properties.
    pub fn new(
        system: &dyn System,
        relations: &Relations,
        config: &Config,
        labels: Vec<LabelId>,
    ) -> Result<Self, ConfigError> {
        let aim = Aim::Traces {
            labels,
            infinite: true,
        };
        let inner = StubbornReduction::new(system, relations, Plan::new(config, aim)?)?;
        let transitions = &system.structure().transitions;
        let mut silent = BitSet::new(transitions.len());
        for (at, transition) in transitions.iter().enumerate() {
            silent.assign(at, transition.deterministic);
        }
        for transition in inner.visible() {
            silent.assign(transition.index(), false);
        }
        Ok(Self { inner, silent })
    }
}

impl Reduction for BranchingReduction {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(BranchingReducer {
            silent: &self.silent,
            inner: self.inner.reducer(),
            is_reduced: false,
        })
    }

    fn name(&self) -> String {
        format!("{} --branching", self.inner.name())
    }

    fn is_function_of_state(&self) -> bool {
        self.inner.is_function_of_state()
    }
}

struct BranchingReducer<'r> {
    silent: &'r BitSet,
    inner: Box<dyn Reducer + 'r>,
    is_reduced: bool,
}

impl Reducer for BranchingReducer<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        let left_out = self.inner.reduce(expansion, kept);
        let only = match kept.count() {
            1 => kept.iter().next(),
            _ => None,
        };
        self.is_reduced = left_out && only.is_some_and(|step| self.silent.contains(step));
        if !self.is_reduced {
            kept.clear();
            for transition in expansion.enabled() {
                kept.insert(transition.index());
            }
        }
        self.is_reduced
    }

    fn last_set(&self) -> Vec<SetMember> {
        if self.is_reduced {
            return self.inner.last_set();
        }
        let everything = (0..self.silent.len()).map(|transition| SetMember {
            transition: TransitionId::new(transition),
            reason: Reason::NotExcluded,
        });
        everything.collect()
    }
}
