//! Bodies of two steps, and what else looks at fields, in parts that have no field in common.

use stubborn_system::{FieldId, TransitionId};

use super::support::shares;
use crate::effects::Effects;
use crate::{Model, Statement};

/// Disjoint sets of fields, each sorted, and who of two looks at it or writes it.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(Vec<FieldId>, [bool; 2])>);

impl Parts {
    /// Adds fields that one of the two looks at together.
    pub(super) fn add(&mut self, mut fields: Vec<FieldId>, who: usize) {
        fields.sort_unstable();
        let mut of = [who == 0, who == 1];
        // (What was looked at before has nothing in common with what is added later on.)
        self.0.retain(|(others, theirs)| {
            let is_apart = !shares(&fields, others);
            if !is_apart {
                fields.extend(others);
                fields.sort_unstable();
                of = [of[0] || theirs[0], of[1] || theirs[1]];
            }
            is_apart
        });
        fields.dedup();
        self.0.push((fields, of));
    }

    /// Adds the statements of a body; `None` if they may have to do with each other by more than fields, or may not end.
    pub(super) fn add_body(&mut self, model: &Model, t: TransitionId, who: usize) -> Option<()> {
        let command = &model.program().commands[t.index()];
        if command.continues.is_some() || !are_plain(&command.body) {
            return None;
        }
        for statement in &command.body {
            let mut effects = Effects::new(model.program(), model.encoding());
            effects.body(std::slice::from_ref(statement));
            let (reads, writes) = effects.finish();
            self.add([reads, writes].concat(), who);
        }
        Some(())
    }

    /// The fields of parts that both have to do with, sorted.
    pub(super) fn common(self) -> Vec<FieldId> {
        let common = self.0.into_iter().filter(|(_, of)| *of == [true; 2]);
        let mut fields: Vec<FieldId> = common.flat_map(|(fields, _)| fields).collect();
        fields.sort_unstable();
        fields
    }
}

/// Nothing but assignments and choices: no values are handed on but by fields.
fn are_plain(body: &[Statement]) -> bool {
    body.iter().all(|statement| match statement {
        Statement::Assign { .. } => true,
        Statement::If {
            then, otherwise, ..
        } => are_plain(then) && are_plain(otherwise),
        _ => false,
    })
}
