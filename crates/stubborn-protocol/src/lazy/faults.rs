//! Faults that make no difference, and systems without them.
//!
//! Nobody can tell a message that was lost from one that is late, nor a process that stopped from one
//! that is slow (Fischer, Lynch, Paterson, *Impossibility of distributed consensus with one faulty
//! process*, 1985). So a state `s` can do whatever `s'` can that differs from it by a message less, or by
//! a process that stopped for ever: the message just stays where it is, and the process does nothing.
//! Local states, and what is recorded, are the same on both ways. So losses and crashes are left out
//! where nothing but states is asked for.
//!
//! Not where messages wait behind each other, for a loss lets the next one pass; not where a process
//! comes back, for that changes its state; not where a property may ask who has crashed; and not where
//! ends are looked for, for it is faults that lead to them.

use stubborn_system::{
    Budget, Executor, FieldId, Layout, RelationLevel, Relations, Structure, System,
};

use crate::Network;
use crate::bounded::Bounded;
use crate::executor::ProtocolExecutor;
use crate::model::{Inner, Role};
use crate::property::PropertyRole;
use crate::value::Pid;

/// For each action, whether it is a fault that makes no difference to invariants.
pub(crate) fn superfluous(inner: &Inner, ends: bool) -> Vec<bool> {
    let protocol = &inner.protocol;
    let is_seen = |p: Pid| {
        let looks = protocol.properties.iter().filter(|q| {
            matches!(q.role, PropertyRole::Invariant | PropertyRole::Sometimes)
                && q.processes.contains(&p)
        });
        looks.into_iter().any(|property| property.shows.is_none())
    };
    let is_superfluous = |role: &Role, p: Pid| match role {
        Role::Lose => protocol.network != Network::Ordered,
        Role::Crash => protocol.processes[p.index()].recovers.is_none() && !is_seen(p),
        Role::Handler { .. } | Role::Recover => false,
    };
    let actions = inner.actions.iter();
    actions
        .map(|action| !ends && is_superfluous(&action.role, action.process))
        .collect()
}

/// A system without some of its actions.
pub(crate) struct Without<'m> {
    pub(crate) system: &'m Bounded<'m>,
    /// One for each action.
    pub(crate) left_out: &'m [bool],
}

impl System for Without<'_> {
    fn layout(&self) -> &Layout {
        self.system.layout()
    }

    fn structure(&self) -> &Structure {
        self.system.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.system.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let model = self.system.model;
        let error = model.structure().error_state.as_deref();
        let plain = ProtocolExecutor::new(&model.inner, error).without(self.left_out);
        match self.system.symmetric {
            Some(symmetric) => symmetric.around(Box::new(plain)),
            None => Box::new(plain),
        }
    }

    fn relations(&self, _: RelationLevel) -> Relations {
        Relations::from_sets(self.structure())
    }

    fn budget(&self) -> &Budget {
        self.system.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.system.value_text(field, value)
    }
}
