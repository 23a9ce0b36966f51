//! Fairness to channels.
//!
//! Fairness is between the processes whose steps transitions are. Here the channels between each two
//! processes are among them, and their steps are the deliveries of single messages. (What is lost
//! is not delivered.)

use stubborn_system::{
    Budget, Executor, FieldId, Layout, Process, ProcessId, RelationLevel, Relations, Structure,
    System,
};

use crate::bounded::Bounded;
use crate::model::Role;

/// See the [module](self). For checks without reduction.
pub(crate) struct WithChannels<'b> {
    system: &'b Bounded<'b>,
    structure: Structure,
}

impl<'b> WithChannels<'b> {
    pub(crate) fn new(system: &'b Bounded<'b>) -> Self {
        let inner = &system.model.inner;
        let mut structure = system.structure().clone();
        let processes = structure.processes.len();
        let mut channels = Vec::new();
        for (transition, action) in structure.transitions.iter_mut().zip(&inner.actions) {
            let Role::Handler { senders, .. } = &action.role else {
                continue;
            };
            let Some([sender]) = senders.as_deref() else {
                continue;
            };
            let channel = (*sender, action.process);
            let known = channels.iter().position(|c| *c == channel);
            let number = known.unwrap_or_else(|| {
                channels.push(channel);
                channels.len() - 1
            });
            let number = ProcessId::new(processes + number);
            transition.processes.push(number);
        }
        let named = channels.into_iter().map(|(from, to)| Process {
            name: format!("{} to {}", inner.process_name(from), inner.process_name(to)),
            location: None,
            locations: Vec::new(),
        });
        structure.processes.extend(named);
        Self { system, structure }
    }
}

impl System for WithChannels<'_> {
    fn layout(&self) -> &Layout {
        self.system.layout()
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        self.system.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        self.system.executor()
    }

    fn relations(&self, _: RelationLevel) -> Relations {
        Relations::from_sets(&self.structure)
    }

    fn budget(&self) -> &Budget {
        self.system.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.system.value_text(field, value)
    }
}
