//! What a command looks at and changes, in the form the analyses need.

use stubborn_system::{FieldId, LabelId, System, TransitionId};

use crate::effects::Effects;
use crate::{Expr, Model, Place, Statement};

/// The fields of one command.
#[derive(Clone, Debug)]
pub(super) struct Support {
    /// Its guards.
    pub(super) guards: Vec<LabelId>,
    /// Fields that the guards test or the body reads, sorted.
    pub(super) looked: Vec<FieldId>,
    /// Fields that the body reads, sorted.
    pub(super) reads: Vec<FieldId>,
    /// Fields that the body may change, sorted.
    pub(super) writes: Vec<FieldId>,
    /// Other commands may follow before the step ends; their fields are in the sets above.
    pub(super) chain: bool,
    /// Fields that the body sets to a constant whatever happens, with the raw value.
    constants: Vec<(FieldId, u32)>,
    /// Fields that the body sets whatever happens.
    always_set: Vec<FieldId>,
}

impl Support {
    /// For every command of a model.
    pub(super) fn all(model: &Model) -> Vec<Support> {
        model
            .structure()
            .transition_ids()
            .map(|t| Support::new(model, t))
            .collect()
    }

    fn new(model: &Model, id: TransitionId) -> Self {
        let transition = model.structure().transition(id);
        let chain = model.program().commands[id.index()].continues.is_some();
        let sets = (transition.reads.clone(), transition.writes.clone());
        Self::with(model, id, sets, chain)
    }

    /// Of a command alone, whatever follows in its chain.
    pub(super) fn alone(model: &Model, id: TransitionId) -> Self {
        let mut effects = Effects::new(model.program(), model.encoding());
        effects.body(&model.program().commands[id.index()].body);
        Self::with(model, id, effects.finish(), false)
    }

    fn with(
        model: &Model,
        id: TransitionId,
        (reads, writes): (Vec<FieldId>, Vec<FieldId>),
        chain: bool,
    ) -> Self {
        let structure = model.structure();
        let transition = structure.transition(id);
        let mut looked = reads.clone();
        for guard in &transition.guards {
            looked.extend(&structure.label(*guard).tests);
        }
        looked.sort_unstable();
        looked.dedup();
        let command = &model.program().commands[id.index()];
        // What the first command of a chain stores may be overwritten by those that follow.
        let constants = if chain {
            Vec::new()
        } else {
            constants(model, &command.body)
        };
        let scalar = |statement: &Statement| match statement {
            Statement::Assign {
                target: Place::Var(variable),
                ..
            } => Some(model.encoding().first_field(*variable)),
            _ => None,
        };
        let always_set = command.body.iter().filter_map(scalar).collect();
        Self {
            guards: transition.guards.clone(),
            looked,
            reads,
            writes,
            chain,
            constants,
            always_set,
        }
    }

    /// The raw value that the body always gives to a field, if there is one.
    pub(super) fn constant_for(&self, field: FieldId) -> Option<u32> {
        self.constants
            .iter()
            .find(|(f, _)| *f == field)
            .map(|(_, raw)| *raw)
    }

    /// Whether the body sets a field whatever happens.
    pub(super) fn always_sets(&self, field: FieldId) -> bool {
        self.always_set.contains(&field)
    }

    /// Whether the two could influence each other: one writes what the other looks at or
    /// writes.
    pub(super) fn conflicts(&self, other: &Support) -> bool {
        shares(&self.writes, &other.writes)
            || shares(&self.writes, &other.looked)
            || shares(&self.looked, &other.writes)
    }
}

/// The last assignment to each scalar, where all are plain constants at the top of the body.
fn constants(model: &Model, body: &[Statement]) -> Vec<(FieldId, u32)> {
    let mut out: Vec<(FieldId, u32)> = Vec::new();
    for statement in body {
        match statement {
            Statement::Assign {
                target: Place::Var(variable),
                value,
                ..
            } => {
                let field = model.encoding().first_field(*variable);
                out.retain(|(f, _)| *f != field);
                let item = &model.program().variables[variable.index()].item;
                if let Expr::Const(value) = value
                    && let Some(value) = item.store(*value)
                {
                    out.push((field, (i64::from(value) - i64::from(item.min)) as u32));
                }
            }
            Statement::Let(..) | Statement::Assert { .. } | Statement::Print { .. } => {}
            // Anything else may write in ways that a later look would have to sort out.
            _ => {
                let mut effects = Effects::new(model.program(), model.encoding());
                effects.body(std::slice::from_ref(statement));
                let (_, writes) = effects.finish();
                out.retain(|(f, _)| writes.binary_search(f).is_err());
            }
        }
    }
    out
}

/// Whether two sorted lists have an element in common.
pub(super) fn shares<T: Ord>(a: &[T], b: &[T]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => return true,
        }
    }
    false
}
